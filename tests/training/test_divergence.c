/* When a loss tells that a training has diverged. */

#include "suite.h"

#include "core/memory.h"
#include "train/report/report.h"

#include <math.h>

TEST(the_limit_is_twice_the_loss_of_a_guess)
{
    rt_transformer_options o = {.head = RT_HEAD_LM, .vocab = 10, .labels = 4};
    ck_assert_double_eq_tol(rt_divergence_limit(&o), 4.605170185988091, 1e-12);
    o.head = RT_HEAD_SEQUENCE;
    ck_assert_double_eq_tol(rt_divergence_limit(&o), 2.772588722239781, 1e-12);
    o.head = RT_HEAD_TOKEN;
    ck_assert_double_eq_tol(rt_divergence_limit(&o), 2.772588722239781, 1e-12);
    o.labels = 1;
    ck_assert(isinf(rt_divergence_limit(&o)));
}
