#include "io/huggingface/theta.h"

#include "core/memory.h"
#include "io/huggingface/folder.h"

#include <math.h>
#include <string.h>

void rt_folder_theta_free(rt_folder_theta *t)
{
    rt_free(t->own);
    rt_free(t->mean);
    *t = (rt_folder_theta){0};
}

void rt_folder_theta_mean(const rt_folder_theta *t, const rt_transformer_options *o,
                          rt_theta_layers layers, int pairs, double *mean)
{
    const int rows = t->shape.axis[1], rotated = t->shape.axis[2];
    int count = 0;
    for (int i = 0; i < pairs; i++)
        mean[i] = 0;
    for (int n = 0; n < t->shape.axis[0]; n++) {
        const bool slides = rt_layer_row_of(o, rt_transformer_theta_layer(o, n)).window > 0;
        if (layers != RT_THETA_OF_ALL && t->shape.axis[0] > 1 &&
            slides != (layers == RT_THETA_OF_SLIDING))
            continue;
        for (int row = n * rows; row < (n + 1) * rows; row++)
            for (int i = 0; i < rotated && i < pairs; i++)
                mean[i] += t->own[(size_t)row * (size_t)rotated + (size_t)i];
        count += rows;
    }
    for (int i = 0; i < pairs && count; i++)
        mean[i] /= count;
    if (!count) /* no layer is of this type */
        rt_folder_theta_mean(t, o, RT_THETA_OF_ALL, pairs, mean);
}

rt_status rt_folder_theta_of(const rt_family *family, const rt_transformer *model,
                             rt_folder_theta *t)
{
    const rt_transformer_options *o = &model->options;
    const int rotated = rt_transformer_pairs(o), pairs = rt_family_pairs(family, o);
    const int layers = rt_layers_differ_in_base(o) ? rt_transformer_rotation_shape(o).axis[0] : 1;
    *t = (rt_folder_theta){.shape = o->theta.learn ? rt_transformer_theta_shape(o)
                                                   : RT_SHAPE_OF(layers, 1, rotated),
                           .pairs = pairs,
                           .base = o->position.frequencies.base};
    t->own = rt_alloc(rt_shape_size(t->shape) + 1, sizeof *t->own);
    t->mean = rt_alloc((size_t)pairs + 1, sizeof *t->mean);
    RT_TRY(rt_allocated(t->own && t->mean, "theta"));
    if (o->theta.learn)
        rt_transformer_theta(model, t->own);
    for (int n = 0; n < t->shape.axis[0] && !o->theta.learn; n++) {
        const rt_frequency_options frequencies =
            rt_layer_frequencies(o, rt_transformer_theta_layer(o, n));
        rt_frequencies(t->own + n * rotated, rotated, &frequencies);
    }
    rt_folder_theta_mean(t, o, RT_THETA_OF_ALL, pairs, t->mean);
    for (size_t i = 0; i < rt_shape_size(t->shape); i++)
        if (!isfinite(t->own[i]))
            return rt_error(RT_NONFINITE, "theta is %g at %zu: it is not exported", t->own[i], i);
    return rt_ok();
}

static const char *const scope_words[] = {RT_THETA_SCOPES(RT_CHOICE_WORD) NULL};
static const char *const form_words[] = {RT_THETA_FORMS(RT_CHOICE_WORD) NULL};

static bool read_numbers(const json_t *list, rt_folder_theta *t)
{
    const size_t rows = (size_t)t->shape.axis[1], pairs = (size_t)t->shape.axis[2];
    for (size_t n = 0; n < rt_shape_size(t->shape); n++) {
        const json_t *layer = json_array_get(list, n / pairs / rows);
        const json_t *row = json_array_get(layer, n / pairs % rows);
        const json_t *number = json_array_get(row, n % pairs);
        t->own[n] = json_number_value(number);
        if (json_array_size(layer) != rows || json_array_size(row) != pairs ||
            !json_is_number(number) || (t->form == RT_THETA_LOG && !(t->own[n] > 0)))
            return false;
    }
    return true;
}

void rt_huggingface_read_theta(rt_reading *r, const rt_transformer_options *o, rt_folder_theta *t)
{
    const json_t *json = rt_reading_find(r, RT_HF_THETA);
    const json_t *list = json_object_get(json, "theta"), *base = json_object_get(json, "base");
    const json_t *local_base = json_object_get(json, "local_base");
    const int scope = rt_word_index(scope_words, json_string_value(json_object_get(json, "scope")));
    const int form = rt_word_index(form_words, json_string_value(json_object_get(json, "form")));
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
    *t = (rt_folder_theta){.shape = rt_transformer_theta_shape(&learning),
                           .scope = (rt_theta_scope)scope,
                           .form = (rt_theta_form)form,
                           .base = json_number_value(base),
                           .local_base = json_number_value(local_base)};
    const int layers = t->shape.axis[0];
    t->shape.axis[2] = (int)pairs;
    if (json_array_size(list) == (size_t)layers)
        t->own = rt_alloc(rt_shape_size(t->shape), sizeof *t->own);
    else
        rt_reading_refuse(r, RT_HF_THETA " must have a list for each of %d layers", layers);
    if (!r->status.code && !t->own)
        r->status = rt_out_of_memory("theta");
    else if (!r->status.code && !read_numbers(list, t))
        rt_reading_refuse(r,
                          RT_HF_THETA " must have %d layers of %d heads of %d numbers, which are "
                                      "above 0 if their form is log",
                          layers, t->shape.axis[1], t->shape.axis[2]);
}

/* Keeps the factor of cosines and sines of the frequencies that were made from rotor_theta. */
void rt_huggingface_choose_theta(rt_huggingface *there, bool fits, const char *other,
                                 const char *used)
{
    rt_folder_theta *t = &there->files->written;
    rt_transformer_options *o = &there->options;
    rt_frequency_options *f = &o->position.frequencies;
    const double magnitude = rt_frequencies_magnitude(f);
    if (t->own && !fits)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": " RT_HF_THETA " does not match %s; rotor uses %s\n", other,
                      used);
    if (!t->own || !fits)
        return;
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
    o->position.fraction = (double)t->shape.axis[2] / (rt_transformer_head_dim(o) / 2);
    there->theta = t->own;
    t->own = NULL;
}

void rt_put_theta(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    const int *axis = w->theta->shape.axis;
    json_t *made = json_object(), *layers = json_array();
    for (int l = 0; l < axis[0]; l++) {
        json_t *heads = json_array();
        for (int row = l * axis[1]; row < (l + 1) * axis[1]; row++)
            rt_json_append(&heads, rt_json_numbers(w->theta->own + row * axis[2], axis[2]));
        rt_json_append(&layers, heads);
    }
    rt_json_put(&made, "base", rt_json_number(o->position.frequencies.base));
    if (o->position.local_base > 0)
        rt_json_put(&made, "local_base", rt_json_number(o->position.local_base));
    rt_json_put(&made, "form", json_string(form_words[o->theta.form]));
    rt_json_put(&made, "scope", json_string(scope_words[o->theta.scope]));
    rt_json_put(&made, "theta", layers);
    rt_json_put(&w->object, RT_HF_THETA, made);
}

/* ---- rope_parameters: reading ---- */

/* Types of transformers in the order of rt_scaling; ntk is written as another base. */
static const char *const scaling_types[] = {"default", "linear",   "default", "yarn",
                                            "dynamic", "longrope", "llama3",  NULL};

/* Types of layers, which have their own parameters in families whose layers differ. */
static const char *const layer_types[] = {"full_attention", "sliding_attention"};
enum { FULL = RT_THETA_OF_FULL, SLIDING = RT_THETA_OF_SLIDING };

static rt_factors read_factors(rt_reading *p, const char *key, int pairs)
{
    const json_t *list = rt_reading_find(p, key);
    double factors[RT_MOST_FACTORS];
    bool good = pairs <= RT_MOST_FACTORS && json_array_size(list) == (size_t)pairs;
    for (int i = 0; good && i < pairs; i++) {
        const json_t *number = json_array_get(list, (size_t)i);
        factors[i] = json_number_value(number);
        good = json_is_number(number) && fabs(factors[i]) > 0 && isfinite(factors[i]);
    }
    if (!good)
        rt_reading_refuse(p,
                          "%s must have a number for each of the %d pairs of a head, none of "
                          "them 0, and there can be %d",
                          key, pairs, RT_MOST_FACTORS);
    const rt_factors all = {good ? pairs : 0,
                            good ? rt_intern(factors, (size_t)pairs * sizeof *factors) : NULL};
    if (all.count && !all.at)
        p->status = rt_out_of_memory("factors of theta");
    return all;
}

/* Reads a scaling. The model's key for the length before it overrides the scaling's. The factor of
 * cosines and sines has a key and, for yarn, two more. */
static void read_scaling(rt_reading *r, rt_reading *p, rt_frequency_options *o, int pairs,
                         int max_positions)
{
    static const char key[] = "original_max_position_embeddings";
    const bool yarn = o->scaling == RT_SCALING_YARN;
    const bool implied = yarn || o->scaling == RT_SCALING_LONGROPE;
    if (o->scaling == RT_SCALING_DYNAMIC)
        o->original_len = max_positions;
    else if (o->scaling != RT_SCALING_LINEAR)
        o->original_len = rt_reading_size(r, key, rt_reading_size(p, key, max_positions));
    if (o->original_len > RT_MOST_SIZE)
        rt_reading_refuse(r, "max_position_embeddings = %d: a scaling of rotor is of %d at most",
                          max_positions, RT_MOST_SIZE);
    if (!implied && !rt_reading_find(p, "factor"))
        rt_reading_refuse(p, "factor is missing");
    o->scale =
        rt_reading_above_0(p, "factor", implied ? (double)max_positions / o->original_len : 1);
    if (o->scaling == RT_SCALING_LONGROPE) {
        o->scale = fmax(o->scale, 1);
        o->short_factors = read_factors(p, "short_factor", pairs);
        o->long_factors = read_factors(p, "long_factor", pairs);
    }
    if (!(o->scale >= 1))
        rt_reading_refuse(p, "factor must be at least 1; got %g", o->scale);
    if (yarn && !rt_reading_flag(p, "truncate", true))
        rt_reading_refuse(p, "truncate = false: yarn of rotor rounds the ends of its ramp");
    if (implied) {
        const double over = rt_reading_above_0(p, "mscale", 0);
        const double under = rt_reading_above_0(p, "mscale_all_dim", 0);
        o->attention_factor = rt_reading_above_0(p, "attention_factor", 0);
        if (yarn && !(o->attention_factor > 0) && over > 0 && under > 0 && o->scale > 1)
            o->attention_factor =
                (0.1 * over * log(o->scale) + 1) / (0.1 * under * log(o->scale) + 1);
    }
    o->beta_fast = rt_reading_above_0(p, "beta_fast", o->beta_fast);
    o->beta_slow = rt_reading_above_0(p, "beta_slow", o->beta_slow);
    o->low_freq_factor = rt_reading_above_0(p, "low_freq_factor", o->low_freq_factor);
    o->high_freq_factor = rt_reading_above_0(p, "high_freq_factor", o->high_freq_factor);
}

/* Reads the fraction of the features of a head that are rotated: whole pairs. */
static double read_fraction(rt_reading *r, rt_reading *p, const rt_rope_rules *rules,
                            const rt_huggingface *there)
{
    static const char key[] = "partial_rotary_factor";
    const int size = rt_transformer_head_dim(&there->options);
    const char *old = rules->old_fraction ? rules->old_fraction : key;
    const double whole = rules->fraction > 0 ? rules->fraction : 1;
    rt_reading *at = rt_reading_find(p, key) || !rt_reading_find(r, old) ? p : r;
    const double fraction = rt_reading_above_0(p, key, rt_reading_above_0(r, old, whole));
    const int rotated = fraction <= 1 ? (int)(fraction * size) : size + 1;
    if (!(rules->fraction > 0) && fraction != 1)
        rt_reading_refuse(at, "%s must be 1: a %s rotates all features of a head",
                          at == p ? key : old, there->files->family->name);
    else if (fraction != 1 && (rotated % 2 || rotated < 2 || rotated > size))
        rt_reading_refuse(at,
                          "%s = %g of heads of %d features: rotor rotates whole pairs, from one to "
                          "all of a head",
                          at == p ? key : old, fraction, size);
    return (double)rotated / size;
}

/* Reads the frequencies of one object, in older folders partly by keys outside; `within` is the
 * prefix of its keys in messages. */
static rt_frequency_options read_one(rt_reading *r, const json_t *parameters, const char *within,
                                     const rt_rope_rules *rules, rt_huggingface *there)
{
    static const char key[] = "rope_theta";
    rt_frequency_options o = {RT_FREQUENCY_DEFAULTS};
    rt_reading p = {.json = parameters, .within = within, .status = r->status};
    const char *type_key = rt_reading_find(&p, "rope_type") ? "rope_type" : "type";
    const char *type = rt_reading_find(&p, type_key) ? rt_reading_word(&p, type_key) : "default";
    const int scaling = rt_word_index(scaling_types, type);
    if (scaling >= 0)
        o.scaling = (rt_scaling)scaling;
    else
        rt_reading_refuse(&p,
                          "%s must be default, linear, dynamic, yarn, longrope or llama3: rotor "
                          "reads no other; got %s",
                          type_key, RT_QUOTED(type));
    const double initial = rules->base > 0 ? rules->base : 10000;
    const char *old_base = rules->old_base ? rules->old_base : key;
    o.base = rt_reading_above_0(&p, key, rt_reading_above_0(r, old_base, initial));
    if (!(o.base > 1))
        rt_reading_refuse(&p, "%s must be above 1; got %g", key, o.base);
    there->options.position.fraction = read_fraction(r, &p, rules, there);
    if (o.scaling != RT_SCALING_NONE && !p.status.code && !r->status.code)
        read_scaling(r, &p, &o, rt_transformer_pairs(&there->options), there->max_positions);
    if (!r->status.code)
        r->status = p.status;
    return o;
}

/* Reads the frequencies of a type of layers. rope_scaling overrides them for both types. In a
 * folder without rope_parameters, rope_type is default, and `type` of rope_scaling is ignored. */
static rt_frequency_options read_of_type(rt_reading *r, rt_huggingface *there, int type,
                                         const rt_rope_rules *rules)
{
    const json_t *both = rt_reading_find(r, "rope_parameters"),
                 *scaling = rt_reading_find(r, "rope_scaling");
    json_auto_t *all = json_object();
    json_t *own = json_object_get(both, layer_types[type]);
    const bool made = all &&
                      (both || !json_object_set_new(all, "rope_type", json_string("default"))) &&
                      (!json_is_object(own) || !json_object_update(all, own)) &&
                      (!json_is_object(scaling) || !json_object_update(all, (json_t *)scaling));
    if ((both && !json_is_object(both)) || json_object_get(both, "rope_theta"))
        rt_reading_refuse(r, "rope_parameters must be an object with full_attention and "
                             "sliding_attention");
    if (!made)
        r->status = rt_out_of_memory("rope_parameters");
    return read_one(r, all, RT_PRINTED(48, "rope_parameters.%s.", layer_types[type]), rules, there);
}

/* Reads the frequencies of both types of layers, which have one base if all have a window, or none.
 * In families with one type, reads rope_scaling if it is not empty, else rope_parameters. */
void rt_rope_parameters_read(rt_reading *r, rt_huggingface *there)
{
    const rt_rope_rules *rules = &there->files->family->rope;
    rt_transformer_options *o = &there->options;
    const char *key =
        json_object_size(rt_reading_find(r, "rope_scaling")) ? "rope_scaling" : "rope_parameters";
    const json_t *parameters = rt_reading_find(r, key);
    if (rules->sliding) {
        const rt_frequency_options full = read_of_type(r, there, FULL, rules);
        const rt_frequency_options sliding = read_of_type(r, there, SLIDING, rules->sliding);
        const bool all_slide = o->window && !o->layer_types.count;
        there->files->sliding = o->window ? sliding : full;
        o->position.frequencies = all_slide ? sliding : full;
        if (o->window && !all_slide && sliding.base != full.base)
            o->position.local_base = sliding.base;
        return;
    }
    if (parameters && !json_is_object(parameters))
        rt_reading_refuse(r, "%s must be an object", key);
    if (json_object_get(parameters, layer_types[FULL]) ||
        json_object_get(parameters, layer_types[SLIDING]))
        rt_reading_refuse(r, "%s must be one for all layers", key);
    o->position.frequencies = read_one(r, parameters, RT_PRINTED(32, "%s.", key), rules, there);
}

bool rt_theta_is_near(const double *theta, const double *table, int pairs)
{
    for (int i = 0; i < pairs; i++)
        if (!(fabs(theta[i] - table[i]) <= 1e-6 * fabs(theta[i]) + 1e-30))
            return false;
    return true;
}

/* Returns whether two frequencies differ at most in their base. Lists are interned,
 * so equal lists have equal addresses. `family` and the bases are not compared. */
static bool has_same_scaling(const rt_frequency_options *a, const rt_frequency_options *b)
{
    return a->scaling == b->scaling && a->scale == b->scale && a->original_len == b->original_len &&
           a->beta_fast == b->beta_fast && a->beta_slow == b->beta_slow &&
           a->low_freq_factor == b->low_freq_factor && a->high_freq_factor == b->high_freq_factor &&
           a->attention_factor == b->attention_factor &&
           a->short_factors.at == b->short_factors.at && a->long_factors.at == b->long_factors.at;
}

rt_status rt_rope_parameters_resolve(rt_huggingface *there)
{
    const rt_folder_theta *t = &there->files->written;
    const rt_transformer_options *o = &there->options;
    const rt_frequency_options full = o->position.frequencies, *sliding = &there->files->sliding;
    const int pairs = rt_family_pairs(there->files->family, o);
    const bool both = there->files->family->rope.sliding, types = both && o->window;
    RT_OWNED double *mean = t->own ? rt_alloc(2 * (size_t)pairs, sizeof *mean) : NULL;
    bool fits = t->own && t->shape.axis[2] <= pairs;
    if (t->own && !mean)
        return rt_out_of_memory("theta");
    for (int type = FULL; mean && type <= (types ? SLIDING : FULL); type++) {
        rt_folder_theta_mean(t, o, types ? (rt_theta_layers)type : RT_THETA_OF_ALL, pairs, mean);
        rt_frequencies(mean + pairs, pairs, type == SLIDING ? sliding : &full);
        fits &= rt_theta_is_near(mean, mean + pairs, pairs);
    }
    rt_huggingface_choose_theta(there, fits, "rope_parameters", "rope_parameters");
    if (both && !fits && !has_same_scaling(&full, sliding))
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": rope_parameters: full_attention and sliding_attention "
                                     "must have one scaling: rotor has one for all layers");
    return rt_ok();
}

/* ---- rope_parameters: writing ---- */

/* Returns whether theta must be listed pair by pair: it is learned, or no scaling expresses it. */
static bool lists_theta(const rt_family *family, const rt_transformer_options *o)
{
    return o->theta.learn || rt_transformer_pairs(o) < rt_family_pairs(family, o) ||
           o->position.frequencies.family != RT_FREQUENCIES_GEOMETRIC;
}

rt_status rt_rope_parameters_check(const rt_family *family, const rt_transformer_options *o)
{
    const rt_scaling scaling = o->position.frequencies.scaling;
    const int pairs = rt_family_pairs(family, o);
    if (!lists_theta(family, o))
        return rt_ok();
    if (scaling == RT_SCALING_DYNAMIC || scaling == RT_SCALING_LONGROPE)
        return rt_cannot_export(family, "position.scaling", o,
                                "it for all of a head and frequencies that are geometric");
    if (pairs > RT_MOST_FACTORS)
        return rt_error(RT_CONFIG,
                        "theta of heads of %d cannot be exported: they must be listed, which "
                        "rotor does for %d at most",
                        2 * pairs, 2 * RT_MOST_FACTORS);
    return rt_ok();
}

/* Creates a factor for each pair: base^(-2i/D) / theta; of a theta of almost 0 it is 1e38. */
static json_t *own_factors(double base, const double *theta, int pairs)
{
    const double nothing = 1e38;
    double factors[RT_MOST_FACTORS];
    for (int i = 0; i < pairs; i++) {
        const double geometric = pow(base, -(double)i / pairs);
        factors[i] = fabs(theta[i]) * nothing > geometric ? geometric / theta[i] : nothing;
    }
    return rt_json_numbers(factors, pairs);
}

/* Writes all members but type and base, with json_real for numbers that Python reads as floats:
 * theta as one list for texts of any length, or the scaling if it is NULL. Returns the
 * max_position_embeddings that transformers needs with them. */
static int put_scaling(json_t **p, const rt_frequency_options *f, const double *theta, int pairs,
                       int positions)
{
    const rt_scaling scaling = theta ? RT_SCALING_LONGROPE : f->scaling;
    const bool lists = scaling == RT_SCALING_LONGROPE, yarn = scaling == RT_SCALING_YARN;
    const double magnitude = rt_frequencies_magnitude(f), stretched = f->scale * f->original_len;
    if (scaling == RT_SCALING_NONE || scaling == RT_SCALING_NTK)
        return positions;
    rt_json_put(p, "factor", json_real(theta ? 1 : f->scale));
    if (lists || yarn || scaling == RT_SCALING_LLAMA3)
        rt_json_put(p, "original_max_position_embeddings",
                    json_integer(theta ? positions : f->original_len));
    if (yarn) {
        rt_json_put(p, "beta_fast", json_real(f->beta_fast > 0 ? f->beta_fast : 32));
        rt_json_put(p, "beta_slow", json_real(f->beta_slow > 0 ? f->beta_slow : 1));
    }
    if (scaling == RT_SCALING_LLAMA3) {
        rt_json_put(p, "low_freq_factor",
                    json_real(f->low_freq_factor > 0 ? f->low_freq_factor : 1));
        rt_json_put(p, "high_freq_factor",
                    json_real(f->high_freq_factor > 0 ? f->high_freq_factor : 4));
    }
    for (int i = 0; i < 2 && lists; i++) {
        const rt_factors *factors = i ? &f->long_factors : &f->short_factors;
        rt_json_put(p, i ? "long_factor" : "short_factor",
                    theta ? own_factors(f->base, theta, pairs)
                          : rt_json_numbers(factors->at, factors->count));
    }
    if (yarn || (lists && (!theta || magnitude != 1)))
        rt_json_put(p, "attention_factor", json_real(magnitude));
    /* transformers warns unless this is the original length times the factor */
    if (yarn)
        return stretched < RT_MOST_SIZE && stretched == floor(stretched) ? (int)stretched
                                                                         : f->original_len;
    if (scaling == RT_SCALING_LLAMA3)
        return positions > f->original_len ? positions : f->original_len + 1;
    return scaling == RT_SCALING_DYNAMIC ? f->original_len : positions;
}

/* Returns the base in transformers, where the scaling ntk is another base. */
static double base_of(const rt_config_writing *w, const rt_frequency_options *f)
{
    const int pairs = w->theta->pairs;
    if (lists_theta(w->family, w->options) || f->scaling != RT_SCALING_NTK)
        return f->base;
    return f->base * pow(f->scale, pairs / (pairs - 1.0));
}

/* Returns the share of a head's features that rotates. transformers takes the integer part of its
 * product with the number of features. */
static double fraction_of(const rt_transformer_options *o)
{
    const int features = rt_transformer_head_dim(o), rotated = 2 * rt_transformer_pairs(o);
    const double fraction = (double)rotated / features;
    return (int)(fraction * features) < rotated ? nextafter(fraction, 2) : fraction;
}

/* Writes one object of frequencies or, if theta must be listed, of mean theta. Returns the
 * max_position_embeddings that transformers needs with it. */
static int put_one(rt_config_writing *w, json_t **to, const char *key,
                   const rt_frequency_options *f, const double *mean)
{
    const bool lists = lists_theta(w->family, w->options);
    json_t *p = json_object();
    const int length =
        put_scaling(&p, f, lists ? mean : NULL, w->theta->pairs, w->export->positions);
    rt_json_put(&p, "rope_type", json_string(lists ? "longrope" : scaling_types[f->scaling]));
    rt_json_put(&p, "rope_theta", rt_json_number(base_of(w, f)));
    if (w->family->rope.fraction > 0)
        rt_json_put(&p, "partial_rotary_factor", json_real(fraction_of(w->options)));
    rt_json_put(to, key, p);
    return length;
}

/* Writes one object for each type of layers, or one for all layers and the keys of transformers
 * before version 5. */
void rt_rope_parameters_put(rt_config_writing *w)
{
    const rt_rope_rules *rules = &w->family->rope;
    const rt_transformer_options *o = w->options;
    const rt_frequency_options *f = &o->position.frequencies;
    int positions = 0;
    if (rules->sliding) {
        RT_OWNED double *mean = rt_alloc((size_t)w->theta->pairs + 1, sizeof *mean);
        json_t *both = mean ? json_object() : NULL; /* NULL: the export fails */
        rt_frequency_options of_sliding = *f;
        if (o->position.local_base > 0)
            of_sliding.base = o->position.local_base;
        for (int type = FULL; type <= SLIDING && mean; type++) {
            rt_folder_theta_mean(w->theta, o, (rt_theta_layers)type, w->theta->pairs, mean);
            positions =
                put_one(w, &both, layer_types[type], type == SLIDING ? &of_sliding : f, mean);
        }
        rt_json_put(&w->object, "rope_parameters", both);
        rt_json_put(&w->object, rules->old_base, rt_json_number(base_of(w, f)));
        rt_json_put(&w->object, rules->sliding->old_base, rt_json_number(base_of(w, &of_sliding)));
    } else {
        rt_json_put(&w->object, rules->old_base ? rules->old_base : "rope_theta",
                    rt_json_number(base_of(w, f)));
        if (rules->fraction > 0)
            rt_json_put(&w->object,
                        rules->old_fraction ? rules->old_fraction : "partial_rotary_factor",
                        json_real(fraction_of(o)));
        if (lists_theta(w->family, o) || strcmp(scaling_types[f->scaling], "default") != 0)
            put_one(w, &w->object, "rope_scaling", f, w->theta->mean);
        positions = put_one(w, &w->object, "rope_parameters", f, w->theta->mean);
    }
    rt_json_put(&w->object, "max_position_embeddings", json_integer(positions));
}
