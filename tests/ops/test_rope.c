/* Rotation at its edges: a table that grows, what is not rotated, what does not fit. */

#include "graphs.h"
#include "numbers.h"
#include "ops/ops.h"

#include <math.h>

TEST(some_rows_have_the_bits_of_a_table)
{
    enum { PAIRS = 4, T = 5, OFFSET = 3 };
    double theta[PAIRS];
    rt_rotation_table table;
    rt_graph *g = new_graph();
    rt_theta_geometric(theta, PAIRS, 100);
    expect_ok(rt_rotation_table_init(&table, theta, PAIRS, RT_HALF, 1.5));
    expect_ok(rt_rotation_reserve(&table, OFFSET + T));
    const rt_shape shape = RT_SHAPE_OF(1, PAIRS);
    rt_positions at = {.B = 1, .T = T, .offset = OFFSET};
    const rt_rotation *r = rt_rotation_fixed(g, theta, shape, RT_HALF, 1.5, at);
    const size_t size = (size_t)T * PAIRS * sizeof(real);
    ck_assert_int_eq(r->length, T);
    ck_assert(!memcmp(r->cosine, table.rotation.cosine + OFFSET * PAIRS, size));
    ck_assert(!memcmp(r->sine, table.rotation.sine + OFFSET * PAIRS, size));
    ck_assert(!memcmp(r->position, table.rotation.position + OFFSET, T * sizeof(double)));
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, shape, RT_HALF, NAN, at));
    ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "a finite magnitude"));
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_rotation_fixed(g, NULL, shape, RT_HALF, 1, at));
    rt_graph_clear(g);
    at.T = 0;
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, shape, RT_HALF, 1, at));
    rt_rotation_table_free(&table);
}

TEST(position_0_and_features_that_are_not_rotated_are_left_alone)
{
    enum { T = 3, D = 6 };
    real x_data[T * D], x_grad[T * D] = {0}, theta_data[2] = {0.7, 0.1}, theta_grad[2] = {0};
    real upstream[T * D] = {0};
    fill(x_data, T * D, 400);
    rt_graph *g = new_graph();
    rt_tensor x = rt_tensor_of(x_data, x_grad, RT_SHAPE_OF(1, T, 1, D));
    rt_tensor theta = rt_tensor_of(theta_data, theta_grad, RT_SHAPE_OF(2));
    rt_rotation *r = rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_INTERLEAVED, 1,
                                         (rt_positions){.B = 1, .T = T});
    rt_tensor *y = rt_rope(g, &x, r);
    ck_assert(!memcmp(y->data, x_data, D * sizeof(real)));
    for (int t = 0; t < T; t++)
        for (int i = 4; i < D; i++)
            ck_assert(y->data[t * D + i] == x_data[t * D + i]);
    fill(upstream, D, 401); /* the gradient of row 0 only */
    ck_assert(!rt_graph_backward_from(g, y, upstream).code);
    ck_assert(theta_grad[0] == 0 && theta_grad[1] == 0);
    ck_assert(!memcmp(x_grad, upstream, D * sizeof(real)));
}
