#include "train/report/paired.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/keys.h"
#include "text/key_value.h"
#include "text/text_file.h"
#include "train/config/config.h"
#include "train/folder/results.h"
#include "train/report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The configuration and vocabulary of a run, which decide what its loss measures. */
typedef struct question {
    rt_config config;
    char *vocabulary; /* the file in its folder; NULL if there is none */
} question;

static bool read_question(question *q, const char *folder, const rt_sweep_runs *runs, int run)
{
    char member[RT_PATH_SIZE], path[RT_PATH_SIZE];
    if (!rt_sweep_load_run(runs, folder, run, &q->config))
        return false;
    const bool bpe = q->config.data.level == RT_LEVEL_BPE;
    if (!rt_path_join(member, folder, runs->list[run].cells[0]).code &&
        !rt_path_join(path, member, bpe ? "tokenizer.json" : "vocab.txt").code)
        q->vocabulary = rt_read_text(path);
    return true;
}

static bool has_same(const char *key, const rt_data_options *a, const rt_data_options *b)
{
    return rt_key_value_equal(rt_keys_find(&rt_data_keys, key), a, b);
}

/* Returns whether both are evaluated on the same data. With data.eval_file the training data may
 * differ. */
static bool has_same_data(const rt_data_options *a, const rt_data_options *b)
{
    if (!has_same("data.eval_file", a, b) || a->eval_seed != b->eval_seed)
        return false;
    return a->eval_file || (has_same("data.file", a, b) && a->eval_fraction == b->eval_fraction);
}

/* Returns whether both predict the same vocabulary: without a text a number of ids. Labels have
 * none. */
static bool has_same_vocabulary(const question *a, const question *b)
{
    const rt_data_options *x = &a->config.data, *y = &b->config.data;
    if (rt_data_task_target(x->task) != RT_TARGET_IDS)
        return true;
    if (a->vocabulary && b->vocabulary)
        return x->level == y->level && x->lowercase == y->lowercase &&
               !strcmp(a->vocabulary, b->vocabulary);
    return !a->vocabulary && !b->vocabulary && x->vocab == y->vocab;
}

/* Returns in what two runs differ so that their losses are not comparable; NULL if in nothing. */
static const char *find_difference(const rt_data_options *a, const rt_data_options *b)
{
    const bool objective = a->task == b->task && rt_data_task_has_objective(a->task);
    const bool mlm = objective && a->objective == RT_OBJECTIVE_MLM;
    if (a->task != b->task)
        return "tasks";
    if (objective && a->objective != b->objective)
        return "objectives";
    if (mlm && a->mask_probability != b->mask_probability)
        return "shares of masked tokens";
    return has_same_data(a, b) ? NULL : "data";
}

static bool every_row_has_bits(const rt_sweep_runs *runs)
{
    const int loss = rt_sweep_column(runs, RT_RESULT_LOSS);
    const int bits = rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE);
    for (int row = 0; row < runs->row_count; row++)
        if (rt_sweep_summary(runs, row, loss).count && !rt_sweep_summary(runs, row, bits).count)
            return false;
    return bits >= 0;
}

rt_ranking rt_report_rank(const char *folder, const rt_sweep_runs *runs)
{
    const char *different = NULL;
    bool same_vocabulary = true, any = false;
    question *first = rt_alloc(2, sizeof *first);
    if (!first)
        return (rt_ranking){NULL, NULL};
    question *other = first + 1;
    for (int i = 0; i < runs->count && !different; i++) {
        question *q = any ? other : first;
        const bool there = read_question(q, folder, runs, i);
        if (any && there) {
            different = find_difference(&first->config.data, &other->config.data);
            same_vocabulary = same_vocabulary && has_same_vocabulary(first, other);
        }
        rt_free(other->vocabulary);
        other->vocabulary = NULL;
        any = any || there;
    }
    rt_free(first->vocabulary);
    rt_free(first);
    if (different)
        return (rt_ranking){NULL, different};
    if (same_vocabulary)
        return (rt_ranking){RT_RESULT_LOSS, NULL};
    return every_row_has_bits(runs) ? (rt_ranking){RT_RESULT_BITS_PER_BYTE, NULL}
                                    : (rt_ranking){NULL, "vocabularies"};
}

int rt_ranking_best(const rt_ranking *ranking, const rt_sweep_runs *runs)
{
    const int column = ranking->result ? rt_sweep_column(runs, ranking->result) : -1;
    double lowest = INFINITY;
    int best = -1;
    for (int row = 0; row < runs->row_count && runs->row_count > 1; row++) {
        const rt_summary s = rt_sweep_summary(runs, row, column);
        if (s.count && s.mean < lowest) {
            lowest = s.mean;
            best = row;
        }
    }
    return best;
}

enum { STEPS = 4000, HALVINGS = 45 };

/* Returns P(Z > z) of a standard normal Z. */
static double normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

/* Returns the density of s, the standard deviation of a sample over the true one, with so many
 * degrees of freedom: nu s^2 has the chi-squared distribution. */
static double density(double s, double nu)
{
    const double at_zero = nu == 1 ? 0 : -INFINITY;
    const double power = s > 0 ? (nu - 1) * log(s) : at_zero;
    return exp(log(2) + nu / 2 * log(nu / 2) - lgamma(nu / 2) + power - nu * s * s / 2);
}

/* Returns P(|T| > t) of the noncentral t with mean `shift`: the integral over s of
 * P(|Z + shift| > t s), by Simpson's rule over all s that occur. */
static double tails(double t, double shift, double nu)
{
    const double width = 12 / sqrt(2 * nu);
    const double low = width < 1 ? 1 - width : 0, step = (1 + width - low) / STEPS;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double s = low + i * step, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * density(s, nu) * (normal_tail(t * s - shift) + normal_tail(t * s + shift));
    }
    return sum * step / 3;
}

/* Returns t(0.975). */
static double critical(double nu)
{
    double low = 0, high = 20; /* it is 12.7 for one degree of freedom */
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (tails(middle, 0, nu) > 0.05)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Returns the mean of the noncentral t that is beyond `t` on either side with a probability of 90
 * %. */
static double shift_seen(double t, double nu)
{
    double low = 0, high = 40;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (tails(t, middle, nu) < 0.9)
            low = middle;
        else
            high = middle;
    }
    return high;
}

rt_student rt_student_of(int count)
{
    if (count < 2)
        return (rt_student){count, NAN, NAN};
    const double t = critical(count - 1);
    return (rt_student){count, t / sqrt(count), shift_seen(t, count - 1) / sqrt(count)};
}

/* ---- pairs ---- */

/* Returns whether two runs agree in all settings but one. */
static bool are_pair(const rt_sweep_runs *s, int a, int b, int column)
{
    for (int i = s->exit_column - 1; i > 0; i--)
        if (i != column && strcmp(s->list[a].cells[i], s->list[b].cells[i]) != 0)
            return false;
    return true;
}

/* Returns the first run with another value of one setting; s->count if there is none. */
static int partner_of(const rt_sweep_runs *s, int run, int column, const char *value)
{
    int other = 0;
    while (other < s->count &&
           (strcmp(s->list[other].cells[column], value) != 0 || !are_pair(s, run, other, column)))
        other++;
    return other;
}

/* Finds the differences of the loss between `value` and `against`; returns their number. */
static int find_pairs(const rt_sweep_runs *s, int column, const char *value, const char *against,
                      double *differences)
{
    const int loss = rt_sweep_column(s, RT_RESULT_LOSS);
    int count = 0;
    for (int a = 0; a < s->count; a++) {
        if (strcmp(s->list[a].cells[column], value) != 0)
            continue;
        const int b = partner_of(s, a, column, against);
        const double difference =
            b < s->count ? rt_sweep_number(s, a, loss) - rt_sweep_number(s, b, loss) : (double)NAN;
        if (isfinite(difference))
            differences[count++] = difference;
    }
    return count;
}

/* Compares two values. `student` caches the factors of the previous row, which often has as many
 * pairs. */
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

/* Returns whether a run is the first with its value. */
static bool is_first(const rt_sweep_runs *s, int column, int run)
{
    for (int i = 0; i < run; i++)
        if (!strcmp(s->list[i].cells[column], s->list[run].cells[column]))
            return false;
    return true;
}

/* ---- steps ---- */

/* Returns the mean change of the loss over all values of train.steps whose double is there, too. */
static double find_doubling(const rt_sweep_runs *s, double *room)
{
    double sum = 0;
    int count = 0;
    const int column = rt_sweep_setting(s, "train.steps");
    for (int a = 0; a < s->count && column >= 0; a++)
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

/* Fills the list unless it is NULL; returns the number of differences. */
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
    const int column = rt_sweep_setting(s, "run.seed");
    int count = 0;
    for (int run = 0; run < s->count && column >= 0; run++)
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

/* Returns the compute in percent; NaN for train.steps, which are compute themselves. */
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

/* Returns whether the sweep measures what twice the steps gain. */
static bool has_compute(const rt_paired *p)
{
    return p->doubling < 0;
}

static void add_page_row(rt_writer *w, const rt_paired *p, const rt_paired_difference *d)
{
    const double more = compute_of(p, d, d->mean);
    if (!d->count)
        return;
    rt_writer_add(w, "<tr>");
    rt_page_cell(w, "td", d->key);
    rt_page_cell(w, "td", d->value);
    rt_page_cell(w, "td", d->against);
    rt_page_number(w, "%+.3g", d->mean);
    rt_page_number(w, d->count > 1 ? "%+.3g to %+.3g" : "-", d->low, d->high);
    rt_page_number(w, d->count > 1 ? "%.3g" : "-", d->detectable);
    if (has_compute(p))
        rt_page_number(w, isnan(more) ? "-" : "%+.1f %%", more);
    rt_page_number(w, "%d", d->count);
    rt_writer_add(w, "</tr>\n");
}

void rt_paired_page(rt_writer *w, const rt_paired *p)
{
    int pairs = 0;
    for (int i = 0; i < p->count; i++)
        pairs += p->list[i].count;
    if (pairs) {
        rt_writer_add(w,
                      "<h2>Paired differences</h2>\n<div class=\"scroll\"><table>\n<tr><th>key"
                      "</th><th>value</th><th>against</th><th>difference of the loss</th><th>"
                      "interval of 95 %%</th><th>detectable</th>%s<th>pairs</th></tr>\n",
                      has_compute(p) ? "<th>compute</th>" : "");
        for (int i = 0; i < p->count; i++)
            add_page_row(w, p, &p->list[i]);
        rt_writer_add(w,
                      "</table></div>\n<p>Two runs are a pair if they differ in that key alone: "
                      "their seeds, and so their first weights and their batches, are the same. "
                      "Detectable: the smallest difference that so many pairs with this spread "
                      "show with a probability of 90 %%.%s</p>\n",
                      has_compute(p) ? " Compute: how much more of it gives the same loss, by what "
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
