/* Positions that depend on content, and other encodings of 2025 and 2026, composed of ops. */

#include "reference.h"

#include "ops/ops.h"

#include <math.h>
#include <stdio.h>

enum { MOST_LEAVES = 12 };

/* A group of the file. Every leaf has a gradient in it. */
typedef struct content_case {
    reference *r;
    rt_graph *g;
    const char *name;
    rt_tensor *leaves[MOST_LEAVES];
    const char *names[MOST_LEAVES];
    int count;
} content_case;

static rt_tensor *leaf(content_case *c, const char *name)
{
    ck_assert_int_lt(c->count, MOST_LEAVES);
    c->names[c->count] = name;
    return c->leaves[c->count++] = reference_input(c->r, c->name, name);
}

static void check_result(content_case *c, rt_tensor *y)
{
    char gradient[64];
    const real *g = reference_upstream(c->r, y, reference_array(c->r, "%s/g", c->name), c->name);
    check_output(c->r, y, c->name, "y");
    check_status(c->r, rt_graph_backward_from(c->g, y, g), c->name);
    for (int i = 0; i < c->count; i++) {
        snprintf(gradient, sizeof gradient, "d%s", c->names[i]);
        check_input(c->r, c->leaves[i], c->name, gradient);
    }
}

/* Queries, keys and values, and causal attention between them. */
typedef struct heads {
    rt_tensor *q, *k, *v;
    int B, T, H, D;
} heads;

static heads heads_of(content_case *c)
{
    heads x = {leaf(c, "q"), leaf(c, "k"), leaf(c, "v"), 1, 1, 1, 1};
    x.B = x.q->shape[0];
    x.T = x.q->shape[1];
    x.H = x.q->shape[2];
    x.D = x.q->shape[3];
    return x;
}

static rt_tensor *attend(content_case *c, heads x, rt_tensor *key_bias)
{
    return rt_attention(c->g, x.q, x.k, x.v,
                        &(rt_attention_options){.causal = true,
                                                .scale = 1 / sqrt(x.D),
                                                .key_bias = key_bias});
}

static void check_key_bias(content_case *c)
{
    const heads x = heads_of(c);
    check_result(c, attend(c, x, leaf(c, "key_bias")));
}

/* The bias of a key is -F, the sum of softplus(-z) up to the key. */
static void check_fox(content_case *c)
{
    static const int tokens_last[] = {0, 2, 1};
    const heads x = heads_of(c);
    rt_tensor *z = rt_linear(c->g, leaf(c, "x"), leaf(c, "weight"), leaf(c, "bias"));
    check_output(c->r, rt_activate(c->g, z, RT_LOG_SIGMOID), c->name, "log_f");
    rt_tensor *of_heads = rt_scale(c->g, rt_permute(c->g, z, tokens_last), -1);
    rt_tensor *steps = rt_activate(c->g, of_heads, RT_SOFTPLUS);
    check_result(c, attend(c, x, rt_running_sum(c->g, steps, 2, NULL)));
}

static void check_constant_gates(content_case *c)
{
    const heads x = heads_of(c);
    array log_f = reference_array(c->r, "%s/log_f", c->name);
    real *step = reference_zeros(c->r, (size_t)(x.B * x.H * x.T));
    check_size(c->r, log_f, (size_t)x.H, "log_f");
    for (int i = 0; i < x.B * x.H * x.T; i++)
        step[i] = (real)-log_f.values[i / x.T % x.H];
    rt_tensor steps = rt_tensor_of(step, NULL, RT_SHAPE_OF(x.B, x.H, x.T));
    check_result(c, attend(c, x, rt_running_sum(c->g, &steps, 2, NULL)));
}

/* Angles of (B, T, H, P): each head's share of x by its length, through two maps and a
 * convolution. */
static rt_tensor *selective_angles(content_case *c, heads x)
{
    rt_tensor *in = leaf(c, "x");
    const int E = in->shape[2], share = E / x.H, P = x.D / 2;
    const double eps = reference_number(c->r, c->name, "epsilon");
    real *equal = reference_zeros(c->r, (size_t)share);
    for (int i = 0; i < share; i++)
        equal[i] = (real)(1 / sqrt(share));
    rt_tensor *weight = rt_graph_memory(c->g, 1, sizeof *weight);
    *weight = rt_tensor_of(equal, NULL, RT_SHAPE_OF(share));
    rt_tensor *shares = rt_reshape(c->g, in, RT_SHAPE_OF(x.B, x.T, x.H, share));
    rt_tensor *n =
        rt_reshape(c->g, rt_rms_norm(c->g, shares, weight, eps / share), RT_SHAPE_OF(x.B, x.T, E));
    rt_tensor *down = rt_linear(c->g, n, leaf(c, "down"), NULL);
    rt_tensor *up = rt_linear(c->g, down, leaf(c, "up"), NULL);
    rt_tensor *phi = rt_reshape(c->g, rt_depthwise_conv(c->g, up, leaf(c, "taps"), NULL),
                                RT_SHAPE_OF(x.B, x.T, x.H, P));
    if (reference_has(c->r, "%s/phi_bias", c->name))
        phi = rt_add(c->g, phi, rt_activate(c->g, leaf(c, "phi_bias"), RT_EXP));
    if (reference_has(c->r, "%s/gate_weight", c->name)) {
        rt_tensor *z = rt_linear(c->g, n, leaf(c, "gate_weight"), leaf(c, "gate_bias"));
        rt_tensor *gate =
            rt_reshape(c->g, rt_activate(c->g, z, RT_SIGMOID), RT_SHAPE_OF(x.B * x.T * x.H));
        rt_tensor *rows = rt_reshape(c->g, phi, RT_SHAPE_OF(x.B * x.T * x.H, P));
        phi = rt_reshape(c->g, rt_scale_heads(c->g, rows, gate), rt_tensor_shape(phi));
    }
    array temperature = reference_array(c->r, "%s/temperature", c->name);
    check_size(c->r, temperature, (size_t)P, "temperature");
    return rt_angles_fixed(c->g, rt_running_sum(c->g, phi, 1, NULL), temperature.values,
                           RT_SHAPE_OF(P));
}

static void check_selective(content_case *c)
{
    heads x = heads_of(c);
    rt_tensor *angles = selective_angles(c, x);
    check_status(c->r, rt_graph_status(c->g), c->name);
    const rt_rotation *rotation = rt_rotation_by_angles(c->g, angles, RT_HALF);
    x.q = rt_rope(c->g, x.q, rotation);
    x.k = rt_rope(c->g, x.k, rotation);
    check_output(c->r, angles, c->name, "angles");
    check_output(c->r, x.q, c->name, "rotated_q");
    check_output(c->r, x.k, c->name, "rotated_k");
    check_result(c, attend(c, x, NULL));
}

static void check_rope_of_angles(content_case *c)
{
    const rt_pairing pairing = strstr(c->name, "half") ? RT_HALF : RT_INTERLEAVED;
    rt_tensor *x = leaf(c, "x"), *angles = leaf(c, "angles");
    check_result(c, rt_rope(c->g, x, rt_rotation_by_angles(c->g, angles, pairing)));
}

static void check_key_shift(content_case *c)
{
    heads x = heads_of(c);
    const int R = (int)reference_number(c->r, c->name, "R");
    array theta = reference_array(c->r, "%s/theta", c->name);
    check_size(c->r, theta, (size_t)(R / 2), "theta");
    const rt_rotation *rotation = rt_rotation_fixed(c->g, theta.values, RT_SHAPE_OF(1, R / 2),
                                                    RT_HALF, 1, (rt_positions){.B = x.B, .T = x.T});
    x.q = rt_rope(c->g, x.q, rotation);
    x.k = rt_shift(c->g, rt_rope(c->g, x.k, rotation), R, NULL, NULL);
    check_result(c, attend(c, x, NULL));
}

static void check_pope(content_case *c)
{
    static const int heads_first[] = {0, 2, 1, 3}, features_first[] = {0, 2, 3, 1};
    heads x = heads_of(c);
    const rt_rotation *rotation = rt_rotation_learned(c->g, leaf(c, "theta"), RT_THETA_RAW, RT_HALF,
                                                      1, (rt_positions){.B = x.B, .T = x.T});
    rt_tensor *q = rt_polar(c->g, rt_activate(c->g, x.q, RT_SOFTPLUS), NULL);
    rt_tensor *k = rt_polar(c->g, rt_activate(c->g, x.k, RT_SOFTPLUS), leaf(c, "delta"));
    x.q = rt_rope(c->g, q, rotation);
    x.k = rt_rope(c->g, k, rotation);
    check_output(c->r,
                 rt_matmul(c->g, rt_permute(c->g, x.q, heads_first),
                           rt_permute(c->g, x.k, features_first)),
                 c->name, "scores");
    check_result(c, attend(c, x, NULL));
}

static void check_ssmax(content_case *c)
{
    heads x = heads_of(c);
    real *log_length = reference_zeros(c->r, (size_t)x.T);
    for (int t = 0; t < x.T; t++)
        log_length[t] = (real)log(t + 1);
    rt_tensor lengths = rt_tensor_of(log_length, NULL, RT_SHAPE_OF(x.T));
    rt_tensor *rows = rt_reshape(c->g, x.q, RT_SHAPE_OF(x.B, x.T, x.H * x.D));
    rt_tensor *scaled =
        rt_reshape(c->g, rt_scale_heads(c->g, rows, &lengths), RT_SHAPE_OF(x.B, x.T, x.H, x.D));
    x.q = rt_scale_heads(c->g, scaled, leaf(c, "s"));
    check_result(c, attend(c, x, NULL));
}

void check_content_case(reference *r, const char *name)
{
    static const struct {
        const char *name;
        void (*check)(content_case *c);
    } groups[] = {{"fox", check_fox},
                  {"fox_is_alibi", check_constant_gates},
                  {"key_bias", check_key_bias},
                  {"selective", check_selective},
                  {"selective_bias", check_selective},
                  {"selective_gate", check_selective},
                  {"rope_of_angles_half", check_rope_of_angles},
                  {"rope_of_angles_interleaved", check_rope_of_angles},
                  {"key_shift", check_key_shift},
                  {"pope", check_pope},
                  {"ssmax", check_ssmax}};
    content_case c = {.r = r, .g = r->graph, .name = name};
    rt_graph_clear(r->graph);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].name, name)) {
            groups[i].check(&c);
            r->cases++;
            return;
        }
    ck_abort_msg("%s: %s is an encoding that is not composed here", r->name, name);
}
