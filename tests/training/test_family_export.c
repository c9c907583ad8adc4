/* Models of all families written as folders, and read again. */

#include "suite.h"
#include "training/hf_export.h"

#include "io/gguf/gguf.h"
#include "io/huggingface/json.h"

#include <math.h>

enum { B = 2, T = 9, MOST = B * T * 13 };
static const double tolerance = 1e-11;

/* ---- what cannot be expressed ---- */

#define OF_ROFORMER   " cannot be exported: a RoFormer of Hugging Face has "
#define OF_LLAMA      " cannot be exported: a Llama of Hugging Face has "
#define OF_MODERNBERT " cannot be exported: a ModernBERT of Hugging Face has "
#define OF_ESM        " cannot be exported: an ESM of Hugging Face has "
#define OF_LLAMA_CPP  " cannot be exported: a Llama of llama.cpp has "
#define OF_QWEN3_CPP  " cannot be exported: a Qwen3 of llama.cpp has "
#define THETA_OF      "position.frequencies and position.fraction cannot be exported"
static const char *const rules[][2] = {
    {"roformer model.norm=pre types=2",
     "model.norm = pre" OF_ROFORMER "its norms behind the blocks"},
    {"roformer model.attention=linear_elu",
     "model.attention = linear_elu" OF_ROFORMER "softmax attention"},
    {"roformer position.kind=alibi", "position.kind = alibi" OF_ROFORMER "rotary positions"},
    {"roformer position.scaling=linear position.scale=2",
     "position.scaling = linear" OF_ROFORMER "no scaling of its frequencies"},
    {"roformer model.activation=elu_plus_one",
     "model.activation = elu_plus_one" OF_ROFORMER "no such function"},
    {"roformer model.kind=decoder", "model.norm = post cannot be exported: a GPT-NeoX of Hugging "
                                    "Face has its norms before the blocks"},
    {"roformer model.norm_kind=rms", "model.norm_kind = rms" OF_ROFORMER "LayerNorm"},
    {"roformer model.ffn=geglu", "model.ffn = geglu" OF_ROFORMER "no gates"},
    {"roformer model.bias=none", "model.bias = none" OF_ROFORMER "biases"},
    {"roformer model.kv_heads=1", "model.kv_heads = 1" OF_ROFORMER "keys for every head"},
    {"roformer model.window=4", "model.window = 4" OF_ROFORMER "attention to all tokens"},
    {"roformer position.every=2", "position.every = 2" OF_ROFORMER "positions in every layer"},
    {"roformer model.causal=yes position.xpos=512",
     "position.xpos = 512" OF_ROFORMER "no decay of its scores"},
    {"roformer model.norm_bias=no", "model.norm_bias = no" OF_ROFORMER "biases in its norms"},
    {"roformer model.token_dropout=yes",
     "model.token_dropout = yes" OF_ROFORMER "no token dropout"},
    {"roformer model.embedding_norm=no",
     "model.embedding_norm = no" OF_ROFORMER "a norm over its embeddings"},
    {"decoder head=sequence labels=2 model.pool=mean",
     "model.pool = mean" OF_LLAMA "no class for it"},
    {"decoder model.norm=post", "model.norm = post" OF_LLAMA "its norms before the blocks"},
    {"decoder model.norm_kind=layer", "model.norm_kind = layer" OF_LLAMA "RMS norms"},
    {"decoder model.ffn=plain", "model.ffn = plain" OF_LLAMA "gates"},
    {"decoder model.attention=linear_elu",
     "model.attention = linear_elu" OF_LLAMA "softmax attention"},
    {"decoder model.causal=no", "model.causal = no" OF_LLAMA "causal attention"},
    {"decoder model.embedding_dim=16",
     "model.embedding_dim = 16" OF_LLAMA "embeddings as wide as its layers"},
    {"decoder types=2", "token types = 2" OF_LLAMA "none"},
    {"decoder model.bias=all model.window=4",
     "model.bias = all cannot be exported with model.window = 4: a Mistral of Hugging Face has no "
     "biases"},
    {"decoder position.kind=alibi", "position.kind = alibi" OF_LLAMA "rotary positions"},
    {"decoder position.rotate_value=yes",
     "position.rotate_value = yes" OF_LLAMA "values that are not rotated"},
    /* which a SmolLM3 without biases has */
    {"decoder position.every=2 model.bias=all",
     "position.every = 2" OF_LLAMA "positions in every layer"},
    {"decoder position.scaling=dynamic position.original_len=8 position.fraction=0.5",
     "position.scaling = dynamic" OF_LLAMA
     "it for all of a head and frequencies that are geometric"},
    {"decoder model.heads=1 model.dim=1024 theta.learn=yes theta.scope=model",
     "theta of heads of 1024 cannot be exported: they must be listed, which rotor does for 512 at "
     "most"},
    {"decoder position.xpos=12.5", "position.xpos = 12.5" OF_LLAMA "no decay of its scores"},
    {"decoder model.embedding_norm=yes",
     "model.embedding_norm = yes" OF_LLAMA "no norm over its embeddings"},
    {"decoder model.first_norm=no",
     "model.first_norm = no" OF_LLAMA "a norm before the attention of every layer"},
    {"decoder model.window=4 model.layer_types=full,sliding position.local_base=100",
     "position.local_base = 100 cannot be exported: a SmolLM3 of Hugging Face has one base for all "
     "layers"},
    {"modernbert model.bias=qkv",
     "model.bias = qkv" OF_MODERNBERT "biases in all maps, in the last one alone or in none"},
    {"modernbert head=token labels=3",
     "model.classifier = dense" OF_MODERNBERT "a norm in its head for labels"},
    {"modernbert position.fraction=0.5",
     THETA_OF " with position.local_base: a fixed theta of a ModernBERT of Hugging Face is then "
              "geometric, of all pairs"},
    {"modernbert model.head_dim=4",
     "model.head_dim = 4 cannot be exported: heads of a ModernBERT of Hugging Face have model.dim "
     "/ model.heads features"},
    {"modernbert model.embedding_norm=no",
     "model.embedding_norm = no" OF_MODERNBERT "a norm over its embeddings"},
    {"modernbert model.qk_norm=yes",
     "model.qk_norm = yes" OF_MODERNBERT "no norms of queries and keys"},
    {"modernbert head=sequence labels=3 model.bias=none model.classifier=norm",
     "model.bias = none" OF_MODERNBERT "biases in all maps or in the last one alone"},
    {"esm head=sequence labels=3",
     "model.classifier = dense" OF_ESM
     "tanh in its head for labels of texts, and a matrix for those of tokens"},
    {"esm position.fraction=0.5",
     THETA_OF ": a fixed theta of an ESM of Hugging Face is geometric, of all pairs"},
    {"esm model.activation=relu", "model.activation = relu" OF_ESM "gelu"},
    {"esm model.window=3", "model.window = 3" OF_ESM "attention to all tokens"},
};

/* As a file of llama.cpp. */
static const char *const gguf_rules[][2] = {
    {"roformer", "model.kind = roformer" OF_LLAMA_CPP "the layers of a decoder"},
    {"decoder model.ffn=geglu", "model.ffn = geglu" OF_LLAMA_CPP},
    {"decoder model.norm_kind=layer", "model.norm_kind = layer" OF_LLAMA_CPP},
    {"decoder position.kind=alibi", "position.kind = alibi" OF_LLAMA_CPP},
    {"decoder position.scaling=dynamic position.scale=2 position.original_len=8",
     "position.scaling = dynamic" OF_LLAMA_CPP "a theta that does"},
    {"decoder model.qk_norm=yes model.bias=all", "model.qk_norm = yes" OF_LLAMA_CPP "no norms"},
    {"decoder model.qk_norm=yes theta.learn=yes",
     "theta.learn = yes" OF_QWEN3_CPP "a theta of base^(-2i/D)"},
    {"decoder model.qk_norm=yes position.scaling=linear position.scale=4",
     "position.scaling = linear" OF_QWEN3_CPP "a theta of"},
    {"decoder model.qk_norm=yes position.fraction=0.5",
     "position.fraction = 0.5" OF_QWEN3_CPP "a theta of"},
    {"decoder theta.learn=yes theta.scope=head", "theta.scope = head" OF_LLAMA_CPP},
    {"decoder", "a model of token ids alone cannot be exported as GGUF"},
};

SUITE(.setup = make_scratch, .teardown = remove_all)

TEST_ROWS(what_transformers_cannot_express_is_refused_by_its_key, 0, ROWS(rules))
{
    const rt_transformer_options o = options_of(rules[_i][0]);
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_CONFIG, rules[_i][1]);
    ck_assert(!exists(in_scratch("out")));
}

TEST_ROWS(what_llama_cpp_cannot_express_is_refused_by_its_key, 0, ROWS(gguf_rules))
{
    const rt_transformer_options o = options_of(gguf_rules[_i][0]);
    rt_transformer *model = new_model(&o);
    const rt_status status = rt_gguf_write(in_scratch("out.gguf"), model,
                                           &(rt_huggingface_export){.length = 8}, RT_GGUF_F32);
    ck_assert_int_eq(status.code, RT_CONFIG);
    expect_in(status.message, gguf_rules[_i][1]);
    ck_assert_int_eq(files_in_scratch(), 0);
}

/* ---- what is computed ---- */

static size_t compute(rt_transformer *model, double *logits)
{
    rt_graph *g = rt_graph_new();
    int32_t ids[B * T], types[B * T];
    for (int n = 0; n < B * T; n++) {
        ids[n] = n * 5 % 13;
        types[n] = model->options.token_types > 1 ? n % 2 : 0;
    }
    const rt_transformer_input in = {
        .B = B, .T = T, .ids = ids, .token_types = types, .padding_id = RT_NO_PADDING};
    const rt_tensor *made = rt_transformer_forward(model, g, &in);
    assert_status(rt_graph_status(g), RT_OK, "");
    const size_t size = rt_size(made);
    ck_assert_uint_le(size, MOST);
    for (size_t i = 0; i < size; i++)
        logits[i] = (double)made->data[i];
    rt_graph_free(g);
    return size;
}

/* Writes a model and reads it again, with its values in *copy, which must compute the same. */
static rt_huggingface *expect_kept(rt_transformer *model, const char *class, double most,
                                   rt_transformer **copy)
{
    double here[MOST], again[MOST];
    rt_huggingface_taken taken;
    const size_t size = compute(model, here);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert_str_eq(there->architecture, class);
    *copy = new_model(&there->options);
    assert_status(rt_huggingface_load(there, *copy, true, &taken), RT_OK, "");
    ck_assert(taken.head && taken.theta);
    ck_assert_uint_eq(compute(*copy, again), size);
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(fabs(here[i] - again[i]) <= most, "%s: logit %zu is %.17g, again %.17g",
                      class, i, here[i], again[i]);
    return there;
}

static void expect_words_kept(const char *words, const char *class)
{
    rt_transformer *model = model_of_words(words), *copy;
    /* theta that are not geometric are read off a table of floats */
    const bool table = !strncmp(words, "roformer", 8) && strstr(words, "position.frequencies");
    rt_huggingface *there = expect_kept(model, class, table ? 2e-5 : tolerance, &copy);
    ck_assert(there->options.theta.learn == table);
}

#define SCALED                                                                                     \
    "decoder position.base=30 position.scale=2.5 position.original_len=6 position.scaling="
#define LLAMA_LM    "LlamaForCausalLM"
#define MODERN_LM   "ModernBertForMaskedLM"
#define ROFORMER_LM "RoFormerForMaskedLM"
static const char *const kept[][2] = {
    {"roformer position.pairing=half", ROFORMER_LM},
    {"roformer position.pairing=half position.rotate_value=yes theta.head_scale=yes", ROFORMER_LM},
    {"roformer position.pairing=half position.fraction=0.5 theta.head_scale=yes", ROFORMER_LM},
    {"roformer position.pairing=half position.fraction=0.5 position.rotate_value=yes", ROFORMER_LM},
    /* the largest eps that the key takes */
    {"roformer theta.head_scale=yes model.tie_embeddings=no model.embedding_dim=10 types=2 "
     "model.activation=gelu_tanh model.norm_eps=1",
     ROFORMER_LM},
    {"roformer position.rotate_value=yes theta.head_scale=yes position.frequencies=linear "
     "model.causal=yes model.activation=silu",
     "RoFormerForCausalLM"},
    {"roformer position.base=30", ROFORMER_LM},
    {"decoder", LLAMA_LM},
    {"decoder model.tie_embeddings=yes theta.head_scale=yes", LLAMA_LM},
    {"decoder model.kv_heads=2 theta.head_scale=yes", LLAMA_LM},
    {"decoder model.window=4", "MistralForCausalLM"},
    {"decoder model.bias=all theta.head_scale=yes", LLAMA_LM},
    {"decoder model.ffn=geglu theta.head_scale=yes", LLAMA_LM},
    {"decoder position.pairing=interleaved", LLAMA_LM},
    {"decoder position.pairing=interleaved position.fraction=0.75 theta.head_scale=yes", LLAMA_LM},
    {"decoder position.fraction=0.75 theta.head_scale=yes", LLAMA_LM},
    {"decoder position.frequencies=reciprocal", LLAMA_LM},
    {SCALED "linear theta.head_scale=yes", LLAMA_LM},
    {SCALED "ntk theta.head_scale=yes", LLAMA_LM},
    {SCALED "yarn", LLAMA_LM},
    {SCALED "dynamic theta.head_scale=yes", LLAMA_LM},
    {SCALED "longrope theta.head_scale=yes position.short_factors=1,1.1,1.2,1.5 "
            "position.long_factors=1.5,2,3,4",
     LLAMA_LM},
    {SCALED "llama3", LLAMA_LM},
    {"modernbert", MODERN_LM},
    {"modernbert model.bias=all model.norm_bias=yes model.ffn=swiglu model.activation=silu "
     "model.tie_embeddings=no",
     MODERN_LM},
    {"modernbert model.bias=none position.pairing=interleaved", MODERN_LM},
    {"modernbert model.layer_types=", MODERN_LM}, /* all of them slide */
    {"modernbert model.layer_types= model.window=0 position.local_base=0", MODERN_LM},
    {"modernbert position.scaling=linear position.scale=2.5", MODERN_LM},
    {"modernbert position.local_base=0 position.fraction=0.5", MODERN_LM},
    {"modernbert head=sequence labels=3 model.classifier=norm",
     "ModernBertForSequenceClassification"},
    {"modernbert head=sequence labels=3 model.classifier=norm model.pool=mean",
     "ModernBertForSequenceClassification"},
    {"modernbert head=token labels=3 model.classifier=norm", "ModernBertForTokenClassification"},
    {"modernbert model.window=1", MODERN_LM},
    {"esm", "EsmForMaskedLM"},
    {"esm model.embedding_norm=yes model.token_dropout=no model.tie_embeddings=no "
     "position.pairing=interleaved",
     "EsmForMaskedLM"},
    {"esm head=sequence labels=3 model.classifier=tanh", "EsmForSequenceClassification"},
    {"esm head=token labels=3", "EsmForTokenClassification"},
};

TEST_ROWS(what_is_exported_computes_the_same, 0, ROWS(kept))
{
    expect_words_kept(kept[_i][0], kept[_i][1]);
}

/* ---- learned theta ---- */

#define LEARNED " theta.learn=yes theta.init=perturbed theta.init_sigma=1 position.base=700"
#define YARN    " position.scaling=yarn position.scale=4 position.original_len=6"
/* Of scope model, theta is one for layers with a window and those without: see the test. */
static const char *const learning[][2] = {
    {"roformer", ROFORMER_LM},
    {"roformer position.fraction=0.5", ROFORMER_LM},
    {"decoder", LLAMA_LM},
    {"decoder position.fraction=0.5", LLAMA_LM},
    {"decoder" YARN, LLAMA_LM}, /* cosines and sines are longer */
    {"decoder model.kv_heads=2 position.fraction=0.5" YARN, LLAMA_LM},
    {"modernbert", MODERN_LM},
    {"esm", "EsmForMaskedLM"},
};
enum { SCOPES = 3, FORMS = 2 };

TEST_ROWS(learned_theta_are_read_again, 0, ROWS(learning) * SCOPES * FORMS)
{
    const char *const *row = learning[_i / (SCOPES * FORMS)];
    double a[64], b[64];
    char words[256];
    snprintf(words, sizeof words, "%s" LEARNED, row[0]);
    rt_transformer_options o = options_of(words);
    o.theta.scope = (rt_theta_scope)(_i % SCOPES);
    o.theta.form = (rt_theta_form)(_i / SCOPES % FORMS);
    if (o.theta.scope == RT_THETA_MODEL)
        o.position.local_base = 0;
    const size_t count = rt_transformer_theta_count(&o);
    rt_transformer *model = shaken_model(&o), *copy;
    rt_huggingface *there = expect_kept(model, row[1], tolerance, &copy);
    const rt_transformer_options *read = &there->options;
    ck_assert(read->theta.learn && read->position.frequencies.base == 700);
    ck_assert_int_eq(read->theta.scope, o.theta.scope);
    ck_assert_int_eq(read->theta.form, o.theta.form);
    ck_assert(read->position.fraction == o.position.fraction);
    ck_assert(read->position.local_base == o.position.local_base);
    ck_assert_uint_le(count, 64);
    rt_transformer_theta(model, a);
    rt_transformer_theta(copy, b);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs(a[i] / b[i] - 1) < 1e-14, "theta %zu: %.17g, again %.17g", i, a[i],
                      b[i]);
    for (int i = 0; i < model->parameters.count; i++) {
        const rt_parameter *p = model->parameters.list[i];
        const rt_parameter *q = rt_parameters_find(&copy->parameters, p->name);
        ck_assert_msg(q &&
                          (p->role == RT_ROLE_THETA || !memcmp(p->tensor.data, q->tensor.data,
                                                               rt_size(&p->tensor) * sizeof(real))),
                      "%s has other values", p->name);
    }
}

static const char *const contradicted[][2] = {
    {"roformer", "config.json: rotor_theta does not match "
                 "roformer.encoder.embed_positions.weight; rotor uses the table\n"},
    {"decoder",
     "config.json: rotor_theta does not match rope_parameters; rotor uses rope_parameters\n"},
    {"esm", "config.json: rotor_theta does not match inv_freq; rotor uses rope_theta\n"},
    {"modernbert", NULL},
};

/* A theta that contradicts the rest of the folder is not used. */
TEST_ROWS(theta_that_made_nothing_of_the_folder_are_left, 0, ROWS(contradicted))
{
    char words[64];
    rt_huggingface *there;
    snprintf(words, sizeof words, "%s theta.learn=yes", contradicted[_i][0]);
    written_model(words);
    change_file("out/config.json", "[[1, ", "[[1.01, ");
    const rt_status status = rt_huggingface_open(&there, in_scratch("out"));
    if (contradicted[_i][1]) {
        assert_status(status, RT_OK, "");
        ck_assert_str_eq(there->warnings, contradicted[_i][1]);
        ck_assert(!there->options.theta.learn);
        ck_assert_int_eq(there->options.position.frequencies.scaling,
                         _i == 1 ? RT_SCALING_LONGROPE : RT_SCALING_NONE);
        ck_assert(_i || there->options.position.frequencies.base == 10000);
        rt_huggingface_close(there);
    } else {
        assert_status(status, RT_CHECKPOINT,
                      "config.json: rope_parameters: full_attention and sliding_attention must "
                      "have one scaling: rotor has one for all layers");
    }
}

TEST(a_theta_that_is_not_finite_is_not_exported)
{
    rt_transformer *model = model_of_words("decoder" LEARNED);
    model->layers[0].encoding->data[1] = (real)NAN;
    assert_status(write_model(model), RT_NONFINITE, "theta is nan at 1: it is not exported");
    ck_assert(!exists(in_scratch("out")));
}

/* theta = 1 / (factor base^(2i/D)), which is what transformers computes of longrope. */
TEST(rope_parameters_have_a_learned_theta)
{
    static const double own[] = {1.5, -0.25, 0, 1e-4};
    rt_transformer *model = model_of_words("decoder" LEARNED " theta.scope=model theta.form=raw");
    rt_transformer_set_theta(model, own);
    assert_status(write_model(model), RT_OK, "");
    json_t *config = read_config();
    const json_t *rope = json_object_get(config, "rope_parameters");
    const json_t *factors = json_object_get(rope, "short_factor");
    ck_assert_str_eq(json_string_value(json_object_get(rope, "rope_type")), "longrope");
    ck_assert_int_eq(json_array_size(factors), 4);
    ck_assert(json_equal(factors, json_object_get(rope, "long_factor")));
    ck_assert(json_equal(rope, json_object_get(config, "rope_scaling")));
    for (size_t i = 0; i < 4; i++) {
        const double factor = json_number_value(json_array_get(factors, i));
        const double theta = pow(700, -(double)i / 4) / factor;
        ck_assert_msg(fabs(theta - own[i]) <= 1e-7 * fabs(own[i]) + 1e-38, "%zu: %.17g", i, theta);
    }
    json_decref(config);
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert(there->options.theta.learn && there->theta[2] == 0);
}

/* ---- inv_freq of an ESM ---- */

/* Older versions look for it in each layer. */
TEST(every_layer_of_an_esm_has_its_theta)
{
    static const char *const names[] = {
        "esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq",
        "esm.encoder.layer.2.attention.self.rotary_embeddings.inv_freq"};
    rt_transformer *model = model_of_words("esm");
    rt_safetensors *weights;
    assert_status(write_model(model), RT_OK, "");
    assert_status(rt_safetensors_open(&weights, in_scratch("out/model.safetensors")), RT_OK, "");
    for (int i = 0; i < 2; i++) {
        double theta[4];
        const rt_safetensor *t = rt_safetensors_find(weights, names[i]);
        ck_assert(t && t->count == 4);
        assert_status(rt_safetensors_doubles(t, 0, 4, theta), RT_OK, "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq_tol(theta[k], pow(700, -k / 4.0), 1e-7);
    }
    rt_safetensors_close(weights);
}

/* Some published folders have rounded it. Any layer may have another. */
TEST_ROWS(a_buffer_that_rope_theta_did_not_make_is_a_warning, 0, 2)
{
    static const float rounded[] = {1, 0.2F, 0.03F, 0.007F};
    char name[96];
    written_model("esm");
    ck_assert_int_eq(rename(in_scratch("out/model.safetensors"), in_scratch("model.safetensors")),
                     0);
    snprintf(name, sizeof name, "esm.encoder.layer.%d.attention.self.rotary_embeddings.inv_freq",
             _i);
    set_numbers(name, 0, 4, rounded);
    ck_assert_int_eq(rename(in_scratch("model.safetensors"), in_scratch("out/model.safetensors")),
                     0);
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings,
                     "inv_freq is not what rope_theta makes it; rotor uses rope_theta\n");
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
    expect_words_kept("modernbert model.layer_types=full,sliding,full", MODERN_LM);
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
    expect_words_kept("modernbert model.layer_types=sliding,sliding,full", MODERN_LM);
    config = read_config();
    ck_assert_ptr_null(json_object_get(config, "global_attn_every_n_layers"));
    json_decref(config);
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
        const rt_huggingface_export export = {.length = 8, .vocabulary = v, .overwrite = true};
        rt_transformer *model = model_of_words(i ? "esm" : "modernbert");
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
    }
    json_t *settings;
    assert_status(rt_json_read_file(&settings, in_scratch("out"), "tokenizer_config.json"), RT_OK,
                  "");
    expect_json(settings, "tokenizer_class", "\"EsmTokenizer\"");
    json_decref(settings);
    rt_vocabulary_free(v);
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
    rt_transformer_options o = options_of(_i ? "decoder" : "modernbert");
    o.vocab = v->count;
    const rt_huggingface_export export = {.length = 8, .vocabulary = v, .overwrite = true};
    rt_transformer *model = new_model(&o);
    assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
    ck_assert_int_eq(template_ends(), !_i);
    char *card = (char *)file_bytes(in_scratch("out/README.md"), &size);
    card[size] = '\0'; /* file_bytes leaves room for it */
    ck_assert_int_eq(strstr(card, "and `[SEP]` after the text, which rotor does not") != NULL, !_i);
    free(card);
    rt_vocabulary_free(v);
    free(file);
}

TEST_ROWS(the_positions_are_those_that_a_scaling_asks_for, 0, 7)
{
    static const struct {
        rt_scaling scaling;
        double scale;
        int original, positions;
    } cases[] = {
        {RT_SCALING_NONE, 1, 0, 8},         {RT_SCALING_YARN, 4, 1000, 4000},
        {RT_SCALING_YARN, 1.3, 1001, 1001}, {RT_SCALING_DYNAMIC, 2, 77, 77},
        {RT_SCALING_LLAMA3, 2, 4, 8},       {RT_SCALING_LLAMA3, 2, 1536, 1537},
        {RT_SCALING_YARN, 1e6, 1000, 1000},
    };
    rt_transformer_options o = options_of("decoder");
    o.position.frequencies.scaling = cases[_i].scaling;
    o.position.frequencies.scale = cases[_i].scale;
    o.position.frequencies.original_len = cases[_i].original;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->max_positions, cases[_i].positions);
    ck_assert_int_eq(there->length, 8);
}

TEST(the_base_of_ntk_is_written)
{
    written_model("decoder position.scaling=ntk position.scale=8");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->options.position.frequencies.scaling, RT_SCALING_NONE);
    ck_assert(fabs(there->options.position.frequencies.base / 160000 - 1) < 1e-14);
}

TEST(ids_have_a_meaning_if_there_is_a_vocabulary)
{
    rt_vocabulary *v;
    rt_transformer *model = model_of_words("decoder");
    assert_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)"bca\n", 4), RT_OK, "");
    rt_huggingface_export export = {.vocabulary = v, .length = 8, .overwrite = true};
    assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
    json_t *config = read_config();
    ck_assert_int_eq(json_integer_value(json_object_get(config, "bos_token_id")), 1);
    ck_assert(json_is_null(json_object_get(config, "eos_token_id"))); /* it has learned none */
    ck_assert(json_is_integer(json_object_get(config, "pad_token_id")));
    json_decref(config);
    for (v->ends = (rt_end_ids){1, {3, 0, 5}}; v->ends.count < 4; v->ends.count += 2) {
        assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
        config = read_config();
        const json_t *ends = json_object_get(config, "eos_token_id");
        ck_assert_int_eq((int)json_array_size(ends), v->ends.count > 1 ? 3 : 0);
        ck_assert_int_eq(json_integer_value(json_is_array(ends) ? json_array_get(ends, 0) : ends),
                         3);
        json_decref(config);
        rt_huggingface *there = opened_folder(in_scratch("out"));
        ck_assert(!memcmp(there->ends.ids, v->ends.ids, (size_t)v->ends.count * sizeof(int32_t)));
        ck_assert_int_eq(there->ends.count, v->ends.count);
    }
    assert_status(write_model(model), RT_OK, "");
    config = read_config();
    ck_assert(json_is_null(json_object_get(config, "bos_token_id")));
    ck_assert(json_is_null(json_object_get(config, "eos_token_id")));
    ck_assert(json_is_null(json_object_get(config, "pad_token_id")));
    json_decref(config);
    rt_vocabulary_free(v);
}

TEST_ROWS(the_card_says_how_it_turns, 0, 6)
{
    static const char *const rows[][2] = {
        {"decoder model.window=3", "theta_i = 10000^(-2i/8), which is fixed.\n"},
        {"decoder position.scaling=linear position.scale=2",
         "theta_i = 10000^(-2i/8), which is fixed and scaled (position.scaling = linear).\n"},
        {"decoder theta.learn=yes theta.scope=model",
         "was learned with the weights; `rope_parameters` in config.json has it"},
        {"decoder theta.learn=yes", "was learned separately for every layer. transformers has one "
                                    "theta for all: `rope_parame"},
        {"decoder theta.learn=yes theta.scope=head", "was learned separately for every head. "},
        {"decoder theta.learn=yes theta.scope=head model.kv_heads=1",
         "was learned separately for every head of keys. "},
    };
    char card[8192];
    written_model(rows[_i][0]);
    read_into(card, sizeof card, "out/README.md");
    expect_in(card, _i == 0 ? "\n- mistral\n" : "\n- llama\n");
    expect_in(card, "\n# A Llama\n");
    expect_in(card, rows[_i][1]);
    ck_assert((strstr(card, "attention.q_proj).register_forward_hook(rotate)") != NULL) ==
              (_i >= 3));
}
