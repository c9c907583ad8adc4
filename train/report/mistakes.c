#include "train/report/mistakes.h"

#include "core/memory.h"
#include "data/labelled_file.h"
#include "train/report/html.h"
#include "train/report/page.h"
#include "train/step/scores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void add_table(rt_writer *w, const rt_line_score *mistakes, size_t count,
                      const rt_labelled_file *f, const rt_labels *labels)
{
    const size_t shown = count < SHOWN ? count : SHOWN;
    char number[48];
    rt_writer_add(w, "<h2>Mistakes</h2>\n<div class=\"scroll\"><table>\n<tr><th>line</th>"
                     "<th>text</th><th>label</th><th>predicted</th><th>probability</th></tr>\n");
    for (size_t i = 0; i < shown; i++) {
        const rt_line_score *m = mistakes + i;
        rt_writer_add(w, "<tr><td>%d</td>", m->line);
        add_text(w, f, m->line);
        rt_page_cell(w, "td", labels->names[m->label]);
        rt_page_cell(w, "td", labels->names[m->predicted]);
        snprintf(number, sizeof number, "%.4f", m->probability);
        rt_page_cell(w, "td", number);
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
    const char *path = *o->eval_file ? o->eval_file : o->file;
    rt_line_scores scores = {0};
    rt_labelled_file file = {.count = 0};
    if (!labels)
        return rt_ok();
    rt_status status = rt_labelled_file_read(&file, "data.file", path,
                                             rt_data_task_target(o->task) == RT_TARGET_TOKENS);
    const bool gone = status.code == RT_DATA;
    if (!status.code)
        status = rt_line_scores_find(&scores, trainer);
    const size_t count = status.code ? 0 : keep_mistakes(&scores);
    if (count)
        add_table(w, scores.lines, count, &file, labels);
    rt_line_scores_free(&scores);
    rt_labelled_file_free(&file);
    return gone ? rt_ok() : status;
}
