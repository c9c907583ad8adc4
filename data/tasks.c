#include "core/random.h"
#include "data/task.h"

#include <string.h>

/* The toy tasks. Each sequence begins with [CLS], an anchor: RoPE knows only distances, so
 * where the sequence begins has to be visible. Copying in place would be solved by the
 * residual path alone; hence the answers stand at a distance from what they repeat. */

static int32_t symbol(const rt_data *data, rt_draw draw, int position)
{
    rt_random random = {draw.seed, draw.step, RT_STREAM_TASK};
    uint32_t symbols = (uint32_t)(data->options.vocab - RT_FIRST_SYMBOL);
    uint32_t i = rt_random_below(random, rt_draw_index(draw, position), symbols);
    return RT_FIRST_SYMBOL + (int32_t)i;
}

static void put(rt_sequence row, int position, int32_t id)
{
    row.ids[position] = id;
    row.mask[position] = 1;
}

/* The n symbols of a row, and the n places where something is asked about them. */
typedef struct question {
    int n;
    const int32_t *symbols;
    int32_t *answers;
} question;

/* [CLS] s_1 ... s_n [SEP] [MASK]*n, n = (length - 2) / 2. */
static question ask(const rt_data *data, rt_draw draw, rt_sequence row)
{
    int n = (row.length - 2) / 2;
    put(row, 0, RT_ID_CLS);
    put(row, n + 1, RT_ID_SEP);
    for (int i = 1; i <= n; i++) {
        put(row, i, symbol(data, draw, i));
        put(row, n + 1 + i, RT_ID_MASK);
    }
    return (question){n, row.ids + 1, row.labels + n + 2};
}

/* At the i-th [MASK]: s_i. */
static void draw_copy(const rt_data *data, rt_draw draw, rt_sequence row)
{
    question q = ask(data, draw, row);
    memcpy(q.answers, q.symbols, (size_t)q.n * sizeof *q.answers);
}

/* At the i-th [MASK]: s_{n+1-i}. */
static void draw_reverse(const rt_data *data, rt_draw draw, rt_sequence row)
{
    question q = ask(data, draw, row);
    for (int i = 0; i < q.n; i++)
        q.answers[i] = q.symbols[q.n - 1 - i];
}

/* Shell's method: in place, since drawing cannot fail for want of memory, and quick enough
 * for long sequences. */
static void sort(int32_t *values, int n)
{
    for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int i = gap; i < n; i++) {
            int32_t value = values[i];
            int j = i;
            for (; j >= gap && values[j - gap] > value; j -= gap)
                values[j] = values[j - gap];
            values[j] = value;
        }
}

/* At the i-th [MASK]: the i-th smallest. */
static void draw_sort(const rt_data *data, rt_draw draw, rt_sequence row)
{
    question q = ask(data, draw, row);
    memcpy(q.answers, q.symbols, (size_t)q.n * sizeof *q.answers);
    sort(q.answers, q.n);
}

/* [CLS] s_1 ... s_n; at s_i, i > distance: s_{i-distance}. */
static void draw_shift(const rt_data *data, rt_draw draw, rt_sequence row)
{
    int distance = data->options.distance;
    put(row, 0, RT_ID_CLS);
    for (int i = 1; i < row.length; i++) {
        put(row, i, symbol(data, draw, i));
        if (i > distance)
            row.labels[i] = row.ids[i - distance];
    }
}

static rt_status check_shift(const rt_data_options *o)
{
    if (o->distance < 1 || o->distance > o->length - 2)
        return rt_error(RT_CONFIG,
                        "data.distance must be from 1 to %d for shift with data.length %d; got %d",
                        o->length - 2, o->length, o->distance);
    return rt_ok();
}

const rt_task rt_tasks[] = {
    {.name = "copy", .shortest = 4, .draw = draw_copy},
    {.name = "reverse", .shortest = 4, .draw = draw_reverse},
    {.name = "shift", .shortest = 3, .draw = draw_shift, .check = check_shift},
    {.name = "sort", .shortest = 4, .draw = draw_sort},
    {.name = "text",
     .shortest = 2,
     .draw = rt_text_draw,
     .check = rt_text_check,
     .open = rt_text_open},
    {.name = NULL},
};
