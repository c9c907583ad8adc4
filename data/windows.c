/* Windows of consecutive tokens: a sequence is the token that begins one, if any, and a window of a
 * text. With data.cross = no, windows do not cross the token that ends a document, whatever its
 * origin. */

#include "core/memory.h"
#include "data/corpus.h"
#include "data/encode_text.h"
#include "data/source.h"
#include "data/tokenizers/tokens.h"

#include <assert.h>
#include <string.h>

/* Consecutive tokens. */
typedef struct span {
    size_t first, count;
    double weight; /* of a training part */
} span;

typedef struct spans {
    span *list;
    size_t count, capacity;
    double weight; /* sum over the spans */
} spans;

/* Training parts: all of data.file, or each file of a mixture. Evaluation texts: the files of
 * data.eval_file or, without it, the tails of the parts. Windows lie within one of them. Training
 * and evaluation overlap only if eval_fraction is 0. */
typedef struct windows {
    rt_tokens tokens;
    spans parts, texts;
} windows;

static const windows *windows_of(const rt_data *data)
{
    return data->task->kind == RT_DATA_WINDOWS ? data->state->rows : NULL;
}

static bool check_file(const rt_data_options *o, const rt_data_file *file, rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", file->key);
    const rt_token_format *format = rt_token_format_of(file->path);
    if (rt_tasks[o->task].token_ids && !file->ids)
        rt_rule_broken(to, options,
                       "%s must name a file and a data set for tokens, as in ids.h5:/train, or "
                       "a file that ends in .bin or .npy; got '%.600s'",
                       file->key, file->path);
    else if (!file->ids && format && format->sets)
        rt_rule_broken(to, options,
                       "%s must name the data set of an HDF5 file behind it, as in "
                       "ids.h5:/train; got '%.600s'",
                       file->key, file->path);
    else
        return true;
    return false;
}

/* Returns whether windows end at the end of their document. */
static bool keeps_documents(const rt_data *data)
{
    return data->state->documents && !data->options.cross;
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

static rt_status add_span(spans *to, size_t first, size_t count, double weight)
{
    if (!rt_grow(&to->list, &to->capacity, to->count + 1, sizeof *to->list))
        return rt_out_of_memory("the files of data");
    to->list[to->count++] = (span){first, count, weight};
    to->weight += weight;
    return rt_ok();
}

/* Adds a text of data.file as a part, and its tail as an evaluation text. RT_DATA, with `many` (the
 * plural of its tokens), if they have no training window or their tail no evaluation window. */
static rt_status add_training_text(rt_data *data, const rt_corpus_text *text, const char *many)
{
    windows *w = data->state->rows;
    const rt_data_options *o = &data->options;
    const size_t count = text->count, window = window_size(data, o->length);
    const size_t tail = o->eval_file ? 0 : (size_t)(o->eval_fraction * (double)count);
    const size_t kept = o->eval_fraction > 0 ? tail : count;
    if (!o->eval_file && data->evaluation_only && kept < least_window(data))
        return rt_error(RT_DATA,
                        "%.600s: data.eval_fraction %g leaves none of its %zu %s for evaluation; "
                        "set data.eval_fraction=0 to evaluate all of them",
                        text->name, o->eval_fraction, count, many);
    if (!o->eval_file && !data->evaluation_only && (count - tail < window || kept < window))
        return rt_error(RT_DATA,
                        "%.600s: data.length %d needs %zu %s for training and as many for "
                        "evaluation; data.file has %zu: %zu for training and %zu for evaluation "
                        "(data.eval_fraction %g)",
                        text->name, o->length, window, many, count, count - tail, kept,
                        o->eval_fraction);
    if (o->eval_file && count < window)
        return rt_error(RT_DATA,
                        "%.600s: data.length %d needs %zu %s for training; data.file has %zu",
                        text->name, o->length, window, many, count);
    RT_TRY(add_span(&w->parts, text->first, count - tail, text->weight));
    return o->eval_file ? rt_ok() : add_span(&w->texts, text->first + count - kept, kept, 0);
}

/* Adds the training part or the evaluation text of a text of the corpus. RT_DATA if it has no
 * window. */
static rt_status take_text(void *context, const rt_corpus_text *text)
{
    rt_data *data = context;
    windows *w = data->state->rows;
    const int length = data->options.length;
    const size_t least = data->evaluation_only ? least_window(data) : window_size(data, length);
    const char *many = data->vocabulary ? rt_words_for_tokens(data->vocabulary->level).many : "ids";
    if (text->part == RT_PART_TRAINING)
        return add_training_text(data, text, many);
    if (text->count < least)
        return rt_error(
            RT_DATA,
            "%.600s: data.eval_file must hold at least %zu %s (data.length %d); it holds %zu",
            text->name, least, many, length, text->count);
    return add_span(&w->texts, text->first, text->count, 0);
}

static rt_status open_windows(rt_data *data, const rt_data_files *files)
{
    windows *w = data->state->rows = rt_alloc(1, sizeof *w);
    RT_TRY(rt_allocated(w, "the files of data"));
    const rt_status status = rt_corpus_open(data, files, &w->tokens, take_text, data);
    data->varies = rt_data_short_texts(data, data->options.length).count || keeps_documents(data);
    return status;
}

static void close_windows(void *rows)
{
    windows *w = rows;
    rt_tokens_close(&w->tokens);
    rt_free(w->parts.list);
    rt_free(w->texts.list);
    rt_free(w);
}

rt_status rt_data_status(const rt_data *data)
{
    const windows *w = windows_of(data);
    return w ? rt_tokens_status(&w->tokens) : rt_ok();
}

rt_short_texts rt_data_short_texts(const rt_data *data, int length)
{
    const windows *w = windows_of(data);
    rt_short_texts found = {0, w ? w->texts.count : 0, 0};
    for (size_t i = 0; i < found.of; i++) {
        const size_t count = w->texts.list[i].count;
        if (count < window_size(data, length) && (!found.count++ || count < found.least))
            found.least = count;
    }
    return found;
}

/* Returns the windows of a text. Tokens after the last full window are skipped; a shorter text is
 * one window. */
static size_t rows_of(const rt_data *data, const span *text, int length)
{
    const size_t rows = text->count / window_size(data, length);
    return rows ? rows : 1;
}

static long count_rows(const rt_data *data, int length)
{
    const windows *w = data->state->rows;
    size_t rows = 0;
    for (size_t i = 0; i < w->texts.count; i++)
        rows += rows_of(data, w->texts.list + i, length);
    return (long)rows;
}

rt_special_use rt_data_special_use(const rt_data *data)
{
    enum { LOOKED_AT = 1 << 14 };
    const windows *w = windows_of(data);
    const size_t there = w ? w->tokens.count : 0, tokens = there < LOOKED_AT ? there : LOOKED_AT;
    const bool special = rt_data_has_special_tokens(data);
    const bool asked =
        data->task->token_ids && (special || data->options.objective == RT_OBJECTIVE_MLM);
    RT_OWNED int32_t *ids = asked && tokens ? rt_alloc(tokens, sizeof *ids) : NULL;
    rt_special_use use = {0, tokens};
    if (ids && rt_tokens_read(&w->tokens, 0, tokens, ids))
        for (size_t i = 0; i < tokens; i++)
            use.count += ids[i] == data->special.mask ||
                         (special && (ids[i] == data->special.pad || ids[i] == data->special.cls));
    return use;
}

/* Numbers of the random draws of a training window; those of documents follow. A window that is
 * drawn again adds a multiple of DRAWS to them. */
enum { TRIES = 16, DRAW_START = 0, DRAW_PART, DRAW_DOCUMENT, DRAWS = DRAW_DOCUMENT + 2 * TRIES };

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
static const span *draw_part(const rt_data *data, rt_draw draw, int base)
{
    const windows *w = data->state->rows;
    const span *part = w->parts.list;
    if (w->parts.count == 1)
        return part;
    const uint64_t index = rt_draw_index(draw, base + DRAW_PART);
    double at = w->parts.weight * rt_random_uniform(randomness(draw), index);
    for (; part + 1 < w->parts.list + w->parts.count && at >= part->weight; part++)
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
static span training_document(const rt_data *data, rt_draw draw, int length, int base)
{
    const rt_tokens *tokens = &windows_of(data)->tokens;
    const span *part = draw_part(data, draw, base);
    const size_t window = window_size(data, length), part_end = part->first + part->count;
    const int32_t border = data->special.sep;
    span found = {part->first, window, 0};
    for (int i = 0; i < TRIES; i++) {
        const int number = base + DRAW_DOCUMENT + 2 * i;
        const size_t token = part->first + draw_below(draw, number, part->count);
        const size_t from = token - part->first >= window ? token - window + 1 : part->first;
        const size_t to = part_end - token > window ? token + window : part_end;
        const size_t before = rt_tokens_find(tokens, from, token, border, true);
        const size_t behind = rt_tokens_find(tokens, token, to, border, false);
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

/* Returns the evaluation window of a sequence, counted through all `rows`. Those of a single text
 * follow each other. Of several texts any number of sequences has each in proportion to its
 * windows: the order is that of multiples of the golden ratio, modulo 1. */
static size_t evaluation_row(const spans *texts, uint32_t sequence, size_t rows)
{
    __extension__ typedef unsigned __int128 wide;
    size_t step = (size_t)(0.6180339887498949 * (double)rows), one, other;
    if (texts->count == 1)
        return sequence % rows;
    do { /* the next step without a common divisor */
        step++;
        for (one = rows, other = step; other; other %= one) {
            const size_t rest = one;
            one = other;
            other = rest;
        }
    } while (one != 1);
    return (size_t)((wide)(sequence % rows) * step % rows);
}

/* Returns the window of a sequence, by the draws from `base` on. Evaluation windows have no gaps
 * between them within a text. */
static span window_of(const rt_data *data, rt_draw draw, int length, int base)
{
    const size_t window = window_size(data, length);
    if (!draw.step) {
        const size_t rows = (size_t)count_rows(data, length);
        const spans *texts = &windows_of(data)->texts;
        const span *text = texts->list;
        assert(rows > 0);
        size_t row = evaluation_row(texts, draw.sequence, rows);
        for (; row >= rows_of(data, text, length); text++)
            row -= rows_of(data, text, length);
        const size_t left = text->count - row * window;
        return (span){text->first + row * window, left < window ? left : window, 0};
    }
    if (keeps_documents(data))
        return training_document(data, draw, length, base);
    const span *part = draw_part(data, draw, base);
    assert(part->count >= window);
    const size_t first = draw_below(draw, base + DRAW_START, part->count - window + 1);
    return (span){part->first + first, window, 0};
}

/* Returns whether the objective predicts a token of a window. */
static bool can_predict(const rt_data *data, const int32_t *ids, int count)
{
    bool can = data->options.objective != RT_OBJECTIVE_MLM;
    for (int t = 0; t < count && !can; t++)
        can = rt_data_masks(data, ids[t]);
    return can;
}

/* Draws a row; of training, again if the objective predicts none of its tokens. One that cannot be
 * read stays padding. */
static void draw_window(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_tokens *tokens = &windows_of(data)->tokens;
    const int length = row.length, begin = rt_data_begins(data);
    span window;
    bool read;
    int i = 0;
    do {
        window = window_of(data, draw, length, i * DRAWS);
        row.length = (int)window.count + begin;
        read = rt_tokens_read(tokens, window.first, window.count, row.ids + begin);
    } while (read && draw.step && !can_predict(data, row.ids + begin, (int)window.count) &&
             ++i < TRIES);
    for (int t = read ? row.length : 0; t < length; t++)
        row.ids[t] = data->special.pad;
    if (!read)
        return;
    if (!draw.step && keeps_documents(data))
        row.length = begin + longest_document(data, row.ids + begin, (int)window.count);
    if (begin)
        row.ids[0] = data->special.cls;
    memset(row.mask, 1, (size_t)row.length);
    rt_objective_apply(data, draw, row);
    const int last = draw.step ? 0 : data->options.eval_last;
    for (int t = 0; last && t < row.length - 1 - last; t++)
        row.labels[t] = RT_NO_LABEL;
}

const rt_source rt_windows = {.check = rt_data_files_check,
                              .check_file = check_file,
                              .open = open_windows,
                              .write = rt_corpus_write,
                              .rows = count_rows,
                              .draw = draw_window,
                              .close = close_windows};
