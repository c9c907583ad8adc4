/* Theta of a checkpoint by itself, and theta of a branch that has another scope or form. */

#include "io/checkpoint/private.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>

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

enum { SHARED = -1 }; /* in the place of the number of a layer */

/* Lists the layers that have a theta, SHARED alone if all of them share one; the shape of the first
 * is that of all. Returns how many there are. */
static int list_layers(rt_image *image, int layers, int *list, rt_shape *one)
{
    char name[RT_NAME_SIZE];
    rt_shape shape;
    int count = 0;
    *one = (rt_shape){.ndim = 0};
    for (int l = SHARED; l < layers && !(count && list[0] == SHARED); l++) {
        rt_transformer_theta_name(name, l);
        if (!rt_checkpoint_find(image, name, &shape))
            continue;
        if (!count)
            *one = shape;
        list[count++] = l;
    }
    return count;
}

static void read_layers(rt_image *image, rt_checkpoint_theta *theta)
{
    char name[RT_NAME_SIZE], path[RT_DATASET_SIZE];
    const int rows = theta->shape.axis[1], pairs = theta->shape.axis[2];
    const rt_shape one =
        theta->scope == RT_THETA_HEAD ? RT_SHAPE_OF(rows, pairs) : RT_SHAPE_OF(pairs);
    for (int n = 0; n < theta->shape.axis[0]; n++) {
        rt_transformer_theta_name(name, theta->layers[n]);
        rt_checkpoint_dataset(path, "/model", name);
        rt_image_doubles(image, path, theta->values + (size_t)n * (size_t)rows * (size_t)pairs,
                         one);
    }
}

static void get_theta(rt_image *image, rt_checkpoint_theta *theta)
{
    rt_shape one = {.ndim = 0};
    *theta = (rt_checkpoint_theta){.values = NULL};
    rt_checkpoint_expect_version(image);
    const rt_transformer_options there = rt_checkpoint_get_options(image);
    theta->layers = rt_alloc((size_t)there.layers + 1, sizeof *theta->layers);
    const int count = theta->layers ? list_layers(image, there.layers, theta->layers, &one) : 0;
    theta->shape =
        RT_SHAPE_OF(count, one.ndim == 2 ? one.axis[0] : 1, one.ndim ? one.axis[one.ndim - 1] : 0);
    theta->scope = there.theta.scope == RT_THETA_HEAD    ? RT_THETA_HEAD
                   : count && theta->layers[0] == SHARED ? RT_THETA_MODEL
                                                         : RT_THETA_LAYER;
    const size_t size = rt_shape_size(theta->shape);
    theta->values = rt_alloc(size, sizeof *theta->values);
    if (!theta->values || !theta->layers)
        rt_image_fail(image, RT_MEMORY, "out of memory for theta");
    if (!size)
        rt_image_fail(image, RT_CHECKPOINT, "its theta is fixed: it stores no learned theta");
    read_layers(image, theta);
    for (size_t i = 0; there.theta.form == RT_THETA_LOG && theta->values && i < size; i++)
        theta->values[i] = exp(theta->values[i]);
}

rt_status rt_checkpoint_read_theta(rt_image *image, rt_checkpoint_theta *theta)
{
    get_theta(image, theta);
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

/* ---- another scope or form ---- */

/* The theta of the trunk that number n of the model begins with; NULL if it has none. */
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

/* Each theta of the model from the one that turned the same layer and head; returns whether the
 * trunk has it, and only it. */
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

void rt_checkpoint_convert_theta(rt_image *image, const rt_checkpoint_model *model, double *start)
{
    rt_checkpoint_theta theta;
    get_theta(image, &theta);
    if (!rt_image_failed(image) && !convert(image, model, &theta, start))
        rt_image_fail(image, RT_CHECKPOINT,
                      "theta.scope is coarser than that of the trunk, whose theta differ");
    rt_checkpoint_theta_free(&theta);
}
