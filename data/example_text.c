#include "data/example_text.h"

#include "core/memory.h"
#include "data/task.h"

#include <assert.h>
#include <string.h>

/* ---- splitting a line ---- */

static rt_status check_bytes(const char *line, size_t size)
{
    size_t at;
    const char *problem = rt_text_problem(line, size, &at);
    return problem ? rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu %s",
                              (unsigned)(unsigned char)line[at], at, problem)
                   : rt_ok();
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Splits a line into tokens and returns their number. `texts` may be NULL, to count them. */
static int split_tokens(const char *line, size_t size, rt_text_span *texts)
{
    int count = 0;
    for (size_t at = 0, start; at < size;) {
        while (at < size && is_blank(line[at]))
            at++;
        for (start = at; at < size && !is_blank(line[at]);)
            at++;
        if (at > start && texts)
            texts[count] = (rt_text_span){line + start, at - start};
        count += at > start;
    }
    return count;
}

/* Returns whether a line is a pair. Without data, a model with token types accepts pairs and single
 * texts. */
static bool is_pair(const rt_data *data, const char *line, size_t size)
{
    return data->examples ? data->examples->pairs
                          : rt_data_types(data) > 1 && memchr(line, '\t', size);
}

static rt_status split_pair(const char *line, size_t size, rt_text_span texts[2])
{
    const char *tab = memchr(line, '\t', size), *end = line + size;
    if (!tab || tab == line || tab + 1 == end || memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
        return rt_error(RT_ARGUMENT, "a pair must be TEXT<TAB>TEXT, neither empty; got %s",
                        !tab                            ? "no tab"
                        : tab == line || tab + 1 == end ? "an empty text"
                                                        : "more than one tab");
    texts[0] = (rt_text_span){line, (size_t)(tab - line)};
    texts[1] = (rt_text_span){tab + 1, (size_t)(end - tab - 1)};
    return rt_ok();
}

static rt_status split(rt_example_text *x, const rt_data *data, const char *line, size_t size)
{
    const bool tag = rt_data_has_tags(data), pair = !tag && is_pair(data, line, size);
    x->count = tag ? split_tokens(line, size, NULL) : 1 + pair;
    if (!size || !x->count)
        return rt_error(RT_ARGUMENT, "the text is empty");
    x->texts = rt_alloc((size_t)x->count, sizeof *x->texts);
    if (!x->texts)
        return rt_out_of_memory("a text");
    if (pair)
        return split_pair(line, size, x->texts);
    if (tag)
        split_tokens(line, size, x->texts);
    else
        x->texts[0] = (rt_text_span){line, size};
    return rt_ok();
}

/* Returns the error of a text with its name as prefix. */
static rt_status name_text(const rt_example_text *x, const rt_data *data, int i, const char *why)
{
    if (rt_data_has_tags(data))
        return rt_error(RT_ARGUMENT, "token %d: %.800s", i + 1, why);
    return rt_error(RT_ARGUMENT, "%s%.800s", x->count == 1 ? "" : i ? "text_b: " : "text: ", why);
}

/* Encodes the texts, which are spans of `line` unless it is NULL. */
static rt_status encode_all(rt_example_text *x, const rt_data *data, const char *line,
                            rt_examples *row)
{
    const bool pair = x->count == 2 && !rt_data_has_tags(data);
    rt_status status = rt_ok();
    for (int i = 0; i < x->count - pair && !status.code; i++) {
        rt_labelled_text text = {.text = x->texts[i]};
        bool second;
        if (pair)
            text.second = x->texts[1];
        status = rt_examples_add(row, data, &text, i, line, &x->unknown, &second);
        if (status.code == RT_ARGUMENT || status.code == RT_DATA)
            status = name_text(x, data, i + second, status.message);
    }
    return status;
}

static rt_status fill(rt_example_text *x, const rt_data *data, const char *line, size_t size,
                      rt_batch *row)
{
    rt_example example = {.label = 0};
    const size_t most = rt_vocabulary_most_ids(data->vocabulary, size);
    rt_examples all = {.rows = &example, .count = 1, .ids = rt_alloc_unset(most, sizeof *all.ids)};
    if (rt_data_has_tags(data))
        all.labels = rt_alloc_unset(most, sizeof *all.labels);
    rt_status status = all.ids && (all.labels || !rt_data_has_tags(data))
                           ? encode_all(x, data, line, &all)
                           : rt_out_of_memory("the ids of a text");
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
    if (!data->labels)
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
        status = check_bytes(line, size);
    if (!status.code)
        status = split(x, data, line, size);
    return status.code ? status : fill(x, data, line, size, row);
}

static rt_status check_text(const char *name, rt_text_span text)
{
    rt_status status =
        text.size ? check_bytes(text.bytes, text.size) : rt_error(RT_ARGUMENT, "the text is empty");
    return status.code ? rt_error(status.code, "%s%.800s", name, status.message) : status;
}

/* Checks that the model has pairs and the row has room for one id of each text. */
static rt_status check_pair(const rt_data *data, const rt_batch *row)
{
    if (rt_data_types(data) < 2)
        return rt_error(RT_ARGUMENT, "the model was trained without pairs of texts");
    if (row->length < RT_AROUND_PAIR + 2)
        return rt_error(RT_ARGUMENT, "a pair of texts needs a length of %d tokens; got %d",
                        RT_AROUND_PAIR + 2, row->length);
    return rt_ok();
}

rt_status rt_data_encode_texts(rt_example_text *x, const rt_data *data, const char *text,
                               const char *second, rt_batch *row)
{
    const rt_text_span texts[] = {{text, strlen(text)}, {second, second ? strlen(second) : 0}};
    const size_t size = texts[0].size + texts[1].size;
    assert(!rt_data_has_tags(data));
    *x = (rt_example_text){.count = 0};
    rt_status status = check_use(data, size, row);
    if (!status.code && second)
        status = check_pair(data, row);
    for (int i = 0; i < 1 + (second != NULL) && !status.code; i++)
        status = check_text(!second ? "" : i ? "text_b: " : "text: ", texts[i]);
    if (status.code)
        return status;
    x->texts = rt_alloc(2, sizeof *x->texts);
    if (!x->texts)
        return rt_out_of_memory("a text");
    memcpy(x->texts, texts, sizeof texts);
    x->count = 1 + (second != NULL);
    return fill(x, data, NULL, size, row);
}

void rt_example_text_free(rt_example_text *x)
{
    rt_free(x->texts);
    *x = (rt_example_text){.count = 0};
}
