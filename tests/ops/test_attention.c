/* Attention against the plain formula, with sizes that need several tiles, and of short sequences.
 */

#include "graphs.h"
#include "ops/ops.h"

enum { B = 2, H = 4, D = 3, E = 2 };

enum { LONGEST = 1280, WIDEST = 64 };

/* Gradients and results of the op, and of the plain formula. */
typedef struct results {
    real *out, *dq, *dk, *dv, *dbias;
} results;

static struct problem {
    int Tq, Tk, G, D, E;
    rt_attention_options options;
    real *q, *k, *v, *upstream, *bias; /* bias: of the keys; NULL: none */
    size_t q_size, k_size, v_size, bias_size, out_size;
    results got, plain;
    bool computed; /* the inputs are results of the graph */
} p;

/* Returns a block of exactly that many zeros, which sanitizers watch. */
static real *zeros(size_t size)
{
    real *x = owned(rt_alloc(size, sizeof *x), rt_free);
    ck_assert_ptr_nonnull(x);
    return x;
}

static real *drawn(size_t size, uint32_t stream, double scale)
{
    real *x = zeros(size);
    for (size_t i = 0; i < size; i++)
        x[i] = scale * rt_random_normal((rt_random){3, stream, RT_STREAM_CHECK}, i);
    return x;
}

/* The gradients that are there before, in every element. */
static const struct {
    real dq, dk, dv;
} before = {1, 2, 3};

static void begin(const results *of)
{
    for (size_t i = 0; i < p.q_size; i++)
        of->dq[i] = before.dq;
    for (size_t i = 0; i < p.k_size; i++)
        of->dk[i] = before.dk;
    for (size_t i = 0; i < p.v_size; i++)
        of->dv[i] = before.dv;
    memset(of->dbias, 0, p.bias_size * sizeof *of->dbias);
}

/* Draws inputs with heads of that size, and values of another. */
static void draw_heads(int Tq, int Tk, int G, int size, int of_values, double scale)
{
    memset(&p, 0, sizeof p);
    p.Tq = Tq;
    p.Tk = Tk;
    p.G = G;
    p.D = size;
    p.E = of_values;
    p.q_size = (size_t)B * (size_t)Tq * H * (size_t)p.D;
    p.k_size = (size_t)B * (size_t)Tk * (size_t)G * (size_t)p.D;
    p.v_size = (size_t)B * (size_t)Tk * (size_t)G * (size_t)p.E;
    p.bias_size = (size_t)B * H * (size_t)Tk;
    p.out_size = (size_t)B * (size_t)Tq * H * (size_t)p.E;
    p.q = drawn(p.q_size, 1, scale);
    p.k = drawn(p.k_size, 2, scale);
    p.v = drawn(p.v_size, 3, 1);
    p.upstream = drawn(p.out_size, 4, 1);
    for (int n = 0; n < 2; n++) {
        results *of = n ? &p.got : &p.plain;
        *of = (results){zeros(p.out_size), zeros(p.q_size), zeros(p.k_size), zeros(p.v_size),
                        zeros(p.bias_size)};
        begin(of);
    }
}

static void set_problem(int Tq, int Tk, int G, rt_attention_options options, double scale)
{
    draw_heads(Tq, Tk, G, D, E, scale);
    p.options = options;
}

/* Returns x, or a result of the graph with its values, whose gradient is not there before. */
static rt_tensor *input(rt_graph *g, rt_tensor *x)
{
    return p.computed ? rt_scale(g, x, 1) : x;
}

static void run_in(rt_graph *g)
{
    rt_tensor q = rt_tensor_of(p.q, p.got.dq, RT_SHAPE_OF(B, p.Tq, H, p.D));
    rt_tensor k = rt_tensor_of(p.k, p.got.dk, RT_SHAPE_OF(B, p.Tk, p.G, p.D));
    rt_tensor v = rt_tensor_of(p.v, p.got.dv, RT_SHAPE_OF(B, p.Tk, p.G, p.E));
    rt_tensor bias = rt_tensor_of(p.bias, p.got.dbias, RT_SHAPE_OF(B, H, p.Tk));
    p.options.key_bias = p.bias ? &bias : NULL;
    rt_tensor *y = made(g, rt_attention(g, input(g, &q), input(g, &k), input(g, &v), &p.options));
    expect_ok(rt_graph_backward_from(g, y, p.upstream));
    memcpy(p.got.out, y->data, p.out_size * sizeof *p.got.out);
}

/* Forward and backward by the op, which is given memory as an earlier round left it: NaN, and of
 * gradients those of that round. */
static void run(void)
{
    rt_graph *g = rt_graph_new();
    const size_t left = 4 * p.out_size + 1000;
    if (p.computed) {
        run_in(g);
        begin(&p.got);
        rt_graph_clear(g);
    }
    real *old = rt_graph_memory(g, left, sizeof *old);
    for (size_t i = 0; i < left; i++)
        old[i] = (real)NAN;
    rt_graph_clear(g);
    run_in(g);
    rt_graph_free(g);
}

static bool visible(int b, int i, int j)
{
    if (p.options.causal && j > i)
        return false;
    if (p.options.window && abs(i - j) >= p.options.window)
        return false;
    return !p.options.key_mask || p.options.key_mask[b * p.Tk + j];
}

static const real *row(const real *x, int T, int size, int b, int t, int h)
{
    return x + ((b * T + t) * H + h) * size;
}

/* Returns the offset of the key or value of token t that query head h reads. */
static size_t shared_row(int size, int b, int t, int h)
{
    return (size_t)(((b * p.Tk + t) * p.G + h * p.G / H) * size);
}

/* The plain formula for one query: fills p (Tk), out (p.E); returns whether it sees a key. */
static bool plain_row(int b, int h, int i, double *weights, double *out)
{
    double sum = 0, largest = -INFINITY;
    for (int j = 0; j < p.Tk; j++) {
        weights[j] = 0;
        for (int d = 0; d < p.D; d++)
            weights[j] +=
                row(p.q, p.Tq, p.D, b, i, h)[d] * p.k[shared_row(p.D, b, j, h) + (size_t)d];
        weights[j] /= sqrt(p.D);
        if (p.bias)
            weights[j] += p.bias[(b * H + h) * p.Tk + j];
        if (p.options.slopes)
            weights[j] -= p.options.slopes[h] *
                          fabs(i - (p.options.key_positions ? p.options.key_positions[j] : j));
        if (!visible(b, i, j))
            weights[j] = -INFINITY;
        largest = fmax(largest, weights[j]);
    }
    memset(out, 0, (size_t)p.E * sizeof *out);
    if (largest == -INFINITY)
        return false;
    for (int j = 0; j < p.Tk; j++)
        sum += weights[j] = exp(weights[j] - largest);
    for (int j = 0; j < p.Tk; j++) {
        weights[j] /= sum;
        for (int e = 0; e < p.E; e++)
            out[e] += weights[j] * p.v[shared_row(p.E, b, j, h) + (size_t)e];
    }
    return true;
}

/* Adds the gradients of one query by the plain formula. */
static void plain_gradient(int b, int h, int i, const double *weights, const double *out)
{
    const real *g = row(p.upstream, p.Tq, p.E, b, i, h);
    double delta = 0;
    for (int e = 0; e < p.E; e++)
        delta += g[e] * out[e];
    for (int j = 0; j < p.Tk; j++) {
        double dp = 0;
        for (int e = 0; e < p.E; e++) {
            dp += g[e] * p.v[shared_row(p.E, b, j, h) + (size_t)e];
            p.plain.dv[shared_row(p.E, b, j, h) + (size_t)e] += weights[j] * g[e];
        }
        const double ds = weights[j] * (dp - delta) / sqrt(p.D);
        p.plain.dbias[(b * H + h) * p.Tk + j] += weights[j] * (dp - delta);
        for (int d = 0; d < p.D; d++) {
            p.plain.dq[((b * p.Tq + i) * H + h) * p.D + d] +=
                ds * p.k[shared_row(p.D, b, j, h) + (size_t)d];
            p.plain.dk[shared_row(p.D, b, j, h) + (size_t)d] +=
                ds * row(p.q, p.Tq, p.D, b, i, h)[d];
        }
    }
}

static void expect_equal(const real *got, const real *expected, size_t size, const char *what)
{
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(fabs(got[i] - expected[i]) < 1e-11,
                      "%s, element %zu: expected %.15g, got %.15g", what, i, expected[i], got[i]);
}

static void compare(void)
{
    double weights[LONGEST], result[WIDEST];
    run();
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < p.Tq; i++) {
                if (plain_row(b, h, i, weights, result))
                    plain_gradient(b, h, i, weights, result);
                for (int e = 0; e < p.E; e++)
                    p.plain.out[((b * p.Tq + i) * H + h) * p.E + e] = result[e];
            }
    expect_equal(p.got.out, p.plain.out, p.out_size, "result");
    expect_equal(p.got.dq, p.plain.dq, p.q_size, "dq");
    expect_equal(p.got.dk, p.plain.dk, p.k_size, "dk");
    expect_equal(p.got.dv, p.plain.dv, p.v_size, "dv");
    if (p.bias)
        expect_equal(p.got.dbias, p.plain.dbias, p.bias_size, "dbias");
}

static const double slopes[] = {0.1, 0.02, 0.3, 0.007};
static const int lengths[] = {1, 7, 256, 257, 300, 513};

enum { LONGEST_PLAIN = 513 };

/* Compares heads of that size with every kind of mask, with keys that are shared, and with a bias
 * of the keys. Windows end inside a tile, at its border, and take one token alone. */
static void compare_options(int Tq, int T, int size, int of_values, bool computed)
{
    static const int windows[] = {1, 5, 255, 256, 300};
    uint8_t mask[B * LONGEST_PLAIN];
    double later[LONGEST_PLAIN]; /* keys that stand 3 farther on */
    for (int i = 0; i < B * T; i++)
        mask[i] = i % 3 != 1;
    for (int j = 0; j < T; j++)
        later[j] = j + 3;
    const struct {
        int G;
        rt_attention_options o;
    } rows[] = {{H, {.causal = false}},
                {H, {.causal = true}},
                {H, {.key_mask = mask}},
                {H, {.causal = true, .slopes = slopes}},
                {1, {.key_mask = mask}},
                {2, {.causal = true, .key_mask = mask}},
                {H, {.key_positions = later, .slopes = slopes}}};
    for (int i = 0; i < ROWS(rows); i++)
        for (int biased = 0; biased < 2; biased++) {
            draw_heads(Tq, T, rows[i].G, size, of_values, 1);
            p.options = rows[i].o;
            p.computed = computed;
            p.bias = biased ? drawn(p.bias_size, 5, 1) : NULL;
            compare();
        }
    for (int n = 0; n < 10; n++) {
        draw_heads(Tq, T, 1 << n % 3, size, of_values, 1);
        p.options = (rt_attention_options){.causal = n % 2,
                                           .window = windows[n / 2],
                                           .key_mask = n % 3 ? mask : NULL,
                                           .slopes = n % 4 ? NULL : slopes};
        p.computed = computed;
        p.bias = n % 2 && !computed ? drawn(p.bias_size, 5, 1) : NULL;
        compare();
    }
}

TEST_ROWS(tiles_agree_with_the_plain_formula, 0, ROWS(lengths))
{
    compare_options(lengths[_i], lengths[_i], D, E, false);
    compare_options(5, lengths[_i], D, E, true);
}

/* Sequences of 16 to 128 tokens with heads of a multiple of 16 are computed head by head. */
static const struct {
    int Tq, Tk, size, of_values;
    bool computed;
} short_heads[] = {
    {16, 16, 16, 16, true}, {17, 33, 16, 32, true},  {31, 128, 32, 16, false},
    {32, 32, 64, 64, true}, {128, 17, 16, 16, true}, {72, 72, 16, 48, false},
};

TEST_ROWS(short_sequences_agree_with_the_plain_formula, 0, ROWS(short_heads))
{
    compare_options(short_heads[_i].Tq, short_heads[_i].Tk, short_heads[_i].size,
                    short_heads[_i].of_values, short_heads[_i].computed);
}

/* Both are roundings of the same numbers: a few units in the last place of the largest apart. */
static void expect_rounded(const real *got, const real *expected, size_t size)
{
    enum { UNITS = 8 };
    double largest = 0, apart = 0;
    for (size_t i = 0; i < size; i++) {
        largest = fmax(largest, fabs(expected[i]));
        apart = fmax(apart, fabs(got[i] - expected[i]));
    }
    ck_assert_double_gt(largest, 0);
    ck_assert_double_le(apart, UNITS * 0x1p-52 * largest);
}

/* A bias of 0 takes the way by tiles. */
TEST_ROWS(short_sequences_are_as_exact_as_tiles, 0, 2 * ROWS(short_heads))
{
    const int n = _i / 2;
    draw_heads(short_heads[n].Tq, short_heads[n].Tk, 2, short_heads[n].size,
               short_heads[n].of_values, 0.3);
    p.options = (rt_attention_options){.causal = _i % 2};
    run();
    const results found = p.got;
    p.got = (results){zeros(p.out_size), zeros(p.q_size), zeros(p.k_size), zeros(p.v_size),
                      zeros(p.bias_size)};
    begin(&p.got);
    p.bias = zeros(p.bias_size);
    run();
    expect_rounded(found.out, p.got.out, p.out_size);
    expect_rounded(found.dv, p.got.dv, p.v_size);
    expect_rounded(found.dq, p.got.dq, p.q_size);
    expect_rounded(found.dk, p.got.dk, p.k_size);
}

/* The gradients of queries, keys and values are added to one another. */
TEST_ROWS(one_tensor_may_be_all_inputs, 0, 2)
{
    enum { T = 20 };
    draw_heads(T, T, H, 16, 16, 1);
    memcpy(p.k, p.q, p.q_size * sizeof *p.q);
    memcpy(p.v, p.q, p.q_size * sizeof *p.q);
    run();
    rt_graph *g = new_graph();
    real *gradient = zeros(p.q_size);
    for (size_t i = 0; i < p.q_size; i++)
        gradient[i] = before.dq + before.dk + before.dv;
    rt_tensor leaf = rt_tensor_of(p.q, gradient, RT_SHAPE_OF(B, T, H, 16));
    rt_tensor *x = _i ? rt_scale(g, &leaf, 1) : &leaf;
    expect_ok(rt_graph_backward_from(
        g, made(g, rt_attention(g, x, x, x, &(rt_attention_options){.causal = false})),
        p.upstream));
    for (size_t i = 0; i < p.q_size; i++)
        ck_assert_double_eq_tol(gradient[i], p.got.dq[i] + p.got.dk[i] + p.got.dv[i], 1e-13);
}

/* Beside 2^52 a score has no digits left. The common part of all keys of a query is subtracted
 * first. Queries that continue a text see only its last keys. */
TEST_ROWS(a_bias_of_keys_may_be_large, 0, 2)
{
    enum { T = 300, LAST = 5 };
    double ends[LAST];
    for (int i = 0; i < LAST; i++)
        ends[i] = T - LAST + i;
    set_problem(_i ? LAST : T, T, H,
                (rt_attention_options){.causal = true,
                                       .window = 40,
                                       .query_positions = _i ? ends : NULL},
                1);
    real *small = zeros(p.bias_size), *large = zeros(p.bias_size), *expected = zeros(p.out_size);
    for (size_t i = 0; i < p.bias_size; i++) {
        small[i] = (real)(i % T % 20);
        large[i] = small[i] + (_i && i % T < T / 2 ? 0 : 0x1p52);
    }
    p.bias = small;
    run();
    memcpy(expected, p.got.out, p.out_size * sizeof *expected);
    p.bias = large;
    run();
    expect_equal(p.got.out, expected, p.out_size, "result");
}

/* The exact numbers, and not those that were rounded from them. */
TEST(a_bias_of_keys_is_read_exactly)
{
    enum { T = 3 };
    real x[T] = {0}, v[T] = {1, 10, 100}, rounded[T] = {(real)NAN};
    double exact[T] = {0, log(2), log(3)};
    rt_graph *g = new_graph();
    rt_tensor q = rt_tensor_of(x, NULL, RT_SHAPE_OF(1, 1, 1, 1));
    rt_tensor k = rt_tensor_of(x, NULL, RT_SHAPE_OF(1, T, 1, 1));
    rt_tensor values = rt_tensor_of(v, NULL, RT_SHAPE_OF(1, T, 1, 1));
    rt_tensor bias = rt_tensor_of(rounded, NULL, RT_SHAPE_OF(T));
    bias.exact = exact;
    rt_tensor *y = rt_attention(g, &q, &k, &values,
                                &(rt_attention_options){
                                    .key_bias = rt_reshape(g, &bias, RT_SHAPE_OF(1, 1, T))});
    ck_assert_double_eq_tol(made(g, y)->data[0], (1 + 20 + 300) / 6.0, 1e-12);
    volatile double smallest = 0x1p-1022; /* of the normal numbers */
    ck_assert(smallest / 2 > 0);
}

/* These numbers would spoil a tile that is computed: 0 times NaN is NaN. */
TEST_ROWS(tiles_outside_the_window_are_not_read, 0, 2)
{
    enum { T = LONGEST, QUERY = 600 }; /* in the third of five tiles, which sees its neighbours */
    set_problem(T, T, H, (rt_attention_options){.causal = _i, .window = 90}, 1);
    for (int t = 0; t < T; t++)
        for (int i = 0; (t < 256 || t >= 1024) && i < H * D; i++)
            p.k[t * H * D + i] = (real)NAN;
    run();
    for (int i = 0; i < H * E; i++)
        ck_assert(isfinite(p.got.out[QUERY * H * E + i]));
    for (int i = 0; i < H * D; i++)
        ck_assert(isfinite(p.got.dq[QUERY * H * D + i]));
    ck_assert(isnan(p.got.out[0]));
}

/* Before all keys, or further from them than the window. */
TEST_ROWS(queries_beyond_the_reach_of_all_keys_get_zeros, 0, 2)
{
    enum { T = 300 };
    double far[T];
    for (int t = 0; t < T; t++)
        far[t] = (_i ? T + 20 : -T) + t;
    set_problem(
        T, T, H,
        (rt_attention_options){.causal = true, .window = _i ? 20 : 0, .query_positions = far}, 1);
    run();
    for (size_t i = 0; i < p.out_size; i++)
        ck_assert(p.got.out[i] == 0);
    for (size_t i = 0; i < p.q_size; i++)
        ck_assert(p.got.dq[i] == before.dq && p.got.dk[i] == before.dk);
}

TEST(a_query_that_sees_no_key_gets_zeros)
{
    enum { T = 300 };
    uint8_t mask[B * T] = {0};
    mask[T + 280] = 1; /* sequence 1 sees one key, in its second tile; sequence 0 none */
    set_problem(T, T, H, (rt_attention_options){.key_mask = mask}, 1);
    compare();
    for (int i = 0; i < T * H * D; i++)
        ck_assert(p.got.dq[i] == before.dq);
}

/* Two ops of one head with their probabilities, as one after the other in a model. */
TEST_ROWS(probabilities_of_short_attention_are_written_in_memory_of_their_own, 0, 4)
{
    static const int shapes[4][2] = {{16, 16}, {16, 64}, {32, 64}, {128, 16}}; /* T, D */
    const int T = shapes[_i][0], of_head = shapes[_i][1];
    const size_t size = (size_t)T * (size_t)of_head;
    const rt_shape shape = RT_SHAPE_OF(1, T, 1, of_head);
    rt_tensor q = rt_tensor_of(drawn(size, 1, 1), NULL, shape);
    rt_tensor k = rt_tensor_of(drawn(size, 2, 1), NULL, shape);
    real *shown = zeros((size_t)T * (size_t)T), *alone = zeros(size);
    rt_attention_options o = {.causal = true};
    rt_graph *g = new_graph();
    memcpy(alone, made(g, rt_attention(g, &q, &k, &k, &o))->data, size * sizeof *alone);
    rt_graph_clear(g);
    o.probabilities = shown;
    const rt_tensor *first = made(g, rt_attention(g, &q, &k, &k, &o));
    rt_tensor *v = made(g, rt_scale(g, &k, 1));
    const rt_tensor *second = made(g, rt_attention(g, &q, &k, v, &o));
    ck_assert_mem_eq(v->data, k.data, size * sizeof *k.data);
    ck_assert_mem_eq(first->data, alone, size * sizeof *alone);
    ck_assert_mem_eq(second->data, alone, size * sizeof *alone);
    for (int i = 0; i < T; i++) {
        double sum = 0;
        for (int j = 0; j < T; j++)
            sum += (double)shown[i * T + j];
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    }
}

TEST(large_scores_stay_finite)
{
    set_problem(300, 300, H, (rt_attention_options){.causal = true}, 1e4);
    run();
    for (size_t i = 0; i < p.out_size; i++)
        ck_assert(isfinite(p.got.out[i]));
    for (size_t i = 0; i < p.q_size; i++)
        ck_assert(isfinite(p.got.dq[i]) && isfinite(p.got.dk[i]));
}

/* With values of 1 the result is the kept share of the weights over 1 - p: 1 on average. */
TEST(dropout_keeps_the_mean_and_is_drawn_from_the_step)
{
    enum { T = 300 };
    const rt_attention_options o = {.dropout = 0.25};
    real q[T] = {0}, ones[T], first[3];
    for (int i = 0; i < T; i++)
        ones[i] = 1;
    rt_graph *g = new_graph();
    rt_tensor in = rt_tensor_of(q, NULL, RT_SHAPE_OF(1, T, 1, 1));
    rt_tensor v = rt_tensor_of(ones, NULL, RT_SHAPE_OF(1, T, 1, 1));
    for (uint32_t step = 0; step < 3; step++) {
        double mean = 0;
        rt_graph_clear(g);
        rt_graph_set_random(g, 1, step, 0);
        rt_tensor *y = rt_attention(g, &in, &in, &v, &o);
        for (int i = 0; i < T; i++)
            mean += y->data[i] / T;
        first[step] = y->data[0];
        ck_assert_double_eq_tol(mean, 1, 0.01);
    }
    ck_assert(first[0] != first[1] && first[1] != first[2]);
    rt_graph_clear(g);
    ck_assert_double_eq_tol(rt_attention(g, &in, &in, &v, &o)->data[0], 1, 1e-12);
}
