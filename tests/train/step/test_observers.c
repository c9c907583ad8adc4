/* Findings of --trap in the ops that it observes. */

#include "suite.h"

#include "ops/engine.h"
#include "ops/ops.h"
#include "train/step/trainer.h"

enum { ROWS = 300, IN = 8, LABELS = 40 };

static real numbers[ROWS * IN], weight[LABELS * IN], dweight[LABELS * IN];

/* Labels are 0, whose part of the gradient is infinite; forward is not observed. */
static rt_status backward_of_an_infinite_share(void)
{
    static const int32_t labels[ROWS];
    rt_graph *g = rt_graph_new();
    rt_tensor x = rt_tensor_of(numbers, NULL, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w = rt_tensor_of(weight, dweight, RT_SHAPE_OF(LABELS, IN));
    rt_tensor *loss = rt_cross_entropy(g, rt_linear(g, &x, &w, NULL), labels, 0, 1e-320);
    ck_assert_ptr_nonnull(loss);
    rt_graph_observe(g, rt_trap);
    const rt_status status = rt_graph_backward(g, loss);
    rt_graph_free(g);
    return status;
}

SUITE(.may_leak = true)

TEST(the_first_gradient_that_is_not_finite_is_trapped)
{
    is_status_with(backward_of_an_infinite_share(), RT_NONFINITE,
                   "[cross_entropy] gradient of an input: element 0 of (300, 40) is ");
}

#ifndef RT_DOUBLE

TEST_ROWS(a_non_finite_gradient_in_bf16_is_trapped, 0, IN_FLOAT)
{
    if (!rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_BF16).code)
        is_status(backward_of_an_infinite_share(), RT_NONFINITE,
                  "[cross_entropy] gradient of an input, in bf16: element 0 of (300, 40) is not "
                  "finite");
}

#endif
