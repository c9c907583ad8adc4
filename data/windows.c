#include "core/memory.h"
#include "data/task.h"

#include <assert.h>
#include <string.h>

/* Numbers of permutations; those of blocks follow. */
enum { OF_BATCHES, OF_BOUNDS, OF_BLOCKS };

/* Batches per block: a sixteenth of an epoch, between these limits. The minimum keeps small files
 * sorted; it is large enough for the rows of a batch to change between epochs, and the maximum is
 * as much as that needs. */
enum { FEWEST_BATCHES = 4, MOST_BATCHES = 64, PARTS = 16 };

enum { ROUNDS = 6 };

/* ---- permutations ---- */

static uint32_t mix(rt_random random, uint32_t number, int round, uint32_t half)
{
    uint32_t words[4];
    rt_random_words(random, (uint64_t)number << 32 | (uint32_t)round << 16 | half, words);
    return words[0];
}

uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i)
{
    int bits = 1; /* bits of a half */
    assert(i < n);
    while (bits < 16 && n > UINT32_C(1) << 2 * bits)
        bits++;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    do {
        uint32_t left = i >> bits, right = i & mask;
        for (int round = 0; round < ROUNDS; round++) {
            const uint32_t next = left ^ (mix(random, number, round, right) & mask);
            left = right;
            right = next;
        }
        i = left << bits | right;
    } while (i >= n);
    return i;
}

/* ---- an epoch ---- */

/* The first block of an epoch ends at a random bound. */
uint32_t rt_order_training(rt_order o, uint64_t seed, uint32_t step, uint32_t sequence)
{
    const uint32_t batches = o.rows / o.batch + (o.rows % o.batch > 0), part = batches / PARTS;
    const rt_random epoch = {seed, step / batches, RT_STREAM_ORDER};
    const uint64_t batch = rt_permuted(epoch, OF_BATCHES, batches, step % batches);
    const uint32_t place = (uint32_t)((batch * o.batch + sequence) % o.rows);
    const uint64_t size = (uint64_t)o.batch * (part < FEWEST_BATCHES ? FEWEST_BATCHES
                                               : part > MOST_BATCHES ? MOST_BATCHES
                                                                     : part);
    const uint64_t bound = 1 + (mix(epoch, OF_BOUNDS, 0, 0) * size >> 32);
    const uint64_t block = place < bound ? 0 : 1 + (place - bound) / size;
    const uint64_t first = block ? bound + (block - 1) * size : 0;
    const uint64_t end = block ? first + size : bound, last = end < o.rows ? end : o.rows;
    return (uint32_t)first + rt_permuted(epoch, OF_BLOCKS + (uint32_t)block,
                                         (uint32_t)(last - first), place - (uint32_t)first);
}

uint32_t rt_order_evaluation(rt_order o, uint64_t seed, uint32_t sequence)
{
    const uint32_t full = o.rows / o.batch, at = sequence % o.rows, batch = at / o.batch;
    const rt_random random = {seed, UINT32_MAX, RT_STREAM_ORDER};
    return batch < full ? rt_permuted(random, OF_BATCHES, full, batch) * o.batch + at % o.batch
                        : at;
}

/* ---- windows ---- */

bool rt_data_keeps_documents(const rt_data *data)
{
    return rt_documents_are_cut(&data->options) && !data->options.cross;
}

/* Returns the tokens of a sequence without the one that begins it. */
static size_t window_size(const rt_data *data, int length)
{
    return (size_t)length - rt_data_begins(data);
}

/* Returns the tokens of the shortest window. Its first token is predicted from the token before it;
 * without one, a second token is needed. */
static size_t least_window(const rt_data *data)
{
    return rt_data_begins(data) ? 1 : 2;
}

/* ---- parts and texts ---- */

static rt_status add_text(rt_window_texts *texts, size_t first, size_t count, double weight)
{
    if (!rt_grow(&texts->list, &texts->capacity, texts->count + 1, sizeof *texts->list))
        return rt_out_of_memory("the files of data");
    texts->list[texts->count++] = (rt_window_text){first, count, weight};
    return rt_ok();
}

rt_status rt_windows_train(rt_data *data, const char *name, size_t count, double weight,
                           const char *many)
{
    const rt_data_options *o = &data->options;
    const size_t first = data->runs.tokens - count, window = window_size(data, o->length);
    const size_t tail = o->eval_file ? 0 : (size_t)(o->eval_fraction * (double)count);
    const size_t kept = o->eval_fraction > 0 ? tail : count;
    rt_status status = rt_ok();
    if (!o->eval_file && data->evaluation_only && kept < least_window(data))
        status = rt_error(RT_DATA,
                          "%.600s: data.eval_fraction %g leaves none of its %zu %s for evaluation; "
                          "set data.eval_fraction=0 to evaluate all of them",
                          name, o->eval_fraction, count, many);
    else if (!o->eval_file && !data->evaluation_only && (count - tail < window || kept < window))
        status =
            rt_error(RT_DATA,
                     "%.600s: data.length %d needs %zu %s for training and as many for "
                     "evaluation; data.file has %zu: %zu for training and %zu for evaluation "
                     "(data.eval_fraction %g)",
                     name, o->length, window, many, count, count - tail, kept, o->eval_fraction);
    else if (o->eval_file && !data->evaluation_only && count < window)
        status =
            rt_error(RT_DATA, "%.600s: data.length %d needs %zu %s for training; data.file has %zu",
                     name, o->length, window, many, count);
    if (!status.code)
        status = add_text(&data->parts, first, count - tail, weight);
    if (!status.code && !o->eval_file)
        status = add_text(&data->texts, first + count - kept, kept, 0);
    data->weight += weight;
    return status;
}

rt_status rt_windows_add(rt_data *data, const char *path, size_t count, const char *many)
{
    const int length = data->options.length;
    const size_t first = data->runs.tokens - count,
                 least = data->evaluation_only ? least_window(data) : window_size(data, length);
    if (count < least)
        return rt_error(
            RT_DATA,
            "%.600s: data.eval_file must hold at least %zu %s (data.length %d); it holds %zu", path,
            least, many, length, count);
    return add_text(&data->texts, first, count, 0);
}

/* ---- evaluation windows ---- */

/* Returns the windows of a text. Tokens after the last full window are skipped. For evaluation
 * only, a shorter text is one window. */
static size_t rows_of(const rt_data *data, const rt_window_text *text, int length)
{
    const size_t rows = text->count / window_size(data, length);
    return rows || !data->evaluation_only ? rows : 1;
}

long rt_windows_evaluation_rows(const rt_data *data, int length)
{
    size_t rows = 0;
    for (size_t i = 0; i < data->texts.count; i++)
        rows += rows_of(data, data->texts.list + i, length);
    return (long)rows;
}

rt_short_texts rt_data_short_texts(const rt_data *data)
{
    rt_short_texts found = {.least = SIZE_MAX};
    for (size_t i = 0; i < data->texts.count; i++) {
        const size_t count = data->texts.list[i].count;
        if (count >= window_size(data, data->options.length))
            continue;
        found.count++;
        found.least = count < found.least ? count : found.least;
    }
    return found;
}

/* Numbers of the random draws of a training window; those of documents follow. */
enum { DRAW_START, DRAW_PART, DRAW_DOCUMENT };

static rt_random randomness(rt_draw draw)
{
    return (rt_random){draw.seed, draw.step, RT_STREAM_WINDOW};
}

/* Returns a uniform number in 0 ... n-1; for n above 32 bits biased to small numbers by less than
 * 2^-16. */
static size_t draw_below(rt_draw draw, int number, size_t n)
{
    uint32_t words[4];
    if (n <= UINT32_MAX)
        return rt_random_below(randomness(draw), rt_draw_index(draw, number), (uint32_t)n);
    rt_random_words(randomness(draw), rt_draw_index(draw, number), words);
    return (size_t)(((uint64_t)words[0] << 32 | words[1]) % n);
}

/* Draws a part with a probability in proportion to its weight. */
static const rt_window_text *draw_part(const rt_data *data, rt_draw draw)
{
    const rt_window_text *part = data->parts.list;
    if (data->parts.count == 1)
        return part;
    double at = data->weight * rt_random_uniform(randomness(draw), rt_draw_index(draw, DRAW_PART));
    for (; part + 1 < data->parts.list + data->parts.count && at >= part->weight; part++)
        at -= part->weight;
    return part;
}

/* Moves the longest piece of `count` ids within one document to the front and pads the others.
 * Returns its length. */
static int longest_document(const rt_data *data, int32_t *ids, int count)
{
    int first = 0, longest = 0, start = 0;
    for (int i = 0; i < count; i++) {
        const int size = i + 1 - start;
        if (size > longest) {
            longest = size;
            first = start;
        }
        if (ids[i] == data->special.sep)
            start = i + 1;
    }
    memmove(ids, ids + first, (size_t)longest * sizeof *ids);
    for (int i = longest; i < count; i++)
        ids[i] = data->special.pad;
    return longest;
}

/* Draws a training window within one document: a token, then a window that holds it. A document
 * shorter than a window is one window. If it is too short to predict a token, draws again. */
static rt_window_text training_document(const rt_data *data, rt_draw draw, int length)
{
    enum { TRIES = 16 };
    const rt_window_text *part = draw_part(data, draw);
    const size_t window = window_size(data, length), part_end = part->first + part->count;
    const int32_t border = data->special.sep;
    rt_window_text found = {part->first, window, 0};
    for (int i = 0; i < TRIES; i++) {
        const int number = DRAW_DOCUMENT + 2 * i;
        const size_t token = part->first + draw_below(draw, number, part->count);
        const size_t from = token - part->first >= window ? token - window + 1 : part->first;
        const size_t to = part_end - token > window ? token + window : part_end;
        const size_t before = rt_token_runs_find(&data->runs, from, token, border, true);
        const size_t behind = rt_token_runs_find(&data->runs, token, to, border, false);
        const size_t start = before == SIZE_MAX ? from : before + 1;
        const size_t end = behind < to ? behind + 1 : to;
        found.count = end - start < window ? end - start : window;
        const size_t last = end - found.count < token ? end - found.count : token;
        found.first = start + draw_below(draw, number + 1, last - start + 1);
        if (found.count >= least_window(data))
            break;
    }
    return found;
}

/* Returns the window of a sequence. Evaluation windows follow each other without gaps within a
 * text, text after text. */
static rt_window_text window_of(const rt_data *data, rt_draw draw, int length)
{
    const size_t window = window_size(data, length);
    if (!draw.step) {
        const size_t rows = (size_t)rt_windows_evaluation_rows(data, length);
        const rt_window_text *text = data->texts.list;
        assert(rows > 0);
        size_t row = draw.sequence % rows;
        for (; row >= rows_of(data, text, length); text++)
            row -= rows_of(data, text, length);
        const size_t left = text->count - row * window;
        return (rt_window_text){text->first + row * window, left < window ? left : window, 0};
    }
    if (rt_data_keeps_documents(data))
        return training_document(data, draw, length);
    const rt_window_text *part = draw_part(data, draw);
    assert(part->count >= window);
    const size_t first = draw_below(draw, DRAW_START, part->count - window + 1);
    return (rt_window_text){part->first + first, window, 0};
}

/* Draws a row. One that cannot be read stays padding. */
void rt_windows_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_window_text window = window_of(data, draw, row.length);
    const int begin = rt_data_begins(data);
    row.length = (int)window.count + begin;
    if (!rt_token_runs_read(&data->runs, window.first, window.count, row.ids + begin)) {
        for (int t = 0; t < row.length; t++)
            row.ids[t] = data->special.pad;
        return;
    }
    if (!draw.step && rt_data_keeps_documents(data))
        row.length = begin + longest_document(data, row.ids + begin, (int)window.count);
    if (begin)
        row.ids[0] = data->special.cls;
    memset(row.mask, 1, (size_t)row.length);
    rt_objective_apply(data, draw, row);
}
