#include "models/keys.h"

#include "models/options.h"

#include <math.h>
#include <string.h>

#define OPTIONS rt_transformer_options

RT_KEY_WORDS(kind_word, RT_MODEL_KINDS)
RT_KEY_WORDS(norm_word, RT_NORM_ORDERS)
RT_KEY_WORDS(norm_kind_word, RT_NORM_KINDS)
RT_KEY_WORDS(ffn_word, RT_FFNS)
RT_KEY_WORDS(bias_word, RT_BIASES)
RT_KEY_WORDS(activation_word, RT_ACTIVATIONS)
RT_KEY_WORDS(attention_word, RT_ATTENTIONS)
RT_KEY_WORDS(frequencies_word, RT_FREQUENCIES)
RT_KEY_WORDS(scaling_word, RT_SCALINGS)
RT_KEY_WORDS(pairing_word, RT_PAIRINGS)
RT_KEY_WORDS(scope_word, RT_THETA_SCOPES)
RT_KEY_WORDS(form_word, RT_THETA_FORMS)
RT_KEY_WORDS(init_word, RT_THETA_INITS)

/* What the conditions of several keys have in common. */
#define ROTATED "position.kind = rope"
#define LEARNED "theta.learn = yes"

/* clang-format off */
static const rt_key keys[] = {
    {"model", "kind", CHOICE(kind, kind_word), "roformer",
     "what the model is built as; decoder has other defaults, no norm over the embeddings, and an "
     "output layer that is a matrix alone",
     RT_FIXED, ALWAYS},
    {"model", "layers", WHOLE(layers, 1, 1000), "2", "encoder layers", RT_FIXED, ALWAYS},
    {"model", "dim", WHOLE(dim, 1, RT_MOST_SIZE), "64", "width; divisible by heads", RT_FIXED,
     ALWAYS},
    {"model", "heads", WHOLE(heads, 1, RT_MOST_SIZE), "4", "attention heads of a layer", RT_FIXED,
     ALWAYS},
    {"model", "kv_heads", WHOLE(kv_heads, 0, RT_MOST_SIZE), "0",
     "heads of keys and values, shared by heads; divides heads, 0 = heads", RT_FIXED, ALWAYS},
    {"model", "embedding_dim", WHOLE(embedding_dim, 0, RT_MOST_SIZE), "0",
     "width of the embeddings; 0 = dim", RT_FIXED, ALWAYS},
    {"model", "ffn_dim", WHOLE(ffn_dim, 0, RT_MOST_SIZE), "0",
     "width inside the feed-forward blocks; 0 = 4 dim", RT_FIXED, ALWAYS},
    {"model", "norm", CHOICE(norm, norm_word), "post",
     "norm after or before each block", RT_FIXED, ALWAYS},
    {"model", "norm_kind", CHOICE(norm_kind, norm_kind_word), "layer",
     "LayerNorm, or division by the root of the mean square", RT_FIXED, ALWAYS},
    {"model", "norm_eps", NUMBER(norm_eps, ABOVE_UP_TO(0, 1)), "1e-12",
     "added to the variance, or mean square, in norms", RT_FIXED, ALWAYS},
    {"model", "init_std", NUMBER(init_std, ABOVE(0)), "0.02",
     "standard deviation of weights and embeddings at the start", RT_FIXED, ALWAYS},
    {"model", "ffn", CHOICE(ffn, ffn_word), "plain",
     "feed-forward blocks: an activation, or a product with a gate that goes through silu or gelu",
     RT_FIXED, ALWAYS},
    {"model", "bias", CHOICE(bias, bias_word), "yes",
     "linear maps add a bias; that of a LayerNorm stays", RT_FIXED, ALWAYS},
    {"model", "activation", CHOICE(activation, activation_word), "gelu",
     "function inside plain feed-forward blocks and the output layers", RT_FIXED,
     "model.kind = roformer | model.ffn = plain | data.task = order, classify"},
    {"model", "dropout", NUMBER(dropout, FROM_BELOW(0, 1)), "0",
     "share of features dropped in training", RT_FIXED, ALWAYS},
    {"model", "attention_dropout", NUMBER(attention_dropout, FROM_BELOW(0, 1)), "0",
     "share of attention weights dropped in training", RT_FIXED, ALWAYS},
    {"model", "attention", CHOICE(attention, attention_word), "softmax",
     "softmax of scores, or a product of features whose cost is linear in the length", RT_FIXED,
     ALWAYS},
    {"model", "causal", YES_NO(causal), "no",
     "a token attends to itself and those before it only", RT_FIXED, ALWAYS},
    {"model", "window", WHOLE(window, 0, RT_MOST_SIZE), "0",
     "a token attends to those less than this many places away; 0 = to all", RT_FIXED, ALWAYS},
    {"model", "tie_embeddings", YES_NO(tie_embeddings), "yes",
     "the output layer uses the table of the embeddings", RT_FIXED,
     "data.task != order, classify, tag"},

    {"position", "kind", CHOICE(position.kind, rt_encoding_word), "rope",
     "positional encoding", RT_FIXED, ALWAYS},
    {"position", "pairing", CHOICE(position.pairing, pairing_word), "interleaved",
     "RoPE layout: interleaved (GPT-J) or half (NeoX, LLaMA)", RT_FIXED, ROTATED},
    {"position", "base", NUMBER(position.frequencies.base, ABOVE(1)), "10000",
     "theta_i = base^(-2i/R), R rotated features", RT_FIXED,
     "position.kind = sinusoidal | position.kind = rope & position.frequencies = geometric, linear | theta.learn = yes"},
    {"position", "fraction", NUMBER(position.fraction, FROM_TO(0, 1)), "1.0",
     "share of each head's pairs that is rotated", RT_FIXED, ROTATED},
    {"position", "rotate_value", YES_NO(position.rotate_value), "no",
     "rotate the values as well as queries and keys", RT_FIXED, ROTATED},
    {"position", "xpos", NUMBER(position.xpos, AT_LEAST(0)), "0",
     "xPos: scale in tokens, at least 1, over which scores of causal attention decay with the "
     "distance; published: 512; a text can have 32 times as many; 0 = no decay",
     RT_FIXED, ALWAYS},
    {"position", "every", WHOLE(position.every, 1, RT_MOST_SIZE), "1",
     "N: every N-th layer has no positions; 1 = all layers have them", RT_FIXED, ALWAYS},
    {"position", "frequencies", CHOICE(position.frequencies.family, frequencies_word),
     "geometric", "base^(-2i/R), evenly spaced between the same extremes, or 1/(1+i)", RT_FIXED,
     ROTATED},
    {"position", "scaling", CHOICE(position.frequencies.scaling, scaling_word), "none",
     "stretches theta for texts longer than those that a model was trained on", RT_FIXED,
     "position.scale > 1 | position.scaling = dynamic, longrope | position.attention_factor > 0"},
    {"position", "scale", NUMBER(position.frequencies.scale, AT_LEAST(1)), "1",
     "for scaling: how many times longer", RT_FIXED, "position.scaling != none"},
    {"position", "original_len", WHOLE(position.frequencies.original_len, 0, RT_MOST_SIZE), "0",
     "for yarn, dynamic, longrope, llama3: the length that a model was trained on; 0 = data.length",
     RT_FIXED, "position.scaling = yarn, dynamic, longrope, llama3"},
    {"position", "beta_fast", NUMBER(position.frequencies.beta_fast, ABOVE(0)), "32",
     "for yarn: pairs with as many rotations within original_len keep their theta", RT_FIXED,
     "position.scaling = yarn"},
    {"position", "beta_slow", NUMBER(position.frequencies.beta_slow, ABOVE(0)), "1",
     "for yarn: pairs with as few rotations have theta / scale", RT_FIXED, "position.scaling = yarn"},
    {"position", "high_freq_factor", NUMBER(position.frequencies.high_freq_factor, ABOVE(0)),
     "4", "for llama3: pairs with as many rotations within original_len keep their theta", RT_FIXED,
     "position.scaling = llama3"},
    {"position", "low_freq_factor", NUMBER(position.frequencies.low_freq_factor, ABOVE(0)),
     "1", "for llama3: pairs with as few rotations have theta / scale", RT_FIXED,
     "position.scaling = llama3"},
    {"position", "attention_factor", NUMBER(position.frequencies.attention_factor, AT_LEAST(0)),
     "0", "for yarn and longrope: what cosines and sines are multiplied by; 0 = as published", RT_FIXED,
     "position.scaling = yarn, longrope"},
    {"position", "short_factors", FACTORS(position.frequencies.short_factors), "",
     "for longrope: what the theta of each pair is divided by up to original_len", RT_FIXED,
     "position.scaling = longrope"},
    {"position", "long_factors", FACTORS(position.frequencies.long_factors), "",
     "for longrope: the same for longer sequences", RT_FIXED, "position.scaling = longrope"},
    {"position", "init_std", NUMBER(position.init_std, AT_LEAST(0)), "0",
     "for learned, t5 and shaw: that of what is learned of positions; 0 = model.init_std", RT_FIXED,
     "position.kind = learned, t5, shaw"},
    {"position", "max_len", WHOLE(position.max_len, 0, RT_MOST_SIZE), "0",
     "for learned: the size of the table; 0 = the longest length used", RT_FIXED,
     "position.kind = learned"},

    {"theta", "learn", YES_NO(theta.learn), "no", "theta is a parameter", RT_FIXED, ALWAYS},
    {"theta", "scope", CHOICE(theta.scope, scope_word), "layer",
     "what has a theta of its own; with kv_heads, head is each head of keys", RT_FIXED, LEARNED},
    {"theta", "form", CHOICE(theta.form, form_word), "log",
     "whether the parameter is ln theta or theta", RT_FIXED, LEARNED},
    {"theta", "init", CHOICE(theta.init, init_word), "frequencies",
     "where theta starts: as position.* says, those times e^(sigma z), or log-uniform", RT_FIXED,
     LEARNED},
    {"theta", "init_sigma", NUMBER(theta.init_sigma, AT_LEAST(0)), "0.5",
     "for perturbed: sigma", RT_FIXED, "theta.init = perturbed"},
    {"theta", "head_scale", YES_NO(theta.head_scale), "no",
     "a learned factor on the scores of each query head, 1 at the start", RT_FIXED, ALWAYS},
};
/* clang-format on */

const rt_key_table rt_model_keys = {keys, sizeof keys / sizeof *keys};

const char *rt_model_decoder_default(const rt_key *key)
{
    static const char *const defaults[][3] = {
        {"model", "norm", "pre"},        {"model", "norm_kind", "rms"},
        {"model", "norm_eps", "1e-5"},   {"model", "ffn", "swiglu"},
        {"model", "bias", "no"},         {"model", "activation", "silu"},
        {"model", "causal", "yes"},      {"model", "tie_embeddings", "no"},
        {"position", "pairing", "half"},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!strcmp(defaults[i][0], key->section) && !strcmp(defaults[i][1], key->name))
            return defaults[i][2];
    return NULL;
}
