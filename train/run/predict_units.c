#include "train/run/predict.h"

#include "core/memory.h"
#include "core/random.h"
#include "data/vocabulary.h"

#include <math.h>
#include <string.h>

static const char mask_word[] = "[MASK]";

enum { SHOWN = 5 }; /* most likely units of a mask */

/* Ids of a sequence under way, [CLS] first. */
typedef struct sequence {
    int32_t *ids;
    int count;
    int capacity;
} sequence;

typedef struct prediction {
    rt_roformer *model;
    const rt_data *data;
    const rt_vocabulary *vocabulary;
    const rt_predict_options *o;
    rt_unknown unknown; /* of the text, which counts its bytes */
    rt_graph *g;
    sequence s;
    real *weights; /* (V) */
} prediction;

static rt_status append(sequence *s, const int32_t *ids, int count)
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

/* The units of a part of the text that holds no mask. */
static rt_status append_units(prediction *p, const char *text, size_t length)
{
    char *part = rt_alloc(length + 1, 1);
    int32_t *ids = NULL;
    rt_unknown unknown = {0};
    int count = 0;
    if (!part)
        return rt_out_of_memory("a prediction");
    memcpy(part, text, length);
    rt_status status = length ? rt_data_encode(p->data, part, &ids, &count, &unknown) : rt_ok();
    if (!status.code && count)
        status = append(&p->s, ids, count);
    if (unknown.count && !p->unknown.count) {
        p->unknown = unknown;
        p->unknown.at += (size_t)(text - p->o->text);
    } else {
        p->unknown.count += unknown.count;
    }
    rt_free(ids);
    rt_free(part);
    return status;
}

static rt_status read_text(prediction *p, int *masks)
{
    const int32_t cls = p->vocabulary->special.cls, mask = p->vocabulary->special.mask;
    const char *rest = p->o->text;
    rt_status status = append(&p->s, &cls, 1);
    *masks = 0;
    while (rest && !status.code) {
        const char *found = strstr(rest, mask_word);
        status = append_units(p, rest, found ? (size_t)(found - rest) : strlen(rest));
        if (found && !status.code) {
            status = append(&p->s, &mask, 1);
            ++*masks;
        }
        rest = found ? found + strlen(mask_word) : NULL;
    }
    return status;
}

/* Logits of one place in the last `length` tokens, left in p->weights. */
static rt_status find_logits(prediction *p, const int32_t *ids, int length, int place)
{
    const rt_roformer_input in = {.B = 1, .T = length, .ids = ids, .padding_id = RT_NO_PADDING};
    int32_t row = place;
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    rt_tensor *hidden = rt_roformer_encode(p->model, p->g, &in);
    hidden = rt_reshape(p->g, hidden, RT_SHAPE_OF(length, p->model->options.dim));
    rt_tensor *logits =
        rt_roformer_logits(p->model, p->g,
                           rt_embedding(p->g, hidden, &row, RT_SHAPE_OF(1), RT_NO_PADDING));
    if (logits)
        memcpy(p->weights, logits->data, (size_t)p->vocabulary->count * sizeof *p->weights);
    return rt_graph_status(p->g);
}

/* The most likely unit: special tokens, [UNK] among them, are never chosen. */
static int32_t most_likely(const prediction *p)
{
    int32_t best = rt_vocabulary_unit(p->vocabulary, 0);
    for (int32_t id = 0; id < p->vocabulary->count; id++)
        if (rt_vocabulary_is_unit(p->vocabulary, id) && p->weights[id] > p->weights[best])
            best = id;
    return best;
}

/* Logits to probabilities of units. */
static void find_probabilities(prediction *p, double temperature)
{
    const int count = p->vocabulary->count;
    const double largest = (double)p->weights[most_likely(p)];
    double sum = 0;
    for (int32_t id = 0; id < count; id++) {
        const double x = ((double)p->weights[id] - largest) / temperature;
        p->weights[id] = rt_vocabulary_is_unit(p->vocabulary, id) ? (real)exp(x) : 0;
        sum += (double)p->weights[id];
    }
    for (int32_t id = 0; id < count; id++)
        p->weights[id] = (real)((double)p->weights[id] / sum);
}

/* The choice number `n`, from logits in p->weights. */
static int32_t choose(prediction *p, int n)
{
    if (p->o->temperature == 0)
        return most_likely(p);
    find_probabilities(p, p->o->temperature);
    double left = rt_random_uniform((rt_random){p->o->seed, (uint32_t)n, RT_STREAM_SAMPLE}, 0);
    for (int32_t id = 0; id < p->vocabulary->count; id++)
        if ((left -= (double)p->weights[id]) < 0)
            return id;
    return most_likely(p);
}

/* As it stands in the vocabulary. */
static void print_unit(FILE *to, const prediction *p, int32_t id)
{
    size_t size;
    const char *unit = rt_vocabulary_decode(p->vocabulary, id, &size);
    if (unit)
        fwrite(unit, 1, size, to);
}

/* As it stands in a text. */
static void print_spelling(FILE *to, const prediction *p, int32_t id, bool space)
{
    const rt_spelling s = rt_vocabulary_spell(p->vocabulary, id);
    if (s.space && space)
        fputc(' ', to);
    fwrite(s.bytes, 1, s.size, to);
}

/* ---- masks ---- */

static void print_likely(FILE *to, prediction *p, int number)
{
    find_probabilities(p, 1);
    fprintf(to, "mask %d:", number);
    for (int i = 0; i < SHOWN && i < rt_vocabulary_units(p->vocabulary); i++) {
        const int32_t id = most_likely(p);
        fprintf(to, "%s '", i ? "," : "");
        print_unit(to, p, id);
        fprintf(to, "' %.3f", (double)p->weights[id]);
        p->weights[id] = -1;
    }
    fputc('\n', to);
}

/* The text as it was given, with a unit in the place of every mask. */
static void print_filled(FILE *to, const prediction *p, const int32_t *filled)
{
    const char *rest = p->o->text, *found;
    for (int t = 1; (found = strstr(rest, mask_word)); t++) {
        while (p->s.ids[t] != p->vocabulary->special.mask)
            t++;
        fwrite(rest, 1, (size_t)(found - rest), to);
        print_spelling(to, p, filled[t], false); /* the text has its own spaces */
        rest = found + strlen(mask_word);
    }
    fprintf(to, "%s\n", rest);
}

/* Every mask is filled from the text as it was given. */
static rt_status fill_masks(FILE *to, prediction *p)
{
    const int32_t mask = p->vocabulary->special.mask;
    rt_status status = rt_ok();
    int32_t *filled = rt_alloc((size_t)p->s.count, sizeof *filled);
    if (!filled)
        return rt_out_of_memory("a prediction");
    memcpy(filled, p->s.ids, (size_t)p->s.count * sizeof *filled);
    for (int t = 1; t < p->s.count && !status.code; t++)
        if (p->s.ids[t] == mask) {
            status = find_logits(p, p->s.ids, p->s.count, t);
            filled[t] = choose(p, t);
        }
    if (!status.code)
        print_filled(to, p, filled);
    for (int t = 1, number = 0; t < p->s.count && !status.code; t++)
        if (p->s.ids[t] == mask) {
            status = find_logits(p, p->s.ids, p->s.count, t);
            print_likely(to, p, ++number);
        }
    rt_free(filled);
    return status;
}

/* ---- continuation ---- */

/* The model sees as many tokens as it was trained on: [CLS] and the newest units. */
static rt_status continue_text(FILE *to, prediction *p)
{
    const int most = rt_data_length(p->data);
    rt_status status = rt_ok();
    fputs(p->o->text, to);
    for (int n = 0; n < p->o->count && !status.code; n++) {
        const int length = p->s.count < most ? p->s.count : most;
        int32_t *window = p->s.ids + p->s.count - length;
        const int32_t hidden = window[0];
        window[0] = p->vocabulary->special.cls;
        status = find_logits(p, window, length, length - 1);
        window[0] = hidden;
        if (status.code)
            break;
        const int32_t id = choose(p, n);
        print_spelling(to, p, id, p->s.count > 1);
        status = append(&p->s, &id, 1);
    }
    fputc('\n', to);
    return status;
}

rt_status rt_predict(FILE *to, rt_roformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_unknown *unknown)
{
    const bool lm = config->data.objective == RT_OBJECTIVE_LM;
    prediction p = {.model = model,
                    .data = data,
                    .vocabulary = rt_data_vocabulary(data),
                    .o = options};
    int masks = 0;
    *unknown = (rt_unknown){0};
    if (!p.vocabulary || rt_data_target(data) != RT_TARGET_IDS)
        return rt_error(RT_CONFIG, "--predict needs data.task = text");
    p.g = rt_graph_new();
    p.weights = rt_alloc((size_t)p.vocabulary->count, sizeof *p.weights);
    rt_status status = p.g && p.weights ? read_text(&p, &masks) : rt_out_of_memory("a prediction");
    if (!status.code && !lm && !masks)
        status = rt_error(RT_ARGUMENT, "the text has no [MASK] to fill");
    if (!status.code && lm && masks)
        status = rt_error(RT_ARGUMENT, "a text to continue has no [MASK]");
    if (!status.code)
        status = lm ? continue_text(to, &p) : fill_masks(to, &p);
    *unknown = p.unknown;
    rt_graph_free(p.g);
    rt_free(p.weights);
    rt_free(p.s.ids);
    return status;
}
