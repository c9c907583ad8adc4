/* RoPE (Su et al. 2021): theta, learned or fixed, and the rotation of queries and keys by their
 * position times theta. */

#include "core/memory.h"
#include "core/random.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int rt_transformer_pairs(const rt_transformer_options *o)
{
    int most = 0;
    for (int l = 0; l < o->layers || !l; l++) {
        const int pairs = rt_layer_row_of(o, l).has_positions ? rt_layer_pairs(o, l) : 0;
        most = pairs > most ? pairs : most;
    }
    return most;
}

int rt_layer_pairs(const rt_transformer_options *o, int l)
{
    const rt_encoding *encoding = rt_encoding_of(o);
    return encoding->pairs && o->heads > 0 ? encoding->pairs(o, l) : 0;
}

static int rope_pairs(const rt_transformer_options *o, int layer)
{
    return (int)lround(rt_layer_row_of(o, layer).fraction * rt_transformer_head_dim(o) / 2);
}

/* Returns the number of rows of theta in a layer. */
static int rows_of(const rt_transformer_options *o)
{
    return o->theta.scope == RT_THETA_HEAD ? o->kv_heads : 1;
}

const char *rt_transformer_theta_name(char name[RT_NAME_SIZE], int layer)
{
    snprintf(name, RT_NAME_SIZE, layer < 0 ? "theta" : "layers.%d.attention.theta", layer);
    return name;
}

int rt_transformer_theta_axes(const rt_transformer_options *o)
{
    return o->position.axes > 1 && o->position.mixing == RT_MIXED ? 2 : 1;
}

/* Adds a learned theta for a layer, or for the model (-1). Returns NULL if theta is fixed or has
 * the other scope. */
static rt_tensor *add_theta(rt_transformer *m, int layer)
{
    const rt_transformer_options *o = &m->options;
    const int pairs = rt_transformer_pairs(o);
    if (!o->theta.learn || (o->theta.scope == RT_THETA_MODEL) != (layer < 0))
        return NULL;
    rt_shape shape =
        o->theta.scope == RT_THETA_HEAD ? RT_SHAPE_OF(rows_of(o), pairs) : RT_SHAPE_OF(pairs);
    if (rt_transformer_theta_axes(o) > 1)
        shape = RT_SHAPE_OF(rows_of(o), 2, pairs);
    return rt_parameters_add(&m->parameters, RT_ROLE_THETA, RT_INIT_GIVEN, shape, "%s",
                             RT_THETA_NAME(layer));
}

static rt_tensor *parameter_of(const rt_transformer *m, int layer)
{
    return m->encoding.weight ? m->encoding.weight : m->layers[layer].encoding;
}

int rt_layer_number(const rt_transformer_options *o, int l)
{
    int number = 0;
    for (int before = 0; before < l; before++)
        number += rt_layer_row_of(o, before).has_positions;
    return number;
}

rt_shape rt_transformer_rotation_shape(const rt_transformer_options *o)
{
    return RT_SHAPE_OF(rt_layer_number(o, o->layers), o->kv_heads,
                       rt_transformer_theta_axes(o) * rt_transformer_pairs(o));
}

rt_shape rt_transformer_theta_shape(const rt_transformer_options *o)
{
    rt_shape shape = rt_transformer_rotation_shape(o);
    shape.axis[0] = o->theta.scope == RT_THETA_MODEL ? 1 : shape.axis[0];
    shape.axis[1] = rows_of(o);
    return shape;
}

int rt_transformer_theta_layer(const rt_transformer_options *o, int n)
{
    int l = 0;
    while (l < o->layers && (!rt_layer_row_of(o, l).has_positions || n--))
        l++;
    return l;
}

size_t rt_transformer_theta_count(const rt_transformer_options *o)
{
    return rt_shape_size(rt_transformer_theta_shape(o));
}

static double radians(rt_theta_form form, double value)
{
    return form == RT_THETA_LOG ? exp(value) : value;
}

void rt_transformer_theta(const rt_transformer *m, double *theta)
{
    const rt_shape shape = rt_transformer_theta_shape(&m->options);
    for (int n = 0; m->options.theta.learn && n < shape.axis[0]; n++) {
        const rt_tensor *t = parameter_of(m, rt_transformer_theta_layer(&m->options, n));
        for (size_t i = 0; i < rt_size(t); i++)
            *theta++ = radians(m->options.theta.form, (double)t->data[i]);
    }
}

void rt_transformer_theta_gradient(const rt_transformer *m, double *gradient)
{
    const rt_shape shape = rt_transformer_theta_shape(&m->options);
    const bool log = m->options.theta.form == RT_THETA_LOG;
    for (int n = 0; m->options.theta.learn && n < shape.axis[0]; n++) {
        const rt_tensor *t = parameter_of(m, rt_transformer_theta_layer(&m->options, n));
        for (size_t i = 0; i < rt_size(t); i++)
            *gradient++ = (double)t->grad[i] * (log ? 1 : (double)t->data[i]);
    }
}

void rt_transformer_set_theta(rt_transformer *m, const double *theta)
{
    const rt_shape shape = rt_transformer_theta_shape(&m->options);
    for (int n = 0; m->options.theta.learn && n < shape.axis[0]; n++) {
        const rt_tensor *t = parameter_of(m, rt_transformer_theta_layer(&m->options, n));
        for (size_t i = 0; i < rt_size(t); i++, theta++)
            t->data[i] = (real)(m->options.theta.form == RT_THETA_LOG ? log(*theta) : *theta);
    }
}

double *rt_transformer_theta_start(const rt_transformer *m)
{
    return m->options.theta.learn ? m->encoding.state : NULL;
}

void rt_transformer_theta_geometric(const rt_transformer_options *o, rt_shape shape, double *theta)
{
    const int axes = o->position.axes > 1 ? 2 : 1, pairs = rt_transformer_pairs(o) / axes;
    const int rows = shape.axis[1] * axes * rt_transformer_theta_axes(o); /* of a layer */
    for (int n = 0; n < shape.axis[0] * rows; n++, theta += pairs) {
        const int layer = rt_transformer_theta_layer(o, n / rows);
        const int rotated = rt_layer_pairs(o, layer) / axes;
        rt_theta_geometric(theta, rotated, rt_layer_row_of(o, layer).base);
        for (int i = rotated; i < pairs; i++)
            theta[i] = 0;
    }
}

double rt_theta_length(const rt_transformer_options *o, const double *row, int i)
{
    const int pairs = rt_transformer_pairs(o), pair = pairs ? i % pairs : 0;
    return rt_transformer_theta_axes(o) > 1 ? hypot(row[pair], row[pair + pairs]) : fabs(row[pair]);
}

int rt_transformer_extent(const rt_transformer_options *o, int T)
{
    const int randomized = o->position.randomized;
    return o->position.axes > 1 ? rt_grid_side(T) : randomized > T ? randomized : T;
}

int rt_transformer_reach(const rt_transformer_options *o, int layer, int T)
{
    const bool by_tokens = o->position.axes < 2 && !o->position.randomized;
    const int extent = rt_transformer_extent(o, T);
    int most = 0;
    for (int l = layer < 0 ? 0 : layer; l < (layer < 0 ? o->layers : layer + 1); l++) {
        const rt_layer_row row = rt_layer_row_of(o, l);
        const int window = by_tokens ? row.window : 0;
        const int reach = window && window < extent ? window : extent;
        if (row.has_positions && reach > most)
            most = reach;
    }
    return most;
}

bool rt_transformer_turns_by_position(const rt_transformer_options *o)
{
    return rt_encoding_of(o)->rotation != NULL;
}

double rt_theta_turns(const rt_transformer_options *o, int layer, int T, double theta)
{
    const double two_pi = 6.283185307179586;
    return rt_transformer_turns_by_position(o)
               ? fabs(theta) * (rt_transformer_reach(o, layer, T) - 1) / two_pi
               : (double)NAN;
}

const char *rt_decay_obstacle(const rt_transformer_options *o)
{
    const rt_encoding *encoding = rt_encoding_of(o);
    if (!rt_transformer_pairs(o))
        return "needs position.kind = rope and a position.fraction above 0: nothing is rotated";
    if (!rt_transformer_turns_by_position(o))
        return "needs position.kind = rope: the angle between two tokens is not their distance "
               "times theta, but what the tokens add up to";
    if (encoding->has_polar_heads && o->position.phase)
        return "needs position.kind = rope, or position.phase = no: the phases that keys learn are "
               "not in C(r)";
    if (o->position.axes > 1)
        return "needs position.axes = 1: with two coordinates, scores depend on more than a "
               "distance";
    return NULL;
}

double rt_decay(const double *theta, int pairs, double r, double xpos)
{
    double real_part = 0, imaginary_part = 0, sum = 0;
    for (int i = 0; i < pairs; i++) {
        const double factor = xpos > 0 ? pow(rt_xpos_zeta(i, pairs), r / xpos) : 1;
        real_part += factor * cos(r * theta[i]);
        imaginary_part += factor * sin(r * theta[i]);
        sum += hypot(real_part, imaginary_part);
    }
    return sum / pairs;
}

static double squares_of_row(const rt_tensor *weight, int row)
{
    const int columns = rt_columns(weight);
    const real *x = weight->data + (size_t)row * (size_t)columns;
    double squares = 0;
    for (int i = 0; i < columns; i++)
        squares += (double)x[i] * (double)x[i];
    return squares;
}

static rt_pairing pairing_of(const rt_transformer_options *o)
{
    return rt_encoding_of(o)->half_pairs ? RT_HALF : o->position.pairing;
}

rt_pair_features rt_pair_features_of(const rt_transformer_options *o, int l, int pair)
{
    return pairing_of(o) == RT_HALF ? (rt_pair_features){pair, pair + rt_layer_pairs(o, l)}
                                    : (rt_pair_features){2 * pair, 2 * pair + 1};
}

/* Returns the length of the rows of a projection for one pair of a head, weighted by the norm. */
static double pair_length(const rt_transformer_options *o, int l, rt_affine to, rt_affine norm,
                          int head, int pair)
{
    const rt_pair_features at = rt_pair_features_of(o, l, pair);
    const int first = head * o->head_dim;
    const double a = norm.weight ? (double)norm.weight->data[at.a] : 1;
    if (rt_encoding_of(o)->has_polar_heads)
        return a * sqrt(squares_of_row(to.weight, first + at.a));
    const double b = norm.weight ? (double)norm.weight->data[at.b] : 1;
    return sqrt(a * a * squares_of_row(to.weight, first + at.a) +
                b * b * squares_of_row(to.weight, first + at.b));
}

static double pair_use(const rt_transformer *m, int l, int head, int pair)
{
    const rt_transformer_options *o = &m->options;
    const rt_transformer_layer *layer = m->layers + l;
    const int kv = head / (o->heads / o->kv_heads);
    if (pair >= rt_layer_pairs(o, l))
        return 0;
    return pair_length(o, l, layer->query, layer->query_norm, head, pair) *
           pair_length(o, l, layer->key, layer->key_norm, kv, pair);
}

/* Divides the numbers by the sum of the first `pairs` of them. */
static void divide_by_sum(double *use, int count, int pairs)
{
    double sum = 0;
    for (int i = 0; i < pairs; i++)
        sum += use[i];
    for (int i = 0; i < count; i++)
        use[i] /= sum > 0 ? sum : 1;
}

void rt_transformer_head_use(const rt_transformer *m, int l, int head, double *use)
{
    const int pairs = rt_transformer_pairs(&m->options);
    for (int i = 0; i < pairs; i++)
        use[i] = pair_use(m, l, head, i);
    divide_by_sum(use, pairs, pairs);
}

void rt_transformer_theta_use(const rt_transformer *m, double *use)
{
    const rt_transformer_options *o = &m->options;
    const rt_shape shape = rt_transformer_theta_shape(o);
    const int rows = shape.axis[1], columns = shape.axis[2], pairs = rt_transformer_pairs(o);
    for (int i = 0; i < shape.axis[0] * rows * columns; i++)
        use[i] = 0;
    for (int n = 0, l; (l = rt_transformer_theta_layer(o, n)) < o->layers; n++)
        for (int h = 0; h < o->heads; h++)
            for (int i = 0; i < columns; i++) {
                const int kv = h / (o->heads / o->kv_heads);
                const int layer = shape.axis[0] > 1 ? n : 0, row = rows > 1 ? kv : 0;
                use[(layer * rows + row) * columns + i] += pair_use(m, l, h, i % pairs);
            }
    for (int row = 0; row < shape.axis[0] * rows; row++)
        divide_by_sum(use + row * columns, columns, pairs);
}

/* Draws the initial theta of a layer, (rows, R/2), from the frequencies that its rows share. If
 * mixed, (rows, 2, R/2): the two theta of a pair have a length drawn like that, and a direction:
 * one random angle for a head, from which the second half of the pairs is a quarter of a turn away
 * (Heo et al. 2024). */
static void draw_layer(const rt_transformer_options *o, uint64_t seed, int layer,
                       const double *frequencies, double *start)
{
    const rt_random random = {seed, (uint32_t)layer, RT_STREAM_THETA};
    const int rows = rows_of(o), axes = rt_transformer_theta_axes(o);
    const int pairs = rt_transformer_pairs(o);
    const double two_pi = 6.283185307179586;
    double low = frequencies[0], high = low;
    for (int i = 1; i < pairs; i++) {
        low = fmin(low, frequencies[i]);
        high = fmax(high, frequencies[i]);
    }
    for (int i = 0; i < rows * axes * pairs; i++) {
        const double u = rt_random_uniform(random, (uint64_t)i);
        const double z = rt_random_normal(random, (uint64_t)i);
        const double at_first = frequencies[i % pairs];
        start[i] = o->theta.init == RT_THETA_PERTURBED ? at_first * exp(o->theta.init_sigma * z)
                   : o->theta.init == RT_THETA_UNIFORM ? low * exp(u * log(high / low))
                                                       : at_first;
    }
    for (int row = 0; axes > 1 && row < rows; row++) {
        const double angle = two_pi * rt_random_uniform(random, UINT64_C(1) << 32 | (uint64_t)row);
        double *x = start + 2 * row * pairs, *y = x + pairs;
        for (int i = 0; i < pairs; i++) {
            const double at = angle + (i < pairs / 2 ? 0 : two_pi / 4), length = x[i];
            x[i] = length * cos(at);
            y[i] = length * sin(at);
        }
    }
}

static void find_frequencies(const rt_transformer_options *o, int layer, int T, double *theta)
{
    const rt_frequency_options frequencies = rt_layer_frequencies(o, layer);
    const int pairs = rt_layer_pairs(o, layer),
              axis_pairs = o->position.axes > 1 ? pairs / 2 : pairs;
    rt_frequencies_at(theta, axis_pairs, &frequencies, T);
    for (int i = axis_pairs; i < pairs; i++)
        theta[i] = theta[i - axis_pairs];
    for (int i = pairs; i < rt_transformer_pairs(o); i++)
        theta[i] = 0;
}

rt_status rt_theta_starts_alike(const rt_transformer_options *o, const rt_transformer_options *from,
                                bool *alike)
{
    const rt_theta_options *here = &o->theta, *there = &from->theta;
    const int pairs = rt_transformer_pairs(o);
    /* on both sides of each original length, which suffices for all lengths */
    const int lengths[] = {0, from->position.frequencies.original_len + 1,
                           o->position.frequencies.original_len + 1, 1 << 24};
    RT_OWNED double *one = rt_alloc(2 * (size_t)pairs, sizeof *one);
    RT_TRY(rt_allocated(one, "theta"));
    double *other = one + pairs;
    *alike = pairs == rt_transformer_pairs(from) && o->layers == from->layers &&
             (here->init == RT_THETA_FREQUENCIES ||
              (here->init == there->init && here->init_sigma == there->init_sigma));
    for (int layer = 0; layer < o->layers && *alike; layer++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths && *alike; i++) {
            if (!rt_layer_row_of(o, layer).has_positions)
                continue;
            find_frequencies(from, layer, lengths[i], one);
            find_frequencies(o, layer, lengths[i], other);
            *alike = !memcmp(one, other, (size_t)pairs * sizeof *one);
        }
    return rt_ok();
}

void rt_transformer_theta_initial(const rt_transformer_options *o, uint64_t seed, double *theta)
{
    const rt_shape shape = rt_transformer_theta_shape(o);
    double *frequencies = theta + rt_shape_size(shape);
    for (int n = 0; n < shape.axis[0]; n++, theta += shape.axis[1] * shape.axis[2]) {
        const int layer = rt_transformer_theta_layer(o, n);
        find_frequencies(o, layer, 0, frequencies);
        draw_layer(o, seed, layer, frequencies, theta);
    }
}

/* Computes the initial values of a learned theta and sets its parameters. The values are the state
 * of the encoding, in the layout of rt_transformer_theta, followed by scratch memory. A fixed theta
 * has no state. */
rt_status rt_start_theta(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    if (!o->theta.learn)
        return rt_ok();
    double *theta = m->encoding.state =
        rt_alloc(rt_transformer_theta_count(o) + (size_t)rt_transformer_pairs(o), sizeof *theta);
    RT_TRY(rt_allocated(theta, "theta"));
    rt_transformer_theta_initial(o, m->parameters.seed, theta);
    if (!m->parameters.borrows_values && rt_memory_is_present(m->parameters.values))
        rt_transformer_set_theta(m, m->encoding.state);
    return rt_ok();
}

/* Computes the effective theta of the n-th layer with positions, (key heads, R/2) or, if mixed,
 * (key heads, R), for texts of T tokens. */
static void theta_of_layer(const rt_transformer *m, int n, int T, double *theta)
{
    const rt_transformer_options *o = &m->options;
    const rt_theta_change *change = m->encoding.change;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int count = shape.axis[1] * shape.axis[2], pairs = rt_transformer_pairs(o);
    const int layer = rt_transformer_theta_layer(o, n);
    const rt_tensor *learned = o->theta.learn ? parameter_of(m, layer) : NULL;
    if (!learned)
        find_frequencies(o, layer, T, theta);
    for (int i = 0; i < count; i++)
        theta[i] = learned
                       ? radians(o->theta.form, (double)learned->data[(size_t)i % rt_size(learned)])
                       : theta[i % pairs];
    for (int i = 0; change && i < count; i++) {
        const double number = change->numbers[n * count + i];
        theta[i] = change->factors ? number * theta[i] : number;
    }
}

void rt_transformer_rotation(const rt_transformer *m, int T, double *theta)
{
    const rt_shape shape = rt_transformer_rotation_shape(&m->options);
    for (int n = 0; n < shape.axis[0]; n++)
        theta_of_layer(m, n, T, theta + n * shape.axis[1] * shape.axis[2]);
}

void rt_transformer_change_theta(rt_transformer *m, const rt_theta_change *change)
{
    m->encoding.change = change;
}

/* Returns the effective theta of layer l, as theta_of_layer computes it, in the memory of the
 * graph; NULL if the graph has failed. */
static double *fixed_theta(const rt_transformer *m, rt_graph *g, int l, int length)
{
    const rt_shape shape = rt_transformer_rotation_shape(&m->options);
    double *theta =
        rt_graph_memory(g, (size_t)shape.axis[1] * (size_t)shape.axis[2], sizeof *theta);
    if (theta)
        theta_of_layer(m, rt_layer_number(&m->options, l), length, theta);
    return theta;
}

/* Returns the rotation by position times theta, without a decay. */
static const rt_rotation *rotate_plain(const rt_transformer *m, rt_graph *g, int l,
                                       rt_token_span at)
{
    const rt_transformer_options *o = &m->options;
    const rt_pairing pairing = pairing_of(o);
    const double magnitude = rt_frequencies_magnitude(&o->position.frequencies);
    const rt_positions own = {.B = 1, .T = at.count, .offset = at.first};
    const rt_positions positions = at.positions ? *at.positions : own;
    if (o->theta.learn && !m->encoding.change)
        return rt_rotation_learned(g, parameter_of(m, l), o->theta.form, pairing, magnitude,
                                   positions);
    const int axes = rt_transformer_theta_axes(o), pairs = rt_layer_pairs(o, l);
    const int columns = axes * pairs, width = axes * rt_transformer_pairs(o);
    double *theta = fixed_theta(m, g, l, at.length);
    if (!theta)
        return NULL;
    for (int i = 0; columns < width && i < o->kv_heads * columns; i++)
        theta[i] = theta[i / columns * width + i % columns];
    int same = columns;
    while (same < o->kv_heads * columns && theta[same] == theta[same % columns])
        same++;
    const int rows = same < o->kv_heads * columns ? o->kv_heads : 1;
    const rt_shape shape = axes > 1 ? RT_SHAPE_OF(rows, axes, pairs) : RT_SHAPE_OF(rows, pairs);
    return rt_rotation_fixed(g, theta, shape, pairing, magnitude, positions);
}

rt_tensor *rt_angles_of(const rt_transformer *m, rt_graph *g, int l, rt_tensor *sums, int length)
{
    const rt_transformer_options *o = &m->options;
    if (o->theta.learn && !m->encoding.change)
        return rt_angles(g, sums, parameter_of(m, l), o->theta.form);
    return rt_angles_fixed(g, sums, fixed_theta(m, g, l, length),
                           RT_SHAPE_OF(o->kv_heads, rt_transformer_pairs(o)));
}

rt_layer_rotation rt_rotation_by_position(rt_transformer *m, rt_graph *g, int l, rt_token_span at)
{
    const double xpos = m->options.position.xpos;
    const rt_rotation *plain = rotate_plain(m, g, l, at);
    if (!plain || !(xpos > 0))
        return (rt_layer_rotation){plain, plain, plain};
    return (rt_layer_rotation){rt_rotation_decayed(g, plain, at.count, xpos),
                               rt_rotation_decayed(g, plain, at.count, -xpos), plain};
}

/* Checks xPos: it needs scores, and causal ones, because they would grow towards later keys. */
static void check_xpos(const rt_transformer_options *o, rt_rule_sink to)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    const double xpos = o->position.xpos;
    if (xpos == 0)
        return;
    if (!(xpos >= 1 && isfinite(xpos)))
        rt_rule_broken(to, RT_OPTIONS("position.xpos"),
                       "position.xpos must be 0 or at least 1; got %g", xpos);
    else if (o->attention != RT_ATTENTION_SOFTMAX)
        rt_rule_broken(to, RT_OPTIONS("position.xpos", "model.attention"),
                       "position.xpos needs model.attention = softmax; got %s",
                       attentions[o->attention]);
    else if (!o->causal)
        rt_rule_broken(to, RT_OPTIONS("position.xpos", "model.causal"),
                       "position.xpos needs model.causal = yes: scores decay towards keys behind a "
                       "query and would grow towards those ahead");
}

static bool has_rotated_window(const rt_transformer_options *o)
{
    bool found = false;
    for (int l = 0; l < o->layers; l++) {
        const rt_layer_row row = rt_layer_row_of(o, l);
        found |= row.has_positions && row.window;
    }
    return found;
}

void rt_check_local_base(const rt_transformer_options *o, rt_rule_sink to)
{
    const double base = o->position.local_base;
    if (base == 0)
        return;
    if (!(base > 1 && isfinite(base)))
        rt_rule_broken(to, RT_OPTIONS("position.local_base"),
                       "position.local_base must be 0 or above 1; got %g", base);
    else if (!has_rotated_window(o))
        rt_rule_broken(to,
                       RT_OPTIONS("position.local_base", "model.window", "model.layer_types",
                                  "position.layers"),
                       "position.local_base needs a sliding layer that has positions: see "
                       "model.window and model.layer_types");
    else if (o->theta.learn && o->theta.scope == RT_THETA_MODEL && rt_layers_differ_in_base(o))
        rt_rule_broken(to, RT_OPTIONS("theta.scope", "position.local_base"),
                       "theta.scope = model learns one theta for all layers, but "
                       "position.local_base = %g starts them apart: set theta.scope = layer "
                       "or head",
                       base);
}

void rt_check_frequencies(const rt_transformer_options *o, rt_rule_sink to)
{
    const rt_frequency_options *frequencies = &o->position.frequencies;
    const rt_scaling scaling = frequencies->scaling;
    if (o->theta.learn && (scaling == RT_SCALING_DYNAMIC || scaling == RT_SCALING_LONGROPE)) {
        rt_rule_broken(to, RT_OPTIONS("position.scaling", "theta.learn"),
                       "position.scaling = %s has a theta for each length, but theta.learn = yes "
                       "learns one for all lengths",
                       scaling == RT_SCALING_DYNAMIC ? "dynamic" : "longrope");
        return;
    }
    const double base = frequencies->base;
    if (base != 0 && !(base > 1 && isfinite(base)))
        rt_rule_broken(to, RT_OPTIONS("position.base"), "position.base must be above 1; got %g",
                       base);
    rt_status status = rt_frequencies_check(frequencies, rt_transformer_pairs(o));
    if (status.code)
        rt_rule_broken(to,
                       RT_OPTIONS("position.scaling", "position.scale", "position.frequencies",
                                  "position.fraction"),
                       "position.scaling: %s", status.message);
}

/* Checks that the fraction of a key gives whole pairs. */
static bool is_fraction(double fraction, const char *key, rt_rule_sink to, int pairs)
{
    const double rotated = fraction * pairs, below = floor(rotated);
    if (!(fraction >= 0 && fraction <= 1)) {
        rt_rule_broken(to, RT_OPTIONS(key), "%s must be from 0 to 1; got %g", key, fraction);
        return false;
    }
    if (fabs(rotated - round(rotated)) > 1e-9) {
        rt_rule_broken(to, RT_OPTIONS("position.kind", key, "model.dim", "model.heads"),
                       "%s = %g is %g of the %d pairs of a head; the nearest that fit are "
                       "%.15g and %.15g",
                       key, fraction, rotated, pairs, below / pairs, (below + 1) / pairs);
        return false;
    }
    return true;
}

/* Checks local_fraction: it needs layers with a window, and the theta that are learned or published
 * for a number of pairs are for all layers. */
static void check_local_fraction(const rt_transformer_options *o, rt_rule_sink to)
{
    const double fraction = o->position.local_fraction;
    if (fraction == 0 || !is_fraction(fraction, "position.local_fraction", to, o->head_dim / 2))
        return;
    if (!has_rotated_window(o))
        rt_rule_broken(to,
                       RT_OPTIONS("position.local_fraction", "model.window", "model.layer_types",
                                  "position.layers"),
                       "position.local_fraction needs a sliding layer that has positions: see "
                       "model.window and model.layer_types");
    else if (fraction == o->position.fraction)
        return;
    else if (o->theta.learn)
        rt_rule_broken(to, RT_OPTIONS("position.local_fraction", "theta.learn"),
                       "theta.learn = yes needs as many rotated pairs in all layers, but "
                       "position.local_fraction = %g, position.fraction = %g: leave one out",
                       fraction, o->position.fraction);
    else if (o->position.axes > 1)
        rt_rule_broken(to, RT_OPTIONS("position.local_fraction", "position.axes"),
                       "position.local_fraction needs position.axes = 1");
    else if (o->position.frequencies.scaling == RT_SCALING_LONGROPE)
        rt_rule_broken(to, RT_OPTIONS("position.local_fraction", "position.scaling"),
                       "position.scaling = longrope has a factor for each pair, and needs as many "
                       "in all layers: leave position.local_fraction out");
}

/* Checks rotation by two coordinates. */
static void check_axes(const rt_transformer_options *o, rt_rule_sink to)
{
    const rt_position_options *position = &o->position;
    const int rotated = 2 * rt_transformer_pairs(o);
    if (rotated % 4)
        rt_rule_broken(to,
                       RT_OPTIONS("position.axes", "position.fraction", "model.dim", "model.heads"),
                       "position.axes = 2 rotates half of the pairs by each coordinate and needs a "
                       "multiple of 4 rotated features per head; got %d: change model.heads or "
                       "position.fraction",
                       rotated);
    if (position->xpos != 0)
        rt_rule_broken(to, RT_OPTIONS("position.axes", "position.xpos"),
                       "position.axes = 2 needs position.xpos = 0; got %g", position->xpos);
    if (position->frequencies.scaling != RT_SCALING_NONE)
        rt_rule_broken(to, RT_OPTIONS("position.axes", "position.scaling"),
                       "position.axes = 2 needs position.scaling = none");
    if (position->mixing != RT_MIXED)
        return;
    if (!o->theta.learn)
        rt_rule_broken(
            to, RT_OPTIONS("position.mixing", "theta.learn"),
            "position.mixing = mixed needs theta.learn = yes, since each head has angles "
            "of its own; train.freeze = theta keeps their initial values");
    else if (o->theta.form != RT_THETA_RAW)
        rt_rule_broken(to, RT_OPTIONS("position.mixing", "theta.form"),
                       "position.mixing = mixed needs theta.form = raw: its theta can be negative");
}

bool rt_check_heads(const rt_transformer_options *o, rt_rule_sink to)
{
    const char *word = rt_encoding_of(o)->word;
    const int size = o->head_dim; /* 0: a rule of all encodings reports it */
    if (size % 2 && size != o->dim / o->heads)
        rt_rule_broken(to, RT_OPTIONS("position.kind", "model.head_dim"),
                       "position.kind = %s needs heads of even size; model.head_dim = %d", word,
                       size);
    else if (size % 2)
        rt_rule_broken(
            to, RT_OPTIONS("position.kind", "model.dim", "model.heads"),
            "position.kind = %s needs heads of even size; model.dim = %d and model.heads = "
            "%d make it %d",
            word, o->dim, o->heads, size);
    return size && size % 2 == 0;
}

static void rope_check(const rt_transformer_options *o, rt_rule_sink to)
{
    const bool learns = o->theta.learn;
    check_xpos(o, to);
    rt_check_local_base(o, to);
    if (rt_check_heads(o, to) &&
        is_fraction(o->position.fraction, "position.fraction", to, o->head_dim / 2)) {
        check_local_fraction(o, to);
        if (!rt_transformer_pairs(o) && (learns || o->position.xpos > 0)) {
            rt_rule_broken(to,
                           learns ? RT_OPTIONS("position.kind", "position.fraction", "theta.learn")
                                  : RT_OPTIONS("position.xpos", "position.fraction"),
                           "%s needs rotated pairs; position.fraction = %g leaves none",
                           learns ? "theta.learn = yes" : "position.xpos", o->position.fraction);
            return;
        }
        rt_check_frequencies(o, to);
        if (o->position.axes > 1)
            check_axes(o, to);
    }
}

static int rope_capacity(const rt_transformer_options *o)
{
    const double most = RT_XPOS_REACH * o->position.xpos;
    return most >= RT_XPOS_REACH && most < INT_MAX ? (int)most : 0;
}

rt_tensor *rt_add_theta(rt_transformer *m)
{
    return add_theta(m, -1);
}

void rt_add_theta_of_layer(rt_transformer *m, int l)
{
    m->layers[l].encoding = add_theta(m, l);
}

const rt_encoding rt_encoding_rope = {.word = "rope",
                                      .in_layers = true,
                                      .axes = 2,
                                      .has_base = true,
                                      .pairs = rope_pairs,
                                      .capacity_key = "position.xpos",
                                      .check = rope_check,
                                      .capacity = rope_capacity,
                                      .add = rt_add_theta,
                                      .add_layer = rt_add_theta_of_layer,
                                      .start = rt_start_theta,
                                      .rotation = rt_rotation_by_position};
