/* --predict for labelled data: the class of a text, and the tags of its tokens. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "data/labels.h"
#include "ops/engine.h"
#include "train/run/answer.h"

#include <string.h>

/* Lays the text out as a row and finds the logits of its labels; NULL on an error. */
static const rt_tensor *find_logits(rt_prediction *p, rt_example_text *x, rt_status *status)
{
    const rt_tensor *logits = NULL;
    *status = rt_draw_text(&p->row, p->data, p->text, p->size, x);
    p->unknown = x->unknown;
    p->cut = x->cut;
    if (status->code)
        return NULL;
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    logits = rt_batch_logits(p->model, p->g, &p->row);
    *status = rt_engine_graph_status(p->g);
    return logits;
}

/* Leaves the probabilities of the labels of a row in p->probabilities, and finds the most likely.
 */
static rt_status guess_label(rt_prediction *p, const rt_tensor *logits, size_t row, int *best)
{
    const int classes = rt_columns(logits);
    *best = rt_largest(logits, row);
    return rt_probabilities(logits->data + row * (size_t)classes, classes, p->probabilities);
}

static const char *name_of(const rt_prediction *p, int label)
{
    return rt_data_labels(p->data)->names[label];
}

/* ---- as lines ---- */

static void print_label(const rt_prediction *p, int label)
{
    fprintf(p->to, "%s\t%.4f\n", name_of(p, label), p->probabilities[label]);
}

/* A token that was cut off has no label. */
static rt_status print_tags(rt_prediction *p, const rt_example_text *x, const rt_tensor *logits)
{
    for (int i = 0, label; i < p->row.labels; i++) {
        const rt_text_span token = x->texts[p->row.wanted[i]];
        const rt_status status = guess_label(p, logits, (size_t)i, &label);
        if (status.code)
            return status;
        fwrite(token.bytes, 1, token.size, p->to);
        fputc('\t', p->to);
        print_label(p, label);
    }
    fputc('\n', p->to);
    return rt_ok();
}

/* ---- as JSON ---- */

static json_t *string_of_label(const rt_prediction *p, int label)
{
    const char *name = name_of(p, label);
    return rt_answer_string(name, strlen(name));
}

static rt_status answer_label(const rt_prediction *p, int label)
{
    json_t *all = json_object();
    for (int c = 0; c < p->model->options.labels; c++)
        json_object_set_new(all, name_of(p, c), rt_answer_number(p->probabilities[c]));
    return rt_answer_print(p->to, json_pack("{s:o,s:o,s:o,s:o}", "text",
                                            rt_answer_string(p->text, p->size), "label",
                                            string_of_label(p, label), "probability",
                                            rt_answer_number(p->probabilities[label]),
                                            "probabilities", all));
}

static rt_status answer_tags(rt_prediction *p, const rt_example_text *x, const rt_tensor *logits)
{
    json_t *words = json_array();
    rt_status status = rt_ok();
    for (int i = 0, label; i < p->row.labels && !status.code; i++) {
        const rt_text_span word = x->texts[p->row.wanted[i]];
        status = guess_label(p, logits, (size_t)i, &label);
        json_array_append_new(words, json_pack("{s:o,s:o,s:o}", "word",
                                               rt_answer_string(word.bytes, word.size), "label",
                                               string_of_label(p, label), "probability",
                                               rt_answer_number(p->probabilities[label])));
    }
    if (!status.code)
        return rt_answer_print(p->to,
                               json_pack("{s:o,s:o}", "text", rt_answer_string(p->text, p->size),
                                         "words", words));
    json_decref(words);
    return status;
}

/* ---- either ---- */

rt_status rt_predict_class(rt_prediction *p)
{
    rt_example_text x;
    rt_status status;
    const rt_tensor *logits = find_logits(p, &x, &status);
    int label;
    if (!status.code)
        status = guess_label(p, logits, 0, &label);
    if (!status.code && p->o->jsonl)
        status = answer_label(p, label);
    else if (!status.code)
        print_label(p, label);
    rt_example_text_free(&x);
    return status;
}

rt_status rt_predict_tags(rt_prediction *p)
{
    rt_example_text x;
    rt_status status;
    const rt_tensor *logits = find_logits(p, &x, &status);
    if (!status.code)
        status = p->o->jsonl ? answer_tags(p, &x, logits) : print_tags(p, &x, logits);
    rt_example_text_free(&x);
    return status;
}
