/* --predict - with data.objective = lm: the lines of a file are continued together, so that a pass
 * over the weights serves several of them. */

#include "train/run/prediction.h"

#include "core/memory.h"

#include <string.h>

/* No text is added to others whose keys and values may take that much. */
static const double most_bytes = 1 << 30;

typedef struct together {
    rt_prediction p[RT_MOST_TOGETHER];
    char *texts[RT_MOST_TOGETHER];
    size_t starts[RT_MOST_TOGETHER]; /* of the lines, in bytes */
    int made, count;
    double bytes; /* of keys and values, at the end */
} together;

static rt_status copy_line(char **copy, const rt_lines *line)
{
    rt_free(*copy);
    *copy = rt_alloc_unset(line->size + 1, 1);
    if (!*copy)
        return rt_out_of_memory("a line");
    memcpy(*copy, line->bytes, line->size + 1);
    return rt_ok();
}

/* Adds a text, read up to its first logits. */
static rt_status add_line(together *t, const rt_prediction *like, const rt_lines *line)
{
    rt_prediction *p = t->p + t->count;
    rt_status status = rt_prediction_check_line(line);
    if (!status.code && t->made == t->count)
        status = rt_prediction_new(t->p + t->made++, like);
    if (!status.code)
        status = copy_line(t->texts + t->count, line);
    if (status.code)
        return status;
    rt_prediction_next(p, t->texts[t->count], line->size);
    t->starts[t->count] = line->start;
    status = rt_continuation_begin(p);
    t->bytes += rt_continuation_bytes(p);
    t->count += !status.code;
    return status;
}

static rt_status answer(together *t, FILE *to, rt_predicted *told)
{
    rt_status status = rt_continuation_go_on(t->p, t->count, to);
    for (int i = 0; i < t->count; i++)
        rt_prediction_tell(t->p + i, t->starts[i], told);
    if (status.code && t->count > 1)
        return rt_error(status.code, "and %d before it, which go on together: %.900s", t->count - 1,
                        status.message);
    return status;
}

/* Those before a line that is bad are answered. Ends early where nothing can be printed, as with
 * one text at a time. */
rt_status rt_predict_together(const rt_prediction *like, rt_lines *lines, rt_predicted *told)
{
    together *t = rt_alloc(1, sizeof *t);
    rt_status status = t ? rt_ok() : rt_out_of_memory("predictions");
    bool more = t != NULL;
    while (more) {
        t->count = 0;
        t->bytes = 0;
        while (!status.code && t->count < RT_MOST_TOGETHER && t->bytes < most_bytes &&
               (more = rt_lines_next(lines)))
            status = add_line(t, like, lines);
        const rt_status answered = t->count ? answer(t, like->to, told) : rt_ok();
        if (!status.code)
            status = answered;
        more = more && !status.code && rt_prediction_flush(like->to);
    }
    for (int i = 0; t && i < t->made; i++) {
        rt_prediction_free(t->p + i);
        rt_free(t->texts[i]);
    }
    rt_free(t);
    return status;
}
