#include "data/objective.h"

#include "core/random.h"
#include "data/task.h"

#include <string.h>

void rt_objective_check(const rt_data_options *o, rt_rule_sink to)
{
    /* Written so that a NaN is refused as well. */
    if (o->objective == RT_OBJECTIVE_MLM && !(o->mask_probability > 0 && o->mask_probability <= 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.objective", "data.mask_probability"),
                       "data.mask_probability must be above 0 and at most 1; got %g",
                       o->mask_probability);
}

/* Any id that is no special token. */
static int32_t any_token(const rt_data *data, uint32_t word)
{
    const rt_vocabulary *v = data->vocabulary;
    const int first =
        data->special.cls == RT_NO_ID ? 0 : RT_FIRST_SYMBOL; /* without a vocabulary */
    return v ? rt_vocabulary_ordinary_token(v,
                                            rt_word_below(word, rt_vocabulary_ordinary_tokens(v)))
             : first + rt_word_below(word, data->vocab - first);
}

/* What BERT (Devlin et al. 2019) does to a chosen token: of ten, eight become [MASK], one
 * any token, and one stays. All of them are predicted. Uses words 1 and 2. */
static void mask_token(const rt_data *data, const uint32_t words[4], int32_t *id, int32_t *label)
{
    int tenth = rt_word_below(words[1], 10);
    *label = *id;
    if (tenth < 8)
        *id = data->special.mask;
    else if (tenth == 8)
        *id = any_token(data, words[2]);
}

/* If chance chose no token, one is chosen all the same: no sequence is without a label.
 * That draw has the index of the token that begins the sequence, which is never masked; without
 * one, words of its own. */
static void mask_some(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int first = rt_data_begins(data);
    rt_random random = {draw.seed, draw.step, RT_STREAM_MASK};
    uint32_t words[4];
    int chosen = 0;
    for (int t = first; t < row.length; t++) {
        rt_random_words(random, rt_draw_index(draw, t), words);
        if (words[0] * 0x1p-32 < data->options.mask_probability) {
            mask_token(data, words, &row.ids[t], &row.labels[t]);
            chosen++;
        }
    }
    if (chosen)
        return;
    rt_random_words(random, rt_draw_index(draw, first ? 0 : row.length), words);
    int t = first + rt_word_below(words[0], row.length - first);
    mask_token(data, words, &row.ids[t], &row.labels[t]);
}

/* At every place the id that follows. So each token of a window is predicted once, the first one at
 * the token that begins the sequence, if there is one, and the last place, where the window ends,
 * has no label. */
static void label_next(rt_sequence row)
{
    memcpy(row.labels, row.ids + 1, (size_t)(row.length - 1) * sizeof *row.labels);
}

void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row)
{
    if (data->options.objective == RT_OBJECTIVE_LM)
        label_next(row);
    else
        mask_some(data, draw, row);
}
