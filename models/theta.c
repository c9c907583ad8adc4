#include "models/encodings/encoding.h"

#include "core/memory.h"
#include "core/random.h"

#include <math.h>
#include <stdio.h>

int rt_transformer_pairs(const rt_transformer_options *o)
{
    if (o->position.kind != RT_POSITION_ROPE || o->heads < 1)
        return 0;
    return (int)lround(o->position.fraction * rt_transformer_head_dim(o) / 2);
}

/* Returns the number of rows of theta in a layer. */
static int rows_of(const rt_transformer_options *o)
{
    return o->theta.scope == RT_THETA_HEAD ? o->kv_heads : 1;
}

void rt_transformer_theta_name(char name[RT_NAME_SIZE], int layer)
{
    if (layer < 0)
        snprintf(name, RT_NAME_SIZE, "theta");
    else
        snprintf(name, RT_NAME_SIZE, "layers.%d.attention.theta", layer);
}

int rt_transformer_theta_axes(const rt_transformer_options *o)
{
    return o->position.axes > 1 && o->position.mixing == RT_MIXED ? 2 : 1;
}

rt_tensor *rt_add_theta(rt_transformer *m, int layer)
{
    char name[RT_NAME_SIZE];
    const rt_transformer_options *o = &m->options;
    const int pairs = rt_transformer_pairs(o);
    if (!o->theta.learn || (o->theta.scope == RT_THETA_MODEL) != (layer < 0))
        return NULL;
    rt_shape shape =
        o->theta.scope == RT_THETA_HEAD ? RT_SHAPE_OF(rows_of(o), pairs) : RT_SHAPE_OF(pairs);
    if (rt_transformer_theta_axes(o) > 1)
        shape = RT_SHAPE_OF(rows_of(o), 2, pairs);
    rt_transformer_theta_name(name, layer);
    return rt_parameters_add(&m->parameters, RT_ROLE_THETA, RT_INIT_GIVEN, shape, "%s", name);
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

static int layers_of(const rt_transformer_options *o)
{
    return rt_layer_number(o, o->layers);
}

rt_shape rt_transformer_theta_shape(const rt_transformer_options *o)
{
    return RT_SHAPE_OF(o->theta.scope == RT_THETA_MODEL ? 1 : layers_of(o), rows_of(o),
                       rt_transformer_theta_axes(o) * rt_transformer_pairs(o));
}

rt_shape rt_transformer_rotation_shape(const rt_transformer_options *o)
{
    return RT_SHAPE_OF(layers_of(o), o->kv_heads,
                       rt_transformer_theta_axes(o) * rt_transformer_pairs(o));
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

/* ---- parameter and radians ---- */

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
    const int axes = o->position.axes > 1 ? 2 : 1, part = rt_transformer_pairs(o) / axes;
    const int parts = shape.axis[1] * axes * rt_transformer_theta_axes(o); /* of a layer */
    for (int n = 0; n < shape.axis[0] * parts; n++) {
        const int layer = rt_transformer_theta_layer(o, n / parts);
        rt_theta_geometric(theta + (size_t)n * (size_t)part, part, rt_layer_row_of(o, layer).base);
    }
}

/* ---- reach and rotations ---- */

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

double rt_theta_turns(double theta, int reach)
{
    const double two_pi = 6.283185307179586;
    return fabs(theta) * (reach - 1) / two_pi;
}

/* ---- share in the projections ---- */

static double squares_of_row(const rt_tensor *weight, int row)
{
    const int columns = rt_columns(weight);
    const real *x = weight->data + (size_t)row * (size_t)columns;
    double squares = 0;
    for (int i = 0; i < columns; i++)
        squares += (double)x[i] * (double)x[i];
    return squares;
}

rt_pair_features rt_pair_features_of(const rt_transformer_options *o, int pair)
{
    return o->position.pairing == RT_HALF ? (rt_pair_features){pair, pair + rt_transformer_pairs(o)}
                                          : (rt_pair_features){2 * pair, 2 * pair + 1};
}

/* Returns the length of the rows of a projection for one pair of a head, weighted by the norm. */
static double pair_length(const rt_transformer_options *o, rt_affine to, rt_affine norm, int head,
                          int pair)
{
    const rt_pair_features at = rt_pair_features_of(o, pair);
    const int first = head * o->head_dim;
    const double a = norm.weight ? (double)norm.weight->data[at.a] : 1;
    const double b = norm.weight ? (double)norm.weight->data[at.b] : 1;
    return sqrt(a * a * squares_of_row(to.weight, first + at.a) +
                b * b * squares_of_row(to.weight, first + at.b));
}

static double pair_use(const rt_transformer *m, int l, int head, int pair)
{
    const rt_transformer_options *o = &m->options;
    const rt_transformer_layer *layer = m->layers + l;
    const int kv = head / (o->heads / o->kv_heads);
    return pair_length(o, layer->query, layer->query_norm, head, pair) *
           pair_length(o, layer->key, layer->key_norm, kv, pair);
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

/* ---- initial values ---- */

static rt_random randomness_of(const rt_transformer *m, int layer)
{
    return (rt_random){m->parameters.seed, (uint32_t)layer, RT_STREAM_THETA};
}

/* Draws the initial theta of the rows of a layer from their common frequencies. */
static void draw_layer(const rt_transformer *m, int layer, double *start, int rows, int pairs,
                       const double *frequencies)
{
    const rt_theta_options *o = &m->options.theta;
    const rt_random random = randomness_of(m, layer);
    double low = frequencies[0], high = low;
    for (int i = 1; i < pairs; i++) {
        low = fmin(low, frequencies[i]);
        high = fmax(high, frequencies[i]);
    }
    for (int i = 0; i < rows * pairs; i++) {
        const double u = rt_random_uniform(random, (uint64_t)i);
        const double z = rt_random_normal(random, (uint64_t)i);
        const double at_first = frequencies[i % pairs];
        start[i] = o->init == RT_THETA_PERTURBED ? at_first * exp(o->init_sigma * z)
                   : o->init == RT_THETA_UNIFORM ? low * exp(u * log(high / low))
                                                 : at_first;
    }
}

static void find_frequencies(const rt_transformer_options *o, int layer, int T, double *theta)
{
    const rt_frequency_options frequencies = rt_layer_frequencies(o, layer);
    const int pairs = rt_transformer_pairs(o), part = o->position.axes > 1 ? pairs / 2 : pairs;
    rt_frequencies_at(theta, part, &frequencies, T);
    for (int i = part; i < pairs; i++)
        theta[i] = theta[i - part];
}

/* Gives the two theta of each pair of a head the length `start` and a direction: one random angle
 * for a head, from which the second half of the pairs is a quarter of a turn away (Heo et al.). */
static void draw_directions(const rt_transformer *m, int layer, double *start, int rows, int pairs)
{
    const rt_random random = randomness_of(m, layer);
    const double two_pi = 6.283185307179586;
    for (int row = 0; row < rows; row++) {
        const double angle = two_pi * rt_random_uniform(random, UINT64_C(1) << 32 | (uint64_t)row);
        double *x = start + 2 * row * pairs, *y = x + pairs;
        for (int i = 0; i < pairs; i++) {
            const double at = angle + (i < pairs / 2 ? 0 : two_pi / 4), length = x[i];
            x[i] = length * cos(at);
            y[i] = length * sin(at);
        }
    }
}

/* Computes the initial values of a learnable theta. They are the state of the encoding, in the
 * layout of rt_transformer_theta, followed by scratch memory. */
rt_status rt_theta_start(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const rt_shape shape = rt_transformer_theta_shape(o);
    const int rows = shape.axis[1], columns = shape.axis[2];
    const int axes = rt_transformer_theta_axes(o), pairs = columns / axes;
    if (!o->theta.learn)
        return rt_ok();
    const size_t count = rt_transformer_theta_count(o);
    double *start = m->encoding.state = rt_alloc(count + (size_t)pairs, sizeof *start);
    if (!start)
        return rt_out_of_memory("theta");
    double *frequencies = start + count;
    for (int n = 0; n < shape.axis[0]; n++, start += rows * columns) {
        const int layer = rt_transformer_theta_layer(o, n);
        find_frequencies(o, layer, 0, frequencies);
        draw_layer(m, layer, start, rows * axes, pairs, frequencies);
        if (axes > 1)
            draw_directions(m, layer, start, rows, pairs);
    }
    if (!m->parameters.borrows_values && rt_memory_is_present(m->parameters.values))
        rt_transformer_set_theta(m, m->encoding.state);
    return rt_ok();
}

/* ---- effective theta ---- */

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

/* ---- rotation ---- */

/* Returns the rotation by position times theta, without a decay. */
static const rt_rotation *rotate_plain(const rt_transformer *m, rt_graph *g, int l,
                                       rt_token_span at)
{
    const rt_transformer_options *o = &m->options;
    const rt_pairing pairing = o->position.pairing;
    const double magnitude = rt_frequencies_magnitude(&o->position.frequencies);
    const rt_positions own = {.B = 1, .T = at.count, .offset = at.first};
    const rt_positions positions = at.positions ? *at.positions : own;
    if (o->theta.learn && !m->encoding.change)
        return rt_rotation_learned(g, parameter_of(m, l), o->theta.form, pairing, magnitude,
                                   positions);
    const int axes = rt_transformer_theta_axes(o), pairs = rt_transformer_pairs(o);
    double *theta = rt_graph_memory(g, (size_t)(o->kv_heads * axes) * (size_t)pairs, sizeof *theta);
    if (!theta)
        return NULL;
    theta_of_layer(m, rt_layer_number(o, l), at.length, theta);
    const int columns = axes * pairs;
    int same = columns;
    while (same < o->kv_heads * columns && theta[same] == theta[same % columns])
        same++;
    const int rows = same < o->kv_heads * columns ? o->kv_heads : 1;
    const rt_shape shape = axes > 1 ? RT_SHAPE_OF(rows, axes, pairs) : RT_SHAPE_OF(rows, pairs);
    return rt_rotation_fixed(g, theta, shape, pairing, magnitude, positions);
}

rt_layer_rotation rt_rotation_of_layer(rt_transformer *m, rt_graph *g, int l, rt_token_span at)
{
    const double xpos = m->options.position.xpos;
    const rt_rotation *plain = rotate_plain(m, g, l, at);
    if (!plain || !(xpos > 0))
        return (rt_layer_rotation){plain, plain, plain};
    return (rt_layer_rotation){rt_rotation_decayed(g, plain, at.count, xpos),
                               rt_rotation_decayed(g, plain, at.count, -xpos), plain};
}
