/* Attention of every kind: softmax and linear. */

#include "reference.h"

#include "models/transformer.h"

typedef struct attention_case {
    const char *name;
    rt_tensor *q, *k, *v, *theta;
    array query_positions, key_positions;
    const uint8_t *mask; /* (B, Tk) */
} attention_case;

static attention_case read_case(reference *r, const char *name)
{
    attention_case c = {.name = name};
    rt_graph_clear(r->graph);
    c.q = reference_heads(r, name, "Q");
    c.k = reference_heads(r, name, "K");
    c.v = reference_heads(r, name, "V");
    c.theta = reference_input(r, name, "theta");
    c.query_positions = reference_array(r, "%s/q_positions", name);
    c.key_positions = reference_array(r, "%s/k_positions", name);
    check_size(r, c.query_positions, (size_t)c.q->shape[1], "q_positions");
    check_size(r, c.key_positions, (size_t)c.k->shape[1], "k_positions");
    c.mask = reference_mask(r, (size_t)c.k->shape[0] * (size_t)c.k->shape[1], "%s/key_mask", name);
    return c;
}

/* The rotation at the positions of x. */
static const rt_rotation *rotation(reference *r, const attention_case *c, const rt_tensor *x,
                                   array positions)
{
    const rt_pairing pairing =
        reference_says(r, c->name, "pairing", "half_split") ? RT_HALF : RT_INTERLEAVED;
    const rt_positions at = {.B = x->shape[0], .T = x->shape[1], .at = positions.values};
    return rt_rotation_learned(r->graph, c->theta, RT_THETA_RAW, pairing, 1, at);
}

static void check_result(reference *r, const attention_case *c, rt_tensor *result)
{
    rt_tensor *const inputs[] = {c->q, c->k, c->v};
    static const char *const gradients[] = {"dQ", "dK", "dV"};
    array out = reference_array(r, "%s/out", c->name);
    array g = reference_swap_heads(r, reference_array(r, "%s/g", c->name));
    const real *upstream = reference_upstream(r, result, g, c->name);
    check_values(r, result->data, rt_size(result), reference_swap_heads(r, out), VALUE_TOLERANCE,
                 "%s out", c->name);
    check_status(r, rt_graph_backward_from(r->graph, result, upstream), c->name);
    for (int i = 0; i < 3; i++)
        check_gradient(r, inputs[i]->grad, rt_size(inputs[i]),
                       reference_swap_heads(r, reference_array(r, "%s/%s", c->name, gradients[i])),
                       "%s %s", c->name, gradients[i]);
    check_input(r, c->theta, c->name, "dtheta");
    r->cases++;
}

void check_attention_case(reference *r, const char *name)
{
    attention_case c = read_case(r, name);
    rt_tensor *q = c.q, *k = c.k, *v = c.v;
    const size_t weights = rt_size(q) / (size_t)q->shape[3] * (size_t)k->shape[1];
    rt_attention_options o = {.scale = reference_number(r, name, "scale"),
                              .causal = reference_number(r, name, "causal") != 0,
                              .key_mask = c.mask,
                              .query_positions = c.query_positions.values,
                              .key_positions = c.key_positions.values,
                              .probabilities = reference_zeros(r, weights)};
    if (!reference_says(r, name, "alibi", "none")) {
        array slopes = reference_array(r, "%s/slopes", name);
        check_size(r, slopes, (size_t)c.q->shape[2], "slopes");
        o.slopes = slopes.values;
    }
    if (reference_number(r, name, "rope") != 0) {
        const rt_rotation *of_keys = rotation(r, &c, k, c.key_positions);
        q = rt_rope(r->graph, q, rotation(r, &c, q, c.query_positions));
        k = rt_rope(r->graph, k, of_keys);
        if (reference_number(r, name, "rope_value") != 0)
            v = rt_rope(r->graph, v, of_keys);
    }
    check_result(r, &c, rt_attention(r->graph, q, k, v, &o));
    check_values(r, o.probabilities, weights, reference_array(r, "%s/probs", name), VALUE_TOLERANCE,
                 "%s probs", name);
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

/* The form of the Efficient Attention authors, which rotor's models do not offer: keys are a
 * softmax over the visible positions of every feature, and the denominator is 1. */
static rt_tensor *shared_keys(reference *r, const attention_case *c,
                              const rt_linear_form_options *form)
{
    static const int positions_last[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    const rt_linear_attention_options o = {.key_mask = c->mask, .eps = form->eps};
    rt_tensor *q = rt_softmax(r->graph, c->q), *x = rt_permute(r->graph, c->k, positions_last);
    const size_t T = (size_t)x->shape[3], rows = rt_rows(x) / (size_t)x->shape[0];
    for (size_t i = 0; i < rt_size(x); i++)
        if (!c->mask[i / (rows * T) * T + i % T])
            x->data[i] = -RT_REAL_MAX; /* a masked key gets no share, hence no gradient */
    rt_tensor *k = rt_permute(r->graph, rt_softmax(r->graph, x), back);
    rt_tensor *turned_q = form->query_rotation ? rt_rope(r->graph, q, form->query_rotation) : q;
    rt_tensor *turned_k = form->key_rotation ? rt_rope(r->graph, k, form->key_rotation) : k;
    return rt_linear_attention(r->graph, turned_q, turned_k, c->v, q, k, &o);
}

void check_linear_attention_case(reference *r, const char *name)
{
    const attention_case c = read_case(r, name);
    rt_linear_form_options o = {.kind = read_kind(r, name),
                                .causal = reference_number(r, name, "causal") != 0,
                                .key_mask = c.mask,
                                .eps = reference_number(r, name, "eps")};
    if (reference_number(r, name, "rope") != 0) {
        o.query_rotation = rotation(r, &c, c.q, c.query_positions);
        o.key_rotation = rotation(r, &c, c.k, c.key_positions);
    }
    check_result(r, &c,
                 reference_says(r, name, "kind", "shen_softmax")
                     ? shared_keys(r, &c, &o)
                     : rt_linear_form(r->graph, c.q, c.k, c.v, &o));
}
