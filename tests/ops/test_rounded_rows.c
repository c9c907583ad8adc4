/* Linear maps in bf16 whose rows were rounded once, against maps that round for themselves. */

#include "numbers.h"
#include "suite.h"

#include "ops/engine.h"
#include "ops/ops.h"

#include <string.h>

#ifndef RT_DOUBLE

enum { ROWS = 300, IN = 24, WIDE = 40, OUT = 17 };

typedef struct maps {
    real x[ROWS * IN], w1[WIDE * IN], w2[OUT * WIDE], w3[OUT * WIDE];
    real dx[ROWS * IN], dw1[WIDE * IN], dw2[OUT * WIDE], dw3[OUT * WIDE];
    real y[2 * ROWS * OUT];
} maps;

static bool bf16(void)
{
    return rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_BF16).code == RT_OK;
}

/* Two maps of gelu(x w1^T); apart, the activation is an op of its own, and each map reads a result
 * of its own with the same numbers. */
static void compute(maps *m, bool apart)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = rt_tensor_of(m->x, m->dx, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w1 = rt_tensor_of(m->w1, m->dw1, RT_SHAPE_OF(WIDE, IN));
    rt_tensor w2 = rt_tensor_of(m->w2, m->dw2, RT_SHAPE_OF(OUT, WIDE));
    rt_tensor w3 = rt_tensor_of(m->w3, m->dw3, RT_SHAPE_OF(OUT, WIDE));
    rt_tensor *h = apart ? rt_activate(g, rt_linear(g, &x, &w1, NULL), RT_GELU)
                         : rt_linear_activate(g, &x, &w1, NULL, RT_GELU);
    rt_tensor *h2 = apart ? rt_scale(g, h, 1) : h, *h3 = apart ? rt_scale(g, h, 1) : h;
    rt_tensor *y2 = rt_linear(g, h2, &w2, NULL), *y3 = rt_linear(g, h3, &w3, NULL);
    memcpy(m->y, y2->data, ROWS * OUT * sizeof *m->y);
    memcpy(m->y + ROWS * OUT, y3->data, ROWS * OUT * sizeof *m->y);
    rt_tensor *loss = rt_sum(g, rt_multiply(g, y2, y3));
    ck_assert_int_eq(rt_graph_backward(g, loss).code, RT_OK);
    rt_graph_free(g);
}

static maps kept, fresh;

START_TEST(rows_that_are_rounded_once_are_those_that_each_map_rounds)
{
    if (!bf16())
        return;
    fill(kept.x, ROWS * IN, 1);
    fill(kept.w1, WIDE * IN, 2);
    fill(kept.w2, OUT * WIDE, 4);
    fill(kept.w3, OUT * WIDE, 5);
    fresh = kept;
    compute(&kept, false);
    compute(&fresh, true);
    ck_assert(!memcmp(kept.y, fresh.y, sizeof kept.y));
    ck_assert(!memcmp(kept.dw2, fresh.dw2, sizeof kept.dw2));
    ck_assert(!memcmp(kept.dw3, fresh.dw3, sizeof kept.dw3));
    ck_assert(!memcmp(kept.dw1, fresh.dw1, sizeof kept.dw1));
    ck_assert(!memcmp(kept.dx, fresh.dx, sizeof kept.dx));
}
END_TEST

/* The values of a leaf are the caller's, who may change them. */
START_TEST(of_a_leaf_nothing_is_kept)
{
    if (!bf16())
        return;
    fill(kept.x, ROWS * IN, 1);
    fill(kept.w1, WIDE * IN, 2);
    rt_tensor x = rt_tensor_of(kept.x, NULL, RT_SHAPE_OF(ROWS, IN));
    rt_tensor w = rt_tensor_of(kept.w1, kept.dw1, RT_SHAPE_OF(WIDE, IN));
    rt_graph *g = rt_graph_new();
    ck_assert_ptr_nonnull(rt_linear(g, &x, &w, NULL));
    ck_assert_ptr_null(x.rounded);
    rt_graph_record(g, false);
    rt_tensor *result = rt_scale(g, &x, 1);
    ck_assert_ptr_nonnull(rt_linear(g, result, &w, NULL));
    ck_assert_ptr_null(result->rounded); /* nor where no backward follows */
    rt_graph_free(g);
}
END_TEST

/* Runs the parts one after the other, the last first. */
static void run_backwards(void *threads, rt_part *part, void *context, int parts)
{
    *(int *)threads += parts;
    while (parts--)
        part(context, parts);
}

/* A weight that is too small for parts of columns meets many rows in parts of rows. */
START_TEST(parts_of_rows_read_their_own_rounded_rows)
{
    enum { SIDE = 256 };
    static real x_data[ROWS * SIDE], w_data[SIDE * SIDE];
    int parts = 0;
    const rt_crew crew = {run_backwards, &parts};
    if (!bf16())
        return;
    fill(x_data, ROWS * SIDE, 6);
    fill(w_data, SIDE * SIDE, 7);
    rt_tensor x = rt_tensor_of(x_data, NULL, RT_SHAPE_OF(ROWS, SIDE));
    rt_tensor w = rt_tensor_of(w_data, NULL, RT_SHAPE_OF(SIDE, SIDE));
    rt_graph *g = rt_graph_new();
    rt_graph_record(g, false);
    const rt_tensor *whole = rt_linear(g, &x, &w, NULL);
    rt_graph_set_crew(g, &crew);
    const rt_tensor *cut = rt_linear(g, &x, &w, NULL);
    ck_assert_int_eq(parts, 3);
    for (size_t i = 0; i < rt_size(whole); i++)
        ck_assert_double_eq_tol((double)cut->data[i], (double)whole->data[i], 1e-3);
    rt_graph_free(g);
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("rounded rows");
    TCase *tests = tcase_create("rounded rows");
#ifndef RT_DOUBLE
    tcase_add_test(tests, rows_that_are_rounded_once_are_those_that_each_map_rounds);
    tcase_add_test(tests, of_a_leaf_nothing_is_kept);
    tcase_add_test(tests, parts_of_rows_read_their_own_rounded_rows);
#endif
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
