/* A call of every op, with arguments that mostly fit. A new op gets a function and a row. */

#include "torture/ops_program.h"

#include <stddef.h>

typedef rt_tensor *call(program *p, arrays *a);

static rt_tensor *call_add(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_tensor *y = chance(p, 30) ? x : fitting(p, RT_SHAPE_OF(columns(x)));
    return rt_add(p->g, x, y);
}

static rt_tensor *call_multiply(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_tensor *y = chance(p, 30) ? x : fitting(p, shape_of(x));
    return rt_multiply(p->g, x, y);
}

static rt_tensor *call_scale(program *p, arrays *a)
{
    (void)a;
    return rt_scale(p->g, any(p), number(p));
}

static rt_tensor *call_exp(program *p, arrays *a)
{
    (void)a;
    return rt_exp(p->g, any(p));
}

static rt_tensor *call_gelu(program *p, arrays *a)
{
    (void)a;
    return rt_gelu(p->g, any(p));
}

static rt_activation activation(program *p)
{
    return (rt_activation)whole(p, RT_GELU, RT_ELU_PLUS_ONE);
}

static rt_tensor *call_activate(program *p, arrays *a)
{
    (void)a;
    return rt_activate(p->g, any(p), activation(p));
}

static rt_tensor *call_dropout(program *p, arrays *a)
{
    (void)a;
    return rt_dropout(p->g, any(p), share(p));
}

static rt_tensor *call_reshape(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_shape shape = RT_SHAPE_OF(x ? (int)rt_size(x) : 1);
    if (chance(p, 50))
        shape = (rt_shape){2, {axis(x, 0), x ? (int)rt_size(x) / axis(x, 0) : 1, 1, 1}};
    if (hostile(p, 20))
        shape = spoiled(p, shape);
    if (hostile(p, 10))
        shape.ndim = whole(p, -1, 5);
    return rt_reshape(p->g, x, shape);
}

static rt_tensor *call_permute(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    int order[RT_MAX_AXES] = {0, 1, 2, 3};
    const int ndim = x ? x->ndim : 0;
    for (int i = ndim - 1; i > 0; i--) {
        const int j = below(p, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    if (hostile(p, 20))
        order[below(p, RT_MAX_AXES)] = whole(p, -1, 4);
    return rt_permute(p->g, x, hostile(p, 5) ? NULL : order);
}

static rt_tensor *call_sum(program *p, arrays *a)
{
    (void)a;
    return rt_sum(p->g, any(p));
}

static rt_tensor *call_mean(program *p, arrays *a)
{
    (void)a;
    return rt_mean(p->g, any(p));
}

static rt_tensor *call_pool(program *p, arrays *a)
{
    (void)a;
    return rt_pool(p->g, with_axes(p, 3),
                   (rt_pooling)(hostile(p, 10) ? whole(p, -1, 4) : below(p, 3)), NULL);
}

static rt_tensor *call_matmul(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = with_axes(p, 2 + below(p, 3));
    return rt_matmul(p->g, x, fitting(p, RT_SHAPE_OF(columns(x), 1 + below(p, 5))));
}

static rt_tensor *call_linear(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    const int out = 1 + below(p, 5);
    rt_tensor *weight = fitting(p, RT_SHAPE_OF(out, columns(x)));
    rt_tensor *bias = chance(p, 40) ? NULL : fitting(p, RT_SHAPE_OF(out));
    rt_shape shape = shape_of(x);
    switch (below(p, 3)) {
    case 0:
        return rt_linear(p->g, x, weight, bias);
    case 1:
        return rt_linear_activate(p->g, x, weight, bias, activation(p));
    default:
        if (shape.ndim > 0 && shape.ndim <= RT_MAX_AXES)
            shape.axis[shape.ndim - 1] = out;
        return rt_linear_onto(p->g, fitting(p, shape), x, weight, bias);
    }
}

static rt_tensor *call_layer_norm(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_tensor *weight = fitting(p, RT_SHAPE_OF(columns(x)));
    return rt_layer_norm(p->g, x, weight, fitting(p, RT_SHAPE_OF(columns(x))), share(p));
}

static rt_tensor *call_rms_norm(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    return rt_rms_norm(p->g, x, fitting(p, RT_SHAPE_OF(columns(x))), share(p));
}

static rt_tensor *call_glu(program *p, arrays *a)
{
    (void)a;
    rt_tensor *gate = any(p);
    rt_tensor *x = chance(p, 20) ? gate : fitting(p, shape_of(gate));
    return rt_glu(p->g, gate, x, activation(p));
}

static rt_tensor *call_rows(program *p, arrays *a)
{
    (void)a;
    switch (below(p, 3)) {
    case 0:
        return rt_softmax(p->g, any(p));
    case 1:
        return rt_log_softmax(p->g, any(p));
    default:
        return rt_normalize(p->g, any(p));
    }
}

static rt_tensor *call_embedding(program *p, arrays *a)
{
    rt_tensor *table = with_axes(p, 2);
    rt_shape shape = shape_of_axes(p, below(p, 4));
    for (size_t i = 0, count = rt_shape_size(shape); i < count && i < ARRAY; i++)
        a->ids[i] = hostile(p, 1) ? whole(p, -1, 9) : below(p, axis(table, 0));
    if (hostile(p, 10))
        shape = spoiled(p, shape);
    if (hostile(p, 10))
        shape.ndim = whole(p, -1, 5);
    return rt_embedding(p->g, table, hostile(p, 3) ? NULL : a->ids, shape, whole(p, -1, 3));
}

static rt_tensor *call_cross_entropy(program *p, arrays *a)
{
    rt_tensor *logits = any(p);
    for (int i = 0; i < ARRAY; i++)
        a->ids[i] = i % 3 ? i % columns(logits) : RT_IGNORE;
    if (hostile(p, 10))
        a->ids[below(p, 8)] = whole(p, -1, 9);
    const int32_t *labels = hostile(p, 5) ? NULL : a->ids;
    const double smoothing = share(p);
    if (logits && labels && rt_shape_size(rt_tensor_shape(logits)))
        (void)rt_count_correct(logits, labels);
    return rt_cross_entropy(p->g, logits, labels, smoothing,
                            hostile(p, 10) ? number(p) : 1 + below(p, 5));
}

static const rt_rotation *decayed(program *p, const rt_tensor *x, const rt_rotation *r)
{
    const double scale = hostile(p, 20) ? number(p) : 1 + below(p, 9);
    return rt_rotation_decayed(p->g, r, hostile(p, 10) ? whole(p, -1, 9) : axis(x, 1), scale);
}

static rt_tensor *call_rope(program *p, arrays *a)
{
    rt_tensor *x = with_axes(p, 4);
    const int heads = axis(x, 2), pairs = 1 + below(p, axis(x, 3) / 2 + 1);
    const double magnitude = hostile(p, 10) ? number(p) : 1;
    const rt_pairing pairing = (rt_pairing)whole(p, RT_INTERLEAVED, RT_HALF);
    if (chance(p, 25)) {
        double theta[MOST_ELEMENTS];
        for (int i = 0; i < pairs; i++)
            theta[i] = number(p);
        rt_status status = rt_rotation_table_init(&a->table, theta, pairs, pairing, magnitude);
        if (!status.code)
            status = rt_rotation_reserve(&a->table, 1 + below(p, 9));
        const rt_rotation *r = status.code ? NULL : &a->table.rotation;
        return rt_rope(p->g, x, chance(p, 50) ? decayed(p, x, r) : r);
    }
    rt_tensor *theta = fitting(p, chance(p, 50) ? RT_SHAPE_OF(pairs) : RT_SHAPE_OF(heads, pairs));
    for (int i = 0; i < FILLED; i++)
        a->positions[i] = i;
    a->positions[below(p, 4)] = number(p);
    const bool wrong = hostile(p, 10);
    const int B = wrong ? whole(p, -1, 3) : axis(x, 0), T = wrong ? whole(p, -1, 3) : axis(x, 1);
    const bool listed = (double)B * T <= ARRAY; /* a list of positions is as long as it must be */
    const rt_positions positions = {.at = listed && chance(p, 50) ? a->positions : NULL,
                                    .per_sequence = chance(p, 30),
                                    .offset = number(p)};
    const rt_theta_form form = (rt_theta_form)whole(p, RT_THETA_LOG, RT_THETA_RAW);
    rt_rotation *r = rt_rotation_learned(p->g, theta, form, pairing, magnitude, B, T, positions);
    return rt_rope(p->g, x, chance(p, 30) ? decayed(p, x, r) : r);
}

/* Positions, a mask and classes of distances for sequences of up to 64 tokens. */
static void fill_arrays(program *p, arrays *a)
{
    const int reach = 1 + below(p, 4), classes = 1 + below(p, 5);
    for (int i = 0; i < FILLED; i++) {
        a->positions[i] = i;
        a->mask[i] = chance(p, 80);
        a->slopes[i] = 0.5;
        a->level[i] = (real)i;
        a->classes[i] = (int16_t)(i % classes);
    }
    if (hostile(p, 20))
        a->positions[below(p, 4)] = number(p);
    if (hostile(p, 10))
        a->slopes[below(p, 2)] = number(p);
    if (hostile(p, 10))
        a->classes[below(p, 2 * reach + 1)] = (int16_t)whole(p, -1, 9);
    a->distances = (rt_distances){hostile(p, 10) ? whole(p, -1, 9) : reach,
                                  hostile(p, 10) ? whole(p, -1, 9) : classes,
                                  hostile(p, 5) ? NULL : a->classes};
    if (a->distances.reach > FILLED / 2 - 1) /* the array is as long as it is said to be */
        a->distances.reach = reach;
}

static rt_tensor *call_attention(program *p, arrays *a)
{
    rt_tensor *q = with_axes(p, 4);
    const int B = axis(q, 0), H = axis(q, 2), D = axis(q, 3), T = 1 + below(p, 6);
    const int G = chance(p, 30) ? 1 + below(p, H) : H; /* which H need not be a multiple of */
    rt_tensor *k = chance(p, 30) ? q : fitting(p, RT_SHAPE_OF(B, T, G, D));
    rt_tensor *v =
        chance(p, 30) ? k : fitting(p, RT_SHAPE_OF(B, axis(k, 1), axis(k, 2), 1 + below(p, 4)));
    fill_arrays(p, a);
    rt_attention_options o = {.scale = chance(p, 50) ? 0 : number(p),
                              .causal = chance(p, 40),
                              .window = chance(p, 30) ? whole(p, hostile(p, 5) ? -1 : 0, 4) : 0,
                              .key_mask = chance(p, 40) ? a->mask : NULL,
                              .query_positions = chance(p, 30) ? a->positions : NULL,
                              .key_positions = chance(p, 30) ? a->positions : NULL,
                              .slopes = chance(p, 20) ? a->slopes : NULL,
                              .dropout = chance(p, 30) ? share(p) : 0};
    if (chance(p, 30)) {
        const int classes =
            a->distances.classes > 0 && a->distances.classes < 64 ? a->distances.classes : 1;
        o.distances = &a->distances;
        o.distance_bias = chance(p, 50) ? fitting(p, RT_SHAPE_OF(classes, H)) : NULL;
        o.distance_keys = chance(p, 50) ? fitting(p, RT_SHAPE_OF(classes, D)) : NULL;
    }
    if (chance(p, 20) && B * H * axis(q, 1) * axis(k, 1) <= ARRAY)
        o.probabilities = a->probabilities;
    return rt_attention(p->g, q, k, v, hostile(p, 5) ? NULL : &o);
}

static rt_tensor *call_linear_attention(program *p, arrays *a)
{
    rt_tensor *q = with_axes(p, 4);
    const int B = axis(q, 0), H = axis(q, 2), D = axis(q, 3);
    const bool causal = chance(p, 40);
    const int T = causal ? axis(q, 1) : 1 + below(p, 6);
    rt_tensor *k = fitting(p, RT_SHAPE_OF(B, T, H, D));
    rt_tensor *v = fitting(p, RT_SHAPE_OF(B, T, H, 1 + below(p, 4)));
    fill_arrays(p, a);
    rt_linear_attention_options o = {.causal = causal,
                                     .key_mask = chance(p, 40) ? a->mask : NULL,
                                     .constant = share(p),
                                     .eps = share(p)};
    if (chance(p, 40))
        k = rt_key_exp(p->g, k, o.key_mask, causal, NULL, hostile(p, 5) ? NULL : &o.level);
    rt_tensor *other_q = chance(p, 60) ? q : fitting(p, shape_of(q));
    rt_tensor *other_k = chance(p, 60) ? k : fitting(p, shape_of(k));
    return rt_linear_attention(p->g, q, k, v, other_q, other_k, hostile(p, 5) ? NULL : &o);
}

static const struct {
    const char *name;
    call *call;
} calls[] = {
    {"add", call_add},
    {"multiply", call_multiply},
    {"scale", call_scale},
    {"exp", call_exp},
    {"gelu", call_gelu},
    {"activate", call_activate},
    {"dropout", call_dropout},
    {"reshape", call_reshape},
    {"permute", call_permute},
    {"sum", call_sum},
    {"mean", call_mean},
    {"pool", call_pool},
    {"matmul", call_matmul},
    {"linear", call_linear},
    {"layer_norm", call_layer_norm},
    {"rms_norm", call_rms_norm},
    {"glu", call_glu},
    {"softmax, log_softmax or normalize", call_rows},
    {"embedding", call_embedding},
    {"cross_entropy", call_cross_entropy},
    {"rope", call_rope},
    {"attention", call_attention},
    {"linear_attention", call_linear_attention},
};
enum { CALLS = sizeof calls / sizeof *calls };

rt_tensor *call_any(program *p, arrays *a)
{
    const int which = below(p, CALLS);
    note(p, "%s%s", *p->trace ? ", " : p->hostile ? "hostile: " : "", calls[which].name);
    return calls[which].call(p, a);
}
