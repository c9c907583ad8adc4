#include "reference.h"

#include "ops/ops.h"

#include <check.h>
#include <math.h>
#include <string.h>

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

/* ln theta is held in the log form; its gradient is theta times that of theta. */
static array to_log(reference *r, array theta, array dtheta, array *dlambda)
{
    array lambda = reference_of_reals(r, reference_leaf(r, theta)->data, theta);
    *dlambda = reference_of_reals(r, reference_leaf(r, dtheta)->data, dtheta);
    for (size_t i = 0; i < theta.size; i++) {
        lambda.values[i] = log(theta.values[i]);
        dlambda->values[i] *= theta.values[i];
    }
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
    array held = form == RT_THETA_LOG ? to_log(r, c->theta, dtheta, &dtheta) : c->theta;
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

static void check_schedules(reference *r)
{
    name_list schedules = reference_members(r, "theta_schedules");
    for (int i = 0; i < schedules.count; i++) {
        char path[256];
        snprintf(path, sizeof path, "theta_schedules/%s", schedules.names[i]);
        array expected = reference_array(r, "%s", path);
        rt_tensor *got = reference_leaf(r, expected);
        double *theta = rt_arena_take(&r->memory, expected.size * sizeof *theta);
        rt_theta_geometric(theta, (int)expected.size, reference_number(r, path, "base"));
        for (size_t k = 0; k < expected.size; k++)
            got->data[k] = (real)theta[k];
        check_values(r, got->data, rt_size(got), expected, VALUE_TOLERANCE, "%s", path);
    }
}

void check_rope_file(reference *r)
{
    name_list cases = reference_members(r, "/");
    for (int i = 0; i < cases.count; i++) {
        if (!strcmp(cases.names[i], "theta_schedules")) {
            check_schedules(r);
            continue;
        }
        rope_case c = read_case(r, cases.names[i]);
        check_case(r, &c, "interleaved", RT_INTERLEAVED, RT_THETA_RAW);
        check_case(r, &c, "half_split", RT_HALF, RT_THETA_RAW);
        if (c.tolerance <= VALUE_TOLERANCE)
            check_case(r, &c, "interleaved", RT_INTERLEAVED, RT_THETA_LOG);
        r->cases++;
    }
}
