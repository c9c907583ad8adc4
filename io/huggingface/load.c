#include "io/huggingface/private.h"

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "text/quote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One seed for what a folder lacks: two imports are the same. */
enum { SEED_OF_HEAD = 1 };

typedef struct loading {
    const rt_huggingface *there;
    const rt_transformer *model;
    bool head; /* is taken */
} loading;

/* ---- whether it fits ---- */

static rt_status compare_heads(const loading *l)
{
    static const char *const kinds[] = {RT_MODEL_KINDS(RT_CHOICE_WORD)};
    static const char *const pairings[] = {RT_PAIRINGS(RT_CHOICE_WORD)};
    const rt_transformer_options *a = &l->there->options, *b = &l->model->options;
    if (a->heads != b->heads)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": num_attention_heads is %d, this model has %d", a->heads,
                        b->heads);
    if (a->kind != b->kind)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG
                        ": it is of a model with model.kind = %s, which this model is not",
                        kinds[a->kind]);
    if (b->position.kind != RT_POSITION_ROPE || b->position.pairing != a->position.pairing)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG
                        ": it is of a model with position.kind = rope and position.pairing = %s, "
                        "which this model has not",
                        pairings[a->position.pairing]);
    if (l->head && b->head == RT_HEAD_LM && b->tie_embeddings && !a->tie_embeddings)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": its decoder is not tied to its embeddings; this model has "
                                     "model.tie_embeddings = yes");
    return rt_ok();
}

/* The head need not be taken. */
static bool is_wanted(const loading *l, const rt_parameter *p)
{
    return p->role != RT_ROLE_THETA && (l->head || p->part != RT_PART_HEAD);
}

static bool has_shape(const rt_safetensor *t, const rt_tensor *wanted)
{
    if (t->axes != wanted->ndim)
        return false;
    for (int i = 0; i < t->axes; i++)
        if (t->shape[i] != (uint64_t)wanted->shape[i])
            return false;
    return true;
}

static rt_status check_tensor(const loading *l, const rt_parameter *p)
{
    char shape[RT_SHAPE_OF_FILE_SIZE], name[RT_NAME_SIZE];
    const rt_weight w = rt_huggingface_find(l->there, p->name);
    const rt_weights *weights = &l->there->files->weights;
    if (!w.tensor)
        return rt_error(RT_CHECKPOINT, "%s: lacks %s %s",
                        weights->count == 1 ? rt_safetensors_name(weights->files[0])
                                            : RT_WEIGHTS_INDEX,
                        rt_huggingface_name(l->there, p->name, name), rt_shape_text(&p->tensor));
    if (!has_shape(w.tensor, &p->tensor))
        return rt_error(RT_CHECKPOINT, "%s: %s is %s, %s expected", rt_safetensors_name(w.file),
                        w.tensor->name, rt_safetensor_shape(w.tensor, shape),
                        rt_shape_text(&p->tensor));
    return rt_ok();
}

/* Whether a tensor of the folder has a place: in the model, or beside it. */
static bool is_known(const loading *l, const char *name)
{
    const rt_family *f = l->there->files->family;
    const bool bare = !l->there->files->prefixed && !rt_huggingface_of_head(f, name);
    char whole[RT_NAME_SIZE], here[RT_NAME_SIZE];
    const int length = snprintf(whole, sizeof whole, "%s%s", bare ? f->prefix : "", name);
    if (length >= RT_NAME_SIZE)
        return false;
    if (f->is_beside(l->there, whole) || (rt_huggingface_of_head(f, whole) && !l->head))
        return true;
    return rt_name_here(f, l->model->options.head, whole, here) &&
           rt_parameters_find(&l->model->parameters, here);
}

/* A name as a message has it: whole, unless it could do something to a terminal. */
static const char *show_name(char quoted[RT_QUOTE_SIZE], const char *name)
{
    const char *at = name;
    while (*at > ' ' && *at < 0x7f)
        at++;
    return *at || at - name >= RT_NAME_SIZE ? rt_quote(quoted, name) : name;
}

static rt_status check_surplus(const loading *l)
{
    const rt_weights *weights = &l->there->files->weights;
    const rt_safetensor *t;
    for (int i = 0; i < weights->count; i++)
        for (size_t n = 0; (t = rt_safetensors_at(weights->files[i], n)); n++) {
            char quoted[RT_QUOTE_SIZE];
            if (!is_known(l, t->name))
                return rt_error(RT_CHECKPOINT, "%s: has %s, which is no part of the model",
                                rt_safetensors_name(weights->files[i]), show_name(quoted, t->name));
        }
    return rt_ok();
}

static rt_status check_all(const loading *l)
{
    const rt_parameters *p = &l->model->parameters;
    rt_status status = compare_heads(l);
    for (int i = 0; i < p->count && !status.code; i++)
        if (is_wanted(l, p->list[i]))
            status = check_tensor(l, p->list[i]);
    return status.code ? status : check_surplus(l);
}

/* ---- values ---- */

/* Whether the rows of a parameter are features that stand in the folder as in the model. */
static bool is_in_order(const loading *l, const rt_parameter *p)
{
    const rt_family *f = l->there->files->family;
    const rt_transformer_options *o = &l->model->options;
    return rt_rotated_features(f, o, p->name) != RT_ROWS || !rt_features_differ(f, o);
}

/* Puts the rows of queries or keys, as they are in the folder, to where the model has them. */
static rt_status order_rows(const loading *l, const rt_parameter *p, real *values)
{
    const rt_transformer_options *o = &l->model->options;
    const size_t size = (size_t)(o->dim / o->heads), count = rt_size(&p->tensor);
    const size_t columns = p->tensor.ndim > 1 ? (size_t)rt_columns(&p->tensor) : 1;
    real *there = rt_alloc_unset(count, sizeof *there);
    if (!there)
        return rt_out_of_memory(p->name);
    memcpy(there, values, count * sizeof *there);
    for (size_t row = 0; row < count / columns; row++) {
        const int place = rt_feature_here(l->there->files->family, o, (int)(row % size));
        memcpy(values + (row / size * size + (size_t)place) * columns, there + row * columns,
               columns * sizeof *there);
    }
    rt_free(there);
    return rt_ok();
}

static rt_status read_values(const loading *l, const rt_parameter *p, real *values)
{
    const size_t count = rt_size(&p->tensor);
    const rt_weight w = rt_huggingface_find(l->there, p->name);
    rt_status status = rt_safetensors_reals(w.file, w.tensor, 0, count, values);
    for (size_t i = 0; i < count && !status.code; i++)
        if (!isfinite(values[i]))
            status = rt_error(RT_CHECKPOINT, "%s: %s is not finite in " RT_PRECISION " precision",
                              rt_safetensors_name(w.file), w.tensor->name);
    return status.code || is_in_order(l, p) ? status : order_rows(l, p, values);
}

static rt_status read_all(const loading *l)
{
    const rt_parameters *p = &l->model->parameters;
    rt_status status = rt_ok();
    for (int i = 0; i < p->count && !status.code; i++)
        if (is_wanted(l, p->list[i]))
            status = read_values(l, p->list[i], p->list[i]->tensor.data);
    return status;
}

/* What a blank model does not find here. */
static void draw_head(const loading *l)
{
    const rt_parameters *p = &l->model->parameters;
    for (int i = 0; i < p->count && p->blank && !l->head; i++)
        if (p->list[i]->part == RT_PART_HEAD)
            rt_parameter_draw(p, p->list[i]);
}

/* ---- theta ---- */

/* Whether two fixed theta are the same for all lengths, by what they are at some. */
static rt_status compare_fixed(const loading *l, bool *same)
{
    const rt_frequency_options *a = &l->there->options.position.frequencies;
    const rt_frequency_options *b = &l->model->options.position.frequencies;
    const int pairs = rt_transformer_pairs(&l->model->options);
    const int lengths[] = {0, a->original_len + 1, b->original_len + 1, 1 << 24};
    double *one = rt_alloc((size_t)pairs + 1, sizeof *one);
    double *other = rt_alloc((size_t)pairs + 1, sizeof *other);
    *same = pairs == rt_transformer_pairs(&l->there->options) &&
            rt_frequencies_magnitude(a) == rt_frequencies_magnitude(b);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && *same && one && other; i++) {
        rt_frequencies_at(one, pairs, a, lengths[i]);
        rt_frequencies_at(other, pairs, b, lengths[i]);
        *same = !memcmp(one, other, (size_t)pairs * sizeof *one);
    }
    rt_free(one);
    rt_free(other);
    return one && other ? rt_ok() : rt_out_of_memory("theta");
}

/* Whether a model that learns theta has the folder's shape, which is then in `theta`. */
static bool spread_theta(const loading *l, double *theta)
{
    const rt_transformer_options *a = &l->there->options, *b = &l->model->options;
    const rt_frequency_options *from_options = &a->position.frequencies;
    const rt_shape from = rt_transformer_theta_shape(a), to = rt_transformer_theta_shape(b);
    const int pairs = to.axis[2];
    const bool one = !a->theta.learn || a->theta.scope == RT_THETA_MODEL;
    if (from.axis[2] != pairs || (!one && !rt_shapes_equal(from, to)) ||
        rt_frequencies_magnitude(from_options) !=
            rt_frequencies_magnitude(&b->position.frequencies))
        return false;
    for (int n = 0; n < to.axis[0] * to.axis[1]; n++) {
        double *row = theta + (size_t)n * (size_t)pairs;
        if (a->theta.learn)
            memcpy(row, l->there->theta + (one ? 0 : (size_t)n * (size_t)pairs),
                   (size_t)pairs * sizeof *row);
        else
            rt_frequencies(row, pairs, from_options);
    }
    return true;
}

/* Of a theta whose logarithm is learned. */
static rt_status check_above_0(const loading *l, const double *theta)
{
    const rt_transformer_options *o = &l->model->options;
    const rt_shape shape = rt_transformer_theta_shape(o);
    const int rows = shape.axis[1], pairs = shape.axis[2];
    for (int n = 0; n < shape.axis[0] * rows * pairs; n++) {
        if (o->theta.form == RT_THETA_RAW || theta[n] > 0)
            continue;
        const int layer = rt_transformer_theta_layer(o, n / pairs / rows);
        const rt_status status =
            rt_checkpoint_no_logarithm(o->theta.scope == RT_THETA_MODEL ? -1 : layer,
                                       o->theta.scope == RT_THETA_HEAD ? n / pairs % rows : -1,
                                       n % pairs, theta[n]);
        return rt_error(status.code, "%s: %s", l->there->own ? RT_HF_CONFIG : RT_WEIGHTS_FILE,
                        status.message);
    }
    return rt_ok();
}

/* What becomes of theta: the folder's in a new block if a model that learns it takes it, else
 * NULL. */
static rt_status find_theta(const loading *l, double **theta_new, bool *taken)
{
    const rt_transformer_options *b = &l->model->options;
    *theta_new = NULL;
    if (!b->theta.learn)
        return l->there->options.theta.learn ? rt_ok() : compare_fixed(l, taken);
    double *theta = rt_alloc(rt_transformer_theta_count(b), sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    *taken = spread_theta(l, theta);
    rt_status status = *taken ? check_above_0(l, theta) : rt_ok();
    if (*taken && !status.code)
        *theta_new = theta;
    else
        rt_free(theta);
    return status;
}

/* ---- all ---- */

static bool has_same_head(const rt_huggingface *there, const rt_transformer_options *o)
{
    return there->has_head && there->options.head == o->head &&
           (o->head == RT_HEAD_LM || there->options.labels == o->labels);
}

rt_status rt_huggingface_load(const rt_huggingface *there, rt_transformer *model,
                              rt_huggingface_taken *taken)
{
    const loading l = {there, model, has_same_head(there, &model->options)};
    double *theta = NULL;
    *taken = (rt_huggingface_taken){0};
    rt_status status = check_all(&l);
    if (!status.code)
        status = find_theta(&l, &theta, &taken->theta);
    if (!status.code)
        draw_head(&l);
    if (!status.code)
        status = read_all(&l);
    if (!status.code && theta)
        rt_transformer_set_theta(model, theta);
    rt_free(theta);
    taken->head = !status.code && l.head;
    return status;
}

rt_status rt_huggingface_model(const rt_huggingface *there, rt_transformer **model_new)
{
    rt_huggingface_taken taken;
    rt_status status = rt_transformer_new_blank(model_new, &there->options, SEED_OF_HEAD);
    if (status.code == RT_ARGUMENT)
        status = rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": %s", status.message);
    if (!status.code)
        status = rt_huggingface_load(there, *model_new, &taken);
    if (!status.code && there->theta) /* a report counts from here, as from any start */
        rt_transformer_theta(*model_new, rt_transformer_theta_start(*model_new));
    if (status.code) {
        rt_transformer_free(*model_new);
        *model_new = NULL;
    }
    return status;
}
