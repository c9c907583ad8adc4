/* Tiled attention against the plain formula, with sizes that need several tiles. */

#include "ops/ops.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { B = 2, H = 4, D = 3, E = 2 };

typedef struct problem {
    int Tq, Tk, G;
    rt_attention_options options;
    real *q, *k, *v, *dq, *dk, *dv, *upstream;
    size_t q_size, k_size, v_size, out_size;
} problem;

static real *numbers(size_t size, uint32_t stream, double scale)
{
    real *x = rt_alloc(size, sizeof *x);
    for (size_t i = 0; i < size; i++)
        x[i] = scale * rt_random_normal((rt_random){3, stream, RT_STREAM_CHECK}, i);
    return x;
}

static problem new_grouped_problem(int Tq, int Tk, int G, rt_attention_options options,
                                   double scale)
{
    problem p = {.Tq = Tq, .Tk = Tk, .G = G, .options = options};
    p.q_size = (size_t)B * (size_t)Tq * H * D;
    p.k_size = (size_t)B * (size_t)Tk * (size_t)G * D;
    p.v_size = (size_t)B * (size_t)Tk * (size_t)G * E;
    p.out_size = (size_t)B * (size_t)Tq * H * E;
    p.q = numbers(p.q_size, 1, scale);
    p.k = numbers(p.k_size, 2, scale);
    p.v = numbers(p.v_size, 3, 1);
    p.upstream = numbers(p.out_size, 4, 1);
    p.dq = rt_alloc(p.q_size, sizeof(real));
    p.dk = rt_alloc(p.k_size, sizeof(real));
    p.dv = rt_alloc(p.v_size, sizeof(real));
    return p;
}

static problem new_problem(int Tq, int Tk, rt_attention_options options, double scale)
{
    return new_grouped_problem(Tq, Tk, H, options, scale);
}

static void free_problem(problem *p)
{
    real *const blocks[] = {p->q, p->k, p->v, p->dq, p->dk, p->dv, p->upstream};
    for (int i = 0; i < 7; i++)
        rt_free(blocks[i]);
}

/* Memory that the op is given as an earlier round left it. */
static void leave_numbers(rt_graph *g, size_t count)
{
    real *old = rt_graph_memory(g, count, sizeof *old);
    for (size_t i = 0; i < count; i++)
        old[i] = (real)NAN;
    rt_graph_clear(g);
}

/* Forward and backward by the op; the result is copied to out. */
static void run(problem *p, real *out)
{
    rt_graph *g = rt_graph_new();
    leave_numbers(g, 4 * p->out_size + 1000);
    rt_tensor q = rt_tensor_of(p->q, p->dq, RT_SHAPE_OF(B, p->Tq, H, D));
    rt_tensor k = rt_tensor_of(p->k, p->dk, RT_SHAPE_OF(B, p->Tk, p->G, D));
    rt_tensor v = rt_tensor_of(p->v, p->dv, RT_SHAPE_OF(B, p->Tk, p->G, E));
    rt_tensor *y = rt_attention(g, &q, &k, &v, &p->options);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
    ck_assert(!rt_graph_backward_from(g, y, p->upstream).code);
    memcpy(out, y->data, p->out_size * sizeof *out);
    rt_graph_free(g);
}

static bool visible(const problem *p, int b, int i, int j)
{
    if (p->options.causal && j > i)
        return false;
    if (p->options.window && abs(i - j) >= p->options.window)
        return false;
    return !p->options.key_mask || p->options.key_mask[b * p->Tk + j];
}

static const real *row(const real *x, int T, int size, int b, int t, int h)
{
    return x + ((b * T + t) * H + h) * size;
}

/* Where the key or value of token t that query head h reads begins. */
static size_t shared_row(const problem *p, int size, int b, int t, int h)
{
    return (size_t)(((b * p->Tk + t) * p->G + h * p->G / H) * size);
}

/* The plain formula for one query: fills p (Tk), out (E); returns whether it sees a key. */
static bool plain_row(const problem *p, int b, int h, int i, double *weights, double *out)
{
    double sum = 0, largest = -INFINITY;
    for (int j = 0; j < p->Tk; j++) {
        weights[j] = 0;
        for (int d = 0; d < D; d++)
            weights[j] +=
                row(p->q, p->Tq, D, b, i, h)[d] * p->k[shared_row(p, D, b, j, h) + (size_t)d];
        weights[j] /= sqrt(D);
        if (p->options.slopes)
            weights[j] -= p->options.slopes[h] * abs(i - j);
        if (!visible(p, b, i, j))
            weights[j] = -INFINITY;
        largest = fmax(largest, weights[j]);
    }
    memset(out, 0, E * sizeof *out);
    if (largest == -INFINITY)
        return false;
    for (int j = 0; j < p->Tk; j++)
        sum += weights[j] = exp(weights[j] - largest);
    for (int j = 0; j < p->Tk; j++) {
        weights[j] /= sum;
        for (int e = 0; e < E; e++)
            out[e] += weights[j] * p->v[shared_row(p, E, b, j, h) + (size_t)e];
    }
    return true;
}

/* Adds the gradients of one query by the plain formula. */
static void plain_gradient(const problem *p, int b, int h, int i, const double *weights,
                           const double *out, real *dq, real *dk, real *dv)
{
    const real *g = row(p->upstream, p->Tq, E, b, i, h);
    double delta = 0;
    for (int e = 0; e < E; e++)
        delta += g[e] * out[e];
    for (int j = 0; j < p->Tk; j++) {
        double dp = 0;
        for (int e = 0; e < E; e++) {
            dp += g[e] * p->v[shared_row(p, E, b, j, h) + (size_t)e];
            dv[shared_row(p, E, b, j, h) + (size_t)e] += weights[j] * g[e];
        }
        const double ds = weights[j] * (dp - delta) / sqrt(D);
        for (int d = 0; d < D; d++) {
            dq[((b * p->Tq + i) * H + h) * D + d] +=
                ds * p->k[shared_row(p, D, b, j, h) + (size_t)d];
            dk[shared_row(p, D, b, j, h) + (size_t)d] += ds * row(p->q, p->Tq, D, b, i, h)[d];
        }
    }
}

static void expect_equal(const real *got, const real *expected, size_t size, const char *what)
{
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(fabs(got[i] - expected[i]) < 1e-11,
                      "%s, element %zu: expected %.15g, got %.15g", what, i, expected[i], got[i]);
}

static void compare(problem *p)
{
    real *out = rt_alloc(p->out_size, sizeof *out), *plain = rt_alloc(p->out_size, sizeof *plain);
    real *dq = rt_alloc(p->q_size, sizeof *dq), *dk = rt_alloc(p->k_size, sizeof *dk);
    real *dv = rt_alloc(p->v_size, sizeof *dv);
    double *weights = rt_alloc((size_t)p->Tk, sizeof *weights), result[E];
    run(p, out);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < p->Tq; i++) {
                if (plain_row(p, b, h, i, weights, result))
                    plain_gradient(p, b, h, i, weights, result, dq, dk, dv);
                for (int e = 0; e < E; e++)
                    plain[((b * p->Tq + i) * H + h) * E + e] = result[e];
            }
    expect_equal(out, plain, p->out_size, "result");
    expect_equal(p->dq, dq, p->q_size, "dq");
    expect_equal(p->dk, dk, p->k_size, "dk");
    expect_equal(p->dv, dv, p->v_size, "dv");
    real *const blocks[] = {out, plain, dq, dk, dv};
    for (int i = 0; i < 5; i++)
        rt_free(blocks[i]);
    rt_free(weights);
}

static const double slopes[] = {0.1, 0.02, 0.3, 0.007};
static const int lengths[] = {1, 7, 256, 257, 300, 513};

TEST_ROWS(tiles_agree_with_the_plain_formula, 0, sizeof lengths / sizeof *lengths)
{
    const int T = lengths[_i];
    uint8_t mask[B * 513];
    for (int i = 0; i < B * T; i++)
        mask[i] = i % 3 != 1;
    const rt_attention_options options[] = {
        {.causal = false},
        {.causal = true},
        {.key_mask = mask},
        {.causal = true, .slopes = slopes},
    };
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        problem p = new_problem(T, T, options[o], 1);
        compare(&p);
        free_problem(&p);
    }
    problem p = new_problem(5, T, (rt_attention_options){.causal = false}, 1);
    compare(&p);
    free_problem(&p);
}

/* The window ends inside a tile, at its border, and takes one token alone. */
TEST_ROWS(windows_and_shared_keys_agree_with_the_plain_formula, 0, sizeof lengths / sizeof *lengths)
{
    static const int windows[] = {1, 5, 255, 256, 300};
    const int T = lengths[_i];
    uint8_t mask[B * 513];
    for (int i = 0; i < B * T; i++)
        mask[i] = i % 3 != 1;
    for (int n = 0; n < 10; n++) {
        const rt_attention_options o = {.causal = n % 2,
                                        .window = windows[n / 2],
                                        .key_mask = n % 3 ? mask : NULL,
                                        .slopes = n % 4 ? NULL : slopes};
        problem p = new_grouped_problem(T, T, 1 << n % 3, o, 1);
        compare(&p);
        free_problem(&p);
    }
    for (int G = 1; G < H; G *= 2) {
        problem p = new_grouped_problem(5, T, G, (rt_attention_options){.key_mask = mask}, 1);
        compare(&p);
        free_problem(&p);
    }
}

/* These numbers would spoil a tile that is computed: 0 times NaN is NaN. */
TEST_ROWS(tiles_outside_the_window_are_not_read, 0, 2)
{
    enum { T = 1280, QUERY = 600 }; /* in the third of five tiles, which sees its neighbours */
    const rt_attention_options o = {.causal = _i, .window = 90};
    problem p = new_problem(T, T, o, 1);
    real *out = rt_alloc(p.out_size, sizeof *out);
    for (int t = 0; t < T; t++)
        for (int i = 0; (t < 256 || t >= 1024) && i < H * D; i++)
            p.k[t * H * D + i] = (real)NAN;
    run(&p, out);
    for (int i = 0; i < H * E; i++)
        ck_assert(isfinite(out[QUERY * H * E + i]));
    for (int i = 0; i < H * D; i++)
        ck_assert(isfinite(p.dq[QUERY * H * D + i]));
    ck_assert(isnan(out[0]));
    rt_free(out);
    free_problem(&p);
}

/* Before all keys, or further from them than the window. */
TEST_ROWS(queries_that_are_nowhere_near_get_zeros, 0, 2)
{
    enum { T = 300 };
    double far[T];
    for (int t = 0; t < T; t++)
        far[t] = (_i ? T + 20 : -T) + t;
    const rt_attention_options o = {.causal = true, .window = _i ? 20 : 0, .query_positions = far};
    problem p = new_problem(T, T, o, 1);
    real *out = rt_alloc(p.out_size, sizeof *out);
    memset(out, 1, p.out_size * sizeof *out);
    run(&p, out);
    for (size_t i = 0; i < p.out_size; i++)
        ck_assert(out[i] == 0);
    for (size_t i = 0; i < p.q_size; i++)
        ck_assert(p.dq[i] == 0 && p.dk[i] == 0);
    rt_free(out);
    free_problem(&p);
}

TEST(a_query_that_sees_no_key_gets_zeros)
{
    enum { T = 300 };
    uint8_t mask[B * T] = {0};
    mask[T + 280] = 1; /* sequence 1 sees one key, in its second tile; sequence 0 none */
    problem p = new_problem(T, T, (rt_attention_options){.key_mask = mask}, 1);
    compare(&p);
    for (int i = 0; i < T * H * D; i++)
        ck_assert(p.dq[i] == 0);
    free_problem(&p);
}

TEST(large_scores_stay_finite)
{
    problem p = new_problem(300, 300, (rt_attention_options){.causal = true}, 1e4);
    real *out = rt_alloc(p.out_size, sizeof *out);
    run(&p, out);
    for (size_t i = 0; i < p.out_size; i++)
        ck_assert(isfinite(out[i]));
    for (size_t i = 0; i < p.q_size; i++)
        ck_assert(isfinite(p.dq[i]) && isfinite(p.dk[i]));
    rt_free(out);
    free_problem(&p);
}

/* With values of 1 the result is the kept share of the weights over 1 - p: 1 on average. */
TEST(dropout_keeps_the_mean_and_is_drawn_from_the_step)
{
    enum { T = 300 };
    const rt_attention_options o = {.dropout = 0.25};
    real *q = rt_alloc(T, sizeof *q), *ones = rt_alloc(T, sizeof *ones);
    double mean[3] = {0};
    real first[3];
    for (int i = 0; i < T; i++)
        ones[i] = 1;
    rt_graph *g = rt_graph_new();
    rt_tensor in = rt_tensor_of(q, NULL, RT_SHAPE_OF(1, T, 1, 1));
    rt_tensor v = rt_tensor_of(ones, NULL, RT_SHAPE_OF(1, T, 1, 1));
    for (uint32_t step = 0; step < 3; step++) {
        rt_graph_clear(g);
        rt_graph_set_random(g, 1, step, 0);
        rt_tensor *y = rt_attention(g, &in, &in, &v, &o);
        for (int i = 0; i < T; i++)
            mean[step] += y->data[i] / T;
        first[step] = y->data[0];
        ck_assert_double_eq_tol(mean[step], 1, 0.01);
    }
    ck_assert(first[0] != first[1] && first[1] != first[2]);
    rt_graph_clear(g);
    ck_assert_double_eq_tol(rt_attention(g, &in, &in, &v, &o)->data[0], 1, 1e-12);
    rt_graph_free(g);
    rt_free(q);
    rt_free(ones);
}

TEST(what_does_not_fit_is_refused_with_the_shapes)
{
    real data[64] = {0};
    const rt_attention_options none = {.scale = 0}, bad = {.dropout = 1};
    rt_graph *g = rt_graph_new();
    rt_tensor q = rt_tensor_of(data, NULL, RT_SHAPE_OF(1, 2, 2, 3));
    rt_tensor k = rt_tensor_of(data, NULL, RT_SHAPE_OF(1, 2, 2, 4));
    ck_assert_ptr_null(rt_attention(g, &q, &k, &k, &none));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[attention] q, k, v must be (B, Tq, H, D), (B, Tk, G, D), (B, Tk, G, E), G a "
                     "divisor of H; got (1, 2, 2, 3), (1, 2, 2, 4), (1, 2, 2, 4)");
    rt_graph_clear(g);
    rt_tensor shared = rt_tensor_of(data, NULL, RT_SHAPE_OF(1, 2, 3, 3));
    ck_assert_ptr_null(rt_attention(g, &shared, &q, &q, &none));
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_attention(g, &q, &q, &q, &bad));
    ck_assert_str_eq(rt_graph_status(g).message, "[attention] dropout must be in [0, 1); got 1");
    rt_graph_free(g);
}
