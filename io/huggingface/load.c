/* Loads the values of a folder into a model. */

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "io/huggingface/folder.h"
#include "models/encodings/encoding.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct loading {
    const rt_huggingface *there;
    const rt_transformer *model;
    bool has_head; /* the folder has the parameters of the model's head, which must be valid */
    bool head;     /* the head of the folder is used */
    rt_folder_tensors tensors;
} loading;

static rt_status compare_heads(const loading *l)
{
    static const char *const kinds[] = {RT_MODEL_KINDS(RT_CHOICE_WORD)};
    static const char *const pairings[] = {RT_PAIRINGS(RT_CHOICE_WORD)};
    const rt_transformer_options *a = &l->there->options, *b = &l->model->options;
    const char *file = l->there->files->described;
    if (a->heads != b->heads)
        return rt_error(RT_CHECKPOINT, "%s: num_attention_heads is %d, this model has %d", file,
                        a->heads, b->heads);
    if (a->kind != b->kind)
        return rt_error(
            RT_CHECKPOINT,
            "%s: the model is a %s, but the configuration describes a %s; set model.kind = %s",
            file, kinds[a->kind], kinds[b->kind], kinds[a->kind]);
    if (b->position.kind != RT_POSITION_ROPE || b->position.pairing != a->position.pairing)
        return rt_error(
            RT_CHECKPOINT,
            "%s: the model needs position.kind = rope and position.pairing = %s; set both", file,
            pairings[a->position.pairing]);
    if (l->has_head && b->head == RT_HEAD_LM && b->tie_embeddings && !a->tie_embeddings)
        return rt_error(
            RT_CHECKPOINT,
            "%s: the model has an output layer of its own; set model.tie_embeddings = no", file);
    return rt_ok();
}

/* Returns whether a parameter must be a tensor: not theta, factors of heads, or a missing head. */
static bool is_wanted(const loading *l, const rt_parameter *p)
{
    return p->role != RT_ROLE_THETA && !p->joins &&
           (l->has_head || p->component != RT_COMPONENT_HEAD);
}

/* Returns the tensor of a parameter: the first that the folder has; NULL if there is none. */
static const rt_folder_tensor *find(const loading *l, const rt_parameter *p,
                                    const rt_safetensor **from)
{
    const rt_folder_tensor *t;
    for (int n = 0; (t = rt_folder_tensors_find(&l->tensors, p, n)); n++)
        if ((*from = rt_huggingface_tensor(l->there, t->name)))
            return t;
    return NULL;
}

/* Checks that the folder has the tensor of a parameter. The message names a missing one by the
 * first that is written without a condition. */
static rt_status check_tensor(const loading *l, const rt_parameter *p)
{
    char shape[RT_SHAPE_OF_FILE_SIZE], wanted[RT_SHAPE_TEXT_SIZE];
    const rt_weights *weights = &l->there->files->weights;
    const rt_safetensor *from;
    const rt_folder_tensor *t = find(l, p, &from);
    if (!t) {
        int n = 0;
        while ((t = rt_folder_tensors_find(&l->tensors, p, n)) && t->row->written)
            n++;
        return rt_error(RT_CHECKPOINT, "%s: lacks %s %s",
                        weights->count == 1 ? weights->files[0]->name : RT_WEIGHTS_INDEX,
                        t ? rt_huggingface_name(l->there, t->name) : p->name,
                        rt_shape_text(&p->tensor));
    }
    const rt_transformer_options *o = &l->there->options;
    const bool of_heads = o->heads * o->head_dim != o->dim && strstr(p->name, ".attention.");
    bool same = from->axes == t->shape.ndim;
    for (int i = 0; i < from->axes && same; i++)
        same = from->shape[i] == (uint64_t)t->shape.axis[i];
    if (!same)
        return rt_error(RT_CHECKPOINT, "%s: %s is %s, %s expected%s", from->file->name, from->name,
                        rt_safetensor_shape(from, shape), rt_shape_write(wanted, t->shape),
                        of_heads ? ": num_attention_heads and num_key_value_heads times head_dim"
                                 : "");
    return rt_ok();
}

/* Returns whether a tensor belongs to the head, by its name in the folder. */
static bool is_of_head(const rt_family *f, const char *name)
{
    for (const char *const *prefix = f->head_prefixes; *prefix; prefix++)
        if (!strncmp(name, *prefix, strlen(*prefix)))
            return true;
    return false;
}

/* Refuses unknown tensors. A name is quoted if it is too long or could control a terminal. */
static rt_status check_surplus(const loading *l)
{
    const rt_weights *weights = &l->there->files->weights;
    const rt_family *f = l->there->files->family;
    for (int i = 0; i < weights->count; i++)
        for (size_t n = 0; n < weights->files[i]->count; n++) {
            const rt_safetensor *t = weights->files[i]->tensors + n;
            char whole[RT_NAME_SIZE];
            const bool bare = !l->there->files->prefixed && !is_of_head(f, t->name);
            const char *at = t->name;
            while (*at > ' ' && *at < 0x7f)
                at++;
            const bool plain = !*at && at - t->name < RT_NAME_SIZE;
            const bool fits = snprintf(whole, sizeof whole, "%s%s", bare ? f->prefix : "",
                                       t->name) < RT_NAME_SIZE;
            if (!fits || ((l->has_head || !is_of_head(f, whole)) &&
                          !rt_folder_tensors_know(&l->tensors, f, &l->there->options, whole)))
                return rt_error(RT_CHECKPOINT, "%s: unexpected tensor %s, which the model lacks",
                                weights->files[i]->name, plain ? t->name : RT_QUOTED(t->name));
        }
    return rt_ok();
}

/* Reads the numbers of a tensor into its parameters or, if it is not used, only checks them. */
static rt_status read_tensor(const rt_folder_tensor *t, const rt_safetensor *from, bool used)
{
    enum { BLOCK = 2048 };
    double block[BLOCK];
    real *plain = t->stacked[0].parameter->tensor.data;
    int k;
    for (uint64_t first = 0; first < from->count; first += BLOCK) {
        const size_t count = from->count - first < BLOCK ? (size_t)(from->count - first) : BLOCK;
        RT_TRY(rt_safetensors_doubles(from, first, count, block));
        for (size_t i = 0; i < count; i++)
            if (!isfinite((real)block[i]))
                return rt_error(RT_CHECKPOINT, "%s: %s is not finite in " RT_PRECISION " precision",
                                from->file->name, from->name);
        for (size_t i = 0; i < count && used && t->plain; i++)
            plain[first + i] = (real)block[i];
        for (size_t i = 0; i < count && used && !t->plain; i++) {
            const size_t index = rt_folder_tensor_at(t, (size_t)first + i, &k);
            t->stacked[k].parameter->tensor.data[index] = (real)block[i];
        }
    }
    return rt_ok();
}

/* Reads all parameters that the folder has, and draws the others of a blank model. */
static rt_status read_all(const loading *l)
{
    const rt_parameters *all = &l->model->parameters;
    rt_status status = rt_ok();
    for (int i = 0; i < all->count && !status.code; i++) {
        rt_parameter *p = all->list[i];
        const rt_safetensor *from;
        const rt_folder_tensor *t = is_wanted(l, p) ? find(l, p, &from) : NULL;
        if (all->blank && (p->joins || (!l->head && p->component == RT_COMPONENT_HEAD)))
            rt_parameter_draw(all, p);
        if (t && t->stacked[0].parameter == p)
            status = read_tensor(t, from, p->component != RT_COMPONENT_HEAD || l->head);
    }
    return status;
}

/* Finds theta of the folder in the layout of a model that learns theta. *theta_new is a new block,
 * which the caller frees also after an error. It is NULL if theta of the model is fixed or starts
 * elsewhere (rt_theta_starts_alike), or if that of the folder has another shape, magnitude or
 * several bases for one shared theta. Sets *taken if theta of the folder is used or, if both are
 * fixed, equal. RT_CHECKPOINT if the model learns logarithms and a value is not above 0. */
static rt_status find_theta(const loading *l, double **theta_new, bool *taken)
{
    const rt_transformer_options *a = &l->there->options, *b = &l->model->options;
    const bool one = !a->theta.learn || a->theta.scope == RT_THETA_MODEL;
    const bool magnitude = rt_frequencies_magnitude(&a->position.frequencies) ==
                           rt_frequencies_magnitude(&b->position.frequencies);
    bool alike;
    rt_status status = rt_ok();
    *theta_new = NULL;
    RT_TRY(rt_theta_starts_alike(b, a, &alike));
    if (!b->theta.learn)
        *taken = alike && magnitude && !a->theta.learn;
    if (!b->theta.learn || !alike || !magnitude)
        return rt_ok();
    const rt_shape from = rt_transformer_theta_shape(a), to = rt_transformer_theta_shape(b);
    const int rows = to.axis[1], pairs = to.axis[2];
    if (from.axis[2] != pairs || (!one && !rt_shapes_equal(from, to)) ||
        (!a->theta.learn && b->theta.scope == RT_THETA_MODEL && rt_layers_differ_in_base(a)))
        return rt_ok();
    double *theta = *theta_new = rt_alloc(rt_transformer_theta_count(b), sizeof *theta);
    RT_TRY(rt_allocated(theta, "theta"));
    *taken = true;
    for (int n = 0; n < to.axis[0] * rows && !status.code; n++) {
        const int layer = rt_transformer_theta_layer(b, n / rows);
        const rt_frequency_options frequencies = rt_layer_frequencies(a, layer);
        double *row = theta + (size_t)n * (size_t)pairs;
        if (a->theta.learn)
            memcpy(row, l->there->theta + (one ? 0 : (size_t)n * (size_t)pairs),
                   (size_t)pairs * sizeof *row);
        else
            rt_frequencies(row, pairs, &frequencies);
        for (int i = 0; i < pairs && b->theta.form != RT_THETA_RAW && !status.code; i++)
            if (!(row[i] > 0))
                status = rt_checkpoint_no_logarithm(b->theta.scope == RT_THETA_MODEL ? -1 : layer,
                                                    b->theta.scope == RT_THETA_HEAD ? n % rows : -1,
                                                    i, row[i]);
    }
    return status.code ? rt_error(status.code, "%s: %s",
                                  l->there->own ? RT_HF_CONFIG : RT_WEIGHTS_FILE, status.message)
                       : status;
}

/* Sorts the rows of a parameter of the head: row i becomes the old row places[i]. */
static rt_status sort_rows(const rt_huggingface *there, rt_tensor *t)
{
    const size_t rows = (size_t)there->options.labels, size = rt_size(t), width = size / rows;
    RT_OWNED real *before = rt_alloc(size, sizeof *before);
    RT_TRY(rt_allocated(before, "the head of a model"));
    memcpy(before, t->data, size * sizeof *before);
    for (size_t i = 0; i < rows; i++)
        memcpy(t->data + i * width, before + (size_t)there->places[i] * width,
               width * sizeof *before);
    return rt_ok();
}

static void free_tensors(loading *l)
{
    rt_folder_tensors_free(&l->tensors);
}

rt_status rt_huggingface_load(const rt_huggingface *there, rt_transformer *model, bool head,
                              rt_huggingface_taken *taken)
{
    const rt_transformer_options *from = &there->options, *to = &model->options;
    const rt_affine *classifier = &model->head.classifier;
    const bool has_head = there->has_head && from->head == to->head &&
                          (to->head == RT_HEAD_LM || from->labels == to->labels);
    RT_CLOSED_BY(free_tensors) loading l = {there, model, has_head, has_head && head, {0}};
    const rt_parameters *p = &model->parameters;
    RT_OWNED double *theta = NULL;
    *taken = (rt_huggingface_taken){0};
    RT_TRY(rt_folder_tensors_new(&l.tensors, there->files->family, &there->options, model, -1));
    RT_TRY(compare_heads(&l));
    for (int i = 0; i < p->count; i++)
        if (is_wanted(&l, p->list[i]))
            RT_TRY(check_tensor(&l, p->list[i]));
    RT_TRY(check_surplus(&l));
    RT_TRY(find_theta(&l, &theta, &taken->theta));
    RT_TRY(read_all(&l));
    if (theta)
        rt_transformer_set_theta(model, theta);
    taken->head = l.head;
    if (!taken->head || !there->places)
        return rt_ok();
    RT_TRY(sort_rows(there, classifier->weight));
    return classifier->bias ? sort_rows(there, classifier->bias) : rt_ok();
}

rt_status rt_huggingface_model(const rt_huggingface *there, const rt_transformer_options *options,
                               rt_transformer **model_new, bool *has_head)
{
    rt_huggingface_taken taken = {0};
    rt_status status =
        rt_transformer_new_from(model_new, options ? options : &there->options,
                                &(rt_model_start){.seed = RT_HUGGINGFACE_SEED, .blank = true});
    if (status.code == RT_ARGUMENT)
        status = rt_error(RT_CHECKPOINT, "%s: %s", there->files->described, status.message);
    if (!status.code)
        status = rt_huggingface_load(there, *model_new, true, &taken);
    if (!status.code &&
        there->theta) /* reports measure the drift of theta from here, as from any start */
        rt_transformer_theta(*model_new, rt_transformer_theta_start(*model_new));
    if (status.code) {
        rt_transformer_free(*model_new);
        *model_new = NULL;
    }
    if (has_head)
        *has_head = taken.head;
    return status;
}
