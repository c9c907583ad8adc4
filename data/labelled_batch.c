#include "data/labelled_batch.h"

#include "core/memory.h"

#include <string.h>

static void *alloc_tokens(const rt_labelled_batch *b, size_t size, rt_account *account)
{
    const size_t tokens = (size_t)b->batch.rows * (size_t)b->batch.length;
    return rt_account_alloc(account, RT_FOR_BATCHES, tokens, size);
}

rt_status rt_labelled_batch_new(rt_labelled_batch *b, int rows, int length, rt_account *account)
{
    *b = (rt_labelled_batch){.batch = {.rows = rows, .length = length}, .length = length};
    b->batch.ids = alloc_tokens(b, sizeof *b->batch.ids, account);
    b->batch.labels = alloc_tokens(b, sizeof *b->batch.labels, account);
    b->batch.mask = alloc_tokens(b, sizeof *b->batch.mask, account);
    b->batch.types = alloc_tokens(b, sizeof *b->batch.types, account);
    b->where = alloc_tokens(b, sizeof *b->where, account);
    b->wanted = alloc_tokens(b, sizeof *b->wanted, account);
    if (!b->batch.ids || !b->batch.labels || !b->batch.mask || !b->batch.types || !b->where ||
        !b->wanted)
        return rt_out_of_memory("a batch");
    return rt_ok();
}

void rt_labelled_batch_free(rt_labelled_batch *b)
{
    rt_free(b->batch.ids);
    rt_free(b->batch.labels);
    rt_free(b->batch.mask);
    rt_free(b->batch.types);
    rt_free(b->where);
    rt_free(b->wanted);
    *b = (rt_labelled_batch){.labels = 0};
}

/* Returns the length of a row without its padding. */
static int row_length(const rt_batch *batch, int row)
{
    const uint8_t *mask = batch->mask + (size_t)row * (size_t)batch->length;
    int length = batch->length;
    while (length > 1 && !mask[length - 1])
        length--;
    return length;
}

static void narrow_rows(void *values, size_t size, int rows, int from, int to)
{
    unsigned char *bytes = values;
    for (int r = 1; r < rows; r++)
        memmove(bytes + (size_t)r * (size_t)to * size, bytes + (size_t)r * (size_t)from * size,
                (size_t)to * size);
}

static void cut_to_longest(rt_batch *batch)
{
    const int rows = batch->rows, from = batch->length;
    int longest = 1;
    for (int r = 0; r < rows && longest < from; r++) {
        const int length = row_length(batch, r);
        longest = length > longest ? length : longest;
    }
    if (longest == from)
        return;
    narrow_rows(batch->ids, sizeof *batch->ids, rows, from, longest);
    narrow_rows(batch->labels, sizeof *batch->labels, rows, from, longest);
    narrow_rows(batch->mask, sizeof *batch->mask, rows, from, longest);
    narrow_rows(batch->types, sizeof *batch->types, rows, from, longest);
    batch->length = longest;
}

static void collect_labels(rt_labelled_batch *b)
{
    const int count = b->batch.rows * b->batch.length;
    b->labels = 0;
    for (int i = 0; i < count; i++) {
        if (b->batch.labels[i] == RT_NO_LABEL)
            continue;
        b->where[b->labels] = i;
        b->wanted[b->labels++] = b->batch.labels[i];
    }
}

/* Truncates a drawn batch and lists its labels. */
static void settle(rt_labelled_batch *b, const rt_data *data)
{
    if (rt_data_varies(data))
        cut_to_longest(&b->batch);
    collect_labels(b);
}

void rt_draw_training(rt_labelled_batch *b, const rt_data *data, uint64_t seed, uint32_t step,
                      uint32_t first_row)
{
    b->batch.length = b->length;
    rt_data_training(data, seed, step, first_row, &b->batch);
    settle(b, data);
}

void rt_draw_evaluation(rt_labelled_batch *b, const rt_data *data, uint32_t first_row)
{
    b->batch.length = b->length;
    rt_data_evaluation(data, first_row, &b->batch);
    settle(b, data);
}

rt_status rt_draw_text(rt_labelled_batch *b, const rt_data *data, const char *line, size_t size,
                       rt_example_text *text)
{
    b->batch.length = b->length;
    rt_status status = rt_data_encode_example(text, data, line, size, &b->batch);
    if (!status.code)
        settle(b, data);
    return status;
}
