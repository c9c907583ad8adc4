/* The gradient checker on networks of relu, elu_plus_one and gelu: over many seeds and sizes
 * what is right passes, though units lie within a step of their kink, and a derivative that is
 * wrong on one side of it, or for one unit, fails every time. */

#include "core/gradcheck.h"
#include "ops/ops.h"
#include "suite.h"

typedef enum fault {
    NONE,
    ONE_BELOW,     /* 1 below 0 */
    SMALLER_ABOVE, /* 0.9 above 0 */
    MISSING_TERM,  /* nothing for every second unit */
    FAULTS
} fault;

static void relu_forward(const rt_node *n)
{
    const real *x = n->in[0]->data;
    for (size_t i = 0; i < rt_size(n->out); i++)
        n->out->data[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_backward(const rt_node *n)
{
    const fault f = *(const fault *)n->args;
    real *dx = rt_grad(n, 0);
    for (size_t i = 0; dx && i < rt_size(n->out); i++) {
        const bool above = n->in[0]->data[i] > 0;
        const real slope = f == SMALLER_ABOVE ? (real)(0.9 * above)
                           : f == ONE_BELOW   ? 1
                                              : (real)above;
        if (f != MISSING_TERM || i % 2)
            dx[i] += slope * n->out->grad[i];
    }
}

static const rt_op spoilt_relu = {.name = "spoilt relu",
                                  .forward = relu_forward,
                                  .backward = relu_backward};

enum { RELU, ELU_PLUS_ONE, GELU, KINDS, MOST = 24 * 24, INPUTS = 5 };
#ifdef TEST_FEW_SAMPLES
enum { SEEDS = 2 };
#else
enum { SEEDS = 32 };
#endif

static const rt_activation kinds[] = {RT_RELU, RT_ELU_PLUS_ONE, RT_GELU};

/* Tokens, features and units of the networks. */
static const struct {
    int T, C, U;
} sizes[] = {{1, 1, 1}, {5, 3, 10}, {12, 16, 32}, {24, 24, 20}};
enum { SIZES = ROWS(sizes) };

typedef struct network {
    rt_activation kind;
    fault fault;
    bool spoilt; /* relu with that fault, even if it is none */
} network;

/* W2 f(W1 x + b1) + b2. */
static rt_tensor *run(rt_graph *g, rt_tensor *const *in, void *context)
{
    const network *n = context;
    rt_tensor *x = rt_linear(g, in[0], in[1], in[2]);
    x = n->spoilt ? RT_APPLY(g, &spoilt_relu, rt_tensor_shape(x), &n->fault, x)
                  : rt_activate(g, x, n->kind);
    return rt_linear(g, x, in[3], in[4]);
}

static real data[INPUTS][MOST], grad[INPUTS][MOST];

/* Checks a network that is drawn from the seed. With `near`, every bias of the first layer is
 * moved so that for token 0 each unit lies within three steps of its kink. */
static rt_status check(network n, int size, uint64_t seed, bool near, rt_gradcheck_mode mode,
                       rt_gradcheck_result *results)
{
    const int T = sizes[size].T, C = sizes[size].C, U = sizes[size].U;
    const rt_shape shapes[] = {RT_SHAPE_OF(T, C), RT_SHAPE_OF(U, C), RT_SHAPE_OF(U),
                               RT_SHAPE_OF(C, U), RT_SHAPE_OF(C)};
    rt_tensor tensors[INPUTS], *inputs[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        const rt_random random = {seed, (uint32_t)i, RT_STREAM_TASK};
        for (size_t k = 0; k < rt_shape_size(shapes[i]); k++)
            data[i][k] = (real)(2 * rt_random_uniform(random, k) - 1);
        tensors[i] = rt_tensor_of(data[i], grad[i], shapes[i]);
        inputs[i] = tensors + i;
    }
    for (int u = 0; near && u < U; u++) {
        const rt_random random = {seed, INPUTS, RT_STREAM_TASK};
        double product = 0;
        for (int c = 0; c < C; c++)
            product += (double)data[0][c] * (double)data[1][u * C + c];
        data[2][u] = (real)(6e-5 * rt_random_uniform(random, (uint64_t)u) - 3e-5 - product);
    }
    const rt_gradcheck_options o = {.mode = mode, .samples = 24, .seed = seed};
    return rt_gradcheck(run, &n, inputs, INPUTS, &o, results);
}

/* Checks networks of some sizes, drawn from every seed, in one or both modes: all pass, or all fail
 * if there is a fault. Returns the number of kinks. */
static size_t expect_all(network n, bool near, int first, int end, int mode_count)
{
    static const rt_gradcheck_mode modes[] = {RT_GRADCHECK_WEIGHTED, RT_GRADCHECK_DIRECTION};
    size_t kinks = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (int i = 0; i < (end - first) * mode_count; i++) {
            const int size = first + i / mode_count, mode = i % mode_count;
            rt_gradcheck_result results[INPUTS];
            const rt_status status = check(n, size, seed, near, modes[mode], results);
            const bool wrong = status.code == RT_CHECK && strstr(status.message, "analytic");
            ck_assert_msg(n.fault ? wrong : !status.code,
                          "kind %d, fault %d, seed %d, size %d, mode %d: '%s'", (int)n.kind,
                          (int)n.fault, (int)seed, size, mode, status.message);
            for (int k = 0; k < INPUTS; k++)
                kinks += results[k].kinks;
        }
    return kinks;
}

TEST_ROWS(what_is_right_passes_at_every_seed_and_size, 0, KINDS)
{
    expect_all((network){.kind = kinds[_i]}, false, 0, SIZES, 2);
}

/* Element by element; in the larger sizes every direction meets a kink on both sides. */
TEST_ROWS(what_is_right_passes_beside_kinks, 0, KINDS)
{
    const size_t kinks = expect_all((network){.kind = kinds[_i]}, true, 0, 2, 1);
    ck_assert_msg(kinds[_i] == RT_GELU ? kinks == 0 : kinks > SEEDS, "%zu kinks", kinks);
}

/* And the op itself is right, away from kinks. */
NIGHTLY_ROWS(what_is_wrong_fails_at_every_seed_and_size, 0, 2)
{
    for (int f = _i ? NONE + 1 : NONE; f < FAULTS; f++)
        expect_all((network){.fault = (fault)f, .spoilt = true}, _i, 1, SIZES, 2);
}
