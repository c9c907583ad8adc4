#include "data/windows.h"

#include "core/random.h"
#include "data/task.h"

#include <assert.h>
#include <string.h>

void rt_windows_check(const rt_data_options *o, rt_rule_sink to)
{
    /* Written so that a NaN is refused as well. */
    if (o->objective == RT_OBJECTIVE_MLM && !(o->mask_probability > 0 && o->mask_probability <= 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.objective", "data.mask_probability"),
                       "data.mask_probability must be above 0 and at most 1; got %g",
                       o->mask_probability);
    if (!(o->eval_fraction >= 0 && o->eval_fraction < 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.eval_fraction"),
                       "data.eval_fraction must be at least 0 and below 1; got %g",
                       o->eval_fraction);
}

/* The units of a sequence: all but [CLS]. */
static size_t window_size(int length)
{
    return (size_t)length - 1;
}

rt_status rt_windows_open(rt_data *data, size_t count, const char *units)
{
    const rt_data_options *o = &data->options;
    rt_windows *w = &data->windows;
    assert(count <= RT_WINDOWS_LIMIT);
    w->count = count;
    w->training = count - (size_t)(o->eval_fraction * (double)count);
    w->evaluation = o->eval_fraction > 0 ? w->training : 0;
    size_t window = window_size(o->length), tail = count - w->evaluation;
    if (w->training < window || tail < window)
        return rt_error(RT_DATA,
                        "%.600s: data.length %d needs %zu %s for training and as many for "
                        "evaluation; of the %zu there are %zu and %zu (data.eval_fraction %g)",
                        o->file, o->length, window, units, count, w->training, tail,
                        o->eval_fraction);
    return rt_ok();
}

long rt_windows_evaluation_rows(const rt_windows *windows, int length)
{
    return (long)((windows->count - windows->evaluation) / window_size(length));
}

/* Training windows begin anywhere, evaluation windows where the one before ends. */
static size_t window_start(const rt_windows *w, rt_draw draw, int length)
{
    size_t window = window_size(length);
    if (draw.step == 0) {
        size_t rows = (w->count - w->evaluation) / window;
        assert(rows > 0);
        return w->evaluation + draw.sequence % rows * window;
    }
    rt_random random = {draw.seed, draw.step, RT_STREAM_WINDOW};
    assert(w->training >= window);
    return rt_random_below(random, rt_draw_index(draw, 0), (uint32_t)(w->training - window + 1));
}

/* Any id that is no special token. */
static int32_t any_unit(const rt_data *data, uint32_t word)
{
    const rt_vocabulary *v = data->vocabulary;
    return v ? rt_vocabulary_unit(v, rt_word_below(word, rt_vocabulary_units(v)))
             : RT_FIRST_SYMBOL + rt_word_below(word, data->vocab - RT_FIRST_SYMBOL);
}

/* What BERT (Devlin et al. 2019) does to a chosen unit: of ten, eight become [MASK], one
 * any unit, and one stays. All of them are asked for. Uses words 1 and 2. */
static void hide(const rt_data *data, const uint32_t words[4], int32_t *id, int32_t *label)
{
    int tenth = rt_word_below(words[1], 10);
    *label = *id;
    if (tenth < 8)
        *id = data->special.mask;
    else if (tenth == 8)
        *id = any_unit(data, words[2]);
}

/* If chance chose no unit, one is chosen all the same: no sequence is without a label.
 * That draw has the index of [CLS], which is never hidden. */
static void hide_some(const rt_data *data, rt_draw draw, rt_sequence row)
{
    rt_random random = {draw.seed, draw.step, RT_STREAM_MASK};
    uint32_t words[4];
    int chosen = 0;
    for (int t = 1; t < row.length; t++) {
        rt_random_words(random, rt_draw_index(draw, t), words);
        if (words[0] * 0x1p-32 < data->options.mask_probability) {
            hide(data, words, &row.ids[t], &row.labels[t]);
            chosen++;
        }
    }
    if (chosen)
        return;
    rt_random_words(random, rt_draw_index(draw, 0), words);
    int t = 1 + rt_word_below(words[0], row.length - 1);
    hide(data, words, &row.ids[t], &row.labels[t]);
}

/* At every place the id that follows. So each unit of a window is asked for once, the first
 * one at [CLS], and the last place, where the window ends, has no label. */
static void ask_next(rt_sequence row)
{
    memcpy(row.labels, row.ids + 1, window_size(row.length) * sizeof *row.labels);
}

/* A row that cannot be read stays padding. */
void rt_windows_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    size_t start = window_start(&data->windows, draw, row.length);
    size_t window = window_size(row.length);
    if (!data->task->source->read(data, start, (int)window, row.ids + 1)) {
        for (int t = 0; t < row.length; t++)
            row.ids[t] = data->special.pad;
        return;
    }
    row.ids[0] = data->special.cls;
    memset(row.mask, 1, (size_t)row.length);
    if (data->options.objective == RT_OBJECTIVE_LM)
        ask_next(row);
    else
        hide_some(data, draw, row);
}
