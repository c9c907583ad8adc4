#include "models/rules.h"
#include "train/config/errors.h"
#include "train/text/quote.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct checking {
    const rt_config *config;
    rt_config_errors *errors;
} checking;

/* The sweep after the command line, that after the file, a later line after an earlier one,
 * defaults first. */
static int later(int a, int b)
{
    if (a < 0 || b < 0)
        return a < b ? a : b;
    return a > b ? a : b;
}

/* The keys that a contradiction is between, "section.key" each. */
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void contradict(checking c, const char *const *keys, const char *format, ...)
    RT_PRINTF(3, 4);
static void contradict(checking c, const char *const *keys, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    int origin = RT_FROM_DEFAULT;
    for (; *keys; keys++) {
        int i = rt_key_find_full(*keys);
        if (i < 0)
            continue; /* an option that only the data knows */
        if (c.errors->bad[i])
            return;
        origin = later(origin, c.config->origin[i]);
    }
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    rt_config_complain(c.errors, origin, "%s", message);
}

static void check_run(checking c)
{
    char quoted[RT_QUOTE_SIZE];
    const char *name = c.config->run.name;
    if (!*name || strchr(name, '/') || *name == '-' || !strcmp(name, ".") || !strcmp(name, ".."))
        contradict(c, KEYS("run.name"),
                   "run.name must name a directory, without '/' and not with '-' at the start; "
                   "got %s",
                   rt_quote(quoted, name));
}

static void contradict_rule(void *context, const char *const *options, const char *message)
{
    contradict(*(const checking *)context, options, "%s", message);
}

/* What the model makes of its options; those that only the data knows are taken to be right. */
static void check_model(checking c)
{
    rt_roformer_options model = c.config->model;
    const int longest = rt_config_longest(c.config);
    model.position = rt_config_position(c.config);
    model.vocab = 1;
    model.head = RT_HEAD_LM;
    rt_roformer_rules(&model, contradict_rule, &c);
    if (model.position.kind == RT_POSITION_LEARNED && model.position.max_len < longest)
        contradict(c,
                   KEYS("position.max_len", "position.kind", "data.length", "train.eval_lengths"),
                   "position.max_len = %d is shorter than the longest sequence, %d tokens",
                   model.position.max_len, longest);
}

static bool reads_file(const rt_data_options *data)
{
    const char *task = rt_data_task_name(data->task);
    return !strcmp(task, "text") || !strcmp(task, "tokens");
}

/* Whether a message names a key: data.vocab is not named by "data.vocab_file". */
static bool names_key(const char *message, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = message; (at = strstr(at, name)); at += length)
        if (at[length] != '_' && !(at[length] >= 'a' && at[length] <= 'z'))
            return true;
    return false;
}

/* The place of an error of rt_data_check: the keys of [data] that its message names, and
 * the task, which it has in mind. */
static void repeat_data_error(checking c, const char *message)
{
    char name[RT_KEY_NAME_SIZE];
    const rt_key *key;
    int origin = c.config->origin[rt_key_find("data", "task")];
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (strcmp(key->section, "data") != 0)
            continue;
        if (c.errors->bad[i])
            return;
        if (names_key(message, rt_key_full_name(key, name)))
            origin = later(origin, c.config->origin[i]);
    }
    rt_config_complain(c.errors, origin, "%s", message);
}

/* Whether the model may look at what it is asked. */
static void check_causal(checking c)
{
    const rt_data_options *data = &c.config->data;
    const bool causal = c.config->model.causal;
    if (reads_file(data) && data->objective == RT_OBJECTIVE_LM && !causal)
        contradict(c, KEYS("data.task", "data.objective", "model.causal"),
                   "data.objective = lm needs model.causal = yes: otherwise a token sees the one "
                   "that it is asked for");
    if (rt_data_task_classes(data->task) && causal)
        contradict(c, KEYS("data.task", "model.causal"),
                   "data.task = %s is answered at the first token, which sees nothing else with "
                   "model.causal = yes",
                   rt_data_task_name(data->task));
}

/* The other lengths of evaluation must suit the task as well. */
static void check_lengths(checking c)
{
    const rt_lengths *lengths = &c.config->train.eval_lengths;
    for (int i = 0; i < lengths->count; i++) {
        rt_data_options other = c.config->data;
        other.length = lengths->at[i];
        rt_status status = rt_data_check(&other);
        if (status.code)
            contradict(c, KEYS("train.eval_lengths", "data.task", "data.length"),
                       "train.eval_lengths: at length %d, %s", other.length, status.message);
    }
}

static void check_data(checking c)
{
    const rt_data_options *data = &c.config->data;
    check_causal(c);
    if (reads_file(data) && !*data->file) {
        contradict(c, KEYS("data.task", "data.file"), "data.file is required for data.task = %s",
                   rt_data_task_name(data->task));
        return;
    }
    rt_status status = rt_data_check(data);
    if (status.code)
        repeat_data_error(c, status.message);
    else
        check_lengths(c);
}

static void check_optimizer(checking c)
{
    const rt_optimizer_options *optimizer = &c.config->optimizer;
    if (optimizer->warmup_steps > optimizer->schedule_steps)
        contradict(c, KEYS("optimizer.warmup_steps", "optimizer.schedule_steps", "train.steps"),
                   "optimizer.warmup_steps = %d is more than the %d steps of the schedule",
                   optimizer->warmup_steps, optimizer->schedule_steps);
}

static void check_train(checking c)
{
    int shards = c.config->train.shards;
    int batch_size = c.config->train.batch_size;
    if (shards & (shards - 1))
        contradict(c, KEYS("train.shards"), "train.shards must be 0 or a power of two; got %d",
                   shards);
    else if (shards > batch_size)
        contradict(c, KEYS("train.shards", "train.batch_size"),
                   "train.shards = %d is more than train.batch_size = %d", shards, batch_size);
}

void rt_config_check(const rt_config *config, rt_config_errors *errors)
{
    checking c = {config, errors};
    check_run(c);
    check_model(c);
    check_data(c);
    check_optimizer(c);
    check_train(c);
}
