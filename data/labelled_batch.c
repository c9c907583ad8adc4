#include "data/labelled_batch.h"

#include "core/memory.h"
#include "core/random.h"
#include "data/source.h"

#include <assert.h>
#include <string.h>

static void *alloc_tokens(const rt_labelled_batch *b, size_t size, rt_account *account)
{
    const size_t tokens = (size_t)b->batch.rows * (size_t)b->batch.length;
    return rt_account_alloc(account, RT_FOR_BATCHES, tokens, size);
}

rt_status rt_labelled_batch_new(rt_labelled_batch *b, int rows, int length, int patch,
                                rt_account *account)
{
    *b = (rt_labelled_batch){.batch = {.rows = rows, .length = length}, .length = length};
    b->batch.ids = alloc_tokens(b, sizeof *b->batch.ids, account);
    b->batch.labels = alloc_tokens(b, sizeof *b->batch.labels, account);
    b->batch.mask = alloc_tokens(b, sizeof *b->batch.mask, account);
    b->batch.types = alloc_tokens(b, sizeof *b->batch.types, account);
    if (patch)
        b->batch.patches = alloc_tokens(b, (size_t)patch * sizeof *b->batch.patches, account);
    b->where = alloc_tokens(b, sizeof *b->where, account);
    b->wanted = alloc_tokens(b, sizeof *b->wanted, account);
    if (!b->batch.ids || !b->batch.labels || !b->batch.mask || !b->batch.types || !b->where ||
        !b->wanted || (patch && !b->batch.patches))
        return rt_out_of_memory("a batch");
    return rt_ok();
}

void rt_labelled_batch_free(rt_labelled_batch *b)
{
    rt_free(b->batch.ids);
    rt_free(b->batch.labels);
    rt_free(b->batch.mask);
    rt_free(b->batch.types);
    rt_free(b->batch.patches);
    rt_free(b->where);
    rt_free(b->wanted);
    rt_free(b->positions);
    *b = (rt_labelled_batch){.labels = 0};
}

rt_status rt_labelled_batch_randomize(rt_labelled_batch *b, int most, rt_account *account)
{
    b->positions = alloc_tokens(b, sizeof *b->positions, account);
    b->randomized = most;
    return rt_allocated(b->positions, "a batch");
}

/* Draws positions for the tokens of a row: each number is chosen with the probability that is still
 * needed (selection sampling; Knuth, volume 2, algorithm 3.4.2 S). */
static void draw_positions(double *positions, const rt_labelled_batch *b, int row, rt_draw draw)
{
    const rt_random random = {draw.seed, draw.step, RT_STREAM_POSITION};
    const int T = b->batch.length, most = b->randomized;
    const uint8_t *mask = b->batch.mask + (size_t)row * (size_t)T;
    uint32_t words[4];
    int tokens = T, chosen = 0;
    while (tokens > 1 && !mask[tokens - 1])
        tokens--;
    assert(tokens <= most);
    for (int number = 0; chosen < tokens; number++) {
        if (number % 4 == 0)
            rt_random_words(random, rt_draw_index(draw, number / 4), words);
        if (rt_word_below(words[number % 4], most - number) < tokens - chosen)
            positions[chosen++] = number;
    }
    for (; chosen < T; chosen++)
        positions[chosen] = positions[tokens - 1];
}

static void narrow_rows(void *values, size_t size, int rows, int from, int to)
{
    unsigned char *bytes = values;
    for (int r = 1; r < rows; r++)
        memmove(bytes + (size_t)r * (size_t)to * size, bytes + (size_t)r * (size_t)from * size,
                (size_t)to * size);
}

/* Truncates the rows to the longest one without its padding. */
static void cut_to_longest(rt_batch *batch)
{
    const int rows = batch->rows, from = batch->length;
    int longest = 1;
    for (int r = 0; r < rows; r++) {
        const uint8_t *mask = batch->mask + (size_t)r * (size_t)from;
        int length = from;
        while (length > longest && !mask[length - 1])
            length--;
        longest = length;
    }
    if (longest == from)
        return;
    narrow_rows(batch->ids, sizeof *batch->ids, rows, from, longest);
    narrow_rows(batch->labels, sizeof *batch->labels, rows, from, longest);
    narrow_rows(batch->mask, sizeof *batch->mask, rows, from, longest);
    narrow_rows(batch->types, sizeof *batch->types, rows, from, longest);
    if (batch->distances)
        narrow_rows(batch->distances, sizeof *batch->distances, rows, from, longest);
    batch->length = longest;
}

/* Truncates a drawn batch, lists its labels, and draws the positions of its rows; `first` is the
 * key of row 0. */
static void list_labels(rt_labelled_batch *b, const rt_data *data, rt_draw first)
{
    if (data->varies)
        cut_to_longest(&b->batch);
    const int count = b->batch.rows * b->batch.length;
    b->labels = 0;
    for (int i = 0; i < count; i++) {
        if (b->batch.labels[i] == RT_NO_LABEL)
            continue;
        b->where[b->labels] = i;
        b->wanted[b->labels++] = b->batch.labels[i];
    }
    for (int r = 0; b->positions && r < b->batch.rows; r++, first.sequence++)
        draw_positions(b->positions + (size_t)r * (size_t)b->batch.length, b, r, first);
}

void rt_draw_training(rt_labelled_batch *b, const rt_data *data, uint64_t seed, uint32_t step,
                      uint32_t first_row)
{
    b->batch.length = b->length;
    rt_data_training(data, seed, step, first_row, &b->batch);
    list_labels(b, data, (rt_draw){seed, step + 1, first_row});
}

void rt_draw_evaluation(rt_labelled_batch *b, const rt_data *data, uint32_t first_row)
{
    b->batch.length = b->length;
    rt_data_evaluation(data, first_row, &b->batch);
    list_labels(b, data, (rt_draw){data->options.eval_seed, 0, first_row});
}

rt_status rt_draw_text(rt_labelled_batch *b, const rt_data *data, const char *line, size_t size,
                       rt_example_text *text)
{
    b->batch.length = b->length;
    RT_TRY(rt_data_encode_example(text, data, line, size, &b->batch));
    list_labels(b, data, (rt_draw){0});
    return rt_ok();
}
