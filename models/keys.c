#include "models/keys.h"

#include "models/options.h"

#include <math.h>

#define OPTIONS rt_transformer_options

RT_KEY_WORDS(kind_word, RT_MODEL_KINDS)
RT_KEY_WORDS(norm_word, RT_NORM_ORDERS)
RT_KEY_WORDS(norm_kind_word, RT_NORM_KINDS)
RT_KEY_WORDS(presence_word, RT_PRESENCES)
RT_KEY_WORDS(embedding_norm_word, RT_EMBEDDING_NORMS)
RT_KEY_WORDS(ffn_word, RT_FFNS)
RT_KEY_WORDS(bias_word, RT_BIASES)
RT_KEY_WORDS(residual_word, RT_RESIDUALS)
RT_KEY_WORDS(layer_type_word, RT_LAYER_TYPES)
RT_KEY_WORDS(layer_position_word, RT_LAYER_POSITIONS)
RT_KEY_WORDS(activation_word, RT_ACTIVATIONS)
RT_KEY_WORDS(attention_word, RT_ATTENTIONS)
RT_KEY_WORDS(classifier_word, RT_CLASSIFIERS)
RT_KEY_WORDS(pool_word, RT_POOLINGS)
RT_KEY_WORDS(frequencies_word, RT_FREQUENCIES)
RT_KEY_WORDS(scaling_word, RT_SCALINGS)
RT_KEY_WORDS(pairing_word, RT_PAIRINGS)
RT_KEY_WORDS(mixing_word, RT_MIXINGS)
RT_KEY_WORDS(forget_word, RT_FORGETS)
RT_KEY_WORDS(length_word, RT_LENGTH_SCALES)
RT_KEY_WORDS(scope_word, RT_THETA_SCOPES)
RT_KEY_WORDS(form_word, RT_THETA_FORMS)
RT_KEY_WORDS(init_word, RT_THETA_INITS)

/* Conditions that several keys share. */
#define ROTATED   IS("position.kind", "rope")
#define TURNED    IS("position.kind", "rope", "pope")
#define SELECTIVE IS("position.kind", "selective")
#define EVEN      IS("position.frequencies", "geometric", "linear")
#define LEARNED   IS("theta.learn", "yes")

/* clang-format off */
static const rt_key keys[] = {
    {"model", "kind", CHOICE(kind, kind_word), "roformer",
     "architecture: roformer (BERT-like) or decoder (LLaMA-like); decoder has other defaults and "
     "an output layer that is a single matrix", RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(SAME)},
    {"model", "layers", WHOLE(layers, 1, 1000), "2",
     "number of layers; each is an attention block and a feed-forward block", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME)},
    {"model", "dim", WHOLE(dim, 1, RT_MOST_SIZE), "64",
     "width of the hidden states; divisible by heads, unless head_dim is set", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME)},
    {"model", "heads", WHOLE(heads, 1, RT_MOST_SIZE), "4", "attention heads per layer",
     RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(SAME)},
    {"model", "kv_heads", WHOLE(kv_heads, 0, RT_MOST_SIZE), "0",
     "key and value heads per layer (grouped-query attention); divides heads; 0 = heads",
     RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(SAME), FOLLOWS},
    {"model", "head_dim", WHOLE(head_dim, 0, RT_MOST_SIZE), "0",
     "features of a head; 0 = dim / heads", RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(SAME), FOLLOWS},
    {"model", "embedding_dim", WHOLE(embedding_dim, 0, RT_MOST_SIZE), "0",
     "width of the embeddings; 0 = dim", RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(SAME), FOLLOWS},
    {"model", "ffn_dim", WHOLE(ffn_dim, 0, RT_MOST_SIZE), "0",
     "hidden width of the feed-forward blocks; 0 = 4 dim", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME), FOLLOWS},
    {"model", "norm", CHOICE(norm, norm_word), "post",
     "post: normalize after each block and its residual; pre: before each block", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME), IN_DECODERS("pre")},
    {"model", "norm_kind", CHOICE(norm_kind, norm_kind_word), "layer",
     "layer: LayerNorm; rms: RMSNorm", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME), IN_DECODERS("rms")},
    {"model", "norm_bias", CHOICE(norm_bias, presence_word), "yes", "LayerNorm has a bias",
     RT_FIXED, WHEN(IS("model.norm_kind", "layer")), HANDED(ALWAYS), FITS(SAME)},
    {"model", "first_norm", CHOICE(first_norm, presence_word), "yes",
     "there is a norm before the attention of layer 0, as in every other layer; ModernBERT has none",
     RT_FIXED, WHEN(IS("model.norm", "pre")), HANDED(ALWAYS), FITS(SAME)},
    {"model", "embedding_norm", CHOICE(embedding_norm, embedding_norm_word), "yes",
     "norm over the embeddings; auto: yes for roformer, no for decoder", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME), IN_DECODERS("no")},
    {"model", "token_dropout", YES_NO(token_dropout), "no",
     "set embeddings of mask tokens to 0 and scale the others by 0.88 / (1 - masked share of the "
     "text), as in ESM-2", RT_FIXED, WHEN(IS("model.causal", "no")), HANDED(BOTH_WAYS)},
    {"model", "residual", CHOICE(residual, residual_word), "serial",
     "serial: the feed-forward block reads x + attention(x); parallel: both read the input of the "
     "layer, as in GPT-NeoX", RT_FIXED, WHEN(IS("model.norm", "pre")), HANDED(ALWAYS)},
    {"model", "norm_eps", NUMBER(norm_eps, ABOVE_UP_TO(0, 1)), "1e-12",
     "epsilon of the norms, added to the variance or mean square", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), IN_DECODERS("1e-5")},
    {"model", "init_std", NUMBER(init_std, ABOVE(0)), "0.02",
     "standard deviation of the initial weights and embeddings", RT_FIXED, ALWAYS, HANDED(ALWAYS)},
    {"model", "ffn", CHOICE(ffn, ffn_word), "plain",
     "feed-forward blocks; plain: two linear layers with an activation between them; swiglu, "
     "geglu: gated, with silu or gelu", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(GATES), IN_DECODERS("swiglu")},
    {"model", "bias", CHOICE(bias, bias_word), "all",
     "linear layers with a bias (the head of a decoder has one only for tag, always); qkv: queries, "
     "keys, values; ffn: feed-forward blocks; output: output layer", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), FITS(SAME), IN_DECODERS("none")},
    {"model", "activation", CHOICE(activation, activation_word), "gelu",
     "activation of plain feed-forward blocks and of the dense layer of a head",
     RT_FIXED, WHEN(IS("model.ffn", "plain"), OR, IS("model.kind", "roformer"),
                    IS_NOT("data.task", "order", "classify", "tag", "images"), OR,
                    IS("model.kind", "roformer"), IS_NOT("data.task", "tag"),
                    IS_NOT("model.classifier", "tanh"), OR,
                    IS("model.kind", "roformer"), IS("model.classifier", "norm")),
     HANDED(ALWAYS), IN_DECODERS("silu")},
    {"model", "dropout", NUMBER(dropout, FROM_BELOW(0, 1)), "0",
     "probability that training drops a feature", RT_FIXED_IN_RUN, ALWAYS, HANDED(ALWAYS)},
    {"model", "attention_dropout", NUMBER(attention_dropout, FROM_BELOW(0, 1)), "0",
     "probability that training drops an attention weight", RT_FIXED_IN_RUN, ALWAYS,
     HANDED(WITH_ATTENTION)},
    {"model", "attention", CHOICE(attention, attention_word), "softmax",
     "softmax attention, or a linear attention, whose cost grows linearly with the length",
     RT_FIXED, ALWAYS, HANDED(ALWAYS)},
    {"model", "qk_norm", YES_NO(qk_norm), "no",
     "normalize each head's query and key with an RMSNorm before their rotation, as in Qwen3",
     RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(SAME)},
    {"model", "causal", YES_NO(causal), "no",
     "a token attends to itself and to earlier tokens only", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), IN_DECODERS("yes")},
    {"model", "window", WHOLE(window, 0, RT_MOST_SIZE), "0",
     "sliding window: a token attends to tokens less than this many tokens away; 0 = to all",
     RT_FIXED, ALWAYS, HANDED(ALWAYS)},
    {"model", "layer_types", LAYERS(layer_types, layer_type_word), "",
     "layers that the window is for (sliding) and those that attend to all tokens (full); empty = "
     "the window is for all", RT_FIXED, WHEN(EXCEEDS("model.window", 0)), HANDED(IN_WINDOWS)},
    {"model", "length_scale", CHOICE(length_scale, length_word), "none",
     "factor of the query of token t in causal models; log: log n, n = t + 1 visible keys, at most the "
     "window (SSMax); learned: that times a number of the head; floor: 1 + length_factor log(1 + "
     "floor((t + 1) / length_floor)), in layers without positions (Llama 4)", RT_FIXED, ALWAYS,
     HANDED(ALWAYS), LATER},
    {"model", "length_factor", NUMBER(length_factor, AT_LEAST(0)), "0.1",
     "for length_scale = floor: weight of the logarithm", RT_FIXED,
     WHEN(IS("model.length_scale", "floor")), HANDED(ALWAYS), LATER},
    {"model", "length_floor", WHOLE(length_floor, 1, RT_MOST_SIZE), "8192",
     "for length_scale = floor: tokens of a step of the logarithm", RT_FIXED,
     WHEN(IS("model.length_scale", "floor")), HANDED(ALWAYS), LATER},
    {"model", "tie_embeddings", YES_NO(tie_embeddings), "yes",
     "the output layer shares its matrix with the token embeddings",
     RT_FIXED, WHEN(IS_NOT("data.task", "order", "classify", "tag", "images")),
     HANDED(ALWAYS), FITS(OUTPUT), IN_DECODERS("no")},
    {"model", "pool", CHOICE(pool, pool_word), "first",
     "for a label of a sequence: pooling of its hidden states: the first token, the last, or the mean "
     "of all; padding is ignored", RT_FIXED, WHEN(IS("data.task", "order", "classify", "images")),
     HANDED(ALWAYS), IN_DECODERS("last")},
    {"model", "classifier", CHOICE(classifier, classifier_word), "dense",
     "layers before the output layer of a label head; dense: linear layer, activation; tanh: linear "
     "layer, tanh, as in ESM-2; norm: linear layer, activation, norm, also for labels of tokens, as "
     "in ModernBERT",
     RT_FIXED, WHEN(IS("model.kind", "roformer"), IS("data.task", "order", "classify", "images"), OR,
                    IS("model.kind", "roformer"), IS("model.classifier", "norm"),
                    IS("data.task", "tag")), HANDED(ALWAYS)},

    {"position", "kind", CHOICE(position.kind, rt_encoding_word), "rope", "positional encoding",
     RT_FIXED, ALWAYS, HANDED(ALWAYS), FITS(ENCODING)},
    {"position", "axes", WHOLE(position.axes, 1, 2), "1",
     "coordinates of a position: 1, the number of the token, or 2, column and row, the default for "
     "images and spin2", RT_FIXED, ALWAYS, HANDED(WITH_ENCODING), FITS(ROTATION), LATER},
    {"position", "mixing", CHOICE(position.mixing, mixing_word), "axial",
     "RoPE with two axes; axial: half of the pairs rotate by the column and half by the row; mixed: "
     "each pair by both, with two theta that are learned, raw, by default for each head",
     RT_FIXED, WHEN(ROTATED, EXCEEDS("position.axes", 1)), HANDED(WITH_ENCODING), FITS(ROTATION), LATER},
    {"position", "pairing", CHOICE(position.pairing, pairing_word), "interleaved",
     "RoPE layout: interleaved (GPT-J) or half (NeoX, LLaMA)", RT_FIXED, WHEN(ROTATED),
     HANDED(ALWAYS), FITS(SAME), IN_DECODERS("half")},
    {"position", "base", NUMBER(position.frequencies.base, ABOVE(1)), "10000",
     "theta_i = base^(-2i/R) radians per position, R rotated or embedding features; with two axes "
     "base^(-4i/R), default 100 or, mixed, 10; of selective by default 500000",
     RT_FIXED, WHEN(IS("position.kind", "sinusoidal", "selective"), OR, TURNED, EVEN, OR, LEARNED),
     HANDED(WITH_AXES)},
    {"position", "local_base", NUMBER(position.local_base, AT_LEAST(0)), "0",
     "base of theta in sliding layers, those that model.window is for, above 1; 0 = "
     "position.base",
     RT_FIXED, WHEN(EXCEEDS("model.window", 0), TURNED, EVEN), HANDED(WITH_ENCODING_IN_WINDOWS)},
    {"position", "fraction", NUMBER(position.fraction, FROM_TO(0, 1)), "1.0",
     "fraction of each head's pairs that is rotated", RT_FIXED, WHEN(ROTATED),
     HANDED(WITH_ENCODING)},
    {"position", "local_fraction", NUMBER(position.local_fraction, FROM_TO(0, 1)), "0",
     "that fraction in sliding layers, those that model.window is for; 0 = position.fraction",
     RT_FIXED, WHEN(EXCEEDS("model.window", 0), ROTATED), HANDED(WITH_ENCODING_IN_WINDOWS), LATER},
    {"position", "rotate_value", YES_NO(position.rotate_value), "no",
     "rotate values as well as queries and keys", RT_FIXED, WHEN(ROTATED), HANDED(WITH_ENCODING)},
    {"position", "xpos", NUMBER(position.xpos, AT_LEAST(0)), "0",
     "xPos: scale, in tokens, of the decay of causal attention scores with distance, at least 1 "
     "(published: 512); a sequence can be 32 times as long; 0 = no decay", RT_FIXED, ALWAYS,
     HANDED(WITH_ENCODING)},
    {"position", "every", WHOLE(position.every, 1, RT_MOST_SIZE), "1",
     "omit the positional encoding in every N-th layer; 1 = in none", RT_FIXED, ALWAYS,
     HANDED(WITH_ENCODING)},
    {"position", "layers", LAYERS(position.layers, layer_position_word), "",
     "layers that have the positional encoding (yes) and those without (no); empty = as "
     "position.every says", RT_FIXED, ALWAYS, HANDED(WITHOUT_EVERY)},
    {"position", "frequencies", CHOICE(position.frequencies.family, frequencies_word), "geometric",
     "fixed or initial theta; geometric: base^(-2i/R); linear: evenly spaced between the same "
     "extremes; reciprocal: 1/(1+i)", RT_FIXED, WHEN(TURNED), HANDED(WITH_ENCODING)},
    {"position", "scaling", CHOICE(position.frequencies.scaling, scaling_word), "none",
     "rescale theta for sequences longer than in training (context extension)",
     RT_FIXED, WHEN(EXCEEDS("position.scale", 1), OR, IS("position.scaling", "dynamic", "longrope"), OR,
                    EXCEEDS("position.attention_factor", 0)), HANDED(WITH_ENCODING)},
    {"position", "scale", NUMBER(position.frequencies.scale, AT_LEAST(1)), "1",
     "for scaling: the longer length divided by the original one",
     RT_FIXED, WHEN(IS_NOT("position.scaling", "none")), HANDED(WITH_SCALING)},
    {"position", "original_len", WHOLE(position.frequencies.original_len, 0, RT_MOST_SIZE), "0",
     "for yarn, dynamic, longrope, llama3: length of the original training, in tokens; 0 = "
     "data.length", RT_FIXED, WHEN(IS("position.scaling", "yarn", "dynamic", "longrope", "llama3")),
     HANDED(WITH_LENGTH), FOLLOWS},
    {"position", "beta_fast", NUMBER(position.frequencies.beta_fast, ABOVE(0)), "32",
     "for yarn: pairs with more rotations than this within original_len are not interpolated: "
     "they keep their theta", RT_FIXED, WHEN(IS("position.scaling", "yarn")), HANDED(WITH_SCALING)},
    {"position", "beta_slow", NUMBER(position.frequencies.beta_slow, ABOVE(0)), "1",
     "for yarn: pairs with fewer rotations than this within original_len are interpolated: theta "
     "/ scale", RT_FIXED, WHEN(IS("position.scaling", "yarn")), HANDED(WITH_SCALING)},
    {"position", "high_freq_factor", NUMBER(position.frequencies.high_freq_factor, ABOVE(0)), "4",
     "for llama3: pairs with more rotations than this within original_len keep their theta",
     RT_FIXED, WHEN(IS("position.scaling", "llama3")), HANDED(WITH_SCALING)},
    {"position", "low_freq_factor", NUMBER(position.frequencies.low_freq_factor, ABOVE(0)), "1",
     "for llama3: pairs with fewer rotations than this within original_len have theta / scale",
     RT_FIXED, WHEN(IS("position.scaling", "llama3")), HANDED(WITH_SCALING)},
    {"position", "attention_factor", NUMBER(position.frequencies.attention_factor, AT_LEAST(0)),
     "0", "for yarn and longrope: factor of cosines and sines; 0 = as published",
     RT_FIXED, WHEN(IS("position.scaling", "yarn", "longrope")), HANDED(WITH_SCALING)},
    {"position", "short_factors", FACTORS(position.frequencies.short_factors), "",
     "for longrope: divisors of theta, one per pair, for up to original_len tokens; "
     "comma-separated", RT_FIXED, WHEN(IS("position.scaling", "longrope")), HANDED(WITH_SCALING)},
    {"position", "long_factors", FACTORS(position.frequencies.long_factors), "",
     "for longrope: the same for longer sequences", RT_FIXED, WHEN(IS("position.scaling", "longrope")),
     HANDED(WITH_SCALING)},
    {"position", "randomized", WHOLE(position.randomized, 0, RT_MOST_SIZE), "0",
     "L: the tokens of a sequence stand at random positions of 0 ... L-1, in ascending order, in "
     "training and evaluation (Ruoss et al. 2023); 0 = at 0, 1, ...",
     RT_FIXED_IN_RUN, WHEN(IS("position.kind", "rope", "pope", "sinusoidal", "learned")),
     HANDED(WITH_ENCODING), LATER},
    {"position", "init_std", NUMBER(position.init_std, AT_LEAST(0)), "0",
     "for learned, t5 and shaw: standard deviation of their initial parameters; 0 = "
     "model.init_std", RT_FIXED, WHEN(IS("position.kind", "learned", "t5", "shaw")),
     HANDED(WITH_ENCODING), FOLLOWS},
    {"position", "max_len", WHOLE(position.max_len, 0, RT_MOST_SIZE), "0",
     "for learned: number of positions in the table; 0 = the longest length used, or randomized",
     RT_FIXED, WHEN(IS("position.kind", "learned")), HANDED(WITH_ENCODING), FITS(OTHER), FOLLOWS},
    {"position", "rank", WHOLE(position.rank, 1, RT_MOST_SIZE), "16",
     "for selective (Selective RoPE, in causal models), where queries and keys rotate by angles that "
     "the tokens add up to: rank of the map from a token to its angles", RT_FIXED,
     WHEN(SELECTIVE), HANDED(WITH_ENCODING), FITS(OTHER), LATER},
    {"position", "taps", WHOLE(position.taps, 0, 1000), "4",
     "for selective: tokens that the convolution over the angles sees; 0 = no convolution", RT_FIXED,
     WHEN(SELECTIVE), HANDED(WITH_ENCODING), FITS(OTHER), LATER},
    {"position", "phase_bias", YES_NO(position.phase_bias), "no",
     "for selective: every token also adds e^bias, learned for each head and pair, to its angle; at "
     "the start that is the angle of rope", RT_FIXED, WHEN(SELECTIVE), HANDED(WITH_ENCODING), FITS(OTHER), LATER},
    {"position", "phase_gate", YES_NO(position.phase_gate), "no",
     "for selective: a gate of the token for each head multiplies its angles", RT_FIXED,
     WHEN(SELECTIVE), HANDED(WITH_ENCODING), FITS(OTHER), LATER},
    {"position", "phase", YES_NO(position.phase), "yes",
     "for pope (polar coordinates: each feature of queries and keys is the length of a pair that "
     "rotates): learn an angle of the keys for each head and feature, from -2 pi to 0, 0 at the start",
     RT_FIXED, WHEN(IS("position.kind", "pope")), HANDED(WITH_ENCODING), LATER},
    {"position", "key_shift", YES_NO(position.key_shift), "no",
     "the features of a key that do not rotate are those of the key before, so that one layer finds "
     "what followed a token; for rope with a fraction below 1, and for none (there, and in layers "
     "without positions: the second half)", RT_FIXED, ALWAYS, HANDED(ALWAYS), LATER},
    {"position", "forget", CHOICE(position.forget, forget_word), "none",
     "forgetting attention (FoX), beside any encoding but alibi, in causal models: each head lowers "
     "the score of a key by -log f of every later token; f is a gate of the token, a learned constant "
     "(bias) or a fixed one", RT_FIXED, ALWAYS, HANDED(ALWAYS), LATER},
    {"position", "forget_bias", NUMBER(position.forget_bias, RT_ANY_NUMBER), "0",
     "initial bias of the forget gate; a large one starts open, as in a run that adds forgetting to "
     "train.init_from (20). For bias, 0 = by forget_times", RT_FIXED,
     WHEN(IS("position.forget", "gate", "bias")), OWN, JOINING("20", "position.forget_times"), LATER},
    {"position", "forget_times", INTERVAL(position.forget_times, 1, RT_MOST_SIZE), "4..1024",
     "for bias and fixed: after how many tokens the weight of a token has fallen to 1/e, from head to "
     "head in equal factors", RT_FIXED, WHEN(IS("position.forget", "bias", "fixed")), OWN, LATER},

    {"theta", "learn", YES_NO(theta.learn), "no",
     "learn theta: train the rotation frequencies with the weights", RT_FIXED, ALWAYS,
     HANDED(WITH_ROTATION)},
    {"theta", "scope", CHOICE(theta.scope, scope_word), "layer",
     "what a theta is shared by; with kv_heads, head means each key head", RT_FIXED, WHEN(LEARNED),
     HANDED(WITH_LEARNED)},
    {"theta", "form", CHOICE(theta.form, form_word), "log",
     "log: train ln theta; raw: train theta itself", RT_FIXED, WHEN(LEARNED), HANDED(WITH_LEARNED)},
    {"theta", "init", CHOICE(theta.init, init_word), "frequencies",
     "initial theta; frequencies: as position.* says; perturbed: that times e^(init_sigma z), z "
     "normal; uniform: log-uniform between its extremes", RT_FIXED, WHEN(LEARNED), OWN},
    {"theta", "init_sigma", NUMBER(theta.init_sigma, AT_LEAST(0)), "0.5",
     "for perturbed: standard deviation of ln theta", RT_FIXED, WHEN(IS("theta.init", "perturbed")),
     OWN},
    {"theta", "head_scale", YES_NO(theta.head_scale), "no",
     "learn a factor on the scores of each query head, 1 at the start", RT_FIXED, ALWAYS, OWN},
};
/* clang-format on */

const rt_key_table rt_model_keys = {keys, sizeof keys / sizeof *keys};
