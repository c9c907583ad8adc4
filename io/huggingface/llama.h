#ifndef ROTOR_IO_HUGGINGFACE_LLAMA_H
#define ROTOR_IO_HUGGINGFACE_LLAMA_H

/* Rows and functions of families that are built as Llama, and of all decoders with rope_parameters.
 */

#include "io/huggingface/rope_parameters.h"

/* ---- options ---- */

/* Rows of all decoders. */
#define RT_DECODER_OPTIONS                                                                         \
    {"model.kind", RT_IS, "decoder", "the layers of a decoder"},                                   \
        {"model.pool", RT_IS, "last", NULL}, /* see the classes */                                 \
        {"model.norm", RT_IS, "pre", "its norms before the blocks"},                               \
        {"model.embedding_norm", RT_IS, "no", "no norm over its embeddings"},                      \
        {"model.attention", RT_IS, "softmax", "softmax attention"},                                \
        {"model.causal", RT_IS, "yes", "causal attention"},                                        \
        {"model.embedding_dim", RT_SAME_AS, "model.dim", "embeddings as wide as its layers"},      \
        {"token types", RT_IS, "0", "none"}, {"position.kind", RT_IS, "rope", "rotary positions"}, \
        {"position.rotate_value", RT_IS, "no", "values that are not rotated"},                     \
        {"position.xpos", RT_IS, "0", "no decay of its scores"},                                   \
    {                                                                                              \
        "position.pairing", RT_IS, "half", NULL                                                    \
    }

#define RT_POSITIONS_EVERYWHERE                                                                    \
    {"position.every", RT_IS, "1", "positions in every layer"},                                    \
    {                                                                                              \
        "position.layers", RT_IS, "", "positions in every layer"                                   \
    }

/* Options of all families that are built as Llama. */
extern const rt_option_row rt_llama_options[];

/* ---- config.json ---- */

extern const rt_config_word rt_llama_gates[];

/* 0: as many as heads. */
#define RT_LLAMA_KEY_HEADS(count)                                                                  \
    {                                                                                              \
        "num_key_value_heads", RT_SIZE(kv_heads), .initial = count,                                \
                                                  .same_as = RT_MEMBER_OF(int, heads)              \
    }

#define RT_LLAMA_HEAD_DIM                                                                          \
    {                                                                                              \
        "head_dim", .read = rt_config_read_head_dim, .put = rt_config_put_head_dim                 \
    }
void rt_config_read_head_dim(rt_reading *r, rt_huggingface *there);
void rt_config_put_head_dim(rt_config_writing *w);

/* Keys of transformers by which a decoder attends to both sides, or has a head without biases. */
#define RT_CAUSAL                                                                                  \
    {"is_causal", RT_MUST_BE("true"),                                                              \
     .reason = "a decoder of rotor attends to no token behind its own"},                           \
    {                                                                                              \
        "token_classification_bias", RT_MUST_BE("true"),                                           \
            .reason = "the head of rotor for labels of tokens has a bias"                          \
    }

#define RT_LLAMA_REST                                                                              \
    {"hidden_act", RT_WORD(ffn, rt_llama_gates), .reason = "rotor has no other gates",             \
     .wish = "gates"},                                                                             \
        {"rms_norm_eps", RT_EPS(norm_eps), .initial = 1e-6},                                       \
        {"attention_dropout", RT_SHARE(attention_dropout)}, RT_CAUSAL,                             \
    {                                                                                              \
        "initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD                        \
    }

/* ---- the rest ---- */

extern const char *const rt_llama_unused[]; /* keys of config.json */
extern const rt_tensor_row rt_llama_tensors[];
extern const char *const rt_llama_head_prefixes[];
extern const char rt_llama_own_theta[]; /* of the model card */

#define RT_LIKE_LLAMA                                                                              \
    .alike = rt_llama_options, .prefix = "model.", .tensors = rt_llama_tensors,                    \
    .head_prefixes = rt_llama_head_prefixes, .layer_tensors = 9, .pairing = RT_HALF,               \
    .settle_theta = rt_rope_parameters_settle, .shared_theta = rt_rope_parameters_shared,          \
    .mean_theta = rt_rope_parameters_mean, .own_theta = rt_llama_own_theta

#endif
