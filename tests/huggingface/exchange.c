/* Models that transformers and rotor hand to each other; see scripts/check huggingface.
 *
 *     huggingface-exchange write DIR     DIR/NAME for models of every kind, each with what rotor
 *                                        computes by it in DIR/NAME.json
 *     huggingface-exchange read DIR      reads each DIR/NAME again, and tells how far what it
 *                                        computes is from DIR/NAME.json
 *
 *     huggingface-exchange logits        answers each line "FOLDER ID ID ..." of standard input:
 *                                        "ok WARNINGS" or "refused MESSAGE", a tab, and the logits
 *                                        of these ids
 *
 * The second ends with 1 if that is more than 1e-5. */

#include "core/memory.h"
#include "io/huggingface/huggingface.h"
#include "io/huggingface/json.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 9, VOCAB = 37, PATH_SIZE = 1024 };

static void check(rt_status status, const char *what)
{
    if (!status.code)
        return;
    fprintf(stderr, "%s: %s\n", what, status.message);
    exit(2);
}

/* ---- inputs: padding at the right of the second sequence ---- */

typedef struct inputs {
    int32_t ids[B * T], types[B * T];
    uint8_t mask[B * T];
} inputs;

static inputs make_inputs(int token_types)
{
    inputs in;
    for (int n = 0; n < B * T; n++) {
        in.mask[n] = n < B * T - 3;
        in.ids[n] = in.mask[n] ? 4 + n * 11 % (VOCAB - 4) : 0;
        in.types[n] = token_types > 1 && n % T > T / 2;
    }
    return in;
}

/* ---- the models ---- */

typedef struct example {
    const char *name;
    rt_transformer_options options;
    bool vocabulary;
} example;

static rt_transformer_options usual(void)
{
    return (rt_transformer_options){
        .vocab = VOCAB,
        .layers = 2,
        .dim = 24,
        .heads = 3,
        .ffn_dim = 40,
        .norm_eps = 1e-12,
        .init_std = 0.2,
        .tie_embeddings = true,
        .position = {.frequencies = {.base = 10000, .scale = 1}, .fraction = 1},
    };
}

enum {
    ROFORMERS = 14,
    DECODERS = 24,
    FAMILIES = 17,
    MODERNBERTS = 14,
    ESMS = 8,
    LABELLED = 6,
    EXAMPLES = ROFORMERS + DECODERS + FAMILIES + MODERNBERTS + ESMS + LABELLED
};

static void make_transformers(example list[ROFORMERS])
{
    static const char *const names[ROFORMERS] = {"masked_lm",   "causal_lm",   "sequence",
                                                 "token",       "untied",      "half",
                                                 "fraction",    "base",        "linear",
                                                 "theta_model", "theta_layer", "theta_head",
                                                 "theta_half",  "words"};
    for (int i = 0; i < ROFORMERS; i++)
        list[i] = (example){.name = names[i], .options = usual()};
    rt_transformer_options *o = &list[1].options;
    o->causal = true;
    o->activation = RT_GELU_TANH;
    o = &list[2].options;
    o->head = RT_HEAD_SEQUENCE;
    o->labels = 3;
    o->token_types = 2;
    o->activation = RT_TANH;
    o = &list[3].options;
    o->head = RT_HEAD_TOKEN;
    o->labels = 5;
    o->activation = RT_SILU;
    o = &list[4].options;
    o->tie_embeddings = false;
    o->embedding_dim = 16;
    o->token_types = 3;
    o->norm_eps = 1e-5;
    o = &list[5].options;
    o->position.pairing = RT_HALF;
    o->position.rotate_value = true;
    o = &list[6].options;
    o->position.pairing = RT_HALF;
    o->position.rotate_value = true;
    o->position.fraction = 0.5;
    o = &list[7].options;
    o->position.frequencies.base = 500;
    o->activation = RT_RELU;
    o = &list[8].options;
    o->position.frequencies.family = RT_FREQUENCIES_LINEAR;
    o->activation = RT_SIGMOID;
    for (int i = 9; i < 13; i++) {
        o = &list[i].options;
        o->theta = (rt_theta_options){.learn = true,
                                      .scope = (rt_theta_scope)(i - 9),
                                      .init = RT_THETA_PERTURBED,
                                      .init_sigma = 0.5};
    }
    o->theta.scope = RT_THETA_HEAD;
    o->theta.form = RT_THETA_RAW;
    o->position.pairing = RT_HALF;
    o->position.fraction = 0.5;
    list[13].vocabulary = true;
}

static rt_transformer_options usual_decoder(void)
{
    return (rt_transformer_options){
        .kind = RT_KIND_DECODER,
        .vocab = VOCAB,
        .layers = 2,
        .dim = 32,
        .heads = 4,
        .ffn_dim = 44,
        .norm = RT_NORM_PRE,
        .norm_kind = RT_NORM_RMS,
        .ffn = RT_FFN_SWIGLU,
        .bias = RT_BIAS_NONE,
        .norm_eps = 1e-5,
        .init_std = 0.2,
        .causal = true,
        .position = {.pairing = RT_HALF, .frequencies = {RT_FREQUENCY_DEFAULTS}, .fraction = 1},
    };
}

/* The scalings, with an original length that the sequences are longer than. */
static void make_scaled(example list[], int first)
{
    static const rt_scaling scalings[] = {RT_SCALING_LINEAR,   RT_SCALING_NTK,
                                          RT_SCALING_YARN,     RT_SCALING_DYNAMIC,
                                          RT_SCALING_LONGROPE, RT_SCALING_LLAMA3};
    static const char *const names[] = {"llama_linear",  "llama_ntk",      "llama_yarn",
                                        "llama_dynamic", "llama_longrope", "llama_llama3"};
    static const double short_factors[] = {1, 1.1, 1.2, 1.5}, long_factors[] = {1.5, 2, 3, 4};
    for (int i = 0; i < 6; i++) {
        rt_frequency_options *f = &list[first + i].options.position.frequencies;
        list[first + i].name = names[i];
        f->scaling = scalings[i];
        f->scale = 2.5;
        f->original_len = 6;
        f->base = 30;
        f->short_factors = (rt_factors){4, short_factors};
        f->long_factors = (rt_factors){4, long_factors};
    }
}

static void make_learned(example list[], int first)
{
    static const char *const names[] = {"llama_theta_model", "llama_theta_layer",
                                        "llama_theta_head",  "llama_theta_fraction",
                                        "llama_theta_yarn",  "llama_theta_kv"};
    for (int i = 0; i < 6; i++) {
        rt_transformer_options *o = &list[first + i].options;
        list[first + i].name = names[i];
        o->theta = (rt_theta_options){.learn = true,
                                      .scope = (rt_theta_scope)(i % 3),
                                      .form = i > 2 ? RT_THETA_RAW : RT_THETA_LOG,
                                      .init = RT_THETA_PERTURBED,
                                      .init_sigma = 0.5};
        o->position.frequencies.base = 30;
    }
    list[first + 3].options.position.fraction = 0.5;
    list[first + 5].options.kv_heads = 2;
    rt_frequency_options *f = &list[first + 4].options.position.frequencies;
    f->scaling = RT_SCALING_YARN;
    f->scale = 4;
    f->original_len = 6;
}

/* A vocabulary tells transformers what padding is: it looks for the last token itself. */
static void make_classifiers(example list[], int first)
{
    static const char *const names[] = {"llama_sequence", "mistral_sequence", "llama_token"};
    for (int i = 0; i < 3; i++) {
        rt_transformer_options *o = &list[first + i].options;
        list[first + i].name = names[i];
        list[first + i].vocabulary = true;
        o->head = i < 2 ? RT_HEAD_SEQUENCE : RT_HEAD_TOKEN;
        o->pool = RT_POOL_LAST;
        o->labels = 3 + i;
    }
    list[first + 1].options.window = 4;
}

static void make_decoders(example list[DECODERS])
{
    static const char *const names[] = {
        "llama",      "llama_tied",        "llama_kv",       "llama_window",    "llama_bias",
        "llama_gelu", "llama_interleaved", "llama_fraction", "llama_reciprocal"};
    for (int i = 0; i < DECODERS; i++)
        list[i] = (example){.name = i < 9 ? names[i] : NULL, .options = usual_decoder()};
    list[1].options.tie_embeddings = true;
    list[2].options.kv_heads = 2;
    list[2].options.position.pairing = RT_INTERLEAVED;
    list[3].options.window = 4;
    list[3].options.kv_heads = 1;
    list[4].options.bias = RT_BIAS_ALL;
    list[5].options.ffn = RT_FFN_GEGLU;
    list[6].options.position.pairing = RT_INTERLEAVED;
    list[6].options.position.fraction = 0.75;
    list[7].options.position.fraction = 0.5;
    list[7].options.bias = RT_BIAS_ALL;
    list[8].options.position.frequencies.family = RT_FREQUENCIES_RECIPROCAL;
    make_scaled(list, 9);
    make_learned(list, 15);
    make_classifiers(list, 21);
}

/* Learned by scope 0 to 2, from where it is perturbed. */
static rt_theta_options learned(int scope)
{
    return (rt_theta_options){.learn = true,
                              .scope = (rt_theta_scope)scope,
                              .init = RT_THETA_PERTURBED,
                              .init_sigma = 0.5};
}

static void make_neox(example list[], int count)
{
    static const char *const names[] = {"neox",       "neox_serial",      "neox_linear",
                                        "neox_theta", "neox_theta_layer", "neox_theta_head",
                                        "neox_yarn"};
    for (int i = 0; i < count; i++) {
        rt_transformer_options *o = &list[i].options;
        list[i].name = names[i];
        *o = usual_decoder();
        o->norm_kind = RT_NORM_LAYER;
        o->ffn = RT_FFN_PLAIN;
        o->activation = i == 1 ? RT_GELU_TANH : RT_GELU;
        o->bias = i == 1 ? RT_BIAS_FFN : RT_BIAS_ALL;
        o->residual = i == 1 ? RT_RESIDUAL_SERIAL : RT_RESIDUAL_PARALLEL;
        o->position.fraction = i == 1 ? 1 : 0.5;
        o->position.frequencies.base = 300;
        o->tie_embeddings = i == 2;
        if (i > 2 && i < 6)
            o->theta = learned(i - 3);
    }
    list[1].options.position.pairing = RT_INTERLEAVED;
    rt_frequency_options *f = &list[2].options.position.frequencies;
    f->scaling = RT_SCALING_LINEAR;
    f->scale = 2.5;
    f = &list[6].options.position.frequencies;
    f->scaling = RT_SCALING_YARN;
    f->scale = 4;
    f->original_len = 6;
}

static void make_layered(example list[], int count)
{
    static const char *const names[] = {"qwen2",         "qwen2_window", "qwen2_theta",
                                        "qwen2_all",     "qwen3",        "qwen3_window",
                                        "qwen3_theta",   "smollm3",      "smollm3_theta",
                                        "smollm3_window"};
    static const rt_layer_words types = {3, {RT_LAYER_FULL, RT_LAYER_SLIDING, RT_LAYER_FULL}};
    for (int i = 0; i < count; i++) {
        rt_transformer_options *o = &list[i].options;
        list[i].name = names[i];
        *o = usual_decoder();
        o->layers = 3;
        o->kv_heads = 2;
        o->bias = i < 4 ? RT_BIAS_QKV : RT_BIAS_NONE;
        o->window = i == 1 || i == 3 || i == 5 || i == 9 ? 3 : 0;
        if (o->window && i != 3)
            o->layer_types = types;
        o->qk_norm = i > 3 && i < 7;
        o->head_dim = o->qk_norm ? 12 : 0;
        o->tie_embeddings = i % 2;
        if (i > 6)
            o->position.layers = (rt_layer_words){3, {i == 8, 1, 0}};
        if (i == 2 || i == 6 || i == 8)
            o->theta = learned(i == 6 ? RT_THETA_HEAD : RT_THETA_LAYER);
    }
    list[0].options.position.pairing = RT_INTERLEAVED;
    list[4].options.position.pairing = RT_INTERLEAVED;
}

static rt_transformer_options usual_encoder(void)
{
    rt_transformer_options o = usual_decoder();
    o.kind = RT_KIND_ROFORMER;
    o.causal = false;
    o.norm_kind = RT_NORM_LAYER;
    o.tie_embeddings = true;
    return o;
}

static void add_labels(example *e, rt_head head, rt_classifier classifier)
{
    e->options.head = head;
    e->options.classifier = classifier;
    e->options.labels = 3;
}

/* Layers that differ, as those of ModernBERT do, unless the name says otherwise. */
static void make_modernberts(example list[MODERNBERTS])
{
    static const char *const names[MODERNBERTS] = {"modernbert",
                                                   "modernbert_bias",
                                                   "modernbert_none",
                                                   "modernbert_alike",
                                                   "modernbert_interleaved",
                                                   "modernbert_linear",
                                                   "modernbert_fraction",
                                                   "modernbert_theta",
                                                   "modernbert_theta_layer",
                                                   "modernbert_theta_head",
                                                   "modernbert_first",
                                                   "modernbert_mean",
                                                   "modernbert_token",
                                                   "modernbert_all"};
    static const rt_layer_words types = {3, {RT_LAYER_FULL, RT_LAYER_SLIDING, RT_LAYER_SLIDING}};
    for (int i = 0; i < MODERNBERTS; i++) {
        rt_transformer_options *o = &list[i].options;
        list[i].name = names[i];
        *o = usual_encoder();
        o->layers = 3;
        o->ffn = RT_FFN_GEGLU;
        o->bias = RT_BIAS_OUTPUT;
        o->norm_bias = RT_WITHOUT;
        o->first_norm = RT_WITHOUT;
        o->window = 4;
        o->layer_types = types;
        o->position.frequencies.base = 160;
        o->position.local_base = 20;
    }
    rt_transformer_options *o = &list[1].options;
    o->bias = RT_BIAS_ALL;
    o->norm_bias = RT_WITH;
    o->ffn = RT_FFN_SWIGLU;
    o->activation = RT_SILU;
    o->tie_embeddings = false;
    list[2].options.bias = RT_BIAS_NONE;
    list[3].options.layer_types = (rt_layer_words){0};
    list[4].options.position.pairing = RT_INTERLEAVED;
    list[5].options.position.frequencies.scaling = RT_SCALING_LINEAR;
    list[5].options.position.frequencies.scale = 2.5;
    list[6].options.position.fraction = 0.5;
    list[6].options.position.local_base = 0;
    for (int i = 7; i < 10; i++)
        list[i].options.theta = learned(i - 7);
    list[7].options.position.local_base = 0;
    for (int i = 10; i < 13; i++)
        add_labels(list + i, i < 12 ? RT_HEAD_SEQUENCE : RT_HEAD_TOKEN, RT_CLASSIFIER_NORM);
    list[11].options.pool = RT_POOL_MEAN;
    o = &list[13].options;
    o->window = 0;
    o->layer_types = (rt_layer_words){0};
    o->position.local_base = 0;
}

static void make_esms(example list[ESMS])
{
    static const char *const names[ESMS] = {"esm",          "esm_plain",       "esm_interleaved",
                                            "esm_theta",    "esm_theta_layer", "esm_theta_head",
                                            "esm_sequence", "esm_token"};
    for (int i = 0; i < ESMS; i++) {
        rt_transformer_options *o = &list[i].options;
        list[i].name = names[i];
        *o = usual_encoder();
        o->ffn = RT_FFN_PLAIN;
        o->activation = RT_GELU;
        o->bias = RT_BIAS_ALL;
        o->embedding_norm = RT_EMBEDDING_NORM_NO;
        o->token_dropout = true;
        o->mask_id = 15; /* which the inputs have */
        o->position.frequencies.base = 300;
    }
    list[1].options.embedding_norm = RT_EMBEDDING_NORM_YES;
    list[1].options.token_dropout = false;
    list[2].options.position.pairing = RT_INTERLEAVED;
    list[2].options.tie_embeddings = false;
    for (int i = 3; i < 6; i++)
        list[i].options.theta = learned(i - 3);
    add_labels(list + 6, RT_HEAD_SEQUENCE, RT_CLASSIFIER_TANH);
    add_labels(list + 7, RT_HEAD_TOKEN, RT_CLASSIFIER_DENSE);
}

/* Families of decoders with labels, as others of the list but for the head. */
static void make_labelled(example list[], int first)
{
    static const char *const names[LABELLED][2] = {
        {"neox", "neox_sequence"},   {"neox", "neox_token"},   {"qwen2", "qwen2_sequence"},
        {"qwen3", "qwen3_sequence"}, {"qwen3", "qwen3_token"}, {"smollm3", "smollm3_sequence"}};
    for (int i = 0; i < LABELLED; i++) {
        int like = 0;
        while (strcmp(list[like].name, names[i][0]) != 0)
            like++;
        list[first + i] = list[like];
        list[first + i].name = names[i][1];
        list[first + i].vocabulary = true;
        rt_transformer_options *o = &list[first + i].options;
        o->head = strstr(names[i][1], "token") ? RT_HEAD_TOKEN : RT_HEAD_SEQUENCE;
        o->pool = RT_POOL_LAST;
        o->labels = 3;
    }
}

/* ---- what they compute ---- */

static rt_tensor *compute(rt_transformer *model, rt_graph *g, const inputs *in)
{
    const rt_transformer_input input = {.B = B,
                                        .T = T,
                                        .ids = in->ids,
                                        .token_types = in->types,
                                        .key_mask = in->mask,
                                        .padding_id = RT_NO_PADDING};
    rt_tensor *logits = rt_transformer_forward(model, g, &input);
    check(rt_graph_status(g), "forward");
    return logits;
}

static void put_rows(FILE *to, const char *key, const int32_t *values)
{
    fprintf(to, "\"%s\": [", key);
    for (int n = 0; n < B * T; n++)
        fprintf(to, "%s%d%s",
                n % T ? ", "
                : n   ? ", ["
                      : "[",
                (int)values[n], n % T == T - 1 ? "]" : "");
    fprintf(to, "],\n");
}

static void write_reference(const char *path, rt_transformer *model)
{
    const inputs in = make_inputs(model->options.token_types);
    rt_graph *g = rt_graph_new();
    FILE *to = fopen(path, "w");
    int32_t mask[B * T];
    if (!g || !to)
        check(rt_error(RT_IO, "cannot be written"), path);
    rt_tensor *logits = compute(model, g, &in);
    for (int n = 0; n < B * T; n++)
        mask[n] = in.mask[n];
    fprintf(to, "{");
    put_rows(to, "input_ids", in.ids);
    put_rows(to, "token_type_ids", in.types);
    put_rows(to, "attention_mask", mask);
    fprintf(to, "\"logits\": [");
    for (size_t i = 0; i < rt_size(logits); i++)
        fprintf(to, "%s%.17g", i ? ", " : "", (double)logits->data[i]);
    fprintf(to, "]}\n");
    fclose(to);
    rt_graph_free(g);
}

static void write_example(const char *folder, const example *e)
{
    static const char text[] = "abcdefghijklmnopqrstuvwxyzABCDEF", *const labels[] = {
                                                                       "plain", "with \"quotes\"",
                                                                       "\xc3\xa9t\xc3\xa9", "three",
                                                                       "four"};
    static const char *const facts[] = {"loss: 0.25", "<b>not</b> *markup* | `this`\nis one line"};
    char path[PATH_SIZE];
    rt_transformer *model;
    rt_vocabulary *vocabulary = NULL;
    check(rt_transformer_new(&model, &e->options, 11, NULL), e->name);
    if (e->vocabulary)
        check(rt_vocabulary_of_text(&vocabulary, "text", (const unsigned char *)text,
                                    sizeof text - 1),
              e->name);
    for (int i = 0; i < model->parameters.count; i++) /* biases, too, are to be told apart */
        for (size_t k = 0; k < rt_size(&model->parameters.list[i]->tensor); k++)
            if (model->parameters.list[i]->role == RT_ROLE_BIAS)
                model->parameters.list[i]->tensor.data[k] += (real)(0.1 * sin((double)(i + 7 * k)));
    const rt_huggingface_export export = {.vocabulary = vocabulary,
                                          .labels = e->options.labels ? labels : NULL,
                                          .length = T,
                                          .title = e->name,
                                          .facts = facts,
                                          .fact_count = 2};
    snprintf(path, sizeof path, "%s/%s", folder, e->name);
    check(rt_huggingface_write(path, model, &export), path);
    snprintf(path, sizeof path, "%s/%s.json", folder, e->name);
    write_reference(path, model);
    rt_vocabulary_free(vocabulary);
    rt_transformer_free(model);
}

/* ---- reading again ---- */

static double read_example(const char *folder, const char *name)
{
    char path[PATH_SIZE], file[PATH_SIZE];
    rt_huggingface *there;
    rt_transformer *model;
    json_t *reference;
    rt_graph *g = rt_graph_new();
    double worst = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(file, sizeof file, "%s.json", name);
    check(rt_huggingface_open(&there, path), path);
    check(rt_huggingface_model(there, &model), path);
    check(rt_json_read_file(&reference, folder, file), path);
    const inputs in = make_inputs(model->options.token_types);
    const rt_tensor *logits = compute(model, g, &in);
    const json_t *wanted = json_object_get(reference, "logits");
    if (json_array_size(wanted) != rt_size(logits))
        check(rt_error(RT_SHAPE, "other logits"), path);
    for (size_t i = 0; i < rt_size(logits); i++)
        worst = fmax(worst,
                     fabs((double)logits->data[i] - json_number_value(json_array_get(wanted, i))));
    printf("%s: %.1e%s%s\n", name, worst, *there->warnings ? "; " : "", there->warnings);
    json_decref(reference);
    rt_transformer_free(model);
    rt_huggingface_close(there);
    rt_graph_free(g);
    return worst;
}

/* ---- logits, for mutate_config.py ---- */

/* A status or warnings as a part of a line. */
static void print_part(const char *word, const char *text)
{
    printf("%s ", word);
    for (; *text; text++)
        putchar(*text == '\n' || *text == '\t' ? ' ' : *text);
    putchar('\t');
}

static void print_logits(char *line)
{
    enum { MOST = 64 };
    int32_t ids[MOST];
    rt_transformer_input in = {.B = 1, .ids = ids, .padding_id = RT_NO_PADDING};
    rt_huggingface *there = NULL;
    rt_transformer *model = NULL;
    rt_graph *g = rt_graph_new();
    char *folder = strtok(line, " \n");
    for (char *id; in.T < MOST && (id = strtok(NULL, " \n"));)
        ids[in.T++] = (int32_t)strtol(id, NULL, 10);
    rt_status status = rt_huggingface_open(&there, folder);
    if (!status.code)
        status = rt_huggingface_model(there, &model);
    const rt_tensor *logits = status.code ? NULL : rt_transformer_forward(model, g, &in);
    if (!status.code)
        status = rt_graph_status(g);
    print_part(status.code ? "refused" : "ok", status.code ? status.message : there->warnings);
    for (size_t i = 0; !status.code && i < rt_size(logits); i++)
        printf("%.17g ", (double)logits->data[i]);
    printf("\n");
    fflush(stdout);
    rt_graph_free(g);
    rt_transformer_free(model);
    rt_huggingface_close(there);
}

static int serve_logits(void)
{
    static char line[1 << 13];
    while (fgets(line, sizeof line, stdin))
        print_logits(line);
    return 0;
}

int main(int argc, char **argv)
{
    static example list[EXAMPLES];
    double worst = 0;
    if (argc == 2 && !strcmp(argv[1], "logits"))
        return serve_logits();
    if (argc != 3 || (strcmp(argv[1], "write") && strcmp(argv[1], "read"))) {
        fprintf(stderr, "usage: %s write|read DIR, or logits\n", argv[0]);
        return 2;
    }
    make_transformers(list);
    make_decoders(list + ROFORMERS);
    make_neox(list + ROFORMERS + DECODERS, 7);
    make_layered(list + ROFORMERS + DECODERS + 7, 10);
    make_modernberts(list + ROFORMERS + DECODERS + FAMILIES);
    make_esms(list + ROFORMERS + DECODERS + FAMILIES + MODERNBERTS);
    make_labelled(list, EXAMPLES - LABELLED);
    for (int i = 0; i < EXAMPLES; i++)
        if (!strcmp(argv[1], "write"))
            write_example(argv[2], list + i);
        else
            worst = fmax(worst, read_example(argv[2], list[i].name));
    return worst <= 1e-5 ? 0 : 1;
}
