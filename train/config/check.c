#include "train/config/private.h"

#include "data/data.h"
#include "models/encodings/encoding.h"
#include "models/options.h"
#include "util/number.h"
#include "util/writer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Contradicting keys, "section.key" each. */
#define KEYS RT_OPTIONS

/* Sets `origin` to the latest origin of the keys: default, line of the file, command line, sweep.
 * The origin of an inherited value is train.init_from. Returns false if a key has a bad value. */
static bool find_latest(const rt_config_errors *errors, const char *const *keys, int *origin)
{
    for (; *keys; keys++) {
        const int i = rt_key_find(*keys);
        if (i < 0)
            continue; /* an option without a key, which the data sets */
        if (errors->bad[i])
            return false;
        const bool inherited = errors->origin[i] == RT_FROM_MODEL;
        const int at = errors->origin[inherited ? rt_key_find("train.init_from") : i];
        if (at < 0 || *origin < 0 ? at < *origin : at > *origin)
            *origin = at;
    }
    return true;
}

/* Adds an error about keys that contradict each other, unless one has a bad value. */
RT_PRINTF(3, 4)
static void contradict(rt_config_errors *errors, const char *const *keys, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    int origin = RT_FROM_DEFAULT;
    if (!find_latest(errors, keys, &origin))
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    rt_config_add_error(errors, origin, "%s", message);
}

/* Context of contradict_rule. */
typedef struct rule_errors {
    rt_config_errors *errors;
    int length;  /* of train.eval_lengths; 0: data.length */
    bool broken; /* a rule is */
} rule_errors;

static void contradict_rule(void *context, const char *const *options, const char *message)
{
    rule_errors *r = context;
    int origin = RT_FROM_DEFAULT;
    r->broken = true;
    if (!r->length)
        contradict(r->errors, options, "%s", message);
    else if (find_latest(r->errors, KEYS("train.eval_lengths"), &origin) &&
             find_latest(r->errors, options, &origin))
        rt_config_add_error(r->errors, origin, "train.eval_lengths: at length %d, %s", r->length,
                            message);
}

/* Checks that the encoding has positions for the longest sequence and for all random positions,
 * and that these suffice for that sequence. */
static void check_positions(const rt_config *config, rt_config_errors *errors)
{
    const rt_position_options *position = &config->model.position;
    const int random = position->randomized, longest = rt_config_longest(config);
    const int capacity = rt_transformer_capacity(&config->model);
    const char *key = rt_encoding_of(&config->model)->capacity_key;
    if (capacity && capacity < longest && position->axes < 2)
        contradict(errors, KEYS(key, "position.kind", "data.length", "train.eval_lengths"),
                   "%s allows %d tokens at most; the longest sequence has %d", key, capacity,
                   longest);
    if (random && position->axes > 1)
        contradict(errors, KEYS("position.randomized", "position.axes", "data.task"),
                   "position.randomized needs position.axes = 1");
    else if (random && random < longest)
        contradict(errors, KEYS("position.randomized", "data.length", "train.eval_lengths"),
                   "position.randomized = %d has too few positions for the longest sequence, of %d "
                   "tokens",
                   random, longest);
    else if (capacity && capacity < random)
        contradict(errors, KEYS("position.randomized", key),
                   "position.randomized = %d needs as many positions; %s allows %d", random, key,
                   capacity);
}

/* Checks the sizes of images, from which lengths follow, and that positions with two coordinates
 * have a grid of tokens. */
static void check_plane(const rt_config *config, rt_config_errors *errors)
{
    const rt_data_options *data = &config->data;
    const rt_position_options *position = &config->model.position;
    const rt_lengths *sizes = &config->train.eval_sizes, *lengths = &config->train.eval_lengths;
    if (position->axes > 1 && !rt_tasks[data->task].grid)
        contradict(errors, KEYS("position.axes", "data.task"),
                   "position.axes = 2 needs data.task = images or spin2, whose tokens form a grid; "
                   "got %s",
                   rt_tasks[data->task].name);
    const bool table = position->axes > 1 && position->kind == RT_POSITION_LEARNED;
    if (table && position->max_len != data->length)
        contradict(errors,
                   KEYS("position.kind", "position.axes", "position.max_len", "data.length",
                        "data.size"),
                   "position.kind = learned has a table for a grid of %d tokens "
                   "(position.max_len), not for one of %d (%s %d); set another position.kind",
                   position->max_len, data->length, rt_config_extent_word(config),
                   rt_config_extent(config, -1));
    for (int i = 0; i < lengths->count && table; i++)
        if (lengths->at[i] != position->max_len)
            contradict(errors,
                       KEYS("position.kind", "position.axes", "train.eval_lengths",
                            "train.eval_sizes"),
                       "position.kind = learned has a table for the %s %d of training, not for %d; "
                       "leave out train.eval_%ss or set another position.kind",
                       rt_config_extent_word(config), rt_config_extent(config, -1),
                       rt_config_extent(config, i), rt_config_extent_word(config));
    if (rt_tasks[data->task].kind != RT_DATA_IMAGES)
        return;
    if (data->length > RT_MOST_SIZE)
        contradict(errors, KEYS("data.size", "data.patch"),
                   "data.size = %d and data.patch = %d make more than %d tokens of an image; set a "
                   "larger data.patch",
                   data->size, data->patch, RT_MOST_SIZE);
    if (data->size % data->patch)
        contradict(errors, KEYS("data.size", "data.patch"),
                   "data.size must be a multiple of data.patch = %d; got %d", data->patch,
                   data->size);
    for (int i = 0; i < sizes->count; i++)
        if (sizes->at[i] % data->patch)
            contradict(errors, KEYS("train.eval_sizes", "data.patch"),
                       "train.eval_sizes must be multiples of data.patch = %d; got %d", data->patch,
                       sizes->at[i]);
        else if (i < lengths->count && lengths->at[i] > RT_MOST_SIZE)
            contradict(errors, KEYS("train.eval_sizes", "data.patch"),
                       "train.eval_sizes = %d and data.patch = %d make more than %d tokens of an "
                       "image",
                       sizes->at[i], data->patch, RT_MOST_SIZE);
}

/* Checks that no label is the next token of the input, which a model that is not causal sees. */
static void check_next_token(const rt_data_options *data, rt_config_errors *errors)
{
    const rt_task *task = &rt_tasks[data->task];
    const bool lm = task->objective && data->objective == RT_OBJECTIVE_LM;
    const char *key = lm ? "data.objective" : data->shortest ? "data.length" : "data.task";
    const char *value = data->shortest     ? RT_PRINTED(64, "%d..%d", data->shortest, data->length)
                        : task->next_token ? task->name
                                           : "lm";
    if (lm || data->shortest || task->next_token)
        contradict(errors, KEYS("data.task", key, "model.causal", "model.kind"),
                   "%s = %s needs model.causal = yes: otherwise a token sees the next one, which "
                   "it must predict",
                   key, value);
}

/* Checks the data at the length of training and, if that is valid, at the lengths of evaluations.
 * Also checks the attention mask against the objective, because no token may see its answer; a
 * trained run keeps any objective, but one that the command line sets is checked. */
static void check_data(const rt_config *config, bool without_data, bool trained,
                       rt_config_errors *errors)
{
    const rt_data_options *data = &config->data;
    const rt_lengths *lengths = &config->train.eval_lengths;
    const bool causal = config->model.causal;
    const bool has_objective = rt_tasks[data->task].objective;
    const bool reads_file = rt_tasks[data->task].kind != RT_DATA_TOY;
    const char *task = rt_tasks[data->task].name;
    if (!causal)
        check_next_token(data, errors);
    const char *const *predicted =
        KEYS("data.task", "data.objective", "model.causal", "model.kind");
    bool judged = !trained;
    for (int i = 0; predicted[i]; i++)
        judged |= rt_on_command_line(config, predicted[i]);
    if (has_objective && data->objective == RT_OBJECTIVE_MLM && causal && judged)
        contradict(errors, predicted,
                   "data.objective = mlm needs model.causal = no: a causal model sees only what "
                   "stands before a mask; set data.objective = lm for it");
    if (rt_tasks[data->task].target == RT_TARGET_SEQUENCE && causal &&
        config->model.pool == RT_POOL_FIRST)
        contradict(errors, KEYS("data.task", "model.causal", "model.kind", "model.pool"),
                   "data.task = %s with model.pool = first needs model.causal = no: the first "
                   "token, which gives the answer, must see the others; set model.pool = last for "
                   "a causal model",
                   task);
    if (!config->train.eval_batches && !reads_file)
        contradict(errors, KEYS("train.eval_batches", "data.task"),
                   "train.eval_batches = 0 needs data in files: data.task = %s never ends", task);
    if (reads_file && !data->file && !without_data)
        contradict(errors, KEYS("data.task", "data.file"),
                   "data.file is required for data.task = %s", task);
    const bool cut = rt_tasks[data->task].kind == RT_DATA_IMAGES && data->size % data->patch;
    if ((reads_file && !data->file) || cut) /* reported already */
        return;
    rule_errors rules = {.errors = errors};
    rt_data_rules(data, contradict_rule, &rules);
    for (int i = 0; data->shortest && data->shortest < data->length && i < lengths->count; i++)
        if (lengths->at[i] == data->length)
            contradict(errors, KEYS("train.eval_lengths", "data.length"),
                       "train.eval_lengths = %d is the end of data.length = %d..%d, over which the "
                       "evaluation is anyway; leave it out",
                       data->length, data->shortest, data->length);
    const bool valid = !rules.broken && rt_tasks[data->task].kind != RT_DATA_IMAGES;
    for (int i = 0; valid && i < lengths->count; i++) {
        rt_data_options other = *data;
        rules.length = other.length = lengths->at[i];
        rt_data_rules(&other, contradict_rule, &rules);
    }
}

static bool is_override(const rt_config_errors *errors, const char *key)
{
    const int origin = errors->origin[rt_key_find(key)];
    return origin == RT_FROM_COMMAND_LINE || origin == RT_FROM_SWEEP;
}

/* Returns whether steps that are too few for these keys are a trial: train.steps overrides the
 * file, or a run was trained so, and the keys are not overridden. */
static bool is_trial(const rt_config_errors *errors, bool trained, const char *const *keys)
{
    bool trial = trained || is_override(errors, "train.steps");
    for (; *keys; keys++)
        trial = trial && !is_override(errors, *keys);
    return trial;
}

int64_t rt_patience_ends_from(const rt_train_options *o)
{
    return o->patience ? ((int64_t)o->patience + 1) * o->eval_every : 0;
}

/* Checks the numbers of steps and micro-batches, the frozen parts, the name of the run and its
 * kernels. */
static void check_training(const rt_config *config, bool trained, rt_config_errors *errors)
{
    char quoted[RT_QUOTE_SIZE];
    const rt_optimizer_options *optimizer = &config->optimizer;
    const rt_train_options *train = &config->train;
    const int64_t earliest = rt_patience_ends_from(train);
    const int shards = train->shards, batch_size = train->batch_size;
    const char *name = config->run.name ? config->run.name : "";
    const rt_status freeze = rt_freeze_check(train->freeze, config->model.layers);
    const bool follows = errors->origin[rt_key_find("optimizer.schedule_steps")] == RT_FROM_DEFAULT;
    if (optimizer->warmup_steps > optimizer->schedule_steps &&
        !((follows || trained) &&
          is_trial(errors, trained, KEYS("optimizer.warmup_steps", "optimizer.schedule_steps"))))
        contradict(errors,
                   KEYS("optimizer.warmup_steps", "optimizer.schedule_steps", "train.steps"),
                   "optimizer.warmup_steps = %d is more than the %d steps of the schedule",
                   optimizer->warmup_steps, optimizer->schedule_steps);
    if (earliest >= train->steps &&
        !is_trial(errors, trained, KEYS("train.patience", "train.eval_every")))
        contradict(errors, KEYS("train.patience", "train.eval_every", "train.steps"),
                   "train.patience = %d can never end this run: with train.eval_every = %d it "
                   "runs out at step %lld at the earliest, and train.steps = %d",
                   train->patience, train->eval_every, (long long)earliest, train->steps);
    if (shards & (shards - 1))
        contradict(errors, KEYS("train.shards"), "train.shards must be 0 or a power of two; got %d",
                   shards);
    else if (shards > batch_size)
        contradict(errors, KEYS("train.shards", "train.batch_size"),
                   "train.shards = %d is more than train.batch_size = %d", shards, batch_size);
    if (freeze.code)
        contradict(errors, KEYS("train.freeze", "model.layers"), "%s", freeze.message);
    if (rt_list_has(train->freeze, "theta") && !config->model.theta.learn && !train->init_from)
        contradict(errors, KEYS("train.freeze", "theta.learn"),
                   "train.freeze = theta has no effect: it needs theta.learn = yes");
    if (config->model.theta.head_scale && !trained && !train->init_from && !train->trunk &&
        !freeze.code && rt_config_freezes(config, RT_ROLE_FACTOR))
        contradict(errors, KEYS("train.freeze", "theta.head_scale"),
                   "theta.head_scale = yes has no effect: train.freeze = %s keeps the factors of "
                   "all heads at 1",
                   train->freeze);
    if (!*name || strchr(name, '/') || *name == '-' || !strcmp(name, ".") || !strcmp(name, ".."))
        contradict(errors, KEYS("run.name"),
                   "run.name must name a directory, without '/' and not with '-' at the start; "
                   "got %s",
                   rt_quote(quoted, name));
    const rt_run_options *run = &config->run;
    if (run->kernels == RT_KERNELS_PORTABLE &&
        (run->engine == RT_LIBRARY_ONEDNN || run->math != RT_MATH_FLOAT))
        contradict(errors, KEYS("run.kernels", "run.engine", "run.math"),
                   "run.kernels = portable needs OpenBLAS, and run.math = float: the kernels of "
                   "oneDNN follow the processor");
}

void rt_config_check(const rt_config *config, const rt_config *written, bool without_data,
                     bool trained, rt_config_errors *errors)
{
    rt_transformer_options model = config->model;
    model.vocab = 1; /* the data will set it */
    errors->origin = config->origin;
    rt_transformer_rules(&model, contradict_rule, &(rule_errors){.errors = errors});
    if (config->theta.init_from && model.theta.learn && model.theta.init != RT_THETA_FREQUENCIES)
        contradict(errors, KEYS("theta.init_from", "theta.init"),
                   "theta.init_from and theta.init both set the initial theta; give only one");
    check_positions(config, errors);
    check_plane(config, errors);
    check_data(config, without_data, trained, errors);
    check_training(config, trained, errors);
    if (!written || errors->count)
        return;
    for (int i = 0; rt_key_at(i); i++) {
        rt_writer w = {0};
        const int origin = written->origin[i];
        if (!config->idle[i] || (trained && origin != RT_FROM_COMMAND_LINE))
            continue;
        rt_key_report_idle(&w, i, config, written);
        errors->lines.failed |= w.failed;
        rt_config_add_error(errors, origin, "%s", w.bytes ? w.bytes : "");
        rt_writer_free(&w);
    }
}

/* Parses the N of "layers.N", where `word` is "layers.". Returns false for any other part. */
static bool read_layer(const char *part, const char *word, int64_t *layer)
{
    const size_t length = strlen(word);
    return !strncmp(part, word, length) &&
           part[length + strspn(part + length, "0123456789")] == '\0' &&
           rt_integer_parse(part + length, layer);
}

enum { PART_SIZE = 32 }; /* one that is too long matches no part */

rt_status rt_freeze_check(const char *parts, int layers)
{
    rt_list_item item;
    int64_t layer;
    while (parts) {
        parts = rt_list_parse(parts, &item);
        const char *part = RT_PRINTED(PART_SIZE, "%.*s", (int)item.length, item.start);
        if (!strcmp(part, "embeddings") || !strcmp(part, "head") || !strcmp(part, "theta") ||
            !strcmp(part, "weights"))
            continue;
        if (read_layer(part, "layer.", &layer))
            return rt_error(RT_CONFIG, "train.freeze = %s is now called layers.%jd", part,
                            (intmax_t)layer);
        if (!read_layer(part, "layers.", &layer))
            return rt_error(RT_CONFIG,
                            "train.freeze must be a comma-separated list of embeddings, layers.0 "
                            "to layers.%d, head, theta, weights (all but theta); got %s",
                            layers - 1, RT_QUOTED(part));
        if (layer >= layers)
            return rt_error(RT_CONFIG, "train.freeze: there is no layers.%jd; model.layers = %d",
                            (intmax_t)layer, layers);
    }
    return rt_ok();
}

bool rt_freezes(const char *parts, const rt_parameter *parameter)
{
    rt_list_item item;
    int64_t layer;
    bool frozen = false;
    while (parts && !frozen) {
        parts = rt_list_parse(parts, &item);
        const char *part = RT_PRINTED(PART_SIZE, "%.*s", (int)item.length, item.start);
        frozen = !strcmp(part, "theta")     ? parameter->role == RT_ROLE_THETA
                 : !strcmp(part, "weights") ? parameter->role != RT_ROLE_THETA
                 : !strcmp(part, "head")    ? parameter->component == RT_COMPONENT_HEAD
                 : !strcmp(part, "embeddings")
                     ? parameter->component == RT_COMPONENT_EMBEDDINGS
                     : read_layer(part, "layers.", &layer) && parameter->layer == layer;
    }
    return frozen;
}

bool rt_config_freezes(const rt_config *c, rt_role role)
{
    const bool shared = role == RT_ROLE_THETA && c->model.theta.scope == RT_THETA_MODEL;
    const rt_component component = shared ? RT_COMPONENT_POSITIONS : RT_COMPONENT_LAYER;
    bool frozen = true;
    for (int l = 0; l < c->model.layers && frozen; l++)
        if (role != RT_ROLE_THETA || rt_layer_row_of(&c->model, l).has_positions)
            frozen = rt_freezes(c->train.freeze, &(rt_parameter){.role = role,
                                                                 .component = component,
                                                                 .layer = shared ? -1 : l});
    return frozen;
}

bool rt_config_trains_theta(const rt_config *c)
{
    return c->model.theta.learn && c->optimizer.lr * c->optimizer.settings.theta_lr_scale > 0 &&
           !rt_config_freezes(c, RT_ROLE_THETA);
}
