/* The gradient checker itself: right gradients pass and wrong ones fail. */

#include "core/gradcheck.h"
#include "suite.h"

/* y = x^2, with a backward that can be spoilt. */
typedef enum fault {
    NONE,
    WRONG_SIGN,
    HALF,
    UNREACHED,
    RANDOM_VALUE,
    RANDOM_GRADIENT,
    KINK,
    WRONG_ABOVE_KINK,
    ROUGH,
    NOT_FINITE,
    NAN_GRADIENT,
    INFINITE_GRADIENT,
    NAN_BESIDE,
    ZERO,
    NEGATIVE_ZERO,
    CONSTANT_UNREACHED
} fault;

static int calls;

static bool has_kink(fault f)
{
    return f == KINK || f == WRONG_ABOVE_KINK;
}

/* NaN around one of the inputs, too; elements that are right come after it. */
static real value_of(fault f, real x)
{
    if (f == NOT_FINITE || (f == NAN_BESIDE && x < 0 && x != (real)-0.5))
        return (real)NAN;
    if (f == ZERO || f == NEGATIVE_ZERO || f == CONSTANT_UNREACHED)
        return 0 * x;
    if (f == ROUGH && x < 0) /* kinks, at no point of the differences */
        return x * x + (real)fabs(remainder((double)x, 1.3717e-9));
    return x * x + (has_kink(f) ? (real)fabs((double)x) : 0) +
           (f == RANDOM_VALUE ? (real)calls : 0);
}

static void square_forward(const rt_node *n)
{
    calls++;
    for (size_t i = 0; i < rt_size(n->out); i++)
        n->out->data[i] = value_of(*(const fault *)n->args, n->in[0]->data[i]);
}

static real gradient_of(fault f, real x)
{
    if (f == ZERO || f == NEGATIVE_ZERO)
        return f == ZERO ? 0 : (real)-0.0;
    if (x < 0 && (f == NAN_GRADIENT || f == INFINITE_GRADIENT))
        return f == NAN_GRADIENT ? (real)NAN : (real)INFINITY;
    if (has_kink(f))
        return 2 * x + (real)((f == WRONG_ABOVE_KINK ? 0.9 : 1) * (x > 0) - (x < 0));
    return (f == WRONG_SIGN ? -2
            : f == HALF     ? 1
                            : 2) *
               x +
           (f == RANDOM_GRADIENT ? (real)calls : 0);
}

static void square_backward(const rt_node *n)
{
    const fault f = *(const fault *)n->args;
    real *dx = f == UNREACHED || f == CONSTANT_UNREACHED ? NULL : rt_grad(n, 0);
    calls++;
    for (size_t i = 0; dx && i < rt_size(n->out); i++) {
        const real gradient = gradient_of(f, n->in[0]->data[i]);
        dx[i] = f == NEGATIVE_ZERO ? gradient : dx[i] + gradient * n->out->grad[i];
    }
}

static const rt_op square_op = {.name = "square",
                                .forward = square_forward,
                                .backward = square_backward};

static rt_tensor *square(rt_graph *g, rt_tensor *const *in, void *context)
{
    return RT_APPLY(g, &square_op, rt_tensor_shape(in[0]), (fault *)context, in[0]);
}

static real data[] = {1.5, -0.5, 2, 0.25}, grad[4];

static rt_status check_with(fault f, rt_gradcheck_options o, rt_gradcheck_result *result)
{
    rt_tensor x = rt_tensor_of(data, grad, RT_SHAPE_OF(4));
    rt_tensor *inputs[] = {&x};
    return rt_gradcheck(square, &f, inputs, 1, &o, result);
}

static rt_status check_some(fault f, int mode, size_t samples, rt_gradcheck_result *result)
{
    return check_with(f,
                      (rt_gradcheck_options){.mode = (rt_gradcheck_mode)mode, .samples = samples},
                      result);
}

static rt_status check(fault f, int mode, rt_gradcheck_result *result)
{
    return check_some(f, mode, 0, result);
}

static const struct {
    fault f;
    rt_gradient_verdict verdict;
    const char *message; /* a part */
} verdicts[] = {
    {NONE, RT_GRADIENT_RIGHT, ""},
    {ZERO, RT_GRADIENT_RIGHT, ""},
    {NEGATIVE_ZERO, RT_GRADIENT_RIGHT, ""},
    {WRONG_SIGN, RT_GRADIENT_WRONG, "analytic"},
    {HALF, RT_GRADIENT_WRONG, "analytic"},
    {NAN_GRADIENT, RT_GRADIENT_WRONG, "analytic "},
    {INFINITE_GRADIENT, RT_GRADIENT_WRONG, "analytic "},
    {NAN_BESIDE, RT_GRADIENT_WRONG, "numeric nan"},
    {UNREACHED, RT_GRADIENT_UNREACHED, "[gradcheck] backward never reached input 0"},
    {CONSTANT_UNREACHED, RT_GRADIENT_UNREACHED, "[gradcheck] backward never reached input 0"},
    {RANDOM_VALUE, RT_GRADIENT_UNCHECKED, "not deterministic"},
    {RANDOM_GRADIENT, RT_GRADIENT_UNCHECKED, "not deterministic"},
    {NOT_FINITE, RT_GRADIENT_UNCHECKED, "[gradcheck] output 0 is nan"},
};

/* A gradient that is not finite is found for elements that were drawn or not. */
TEST_ROWS(a_fault_has_its_verdict_in_every_mode, 0, ROWS(verdicts))
{
    const fault f = verdicts[_i].f;
    const real before[] = {1.5, -0.5, 2, 0.25};
    const bool infinite = f == NAN_GRADIENT || f == INFINITE_GRADIENT;
    for (int n = 0; n < (infinite ? 9 : 3); n++) {
        rt_gradcheck_result result;
        const int mode = RT_GRADCHECK_WEIGHTED + n % 3;
        const rt_status status = check_some(f, mode, (size_t)n / 3, &result);
        const bool right = verdicts[_i].verdict == RT_GRADIENT_RIGHT;
        ck_assert_int_eq(status.code, right ? RT_OK : RT_CHECK);
        ck_assert_int_eq(result.verdict, verdicts[_i].verdict);
        ck_assert_msg(strstr(status.message, verdicts[_i].message), "mode %d: '%s'", mode,
                      status.message);
        ck_assert(!memcmp(data, before, sizeof data));
        if (right)
            ck_assert(result.error < 1e-9 && result.judged && !result.kinks && !result.unjudged);
        else if (result.verdict == RT_GRADIENT_WRONG)
            ck_assert_msg(!(result.error <= 0.01), "error %g", result.error);
        if (infinite)
            ck_assert(result.index == 1 && !isfinite(result.largest) && !isfinite(result.analytic));
    }
}

TEST(the_worst_element_is_named_with_both_values)
{
    rt_gradcheck_result result;
    expect_ok(check(NONE, RT_GRADCHECK_WEIGHTED, &result));
    ck_assert_double_gt(result.largest, 0);
    ck_assert_int_eq(check(HALF, RT_GRADCHECK_JACOBIAN, &result).code, RT_CHECK);
    ck_assert_uint_eq(result.index, 2); /* the largest element is the worst */
    ck_assert_uint_eq(result.output, 2);
    ck_assert_double_eq_tol(result.numeric, 4, 1e-8);
    ck_assert_double_eq_tol(result.analytic, 2, 1e-12);
    ck_assert_str_eq(check(NAN_GRADIENT, RT_GRADCHECK_WEIGHTED, NULL).message,
                     "[gradcheck] input 0, element 1, output 0: analytic nan, numeric 0, error nan "
                     "(tolerance 1e-07)");
    const rt_status status = check_with(HALF, (rt_gradcheck_options){.tolerance = 0.5}, NULL);
    ck_assert_ptr_nonnull(strstr(status.message, "error 1 (tolerance 0.5)"));
}

/* test_slope.c varies the position of the kink and the derivative beside it. */
TEST(a_kink_is_counted_and_checked)
{
    static const struct {
        double at;
        size_t kinks;
    } rows[] = {{0, 0}, {4e-6, 1}, {-1.5e-5, 1}, {-0.5, 0}}; /* at 0 both slopes give the same */
    rt_gradcheck_result result;
    for (int i = 0; i < ROWS(rows); i++) {
        data[1] = (real)rows[i].at;
        const rt_status status = check(KINK, RT_GRADCHECK_WEIGHTED, &result);
        ck_assert_msg(!status.code, "|x| at %g: %s", rows[i].at, status.message);
        ck_assert_uint_eq(result.kinks, rows[i].kinks);
        ck_assert_uint_eq(result.judged, 4);
    }
}

/* Elements that are drawn, every second one within three steps of its kink, one by one; and all of
 * them far from it, in a random direction, too. */
TEST_ROWS(right_gradients_beside_kinks_pass_and_wrong_ones_fail_at_every_seed, 0, 3)
{
    enum { MANY = 32, SEEDS = 32 };
    const bool near = _i == 0;
    size_t kinks = 0;
    for (int n = 0; n < 2 * SEEDS; n++) {
        real numbers[MANY], grads[MANY];
        fault f = n % 2 ? WRONG_ABOVE_KINK : KINK;
        rt_tensor x = rt_tensor_of(numbers, grads, RT_SHAPE_OF(MANY)), *inputs[] = {&x};
        const rt_random random = {(uint64_t)n / 2, 0, RT_STREAM_CHECK};
        for (uint64_t i = 0; i < MANY; i++)
            numbers[i] =
                (real)((near && i % 2 ? 3e-5 : 1) * (2 * rt_random_uniform(random, i) - 1));
        const rt_gradcheck_options o = {.mode = _i == 2 ? RT_GRADCHECK_DIRECTION
                                                        : RT_GRADCHECK_WEIGHTED,
                                        .seed = random.seed};
        rt_gradcheck_result result;
        const rt_status status = rt_gradcheck(square, &f, inputs, 1, &o, &result);
        ck_assert_msg(status.code == (n % 2 ? RT_CHECK : RT_OK), "seed %d, fault %d: '%s'", n / 2,
                      (int)f, status.message);
        kinks += result.kinks;
    }
    ck_assert_msg(!near || kinks > SEEDS, "%zu kinks", kinks);
}

TEST(an_element_with_kinks_all_around_is_replaced_by_another)
{
    fault f = ROUGH;
    size_t replaced = 0;
    rt_gradcheck_result result;
    for (uint64_t seed = 0; seed < 16; seed++) {
        rt_tensor x = rt_tensor_of(data, grad, RT_SHAPE_OF(4)), *inputs[] = {&x};
        const rt_gradcheck_options o = {.samples = 1, .seed = seed};
        expect_ok(rt_gradcheck(square, &f, inputs, 1, &o, &result));
        ck_assert_uint_eq(result.judged, 1);
        replaced += result.unjudged;
    }
    ck_assert_uint_gt(replaced, 0);
    for (int m = RT_GRADCHECK_WEIGHTED; m <= RT_GRADCHECK_DIRECTION; m++) {
        rt_tensor x = rt_tensor_of(data + 1, grad, RT_SHAPE_OF(1)), *inputs[] = {&x};
        const rt_gradcheck_options o = {.mode = (rt_gradcheck_mode)m};
        const rt_status status = rt_gradcheck(square, &f, inputs, 1, &o, &result);
        ck_assert_msg(strstr(status.message, "kinks around all"), "mode %d: '%s'", m,
                      status.message);
        ck_assert_int_eq(result.verdict, RT_GRADIENT_UNJUDGED);
    }
}

TEST(a_nan_is_the_largest_error)
{
    ck_assert(rt_larger_error(1, 2) == 2 && rt_larger_error(2, 1) == 2);
    ck_assert(isinf(rt_larger_error(1, (double)INFINITY)));
    ck_assert(isnan(rt_larger_error((double)NAN, 1)) && isnan(rt_larger_error(1, (double)NAN)));
}

TEST(every_allocation_may_fail)
{
    expect_ok_after_refusals(1, check(NONE, RT_GRADCHECK_WEIGHTED, NULL));
}
