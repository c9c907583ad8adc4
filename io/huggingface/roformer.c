/* The family of the RoFormer, and its config.json as it is read. */

#include "io/huggingface/roformer.h"

#include "text/quote.h"

#include <string.h>

const rt_activation_word rt_activation_words[] = {
    {"gelu", RT_GELU},           {"gelu_new", RT_GELU_TANH},
    {"relu", RT_RELU},           {"tanh", RT_TANH},
    {"sigmoid", RT_SIGMOID},     {"silu", RT_SILU},
    {"gelu_python", RT_GELU},    {"gelu_pytorch_tanh", RT_GELU_TANH},
    {"gelu_fast", RT_GELU_TANH}, {"swish", RT_SILU},
};
const int rt_activation_word_count = sizeof rt_activation_words / sizeof *rt_activation_words;

#define TYPE "roformer"
const rt_family_class rt_roformer_classes[] = {
    {"RoFormerForMaskedLM", TYPE, RT_HEAD_LM, true},
    {"RoFormerForCausalLM", TYPE, RT_HEAD_LM, true},
    {"RoFormerForSequenceClassification", TYPE, RT_HEAD_SEQUENCE, true},
    {"RoFormerForTokenClassification", TYPE, RT_HEAD_TOKEN, true},
    {"RoFormerModel", TYPE, RT_HEAD_LM, false},
    {0},
};

#define LAYER "roformer.encoder.layer.N."
static const rt_tensor_names names[] = {
    {"roformer.embeddings.word_embeddings.weight", RT_TOKENS_NAME, RT_PLAIN, RT_ANY_HEAD},
    {RT_HF_TYPES, RT_TYPES_NAME, RT_PLAIN, RT_ANY_HEAD},
    {"roformer.embeddings.LayerNorm", "embeddings.norm", RT_PLAIN, RT_ANY_HEAD},
    {"roformer.embeddings_project", "embeddings.project", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "attention.self.query", "layers.N.attention.query", RT_ROWS, RT_ANY_HEAD},
    {LAYER "attention.self.key", "layers.N.attention.key", RT_ROWS, RT_ANY_HEAD},
    {LAYER "attention.self.value", "layers.N.attention.value", RT_VALUE_ROWS, RT_ANY_HEAD},
    {LAYER "attention.output.dense", "layers.N.attention.output", RT_VALUE_COLUMNS, RT_ANY_HEAD},
    {LAYER "attention.output.LayerNorm", "layers.N.attention_norm", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "intermediate.dense", "layers.N.ffn.up", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "output.dense", "layers.N.ffn.down", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "output.LayerNorm", "layers.N.ffn_norm", RT_PLAIN, RT_ANY_HEAD},
    {"cls.predictions.transform.dense", "head.dense", RT_PLAIN, RT_HEAD_LM},
    {"cls.predictions.transform.LayerNorm", "head.norm", RT_PLAIN, RT_ANY_HEAD},
    {RT_HF_DECODER, RT_OUTPUT_NAME, RT_PLAIN, RT_ANY_HEAD},
    {RT_HF_BIAS, RT_OUTPUT_BIAS_NAME, RT_PLAIN, RT_ANY_HEAD},
    {"classifier.dense", "head.dense", RT_PLAIN, RT_HEAD_SEQUENCE},
    {"classifier.out_proj", "head.classifier", RT_PLAIN, RT_HEAD_SEQUENCE},
    {"classifier", "head.classifier", RT_PLAIN, RT_HEAD_TOKEN},
    {0},
};
#undef LAYER

static rt_activation read_activation(rt_reading *r)
{
    const char *name = rt_reading_find(r, "hidden_act") ? rt_reading_word(r, "hidden_act") : "gelu";
    char quoted[RT_QUOTE_SIZE];
    for (int i = 0; i < rt_activation_word_count; i++)
        if (!strcmp(name, rt_activation_words[i].word))
            return rt_activation_words[i].kind;
    rt_reading_refuse(r,
                      "hidden_act must be gelu, gelu_new, relu, tanh, sigmoid or silu: rotor has "
                      "no other; got %s",
                      rt_quote(quoted, name));
    return RT_GELU;
}

static rt_transformer_options read_options(rt_reading *r)
{
    const int dim = rt_reading_size(r, "hidden_size", 768);
    return (rt_transformer_options){
        .vocab = rt_reading_size(r, "vocab_size", 50000),
        .token_types = rt_reading_size(r, "type_vocab_size", 2),
        .layers = rt_reading_whole(r, "num_hidden_layers", 12, 1, RT_MOST_HF_LAYERS),
        .dim = dim,
        .heads = rt_reading_size(r, "num_attention_heads", 12),
        .embedding_dim = rt_reading_size(r, "embedding_size", dim),
        .ffn_dim = rt_reading_size(r, "intermediate_size", 3072),
        .norm_eps = rt_reading_eps(r, "layer_norm_eps", 1e-12),
        .init_std = RT_INIT_STD,
        .activation = read_activation(r),
        .dropout = rt_reading_below(r, "hidden_dropout_prob", 0.1, 0, 1),
        .attention_dropout = rt_reading_below(r, "attention_probs_dropout_prob", 0.1, 0, 1),
        .causal = rt_reading_flag(r, "is_decoder", false),
        .tie_embeddings = rt_reading_flag(r, "tie_word_embeddings", true),
        .position = {.frequencies = {RT_FREQUENCY_DEFAULTS},
                     .fraction = 1,
                     .rotate_value = rt_reading_flag(r, "rotary_value", false),
                     .every = 1},
        .theta = {.scope = RT_THETA_MODEL},
    };
}

static void read(rt_reading *r, rt_huggingface *there)
{
    there->options = read_options(r);
    there->max_positions = rt_reading_size(r, "max_position_embeddings", 1536);
    const bool given = json_object_get(r->json, "pad_token_id") != NULL;
    const bool none = given && !rt_reading_find(r, "pad_token_id");
    there->padding_id =
        none ? RT_NO_PADDING : rt_reading_whole(r, "pad_token_id", 0, 0, there->options.vocab - 1);
}

static bool is_beside(const rt_huggingface *there, const char *name)
{
    static const char *const of_lm[] = {RT_HF_DECODER, RT_HF_DECODER_BIAS, RT_HF_BIAS};
    for (size_t i = 0; i < sizeof of_lm / sizeof *of_lm; i++)
        if (there->options.head == RT_HEAD_LM && !strcmp(name, of_lm[i]))
            return true;
    return !strcmp(name, RT_HF_TABLE);
}

static const char *const head_prefixes[] = {"cls.", "classifier.", NULL};

const rt_family rt_family_roformer = {
    .name = "RoFormer",
    .classes = rt_roformer_classes,
    .prefix = "roformer.",
    .names = names,
    .head_prefixes = head_prefixes,
    .decoder_bias = RT_HF_DECODER_BIAS,
    .layer_tensors = 16,
    .pairing = RT_INTERLEAVED,
    .is_beside = is_beside,
    .read = read,
    .settle_theta = rt_roformer_settle_theta,
    .expressible = rt_roformer_expressible,
    .class_of = rt_roformer_class_of,
    .put_config = rt_roformer_put_config,
    .add_beside = rt_roformer_add_beside,
    .shared_theta = "`encoder.embed_positions.weight` is its table, so transformers rotates by it "
                    "without any code.",
    .mean_theta = "transformers has one table for all: `encoder.embed_positions.weight` is made of "
                  "the mean, and is not what the model was trained with.",
    .own_theta = rt_roformer_own_theta,
};
