#include "data/examples.h"

#include "core/memory.h"
#include "data/task.h"

#include <string.h>

/* [CLS], two texts of one id at least, and a [SEP] after each. */
enum { SHORTEST_PAIR = RT_AROUND_PAIR + 2 };

static bool is_tag(const rt_data *data)
{
    return data->task->target == RT_TARGET_TOKENS;
}

/* ---- rules ---- */

static void check_path(const char *key, const char *path, rt_rule_sink to)
{
    if (path && strlen(path) >= RT_PATH_SIZE)
        rt_rule_broken(to, RT_OPTIONS("data.task", key),
                       "%s must name a file with less than %d bytes; got %zu", key, RT_PATH_SIZE,
                       strlen(path));
}

void rt_tag_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_text_check_vocabulary(o, to);
    check_path("data.file", o->file, to);
    check_path("data.eval_file", o->eval_file, to);
    if (!(o->eval_fraction >= 0 && o->eval_fraction < 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.eval_fraction"),
                       "data.eval_fraction must be at least 0 and below 1; got %g",
                       o->eval_fraction);
    if (o->batch_size < 1)
        rt_rule_broken(to, RT_OPTIONS("data.task", "train.batch_size"),
                       "train.batch_size must be at least 1; got %d", o->batch_size);
}

static void check_table_name(const char *key, const char *path, rt_rule_sink to)
{
    path = path ? path : "";
    if (!rt_is_table_name(path))
        rt_rule_broken(to, RT_OPTIONS("data.task", key),
                       "%s must name a table for classify, FILE.tsv or FILE.csv; got '%.600s'", key,
                       path);
}

void rt_classify_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_tag_check(o, to);
    check_table_name("data.file", o->file, to);
    if (o->eval_file)
        check_table_name("data.eval_file", o->eval_file, to);
}

/* ---- reading ---- */

/* The file for training and that for evaluation, of which one may not be there. */
typedef struct sources {
    rt_labelled_file file[RT_PARTS];
    rt_labelled_file *first; /* that for training, or the only one */
} sources;

static rt_status read_evaluation(sources *s, const rt_data *data)
{
    const char *path = data->options.eval_file;
    rt_labelled_file *file = &s->file[RT_PART_EVALUATION];
    rt_status status = rt_labelled_file_read(file, "data.eval_file", path, is_tag(data));
    if (!status.code && file->pairs != s->first->pairs)
        status = rt_error(RT_DATA, "%.400s:1: %s a column text_b, %.400s %s", path,
                          file->pairs ? "has" : "lacks", s->first->path,
                          s->first->pairs ? "has one" : "has none");
    return status;
}

static rt_status read_files(sources *s, const rt_data *data)
{
    const rt_data_options *o = &data->options;
    const bool training = rt_data_reads_training(data);
    rt_status status = rt_ok();
    s->first = &s->file[training ? RT_PART_TRAINING : RT_PART_EVALUATION];
    if (training)
        status = rt_labelled_file_read(&s->file[RT_PART_TRAINING], "data.file",
                                       o->file ? o->file : "", is_tag(data));
    return status.code || !o->eval_file ? status : read_evaluation(s, data);
}

/* The labels of the first file, unless others were given. */
static rt_status find_labels(rt_data *data, const rt_labelled_file *f)
{
    data->labels = data->meaning.labels;
    if (data->labels)
        return rt_ok();
    rt_text_span *names = rt_alloc(f->count, sizeof *names);
    if (!names)
        return rt_out_of_memory("the labels");
    for (size_t i = 0; i < f->count; i++)
        names[i] = f->texts[i].label;
    rt_status status = rt_labels_of(&data->own_labels, f->path, names, f->count);
    data->labels = data->own_labels;
    rt_free(names);
    return status;
}

/* Makes the vocabulary of the texts of a file, one behind the other. */
static rt_status vocabulary_of_texts(void *context, rt_vocabulary **vocabulary_new)
{
    const rt_labelled_file *f = context;
    unsigned char *bytes = rt_alloc_unset(f->size, 1);
    size_t used = 0;
    if (!bytes)
        return rt_out_of_memory("the texts of a file");
    for (size_t i = 0; i < f->count; i++) {
        const rt_text_span spans[] = {f->texts[i].text, f->texts[i].second};
        for (int k = 0; k < 2; k++)
            if (spans[k].size) {
                memcpy(bytes + used, spans[k].bytes, spans[k].size);
                used += spans[k].size;
            }
    }
    rt_status status = rt_vocabulary_of_text(vocabulary_new, f->path, bytes, used);
    rt_free(bytes);
    return status;
}

/* ---- ids ---- */

rt_status rt_example_encode(const rt_data *data, rt_text_span text, int32_t *ids, int *count,
                            rt_unknown *unknown)
{
    rt_status status =
        rt_vocabulary_encode(data->vocabulary, text.bytes, text.size, ids, count, unknown);
    if (!status.code && !*count && is_tag(data) && data->special.unknown != RT_NO_ID)
        ids[(*count)++] = data->special.unknown;
    return status;
}

/* Appends the ids of a text, of which there must be one. */
static rt_status encode(rt_data *data, const rt_labelled_file *f, const rt_labelled_text *t,
                        rt_text_span text, rt_unknown *all_unknown, int32_t *count)
{
    rt_examples *x = data->examples;
    const char *column = rt_labelled_column(f, text.bytes == t->second.bytes);
    rt_unknown unknown;
    int got;
    rt_status status = rt_example_encode(data, text, x->ids + x->used, &got, &unknown);
    if (status.code == RT_ARGUMENT)
        return rt_error(RT_DATA, "%.700s:%d: column %s: %.200s", f->path, t->line, column,
                        status.message);
    if (status.code)
        return status;
    if (!got)
        return rt_error(RT_DATA, "%.800s:%d: column %s has no token of the vocabulary", f->path,
                        t->line, column);
    rt_unknown_add(all_unknown, &unknown, (size_t)(text.bytes - f->bytes));
    x->used += (size_t)got;
    *count = got;
    return rt_ok();
}

static rt_status find_label(const rt_data *data, const rt_labelled_file *f,
                            const rt_labelled_text *t, int32_t *label)
{
    *label = rt_labels_find(data->labels, t->label);
    if (*label >= 0)
        return rt_ok();
    return rt_error(RT_DATA, "%.600s:%d: column label: '%.*s' is not a label of the %s", f->path,
                    t->line, (int)t->label.size, t->label.bytes,
                    data->meaning.labels ? "model" : "training file");
}

static rt_status add_token(rt_data *data, const rt_labelled_file *f, const rt_labelled_text *t,
                           rt_unknown *unknown)
{
    rt_examples *x = data->examples;
    const size_t first = x->used;
    int32_t label, count;
    rt_status status = find_label(data, f, t, &label);
    if (!status.code)
        status = encode(data, f, t, t->text, unknown, &count);
    if (status.code)
        return status;
    for (size_t i = first; i < x->used; i++)
        x->labels[i] = i == first ? label : RT_NO_LABEL;
    x->rows[x->count - 1].count += count;
    return rt_ok();
}

static rt_status add_text(rt_data *data, const rt_labelled_file *f, const rt_labelled_text *t,
                          rt_unknown *unknown)
{
    rt_example *row = data->examples->rows + data->examples->count - 1;
    rt_status status = find_label(data, f, t, &row->label);
    if (!status.code)
        status = encode(data, f, t, t->text, unknown, &row->count);
    if (!status.code && f->pairs)
        status = encode(data, f, t, t->second, unknown, &row->second);
    return status;
}

static rt_status add_file(rt_data *data, const rt_labelled_file *f, int part)
{
    rt_examples *x = data->examples;
    rt_unknown *unknown = &data->unknown[part];
    rt_status status = rt_ok();
    for (size_t i = 0; i < f->count && !status.code; i++) {
        const rt_labelled_text *t = f->texts + i;
        if (t->begins)
            x->rows[x->count++] = (rt_example){.first = x->used,
                                               .line = t->line,
                                               .evaluation = part == RT_PART_EVALUATION};
        status = f->tokens ? add_token(data, f, t, unknown) : add_text(data, f, t, unknown);
    }
    return status;
}

/* A text has at most as many ids as bytes. */
static rt_status make_rows(rt_data *data, const sources *s)
{
    rt_examples *x = data->examples;
    size_t rows = 0, bytes = 0;
    for (int part = 0; part < RT_PARTS; part++) {
        const rt_labelled_file *f = &s->file[part];
        for (size_t k = 0; k < f->count; k++)
            rows += f->texts[k].begins;
        bytes += f->size;
    }
    x->pairs = s->first->pairs;
    x->rows = rt_alloc(rows, sizeof *x->rows);
    const size_t most = rt_vocabulary_most_ids(data->vocabulary, bytes);
    x->ids = rt_alloc_unset(most, sizeof *x->ids);
    x->labels = is_tag(data) ? rt_alloc_unset(most, sizeof *x->labels) : NULL;
    if (!x->rows || !x->ids || (is_tag(data) && !x->labels))
        return rt_out_of_memory("the texts of data.file");
    rt_status status = rt_ok();
    for (int part = 0; part < RT_PARTS && !status.code; part++)
        status = add_file(data, &s->file[part], part);
    return status;
}

/* ---- training and evaluation ---- */

static int around_of(const rt_data *data, const rt_example *row)
{
    const rt_text_frame frame = rt_data_frame(data);
    return (frame.first != RT_NO_ID) + (frame.last != RT_NO_ID) * (row->second ? 2 : 1);
}

size_t rt_example_length(const rt_data *data, const rt_example *row)
{
    return (size_t)around_of(data, row) + (size_t)row->count + (size_t)row->second;
}

static size_t cut_length(const rt_data *data, const rt_example *row, int length)
{
    const size_t full = rt_example_length(data, row);
    return full < (size_t)length ? full : (size_t)length;
}

/* Without a file for evaluation its share is drawn, row by row. */
static void draw_share(rt_data *data)
{
    const rt_data_options *o = &data->options;
    const rt_random random = {o->eval_seed, 0, RT_STREAM_SHARE};
    for (size_t i = 0; i < data->examples->count; i++)
        data->examples->rows[i].evaluation = rt_random_uniform(random, i) < o->eval_fraction;
}

/* The rows of one part; all of them for an evaluation that has none of its own. */
static bool belongs(const rt_data *data, const rt_example *row, int part)
{
    const rt_data_options *o = &data->options;
    const bool all = part == RT_PART_EVALUATION && !o->eval_file && o->eval_fraction <= 0;
    return all || row->evaluation == (part == RT_PART_EVALUATION);
}

/* Counts the rows of every length, and puts each where those of its length begin. */
static rt_status sort_part(rt_data *data, int part)
{
    rt_examples *x = data->examples;
    const int longest = data->options.length;
    uint32_t rows = 0;
    uint32_t *start = rt_alloc((size_t)longest + 2, sizeof *start);
    for (size_t i = 0; start && i < x->count; i++)
        if (belongs(data, x->rows + i, part)) {
            start[cut_length(data, x->rows + i, longest) + 1]++;
            rows++;
        }
    uint32_t *sorted = x->sorted[part] = rt_alloc(rows, sizeof *sorted);
    for (int length = 0; start && length <= longest; length++)
        start[length + 1] += start[length];
    for (size_t i = 0; start && sorted && i < x->count; i++)
        if (belongs(data, x->rows + i, part))
            sorted[start[cut_length(data, x->rows + i, longest)]++] = (uint32_t)i;
    x->order[part] = (rt_order){rows, (uint32_t)data->options.batch_size};
    const bool made = start && sorted;
    rt_free(start);
    return made ? rt_ok() : rt_out_of_memory("the order of the rows");
}

static rt_status make_order(rt_data *data)
{
    const rt_data_options *o = &data->options;
    rt_examples *x = data->examples;
    if (!o->eval_file)
        draw_share(data);
    for (int part = 0; part < RT_PARTS; part++) {
        rt_status status = sort_part(data, part);
        if (status.code)
            return status;
    }
    for (size_t i = 0; i < x->count; i++) {
        const size_t length = rt_example_length(data, x->rows + i);
        x->cut += length > (size_t)o->length;
        x->longest = length > x->longest ? length : x->longest;
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

/* ---- sequences ---- */

static void put(rt_sequence row, int at, int32_t id, int32_t type)
{
    row.ids[at] = id;
    row.mask[at] = 1;
    if (row.types)
        row.types[at] = type;
}

/* Puts a token, unless it is none; returns the place after it. */
static int put_special(rt_sequence row, int at, int32_t id, int32_t type)
{
    if (id != RT_NO_ID)
        put(row, at, id, type);
    return at + (id != RT_NO_ID);
}

/* Puts ids and what ends a text after them; returns the place after that. */
static int put_text(rt_text_frame frame, rt_sequence row, int at, const int32_t *ids, int count,
                    int32_t type)
{
    for (int i = 0; i < count; i++)
        put(row, at + i, ids[i], type);
    return put_special(row, at + count, frame.last, type);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* A text or a pair. */
static void put_labelled(const rt_data *data, const rt_example *x, const int32_t *ids,
                         rt_sequence row)
{
    const rt_text_frame frame = rt_data_frame(data);
    const int room = row.length - around_of(data, x), half = room / 2;
    int count = smaller(x->count, room), second = x->second;
    if (second) { /* what the shorter text leaves of a half is for the longer one */
        if (second > half)
            second = smaller(second, x->count < room - half ? room - x->count : half);
        count = smaller(x->count, room - second);
    }
    const int at = put_text(frame, row, put_special(row, 0, frame.first, 0), ids, count, 0);
    if (x->second)
        put_text(frame, row, at, ids + x->count, second, 1);
    row.labels[0] = x->label;
}

static void put_sentence(const rt_data *data, const rt_example *x, const int32_t *ids,
                         const int32_t *labels, rt_sequence row)
{
    const rt_text_frame frame = rt_data_frame(data);
    const int count = smaller(x->count, row.length - around_of(data, x));
    const int at = put_special(row, 0, frame.first, 0);
    put_text(frame, row, at, ids, count, 0);
    memcpy(row.labels + at, labels, (size_t)count * sizeof *row.labels);
}

void rt_example_put(const rt_data *data, const rt_example *x, const int32_t *ids,
                    const int32_t *labels, rt_sequence row)
{
    if (labels)
        put_sentence(data, x, ids, labels, row);
    else
        put_labelled(data, x, ids, row);
}

void rt_examples_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_examples *x = data->examples;
    const int part = draw.step ? RT_PART_TRAINING : RT_PART_EVALUATION;
    const uint32_t place =
        draw.step ? rt_order_training(x->order[part], draw.seed, draw.step - 1, draw.sequence)
                  : rt_order_evaluation(x->order[part], draw.seed, draw.sequence);
    const rt_example *example = x->rows + x->sorted[part][place];
    rt_example_put(data, example, x->ids + example->first,
                   x->labels ? x->labels + example->first : NULL, row);
}

int rt_examples_line(const rt_data *data, uint32_t sequence)
{
    const rt_examples *x = data->examples;
    const uint32_t place =
        rt_order_evaluation(x->order[RT_PART_EVALUATION], data->options.eval_seed, sequence);
    return x->rows[x->sorted[RT_PART_EVALUATION][place]].line;
}

/* ---- life ---- */

static rt_status make(rt_data *data, sources *s)
{
    rt_status status = read_files(s, data);
    if (!status.code && s->first->pairs && data->options.length < SHORTEST_PAIR)
        status =
            rt_error(RT_CONFIG, "data.length must be at least %d for texts with text_b; got %d",
                     SHORTEST_PAIR, data->options.length);
    if (!status.code)
        status = find_labels(data, s->first);
    if (!status.code)
        status = rt_text_find_vocabulary(data, vocabulary_of_texts, s->first);
    if (!status.code)
        status = make_rows(data, s);
    return status.code ? status : make_order(data);
}

static rt_status open_examples(rt_data *data)
{
    data->examples = rt_alloc(1, sizeof *data->examples);
    sources *s = rt_alloc(1, sizeof *s);
    rt_status status =
        data->examples && s ? make(data, s) : rt_out_of_memory("the texts of data.file");
    for (int part = 0; s && part < RT_PARTS; part++)
        rt_labelled_file_free(&s->file[part]);
    rt_free(s);
    return status;
}

void rt_examples_free(rt_examples *x)
{
    if (x) {
        rt_free(x->rows);
        rt_free(x->ids);
        rt_free(x->labels);
        rt_free(x->sorted[RT_PART_TRAINING]);
        rt_free(x->sorted[RT_PART_EVALUATION]);
    }
    rt_free(x);
}

static bool labelled_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    const char *const names[] = {o->file, o->eval_file, o->vocab_file};
    for (int i = 0; i < 3; i++)
        if (names[i] && n-- == 0) {
            const size_t length = strlen(names[i]);
            if (length < RT_PATH_SIZE)
                memcpy(path, names[i], length + 1);
            return length < RT_PATH_SIZE;
        }
    return false;
}

const rt_source rt_labelled = {.open = open_examples, .file_at = labelled_file_at};
