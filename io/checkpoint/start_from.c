#include "io/checkpoint/private.h"

#include "core/memory.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

rt_status rt_checkpoint_no_logarithm(int layer, int head, int pair, double theta)
{
    char where[64] = "all layers", of_head[32] = "";
    if (layer >= 0)
        snprintf(where, sizeof where, "layer %d", layer);
    if (head >= 0)
        snprintf(of_head, sizeof of_head, ", head %d", head);
    return rt_error(RT_CHECKPOINT,
                    "theta of %s%s, i %d is %g: theta.form = log needs theta above 0, "
                    "theta.form = raw takes any",
                    where, of_head, pair, theta);
}

/* Fails the image for a theta without a logarithm, number `at` of a parameter, with its place. */
static void refuse_theta(rt_image *image, const rt_parameter *theta, int at, double value)
{
    const int pairs = rt_columns(&theta->tensor);
    rt_image_fail_as(image, rt_checkpoint_no_logarithm(theta->layer,
                                                       theta->tensor.ndim > 1 ? at / pairs : -1,
                                                       at % pairs, value));
}

/* Reads a theta in the form of the file and turns it into that of the model. */
static void read_theta(rt_image *image, rt_theta_form there, const rt_checkpoint_model *model,
                       const rt_parameter *theta, real *values)
{
    char path[RT_DATASET_SIZE];
    const rt_theta_form here = model->options->theta.form;
    rt_checkpoint_dataset(path, "/model", theta->name);
    rt_image_reals(image, path, values, rt_tensor_shape(&theta->tensor));
    for (size_t i = 0; i < rt_size(&theta->tensor) && !rt_image_failed(image); i++) {
        if (there == RT_THETA_LOG && here == RT_THETA_RAW)
            values[i] = (real)exp((double)values[i]);
        if (there == RT_THETA_LOG || here == RT_THETA_RAW)
            continue;
        if (!(values[i] > 0))
            refuse_theta(image, theta, (int)i, (double)values[i]);
        values[i] = (real)log((double)values[i]);
    }
}

/* ---- what fits ---- */

/* The shape of a parameter in the file; false if it is not there. */
static bool find(rt_image *image, const char *name, rt_shape *shape)
{
    char path[RT_DATASET_SIZE];
    rt_checkpoint_dataset(path, "/model", name);
    return rt_image_shape(image, path, shape);
}

/* Heads of one kind have the same of these two; others would share what means something else. */
static bool is_same_head(rt_image *image, const rt_parameters *p)
{
    static const char *const telling[] = {"head.dense.weight", "head.classifier.weight"};
    rt_shape shape;
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if (find(image, telling[i], &shape) != (rt_parameters_find(p, telling[i]) != NULL))
            return false;
    return true;
}

/* Returns whether another task may need a parameter otherwise: the head, the token types, and the
 * factors of heads, which change nothing at their initial value. */
static bool may_differ(const rt_parameter *parameter)
{
    return parameter->part == RT_PART_HEAD || parameter->role == RT_ROLE_FACTOR ||
           !strcmp(parameter->name, RT_TYPES_NAME);
}

static bool fits(rt_image *image, bool head, const rt_parameter *parameter)
{
    rt_shape there;
    return (head || parameter->part != RT_PART_HEAD) && find(image, parameter->name, &there) &&
           rt_shapes_equal(there, rt_tensor_shape(&parameter->tensor));
}

static void count(rt_checkpoint_rest *rest, const char *name)
{
    if (!rest->count++)
        snprintf(rest->first, sizeof rest->first, "%s", name);
}

/* `head` tells whether that of the file may be taken. */
typedef struct comparison {
    rt_image *image;
    bool head;
    const rt_parameters *parameters;
    const rt_checkpoint_block *block;
    rt_checkpoint_start *start;
} comparison;

/* The parts of the model are groups of the file. */
static bool is_of_head(const char *path)
{
    static const char group[] = "head/";
    return !strncmp(path, group, strlen(group));
}

static void compare_dataset(void *context, const char *path)
{
    const comparison *c = context;
    char name[RT_NAME_SIZE];
    rt_checkpoint_parameter_name(name, path);
    const rt_parameter *parameter = rt_parameters_find(c->parameters, name);
    if (!strcmp(rt_path_name(path), "theta") || (parameter && fits(c->image, c->head, parameter)))
        return;
    if (is_of_head(path) || !strcmp(name, RT_TYPES_NAME))
        count(&c->start->left, name);
    else if (!parameter)
        rt_checkpoint_refuse(c->image, c->block, name);
}

/* The encoder in both directions, whatever theta there is; what else there is on either side, and
 * does not fit, is counted. */
static void compare(rt_image *image, bool head, const rt_parameters *p,
                    const rt_checkpoint_block *b, rt_checkpoint_start *start)
{
    comparison c = {image, head, p, b, start};
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        if (parameter->role == RT_ROLE_THETA || fits(image, head, parameter))
            continue;
        if (may_differ(parameter))
            count(&start->fresh, parameter->name);
        else
            rt_checkpoint_expect_shape(image, b, parameter);
    }
    rt_image_visit(image, b->group, compare_dataset, &c);
}

/* ---- taking it ---- */

/* Returns whether the file has every theta of the model: a part of it would be the theta of no
 * model. */
static bool has_theta(rt_image *image, bool head, const rt_parameters *p)
{
    int wanted = 0, there = 0;
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA) {
            wanted++;
            there += fits(image, head, p->list[i]);
        }
    return wanted && there == wanted;
}

static void read_values(rt_image *image, bool head, const rt_checkpoint_model *model, real *values,
                        bool theta, rt_theta_form form)
{
    const rt_parameters *p = model->parameters;
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        const bool is_one = parameter->role == RT_ROLE_THETA;
        char path[RT_DATASET_SIZE];
        if (!fits(image, head, parameter) || (is_one && !theta))
            continue;
        rt_checkpoint_dataset(path, "/model", parameter->name);
        if (is_one)
            read_theta(image, form, model, parameter, values + parameter->offset);
        else
            rt_image_reals(image, path, values + parameter->offset,
                           rt_tensor_shape(&parameter->tensor));
    }
    const rt_parameter *bad = rt_first_nonfinite(p, values);
    if (bad)
        rt_image_fail(image, RT_CHECKPOINT, "%s is not finite in " RT_PRECISION " precision",
                      bad->name);
}

rt_status rt_checkpoint_start_from(rt_image *image, const rt_checkpoint_model *model, bool head,
                                   rt_checkpoint_start *start, rt_checkpoint_info *info)
{
    const rt_parameters *p = model->parameters;
    const rt_checkpoint_block values = {"/model", "", p->values, NULL, -1};
    rt_checkpoint_info read = {0};
    real *fresh = rt_alloc(p->block_size, sizeof *fresh);
    *start = (rt_checkpoint_start){.theta = false};
    if (!fresh) {
        rt_image_close(image);
        return rt_out_of_memory("the parameters of a checkpoint");
    }
    memcpy(fresh, p->values, p->block_size * sizeof *fresh);
    rt_checkpoint_get_info(image, &read);
    const rt_transformer_options there = rt_checkpoint_get_options(image);
    rt_checkpoint_expect_heads(image, &there, model->options);
    head = head && is_same_head(image, p);
    compare(image, head, p, &values, start);
    if (!rt_image_failed(image))
        read_values(image, head, model, fresh,
                    start->theta = has_theta(image, head, model->parameters), there.theta.form);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    if (status.code == RT_OK) {
        memcpy(p->values, fresh, p->block_size * sizeof *fresh);
        *info = read;
    } else {
        rt_checkpoint_info_free(&read);
    }
    rt_free(fresh);
    return status;
}

/* ---- theta alone ---- */

enum { SHARED = -1, NONE = INT_MAX }; /* in the place of the number of a layer */

static void theta_dataset(char path[RT_DATASET_SIZE], int l)
{
    char name[RT_NAME_SIZE];
    rt_transformer_theta_name(name, l);
    rt_checkpoint_dataset(path, "/model", name);
}

static bool has_layer(rt_image *image, int l)
{
    char name[RT_NAME_SIZE];
    rt_shape shape;
    snprintf(name, sizeof name, "layers.%d.attention.query.weight", l);
    return find(image, name, &shape);
}

/* The first layer from l on that has a theta, and its shape. */
static int next_theta(rt_image *image, int l, rt_shape *shape)
{
    char path[RT_DATASET_SIZE];
    for (;; l++) {
        theta_dataset(path, l);
        if (rt_image_shape(image, path, shape))
            return l;
        if (l != SHARED && !has_layer(image, l))
            return NONE;
    }
}

/* Returns what they begin with. */
static int find_theta(rt_image *image, rt_shape *shape)
{
    rt_shape one = {.ndim = 0}, other;
    const int first = next_theta(image, SHARED, &one);
    int count = 0;
    for (int l = first; l != NONE; count++)
        l = l == SHARED ? NONE : next_theta(image, l + 1, &other);
    const int rows = one.ndim == 2 ? one.axis[0] : 1;
    *shape = RT_SHAPE_OF(count, rows, one.ndim ? one.axis[one.ndim - 1] : 0);
    return first;
}

static void read_all(rt_image *image, int first, rt_checkpoint_theta *theta)
{
    char dataset[RT_DATASET_SIZE];
    const int rows = theta->shape.axis[1], pairs = theta->shape.axis[2];
    const rt_shape one =
        theta->scope == RT_THETA_HEAD ? RT_SHAPE_OF(rows, pairs) : RT_SHAPE_OF(pairs);
    rt_shape there;
    for (int n = 0, l = first; n < theta->shape.axis[0] && !rt_image_failed(image); n++) {
        theta_dataset(dataset, theta->layers[n] = l);
        rt_image_doubles(image, dataset, theta->values + (size_t)n * (size_t)rows * (size_t)pairs,
                         one);
        l = next_theta(image, l + 1, &there);
    }
}

void rt_checkpoint_get_theta(rt_image *image, rt_checkpoint_theta *theta)
{
    *theta = (rt_checkpoint_theta){.values = NULL};
    rt_checkpoint_expect_version(image);
    const rt_theta_options there = rt_checkpoint_get_options(image).theta;
    const int first = find_theta(image, &theta->shape);
    const size_t size = rt_shape_size(theta->shape);
    theta->scope = there.scope == RT_THETA_HEAD ? RT_THETA_HEAD
                   : first == SHARED            ? RT_THETA_MODEL
                                                : RT_THETA_LAYER;
    if (!size)
        rt_image_fail(image, RT_CHECKPOINT, "its theta is fixed: it stores no learned theta");
    theta->values = rt_alloc(size, sizeof *theta->values);
    theta->layers = rt_alloc((size_t)theta->shape.axis[0], sizeof *theta->layers);
    if (!theta->values || !theta->layers)
        rt_image_fail(image, RT_MEMORY, "out of memory for theta");
    read_all(image, first, theta);
    if (there.form == RT_THETA_LOG)
        for (size_t i = 0; theta->values && i < size; i++)
            theta->values[i] = exp(theta->values[i]);
}

rt_status rt_checkpoint_read_theta(rt_image *image, rt_checkpoint_theta *theta)
{
    rt_checkpoint_get_theta(image, theta);
    const rt_status status = rt_image_status(image);
    rt_image_close(image);
    return status;
}

void rt_checkpoint_theta_free(rt_checkpoint_theta *theta)
{
    rt_free(theta->values);
    rt_free(theta->layers);
    *theta = (rt_checkpoint_theta){.values = NULL};
}
