#include "reference.h"

#include "ops/ops.h"

#include <math.h>

typedef struct rope_case {
    const char *name;
    array x, g, positions, theta; /* x and g (B, T, H, D) */
    double tolerance;             /* of the values: grows with the positions */
} rope_case;

static rope_case read_case(reference *r, const char *name)
{
    rope_case c = {.name = name};
    double farthest = 0;
    c.x = reference_swap_heads(r, reference_array(r, "%s/x", name));
    c.g = reference_swap_heads(r, reference_array(r, "%s/g", name));
    c.positions = reference_array(r, "%s/positions", name);
    c.theta = reference_array(r, "%s/theta", name);
    check_size(r, c.positions,
               (size_t)(c.positions.ndim == 2 ? c.x.axis[0] : 1) * (size_t)c.x.axis[1],
               "positions");
    for (size_t i = 0; i < c.positions.size; i++)
        farthest = fmax(farthest, fabs(c.positions.values[i]));
    c.tolerance = VALUE_TOLERANCE * (farthest > 1e4 ? farthest * 1e-4 : 1);
    return c;
}

/* Replaces theta by ln theta, which is held in the log form, and its gradient by theta times that
 * of theta. */
static array to_log(reference *r, array theta, array *dtheta)
{
    array lambda = theta, dlambda = *dtheta;
    lambda.values = rt_arena_take(&r->memory, theta.size * sizeof *theta.values);
    dlambda.values = rt_arena_take(&r->memory, theta.size * sizeof *theta.values);
    for (size_t i = 0; i < theta.size; i++) {
        lambda.values[i] = log(theta.values[i]);
        dlambda.values[i] = dtheta->values[i] * theta.values[i];
    }
    *dtheta = dlambda;
    return lambda;
}

/* In the log form exp(ln theta) differs from theta by rounding, which far positions
 * multiply: only cases near 0 are held to it. */
static void check_case(reference *r, const rope_case *c, const char *pairing_name,
                       rt_pairing pairing, rt_theta_form form)
{
    array y = reference_array(r, "%s/%s/y", c->name, pairing_name);
    array dx = reference_array(r, "%s/%s/dx", c->name, pairing_name);
    array dtheta = reference_array(r, "%s/%s/dtheta", c->name, pairing_name);
    check_size(r, dtheta, c->theta.size, "dtheta");
    array held = form == RT_THETA_LOG ? to_log(r, c->theta, &dtheta) : c->theta;
    rt_tensor *x = reference_leaf(r, c->x), *theta = reference_leaf(r, held);
    const rt_positions positions = {.B = c->x.axis[0],
                                    .T = c->x.axis[1],
                                    .at = c->positions.values,
                                    .per_sequence = c->positions.ndim == 2};

    rt_graph_clear(r->graph);
    rt_rotation *rotation = rt_rotation_learned(r->graph, theta, form, pairing, 1, positions);
    rt_tensor *out = rt_rope(r->graph, x, rotation);
    const real *g = reference_upstream(r, out, c->g, c->name);
    check_values(r, out->data, rt_size(out), reference_swap_heads(r, y), c->tolerance, "%s %s y",
                 c->name, pairing_name);
    check_status(r, rt_graph_backward_from(r->graph, out, g), c->name);
    check_values(r, x->grad, rt_size(x), reference_swap_heads(r, dx), c->tolerance, "%s %s dx",
                 c->name, pairing_name);
    check_gradient(r, theta->grad, rt_size(theta), dtheta, "%s %s dtheta", c->name, pairing_name);
}

void check_rope_case(reference *r, const char *name)
{
    if (!strcmp(name, "theta_schedules")) /* see tests/laws/test_angle_laws.c */
        return;
    rope_case c = read_case(r, name);
    check_case(r, &c, "interleaved", RT_INTERLEAVED, RT_THETA_RAW);
    check_case(r, &c, "half_split", RT_HALF, RT_THETA_RAW);
    if (c.tolerance <= VALUE_TOLERANCE)
        check_case(r, &c, "interleaved", RT_INTERLEAVED, RT_THETA_LOG);
    r->cases++;
}
