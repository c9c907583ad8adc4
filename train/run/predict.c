/* --predict: answers in JSON and the buffers of a text, for all kinds of predictions; labels of
 * texts, tags of tokens, filled masks, and the lines of a stream. The continuation of texts is in
 * predict_continuation.c. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "text/capture.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- answers in JSON ---- */

enum { DIGITS = 6 }; /* of a number in JSON */

json_t *rt_answer_string(const char *bytes, size_t size)
{
    rt_capture text;
    json_t *string = NULL;
    if (rt_capture_begin(&text)) {
        rt_utf8_stream stream = {.to = text.file};
        rt_utf8_stream_put(&stream, bytes, size);
        rt_utf8_stream_end(&stream);
        if (rt_capture_end(&text))
            string = json_stringn(text.bytes, text.size);
    }
    rt_capture_free(&text);
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
    if (!line)
        return rt_out_of_memory("an answer");
    fprintf(to, "%s\n", line);
    free(line); /* Jansson's, which is malloc's */
    return rt_ok();
}

/* ---- a text ---- */

rt_status rt_prediction_new(rt_prediction *p, const rt_prediction *shared)
{
    *p = *shared;
    p->g = rt_graph_new();
    const rt_transformer_options *o = &p->model->options;
    const int shown = rt_data_labels(p->data) ? o->labels : o->vocab;
    p->logits = rt_alloc((size_t)o->vocab, sizeof *p->logits);
    p->probabilities = rt_alloc((size_t)shown, sizeof *p->probabilities);
    if (!p->g || !p->logits || !p->probabilities)
        return rt_out_of_memory("a prediction");
    return rt_data_labels(p->data)
               ? rt_labelled_batch_new(&p->row, 1, rt_data_length(p->data), NULL)
               : rt_ok();
}

void rt_prediction_free(rt_prediction *p)
{
    rt_graph_free(p->g);
    rt_free(p->logits);
    rt_free(p->probabilities);
    rt_free(p->s.ids);
    rt_free(p->continued.last);
    rt_session_free(p->session);
    rt_labelled_batch_free(&p->row);
}

void rt_prediction_next(rt_prediction *p, const char *text, size_t size)
{
    p->text = text;
    p->size = size;
    p->unknown = (rt_unknown){0};
    p->cut = p->full = p->ended = false;
}

void rt_prediction_count(const rt_prediction *p, size_t before, rt_predicted *total)
{
    total->texts++;
    total->cut += p->cut;
    total->full += p->full;
    total->ended += p->ended;
    rt_unknown_add(&total->unknown, &p->unknown, before);
}

rt_status rt_prediction_check_line(const rt_lines *line)
{
    const char *zero = memchr(line->bytes, '\0', line->size);
    return zero ? rt_error(RT_DATA, "byte 0x00 at byte %zu is not text",
                           (size_t)(zero - line->bytes))
                : rt_ok();
}

bool rt_prediction_flush(FILE *to)
{
    return !fflush(to) && !ferror(to);
}

rt_status rt_prediction_append(rt_prediction_ids *s, const int32_t *ids, int count)
{
    if (s->count + count > s->capacity) {
        const int capacity = 2 * (s->count + count);
        int32_t *larger = rt_alloc((size_t)capacity, sizeof *larger);
        if (!larger)
            return rt_out_of_memory("a prediction");
        if (s->count)
            memcpy(larger, s->ids, (size_t)s->count * sizeof *larger);
        rt_free(s->ids);
        s->ids = larger;
        s->capacity = capacity;
    }
    memcpy(s->ids + s->count, ids, (size_t)count * sizeof *ids);
    s->count += count;
    return rt_ok();
}

rt_status rt_prediction_read(rt_prediction *p, int *masks)
{
    rt_prediction_ids *s = &p->s;
    rt_free(s->ids);
    rt_status status = rt_masked_text_encode(p->vocabulary, rt_data_begins(p->data), p->o->special,
                                             p->text, &s->ids, &s->count, masks, &p->unknown);
    s->capacity = s->count;
    return status;
}

/* ---- labelled data ---- */

/* Lays the text out as a row and computes the logits of its labels. Returns NULL on an error. */
static const rt_tensor *find_logits(rt_prediction *p, rt_example_text *x, rt_status *status)
{
    const rt_tensor *logits = NULL;
    *status = rt_draw_text(&p->row, p->data, p->text, p->size, x);
    p->unknown = x->unknown;
    p->cut = x->cut;
    if (status->code)
        return NULL;
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    logits = rt_batch_logits(p->model, p->g, &p->row);
    *status = rt_engine_graph_status(p->g);
    return logits;
}

/* Computes p->probabilities of the labels of a row, and finds the most likely label. */
static rt_status guess_label(rt_prediction *p, const rt_tensor *logits, size_t row, int *best)
{
    const int classes = rt_columns(logits);
    *best = rt_largest(logits, row);
    return rt_probabilities(logits->data + row * (size_t)classes, classes, p->probabilities);
}

/* Prints the most likely label of the text. */
static rt_status predict_class(rt_prediction *p)
{
    rt_example_text x;
    rt_status status;
    const rt_tensor *logits = find_logits(p, &x, &status);
    char *const *names = rt_data_labels(p->data)->names;
    int label = 0;
    if (!status.code)
        status = guess_label(p, logits, 0, &label);
    if (!status.code && p->o->jsonl) {
        json_t *all = json_object();
        for (int c = 0; c < p->model->options.labels; c++)
            json_object_set_new(all, names[c], rt_answer_number(p->probabilities[c]));
        status = rt_answer_print(p->to,
                                 json_pack("{s:o,s:o,s:o,s:o}", "text",
                                           rt_answer_string(p->text, p->size), "label",
                                           rt_answer_string(names[label], strlen(names[label])),
                                           "probability", rt_answer_number(p->probabilities[label]),
                                           "probabilities", all));
    } else if (!status.code) {
        fprintf(p->to, "%s\t%.4f\n", names[label], p->probabilities[label]);
    }
    rt_example_text_free(&x);
    return status;
}

/* Prints the most likely label of every token. A token that was cut off has none. */
static rt_status predict_tags(rt_prediction *p)
{
    rt_example_text x;
    rt_status status;
    const rt_tensor *logits = find_logits(p, &x, &status);
    json_t *words = p->o->jsonl ? json_array() : NULL;
    for (int i = 0, label; !status.code && i < p->row.labels; i++) {
        const rt_text_span word = x.texts[p->row.wanted[i]];
        status = guess_label(p, logits, (size_t)i, &label);
        if (status.code)
            break;
        const char *name = rt_data_labels(p->data)->names[label];
        const double probability = p->probabilities[label];
        if (p->o->jsonl) {
            json_array_append_new(words, json_pack("{s:o,s:o,s:o}", "word",
                                                   rt_answer_string(word.bytes, word.size), "label",
                                                   rt_answer_string(name, strlen(name)),
                                                   "probability", rt_answer_number(probability)));
        } else {
            fwrite(word.bytes, 1, word.size, p->to);
            fprintf(p->to, "\t%s\t%.4f\n", name, probability);
        }
    }
    if (!status.code && p->o->jsonl)
        status =
            rt_answer_print(p->to, json_pack("{s:o,s:O}", "text",
                                             rt_answer_string(p->text, p->size), "words", words));
    else if (!status.code)
        fputc('\n', p->to);
    json_decref(words);
    rt_example_text_free(&x);
    return status;
}

/* ---- masks ---- */

enum { SHOWN = 5 }; /* most likely tokens that are printed for a mask */

/* Computes the prediction for one place among the tokens of the text: p->probabilities of all
 * tokens, and p->logits, where special tokens, which are not chosen, have -infinity. */
static rt_status compute_logits(rt_prediction *p, int32_t place)
{
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    const rt_tensor *logits = rt_text_logits(p->model, p->g, p->s.ids, p->s.count, &place);
    rt_status status = rt_engine_graph_status(p->g);
    if (!status.code)
        status = rt_probabilities(logits->data, p->model->options.vocab, p->probabilities);
    if (status.code)
        return status;
    memcpy(p->logits, logits->data, (size_t)p->vocabulary->count * sizeof *p->logits);
    rt_vocabulary_mask_logits(p->vocabulary, false, p->logits);
    return status;
}

/* Prints the most likely tokens of a mask, as they stand in the vocabulary. Overwrites p->logits.
 */
static void print_likely(FILE *to, rt_prediction *p, int number)
{
    const rt_tensor row = rt_tensor_of(p->logits, NULL, RT_SHAPE_OF(p->vocabulary->count));
    fprintf(to, "mask %d:", number);
    for (int i = 0; i < SHOWN && i < rt_vocabulary_ordinary_tokens(p->vocabulary); i++) {
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

/* Prints the given text with every mask replaced by a token. */
static void print_filled(FILE *to, const rt_prediction *p, const int32_t *filled)
{
    const char *rest = p->text;
    rt_utf8_stream stream = {.to = to};
    rt_mask_place found = rt_mask_find(p->vocabulary, rest);
    for (int t = rt_data_begins(p->data); found.at; t++) {
        while (p->s.ids[t] != p->vocabulary->special.mask)
            t++;
        const rt_spelling s = rt_vocabulary_spell(p->vocabulary, filled[t]);
        rt_utf8_stream_put(&stream, rest, (size_t)(found.at - rest));
        /* the text has its own spaces */
        const size_t blank = s.size && *s.bytes == ' ' && found.at > p->text && found.at[-1] == ' ';
        rt_utf8_stream_put(&stream, s.bytes + blank, s.size - blank);
        rest = found.at + found.size;
        found = rt_mask_find(p->vocabulary, rest);
    }
    rt_utf8_stream_put(&stream, rest, strlen(rest));
    rt_utf8_stream_end(&stream);
}

/* Appends the token that fills a mask, and its probability. */
static void append_mask(json_t *masks, const rt_prediction *p, int32_t id)
{
    size_t size = 0;
    const char *token = rt_vocabulary_decode(p->vocabulary, id, &size);
    json_array_append_new(masks, json_pack("{s:o,s:o}", "token",
                                           rt_answer_string(token ? token : "", size),
                                           "probability", rt_answer_number(p->probabilities[id])));
}

/* Draws a token for every mask, each from the text as it was given. Appends each to `masks`, or
 * prints the most likely tokens to `lines`. */
static rt_status fill_masks(rt_prediction *p, int32_t *filled, json_t *masks, FILE *lines)
{
    int number = 0;
    rt_status status = rt_ok();
    memcpy(filled, p->s.ids, (size_t)p->s.count * sizeof *filled);
    for (int t = rt_data_begins(p->data); t < p->s.count && !status.code; t++) {
        if (p->s.ids[t] != p->vocabulary->special.mask)
            continue;
        status = compute_logits(p, t);
        if (!status.code)
            status = rt_sampler_draw(p->sampler, p->logits, (uint32_t)t, filled + t);
        if (!status.code && lines)
            print_likely(lines, p, ++number);
        else if (!status.code)
            append_mask(masks, p, filled[t]);
    }
    return status;
}

static rt_status print_masks(rt_prediction *p, int32_t *filled)
{
    rt_capture lines = {0};
    rt_status status = rt_capture_begin(&lines) ? fill_masks(p, filled, NULL, lines.file)
                                                : rt_out_of_memory("a prediction");
    if (!status.code && !rt_capture_end(&lines))
        status = rt_out_of_memory("a prediction");
    if (!status.code) {
        print_filled(p->to, p, filled);
        fputc('\n', p->to);
        fwrite(lines.bytes, 1, lines.size, p->to);
    }
    rt_capture_free(&lines);
    return status;
}

static rt_status answer_masks(rt_prediction *p, int32_t *filled)
{
    rt_capture text = {0};
    json_t *masks = json_array(), *string = NULL;
    const rt_status status = fill_masks(p, filled, masks, NULL);
    if (!status.code && rt_capture_begin(&text)) {
        print_filled(text.file, p, filled);
        if (rt_capture_end(&text))
            string = rt_answer_string(text.bytes, text.size);
    }
    rt_capture_free(&text);
    if (!status.code)
        return rt_answer_print(p->to, json_pack("{s:o,s:o,s:o}", "text",
                                                rt_answer_string(p->text, p->size), "filled",
                                                string, "masks", masks));
    json_decref(masks);
    return status;
}

static rt_status predict_masks(rt_prediction *p)
{
    int masks;
    rt_status status = rt_prediction_read(p, &masks);
    if (!status.code && !masks)
        status = rt_error(RT_ARGUMENT, "the text must have a [MASK] to fill");
    if (!status.code && p->o->last)
        status = rt_prediction_append(&p->s, p->o->last, 1);
    if (status.code)
        return status;
    int32_t *filled = rt_alloc((size_t)p->s.count, sizeof *filled);
    if (!filled)
        return rt_out_of_memory("a prediction");
    status = p->o->jsonl ? answer_masks(p, filled) : print_masks(p, filled);
    rt_free(filled);
    return status;
}

/* ---- a text, or the lines of a stream ---- */

typedef rt_status rt_answer(rt_prediction *p);

static rt_answer *find_answer(const rt_data *data, const rt_config *config)
{
    switch (rt_data_target(data)) {
    case RT_TARGET_SEQUENCE:
        return predict_class;
    case RT_TARGET_TOKENS:
        return predict_tags;
    case RT_TARGET_IDS:
        break;
    }
    return config->data.objective == RT_OBJECTIVE_LM ? rt_predict_continuation : predict_masks;
}

/* Answers a text that begins `before` bytes behind the beginning of its stream. */
static rt_status answer_text(rt_prediction *p, rt_answer *answer, const char *text, size_t size,
                             size_t before, rt_predicted *total)
{
    rt_prediction_next(p, text, size);
    rt_status status = answer(p);
    rt_prediction_count(p, before, total);
    return status;
}

/* Answers each line before the next one is read: somebody may wait for the answer. Stops early if
 * nothing can be printed, which is reported at the end of the program. */
static rt_status answer_each(rt_prediction *p, rt_answer *answer, rt_lines *lines,
                             rt_predicted *total)
{
    rt_status status = rt_ok();
    while (!status.code && rt_lines_next(lines)) {
        status = rt_prediction_check_line(lines);
        if (!status.code)
            status = answer_text(p, answer, lines->bytes, lines->size, lines->start, total);
        if (!rt_prediction_flush(p->to))
            break;
    }
    return status;
}

/* Returns whether a stream is a regular file, whose lines can be answered in batches. */
static bool is_file(FILE *stream)
{
    struct stat facts;
    return !fstat(fileno(stream), &facts) && S_ISREG(facts.st_mode);
}

static rt_status answer_lines(rt_prediction *p, rt_answer *answer, rt_predicted *total)
{
    rt_lines lines = {.from = p->o->from};
    rt_status status = answer == rt_predict_continuation && is_file(lines.from)
                           ? rt_predict_batch(p, &lines, total)
                           : answer_each(p, answer, &lines, total);
    if (!status.code)
        status = lines.status;
    if (status.code)
        status = rt_error(status.code, "line %ld: %.900s", lines.number, status.message);
    rt_lines_free(&lines);
    return status;
}

rt_status rt_predict(FILE *to, rt_transformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_predicted *predicted)
{
    const char *text = options->text;
    rt_prediction shared = {.to = to,
                            .model = model,
                            .data = data,
                            .vocabulary = rt_data_vocabulary(data),
                            .o = options};
    rt_prediction p;
    *predicted = (rt_predicted){0};
    if (!shared.vocabulary)
        return rt_error(RT_CONFIG, "--predict needs data.task = text, classify or tag");
    rt_answer *answer = find_answer(data, config);
    rt_status status = rt_data_labels(data) ? rt_ok()
                                            : rt_sampler_new(&shared.sampler, &options->sampling,
                                                             shared.vocabulary->count);
    if (status.code)
        return status;
    status = rt_prediction_new(&p, &shared);
    if (!status.code)
        status = text ? answer_text(&p, answer, text, strlen(text), 0, predicted)
                      : answer_lines(&p, answer, predicted);
    rt_prediction_free(&p);
    rt_sampler_free(shared.sampler);
    return status;
}

/* ---- options of the command line ---- */

enum { DEFAULT_TOKENS = 200 };

static double temperature_of(const rt_arguments *a, const rt_data_options *o)
{
    return a->temperature >= 0 ? a->temperature : o->objective == RT_OBJECTIVE_LM;
}

/* Effect of an option of --predict. */
typedef enum effect {
    ON_GROWTH = 1, /* on the length of a continuation */
    ON_CHOICE = 2, /* on the choice of a token */
    ON_DRAW = 4    /* on sampling at a temperature above 0 */
} effect;

static const char *find_given(const rt_arguments *a, unsigned effects)
{
    const struct {
        const char *name;
        effect on;
        bool given;
    } options[] = {{"tokens", ON_GROWTH, a->tokens > 0},
                   {"stop", ON_GROWTH, a->stop != NULL},
                   {"temperature", ON_CHOICE, a->temperature >= 0},
                   {"top-k", ON_DRAW, a->top_k > 0},
                   {"top-p", ON_DRAW, a->top_p > 0},
                   {"seed", ON_DRAW, a->seed >= 0}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && (options[i].on & effects))
            return options[i].name;
    return NULL;
}

rt_status rt_predict_arguments_check(const rt_arguments *a, const rt_data_options *o)
{
    const bool labels = rt_data_task_labelled(o->task);
    const bool lm = !labels && o->objective == RT_OBJECTIVE_LM;
    const char *given = labels ? find_given(a, ON_GROWTH | ON_CHOICE | ON_DRAW) : NULL;
    if (given)
        return rt_error(RT_CONFIG,
                        "--%s has no effect with data.task = %s, whose labels are not sampled",
                        given, rt_data_task_name(o->task));
    if (labels && a->special)
        return rt_error(RT_CONFIG,
                        "--special has no effect with data.task = %s, which always reads special "
                        "tokens as tokens",
                        rt_data_task_name(o->task));
    given = lm ? NULL : find_given(a, ON_GROWTH);
    if (given)
        return rt_error(
            RT_CONFIG,
            "--%s has no effect with data.objective = mlm, which fills masks and continues no text",
            given);
    given = temperature_of(a, o) > 0 ? NULL : find_given(a, ON_DRAW);
    if (given)
        return rt_error(RT_CONFIG,
                        "--%s has no effect at temperature 0, where the most likely token is "
                        "chosen: give --temperature above 0",
                        given);
    return rt_ok();
}

rt_predict_options rt_predict_arguments(const rt_arguments *a, const rt_config *config)
{
    return (rt_predict_options){.text = strcmp(a->predict, "-") ? a->predict : NULL,
                                .from = stdin,
                                .sampling = {.temperature = temperature_of(a, &config->data),
                                             .top_k = a->top_k,
                                             .top_p = a->top_p > 0 ? a->top_p : 1,
                                             .seed = a->seed >= 0 ? (uint64_t)a->seed
                                                                  : config->run.seed},
                                .stop = a->stop,
                                .count = a->tokens ? a->tokens : DEFAULT_TOKENS,
                                .jsonl = a->jsonl,
                                .special = a->special};
}
