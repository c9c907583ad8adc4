/* Families of encoders: RoFormer (Su et al. 2021), ESM-2 (Lin et al. 2023) for proteins, and
 * ModernBERT (Warner et al. 2024), with layers that attend to all tokens or to a window, each type
 * with its base. */

#include "core/memory.h"
#include "io/huggingface/folder.h"
#include "io/huggingface/sines.h"
#include "own_theta.h"

#include <string.h>

/* ---- keys of config.json that several families share ---- */

/* Writes tie_word_embeddings: true for a head without a decoder. */
static void put_tied(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    rt_json_put(&w->object, "tie_word_embeddings",
                json_boolean(o->head != RT_HEAD_LM || o->tie_embeddings));
}

/* Writes pad_token_id of a family that requires one. */
static void put_padding(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const rt_special_ids *special = v ? &v->special : &rt_default_special_ids;
    rt_json_put(&w->object, "pad_token_id", json_integer(special->pad));
}

/* ---- RoFormer ---- */

static const rt_family_class roformer_classes[] = {
    {"RoFormerForMaskedLM", RT_HEAD_LM, true, rt_when_bidirectional},
    {"RoFormerForCausalLM", RT_HEAD_LM, true, rt_when_causal},
    {"RoFormerForSequenceClassification", RT_HEAD_SEQUENCE, true, rt_when_pool_first},
    {"RoFormerForTokenClassification", RT_HEAD_TOKEN, true, NULL},
    {"RoFormerModel", RT_HEAD_LM, false, NULL},
    {0},
};

#define LAYER "roformer.encoder.layer.N."
#define LM    "cls.predictions."
static const rt_tensor_row roformer_tensors[] = {
    {"roformer.embeddings.word_embeddings.weight", .here = {RT_TOKENS_NAME}},
    /* transformers requires token types */
    {"roformer.embeddings.token_type_embeddings.weight", .here = {RT_TYPES_NAME},
     .extra = {RT_AXIS_ONE, RT_AXIS_EMBEDDING}},
    {"roformer.embeddings.LayerNorm", .here = {"embeddings.norm"}},
    {"roformer.embeddings_project", .here = {"embeddings.project"}},
    {RT_HF_TABLE, .spare = true, .extra = {RT_AXIS_POSITIONS, RT_AXIS_TWO_PAIRS},
     .fill = rt_sine_table_fill},
    {LAYER "attention.self.query", .here = {"layers.N.attention.query"}},
    {LAYER "attention.self.key", .here = {"layers.N.attention.key"}},
    {LAYER "attention.self.value", .here = {"layers.N.attention.value"}},
    {LAYER "attention.output.dense", .here = {"layers.N.attention.output"}},
    {LAYER "attention.output.LayerNorm", .here = {"layers.N.attention_norm"}},
    {LAYER "intermediate.dense", .here = {"layers.N.ffn.up"}},
    {LAYER "output.dense", .here = {"layers.N.ffn.down"}},
    {LAYER "output.LayerNorm", .here = {"layers.N.ffn_norm"}},
    {LM "transform.dense", .here = {"head.dense"}, .when = rt_when_lm},
    {LM "transform.LayerNorm", .here = {"head.norm"}},
    {LM "decoder.weight", .here = {RT_OUTPUT_NAME}, .when = rt_when_lm, .spare = true},
    /* transformers uses this one of two biases */
    {LM "decoder.bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm,
     .written = rt_when_untied, .spare = true},
    {LM "bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm, .spare = true},
    {"classifier.dense", .here = {"head.dense"}, .when = rt_when_sequence},
    {"classifier.out_proj", .here = {"head.classifier"}, .when = rt_when_sequence},
    {"classifier", .here = {"head.classifier"}, .when = rt_when_token},
    {0},
};
#undef LAYER
#undef LM

static const rt_option_row roformer_options[] = {
    {"model.kind", RT_IS, "roformer", "the layers of one"},
    {"model.norm_kind", RT_IS, "layer", "LayerNorm"},
    {"model.embedding_norm", RT_IS, "yes", "a norm over its embeddings"},
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.bias", RT_IS, "all", "biases"},
    {"model.kv_heads", RT_SAME_AS, "model.heads", "keys for every head"},
    {"model.norm", RT_IS, "post", "its norms behind the blocks"},
    {"position.scaling", RT_IS, "none", "no scaling of its frequencies"},
    {0},
};

static void put_token_types(rt_config_writing *w)
{
    const int types = w->options->token_types;
    rt_json_put(&w->object, "type_vocab_size", json_integer(types ? types : 1));
}

static void roformer_read_padding(rt_reading *r, rt_huggingface *there)
{
    const bool given = json_object_get(r->json, "pad_token_id") != NULL;
    const bool none = given && !rt_reading_find(r, "pad_token_id");
    there->padding_id =
        none ? RT_NO_PADDING : rt_reading_whole(r, "pad_token_id", 0, 0, there->options.vocab - 1);
}

/* Checks is_causal of a decoder; encoders do not use the key. */
static void check_causal(rt_reading *r, rt_huggingface *there)
{
    const json_t *value = json_object_get(r->json, "is_causal");
    if (there->options.causal && value && !json_is_true(value))
        rt_reading_refuse(r, "is_causal must be true with is_decoder = true: a decoder of rotor "
                             "attends to no token behind its own");
}

static void put_positions(rt_config_writing *w)
{
    rt_json_put(&w->object, "max_position_embeddings", json_integer(rt_sine_table_rows(w->export)));
}

static const rt_config_row roformer_config[] = {
    {"vocab_size", RT_SIZE(vocab), .initial = 50000},
    {"hidden_size", RT_SIZE(dim), .initial = 768},
    {"embedding_size", RT_SIZE(embedding_dim), .same_as = RT_MEMBER_OF(int, dim)},
    {"intermediate_size", RT_SIZE(ffn_dim), .initial = 3072},
    {"num_hidden_layers", RT_LAYERS, .initial = 12},
    {"num_attention_heads", RT_SIZE(heads), .initial = 12},
    {"type_vocab_size", RT_SIZE(token_types), .initial = 2, .put = put_token_types},
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_SIZE), .initial = 1536, .put = put_positions},
    {"hidden_act", RT_WORD(activation, rt_hf_activations), .reason = "rotor has no other",
     .wish = "no such function"},
    {"layer_norm_eps", RT_EPS(norm_eps), .initial = 1e-12},
    {"hidden_dropout_prob", RT_SHARE(dropout), .initial = 0.1},
    {"attention_probs_dropout_prob", RT_SHARE(attention_dropout), .initial = 0.1},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"rotary_value", RT_YES_OR_NO(position.rotate_value)},
    {"is_decoder", RT_YES_OR_NO(causal)},
    {"is_causal", .read = check_causal},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true, .put = put_tied},
    {"add_cross_attention", RT_MUST_BE("false"), .reason = RT_NO_CROSS_ATTENTION,
     .when = rt_always},
    {"pad_token_id", .read = roformer_read_padding, .put = put_padding},
    {0},
};

const rt_family rt_family_roformer = {
    .name = "RoFormer",
    .type = "roformer",
    .classes = roformer_classes,
    .prefix = "roformer.",
    .tensors = roformer_tensors,
    .head_prefixes = RT_KEYS("cls.", "classifier."),
    .layer_tensors = 16,
    .pairing = RT_INTERLEAVED,
    .options = roformer_options,
    .config = roformer_config,
    .resolve_theta = rt_sine_table_resolve,
    .shared_theta = "`encoder.embed_positions.weight` is its table, so transformers rotates by it "
                    "without any code.",
    .mean_theta = "transformers has one table for all: `encoder.embed_positions.weight` is made of "
                  "the mean, and is not what the model was trained with.",
    .own_theta = roformer_py,
};

/* ---- encoders with norms before their blocks ---- */

#define ENCODER_OPTIONS                                                                            \
    {"model.kind", RT_IS, "roformer", "the layers of an encoder"},                                 \
        {"model.norm_kind", RT_IS, "layer", "LayerNorm"},                                          \
        {"model.causal", RT_IS, "no", "attention to both sides"},                                  \
        RT_ROW("model.kv_heads", RT_SAME_AS, "model.heads", "keys for every head")

/* ---- ESM ---- */

/* Computes inv_freq, by which transformers rotates, whatever rope_theta is. */
static void fill_theta(const void *context, size_t first, size_t count, float *values)
{
    const rt_folder_theta *theta = context;
    for (size_t n = 0; n < count; n++)
        values[n] = (float)theta->mean[first + n];
}

/* Rows of a norm, whose weight and bias transformers 5 calls gamma and beta. */
#define NORM(there_name, here_name)                                                                \
    {there_name, .here = {here_name}},                                                             \
        {there_name ".gamma", .here = {here_name ".weight"}, .written = rt_never},                 \
        RT_ROW(there_name ".beta", .here = {here_name ".bias"}, .written = rt_never)

#define LAYER    "esm.encoder.layer.N."
#define INV_FREQ "attention.self.rotary_embeddings.inv_freq"
static const rt_tensor_row esm_tensors[] = {
    {"esm.embeddings.word_embeddings.weight", .here = {RT_TOKENS_NAME}},
    NORM("esm.embeddings.layer_norm", "embeddings.norm"),
    {LAYER "attention.self.query", .here = {"layers.N.attention.query"}},
    {LAYER "attention.self.key", .here = {"layers.N.attention.key"}},
    {LAYER "attention.self.value", .here = {"layers.N.attention.value"}},
    {LAYER INV_FREQ, .spare = true, .extra = {RT_AXIS_PAIRS}, .fill = fill_theta},
    {LAYER "attention.output.dense", .here = {"layers.N.attention.output"}},
    NORM(LAYER "attention.LayerNorm", "layers.N.attention_norm"),
    {LAYER "intermediate.dense", .here = {"layers.N.ffn.up"}},
    {LAYER "output.dense", .here = {"layers.N.ffn.down"}},
    NORM(LAYER "LayerNorm", "layers.N.ffn_norm"),
    NORM("esm.encoder.emb_layer_norm_after", "norm"),
    /* a head that predicts contacts from attention, which transformers would draw */
    {"esm.contact_head.regression.weight", .spare = true,
     .extra = {RT_AXIS_ONE, RT_AXIS_ALL_HEADS}},
    {"esm.contact_head.regression.bias", .spare = true, .extra = {RT_AXIS_ONE}},
    {"lm_head.dense", .here = {"head.dense"}, .when = rt_when_lm},
    NORM("lm_head.layer_norm", "head.norm"),
    {"lm_head.decoder.weight", .here = {RT_OUTPUT_NAME}, .when = rt_when_lm, .spare = true},
    {"lm_head.bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm, .spare = true},
    {"classifier.dense", .here = {"head.dense"}, .when = rt_when_sequence},
    {"classifier.out_proj", .here = {"head.classifier"}, .when = rt_when_sequence},
    {"classifier", .here = {"head.classifier"}, .when = rt_when_token},
    /* buffers, and tensors that only other classes use */
    {"esm.embeddings.position_ids", .spare = true},
    {"esm.embeddings.position_embeddings.weight", .spare = true},
    {"esm.pooler.dense", .spare = true},
    {0},
};
#undef LAYER

static const rt_option_row esm_options[] = {
    ENCODER_OPTIONS,
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.activation", RT_IS, "gelu", "gelu"},
    {"model.bias", RT_IS, "all", "biases"},
    {"model.classifier", RT_IS, "tanh", NULL}, /* see check_esm */
    {"position.scaling", RT_IS, "none", "no scaling of its frequencies"},
    {0},
};

static rt_status check_esm(const rt_family *family, const rt_transformer_options *o)
{
    if ((o->head == RT_HEAD_SEQUENCE && o->classifier != RT_CLASSIFIER_TANH) ||
        (o->head == RT_HEAD_TOKEN && o->classifier == RT_CLASSIFIER_NORM))
        return rt_cannot_export(family, "model.classifier", o,
                                "tanh in its head for labels of texts, and a matrix for those of "
                                "tokens");
    RT_TRY(rt_check_head_dim(family, o));
    if (!o->theta.learn && (o->position.frequencies.family != RT_FREQUENCIES_GEOMETRIC ||
                            2 * rt_transformer_pairs(o) < o->head_dim))
        return rt_error(RT_CONFIG,
                        "position.frequencies and position.fraction cannot be exported: a fixed "
                        "theta of an %s of Hugging Face is geometric, of all pairs",
                        family->name);
    return rt_ok();
}

/* Uses rotor_theta if inv_freq, by which transformers rotates, was made from it, else rope_theta.
 * inv_freq, a buffer that some folders have rounded, may differ from rope_theta. */
static rt_status resolve_esm(rt_huggingface *there)
{
    const rt_folder_theta *written = &there->files->written;
    const rt_transformer_options *o = &there->options;
    const int pairs = rt_transformer_head_dim(o) / 2;
    RT_OWNED double *theta = rt_alloc(2 * (size_t)pairs, sizeof *theta);
    bool same = true;
    RT_TRY(rt_allocated(theta, "theta"));
    if (written->own)
        rt_folder_theta_mean(written, o, RT_THETA_OF_ALL, pairs, theta);
    else
        rt_frequencies(theta, pairs, &o->position.frequencies);
    for (int l = 0; l < o->layers + 2 && same; l++) {
        /* the last two are for all layers, in older folders */
        const char *name = l < o->layers
                               ? RT_PRINTED(RT_NAME_SIZE, "esm.encoder.layer.%d." INV_FREQ, l)
                           : l == o->layers ? "esm.encoder.layer.*." INV_FREQ
                                            : "esm.rotary_embeddings.inv_freq";
        const rt_safetensor *t = rt_huggingface_tensor(there, name);
        if (!t)
            continue;
        same = t->count == (uint64_t)pairs;
        if (same)
            RT_TRY(rt_safetensors_doubles(t, 0, (size_t)pairs, theta + pairs));
        same &= rt_theta_is_near(theta, theta + pairs, pairs);
    }
    if (!written->own && !same)
        rt_writer_add(&there->files->warnings,
                      "inv_freq is not what rope_theta makes it; rotor uses rope_theta\n");
    rt_huggingface_choose_theta(there, same, "inv_freq", "rope_theta");
    return rt_ok();
}

static void read_base(rt_reading *r, rt_huggingface *there)
{
    const double base = rt_reading_above_0(r, "rope_theta", 10000);
    if (!(base > 1))
        rt_reading_refuse(r, "rope_theta must be above 1; got %g", base);
    there->options.position.frequencies.base = base;
}

static void read_mask(rt_reading *r, rt_huggingface *there)
{
    rt_transformer_options *o = &there->options;
    if (o->token_dropout && !rt_reading_find(r, "mask_token_id"))
        rt_reading_refuse(r, "token_dropout = true needs mask_token_id");
    o->mask_id = rt_reading_whole(r, "mask_token_id", 0, 0, o->vocab - 1);
}

static void put_mask(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const int id = v ? v->special.mask : w->options->mask_id;
    rt_json_put(&w->object, "mask_token_id", id >= 0 ? json_integer(id) : json_null());
}

static void read_rotary(rt_reading *r, rt_huggingface *there)
{
    const char *type = rt_reading_word(r, "position_embedding_type");
    (void)there;
    if (strcmp(type, "rotary") != 0)
        rt_reading_refuse(r,
                          "position_embedding_type must be rotary: rotor reads ESM-2, not ESM-1; "
                          "got '%.40s'",
                          *type ? type : "absolute");
}

static const rt_config_row esm_config[] = {
    {"position_embedding_type", RT_MUST_BE("\"rotary\""), .read = read_rotary, .when = rt_always},
    RT_SIZES(33, 768, 3072, 12, 12),
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_SIZE), .initial = 1026},
    {"layer_norm_eps", RT_EPS(norm_eps), .initial = 1e-12},
    {"emb_layer_norm_before",
     RT_SWITCH(embedding_norm, RT_EMBEDDING_NORM_NO, RT_EMBEDDING_NORM_YES)},
    {"token_dropout", RT_YES_OR_NO(token_dropout)},
    {"mask_token_id", .read = read_mask, .put = put_mask},
    {"hidden_dropout_prob", RT_SHARE(dropout), .initial = 0.1},
    {"attention_probs_dropout_prob", RT_SHARE(attention_dropout), .initial = 0.1},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"is_decoder", RT_MUST_BE("false"), .reason = "rotor reads ESM as an encoder",
     .when = rt_always},
    {"add_cross_attention", RT_MUST_BE("false"), .reason = RT_NO_CROSS_ATTENTION,
     .when = rt_always},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true, .put = put_tied},
    {"pad_token_id", .read = rt_config_read_padding, .put = put_padding},
    {"rope_theta", .type = RT_CONFIG_NUMBER,
     .member = RT_MEMBER_OF(double, position.frequencies.base), .read = read_base},
    {"head_dim", .read = rt_config_check_head_dim},
    {0},
};

const rt_family rt_family_esm = {
    .name = "ESM",
    .type = "esm",
    .classes = RT_CLASSES("Esm", "ForMaskedLM", rt_when_pool_first),
    .prefix = "esm.",
    .tensors = esm_tensors,
    .head_prefixes = RT_KEYS("lm_head.", "classifier."),
    .layer_tensors = 16,
    .pairing = RT_HALF,
    .options = esm_options,
    .config = esm_config,
    .unused = RT_KEYS("is_causal", "hidden_act", "vocab_list"),
    .check = check_esm,
    .resolve_theta = resolve_esm,
    .shared_theta = "`inv_freq` of its layers is theta, so transformers rotates by it, to the "
                    "precision of a float, without any code.",
    .mean_theta = "transformers has one theta for all: `inv_freq` is made of the mean, and is not "
                  "what the model was trained with.",
    .own_theta = esm_py, /* rotates queries and keys after their projections */
};

/* ---- ModernBERT ---- */

#define LAYER "model.layers.N."
static const rt_tensor_row modernbert_tensors[] = {
    {"model.embeddings.tok_embeddings.weight", .here = {RT_TOKENS_NAME}},
    {"model.embeddings.norm", .here = {"embeddings.norm"}},
    {LAYER "attn_norm", .here = {"layers.N.attention_norm"}},
    {LAYER "attn.Wqkv",
     .here = {"layers.N.attention.query", "layers.N.attention.key", "layers.N.attention.value"}},
    {LAYER "attn.Wo", .here = {"layers.N.attention.output"}},
    {LAYER "mlp_norm", .here = {"layers.N.ffn_norm"}},
    {LAYER "mlp.Wi", .here = {"layers.N.ffn.gate", "layers.N.ffn.up"}},
    {LAYER "mlp.Wo", .here = {"layers.N.ffn.down"}},
    {"model.final_norm", .here = {"norm"}},
    {"head.dense", .here = {"head.dense"}},
    {"head.norm", .here = {"head.norm"}},
    {"decoder.weight", .here = {RT_OUTPUT_NAME}, .when = rt_when_lm, .spare = true},
    {"decoder.bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm},
    {"classifier", .here = {"head.classifier"}},
    {0},
};
#undef LAYER

static const rt_option_row modernbert_options[] = {
    ENCODER_OPTIONS,
    {"model.first_norm", RT_IS, "no", "no norm before the attention of layer 0"},
    {"model.embedding_norm", RT_IS, "yes", "a norm over its embeddings"},
    {"model.classifier", RT_IS, "norm", NULL}, /* see check_modernbert */
    {"model.window", RT_ANY_VALUE, NULL, NULL},
    {"position.local_base", RT_ANY_VALUE, NULL, NULL},
    {0},
};

static rt_status check_modernbert(const rt_family *family, const rt_transformer_options *o)
{
    const rt_frequency_options *f = &o->position.frequencies;
    const bool labels = o->head != RT_HEAD_LM;
    if (labels && o->classifier != RT_CLASSIFIER_NORM)
        return rt_cannot_export(family, "model.classifier", o, "a norm in its head for labels");
    if (o->bias != RT_BIAS_ALL && o->bias != RT_BIAS_OUTPUT && (labels || o->bias != RT_BIAS_NONE))
        return rt_cannot_export(family, "model.bias", o,
                                labels ? "biases in all maps or in the last one alone"
                                       : "biases in all maps, in the last one alone or in none");
    RT_TRY(rt_check_head_dim(family, o));
    if (!o->theta.learn && rt_layers_differ_in_base(o) &&
        (f->family != RT_FREQUENCIES_GEOMETRIC || 2 * rt_transformer_pairs(o) < o->head_dim))
        return rt_error(RT_CONFIG,
                        "position.frequencies and position.fraction cannot be exported with "
                        "position.local_base: a fixed theta of a %s of Hugging Face is then "
                        "geometric, of all pairs",
                        family->name);
    return rt_rope_parameters_check(family, o);
}

/* Reads the biases of projections. The last projection of a head for labels always has one. */
static void read_bias(rt_reading *r, rt_huggingface *there)
{
    rt_transformer_options *o = &there->options;
    const bool lm = o->head == RT_HEAD_LM;
    const bool attention = rt_reading_flag(r, "attention_bias", false);
    const bool mlp = rt_reading_flag(r, "mlp_bias", false);
    const bool head = rt_reading_flag(r, "classifier_bias", false);
    const bool last = !lm || rt_reading_flag(r, "decoder_bias", true) || !there->has_head;
    if (mlp != attention || head != attention || (attention && !last))
        rt_reading_refuse(r,
                          "attention_bias, mlp_bias, classifier_bias = %s, %s, %s%s: rotor has "
                          "biases in all maps of a model, in the last one alone or in none",
                          attention ? "true" : "false", mlp ? "true" : "false",
                          head ? "true" : "false", last ? "" : " without decoder_bias");
    o->bias = attention ? RT_BIAS_ALL : last ? RT_BIAS_OUTPUT : RT_BIAS_NONE;
}

static void put_bias(rt_config_writing *w)
{
    const rt_bias bias = w->options->bias;
    rt_json_put(&w->object, "attention_bias", json_boolean(bias == RT_BIAS_ALL));
    rt_json_put(&w->object, "mlp_bias", json_boolean(bias == RT_BIAS_ALL));
    rt_json_put(&w->object, "classifier_bias", json_boolean(bias == RT_BIAS_ALL));
    rt_json_put(&w->object, "decoder_bias", json_boolean(bias != RT_BIAS_NONE));
}

/* Reads the layers with a window; without layer_types all but every third, from layer 0 on. A token
 * sees `local_attention / 2` or `sliding_window` others on either side; the window is one more. */
static void read_layers(rt_reading *r, rt_huggingface *there)
{
    enum { EVERY = 3, ATTENTION = 128 };
    bool by_rule[RT_MOST_HF_LAYERS];
    const int every = rt_reading_size(r, "global_attn_every_n_layers", EVERY);
    const int half = rt_reading_whole(r, "local_attention", ATTENTION, 0, RT_MOST_SIZE) / 2;
    const int around = rt_reading_whole(r, "sliding_window", half, 0, RT_MOST_SIZE);
    for (int l = 0; l < there->options.layers; l++)
        by_rule[l] = l % every != 0;
    rt_layer_types_read(r, there, around + 1, by_rule);
}

/* Writes layer_types and, for older versions, N if every N-th layer attends to all tokens. */
static void put_layers(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    bool same = false;
    rt_layer_types_put(w);
    for (int every = 1; every <= o->layers && !same; every++) {
        same = true;
        for (int l = 0; l < o->layers; l++)
            same &= (rt_layer_row_of(o, l).window > 0) == (l % every != 0);
        if (same)
            rt_json_put(&w->object, "global_attn_every_n_layers", json_integer(every));
    }
    if (o->window)
        rt_json_put(&w->object, "local_attention", json_integer(2 * (o->window - 1)));
}

static const rt_config_word gates[] = {
    {"gelu", RT_FFN_GEGLU},
    {"silu", RT_FFN_SWIGLU},
    {"gelu_python", RT_FFN_GEGLU},
    {"swish", RT_FFN_SWIGLU},
    {0},
};

static const rt_config_word poolings[] = {{"cls", RT_POOL_FIRST}, {"mean", RT_POOL_MEAN}, {0}};

/* Writes the dropouts of transformers for which rotor has a single one. */
static void put_dropouts(rt_config_writing *w)
{
    static const char *const keys[] = {"embedding_dropout", "mlp_dropout", "classifier_dropout"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        rt_json_put(&w->object, keys[i], json_real(w->options->dropout));
}

static const rt_config_row modernbert_config[] = {
    RT_SIZES(50368, 768, 1152, 22, 12),
    {"hidden_activation", RT_WORD(ffn, gates), .reason = "rotor has no other gates",
     .wish = "gates"},
    {"classifier_activation", RT_WORD(activation, rt_hf_activations),
     .reason = "rotor has no other", .wish = "no such function"},
    {"classifier_pooling", RT_WORD(pool, poolings), .reason = "rotor has no other",
     .wish = "the first token or the mean of all"},
    {"norm_eps", RT_EPS(norm_eps), .initial = 1e-5},
    {"norm_bias", RT_SWITCH(norm_bias, RT_WITHOUT, RT_WITH)},
    {"attention_bias", .read = read_bias, .put = put_bias,
     .also = RT_KEYS("mlp_bias", "classifier_bias", "decoder_bias")},
    {"attention_dropout", RT_SHARE(attention_dropout)},
    {"mlp_dropout", RT_SHARE(dropout), .put = put_dropouts},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"is_decoder", RT_MUST_BE("false"), .reason = "windows of a ModernBERT are symmetric"},
    {"layer_types", .read = read_layers, .put = put_layers,
     .also = RT_KEYS("global_attn_every_n_layers", "local_attention", "sliding_window")},
    {"head_dim", .read = rt_config_check_head_dim},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true, .put = put_tied},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},
    RT_ROPE_PARAMETERS_BASED(8192, "global_rope_theta", "local_rope_theta",
                             "partial_rotary_factor"),
    {0},
};

const rt_family rt_family_modernbert = {
    .name = "ModernBERT",
    .type = "modernbert",
    .classes = RT_CLASSES("ModernBert", "ForMaskedLM", rt_when_pool_first_or_mean),
    .prefix = "model.",
    .tensors = modernbert_tensors,
    .head_prefixes = RT_KEYS("head.", "decoder.", "classifier."),
    .layer_tensors = 5,
    .rope = {.base = 160000,
             .old_base = "global_rope_theta",
             .sliding = &(const rt_rope_rules){.base = 10000, .old_base = "local_rope_theta"}},
    .pairing = RT_HALF,
    .options = modernbert_options,
    .config = modernbert_config,
    .unused = RT_KEYS("is_causal", "embedding_dropout", "initializer_cutoff_factor",
                      "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index",
                      "reference_compile", "repad_logits_with_grad", "layer_norm_eps",
                      "position_embedding_type"),
    .check = check_modernbert,
    .mean_theta = "transformers has one theta for layers with a window and one for the others: "
                  "`rope_parameters` in config.json is made of their means, and is not what the "
                  "model was trained with.",
    .own_theta = modernbert_py, /* rotates queries and keys after their projection */
};
