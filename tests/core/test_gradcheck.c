/* The checker itself: it must accept what is right and find what is wrong. */

#include "core/gradcheck.h"
#include "suite.h"

#include <math.h>
#include <string.h>

/* y = x^2, with a backward that can be spoilt. */
typedef enum fault { NONE, WRONG_SIGN, HALF, UNREACHED, RANDOM_VALUE, KINK, NOT_FINITE } fault;

static int calls;

static void square_forward(const rt_node *n)
{
    const fault f = *(const fault *)n->args;
    calls++;
    for (size_t i = 0; i < rt_size(n->out); i++) {
        const real x = n->in[0]->data[i];
        n->out->data[i] = f == KINK           ? x * x + (real)fabs((double)x)
                          : f == NOT_FINITE   ? (real)NAN
                          : f == RANDOM_VALUE ? x * x + (real)calls
                                              : x * x;
    }
}

static void square_backward(const rt_node *n)
{
    const fault f = *(const fault *)n->args;
    const double factor = f == WRONG_SIGN ? -2 : f == HALF ? 1 : 2;
    real *dx = f == UNREACHED ? NULL : rt_grad(n, 0);
    for (size_t i = 0; dx && i < rt_size(n->out); i++) {
        const real x = n->in[0]->data[i];
        const real sign = f != KINK || x == 0 ? 0 : x > 0 ? 1 : -1;
        dx[i] += ((real)factor * x + sign) * n->out->grad[i];
    }
}

static const rt_op square_op = {"square", square_forward, square_backward};

static rt_tensor *square(rt_graph *g, rt_tensor *const *in, void *context)
{
    return RT_APPLY(g, &square_op, rt_tensor_shape(in[0]), (fault *)context, in[0]);
}

static real data[] = {1.5, -0.5, 2, 0.25}, grad[4];

static rt_status check(fault f, rt_gradcheck_mode mode, rt_gradcheck_result *result)
{
    rt_tensor x = rt_tensor_of(data, grad, RT_SHAPE_OF(4));
    rt_tensor *inputs[] = {&x};
    rt_gradcheck_options o = {.mode = mode};
    return rt_gradcheck(square, &f, inputs, 1, &o, result);
}

START_TEST(a_right_gradient_passes_in_every_mode)
{
    static const rt_gradcheck_mode modes[] = {RT_GRADCHECK_WEIGHTED, RT_GRADCHECK_JACOBIAN,
                                              RT_GRADCHECK_DIRECTION};
    rt_gradcheck_result result;
    const real before[] = {1.5, -0.5, 2, 0.25};
    for (int m = 0; m < 3; m++) {
        rt_status status = check(NONE, modes[m], &result);
        ck_assert_msg(!status.code, "%s", status.message);
        ck_assert_double_lt(result.error, 1e-9);
        ck_assert(result.reached && result.largest > 0);
        ck_assert(!memcmp(data, before, sizeof data));
    }
}
END_TEST

START_TEST(a_wrong_gradient_is_found_in_every_mode)
{
    static const fault wrong[] = {WRONG_SIGN, HALF};
    rt_gradcheck_result result;
    for (int f = 0; f < 2; f++)
        for (int m = RT_GRADCHECK_WEIGHTED; m <= RT_GRADCHECK_DIRECTION; m++) {
            rt_status status = check(wrong[f], (rt_gradcheck_mode)m, &result);
            ck_assert_int_eq(status.code, RT_CHECK);
            ck_assert_ptr_nonnull(strstr(status.message, "analytic"));
            ck_assert_double_gt(result.error, 0.01);
        }
    ck_assert_int_eq(check(HALF, RT_GRADCHECK_JACOBIAN, &result).code, RT_CHECK);
    ck_assert_uint_eq(result.index, 2); /* the largest element is the worst */
    ck_assert_uint_eq(result.output, 2);
    ck_assert_double_eq_tol(result.numeric, 4, 1e-8);
    ck_assert_double_eq_tol(result.analytic, 2, 1e-12);
}
END_TEST

START_TEST(what_backward_never_reached_is_named)
{
    rt_gradcheck_result result;
    rt_status status = check(UNREACHED, RT_GRADCHECK_WEIGHTED, &result);
    ck_assert_str_eq(status.message, "[gradcheck] backward never reached input 0");
    ck_assert(!result.reached);
}
END_TEST

START_TEST(what_is_no_function_is_named)
{
    rt_status status = check(RANDOM_VALUE, RT_GRADCHECK_WEIGHTED, NULL);
    ck_assert_int_eq(status.code, RT_CHECK);
    ck_assert_ptr_nonnull(strstr(status.message, "not deterministic"));
    status = check(NOT_FINITE, RT_GRADCHECK_WEIGHTED, NULL);
    ck_assert_str_eq(status.message, "[gradcheck] output 0 is nan");
}
END_TEST

START_TEST(a_kink_is_named)
{
    data[1] = 0;
    rt_status status = check(KINK, RT_GRADCHECK_WEIGHTED, NULL);
    data[1] = -0.5;
    ck_assert_int_eq(status.code, RT_CHECK);
    ck_assert_ptr_nonnull(strstr(status.message, "element 1: the slopes on its two sides differ"));
    ck_assert_ptr_nonnull(strstr(status.message, "not differentiable there"));
    status = check(KINK, RT_GRADCHECK_WEIGHTED, NULL); /* all elements away from 0 */
    ck_assert_msg(!status.code, "%s", status.message);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    for (size_t n = 1;; n++) {
        rt_memory_fail_at(n);
        rt_status status = check(NONE, RT_GRADCHECK_WEIGHTED, NULL);
        if (!status.code)
            break;
        ck_assert_int_eq(status.code, RT_MEMORY);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradcheck");
    TCase *tests = leak_checked_case(suite, "gradcheck");
    tcase_add_test(tests, a_right_gradient_passes_in_every_mode);
    tcase_add_test(tests, a_wrong_gradient_is_found_in_every_mode);
    tcase_add_test(tests, what_backward_never_reached_is_named);
    tcase_add_test(tests, what_is_no_function_is_named);
    tcase_add_test(tests, a_kink_is_named);
    tcase_add_test(tests, every_allocation_may_fail);
    return run_suite(suite);
}
