#include "train/step/scores.h"

#include "core/memory.h"
#include "train/step/trainer_private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static double share(int64_t part, int64_t all)
{
    return all ? (double)part / (double)all : 0;
}

bool rt_score_counts(const rt_class_score *score)
{
    return score->count || score->predicted;
}

rt_macro_score rt_scores_find(rt_class_score *scores, const int64_t *confusion, int classes)
{
    rt_macro_score macro = {0, 0};
    for (int c = 0; c < classes; c++)
        scores[c] = (rt_class_score){.count = 0};
    for (int c = 0; c < classes; c++)
        for (int k = 0; k < classes; k++) {
            const int64_t pairs = confusion[(size_t)c * (size_t)classes + (size_t)k];
            scores[c].count += pairs;
            scores[k].predicted += pairs;
        }
    for (int c = 0; c < classes; c++) {
        rt_class_score *s = scores + c;
        const int64_t right = confusion[(size_t)c * (size_t)classes + (size_t)c];
        s->precision = share(right, s->predicted);
        s->recall = share(right, s->count);
        s->f1 = share(2 * right, s->predicted + s->count);
        macro.f1 += s->f1;
        macro.classes += rt_score_counts(s);
    }
    macro.f1 = macro.classes ? macro.f1 / macro.classes : 0;
    return macro;
}

int rt_scores_lowest(int *chosen, const rt_class_score *scores, int classes, int most)
{
    int all = 0, count = 0;
    for (int c = 0; c < classes; c++)
        all += rt_score_counts(scores + c);
    for (int c = 0; c < classes; c++) {
        if (!rt_score_counts(scores + c))
            continue;
        int at = count;
        while (all > most && at > 0 && scores[c].f1 < scores[chosen[at - 1]].f1)
            at--;
        if (at == most)
            continue;
        for (int i = count < most ? count : most - 1; i > at; i--)
            chosen[i] = chosen[i - 1];
        chosen[at] = c;
        count += count < most;
    }
    return count;
}

/* ---- lines ---- */

/* Lines of each sequence, before they are joined. */
typedef struct line_scoring {
    const rt_data *data;
    rt_line_scores *each; /* of every sequence */
} line_scoring;

double rt_logits_loss(const real *logits, int columns, int wanted)
{
    double most = (double)logits[0], sum = 0;
    for (int c = 1; c < columns; c++)
        most = fmax(most, (double)logits[c]);
    for (int c = 0; c < columns; c++)
        sum += exp((double)logits[c] - most);
    return most + log(sum) - (double)logits[wanted];
}

/* Labelled tokens of a sentence are consecutive lines of the file. */
static rt_status score_rows(rt_line_scores *s, const rt_tensor *logits, const rt_labelled_batch *b,
                            int first_line)
{
    const int classes = rt_columns(logits);
    s->lines = rt_alloc((size_t)b->labels, sizeof *s->lines);
    if (!s->lines)
        return rt_out_of_memory("the scores of lines");
    for (int i = 0; i < b->labels; i++) {
        const real *row = logits->data + (size_t)i * (size_t)classes;
        const int predicted = rt_largest(logits, (size_t)i);
        s->lines[s->count++] =
            (rt_line_score){.line = first_line + i,
                            .label = b->wanted[i],
                            .predicted = predicted,
                            .loss = rt_logits_loss(row, classes, b->wanted[i]),
                            .probability = exp(-rt_logits_loss(row, classes, predicted))};
    }
    return rt_ok();
}

static rt_status score_sequence(void *context, int number, const rt_labelled_batch *b,
                                rt_transformer *model, rt_graph *g)
{
    const line_scoring *f = context;
    const rt_tensor *logits = b->labels ? rt_batch_logits(model, g, b) : NULL;
    const rt_status status = rt_graph_status(g);
    return !logits || status.code ? status
                                  : score_rows(f->each + number, logits, b,
                                               rt_data_evaluation_line(f->data, (uint32_t)number));
}

static int compare_lines(const void *a, const void *b)
{
    const int one = ((const rt_line_score *)a)->line, other = ((const rt_line_score *)b)->line;
    return (one > other) - (one < other);
}

static rt_status join_lines(rt_line_scores *scores, const line_scoring *f, int sequences)
{
    size_t count = 0;
    for (int i = 0; i < sequences; i++)
        count += f->each[i].count;
    scores->lines = rt_alloc(count, sizeof *scores->lines);
    if (!scores->lines)
        return rt_out_of_memory("the scores of lines");
    for (int i = 0; i < sequences; i++) {
        const rt_line_scores *s = f->each + i;
        if (s->count)
            memcpy(scores->lines + scores->count, s->lines, s->count * sizeof *s->lines);
        scores->count += s->count;
    }
    qsort(scores->lines, scores->count, sizeof *scores->lines, compare_lines);
    return rt_ok();
}

rt_status rt_line_scores_find(rt_line_scores *scores, rt_trainer *trainer)
{
    line_scoring f = {.data = rt_trainer_data(trainer)};
    rt_parts parts;
    *scores = (rt_line_scores){0};
    if (!rt_data_labels(f.data))
        return rt_error(RT_CONFIG, "the data has no labels");
    rt_status status = rt_parts_new(&parts, trainer, rt_data_length(f.data), 1, INT_MAX);
    f.each = rt_alloc((size_t)parts.count, sizeof *f.each);
    if (!status.code && !f.each)
        status = rt_out_of_memory("the scores of lines");
    rt_trainer_hold(trainer);
    if (!status.code)
        status = rt_parts_run(&parts, 0, parts.count, score_sequence, &f);
    rt_trainer_let_go();
    if (!status.code)
        status = join_lines(scores, &f, parts.count);
    for (int i = 0; f.each && i < parts.count; i++)
        rt_free(f.each[i].lines);
    rt_free(f.each);
    rt_parts_free(&parts);
    return status;
}

void rt_line_scores_free(rt_line_scores *scores)
{
    rt_free(scores->lines);
    *scores = (rt_line_scores){0};
}
