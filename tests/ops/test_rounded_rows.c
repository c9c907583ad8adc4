/* Products in bf16 of numbers that were rounded once, or are bf16-only, equal products that round
 * for themselves. */

#include "graphs.h"
#include "numbers.h"

#include "ops/engine.h"
#include "ops/ops.h"

SUITE(.may_leak = true)

#ifndef RT_DOUBLE

enum { ROWS = 300, IN = 24, WIDE = 40, OUT = 17 };

typedef struct maps {
    real x[ROWS * IN], w1[WIDE * IN], w2[OUT * WIDE], w3[OUT * WIDE];
    real dx[ROWS * IN], dw1[WIDE * IN], dw2[OUT * WIDE], dw3[OUT * WIDE];
    real y[2 * ROWS * OUT];
} maps;

#define BF16 "oneDNN and a processor with bf16"

static bool bf16(void)
{
    return rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_BF16).code == RT_OK;
}

/* Computes two maps of gelu(x w1^T). With `apart`, the activation is an op of its own, and each map
 * reads its own result with the same numbers. */
static void compute(maps *m, bool apart)
{
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(m->x, m->dx, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w1 = rt_tensor_of(m->w1, m->dw1, RT_SHAPE_OF(WIDE, IN));
    rt_tensor w2 = rt_tensor_of(m->w2, m->dw2, RT_SHAPE_OF(OUT, WIDE));
    rt_tensor w3 = rt_tensor_of(m->w3, m->dw3, RT_SHAPE_OF(OUT, WIDE));
    rt_tensor *h = apart ? rt_activate(g, rt_linear(g, &x, &w1, NULL), RT_GELU)
                         : rt_linear_activate(g, &x, &w1, NULL, RT_GELU);
    rt_tensor *h2 = apart ? rt_scale(g, h, 1) : h, *h3 = apart ? rt_scale(g, h, 1) : h;
    rt_tensor *y2 = rt_linear(g, h2, &w2, NULL), *y3 = rt_linear(g, h3, &w3, NULL);
    memcpy(m->y, y2->data, ROWS * OUT * sizeof *m->y);
    memcpy(m->y + ROWS * OUT, y3->data, ROWS * OUT * sizeof *m->y);
    rt_tensor *loss = rt_sum(g, rt_multiply(g, y2, y3));
    expect_ok(rt_graph_backward(g, loss));
}

static maps kept, fresh;

TEST_ROWS(rounding_rows_once_gives_the_bits_of_rounding_them_for_each_map, 0, IN_FLOAT)
{
    NEEDS(bf16(), BF16);
    fill(kept.x, ROWS * IN, 1);
    fill(kept.w1, WIDE * IN, 2);
    fill(kept.w2, OUT * WIDE, 4);
    fill(kept.w3, OUT * WIDE, 5);
    fresh = kept;
    compute(&kept, false);
    compute(&fresh, true);
    ck_assert(!memcmp(kept.y, fresh.y, sizeof kept.y));
    ck_assert(!memcmp(kept.dw2, fresh.dw2, sizeof kept.dw2));
    ck_assert(!memcmp(kept.dw3, fresh.dw3, sizeof kept.dw3));
    ck_assert(!memcmp(kept.dw1, fresh.dw1, sizeof kept.dw1));
    ck_assert(!memcmp(kept.dx, fresh.dx, sizeof kept.dx));
}

/* The values of a leaf are the caller's, who may change them. */
TEST_ROWS(a_leaf_keeps_no_rounded_copy, 0, IN_FLOAT)
{
    NEEDS(bf16(), BF16);
    fill(kept.x, ROWS * IN, 1);
    fill(kept.w1, WIDE * IN, 2);
    rt_tensor x = rt_tensor_of(kept.x, NULL, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w = rt_tensor_of(kept.w1, kept.dw1, RT_SHAPE_OF(WIDE, IN));
    rt_graph *g = new_graph();
    ck_assert_ptr_nonnull(rt_linear(g, &x, &w, NULL));
    ck_assert_ptr_null(x.rounded);
    rt_tensor *result = rt_scale(g, &x, 1);
    ck_assert_ptr_nonnull(rt_linear(g, result, &w, NULL));
    ck_assert_ptr_null(result->rounded); /* nor beside float numbers */
}

/* Tokens of more than one tile, and heads of which some share their keys. */
enum { B = 2, T = 300, H = 4, G = 2, D = 8, TOKENS = B * T, Q = H * D, K = G * D };

typedef struct layer {
    real x[TOKENS * Q], norm[Q], q[Q * Q], k[K * Q], v[K * Q], gate[Q * Q], up[Q * Q], down[Q * Q];
    real theta[H / 2 * D / 2];
} layer;

static layer values;

typedef struct way {
    bool alone, learns, half, activates;
} way;

/* x itself if nothing is to be rounded alone. */
static rt_tensor *product(rt_graph *g, rt_tensor *x, way w)
{
    return w.alone ? rt_for_products(g, x) : x;
}

static rt_tensor *rotated(rt_graph *g, rt_tensor *x, const rt_rotation *r, way w)
{
    rt_tensor *y = rt_rope(g, x, r), *z = product(g, y, w);
    if (w.alone)
        rt_graph_release(g, x);
    return z;
}

static rt_tensor *heads_of(rt_graph *g, rt_tensor *x, real *weight, real *grad, int heads)
{
    rt_tensor *w = rt_graph_memory(g, 1, sizeof *w);
    *w = rt_tensor_of(weight, grad, RT_SHAPE_OF(heads * D, Q));
    return rt_reshape(g, rt_linear(g, x, w, NULL), RT_SHAPE_OF(B, T, heads, D));
}

static rt_tensor *feed(rt_graph *g, rt_tensor *x, layer *l, layer *d, way w)
{
    rt_tensor *gate = rt_graph_memory(g, 1, sizeof *gate), *up = rt_graph_memory(g, 1, sizeof *up);
    *gate = rt_tensor_of(l->gate, d->gate, RT_SHAPE_OF(Q, Q));
    *up = rt_tensor_of(l->up, d->up, RT_SHAPE_OF(Q, Q));
    if (w.activates)
        return product(g, rt_linear_activate(g, x, up, NULL, RT_GELU), w);
    rt_tensor *gates = rt_linear(g, x, gate, NULL);
    return product(g, rt_glu(g, gates, rt_linear(g, x, up, NULL), RT_SILU), w);
}

/* A layer of a decoder; its gradients are added to d. */
static void pass_layer(real *y, layer *l, layer *d, way w)
{
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(l->x, d->x, RT_SHAPE_OF(B, T, Q));
    rt_tensor weight = rt_tensor_of(l->norm, d->norm, RT_SHAPE_OF(Q));
    rt_tensor down = rt_tensor_of(l->down, d->down, RT_SHAPE_OF(Q, Q));
    rt_tensor theta = rt_tensor_of(l->theta, w.learns ? d->theta : NULL, RT_SHAPE_OF(G, D / 2));
    const rt_rotation *r =
        rt_rotation_learned(g, &theta, RT_THETA_RAW, w.half ? RT_HALF : RT_INTERLEAVED, 1,
                            (rt_positions){.B = B, .T = T, .offset = 0});
    const rt_attention_options options = {.causal = true};
    rt_tensor *h = product(g, rt_rms_norm(g, &x, &weight, 1e-5), w);
    rt_tensor *q = rotated(g, heads_of(g, h, l->q, d->q, H), r, w);
    rt_tensor *k = rotated(g, heads_of(g, h, l->k, d->k, G), r, w);
    rt_tensor *v = product(g, heads_of(g, h, l->v, d->v, G), w);
    rt_tensor *found = rt_attention(g, q, k, v, &options);
    rt_tensor *flat = rt_reshape(g, product(g, found, w), RT_SHAPE_OF(B, T, Q));
    rt_tensor *out = made(g, rt_linear_onto(g, &x, feed(g, flat, l, d, w), &down, NULL));
    memcpy(y, out->data, rt_size(out) * sizeof *y);
    expect_ok(rt_graph_backward(g, rt_sum(g, rt_multiply(g, out, out))));
}

static const way ways[] = {{.half = true},
                           {.learns = true},
                           {.learns = true, .half = true},
                           {.activates = true, .learns = true}};

TEST_ROWS(dropping_the_float_numbers_of_rounded_rows_changes_no_bit, 0, IN_FLOAT ? ROWS(ways) : 0)
{
    static layer gradients[2];
    static real y[2][TOKENS * Q];
    NEEDS(bf16(), BF16);
    fill((real *)&values, sizeof values / sizeof(real), 11);
    memset(gradients, 0, sizeof gradients);
    for (int alone = 0; alone < 2; alone++) {
        way w = ways[_i];
        w.alone = alone;
        pass_layer(y[alone], &values, &gradients[alone], w);
    }
    ck_assert(!memcmp(y[0], y[1], sizeof y[0]));
    ck_assert(!memcmp(&gradients[0], &gradients[1], sizeof gradients[0]));
    ck_assert(!ways[_i].learns || gradients[0].theta[0] != 0);
}

static rt_tensor normed(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor **y)
{
    *y = rt_rms_norm(g, x, weight, 1e-5);
    return **y;
}

TEST_ROWS(only_products_accept_a_tensor_of_rounded_rows, 0, IN_FLOAT)
{
    static real dx[ROWS * IN];
    NEEDS(bf16(), BF16);
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(kept.x, dx, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w = rt_tensor_of(kept.w1, kept.dw1, RT_SHAPE_OF(WIDE, IN)), *y;
    rt_tensor weight = rt_tensor_of(kept.w2, NULL, RT_SHAPE_OF(IN));
    const rt_tensor before = normed(g, &x, &weight, &y);
    rt_tensor *rounded = rt_for_products(g, y);
    ck_assert_ptr_ne(rounded, y);
    ck_assert_ptr_null(rounded->data);
    ck_assert_ptr_null(y->data);
    ck_assert_ptr_eq(rt_for_products(g, rounded), rounded);
    ck_assert_ptr_nonnull(rt_linear(g, rounded, &w, NULL));
    ck_assert_ptr_eq(rt_scale(g, &x, 1)->data, before.data);
    ck_assert_ptr_null(rt_scale(g, rounded, 1));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[scale] x has shape (300, 24), but is bf16-only; only "
                     "matrix products accept it");
    rt_graph_clear(g);
    normed(g, &x, &weight, &y);
    ck_assert_ptr_nonnull(rt_for_products(g, y));
    ck_assert_ptr_null(rt_linear(g, y, &w, NULL));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[linear] x has shape (300, 24), but its data was released");
}

/* Leaves are the caller's, the backward of e^x reads its result, and without backward nothing is
 * kept for long. */
TEST_ROWS(float_numbers_that_other_ops_read_are_kept, 0, IN_FLOAT)
{
    static real dx[ROWS * IN];
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(kept.x, dx, RT_SHAPE_OF(ROWS, IN));
    rt_tensor weight = rt_tensor_of(kept.w2, NULL, RT_SHAPE_OF(IN)), *y;
    ck_assert_int_eq(rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT).code, RT_OK);
    normed(g, &x, &weight, &y);
    ck_assert_ptr_eq(rt_for_products(g, y), y); /* in float nothing is rounded */
    NEEDS(bf16(), BF16);
    rt_tensor *power = rt_activate(g, &x, RT_EXP);
    ck_assert_ptr_eq(rt_for_products(g, &x), &x);
    ck_assert_ptr_eq(rt_for_products(g, power), power);
    rt_graph_record(g, false);
    ck_assert_ptr_eq(rt_for_products(g, y), y);
    normed(g, &x, &weight, &y);
    ck_assert_ptr_eq(rt_for_products(g, y), y);
    rt_tensor w = rt_tensor_of(kept.w1, kept.dw1, RT_SHAPE_OF(WIDE, IN));
    ck_assert_ptr_null(rt_linear_activate(g, y, &w, NULL, RT_GELU)->rounded);
}

/* Keys of distances are multiplied with queries in parts that are no product of bf16 numbers. */
TEST_ROWS(attention_refuses_rounded_queries_with_keys_of_distances, 0, IN_FLOAT)
{
    static const int16_t classes[] = {0, 1, 2};
    static real numbers[B * T * H * D], gradient[B * T * H * D];
    NEEDS(bf16(), BF16);
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(numbers, gradient, RT_SHAPE_OF(B, T, H, D));
    rt_tensor factor = rt_tensor_of(values.norm, NULL, RT_SHAPE_OF(D));
    rt_tensor keys = rt_tensor_of(values.q, NULL, RT_SHAPE_OF(3, D));
    const rt_distances distances = {1, 3, classes};
    const rt_attention_options options = {.distances = &distances, .distance_keys = &keys};
    rt_tensor *q = rt_for_products(g, rt_rms_norm(g, &x, &factor, 1e-5));
    ck_assert_ptr_null(rt_attention(g, q, &x, &x, &options));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[attention] q has shape (2, 300, 4, 8), but is bf16-only; "
                     "only matrix products accept it");
}

enum { LABELS = 5000 }; /* more than are rounded at once */

typedef struct head {
    real x[ROWS * IN], w[LABELS * IN], bias[LABELS], dx[ROWS * IN], dw[LABELS * IN], dbias[LABELS];
} head;

static head with_float, with_rounded;

/* Reader that prevents a bf16-only gradient of the logits. */
typedef enum other_reader {
    NONE,
    AN_OP_BETWEEN,
    A_BIAS,
    AN_OLDER_READER,
    A_NEWER_READER
} other_reader;

/* The bytes that backward adds to the graph. */
static size_t bytes_of_head(head *h, other_reader reader)
{
    static int32_t labels[ROWS];
    for (int r = 0; r < ROWS; r++)
        labels[r] = r % 7 ? r * 16 % LABELS : RT_IGNORE;
    memset(h->dx, 0, sizeof h->dx + sizeof h->dw + sizeof h->dbias);
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(h->x, h->dx, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w = rt_tensor_of(h->w, h->dw, RT_SHAPE_OF(LABELS, IN));
    rt_tensor b = rt_tensor_of(h->bias, h->dbias, RT_SHAPE_OF(LABELS));
    rt_tensor *logits = rt_linear(g, &x, &w, reader == A_BIAS ? &b : NULL), *other = NULL;
    if (reader == AN_OLDER_READER)
        other = rt_scale(g, rt_sum(g, logits), 0);
    rt_tensor *read = reader == AN_OP_BETWEEN ? rt_scale(g, logits, 1) : logits;
    rt_tensor *loss = rt_cross_entropy(g, read, labels, 0.1, ROWS);
    if (reader == A_NEWER_READER)
        other = rt_scale(g, rt_sum(g, logits), 0);
    loss = other ? rt_add(g, loss, other) : loss;
    const size_t before = rt_graph_peak(g);
    expect_ok(rt_graph_backward(g, loss));
    return rt_graph_peak(g) - before;
}

TEST_ROWS(a_gradient_of_logits_that_only_products_read_is_stored_in_bf16, AN_OP_BETWEEN,
          IN_FLOAT ? A_NEWER_READER + 1 : 0)
{
    const size_t rounded = (size_t)ROWS * LABELS * sizeof(uint16_t);
    NEEDS(bf16(), BF16);
    fill(with_float.x, ROWS * IN, 8);
    fill(with_float.w, LABELS * IN, 9);
    memset(with_float.bias, 0, sizeof with_float.bias);
    with_rounded = with_float;
    ck_assert_uint_ge(bytes_of_head(&with_float, (other_reader)_i), 2 * rounded);
    const size_t taken = bytes_of_head(&with_rounded, NONE);
    ck_assert_uint_ge(taken, rounded);
    ck_assert_uint_lt(taken, rounded + rounded / 2);
    ck_assert(!memcmp(with_float.dx, with_rounded.dx, sizeof with_float.dx));
    ck_assert(!memcmp(with_float.dw, with_rounded.dw, sizeof with_float.dw));
    ck_assert(with_rounded.dw[0] != 0);
}

TEST_ROWS(threads_read_the_rounded_rows_of_their_part, 0, IN_FLOAT)
{
    enum { SIDE = 256 };
    static real x_data[ROWS * SIDE], w_data[SIDE * SIDE];
    int parts = 0;
    const rt_threads crew = {run_backwards, &parts};
    NEEDS(bf16(), BF16);
    fill(x_data, ROWS * SIDE, 6);
    fill(w_data, SIDE * SIDE, 7);
    rt_tensor x = rt_tensor_of(x_data, NULL, RT_SHAPE_OF(ROWS, SIDE));
    rt_tensor w = rt_tensor_of(w_data, NULL, RT_SHAPE_OF(SIDE, SIDE));
    rt_graph *g = new_graph();
    rt_graph_record(g, false);
    const rt_tensor *alone = rt_linear(g, &x, &w, NULL);
    rt_graph_set_threads(g, &crew);
    const rt_tensor *shared = rt_linear(g, &x, &w, NULL);
    ck_assert_int_gt(parts, 0);
    ck_assert(!memcmp(alone->data, shared->data, rt_size(alone) * sizeof *alone->data));
}

#endif
