#include "reference.h"

#include "ops/ops.h"

#include <check.h>

typedef struct attention_case {
    const char *name;
    rt_tensor *q, *k, *v, *theta;
    array query_positions, key_positions;
    rt_attention_options options;
} attention_case;

static rt_tensor *heads_leaf(reference *r, const char *name, const char *what)
{
    return reference_leaf(r, reference_swap_heads(r, reference_array(r, "%s/%s", name, what)));
}

static uint8_t *read_mask(reference *r, const char *name, const rt_tensor *k)
{
    array a = reference_array(r, "%s/key_mask", name);
    check_size(r, a, (size_t)k->shape[0] * (size_t)k->shape[1], "key_mask");
    uint8_t *mask = rt_arena_take(&r->memory, a.size);
    for (size_t i = 0; i < a.size; i++)
        mask[i] = a.values[i] != 0;
    return mask;
}

static attention_case read_case(reference *r, const char *name)
{
    attention_case c = {.name = name};
    c.q = heads_leaf(r, name, "Q");
    c.k = heads_leaf(r, name, "K");
    c.v = heads_leaf(r, name, "V");
    c.theta = reference_leaf(r, reference_array(r, "%s/theta", name));
    c.query_positions = reference_array(r, "%s/q_positions", name);
    c.key_positions = reference_array(r, "%s/k_positions", name);
    check_size(r, c.query_positions, (size_t)c.q->shape[1], "q_positions");
    check_size(r, c.key_positions, (size_t)c.k->shape[1], "k_positions");
    c.options = (rt_attention_options){.scale = reference_number(r, name, "scale"),
                                       .causal = reference_number(r, name, "causal") != 0,
                                       .key_mask = read_mask(r, name, c.k),
                                       .query_positions = c.query_positions.values,
                                       .key_positions = c.key_positions.values};
    if (!reference_says(r, name, "alibi", "none")) {
        array slopes = reference_array(r, "%s/slopes", name);
        check_size(r, slopes, (size_t)c.q->shape[2], "slopes");
        c.options.slopes = slopes.values;
    }
    return c;
}

static rt_tensor *rotate(reference *r, const attention_case *c, rt_tensor *x, array positions)
{
    const rt_pairing pairing =
        reference_says(r, c->name, "pairing", "half_split") ? RT_HALF : RT_INTERLEAVED;
    return rt_rope(r->graph, x,
                   rt_rotation_learned(
                       r->graph, c->theta, RT_THETA_RAW, pairing, 1,
                       (rt_positions){.B = x->shape[0], .T = x->shape[1], .at = positions.values}));
}

static void check_case(reference *r, const char *name)
{
    attention_case c = read_case(r, name);
    array out = reference_array(r, "%s/out", name), probs = reference_array(r, "%s/probs", name);
    array g = reference_swap_heads(r, reference_array(r, "%s/g", name));
    rt_tensor *q = c.q, *k = c.k, *v = c.v;
    const size_t weights = rt_size(q) / (size_t)q->shape[3] * (size_t)k->shape[1];
    rt_graph_clear(r->graph);
    if (reference_number(r, name, "rope") != 0) {
        q = rotate(r, &c, q, c.query_positions);
        k = rotate(r, &c, k, c.key_positions);
        if (reference_number(r, name, "rope_value") != 0)
            v = rotate(r, &c, v, c.key_positions);
    }
    c.options.probabilities = rt_arena_take(&r->memory, weights * sizeof(real));
    rt_tensor *result = rt_attention(r->graph, q, k, v, &c.options);
    const real *upstream = reference_upstream(r, result, g, name);
    check_values(r, result->data, rt_size(result), reference_swap_heads(r, out), VALUE_TOLERANCE,
                 "%s out", name);
    check_values(r, c.options.probabilities, weights, probs, VALUE_TOLERANCE, "%s probs", name);
    check_status(r, rt_graph_backward_from(r->graph, result, upstream), name);
    rt_tensor *const inputs[] = {c.q, c.k, c.v};
    static const char *const gradients[] = {"dQ", "dK", "dV"};
    for (int i = 0; i < 3; i++)
        check_gradient(r, inputs[i]->grad, rt_size(inputs[i]),
                       reference_swap_heads(r, reference_array(r, "%s/%s", name, gradients[i])),
                       "%s %s", name, gradients[i]);
    check_gradient(r, c.theta->grad, rt_size(c.theta), reference_array(r, "%s/dtheta", name),
                   "%s dtheta", name);
    r->cases++;
}

void check_attention_file(reference *r)
{
    name_list cases = reference_members(r, "/");
    for (int i = 0; i < cases.count; i++)
        check_case(r, cases.names[i]);
}
