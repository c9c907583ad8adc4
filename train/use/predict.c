#include "train/use/predict.h"

#include "core/memory.h"
#include "data/data.h"
#include "data/tokenizers/masked_text.h"
#include "models/session.h"
#include "util/files.h"
#include "util/number.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGITS = 6 }; /* precision of a number in JSON */

json_t *rt_answer_string(const char *bytes, size_t size)
{
    RT_CLOSED_BY(rt_capture_free) rt_capture text = {0};
    json_t *string = NULL;
    if (rt_capture_begin(&text)) {
        rt_utf8_stream stream = {.to = text.file};
        rt_utf8_stream_put(&stream, bytes, size);
        rt_utf8_stream_end(&stream);
        if (rt_capture_end(&text))
            string = json_stringn(text.bytes, text.size);
    }
    return string;
}

json_t *rt_answer_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

rt_status rt_answer_print(FILE *to, json_t *answer)
{
    char *line = answer ? json_dumps(answer, JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(answer);
    RT_TRY(rt_allocated(line, "an answer"));
    fprintf(to, "%s\n", line);
    free(line); /* allocated by Jansson, with malloc */
    return rt_ok();
}

/* Prints the predictions for texts that have begun: several for continuations, else one. */
typedef struct prediction prediction;
typedef rt_status predictor(prediction *p, int count);

/* Prediction for a text, with buffers that are reused for later texts. */
struct prediction {
    FILE *to;
    predictor *predict;
    rt_transformer *model;
    const rt_data *data;
    const rt_vocabulary *vocabulary; /* NULL: texts are token ids */
    int special_ids;                 /* for token ids: this many first ids are never predicted */
    const rt_predict_options *o;
    rt_sampler *sampler; /* masks, continuation; shared by all texts */
    rt_graph *g;
    const char *text; /* current text */
    size_t size;
    size_t start;       /* byte offset of the text in its stream */
    uint64_t number;    /* number of the answer, from 0 */
    int sample;         /* number of the sample of the text, from 1; 0: the only one */
    rt_unknown unknown; /* unknown tokens, by byte offset in the text */
    bool cut, tab;
    double *probabilities; /* (V) for masks, including special tokens; or of the labels */
    rt_labelled_batch row; /* labels */
    int32_t *ids;          /* masks, continuation: tokens of the text, with [CLS] first */
    int count;             /* number of ids */
    size_t capacity;       /* of ids */
    real *logits;          /* (V): masks, continuation */
    bool full, ended;      /* continuation: the context was full; the text ended there */
    char *copy;            /* of the text */
    rt_session *session;   /* continuation */
    rt_utf8_stream stream; /* continuation: writes to the output, or to `captured` */
    rt_capture captured;   /* output that is printed later */
    char *tail;            /* newest bytes, as many as --stop has */
    size_t tail_used;
    int added;       /* number of added tokens */
    bool done;       /* the continuation is complete */
    const char *end; /* end of a complete continuation: "token", "stop" or "length" */
};

/* Initializes a prediction as a copy of `shared`, with its own graph and buffers. The caller frees
 * it, also after an error. */
static rt_status prediction_new(prediction *p, const prediction *shared)
{
    *p = *shared;
    p->g = rt_graph_new();
    const rt_transformer_options *o = &p->model->options;
    const int shown = p->data->labels ? o->labels : o->vocab;
    p->logits = rt_alloc((size_t)o->vocab, sizeof *p->logits);
    p->probabilities = rt_alloc((size_t)shown, sizeof *p->probabilities);
    RT_TRY(rt_allocated(p->g && p->logits && p->probabilities, "a prediction"));
    return p->data->labels ? rt_labelled_batch_new(&p->row, 1, p->data->options.length, 0, NULL)
                           : rt_ok();
}

static void prediction_free(prediction *p)
{
    rt_graph_free(p->g);
    rt_free(p->logits);
    rt_free(p->probabilities);
    rt_free(p->ids);
    rt_free(p->copy);
    rt_free(p->tail);
    rt_capture_free(&p->captured);
    rt_session_free(p->session);
    rt_labelled_batch_free(&p->row);
}

static rt_status draw_token(const prediction *p, int n, int32_t *id)
{
    return rt_sampler_draw(p->sampler, p->logits, p->number << 32 | (uint32_t)n, id);
}

static rt_status append_id(prediction *p, int32_t id)
{
    if (!rt_grow(&p->ids, &p->capacity, (size_t)p->count + 1, sizeof *p->ids))
        return rt_out_of_memory("a prediction");
    p->ids[p->count++] = id;
    return rt_ok();
}

/* Parses the text as token ids separated by blanks, for a model without a vocabulary. */
static rt_status parse_ids(prediction *p)
{
    static const char blanks[] = " \t\r\n";
    const int most = p->model->options.vocab - 1;
    const char *at = p->text + strspn(p->text, blanks);
    p->count = 0;
    if (!*at)
        return rt_error(RT_ARGUMENT, "there is no token id to continue");
    if (rt_data_begins(p->data))
        RT_TRY(append_id(p, RT_ID_CLS));
    while (*at) {
        char word[24];
        const size_t length = strcspn(at, blanks);
        int64_t id;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length >= sizeof word || !rt_integer_parse(word, &id) || id < 0 || id > most)
            return rt_error(RT_ARGUMENT, "%s is no token id from 0 to %d", RT_QUOTED(word), most);
        RT_TRY(append_id(p, (int32_t)id));
        at += length;
        at += strspn(at, blanks);
    }
    return rt_ok();
}

/* Encodes the text to p->ids, and counts its masks. */
static rt_status encode_text(prediction *p, int *masks)
{
    *masks = 0;
    if (!p->vocabulary)
        return parse_ids(p);
    rt_free(p->ids);
    rt_status status = rt_masked_text_encode(p->vocabulary, rt_data_begins(p->data), p->o->special,
                                             p->text, &p->ids, &p->count, masks, &p->unknown);
    p->capacity = (size_t)p->count;
    return status;
}

/* Returns an answer for the text, or a word of it, with its most likely label. */
static json_t *label_answer(const prediction *p, const char *key, const char *text, size_t size,
                            int label)
{
    const char *name = p->data->labels->names[label];
    return json_pack("{s:o,s:o,s:o}", key, rt_answer_string(text, size), "label",
                     rt_answer_string(name, strlen(name)), "probability",
                     rt_answer_number(p->probabilities[label]));
}

/* Prints the most likely label of the text, or of every token that was not truncated. */
static rt_status predict_labels(prediction *p, int count)
{
    (void)count;
    const bool tags = p->data->task->target != RT_TARGET_SEQUENCE, jsonl = p->o->jsonl;
    char *const *names = p->data->labels->names;
    RT_CLOSED_BY(rt_example_text_free) rt_example_text x = {0};
    const rt_status drawn = rt_draw_text(&p->row, p->data, p->text, p->size, &x);
    p->unknown = x.unknown;
    p->cut = x.cut;
    p->tab = !tags && x.count == 1 && memchr(p->text, '\t', p->size);
    RT_TRY(drawn);
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    const rt_tensor *logits = rt_batch_logits(p->model, p->g, &p->row);
    RT_TRY(rt_engine_graph_status(p->g));
    json_auto_t *all = tags ? json_array() : json_object();
    json_t *answer = NULL;
    for (int i = 0; i < (tags ? p->row.labels : 1); i++) {
        const int classes = rt_columns(logits), label = rt_largest(logits, (size_t)i);
        const rt_text_span word =
            tags ? x.texts[p->row.wanted[i]] : (rt_text_span){.bytes = p->text};
        RT_TRY(rt_probabilities(logits->data + (size_t)i * (size_t)classes, classes,
                                p->probabilities));
        if (jsonl && tags)
            json_array_append_new(all, label_answer(p, "word", word.bytes, word.size, label));
        else if (jsonl)
            answer = label_answer(p, "text", p->text, p->size, label);
        else
            fprintf(p->to, "%.*s%s%s\t%.4f\n", (int)word.size, word.bytes, tags ? "\t" : "",
                    names[label], p->probabilities[label]);
    }
    if (jsonl && tags) {
        answer = json_pack("{s:o,s:O}", "text", rt_answer_string(p->text, p->size), "words", all);
    } else if (jsonl) {
        for (int c = 0; c < p->model->options.labels; c++)
            json_object_set_new(all, names[c], rt_answer_number(p->probabilities[c]));
        if (json_object_set(answer, "probabilities", all)) {
            json_decref(answer);
            answer = NULL;
        }
    }
    if (jsonl)
        return rt_answer_print(p->to, answer);
    if (tags)
        fputc('\n', p->to);
    return rt_ok();
}

enum { SHOWN = 5 }; /* most likely tokens printed for a mask */

/* Prints the most likely tokens of a mask as in the vocabulary. Overwrites p->logits. */
static void print_likely(FILE *to, prediction *p, int number)
{
    const rt_tensor row = rt_tensor_of(p->logits, NULL, RT_SHAPE_OF(p->vocabulary->count));
    fprintf(to, "mask %d:", number);
    for (int i = 0; i < SHOWN && i < p->vocabulary->ordinary_count; i++) {
        const int32_t id = rt_largest(&row, 0);
        rt_utf8_stream stream = {.to = to};
        size_t size;
        const char *token = rt_vocabulary_decode(p->vocabulary, id, &size);
        fprintf(to, "%s '", i ? "," : "");
        if (token)
            rt_utf8_stream_put(&stream, token, size);
        rt_utf8_stream_end(&stream);
        fprintf(to, "' %.3f", p->probabilities[id]);
        p->logits[id] = (real)-INFINITY;
    }
    fputc('\n', to);
}

/* Prints the text with every mask replaced by its token in `filled`. */
static void print_filled(FILE *to, const prediction *p, const int32_t *filled)
{
    const char *rest = p->text;
    rt_utf8_stream stream = {.to = to};
    rt_mask_place found = rt_mask_find(p->vocabulary, rest);
    for (int t = rt_data_begins(p->data); found.at; t++) {
        while (p->ids[t] != p->vocabulary->special.mask)
            t++;
        const rt_spelling s = rt_vocabulary_spell(p->vocabulary, filled[t]);
        rt_utf8_stream_put(&stream, rest, (size_t)(found.at - rest));
        /* the text contains the space */
        const size_t blank = s.size && *s.bytes == ' ' && found.at > p->text && found.at[-1] == ' ';
        rt_utf8_stream_put(&stream, s.bytes + blank, s.size - blank);
        rest = found.at + found.size;
        found = rt_mask_find(p->vocabulary, rest);
    }
    rt_utf8_stream_put(&stream, rest, strlen(rest));
    rt_utf8_stream_end(&stream);
}

/* Draws a token for every mask, independently of the other masks. Appends each token to `masks`, or
 * prints the most likely tokens to `lines`. Probabilities are of all tokens, but special tokens are
 * not chosen: their logits become -infinity. */
static rt_status fill_masks(prediction *p, int32_t *filled, json_t *masks, FILE *lines)
{
    int number = 0;
    memcpy(filled, p->ids, (size_t)p->count * sizeof *filled);
    for (int32_t t = rt_data_begins(p->data); t < p->count; t++) {
        if (p->ids[t] != p->vocabulary->special.mask)
            continue;
        rt_graph_clear(p->g);
        rt_graph_record(p->g, false);
        const rt_tensor *logits = rt_text_logits(p->model, p->g, p->ids, p->count, &t);
        RT_TRY(rt_engine_graph_status(p->g));
        RT_TRY(rt_probabilities(logits->data, p->model->options.vocab, p->probabilities));
        memcpy(p->logits, logits->data, (size_t)p->vocabulary->count * sizeof *p->logits);
        rt_vocabulary_mask_logits(p->vocabulary, false, p->logits);
        RT_TRY(draw_token(p, t, filled + t));
        if (!masks) {
            print_likely(lines, p, ++number);
            continue;
        }
        size_t size = 0;
        const char *token = rt_vocabulary_decode(p->vocabulary, filled[t], &size);
        const double probability = p->probabilities[filled[t]];
        json_array_append_new(masks, json_pack("{s:o,s:o}", "token",
                                               rt_answer_string(token ? token : "", size),
                                               "probability", rt_answer_number(probability)));
    }
    return rt_ok();
}

/* Prints the text with its masks filled, and the most likely tokens of each mask. */
static rt_status predict_masks(prediction *p, int count)
{
    (void)count;
    const bool jsonl = p->o->jsonl;
    int masks;
    RT_TRY(encode_text(p, &masks));
    if (!masks)
        return rt_error(RT_ARGUMENT, "the text must have a [MASK] to fill");
    if (p->o->last)
        RT_TRY(append_id(p, *p->o->last));
    json_auto_t *answers = jsonl ? json_array() : NULL;
    /* filled text of a JSON answer, or the lines below a plain answer */
    RT_CLOSED_BY(rt_capture_free) rt_capture captured = {0};
    RT_OWNED int32_t *filled = rt_alloc((size_t)p->count, sizeof *filled);
    RT_TRY(
        rt_allocated(filled && (answers || !jsonl) && rt_capture_begin(&captured), "a prediction"));
    RT_TRY(fill_masks(p, filled, answers, captured.file));
    if (jsonl)
        print_filled(captured.file, p, filled);
    RT_TRY(rt_allocated(rt_capture_end(&captured), "a prediction"));
    if (jsonl) {
        json_t *text = rt_answer_string(captured.bytes, captured.size);
        return rt_answer_print(p->to, json_pack("{s:o,s:o,s:O}", "text",
                                                rt_answer_string(p->text, p->size), "filled", text,
                                                "masks", answers));
    }
    print_filled(p->to, p, filled);
    fputc('\n', p->to);
    fwrite(captured.bytes, 1, captured.size, p->to);
    return rt_ok();
}

/* Returns the size of the context: the length of training, or the number of positions if that is
 * smaller; unlimited only with position.scaling = dynamic. */
static int context_of(const prediction *p)
{
    const int length = p->data->options.length, positions = p->o->positions;
    if (p->model->options.position.frequencies.scaling == RT_SCALING_DYNAMIC)
        return INT_MAX;
    return positions && positions < length ? positions : length;
}

/* Truncates a text that exceeds the context: a new text to the newest tokens that fit, a grown text
 * to its newest half, so that most tokens still cost one row. Keeps the first token if it begins
 * every text. Sets *end, and truncates nothing, if the model has no more positions. */
static rt_status fit_context(prediction *p, bool *end)
{
    const int context = context_of(p), read = rt_session_count(p->session);
    *end = p->count > context && context == p->o->positions;
    if (p->count <= context)
        return rt_ok();
    if (*end && !read)
        return rt_error(RT_ARGUMENT, "the text has %d tokens; the model has positions for %d",
                        p->count, context);
    p->full = true;
    p->ended = *end;
    if (*end)
        return rt_ok();
    const int count = read ? (context + 1) / 2 : context;
    const int first = rt_data_begins(p->data) && count > 1;
    const int kept = count > 1 ? count - first : 1;
    memmove(p->ids + first, p->ids + p->count - kept, (size_t)kept * sizeof *p->ids);
    p->count = first + kept;
    return rt_session_keep(p->session, 0);
}

/* Feeds the new tokens to the model. Writes the logits of the next token to p->logits. */
static rt_status read_new(prediction *p)
{
    const int read = rt_session_count(p->session);
    return rt_session_feed(p->session, p->ids + read, p->count - read, 1, p->logits);
}

/* Writes a token. Returns whether --stop was reached, also within the token, or writing failed. */
static bool write_token(prediction *p, int32_t id)
{
    const char *number = RT_PRINTED(16, "%d", (int)id);
    const rt_spelling s =
        p->vocabulary ? rt_vocabulary_spell(p->vocabulary, id)
                      : (rt_spelling){.bytes = number, .size = strlen(number), .space = true};
    const size_t space = s.space && p->count > rt_data_begins(p->data);
    const size_t length = p->tail ? strlen(p->o->stop) : 0;
    bool stop = false;
    for (size_t i = 0; i < space + s.size && !stop; i++) {
        const char byte = i < space ? ' ' : s.bytes[i - space];
        rt_utf8_stream_put(&p->stream, &byte, 1);
        if (!length)
            continue;
        if (p->tail_used == length)
            memmove(p->tail, p->tail + 1, --p->tail_used);
        p->tail[p->tail_used++] = byte;
        stop = p->tail_used == length && !memcmp(p->tail, p->o->stop, length);
    }
    return fflush(p->stream.to) || stop;
}

/* Prints the captured output of a text, with `jsonl` as an answer. Later output goes to p->to. */
static rt_status print_captured(prediction *p)
{
    rt_capture *c = &p->captured;
    rt_status status = rt_ok();
    if (!rt_capture_end(c))
        status = rt_out_of_memory("a continuation");
    else if (p->o->jsonl)
        status =
            rt_answer_print(p->to, json_pack("{s:o,s:o*,s:o,s:i,s:s}", "text",
                                             rt_answer_string(p->text, p->size), "sample",
                                             p->sample ? json_integer(p->sample) : NULL,
                                             "continuation", rt_answer_string(c->bytes, c->size),
                                             "tokens", p->added, "end", p->end));
    else
        fwrite(c->bytes, 1, c->size, p->to);
    rt_capture_free(c);
    fflush(p->to);
    p->stream.to = p->to;
    return status;
}

/* Draws token n from the logits and adds it. Sets p->done if the text ends with it. */
static rt_status add_token(prediction *p, int n)
{
    int32_t id;
    if (p->vocabulary)
        rt_vocabulary_mask_logits(p->vocabulary, true, p->logits);
    for (int i = 0; i < p->special_ids; i++)
        p->logits[i] = (real)-INFINITY;
    RT_TRY(draw_token(p, n, &id));
    const bool over = p->vocabulary && rt_vocabulary_is_end(p->vocabulary, id);
    const bool stop = !over && write_token(p, id);
    p->added += !over;
    p->end = over ? "token" : stop ? "stop" : "length";
    p->done = over || stop || n + 1 == p->o->count;
    rt_status status = p->done ? rt_ok() : append_id(p, id);
    if (!status.code && !p->done)
        status = fit_context(p, &p->done);
    if (!p->done)
        return status;
    rt_utf8_stream_end(&p->stream);
    if (!p->o->jsonl)
        fputc('\n', p->stream.to);
    return status;
}

enum { MOST_BATCHED = 16 }; /* texts that are continued in one batch */

/* Feeds the new tokens of all texts to the model: texts that have grown by one token in one pass,
 * each truncated text alone. `logits` has room for all texts. */
static rt_status feed_texts(prediction *p, int count, real *logits)
{
    const size_t V = (size_t)p->model->options.vocab;
    rt_session *sessions[MOST_BATCHED];
    real *rows_of[MOST_BATCHED];
    int32_t ids[MOST_BATCHED];
    int rows = 0;
    for (int i = 0; i < count; i++) {
        const bool grown = rt_session_count(p[i].session) + 1 == p[i].count;
        if (p[i].done)
            continue;
        if (!grown || count == 1) {
            RT_TRY(read_new(p + i));
            continue;
        }
        sessions[rows] = p[i].session;
        rows_of[rows] = p[i].logits;
        ids[rows++] = p[i].ids[p[i].count - 1];
    }
    if (rows)
        RT_TRY(rt_session_feed_each(sessions, rows, ids, logits));
    for (int i = 0; i < rows; i++)
        memcpy(rows_of[i], logits + (size_t)i * V, V * sizeof *logits);
    return rt_ok();
}

/* Continues the texts in a batch, each as if it were alone. The first incomplete text is written as
 * it grows; later texts are captured until then. A JSON answer is printed when it is complete. */
static rt_status predict_continuations(prediction *p, int count)
{
    const size_t V = (size_t)p->model->options.vocab;
    const bool jsonl = p->o->jsonl;
    RT_OWNED real *logits = count > 1 ? rt_alloc_unset((size_t)count, V * sizeof *logits) : NULL;
    RT_TRY(rt_allocated(count < 2 || logits, "continuations"));
    for (int i = jsonl ? 0 : 1; i < count; i++) {
        RT_TRY(rt_allocated(rt_capture_begin(&p[i].captured), "a continuation"));
        p[i].stream.to = p[i].captured.file;
    }
    for (int i = 0; i < count && !jsonl; i++) {
        rt_utf8_stream_put(&p[i].stream, p[i].text, p[i].size);
        fflush(p[i].stream.to);
    }
    for (int n = 0, front = 0; front < count; n++) {
        for (int i = front; i < count; i++)
            if (!p[i].done)
                RT_TRY(add_token(p + i, n));
        while (front < count && p[front].done) {
            if (jsonl)
                RT_TRY(print_captured(p + front++));
            else if (++front < count)
                RT_TRY(print_captured(p + front));
        }
        RT_TRY(feed_texts(p, count, logits));
    }
    return rt_ok();
}

/* The answers to give: the text of the options, or the lines of a stream, each as often as the
 * options want samples. */
typedef struct questions {
    const rt_predict_options *o;
    rt_lines lines;
    uint64_t asked; /* number of answers that have been asked for */
    int samples;    /* samples of the current text that have been asked for */
} questions;

/* Moves on to the next answer, of the same text or the next one. Returns false after the last. */
static bool ask_next(questions *q)
{
    const bool again = q->asked && q->samples < q->o->samples;
    if (!again && (q->o->text ? q->asked > 0 : !rt_lines_next(&q->lines)))
        return false;
    q->samples = again ? q->samples + 1 : 1;
    q->asked++;
    return true;
}

/* Copies the text of the current answer. Returns RT_DATA if a line contains a zero byte. */
static rt_status take_text(prediction *p, const questions *q)
{
    const rt_predict_options *o = q->o;
    const char *text = o->text ? o->text : q->lines.bytes;
    p->size = o->text ? strlen(text) : q->lines.size;
    p->start = o->text ? 0 : q->lines.start;
    p->number = q->asked - 1;
    p->sample = o->samples ? q->samples : 0;
    const char *zero = memchr(text, '\0', p->size);
    if (zero)
        return rt_error(RT_DATA, "byte 0x00 at byte %zu is not text", (size_t)(zero - text));
    rt_free(p->copy);
    p->text = p->copy = rt_copy_text(text);
    return rt_allocated(p->copy, "a text");
}

/* Begins an answer. A text to continue is encoded and fed, up to the logits of the first token to
 * add. */
static rt_status begin_answer(prediction *p, const questions *q)
{
    const char *stop = p->o->stop;
    int masks;
    bool end;
    p->unknown = (rt_unknown){0};
    p->cut = p->tab = p->full = p->ended = false;
    RT_TRY(take_text(p, q));
    if (p->predict != predict_continuations)
        return rt_ok();
    RT_TRY(encode_text(p, &masks));
    if (masks)
        return rt_error(RT_ARGUMENT, "a text to continue must have no [MASK]");
    p->stream = (rt_utf8_stream){.to = p->to};
    p->tail_used = 0;
    p->added = 0;
    p->done = false;
    if (stop && *stop && !p->tail && !(p->tail = rt_alloc(strlen(stop), 1)))
        return rt_out_of_memory("a continuation");
    if (p->session) {
        RT_TRY(rt_session_keep(p->session, 0));
    } else {
        RT_TRY(rt_session_new(&p->session, p->model, 0));
        rt_session_set_threads(p->session, p->o->threads);
    }
    RT_TRY(fit_context(p, &end));
    return read_new(p);
}

/* Answers all texts: those of a file, and samples of a text, in batches; else each line before the
 * next is read, because someone may wait for the answer. Stops early if the output fails, which is
 * reported at the end of the program. */
static rt_status answer_texts(const prediction *shared, rt_predicted *total)
{
    questions q = {.o = shared->o, .lines = {.from = shared->o->from}};
    const double most_bytes = 1 << 30; /* limit of the keys and values of a batch */
    const int context = context_of(shared);
    const bool continues = shared->predict == predict_continuations;
    prediction *p = rt_alloc(MOST_BATCHED, sizeof *p);
    struct stat facts;
    const bool is_file =
        !q.o->text && !fstat(fileno(q.lines.from), &facts) && S_ISREG(facts.st_mode);
    rt_status status = rt_allocated(p, "predictions");
    int made = 0;
    for (bool more = p != NULL; more;) {
        int count = 0;
        double bytes = 0; /* estimate for the texts of the batch */
        while (!status.code && count < (continues ? MOST_BATCHED : 1) && bytes < most_bytes) {
            if ((count && !is_file && q.samples >= q.o->samples) || !(more = ask_next(&q)))
                break;
            if (made == count)
                status = prediction_new(p + made++, shared);
            if (!status.code)
                status = begin_answer(p + count, &q);
            if (status.code)
                break;
            const double tokens = (double)p[count++].count + shared->o->count;
            if (continues)
                bytes += rt_session_bytes(shared->model, tokens < context ? (int)tokens : context);
        }
        rt_status answered = count ? shared->predict(p, count) : rt_ok();
        total->texts += count;
        for (const prediction *x = p; x < p + count; x++) {
            total->cut += x->cut;
            total->tabs += x->tab;
            total->full += x->full;
            total->ended += x->ended;
            if (x->sample < 2)
                rt_unknown_add(&total->unknown, &x->unknown, x->start);
        }
        if (answered.code && count > 1 && is_file)
            answered = rt_error(answered.code, "and %d before it, of one batch: %.900s", count - 1,
                                answered.message);
        if (!status.code)
            status = answered;
        more = more && !status.code && !fflush(shared->to) && !ferror(shared->to);
    }
    for (int i = 0; i < made; i++)
        prediction_free(p + i);
    rt_free(p);
    if (!status.code)
        status = q.lines.status;
    if (status.code && !q.o->text)
        status = rt_error(status.code, "line %ld: %.900s", q.lines.number, status.message);
    rt_lines_free(&q.lines);
    return status;
}

rt_status rt_predict(FILE *to, rt_transformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_predicted *predicted)
{
    const bool continues =
        rt_tasks[config->data.task].objective && config->data.objective == RT_OBJECTIVE_LM;
    prediction shared = {.to = to,
                         .predict = data->labels ? predict_labels
                                    : continues  ? predict_continuations
                                                 : predict_masks,
                         .model = model,
                         .data = data,
                         .vocabulary = data->vocabulary,
                         .o = options};
    *predicted = (rt_predicted){0};
    if (!shared.vocabulary && !continues)
        return rt_error(
            RT_CONFIG, "--predict needs data.task = text, classify or tag, or a model of token ids "
                       "with data.objective = lm");
    if (!shared.vocabulary && rt_data_begins(data))
        shared.special_ids = RT_FIRST_SYMBOL;
    if (!data->labels)
        RT_TRY(rt_sampler_new(&shared.sampler, &options->sampling,
                              shared.vocabulary ? shared.vocabulary->count : model->options.vocab));
    const rt_status status = answer_texts(&shared, predicted);
    rt_sampler_free(shared.sampler);
    return status;
}
