#include "train/huggingface/private.h"

#include "core/memory.h"
#include "train/huggingface/json.h"
#include "train/text/quote.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const rt_activation_word rt_activation_words[] = {
    {"gelu", RT_GELU},           {"gelu_new", RT_GELU_TANH},
    {"relu", RT_RELU},           {"tanh", RT_TANH},
    {"sigmoid", RT_SIGMOID},     {"silu", RT_SILU},
    {"gelu_python", RT_GELU},    {"gelu_pytorch_tanh", RT_GELU_TANH},
    {"gelu_fast", RT_GELU_TANH}, {"swish", RT_SILU},
};
const int rt_activation_word_count = sizeof rt_activation_words / sizeof *rt_activation_words;

const char *const rt_roformer_class_words[] = {RT_ROFORMER_CLASSES(RT_CHOICE_WORD) NULL};

/* As far as rotor's keys go; the labels of a class, too. */
enum { MOST = 1000000, MOST_LAYERS = 1000, MOST_LABELS = 65536 };

/* An object whose keys are asked for one by one; the first that is wrong stays. */
typedef struct reading {
    json_t *json;
    rt_status status;
} reading;

static void refuse(reading *r, const char *format, ...) RT_PRINTF(2, 3);
static void refuse(reading *r, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    if (r->status.code)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    r->status = rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": %s", message);
}

/* NULL if the key is absent or null, which both mean the default. */
static json_t *find(const reading *r, const char *key)
{
    json_t *value = json_object_get(r->json, key);
    return json_is_null(value) ? NULL : value;
}

static int whole(reading *r, const char *key, int initial, int low, int high)
{
    const json_t *value = find(r, key);
    if (!value)
        return initial;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= low && number <= high)
        return (int)number;
    refuse(r, "%s must be a whole number from %d to %d", key, low, high);
    return initial;
}

static double number_below(reading *r, const char *key, double initial, double low, double high)
{
    const json_t *value = find(r, key);
    const double number = json_number_value(value);
    if (!value)
        return initial;
    if (json_is_number(value) && number >= low && number < high)
        return number;
    refuse(r, "%s must be a number from %g to less than %g", key, low, high);
    return initial;
}

static bool flag(reading *r, const char *key, bool initial)
{
    const json_t *value = find(r, key);
    if (value && !json_is_boolean(value))
        refuse(r, "%s must be true or false", key);
    return value ? json_is_true(value) : initial;
}

/* "" if the key is absent. */
static const char *word(reading *r, const char *key)
{
    const json_t *value = find(r, key);
    if (value && !json_is_string(value))
        refuse(r, "%s must be a string", key);
    return json_is_string(value) ? json_string_value(value) : "";
}

/* ---- what the model is ---- */

static rt_roformer_class read_class(reading *r)
{
    const json_t *list = find(r, "architectures");
    const char *name = json_string_value(json_array_get(list, 0));
    char quoted[RT_QUOTE_SIZE];
    for (int i = 0; name && rt_roformer_class_words[i]; i++)
        if (!strcmp(name, rt_roformer_class_words[i]))
            return (rt_roformer_class)i;
    refuse(r,
           "architectures must name RoFormerModel, or RoFormerFor with MaskedLM, CausalLM, "
           "SequenceClassification or TokenClassification; got %s",
           rt_quote(quoted, name ? name : ""));
    return RT_CLASS_MODEL;
}

static rt_activation read_activation(reading *r)
{
    const char *name = find(r, "hidden_act") ? word(r, "hidden_act") : "gelu";
    char quoted[RT_QUOTE_SIZE];
    for (int i = 0; i < rt_activation_word_count; i++)
        if (!strcmp(name, rt_activation_words[i].word))
            return rt_activation_words[i].kind;
    refuse(r,
           "hidden_act must be gelu, gelu_new, relu, tanh, sigmoid or silu: rotor has no other; "
           "got %s",
           rt_quote(quoted, name));
    return RT_GELU;
}

/* What changes what the model computes, and rotor has not. */
static void refuse_others(reading *r)
{
    char quoted[RT_QUOTE_SIZE];
    const char *type = word(r, "model_type"), *problem = word(r, "problem_type");
    if (strcmp(type, "roformer"))
        refuse(r, "model_type must be roformer: rotor reads no other family; got %s",
               rt_quote(quoted, type));
    if (flag(r, "add_cross_attention", false))
        refuse(r, "add_cross_attention = true: rotor has no encoder and decoder in one model");
    if (flag(r, "is_encoder_decoder", false))
        refuse(r, "is_encoder_decoder = true: rotor has no encoder and decoder in one model");
    if (*problem && strcmp(problem, "single_label_classification"))
        refuse(r, "problem_type must be single_label_classification: rotor learns no other; got %s",
               rt_quote(quoted, problem));
    if (json_object_size(find(r, "pruned_heads")))
        refuse(r, "pruned_heads: every layer of rotor has all of its heads");
    if (find(r, "quantization_config"))
        refuse(r, "quantization_config: rotor reads no quantized weights");
}

static rt_head head_of(rt_roformer_class architecture)
{
    switch (architecture) {
    case RT_CLASS_SEQUENCE:
        return RT_HEAD_SEQUENCE;
    case RT_CLASS_TOKEN:
        return RT_HEAD_TOKEN;
    default:
        return RT_HEAD_LM;
    }
}

static void check_heads(reading *r, const rt_roformer_options *o)
{
    const int size = o->dim / o->heads;
    if (o->dim % o->heads)
        refuse(r, "hidden_size = %d is not divisible by num_attention_heads = %d", o->dim,
               o->heads);
    else if (size % 2)
        refuse(r,
               "hidden_size = %d and num_attention_heads = %d make heads of %d; a head must have "
               "pairs to turn",
               o->dim, o->heads, size);
}

static rt_roformer_options read_options(reading *r, rt_roformer_class architecture)
{
    const int dim = whole(r, "hidden_size", 768, 1, MOST);
    const double eps = number_below(r, "layer_norm_eps", 1e-12, 0, 1);
    if (!(eps > 0))
        refuse(r, "layer_norm_eps must be above 0");
    rt_roformer_options o = {
        .vocab = whole(r, "vocab_size", 50000, 1, MOST),
        .token_types = whole(r, "type_vocab_size", 2, 1, MOST),
        .layers = whole(r, "num_hidden_layers", 12, 1, MOST_LAYERS),
        .dim = dim,
        .heads = whole(r, "num_attention_heads", 12, 1, MOST),
        .embedding_dim = whole(r, "embedding_size", dim, 1, MOST),
        .ffn_dim = whole(r, "intermediate_size", 3072, 1, MOST),
        .norm_eps = eps,
        .init_std = RT_INIT_STD,
        .activation = read_activation(r),
        .dropout = number_below(r, "hidden_dropout_prob", 0.1, 0, 1),
        .attention_dropout = number_below(r, "attention_probs_dropout_prob", 0.1, 0, 1),
        .causal = flag(r, "is_decoder", false),
        .head = head_of(architecture),
        .tie_embeddings = flag(r, "tie_word_embeddings", true),
        .position = {.frequencies = {RT_FREQUENCY_DEFAULTS},
                     .fraction = 1,
                     .rotate_value = flag(r, "rotary_value", false),
                     .every = 1},
        .theta = {.scope = RT_THETA_MODEL},
    };
    check_heads(r, &o);
    return o;
}

/* ---- labels ---- */

static bool has_labels(const rt_huggingface *there)
{
    return there->options.head != RT_HEAD_LM;
}

/* id2label has a name for each of the numbers from 0 on, as strings. */
static void read_labels(reading *r, rt_huggingface *there)
{
    json_t *names = find(r, "id2label");
    const int count = names ? (int)json_object_size(names) : whole(r, "num_labels", 2, 1, MOST);
    if (names && !json_is_object(names))
        refuse(r, "id2label must be an object");
    if (count < 1 || count > MOST_LABELS)
        refuse(r, "id2label must name from 1 to %d labels; got %d", MOST_LABELS, count);
    if (there->architecture == RT_CLASS_SEQUENCE && count == 1)
        refuse(r, "id2label has one label, which makes it a regression: rotor learns none");
    if (r->status.code)
        return;
    there->labels = rt_alloc((size_t)count, sizeof *there->labels);
    there->options.labels = there->labels ? count : 0;
    for (int i = 0; i < there->options.labels && !r->status.code; i++) {
        char key[16], made[24];
        snprintf(key, sizeof key, "%d", i);
        snprintf(made, sizeof made, "LABEL_%d", i);
        const char *name = names ? json_string_value(json_object_get(names, key)) : made;
        if (name)
            there->labels[i] = rt_copy_text(name);
        else
            refuse(r, "id2label must have a string for each number below %d; not so for %d", count,
                   i);
        if (name && !there->labels[i])
            r->status = rt_out_of_memory("labels");
    }
    if (!there->labels)
        r->status = rt_out_of_memory("labels");
}

/* ---- theta that rotor has written ---- */

static const char *const scope_words[] = {RT_THETA_SCOPES(RT_CHOICE_WORD) NULL};
static const char *const form_words[] = {RT_THETA_FORMS(RT_CHOICE_WORD) NULL};

/* The number of a word in a list; -1 if it is none. */
static int choice(const char *const *words, const json_t *json)
{
    const char *given = json_string_value(json);
    for (int i = 0; given && words[i]; i++)
        if (!strcmp(given, words[i]))
            return i;
    return -1;
}

static bool read_numbers(const json_t *list, rt_written_theta *t)
{
    double *to = t->values;
    if (json_array_size(list) != (size_t)t->layers)
        return false;
    for (int l = 0; l < t->layers; l++) {
        const json_t *layer = json_array_get(list, (size_t)l);
        if (json_array_size(layer) != (size_t)t->rows)
            return false;
        for (int h = 0; h < t->rows; h++) {
            const json_t *row = json_array_get(layer, (size_t)h);
            if (json_array_size(row) != (size_t)t->pairs)
                return false;
            for (int i = 0; i < t->pairs; i++) {
                const json_t *number = json_array_get(row, (size_t)i);
                const double value = json_number_value(number);
                if (!json_is_number(number) || (t->form == RT_THETA_LOG && !(value > 0)))
                    return false;
                *to++ = value;
            }
        }
    }
    return true;
}

static void read_theta(reading *r, const rt_roformer_options *o, rt_written_theta *t)
{
    const json_t *json = find(r, RT_HF_THETA);
    const json_t *list = json_object_get(json, "theta"), *base = json_object_get(json, "base");
    const int scope = choice(scope_words, json_object_get(json, "scope"));
    const int form = choice(form_words, json_object_get(json, "form"));
    const size_t pairs = json_array_size(json_array_get(json_array_get(list, 0), 0));
    if (!json || r->status.code)
        return;
    if (scope < 0 || form < 0 || !(json_number_value(base) > 1) || pairs < 1 ||
        pairs > (size_t)(o->dim / o->heads / 2)) {
        refuse(r, RT_HF_THETA " must have scope, form, base, and theta by layer, head and pair");
        return;
    }
    *t = (rt_written_theta){.scope = (rt_theta_scope)scope,
                            .form = (rt_theta_form)form,
                            .base = json_number_value(base),
                            .layers = scope == RT_THETA_MODEL ? 1 : o->layers,
                            .rows = scope == RT_THETA_HEAD ? o->heads : 1,
                            .pairs = (int)pairs};
    if (json_array_size(list) == (size_t)t->layers)
        t->values = rt_alloc((size_t)t->layers * (size_t)t->rows * pairs, sizeof *t->values);
    else
        refuse(r, RT_HF_THETA " must have a list for each of %d layers", t->layers);
    if (!r->status.code && !t->values)
        r->status = rt_out_of_memory("theta");
    else if (!r->status.code && !read_numbers(list, t))
        refuse(r,
               RT_HF_THETA " must have %d layers of %d heads of %d numbers, which are above 0 if "
                           "their form is log",
               t->layers, t->rows, t->pairs);
}

/* ---- all ---- */

static void read_all(reading *r, rt_huggingface *there)
{
    refuse_others(r);
    there->architecture = read_class(r);
    there->options = read_options(r, there->architecture);
    there->max_positions = whole(r, "max_position_embeddings", 1536, 1, MOST);
    there->length = whole(r, RT_HF_LENGTH, there->max_positions, 1, MOST);
    const bool padded = json_object_get(r->json, "pad_token_id") == NULL || find(r, "pad_token_id");
    there->padding_id =
        padded ? whole(r, "pad_token_id", 0, 0, there->options.vocab - 1) : RT_NO_PADDING;
    snprintf(there->level, sizeof there->level, "%s", word(r, RT_HF_LEVEL));
    if (!r->status.code && has_labels(there))
        read_labels(r, there);
    if (!r->status.code)
        read_theta(r, &there->options, &there->files->written);
}

rt_status rt_huggingface_read_config(rt_huggingface *there, const char *folder)
{
    reading r = {0};
    rt_status status = rt_json_read_file(&r.json, folder, RT_HF_CONFIG);
    if (status.code)
        return status;
    r.status = rt_ok();
    read_all(&r, there);
    json_decref(r.json);
    return r.status;
}
