#include "train/huggingface/private.h"

#include "core/memory.h"
#include "train/text/quote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One seed for what a folder lacks: two imports are the same. */
enum { SEED_OF_HEAD = 1 };

typedef struct loading {
    const rt_huggingface *there;
    const rt_roformer *model;
    bool head; /* is taken */
} loading;

/* ---- whether it fits ---- */

static rt_status compare_heads(const loading *l)
{
    const rt_roformer_options *a = &l->there->options, *b = &l->model->options;
    if (a->heads != b->heads)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": num_attention_heads is %d, this model has %d", a->heads,
                        b->heads);
    if (b->position.kind != RT_POSITION_ROPE || b->position.pairing != RT_INTERLEAVED)
        return rt_error(RT_CHECKPOINT, RT_HF_CONFIG
                        ": it is of a model with position.kind = rope and position.pairing = "
                        "interleaved, which this model has not");
    if (l->head && b->head == RT_HEAD_LM && b->tie_embeddings && !a->tie_embeddings)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": its decoder is not tied to its embeddings; this model has "
                                     "model.tie_embeddings = yes");
    return rt_ok();
}

/* Whether a parameter is one of the head, which need not be taken. */
static bool is_of_head(const char *name)
{
    return !strncmp(name, "cls.", 4) || !strncmp(name, "classifier.", 11);
}

static bool is_wanted(const loading *l, const rt_parameter *p)
{
    return p->role != RT_ROLE_THETA && (l->head || !is_of_head(p->name));
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
    char shape[RT_SHAPE_OF_FILE_SIZE];
    const rt_weight w = rt_huggingface_find(l->there, p->name);
    const rt_weights *weights = &l->there->files->weights;
    const char *name =
        p->name + (l->there->files->prefixed || is_of_head(p->name) ? 0 : strlen(RT_HF_PREFIX));
    if (!w.tensor)
        return rt_error(RT_CHECKPOINT, "%s: lacks %s %s",
                        weights->count == 1 ? rt_safetensors_name(weights->files[0])
                                            : RT_WEIGHTS_INDEX,
                        name, rt_shape_text(&p->tensor));
    if (!has_shape(w.tensor, &p->tensor))
        return rt_error(RT_CHECKPOINT, "%s: %s is %s, %s expected", rt_safetensors_name(w.file),
                        w.tensor->name, rt_safetensor_shape(w.tensor, shape),
                        rt_shape_text(&p->tensor));
    return rt_ok();
}

/* Whether a tensor of the folder has a place: in the model, or beside it. */
static bool is_known(const loading *l, const char *name)
{
    static const char *const beside[] = {RT_HF_TABLE, RT_HF_DECODER, RT_HF_DECODER_BIAS,
                                         RT_HF_BIAS};
    char whole[RT_NAME_SIZE + sizeof RT_HF_PREFIX];
    const bool bare = !l->there->files->prefixed && !is_of_head(name);
    if (strlen(name) >= RT_NAME_SIZE)
        return false;
    snprintf(whole, sizeof whole, "%s%s", bare ? RT_HF_PREFIX : "", name);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (!strcmp(whole, beside[i]) && (i == 0 || l->there->options.head == RT_HEAD_LM))
            return true;
    if (is_of_head(name) && !l->head)
        return true;
    return rt_parameters_find(&l->model->parameters, whole) != NULL;
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

static rt_status read_values(const loading *l, const rt_parameter *p, real *values)
{
    const size_t count = rt_size(&p->tensor);
    const rt_weight w = rt_huggingface_find(l->there, p->name);
    rt_status status = rt_safetensors_reals(w.file, w.tensor, 0, count, values);
    for (size_t i = 0; i < count && !status.code; i++)
        if (!isfinite(values[i]))
            status = rt_error(RT_CHECKPOINT, "%s: %s is not finite in " RT_PRECISION " precision",
                              rt_safetensors_name(w.file), w.tensor->name);
    return status;
}

static rt_status read_all(const loading *l, real *values)
{
    const rt_parameters *p = &l->model->parameters;
    rt_status status = rt_ok();
    for (int i = 0; i < p->count && !status.code; i++)
        if (is_wanted(l, p->list[i]))
            status = read_values(l, p->list[i], values + p->list[i]->offset);
    return status;
}

/* ---- theta ---- */

/* Whether the model turns by the folder's theta, once `theta` has been given to it; NULL if they
 * are fixed. */
static bool spread_theta(const loading *l, double *theta)
{
    const rt_roformer_options *a = &l->there->options, *b = &l->model->options;
    const rt_shape from = rt_roformer_theta_shape(a), to = rt_roformer_theta_shape(b);
    const int pairs = to.axis[2];
    const bool one = !a->theta.learn || a->theta.scope == RT_THETA_MODEL;
    if (!theta)
        return !a->theta.learn && from.axis[2] == pairs &&
               a->position.frequencies.base == b->position.frequencies.base &&
               b->position.frequencies.family == RT_FREQUENCIES_GEOMETRIC &&
               b->position.frequencies.scaling == RT_SCALING_NONE;
    if (from.axis[2] != pairs || (!one && !rt_shapes_equal(from, to)))
        return false;
    for (int n = 0; n < to.axis[0] * to.axis[1]; n++) {
        double *row = theta + (size_t)n * (size_t)pairs;
        if (a->theta.learn)
            memcpy(row, l->there->theta + (one ? 0 : (size_t)n * (size_t)pairs),
                   (size_t)pairs * sizeof *row);
        else
            rt_theta_geometric(row, pairs, a->position.frequencies.base);
    }
    for (size_t i = 0; i < rt_shape_size(to); i++)
        if (b->theta.form == RT_THETA_LOG && !(theta[i] > 0))
            return false;
    return true;
}

/* ---- all ---- */

static bool has_same_head(const rt_huggingface *there, const rt_roformer_options *o)
{
    return there->architecture != RT_CLASS_MODEL && there->options.head == o->head &&
           (o->head == RT_HEAD_LM || there->options.labels == o->labels);
}

rt_status rt_huggingface_load(const rt_huggingface *there, rt_roformer *model,
                              rt_huggingface_taken *taken)
{
    const rt_parameters *p = &model->parameters;
    const loading l = {there, model, has_same_head(there, &model->options)};
    const bool learns = model->options.theta.learn;
    *taken = (rt_huggingface_taken){0};
    rt_status status = check_all(&l);
    if (status.code)
        return status;
    real *fresh = rt_alloc(p->block_size, sizeof *fresh);
    double *theta =
        learns ? rt_alloc(rt_roformer_theta_count(&model->options), sizeof *theta) : NULL;
    if (fresh && (theta || !learns)) {
        memcpy(fresh, p->values, p->block_size * sizeof *fresh);
        status = read_all(&l, fresh);
    } else {
        status = rt_out_of_memory("the parameters of a model");
    }
    if (!status.code) {
        memcpy(p->values, fresh, p->block_size * sizeof *fresh);
        *taken = (rt_huggingface_taken){.head = l.head, .theta = spread_theta(&l, theta)};
    }
    if (taken->theta && learns)
        rt_roformer_set_theta(model, theta);
    rt_free(fresh);
    rt_free(theta);
    return status;
}

rt_status rt_huggingface_model(const rt_huggingface *there, rt_roformer **model_new)
{
    rt_huggingface_taken taken;
    rt_status status = rt_roformer_new(model_new, &there->options, SEED_OF_HEAD, NULL);
    if (status.code == RT_ARGUMENT)
        status = rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": %s", status.message);
    if (!status.code)
        status = rt_huggingface_load(there, *model_new, &taken);
    if (!status.code && there->theta) /* a report counts from here, as from any start */
        rt_roformer_theta(*model_new, (*model_new)->theta_start);
    if (status.code) {
        rt_roformer_free(*model_new);
        *model_new = NULL;
    }
    return status;
}
