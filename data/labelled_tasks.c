/* The tasks classify and tag: their rules, and a row of examples as a sequence. */

#include "data/examples.h"
#include "data/task.h"

#include <string.h>

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
    const int room = row.length - rt_example_around(data, x), half = room / 2;
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
    const int count = smaller(x->count, row.length - rt_example_around(data, x));
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
