#include "data/labelled_batch.h"

#include "core/memory.h"
#include "core/random.h"
#include "data/task.h"

#include <assert.h>
#include <string.h>

/* ---- lines of text ---- */

static rt_status check_bytes(rt_text_span text)
{
    size_t at;
    const char *problem = rt_text_problem(text.bytes, text.size, &at);
    return problem ? rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu %s",
                              (unsigned)(unsigned char)text.bytes[at], at, problem)
                   : rt_ok();
}

/* Allocates the texts of a row. */
static rt_status new_texts(rt_example_text *x, int count)
{
    x->texts = rt_alloc((size_t)count, sizeof *x->texts);
    x->count = x->texts ? count : 0;
    return x->texts ? rt_ok() : rt_out_of_memory("a text");
}

/* Splits a line into tokens and returns their number. `texts` may be NULL, to count them. */
static int split_tokens(const char *line, size_t size, rt_text_span *texts)
{
    int count = 0;
    for (size_t at = 0, start; at < size;) {
        while (at < size && (line[at] == ' ' || line[at] == '\t'))
            at++;
        for (start = at; at < size && line[at] != ' ' && line[at] != '\t';)
            at++;
        if (at > start && texts)
            texts[count] = (rt_text_span){line + start, at - start};
        count += at > start;
    }
    return count;
}

static rt_status split_pair(rt_example_text *x, const char *line, size_t size)
{
    const char *tab = memchr(line, '\t', size), *end = line + size;
    if (!tab || tab == line || tab + 1 == end || memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
        return rt_error(RT_ARGUMENT, "a pair must be TEXT<TAB>TEXT, neither empty; got %s",
                        !tab                            ? "no tab"
                        : tab == line || tab + 1 == end ? "an empty text"
                                                        : "more than one tab");
    const rt_status status = new_texts(x, 2);
    if (!status.code) {
        x->texts[0] = (rt_text_span){line, (size_t)(tab - line)};
        x->texts[1] = (rt_text_span){tab + 1, (size_t)(end - tab - 1)};
    }
    return status;
}

/* Splits a line into its texts. Without data, a model with token types accepts pairs and single
 * texts. */
static rt_status split(rt_example_text *x, const rt_data *data, const char *line, size_t size)
{
    const bool tag = rt_data_has_tags(data);
    const int count = tag ? split_tokens(line, size, NULL) : 1;
    if (!size || !count)
        return rt_error(RT_ARGUMENT, "the text is empty");
    if (!tag && (data->examples ? data->examples->pairs
                                : rt_data_types(data) > 1 && memchr(line, '\t', size)))
        return split_pair(x, line, size);
    const rt_status status = new_texts(x, count);
    if (!status.code && tag)
        split_tokens(line, size, x->texts);
    else if (!status.code)
        x->texts[0] = (rt_text_span){line, size};
    return status;
}

/* Returns the error of a text with its name as prefix. */
static rt_status name_text(const rt_example_text *x, const rt_data *data, int i, const char *why)
{
    if (rt_data_has_tags(data))
        return rt_error(RT_ARGUMENT, "token %d: %.800s", i + 1, why);
    return rt_error(RT_ARGUMENT, "%s%.800s", x->count == 1 ? "" : i ? "text_b: " : "text: ", why);
}

/* Encodes the texts, which are spans of `line` unless it is NULL and have `size` bytes. */
static rt_status encode_row(rt_example_text *x, const rt_data *data, const char *line, size_t size,
                            rt_batch *row)
{
    const bool tags = rt_data_has_tags(data), pair = !tags && x->count == 2;
    const size_t most = rt_vocabulary_most_ids(data->vocabulary, size);
    rt_example example = {.label = 0};
    rt_examples all = {.rows = &example,
                       .count = 1,
                       .ids = rt_alloc_unset(most, sizeof *all.ids),
                       .labels = tags ? rt_alloc_unset(most, sizeof *all.labels) : NULL};
    rt_status status =
        all.ids && (all.labels || !tags) ? rt_ok() : rt_out_of_memory("the ids of a text");
    for (int i = 0; i < x->count - pair && !status.code; i++) {
        rt_labelled_text text = {.text = x->texts[i]};
        bool second;
        if (pair)
            text.second = x->texts[1];
        status = rt_examples_add(&all, data, &text, i, line, &x->unknown, &second);
        if (status.code == RT_ARGUMENT || status.code == RT_DATA)
            status = name_text(x, data, i + second, status.message);
    }
    if (!status.code) {
        rt_example_put(data, &all, &example, rt_sequence_clear(data, row, 0));
        x->cut = rt_example_length(data, &example) > (size_t)row->length;
    }
    rt_free(all.ids);
    rt_free(all.labels);
    return status;
}

/* Checks that a row can be encoded. A folder of Hugging Face may have a model for sequences shorter
 * than any training allows. */
static rt_status check_use(const rt_data *data, size_t size, const rt_batch *row)
{
    assert(row->rows == 1);
    if (!data->labels || data->images)
        return rt_error(RT_ARGUMENT, "data.task = %s has no labelled texts", data->task->name);
    if (row->length < data->task->shortest)
        return rt_error(RT_ARGUMENT, "data.length must be at least %d for %s; got %d",
                        data->task->shortest, data->task->name, row->length);
    const int limit = rt_vocabulary_most_bytes(data->vocabulary);
    if (size > (size_t)limit)
        return rt_error(RT_ARGUMENT, "a text can have up to %d bytes; got %zu", limit, size);
    return rt_ok();
}

rt_status rt_data_encode_example(rt_example_text *x, const rt_data *data, const char *line,
                                 size_t size, rt_batch *row)
{
    *x = (rt_example_text){.count = 0};
    rt_status status = check_use(data, size, row);
    if (!status.code)
        status = check_bytes((rt_text_span){line, size});
    if (!status.code)
        status = split(x, data, line, size);
    return status.code ? status : encode_row(x, data, line, size, row);
}

rt_status rt_data_encode_texts(rt_example_text *x, const rt_data *data, const char *text,
                               const char *second, rt_batch *row)
{
    const rt_text_span texts[] = {{text, strlen(text)}, {second, second ? strlen(second) : 0}};
    const size_t size = texts[0].size + texts[1].size;
    assert(!rt_data_has_tags(data));
    *x = (rt_example_text){.count = 0};
    rt_status status = check_use(data, size, row);
    if (!status.code && second && rt_data_types(data) < 2)
        status = rt_error(RT_ARGUMENT, "the model was trained without pairs of texts");
    if (!status.code && second && row->length < RT_AROUND_PAIR + 2)
        status = rt_error(RT_ARGUMENT, "a pair of texts needs a length of %d tokens; got %d",
                          RT_AROUND_PAIR + 2, row->length);
    if (!status.code)
        status = new_texts(x, second ? 2 : 1);
    for (int i = 0; i < x->count && !status.code; i++) {
        x->texts[i] = texts[i];
        status = texts[i].size ? check_bytes(texts[i]) : rt_error(RT_ARGUMENT, "the text is empty");
        if (status.code)
            status = name_text(x, data, i, status.message);
    }
    return status.code ? status : encode_row(x, data, NULL, size, row);
}

void rt_example_text_free(rt_example_text *x)
{
    rt_free(x->texts);
    *x = (rt_example_text){.count = 0};
}

/* ---- batches ---- */

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
    return b->positions ? rt_ok() : rt_out_of_memory("a batch");
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
    if (rt_data_varies(data))
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
    rt_status status = rt_data_encode_example(text, data, line, size, &b->batch);
    if (!status.code)
        list_labels(b, data, (rt_draw){0});
    return status;
}
