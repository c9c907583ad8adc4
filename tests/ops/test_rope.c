/* Rotation at its edges: some rows of a table, and what does not fit. */

#include "graphs.h"
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
