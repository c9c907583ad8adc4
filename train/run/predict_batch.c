/* --predict - with data.objective = lm: the lines of a file are continued together, so that a pass
 * over the weights serves several of them. */

#include "train/run/prediction.h"

#include "core/memory.h"

#include <string.h>

/* No text is added to others whose keys and values may take that much. */
static const double most_bytes = 1 << 30;

typedef struct batch {
    rt_prediction p[RT_MOST_BATCHED];
    char *texts[RT_MOST_BATCHED];
    size_t starts[RT_MOST_BATCHED]; /* of the lines, in bytes */
    int made, count;
    double bytes; /* of keys and values, at the end */
} batch;

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
static rt_status add_line(batch *b, const rt_prediction *like, const rt_lines *line)
{
    rt_prediction *p = b->p + b->count;
    rt_status status = rt_prediction_check_line(line);
    if (!status.code && b->made == b->count)
        status = rt_prediction_new(b->p + b->made++, like);
    if (!status.code)
        status = copy_line(b->texts + b->count, line);
    if (status.code)
        return status;
    rt_prediction_next(p, b->texts[b->count], line->size);
    b->starts[b->count] = line->start;
    status = rt_continuation_begin(p);
    b->bytes += rt_continuation_bytes(p);
    b->count += !status.code;
    return status;
}

static rt_status answer(batch *b, FILE *to, rt_predicted *total)
{
    rt_status status = rt_continuation_generate(b->p, b->count, to);
    for (int i = 0; i < b->count; i++)
        rt_prediction_count(b->p + i, b->starts[i], total);
    if (status.code && b->count > 1)
        return rt_error(status.code, "and %d before it, of one batch: %.900s", b->count - 1,
                        status.message);
    return status;
}

/* Those before a line that is bad are answered. Ends early where nothing can be printed, as with
 * one text at a time. */
rt_status rt_predict_batch(const rt_prediction *like, rt_lines *lines, rt_predicted *total)
{
    batch *b = rt_alloc(1, sizeof *b);
    rt_status status = b ? rt_ok() : rt_out_of_memory("predictions");
    bool more = b != NULL;
    while (more) {
        b->count = 0;
        b->bytes = 0;
        while (!status.code && b->count < RT_MOST_BATCHED && b->bytes < most_bytes &&
               (more = rt_lines_next(lines)))
            status = add_line(b, like, lines);
        const rt_status answered = b->count ? answer(b, like->to, total) : rt_ok();
        if (!status.code)
            status = answered;
        more = more && !status.code && rt_prediction_flush(like->to);
    }
    for (int i = 0; b && i < b->made; i++) {
        rt_prediction_free(b->p + i);
        rt_free(b->texts[i]);
    }
    rt_free(b);
    return status;
}
