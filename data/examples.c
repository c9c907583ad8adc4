/* Labelled texts: rows of files, the order of the rows, and texts of the caller as rows. */

#include "data/examples.h"

#include "core/memory.h"
#include "data/gzip.h"
#include "data/json_lines.h"
#include "data/labelled_batch.h"
#include "data/labelled_file.h"
#include "data/tokenizers/tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* [CLS], two texts of one id, and a [SEP] after each. */
enum { SHORTEST_PAIR = 5 };

static bool has_tags(const rt_data *data)
{
    return data->task->target == RT_TARGET_TOKENS;
}

static bool check_file(const rt_data_options *o, const rt_data_file *file, rt_rule_sink to)
{
    const bool table = rt_tasks[o->task].target == RT_TARGET_SEQUENCE;
    if (!table || rt_json_is_lines(file->path) || rt_name_ends(file->path, ".tsv") ||
        rt_name_ends(file->path, ".csv"))
        return true;
    rt_rule_broken(
        to, RT_OPTIONS("data.task", file->key),
        "%s must name a table for classify, FILE.tsv, FILE.csv or FILE.jsonl; got '%.600s'",
        file->key, file->path);
    return false;
}

bool rt_examples_check(const rt_data_options *o, rt_file_check *check, rt_rule_sink to)
{
    const bool whole = rt_data_files_check(o, check, to);
    if (o->batch_size < 1)
        rt_rule_broken(to, RT_OPTIONS("data.task", "train.batch_size"),
                       "train.batch_size must be at least 1; got %d", o->batch_size);
    return whole;
}

rt_status rt_examples_label(rt_data *data, const char *path, rt_text_span *names, size_t count)
{
    data->labels = data->state->meaning.labels;
    if (data->labels)
        return rt_ok();
    const rt_status status = rt_labels_of(&data->state->labels, path, names, count);
    data->labels = data->state->labels;
    return status;
}

/* Sets the labels: the given ones, or those of the first file. */
static rt_status find_labels(rt_data *data, const rt_labelled_file *f)
{
    RT_OWNED rt_text_span *names = rt_alloc(f->count, sizeof *names);
    RT_TRY(rt_allocated(names, "the labels"));
    for (size_t i = 0; i < f->count; i++)
        names[i] = f->texts[i].label;
    return rt_examples_label(data, f->path, names, f->count);
}

/* Creates the vocabulary of the characters of a file's texts. */
static rt_status vocabulary_of_texts(const rt_labelled_file *f, rt_vocabulary **vocabulary_new)
{
    RT_OWNED bool *seen = rt_alloc(RT_CODE_POINTS, sizeof *seen);
    RT_TRY(rt_allocated(seen, "the texts of a file"));
    for (size_t i = 0; i < f->count; i++) {
        const rt_labelled_text *t = &f->texts[i];
        rt_characters_see(seen, (const unsigned char *)t->text.bytes, t->text.size);
        rt_characters_see(seen, (const unsigned char *)t->second.bytes, t->second.size);
    }
    return rt_vocabulary_of_seen(vocabulary_new, RT_LEVEL_CHAR, f->path, seen);
}

/* Appends the ids of a text and adds their number to *count. RT_DATA if there is none; for task
 * tag, such a token is [UNK] if the vocabulary has it. */
static rt_status add_ids(rt_examples *x, const rt_data *data, rt_text_span text, const char *from,
                         rt_unknown *unknown, int32_t *count)
{
    int32_t *ids = x->ids + x->used;
    rt_unknown here;
    int got;
    RT_TRY(rt_vocabulary_encode(data->vocabulary, text.bytes, text.size, false, ids, &got, &here));
    if (!got && has_tags(data) && data->special.unknown != RT_NO_ID)
        ids[got++] = data->special.unknown;
    if (!got)
        return rt_error(RT_DATA, "has no token of the vocabulary");
    rt_unknown_add(unknown, &here, from ? (size_t)(text.bytes - from) : 0);
    x->used += (size_t)got;
    *count += got;
    return rt_ok();
}

/* Appends the ids of a text, pair or token to the last row, with its label (of a token at its first
 * id). `from` is the start of the bytes that `unknown` counts; NULL: of each text. RT_ARGUMENT
 * names a byte that is not UTF-8, as rt_vocabulary_encode; RT_DATA if the text, or the second one
 * (*second), has no token of the vocabulary. */
static rt_status add_texts(rt_examples *x, const rt_data *data, const rt_labelled_text *t,
                           int32_t label, const char *from, rt_unknown *unknown, bool *second)
{
    rt_example *row = x->rows + x->count - 1;
    const size_t first = x->used;
    *second = false;
    const rt_status status = add_ids(x, data, t->text, from, unknown, &row->count);
    for (size_t i = first; x->labels && i < x->used; i++)
        x->labels[i] = i == first ? label : RT_NO_LABEL;
    row->label = label;
    *second = !status.code && t->second.size;
    return *second ? add_ids(x, data, t->second, from, unknown, &row->second) : status;
}

static rt_status add_file(rt_data *data, const rt_labelled_file *f, int part)
{
    rt_examples *x = data->state->rows;
    rt_status status = rt_ok();
    for (size_t i = 0; i < f->count && !status.code; i++) {
        const rt_labelled_text *t = f->texts + i;
        const int label = rt_labels_find(data->labels, t->label);
        bool second;
        if (label < 0)
            return rt_error(RT_DATA, "%.600s:%d: %s: '%.*s' is not a label of the %s", f->path,
                            t->line, f->names[RT_LABELLED_LABEL], (int)t->label.size,
                            t->label.bytes,
                            data->state->meaning.labels ? "model" : "training file");
        if (t->begins)
            x->rows[x->count++] = (rt_example){.first = x->used,
                                               .line = t->line,
                                               .evaluation = part == RT_PART_EVALUATION};
        status = add_texts(x, data, t, label, f->bytes, &data->unknown[part], &second);
        if (status.code == RT_ARGUMENT || status.code == RT_DATA)
            status = rt_error(RT_DATA, "%.700s:%d: %s%s%.200s", f->path, t->line,
                              f->names[second ? RT_LABELLED_SECOND : RT_LABELLED_TEXT],
                              status.code == RT_DATA ? " " : ": ", status.message);
    }
    return status;
}

/* Returns the tokens around a labelled text: those of the vocabulary, without the ones that
 * data.begin or data.end = none removes. */
static rt_text_frame frame_of(const rt_data *data)
{
    rt_text_frame frame = rt_vocabulary_frame(data->vocabulary);
    if (data->options.begin == RT_BEGIN_NONE)
        frame.first = RT_NO_ID;
    if (data->options.end == RT_BEGIN_NONE)
        frame.last = RT_NO_ID;
    return frame;
}

static int around_of(const rt_data *data, const rt_example *row)
{
    const rt_text_frame frame = frame_of(data);
    return (frame.first != RT_NO_ID) + (frame.last != RT_NO_ID) * (row->second ? 2 : 1);
}

/* Returns the length of a row before truncation. */
static int full_length(const rt_data *data, const rt_example *row)
{
    return around_of(data, row) + row->count + row->second;
}

static rt_status make_rows(rt_data *data, const rt_labelled_file files[RT_PARTS])
{
    rt_examples *x = data->state->rows;
    size_t rows = 0, bytes = 0;
    for (int part = 0; part < RT_PARTS; part++) {
        for (size_t k = 0; k < files[part].count; k++)
            rows += files[part].texts[k].begins;
        bytes += files[part].size;
    }
    x->rows = rt_alloc(rows, sizeof *x->rows);
    const size_t most = rt_vocabulary_most_ids(data->vocabulary, bytes);
    x->ids = rt_alloc_unset(most, sizeof *x->ids);
    x->labels = has_tags(data) ? rt_alloc_unset(most, sizeof *x->labels) : NULL;
    if (!x->rows || !x->ids || (has_tags(data) && !x->labels))
        return rt_out_of_memory("the texts of data.file");
    for (int part = 0; part < RT_PARTS; part++)
        RT_TRY(add_file(data, &files[part], part));
    for (size_t i = 0; i < x->count; i++)
        x->rows[i].length = full_length(data, &x->rows[i]);
    return rt_ok();
}

/* Numbers of permutations; those of blocks follow. */
enum { OF_BATCHES, OF_BOUNDS, OF_BLOCKS };

/* Batches per block: a sixteenth of an epoch, between these limits. The minimum keeps small files
 * sorted; it is large enough for the rows of a batch to change between epochs, and the maximum is
 * as much as that needs. */
enum { FEWEST_BATCHES = 4, MOST_BATCHES = 64, PARTS = 16 };

enum { ROUNDS = 6 };

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

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Returns whether a row belongs to a part. With eval_fraction 0 all rows are evaluated. */
static bool belongs(const rt_data *data, const rt_example *row, int part)
{
    const rt_data_options *o = &data->options;
    const bool all = part == RT_PART_EVALUATION && !o->eval_file && o->eval_fraction <= 0;
    return all || row->evaluation == (part == RT_PART_EVALUATION);
}

/* Compares rows by their length, then by their index. */
static int by_length(const void *a, const void *b)
{
    const rt_example *one = *(const rt_example *const *)a, *other = *(const rt_example *const *)b;
    return one->length != other->length ? one->length - other->length
                                        : (one > other) - (one < other);
}

rt_status rt_examples_order(rt_data *data, rt_examples *x)
{
    const rt_data_options *o = &data->options;
    const rt_random random = {o->eval_seed, 0, RT_STREAM_SHARE};
    int longest = 0;
    data->cut.of = x->count;
    for (size_t i = 0; i < x->count && !o->eval_file; i++)
        x->rows[i].evaluation = rt_random_uniform(random, i) < o->eval_fraction;
    for (size_t i = 0; i < x->count; i++) {
        const int length = x->rows[i].length;
        x->rows[i].length = smaller(length, o->length);
        data->cut.count += length > o->length;
        longest = length > longest ? length : longest;
    }
    if (data->task->kind == RT_DATA_LABELLED)
        data->longest = longest;
    data->memory += x->count * (sizeof *x->rows + sizeof *x->sorted[0]) +
                    x->used * (sizeof *x->ids + (x->labels ? sizeof *x->labels : 0));
    for (int part = 0; part < RT_PARTS; part++) {
        uint32_t rows = 0, next = 0;
        for (size_t i = 0; i < x->count; i++)
            rows += belongs(data, x->rows + i, part);
        const rt_example **sorted = x->sorted[part] = rt_alloc(rows, sizeof *sorted);
        RT_TRY(rt_allocated(sorted, "the order of the rows"));
        for (size_t i = 0; i < x->count; i++)
            if (belongs(data, x->rows + i, part))
                sorted[next++] = x->rows + i;
        qsort(sorted, rows, sizeof *sorted, by_length);
        x->order[part] = (rt_order){rows, (uint32_t)o->batch_size};
    }
    const bool trainable = data->evaluation_only || x->order[RT_PART_TRAINING].rows;
    if (trainable && x->order[RT_PART_EVALUATION].rows)
        return rt_ok();
    if (data->evaluation_only)
        return rt_error(RT_DATA,
                        "%.600s: none of its %zu rows is for evaluation (data.eval_fraction %g); "
                        "set data.eval_fraction=0 to evaluate all of them",
                        o->file, x->count, o->eval_fraction);
    return rt_error(RT_DATA,
                    "%.600s: has %zu rows, of which %u are for training and %u for evaluation "
                    "(data.eval_fraction %g); both need at least one",
                    o->file, x->count, (unsigned)x->order[RT_PART_TRAINING].rows,
                    (unsigned)x->order[RT_PART_EVALUATION].rows, o->eval_fraction);
}

static void put(rt_sequence row, int at, int32_t id, int32_t type)
{
    row.ids[at] = id;
    row.mask[at] = 1;
    if (row.types)
        row.types[at] = type;
}

/* Writes a token unless it is RT_NO_ID. Returns the next position. */
static int put_special(rt_sequence row, int at, int32_t id, int32_t type)
{
    if (id != RT_NO_ID)
        put(row, at, id, type);
    return at + (id != RT_NO_ID);
}

/* Writes ids and the token that ends a text. Returns the next position. */
static int put_text(rt_text_frame frame, rt_sequence row, int at, const int32_t *ids, int count,
                    int32_t type)
{
    for (int i = 0; i < count; i++)
        put(row, at + i, ids[i], type);
    return put_special(row, at + count, frame.last, type);
}

/* Fills a row with an example, truncated to the row: ids, types and labels. */
static void put_example(const rt_data *data, const rt_examples *all, const rt_example *x,
                        rt_sequence row)
{
    const rt_text_frame frame = frame_of(data);
    const int32_t *ids = all->ids + x->first;
    const int capacity = row.length - around_of(data, x);
    int count = x->count, second = x->second;
    int *shorter = count > second ? &second : &count;
    int *longer = count > second ? &count : &second;
    *shorter = smaller(*shorter, capacity / 2); /* of an odd number of places `longer` has more */
    *longer = smaller(*longer, capacity - *shorter);
    const int first = put_special(row, 0, frame.first, 0);
    const int at = put_text(frame, row, first, ids, count, 0);
    if (x->second)
        put_text(frame, row, at, ids + x->count, second, 1);
    if (all->labels)
        memcpy(row.labels + first, all->labels + x->first, (size_t)count * sizeof *row.labels);
    else
        row.labels[0] = x->label;
}

const rt_example *rt_examples_row(const rt_examples *x, rt_draw draw)
{
    const int part = draw.step ? RT_PART_TRAINING : RT_PART_EVALUATION;
    const uint32_t place =
        draw.step ? rt_order_training(x->order[part], draw.seed, draw.step - 1, draw.sequence)
                  : rt_order_evaluation(x->order[part], draw.seed, draw.sequence);
    return x->sorted[part][place];
}

static void draw_row(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_examples *x = data->state->rows;
    put_example(data, x, rt_examples_row(x, draw), row);
}

/* Reads the files and makes the rows. The caller frees the files. */
static rt_status open_rows(rt_data *data, const rt_data_files *list,
                           rt_labelled_file files[RT_PARTS])
{
    const rt_data_options *o = &data->options;
    rt_labelled_file *evaluation = &files[RT_PART_EVALUATION];
    rt_labelled_file *first = &files[list->list->part]; /* defines the columns */
    rt_examples *x = data->state->rows = rt_alloc(1, sizeof *x);
    RT_TRY(rt_allocated(x, "the texts of data.file"));
    for (size_t i = 0; i < list->count; i++) {
        const rt_data_file *file = &list->list[i];
        RT_TRY(rt_labelled_file_read(&files[file->part], file->key, file->path, o));
    }
    if (o->eval_file && evaluation->pairs != first->pairs)
        return rt_error(RT_DATA, "%.400s:1: %s a column text_b, %.400s %s", evaluation->path,
                        evaluation->pairs ? "has" : "lacks", first->path,
                        first->pairs ? "has one" : "has none");
    if (first->pairs && o->length < SHORTEST_PAIR)
        return rt_error(RT_CONFIG, "data.length must be at least %d for texts with text_b; got %d",
                        SHORTEST_PAIR, o->length);
    data->varies = true;
    data->sentences = has_tags(data) && (o->eval_file ? evaluation : first)->json;
    x->pairs = first->pairs;
    if (x->pairs && data->types < 2 && data->state->meaning.complete)
        return rt_error(RT_DATA,
                        "%.400s:1: has %s, a second text, but the model has no token types and so "
                        "takes no pairs of texts",
                        first->path, first->names[RT_LABELLED_SECOND]);
    if (x->pairs && data->types < 2)
        data->types = 2;
    RT_TRY(find_labels(data, first));
    if (rt_data_takes_characters(data))
        RT_TRY(vocabulary_of_texts(first, &data->state->vocabulary));
    RT_TRY(rt_data_find_vocabulary(data));
    RT_TRY(make_rows(data, files));
    return rt_examples_order(data, x);
}

static rt_status open_files(rt_data *data, const rt_data_files *list)
{
    rt_labelled_file files[RT_PARTS] = {{.size = 0}};
    const rt_status status = open_rows(data, list, files);
    for (int part = 0; part < RT_PARTS; part++) {
        data->opening += files[part].size + files[part].count * sizeof *files[part].texts;
        rt_labelled_file_free(&files[part]);
    }
    return status;
}

void rt_examples_free(void *examples)
{
    rt_examples *x = examples;
    rt_free(x->rows);
    rt_free(x->ids);
    rt_free(x->labels);
    rt_free(x->sorted[RT_PART_TRAINING]);
    rt_free(x->sorted[RT_PART_EVALUATION]);
    rt_free(x);
}

long rt_examples_rows(const rt_data *data, int length)
{
    const rt_examples *x = data->state->rows;
    (void)length;
    return (long)x->order[RT_PART_EVALUATION].rows;
}

int rt_examples_line(const rt_data *data, rt_draw draw)
{
    return rt_examples_row(data->state->rows, draw)->line;
}

const rt_source rt_labelled = {.check = rt_examples_check,
                               .check_file = check_file,
                               .open = open_files,
                               .rows = rt_examples_rows,
                               .line = rt_examples_line,
                               .draw = draw_row,
                               .close = rt_examples_free};

static rt_status check_bytes(rt_text_span text)
{
    size_t at;
    const char *problem = rt_text_problem(text.bytes, text.size, &at);
    return problem ? rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu %s",
                              (unsigned)(unsigned char)text.bytes[at], at, problem)
                   : rt_ok();
}

static rt_status new_texts(rt_example_text *x, int count)
{
    x->texts = rt_alloc((size_t)count, sizeof *x->texts);
    x->count = x->texts ? count : 0;
    return rt_allocated(x->texts, "a text");
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

/* Splits a line into its texts. Without data, a model with token types accepts pairs and single
 * texts. */
static rt_status split(rt_example_text *x, const rt_data *data, const char *line, size_t size)
{
    const bool tag = has_tags(data);
    const int count = tag ? split_tokens(line, size, NULL) : 1;
    if (!size || !count)
        return rt_error(RT_ARGUMENT, "the text is empty");
    const char *tab = memchr(line, '\t', size), *end = line + size;
    const rt_examples *rows = data->state->rows;
    const bool pair = !tag && (rows ? rows->pairs : data->types > 1 && tab);
    if (pair &&
        (!tab || tab == line || tab + 1 == end || memchr(tab + 1, '\t', (size_t)(end - tab - 1))))
        return rt_error(RT_ARGUMENT, "a pair must be TEXT<TAB>TEXT, neither empty; got %s",
                        !tab                            ? "no tab"
                        : tab == line || tab + 1 == end ? "an empty text"
                                                        : "more than one tab");
    RT_TRY(new_texts(x, count + pair));
    if (tag)
        split_tokens(line, size, x->texts);
    else
        x->texts[0] = (rt_text_span){line, pair ? (size_t)(tab - line) : size};
    if (pair)
        x->texts[1] = (rt_text_span){tab + 1, (size_t)(end - tab - 1)};
    return rt_ok();
}

/* Returns the error of a text with its name as prefix. */
static rt_status name_text(const rt_example_text *x, const rt_data *data, int i, const char *why)
{
    if (has_tags(data))
        return rt_error(RT_ARGUMENT, "token %d: %.800s", i + 1, why);
    return rt_error(RT_ARGUMENT, "%s%.800s", x->count == 1 ? "" : i ? "text_b: " : "text: ", why);
}

/* Encodes the texts, which are spans of `line` unless it is NULL and have `size` bytes. */
static rt_status encode_row(rt_example_text *x, const rt_data *data, const char *line, size_t size,
                            rt_batch *row)
{
    const bool tags = has_tags(data), pair = !tags && x->count == 2;
    const size_t most = rt_vocabulary_most_ids(data->vocabulary, size);
    rt_example example = {.label = 0};
    RT_OWNED int32_t *ids = rt_alloc_unset(most, sizeof *ids);
    RT_OWNED int32_t *labels = tags ? rt_alloc_unset(most, sizeof *labels) : NULL;
    rt_examples all = {.rows = &example, .count = 1, .ids = ids, .labels = labels};
    RT_TRY(rt_allocated(ids && (labels || !tags), "the ids of a text"));
    for (int i = 0; i < x->count - pair; i++) {
        rt_labelled_text text = {.text = x->texts[i]};
        bool second;
        if (pair)
            text.second = x->texts[1];
        const rt_status status = add_texts(&all, data, &text, i, line, &x->unknown, &second);
        if (status.code == RT_ARGUMENT || status.code == RT_DATA)
            return name_text(x, data, i + second, status.message);
        RT_TRY(status);
    }
    put_example(data, &all, &example, rt_sequence_clear(data, row, 0));
    x->cut = full_length(data, &example) > row->length;
    return rt_ok();
}

/* Checks that a row can be encoded. A folder of Hugging Face may have a model for sequences shorter
 * than any training allows. */
static rt_status check_use(const rt_data *data, size_t size, const rt_batch *row)
{
    assert(row->rows == 1);
    if (!data->labels || data->task->kind != RT_DATA_LABELLED)
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
    RT_TRY(check_use(data, size, row));
    RT_TRY(check_bytes((rt_text_span){line, size}));
    RT_TRY(split(x, data, line, size));
    return encode_row(x, data, line, size, row);
}

rt_status rt_data_encode_texts(rt_example_text *x, const rt_data *data, const char *text,
                               const char *second, rt_batch *row)
{
    const rt_text_span texts[] = {{text, strlen(text)}, {second, second ? strlen(second) : 0}};
    const size_t size = texts[0].size + texts[1].size;
    assert(!has_tags(data));
    *x = (rt_example_text){.count = 0};
    RT_TRY(check_use(data, size, row));
    if (second && data->types < 2)
        return rt_error(RT_ARGUMENT, "the model was trained without pairs of texts");
    if (second && row->length < SHORTEST_PAIR)
        return rt_error(RT_ARGUMENT, "a pair of texts needs a length of %d tokens; got %d",
                        SHORTEST_PAIR, row->length);
    RT_TRY(new_texts(x, second ? 2 : 1));
    for (int i = 0; i < x->count; i++) {
        x->texts[i] = texts[i];
        const rt_status status =
            texts[i].size ? check_bytes(texts[i]) : rt_error(RT_ARGUMENT, "the text is empty");
        if (status.code)
            return name_text(x, data, i, status.message);
    }
    return encode_row(x, data, NULL, size, row);
}

void rt_example_text_free(rt_example_text *x)
{
    rt_free(x->texts);
    *x = (rt_example_text){.count = 0};
}
