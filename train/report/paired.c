#include "train/report/paired.h"

#include "core/memory.h"
#include "train/folder/results.h"
#include "train/report/page.h"
#include "train/report/student.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- pairs ---- */

/* Whether two runs agree in all that sets runs apart but one column. */
static bool are_pair(const rt_sweep_runs *s, int a, int b, int column)
{
    for (int i = s->exit_column - 1; i > 0; i--)
        if (i != column && strcmp(s->list[a].cells[i], s->list[b].cells[i]) != 0)
            return false;
    return true;
}

static double loss_of(const rt_sweep_runs *s, int run)
{
    const int column = rt_sweep_column(s, RT_RESULT_LOSS);
    return column < 0 ? (double)NAN : rt_csv_value(s->list[run].cells[column]);
}

/* The first run that is like this one but for the value of a column; s->count if there is none. */
static int partner_of(const rt_sweep_runs *s, int run, int column, const char *value)
{
    int other = 0;
    while (other < s->count &&
           (strcmp(s->list[other].cells[column], value) != 0 || !are_pair(s, run, other, column)))
        other++;
    return other;
}

/* The differences of the pairs, of which the second run has another value; how many there are. */
static int find_pairs(const rt_sweep_runs *s, int column, const char *value, const char *against,
                      double *differences)
{
    int count = 0;
    for (int a = 0; a < s->count; a++) {
        if (strcmp(s->list[a].cells[column], value) != 0)
            continue;
        const int b = partner_of(s, a, column, against);
        const double difference = b < s->count ? loss_of(s, a) - loss_of(s, b) : (double)NAN;
        if (isfinite(difference))
            differences[count++] = difference;
    }
    return count;
}

/* `student` is that of the row before, which often has as many pairs. */
static rt_paired_difference compare(const rt_sweep_runs *s, int column, const char *value,
                                    const char *against, double *room, rt_student *student)
{
    const int count = find_pairs(s, column, value, against, room);
    const rt_summary sum = rt_summarise(room, count);
    if (student->count != count)
        *student = rt_student_of(count);
    const double half = student->interval * sum.deviation;
    return (rt_paired_difference){.key = s->names[column],
                                  .value = value,
                                  .against = against,
                                  .count = count,
                                  .mean = sum.mean,
                                  .low = sum.mean - half,
                                  .high = sum.mean + half,
                                  .detectable = student->detectable * sum.deviation};
}

/* Whether a run is the first that has its value. */
static bool is_first(const rt_sweep_runs *s, int column, int run)
{
    for (int i = 0; i < run; i++)
        if (!strcmp(s->list[i].cells[column], s->list[run].cells[column]))
            return false;
    return true;
}

/* ---- steps ---- */

/* The mean over the values of train.steps that stand there doubled. */
static double find_doubling(const rt_sweep_runs *s, double *room)
{
    double sum = 0;
    int count = 0, column = 1;
    while (column < s->exit_column && strcmp(s->names[column], "train.steps") != 0)
        column++;
    for (int a = 0; a < s->count && column < s->exit_column; a++)
        for (int b = 0; b < s->count && is_first(s, column, a); b++) {
            const char *more = s->list[b].cells[column], *steps = s->list[a].cells[column];
            if (!is_first(s, column, b) || rt_csv_value(more) != 2 * rt_csv_value(steps))
                continue;
            const int pairs = find_pairs(s, column, more, steps, room);
            sum += pairs ? rt_summarise(room, pairs).mean : 0;
            count += pairs > 0;
        }
    return count ? sum / count : (double)NAN;
}

double rt_paired_compute(const rt_paired *p, double difference)
{
    return p->doubling < 0 ? exp2(difference / p->doubling) - 1 : (double)NAN;
}

/* ---- life ---- */

/* Rows of the list if it is there, their number in any case. */
static int list_all(rt_paired_difference *list, const rt_sweep_runs *s, double *room)
{
    int count = 0;
    rt_student student = rt_student_of(0);
    for (int column = 1; column < s->exit_column; column++)
        for (int run = 1; run < s->count && rt_sweep_differs(s, column); run++) {
            if (!is_first(s, column, run))
                continue;
            if (list)
                list[count] = compare(s, column, s->list[run].cells[column],
                                      s->list[0].cells[column], room, &student);
            count++;
        }
    return count;
}

static int count_seeds(const rt_sweep_runs *s)
{
    int column = 1, count = 0;
    while (column < s->exit_column && strcmp(s->names[column], "run.seed") != 0)
        column++;
    for (int run = 0; run < s->count && column < s->exit_column; run++)
        count += is_first(s, column, run);
    return count;
}

rt_status rt_paired_make(rt_paired *p, const rt_sweep_runs *s)
{
    const int count = list_all(NULL, s, NULL);
    double *room = rt_alloc((size_t)s->count * 2 + 1, sizeof *room);
    *p = (rt_paired){.list = rt_alloc((size_t)count + 1, sizeof *p->list), .doubling = NAN};
    if (room && p->list) {
        p->count = list_all(p->list, s, room);
        p->doubling = find_doubling(s, room);
        p->seeds = count_seeds(s);
    }
    rt_free(room);
    return room && p->list ? rt_ok() : rt_out_of_memory("paired differences");
}

void rt_paired_free(rt_paired *p)
{
    rt_free(p->list);
    *p = (rt_paired){.list = NULL};
}

/* ---- telling ---- */

/* In percent. Steps are compute themselves. */
static double compute_of(const rt_paired *p, const rt_paired_difference *d, double difference)
{
    return strcmp(d->key, "train.steps") ? 100 * rt_paired_compute(p, difference) : (double)NAN;
}

static void report_compute(rt_writer *w, const rt_paired *p, const rt_paired_difference *d)
{
    const double more = compute_of(p, d, d->mean);
    if (isnan(more))
        return;
    rt_writer_add(w, ", worth %+.1f %% of compute", more);
    if (d->count > 1) /* a lower loss is worth more */
        rt_writer_add(w, " [%+.1f, %+.1f]", compute_of(p, d, d->high), compute_of(p, d, d->low));
}

static void report_one(rt_writer *w, const rt_paired *p, const rt_paired_difference *d)
{
    rt_writer_add(w, "  %s = %s against %s: %+.3g", d->key, d->value, d->against, d->mean);
    if (d->count > 1)
        rt_writer_add(w, " [%+.3g, %+.3g], detectable %.3g", d->low, d->high, d->detectable);
    report_compute(w, p, d);
    rt_writer_add(w, " (%d pair%s", d->count, d->count > 1 ? "s" : "");
    if (p->seeds && d->count > p->seeds)
        rt_writer_add(w, " of %d seeds, not independent", p->seeds);
    rt_writer_add(w, ")\n");
}

static void add_page_row(rt_writer *w, const rt_paired *p, const rt_paired_difference *d)
{
    char text[64];
    const double more = compute_of(p, d, d->mean);
    if (!d->count)
        return;
    rt_writer_add(w, "<tr>");
    rt_page_cell(w, "td", d->key);
    rt_page_cell(w, "td", d->value);
    rt_page_cell(w, "td", d->against);
    snprintf(text, sizeof text, "%+.3g", d->mean);
    rt_page_cell(w, "td", text);
    snprintf(text, sizeof text, d->count > 1 ? "%+.3g to %+.3g" : "-", d->low, d->high);
    rt_page_cell(w, "td", text);
    snprintf(text, sizeof text, d->count > 1 ? "%.3g" : "-", d->detectable);
    rt_page_cell(w, "td", text);
    snprintf(text, sizeof text, isnan(more) ? "-" : "%+.1f %%", more);
    rt_page_cell(w, "td", text);
    snprintf(text, sizeof text, "%d", d->count);
    rt_page_cell(w, "td", text);
    rt_writer_add(w, "</tr>\n");
}

void rt_paired_page(rt_writer *w, const rt_paired *p)
{
    int pairs = 0;
    for (int i = 0; i < p->count; i++)
        pairs += p->list[i].count;
    if (pairs) {
        rt_writer_add(w, "<h2>Paired differences</h2>\n<div class=\"scroll\"><table>\n<tr><th>key"
                         "</th><th>value</th><th>against</th><th>difference of the loss</th><th>"
                         "interval of 95 %%</th><th>detectable</th><th>compute</th><th>pairs</th>"
                         "</tr>\n");
        for (int i = 0; i < p->count; i++)
            add_page_row(w, p, &p->list[i]);
        rt_writer_add(w,
                      "</table></div>\n<p>Two runs are a pair if they differ in that key alone: "
                      "their seeds, and so their first weights and their batches, are the same. "
                      "Detectable: the smallest difference that so many pairs with this spread "
                      "show with a probability of 90 %%.%s</p>\n",
                      p->doubling < 0
                          ? " Compute: how much more of it gives the same loss, by what "
                            "twice the steps gain in this sweep."
                          : "");
    }
}

void rt_paired_report(rt_writer *w, const rt_paired *p)
{
    bool any = false;
    for (int i = 0; i < p->count; i++) {
        if (!p->list[i].count)
            continue;
        if (!any)
            rt_writer_add(w, "paired differences of the loss [95 %% interval]; detectable: the "
                             "smallest that this design shows with 90 %% power\n");
        any = true;
        report_one(w, p, &p->list[i]);
    }
}

void rt_paired_csv(rt_writer *w, const rt_paired *p)
{
    rt_writer_add(w, "key,value,against,n,mean,low,high,detectable_90\n");
    for (int i = 0; i < p->count; i++) {
        const rt_paired_difference *d = &p->list[i];
        rt_csv_put(w, d->key);
        rt_writer_add(w, ",");
        rt_csv_put(w, d->value);
        rt_writer_add(w, ",");
        rt_csv_put(w, d->against);
        rt_writer_add(w, ",%d", d->count);
        rt_csv_add_number(w, d->mean);
        rt_csv_add_number(w, d->low);
        rt_csv_add_number(w, d->high);
        rt_csv_add_number(w, d->detectable);
        rt_writer_add(w, "\n");
    }
}
