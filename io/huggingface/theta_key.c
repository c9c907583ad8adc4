/* The key rotor_theta of config.json: all learned theta, read and written. */

#include "io/huggingface/private.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

static const char *const scope_words[] = {RT_THETA_SCOPES(RT_CHOICE_WORD) NULL};
static const char *const form_words[] = {RT_THETA_FORMS(RT_CHOICE_WORD) NULL};

/* ---- reading ---- */

/* The number of a word in a list; -1 if it is none. */
static int choice(const char *const *words, const json_t *json)
{
    const char *given = json_string_value(json);
    for (int i = 0; given && words[i]; i++)
        if (!strcmp(given, words[i]))
            return i;
    return -1;
}

static bool read_numbers(const json_t *list, rt_written_theta *t)
{
    const size_t rows = (size_t)t->rows, pairs = (size_t)t->pairs;
    for (size_t n = 0; n < (size_t)t->layers * rows * pairs; n++) {
        const json_t *layer = json_array_get(list, n / pairs / rows);
        const json_t *row = json_array_get(layer, n / pairs % rows);
        const json_t *number = json_array_get(row, n % pairs);
        t->values[n] = json_number_value(number);
        if (json_array_size(layer) != rows || json_array_size(row) != pairs ||
            !json_is_number(number) || (t->form == RT_THETA_LOG && !(t->values[n] > 0)))
            return false;
    }
    return true;
}

void rt_huggingface_read_theta(rt_reading *r, const rt_transformer_options *o, rt_written_theta *t)
{
    const json_t *json = rt_reading_find(r, RT_HF_THETA);
    const json_t *list = json_object_get(json, "theta"), *base = json_object_get(json, "base");
    const json_t *local_base = json_object_get(json, "local_base");
    const int scope = choice(scope_words, json_object_get(json, "scope"));
    const int form = choice(form_words, json_object_get(json, "form"));
    const size_t pairs = json_array_size(json_array_get(json_array_get(list, 0), 0));
    if (!json || r->status.code)
        return;
    if (local_base && !(json_number_value(local_base) > 1))
        rt_reading_refuse(r, RT_HF_THETA ": local_base must be above 1");
    if (scope < 0 || form < 0 || !(json_number_value(base) > 1) || pairs < 1 ||
        pairs > (size_t)(rt_transformer_head_dim(o) / 2)) {
        rt_reading_refuse(r, RT_HF_THETA
                          " must have scope, form, base, and theta by layer, head and pair");
        return;
    }
    rt_transformer_options learning = *o;
    learning.theta.scope = (rt_theta_scope)scope;
    const rt_shape shape = rt_transformer_theta_shape(&learning);
    *t = (rt_written_theta){.scope = (rt_theta_scope)scope,
                            .form = (rt_theta_form)form,
                            .base = json_number_value(base),
                            .local_base = json_number_value(local_base),
                            .layers = shape.axis[0],
                            .rows = shape.axis[1],
                            .pairs = (int)pairs};
    if (json_array_size(list) == (size_t)t->layers)
        t->values = rt_alloc((size_t)t->layers * (size_t)t->rows * pairs, sizeof *t->values);
    else
        rt_reading_refuse(r, RT_HF_THETA " must have a list for each of %d layers", t->layers);
    if (!r->status.code && !t->values)
        r->status = rt_out_of_memory("theta");
    else if (!r->status.code && !read_numbers(list, t))
        rt_reading_refuse(r,
                          RT_HF_THETA " must have %d layers of %d heads of %d numbers, which are "
                                      "above 0 if their form is log",
                          t->layers, t->rows, t->pairs);
}

/* Takes rotor_theta in place of the frequencies that were made of it. The factor of cosines and sines
 * stays. */
static void take_theta(rt_huggingface *there)
{
    rt_written_theta *t = &there->files->written;
    rt_transformer_options *o = &there->options;
    rt_frequency_options *f = &o->position.frequencies;
    const double magnitude = rt_frequencies_magnitude(f);
    *f = (rt_frequency_options){RT_FREQUENCY_DEFAULTS};
    if (magnitude != 1) {
        f->scaling = RT_SCALING_YARN;
        f->original_len = 1;
        f->attention_factor = magnitude;
    }
    f->base = t->base;
    o->theta.learn = true;
    o->theta.scope = t->scope;
    o->theta.form = t->form;
    o->position.local_base = t->local_base;
    o->position.fraction = (double)t->pairs / (rt_transformer_head_dim(o) / 2);
    there->theta = t->values;
    t->values = NULL;
}

void rt_huggingface_choose_theta(rt_huggingface *there, bool fits, const char *other,
                                 const char *used)
{
    if (there->files->written.values && fits)
        take_theta(there);
    else if (there->files->written.values)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": " RT_HF_THETA " does not match %s; rotor uses %s\n", other,
                      used);
}

void rt_mean_theta(const double *theta, rt_shape shape, int pairs, double *mean)
{
    const int rows = shape.axis[0] * shape.axis[1], rotated = shape.axis[2];
    for (int i = 0; i < pairs; i++) {
        double sum = 0;
        for (int n = 0; n < rows && i < rotated; n++)
            sum += theta[(size_t)n * (size_t)rotated + (size_t)i];
        mean[i] = sum / rows;
    }
}

/* ---- writing ---- */

/* A fixed theta is written once, or for each layer if they differ. */
static rt_shape shape_of(const rt_transformer_options *o)
{
    const rt_shape all = rt_transformer_rotation_shape(o);
    if (o->theta.learn)
        return rt_transformer_theta_shape(o);
    return RT_SHAPE_OF(rt_layers_start_apart(o) ? all.axis[0] : 1, 1, rt_transformer_pairs(o));
}

rt_status rt_export_theta_of(const rt_family *family, const rt_transformer *model,
                             rt_export_theta *theta)
{
    const rt_transformer_options *o = &model->options;
    const int rotated = rt_transformer_pairs(o), pairs = rt_family_pairs(family, o);
    const rt_shape shape = shape_of(o);
    *theta =
        (rt_export_theta){.shape = shape, .pairs = pairs, .base = o->position.frequencies.base};
    theta->own = rt_alloc(rt_shape_size(shape) + 1, sizeof *theta->own);
    theta->mean = rt_alloc((size_t)pairs + 1, sizeof *theta->mean);
    if (!theta->own || !theta->mean)
        return rt_out_of_memory("theta");
    if (o->theta.learn)
        rt_transformer_theta(model, theta->own);
    for (int n = 0; n < shape.axis[0] && !o->theta.learn; n++) {
        const rt_frequency_options frequencies =
            rt_layer_frequencies(o, rt_transformer_theta_layer(o, n));
        rt_frequencies(theta->own + n * rotated, rotated, &frequencies);
    }
    rt_mean_theta(theta->own, shape, pairs, theta->mean);
    for (size_t i = 0; i < rt_shape_size(shape); i++)
        if (!isfinite(theta->own[i]))
            return rt_error(RT_NONFINITE, "theta is %g at %zu: it is not exported", theta->own[i],
                            i);
    return rt_ok();
}

void rt_export_theta_free(rt_export_theta *theta)
{
    rt_free(theta->own);
    rt_free(theta->mean);
    *theta = (rt_export_theta){0};
}

/* By layer and head. */
static json_t *list_theta(const rt_export_theta *theta)
{
    const int *axis = theta->shape.axis;
    json_t *layers = json_array();
    bool failed = !layers;
    for (int n = 0; n < axis[0] * axis[1] && !failed; n++) {
        if (n % axis[1] == 0)
            failed = json_array_append_new(layers, json_array()) != 0;
        failed |= json_array_append_new(json_array_get(layers, (size_t)(n / axis[1])),
                                        rt_json_numbers(theta->own + n * axis[2], axis[2])) != 0;
    }
    if (!failed)
        return layers;
    json_decref(layers);
    return NULL;
}

void rt_put_theta(rt_json_object *to, const rt_transformer_options *o, const rt_export_theta *theta)
{
    rt_json_object made = rt_json_object_new();
    rt_json_put(&made, "base", rt_json_number(o->position.frequencies.base));
    if (o->position.local_base > 0)
        rt_json_put(&made, "local_base", rt_json_number(o->position.local_base));
    rt_json_put(&made, "form", json_string(form_words[o->theta.form]));
    rt_json_put(&made, "scope", json_string(scope_words[o->theta.scope]));
    rt_json_put(&made, "theta", list_theta(theta));
    rt_json_put_object(to, RT_HF_THETA, &made);
}
