#include "ops/private.h"

#include "core/memory.h"
#include "core/row_kernels.h"
#include "ops/vector_math.h"

#include <math.h>

void rt_theta_geometric(double *theta, int pairs, double base)
{
    for (int i = 0; i < pairs; i++)
        theta[i] = pow(base, -(double)i / pairs);
}

size_t rt_rotation_thetas(const rt_rotation *r)
{
    return (size_t)r->heads * (size_t)r->pairs * (r->mixed ? 2 : 1);
}

/* Returns the angle of a column of the table at a position with two coordinates. */
static double angle_of(const rt_rotation *r, const double *theta, size_t row, int column)
{
    const double x = r->position[row], y = r->second[row];
    const int head = column / r->pairs, i = column % r->pairs;
    if (!r->mixed)
        return (i < r->pairs / 2 ? x : y) * theta[column];
    theta += 2 * head * r->pairs;
    return x * theta[i] + y * theta[r->pairs + i];
}

/* Fills the table, with theta (G, R/2), or (G, 2, R/2) if mixed. */
static void fill_rows(const rt_rotation *r, const double *theta, rt_positions positions)
{
    const size_t rows = (size_t)r->sequences * (size_t)r->length;
    real *cosine = r->cosine, *sine = r->sine;
    for (size_t row = 0; row < rows; row++) {
        const double position = positions.at ? positions.at[row] : positions.offset + (double)row;
        r->position[row] = position;
        if (r->second)
            r->second[row] = positions.second[row];
        for (int i = 0; i < r->heads * r->pairs; i++) {
            const double angle = r->second ? angle_of(r, theta, row, i) : position * theta[i];
            *cosine++ = (real)(r->magnitude * cos(angle));
            *sine++ = (real)(r->magnitude * sin(angle));
        }
    }
}

/* Returns a copy of `like` in the memory of the graph, with a new table for one or two coordinates
 * or, by angles, none, which the caller fills. NULL if the graph has failed. */
static rt_rotation *make_rotation(rt_graph *g, const rt_rotation *like, bool two)
{
    const size_t rows = (size_t)like->sequences * (size_t)like->length;
    const size_t size = rows * (size_t)like->heads * (size_t)like->pairs;
    rt_rotation *r = rt_graph_memory(g, 1, sizeof *r), made = *like;
    made.position = like->angles ? NULL : rt_graph_numbers(g, rows, sizeof *made.position);
    made.second = two ? rt_graph_numbers(g, rows, sizeof *made.second) : NULL;
    made.cosine = rt_graph_numbers(g, 2 * size + 1, sizeof *made.cosine);
    if (rt_graph_failed(g))
        return NULL;
    made.sine = made.cosine + size;
    *r = made;
    return r;
}

/* Cosines and sines of a + b are computed from those of a and b, so that only every BLOCK-th row
 * and the first BLOCK rows need cos and sin. The error is 4e-16, below the precision of float. In
 * double, every row is computed directly. */
#ifdef RT_DOUBLE
enum { BLOCK = 1 };
#else
enum { BLOCK = 16 };
#endif

typedef struct angles {
    double *cosine, *sine; /* one row */
} angles;

static void fill_angles(angles row, double position, const double *theta, int count,
                        double magnitude)
{
    for (int i = 0; i < count; i++) {
        row.cosine[i] = magnitude * cos(position * theta[i]);
        row.sine[i] = magnitude * sin(position * theta[i]);
    }
}

static RT_ROW_KERNEL(add_angles,
                     (real *restrict cosine, real *restrict sine, angles a, angles b, int count),
                     (cosine, sine, a, b, count))
{
    for (int i = 0; i < count; i++) {
        cosine[i] = (real)(a.cosine[i] * b.cosine[i] - a.sine[i] * b.sine[i]);
        sine[i] = (real)(a.sine[i] * b.cosine[i] + a.cosine[i] * b.sine[i]);
    }
}

/* Fills the table for the positions offset, offset + 1, ... */
static void fill_consecutive(const rt_rotation *r, const double *theta, double offset,
                             double *scratch)
{
    const int count = r->heads * r->pairs;
    const size_t rows = (size_t)r->length, columns = (size_t)count;
    const angles a = {scratch + 2 * BLOCK * columns, scratch + (2 * BLOCK + 1) * columns};
    angles b[BLOCK];
    for (size_t k = 0; k < BLOCK; k++) {
        b[k] = (angles){scratch + 2 * k * columns, scratch + (2 * k + 1) * columns};
        fill_angles(b[k], (double)k, theta, count, 1);
    }
    for (size_t row = 0; row < rows; row++) {
        r->position[row] = offset + (double)row;
        if (row % BLOCK == 0)
            fill_angles(a, r->position[row], theta, count, r->magnitude);
        add_angles(r->cosine + row * columns, r->sine + row * columns, a, b[row % BLOCK], count);
    }
}

static int sequences_of(rt_positions positions)
{
    return positions.at && positions.per_sequence ? positions.B : 1;
}

static bool are_choices(rt_theta_form form, rt_pairing pairing)
{
    return (form == RT_THETA_LOG || form == RT_THETA_RAW) &&
           (pairing == RT_INTERLEAVED || pairing == RT_HALF);
}

bool rt_positions_are_finite(rt_graph *g, const char *what, const double *position, size_t count)
{
    const bool present = rt_memory_is_present(position);
    for (size_t i = 0; present && i < count && !rt_graph_failed(g); i++)
        if (!isfinite(position[i]))
            rt_graph_fail(g, RT_ARGUMENT, "%s %zu is %g", what, i, position[i]);
    return !rt_graph_failed(g);
}

/* Returns a rotation by theta with the options of `like`. `scratch` is for consecutive positions,
 * whose cosines and sines are added up; NULL: each is computed directly. */
static rt_rotation *tabulate(rt_graph *g, const rt_rotation *like, const double *theta,
                             rt_positions positions, double *scratch)
{
    const size_t rows = (size_t)like->sequences * (size_t)like->length;
    if (positions.second && !positions.at)
        rt_graph_fail(g, RT_ARGUMENT, "[rope] positions with two coordinates need both");
    else if (like->mixed && !positions.second)
        rt_graph_fail(g, RT_SHAPE, "[rope] theta of shape (G, 2, R/2) needs two coordinates");
    else if (positions.second && !like->mixed && like->pairs % 2)
        rt_graph_fail(g, RT_SHAPE,
                      "[rope] half of the pairs rotate by each coordinate; got %d pairs",
                      like->pairs);
    else if (!isfinite(positions.offset))
        rt_graph_fail(g, RT_ARGUMENT, "[rope] the offset is %g", positions.offset);
    if (!rt_positions_are_finite(g, "[rope] position", positions.at, rows) ||
        !rt_positions_are_finite(g, "[rope] the second coordinate of position", positions.second,
                                 rows))
        return NULL;
    rt_rotation *r = make_rotation(g, like, positions.second != NULL);
    if (!r || !rt_memory_is_present(r->position))
        return r;
    if (scratch)
        fill_consecutive(r, theta, positions.offset, scratch);
    else
        fill_rows(r, theta, positions);
    return r;
}

rt_rotation *rt_rotation_learned(rt_graph *g, rt_tensor *theta, rt_theta_form form,
                                 rt_pairing pairing, double magnitude, rt_positions positions)
{
    if (!RT_CHECK_INPUTS(g, "rope", RT_INPUT(theta)))
        return NULL;
    const bool mixed = theta->ndim == 3;
    if (theta->ndim < 1 || theta->ndim > 3 || (mixed && theta->shape[1] != 2))
        return rt_graph_fail(g, RT_SHAPE,
                             "[rope] theta must be (R/2), (G, R/2) or (G, 2, R/2); got %s",
                             rt_shape_text(theta));
    const int sequences = sequences_of(positions), T = positions.T;
    const int thetas = (int)rt_size(theta), columns = mixed ? thetas / 2 : thetas;
    if (positions.B < 1 || !rt_shape_size(RT_SHAPE_OF(sequences, T, columns)))
        return rt_graph_fail(g, RT_ARGUMENT,
                             "[rope] B and T must be positive, and a table of cosines not too "
                             "large; got %d, %d and %d numbers of theta",
                             positions.B, T, thetas);
    if (!are_choices(form, pairing) || !isfinite(magnitude))
        return rt_graph_fail(
            g, RT_ARGUMENT,
            "[rope] form and pairing must be valid, and the magnitude finite; got %d, %d and %g",
            (int)form, (int)pairing, magnitude);
    double *values = rt_graph_numbers(g, (size_t)thetas, sizeof *values), *scratch = NULL;
    if (!positions.at)
        scratch = rt_graph_scratch(g, 2 * (BLOCK + 1) * (size_t)columns, sizeof *scratch);
    for (int i = 0; rt_memory_is_present(values) && i < thetas; i++) {
        const double held = (double)theta->data[i];
        values[i] = form == RT_THETA_LOG ? exp(held) : held;
    }
    const rt_rotation like = {.sequences = sequences,
                              .length = T,
                              .heads = theta->ndim > 1 ? theta->shape[0] : 1,
                              .pairs = rt_columns(theta),
                              .mixed = mixed,
                              .pairing = pairing,
                              .theta = theta,
                              .form = form,
                              .magnitude = magnitude};
    return tabulate(g, &like, values, positions, scratch);
}

static RT_ROW_KERNEL(turn_angles,
                     (real *restrict cosine, real *restrict sine, const double *restrict exact,
                      const real *restrict rounded, size_t count),
                     (cosine, sine, exact, rounded, count))
{
    for (size_t i = 0; i < count; i++)
        rt_turn_of(exact ? exact[i] : (double)rounded[i], cosine + i, sine + i);
}

static void fill_span(const rt_row_span *span)
{
    const rt_rotation *r = span->context;
    const rt_tensor *given = r->angles;
    turn_angles(r->cosine + span->first, r->sine + span->first,
                given->exact ? given->exact + span->first : NULL, given->data + span->first,
                span->count);
}

rt_rotation *rt_rotation_by_angles(rt_graph *g, rt_tensor *given, rt_pairing pairing)
{
    if (!RT_CHECK_INPUTS(g, "rope", {.name = "angles", .tensor = given}))
        return NULL;
    if (given->ndim != 4 || !are_choices(RT_THETA_RAW, pairing))
        return rt_graph_fail(g, RT_ARGUMENT,
                             "[rope] angles must be (B, T, G, R/2), the pairing valid; got %s, %d",
                             rt_shape_text(given), (int)pairing);
    const rt_rotation like = {.sequences = given->shape[0],
                              .length = given->shape[1],
                              .heads = given->shape[2],
                              .pairs = given->shape[3],
                              .pairing = pairing,
                              .angles = given,
                              .magnitude = 1};
    rt_rotation *r = make_rotation(g, &like, false);
    const rt_node table = {.graph = g};
    if (r && rt_memory_is_present(r->cosine))
        rt_node_rows(&table, rt_size(given), 1, fill_span, r);
    return r;
}

bool rt_rotation_is_sound(rt_graph *g, const rt_rotation *r)
{
    const rt_tensor *theta = r->theta, *given = r->angles;
    if (!RT_CHECK_INPUTS(g, "rope", {"theta", theta, .optional = true},
                         {.name = "angles", .tensor = given, .optional = true}))
        return false;
    if (!are_choices(r->form, r->pairing) || r->sequences < 1 || r->length < 1 || r->heads < 1 ||
        r->pairs < 0 || !(given || r->position) || !r->cosine || !r->sine ||
        (r->mixed && !r->second))
        rt_graph_fail(g, RT_ARGUMENT,
                      "[rope] the rotation has no table, or an invalid pairing or form");
    else if (theta && rt_size(theta) != rt_rotation_thetas(r))
        rt_graph_fail(g, RT_SHAPE, "[rope] theta must have %d numbers for %d heads; got %s",
                      r->mixed ? 2 * r->pairs : r->pairs, r->heads, rt_shape_text(theta));
    else if (given && !rt_shapes_equal(rt_tensor_shape(given),
                                       RT_SHAPE_OF(r->sequences, r->length, r->heads, r->pairs)))
        rt_graph_fail(g, RT_SHAPE, "[rope] the rotation has no table for angles %s",
                      rt_shape_text(given));
    return !rt_graph_failed(g);
}

rt_rotation *rt_rotation_fixed(rt_graph *g, const double *theta, rt_shape shape, rt_pairing pairing,
                               double magnitude, rt_positions positions)
{
    if (!rt_graph_check_argument(g, "rope", "theta", theta))
        return NULL;
    const bool mixed = shape.ndim == 3 && shape.axis[1] == 2;
    const int heads = shape.axis[0], pairs = shape.axis[mixed ? 2 : 1], T = positions.T;
    const int sequences = sequences_of(positions);
    if ((shape.ndim != 2 && !mixed) || heads < 1 || pairs < 0 || positions.B < 1 || T < 1 ||
        !are_choices(RT_THETA_RAW, pairing) || !isfinite(magnitude) ||
        (pairs && !rt_shape_size(RT_SHAPE_OF(sequences, T, heads, pairs))))
        return rt_graph_fail(
            g, RT_ARGUMENT,
            "[rope] a rotation needs a number of heads, of pairs, of sequences and "
            "of tokens, a pairing and a finite magnitude; got %d, %d, %d, %d, %d "
            "and %g",
            heads, pairs, positions.B, T, (int)pairing, magnitude);
    const rt_rotation like = {.sequences = sequences,
                              .length = T,
                              .heads = heads,
                              .pairs = pairs,
                              .mixed = mixed,
                              .pairing = pairing,
                              .magnitude = magnitude};
    return tabulate(g, &like, theta, positions, NULL);
}

double rt_xpos_zeta(int i, int pairs)
{
    const double gamma = 0.4;
    return ((double)i / pairs + gamma) / (1 + gamma);
}

/* The decay is part of the table, which saves a pass over x. */
rt_rotation *rt_rotation_decayed(rt_graph *g, const rt_rotation *r, int T, double scale)
{
    if (!rt_graph_check_argument(g, "rope", "rotation", r) || !rt_rotation_is_sound(g, r))
        return NULL;
    if (T < 1 || T > r->length)
        return rt_graph_fail(g, RT_ARGUMENT, "[rope] a decay for %d tokens; the rotation has %d", T,
                             r->length);
    if (r->second || r->angles)
        return rt_graph_fail(g, RT_ARGUMENT, "[rope] a decay needs positions with one coordinate");
    if (!(fabs(scale) > 0) || isinf(scale))
        return rt_graph_fail(g, RT_ARGUMENT,
                             "[rope] the scale of a decay must be finite and not 0; got %g", scale);
    rt_rotation like = *r;
    like.length = T;
    double *factors = rt_graph_numbers(g, 2 * (size_t)r->pairs, sizeof *factors);
    rt_rotation *decayed = make_rotation(g, &like, false);
    if (!decayed || !rt_memory_is_present(decayed->position))
        return decayed;
    double *log_zeta = factors + r->pairs;
    for (int i = 0; i < r->pairs; i++)
        log_zeta[i] = log(rt_xpos_zeta(i, r->pairs));
    const size_t rows = (size_t)r->sequences * (size_t)T;
    const size_t columns = (size_t)r->heads * (size_t)r->pairs;
    for (size_t row = 0; row < rows; row++) {
        const size_t from = row / (size_t)T * (size_t)r->length + row % (size_t)T;
        decayed->position[row] = r->position[from];
        const double power = r->position[from] / scale;
        if (!(fabs(power) <= RT_XPOS_REACH))
            return rt_graph_fail(g, RT_ARGUMENT,
                                 "[rope] position %g is farther from 0 than %d times the scale of "
                                 "the decay, %g",
                                 r->position[from], (int)RT_XPOS_REACH, scale);
        for (int i = 0; i < r->pairs; i++)
            factors[i] = exp(power * log_zeta[i]);
        const real *cosine = r->cosine + from * columns, *sine = r->sine + from * columns;
        for (size_t k = 0; k < columns; k += (size_t)r->pairs)
            for (int i = 0; i < r->pairs; i++) {
                const size_t at = k + (size_t)i;
                decayed->cosine[row * columns + at] = (real)((double)cosine[at] * factors[i]);
                decayed->sine[row * columns + at] = (real)((double)sine[at] * factors[i]);
            }
    }
    return decayed;
}
