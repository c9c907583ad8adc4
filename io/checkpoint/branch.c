#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Contents of a branch, in memory of its own until all of them are known to fit. */
typedef struct branch {
    rt_image *image;
    const rt_checkpoint_model *model;
    rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS];
    real *taken[RT_CHECKPOINT_BLOCKS]; /* laid out as the blocks */
    rt_branch_theta theta;
    rt_checkpoint_branched *branched;
} branch;

static void count(rt_checkpoint_rest *rest, const char *name)
{
    if (!rest->count++)
        snprintf(rest->first, sizeof rest->first, "%s", name);
}

static bool is_there(branch *b, const rt_parameter *parameter)
{
    char path[RT_DATASET_SIZE];
    rt_shape there;
    rt_checkpoint_dataset(path, b->blocks[0].group, parameter->name);
    return rt_image_shape(b->image, path, &there) &&
           rt_shapes_equal(there, rt_tensor_shape(&parameter->tensor));
}

/* Returns whether a parameter may differ from the trunk's: theta, tables of positions, and the
 * factors of heads, which are keys of theta. */
static bool is_of_positions(const rt_parameter *parameter)
{
    return parameter->role == RT_ROLE_THETA || parameter->role == RT_ROLE_FACTOR ||
           parameter->part == RT_PART_POSITIONS;
}

/* ---- theta ---- */

/* Returns whether the checkpoint has every theta of the model in the same form. */
static bool has_theta_as_it_is(branch *b, const rt_transformer_options *there)
{
    const rt_parameters *p = b->model->parameters;
    const rt_theta_options *here = &b->model->options->theta;
    bool has = there->theta.form == here->form && there->theta.scope == here->scope;
    for (int i = 0; i < p->count && has; i++)
        has = p->list[i]->role != RT_ROLE_THETA || is_there(b, p->list[i]);
    return has;
}

static rt_branch_theta theta_of(branch *b, const rt_transformer_options *there, bool stays)
{
    if (stays || !b->model->theta_start || !there->theta.learn)
        return RT_BRANCH_FRESH;
    return has_theta_as_it_is(b, there) ? RT_BRANCH_CARRIED : RT_BRANCH_CONVERTED;
}

/* The theta of the trunk that number n of the model begins with; NULL if it has none. */
static const double *theta_at(const branch *b, const rt_checkpoint_theta *theta, int n, int row)
{
    const int layer = rt_transformer_theta_layer(b->model->options, n);
    const int rows = theta->shape.axis[1], pairs = theta->shape.axis[2];
    for (int k = 0; k < theta->shape.axis[0]; k++)
        if (theta->layers[k] < 0 || theta->layers[k] == layer)
            return theta->values +
                   ((size_t)k * (size_t)rows + (size_t)(rows > 1 ? row : 0)) * (size_t)pairs;
    return NULL;
}

/* Each theta of the model from the one that turned the same layer and head. */
static void convert(branch *b, const rt_checkpoint_theta *theta, double *start)
{
    const rt_shape shape = b->model->theta_shape;
    const int rows = shape.axis[1], pairs = shape.axis[2];
    bool fits = pairs == theta->shape.axis[2] && theta->shape.axis[1] <= rows &&
                theta->shape.axis[0] <= shape.axis[0];
    for (int n = 0; n < shape.axis[0] && fits; n++)
        for (int row = 0; row < rows && fits; row++) {
            const double *from = theta_at(b, theta, n, row);
            fits = from != NULL;
            for (int i = 0; i < pairs && fits; i++) {
                if (!(from[i] > 0) && b->model->options->theta.form == RT_THETA_LOG)
                    rt_image_fail_as(b->image, rt_checkpoint_no_logarithm(
                                                   rt_transformer_theta_layer(b->model->options, n),
                                                   rows > 1 ? row : -1, i, from[i]));
                start[((size_t)n * (size_t)rows + (size_t)row) * (size_t)pairs + (size_t)i] =
                    from[i];
            }
        }
    if (!fits)
        rt_image_fail(b->image, RT_CHECKPOINT,
                      "theta.scope is coarser than that of the trunk, whose theta differ");
}

static void convert_theta(branch *b, double *start)
{
    rt_checkpoint_theta theta;
    rt_checkpoint_get_theta(b->image, &theta);
    if (!rt_image_failed(b->image))
        convert(b, &theta, start);
    rt_checkpoint_theta_free(&theta);
}

/* ---- what fits ---- */

static bool takes(branch *b, const rt_parameter *parameter)
{
    if (parameter->role == RT_ROLE_THETA)
        return b->theta == RT_BRANCH_CARRIED;
    return !is_of_positions(parameter) || is_there(b, parameter);
}

static void note_unexpected(void *context, const char *path)
{
    branch *b = context;
    char name[RT_NAME_SIZE];
    rt_checkpoint_parameter_name(name, path);
    if (!rt_parameters_find(b->model->parameters, name))
        count(&b->branched->left, name);
}

static void compare(branch *b)
{
    const rt_parameters *p = b->model->parameters;
    for (int i = 0; i < p->count; i++) {
        if (!takes(b, p->list[i])) {
            count(&b->branched->fresh, p->list[i]->name);
            continue;
        }
        for (int k = 0; k < RT_CHECKPOINT_BLOCKS; k++)
            if (b->blocks[k].values && rt_checkpoint_block_has(&b->blocks[k], p->list[i]))
                rt_checkpoint_expect_shape(b->image, &b->blocks[k], p->list[i]);
    }
    rt_image_visit(b->image, b->blocks[0].group, note_unexpected, b);
}

/* ---- taking it ---- */

static void read_block(branch *b, int k)
{
    const rt_parameters *p = b->model->parameters;
    const rt_checkpoint_block *block = &b->blocks[k];
    char path[RT_DATASET_SIZE];
    for (int i = 0; i < p->count; i++) {
        if (!rt_checkpoint_block_has(block, p->list[i]) || !takes(b, p->list[i]))
            continue;
        rt_checkpoint_dataset(path, block->group, p->list[i]->name);
        rt_image_reals(b->image, path, b->taken[k] + p->list[i]->offset,
                       rt_tensor_shape(&p->list[i]->tensor));
        rt_checkpoint_expect_squares(b->image, block, p->list[i], b->taken[k] + p->list[i]->offset);
    }
    const rt_parameter *bad = rt_first_nonfinite(p, b->taken[k]);
    if (bad)
        rt_image_fail(b->image, RT_CHECKPOINT, "%s%s is not finite in " RT_PRECISION " precision",
                      block->of, bad->name);
}

static rt_status make_room(branch *b)
{
    const size_t size = b->model->parameters->block_size;
    for (int k = 0; k < RT_CHECKPOINT_BLOCKS; k++) {
        if (!b->blocks[k].values)
            continue;
        b->taken[k] = rt_alloc(size, sizeof(real));
        if (!b->taken[k])
            return rt_out_of_memory("a branch");
        memcpy(b->taken[k], b->blocks[k].values, size * sizeof(real));
    }
    return rt_ok();
}

static void read_all(branch *b, double *start)
{
    compare(b);
    for (int k = 0; k < RT_CHECKPOINT_BLOCKS && !rt_image_failed(b->image); k++)
        if (b->taken[k])
            read_block(b, k);
    if (b->theta == RT_BRANCH_CARRIED)
        rt_checkpoint_expect_theta_start(b->image, b->model);
    if (!rt_image_failed(b->image) && b->theta == RT_BRANCH_CARRIED)
        rt_image_doubles(b->image, RT_THETA_START, start, b->model->theta_shape);
    if (!rt_image_failed(b->image) && b->theta == RT_BRANCH_CONVERTED)
        convert_theta(b, start);
}

/* The parameters that join are known now: the rest has what the trunk says. */
static void keep(branch *b, int64_t step)
{
    const rt_parameters *p = b->model->parameters;
    for (int k = 0; k < RT_CHECKPOINT_BLOCKS; k++)
        if (b->taken[k])
            memcpy(b->blocks[k].values, b->taken[k], p->block_size * sizeof(real));
    for (int i = 0; i < p->count; i++)
        if (!takes(b, p->list[i]))
            p->list[i]->since = step;
}

rt_status rt_checkpoint_branch(rt_image *image, const rt_checkpoint_model *model, bool theta_stays,
                               rt_checkpoint_branched *branched, rt_checkpoint_info *info)
{
    branch b = {.image = image, .model = model, .branched = branched};
    rt_checkpoint_info read = {0};
    const size_t count = rt_shape_size(model->theta_shape);
    double *start = rt_alloc(count ? count : 1, sizeof *start);
    *branched = (rt_checkpoint_branched){.theta = RT_BRANCH_FRESH};
    rt_checkpoint_list_blocks(model, b.blocks);
    rt_status status = start ? make_room(&b) : rt_out_of_memory("a branch");
    if (status.code)
        rt_image_fail_as(image, status);
    rt_checkpoint_get_info(image, &read);
    const rt_transformer_options there = rt_checkpoint_get_options(image);
    rt_checkpoint_expect_heads(image, &there, model->options);
    if (!rt_image_failed(image)) {
        branched->theta = b.theta = theta_of(&b, &there, theta_stays);
        read_all(&b, start);
    }
    if (!rt_image_failed(image))
        rt_checkpoint_get_joined(image, read.step, model->parameters, RT_JOINED_TAKE_KNOWN);
    status = rt_image_status(image);
    if (!status.code) {
        keep(&b, read.step);
        if (b.theta != RT_BRANCH_FRESH)
            memcpy(model->theta_start, start, count * sizeof *start);
        *info = read;
    } else {
        rt_checkpoint_info_free(&read);
    }
    rt_image_close(image);
    for (int k = 0; k < RT_CHECKPOINT_BLOCKS; k++)
        rt_free(b.taken[k]);
    rt_free(start);
    return status;
}
