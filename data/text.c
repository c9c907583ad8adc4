#include "data/text.h"

#include "core/memory.h"
#include "core/random.h"
#include "data/files.h"
#include "data/task.h"

#include <assert.h>

rt_status rt_text_check(const rt_data_options *o)
{
    /* Written so that a NaN is refused as well. */
    if (!(o->mask_probability > 0 && o->mask_probability <= 1))
        return rt_error(RT_CONFIG, "data.mask_probability must be above 0 and at most 1; got %g",
                        o->mask_probability);
    if (!(o->eval_fraction >= 0 && o->eval_fraction < 1))
        return rt_error(RT_CONFIG, "data.eval_fraction must be at least 0 and below 1; got %g",
                        o->eval_fraction);
    return rt_files_check(o->file);
}

/* The units of a sequence: all but [CLS]. */
static size_t window_size(int length)
{
    return (size_t)length - 1;
}

rt_status rt_text_open(rt_data *data)
{
    const rt_data_options *o = &data->options;
    rt_text *text = &data->text;
    rt_status status = rt_files_read(o->file, &text->bytes, &text->count);
    if (status.code)
        return status;
    text->training = text->count - (size_t)(o->eval_fraction * (double)text->count);
    text->evaluation = o->eval_fraction > 0 ? text->training : 0;
    size_t window = window_size(o->length), tail = text->count - text->evaluation;
    if (text->training < window || tail < window)
        return rt_error(RT_DATA,
                        "%.600s: data.length %d needs %zu bytes for training and as many for "
                        "evaluation; of the %zu there are %zu and %zu (data.eval_fraction %g)",
                        o->file, o->length, window, text->count, text->training, tail,
                        o->eval_fraction);
    text->alphabet = rt_alphabet_of(text->bytes, text->count);
    return rt_ok();
}

void rt_text_close(rt_text *text)
{
    rt_free(text->bytes);
}

long rt_text_evaluation_rows(const rt_text *text, int length)
{
    return (long)((text->count - text->evaluation) / window_size(length));
}

/* Training windows begin anywhere, evaluation windows where the one before ends. */
static size_t window_start(const rt_text *text, rt_draw draw, int length)
{
    size_t window = window_size(length);
    if (draw.step == 0) {
        size_t rows = (text->count - text->evaluation) / window;
        assert(rows > 0);
        return text->evaluation + draw.sequence % rows * window;
    }
    rt_random random = {draw.seed, draw.step, RT_STREAM_WINDOW};
    assert(text->training >= window);
    return rt_random_below(random, rt_draw_index(draw, 0), (uint32_t)(text->training - window + 1));
}

/* A random word as a number in 0 ... n-1. */
static int below(uint32_t word, int n)
{
    return (int)((uint64_t)word * (uint32_t)n >> 32);
}

/* What BERT (Devlin et al. 2019) does to a chosen unit: of ten, eight become [MASK], one
 * any unit, and one stays. All of them are asked for. Uses words 1 and 2. */
static void hide(const rt_alphabet *alphabet, const uint32_t words[4], int32_t *id, int32_t *label)
{
    int tenth = below(words[1], 10);
    *label = *id;
    if (tenth < 8)
        *id = RT_ID_MASK;
    else if (tenth == 8)
        *id = RT_FIRST_SYMBOL + below(words[2], alphabet->count);
}

/* If chance chose no unit, one is chosen all the same: no sequence is without a label.
 * That draw has the index of [CLS], which is never hidden. */
static void hide_some(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_alphabet *alphabet = &data->text.alphabet;
    rt_random random = {draw.seed, draw.step, RT_STREAM_MASK};
    uint32_t words[4];
    int chosen = 0;
    for (int t = 1; t < row.length; t++) {
        rt_random_words(random, rt_draw_index(draw, t), words);
        if (words[0] * 0x1p-32 < data->options.mask_probability) {
            hide(alphabet, words, &row.ids[t], &row.labels[t]);
            chosen++;
        }
    }
    if (chosen)
        return;
    rt_random_words(random, rt_draw_index(draw, 0), words);
    int t = 1 + below(words[0], row.length - 1);
    hide(alphabet, words, &row.ids[t], &row.labels[t]);
}

void rt_text_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_text *text = &data->text;
    const uint8_t *window = text->bytes + window_start(text, draw, row.length);
    row.ids[0] = RT_ID_CLS;
    row.mask[0] = 1;
    for (int t = 1; t < row.length; t++) {
        row.ids[t] = text->alphabet.ids[window[t - 1]];
        row.mask[t] = 1;
    }
    hide_some(data, draw, row);
}
