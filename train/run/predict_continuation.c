/* --predict with data.objective = lm: a text is continued. */

#include "train/run/prediction.h"

#include "core/memory.h"

#include <string.h>

/* What has been written of a continuation. */
typedef struct written {
    const char *stop; /* or NULL */
    char *last;       /* as many bytes as `stop` has, or fewer */
    size_t used;
    int missing; /* bytes of a character that is not whole */
} written;

static void note_byte(written *w, unsigned char byte)
{
    const size_t length = w->stop ? strlen(w->stop) : 0;
    if (byte >= 0xc0)
        w->missing = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    else
        w->missing = byte >= 0x80 && w->missing ? w->missing - 1 : 0;
    if (!length)
        return;
    if (w->used == length)
        memmove(w->last, w->last + 1, --w->used);
    w->last[w->used++] = (char)byte;
}

static bool has_come_to_stop(const written *w)
{
    return w->stop && w->used == strlen(w->stop) && !memcmp(w->last, w->stop, w->used);
}

/* A character is shown when it is whole. Returns whether the text ends here. */
static bool write_unit(rt_prediction *p, written *w, int32_t id)
{
    const rt_spelling s = rt_vocabulary_spell(p->vocabulary, id);
    bool stop = false;
    if (s.space && p->s.count > 1) {
        fputc(' ', p->to);
        note_byte(w, ' ');
    }
    for (size_t i = 0; i < s.size && !stop; i++) {
        fputc((unsigned char)s.bytes[i], p->to);
        note_byte(w, (unsigned char)s.bytes[i]);
        stop = has_come_to_stop(w);
    }
    if (!w->missing)
        fflush(p->to);
    return stop;
}

/* The model sees as many tokens as it was trained on: [CLS] and the newest units. */
static rt_status choose_next(rt_prediction *p, int n, int32_t *id)
{
    const int most = rt_data_length(p->data);
    const int length = p->s.count < most ? p->s.count : most;
    int32_t *window = p->s.ids + p->s.count - length;
    const int32_t hidden = window[0];
    window[0] = p->vocabulary->special.cls;
    rt_status status = rt_prediction_logits(p, window, length, length - 1);
    window[0] = hidden;
    if (!status.code)
        *id = rt_prediction_choose(p, n);
    return status;
}

static rt_status go_on(rt_prediction *p)
{
    written w = {.stop = p->o->stop && *p->o->stop ? p->o->stop : NULL};
    rt_status status = rt_ok();
    bool stop = false;
    if (w.stop && !(w.last = rt_alloc(strlen(w.stop), 1)))
        return rt_out_of_memory("a continuation");
    fputs(p->text, p->to);
    for (int n = 0; n < p->o->count && !status.code && !stop; n++) {
        int32_t id = 0;
        status = choose_next(p, n, &id);
        if (status.code)
            break;
        stop = write_unit(p, &w, id);
        status = rt_prediction_append(&p->s, &id, 1);
    }
    fputc('\n', p->to);
    rt_free(w.last);
    return status;
}

rt_status rt_predict_continuation(rt_prediction *p)
{
    int masks;
    rt_status status = rt_prediction_read(p, &masks);
    if (!status.code && masks)
        status = rt_error(RT_ARGUMENT, "a text to continue has no [MASK]");
    return status.code ? status : go_on(p);
}
