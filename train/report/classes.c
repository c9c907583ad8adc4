#include "core/memory.h"
#include "data/labelled_file.h"
#include "data/labels.h"
#include "train/report/sections.h"
#include "train/step/measurements.h"
#include "util/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 100, WIDEST_MATRIX = 30 };

typedef struct classes {
    const char *folder;
    rt_labels *labels;
    rt_class_score *scores; /* scores of each class */
    rt_class_score *errors; /* the same, except F1: minus the number of errors of the class */
    int occurring;          /* number of classes that occur or are predicted */
} classes;

/* Reads the labels of classes.csv, if there are any. Skips cells that are not labels or exceed the
 * limit. Returns false if the heap is exhausted. */
static bool read_labels(classes *c)
{
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    rt_writer names = {0};
    int count = 0;
    if (rt_csv_open(&csv, c->folder, "classes.csv"))
        while (count < RT_LABELS_LIMIT && rt_csv_row(&csv)) {
            const char *name = rt_csv_cell(&csv, "label");
            if (!rt_label_problem((rt_text_span){name, strlen(name)})) {
                rt_writer_add(&names, "%s\n", name);
                count++;
            }
        }
    const size_t size = names.length;
    RT_OWNED char *bytes = rt_writer_take(&names);
    rt_status status = bytes ? rt_labels_read(&c->labels, "classes.csv", bytes, size)
                             : rt_out_of_memory("a table");
    return status.code != RT_MEMORY;
}

static int find_label(const classes *c, const rt_csv *csv, const char *column)
{
    const char *name = rt_csv_cell(csv, column);
    return rt_labels_find(c->labels, (rt_text_span){name, strlen(name)});
}

/* Reads a row of confusion.csv. Returns false if it is incomplete. */
static bool read_pair(const classes *c, const rt_csv *csv, int *from, int *to, int *count)
{
    *from = find_label(c, csv, "true");
    *to = find_label(c, csv, "predicted");
    return *from >= 0 && *to >= 0 && rt_csv_whole(csv, "count", count);
}

/* Reads the scores of each class, the number of its predictions, and the errors that involve it. */
static void read_scores(classes *c)
{
    rt_csv csv;
    int count, from, to;
    for (rt_csv_open(&csv, c->folder, "classes.csv"); rt_csv_row(&csv);) {
        const int label = find_label(c, &csv, "label");
        if (label >= 0 && rt_csv_whole(&csv, "count", &count))
            c->scores[label] = (rt_class_score){.precision = rt_csv_number(&csv, "precision"),
                                                .recall = rt_csv_number(&csv, "recall"),
                                                .f1 = rt_csv_number(&csv, "f1"),
                                                .count = count};
    }
    for (rt_csv_open(&csv, c->folder, "confusion.csv"); rt_csv_row(&csv);)
        if (read_pair(c, &csv, &from, &to, &count)) {
            c->scores[to].predicted += count;
            c->errors[from].f1 -= from != to ? count : 0;
            c->errors[to].f1 -= from != to ? count : 0;
        }
    for (int i = 0; i < c->labels->count; i++) {
        c->errors[i].count = c->scores[i].count;
        c->errors[i].predicted = c->scores[i].predicted;
        c->occurring += rt_score_counts(c->scores + i);
    }
}

static void add_row_heading(rt_writer *w, const char *label)
{
    rt_writer_add(w, "<tr><th scope=\"row\">");
    rt_html_text(w, label);
    rt_writer_add(w, "</th>");
}

static void add_classes(rt_writer *w, const classes *c)
{
    int chosen[MOST_ROWS];
    const int count = rt_scores_lowest(chosen, c->scores, c->labels->count, MOST_ROWS);
    rt_page_table(w, "Classes", RT_COLUMNS("label", "precision", "recall", "F1", "count"));
    for (int i = 0; i < count; i++) {
        const rt_class_score *s = c->scores + chosen[i];
        const double scores[] = {s->precision, s->recall, s->f1};
        add_row_heading(w, c->labels->names[chosen[i]]);
        for (int k = 0; k < 3; k++)
            rt_page_cell(w, "td", RT_SHOWN(4, scores[k]));
        rt_writer_add(w, "<td>%" PRId64 "</td></tr>\n", s->count);
    }
    rt_writer_add(w, "</table></div>\n");
    if (count < c->occurring)
        rt_writer_add(w,
                      "<p>The %d of the %d classes with the lowest F1; classes.csv has all.</p>\n",
                      count, c->occurring);
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Adds the confusion matrix. The shade of a cell is its share of the row's class. */
static void add_matrix(rt_writer *w, const classes *c)
{
    rt_csv csv;
    int64_t pairs[WIDEST_MATRIX][WIDEST_MATRIX] = {{0}};
    int chosen[WIDEST_MATRIX], count, from, to;
    const int width = rt_scores_lowest(chosen, c->errors, c->labels->count, WIDEST_MATRIX);
    qsort(chosen, (size_t)width, sizeof *chosen, ascending);
    for (rt_csv_open(&csv, c->folder, "confusion.csv"); rt_csv_row(&csv);) {
        if (!read_pair(c, &csv, &from, &to, &count))
            continue;
        const int *row = bsearch(&from, chosen, (size_t)width, sizeof *chosen, ascending);
        const int *column = bsearch(&to, chosen, (size_t)width, sizeof *chosen, ascending);
        if (row && column)
            pairs[row - chosen][column - chosen] = count;
    }
    rt_writer_add(w, "<h2>Confusion matrix</h2>\n<div class=\"scroll\"><table "
                     "class=\"confusion\">\n<tr><td></td>");
    for (int i = 0; i < width; i++) {
        rt_writer_add(w, "<th scope=\"col\"><span>");
        rt_html_text(w, c->labels->names[chosen[i]]);
        rt_writer_add(w, "</span></th>");
    }
    rt_writer_add(w, "</tr>\n");
    for (int i = 0; i < width; i++) {
        const int64_t all = c->scores[chosen[i]].count;
        add_row_heading(w, c->labels->names[chosen[i]]);
        for (int k = 0; k < width; k++) {
            const int64_t n = pairs[i][k];
            if (n)
                rt_writer_add(w, "<td class=\"%s\" style=\"--share:%.3f\">%" PRId64 "</td>",
                              i == k ? "right" : "wrong",
                              all > 0 && n < all ? (double)n / (double)all : 1, n);
            else
                rt_writer_add(w, "<td></td>");
        }
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(w, "</table></div>\n<p>Rows: the true class; columns: the class that was "
                     "predicted; the shade is the share of the row.");
    if (width < c->occurring)
        rt_writer_add(w, " The %d of the %d classes with the most errors; confusion.csv has all.",
                      width, c->occurring);
    rt_writer_add(w, "</p>\n");
}

rt_status rt_report_classes(rt_run_page *p)
{
    classes c = {.folder = p->folder};
    bool in_memory = read_labels(&c);
    if (c.labels) {
        c.scores = rt_alloc((size_t)c.labels->count, 2 * sizeof *c.scores);
        c.errors = c.scores ? c.scores + c.labels->count : NULL;
        in_memory &= c.scores != NULL;
        if (c.scores)
            read_scores(&c);
    }
    if (c.occurring) {
        add_classes(&p->w, &c);
        add_matrix(&p->w, &c);
    }
    rt_labels_free(c.labels);
    rt_free(c.scores);
    return rt_allocated(in_memory, "a table");
}

enum { MOST_MISTAKES = 12, TOKENS_AROUND = 6, LONGEST_TEXT = 400 /* bytes */ };

static int surest_first(const void *a, const void *b)
{
    const rt_line_score *one = a, *other = b;
    if (one->probability != other->probability)
        return one->probability < other->probability ? 1 : -1;
    return one->line != other->line ? (one->line > other->line) - (one->line < other->line)
                                    : (one->token > other->token) - (one->token < other->token);
}

/* Adds a text, truncated at a whole character. */
static void add_span(rt_writer *w, rt_text_span text)
{
    const size_t size = rt_text_beginning(text.bytes, text.size, LONGEST_TEXT);
    rt_html_text(w, size ? RT_PRINTED(LONGEST_TEXT + 1, "%.*s", (int)size, text.bytes) : "");
    if (size < text.size)
        rt_writer_add(w, "…");
}

/* Adds the text or pair of a line; with the task tag, its token in bold with the surrounding tokens
 * of the sentence. */
static void add_text(rt_writer *w, const rt_labelled_file *f, const rt_line_score *score)
{
    size_t at = 0;
    while (at < f->count && f->texts[at].line != score->line)
        at++;
    at += f->json ? (size_t)score->token : 0; /* all tokens of a sentence are in one line */
    size_t first = at, end = at + 1;
    rt_writer_add(w, "<td class=\"text\">");
    if (at < f->count && f->tokens) {
        while (!f->texts[first].begins && at - first < TOKENS_AROUND)
            first--;
        while (end < f->count && !f->texts[end].begins && end - at <= TOKENS_AROUND)
            end++;
        rt_writer_add(w, f->texts[first].begins ? "" : "… ");
        for (size_t i = first; i < end; i++) {
            rt_writer_add(w, "%s%s", i > first ? " " : "", i == at ? "<b>" : "");
            add_span(w, f->texts[i].text);
            rt_writer_add(w, i == at ? "</b>" : "");
        }
        rt_writer_add(w, end < f->count && !f->texts[end].begins ? " …" : "");
    } else if (at < f->count) {
        add_span(w, f->texts[at].text);
    }
    if (at < f->count && f->pairs) {
        rt_writer_add(w, " │ ");
        add_span(w, f->texts[at].second);
    }
    rt_writer_add(w, "</td>");
}

rt_status rt_report_mistakes(rt_run_page *p)
{
    rt_writer *w = &p->w;
    const rt_data_options *o = &p->config->data;
    const rt_labels *labels = p->trainer ? rt_trainer_data(p->trainer)->labels : NULL;
    const char *path = o->eval_file ? o->eval_file : o->file;
    rt_line_scores scores = {0};
    RT_CLOSED_BY(rt_labelled_file_free) rt_labelled_file file = {.count = 0};
    if (!labels || !rt_task_has_rows(&rt_tasks[o->task]))
        return rt_ok();
    rt_status status = rt_labelled_file_read(&file, "data.file", path ? path : "", o);
    const bool gone = status.code == RT_DATA;
    if (!status.code)
        status = rt_line_scores_find(&scores, p->trainer);
    size_t count = 0; /* number of mistakes, which move to the front */
    for (size_t i = 0; i < scores.count && !status.code; i++)
        if (scores.lines[i].label != scores.lines[i].predicted)
            scores.lines[count++] = scores.lines[i];
    if (count) {
        qsort(scores.lines, count, sizeof *scores.lines, surest_first);
        rt_page_table(w, "Mistakes",
                      RT_COLUMNS("line", "text", "label", "predicted", "probability"));
    }
    for (size_t i = 0; i < count && i < MOST_MISTAKES; i++) {
        const rt_line_score *m = scores.lines + i;
        rt_writer_add(w, "<tr><td>%d</td>", m->line);
        add_text(w, &file, m);
        rt_page_cell(w, "td", labels->names[m->label]);
        rt_page_cell(w, "td", labels->names[m->predicted]);
        rt_writer_add(w, "<td>%.4f</td></tr>\n", m->probability);
    }
    if (count)
        rt_writer_add(w,
                      "</table></div>\n<p>%s %zu wrong predictions over the evaluation rows, those "
                      "with the highest probability first; train --eval --per-line lists every "
                      "row.</p>\n",
                      count > MOST_MISTAKES ? "Some of the" : "The", count);
    rt_free(scores.lines);
    return gone ? rt_ok() : status;
}
