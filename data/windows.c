#include "data/windows.h"

#include "core/random.h"
#include "data/objective.h"
#include "data/task.h"

#include <assert.h>
#include <string.h>

void rt_windows_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_objective_check(o, to);
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

long rt_windows_evaluation_rows(const rt_data *data, int length)
{
    const rt_windows *w = &data->windows;
    return (long)((w->count - w->evaluation) / window_size(length));
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
    rt_objective_ask(data, draw, row);
}
