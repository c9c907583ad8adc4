#include "reference.h"

#include "models/transformer.h"

#include <check.h>
#include <string.h>

typedef struct linear_case {
    const char *name;
    rt_tensor *q, *k, *v, *theta;
    array query_positions, key_positions, mask;
    bool rope, key_softmax; /* key_softmax: keys are a softmax over the positions */
    rt_linear_form_options options;
} linear_case;

static rt_tensor *heads_leaf(reference *r, const char *name, const char *what)
{
    return reference_leaf(r, reference_swap_heads(r, reference_array(r, "%s/%s", name, what)));
}

static rt_attention_kind read_kind(reference *r, const char *name)
{
    static const struct {
        const char *word;
        rt_attention_kind kind;
    } kinds[] = {{"elu1", RT_ATTENTION_LINEAR_ELU},
                 {"shen_exp", RT_ATTENTION_LINEAR_SOFTMAX},
                 {"shen_softmax", RT_ATTENTION_LINEAR_SOFTMAX},
                 {"cosine", RT_ATTENTION_LINEAR_COSINE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (reference_says(r, name, "kind", kinds[i].word))
            return kinds[i].kind;
    ck_abort_msg("%s: %s is of a kind that rotor does not have", r->name, name);
}

static linear_case read_case(reference *r, const char *name)
{
    linear_case c = {.name = name};
    c.q = heads_leaf(r, name, "Q");
    c.k = heads_leaf(r, name, "K");
    c.v = heads_leaf(r, name, "V");
    c.theta = reference_leaf(r, reference_array(r, "%s/theta", name));
    c.query_positions = reference_array(r, "%s/q_positions", name);
    c.key_positions = reference_array(r, "%s/k_positions", name);
    c.mask = reference_array(r, "%s/key_mask", name);
    check_size(r, c.query_positions, (size_t)c.q->shape[1], "q_positions");
    check_size(r, c.key_positions, (size_t)c.k->shape[1], "k_positions");
    check_size(r, c.mask, rt_size(c.k) / (size_t)(c.k->shape[2] * c.k->shape[3]), "key_mask");
    uint8_t *mask = rt_arena_take(&r->memory, c.mask.size);
    for (size_t i = 0; i < c.mask.size; i++)
        mask[i] = c.mask.values[i] != 0;
    c.rope = reference_number(r, name, "rope") != 0;
    c.key_softmax = reference_says(r, name, "kind", "shen_softmax");
    c.options = (rt_linear_form_options){.kind = read_kind(r, name),
                                         .causal = reference_number(r, name, "causal") != 0,
                                         .key_mask = mask,
                                         .eps = reference_number(r, name, "eps")};
    return c;
}

static const rt_rotation *rotation(reference *r, const linear_case *c, const rt_tensor *x,
                                   array positions)
{
    const rt_pairing pairing =
        reference_says(r, c->name, "pairing", "half_split") ? RT_HALF : RT_INTERLEAVED;
    return rt_rotation_learned(r->graph, c->theta, RT_THETA_RAW, pairing, 1,
                               (rt_positions){.B = x->shape[0],
                                              .T = x->shape[1],
                                              .at = positions.values});
}

/* softmax over the visible positions of every feature. */
static rt_tensor *softmax_over_positions(reference *r, const linear_case *c)
{
    static const int positions_last[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    rt_tensor *x = rt_permute(r->graph, c->k, positions_last);
    const size_t T = (size_t)x->shape[3];
    const size_t rows = rt_rows(x) / (size_t)x->shape[0];
    for (size_t i = 0; i < rt_size(x); i++)
        if (c->mask.values[i / (rows * T) * T + i % T] == 0)
            x->data[i] = -RT_REAL_MAX; /* a masked key gets no share, hence no gradient */
    return rt_permute(r->graph, rt_softmax(r->graph, x), back);
}

/* The form of the Efficient Attention authors, which rotor's models do not offer: its
 * denominator is 1. */
static rt_tensor *shared_keys(reference *r, const linear_case *c)
{
    const rt_linear_attention_options o = {.key_mask = c->options.key_mask, .eps = c->options.eps};
    rt_tensor *q = rt_softmax(r->graph, c->q), *k = softmax_over_positions(r, c);
    rt_tensor *turned_q = c->rope ? rt_rope(r->graph, q, c->options.query_rotation) : q;
    rt_tensor *turned_k = c->rope ? rt_rope(r->graph, k, c->options.key_rotation) : k;
    return rt_linear_attention(r->graph, turned_q, turned_k, c->v, q, k, &o);
}

static void check_case(reference *r, const char *name)
{
    linear_case c = read_case(r, name);
    array out = reference_array(r, "%s/out", name);
    array g = reference_swap_heads(r, reference_array(r, "%s/g", name));
    rt_graph_clear(r->graph);
    if (c.rope) {
        c.options.query_rotation = rotation(r, &c, c.q, c.query_positions);
        c.options.key_rotation = rotation(r, &c, c.k, c.key_positions);
    }
    rt_tensor *result =
        c.key_softmax ? shared_keys(r, &c) : rt_linear_form(r->graph, c.q, c.k, c.v, &c.options);
    const real *upstream = reference_upstream(r, result, g, name);
    check_values(r, result->data, rt_size(result), reference_swap_heads(r, out), VALUE_TOLERANCE,
                 "%s out", name);
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

void check_linear_attention_file(reference *r)
{
    name_list cases = reference_members(r, "/");
    for (int i = 0; i < cases.count; i++)
        check_case(r, cases.names[i]);
}
