#include "train/config/private.h"

#include "data/rules.h"
#include "models/encodings/encoding.h"
#include "models/rules.h"
#include "text/list.h"
#include "text/number.h"
#include "text/quote.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct checking {
    const rt_config *config;
    bool without_data; /* data.file may be missing */
    bool trained;      /* a run was trained with it */
    rt_config_errors *errors;
} checking;

/* Returns the later of two origins: default, line of the file, command line, sweep. */
static int later(int a, int b)
{
    if (a < 0 || b < 0)
        return a < b ? a : b;
    return a > b ? a : b;
}

/* Returns the origin of a key; that of train.init_from for an inherited value. */
static int place_of(const rt_config *config, int i)
{
    const int origin = config->origin[i];
    return origin == RT_FROM_MODEL ? config->origin[rt_key_find("train", "init_from")] : origin;
}

/* The contradicting keys, "section.key" each. */
#define KEYS RT_OPTIONS

/* Sets `origin` to the latest origin of the keys. Returns false if a value was refused. */
static bool find_latest(checking c, const char *const *keys, int *origin)
{
    for (; *keys; keys++) {
        int i = rt_key_find_full(*keys);
        if (i < 0)
            continue; /* an option without a key: the data sets it */
        if (c.errors->bad[i])
            return false;
        *origin = later(*origin, place_of(c.config, i));
    }
    return true;
}

static void contradict(checking c, const char *const *keys, const char *format, ...)
    RT_PRINTF(3, 4);
static void contradict(checking c, const char *const *keys, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    int origin = RT_FROM_DEFAULT;
    if (!find_latest(c, keys, &origin))
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    rt_config_complain(c.errors, origin, "%s", message);
}

static void check_run(checking c)
{
    char quoted[RT_QUOTE_SIZE];
    const char *name = c.config->run.name ? c.config->run.name : "";
    if (!*name || strchr(name, '/') || *name == '-' || !strcmp(name, ".") || !strcmp(name, ".."))
        contradict(c, KEYS("run.name"),
                   "run.name must name a directory, without '/' and not with '-' at the start; "
                   "got %s",
                   rt_quote(quoted, name));
    if (c.config->run.kernels == RT_KERNELS_PORTABLE && c.config->run.engine != RT_ENGINE_OPENBLAS)
        contradict(
            c, KEYS("run.kernels", "run.engine"),
            "run.kernels = portable needs run.engine = openblas: the kernels of oneDNN follow "
            "the processor");
}

static void contradict_rule(void *context, const char *const *options, const char *message)
{
    contradict(*(const checking *)context, options, "%s", message);
}

/* Checks that the encoding has positions for the longest sequence. */
static void check_capacity(checking c, const rt_transformer_options *model)
{
    char value[RT_VALUE_SIZE];
    const char *name = rt_encoding_of(model)->capacity_key;
    const int most = rt_transformer_capacity(model), longest = rt_config_longest(c.config);
    if (most && most < longest)
        contradict(c, KEYS(name, "position.kind", "data.length", "train.eval_lengths"),
                   "%s = %s is for %d tokens at most; the longest sequence has %d", name,
                   rt_key_write(rt_key_at(rt_key_find_full(name)), c.config, value), most, longest);
}

/* Checks the options of the model; those that the data sets are assumed to be valid. */
static void check_model(checking c)
{
    rt_transformer_options model = c.config->model;
    model.vocab = 1;
    model.head = RT_HEAD_LM;
    rt_transformer_rules(&model, contradict_rule, &c);
    check_capacity(c, &model);
}

static void check_theta(checking c)
{
    const rt_transformer_options *model = &c.config->model;
    if (!c.config->theta.init_from)
        return;
    if (model->theta.learn && model->theta.init != RT_THETA_FREQUENCIES)
        contradict(c, KEYS("theta.init_from", "theta.init"),
                   "theta.init_from and theta.init both set the initial theta; give only one");
}

/* Returns whether a trained run has the objective, which is then accepted. */
static bool trained_so(checking c)
{
    static const char *const keys[] = {"data.task", "data.objective", "model.causal", "model.kind"};
    bool said = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        said |= c.config->origin[rt_key_find_full(keys[i])] == RT_FROM_COMMAND_LINE;
    return c.trained && !said;
}

/* Checks the attention mask against the objective: no token may see its own answer. */
static void check_causal(checking c)
{
    const rt_data_options *data = &c.config->data;
    const bool causal = c.config->model.causal;
    if (rt_data_task_has_objective(data->task) && data->objective == RT_OBJECTIVE_LM && !causal)
        contradict(c, KEYS("data.task", "data.objective", "model.causal"),
                   "data.objective = lm needs model.causal = yes: otherwise a token sees the next "
                   "one, which it must predict");
    if (rt_data_task_has_objective(data->task) && data->objective == RT_OBJECTIVE_MLM && causal &&
        !trained_so(c))
        contradict(c, KEYS("data.task", "data.objective", "model.causal", "model.kind"),
                   "data.objective = mlm needs model.causal = no: a causal model sees only what "
                   "stands before a mask; set data.objective = lm for it");
    if (rt_data_task_target(data->task) == RT_TARGET_SEQUENCE && causal &&
        c.config->model.pool == RT_POOL_FIRST)
        contradict(c, KEYS("data.task", "model.causal", "model.kind", "model.pool"),
                   "data.task = %s with model.pool = first needs model.causal = no: the first "
                   "token, which gives the answer, must see the others; set model.pool = last for "
                   "a causal model",
                   rt_data_task_name(data->task));
}

typedef struct checking_length {
    checking checking;
    int length;
} checking_length;

/* Complains of a rule that is broken at a length of train.eval_lengths. */
static void contradict_length(void *context, const char *const *options, const char *message)
{
    const checking_length *l = context;
    const checking c = l->checking;
    int origin = RT_FROM_DEFAULT;
    if (find_latest(c, KEYS("train.eval_lengths"), &origin) && find_latest(c, options, &origin))
        rt_config_complain(c.errors, origin, "train.eval_lengths: at length %d, %s", l->length,
                           message);
}

/* Checks the task at the other lengths of evaluation. */
static void check_lengths(checking c)
{
    const rt_lengths *lengths = &c.config->train.eval_lengths;
    for (int i = 0; i < lengths->count; i++) {
        rt_data_options other = c.config->data;
        other.length = lengths->at[i];
        rt_data_rules(&other, contradict_length, &(checking_length){c, other.length});
    }
}

static void check_data(checking c)
{
    const rt_data_options *data = &c.config->data;
    check_causal(c);
    const bool reads_file = rt_data_task_files(data->task) != RT_NO_FILE;
    if (reads_file && !data->file && c.without_data)
        return;
    if (reads_file && !data->file) {
        contradict(c, KEYS("data.task", "data.file"), "data.file is required for data.task = %s",
                   rt_data_task_name(data->task));
        return;
    }
    rt_data_rules(data, contradict_rule, &c);
    if (!rt_data_check(data).code)
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

/* The first evaluation always counts as an improvement, so patience starts after it. */
static void check_patience(checking c)
{
    const rt_train_options *train = &c.config->train;
    const int64_t earliest = ((int64_t)train->patience + 1) * train->eval_every;
    if (train->patience && earliest >= train->steps)
        contradict(c, KEYS("train.patience", "train.eval_every", "train.steps"),
                   "train.patience = %d can never end this run: with train.eval_every = %d it "
                   "runs out at step %lld at the earliest, and train.steps = %d",
                   train->patience, train->eval_every, (long long)earliest, train->steps);
}

static void check_train(checking c)
{
    check_patience(c);
    const rt_status freeze = rt_freeze_check(c.config->train.freeze, c.config->model.layers);
    if (freeze.code)
        contradict(c, KEYS("train.freeze", "model.layers"), "%s", freeze.message);
    const rt_parameter theta = {.role = RT_ROLE_THETA, .layer = -1};
    if (rt_freezes(c.config->train.freeze, &theta) && !c.config->model.theta.learn &&
        !c.config->train.init_from)
        contradict(c, KEYS("train.freeze", "theta.learn"),
                   "train.freeze = theta has no effect: it needs theta.learn = yes");
    int shards = c.config->train.shards;
    int batch_size = c.config->train.batch_size;
    if (!c.config->train.eval_batches && rt_data_task_files(c.config->data.task) == RT_NO_FILE)
        contradict(c, KEYS("train.eval_batches", "data.task"),
                   "train.eval_batches = 0 needs data in files: data.task = %s never ends",
                   rt_data_task_name(c.config->data.task));
    if (shards & (shards - 1))
        contradict(c, KEYS("train.shards"), "train.shards must be 0 or a power of two; got %d",
                   shards);
    else if (shards > batch_size)
        contradict(c, KEYS("train.shards", "train.batch_size"),
                   "train.shards = %d is more than train.batch_size = %d", shards, batch_size);
}

void rt_config_check(const rt_config *config, bool without_data, bool trained,
                     rt_config_errors *errors)
{
    checking c = {config, without_data, trained, errors};
    check_run(c);
    check_model(c);
    check_theta(c);
    check_data(c);
    check_optimizer(c);
    check_train(c);
}

/* ---- train.freeze ---- */

enum { PART_SIZE = 32 };

/* Copies the first part of a list; returns the rest. A name that is too long matches no part. */
static const char *take_part(const char *list, char part[PART_SIZE])
{
    rt_list_item item;
    list = rt_list_take(list, &item);
    rt_list_item_copy(item, part, PART_SIZE);
    return list;
}

/* Parses the N of "layers.N", where `word` is "layers.". Returns false for another part. */
static bool read_layer(const char *part, const char *word, int64_t *layer)
{
    const size_t length = strlen(word);
    return !strncmp(part, word, length) &&
           part[length + strspn(part + length, "0123456789")] == '\0' &&
           rt_whole_read(part + length, layer);
}

static rt_status check_part(const char *part, int layers)
{
    char quoted[RT_QUOTE_SIZE];
    int64_t layer;
    if (!strcmp(part, "embeddings") || !strcmp(part, "head") || !strcmp(part, "theta"))
        return rt_ok();
    if (read_layer(part, "layer.", &layer))
        return rt_error(RT_CONFIG, "train.freeze = %s is now called layers.%jd", part,
                        (intmax_t)layer);
    if (!read_layer(part, "layers.", &layer))
        return rt_error(RT_CONFIG,
                        "train.freeze must be a comma-separated list of embeddings, layers.0 to "
                        "layers.%d, head, theta; got %s",
                        layers - 1, rt_quote(quoted, part));
    if (layer >= layers)
        return rt_error(RT_CONFIG, "train.freeze: there is no layers.%jd; model.layers = %d",
                        (intmax_t)layer, layers);
    return rt_ok();
}

rt_status rt_freeze_check(const char *parts, int layers)
{
    char part[PART_SIZE];
    rt_status status = rt_ok();
    for (const char *rest = parts; rest && !status.code;) {
        rest = take_part(rest, part);
        status = check_part(part, layers);
    }
    return status;
}

static bool is_of(const char *part, const rt_parameter *parameter)
{
    int64_t layer;
    if (!strcmp(part, "theta"))
        return parameter->role == RT_ROLE_THETA;
    if (!strcmp(part, "head"))
        return parameter->part == RT_PART_HEAD;
    if (!strcmp(part, "embeddings"))
        return parameter->part == RT_PART_EMBEDDINGS;
    return read_layer(part, "layers.", &layer) && parameter->layer == layer;
}

bool rt_freezes(const char *parts, const rt_parameter *parameter)
{
    char part[PART_SIZE];
    bool frozen = false;
    for (const char *rest = parts; rest && !frozen;) {
        rest = take_part(rest, part);
        frozen = is_of(part, parameter);
    }
    return frozen;
}
