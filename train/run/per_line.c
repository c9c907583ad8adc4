#include "train/run/per_line.h"

#include "core/memory.h"
#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "text/csv.h"
#include "train/run/text_rows.h"
#include "train/step/scores.h"

#include <limits.h>
#include <string.h>

/* ---- labelled data ---- */

static rt_status print_row(FILE *to, const rt_line_score *s, const rt_labels *labels)
{
    rt_writer w = {0};
    rt_writer_add(&w, "%d,%.9g,", s->line, s->loss);
    rt_csv_put(&w, labels->names[s->label]);
    rt_writer_add(&w, ",");
    rt_csv_put(&w, labels->names[s->predicted]);
    char *row = rt_writer_take(&w);
    if (!row)
        return rt_out_of_memory("a row of a table");
    fprintf(to, "%s\n", row);
    rt_free(row);
    return rt_ok();
}

static rt_status print_labelled(FILE *to, rt_trainer *trainer)
{
    rt_line_scores scores;
    rt_status status = rt_line_scores_find(&scores, trainer);
    if (!status.code)
        fprintf(to, "line,loss,label,predicted\n");
    for (size_t i = 0; i < scores.count && !status.code; i++)
        status = print_row(to, scores.lines + i, rt_data_labels(rt_trainer_data(trainer)));
    rt_line_scores_free(&scores);
    return status;
}

/* ---- text ---- */

typedef struct text_score {
    double loss; /* summed */
    int tokens;
} text_score;

typedef struct scoring {
    const rt_data *data;
    bool ends; /* rows end with a token that is not of the line */
    const rt_text_row *rows;
    text_score *scores;
} scoring;

/* The logits of one place of a row, or of all for place -1. */
static const rt_tensor *logits_of(rt_transformer *model, rt_graph *g, const rt_text_row *row,
                                  int32_t *place)
{
    const rt_transformer_input in = {.B = 1,
                                     .T = row->count,
                                     .ids = row->ids,
                                     .padding_id = RT_NO_PADDING};
    rt_tensor *hidden = rt_transformer_encode(model, g, &in);
    hidden = rt_reshape(g, hidden, RT_SHAPE_OF(row->count, model->options.dim));
    if (*place >= 0)
        hidden = rt_embedding(g, hidden, place, RT_SHAPE_OF(1), RT_NO_PADDING);
    return rt_transformer_logits(model, g, hidden);
}

/* Each token from those before it. */
static rt_status score_next(const rt_text_row *row, rt_transformer *model, rt_graph *g,
                            text_score *s)
{
    int32_t all = -1;
    const rt_tensor *logits = row->count > 1 ? logits_of(model, g, row, &all) : NULL;
    for (int t = 0; logits && t + 1 < row->count; t++, s->tokens++)
        s->loss += rt_logits_loss(logits->data + (size_t)t * (size_t)rt_columns(logits),
                                  rt_columns(logits), row->ids[t + 1]);
    return rt_graph_status(g);
}

/* Each token from all others. */
static rt_status score_masked(const scoring *c, const rt_text_row *row, rt_transformer *model,
                              rt_graph *g, text_score *s)
{
    for (int32_t t = rt_data_begins(c->data); t < row->count - c->ends; t++, s->tokens++) {
        const int32_t id = row->ids[t];
        rt_graph_clear(g);
        row->ids[t] = rt_data_vocabulary(c->data)->special.mask;
        const rt_tensor *logits = logits_of(model, g, row, &t);
        row->ids[t] = id;
        if (!logits)
            break;
        s->loss += rt_logits_loss(logits->data, rt_columns(logits), id);
    }
    return rt_graph_status(g);
}

static rt_status score_line(void *context, int job, rt_transformer *model, rt_graph *g)
{
    const scoring *c = context;
    const rt_text_row *row = c->rows + job;
    text_score *s = c->scores + job;
    return model->options.causal ? score_next(row, model, g, s) : score_masked(c, row, model, g, s);
}

static rt_status print_scores(FILE *to, const rt_text_rows *rows, bool ends, rt_trainer *trainer)
{
    scoring c = {rt_trainer_data(trainer), ends, rows->rows,
                 rt_alloc(rows->count, sizeof *c.scores)};
    if (!c.scores)
        return rt_out_of_memory("the scores of lines");
    rt_status status = rows->count > INT_MAX
                           ? rt_error(RT_DATA, "the text has more than %d lines", INT_MAX)
                           : rt_trainer_run_jobs(trainer, score_line, &c, (int)rows->count);
    if (!status.code)
        fprintf(to, "line,loss,tokens\n");
    for (size_t i = 0; i < rows->count && !status.code; i++) {
        const text_score *s = c.scores + i;
        fprintf(to, "%zu,", i + 1);
        if (s->tokens)
            fprintf(to, "%.9g", s->loss / s->tokens);
        fprintf(to, ",%d\n", s->tokens);
    }
    rt_free(c.scores);
    return status;
}

static rt_status print_text(FILE *to, const rt_config *config, rt_trainer *trainer, int32_t last,
                            long *cut)
{
    const char *path = config->data.eval_file;
    const bool masked = config->data.objective == RT_OBJECTIVE_MLM; /* and sees what comes later */
    rt_text_source source = {.last = masked ? last : RT_NO_ID, .may_be_empty = true};
    rt_text_rows rows = {0};
    if (!rt_data_vocabulary(rt_trainer_data(trainer)))
        return rt_error(RT_CONFIG, "--per-line needs data.task = text, classify or tag");
    if (!*path || strchr(path, ','))
        return rt_error(RT_CONFIG,
                        "--per-line evaluates the lines of one text: give data.eval_file=FILE");
    rt_status status = rt_text_source_open(&source, path);
    if (!status.code)
        status = rt_text_rows_read(&rows, rt_trainer_data(trainer), source);
    if (!status.code)
        status = print_scores(to, &rows, source.last != RT_NO_ID, trainer);
    *cut = rows.cut;
    rt_text_rows_free(&rows);
    rt_text_source_close(&source);
    return status;
}

rt_status rt_per_line_print(FILE *to, const rt_config *config, rt_trainer *trainer, int32_t last,
                            long *cut)
{
    *cut = 0;
    return rt_data_labels(rt_trainer_data(trainer)) ? print_labelled(to, trainer)
                                                    : print_text(to, config, trainer, last, cut);
}
