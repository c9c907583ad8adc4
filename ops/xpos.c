/* The decay of xPos, which goes into the table of a rotation: x is not passed over once more. */

#include "ops/rotation.h"

#include <math.h>

double rt_xpos_zeta(int i, int pairs)
{
    const double gamma = 0.4;
    return ((double)i / pairs + gamma) / (1 + gamma);
}

static bool is_decay(rt_graph *g, const rt_rotation *r, int T, double scale)
{
    if (T < 1 || T > r->length)
        rt_graph_fail(g, RT_ARGUMENT, "[rope] a decay for %d tokens; the rotation has %d", T,
                      r->length);
    else if (!(fabs(scale) > 0) || isinf(scale))
        rt_graph_fail(g, RT_ARGUMENT,
                      "[rope] the scale of a decay must be finite and not 0; got %g", scale);
    return !rt_graph_failed(g);
}

/* zeta_i^(position / scale) of each pair; false if the graph has failed. */
static bool fill_factors(rt_graph *g, double *factor, const double *log_zeta, int pairs,
                         double position, double scale)
{
    const double power = position / scale;
    if (!(fabs(power) <= RT_XPOS_REACH)) {
        rt_graph_fail(g, RT_ARGUMENT,
                      "[rope] position %g is farther from 0 than %d times the scale of the decay, "
                      "%g",
                      position, (int)RT_XPOS_REACH, scale);
        return false;
    }
    for (int i = 0; i < pairs; i++)
        factor[i] = exp(power * log_zeta[i]);
    return true;
}

static void multiply_row(const rt_rotation *r, real *cosine, real *sine, size_t from,
                         const double *factor)
{
    for (int h = 0; h < r->heads; h++)
        for (int i = 0; i < r->pairs; i++, from++) {
            *cosine++ = (real)((double)r->cosine[from] * factor[i]);
            *sine++ = (real)((double)r->sine[from] * factor[i]);
        }
}

rt_rotation *rt_rotation_decayed(rt_graph *g, const rt_rotation *r, int T, double scale)
{
    if (!rt_graph_given(g, "rope", "rotation", r) || !rt_rotation_is_sound(g, r) ||
        !is_decay(g, r, T, scale))
        return NULL;
    const size_t columns = (size_t)r->heads * (size_t)r->pairs, pairs = (size_t)r->pairs;
    const size_t rows = (size_t)r->sequences * (size_t)T;
    rt_rotation *decayed = rt_graph_memory(g, 1, sizeof *decayed);
    double *position = rt_graph_numbers(g, rows + 2 * pairs, sizeof *position);
    real *cosine = rt_graph_numbers(g, 2 * rows * columns + 1, sizeof *cosine);
    if (!decayed || !position || !cosine)
        return NULL;
    double *log_zeta = position + rows, *factor = log_zeta + pairs;
    real *sine = cosine + rows * columns;
    for (int i = 0; i < r->pairs && !rt_graph_is_dry(g); i++)
        log_zeta[i] = log(rt_xpos_zeta(i, r->pairs));
    for (size_t row = 0; row < rows && !rt_graph_is_dry(g); row++) {
        const size_t from = row / (size_t)T * (size_t)r->length + row % (size_t)T;
        position[row] = r->position[from];
        if (!fill_factors(g, factor, log_zeta, r->pairs, position[row], scale))
            return NULL;
        multiply_row(r, cosine + row * columns, sine + row * columns, from * columns, factor);
    }
    *decayed = *r;
    decayed->length = T;
    decayed->position = position;
    decayed->cosine = cosine;
    decayed->sine = sine;
    return decayed;
}
