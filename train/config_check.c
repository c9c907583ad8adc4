#include "train/config_errors.h"
#include "train/quote.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct checking {
    const rt_config *config;
    rt_config_errors *errors;
} checking;

/* Command line after file, a later line after an earlier one, defaults first. */
static int later(int a, int b)
{
    return a == RT_FROM_COMMAND_LINE || (b != RT_FROM_COMMAND_LINE && a > b) ? a : b;
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

/* A fraction rotates whole pairs. */
static void check_fraction(checking c, int pairs)
{
    double rotated = c.config->model.position.fraction * pairs;
    double below = floor(rotated);
    if (fabs(rotated - round(rotated)) > 1e-9)
        contradict(c, KEYS("position.kind", "position.fraction", "model.dim", "model.heads"),
                   "position.fraction = %g is %g of the %d pairs of a head; the nearest that fit "
                   "are %.15g and %.15g",
                   c.config->model.position.fraction, rotated, pairs, below / pairs,
                   (below + 1) / pairs);
    else if (c.config->model.theta.learn && round(rotated) < 1)
        contradict(c, KEYS("position.kind", "position.fraction", "theta.learn"),
                   "theta.learn = yes needs rotated pairs; position.fraction = %g leaves none",
                   c.config->model.position.fraction);
}

static void check_model(checking c)
{
    const rt_roformer_options *model = &c.config->model;
    int size = model->dim / model->heads;
    bool rope = model->position.kind == RT_POSITION_ROPE;
    if (model->dim % model->heads)
        contradict(c, KEYS("model.dim", "model.heads"),
                   "model.dim = %d is not divisible by model.heads = %d", model->dim, model->heads);
    else if (rope && size % 2)
        contradict(c, KEYS("position.kind", "model.dim", "model.heads"),
                   "position.kind = rope needs heads of even size; model.dim = %d and "
                   "model.heads = %d make it %d",
                   model->dim, model->heads, size);
    else if (rope)
        check_fraction(c, size / 2);
}

static void check_theta(checking c)
{
    const rt_config *config = c.config;
    if (config->model.theta.learn && config->model.position.kind != RT_POSITION_ROPE)
        contradict(c, KEYS("theta.learn", "position.kind"),
                   "theta.learn = yes needs position.kind = rope");
    if (config->theta.check && !config->model.theta.learn)
        contradict(c, KEYS("theta.check", "theta.learn"),
                   "theta.check = yes needs theta.learn = yes");
}

static bool is_text_task(const rt_data_options *data)
{
    return !strcmp(rt_data_task_name(data->task), "text");
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
        if (strstr(message, rt_key_full_name(key, name)))
            origin = later(origin, c.config->origin[i]);
    }
    rt_config_complain(c.errors, origin, "%s", message);
}

static void check_data(checking c)
{
    const rt_data_options *data = &c.config->data;
    if (is_text_task(data) && !*data->file) {
        contradict(c, KEYS("data.task", "data.file"), "data.file is required for data.task = text");
        return;
    }
    rt_status status = rt_data_check(data);
    if (status.code)
        repeat_data_error(c, status.message);
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
    check_theta(c);
    check_data(c);
    check_optimizer(c);
    check_train(c);
}
