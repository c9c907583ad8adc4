#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/data.h"
#include "models/encodings/encoding.h"
#include "models/keys.h"
#include "util/key_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define THETA_START "/theta_start"

enum { MOST_BLOCKS = 1 + RT_MOST_STATES, GROUP_SIZE = 64, DATASET_SIZE = RT_NAME_SIZE + 32 };

/* Block of values of a model: the parameters or one optimizer state. `group` is its group in the
 * file; `of` is the prefix of its name in messages ("second moment of "). */
typedef struct checkpoint_block {
    char group[GROUP_SIZE];
    char of[GROUP_SIZE];
    real *values;
    const rt_update_rule *rule;
    int state; /* index of the state in the rule; -1: the parameters */
} checkpoint_block;

static bool block_has(const checkpoint_block *b, const rt_parameter *parameter)
{
    return b->state < 0 || b->state < rt_states_of(b->rule, parameter);
}

/* Lists the blocks of a model, parameters first. Returns their number. */
static int list_blocks(const rt_checkpoint_model *model, checkpoint_block blocks[MOST_BLOCKS])
{
    int count = 1;
    blocks[0] = (checkpoint_block){"/model", "", model->parameters->values, NULL, -1};
    for (int i = 0; model->rule && i < model->rule->state_count; i++) {
        if (!model->states[i])
            continue;
        checkpoint_block *b = &blocks[count++];
        *b = (checkpoint_block){.values = model->states[i], .rule = model->rule, .state = i};
        snprintf(b->group, sizeof b->group, "/optimizer/%s", model->rule->states[i].name);
        snprintf(b->of, sizeof b->of, "%s of ", model->rule->states[i].name);
        for (char *c = b->of; *c; c++)
            if (*c == '_')
                *c = ' ';
    }
    return count;
}

/* Builds a dataset path: group "/model" and parameter "a.b" give "/model/a/b". Returns `path`;
 * DATASET_PATH has the memory of the enclosing block. */
static const char *dataset_path(char path[DATASET_SIZE], const char *group, const char *parameter)
{
    size_t start = strlen(group) + 1;
    snprintf(path, DATASET_SIZE, "%s/%s", group, parameter);
    for (char *c = path + start; *c; c++)
        if (*c == '.')
            *c = '/';
    return path;
}
#define DATASET_PATH(group, parameter) dataset_path((char[DATASET_SIZE]){0}, group, parameter)

/* Finds the shape of a parameter in the file. Returns false if it is missing. */
static bool find_parameter(rt_image *image, const char *name, rt_shape *shape)
{
    return rt_image_shape(image, DATASET_PATH("/model", name), shape);
}

/* Returns whether none of the numbers of a parameter is a NaN or an infinity. */
static bool is_finite(const rt_parameter *parameter, const real *values)
{
    const size_t size = rt_size(&parameter->tensor);
    for (size_t k = 0; k < size; k++)
        if (!isfinite(values[k]))
            return false;
    return true;
}

rt_checkpoint_model rt_checkpoint_model_of(const rt_transformer *model, const rt_data_options *data,
                                           const rt_update_rule *rule,
                                           real *const states[RT_MOST_STATES])
{
    rt_checkpoint_model m = {.parameters = &model->parameters,
                             .options = &model->options,
                             .data = data,
                             .rule = rule,
                             .theta_start = rt_transformer_theta_start(model),
                             .theta_shape = rt_transformer_theta_shape(&model->options)};
    for (int i = 0; rule && i < rule->state_count; i++)
        m.states[i] = states[i];
    return m;
}

/* Returns an axis of a parameter, 0 if there is none. */
static int axis_of(rt_image *image, const char *parameter, int axis)
{
    rt_shape shape;
    return find_parameter(image, parameter, &shape) && shape.ndim > axis ? shape.axis[axis] : 0;
}

rt_status rt_checkpoint_open(rt_checkpoint *c, const char *path, rt_parse parse)
{
    rt_image *image = rt_image_open(path, parse);
    *c = (rt_checkpoint){.image = image};
    rt_checkpoint_get_info(image, &c->info);
    rt_image_get_options(image, "/model", &rt_model_keys, &c->model);
    rt_image_get_options(image, "/data", &rt_data_keys, &c->data);
    c->words = axis_of(image, RT_TOKENS_NAME, 0);
    c->types = axis_of(image, RT_TYPES_NAME, 0);
    c->patch = axis_of(image, RT_PATCHES_NAME ".weight", 1);
    if (rt_image_failed(image))
        rt_checkpoint_info_free(&c->info);
    return rt_image_status(image);
}

static void close_image(rt_checkpoint *c)
{
    rt_image_close(c->image);
    c->image = NULL;
}

void rt_checkpoint_close(rt_checkpoint *c)
{
    close_image(c);
    rt_checkpoint_info_free(&c->info);
}

void rt_checkpoint_info_free(rt_checkpoint_info *info)
{
    rt_free(info->config);
    rt_free(info->past_schedules);
    rt_vocabulary_free(info->vocabulary);
    rt_labels_free(info->labels);
    *info = (rt_checkpoint_info){0};
}

int64_t rt_checkpoint_best_step(const rt_checkpoint_info *info)
{
    const rt_evaluations *e = &info->evaluations;
    return e->loss < e->best_loss ? info->step : e->best_step;
}

/* Use of a checkpoint: all of it (LOAD), the parameters that fit another task (START), or all but
 * theta and positions (BRANCH). */
typedef enum use { LOAD, START, BRANCH } use;

typedef struct reading {
    rt_checkpoint *checkpoint;
    rt_image *image;
    const rt_checkpoint_model *model;
    use use;
    bool saved; /* compares the numbers with the model instead of storing them */
    bool head;  /* START: the head may be read */
    bool stays; /* BRANCH: theta keeps its values */
    checkpoint_block blocks[MOST_BLOCKS];
    int block_count;
    const checkpoint_block *visited;
    rt_checkpoint_taken taken;
    double *theta_start; /* new initial theta, unless theta is fresh */
} reading;

/* Checks that a key has the same value in the file and in the model. */
static void expect_key(const reading *r, const char *name)
{
    const rt_key *key = rt_keys_find(&rt_model_keys, name);
    const char *one = RT_KEY_VALUE(key, &r->checkpoint->model);
    const char *other = RT_KEY_VALUE(key, r->model->options);
    if (strcmp(one, other) != 0)
        rt_image_fail(r->image, RT_CHECKPOINT,
                      "%s is %s in the checkpoint, %s in the configuration", name, one, other);
}

/* Checks that queries and keys have the same layout in the file and in the model; for LOAD, also
 * that positions and theta have the same meaning. */
static void expect_layout(const reading *r)
{
    const rt_transformer_options *here = r->model->options;
    const rt_parameters *p = r->model->parameters;
    const rt_encoding *encoding = rt_encoding_of(here);
    if (rt_image_failed(r->image))
        return;
    if (encoding->rotation)
        expect_key(r, "position.pairing");
    if (rt_transformer_head_dim(&r->checkpoint->model) != rt_transformer_head_dim(here))
        rt_image_fail(r->image, RT_CHECKPOINT,
                      "heads have %d features in the checkpoint, %d in the configuration",
                      rt_transformer_head_dim(&r->checkpoint->model),
                      rt_transformer_head_dim(here));
    if (r->use != LOAD)
        return;
    if (encoding->has_base)
        expect_key(r, "position.base");
    if (encoding->rotation) {
        expect_key(r, "position.local_base");
        expect_key(r, "position.local_fraction");
    }
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA) {
            expect_key(r, "theta.form");
            expect_key(r, "theta.scope");
        }
}

/* Returns whether the file has a parameter in the shape of the model. */
static bool is_there(const reading *r, const rt_parameter *parameter)
{
    rt_shape there;
    return find_parameter(r->image, parameter->name, &there) &&
           rt_shapes_equal(there, rt_tensor_shape(&parameter->tensor));
}

/* Returns whether the heads are of one kind. Otherwise parameters of equal names would differ in
 * meaning. */
static bool is_same_head(const reading *r)
{
    static const char *const telling[] = {"head.dense.weight", "head.classifier.weight"};
    rt_shape shape;
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if (find_parameter(r->image, telling[i], &shape) !=
            (rt_parameters_find(r->model->parameters, telling[i]) != NULL))
            return false;
    return true;
}

/* Returns whether the file has every theta of the model; a subset is not the theta of any model. */
static bool has_theta(const reading *r)
{
    const rt_parameters *p = r->model->parameters;
    int wanted = 0, there = 0;
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA) {
            wanted++;
            there += is_there(r, p->list[i]);
        }
    return wanted && there == wanted;
}

static rt_branch_theta origin_of_theta(const reading *r)
{
    const rt_theta_options *here = &r->model->options->theta, *there = &r->checkpoint->model.theta;
    if (r->use == LOAD)
        return RT_BRANCH_CARRIED;
    if (r->use == START) {
        bool alike = has_theta(r);
        rt_status status = rt_ok();
        if (alike)
            status = rt_theta_starts_alike(r->model->options, &r->checkpoint->model, &alike);
        if (status.code)
            rt_image_fail_as(r->image, status);
        return alike && !status.code ? RT_BRANCH_CARRIED : RT_BRANCH_FRESH;
    }
    if (r->stays || !r->model->theta_start || !there->learn)
        return RT_BRANCH_FRESH;
    return there->form == here->form && there->scope == here->scope && has_theta(r)
               ? RT_BRANCH_CARRIED
               : RT_BRANCH_CONVERTED;
}

/* Returns whether the model gets a parameter from the file; others keep the values of the model.
 * Another task may need another head and other token types, a branch other positions; and both
 * parameters that join. */
static bool takes(const reading *r, const rt_parameter *parameter)
{
    if (parameter->role == RT_ROLE_THETA)
        return r->taken.theta == RT_BRANCH_CARRIED;
    const bool of_task =
        parameter->component == RT_COMPONENT_HEAD || !strcmp(parameter->name, RT_TYPES_NAME);
    const bool may_differ =
        r->use != LOAD &&
        (parameter->joins ||
         (r->use == START ? of_task : parameter->component == RT_COMPONENT_POSITIONS));
    return !may_differ ||
           ((r->head || parameter->component != RT_COMPONENT_HEAD) && is_there(r, parameter));
}

static void count(rt_parameter_difference *rest, const char *name)
{
    if (!rest->count++)
        snprintf(rest->first, sizeof rest->first, "%s", name);
}

/* Counts a dataset that the model does not use, or refuses it. Groups of the file correspond to the
 * dots in names of parameters. */
static void note_dataset(void *context, const char *path)
{
    static const char head[] = "head/";
    reading *r = context;
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "%s", path);
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '.';
    const rt_parameter *parameter = rt_parameters_find(r->model->parameters, name);
    const bool known = parameter && block_has(r->visited, parameter);
    const bool of_task = !strncmp(path, head, strlen(head)) || !strcmp(name, RT_TYPES_NAME);
    if (r->use == START &&
        (!strcmp(rt_path_name(path), "theta") || (parameter && takes(r, parameter))))
        return;
    if (r->use == START ? of_task : r->use == BRANCH && !known)
        count(&r->taken.left, name);
    else if (!known)
        rt_image_fail(r->image, RT_CHECKPOINT, "the checkpoint has %s%s, which the model lacks",
                      r->visited->of, name);
}

/* Compares names and shapes in both directions. The optimizer of a branch may have more states. */
static void compare(reading *r)
{
    const rt_parameters *p = r->model->parameters;
    for (int k = 0; k < r->block_count; k++) {
        const checkpoint_block *b = r->visited = &r->blocks[k];
        for (int i = 0; i < p->count; i++) {
            const rt_parameter *parameter = p->list[i];
            const rt_shape here = rt_tensor_shape(&parameter->tensor);
            const bool taken = takes(r, parameter), expected = taken && block_has(b, parameter);
            const char *path = DATASET_PATH(b->group, parameter->name);
            rt_shape there;
            if (expected && !rt_image_shape(r->image, path, &there))
                rt_image_fail(r->image, RT_CHECKPOINT, "%s%s is not in the checkpoint", b->of,
                              parameter->name);
            else if (expected && !rt_shapes_equal(there, here))
                rt_image_fail(r->image, RT_CHECKPOINT,
                              "%s%s is %s in the checkpoint, %s in the model", b->of,
                              parameter->name, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, there),
                              rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, here));
            if (!taken && k == 0 && (r->use == BRANCH || parameter->role != RT_ROLE_THETA))
                count(&r->taken.fresh, parameter->name);
        }
        if (r->use == LOAD || k == 0)
            rt_image_visit(r->image, b->group, note_dataset, r);
    }
}

rt_status rt_checkpoint_no_logarithm(int layer, int head, int pair, double theta)
{
    return rt_error(RT_CHECKPOINT,
                    "theta of %s%s, i %d is %g: theta.form = log needs theta above 0, "
                    "theta.form = raw takes any",
                    layer < 0 ? "all layers" : RT_PRINTED(64, "layer %d", layer),
                    head < 0 ? "" : RT_PRINTED(32, ", head %d", head), pair, theta);
}

enum { SHARED = -1 }; /* stands for all layers in a list of layers */

static void get_theta(const rt_checkpoint *c, rt_checkpoint_theta *theta)
{
    rt_image *image = c->image;
    const rt_transformer_options *there = &c->model;
    rt_shape shape, one = {.ndim = 0}; /* shape of each theta: that of the first */
    int count = 0;
    *theta = (rt_checkpoint_theta){.values = NULL};
    if (rt_image_failed(image))
        return;
    int *layers = theta->layers = rt_alloc((size_t)there->layers + 1, sizeof *theta->layers);
    for (int l = SHARED; layers && l < there->layers && !(count && layers[0] == SHARED); l++) {
        if (!find_parameter(image, RT_THETA_NAME(l), &shape))
            continue;
        one = count ? one : shape;
        layers[count++] = l;
    }
    const int rows = one.ndim > 1 ? one.axis[0] : 1;
    theta->shape = RT_SHAPE_OF(count, rows, (int)rt_shape_size(one) / (rows > 0 ? rows : 1));
    theta->scope = there->theta.scope == RT_THETA_HEAD   ? RT_THETA_HEAD
                   : count && theta->layers[0] == SHARED ? RT_THETA_MODEL
                                                         : RT_THETA_LAYER;
    const size_t size = rt_shape_size(theta->shape);
    theta->values = rt_alloc(size, sizeof *theta->values);
    theta->start = rt_alloc(size, sizeof *theta->start);
    if (!theta->values || !theta->start || !theta->layers)
        rt_image_fail(image, RT_MEMORY, "out of memory for theta");
    if (!size)
        rt_image_fail(image, RT_CHECKPOINT, "its theta is fixed: it stores no learned theta");
    for (int n = 0; n < count && !rt_image_failed(image); n++) {
        rt_image_doubles(image, DATASET_PATH("/model", RT_THETA_NAME(theta->layers[n])),
                         theta->values + (size_t)n * rt_shape_size(one), one);
    }
    if (!rt_image_failed(image))
        rt_image_doubles(image, THETA_START, theta->start, theta->shape);
    for (size_t i = 0; there->theta.form == RT_THETA_LOG && theta->values && i < size; i++)
        theta->values[i] = exp(theta->values[i]);
}

rt_status rt_checkpoint_read_theta(rt_checkpoint *c, rt_checkpoint_theta *theta)
{
    get_theta(c, theta);
    const rt_status status = rt_image_status(c->image);
    close_image(c);
    return status;
}

void rt_checkpoint_theta_free(rt_checkpoint_theta *theta)
{
    rt_free(theta->values);
    rt_free(theta->start);
    rt_free(theta->layers);
    *theta = (rt_checkpoint_theta){.values = NULL};
}

/* Returns the theta of the trunk for matrix n and a row of it in the model; NULL if the trunk has
 * none. */
static const double *theta_at(const rt_transformer_options *here, const rt_checkpoint_theta *theta,
                              int n, int row)
{
    const int layer = rt_transformer_theta_layer(here, n);
    const int rows = theta->shape.axis[1], pairs = theta->shape.axis[2];
    for (int k = 0; k < theta->shape.axis[0]; k++)
        if (theta->layers[k] < 0 || theta->layers[k] == layer)
            return theta->values +
                   ((size_t)k * (size_t)rows + (size_t)(rows > 1 ? row : 0)) * (size_t)pairs;
    return NULL;
}

/* Initializes each theta of the model from the theta of the same layer and head in the trunk.
 * Returns false if one is missing or the trunk has more than the model. */
static bool convert(rt_image *image, const rt_checkpoint_model *model,
                    const rt_checkpoint_theta *theta, double *start)
{
    const rt_transformer_options *here = model->options;
    const rt_shape shape = model->theta_shape;
    const int rows = shape.axis[1], pairs = shape.axis[2];
    bool fits = pairs == theta->shape.axis[2] && theta->shape.axis[1] <= rows &&
                theta->shape.axis[0] <= shape.axis[0];
    for (int k = 0; k < shape.axis[0] * rows && fits; k++, start += pairs) {
        const int n = k / rows, row = k % rows;
        const double *from = theta_at(here, theta, n, row);
        fits = from != NULL;
        for (int i = 0; i < pairs && fits; i++) {
            start[i] = from[i];
            if (!(from[i] > 0) && here->theta.form == RT_THETA_LOG)
                rt_image_fail_as(image,
                                 rt_checkpoint_no_logarithm(rt_transformer_theta_layer(here, n),
                                                            rows > 1 ? row : -1, i, from[i]));
        }
    }
    return fits;
}

/* Converts theta from the form of the file to that of the model. */
static void change_form(const reading *r, const rt_parameter *theta, real *values)
{
    const int pairs = rt_columns(&theta->tensor);
    const rt_theta_form there = r->checkpoint->model.theta.form,
                        here = r->model->options->theta.form;
    for (size_t i = 0; i < rt_size(&theta->tensor) && there != here; i++) {
        const double value = (double)values[i];
        if (here == RT_THETA_LOG && !(value > 0))
            rt_image_fail_as(r->image,
                             rt_checkpoint_no_logarithm(theta->layer,
                                                        theta->tensor.ndim > 1 ? (int)i / pairs
                                                                               : -1,
                                                        (int)i % pairs, value));
        values[i] = (real)(here == RT_THETA_LOG ? log(value) : exp(value));
    }
}

static void check_values(const reading *r, const checkpoint_block *b, const rt_parameter *parameter,
                         const real *values)
{
    const size_t size = rt_size(&parameter->tensor);
    if (!is_finite(parameter, values))
        rt_image_fail(r->image, RT_CHECKPOINT, "%s%s is not finite in " RT_PRECISION " precision",
                      b->of, parameter->name);
    /* Optimizers take the square root of these states. */
    for (size_t k = 0; b->state >= 0 && b->rule->states[b->state].is_square && k < size; k++)
        if (values[k] < 0)
            rt_image_fail(r->image, RT_CHECKPOINT, "%s%s is %g at %zu, below 0", b->of,
                          parameter->name, (double)values[k], k);
    if (r->saved && memcmp(values, b->values + parameter->offset, size * sizeof *values) != 0)
        rt_image_fail(r->image, RT_CHECKPOINT, "%s%s differs from the value that was saved", b->of,
                      parameter->name);
}

/* Reads the numbers of the model, in its form of theta, from the file: into the model or, with
 * `checks`, one parameter at a time to check them. A whole checkpoint may not fit into memory
 * twice. */
static void read_values(const reading *r, bool checks)
{
    const rt_parameters *p = r->model->parameters;
    size_t largest = 0;
    for (int i = 0; i < p->count && checks; i++)
        if (rt_size(&p->list[i]->tensor) > largest)
            largest = rt_size(&p->list[i]->tensor);
    RT_OWNED real *scratch = checks ? rt_alloc(largest, sizeof *scratch) : NULL;
    if (checks && !scratch)
        rt_image_fail(r->image, RT_MEMORY, "out of memory for its largest parameter");
    for (const checkpoint_block *b = r->blocks; b < r->blocks + r->block_count; b++)
        for (int i = 0; i < p->count && !rt_image_failed(r->image); i++) {
            const rt_parameter *parameter = p->list[i];
            real *values = checks ? scratch : b->values + parameter->offset;
            if (!block_has(b, parameter) || !takes(r, parameter))
                continue;
            rt_image_reals(r->image, DATASET_PATH(b->group, parameter->name), values,
                           rt_tensor_shape(&parameter->tensor));
            if (b->state < 0 && parameter->role == RT_ROLE_THETA && !rt_image_failed(r->image))
                change_form(r, parameter, values);
            if (checks && !rt_image_failed(r->image))
                check_values(r, b, parameter, scratch);
        }
}

/* Reads the initial theta. It must not be negative if the model learns ln theta. */
static void read_theta_start(reading *r)
{
    static const char *const scopes[] = {RT_THETA_SCOPES(RT_CHOICE_WORD)};
    const rt_checkpoint_model *model = r->model;
    const size_t size = rt_shape_size(model->theta_shape);
    if (rt_image_failed(r->image) || r->use == START || !model->theta_start ||
        r->taken.theta == RT_BRANCH_FRESH)
        return;
    double *theta = r->theta_start = rt_alloc(size, sizeof *theta);
    if (!theta) {
        rt_image_fail(r->image, RT_MEMORY, "out of memory for theta_start");
        return;
    }
    if (r->taken.theta == RT_BRANCH_CONVERTED) { /* the trunk has another scope or form */
        rt_checkpoint_theta trunk;
        get_theta(r->checkpoint, &trunk);
        if (!rt_image_failed(r->image) && !convert(r->image, model, &trunk, theta))
            rt_image_fail(r->image, RT_CHECKPOINT,
                          "theta.scope = %s cannot merge theta of the trunk that differ",
                          scopes[model->options->theta.scope]);
        rt_checkpoint_theta_free(&trunk);
        return;
    }
    rt_image_doubles(r->image, THETA_START, theta, model->theta_shape);
    for (size_t i = 0; i < size; i++)
        if (!isfinite(theta[i]) || (theta[i] < 0 && model->options->theta.form == RT_THETA_LOG))
            rt_image_fail(r->image, RT_CHECKPOINT, "theta_start is %g at %zu", theta[i], i);
}

/* Starts a parameter that the file does not have. */
static void join(const reading *r, rt_parameter *parameter)
{
    if (r->use == BRANCH)
        parameter->since = r->checkpoint->info.step;
    if (parameter->joins == RT_JOINS_AT_ZERO)
        memset(parameter->tensor.data, 0, rt_size(&parameter->tensor) * sizeof(real));
}

/* Compares the file with the model. If they agree, reads the checked numbers again, into the model,
 * unless it was just saved. Parameters that are not read get the step of its checkpoint as
 * `since`; the others keep the step that is stored. Stores the differences in *taken, also after an
 * error, unless it is NULL. Closes the image. */
static rt_status read_checkpoint(reading *r, rt_checkpoint_taken *taken)
{
    const rt_parameters *p = r->model->parameters;
    const int64_t step = r->checkpoint->info.step;
    const bool joins = r->use != START, may_lack = r->use == BRANCH;
    r->image = r->checkpoint->image;
    r->block_count = list_blocks(r->model, r->blocks);
    expect_layout(r);
    r->taken.theta = origin_of_theta(r);
    r->head &= r->use == START && is_same_head(r);
    compare(r);
    if (joins)
        rt_checkpoint_get_joined(r->image, step, p, may_lack, false);
    if (!rt_image_failed(r->image))
        read_values(r, true);
    read_theta_start(r);
    if (!rt_image_failed(r->image) && !r->saved) {
        read_values(r, false);
        if (r->theta_start)
            memcpy(r->model->theta_start, r->theta_start,
                   rt_shape_size(r->model->theta_shape) * sizeof *r->theta_start);
        if (joins)
            rt_checkpoint_get_joined(r->image, step, p, may_lack, true);
        for (int i = 0; i < p->count; i++)
            if (!takes(r, p->list[i]))
                join(r, p->list[i]);
    }
    rt_free(r->theta_start);
    if (taken)
        *taken = r->taken;
    const rt_status status = rt_image_status(r->image);
    close_image(r->checkpoint);
    return status;
}

rt_status rt_checkpoint_load(rt_checkpoint *c, const rt_checkpoint_model *model)
{
    return read_checkpoint(&(reading){.checkpoint = c, .model = model, .use = LOAD}, NULL);
}

rt_status rt_checkpoint_start_from(rt_checkpoint *c, const rt_checkpoint_model *model, bool head,
                                   rt_checkpoint_taken *taken)
{
    rt_checkpoint_model values = *model;
    values.rule = NULL; /* optimizer states keep their values */
    return read_checkpoint(
        &(reading){.checkpoint = c, .model = &values, .use = START, .head = head}, taken);
}

rt_status rt_checkpoint_branch(rt_checkpoint *c, const rt_checkpoint_model *model, bool theta_stays,
                               rt_checkpoint_taken *taken)
{
    return read_checkpoint(
        &(reading){.checkpoint = c, .model = model, .use = BRANCH, .stays = theta_stays}, taken);
}

static rt_image *build(const rt_checkpoint_model *model, const rt_checkpoint_info *info)
{
    const rt_parameters *p = model->parameters;
    checkpoint_block blocks[MOST_BLOCKS];
    rt_image *image = rt_image_new();
    rt_checkpoint_put_info(image, info);
    rt_image_put_options(image, "/model", &rt_model_keys, model->options);
    rt_image_put_options(image, "/data", &rt_data_keys, model->data);
    if (model->theta_start)
        rt_image_put_doubles(image, THETA_START, model->theta_start, model->theta_shape);
    rt_checkpoint_put_joined(image, p);
    const int count = list_blocks(model, blocks);
    for (const checkpoint_block *b = blocks; b < blocks + count; b++)
        for (int i = 0; i < p->count; i++) {
            const rt_parameter *parameter = p->list[i];
            if (!block_has(b, parameter))
                continue;
            if (!is_finite(parameter, b->values + parameter->offset))
                rt_image_fail(image, RT_NONFINITE, "%s%s is not finite: no checkpoint was saved",
                              b->of, parameter->name);
            rt_image_put_reals(image, DATASET_PATH(b->group, parameter->name),
                               b->values + parameter->offset, rt_tensor_shape(&parameter->tensor));
        }
    return image;
}

rt_status rt_checkpoint_save(const char *path, const rt_checkpoint_model *model,
                             const rt_checkpoint_info *info)
{
    rt_durable_file file = {.descriptor = -1};
    rt_checkpoint c;
    rt_image *image = build(model, info);
    rt_status status = rt_image_status(image);
    if (!status.code)
        status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_image_write(image, &file);
    rt_image_close(image); /* reading back needs as much memory */
    status = rt_durable_sync(&file, status);
    if (!status.code) { /* the unfinished file must be one that can be loaded */
        status = rt_checkpoint_open(&c, file.temporary, RT_PARSE_HERE);
        if (!status.code)
            status =
                read_checkpoint(&(reading){.checkpoint = &c, .model = model, .saved = true}, NULL);
        rt_checkpoint_close(&c);
    }
    return rt_durable_close(&file, status);
}
