/* --predict with data.objective = mlm: every [MASK] of a text is filled. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "text/capture.h"
#include "text/utf8_stream.h"
#include "train/run/answer.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 5 }; /* most likely tokens of a mask */

/* As it stands in the vocabulary. */
static void print_token(const rt_prediction *p, int32_t id)
{
    size_t size;
    const char *token = rt_vocabulary_decode(p->vocabulary, id, &size);
    rt_utf8_stream stream = {.to = p->to};
    if (token)
        rt_utf8_stream_put(&stream, token, size);
    rt_utf8_stream_end(&stream);
}

/* Uses up the logits. */
static void print_likely(rt_prediction *p, int number)
{
    const rt_tensor row = rt_tensor_of(p->logits, NULL, RT_SHAPE_OF(p->vocabulary->count));
    fprintf(p->to, "mask %d:", number);
    for (int i = 0; i < SHOWN && i < rt_vocabulary_ordinary_tokens(p->vocabulary); i++) {
        const int32_t id = rt_largest(&row, 0);
        fprintf(p->to, "%s '", i ? "," : "");
        print_token(p, id);
        fprintf(p->to, "' %.3f", p->probabilities[id]);
        p->logits[id] = (real)-INFINITY;
    }
    fputc('\n', p->to);
}

/* The text as it was given, with a token in the place of every mask. */
static void print_filled(FILE *to, const rt_prediction *p, const int32_t *filled)
{
    const char *rest = p->text;
    rt_utf8_stream stream = {.to = to};
    rt_mask_place found = rt_mask_find(p->vocabulary, rest);
    for (int t = rt_data_begins(p->data); found.at; t++) {
        while (p->s.ids[t] != p->vocabulary->special.mask)
            t++;
        const rt_spelling s = rt_vocabulary_spell(p->vocabulary, filled[t]);
        rt_utf8_stream_put(&stream, rest, (size_t)(found.at - rest));
        /* the text has its own spaces */
        const size_t blank = s.size && *s.bytes == ' ' && found.at > p->text && found.at[-1] == ' ';
        rt_utf8_stream_put(&stream, s.bytes + blank, s.size - blank);
        rest = found.at + found.size;
        found = rt_mask_find(p->vocabulary, rest);
    }
    rt_utf8_stream_put(&stream, rest, strlen(rest));
    rt_utf8_stream_end(&stream);
}

static bool is_mask(const rt_prediction *p, int t)
{
    return p->s.ids[t] == p->vocabulary->special.mask;
}

static rt_status print_lines(rt_prediction *p, const int32_t *filled)
{
    rt_status status = rt_ok();
    print_filled(p->to, p, filled);
    fputc('\n', p->to);
    for (int t = rt_data_begins(p->data), number = 0; t < p->s.count && !status.code; t++)
        if (is_mask(p, t)) {
            status = rt_prediction_logits(p, p->s.ids, p->s.count, t);
            if (!status.code)
                print_likely(p, ++number);
        }
    return status;
}

/* A token that a mask was filled with, and its probability. */
static json_t *answer_mask(const rt_prediction *p, int32_t id)
{
    size_t size = 0;
    const char *token = rt_vocabulary_decode(p->vocabulary, id, &size);
    return json_pack("{s:o,s:o}", "token", rt_answer_string(token ? token : "", size),
                     "probability", rt_answer_number(p->probabilities[id]));
}

static json_t *answer_filled(const rt_prediction *p, const int32_t *filled)
{
    rt_capture text;
    json_t *string = NULL;
    if (rt_capture_begin(&text)) {
        print_filled(text.file, p, filled);
        if (rt_capture_end(&text))
            string = rt_answer_string(text.bytes, text.size);
    }
    rt_capture_free(&text);
    return string;
}

static rt_status answer(rt_prediction *p, const int32_t *filled)
{
    json_t *masks = json_array();
    rt_status status = rt_ok();
    for (int t = rt_data_begins(p->data); t < p->s.count && !status.code; t++)
        if (is_mask(p, t)) {
            status = rt_prediction_logits(p, p->s.ids, p->s.count, t);
            json_array_append_new(masks, answer_mask(p, filled[t]));
        }
    if (!status.code)
        return rt_answer_print(p->to, json_pack("{s:o,s:o,s:o}", "text",
                                                rt_answer_string(p->text, p->size), "filled",
                                                answer_filled(p, filled), "masks", masks));
    json_decref(masks);
    return status;
}

/* Every mask is filled from the text as it was given. */
static rt_status fill(rt_prediction *p, int32_t *filled)
{
    rt_status status = rt_ok();
    memcpy(filled, p->s.ids, (size_t)p->s.count * sizeof *filled);
    for (int t = rt_data_begins(p->data); t < p->s.count && !status.code; t++)
        if (is_mask(p, t)) {
            status = rt_prediction_logits(p, p->s.ids, p->s.count, t);
            if (!status.code)
                status = rt_sampler_draw(p->sampler, p->logits, (uint32_t)t, filled + t);
        }
    return status;
}

static rt_status fill_and_print(rt_prediction *p)
{
    int32_t *filled = rt_alloc((size_t)p->s.count, sizeof *filled);
    rt_status status = filled ? fill(p, filled) : rt_out_of_memory("a prediction");
    if (!status.code)
        status = p->o->jsonl ? answer(p, filled) : print_lines(p, filled);
    rt_free(filled);
    return status;
}

rt_status rt_predict_masks(rt_prediction *p)
{
    int masks;
    rt_status status = rt_prediction_read(p, &masks);
    if (!status.code && !masks)
        status = rt_error(RT_ARGUMENT, "the text must have a [MASK] to fill");
    if (!status.code && p->o->last)
        status = rt_prediction_append(&p->s, p->o->last, 1);
    return status.code ? status : fill_and_print(p);
}
