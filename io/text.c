/* From a text to a row, and from rows to logits. */

#include "io/origin.h"

#include "core/memory.h"
#include "data/labelled_batch.h"
#include "data/objective.h"
#include "models/sampler.h"
#include "ops/engine.h"

#include <limits.h>
#include <string.h>

/* ---- rows ---- */

void rt_row_free(rt_row *row)
{
    rt_free(row->ids);
    rt_free(row->types);
    rt_free(row->tokens);
    *row = (rt_row){.length = 0};
}

/* A row of labelled data as long as it is; its arrays are longer. */
static void take_row(rt_row *row, rt_batch *batch, bool tokens)
{
    while (row->length < batch->length && batch->mask[row->length])
        row->length++;
    row->ids = batch->ids;
    row->types = batch->types;
    batch->ids = batch->types = NULL;
    if (!tokens)
        return;
    for (int t = 0; t < row->length; t++)
        if (batch->labels[t] == RT_NO_LABEL)
            batch->labels[t] = RT_NO_TOKEN;
    row->tokens = batch->labels;
    batch->labels = NULL;
}

static rt_status encode_example(const rt_model *m, const char *text, const char *second,
                                rt_row *row, rt_batch *batch)
{
    const rt_data *data = m->origin->data;
    const bool tokens = rt_data_target(data) == RT_TARGET_TOKENS;
    rt_example_text x;
    if (tokens && second)
        return rt_error(RT_ARGUMENT, "the model was trained without pairs of texts");
    rt_status status = tokens ? rt_data_encode_example(&x, data, text, strlen(text), batch)
                              : rt_data_encode_texts(&x, data, text, second, batch);
    if (!status.code) {
        take_row(row, batch, tokens);
        row->cut = x.cut;
        row->unknown = x.unknown;
    }
    rt_example_text_free(&x);
    return status;
}

static rt_status encode_labelled(const rt_model *m, const char *text, const char *second,
                                 rt_row *row)
{
    rt_labelled_batch b;
    rt_status status = rt_labelled_batch_new(&b, 1, m->length, NULL);
    if (!status.code)
        status = encode_example(m, text, second, row, &b.batch);
    rt_labelled_batch_free(&b);
    return status;
}

static rt_status encode_plain(const rt_model *m, const char *text, const char *second, rt_row *row)
{
    int masks;
    if (second)
        return rt_error(RT_ARGUMENT, "the model was trained without pairs of texts");
    const bool begins = !m->origin || rt_data_begins(m->origin->data);
    return rt_masked_text_encode(m->vocabulary, begins, false, text, &row->ids, &row->length,
                                 &masks, &row->unknown);
}

rt_status rt_model_encode(const rt_model *m, const char *text, const char *second, rt_row *row)
{
    *row = (rt_row){.length = 0};
    if (!m->vocabulary)
        return rt_error(RT_ARGUMENT, "the model has no vocabulary: it reads token ids, not texts");
    if (m->labels && !m->origin)
        return rt_error(RT_ARGUMENT, "the model was made by hand: rt_model_new makes one that "
                                     "knows its labels");
    return m->labels ? encode_labelled(m, text, second, row) : encode_plain(m, text, second, row);
}

/* ---- logits ---- */

static bool check_rows(rt_graph *g, const rt_row *rows, int count, int *longest)
{
    *longest = 0;
    if (count < 1)
        rt_graph_fail(g, RT_ARGUMENT, "[model] needs at least one row; got %d", count);
    for (int i = 0; i < count && !rt_graph_failed(g); i++) {
        if (rows[i].length < 1 || !rows[i].ids)
            rt_graph_fail(g, RT_ARGUMENT, "[model] row %d has no ids", i);
        *longest = rows[i].length > *longest ? rows[i].length : *longest;
    }
    if (!rt_graph_failed(g) && *longest > INT_MAX / count)
        rt_graph_fail(g, RT_ARGUMENT, "[model] %d rows of %d tokens are too many", count, *longest);
    return !rt_graph_failed(g);
}

/* Rows side by side, in memory of the graph. */
static bool pad_rows(const rt_model *m, rt_graph *g, const rt_row *rows, rt_transformer_input *in)
{
    const size_t T = (size_t)in->T, size = (size_t)in->B * T;
    const int32_t pad = m->vocabulary ? m->vocabulary->special.pad : RT_ID_PAD;
    int32_t *ids = rt_graph_memory(g, size, sizeof *ids);
    int32_t *types = rt_graph_memory(g, size, sizeof *types);
    uint8_t *mask = rt_graph_memory(g, size, sizeof *mask);
    if (!ids || !types || !mask)
        return false;
    for (size_t i = 0; i < size; i++) {
        const rt_row *row = rows + i / T;
        const size_t t = i % T;
        mask[i] = t < (size_t)row->length;
        ids[i] = mask[i] ? row->ids[t] : pad;
        types[i] = mask[i] && row->types ? row->types[t] : 0;
    }
    in->ids = ids;
    in->token_types = types;
    in->key_mask = mask;
    return true;
}

rt_tensor *rt_model_logits(rt_model *m, rt_graph *g, const rt_row *rows, int count)
{
    rt_transformer_input in = {.B = count, .padding_id = RT_NO_PADDING};
    if (!m->transformer)
        return rt_graph_fail(g, RT_ARGUMENT, "[model] has no transformer: rt_model_new makes one");
    if (rt_graph_failed(g) || !check_rows(g, rows, count, &in.T) || !pad_rows(m, g, rows, &in))
        return NULL;
    return rt_transformer_forward(m->transformer, g, &in);
}

rt_status rt_logits_probabilities(const rt_tensor *logits, size_t row, double *probabilities)
{
    const int columns = rt_columns(logits);
    if (!logits->data)
        return rt_error(RT_ARGUMENT, "the tensor of logits has no values");
    return rt_probabilities(logits->data + row * (size_t)columns, columns, probabilities);
}

rt_status rt_model_classify(rt_model *m, const char *text, const char *second,
                            double *probabilities)
{
    rt_row row;
    if (!m->labels || !m->transformer || m->transformer->options.head != RT_HEAD_SEQUENCE)
        return rt_error(RT_ARGUMENT, "the model has no classes of texts");
    rt_status status = rt_model_encode(m, text, second, &row);
    rt_graph *g = status.code ? NULL : rt_graph_new();
    if (!status.code && !g)
        status = rt_out_of_memory("a graph");
    if (g) {
        rt_graph_record(g, false);
        const rt_tensor *logits = rt_model_logits(m, g, &row, 1);
        status = rt_engine_graph_status(g);
        if (!status.code)
            status = rt_logits_probabilities(logits, 0, probabilities);
    }
    rt_graph_free(g);
    rt_row_free(&row);
    return status;
}
