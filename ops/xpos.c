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

/* Computes zeta_i^(position / scale) of each pair. */
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

/* Table of a rotation with a decay, that is to be filled. */
typedef struct decayed_rows {
    rt_graph *graph;
    const rt_rotation *from;
    size_t count; /* T tokens of each sequence */
    int T;
    double scale;
    double *position, *log_zeta, *factor;
    real *cosine, *sine;
} decayed_rows;

static void fill_decayed_rows(void *context)
{
    const decayed_rows *t = context;
    const rt_rotation *r = t->from;
    const size_t columns = (size_t)r->heads * (size_t)r->pairs, T = (size_t)t->T;
    for (int i = 0; i < r->pairs; i++)
        t->log_zeta[i] = log(rt_xpos_zeta(i, r->pairs));
    for (size_t row = 0; row < t->count; row++) {
        const size_t from = row / T * (size_t)r->length + row % T;
        t->position[row] = r->position[from];
        if (!fill_factors(t->graph, t->factor, t->log_zeta, r->pairs, t->position[row], t->scale))
            return;
        multiply_row(r, t->cosine + row * columns, t->sine + row * columns, from * columns,
                     t->factor);
    }
}

rt_rotation *rt_rotation_decayed(rt_graph *g, const rt_rotation *r, int T, double scale)
{
    if (!rt_graph_given(g, "rope", "rotation", r) || !rt_rotation_is_sound(g, r) ||
        !is_decay(g, r, T, scale))
        return NULL;
    const size_t columns = (size_t)r->heads * (size_t)r->pairs, pairs = (size_t)r->pairs;
    decayed_rows t = {
        .graph = g, .from = r, .count = (size_t)r->sequences * (size_t)T, .T = T, .scale = scale};
    rt_rotation *decayed = rt_graph_memory(g, 1, sizeof *decayed);
    t.position = rt_graph_numbers(g, t.count + 2 * pairs, sizeof *t.position);
    t.cosine = rt_graph_numbers(g, 2 * t.count * columns + 1, sizeof *t.cosine);
    if (!decayed || !t.position || !t.cosine)
        return NULL;
    t.log_zeta = t.position + t.count;
    t.factor = t.log_zeta + pairs;
    t.sine = t.cosine + t.count * columns;
    rt_memory_fill(t.position, fill_decayed_rows, &t);
    if (rt_graph_failed(g))
        return NULL;
    *decayed = *r;
    decayed->length = T;
    decayed->position = t.position;
    decayed->cosine = t.cosine;
    decayed->sine = t.sine;
    return decayed;
}
