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

#include "option_words.h"

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

/* Inputs with padding at the right of the second sequence. */
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

/* A name, and options as words (option_words.h) behind those of the rows above it that end in ":",
 * which begin anew with a kind of model. */
#define SCALED                                                                                     \
    "position.base=30 position.scale=2.5 position.original_len=6 "                                 \
    "position.short_factors=1,1.1,1.2,1.5 position.long_factors=1.5,2,3,4 position.scaling="
#define LEARNED " theta.learn=yes theta.init=perturbed theta.init_sigma=0.5 theta.scope="
#define YARN    " position.scaling=yarn position.scale=4 position.original_len=6"
#define WINDOW  " model.window=3 model.layer_types=full,sliding,full"
#define NORM    " labels=3 model.classifier=norm head="
#define LAST    " labels=3 model.pool=last head="
static const char *const examples[][2] = {
    {"roformer:", "model.layers=2 model.dim=24 model.heads=3 model.ffn_dim=40"},
    {"masked_lm", ""},
    {"causal_lm", "model.causal=yes model.activation=gelu_tanh"},
    {"sequence", "head=sequence labels=3 types=2 model.activation=tanh"},
    {"token", "head=token labels=5 model.activation=silu"},
    {"untied", "model.tie_embeddings=no model.embedding_dim=16 types=3 model.norm_eps=1e-5"},
    {"half", "position.pairing=half position.rotate_value=yes"},
    {"fraction", "position.pairing=half position.rotate_value=yes position.fraction=0.5"},
    {"base", "position.base=500 model.activation=relu"},
    {"linear", "position.frequencies=linear model.activation=sigmoid"},
    {"theta_model", LEARNED "model"},
    {"theta_layer", LEARNED "layer"},
    {"theta_head", LEARNED "head"},
    {"theta_half", LEARNED "head theta.form=raw position.pairing=half position.fraction=0.5"},
    {"words", "vocabulary"},

    {"decoder:", "model.layers=2 model.dim=32 model.heads=4 model.ffn_dim=44"},
    {"llama", ""},
    {"llama_tied", "model.tie_embeddings=yes"},
    {"llama_kv", "model.kv_heads=2 position.pairing=interleaved"},
    {"llama_window", "model.window=4 model.kv_heads=1"},
    {"llama_bias", "model.bias=all"},
    {"llama_gelu", "model.ffn=geglu"},
    {"llama_interleaved", "position.pairing=interleaved position.fraction=0.75"},
    {"llama_fraction", "position.fraction=0.5 model.bias=all"},
    {"llama_reciprocal", "position.frequencies=reciprocal"},
    {"llama_linear", SCALED "linear"},
    {"llama_ntk", SCALED "ntk"},
    {"llama_yarn", SCALED "yarn"},
    {"llama_dynamic", SCALED "dynamic"},
    {"llama_longrope", SCALED "longrope"},
    {"llama_llama3", SCALED "llama3"},
    {"llama_theta_model", "position.base=30" LEARNED "model"},
    {"llama_theta_layer", "position.base=30" LEARNED "layer"},
    {"llama_theta_head", "position.base=30" LEARNED "head"},
    {"llama_theta_fraction",
     "position.base=30 position.fraction=0.5 theta.form=raw" LEARNED "model"},
    {"llama_theta_yarn", "position.base=30 theta.form=raw" YARN LEARNED "layer"},
    {"llama_theta_kv", "position.base=30 theta.form=raw model.kv_heads=2" LEARNED "head"},
    /* transformers finds the last token by the padding id of a vocabulary */
    {"llama_sequence", "vocabulary labels=3 model.pool=last head=sequence"},
    {"mistral_sequence", "vocabulary labels=4 model.pool=last head=sequence model.window=4"},
    {"llama_token", "vocabulary labels=5 model.pool=last head=token"},

    {"decoder:", "model.layers=2 model.dim=32 model.heads=4 model.ffn_dim=44 model.norm_kind=layer "
                 "model.ffn=plain model.activation=gelu model.bias=all model.residual=parallel "
                 "position.fraction=0.5 position.base=300"},
    {"neox", ""},
    {"neox_serial", "model.activation=gelu_tanh model.bias=ffn model.residual=serial "
                    "position.fraction=1 position.pairing=interleaved"},
    {"neox_linear", "model.tie_embeddings=yes position.scaling=linear position.scale=2.5"},
    {"neox_theta", LEARNED "model"},
    {"neox_theta_layer", LEARNED "layer"},
    {"neox_theta_head", LEARNED "head"},
    {"neox_yarn", YARN},
    {"neox_sequence", "vocabulary" LAST "sequence"},
    {"neox_token", "vocabulary" LAST "token"},

    {"decoder:", "model.layers=3 model.dim=32 model.heads=4 model.ffn_dim=44 model.kv_heads=2 "
                 "model.bias=qkv"},
    {"qwen2", "position.pairing=interleaved"},
    {"qwen2_window", "model.tie_embeddings=yes" WINDOW},
    {"qwen2_theta", LEARNED "layer"},
    {"qwen2_all", "model.tie_embeddings=yes model.window=3"},
    {"qwen2_sequence", "vocabulary position.pairing=interleaved" LAST "sequence"},
    {"decoder:", "model.layers=3 model.dim=32 model.heads=4 model.ffn_dim=44 model.kv_heads=2 "
                 "model.qk_norm=yes model.head_dim=12"},
    {"qwen3", "position.pairing=interleaved"},
    {"qwen3_window", "model.tie_embeddings=yes" WINDOW},
    {"qwen3_theta", LEARNED "head"},
    {"qwen3_sequence", "vocabulary position.pairing=interleaved" LAST "sequence"},
    {"qwen3_token", "vocabulary position.pairing=interleaved" LAST "token"},
    {"decoder:", "model.layers=3 model.dim=32 model.heads=4 model.ffn_dim=44 model.kv_heads=2 "
                 "position.layers=no,yes,no"},
    {"smollm3", "model.tie_embeddings=yes"},
    {"smollm3_theta", "position.layers=yes,yes,no" LEARNED "layer"},
    {"smollm3_window", "model.tie_embeddings=yes" WINDOW},
    {"smollm3_sequence", "vocabulary model.tie_embeddings=yes" LAST "sequence"},

    /* layers that differ, as those of ModernBERT do, unless the name says otherwise */
    {"roformer:",
     "model.layers=3 model.dim=32 model.heads=4 model.ffn_dim=44 model.norm=pre "
     "model.norm_eps=1e-5 position.pairing=half model.ffn=geglu model.bias=output "
     "model.norm_bias=no model.first_norm=no model.window=4 "
     "model.layer_types=full,sliding,sliding position.base=160 position.local_base=20"},
    {"modernbert", ""},
    {"modernbert_bias", "model.bias=all model.norm_bias=yes model.ffn=swiglu model.activation=silu "
                        "model.tie_embeddings=no"},
    {"modernbert_none", "model.bias=none"},
    {"modernbert_alike", "model.layer_types="},
    {"modernbert_interleaved", "position.pairing=interleaved"},
    {"modernbert_linear", "position.scaling=linear position.scale=2.5"},
    {"modernbert_fraction", "position.fraction=0.5 position.local_base=0"},
    {"modernbert_theta", "position.local_base=0" LEARNED "model"},
    {"modernbert_theta_layer", LEARNED "layer"},
    {"modernbert_theta_head", LEARNED "head"},
    {"modernbert_first", NORM "sequence"},
    {"modernbert_mean", "model.pool=mean" NORM "sequence"},
    {"modernbert_token", NORM "token"},
    {"modernbert_all", "model.window=0 model.layer_types= position.local_base=0"},

    /* whose mask is an id that the inputs have */
    {"roformer:", "model.layers=2 model.dim=32 model.heads=4 model.ffn_dim=44 model.norm=pre "
                  "model.norm_eps=1e-5 position.pairing=half model.embedding_norm=no "
                  "model.token_dropout=yes mask=15 position.base=300"},
    {"esm", ""},
    {"esm_plain", "model.embedding_norm=yes model.token_dropout=no"},
    {"esm_interleaved", "position.pairing=interleaved model.tie_embeddings=no"},
    {"esm_theta", LEARNED "model"},
    {"esm_theta_layer", LEARNED "layer"},
    {"esm_theta_head", LEARNED "head"},
    {"esm_sequence", "labels=3 model.classifier=tanh head=sequence"},
    {"esm_token", "labels=3 model.classifier=dense head=token"},
};

typedef struct example {
    const char *name;
    rt_transformer_options options;
    bool vocabulary;
} example;

/* Makes the example of a row from the base before it; false for a row that makes a base. */
static bool make_example(example *e, rt_transformer_options *base, const char *const row[2])
{
    static const char word[] = "vocabulary";
    const bool is_base = strchr(row[0], ':');
    const char *words = row[1];
    if (is_base)
        *base = rt_model_defaults(*row[0] == 'd' ? RT_KIND_DECODER : RT_KIND_ROFORMER);
    if (is_base)
        set_options(base, "vocab=37 model.init_std=0.2");
    *e = (example){row[0], *base, !strncmp(words, word, strlen(word))};
    set_options(is_base ? base : &e->options, words + (e->vocabulary ? strlen(word) : 0));
    return !is_base;
}

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

/* B lists of T numbers each. */
static json_t *json_rows(const int32_t *values)
{
    json_t *rows = json_array();
    for (int n = 0; n < B * T; n++) {
        if (n % T == 0)
            json_array_append_new(rows, json_array());
        json_array_append_new(json_array_get(rows, (size_t)n / T), json_integer(values[n]));
    }
    return rows;
}

static void write_reference(const char *path, rt_transformer *model)
{
    const inputs in = make_inputs(model->options.token_types);
    rt_graph *g = rt_graph_new();
    const rt_tensor *logits = compute(model, g, &in);
    int32_t mask[B * T];
    json_t *numbers = json_array();
    for (int n = 0; n < B * T; n++)
        mask[n] = in.mask[n];
    for (size_t i = 0; i < rt_size(logits); i++)
        json_array_append_new(numbers, json_real((double)logits->data[i]));
    json_t *all =
        json_pack("{s:o, s:o, s:o, s:o}", "input_ids", json_rows(in.ids), "token_type_ids",
                  json_rows(in.types), "attention_mask", json_rows(mask), "logits", numbers);
    if (json_dump_file(all, path, JSON_REAL_PRECISION(17)))
        check(rt_error(RT_IO, "cannot be written"), path);
    json_decref(all);
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
    check(rt_huggingface_model(there, NULL, &model, NULL), path);
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
        status = rt_huggingface_model(there, NULL, &model, NULL);
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
    rt_transformer_options base;
    example e;
    double worst = 0;
    if (argc == 2 && !strcmp(argv[1], "logits"))
        return serve_logits();
    if (argc != 3 || (strcmp(argv[1], "write") && strcmp(argv[1], "read"))) {
        fprintf(stderr, "usage: %s write|read DIR, or logits\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (!make_example(&e, &base, examples[i]))
            continue;
        else if (!strcmp(argv[1], "write"))
            write_example(argv[2], &e);
        else
            worst = fmax(worst, read_example(argv[2], e.name));
    return worst <= 1e-5 ? 0 : 1;
}
