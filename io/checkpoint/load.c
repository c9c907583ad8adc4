#include "io/checkpoint/private.h"

#include "core/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rotor's own values, which a forger can write as well as the rest ---- */

static void expect_range(rt_image *image, const char *name, int64_t value, int64_t most)
{
    if (value < 0 || value > most)
        rt_image_fail(image, RT_CHECKPOINT, "%s is %" PRId64 ", 0 to %" PRId64 " expected", name,
                      value, most);
}

static void expect_loss(rt_image *image, const char *name, double loss)
{
    if (isnan(loss) || loss == -INFINITY)
        rt_image_fail(image, RT_CHECKPOINT, "%s is %g", name, loss);
}

/* It is printed. */
static void expect_printable(rt_image *image, const char *name, const char *word)
{
    for (; *word; word++)
        if (!isprint((unsigned char)*word))
            rt_image_fail(image, RT_CHECKPOINT, "%s holds a character that cannot be printed",
                          name);
}

/* What is written twice must be the same twice, or other random numbers would follow. */
static void expect_same_random(rt_image *image, const rt_checkpoint_info *info)
{
    char generator[RT_WORD_SIZE];
    rt_image_word(image, "/random", "generator", generator);
    const uint64_t seed = rt_image_unsigned(image, "/random", "seed");
    const int64_t step = rt_image_integer(image, "/random", "step");
    if (strcmp(generator, RT_CHECKPOINT_GENERATOR))
        rt_image_fail(image, RT_CHECKPOINT, "generator is '%s', '%s' expected", generator,
                      RT_CHECKPOINT_GENERATOR);
    if (seed != info->seed)
        rt_image_fail(image, RT_CHECKPOINT, "seed is %" PRIu64 " and, of /random, %" PRIu64,
                      info->seed, seed);
    if (step != info->step)
        rt_image_fail(image, RT_CHECKPOINT, "step is %" PRId64 " and, of /random, %" PRId64,
                      info->step, step);
}

static void check_info(rt_image *image, const rt_checkpoint_info *info)
{
    expect_range(image, "step", info->step, RT_CHECKPOINT_STEPS);
    expect_range(image, "best_eval_step", info->best_eval_step, info->step);
    expect_range(image, "schedule_steps", info->schedule_steps, RT_CHECKPOINT_STEPS);
    if (!rt_image_failed(image))
        expect_range(image, "position", info->position, info->step * RT_CHECKPOINT_BATCH);
    expect_range(image, "patience_count", info->patience_count, info->step);
    expect_loss(image, "eval_loss", info->eval_loss);
    expect_loss(image, "best_eval_loss", info->best_eval_loss);
    expect_loss(image, "patience_loss", info->patience_loss);
    expect_printable(image, "precision", info->precision);
    expect_printable(image, "blas", info->blas);
    expect_same_random(image, info);
}

void rt_checkpoint_expect_version(rt_image *image)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, "/", "format", word);
    int64_t version = rt_image_integer(image, "/", "version");
    if (strcmp(word, "rotor"))
        rt_image_fail(image, RT_CHECKPOINT, "format is '%s', 'rotor' expected", word);
    if (version == RT_CHECKPOINT_VERSION)
        return;
    rt_image_fail(image, RT_CHECKPOINT, "version is %" PRId64 "; this program reads version %d%s",
                  version, RT_CHECKPOINT_VERSION,
                  version > 0 && version < RT_CHECKPOINT_VERSION
                      ? ": train again (--report still draws the tables of an older run)"
                      : "");
}

/* Runs of before there was a patience have counted nothing. */
static void get_patience(rt_image *image, rt_checkpoint_info *info)
{
    const bool counted = rt_image_has_attribute(image, "/", "patience_loss");
    const bool evaluated = rt_image_has_attribute(image, "/", "eval_loss");
    info->eval_loss = evaluated ? rt_image_number(image, "/", "eval_loss") : INFINITY;
    info->patience_loss =
        counted ? rt_image_number(image, "/", "patience_loss") : info->best_eval_loss;
    info->patience_count = counted ? rt_image_integer(image, "/", "patience_count") : 0;
}

void rt_checkpoint_get_info(rt_image *image, rt_checkpoint_info *info)
{
    rt_checkpoint_expect_version(image);
    info->step = rt_image_integer(image, "/", "step");
    rt_image_word(image, "/", "precision", info->precision);
    rt_image_word(image, "/", "blas", info->blas);
    info->seed = rt_image_unsigned(image, "/", "seed");
    info->best_eval_loss = rt_image_number(image, "/", "best_eval_loss");
    info->best_eval_step = rt_image_integer(image, "/", "best_eval_step");
    get_patience(image, info);
    rt_shape shape;
    info->config = rt_image_text(image, "/config");
    if (rt_image_shape(image, RT_PAST_SCHEDULES, &shape))
        info->past_schedules = rt_image_text(image, RT_PAST_SCHEDULES);
    info->schedule_steps = rt_image_integer(image, "/optimizer", "schedule_steps");
    info->position = rt_image_integer(image, "/data", "position");
    info->vocabulary = rt_checkpoint_get_vocabulary(image);
    info->labels = rt_checkpoint_get_labels(image);
    check_info(image, info);
}

rt_status rt_checkpoint_vocabulary(rt_image *image, rt_vocabulary **vocabulary_new)
{
    rt_checkpoint_expect_version(image);
    *vocabulary_new = rt_checkpoint_get_vocabulary(image);
    return rt_image_status(image);
}

rt_status rt_checkpoint_labels(rt_image *image, rt_labels **labels_new)
{
    rt_checkpoint_expect_version(image);
    *labels_new = rt_checkpoint_get_labels(image);
    return rt_image_status(image);
}

static int rows_of(rt_image *image, const char *table)
{
    char path[RT_DATASET_SIZE];
    rt_shape shape;
    rt_checkpoint_dataset(path, "/model", table);
    return rt_image_shape(image, path, &shape) && shape.ndim ? shape.axis[0] : 0;
}

rt_status rt_checkpoint_tables(rt_image *image, int *words, int *types)
{
    *words = rows_of(image, RT_TOKENS_NAME);
    *types = rows_of(image, RT_TYPES_NAME);
    return rt_image_status(image);
}

static void expect_word(rt_image *image, const char *name, const char *wanted)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, "/model", name, word);
    if (strcmp(word, wanted))
        rt_image_fail(image, RT_CHECKPOINT,
                      "%s is '%s' in the checkpoint, '%s' in the configuration", name, word,
                      wanted);
}

void rt_checkpoint_expect_heads(rt_image *image, const rt_checkpoint_model *model)
{
    if (model->positions == RT_POSITION_ROPE)
        expect_word(image, "pairing", rt_pairing_words[model->pairing]);
    int64_t head_dim = rt_image_integer(image, "/model", "head_dim");
    if (head_dim != model->head_dim)
        rt_image_fail(image, RT_CHECKPOINT,
                      "head_dim is %" PRId64 " in the checkpoint, %d in the configuration",
                      head_dim, model->head_dim);
}

static bool learns_theta(const rt_parameters *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA)
            return true;
    return false;
}

static void expect_theta(rt_image *image, const rt_checkpoint_model *model)
{
    const double base = rt_image_number(image, "/model", "base");
    const bool has_base =
        model->positions == RT_POSITION_ROPE || model->positions == RT_POSITION_SINUSOIDAL;
    if (has_base && base != model->base)
        rt_image_fail(image, RT_CHECKPOINT,
                      "base is %.15g in the checkpoint, %.15g in the configuration", base,
                      model->base);
    if (!learns_theta(model->parameters))
        return;
    expect_word(image, "theta_form", rt_theta_form_words[model->theta_form]);
    expect_word(image, "theta_scope", rt_theta_scope_words[model->theta_scope]);
}

void rt_checkpoint_expect_shape(rt_image *image, const rt_checkpoint_block *b,
                                const rt_parameter *parameter)
{
    char path[RT_DATASET_SIZE];
    rt_shape there, here = rt_tensor_shape(&parameter->tensor);
    rt_checkpoint_dataset(path, b->group, parameter->name);
    if (!rt_image_shape(image, path, &there)) {
        rt_image_fail(image, RT_CHECKPOINT, "%s%s is not in the checkpoint", b->of,
                      parameter->name);
        return;
    }
    if (!rt_shapes_equal(there, here))
        rt_image_fail(image, RT_CHECKPOINT, "%s%s is %s in the checkpoint, %s in the model", b->of,
                      parameter->name, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, there),
                      rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, here));
}

typedef struct comparison {
    rt_image *image;
    const rt_parameters *parameters;
    const rt_checkpoint_block *block;
} comparison;

void rt_checkpoint_parameter_name(char name[RT_NAME_SIZE], const char *path)
{
    snprintf(name, RT_NAME_SIZE, "%s", path);
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '.';
}

void rt_checkpoint_refuse(rt_image *image, const rt_checkpoint_block *b, const char *name)
{
    rt_image_fail(image, RT_CHECKPOINT, "the checkpoint has %s%s, which the model lacks", b->of,
                  name);
}

static void expect_in_model(void *context, const char *path)
{
    comparison *c = context;
    char name[RT_NAME_SIZE];
    rt_checkpoint_parameter_name(name, path);
    const rt_parameter *parameter = rt_parameters_find(c->parameters, name);
    if (!parameter || !rt_checkpoint_block_has(c->block, parameter))
        rt_checkpoint_refuse(c->image, c->block, name);
}

/* Names and shapes of a block, in both directions. */
static void expect_block(rt_image *image, const rt_parameters *p, const rt_checkpoint_block *b)
{
    comparison c = {image, p, b};
    for (int i = 0; i < p->count; i++)
        if (rt_checkpoint_block_has(b, p->list[i]))
            rt_checkpoint_expect_shape(image, b, p->list[i]);
    rt_image_visit(image, b->group, expect_in_model, &c);
}

/* What an optimizer takes the square root of. */
static void expect_squares(rt_image *image, const rt_checkpoint_block *b,
                           const rt_parameter *parameter, const real *values)
{
    for (size_t k = 0; k < rt_size(&parameter->tensor); k++)
        if (values[k] < 0)
            rt_image_fail(image, RT_CHECKPOINT, "%s%s is %g at %zu, below 0", b->of,
                          parameter->name, (double)values[k], k);
}

/* Reads the numbers of a parameter to `values`. */
static void get_values(rt_image *image, const rt_checkpoint_block *b, const rt_parameter *parameter,
                       real *values)
{
    char path[RT_DATASET_SIZE];
    rt_checkpoint_dataset(path, b->group, parameter->name);
    rt_image_reals(image, path, values, rt_tensor_shape(&parameter->tensor));
}

static void expect_values(rt_image *image, const rt_parameters *p, const rt_checkpoint_block *b,
                          real *room)
{
    for (int i = 0; i < p->count && !rt_image_failed(image); i++) {
        if (!rt_checkpoint_block_has(b, p->list[i]))
            continue;
        get_values(image, b, p->list[i], room);
        if (rt_image_failed(image))
            return;
        if (!rt_is_finite(p->list[i], room))
            rt_image_fail(image, RT_CHECKPOINT, "%s%s is not finite in " RT_PRECISION " precision",
                          b->of, p->list[i]->name);
        if (b->state >= 0 && b->rule->states[b->state].is_square)
            expect_squares(image, b, p->list[i], room);
    }
}

static size_t largest_of(const rt_parameters *p)
{
    size_t largest = 0;
    for (int i = 0; i < p->count; i++)
        if (rt_size(&p->list[i]->tensor) > largest)
            largest = rt_size(&p->list[i]->tensor);
    return largest;
}

/* The numbers of all blocks, one parameter at a time: a checkpoint may be most of the memory. */
static void expect_all_values(rt_image *image, const rt_parameters *p,
                              const rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS])
{
    if (rt_image_failed(image))
        return;
    real *room = rt_alloc(largest_of(p), sizeof *room);
    if (!room)
        rt_image_fail(image, RT_MEMORY, "out of memory for its largest parameter");
    for (int i = 0; i < RT_CHECKPOINT_BLOCKS; i++)
        if (blocks[i].values)
            expect_values(image, p, &blocks[i], room);
    rt_free(room);
}

/* A theta whose logarithm is trained is above 0, one that is trained itself may be any number. */
static void expect_theta_start(rt_image *image, const rt_checkpoint_model *model)
{
    const size_t size = rt_shape_size(model->theta_shape);
    if (rt_image_failed(image) || !model->theta_start)
        return;
    double *theta = rt_alloc(size, sizeof *theta);
    if (!theta) {
        rt_image_fail(image, RT_MEMORY, "out of memory for theta_start");
        return;
    }
    rt_image_doubles(image, RT_THETA_START, theta, model->theta_shape);
    for (size_t i = 0; i < size; i++)
        if (!isfinite(theta[i]) || (theta[i] < 0 && model->theta_form == RT_THETA_LOG))
            rt_image_fail(image, RT_CHECKPOINT, "theta_start is %g at %zu", theta[i], i);
    rt_free(theta);
}

void rt_checkpoint_expect(rt_image *image, const rt_checkpoint_model *model,
                          rt_checkpoint_info *info)
{
    rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS];
    rt_checkpoint_list_blocks(model, blocks);
    rt_checkpoint_get_info(image, info);
    rt_checkpoint_expect_heads(image, model);
    expect_theta(image, model);
    for (int i = 0; i < RT_CHECKPOINT_BLOCKS; i++)
        if (blocks[i].values)
            expect_block(image, model->parameters, &blocks[i]);
    expect_all_values(image, model->parameters, blocks);
    expect_theta_start(image, model);
}

/* Reads again what was found to fit, to where it belongs. */
static void take_values(rt_image *image, const rt_checkpoint_model *model)
{
    const rt_parameters *p = model->parameters;
    rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS];
    rt_checkpoint_list_blocks(model, blocks);
    for (int i = 0; i < RT_CHECKPOINT_BLOCKS; i++)
        for (int k = 0; blocks[i].values && k < p->count; k++)
            if (rt_checkpoint_block_has(&blocks[i], p->list[k]))
                get_values(image, &blocks[i], p->list[k], blocks[i].values + p->list[k]->offset);
    if (model->theta_start)
        rt_image_doubles(image, RT_THETA_START, model->theta_start, model->theta_shape);
}

rt_status rt_checkpoint_load(rt_image *image, const rt_checkpoint_model *model,
                             rt_checkpoint_info *info)
{
    rt_checkpoint_info read = {0};
    rt_checkpoint_expect(image, model, &read);
    if (!rt_image_failed(image))
        take_values(image, model);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    if (status.code == RT_OK)
        *info = read;
    else
        rt_checkpoint_info_free(&read);
    return status;
}

int64_t rt_checkpoint_best_step(const rt_checkpoint_info *info)
{
    return info->eval_loss < info->best_eval_loss ? info->step : info->best_eval_step;
}

rt_status rt_checkpoint_look(rt_image *image, rt_checkpoint_info *info)
{
    *info = (rt_checkpoint_info){0};
    rt_checkpoint_get_info(image, info);
    rt_status status = rt_image_status(image);
    if (status.code != RT_OK)
        rt_checkpoint_info_free(info);
    return status;
}

rt_status rt_checkpoint_read_info(rt_image *image, rt_checkpoint_info *info)
{
    rt_status status = rt_checkpoint_look(image, info);
    rt_image_close(image);
    return status;
}

void rt_checkpoint_info_free(rt_checkpoint_info *info)
{
    rt_free(info->config);
    rt_free(info->past_schedules);
    rt_vocabulary_free(info->vocabulary);
    rt_labels_free(info->labels);
    *info = (rt_checkpoint_info){0};
}
