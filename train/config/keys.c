#include "train/config/keys.h"

#include "data/data.h"
#include "models/keys.h"
#include "optim/options.h"
#include "train/config/private.h"
#include "util/key_value.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define OPTIONS rt_config

RT_KEY_WORDS(engine_word, RT_LIBRARIES)
RT_KEY_WORDS(math_word, RT_MATHS)
RT_KEY_WORDS(kernels_word, RT_KERNELS)
RT_KEY_WORDS(recompute_word, RT_RECOMPUTES)
RT_KEY_WORDS(check_word, RT_THETA_CHECKS)

#define LEARNED IS("theta.learn", "yes")

/* clang-format off */
static const rt_key keys[] = {
    {"run", "name", TEXT(run.name, RT_RUN_NAME_SIZE), "",
     "name of the run folder; default: the configuration file's name without its extension",
     RT_MAY_DIFFER, ALWAYS},
    {"run", "dir", PATH_TEXT(run.dir, RT_PATH_SIZE, RT_WORKING_FOLDER), "runs",
     "folder of all run folders, relative to the working directory", RT_MAY_DIFFER, ALWAYS},
    {"run", "seed", SEED(run.seed), "1",
     "seed of all random numbers but those of the evaluation data", RT_FIXED, ALWAYS, OWN},
    {"run", "threads", WHOLE(run.threads, 0, 1024), "0",
     "number of threads; 0 = all that are available; the results are bitwise identical for any "
     "number", RT_MAY_DIFFER, ALWAYS},
    {"run", "log_every", WHOLE(run.log_every, 1, RT_MOST_STEPS), "10",
     "steps between rows of metrics.csv", RT_MAY_DIFFER, ALWAYS},
    {"run", "tensorboard", YES_NO(run.tensorboard), "no",
     "write the scalars of metrics.csv for TensorBoard as well", RT_MAY_DIFFER, ALWAYS},
    {"run", "engine", CHOICE(run.engine, engine_word), "auto",
     "library that computes matrix products; onednn only if the program was built with it; auto: "
     "the faster one, as measured, or that which the model was trained with",
     RT_MAY_DIFFER, ALWAYS},
    {"run", "math", CHOICE(run.math, math_word), "float",
     "number format of matrix products; bf16 needs oneDNN and a processor with bf16 "
     "products", RT_FIXED_IN_RUN, ALWAYS},
    {"run", "kernels", CHOICE(run.kernels, kernels_word), "native",
     "portable: bitwise identical results on every x86-64 processor with AVX2 and FMA; native: the "
     "fastest kernels for this processor", RT_MAY_DIFFER, ALWAYS},

    {"theta", "init_from", PATH_TEXT(theta.init_from, RT_PATH_SIZE, RT_INPUT), "",
     "CSV file with the initial theta, in columns layer, head, i and theta; relative to the "
     "configuration file or, on the command line, to the working directory", RT_FIXED_IN_RUN, WHEN(LEARNED)},
    {"theta", "tolerance", NUMBER(theta.tolerance, AT_LEAST(0)), "0.2",
     "near: the largest relative change from base^(-2i/R), if mixed from the start, is at most this",
     RT_FIXED_IN_RUN, WHEN(LEARNED)},
    {"theta", "check", CHOICE(theta.check, check_word), "no",
     "unmoved: exit with 7 if a learned theta is not near (theta.tolerance); unneeded: exit "
     "with 7 if the model depends on theta, that is, gets worse when theta is reset to its "
     "initial value", RT_FIXED_IN_RUN, WHEN(LEARNED)},
    {"theta", "log", YES_NO(theta.log), "no",
     "write rows of theta.csv every run.log_every steps, not at evaluations only", RT_MAY_DIFFER,
     WHEN(LEARNED)},
    {"theta", "cutoffs", YES_NO(theta.cutoffs), "no",
     "for every K, evaluate the trained model without rotating the pairs from K on (cutoffs.csv)", RT_MAY_DIFFER, WHEN(IS("position.kind", "rope", "selective", "pope"))},
    {"theta", "tolerances", YES_NO(theta.tolerances), "no",
     "measure how far each learned theta can change before the model gets worse, with up to 16 "
     "evaluations of one batch for each theta", RT_FIXED_IN_RUN, WHEN(LEARNED)},

    {"train", "steps", WHOLE(train.steps, 1, RT_MOST_STEPS), "1000", "number of optimizer steps",
     RT_HOW_LONG, ALWAYS},
    {"train", "batch_size", WHOLE(train.batch_size, 1, RT_MOST_SIZE), "32",
     "sequences per optimizer step, and per batch of an evaluation", RT_FIXED_IN_RUN, ALWAYS},
    {"train", "shards", WHOLE(train.shards, 0, RT_MOST_SIZE), "0",
     "micro-batches per step (gradient accumulation), a power of two; beyond the number of threads, "
     "more of them save memory; 0 = automatic: at least 512 tokens in each, at most 16", RT_FIXED_IN_RUN, ALWAYS,
     FOLLOWS},
    {"train", "recompute", CHOICE(train.recompute, recompute_word), "none",
     "layers: activation checkpointing: keep the input of each layer alone and compute the layer "
     "again in backward; less memory, a third more arithmetic, bitwise identical results",
     RT_MAY_DIFFER, ALWAYS},
    {"train", "eval_every", WHOLE(train.eval_every, 1, RT_MOST_STEPS), "100",
     "steps between evaluations", RT_MAY_DIFFER, ALWAYS},
    {"train", "eval_batches", WHOLE(train.eval_batches, 0, RT_MOST_SIZE), "8",
     "batches per evaluation; 0 = all evaluation data of files, the default for labelled files",
     RT_FIXED_IN_RUN, ALWAYS},
    {"train", "eval_lengths", LENGTHS(train.eval_lengths, 2, RT_MOST_SIZE), "",
     "other sequence lengths, in tokens, to evaluate when training ends; comma-separated, such "
     "as 64,128; each takes eval_batches batches (0: all of that length); of images, "
     "train.eval_sizes", RT_FIXED_IN_RUN, WHEN(IS_NOT("data.task", "images"))},
    {"train", "eval_sizes", LENGTHS(train.eval_sizes, 1, 4096), "",
     "other sizes of images, in pixels, to evaluate when training ends, such as 40,56", RT_FIXED_IN_RUN, WHEN(IS("data.task", "images"))},
    {"train", "checkpoint_every", WHOLE(train.checkpoint_every, 1, RT_MOST_STEPS), "200",
     "steps between checkpoints", RT_MAY_DIFFER, ALWAYS},
    {"train", "keep", WHOLE(train.keep, 1, RT_MOST_SIZE), "3",
     "keep this many of the newest checkpoints, and the one with the lowest evaluation loss",
     RT_MAY_DIFFER, ALWAYS},
    {"train", "target_accuracy", NUMBER(train.target_accuracy, FROM_TO(0, 1)), "0",
     "stop early when an evaluation reaches this accuracy, and exit with 7 if none does; 0 = off",
     RT_FIXED_IN_RUN, ALWAYS},
    {"train", "patience", WHOLE(train.patience, 0, RT_MOST_STEPS), "0",
     "stop early after this many evaluations in a row without improvement of the loss; 0 = off",
     RT_HOW_LONG, ALWAYS},
    {"train", "min_delta", NUMBER(train.min_delta, AT_LEAST(0)), "0",
     "for patience: how much lower the loss must be than at the last improvement to count as one",
     RT_FIXED_IN_RUN, WHEN(EXCEEDS("train.patience", 0))},
    {"train", "init_from", PATH_TEXT(train.init_from, RT_PATH_SIZE, RT_INPUT), "",
     "initialize the parameters from a checkpoint, the folder of a run or a Hugging Face folder; "
     "keys of the model and its vocabulary that the configuration leaves out are taken from "
     "there", RT_FIXED_IN_RUN, ALWAYS, IN_BRANCH},
    {"train", "trunk", PATH_TEXT(train.trunk, RT_PATH_SIZE, RT_INPUT), "",
     "continue the training of this checkpoint as a branch, with its parameters, optimizer states, "
     "step and batches; of the keys that change the result, only theta.*, optimizer.lr and its decay, "
     "train.steps, train.patience, train.freeze and position.kind = none can differ", RT_FIXED_IN_RUN, ALWAYS, IN_BRANCH},
    {"train", "freeze", TEXT(train.freeze, RT_FREEZE_SIZE), "",
     "parts that are not trained, comma-separated: embeddings, layers.N, head, theta, weights (all but theta)",
     RT_FIXED_IN_RUN, ALWAYS, IN_BRANCH},
};
/* clang-format on */

static const rt_key_table run_keys = {keys, sizeof keys / sizeof *keys};

const rt_renamed rt_renamed_values[] = {
    {"theta.check", "yes", "unmoved", false},     {"theta.check", "near", "unmoved", false},
    {"theta.check", "needed", "unneeded", false}, {"model.bias", "yes", "all", true},
    {"model.bias", "no", "none", true},           {.key = NULL},
};

/* Tables, and offsets of their options in an rt_config. */
static const struct {
    const rt_key_table *table;
    size_t offset;
} tables[] = {{&rt_model_keys, offsetof(rt_config, model)},
              {&run_keys, 0},
              {&rt_data_keys, offsetof(rt_config, data)},
              {&rt_optimizer_keys, offsetof(rt_config, optimizer)}};

/* Sections, in the order of the reference. */
static const char *const sections[] = {"run",  "model",     "position", "theta",
                                       "data", "optimizer", "train"};

/* Rows of all tables, with offsets in an rt_config. */
static struct {
    rt_key keys[RT_MAX_KEYS];
    char names[RT_MAX_KEYS][RT_KEY_NAME_SIZE];
    int count;
} all;
static pthread_once_t joined = PTHREAD_ONCE_INIT;

static void join(void)
{
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
        for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
            for (int i = 0; i < tables[t].table->count; i++) {
                const rt_key *key = &tables[t].table->keys[i];
                if (strcmp(key->section, sections[s]) != 0)
                    continue;
                assert(all.count < RT_MAX_KEYS);
                rt_key_full_name(key, all.names[all.count]);
                all.keys[all.count] = *key;
                all.keys[all.count++].offset += tables[t].offset;
            }
}

const rt_key *rt_key_at(int i)
{
    pthread_once(&joined, join);
    return i >= 0 && i < all.count ? &all.keys[i] : NULL;
}

bool rt_key_starts_section(int i)
{
    return i == 0 || strcmp(rt_key_at(i)->section, rt_key_at(i - 1)->section) != 0;
}

bool rt_section_exists(const char *section)
{
    size_t s = 0;
    while (s < sizeof sections / sizeof *sections && strcmp(sections[s], section) != 0)
        s++;
    return s < sizeof sections / sizeof *sections;
}

const char *rt_key_name(int i)
{
    return rt_key_at(i) ? all.names[i] : NULL;
}

int rt_key_find(const char *full_name)
{
    for (int i = 0; rt_key_at(i); i++)
        if (!strcmp(all.names[i], full_name))
            return i;
    return -1;
}

bool rt_key_is_written(int key, const rt_config *config)
{
    return config->origin[key] != RT_FROM_DEFAULT && config->origin[key] != RT_FROM_MODEL;
}

bool rt_on_command_line(const rt_config *config, const char *full_name)
{
    return config->origin[rt_key_find(full_name)] == RT_FROM_COMMAND_LINE;
}

bool rt_key_read(const rt_key *key, const char *value, rt_config *config, rt_writer *problem)
{
    const char *name = rt_key_full_name(key, (char[RT_KEY_NAME_SIZE]){0});
    const rt_renamed *r = rt_renamed_values;
    while (r->key && (strcmp(r->key, name) != 0 || strcmp(r->value, value) != 0))
        r++;
    if (r->key && !r->is_read) {
        rt_writer_add(problem, "= %s is now called %s", value, r->now);
        return false;
    }
    return rt_key_value_read(key, r->key ? r->now : value, config, problem);
}

/* Key whose conditions are evaluated, and the keys whose needs led to it. Two keys that need each
 * other are effective together. */
typedef struct question {
    int key;
    const struct question *before;
} question;

static bool chain_has(const question *q, int key)
{
    for (; q; q = q->before)
        if (q->key == key)
            return true;
    return false;
}

/* Returns whether the key of a need has the needed value, effective or not. */
static bool has_value(const rt_need *need, int number, const rt_config *config)
{
    const rt_key *key = rt_key_at(number);
    const void *value = (const char *)config + key->offset;
    if (need->relation == RT_NEED_ABOVE)
        return (key->type == RT_KEY_INTEGER ? *(const int *)value : *(const double *)value) >
               need->bound;
    const char *word = key->type == RT_KEY_TEXT     ? *(const char *const *)value
                       : key->type != RT_KEY_YES_NO ? key->word(*(const int *)value)
                       : *(const bool *)value       ? "yes"
                                                    : "no";
    if (need->relation == RT_NEED_UNSET)
        return !word;
    if (need->relation == RT_NEED_HOLDS)
        return word && strstr(word, need->words[0]);
    bool listed = false;
    for (int i = 0; word && need->words[i]; i++)
        listed |= !strcmp(need->words[i], word);
    return listed == (need->relation == RT_NEED_IS);
}

/* Returns whether the conditions of a key are met; NULL always are. */
static bool are_met(const rt_need *need, question q, const rt_config *config)
{
    bool met = true;
    for (; need && need->relation != RT_NEED_END; need++) {
        if (need->relation == RT_NEED_OR && met)
            return true;
        if (need->relation == RT_NEED_OR) {
            met = true;
        } else if (met) {
            const int key = rt_key_find(need->key);
            met = has_value(need, key, config) &&
                  (need->relation == RT_NEED_UNSET || chain_has(&q, key) ||
                   are_met(rt_key_at(key)->needs, (question){key, &q}, config));
        }
    }
    return met;
}

bool rt_key_has_effect(int key, const rt_config *config)
{
    return are_met(rt_key_at(key)->needs, (question){key, NULL}, config);
}

const char *rt_key_input(int key, const rt_config *config)
{
    const rt_key *k = rt_key_at(key);
    return k->path == RT_INPUT && rt_key_has_effect(key, config)
               ? *(const char *const *)((const char *)config + k->offset)
               : NULL;
}

/* Returns whether the value of a key decides what an evaluation asks. */
static bool asks(int key, const rt_config *config)
{
    return rt_key_has_effect(key, config) &&
           are_met(rt_key_at(key)->asks_when, (question){key, NULL}, config);
}

/* Returns the most sequences of an evaluation; 0 for all. */
static int64_t sequences_of(const rt_train_options *o)
{
    return (int64_t)o->batch_size * o->eval_batches;
}

/* Returns the size of the blocks in which rows of files are evaluated; 0 if each is for itself, or
 * if all are evaluated. */
static int block_of(const rt_config *config)
{
    const bool rows = rt_task_has_rows(rt_tasks + config->data.task);
    return rows && config->train.eval_batches ? config->train.batch_size : 0;
}

const char *rt_config_asks_other(const rt_config *a, const rt_config *b)
{
    for (int i = 0; rt_key_at(i); i++)
        if (rt_key_at(i)->asks && !rt_key_value_equal(rt_key_at(i), a, b) &&
            (asks(i, a) || asks(i, b)))
            return rt_key_at(i)->asks;
    if (sequences_of(&a->train) != sequences_of(&b->train))
        return "numbers of evaluation sequences (train.batch_size x train.eval_batches)";
    return block_of(a) == block_of(b) ? NULL : "evaluation rows (train.eval_batches = 0 takes all)";
}

/* Writes the needs of a key. If a needed value was written for a key without effect, writes the
 * needs of that key instead. `config` and `written` may be NULL. */
static void report_needs(rt_writer *w, question q, const rt_config *config,
                         const rt_config *written)
{
    const rt_need *need = rt_key_at(q.key)->needs;
    for (; need && need->relation != RT_NEED_END; need++) {
        const int key = need->key ? rt_key_find(need->key) : -1;
        if (need->relation == RT_NEED_OR) {
            rt_writer_add(w, ", or ");
        } else if (config && rt_key_is_written(key, written) && has_value(need, key, written) &&
                   !rt_key_has_effect(key, config) && !chain_has(&q, key)) {
            report_needs(w, (question){key, &q}, config, written);
        } else if (need->relation == RT_NEED_UNSET) {
            rt_writer_add(w, "no %s", need->key);
        } else if (need->relation == RT_NEED_HOLDS) {
            rt_writer_add(w, "a %s file in %s", need->words[0], need->key);
        } else if (need->relation == RT_NEED_ABOVE) {
            rt_writer_add(w, "%s above %g", need->key, need->bound);
        } else {
            rt_writer_add(w, "%s %s ", need->key,
                          need->relation == RT_NEED_IS ? "=" : "other than");
            for (int i = 0; need->words[i]; i++)
                rt_writer_add(w, "%s%s",
                              !i                   ? ""
                              : need->words[i + 1] ? ", "
                                                   : " or ",
                              need->words[i]);
        }
        if (need->relation != RT_NEED_OR && need[1].key)
            rt_writer_add(w, " and ");
    }
}

void rt_key_report_needs(rt_writer *w, int key)
{
    report_needs(w, (question){key, NULL}, NULL, NULL);
}

void rt_key_report_idle(rt_writer *w, int key, const rt_config *config, const rt_config *written)
{
    enum { SHOWN = 60 };
    const char *value = RT_KEY_VALUE(rt_key_at(key), written);
    rt_writer_add(w, "%s", rt_key_name(key));
    if (rt_key_at(key)->type != RT_KEY_TEXT)
        rt_writer_add(w, " = %.*s%s", SHOWN, value, strlen(value) > SHOWN ? "..." : "");
    rt_writer_add(w, " has no effect: it needs ");
    report_needs(w, (question){key, NULL}, config, written);
}
