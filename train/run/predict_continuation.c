/* --predict with data.objective = lm: a text is continued, unit by unit. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "train/text/utf8_stream.h"

#include <limits.h>
#include <string.h>

/* ---- what is written ---- */

typedef struct written {
    rt_utf8_stream stream;
    const char *stop; /* or NULL */
    char *last;       /* as many bytes as `stop` has, or fewer */
    size_t used;
} written;

static rt_status begin(written *w, const rt_prediction *p)
{
    const char *stop = p->o->stop;
    *w = (written){.stream = {.to = p->to}, .stop = stop && *stop ? stop : NULL};
    if (w->stop && !(w->last = rt_alloc(strlen(w->stop), 1)))
        return rt_out_of_memory("a continuation");
    return rt_ok();
}

/* Writes a byte of the continuation. Returns whether the text has come to where it stops. */
static bool write_byte(written *w, char byte)
{
    const size_t length = w->stop ? strlen(w->stop) : 0;
    rt_utf8_stream_put(&w->stream, &byte, 1);
    if (!length)
        return false;
    if (w->used == length)
        memmove(w->last, w->last + 1, --w->used);
    w->last[w->used++] = byte;
    return w->used == length && !memcmp(w->last, w->stop, length);
}

/* Returns whether the text ends here, maybe within the unit, or can be written no further. */
static bool write_unit(rt_prediction *p, written *w, int32_t id)
{
    const rt_spelling s = rt_vocabulary_spell(p->vocabulary, id);
    bool stop = s.space && p->s.count > 1 && write_byte(w, ' ');
    for (size_t i = 0; i < s.size && !stop; i++)
        stop = write_byte(w, s.bytes[i]);
    return fflush(p->to) || stop;
}

/* ---- what is read ---- */

/* The most tokens that the model is given: as many as it was trained on. dynamic is made for
 * more. */
static int context_of(const rt_prediction *p)
{
    const int length = rt_data_length(p->data), positions = p->o->positions;
    if (p->model->options.position.frequencies.scaling == RT_SCALING_DYNAMIC)
        return INT_MAX;
    return positions && positions < length ? positions : length;
}

/* [CLS], or what else begins the text, and the newest of the others. */
static void leave_newest(rt_prediction_ids *s, int count, int32_t cls)
{
    const int first = s->ids[0] == cls && count > 1;
    const int kept = count > 1 ? count - first : 1;
    memmove(s->ids + first, s->ids + s->count - kept, (size_t)kept * sizeof *s->ids);
    s->count = first + kept;
}

/* Makes the text fit into the context: of one that is too long the newest tokens that do, of one
 * that has grown the newest half, so that most tokens still cost one row. A model that has no more
 * positions has come to the end. */
static rt_status fit(rt_prediction *p, bool *end)
{
    const int context = context_of(p), read = rt_session_count(p->session);
    *end = false;
    if (p->s.count <= context)
        return rt_ok();
    *end = context == p->o->positions;
    if (*end && !read)
        return rt_error(RT_ARGUMENT, "the text has %d tokens; the model has positions for %d",
                        p->s.count, context);
    p->full = true;
    p->ended = *end;
    if (*end)
        return rt_ok();
    leave_newest(&p->s, read ? (context + 1) / 2 : context, p->vocabulary->special.cls);
    return rt_session_keep(p->session, 0);
}

/* Reads what is new; leaves the logits of what comes next. */
static rt_status read_on(rt_prediction *p, bool *end)
{
    rt_status status = fit(p, end);
    if (status.code || *end)
        return status;
    const int read = rt_session_count(p->session);
    return rt_session_feed(p->session, p->s.ids + read, p->s.count - read, 1, p->weights);
}

static rt_status add_units(rt_prediction *p, written *w)
{
    bool end = false;
    rt_status status = read_on(p, &end);
    if (status.code)
        return status;
    rt_utf8_stream_put(&w->stream, p->text, p->size);
    fflush(p->to);
    for (int n = 0; n < p->o->count && !status.code && !end; n++) {
        const int32_t id = rt_prediction_choose(p, n);
        if (rt_vocabulary_is_end(p->vocabulary, id))
            break;
        const bool stop = write_unit(p, w, id);
        if (stop || n + 1 == p->o->count)
            break;
        status = rt_prediction_append(&p->s, &id, 1);
        if (!status.code)
            status = read_on(p, &end);
    }
    rt_utf8_stream_end(&w->stream);
    fputc('\n', p->to);
    return status;
}

static rt_status open_session(rt_prediction *p)
{
    rt_status status = rt_session_new(&p->session, p->model, 0);
    if (!status.code)
        rt_session_set_crew(p->session, p->o->crew);
    return status;
}

static rt_status go_on(rt_prediction *p)
{
    written w;
    rt_status status = begin(&w, p);
    if (!status.code)
        status = p->session ? rt_session_keep(p->session, 0) : open_session(p);
    if (!status.code)
        status = add_units(p, &w);
    rt_free(w.last);
    return status;
}

rt_status rt_predict_continuation(rt_prediction *p)
{
    int masks;
    p->ends = true;
    rt_status status = rt_prediction_read(p, &masks);
    if (!status.code && masks)
        status = rt_error(RT_ARGUMENT, "a text to continue has no [MASK]");
    return status.code ? status : go_on(p);
}
