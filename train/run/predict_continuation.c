/* --predict with data.objective = lm: continues a text token by token, or several texts together,
 * so that a pass over the weights serves all of them. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "text/capture.h"

#include <limits.h>
#include <string.h>

/* ---- writing ---- */

/* Prepares the writing of a continuation. */
static rt_status open_writing(rt_prediction *p)
{
    rt_continued *c = &p->continued;
    const char *stop = p->o->stop;
    if (stop && *stop && !c->last && !(c->last = rt_alloc(strlen(stop), 1)))
        return rt_out_of_memory("a continuation");
    *c = (rt_continued){.stream = {.to = p->to}, .last = c->last};
    return rt_ok();
}

/* Writes a byte of the continuation. Returns whether the text ends with --stop now. */
static bool write_byte(rt_prediction *p, char byte)
{
    rt_continued *c = &p->continued;
    const size_t length = c->last ? strlen(p->o->stop) : 0;
    rt_utf8_stream_put(&c->stream, &byte, 1);
    if (!length)
        return false;
    if (c->used == length)
        memmove(c->last, c->last + 1, --c->used);
    c->last[c->used++] = byte;
    return c->used == length && !memcmp(c->last, p->o->stop, length);
}

/* Writes a token. Returns whether --stop was reached, perhaps within the token, or writing failed.
 */
static bool write_token(rt_prediction *p, int32_t id)
{
    const rt_spelling s = rt_vocabulary_spell(p->vocabulary, id);
    bool stop = s.space && p->s.count > rt_data_begins(p->data) && write_byte(p, ' ');
    for (size_t i = 0; i < s.size && !stop; i++)
        stop = write_byte(p, s.bytes[i]);
    return fflush(p->to) || stop;
}

/* Redirects the output of a text into memory. */
static rt_status begin_waiting(rt_capture *w, rt_prediction *p)
{
    if (!rt_capture_begin(w))
        return rt_out_of_memory("a continuation");
    p->to = p->continued.stream.to = w->file;
    return rt_ok();
}

/* Writes the captured output to `to`, and sends further output there. */
static rt_status end_waiting(rt_capture *w, rt_prediction *p, FILE *to)
{
    rt_status status = rt_ok();
    if (!w->file)
        return status;
    if (rt_capture_end(w)) {
        fwrite(w->bytes, 1, w->size, to);
        fflush(to);
    } else {
        status = rt_out_of_memory("a continuation");
    }
    rt_capture_free(w);
    p->to = p->continued.stream.to = to;
    return status;
}

/* Prints a finished text with its captured continuation as an object of JSON. */
static rt_status answer_continuation(rt_capture *w, rt_prediction *p, FILE *to)
{
    const rt_continued *c = &p->continued;
    rt_status status = rt_ok();
    if (rt_capture_end(w))
        status = rt_answer_print(to, json_pack("{s:o,s:o,s:i,s:s}", "text",
                                               rt_answer_string(p->text, p->size), "continuation",
                                               rt_answer_string(w->bytes, w->size), "tokens",
                                               c->tokens, "end", c->end));
    else
        status = rt_out_of_memory("a continuation");
    rt_capture_free(w);
    p->to = to;
    fflush(to);
    return status;
}

/* ---- the context ---- */

/* Returns the most tokens that the model is given: as many as it was trained on. Only
 * position.scaling = dynamic is made for more. */
static int context_of(const rt_prediction *p)
{
    const int length = rt_data_length(p->data), positions = p->o->positions;
    if (p->model->options.position.frequencies.scaling == RT_SCALING_DYNAMIC)
        return INT_MAX;
    return positions && positions < length ? positions : length;
}

/* Keeps the first token if it is the one that begins every text, and the newest of the others. */
static void leave_newest(rt_prediction_ids *s, int count, bool begins)
{
    const int first = begins && count > 1;
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
    leave_newest(&p->s, read ? (context + 1) / 2 : context, rt_data_begins(p->data));
    return rt_session_keep(p->session, 0);
}

/* ---- one text ---- */

static rt_status open_session(rt_prediction *p)
{
    rt_status status = rt_session_new(&p->session, p->model, 0);
    if (!status.code)
        rt_session_set_crew(p->session, p->o->crew);
    return status;
}

/* Feeds the new tokens to the model; p->logits are those of the next token. */
static rt_status read_new(rt_prediction *p)
{
    const int read = rt_session_count(p->session);
    return rt_session_feed(p->session, p->s.ids + read, p->s.count - read, 1, p->logits);
}

/* Reads p->text, up to the logits of its first token. */
static rt_status begin_continuation(rt_prediction *p)
{
    int masks;
    bool end;
    rt_status status = rt_prediction_read(p, &masks);
    if (!status.code && masks)
        status = rt_error(RT_ARGUMENT, "a text to continue must have no [MASK]");
    if (!status.code)
        status = open_writing(p);
    if (!status.code)
        status = p->session ? rt_session_keep(p->session, 0) : open_session(p);
    if (!status.code)
        status = fit(p, &end);
    return status.code ? status : read_new(p);
}

/* Returns about the most memory that keys and values of the text will take. */
static double continuation_bytes(const rt_prediction *p)
{
    const int context = context_of(p);
    const double tokens = (double)p->s.count + p->o->count;
    return rt_session_bytes(p->model, tokens < context ? (int)tokens : context);
}

/* Adds token number n, and finds whether the text ends with it. */
static rt_status add_token(rt_prediction *p, int n, int32_t id)
{
    rt_continued *c = &p->continued;
    const bool over = rt_vocabulary_is_end(p->vocabulary, id);
    const bool stop = !over && write_token(p, id);
    rt_status status = rt_ok();
    c->tokens += !over;
    c->end = over ? "token" : stop ? "stop" : "length";
    c->done = over || stop || n + 1 == p->o->count;
    if (!c->done)
        status = rt_prediction_append(&p->s, &id, 1);
    if (!status.code && !c->done)
        status = fit(p, &c->done);
    if (!c->done)
        return status;
    rt_utf8_stream_end(&c->stream);
    if (!p->o->jsonl)
        fputc('\n', p->to);
    return status;
}

/* Draws token number n from the logits, and adds it. */
static rt_status draw_token(rt_prediction *p, int n)
{
    int32_t id;
    rt_vocabulary_mask_logits(p->vocabulary, true, p->logits);
    const rt_status status = rt_sampler_draw(p->sampler, p->logits, (uint32_t)n, &id);
    return status.code ? status : add_token(p, n, id);
}

/* ---- several texts ---- */

/* Feeds the new tokens of all texts to the model: those of texts that have grown by one token in
 * one pass, those of a text that was cut to fit its context alone. `logits` has room for all texts.
 */
static rt_status read_on(rt_prediction *p, int count, real *logits)
{
    const size_t V = (size_t)p->model->options.vocab;
    rt_session *sessions[RT_MOST_BATCHED];
    real *rows_of[RT_MOST_BATCHED];
    int32_t ids[RT_MOST_BATCHED];
    int rows = 0;
    rt_status status = rt_ok();
    for (int i = 0; i < count && !status.code; i++) {
        const bool grown = rt_session_count(p[i].session) + 1 == p[i].s.count;
        if (p[i].continued.done)
            continue;
        if (!grown || count == 1) {
            status = read_new(p + i);
            continue;
        }
        sessions[rows] = p[i].session;
        rows_of[rows] = p[i].logits;
        ids[rows++] = p[i].s.ids[p[i].s.count - 1];
    }
    if (rows && !status.code)
        status = rt_session_feed_each(sessions, rows, ids, logits);
    for (int i = 0; i < rows && !status.code; i++)
        memcpy(rows_of[i], logits + (size_t)i * V, V * sizeof *logits);
    return status;
}

/* Adds tokens to all texts until they are done. The text `front` is written as it comes; an object
 * of JSON once it is done. */
static rt_status add_tokens(rt_prediction *p, int count, rt_capture *w, FILE *to, real *logits)
{
    rt_status status = rt_ok();
    for (int n = 0, front = 0; front < count && !status.code; n++) {
        for (int i = front; i < count && !status.code; i++)
            if (!p[i].continued.done)
                status = draw_token(p + i, n);
        while (front < count && p[front].continued.done && !status.code) {
            if (p->o->jsonl)
                status = answer_continuation(w + front, p + front, to);
            if (++front < count && !p->o->jsonl)
                status = end_waiting(w + front, p + front, to);
        }
        if (!status.code)
            status = read_on(p, count, logits);
    }
    return status;
}

/* Continues the texts together, each as if it were alone. A text is written to `to` once those
 * before it are. */
static rt_status generate(rt_prediction *p, int count, FILE *to)
{
    const size_t V = (size_t)p->model->options.vocab;
    const bool jsonl = p->o->jsonl;
    rt_capture w[RT_MOST_BATCHED] = {0};
    real *logits = count > 1 ? rt_alloc_unset((size_t)count, V * sizeof *logits) : NULL;
    rt_status status = count > 1 && !logits ? rt_out_of_memory("continuations") : rt_ok();
    for (int i = jsonl ? 0 : 1; i < count && !status.code; i++)
        status = begin_waiting(w + i, p + i);
    for (int i = 0; i < count && !status.code && !jsonl; i++) {
        rt_utf8_stream_put(&p[i].continued.stream, p[i].text, p[i].size);
        fflush(p[i].to);
    }
    if (!status.code)
        status = add_tokens(p, count, w, to, logits);
    for (int i = 0; i < count; i++) { /* after a failure */
        if (w[i].file)
            p[i].to = to;
        rt_capture_free(w + i);
    }
    rt_free(logits);
    return status;
}

rt_status rt_predict_continuation(rt_prediction *p)
{
    const rt_status status = begin_continuation(p);
    return status.code ? status : generate(p, 1, p->to);
}

/* ---- lines of a file ---- */

/* Limit on the keys and values of a batch: no text is added once they may take that much. */
static const double most_bytes = 1 << 30;

typedef struct batch {
    rt_prediction p[RT_MOST_BATCHED];
    char *texts[RT_MOST_BATCHED];
    size_t starts[RT_MOST_BATCHED]; /* of the lines, in bytes */
    int made, count;
    double bytes; /* of keys and values, at the end */
} batch;

/* Adds a text to the batch, read up to its first logits. */
static rt_status add_line(batch *b, const rt_prediction *shared, const rt_lines *line)
{
    rt_prediction *p = b->p + b->count;
    rt_status status = rt_prediction_check_line(line);
    if (!status.code && b->made == b->count)
        status = rt_prediction_new(b->p + b->made++, shared);
    if (!status.code) {
        rt_free(b->texts[b->count]);
        b->texts[b->count] = rt_alloc_unset(line->size + 1, 1);
        if (!b->texts[b->count])
            status = rt_out_of_memory("a line");
    }
    if (status.code)
        return status;
    memcpy(b->texts[b->count], line->bytes, line->size + 1);
    rt_prediction_next(p, b->texts[b->count], line->size);
    b->starts[b->count] = line->start;
    status = begin_continuation(p);
    b->bytes += continuation_bytes(p);
    b->count += !status.code;
    return status;
}

static rt_status answer_batch(batch *b, FILE *to, rt_predicted *total)
{
    rt_status status = generate(b->p, b->count, to);
    for (int i = 0; i < b->count; i++)
        rt_prediction_count(b->p + i, b->starts[i], total);
    if (status.code && b->count > 1)
        return rt_error(status.code, "and %d before it, of one batch: %.900s", b->count - 1,
                        status.message);
    return status;
}

rt_status rt_predict_batch(const rt_prediction *shared, rt_lines *lines, rt_predicted *total)
{
    batch *b = rt_alloc(1, sizeof *b);
    rt_status status = b ? rt_ok() : rt_out_of_memory("predictions");
    bool more = b != NULL;
    while (more) {
        b->count = 0;
        b->bytes = 0;
        while (!status.code && b->count < RT_MOST_BATCHED && b->bytes < most_bytes &&
               (more = rt_lines_next(lines)))
            status = add_line(b, shared, lines);
        const rt_status answered = b->count ? answer_batch(b, shared->to, total) : rt_ok();
        if (!status.code)
            status = answered;
        more = more && !status.code && rt_prediction_flush(shared->to);
    }
    for (int i = 0; b && i < b->made; i++) {
        rt_prediction_free(b->p + i);
        rt_free(b->texts[i]);
    }
    rt_free(b);
    return status;
}
