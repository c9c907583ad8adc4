/* Models that transformers and rotor hand to each other; see scripts/check huggingface.
 *
 *     huggingface-exchange write DIR     DIR/NAME for models of every kind, each with what rotor
 *                                        computes by it in DIR/NAME.json
 *     huggingface-exchange read DIR      reads each DIR/NAME again, and tells how far what it
 *                                        computes is from DIR/NAME.json
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

enum { ROFORMERS = 14, DECODERS = 21, EXAMPLES = ROFORMERS + DECODERS };

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
        .bias = RT_BIAS_NO,
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
    for (int i = 0; i < 6; i++) {
        rt_frequency_options *f = &list[first + i].options.position.frequencies;
        list[first + i].name = names[i];
        f->scaling = scalings[i];
        f->scale = 2.5;
        f->original_len = 6;
        f->base = 30;
        f->short_factors = (rt_factors){4, {1, 1.1, 1.2, 1.5}};
        f->long_factors = (rt_factors){4, {1.5, 2, 3, 4}};
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
    list[4].options.bias = RT_BIAS_YES;
    list[5].options.ffn = RT_FFN_GEGLU;
    list[6].options.position.pairing = RT_INTERLEAVED;
    list[6].options.position.fraction = 0.75;
    list[7].options.position.fraction = 0.5;
    list[7].options.bias = RT_BIAS_YES;
    list[8].options.position.frequencies.family = RT_FREQUENCIES_RECIPROCAL;
    make_scaled(list, 9);
    make_learned(list, 15);
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
    rt_tensor *logits = rt_transformer_logits(model, g, rt_transformer_encode(model, g, &input));
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

int main(int argc, char **argv)
{
    example list[EXAMPLES];
    double worst = 0;
    if (argc != 3 || (strcmp(argv[1], "write") && strcmp(argv[1], "read"))) {
        fprintf(stderr, "usage: %s write|read DIR\n", argv[0]);
        return 2;
    }
    make_transformers(list);
    make_decoders(list + ROFORMERS);
    for (int i = 0; i < EXAMPLES; i++)
        if (!strcmp(argv[1], "write"))
            write_example(argv[2], list + i);
        else
            worst = fmax(worst, read_example(argv[2], list[i].name));
    return worst <= 1e-5 ? 0 : 1;
}
