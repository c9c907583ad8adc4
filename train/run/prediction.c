/* What all kinds of predictions share: answers in JSON, the buffers of a text. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "text/capture.h"

#include <math.h>
#include <string.h>

/* ---- answers in JSON ---- */

enum { DIGITS = 6 }; /* of a number in JSON */

json_t *rt_answer_string(const char *bytes, size_t size)
{
    rt_capture text;
    json_t *string = NULL;
    if (rt_capture_begin(&text)) {
        rt_utf8_stream stream = {.to = text.file};
        rt_utf8_stream_put(&stream, bytes, size);
        rt_utf8_stream_end(&stream);
        if (rt_capture_end(&text))
            string = json_stringn(text.bytes, text.size);
    }
    rt_capture_free(&text);
    return string;
}

json_t *rt_answer_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

rt_status rt_answer_print(FILE *to, json_t *answer)
{
    char *line = answer ? json_dumps(answer, JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(answer);
    if (!line)
        return rt_out_of_memory("an answer");
    fprintf(to, "%s\n", line);
    free(line); /* Jansson's, which is malloc's */
    return rt_ok();
}

/* ---- a text ---- */

rt_status rt_prediction_new(rt_prediction *p, const rt_prediction *shared)
{
    *p = *shared;
    p->g = rt_graph_new();
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

rt_status rt_prediction_append(rt_prediction_ids *s, const int32_t *ids, int count)
{
    if (s->count + count > s->capacity) {
        const int capacity = 2 * (s->count + count);
        int32_t *larger = rt_alloc((size_t)capacity, sizeof *larger);
        if (!larger)
            return rt_out_of_memory("a prediction");
        if (s->count)
            memcpy(larger, s->ids, (size_t)s->count * sizeof *larger);
        rt_free(s->ids);
        s->ids = larger;
        s->capacity = capacity;
    }
    memcpy(s->ids + s->count, ids, (size_t)count * sizeof *ids);
    s->count += count;
    return rt_ok();
}

rt_status rt_prediction_read(rt_prediction *p, int *masks)
{
    rt_prediction_ids *s = &p->s;
    rt_free(s->ids);
    rt_status status = rt_masked_text_encode(p->vocabulary, rt_data_begins(p->data), p->o->special,
                                             p->text, &s->ids, &s->count, masks, &p->unknown);
    s->capacity = s->count;
    return status;
}
