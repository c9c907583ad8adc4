#include "train/step/scores.h"

#include <stddef.h>

static double share(int64_t part, int64_t all)
{
    return all ? (double)part / (double)all : 0;
}

bool rt_score_counts(const rt_class_score *score)
{
    return score->count || score->predicted;
}

rt_macro_score rt_scores_find(rt_class_score *scores, const int64_t *confusion, int classes)
{
    rt_macro_score macro = {0, 0};
    for (int c = 0; c < classes; c++)
        scores[c] = (rt_class_score){.count = 0};
    for (int c = 0; c < classes; c++)
        for (int k = 0; k < classes; k++) {
            const int64_t pairs = confusion[(size_t)c * (size_t)classes + (size_t)k];
            scores[c].count += pairs;
            scores[k].predicted += pairs;
        }
    for (int c = 0; c < classes; c++) {
        rt_class_score *s = scores + c;
        const int64_t right = confusion[(size_t)c * (size_t)classes + (size_t)c];
        s->precision = share(right, s->predicted);
        s->recall = share(right, s->count);
        s->f1 = share(2 * right, s->predicted + s->count);
        macro.f1 += s->f1;
        macro.classes += rt_score_counts(s);
    }
    macro.f1 = macro.classes ? macro.f1 / macro.classes : 0;
    return macro;
}

int rt_scores_lowest(int *chosen, const rt_class_score *scores, int classes, int most)
{
    int all = 0, count = 0;
    for (int c = 0; c < classes; c++)
        all += rt_score_counts(scores + c);
    for (int c = 0; c < classes; c++) {
        if (!rt_score_counts(scores + c))
            continue;
        int at = count;
        while (all > most && at > 0 && scores[c].f1 < scores[chosen[at - 1]].f1)
            at--;
        if (at == most)
            continue;
        for (int i = count < most ? count : most - 1; i > at; i--)
            chosen[i] = chosen[i - 1];
        chosen[at] = c;
        count += count < most;
    }
    return count;
}
