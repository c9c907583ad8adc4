#include "train/config/keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The words of a choice, from the list beside its enumeration. */
#define WORDS(function, LIST)                                                                      \
    static const char *function(int value)                                                         \
    {                                                                                              \
        static const char *const words[] = {LIST(RT_CHOICE_WORD) NULL};                            \
        return words[value];                                                                       \
    }

WORDS(engine_word, RT_ENGINES)
WORDS(math_word, RT_MATHS)
WORDS(kernels_word, RT_KERNELS)
WORDS(kind_word, RT_MODEL_KINDS)
WORDS(norm_word, RT_NORM_ORDERS)
WORDS(norm_kind_word, RT_NORM_KINDS)
WORDS(ffn_word, RT_FFNS)
WORDS(bias_word, RT_BIASES)
WORDS(activation_word, RT_ACTIVATIONS)
WORDS(attention_word, RT_ATTENTIONS)
WORDS(position_word, RT_POSITION_KINDS)
WORDS(frequencies_word, RT_FREQUENCIES)
WORDS(scaling_word, RT_SCALINGS)
WORDS(pairing_word, RT_PAIRINGS)
WORDS(scope_word, RT_THETA_SCOPES)
WORDS(form_word, RT_THETA_FORMS)
WORDS(init_word, RT_THETA_INITS)
WORDS(check_word, RT_THETA_CHECKS)
WORDS(level_word, RT_LEVELS)
WORDS(begin_word, RT_BEGINS)
WORDS(objective_word, RT_OBJECTIVES)
WORDS(schedule_word, RT_SCHEDULES)

/* The type and the place of a key in rt_config, in the order of rt_key; a member of
 * another C type does not compile. An enumeration may be any integer as large as int. */
#define MEMBER(member)      (((rt_config *)0)->member)
#define IS(type, member)    (0 * sizeof(char[_Generic(MEMBER(member), type : 1)]))
#define AT(member)          offsetof(rt_config, member), sizeof MEMBER(member)
#define TYPED(type, member) offsetof(rt_config, member) + IS(type, member), sizeof(type)
#define ANY                                                                                        \
    {                                                                                              \
        0, 0, false, false                                                                         \
    }

#define WHOLE(member, low, high) RT_KEY_WHOLE, TYPED(int, member), {low, high, false, false}, NULL
#define SEED(member)             RT_KEY_SEED, TYPED(uint64_t, member), ANY, NULL
#define NUMBER(member, ...)      RT_KEY_NUMBER, TYPED(double, member), __VA_ARGS__, NULL
#define YES_NO(member)           RT_KEY_YES_NO, TYPED(bool, member), ANY, NULL
#define CHOICE(member, word)     RT_KEY_CHOICE, AT(member), ANY, word
#define LENGTHS(member, low, high)                                                                 \
    RT_KEY_LENGTHS, TYPED(rt_lengths, member), {low, high, false, false}, NULL
#define FACTORS(member) RT_KEY_FACTORS, TYPED(rt_factors, member), ABOVE(0), NULL
#define TEXT(member)    RT_KEY_TEXT, AT(member), ANY, NULL

#define ABOVE(low)                                                                                 \
    {                                                                                              \
        low, HUGE_VAL, true, false                                                                 \
    }
#define AT_LEAST(low)                                                                              \
    {                                                                                              \
        low, HUGE_VAL, false, false                                                                \
    }
#define FROM_TO(low, high)                                                                         \
    {                                                                                              \
        low, high, false, false                                                                    \
    }
#define FROM_BELOW(low, high)                                                                      \
    {                                                                                              \
        low, high, false, true                                                                     \
    }
#define ABOVE_UP_TO(low, high)                                                                     \
    {                                                                                              \
        low, high, true, false                                                                     \
    }

/* Step numbers have eight digits in the names of checkpoints. */
enum { MOST_STEPS = 99999999, MOST = 1000000 };

/* What the conditions of several keys have in common. */
#define ALWAYS   NULL
#define ROTATED  "position.kind = rope"
#define LEARNED  "theta.learn = yes"
#define OF_FILES "data.task = text, tokens, classify, tag"
#define OF_TEXT  "data.task = text, classify, tag"
#define MEANS    "optimizer.kind != sgd"
#define MUON     "optimizer.kind = muon"
#define FALLING  "optimizer.schedule != constant"

/* clang-format off */
static const rt_key keys[] = {
    {"run", "name", TEXT(run.name), "",
     "name of the run's directory; the configuration file's name without its ending", RT_MAY_DIFFER,
     ALWAYS},
    {"run", "dir", TEXT(run.dir), "runs",
     "where run directories go, relative to the working directory", RT_MAY_DIFFER, ALWAYS},
    {"run", "seed", SEED(run.seed), "1", "seed of all random numbers", RT_FIXED, ALWAYS},
    {"run", "threads", WHOLE(run.threads, 0, 1024), "0",
     "0 = all available; changes the time, never the result", RT_MAY_DIFFER, ALWAYS},
    {"run", "log_every", WHOLE(run.log_every, 1, MOST_STEPS), "10",
     "steps from one row of metrics.csv to the next", RT_MAY_DIFFER, ALWAYS},
    {"run", "tensorboard", YES_NO(run.tensorboard), "no",
     "write the scalars of metrics.csv for TensorBoard as well", RT_MAY_DIFFER, ALWAYS},
    {"run", "engine", CHOICE(run.engine, engine_word), "openblas",
     "what computes matrix products; onednn where the program was built with it", RT_MAY_DIFFER,
     ALWAYS},
    {"run", "math", CHOICE(run.math, math_word), "float",
     "numbers that matrix products multiply; bf16 needs engine = onednn and a processor that has it",
     RT_FIXED, ALWAYS},
    {"run", "kernels", CHOICE(run.kernels, kernels_word), "native",
     "portable: bitwise identical results on every x86-64 processor with AVX2; native: the fastest that "
     "this processor has",
     RT_MAY_DIFFER, ALWAYS},

    {"model", "kind", CHOICE(model.kind, kind_word), "roformer",
     "what the model is built as; decoder has other defaults, no norm over the embeddings, and an "
     "output layer that is a matrix alone",
     RT_FIXED, ALWAYS},
    {"model", "layers", WHOLE(model.layers, 1, 1000), "2", "encoder layers", RT_FIXED, ALWAYS},
    {"model", "dim", WHOLE(model.dim, 1, MOST), "64", "width; divisible by heads", RT_FIXED,
     ALWAYS},
    {"model", "heads", WHOLE(model.heads, 1, MOST), "4", "attention heads of a layer", RT_FIXED,
     ALWAYS},
    {"model", "kv_heads", WHOLE(model.kv_heads, 0, MOST), "0",
     "heads of keys and values, shared by heads; divides heads, 0 = heads", RT_FIXED, ALWAYS},
    {"model", "embedding_dim", WHOLE(model.embedding_dim, 0, MOST), "0",
     "width of the embeddings; 0 = dim", RT_FIXED, ALWAYS},
    {"model", "ffn_dim", WHOLE(model.ffn_dim, 0, MOST), "0",
     "width inside the feed-forward blocks; 0 = 4 dim", RT_FIXED, ALWAYS},
    {"model", "norm", CHOICE(model.norm, norm_word), "post",
     "norm after or before each block", RT_FIXED, ALWAYS},
    {"model", "norm_kind", CHOICE(model.norm_kind, norm_kind_word), "layer",
     "LayerNorm, or division by the root of the mean square", RT_FIXED, ALWAYS},
    {"model", "norm_eps", NUMBER(model.norm_eps, ABOVE_UP_TO(0, 1)), "1e-12",
     "added to the variance, or mean square, in norms", RT_FIXED, ALWAYS},
    {"model", "init_std", NUMBER(model.init_std, ABOVE(0)), "0.02",
     "standard deviation of weights and embeddings at the start", RT_FIXED, ALWAYS},
    {"model", "ffn", CHOICE(model.ffn, ffn_word), "plain",
     "feed-forward blocks: an activation, or a product with a gate that goes through silu or gelu",
     RT_FIXED, ALWAYS},
    {"model", "bias", CHOICE(model.bias, bias_word), "yes",
     "linear maps add a bias; that of a LayerNorm stays", RT_FIXED, ALWAYS},
    {"model", "activation", CHOICE(model.activation, activation_word), "gelu",
     "function inside plain feed-forward blocks and the output layers", RT_FIXED,
     "model.kind = roformer | model.ffn = plain | data.task = order, classify"},
    {"model", "dropout", NUMBER(model.dropout, FROM_BELOW(0, 1)), "0",
     "share of features dropped in training", RT_FIXED, ALWAYS},
    {"model", "attention_dropout", NUMBER(model.attention_dropout, FROM_BELOW(0, 1)), "0",
     "share of attention weights dropped in training", RT_FIXED, ALWAYS},
    {"model", "attention", CHOICE(model.attention, attention_word), "softmax",
     "softmax of scores, or a product of features whose cost is linear in the length", RT_FIXED,
     ALWAYS},
    {"model", "causal", YES_NO(model.causal), "no",
     "a token attends to itself and those before it only", RT_FIXED, ALWAYS},
    {"model", "window", WHOLE(model.window, 0, MOST), "0",
     "a token attends to those less than this many places away; 0 = to all", RT_FIXED, ALWAYS},
    {"model", "tie_embeddings", YES_NO(model.tie_embeddings), "yes",
     "the output layer uses the table of the embeddings", RT_FIXED,
     "data.task != order, classify, tag"},

    {"position", "kind", CHOICE(model.position.kind, position_word), "rope",
     "how the model learns of positions", RT_FIXED, ALWAYS},
    {"position", "pairing", CHOICE(model.position.pairing, pairing_word), "interleaved",
     "which features of a head turn together", RT_FIXED, ROTATED},
    {"position", "base", NUMBER(model.position.frequencies.base, ABOVE(1)), "10000",
     "theta_i = base^(-2i/R), R rotated features", RT_FIXED,
     "position.kind = sinusoidal | position.kind = rope & position.frequencies = geometric, linear | theta.learn = yes"},
    {"position", "fraction", NUMBER(model.position.fraction, FROM_TO(0, 1)), "1.0",
     "share of each head's pairs that is rotated", RT_FIXED, ROTATED},
    {"position", "rotate_value", YES_NO(model.position.rotate_value), "no",
     "rotate the values as well as queries and keys", RT_FIXED, ROTATED},
    {"position", "xpos", NUMBER(model.position.xpos, AT_LEAST(0)), "0",
     "xPos: scale in tokens, at least 1, over which scores of causal attention decay with the "
     "distance; published: 512; a text can have 32 times as many; 0 = no decay",
     RT_FIXED, ALWAYS},
    {"position", "every", WHOLE(model.position.every, 1, MOST), "1",
     "N: every N-th layer has no positions; 1 = all layers have them", RT_FIXED, ALWAYS},
    {"position", "frequencies", CHOICE(model.position.frequencies.family, frequencies_word),
     "geometric", "base^(-2i/R), evenly spaced between the same extremes, or 1/(1+i)", RT_FIXED,
     ROTATED},
    {"position", "scaling", CHOICE(model.position.frequencies.scaling, scaling_word), "none",
     "stretches theta for texts longer than those that a model was trained on", RT_FIXED,
     "position.scale > 1 | position.scaling = dynamic, longrope | position.attention_factor > 0"},
    {"position", "scale", NUMBER(model.position.frequencies.scale, AT_LEAST(1)), "1",
     "for scaling: how many times longer", RT_FIXED, "position.scaling != none"},
    {"position", "original_len", WHOLE(model.position.frequencies.original_len, 0, MOST), "0",
     "for yarn, dynamic, longrope, llama3: the length that a model was trained on; 0 = data.length",
     RT_FIXED, "position.scaling = yarn, dynamic, longrope, llama3"},
    {"position", "beta_fast", NUMBER(model.position.frequencies.beta_fast, ABOVE(0)), "32",
     "for yarn: pairs that turn as often within original_len keep their theta", RT_FIXED,
     "position.scaling = yarn"},
    {"position", "beta_slow", NUMBER(model.position.frequencies.beta_slow, ABOVE(0)), "1",
     "for yarn: pairs that turn so seldom have theta / scale", RT_FIXED, "position.scaling = yarn"},
    {"position", "high_freq_factor", NUMBER(model.position.frequencies.high_freq_factor, ABOVE(0)),
     "4", "for llama3: pairs that turn as often within original_len keep their theta", RT_FIXED,
     "position.scaling = llama3"},
    {"position", "low_freq_factor", NUMBER(model.position.frequencies.low_freq_factor, ABOVE(0)),
     "1", "for llama3: pairs that turn so seldom have theta / scale", RT_FIXED,
     "position.scaling = llama3"},
    {"position", "attention_factor", NUMBER(model.position.frequencies.attention_factor, AT_LEAST(0)),
     "0", "for yarn and longrope: what cosines and sines are multiplied by; 0 = as published", RT_FIXED,
     "position.scaling = yarn, longrope"},
    {"position", "short_factors", FACTORS(model.position.frequencies.short_factors), "",
     "for longrope: what the theta of each pair is divided by up to original_len", RT_FIXED,
     "position.scaling = longrope"},
    {"position", "long_factors", FACTORS(model.position.frequencies.long_factors), "",
     "for longrope: the same for longer sequences", RT_FIXED, "position.scaling = longrope"},
    {"position", "init_std", NUMBER(model.position.init_std, AT_LEAST(0)), "0",
     "for learned, t5 and shaw: that of what is learned of positions; 0 = model.init_std", RT_FIXED,
     "position.kind = learned, t5, shaw"},
    {"position", "max_len", WHOLE(model.position.max_len, 0, MOST), "0",
     "for learned: the size of the table; 0 = the longest length used", RT_FIXED,
     "position.kind = learned"},

    {"theta", "learn", YES_NO(model.theta.learn), "no", "theta is a parameter", RT_FIXED, ALWAYS},
    {"theta", "scope", CHOICE(model.theta.scope, scope_word), "layer",
     "what has a theta of its own; with kv_heads, head is each head of keys", RT_FIXED, LEARNED},
    {"theta", "form", CHOICE(model.theta.form, form_word), "log",
     "whether the parameter is ln theta or theta", RT_FIXED, LEARNED},
    {"theta", "init", CHOICE(model.theta.init, init_word), "frequencies",
     "where theta starts: as position.* says, those times e^(sigma z), or log-uniform", RT_FIXED,
     LEARNED},
    {"theta", "init_sigma", NUMBER(model.theta.init_sigma, AT_LEAST(0)), "0.5",
     "for perturbed: sigma", RT_FIXED, "theta.init = perturbed"},
    {"theta", "init_from", TEXT(theta.init_from), "",
     "a CSV with the theta to start from, in columns layer, head, i and theta; relative to the "
     "configuration file or, on the command line, to the working directory",
     RT_FIXED, LEARNED},
    {"theta", "lr_scale", NUMBER(optimizer.settings.theta_lr_scale, AT_LEAST(0)), "1.0",
     "learning rate of theta, as a multiple of optimizer.lr", RT_FIXED, LEARNED},
    {"theta", "tolerance", NUMBER(theta.tolerance, AT_LEAST(0)), "0.2",
     "largest relative drift still called near", RT_FIXED, LEARNED},
    {"theta", "check", CHOICE(theta.check, check_word), "no",
     "exit with 7 unless a learned theta is unmoved, or unneeded: the model does not depend on it",
     RT_FIXED, LEARNED},
    {"theta", "tolerances", YES_NO(theta.tolerances), "no",
     "how far each theta can go from where it ends before that is noticed, by up to 16 evaluations of "
     "a batch for each",
     RT_FIXED, LEARNED},

    {"data", "task", CHOICE(data.task, rt_data_task_name), "copy", "what is to be learned", RT_FIXED,
     ALWAYS},
    {"data", "length", WHOLE(data.length, 2, MOST), "32",
     "tokens of a sequence, all special ones included", RT_FIXED, ALWAYS},
    {"data", "vocab", WHOLE(data.vocab, 6, MOST), "32",
     "token ids, all special ones included; a text has its vocabulary", RT_FIXED,
     "data.task != text, classify, tag"},
    {"data", "distance", WHOLE(data.distance, 1, MOST), "3",
     "for shift: how far to look back", RT_FIXED, "data.task = shift"},
    {"data", "period", WHOLE(data.period, 2, MOST), "7",
     "for period: tokens after which a sequence repeats itself", RT_FIXED, "data.task = period"},
    {"data", "theta", NUMBER(data.theta, ABOVE(0)), "1.1",
     "for spin: radians a position by which a sequence turns, at most pi", RT_FIXED,
     "data.task = spin"},
    {"data", "file", TEXT(data.file), "",
     "for text: files with commas between, for tokens: FILE.h5:/DATASET, for classify: FILE.tsv or "
     "FILE.csv, for tag: a file; relative to the configuration file or, on the command line, to the "
     "working directory",
     RT_FIXED, OF_FILES},
    {"data", "eval_file", TEXT(data.eval_file), "",
     "what to evaluate on, in the form of data.file, all of which is then trained on; without one, "
     "eval_fraction of data.file",
     RT_FIXED, OF_FILES},
    {"data", "vocab_file", TEXT(data.vocab_file), "",
     "for levels char and wordpiece: a vocab.txt, for level bpe: a tokenizer.json, relative as data.file "
     "is; without one, at level char, the characters of the text",
     RT_FIXED, OF_TEXT " & data.level != byte"},
    {"data", "level", CHOICE(data.level, level_word), "byte", "what a text is cut into", RT_FIXED,
     OF_TEXT},
    {"data", "lowercase", YES_NO(data.lowercase), "no",
     "for level wordpiece: a text is read in lower case and without accents", RT_FIXED,
     OF_TEXT " & data.level = wordpiece"},
    {"data", "begin", CHOICE(data.begin, begin_word), "auto",
     "for text and tokens: whether a sequence begins with the token that begins a text; auto: as the "
     "model of --checkpoint, --resume or train.init_from does, a new one with it",
     RT_FIXED, "data.task = text, tokens"},
    {"data", "objective", CHOICE(data.objective, objective_word), "mlm",
     "mlm: predict masked tokens; lm: predict the next token; for period, spin, text and "
     "tokens",
     RT_FIXED, "data.task = period, spin, text, tokens"},
    {"data", "mask_probability", NUMBER(data.mask_probability, ABOVE_UP_TO(0, 1)), "0.15",
     "for mlm: fraction of the tokens that are masked", RT_FIXED, "data.objective = mlm"},
    {"data", "eval_fraction", NUMBER(data.eval_fraction, FROM_BELOW(0, 1)), "0.1",
     "without data.eval_file: tail of the text kept for evaluation; of labelled data, share of the rows; "
     "0 = evaluate on what is trained on",
     RT_FIXED, OF_FILES " & data.eval_file ="},
    {"data", "eval_seed", SEED(data.eval_seed), "2021",
     "draws the evaluation set of a toy task and the share of labelled rows, the same for every "
     "run.seed",
     RT_FIXED, "data.task != text, tokens | data.objective = mlm"},

    {"optimizer", "kind", CHOICE(optimizer.settings.rule, rt_optimizer_rule_word), "adamw",
     "rule that moves the parameters", RT_FIXED, ALWAYS},
    {"optimizer", "lr", NUMBER(optimizer.lr, AT_LEAST(0)), "1e-3",
     "learning rate, the schedule's peak", RT_WHEN_EXTENDED, ALWAYS},
    {"optimizer", "matrix_lr", NUMBER(optimizer.matrix_lr, AT_LEAST(0)), "0",
     "for muon: that of the matrices of layers; 0 = lr", RT_FIXED, MUON},
    {"optimizer", "beta1", NUMBER(optimizer.settings.beta1, FROM_BELOW(0, 1)), "0.9",
     "decay of the mean of gradients; not for sgd", RT_FIXED, MEANS},
    {"optimizer", "beta2", NUMBER(optimizer.settings.beta2, FROM_BELOW(0, 1)), "0.999",
     "decay of the mean of their squares; lion: of the mean of gradients, 0.99 by default; not for sgd", RT_FIXED, MEANS},
    {"optimizer", "eps", NUMBER(optimizer.settings.eps, ABOVE(0)), "1e-8",
     "for adamw, adam, muon: added to the root of the mean square", RT_FIXED, "optimizer.kind = adamw, adam, muon"},
    {"optimizer", "weight_decay", NUMBER(optimizer.settings.weight_decay, AT_LEAST(0)), "0.01",
     "of weights; none on norms, biases and theta", RT_FIXED, ALWAYS},
    {"optimizer", "momentum", NUMBER(optimizer.settings.momentum, FROM_BELOW(0, 1)), "0.9",
     "for sgd", RT_FIXED, "optimizer.kind = sgd"},
    {"optimizer", "muon_momentum", NUMBER(optimizer.settings.muon_momentum, FROM_BELOW(0, 1)), "0.95",
     "for muon: decay of the mean of gradients of matrices", RT_FIXED, MUON},
    {"optimizer", "clip_norm", NUMBER(optimizer.settings.clip_norm, AT_LEAST(0)), "1.0",
     "largest norm of the gradient; 0 = off", RT_FIXED, ALWAYS},
    {"optimizer", "schedule", CHOICE(optimizer.schedule, schedule_word), "cosine",
     "how the learning rate falls after the warmup", RT_WHEN_EXTENDED, ALWAYS},
    {"optimizer", "warmup_steps", WHOLE(optimizer.warmup_steps, 0, MOST_STEPS), "0",
     "steps in which the learning rate rises from 0", RT_FIXED, ALWAYS},
    {"optimizer", "min_lr_ratio", NUMBER(optimizer.min_lr_ratio, FROM_TO(0, 1)), "0",
     "share of the learning rate left at the schedule's end", RT_WHEN_EXTENDED, FALLING},
    {"optimizer", "schedule_steps", WHOLE(optimizer.schedule_steps, 0, MOST_STEPS), "0",
     "where the schedule ends; 0 = train.steps at the start", RT_WHEN_EXTENDED, FALLING},

    {"train", "steps", WHOLE(train.steps, 1, MOST_STEPS), "1000", "optimiser steps", RT_HOW_LONG,
     ALWAYS},
    {"train", "batch_size", WHOLE(train.batch_size, 1, MOST), "32",
     "sequences of an optimiser step", RT_FIXED, ALWAYS},
    {"train", "shards", WHOLE(train.shards, 0, MOST), "0",
     "gradient accumulation: micro-batches of a step, of which as many run at once as there are "
     "threads; a power of two, 0 = automatic",
     RT_FIXED, ALWAYS},
    {"train", "eval_every", WHOLE(train.eval_every, 1, MOST_STEPS), "100",
     "steps from one evaluation to the next", RT_MAY_DIFFER, ALWAYS},
    {"train", "eval_batches", WHOLE(train.eval_batches, 0, MOST), "8",
     "batches of an evaluation; 0 = all that files have, as for classify and tag by default", RT_FIXED,
     ALWAYS},
    {"train", "eval_lengths", LENGTHS(train.eval_lengths, 2, MOST), "",
     "other lengths to evaluate at when training ends, with commas between", RT_FIXED, ALWAYS},
    {"train", "checkpoint_every", WHOLE(train.checkpoint_every, 1, MOST_STEPS), "200",
     "steps from one checkpoint to the next", RT_MAY_DIFFER, ALWAYS},
    {"train", "keep", WHOLE(train.keep, 1, MOST), "3", "newest checkpoints kept", RT_MAY_DIFFER,
     ALWAYS},
    {"train", "target_accuracy", NUMBER(train.target_accuracy, FROM_TO(0, 1)), "0",
     "stop early when reached, exit with 7 if never; 0 = none", RT_FIXED, ALWAYS},
    {"train", "patience", WHOLE(train.patience, 0, MOST_STEPS), "0",
     "stop early after as many evaluations in a row without an improvement of the loss; 0 = off",
     RT_HOW_LONG, ALWAYS},
    {"train", "min_delta", NUMBER(train.min_delta, AT_LEAST(0)), "0",
     "for patience: what the loss must fall by, since the last improvement, to be an improvement",
     RT_FIXED, "train.patience > 0"},
    {"train", "init_from", TEXT(train.init_from), "",
     "a checkpoint, the folder of a run, or one of Hugging Face, whose parameters this run starts from; "
     "what the configuration does not say of the model and its vocabulary is as there",
     RT_FIXED, ALWAYS},
    {"train", "freeze", TEXT(train.freeze), "",
     "parts that are not trained, with commas between: embeddings, layers.N, head, theta", RT_FIXED,
     ALWAYS},
};
/* clang-format on */

enum { KEY_COUNT = sizeof keys / sizeof *keys };
_Static_assert(KEY_COUNT <= (int)RT_MAX_KEYS, "rt_config has no room for the origin of every key");

const char *rt_key_decoder_default(const rt_key *key)
{
    static const char *const defaults[][2] = {
        {"model.norm", "pre"},    {"model.norm_kind", "rms"},     {"model.norm_eps", "1e-5"},
        {"model.ffn", "swiglu"},  {"model.bias", "no"},           {"model.activation", "silu"},
        {"model.causal", "yes"},  {"model.tie_embeddings", "no"}, {"position.pairing", "half"},
        {"data.objective", "lm"},
    };
    char name[RT_KEY_NAME_SIZE];
    rt_key_full_name(key, name);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!strcmp(defaults[i][0], name))
            return defaults[i][1];
    return NULL;
}

const rt_key *rt_key_at(int i)
{
    return i >= 0 && i < KEY_COUNT ? &keys[i] : NULL;
}

bool rt_key_starts_section(int i)
{
    return i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0;
}

bool rt_section_exists(const char *section)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (!strcmp(keys[i].section, section))
            return true;
    return false;
}

int rt_key_find(const char *section, const char *name)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (!strcmp(keys[i].section, section) && !strcmp(keys[i].name, name))
            return i;
    return -1;
}

int rt_key_find_full(const char *full_name)
{
    char name[RT_KEY_NAME_SIZE];
    for (int i = 0; i < KEY_COUNT; i++)
        if (!strcmp(rt_key_full_name(&keys[i], name), full_name))
            return i;
    return -1;
}

bool rt_key_decides(const rt_key *key)
{
    return key->change != RT_MAY_DIFFER;
}

void rt_key_copy(const rt_key *key, rt_config *to, const rt_config *from)
{
    memcpy((char *)to + key->offset, (const char *)from + key->offset, key->size);
}

bool rt_key_is_one_of(const rt_key *key, const char *const *names)
{
    char name[RT_KEY_NAME_SIZE];
    rt_key_full_name(key, name);
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

const char *rt_key_full_name(const rt_key *key, char text[RT_KEY_NAME_SIZE])
{
    snprintf(text, RT_KEY_NAME_SIZE, "%s.%s", key->section, key->name);
    return text;
}
