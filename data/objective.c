/* Training objectives: masked language modelling, and prediction of the next token. */

#include "data/source.h"

#include <string.h>

/* Masks a chosen token as BERT does (Devlin et al. 2019): 80 % become [MASK], 10 % a random token,
 * 10 % stay. All are predicted. Uses words 1 and 2. */
static void mask_token(const rt_data *data, const uint32_t words[4], int32_t *id, int32_t *label)
{
    const rt_vocabulary *v = data->vocabulary;
    const int tenth = rt_word_below(words[1], 10);
    const int first = data->special.cls == RT_NO_ID ? 0 : RT_FIRST_SYMBOL; /* without vocabulary */
    *label = *id;
    if (tenth < 8)
        *id = data->special.mask;
    else if (tenth == 8)
        *id = v ? v->ordinary[rt_word_below(words[2], v->ordinary_count)]
                : first + rt_word_below(words[2], data->vocab - first);
}

bool rt_data_masks(const rt_data *data, int32_t id)
{
    const rt_special_ids *s = &data->special;
    if (id == s->mask || id == s->cls || id == s->sep || id == s->unknown)
        return false;
    if (data->vocabulary)
        return id != s->pad && rt_vocabulary_is_ordinary(data->vocabulary, id);
    return id >= RT_FIRST_SYMBOL || !rt_data_has_special_tokens(data);
}

/* For mlm, masks each token that is not special with data.mask_probability. If none was chosen,
 * masks one, so that every sequence with such a token has a label. This draw uses the index of the
 * first token, which is never masked, or, if no token begins the sequence, the index after the
 * last. */
void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int first = rt_data_begins(data);
    const rt_random random = {draw.seed, draw.step, RT_STREAM_MASK};
    uint32_t words[4];
    int chosen = 0, ordinary = 0;
    if (data->options.objective != RT_OBJECTIVE_MLM) {
        /* the token that begins the sequence, if any, predicts the first token of the window */
        memcpy(row.labels, row.ids + 1, (size_t)(row.length - 1) * sizeof *row.labels);
        return;
    }
    for (int t = first; t < row.length; t++) {
        if (!rt_data_masks(data, row.ids[t]))
            continue;
        ordinary++;
        rt_random_words(random, rt_draw_index(draw, t), words);
        if (words[0] * 0x1p-32 < data->options.mask_probability) {
            mask_token(data, words, &row.ids[t], &row.labels[t]);
            chosen++;
        }
    }
    if (chosen || !ordinary)
        return;
    rt_random_words(random, rt_draw_index(draw, first ? 0 : row.length), words);
    int t = first;
    for (int left = rt_word_below(words[0], ordinary); left || !rt_data_masks(data, row.ids[t]);)
        left -= rt_data_masks(data, row.ids[t++]);
    mask_token(data, words, &row.ids[t], &row.labels[t]);
}
