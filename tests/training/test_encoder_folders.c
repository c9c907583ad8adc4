/* Encoders written as folders of ModernBERT and ESM, and read again. */

#include "suite.h"
#include "training/hf_export.h"

#include "io/huggingface/json.h"

#include <math.h>

enum { B = 2, T = 7, VOCAB = 13, MASK = 4, MOST = B * T * VOCAB };

static rt_transformer_options usual(void)
{
    return (rt_transformer_options){
        .vocab = VOCAB,
        .layers = 3,
        .dim = 16,
        .heads = 2,
        .ffn_dim = 20,
        .norm = RT_NORM_PRE,
        .norm_eps = 1e-5,
        .init_std = 0.3,
        .tie_embeddings = true,
        .position = {.pairing = RT_HALF, .frequencies = {RT_FREQUENCY_DEFAULTS}, .fraction = 1},
    };
}

static rt_transformer_options modernbert(void)
{
    rt_transformer_options o = usual();
    o.norm_bias = RT_WITHOUT;
    o.first_norm = RT_WITHOUT;
    o.ffn = RT_FFN_GEGLU;
    o.bias = RT_BIAS_OUTPUT;
    o.window = 3;
    o.layer_types = (rt_layer_words){3, {RT_LAYER_FULL, RT_LAYER_SLIDING, RT_LAYER_SLIDING}};
    o.position.frequencies.base = 700;
    o.position.local_base = 30;
    return o;
}

static rt_transformer_options esm(void)
{
    rt_transformer_options o = usual();
    o.embedding_norm = RT_EMBEDDING_NORM_NO;
    o.token_dropout = true;
    o.mask_id = MASK;
    o.position.frequencies.base = 700;
    return o;
}

static void learn(rt_transformer_options *o, int scope)
{
    o->theta = (rt_theta_options){.learn = true,
                                  .scope = (rt_theta_scope)scope,
                                  .init = RT_THETA_PERTURBED,
                                  .init_sigma = 0.5};
}

/* ---- what they compute ---- */

/* As rounded as what is written of them, and no bias is 0. */
static rt_transformer *shaken_model(const rt_transformer_options *o)
{
    rt_transformer *model = new_model(o);
    for (int i = 0; i < model->parameters.count; i++) {
        const rt_parameter *p = model->parameters.list[i];
        for (size_t k = 0; k < rt_size(&p->tensor) && p->role != RT_ROLE_THETA; k++)
            p->tensor.data[k] = (real)(float)(p->tensor.data[k] + 0.1 * sin((double)(k + 3 * i)));
    }
    return model;
}

static size_t compute(rt_transformer *model, double *logits)
{
    rt_graph *g = rt_graph_new();
    int32_t ids[B * T];
    for (int n = 0; n < B * T; n++)
        ids[n] = n * 5 % VOCAB;
    const rt_transformer_input in = {.B = B, .T = T, .ids = ids, .padding_id = RT_NO_PADDING};
    const rt_tensor *made = rt_transformer_forward(model, g, &in);
    assert_status(rt_graph_status(g), RT_OK, "");
    const size_t size = rt_size(made);
    ck_assert_uint_le(size, MOST);
    for (size_t i = 0; i < size; i++)
        logits[i] = (double)made->data[i];
    rt_graph_free(g);
    return size;
}

static rt_status write_model(const rt_transformer *model)
{
    return rt_huggingface_write(in_scratch("out"), model,
                                &(rt_huggingface_export){.length = 8, .overwrite = true});
}

/* Writes a model and reads it again; the folder. */
static rt_huggingface *expect_kept(const rt_transformer_options *o, const char *class)
{
    double here[MOST], again[MOST];
    rt_huggingface_taken taken;
    rt_transformer *model = shaken_model(o);
    const size_t size = compute(model, here);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert_str_eq(there->architecture, class);
    rt_transformer *copy = new_model(&there->options);
    assert_status(rt_huggingface_load(there, copy, &taken), RT_OK, "");
    ck_assert(taken.head);
    ck_assert_uint_eq(compute(copy, again), size);
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(fabs(here[i] - again[i]) <= (sizeof(real) > 4 ? 1e-11 : 1e-4),
                      "%s: logit %zu is %.17g, again %.17g", class, i, here[i], again[i]);
    rt_transformer_free(model);
    rt_transformer_free(copy);
    return there;
}

/* ---- variants ---- */

enum { VARIANTS = 16 };

static const char *vary(rt_transformer_options *o, int variant)
{
    *o = variant < 11 ? modernbert() : esm();
    switch (variant) {
    case 1:
        o->bias = RT_BIAS_ALL;
        o->norm_bias = RT_WITH;
        o->ffn = RT_FFN_SWIGLU;
        o->activation = RT_SILU;
        o->tie_embeddings = false;
        break;
    case 2:
        o->bias = RT_BIAS_NONE;
        o->position.pairing = RT_INTERLEAVED;
        break;
    case 3: /* all of them slide */
        o->layer_types = (rt_layer_words){0};
        break;
    case 4: /* none does */
        o->layer_types = (rt_layer_words){0};
        o->window = 0;
        o->position.local_base = 0;
        break;
    case 5:
        o->position.frequencies.scaling = RT_SCALING_LINEAR;
        o->position.frequencies.scale = 2.5;
        break;
    case 6:
        o->position.local_base = 0;
        o->position.fraction = 0.5;
        break;
    case 7:
    case 8:
        o->head = RT_HEAD_SEQUENCE;
        o->labels = 3;
        o->classifier = RT_CLASSIFIER_NORM;
        o->pool = variant == 7 ? RT_POOL_FIRST : RT_POOL_MEAN;
        return "ModernBertForSequenceClassification";
    case 9:
        o->head = RT_HEAD_TOKEN;
        o->labels = 3;
        o->classifier = RT_CLASSIFIER_NORM;
        return "ModernBertForTokenClassification";
    case 10:
        o->window = 1;
        break;
    case 12:
        o->embedding_norm = RT_EMBEDDING_NORM_YES;
        o->token_dropout = false;
        o->tie_embeddings = false;
        o->position.pairing = RT_INTERLEAVED;
        break;
    case 13:
        o->head = RT_HEAD_SEQUENCE;
        o->labels = 3;
        o->classifier = RT_CLASSIFIER_TANH;
        return "EsmForSequenceClassification";
    case 14:
        o->head = RT_HEAD_TOKEN;
        o->labels = 3;
        return "EsmForTokenClassification";
    default:
        break;
    }
    return variant < 11 ? "ModernBertForMaskedLM" : "EsmForMaskedLM";
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(an_encoder_is_written_and_read_again, 0, VARIANTS)
{
    rt_transformer_options o;
    const char *class = vary(&o, _i);
    rt_huggingface_close(expect_kept(&o, class));
    remove_out();
}

/* ---- theta ---- */

TEST_ROWS(a_learned_theta_is_read_again, 0, 6)
{
    const bool of_proteins = _i / 3;
    rt_transformer_options o = of_proteins ? esm() : modernbert();
    learn(&o, _i % 3);
    if (o.theta.scope == RT_THETA_MODEL)
        o.position.local_base = 0;
    rt_huggingface *there =
        expect_kept(&o, of_proteins ? "EsmForMaskedLM" : "ModernBertForMaskedLM");
    ck_assert(there->options.theta.learn && there->options.theta.scope == o.theta.scope);
    ck_assert(there->options.position.frequencies.base == 700);
    ck_assert(there->options.position.local_base == o.position.local_base);
    rt_huggingface_close(there);
    remove_out();
}

/* A theta that contradicts rope_parameters is not used. */
TEST_ROWS(theta_that_made_nothing_of_the_folder_is_left, 0, 2)
{
    rt_transformer_options o = _i ? esm() : modernbert();
    learn(&o, RT_THETA_LAYER);
    o.theta.init = RT_THETA_FREQUENCIES;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    change_file("out/config.json", "[[1, ", "[[1.01, ");
    rt_huggingface *there;
    rt_status status = rt_huggingface_open(&there, in_scratch("out"));
    if (_i) {
        assert_status(status, RT_OK, "");
        ck_assert_str_eq(
            there->warnings,
            "config.json: rotor_theta does not match inv_freq; rotor uses rope_theta\n");
        ck_assert(!there->options.theta.learn);
        rt_huggingface_close(there);
    } else {
        assert_status(status, RT_CHECKPOINT,
                      "config.json: rope_parameters: full_attention and sliding_attention must "
                      "have one scaling: rotor has one for all layers");
    }
    rt_transformer_free(model);
    remove_out();
}

/* Older versions look for it in each layer. */
TEST(every_layer_of_an_esm_has_its_theta)
{
    static const char *const names[] = {
        "esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq",
        "esm.encoder.layer.2.attention.self.rotary_embeddings.inv_freq"};
    rt_transformer_options o = esm();
    rt_transformer *model = new_model(&o);
    rt_safetensors *weights;
    assert_status(write_model(model), RT_OK, "");
    assert_status(rt_safetensors_open(&weights, in_scratch("out/model.safetensors")), RT_OK, "");
    for (int i = 0; i < 2; i++) {
        double theta[4];
        const rt_safetensor *t = rt_safetensors_find(weights, names[i]);
        ck_assert(t && t->count == 4);
        assert_status(rt_safetensors_doubles(weights, t, 0, 4, theta), RT_OK, "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq_tol(theta[k], pow(700, -k / 4.0), 1e-7);
    }
    rt_safetensors_close(weights);
    rt_transformer_free(model);
    remove_out();
}

static void expect_warning_of_esm(const char *warning)
{
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, warning);
    rt_huggingface_close(there);
}

/* Some published folders have rounded it. Any layer may have another. */
TEST_ROWS(a_buffer_that_rope_theta_did_not_make_is_a_warning, 0, 2)
{
    static const float rounded[] = {1, 0.2F, 0.03F, 0.007F};
    char name[96];
    rt_transformer_options o = esm();
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    ck_assert_int_eq(rename(in_scratch("out/model.safetensors"), in_scratch("model.safetensors")),
                     0);
    snprintf(name, sizeof name, "esm.encoder.layer.%d.attention.self.rotary_embeddings.inv_freq",
             _i);
    set_numbers(name, 0, 4, rounded);
    ck_assert_int_eq(rename(in_scratch("model.safetensors"), in_scratch("out/model.safetensors")),
                     0);
    expect_warning_of_esm("inv_freq is not what rope_theta makes it; rotor uses rope_theta\n");
    rt_transformer_free(model);
    remove_out();
}

/* Its heads had another size, or it is no buffer of theta at all. */
TEST(a_buffer_of_another_shape_is_a_warning)
{
    static const char name[] =
        "esm.encoder.layer.*.attention.self.rotary_embeddings.inv_freq\":{\"dtype\":\"F";
    char before[128], after[128];
    snprintf(before, sizeof before, "%s32\",\"shape\":[4]", name);
    snprintf(after, sizeof after, "%s16\",\"shape\":[8]", name);
    copy_fixture("../families/esm", NULL, (const char *const[]){before, after, NULL});
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_str_eq(there->warnings,
                     "inv_freq is not what rope_theta makes it; rotor uses rope_theta\n");
    rt_huggingface_close(there);
}

/* ---- config.json ---- */

static void expect_json(const json_t *config, const char *key, const char *wanted)
{
    char *text = json_dumps(json_object_get(config, key), JSON_ENCODE_ANY | JSON_COMPACT);
    ck_assert_msg(text && !strcmp(text, wanted), "%s is %s, not %s", key, text ? text : "missing",
                  wanted);
    free(text);
}

TEST(older_versions_find_their_keys)
{
    rt_transformer_options o = modernbert();
    o.layer_types = (rt_layer_words){3, {RT_LAYER_FULL, RT_LAYER_SLIDING, RT_LAYER_FULL}};
    rt_huggingface_close(expect_kept(&o, "ModernBertForMaskedLM"));
    json_t *config = read_config();
    expect_json(config, "global_attn_every_n_layers", "2");
    expect_json(config, "local_attention", "4");
    expect_json(config, "global_rope_theta", "700");
    expect_json(config, "local_rope_theta", "30");
    expect_json(config, "layer_types",
                "[\"full_attention\",\"sliding_attention\",\"full_attention\"]");
    expect_json(config, "rope_parameters",
                "{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":700},"
                "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":30}}");
    json_decref(config);
    o.layer_types = (rt_layer_words){3, {RT_LAYER_SLIDING, RT_LAYER_SLIDING, RT_LAYER_FULL}};
    rt_huggingface_close(expect_kept(&o, "ModernBertForMaskedLM"));
    config = read_config();
    ck_assert_ptr_null(json_object_get(config, "global_attn_every_n_layers"));
    json_decref(config);
    remove_out();
}

TEST(ids_of_special_tokens_are_those_of_the_vocabulary)
{
    static const char residues[] = "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\nG\nV\nS\nE\nR\nT\n<mask>\n";
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_RESIDUE};
    rt_vocabulary *v;
    assert_status(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)residues,
                                     sizeof residues - 1),
                  RT_OK, "");
    for (int i = 0; i < 2; i++) {
        const rt_transformer_options o = i ? esm() : modernbert();
        const rt_huggingface_export export = {.length = 8, .vocabulary = v, .overwrite = true};
        rt_transformer *model = new_model(&o);
        assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
        json_t *config = read_config();
        expect_json(config, "pad_token_id", "1");
        if (i)
            expect_json(config, "mask_token_id", "12");
        else
            expect_json(config, "cls_token_id", "0");
        if (!i)
            expect_json(config, "sep_token_id", "2");
        json_decref(config);
        rt_transformer_free(model);
    }
    json_t *settings;
    assert_status(rt_json_read_file(&settings, in_scratch("out"), "tokenizer_config.json"), RT_OK,
                  "");
    expect_json(settings, "tokenizer_class", "\"EsmTokenizer\"");
    json_decref(settings);
    rt_vocabulary_free(v);
    remove_out();
}

/* Reads tokenizer.json of the folder: whether its template has a token behind a text. */
static bool template_ends(void)
{
    json_t *tokenizer;
    assert_status(rt_json_read_file(&tokenizer, in_scratch("out"), "tokenizer.json"), RT_OK, "");
    const json_t *single = json_object_get(json_object_get(tokenizer, "post_processor"), "single");
    ck_assert_uint_ge(json_array_size(single), 2); /* [CLS] and the text */
    const bool ends = json_array_size(single) == 3;
    json_decref(tokenizer);
    return ends;
}

/* Row 1: a causal model continues texts. */
TEST_ROWS(a_masked_language_model_keeps_the_token_behind_a_text, 0, 2)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    size_t size;
    char *file = (char *)file_bytes(TEST_SOURCES "/fixtures/bpe/modernbert/tokenizer.json", &size);
    rt_vocabulary *v;
    assert_status(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)file, size), RT_OK, "");
    rt_transformer_options o = modernbert();
    o.vocab = v->count;
    if (_i) {
        o = usual();
        o.vocab = v->count;
        o.kind = RT_KIND_DECODER;
        o.causal = true;
        o.norm_kind = RT_NORM_RMS;
        o.ffn = RT_FFN_SWIGLU;
        o.bias = RT_BIAS_NONE;
    }
    const rt_huggingface_export export = {.length = 8, .vocabulary = v, .overwrite = true};
    rt_transformer *model = new_model(&o);
    assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
    ck_assert_int_eq(template_ends(), !_i);
    char *card = (char *)file_bytes(in_scratch("out/README.md"), &size);
    card[size] = '\0'; /* file_bytes leaves room for it */
    ck_assert_int_eq(strstr(card, "and `[SEP]` after the text, which rotor does not") != NULL, !_i);
    free(card);
    rt_transformer_free(model);
    rt_vocabulary_free(v);
    free(file);
    remove_out();
}

/* ---- what cannot be written ---- */

static const char *break_rule(rt_transformer_options *o, int rule)
{
    *o = rule < 7 ? modernbert() : esm();
    switch (rule) {
    case 0:
        o->bias = RT_BIAS_QKV;
        return "model.bias = qkv cannot be exported: a ModernBERT of Hugging Face has biases in "
               "all maps, in the last one alone or in none";
    case 1:
        o->head = RT_HEAD_TOKEN;
        o->labels = 3;
        return "model.classifier = dense cannot be exported: a ModernBERT of Hugging Face has a "
               "norm in its head for labels";
    case 2:
        o->position.fraction = 0.5;
        return "position.frequencies and position.fraction cannot be exported with "
               "position.local_base: a fixed theta of a ModernBERT of Hugging Face is then "
               "geometric, of all pairs";
    case 3:
        o->head_dim = 4;
        return "model.head_dim = 4 cannot be exported: heads of a ModernBERT of Hugging Face have "
               "model.dim / model.heads features";
    case 4:
        o->embedding_norm = RT_EMBEDDING_NORM_NO;
        return "model.embedding_norm = no cannot be exported: a ModernBERT of Hugging Face has a "
               "norm over its embeddings";
    case 5:
        o->qk_norm = true;
        return "model.qk_norm = yes cannot be exported: a ModernBERT of Hugging Face has no norms "
               "of queries and keys";
    case 6:
        o->head = RT_HEAD_SEQUENCE;
        o->labels = 3;
        o->bias = RT_BIAS_NONE;
        o->classifier = RT_CLASSIFIER_NORM;
        return "model.bias = none cannot be exported: a ModernBERT of Hugging Face has biases in "
               "all maps or in the last one alone";
    case 7:
        o->head = RT_HEAD_SEQUENCE;
        o->labels = 3;
        return "model.classifier = dense cannot be exported: an ESM of Hugging Face has tanh in "
               "its "
               "head for labels of texts, and a matrix for those of tokens";
    case 8:
        o->position.fraction = 0.5;
        return "position.frequencies and position.fraction cannot be exported: a fixed theta of an "
               "ESM of Hugging Face is geometric, of all pairs";
    case 9:
        o->activation = RT_RELU;
        return "model.activation = relu cannot be exported: an ESM of Hugging Face has gelu";
    default:
        o->window = 3;
        return "model.window = 3 cannot be exported: an ESM of Hugging Face has attention to all "
               "tokens";
    }
}

TEST_ROWS(what_no_encoder_has_is_refused_by_its_key, 0, 11)
{
    rt_transformer_options o;
    const char *message = break_rule(&o, _i);
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_CONFIG, message);
    ck_assert(!exists(in_scratch("out")));
    rt_transformer_free(model);
}

/* ---- faults ---- */

TEST_ROWS(every_allocation_can_fail, 0, 2)
{
    rt_transformer_options o = _i ? esm() : modernbert();
    learn(&o, RT_THETA_HEAD);
    rt_transformer *model = new_model(&o);
    rt_code code = RT_MEMORY;
    size_t n = 0;
    while (code && n < 10000) {
        rt_memory_fail_at(++n);
        code = write_model(model).code;
        rt_memory_fail_at(0);
        ck_assert(code == RT_OK || code == RT_MEMORY);
    }
    ck_assert_uint_gt(n, 10);
    for (n = 0, code = RT_MEMORY; code && n < 10000;) {
        rt_huggingface *there;
        rt_memory_fail_at(++n);
        code = rt_huggingface_open(&there, in_scratch("out")).code;
        rt_memory_fail_at(0);
        ck_assert((code == RT_OK) == (there != NULL));
        ck_assert(code == RT_OK || code == RT_MEMORY);
        rt_huggingface_close(there);
    }
    ck_assert_uint_gt(n, 10);
    rt_transformer_free(model);
    remove_out();
}
