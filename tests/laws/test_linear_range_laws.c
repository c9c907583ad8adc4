/* Linear attention agrees with its formula, also with rope (RoFormer, eq. 19) and at the edges of
 * its range: keys whose exponentials would overflow, cosines of zero vectors, and queries without
 * visible keys. */

#include "laws.h"

#include "models/transformer.h"

#include <complex.h>

/* Linear attention by its formula, one pair of tokens at a time, to hold the form that is
 * linear in their number against.
 *
 * With m the largest feature of the keys that a query sees, e^k is e^(k - m) for that query:
 * the logarithm of a factor that all its weights share, so that none overflows. */

enum { MOST_FEATURES = 8 };

typedef struct linear_problem {
    rt_linear_form_options options; /* without rotations */
    int B, Tq, Tk, H, D, E;
    const real *theta; /* (D/2); NULL: nothing is rotated */
    real *q, *k, *v;
    real *dq, *dk, *dv; /* received from linear_run */
} linear_problem;

static size_t linear_output_size(const linear_problem *p)
{
    return (size_t)p->B * (size_t)p->Tq * (size_t)p->H * (size_t)p->E;
}

/* Returns numbers that are freed after the test. */
static real *zeros(size_t size)
{
    return owned(rt_alloc(size, sizeof(real)), rt_free);
}

/* A problem of lengths (B, Tq, Tk, H, D, E) with random q, k, v between -1 and 1. */
static linear_problem linear_new(rt_linear_form_options options, const int lengths[6],
                                 const real *theta, uint64_t first)
{
    linear_problem p = {options,    lengths[0], lengths[1], lengths[2],
                        lengths[3], lengths[4], lengths[5], .theta = theta};
    const size_t tokens_q = (size_t)p.B * (size_t)p.Tq * (size_t)p.H;
    const size_t tokens_k = (size_t)p.B * (size_t)p.Tk * (size_t)p.H;
    const size_t sizes[] = {tokens_q * (size_t)p.D, tokens_k * (size_t)p.D, tokens_k * (size_t)p.E};
    real **const values[] = {&p.q, &p.k, &p.v}, **const grads[] = {&p.dq, &p.dk, &p.dv};
    for (int i = 0; i < 3; i++) {
        *values[i] = zeros(sizes[i]);
        *grads[i] = zeros(sizes[i]);
        draw_row(*values[i], sizes[i], &first);
    }
    return p;
}

/* The result by the library, and the gradients of its sum. */
static void linear_run(real *out, linear_problem *p)
{
    rt_graph *g = rt_graph_new();
    rt_linear_form_options o = p->options;
    rt_tensor q = rt_tensor_of(p->q, p->dq, RT_SHAPE_OF(p->B, p->Tq, p->H, p->D));
    rt_tensor k = rt_tensor_of(p->k, p->dk, RT_SHAPE_OF(p->B, p->Tk, p->H, p->D));
    rt_tensor v = rt_tensor_of(p->v, p->dv, RT_SHAPE_OF(p->B, p->Tk, p->H, p->E));
    rt_tensor theta = rt_tensor_of((real *)p->theta, NULL, RT_SHAPE_OF(p->D / 2));
    const rt_positions queries = {.B = 1, .T = p->Tq}, keys = {.B = 1, .T = p->Tk};
    if (p->theta) {
        o.query_rotation = rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_INTERLEAVED, 1, queries);
        o.key_rotation = rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_INTERLEAVED, 1, keys);
    }
    rt_tensor *y = made(g, rt_linear_form(g, &q, &k, &v, &o));
    memcpy(out, y->data, linear_output_size(p) * sizeof *out);
    real *ones = zeros(linear_output_size(p));
    for (size_t i = 0; i < linear_output_size(p); i++)
        ones[i] = 1;
    expect_ok(rt_graph_backward_from(g, y, ones));
    rt_graph_free(g);
}

static const real *linear_row(const real *x, int T, int H, int size, int b, int t, int h)
{
    return x + (((size_t)b * (size_t)T + (size_t)t) * (size_t)H + (size_t)h) * (size_t)size;
}

static bool linear_sees(const linear_problem *p, int b, int i, int j)
{
    if (p->options.causal && j > i)
        return false;
    return !p->options.key_mask || p->options.key_mask[b * p->Tk + j];
}

/* phi(x) of a query or, `shift` being m, of a key. */
static void linear_features(double *phi, const linear_problem *p, const real *x, bool key,
                            double shift)
{
    double sum = 0, largest = -INFINITY;
    for (int d = 0; d < p->D; d++)
        largest = (double)x[d] > largest ? (double)x[d] : largest;
    for (int d = 0; d < p->D; d++) {
        const double value = (double)x[d];
        switch (p->options.kind) {
        case RT_ATTENTION_SOFTMAX:
            ck_abort_msg("softmax is not a linear form");
        case RT_ATTENTION_LINEAR_ELU:
            phi[d] = value > 0 ? value + 1 : exp(value);
            break;
        case RT_ATTENTION_LINEAR_SOFTMAX:
            phi[d] = exp(value - (key ? shift : largest));
            sum += phi[d];
            break;
        case RT_ATTENTION_LINEAR_COSINE:
            phi[d] = value;
            sum += value * value;
            break;
        }
    }
    if (p->options.kind == RT_ATTENTION_LINEAR_COSINE)
        sum = sqrt(sum);
    const bool divides = p->options.kind == RT_ATTENTION_LINEAR_COSINE ||
                         (p->options.kind == RT_ATTENTION_LINEAR_SOFTMAX && !key);
    for (int d = 0; divides && sum > 0 && d < p->D; d++)
        phi[d] /= sum;
}

/* (R_m x).(R_n y), by complex numbers; without theta, x.y. */
static double linear_product(const linear_problem *p, const double *x, const double *y, int m,
                             int n)
{
    double sum = 0;
    for (int i = 0; i < p->D / 2; i++) {
        const double angle = p->theta ? (m - n) * (double)p->theta[i] : 0;
        const double complex a = x[2 * i] + I * x[2 * i + 1], b = y[2 * i] - I * y[2 * i + 1];
        sum += creal(a * b * cexp(I * angle));
    }
    return sum;
}

/* Computes the weight of each key for query i, (Tk), not yet divided. Returns the sum to divide by.
 */
static double linear_weights(double *weights, const linear_problem *p, int b, int i, int h)
{
    const bool cosine = p->options.kind == RT_ATTENTION_LINEAR_COSINE;
    double phi_q[MOST_FEATURES], phi_k[MOST_FEATURES], largest = -INFINITY, below = 0;
    linear_features(phi_q, p, linear_row(p->q, p->Tq, p->H, p->D, b, i, h), false, 0);
    for (int j = 0; j < p->Tk; j++)
        for (int d = 0; linear_sees(p, b, i, j) && d < p->D; d++) {
            const double x = (double)linear_row(p->k, p->Tk, p->H, p->D, b, j, h)[d];
            largest = x > largest ? x : largest;
        }
    for (int j = 0; j < p->Tk; j++) {
        weights[j] = 0;
        if (!linear_sees(p, b, i, j))
            continue;
        linear_features(phi_k, p, linear_row(p->k, p->Tk, p->H, p->D, b, j, h), true, largest);
        weights[j] = cosine + linear_product(p, phi_q, phi_k, i, j);
        below += cosine ? weights[j] : linear_product(p, phi_q, phi_k, 0, 0);
    }
    return below + p->options.eps;
}

static void linear_by_pairs(double *out, const linear_problem *p)
{
    double *weights = owned(rt_alloc((size_t)p->Tk, sizeof *weights), rt_free);
    for (int b = 0; b < p->B; b++)
        for (int i = 0; i < p->Tq; i++)
            for (int h = 0; h < p->H; h++) {
                const double below = linear_weights(weights, p, b, i, h);
                for (int e = 0; e < p->E; e++, out++) {
                    *out = 0;
                    for (int j = 0; below != 0 && j < p->Tk; j++)
                        *out += weights[j] / below *
                                (double)linear_row(p->v, p->Tk, p->H, p->E, b, j, h)[e];
                }
            }
}

static const char *linear_name(const linear_problem *p)
{
    static const char *const words[] = {RT_ATTENTIONS(RT_CHOICE_WORD) NULL};
    return words[p->options.kind];
}

/* Runs both; every number must be near, and every gradient finite. */
static void linear_expect_agreement(linear_problem *p, double tolerance)
{
    const size_t size = linear_output_size(p);
    real *got = zeros(size);
    double *expected = owned(rt_alloc(size, sizeof *expected), rt_free);
    linear_run(got, p);
    linear_by_pairs(expected, p);
    for (size_t i = 0; i < size; i++)
        expect_near((double)got[i], expected[i], tolerance,
                    "%s%s%s%s, Tq = %d, Tk = %d, element %zu", linear_name(p),
                    p->theta ? " with rope" : "", p->options.causal ? ", causal" : "",
                    p->options.key_mask ? ", masked" : "", p->Tq, p->Tk, i);
    for (int i = 0; i < p->B * p->Tq * p->H * p->D; i++)
        ck_assert_msg(isfinite(p->dq[i]), "%s: dq %d is %g", linear_name(p), i, (double)p->dq[i]);
    for (int i = 0; i < p->B * p->Tk * p->H * p->D; i++)
        ck_assert_msg(isfinite(p->dk[i]), "%s: dk %d is %g", linear_name(p), i, (double)p->dk[i]);
}

static const real theta[] = {1, (real)0.1};
static const real thetas[] = {1, (real)0.1, (real)0.01, (real)0.001};

enum { FIRST = RT_ATTENTION_LINEAR_ELU, END = RT_ATTENTION_LINEAR_COSINE + 1 };
enum { B = 2, T = 150, H = 2, D = 4, E = 3, KEYS = B * T * H * D };

static const double tolerance = 1e4 * (double)RT_REAL_EPSILON;
static const double exact = 4e3 * (double)RT_REAL_EPSILON; /* 1e-12 in double */

/* Lengths on both sides of the chunks of 64 that the library works in. */
TEST_ROWS(the_linear_form_equals_the_sum_over_pairs, FIRST, END)
{
    static const int lengths[][2] = {{1, 1},     {5, 5},   {64, 64}, {65, 65},   {130, 130},
                                     {201, 201}, {3, 130}, {70, 9},  {129, 200}, {1, 64}};
    uint8_t mask[2 * 201];
    for (int i = 0; i < 2 * 201; i++)
        mask[i] = i % 3 != 1;
    for (int n = 0; n < ROWS(lengths) * 8; n++) {
        const int Tq = lengths[n / 8][0], Tk = lengths[n / 8][1], differ = Tq != Tk;
        linear_problem p = linear_new((rt_linear_form_options){.kind = (rt_attention_kind)_i,
                                                               .causal = n & 1 && !differ,
                                                               .key_mask = n & 2 ? mask : NULL,
                                                               .eps = differ ? 0.01 : 0},
                                      (const int[]){2, Tq, Tk, 2 + differ, 4 + 2 * differ, 5},
                                      n & 4 ? thetas : NULL, (uint64_t)n * 100000);
        linear_expect_agreement(&p, exact);
    }
}

static linear_problem problem(rt_attention_kind kind, bool causal, const uint8_t *mask, bool rope)
{
    return linear_new((rt_linear_form_options){.kind = kind, .causal = causal, .key_mask = mask},
                      (const int[]){B, T, T, H, D, E}, rope ? theta : NULL, 0);
}

/* e^huge is infinite: in float from 89 on, in double from 710 on. */
static const double huge = sizeof(real) == sizeof(float) ? 200 : 2000;

/* Keys times `size`, plus `slope` for every token: (0, 1) of the way along the sequence. Were
 * masked ones counted, all others would vanish beside them. */
static void expect_range(double size, double slope)
{
    uint8_t mask[B * T];
    for (int i = 0; i < B * T; i++)
        mask[i] = i % 5 != 2;
    for (int n = 0; n < 8; n++) {
        linear_problem p = problem(RT_ATTENTION_LINEAR_SOFTMAX, n & 1, n & 2 ? mask : NULL, n & 4);
        for (int i = 0; i < KEYS; i++) {
            const double along = (double)(i / (H * D) % T) / T;
            const bool hidden = n & 2 && !mask[i / (H * D)];
            p.k[i] = (real)(size * (double)p.k[i] + slope * along + (hidden ? 20 * huge : 0));
        }
        linear_expect_agreement(&p, tolerance);
    }
}

/* Large keys, and keys that grow and fall along the sequence: at 20 times huge every token is out
 * of reach of the one before. */
TEST(the_exponential_of_large_keys_does_not_overflow)
{
    const double sizes[][2] = {{huge, 0},      {1, 0},     {1, huge},
                               {1, 20 * huge}, {1, -huge}, {10, -huge / 10}};
    expect_above(huge, log((double)RT_REAL_MAX), "the size of the keys");
    for (int i = 0; i < ROWS(sizes); i++)
        expect_range(sizes[i][0], sizes[i][1]);
}

/* Their cosine counts as 0, so that such a query takes the mean, and such a key counts once. */
TEST(zero_vectors_have_cosine_0)
{
    real out[B * T * H * E];
    for (int n = 0; n < 4; n++) {
        linear_problem p = problem(RT_ATTENTION_LINEAR_COSINE, n & 1, NULL, n & 2);
        memset(p.q + H * D * 7, 0, H * D * sizeof *p.q);  /* query 7 */
        memset(p.k + H * D * 3, 0, H * D * sizeof *p.k);  /* key 3 */
        memset(p.k + H * D * 90, 0, H * D * sizeof *p.k); /* and 90 */
        linear_expect_agreement(&p, tolerance);
        linear_run(out, &p);
        const int seen = n & 1 ? 8 : T;
        double mean = 0;
        for (int j = 0; j < seen; j++)
            mean += (double)p.v[j * H * E] / seen;
        expect_near((double)out[7 * H * E], mean, tolerance, "the result of a query of zeros");
        memset(p.q, 0, KEYS * sizeof *p.q);
        memset(p.k, 0, KEYS * sizeof *p.k);
        linear_expect_agreement(&p, tolerance);
    }
}

/* Sequence 0 has no visible key; sequence 1 only from the 100th on. */
TEST_ROWS(queries_without_visible_keys_get_zeros, FIRST, END)
{
    real out[B * T * H * E];
    uint8_t mask[B * T] = {0};
    memset(mask + T + 100, 1, T - 100);
    for (int n = 0; n < 4; n++) {
        linear_problem p = problem((rt_attention_kind)_i, n & 1, mask, n & 2);
        linear_run(out, &p);
        const int blind = n & 1 ? T + 100 : T;
        for (int i = 0; i < B * T * H * E; i++) {
            const int token = i / (H * E);
            ck_assert_msg((out[i] == 0) == (token < blind), "%s, token %d: expected %s, got %g",
                          linear_name(&p), token, token < blind ? "0" : "another number than 0",
                          (double)out[i]);
        }
        linear_expect_agreement(&p, tolerance);
    }
}
