#include "core/memory.h"
#include "data/labelled_file.h"
#include "data/labels.h"
#include "text/number.h"
#include "train/report/private.h"
#include "train/step/scores.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 100, WIDEST_MATRIX = 30 };

typedef struct classes {
    const char *folder;
    rt_labels *labels;
    rt_class_score *scores; /* of each */
    rt_class_score *errors; /* the same, but F1 is minus the number of errors of the class */
    int occurring;          /* classes that occur or are predicted */
    bool failed;            /* the heap is exhausted */
} classes;

/* ---- reading ---- */

static rt_label_name name_of(const char *cell)
{
    return (rt_label_name){cell, strlen(cell)};
}

/* Reads the labels of the table. Cells that are no label, or one too many, are skipped. */
static void read_labels(classes *c)
{
    rt_csv csv;
    rt_writer names = {0};
    int count = 0;
    if (rt_csv_open(&csv, c->folder, "classes.csv"))
        while (count < RT_LABELS_LIMIT && rt_csv_row(&csv)) {
            const char *name = rt_csv_cell(&csv, "label");
            if (rt_label_problem(name_of(name)))
                continue;
            rt_writer_add(&names, "%s\n", name);
            count++;
        }
    rt_csv_close(&csv);
    const size_t size = names.length;
    char *bytes = rt_writer_take(&names);
    rt_status status = bytes ? rt_labels_read(&c->labels, "classes.csv", bytes, size)
                             : rt_out_of_memory("a table");
    c->failed = status.code == RT_MEMORY;
    rt_free(bytes);
}

static int find(const classes *c, const rt_csv *csv, const char *column)
{
    return rt_labels_find(c->labels, name_of(rt_csv_cell(csv, column)));
}

/* Reads the scores of each class. */
static void read_scores(classes *c)
{
    rt_csv csv;
    int count;
    c->scores = rt_alloc((size_t)c->labels->count, sizeof *c->scores);
    c->errors = rt_alloc((size_t)c->labels->count, sizeof *c->errors);
    c->failed |= !c->scores || !c->errors;
    if (c->failed)
        return;
    if (rt_csv_open(&csv, c->folder, "classes.csv"))
        while (rt_csv_row(&csv)) {
            const int label = find(c, &csv, "label");
            if (label >= 0 && rt_csv_whole(&csv, "count", &count))
                c->scores[label] = (rt_class_score){.precision = rt_csv_number(&csv, "precision"),
                                                    .recall = rt_csv_number(&csv, "recall"),
                                                    .f1 = rt_csv_number(&csv, "f1"),
                                                    .count = count};
        }
    rt_csv_close(&csv);
}

/* Counts how often each class was predicted, and the errors that it takes part in. */
static void read_errors(classes *c)
{
    rt_csv csv;
    int count;
    if (rt_csv_open(&csv, c->folder, "confusion.csv"))
        while (rt_csv_row(&csv)) {
            const int from = find(c, &csv, "true"), to = find(c, &csv, "predicted");
            if (from < 0 || to < 0 || !rt_csv_whole(&csv, "count", &count))
                continue;
            c->scores[to].predicted += count;
            c->errors[from].f1 -= from != to ? count : 0;
            c->errors[to].f1 -= from != to ? count : 0;
        }
    rt_csv_close(&csv);
    for (int i = 0; i < c->labels->count; i++) {
        c->errors[i].count = c->scores[i].count;
        c->errors[i].predicted = c->scores[i].predicted;
        c->occurring += rt_score_counts(c->scores + i);
    }
}

/* ---- the table ---- */

static void add_row_heading(rt_writer *w, const char *label)
{
    rt_writer_add(w, "<tr><th scope=\"row\">");
    rt_html_text(w, label);
    rt_writer_add(w, "</th>");
}

static void add_classes(rt_writer *w, const classes *c)
{
    char text[RT_NUMBER_SIZE];
    int chosen[MOST_ROWS];
    const int count = rt_scores_lowest(chosen, c->scores, c->labels->count, MOST_ROWS);
    rt_writer_add(w, "<h2>Classes</h2>\n<div class=\"scroll\"><table>\n<tr><th scope=\"col\">label"
                     "</th><th scope=\"col\">precision</th><th scope=\"col\">recall</th><th "
                     "scope=\"col\">F1</th><th scope=\"col\">count</th></tr>\n");
    for (int i = 0; i < count; i++) {
        const rt_class_score *s = c->scores + chosen[i];
        const double scores[] = {s->precision, s->recall, s->f1};
        add_row_heading(w, c->labels->names[chosen[i]]);
        for (int k = 0; k < 3; k++)
            rt_page_cell(w, "td", rt_number_show(text, 4, scores[k]));
        rt_writer_add(w, "<td>%" PRId64 "</td></tr>\n", s->count);
    }
    rt_writer_add(w, "</table></div>\n");
    if (count < c->occurring)
        rt_writer_add(w,
                      "<p>The %d of the %d classes with the lowest F1; classes.csv has all.</p>\n",
                      count, c->occurring);
}

/* ---- the matrix ---- */

/* The classes of the matrix; place: row of each class in the matrix, or -1. */
typedef struct matrix {
    int chosen[WIDEST_MATRIX];
    int count;
    int *place;
    int64_t pairs[WIDEST_MATRIX * WIDEST_MATRIX];
} matrix;

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void read_matrix(matrix *m, const classes *c)
{
    rt_csv csv;
    int count;
    m->count = rt_scores_lowest(m->chosen, c->errors, c->labels->count, WIDEST_MATRIX);
    qsort(m->chosen, (size_t)m->count, sizeof *m->chosen, ascending);
    for (int i = 0; i < c->labels->count; i++)
        m->place[i] = -1;
    for (int i = 0; i < m->count; i++)
        m->place[m->chosen[i]] = i;
    if (rt_csv_open(&csv, c->folder, "confusion.csv"))
        while (rt_csv_row(&csv)) {
            const int from = find(c, &csv, "true"), to = find(c, &csv, "predicted");
            if (from >= 0 && to >= 0 && m->place[from] >= 0 && m->place[to] >= 0 &&
                rt_csv_whole(&csv, "count", &count))
                m->pairs[m->place[from] * WIDEST_MATRIX + m->place[to]] = count;
        }
    rt_csv_close(&csv);
}

/* A cell is as dark as its share of the row's class. */
static void add_pairs(rt_writer *w, int64_t pairs, int64_t count, bool right)
{
    const double share = count > 0 && pairs < count ? (double)pairs / (double)count : 1;
    if (pairs)
        rt_writer_add(w, "<td class=\"%s\" style=\"--share:%.3f\">%" PRId64 "</td>",
                      right ? "right" : "wrong", share, pairs);
    else
        rt_writer_add(w, "<td></td>");
}

static void add_matrix(rt_writer *w, const classes *c, const matrix *m)
{
    rt_writer_add(w, "<h2>Confusion matrix</h2>\n<div class=\"scroll\"><table "
                     "class=\"confusion\">\n<tr><td></td>");
    for (int i = 0; i < m->count; i++) {
        rt_writer_add(w, "<th scope=\"col\"><span>");
        rt_html_text(w, c->labels->names[m->chosen[i]]);
        rt_writer_add(w, "</span></th>");
    }
    rt_writer_add(w, "</tr>\n");
    for (int i = 0; i < m->count; i++) {
        add_row_heading(w, c->labels->names[m->chosen[i]]);
        for (int k = 0; k < m->count; k++)
            add_pairs(w, m->pairs[i * WIDEST_MATRIX + k], c->scores[m->chosen[i]].count, i == k);
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(w, "</table></div>\n<p>Rows: the true class; columns: the class that was "
                     "predicted; the shade is the share of the row.");
    if (m->count < c->occurring)
        rt_writer_add(w, " The %d of the %d classes with the most errors; confusion.csv has all.",
                      m->count, c->occurring);
    rt_writer_add(w, "</p>\n");
}

/* ---- the section ---- */

static void add_section(rt_writer *w, classes *c)
{
    matrix *m = rt_alloc(1, sizeof *m);
    int *place = rt_alloc((size_t)c->labels->count, sizeof *place);
    c->failed = !m || !place;
    if (!c->failed) {
        m->place = place;
        read_matrix(m, c);
        add_classes(w, c);
        add_matrix(w, c, m);
    }
    rt_free(place);
    rt_free(m);
}

void rt_report_classes(rt_writer *w, const char *folder)
{
    classes c = {.folder = folder};
    read_labels(&c);
    if (c.labels)
        read_scores(&c);
    if (c.labels && !c.failed)
        read_errors(&c);
    if (c.occurring)
        add_section(w, &c);
    w->failed |= c.failed;
    rt_labels_free(c.labels);
    rt_free(c.scores);
    rt_free(c.errors);
}

enum { SHOWN = 12, AROUND = 6 /* tokens */, LONGEST_TEXT = 400 /* bytes */ };

/* ---- choosing ---- */

static int surest_first(const void *a, const void *b)
{
    const rt_line_score *one = a, *other = b;
    if (one->probability != other->probability)
        return one->probability < other->probability ? 1 : -1;
    return (one->line > other->line) - (one->line < other->line);
}

/* Moves the mistakes to the front, the surest first; returns how many there are. */
static size_t keep_mistakes(rt_line_scores *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->lines[i].label != s->lines[i].predicted)
            s->lines[count++] = s->lines[i];
    qsort(s->lines, count, sizeof *s->lines, surest_first);
    return count;
}

/* ---- their texts ---- */

/* The beginning of a text, up to a whole character. */
static void add_span(rt_writer *w, rt_text_span text)
{
    char bytes[LONGEST_TEXT + 1];
    size_t size = text.size < LONGEST_TEXT ? text.size : LONGEST_TEXT;
    while (size < text.size && size && ((unsigned char)text.bytes[size] & 0xC0) == 0x80)
        size--;
    if (size)
        memcpy(bytes, text.bytes, size);
    bytes[size] = '\0';
    rt_html_text(w, bytes);
    if (size < text.size)
        rt_writer_add(w, "…");
}

static void add_sentence(rt_writer *w, const rt_labelled_file *f, size_t at)
{
    size_t first = at, end = at + 1;
    while (!f->texts[first].begins && at - first < AROUND)
        first--;
    while (end < f->count && !f->texts[end].begins && end - at <= AROUND)
        end++;
    rt_writer_add(w, f->texts[first].begins ? "" : "… ");
    for (size_t i = first; i < end; i++) {
        rt_writer_add(w, "%s%s", i > first ? " " : "", i == at ? "<b>" : "");
        add_span(w, f->texts[i].text);
        rt_writer_add(w, i == at ? "</b>" : "");
    }
    rt_writer_add(w, end < f->count && !f->texts[end].begins ? " …" : "");
}

static void add_text(rt_writer *w, const rt_labelled_file *f, int line)
{
    size_t at = 0;
    while (at < f->count && f->texts[at].line != line)
        at++;
    rt_writer_add(w, "<td class=\"text\">");
    if (at < f->count && f->tokens)
        add_sentence(w, f, at);
    else if (at < f->count)
        add_span(w, f->texts[at].text);
    if (at < f->count && f->pairs) {
        rt_writer_add(w, " │ ");
        add_span(w, f->texts[at].second);
    }
    rt_writer_add(w, "</td>");
}

/* ---- the table ---- */

static void add_mistakes(rt_writer *w, const rt_line_score *mistakes, size_t count,
                         const rt_labelled_file *f, const rt_labels *labels)
{
    const size_t shown = count < SHOWN ? count : SHOWN;
    rt_writer_add(w, "<h2>Mistakes</h2>\n<div class=\"scroll\"><table>\n<tr><th>line</th>"
                     "<th>text</th><th>label</th><th>predicted</th><th>probability</th></tr>\n");
    for (size_t i = 0; i < shown; i++) {
        const rt_line_score *m = mistakes + i;
        rt_writer_add(w, "<tr><td>%d</td>", m->line);
        add_text(w, f, m->line);
        rt_page_cell(w, "td", labels->names[m->label]);
        rt_page_cell(w, "td", labels->names[m->predicted]);
        rt_page_number(w, "%.4f", m->probability);
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(
        w,
        "</table></div>\n<p>%s %zu wrong predictions over the evaluation rows, those with "
        "the highest probability first; train --eval --per-line lists every row.</p>\n",
        shown < count ? "Some of the" : "The", count);
}

rt_status rt_report_mistakes(rt_writer *w, const rt_config *config, rt_trainer *trainer)
{
    const rt_data_options *o = &config->data;
    const rt_labels *labels = rt_data_labels(rt_trainer_data(trainer));
    const char *path = o->eval_file ? o->eval_file : o->file;
    rt_line_scores scores = {0};
    rt_labelled_file file = {.count = 0};
    if (!labels)
        return rt_ok();
    rt_status status = rt_labelled_file_read(&file, "data.file", path ? path : "",
                                             rt_data_task_target(o->task) == RT_TARGET_TOKENS);
    const bool gone = status.code == RT_DATA;
    if (!status.code)
        status = rt_line_scores_find(&scores, trainer);
    const size_t count = status.code ? 0 : keep_mistakes(&scores);
    if (count)
        add_mistakes(w, scores.lines, count, &file, labels);
    rt_line_scores_free(&scores);
    rt_labelled_file_free(&file);
    return gone ? rt_ok() : status;
}
