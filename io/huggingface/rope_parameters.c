/* The theta of a folder whose config.json has them: rope_parameters, read and written, and
 * rotor_theta. */

#include "io/huggingface/private.h"

#include "core/memory.h"
#include "text/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* rope_parameters, or rope_scaling, which comes first where it is not empty; NULL if there is
 * neither. */
static const json_t *find_parameters(rt_reading *r, const char **key)
{
    *key =
        json_object_size(rt_reading_find(r, "rope_scaling")) ? "rope_scaling" : "rope_parameters";
    const json_t *found = rt_reading_find(r, *key);
    if (found && !json_is_object(found))
        rt_reading_refuse(r, "%s must be an object", *key);
    return found;
}

static rt_scaling read_type(rt_reading *p)
{
    static const char *const names[] = {"default", "linear",   NULL,    "yarn",
                                        "dynamic", "longrope", "llama3"};
    const char *key = rt_reading_find(p, "rope_type") ? "rope_type" : "type";
    const char *type = rt_reading_find(p, key) ? rt_reading_word(p, key) : "default";
    char quoted[RT_QUOTE_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && !strcmp(type, names[i]))
            return (rt_scaling)i;
    rt_reading_refuse(p,
                      "%s must be default, linear, dynamic, yarn, longrope or llama3: rotor reads "
                      "no other; got %s",
                      key, rt_quote(quoted, type));
    return RT_SCALING_NONE;
}

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

/* Reads the factor of cosines and sines of yarn and longrope; yarn has two more keys for it. */
static double read_magnitude(rt_reading *p, rt_scaling scaling, double scale)
{
    const double over = rt_reading_above_0(p, "mscale", 0);
    const double under = rt_reading_above_0(p, "mscale_all_dim", 0);
    const double given = rt_reading_above_0(p, "attention_factor", 0);
    if (given > 0 || scaling != RT_SCALING_YARN || !(over > 0) || !(under > 0) || !(scale > 1))
        return given;
    return (0.1 * over * log(scale) + 1) / (0.1 * under * log(scale) + 1);
}

/* The length before the scaling, if it matters: a key of the model counts before that of the
 * scaling. */
static int read_original(rt_reading *r, rt_reading *p, rt_scaling scaling, int max_positions)
{
    static const char key[] = "original_max_position_embeddings";
    if (scaling == RT_SCALING_LINEAR)
        return 0;
    const int original = scaling == RT_SCALING_DYNAMIC
                             ? max_positions
                             : rt_reading_size(r, key, rt_reading_size(p, key, max_positions));
    if (original > RT_MOST_SIZE)
        rt_reading_refuse(r, "max_position_embeddings = %d: a scaling of rotor is of %d at most",
                          max_positions, RT_MOST_SIZE);
    return original;
}

static void read_scaling(rt_reading *r, rt_reading *p, rt_frequency_options *o, int pairs,
                         int max_positions)
{
    o->original_len = read_original(r, p, o->scaling, max_positions);
    const bool implied = o->scaling == RT_SCALING_YARN || o->scaling == RT_SCALING_LONGROPE;
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
    if (o->scaling == RT_SCALING_YARN && !rt_reading_flag(p, "truncate", true))
        rt_reading_refuse(p, "truncate = false: yarn of rotor rounds the ends of its ramp");
    if (implied)
        o->attention_factor = read_magnitude(p, o->scaling, o->scale);
    o->beta_fast = rt_reading_above_0(p, "beta_fast", o->beta_fast);
    o->beta_slow = rt_reading_above_0(p, "beta_slow", o->beta_slow);
    o->low_freq_factor = rt_reading_above_0(p, "low_freq_factor", o->low_freq_factor);
    o->high_freq_factor = rt_reading_above_0(p, "high_freq_factor", o->high_freq_factor);
}

static const char *or_else(const char *name, const char *otherwise)
{
    return name ? name : otherwise;
}

/* A key that counts in the scaling, and outside, where older folders have it. */
static double read_both(rt_reading *r, rt_reading *p, const char *key, const char *old,
                        double initial)
{
    return rt_reading_above_0(p, key, rt_reading_above_0(r, or_else(old, key), initial));
}

static double read_base(rt_reading *r, rt_reading *p, const rt_rope_rules *rules)
{
    const double initial = rules->base > 0 ? rules->base : 10000;
    const double base = read_both(r, p, "rope_theta", rules->old_base, initial);
    if (!(base > 1))
        rt_reading_refuse(p, "rope_theta must be above 1; got %g", base);
    return base;
}

/* The features of a head that are rotated, as a share of all: whole pairs. */
static double read_fraction(rt_reading *r, rt_reading *p, const rt_rope_rules *rules,
                            const rt_huggingface *there)
{
    static const char key[] = "partial_rotary_factor";
    const int size = rt_transformer_head_dim(&there->options);
    const char *old = or_else(rules->old_fraction, key);
    const double whole = rules->fraction > 0 ? rules->fraction : 1;
    rt_reading *at = rt_reading_find(p, key) || !rt_reading_find(r, old) ? p : r;
    const double fraction = read_both(r, p, key, rules->old_fraction, whole);
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

rt_frequency_options rt_rope_parameters_read_one(rt_reading *r, const json_t *parameters,
                                                 const char *within, const rt_rope_rules *rules,
                                                 rt_huggingface *there)
{
    rt_frequency_options o = {RT_FREQUENCY_DEFAULTS};
    rt_reading p = {.json = parameters, .within = within, .status = r->status};
    o.scaling = read_type(&p);
    o.base = read_base(r, &p, rules);
    there->options.position.fraction = read_fraction(r, &p, rules, there);
    if (o.scaling != RT_SCALING_NONE && !p.status.code && !r->status.code)
        read_scaling(r, &p, &o, rt_transformer_pairs(&there->options), there->max_positions);
    if (!r->status.code)
        r->status = p.status;
    return o;
}

void rt_rope_parameters_read(rt_reading *r, rt_huggingface *there)
{
    const char *key;
    char within[32];
    const json_t *parameters = find_parameters(r, &key);
    snprintf(within, sizeof within, "%s.", key);
    if (json_object_get(parameters, "full_attention") ||
        json_object_get(parameters, "sliding_attention"))
        rt_reading_refuse(r, "%s must be one for all layers", key);
    there->options.position.frequencies =
        rt_rope_parameters_read_one(r, parameters, within, &there->files->family->rope, there);
}

/* Returns whether theta is the theta of transformers, to the precision of its floats. */
bool rt_theta_is_near(const double *theta, const double *table, int pairs)
{
    for (int i = 0; i < pairs; i++)
        if (!(fabs(theta[i] - table[i]) <= 1e-6 * fabs(theta[i]) + 1e-30))
            return false;
    return true;
}

rt_status rt_rope_parameters_settle(rt_huggingface *there)
{
    const rt_written_theta *t = &there->files->written;
    const rt_transformer_options *o = &there->options;
    const int pairs = rt_family_pairs(there->files->family, o);
    if (!t->values)
        return rt_ok();
    double *mean = rt_alloc(2 * (size_t)pairs, sizeof *mean);
    if (!mean)
        return rt_out_of_memory("theta");
    rt_mean_theta(t->values, RT_SHAPE_OF(t->layers, t->rows, t->pairs), pairs, mean);
    rt_frequencies(mean + pairs, pairs, &o->position.frequencies);
    const bool fits = t->pairs <= pairs && rt_theta_is_near(mean, mean + pairs, pairs);
    rt_huggingface_choose_theta(there, fits, "rope_parameters", "rope_parameters");
    rt_free(mean);
    return rt_ok();
}

/* ---- writing ---- */

/* Returns whether theta must be written number by number: it is learned, or no scaling has it. */
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

/* A factor for each pair of base^(-2i/D) / factor = theta. There is none for a theta of 0, which
 * is taken for one that turns by nothing a float can hold. */
static json_t *own_factors(double base, const rt_export_theta *theta)
{
    const double nothing = 1e38;
    double factors[RT_MOST_FACTORS];
    for (int i = 0; i < theta->pairs; i++) {
        const double geometric = pow(base, -(double)i / theta->pairs);
        factors[i] =
            fabs(theta->mean[i]) * nothing > geometric ? geometric / theta->mean[i] : nothing;
    }
    return rt_json_numbers(factors, theta->pairs);
}

/* A number that Python reads as a float. */
static void put_float(rt_json_object *p, const char *key, double value)
{
    rt_json_put(p, key, json_real(value));
}

static void put_original(rt_json_object *p, int length)
{
    rt_json_put(p, "original_max_position_embeddings", json_integer(length));
}

/* All theta in one list, for texts of any length. */
static int put_list(rt_json_object *p, const rt_frequency_options *f, const rt_export_theta *theta,
                    int positions)
{
    const double magnitude = rt_frequencies_magnitude(f);
    put_float(p, "factor", 1);
    put_original(p, positions);
    rt_json_put(p, "short_factor", own_factors(f->base, theta));
    rt_json_put(p, "long_factor", own_factors(f->base, theta));
    if (magnitude != 1)
        put_float(p, "attention_factor", magnitude);
    return positions;
}

static int put_yarn(rt_json_object *p, const rt_frequency_options *f)
{
    const double stretched = f->scale * f->original_len;
    put_float(p, "factor", f->scale);
    put_original(p, f->original_len);
    put_float(p, "beta_fast", f->beta_fast > 0 ? f->beta_fast : 32);
    put_float(p, "beta_slow", f->beta_slow > 0 ? f->beta_slow : 1);
    put_float(p, "attention_factor", rt_frequencies_magnitude(f));
    /* transformers warn of any other length that the original times the factor */
    return stretched < RT_MOST_SIZE && stretched == floor(stretched) ? (int)stretched
                                                                     : f->original_len;
}

static int put_longrope(rt_json_object *p, const rt_frequency_options *f, int positions)
{
    put_float(p, "factor", f->scale);
    put_original(p, f->original_len);
    rt_json_put(p, "short_factor", rt_json_numbers(f->short_factors.at, f->short_factors.count));
    rt_json_put(p, "long_factor", rt_json_numbers(f->long_factors.at, f->long_factors.count));
    put_float(p, "attention_factor", rt_frequencies_magnitude(f));
    return positions;
}

static int put_llama3(rt_json_object *p, const rt_frequency_options *f, int positions)
{
    put_float(p, "factor", f->scale);
    put_original(p, f->original_len);
    put_float(p, "low_freq_factor", f->low_freq_factor > 0 ? f->low_freq_factor : 1);
    put_float(p, "high_freq_factor", f->high_freq_factor > 0 ? f->high_freq_factor : 4);
    return positions > f->original_len ? positions : f->original_len + 1;
}

/* All but the last members, type and base. */
static int put_scaling(rt_json_object *p, const rt_frequency_options *f, int positions)
{
    switch (f->scaling) {
    case RT_SCALING_YARN:
        return put_yarn(p, f);
    case RT_SCALING_LONGROPE:
        return put_longrope(p, f, positions);
    case RT_SCALING_LLAMA3:
        return put_llama3(p, f, positions);
    case RT_SCALING_LINEAR:
        put_float(p, "factor", f->scale);
        return positions;
    case RT_SCALING_DYNAMIC:
        put_float(p, "factor", f->scale);
        return f->original_len;
    default:
        return positions;
    }
}

/* The scaling ntk is another base, once and for all. */
double rt_rope_parameters_base(const rt_config_writing *w, const rt_frequency_options *f)
{
    const int pairs = w->theta->pairs;
    if (lists_theta(w->family, w->options) || f->scaling != RT_SCALING_NTK)
        return f->base;
    return f->base * pow(f->scale, pairs / (pairs - 1.0));
}

int rt_rope_parameters_put_one(rt_config_writing *w, rt_json_object *to, const char *key,
                               const rt_frequency_options *f, const rt_export_theta *theta)
{
    static const char *const types[] = {"default", "linear",   "default", "yarn",
                                        "dynamic", "longrope", "llama3"};
    const bool lists = lists_theta(w->family, w->options);
    const int positions = w->export->length;
    rt_json_object p = rt_json_object_new();
    const int length = lists ? put_list(&p, f, theta, positions) : put_scaling(&p, f, positions);
    rt_json_put(&p, "rope_type", json_string(lists ? "longrope" : types[f->scaling]));
    rt_json_put(&p, "rope_theta", rt_json_number(rt_rope_parameters_base(w, f)));
    if (w->family->rope.fraction > 0)
        put_float(&p, "partial_rotary_factor", w->options->position.fraction);
    rt_json_put_object(to, key, &p);
    return length;
}

static int put_parameters(rt_config_writing *w, const char *key)
{
    return rt_rope_parameters_put_one(w, &w->object, key, &w->options->position.frequencies,
                                      w->theta);
}

/* Before version 5, transformers looked for them, and for rope_scaling, outside. */
static void put_old_parameters(rt_config_writing *w)
{
    const rt_rope_rules *rules = &w->family->rope;
    const rt_transformer_options *o = w->options;
    const rt_scaling scaling = o->position.frequencies.scaling;
    rt_json_put(&w->object, or_else(rules->old_base, "rope_theta"),
                rt_json_number(rt_rope_parameters_base(w, &o->position.frequencies)));
    if (rules->fraction > 0)
        put_float(&w->object, or_else(rules->old_fraction, "partial_rotary_factor"),
                  o->position.fraction);
    if (lists_theta(w->family, o) || (scaling != RT_SCALING_NONE && scaling != RT_SCALING_NTK))
        put_parameters(w, "rope_scaling");
}

void rt_rope_parameters_put(rt_config_writing *w)
{
    put_old_parameters(w);
    const int positions = put_parameters(w, "rope_parameters");
    rt_json_put(&w->object, "max_position_embeddings", json_integer(positions));
}

/* ---- the model card ---- */

const char rt_rope_parameters_shared[] =
    "`rope_parameters` in config.json has it as factors of longrope, so transformers rotates by "
    "it, to the precision of a float, without any code.";
const char rt_rope_parameters_mean[] =
    "transformers has one theta for all: `rope_parameters` in config.json is made of the mean, and "
    "is not what the model was trained with.";
