/* A text of --predict: what it needs for itself, and what there is to tell of it. */

#include "train/run/prediction.h"

#include "core/memory.h"

#include <string.h>

rt_status rt_prediction_new(rt_prediction *p, const rt_prediction *like)
{
    *p = (rt_prediction){.to = like->to,
                         .model = like->model,
                         .data = like->data,
                         .vocabulary = like->vocabulary,
                         .o = like->o,
                         .sampler = like->sampler,
                         .g = rt_graph_new()};
    const rt_transformer_options *o = &p->model->options;
    const int shown = rt_data_labels(p->data) ? o->labels : o->vocab;
    p->logits = rt_alloc((size_t)o->vocab, sizeof *p->logits);
    p->probabilities = rt_alloc((size_t)shown, sizeof *p->probabilities);
    if (!p->g || !p->logits || !p->probabilities)
        return rt_out_of_memory("a prediction");
    return rt_data_labels(p->data) ? rt_labelled_batch_new(&p->row, 1, rt_data_length(p->data))
                                   : rt_ok();
}

void rt_prediction_free(rt_prediction *p)
{
    rt_graph_free(p->g);
    rt_free(p->logits);
    rt_free(p->probabilities);
    rt_free(p->s.ids);
    rt_free(p->continued.last);
    rt_session_free(p->session);
    rt_labelled_batch_free(&p->row);
}

void rt_prediction_next(rt_prediction *p, const char *text, size_t size)
{
    p->text = text;
    p->size = size;
    p->unknown = (rt_unknown){0};
    p->cut = p->full = p->ended = false;
}

void rt_prediction_count(const rt_prediction *p, size_t before, rt_predicted *total)
{
    total->texts++;
    total->cut += p->cut;
    total->full += p->full;
    total->ended += p->ended;
    rt_unknown_add(&total->unknown, &p->unknown, before);
}

rt_status rt_prediction_check_line(const rt_lines *line)
{
    const char *zero = memchr(line->bytes, '\0', line->size);
    return zero ? rt_error(RT_DATA, "byte 0x00 at byte %zu is not text",
                           (size_t)(zero - line->bytes))
                : rt_ok();
}

bool rt_prediction_flush(FILE *to)
{
    return !fflush(to) && !ferror(to);
}
