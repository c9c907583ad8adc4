/* Models of all families written as folders, and read again. */

#include "io/huggingface/hf_folder.h"
#include "tokenizer_fixtures.h"

#include "io/gguf/gguf.h"

enum { B = 2, T = 9, MOST = B * T * 13 };
static const double tolerance = 1e-11;

#define A_ROFORMER "a RoFormer of Hugging Face has "
#define A_LLAMA    "a Llama of Hugging Face has "
#define A_BERT     "a ModernBERT of Hugging Face has "
#define AN_ESM     "an ESM of Hugging Face has "

/* The words of a model, the setting that the message names, and the value of the family; or words
 * and the whole message. */
#define NO_THETA_OF "position.frequencies and position.fraction cannot be exported"
static const struct {
    const char *words, *setting, *has;
} rules[] = {
    {"roformer types=2", "model.norm=pre", A_ROFORMER "its norms behind the blocks"},
    {"roformer", "model.attention=linear_elu", A_ROFORMER "softmax attention"},
    {"roformer", "position.kind=alibi", A_ROFORMER "rotary positions"},
    {"roformer position.scale=2", "position.scaling=linear",
     A_ROFORMER "no scaling of its frequencies"},
    {"roformer", "model.activation=elu_plus_one", A_ROFORMER "no such function"},
    {"roformer", "model.norm_kind=rms", A_ROFORMER "LayerNorm"},
    {"roformer", "model.ffn=geglu", A_ROFORMER "no gates"},
    {"roformer", "model.bias=none", A_ROFORMER "biases"},
    {"roformer", "model.kv_heads=1", A_ROFORMER "keys for every head"},
    {"roformer", "model.window=4", A_ROFORMER "attention to all tokens"},
    {"roformer", "position.every=2", A_ROFORMER "positions in every layer"},
    {"roformer model.causal=yes", "position.xpos=512", A_ROFORMER "no decay of its scores"},
    {"roformer", "model.norm_bias=no", A_ROFORMER "biases in its norms"},
    {"roformer", "model.token_dropout=yes", A_ROFORMER "no token dropout"},
    {"roformer", "model.embedding_norm=no", A_ROFORMER "a norm over its embeddings"},
    {"decoder head=sequence labels=2", "model.pool=mean", A_LLAMA "no class for it"},
    {"decoder", "model.norm=post", A_LLAMA "its norms before the blocks"},
    {"decoder", "model.norm_kind=layer", A_LLAMA "RMS norms"},
    {"decoder", "model.ffn=plain", A_LLAMA "gates"},
    {"decoder", "model.attention=linear_elu", A_LLAMA "softmax attention"},
    {"decoder", "model.causal=no", A_LLAMA "causal attention"},
    {"decoder", "model.embedding_dim=16", A_LLAMA "embeddings as wide as its layers"},
    {"decoder", "position.kind=alibi", A_LLAMA "rotary positions"},
    {"decoder", "position.rotate_value=yes", A_LLAMA "values that are not rotated"},
    /* which a SmolLM3 without biases has */
    {"decoder model.bias=all", "position.every=2", A_LLAMA "positions in every layer"},
    {"decoder position.original_len=8 position.fraction=0.5", "position.scaling=dynamic",
     A_LLAMA "it for all of a head and frequencies that are geometric"},
    {"decoder", "position.xpos=12.5", A_LLAMA "no decay of its scores"},
    {"decoder", "model.embedding_norm=yes", A_LLAMA "no norm over its embeddings"},
    {"decoder", "model.first_norm=no", A_LLAMA "a norm before the attention of every layer"},
    {"decoder model.window=4 model.layer_types=full,sliding", "position.local_base=100",
     "a SmolLM3 of Hugging Face has one base for all layers"},
    {"modernbert", "model.bias=qkv", A_BERT "biases in all maps, in the last one alone or in none"},
    {"modernbert", "model.head_dim=4",
     "heads of a ModernBERT of Hugging Face have model.dim / model.heads features"},
    {"modernbert", "model.embedding_norm=no", A_BERT "a norm over its embeddings"},
    {"modernbert", "model.qk_norm=yes", A_BERT "no norms of queries and keys"},
    {"modernbert head=sequence labels=3 model.classifier=norm", "model.bias=none",
     A_BERT "biases in all maps or in the last one alone"},
    {"esm", "model.activation=relu", AN_ESM "gelu"},
    {"esm", "model.window=3", AN_ESM "attention to all tokens"},
    /* messages of another form */
    {"decoder types=2", NULL, "token types = 2 cannot be exported: " A_LLAMA "none"},
    {"decoder model.bias=all model.window=4", NULL,
     "model.bias = all cannot be exported with model.window = 4: a Mistral of Hugging Face has no "
     "biases"},
    {"decoder model.heads=1 model.dim=1024 theta.learn=yes theta.scope=model", NULL,
     "theta of heads of 1024 cannot be exported: they must be listed, which rotor does for 512 at "
     "most"},
    {"modernbert head=token labels=3", NULL,
     "model.classifier = dense cannot be exported: " A_BERT "a norm in its head for labels"},
    {"modernbert position.fraction=0.5", NULL,
     NO_THETA_OF " with position.local_base: a fixed theta of a ModernBERT of Hugging Face is then "
                 "geometric, of all pairs"},
    {"esm head=sequence labels=3", NULL,
     "model.classifier = dense cannot be exported: " AN_ESM
     "tanh in its head for labels of texts, and a matrix for those of tokens"},
    {"esm position.fraction=0.5", NULL,
     NO_THETA_OF ": a fixed theta of an ESM of Hugging Face is geometric, of all pairs"},
};

/* Message about a file of llama.cpp. */
#define OF_LLAMA_CPP " cannot be exported: a Llama of llama.cpp has "
#define OF_QWEN3_CPP " cannot be exported: a Qwen3 of llama.cpp has a theta of"
static const char *const gguf_rules[][2] = {
    {"roformer", "model.kind = roformer" OF_LLAMA_CPP "the layers of a decoder"},
    {"decoder model.ffn=geglu", "model.ffn = geglu" OF_LLAMA_CPP},
    {"decoder model.norm_kind=layer", "model.norm_kind = layer" OF_LLAMA_CPP},
    {"decoder position.kind=alibi", "position.kind = alibi" OF_LLAMA_CPP},
    {"decoder position.scaling=dynamic position.scale=2 position.original_len=8",
     "position.scaling = dynamic" OF_LLAMA_CPP "a theta that does"},
    {"decoder model.qk_norm=yes model.bias=all", "model.qk_norm = yes" OF_LLAMA_CPP "no norms"},
    {"decoder model.qk_norm=yes theta.learn=yes", "theta.learn = yes" OF_QWEN3_CPP " base^(-2i/D)"},
    {"decoder model.qk_norm=yes position.scaling=linear position.scale=4",
     "position.scaling = linear" OF_QWEN3_CPP},
    {"decoder model.qk_norm=yes position.fraction=0.5", "position.fraction = 0.5" OF_QWEN3_CPP},
    {"decoder theta.learn=yes theta.scope=head", "theta.scope = head" OF_LLAMA_CPP},
    {"decoder", "a model of token ids alone cannot be exported as GGUF"},
};

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* "KEY=VALUE" is reported as "KEY = VALUE cannot be exported: ...". */
TEST_ROWS(an_option_that_transformers_cannot_express_is_refused_by_its_key, 0, ROWS(rules))
{
    const char *key = rules[_i].setting, *value = key ? strchr(key, '=') + 1 : "";
    const rt_transformer_options o = options_of(lasting("%s %s", rules[_i].words, key ? key : ""));
    const char *message = rules[_i].has;
    if (key)
        message = lasting("%.*s = %s cannot be exported: %s", (int)(value - key) - 1, key, value,
                          rules[_i].has);
    is_status(write_model(new_model(&o, 3)), RT_CONFIG, message);
    ck_assert(!exists(in_scratch("out")));
}

TEST_ROWS(an_option_that_llama_cpp_cannot_express_is_refused_by_its_key, 0, ROWS(gguf_rules))
{
    const rt_transformer_options o = options_of(gguf_rules[_i][0]);
    is_status_with(rt_gguf_write(in_scratch("out.gguf"), new_model(&o, 3),
                                 &(rt_huggingface_export){.length = 8}, RT_GGUF_F32),
                   RT_CONFIG, gguf_rules[_i][1]);
    ck_assert_int_eq(files_in_scratch(), 0);
}

static size_t compute(rt_transformer *model, double *logits)
{
    int32_t ids[B * T], types[B * T];
    for (int n = 0; n < B * T; n++) {
        ids[n] = n * 5 % 13;
        types[n] = model->options.token_types > 1 ? n % 2 : 0;
    }
    rt_graph *g = new_graph();
    const rt_tensor *t =
        made(g, rt_transformer_forward(model, g,
                                       &INPUT(.B = B, .T = T, .ids = ids, .token_types = types)));
    const size_t size = rt_size(t);
    ck_assert_uint_le(size, MOST);
    for (size_t i = 0; i < size; i++)
        logits[i] = (double)t->data[i];
    return size;
}

/* Writes a model and reads it again, with its values in *copy, which must compute the same. */
static rt_huggingface *expect_kept(rt_transformer *model, const char *class, double most,
                                   rt_transformer **copy)
{
    double here[MOST], again[MOST];
    const size_t size = compute(model, here);
    expect_ok(write_model(model));
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert_str_eq(there->architecture, class);
    *copy = new_model(&there->options, 3);
    const rt_huggingface_taken taken = take_values(there, *copy);
    ck_assert(taken.head && taken.theta);
    ck_assert_uint_eq(compute(*copy, again), size);
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(fabs(here[i] - again[i]) <= most, "%s: logit %zu is %.17g, again %.17g",
                      class, i, here[i], again[i]);
    return there;
}

static void expect_words_kept(const char *words, const char *class)
{
    rt_transformer *copy;
    /* theta that are not geometric are read off a table of floats */
    const bool table = !strncmp(words, "roformer", 8) && strstr(words, "position.frequencies");
    rt_huggingface *there =
        expect_kept(model_of_words(words), class, table ? 2e-5 : tolerance, &copy);
    ck_assert(there->options.theta.learn == table);
    if (strstr(words, "labels=3"))
        ck_assert_int_eq(json_object_size(json_object_get(read_json("config.json"), "label2id")),
                         3);
}

#define SCALED                                                                                     \
    "decoder position.base=30 position.scale=2.5 position.original_len=6 position.scaling="
#define NEOX                                                                                       \
    "decoder model.norm_kind=layer model.ffn=plain model.bias=all model.residual=parallel "        \
    "position.fraction=0.5"
#define NEOX_LM     "GPTNeoXForCausalLM"
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
    {"roformer head=sequence labels=3", "RoFormerForSequenceClassification"},
    {"roformer head=token labels=3", "RoFormerForTokenClassification"},
    {"decoder model.tie_embeddings=yes theta.head_scale=yes", LLAMA_LM},
    {"decoder model.kv_heads=2 theta.head_scale=yes", LLAMA_LM},
    {"decoder model.bias=all theta.head_scale=yes", LLAMA_LM},
    {"decoder model.ffn=geglu theta.head_scale=yes", LLAMA_LM},
    {"decoder position.pairing=interleaved", LLAMA_LM},
    {"decoder position.pairing=interleaved position.fraction=0.75 theta.head_scale=yes", LLAMA_LM},
    {"decoder position.fraction=0.75 theta.head_scale=yes", LLAMA_LM},
    {"decoder position.frequencies=reciprocal", LLAMA_LM},
    {SCALED "linear theta.head_scale=yes", LLAMA_LM},
    {SCALED "ntk theta.head_scale=yes", LLAMA_LM},
    {SCALED "dynamic theta.head_scale=yes", LLAMA_LM},
    {SCALED "longrope theta.head_scale=yes position.short_factors=1,1.1,1.2,1.5 "
            "position.long_factors=1.5,2,3,4",
     LLAMA_LM},
    /* queries, keys and values in one tensor, head by head */
    {NEOX, NEOX_LM},
    {NEOX " position.pairing=interleaved theta.head_scale=yes model.bias=ffn", NEOX_LM},
    {NEOX " position.pairing=interleaved position.fraction=1 model.residual=serial", NEOX_LM},
    {"modernbert model.bias=all model.norm_bias=yes model.ffn=swiglu model.activation=silu "
     "model.tie_embeddings=no",
     MODERN_LM},
    {"modernbert model.bias=none position.pairing=interleaved", MODERN_LM},
    {"modernbert model.layer_types=", MODERN_LM}, /* all of them slide */
    {"modernbert model.layer_types= model.window=0 position.local_base=0", MODERN_LM},
    {"modernbert position.scaling=linear position.scale=2.5", MODERN_LM},
    {"modernbert position.local_base=0 position.fraction=0.5", MODERN_LM},
    {"modernbert head=sequence labels=3 model.classifier=norm model.pool=mean",
     "ModernBertForSequenceClassification"},
    {"modernbert model.window=1", MODERN_LM},
    {"esm model.embedding_norm=yes model.token_dropout=no model.tie_embeddings=no "
     "position.pairing=interleaved",
     "EsmForMaskedLM"},
};

TEST_ROWS(an_exported_model_computes_the_same, 0, ROWS(kept))
{
    expect_words_kept(kept[_i][0], kept[_i][1]);
}

#define LEARNED " theta.learn=yes theta.init=perturbed theta.init_sigma=1 position.base=700"
#define YARN    " position.scaling=yarn position.scale=4 position.original_len=6"
/* With scope model, layers with a window and layers without one share theta. */
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
    rt_transformer_options o = options_of(lasting("%s" LEARNED, row[0]));
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
        if (p->role != RT_ROLE_THETA)
            expect_same_parameter(p, copy);
        ck_assert_ptr_nonnull(rt_parameters_find(&copy->parameters, p->name));
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

TEST_ROWS(theta_that_contradicts_the_folder_is_ignored, 0, ROWS(contradicted))
{
    rt_huggingface *there;
    written_model(lasting("%s theta.learn=yes", contradicted[_i][0]));
    change_file("out/config.json", "[[1, ", "[[1.01, ");
    const rt_status status = rt_huggingface_open(&there, in_scratch("out"));
    if (contradicted[_i][1]) {
        expect_ok(status);
        ck_assert_str_eq(there->warnings, contradicted[_i][1]);
        ck_assert(!there->options.theta.learn);
        ck_assert_int_eq(there->options.position.frequencies.scaling,
                         _i == 1 ? RT_SCALING_LONGROPE : RT_SCALING_NONE);
        ck_assert(_i || there->options.position.frequencies.base == 10000);
        rt_huggingface_close(there);
    } else {
        is_status(status, RT_CHECKPOINT,
                  "config.json: rope_parameters: full_attention and sliding_attention must "
                  "have one scaling: rotor has one for all layers");
    }
}

TEST(a_theta_that_is_not_finite_is_not_exported)
{
    rt_transformer *model = model_of_words("decoder" LEARNED);
    model->layers[0].encoding->data[1] = (real)NAN;
    is_status(write_model(model), RT_NONFINITE, "theta is nan at 1: it is not exported");
    ck_assert(!exists(in_scratch("out")));
}

/* transformers computes theta = 1 / (factor base^(2i/D)) for longrope. */
TEST(rope_parameters_have_a_learned_theta)
{
    static const double own[] = {1.5, -0.25, 0, 1e-4};
    rt_transformer *model = model_of_words("decoder" LEARNED " theta.scope=model theta.form=raw");
    rt_transformer_set_theta(model, own);
    expect_ok(write_model(model));
    const json_t *config = read_json("config.json");
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
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert(there->options.theta.learn && there->theta[2] == 0);
}

#define INV_FREQ       "esm.encoder.layer.%d.attention.self.rotary_embeddings.inv_freq"
#define OTHER_INV_FREQ "inv_freq is not what rope_theta makes it; rotor uses rope_theta\n"

/* Older versions look for it in each layer. */
TEST(every_layer_of_an_esm_has_its_theta)
{
    written_model("esm");
    rt_safetensors *weights = opened_weights("out/model.safetensors");
    for (int layer = 0; layer <= 2; layer += 2) {
        double theta[4];
        const rt_safetensor *t = rt_safetensors_find(weights, lasting(INV_FREQ, layer));
        ck_assert(t && t->count == 4);
        expect_ok(rt_safetensors_doubles(t, 0, 4, theta));
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq_tol(theta[k], pow(700, -k / 4.0), 1e-7);
    }
}

/* Some published folders have rounded it. Any layer may have another. */
TEST_ROWS(a_buffer_that_rope_theta_did_not_make_is_a_warning, 0, 2)
{
    written_model("esm");
    set_numbers("out/model.safetensors", lasting(INV_FREQ, _i), 0, 4,
                (float[]){1, 0.2F, 0.03F, 0.007F});
    ck_assert_str_eq(opened_folder(in_scratch("out"))->warnings, OTHER_INV_FREQ);
}

/* The shape is that of heads of another size, or of no theta. */
TEST(a_buffer_of_another_shape_is_a_warning)
{
#define BEHIND_STAR "esm.encoder.layer.*.attention.self.rotary_embeddings.inv_freq\":{\"dtype\":\"F"
    copy_fixture("esm", NULL,
                 CHANGES(BEHIND_STAR "32\",\"shape\":[4]", BEHIND_STAR "16\",\"shape\":[8]"));
    ck_assert_str_eq(opened_folder(scratch)->warnings, OTHER_INV_FREQ);
}

static void expect_json(const json_t *config, const char *key, const char *wanted)
{
    char *text = json_dumps(json_object_get(config, key), JSON_ENCODE_ANY | JSON_COMPACT);
    ck_assert_msg(text && !strcmp(text, wanted), "%s is %s, not %s", key, text ? text : "missing",
                  wanted);
    free(text);
}

TEST(the_config_has_the_keys_of_older_versions)
{
    expect_words_kept("modernbert model.layer_types=full,sliding,full", MODERN_LM);
    const json_t *config = read_json("config.json");
    expect_json(config, "global_attn_every_n_layers", "2");
    expect_json(config, "local_attention", "4");
    expect_json(config, "model_type", "\"modernbert\"");
    expect_json(config, "dtype", "\"float32\"");
    expect_json(config, "global_rope_theta", "700");
    expect_json(config, "local_rope_theta", "30");
    expect_json(config, "layer_types",
                "[\"full_attention\",\"sliding_attention\",\"full_attention\"]");
    expect_json(config, "rope_parameters",
                "{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":700},"
                "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":30}}");
    expect_words_kept("modernbert model.layer_types=sliding,sliding,full", MODERN_LM);
    ck_assert_ptr_null(json_object_get(read_json("config.json"), "global_attn_every_n_layers"));
}

static void write_with_vocabulary(const rt_transformer *model, rt_vocabulary *v)
{
    expect_ok(
        write_with(model,
                   &(rt_huggingface_export){.length = 8, .vocabulary = v, .overwrite = true}));
}

TEST_ROWS(ids_of_special_tokens_are_those_of_the_vocabulary, 0, 2)
{
    static const char residues[] = "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\nG\nV\nS\nE\nR\nT\n<mask>\n";
    rt_vocabulary *v = vocabulary_of((rt_vocabulary_kind){.level = RT_LEVEL_RESIDUE}, residues);
    write_with_vocabulary(model_of_words(_i ? "esm" : "modernbert"), v);
    const json_t *config = read_json("config.json");
    expect_json(config, "pad_token_id", "1");
    expect_json(config, _i ? "mask_token_id" : "cls_token_id", _i ? "12" : "0");
    if (!_i)
        expect_json(config, "sep_token_id", "2");
    else
        expect_json(read_json("tokenizer_config.json"), "tokenizer_class", "\"EsmTokenizer\"");
}

/* Row 1: a causal model continues texts. The template of tokenizer.json has [CLS], the text, and
 * the token after it. */
TEST_ROWS(a_masked_language_model_keeps_the_token_after_a_text, 0, 2)
{
    rt_vocabulary *v = read_vocabulary((rt_vocabulary_kind){.level = RT_LEVEL_BPE},
                                       TEST_SOURCES "/fixtures/bpe/modernbert/tokenizer.json");
    rt_transformer_options o = options_of(_i ? "decoder" : "modernbert");
    o.vocab = v->count;
    write_with_vocabulary(new_model(&o, 3), v);
    const json_t *processor = json_object_get(read_json("tokenizer.json"), "post_processor");
    ck_assert_uint_eq(json_array_size(json_object_get(processor, "single")), _i ? 2 : 3);
    ck_assert_int_eq(strstr(text_in("out/README.md"),
                            "and `[SEP]` after the text, which rotor does not") != NULL,
                     !_i);
}

/* transformers finds the last token of a text with it. A token that ends texts cannot be it: the
 * folder has one more, whose embedding is 0. Row 1: nothing stands behind a text. Row 2: the model
 * comes from elsewhere. Row 3: it has no vocabulary. */
TEST_ROWS(a_decoder_that_labels_texts_has_a_token_of_padding, 0, 4)
{
    rt_vocabulary *v = read_vocabulary((rt_vocabulary_kind){.level = RT_LEVEL_BPE},
                                       TEST_SOURCES "/fixtures/bpe/gpt2/tokenizer.json");
    rt_transformer_options o = options_of("decoder head=sequence labels=2 model.pool=last");
    o.vocab = v->count;
    rt_transformer *model = new_model(&o, 3);
    expect_ok(write_with(model, &(rt_huggingface_export){.length = _i == 2 ? 0 : 8,
                                                         .positions = 8,
                                                         .vocabulary = _i == 3 ? NULL : v,
                                                         .open_ended = _i == 1,
                                                         .overwrite = true}));
    const json_t *config = read_json("config.json");
    const char *pad = lasting("%d", _i ? v->special.pad : v->count);
    expect_json(config, "vocab_size", lasting("%d", v->count + (_i == 0)));
    expect_json(config, "pad_token_id", _i == 2 ? "null" : _i == 3 ? "0" : pad);
    if (_i)
        return;
    expect_json(read_json("tokenizer_config.json"), "pad_token", "\"[PAD]\"");
    const rt_huggingface *there = opened_folder(in_scratch("out"));
    rt_transformer *again = model_of_folder(there);
    take_values(there, again);
    const rt_tensor *one = model->embeddings.tokens, *other = again->embeddings.tokens;
    ck_assert_int_eq(other->shape[0], one->shape[0] + 1);
    for (size_t i = 0; i < rt_size(other); i++)
        ck_assert_float_eq((float)other->data[i], i < rt_size(one) ? (float)one->data[i] : 0);
}

TEST_ROWS(the_number_of_positions_follows_from_the_scaling, 0, 7)
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
    expect_ok(write_model(new_model(&o, 3)));
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->max_positions, cases[_i].positions);
    ck_assert_int_eq(there->length, 8);
}

TEST(special_ids_are_exported_only_with_a_vocabulary)
{
    rt_transformer *model = model_of_words("decoder");
    rt_vocabulary *v = characters_of("bca\n", 4);
    write_with_vocabulary(model, v);
    const json_t *config = read_json("config.json");
    expect_json(config, "bos_token_id", "1");
    expect_json(config, "eos_token_id", "null"); /* it has learned none */
    ck_assert(json_is_integer(json_object_get(config, "pad_token_id")));
    for (v->ends = (rt_end_ids){1, {3, 0, 5}}; v->ends.count < 4; v->ends.count += 2) {
        write_with_vocabulary(model, v);
        expect_json(read_json("config.json"), "eos_token_id", v->ends.count > 1 ? "[3,0,5]" : "3");
        rt_huggingface *there = opened_folder(in_scratch("out"));
        ck_assert(!memcmp(there->ends.ids, v->ends.ids, (size_t)v->ends.count * sizeof(int32_t)));
        ck_assert_int_eq(there->ends.count, v->ends.count);
    }
    expect_ok(write_model(model));
    config = read_json("config.json");
    expect_json(config, "bos_token_id", "null");
    expect_json(config, "eos_token_id", "null");
    expect_json(config, "pad_token_id", "null");
}

TEST_ROWS(the_card_describes_theta, 0, 6)
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
    written_model(rows[_i][0]);
    const char *card = text_in("out/README.md");
    expect_in(card, _i == 0 ? "\n- mistral\n" : "\n- llama\n");
    expect_in(card, "\n# A Llama\n");
    expect_in(card, rows[_i][1]);
    if (_i == 2 || _i == 4) {
        rt_transformer *model = model_of_words(rows[_i][0]);
        expect_ok(write_with(
            model, &(rt_huggingface_export){.length = 8, .theta_kept = true, .overwrite = true}));
        card = text_in("out/README.md");
        expect_in(card, _i == 2 ? ", which was given and not trained; `rope_parameters` in"
                                : ", which was given and not trained, separately for every head. ");
        expect_ok(write_with(model, &(rt_huggingface_export){.length = 8,
                                                             .theta_kept_layers = "0, 2",
                                                             .overwrite = true}));
        ck_assert(!strstr(text_in("out/README.md"),
                          "every head, but given and not trained in layers 0, 2. ") == (_i == 2));
    }
    ck_assert((strstr(card, "attention.q_proj).register_forward_hook(rotate)") != NULL) ==
              (_i >= 3));
}
