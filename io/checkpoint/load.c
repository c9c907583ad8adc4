#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "data/keys.h"
#include "models/encodings/encoding.h"
#include "models/keys.h"
#include "text/key_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- how a model lies in the file ---- */

bool rt_checkpoint_block_has(const rt_checkpoint_block *b, const rt_parameter *parameter)
{
    return b->state < 0 || b->state < rt_states_of(b->rule, parameter);
}

/* "second moment of " */
static void name_state(rt_checkpoint_block *b, const char *name)
{
    snprintf(b->group, RT_GROUP_SIZE, "/optimizer/%s", name);
    snprintf(b->of, RT_GROUP_SIZE, "%s of ", name);
    for (char *c = b->of; *c; c++)
        if (*c == '_')
            *c = ' ';
}

void rt_checkpoint_list_blocks(const rt_checkpoint_model *model,
                               rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS])
{
    blocks[0] = (rt_checkpoint_block){"/model", "", model->parameters->values, NULL, -1};
    for (int i = 0; i < RT_MOST_STATES; i++) {
        rt_checkpoint_block *b = &blocks[1 + i];
        *b = (rt_checkpoint_block){.rule = model->rule, .state = i};
        if (!model->rule || i >= model->rule->state_count)
            continue;
        b->values = model->states[i];
        name_state(b, model->rule->states[i].name);
    }
}

void rt_checkpoint_dataset(char path[RT_DATASET_SIZE], const char *group, const char *parameter)
{
    size_t start = strlen(group) + 1;
    snprintf(path, RT_DATASET_SIZE, "%s/%s", group, parameter);
    for (char *c = path + start; *c; c++)
        if (*c == '.')
            *c = '/';
}

bool rt_is_finite(const rt_parameter *parameter, const real *values)
{
    const size_t size = rt_size(&parameter->tensor);
    for (size_t k = 0; k < size; k++)
        if (!isfinite(values[k]))
            return false;
    return true;
}

const rt_parameter *rt_first_nonfinite(const rt_parameters *p, const real *block)
{
    for (int i = 0; i < p->count; i++)
        if (!rt_is_finite(p->list[i], block + p->list[i]->offset))
            return p->list[i];
    return NULL;
}

/* ---- reading ---- */

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

static void expect_generator(rt_image *image)
{
    char generator[RT_WORD_SIZE];
    rt_image_word(image, "/random", "generator", generator);
    if (strcmp(generator, RT_CHECKPOINT_GENERATOR))
        rt_image_fail(image, RT_CHECKPOINT, "generator is '%s', '%s' expected", generator,
                      RT_CHECKPOINT_GENERATOR);
}

static void get_run(rt_image *image, rt_checkpoint_info *info)
{
    rt_checkpoint_expect_version(image);
    rt_checkpoint_get_fields(image, info);
    expect_generator(image);
}

void rt_checkpoint_get_info(rt_image *image, rt_checkpoint_info *info)
{
    get_run(image, info);
    info->vocabulary = rt_checkpoint_get_vocabulary(image);
    info->labels = rt_checkpoint_get_labels(image);
}

rt_transformer_options rt_checkpoint_get_options(rt_image *image)
{
    rt_transformer_options options = {.vocab = 0};
    rt_image_get_options(image, "/model", &rt_model_keys, &options);
    return options;
}

rt_status rt_checkpoint_options(rt_image *image, rt_transformer_options *model,
                                rt_data_options *data)
{
    rt_checkpoint_expect_version(image);
    *model = rt_checkpoint_get_options(image);
    *data = (rt_data_options){.length = 0};
    rt_image_get_options(image, "/data", &rt_data_keys, data);
    return rt_image_status(image);
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

/* ---- options ---- */

/* Checks that a key has the same value in the file and in the model. */
static void expect_key(rt_image *image, const char *name, const rt_transformer_options *there,
                       const rt_transformer_options *here)
{
    char one[RT_VALUE_SIZE], other[RT_VALUE_SIZE];
    const rt_key *key = rt_keys_find(&rt_model_keys, name);
    rt_key_value_write(key, there, one);
    rt_key_value_write(key, here, other);
    if (strcmp(one, other) != 0)
        rt_image_fail(image, RT_CHECKPOINT, "%s is %s in the checkpoint, %s in the configuration",
                      name, one, other);
}

void rt_checkpoint_expect_heads(rt_image *image, const rt_transformer_options *there,
                                const rt_transformer_options *here)
{
    if (rt_image_failed(image))
        return;
    if (rt_encoding_of(here)->rotation)
        expect_key(image, "position.pairing", there, here);
    if (rt_transformer_head_dim(there) != rt_transformer_head_dim(here))
        rt_image_fail(image, RT_CHECKPOINT,
                      "heads have %d features in the checkpoint, %d in the configuration",
                      rt_transformer_head_dim(there), rt_transformer_head_dim(here));
}

static bool learns_theta(const rt_parameters *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA)
            return true;
    return false;
}

static void expect_theta(rt_image *image, const rt_transformer_options *there,
                         const rt_checkpoint_model *model)
{
    const rt_transformer_options *here = model->options;
    if (rt_image_failed(image))
        return;
    if (rt_encoding_of(here)->has_base)
        expect_key(image, "position.base", there, here);
    if (rt_encoding_of(here)->rotation)
        expect_key(image, "position.local_base", there, here);
    if (!learns_theta(model->parameters))
        return;
    expect_key(image, "theta.form", there, here);
    expect_key(image, "theta.scope", there, here);
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

/* Checks numbers of which an optimizer takes the square root. */
void rt_checkpoint_expect_squares(rt_image *image, const rt_checkpoint_block *b,
                                  const rt_parameter *parameter, const real *values)
{
    if (b->state < 0 || !b->rule->states[b->state].is_square)
        return;
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
                          bool saved, real *room)
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
        rt_checkpoint_expect_squares(image, b, p->list[i], room);
        if (saved && memcmp(room, b->values + p->list[i]->offset,
                            rt_size(&p->list[i]->tensor) * sizeof *room) != 0)
            rt_image_fail(image, RT_CHECKPOINT, "%s%s is not what was saved", b->of,
                          p->list[i]->name);
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
                              const rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS], bool saved)
{
    if (rt_image_failed(image))
        return;
    real *room = rt_alloc(largest_of(p), sizeof *room);
    if (!room)
        rt_image_fail(image, RT_MEMORY, "out of memory for its largest parameter");
    for (int i = 0; i < RT_CHECKPOINT_BLOCKS; i++)
        if (blocks[i].values)
            expect_values(image, p, &blocks[i], saved, room);
    rt_free(room);
}

/* A theta whose logarithm is trained is above 0, one that is trained itself may be any number. */
void rt_checkpoint_expect_theta_start(rt_image *image, const rt_checkpoint_model *model)
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
        if (!isfinite(theta[i]) || (theta[i] < 0 && model->options->theta.form == RT_THETA_LOG))
            rt_image_fail(image, RT_CHECKPOINT, "theta_start is %g at %zu", theta[i], i);
    rt_free(theta);
}

void rt_checkpoint_expect(rt_image *image, const rt_checkpoint_model *model, bool saved,
                          rt_checkpoint_info *info)
{
    rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS];
    rt_checkpoint_list_blocks(model, blocks);
    rt_checkpoint_get_info(image, info);
    const rt_transformer_options there = rt_checkpoint_get_options(image);
    rt_checkpoint_expect_heads(image, &there, model->options);
    expect_theta(image, &there, model);
    for (int i = 0; i < RT_CHECKPOINT_BLOCKS; i++)
        if (blocks[i].values)
            expect_block(image, model->parameters, &blocks[i]);
    rt_checkpoint_get_joined(image, info->step, model->parameters, RT_JOINED_EXPECT);
    expect_all_values(image, model->parameters, blocks, saved);
    rt_checkpoint_expect_theta_start(image, model);
}

/* Reads again what was found to fit, to where it belongs. */
static void take_values(rt_image *image, const rt_checkpoint_model *model, int64_t step)
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
    rt_checkpoint_get_joined(image, step, p, RT_JOINED_TAKE);
}

rt_status rt_checkpoint_load(rt_image *image, const rt_checkpoint_model *model,
                             rt_checkpoint_info *info)
{
    rt_checkpoint_info read = {0};
    rt_checkpoint_expect(image, model, false, &read);
    if (!rt_image_failed(image))
        take_values(image, model, read.step);
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

/* Returns the status of the image; without success, nothing is left in the info. */
static rt_status finish_look(const rt_image *image, rt_checkpoint_info *info)
{
    const rt_status status = rt_image_status(image);
    if (status.code != RT_OK)
        rt_checkpoint_info_free(info);
    return status;
}

rt_status rt_checkpoint_look(rt_image *image, rt_checkpoint_info *info)
{
    *info = (rt_checkpoint_info){0};
    rt_checkpoint_get_info(image, info);
    return finish_look(image, info);
}

rt_status rt_checkpoint_look_at_run(rt_image *image, rt_checkpoint_info *info)
{
    *info = (rt_checkpoint_info){0};
    get_run(image, info);
    return finish_look(image, info);
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
