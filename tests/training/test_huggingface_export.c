#include "suite.h"
#include "training/hf_export.h"

#include "io/huggingface/json.h"
#include "io/huggingface/safetensors.h"
#include "text/text_file.h"

#include <math.h>

static rt_transformer_options usual(void)
{
    return (rt_transformer_options){
        .vocab = 11,
        .layers = 2,
        .dim = 16,
        .heads = 2,
        .norm_eps = 1e-12,
        .tie_embeddings = true,
        .position = {.frequencies = {.base = 10000, .scale = 1}, .fraction = 1},
    };
}

static rt_status write_model(const rt_transformer *model, const rt_huggingface_export *export)
{
    return rt_huggingface_write(in_scratch("out"), model, export);
}

static bool is_written(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "out/%.100s", name);
    return exists(in_scratch(path));
}

/* ---- what cannot be expressed ---- */

static void break_rule(rt_transformer_options *o, int rule)
{
    if (rule == 0) {
        o->norm = RT_NORM_PRE;
        o->token_types = 2;
    }
    if (rule == 1)
        o->attention = RT_ATTENTION_LINEAR_ELU;
    if (rule == 2)
        o->position.kind = RT_POSITION_ALIBI;
    if (rule == 3) {
        o->position.frequencies.scaling = RT_SCALING_LINEAR;
        o->position.frequencies.scale = 2;
    }
    if (rule == 4)
        o->activation = RT_ELU_PLUS_ONE;
    if (rule == 5)
        o->kind = RT_KIND_DECODER;
    if (rule == 6)
        o->norm_kind = RT_NORM_RMS;
    if (rule == 7)
        o->ffn = RT_FFN_GEGLU;
    if (rule == 8)
        o->bias = RT_BIAS_NONE;
    if (rule == 9)
        o->kv_heads = 1;
    if (rule == 10)
        o->window = 4;
    if (rule == 13)
        o->norm_bias = RT_WITHOUT;
    if (rule == 14)
        o->token_dropout = true;
    if (rule == 15)
        o->embedding_norm = RT_EMBEDDING_NORM_NO;
    if (rule == 12) {
        o->causal = true;
        o->position.xpos = 512;
    }
    if (rule == 11) {
        o->position.every = 2;
        o->theta.learn = false;
    }
}

static const char *const rules[] = {
    "model.norm = pre cannot be exported: a RoFormer of Hugging Face has its norms behind the "
    "blocks",
    "model.attention = linear_elu cannot be exported: a RoFormer of Hugging Face has softmax "
    "attention",
    "position.kind = alibi cannot be exported: a RoFormer of Hugging Face has rotary positions",
    "position.scaling = linear cannot be exported: a RoFormer of Hugging Face has no scaling of "
    "its "
    "frequencies",
    "model.activation = elu_plus_one cannot be exported: a RoFormer of Hugging Face has no such "
    "function",
    "model.norm = post cannot be exported: a GPT-NeoX of Hugging Face has its norms before the "
    "blocks",
    "model.norm_kind = rms cannot be exported: a RoFormer of Hugging Face has LayerNorm",
    "model.ffn = geglu cannot be exported: a RoFormer of Hugging Face has no gates",
    "model.bias = none cannot be exported: a RoFormer of Hugging Face has biases",
    "model.kv_heads = 1 cannot be exported: a RoFormer of Hugging Face has keys for every head",
    "model.window = 4 cannot be exported: a RoFormer of Hugging Face has attention to all tokens",
    "position.every = 2 cannot be exported: a RoFormer of Hugging Face has positions in every "
    "layer",
    "position.xpos = 512 cannot be exported: a RoFormer of Hugging Face has no decay of its scores",
    "model.norm_bias = no cannot be exported: a RoFormer of Hugging Face has biases in its norms",
    "model.token_dropout = yes cannot be exported: a RoFormer of Hugging Face has no token dropout",
    "model.embedding_norm = no cannot be exported: a RoFormer of Hugging Face has a norm over its "
    "embeddings",
};
enum { RULES = sizeof rules / sizeof *rules };

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(what_transformers_cannot_express_is_refused_by_its_key, 0, RULES)
{
    rt_transformer_options o = usual();
    break_rule(&o, _i);
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_CONFIG, rules[_i]);
    ck_assert(!exists(in_scratch("out")));
    rt_transformer_free(model);
}

/* ---- folders ---- */

TEST(a_folder_that_is_not_empty_is_kept)
{
    char message[256];
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    ck_assert_int_eq(mkdir(in_scratch("out"), 0777), 0);
    write_bytes(in_scratch("out/tokenizer.json"), "x", 1);
    write_bytes(in_scratch("out/notes"), "x", 1);
    rt_huggingface_export export = {.length = 8};
    snprintf(message, sizeof message,
             "%s/out: the folder is not empty; give --overwrite to write into it", scratch);
    assert_status(write_model(model, &export), RT_CONFIG, message);
    ck_assert(!is_written("config.json") && is_written("tokenizer.json"));
    export.overwrite = true;
    assert_status(write_model(model, &export), RT_OK, "");
    ck_assert(is_written("config.json") && is_written("notes") && is_written("README.md"));
    ck_assert(!is_written("tokenizer.json") && !is_written("vocab.txt"));
    rt_transformer_free(model);
    remove_out();
}

static void expect_file(const char *name, const char *text)
{
    size_t size;
    char *bytes = rt_read_bytes(in_scratch(name), 1 << 20, &size);
    ck_assert_msg(bytes && !strcmp(bytes, text), "%s: %s", name, bytes ? bytes : "is gone");
    rt_free(bytes);
}

/* Files that rotor does not write: those that describe the same tokens, and a model card of others.
 */
TEST(files_that_rotor_does_not_write_are_kept)
{
    static const char settings[] = "{\"temperature\": 0.6}\n", map[] = "{}\n", card[] = "# Mine\n";
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    rt_huggingface_export export = {.length = 8, .overwrite = true};
    assert_status(write_model(model, &export), RT_OK, "");
    write_bytes(in_scratch("out/generation_config.json"), settings, strlen(settings));
    write_bytes(in_scratch("out/special_tokens_map.json"), map, strlen(map));
    write_bytes(in_scratch("out/README.md"), card, strlen(card));
    assert_status(write_model(model, &export), RT_OK, "");
    expect_file("out/generation_config.json", settings);
    expect_file("out/special_tokens_map.json", map);
    expect_file("out/README.md", card);
    rt_transformer_free(model);
    o.vocab++; /* other tokens */
    model = new_model(&o);
    assert_status(write_model(model, &export), RT_OK, "");
    ck_assert(!is_written("generation_config.json") && !is_written("special_tokens_map.json"));
    expect_file("out/README.md", card);
    rt_transformer_free(model);
    remove_out();
}

TEST(an_empty_folder_is_taken)
{
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    ck_assert_int_eq(mkdir(in_scratch("out"), 0777), 0);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    rt_transformer_free(model);
    remove_out();
}

TEST(a_file_or_a_name_without_a_folder_is_refused)
{
    char message[256];
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    write_bytes(in_scratch("out"), "x", 1);
    snprintf(message, sizeof message, "%s/out: not a folder", scratch);
    assert_status(write_model(model, &(rt_huggingface_export){.overwrite = true}), RT_CONFIG,
                  message);
    snprintf(message, sizeof message, "cannot make the folder %s/no/out: No such file or directory",
             scratch);
    assert_status(rt_huggingface_write(in_scratch("no/out"), model,
                                       &(rt_huggingface_export){.length = 8}),
                  RT_IO, message);
    rt_transformer_free(model);
}

/* ---- content ---- */

static void expect_word(const json_t *json, const char *key, const char *word)
{
    ck_assert_str_eq(json_string_value(json_object_get(json, key)), word);
}

TEST(labels_of_any_letters_are_read_again)
{
    static const char *const labels[] = {"a \"b\" \\", "\n\t\x01", "\xc3\xa9", "\xff-"};
    rt_transformer_options o = usual();
    o.head = RT_HEAD_TOKEN;
    o.labels = 4;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.labels = labels, .length = 2000}),
                  RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(there->labels[i], labels[i]);
    ck_assert_str_eq(there->labels[3], "\xef\xbf\xbd-");
    ck_assert_int_eq(there->max_positions, 2000);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

TEST(the_length_of_the_training_comes_back)
{
    const rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 24}), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->length, 24);
    ck_assert_int_eq(there->max_positions, 1536); /* of the table, which leaves room */
    rt_huggingface_close(there);
    remove_out();
    assert_status(write_model(model, &(rt_huggingface_export){.length = 24, .table_rows = 24}),
                  RT_OK, "");
    there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->max_positions, 24);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

TEST_ROWS(the_class_follows_the_head, 0, 4)
{
    static const struct {
        rt_head head;
        bool causal;
        const char *name;
    } classes[] = {{RT_HEAD_LM, false, "RoFormerForMaskedLM"},
                   {RT_HEAD_LM, true, "RoFormerForCausalLM"},
                   {RT_HEAD_SEQUENCE, false, "RoFormerForSequenceClassification"},
                   {RT_HEAD_TOKEN, false, "RoFormerForTokenClassification"}};
    rt_transformer_options o = usual();
    o.head = classes[_i].head;
    o.causal = classes[_i].causal;
    o.labels = 3;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    json_t *config = read_config();
    const json_t *list = json_object_get(config, "architectures");
    ck_assert_str_eq(json_string_value(json_array_get(list, 0)), classes[_i].name);
    ck_assert(json_is_true(json_object_get(config, "is_decoder")) == classes[_i].causal);
    ck_assert_int_eq(json_object_size(json_object_get(config, "label2id")), _i < 2 ? 0 : 3);
    expect_word(config, "model_type", "roformer");
    expect_word(config, "dtype", "float32");
    json_decref(config);
    rt_transformer_free(model);
    remove_out();
}

TEST(the_card_means_nothing_but_its_words)
{
    static const char *const facts[] = {"<script>`x`</script> [a](b)\n# heading"};
    char card[4096];
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8,
                                                              .title = "a\n---\n",
                                                              .facts = facts,
                                                              .fact_count = 1}),
                  RT_OK, "");
    read_into(card, sizeof card, "out/README.md");
    expect_in(card, "# a --- \n");
    expect_in(card, "- &#60;script&#62;\\`x\\`&#60;/script&#62; \\[a\\]\\(b\\) \\# heading\n");
    expect_in(card, "theta_i = 10000^(-2i/8), which is fixed.\n");
    rt_transformer_free(model);
    remove_out();
}

TEST(a_vocabulary_and_its_tokenizer_are_written)
{
    char text[512];
    rt_transformer_options o = usual();
    rt_vocabulary *v;
    rt_transformer *model = new_model(&o);
    assert_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)"bca\n", 4), RT_OK, "");
    assert_status(write_model(model, &(rt_huggingface_export){.vocabulary = v,
                                                              .lowercase = true,
                                                              .length = 8}),
                  RT_OK, "");
    read_into(text, sizeof text, "out/vocab.txt");
    ck_assert_str_eq(text, "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\n\\n\na\nb\nc\n");
    read_into(text, sizeof text, "out/tokenizer_config.json");
    expect_in(text, "\"tokenizer_class\": \"BertTokenizer\"");
    expect_in(text, "\"do_lower_case\": true");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->level, "char");
    rt_huggingface_close(there);
    rt_vocabulary_free(v);
    rt_transformer_free(model);
    remove_out();
}

/* ---- theta ---- */

TEST_ROWS(learned_theta_are_read_again, 0, 12)
{
    rt_huggingface_taken taken;
    rt_transformer_options o = usual();
    o.theta = (rt_theta_options){.learn = true,
                                 .scope = (rt_theta_scope)(_i % 3),
                                 .form = (rt_theta_form)(_i / 3 % 2),
                                 .init = RT_THETA_PERTURBED,
                                 .init_sigma = 1};
    o.position.fraction = _i / 6 ? 0.5 : 1;
    o.position.frequencies.base = 700;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert(there->options.theta.learn);
    ck_assert_int_eq(there->options.theta.scope, o.theta.scope);
    ck_assert_int_eq(there->options.theta.form, o.theta.form);
    ck_assert(there->options.position.frequencies.base == 700);
    ck_assert(there->options.position.fraction == o.position.fraction);
    rt_transformer *again = new_model(&there->options);
    assert_status(rt_huggingface_load(there, again, &taken), RT_OK, "");
    ck_assert(taken.head && taken.theta);
    double a[64], b[64];
    ck_assert_uint_le(rt_transformer_theta_count(&o), 64);
    rt_transformer_theta(model, a);
    rt_transformer_theta(again, b);
    for (size_t i = 0; i < rt_transformer_theta_count(&o); i++)
        ck_assert_msg(fabs(a[i] / b[i] - 1) < 1e-14, "theta %zu: %.17g, again %.17g", i, a[i],
                      b[i]);
    rt_transformer_free(model);
    rt_transformer_free(again);
    rt_huggingface_close(there);
    remove_out();
}

TEST(theta_that_do_not_make_the_table_are_left)
{
    rt_transformer_options o = usual();
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_LAYER};
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    change_file("out/config.json", "[[1, ", "[[1.01, ");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings,
                     "config.json: rotor_theta does not match "
                     "roformer.encoder.embed_positions.weight; rotor uses the table\n");
    ck_assert(!there->options.theta.learn && there->options.position.frequencies.base == 10000);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

static const struct {
    const char *from, *to, *message;
} wrong_theta[] = {
    {"\"scope\": \"layer\"", "\"scope\": \"pair\"",
     "config.json: rotor_theta must have scope, form, base, and theta by layer, head and pair"},
    {"\"scope\": \"layer\"", "\"scope\": \"head\"",
     "config.json: rotor_theta must have 2 layers of 2 heads of 4 numbers, which are above 0 if "
     "their form is log"},
    {"[[1, ", "[[-1, ",
     "config.json: rotor_theta must have 2 layers of 1 heads of 4 numbers, which are above 0 if "
     "their form is log"},
    {"[[1, ", "[], [[1, ",
     "config.json: rotor_theta must have scope, form, base, and theta by "
     "layer, head and pair"},
    {"]]\n", "]], []\n", "config.json: rotor_theta must have a list for each of 2 layers"},
};
enum { WRONG_THETA = sizeof wrong_theta / sizeof *wrong_theta };

TEST_ROWS(theta_of_another_form_are_refused, 0, WRONG_THETA)
{
    rt_huggingface *there;
    rt_transformer_options o = usual();
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_LAYER};
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    change_file("out/config.json", wrong_theta[_i].from, wrong_theta[_i].to);
    assert_status(rt_huggingface_open(&there, in_scratch("out")), RT_CHECKPOINT,
                  wrong_theta[_i].message);
    rt_transformer_free(model);
    remove_out();
}

/* ---- what is computed ---- */

enum { ROWS = 2, TOKENS = 7 };

/* Logits, by which all parameters count: none is left at 0 or 1. */
static void compute(rt_transformer *model, double *logits, size_t room)
{
    int32_t ids[ROWS * TOKENS], types[ROWS * TOKENS];
    rt_graph *g = rt_graph_new();
    for (int n = 0; n < ROWS * TOKENS; n++) {
        ids[n] = 1 + n * 3 % 10;
        types[n] = model->options.token_types > 1 ? n % 2 : 0;
    }
    const rt_transformer_input in = {
        .B = ROWS, .T = TOKENS, .ids = ids, .token_types = types, .padding_id = RT_NO_PADDING};
    const rt_tensor *out = rt_transformer_forward(model, g, &in);
    assert_status(rt_graph_status(g), RT_OK, "");
    ck_assert_uint_eq(rt_size(out), room);
    for (size_t i = 0; i < room; i++)
        logits[i] = (double)out->data[i];
    rt_graph_free(g);
}

static void shake(rt_transformer *model)
{
    const rt_parameters *p = &model->parameters;
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor) &&
                           (p->list[i]->role == RT_ROLE_BIAS || p->list[i]->role == RT_ROLE_FACTOR);
             k++)
            p->list[i]->tensor.data[k] += (real)(0.3 * sin((double)i + 0.7 * (double)k));
}

static void choose(rt_transformer_options *o, int variant)
{
    o->init_std = 0.3;
    o->position.pairing = variant < 4 ? RT_HALF : RT_INTERLEAVED;
    o->position.rotate_value = variant % 2;
    o->theta.head_scale = variant % 3 != 0;
    if (variant == 2 || variant == 3)
        o->position.fraction = 0.5;
    if (variant == 4) {
        o->tie_embeddings = false;
        o->embedding_dim = 10;
        o->token_types = 2;
        o->activation = RT_GELU_TANH;
        o->norm_eps = 1; /* the largest that the key takes */
    }
    if (variant == 5) {
        o->position.frequencies.family = RT_FREQUENCIES_LINEAR;
        o->causal = true;
        o->activation = RT_SILU;
    }
    if (variant == 6)
        o->position.frequencies.base = 30;
}
enum { VARIANTS = 7 };

TEST_ROWS(what_is_exported_computes_the_same, 0, VARIANTS)
{
    enum { COUNT = ROWS * TOKENS * 11 };
    double here[COUNT], there_too[COUNT];
    rt_transformer_options o = usual();
    choose(&o, _i);
    rt_transformer *model = new_model(&o);
    shake(model);
    compute(model, here, COUNT);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    rt_transformer *again = model_of_folder(there);
    compute(again, there_too, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(fabs(here[i] - there_too[i]) <= 2e-5, "logit %d: %.9g, again %.9g", i,
                      here[i], there_too[i]);
    rt_transformer_free(model);
    rt_transformer_free(again);
    rt_huggingface_close(there);
    remove_out();
}

/* Hugging Face has the bias twice, and uses that of the decoder. */
TEST(an_untied_decoder_has_its_bias)
{
    double one[11], other[11];
    rt_safetensors *file;
    rt_transformer_options o = usual();
    o.tie_embeddings = false;
    rt_transformer *model = new_model(&o);
    shake(model);
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_OK, "");
    assert_status(rt_safetensors_open(&file, in_scratch("out/model.safetensors")), RT_OK, "");
    const rt_safetensor *a = rt_safetensors_find(file, "cls.predictions.decoder.bias");
    const rt_safetensor *b = rt_safetensors_find(file, "cls.predictions.bias");
    ck_assert(a && b);
    assert_status(rt_safetensors_doubles(file, a, 0, 11, one), RT_OK, "");
    assert_status(rt_safetensors_doubles(file, b, 0, 11, other), RT_OK, "");
    for (int i = 0; i < 11; i++)
        ck_assert(one[i] == other[i] && one[i] == (double)(float)model->head.output.bias->data[i]);
    rt_safetensors_close(file);
    rt_transformer_free(model);
    remove_out();
}

/* ---- faults ---- */

TEST(every_allocation_can_fail)
{
    static const char *const labels[] = {"a", "b"}, *const facts[] = {"loss: 1"};
    rt_transformer_options o = usual();
    o.head = RT_HEAD_SEQUENCE;
    o.labels = 2;
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_HEAD};
    rt_vocabulary *v;
    rt_transformer *model = new_model(&o);
    assert_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)"abc", 3), RT_OK, "");
    const rt_huggingface_export export = {.vocabulary = v,
                                          .labels = labels,
                                          .length = 8,
                                          .facts = facts,
                                          .fact_count = 1,
                                          .overwrite = true};
    rt_code code = RT_MEMORY;
    size_t n = 0;
    while (code && n < 10000) {
        rt_memory_fail_at(++n);
        code = write_model(model, &export).code;
        rt_memory_fail_at(0);
        ck_assert(code == RT_OK || code == RT_MEMORY);
        ck_assert(is_written("config.json") == (code == RT_OK));
    }
    ck_assert_uint_gt(n, 10);
    rt_vocabulary_free(v);
    rt_transformer_free(model);
    remove_out();
}

static rt_status write_usual(void)
{
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    rt_status status = write_model(model, &(rt_huggingface_export){.length = 8});
    rt_transformer_free(model);
    return status;
}

TEST(a_full_disk_leaves_no_whole_folder)
{
    ck_assert(fails_on_full_disk(4096, write_usual));
    ck_assert(!is_written("config.json") && !is_written("model.safetensors"));
    remove_out();
}

TEST(a_number_that_no_float_holds_is_not_written)
{
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    model->embeddings.tokens->data[5] = (real)INFINITY;
    assert_status(write_model(model, &(rt_huggingface_export){.length = 8}), RT_NONFINITE,
                  "model.safetensors: roformer.embeddings.word_embeddings.weight has a number that "
                  "is not finite as a float");
    rt_transformer_free(model);
    remove_out();
}
