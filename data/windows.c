#include "data/windows.h"

#include "core/memory.h"
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

/* The tokens of a sequence without the one that begins it. */
static size_t window_size(const rt_data *data, int length)
{
    return (size_t)length - rt_data_begins(data);
}

/* The tokens of the shortest window: the first is predicted at the token before it, if there is
 * one, and else something must follow it. */
static size_t least_window(const rt_data *data)
{
    return rt_data_begins(data) ? 1 : 2;
}

/* ---- what there is to cut from ---- */

/* A comma in the name of a single file makes room for one text too many. */
static size_t most_texts(const char *list)
{
    size_t count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

static void add_text(rt_windows *w, size_t first, size_t count)
{
    w->texts[w->text_count++] = (rt_window_text){first, count};
}

/* Without a file for evaluation the tail of data.file is kept for it. */
static rt_status split(rt_data *data, size_t count, const char *many)
{
    const rt_data_options *o = &data->options;
    const size_t window = window_size(data, o->length),
                 tail = (size_t)(o->eval_fraction * (double)count);
    const size_t kept = o->eval_fraction > 0 ? tail : count;
    data->windows.training = count - tail;
    if (data->evaluation_only && kept < least_window(data))
        return rt_error(RT_DATA,
                        "%.600s: data.eval_fraction %g leaves none of its %zu %s for evaluation; "
                        "set data.eval_fraction=0 to evaluate all of them",
                        o->file, o->eval_fraction, count, many);
    if (!data->evaluation_only && (count - tail < window || kept < window))
        return rt_error(RT_DATA,
                        "%.600s: data.length %d needs %zu %s for training and as many for "
                        "evaluation; of the %zu there are %zu and %zu (data.eval_fraction %g)",
                        o->file, o->length, window, many, count, count - tail, kept,
                        o->eval_fraction);
    add_text(&data->windows, count - kept, kept);
    return rt_ok();
}

rt_status rt_windows_open(rt_data *data, size_t count, const char *many)
{
    const rt_data_options *o = &data->options;
    rt_windows *w = &data->windows;
    assert(count <= RT_WINDOWS_LIMIT);
    w->texts = rt_alloc(most_texts(o->eval_file), sizeof *w->texts);
    if (!w->texts)
        return rt_out_of_memory("the texts for evaluation");
    if (!*o->eval_file)
        return split(data, count, many);
    w->training = count;
    if (!data->evaluation_only && count < window_size(data, o->length))
        return rt_error(RT_DATA, "%.600s: data.length %d needs %zu %s for training; there are %zu",
                        o->file, o->length, window_size(data, o->length), many, count);
    return rt_ok();
}

rt_status rt_windows_add(rt_data *data, const char *path, size_t count, const char *many)
{
    rt_windows *w = &data->windows;
    const rt_window_text *last = w->text_count ? w->texts + w->text_count - 1 : NULL;
    const int length = data->options.length;
    const size_t least = data->evaluation_only ? least_window(data) : window_size(data, length);
    if (count < least)
        return rt_error(
            RT_DATA,
            "%.600s: data.eval_file must hold at least %zu %s (data.length %d); it holds %zu", path,
            least, many, length, count);
    add_text(w, last ? last->first + last->count : w->training, count);
    return rt_ok();
}

void rt_windows_close(rt_data *data)
{
    rt_free(data->windows.texts);
}

/* ---- what is cut ---- */

/* What is left behind the last whole window of a text is passed over; a text that is shorter than
 * one is a window of its own for those who have nothing else. */
static size_t rows_of(const rt_data *data, const rt_window_text *text, int length)
{
    const size_t rows = text->count / window_size(data, length);
    return rows || !data->evaluation_only ? rows : 1;
}

long rt_windows_evaluation_rows(const rt_data *data, int length)
{
    const rt_windows *w = &data->windows;
    size_t rows = 0;
    for (size_t i = 0; i < w->text_count; i++)
        rows += rows_of(data, w->texts + i, length);
    return (long)rows;
}

rt_short_texts rt_windows_short_texts(const rt_data *data)
{
    const rt_windows *w = &data->windows;
    rt_short_texts found = {.least = SIZE_MAX};
    for (size_t i = 0; i < w->text_count; i++) {
        const size_t count = w->texts[i].count;
        if (count >= window_size(data, data->options.length))
            continue;
        found.count++;
        found.least = count < found.least ? count : found.least;
    }
    return found;
}

/* Evaluation windows begin where the one before ends, those of a text after those of the text
 * before it. */
static rt_window_text evaluation_window(const rt_data *data, uint32_t sequence, int length)
{
    const size_t window = window_size(data, length),
                 rows = (size_t)rt_windows_evaluation_rows(data, length);
    const rt_window_text *text = data->windows.texts;
    assert(rows > 0);
    size_t row = sequence % rows;
    for (; row >= rows_of(data, text, length); text++)
        row -= rows_of(data, text, length);
    const size_t left = text->count - row * window;
    return (rt_window_text){text->first + row * window, left < window ? left : window};
}

/* Training windows begin anywhere. */
static rt_window_text training_window(const rt_data *data, rt_draw draw, int length)
{
    const size_t window = window_size(data, length), training = data->windows.training;
    const rt_random random = {draw.seed, draw.step, RT_STREAM_WINDOW};
    assert(training >= window);
    const uint32_t first =
        rt_random_below(random, rt_draw_index(draw, 0), (uint32_t)(training - window + 1));
    return (rt_window_text){first, window};
}

/* A row that cannot be read stays padding. */
void rt_windows_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_window_text window = draw.step ? training_window(data, draw, row.length)
                                            : evaluation_window(data, draw.sequence, row.length);
    const int begin = rt_data_begins(data);
    row.length = (int)window.count + begin;
    if (!data->task->source->read(data, window.first, (int)window.count, row.ids + begin)) {
        for (int t = 0; t < row.length; t++)
            row.ids[t] = data->special.pad;
        return;
    }
    if (begin)
        row.ids[0] = data->special.cls;
    memset(row.mask, 1, (size_t)row.length);
    rt_objective_apply(data, draw, row);
}
