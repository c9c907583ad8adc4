#include "core/graph.h"
#include "suite.h"

#include <string.h>

/* y = x * factor, element by element, with the factor as an argument. */
static void times_forward(const rt_node *n)
{
    for (size_t i = 0; i < rt_size(n->out); i++)
        n->out->data[i] = *(const real *)n->args * n->in[0]->data[i];
}

static void times_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0);
    for (size_t i = 0; dx && i < rt_size(n->out); i++)
        dx[i] += *(const real *)n->args * n->out->grad[i];
}

static const rt_op times_op = {.name = "times",
                               .forward = times_forward,
                               .backward = times_backward};

static rt_tensor *times(rt_graph *g, rt_tensor *x, real factor)
{
    if (!x)
        return NULL;
    if (x->ndim != 1)
        return rt_graph_fail(g, RT_SHAPE, "[times] x must be (N); got %s", rt_shape_text(x));
    return RT_APPLY(g, &times_op, rt_tensor_shape(x), &factor, x);
}

/* x + y of equal shapes; hands its gradient on. */
static void plus_forward(const rt_node *n)
{
    for (size_t i = 0; i < rt_size(n->out); i++)
        n->out->data[i] = n->in[0]->data[i] + n->in[1]->data[i];
}

static void plus_backward(const rt_node *n)
{
    real *dy = rt_grad(n, 1);
    for (size_t i = 0; dy && i < rt_size(n->out); i++)
        dy[i] += n->out->grad[i];
    rt_grad_pass(n, 0);
}

static const rt_op plus_op = {.name = "plus", .forward = plus_forward, .backward = plus_backward};

static rt_tensor *plus(rt_graph *g, rt_tensor *x, rt_tensor *y)
{
    return x && y ? RT_APPLY(g, &plus_op, rt_tensor_shape(x), RT_NO_ARGS, x, y) : NULL;
}

/* ---- fixtures ---- */

static real x_data[] = {1, 2, 3}, x_grad[3];
static const real upstream[] = {1, 10, 100};

static rt_tensor leaf(void)
{
    memset(x_grad, 0, sizeof x_grad);
    return rt_tensor_of(x_data, x_grad, RT_SHAPE_OF(3));
}

static void expect_gradient(real factor)
{
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq((double)x_grad[i], (double)(factor * upstream[i]));
}

/* ---- tests ---- */

TEST(a_tensor_used_twice_gets_both_gradients)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_tensor *y = plus(g, times(g, &x, 2), &x);
    expect_ok(rt_graph_backward_from(g, plus(g, y, y), upstream));
    expect_gradient(6);
    rt_graph_free(g);
}

TEST(gradients_of_leaves_add_up_over_calls)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    for (int i = 0; i < 3; i++) {
        rt_graph_clear(g);
        expect_ok(rt_graph_backward_from(g, times(g, &x, 5), upstream));
    }
    expect_gradient(15);
    rt_graph_free(g);
}

/* Gradients of results have been handed on, and ops have used up what they saved. */
TEST(a_graph_goes_backward_once_until_it_is_cleared)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_tensor *y = times(g, &x, 2);
    expect_ok(rt_graph_backward_from(g, plus(g, y, y), upstream));
    for (int later = 0; later < 2; later++) {
        const rt_status status = rt_graph_backward_from(g, later ? times(g, &x, 3) : y, upstream);
        ck_assert_int_eq(status.code, RT_ARGUMENT);
        ck_assert_str_eq(status.message, "[backward] an earlier backward has consumed the tape: "
                                         "clear the graph and compute the output again");
    }
    expect_gradient(4);
    rt_graph_clear(g);
    expect_ok(rt_graph_backward_from(g, times(g, &x, 2), upstream));
    expect_gradient(6);
    rt_graph_free(g);
}

TEST(what_does_not_lead_to_the_output_gets_nothing)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_tensor *y = times(g, &x, 2);
    times(g, y, 100);
    expect_ok(rt_graph_backward_from(g, y, upstream));
    expect_gradient(2);
    rt_graph_free(g);
}

TEST(without_recording_or_a_wish_no_node_is_left)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_graph_record(g, false);
    rt_tensor *y = times(g, &x, 2);
    ck_assert_ptr_null(rt_graph_tape(g));
    ck_assert_int_eq(rt_graph_backward_from(g, y, upstream).code, RT_ARGUMENT);
    rt_graph_record(g, true);
    x.wants_grad = false;
    times(g, &x, 2);
    ck_assert_ptr_null(rt_graph_tape(g));
    rt_graph_free(g);
}

enum { LONG = 30000 }; /* two results fill the first chunk of memory */

/* Ten times as long a chain takes the memory of one link, and what stands before it stays. */
TEST(of_a_chain_only_the_last_result_is_kept)
{
    static real numbers[LONG], same[LONG];
    for (int i = 0; i < LONG; i++)
        numbers[i] = (real)i;
    rt_graph *g = rt_graph_new();
    rt_tensor x = rt_tensor_of(numbers, NULL, RT_SHAPE_OF(LONG));
    rt_graph_record(g, false);
    for (int round = 0; round < 3; round++) {
        size_t peak = 0;
        rt_graph_clear(g);
        const rt_tensor *first = round == 2 ? NULL : times(g, &x, 3);
        const rt_arena_mark mark = rt_graph_here(g);
        rt_tensor *y = times(g, &x, 1);
        for (int link = 0; link < 20; link++) {
            real *room = rt_graph_scratch(g, LONG, sizeof *room);
            ck_assert_ptr_nonnull(room);
            rt_tensor *doubled = times(g, y, 2);
            for (int i = 0; i < LONG; i++)
                room[i] = -1;
            y = rt_graph_keep(g, mark,
                              times(g, plus(g, doubled, y), link % 2 ? 1 : (real)(1.0 / 9)));
            ck_assert_ptr_nonnull(y);
            if (link == 1)
                peak = rt_graph_peak(g);
        }
        expect_ok(rt_graph_status(g));
        ck_assert_uint_eq(rt_graph_peak(g), peak);
        for (int i = 0; i < LONG; i++) {
            ck_assert_double_eq_tol((double)y->data[i], i, 1e-4 * (i + 1));
            ck_assert(!first || first->data[i] == (real)3 * numbers[i]);
        }
        memcpy(same, y->data, sizeof same);
        rt_tensor *after = y;
        for (int i = 0; i < 6; i++)
            after = times(g, after, 1);
        ck_assert(!memcmp(after->data, same, sizeof same) && !memcmp(y->data, same, sizeof same));
        ck_assert_uint_ge(rt_graph_peak(g), (first ? 8 : 7) * sizeof same);
    }
    rt_graph_free(g);
}

TEST(a_graph_that_records_or_has_failed_keeps_all)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    const rt_arena_mark mark = rt_graph_here(g);
    rt_tensor *y = times(g, &x, 2), *z = times(g, y, 3);
    ck_assert_ptr_eq(rt_graph_keep(g, mark, z), z);
    expect_ok(rt_graph_backward_from(g, z, upstream));
    expect_gradient(6);
    rt_graph_clear(g);
    rt_graph_record(g, false);
    ck_assert_ptr_null(rt_graph_keep(g, rt_graph_here(g), NULL));
    y = times(g, &x, 2);
    rt_graph_fail(g, RT_ARGUMENT, "no more");
    ck_assert_ptr_eq(rt_graph_keep(g, mark, y), y);
    rt_graph_free(g);
}

/* y = x * factor, whose backward reads neither. */
static bool reads_nothing(const rt_node *n, const rt_tensor *x)
{
    (void)n;
    (void)x;
    return false;
}

static const rt_op forgetful_op = {.name = "forgetful",
                                   .forward = times_forward,
                                   .backward = times_backward,
                                   .reads = reads_nothing};
static const rt_op view_op = {.name = "view", .backward = plus_backward};

static rt_tensor *forgetful(rt_graph *g, rt_tensor *x, real factor)
{
    return RT_APPLY(g, &forgetful_op, rt_tensor_shape(x), &factor, x);
}

TEST(the_next_result_gets_the_memory_that_is_given_back)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_tensor *y = forgetful(g, &x, 2), *z = forgetful(g, y, 3);
    const real *const data = y->data;
    ck_assert(!rt_graph_needs_numbers(g, y));
    rt_graph_release(g, y);
    rt_graph_release(g, y);
    ck_assert_ptr_null(y->data);
    rt_tensor *after = forgetful(g, z, 1), *other = forgetful(g, after, 1);
    ck_assert_ptr_eq(after->data, data);
    ck_assert_ptr_ne(other->data, data);
    expect_ok(rt_graph_backward_from(g, other, upstream));
    expect_gradient(6);
    rt_graph_free(g);
}

TEST(numbers_that_a_backward_may_read_stay)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_tensor *unknown = times(g, &x, 2), *result = forgetful(g, unknown, 1);
    rt_tensor *read = forgetful(g, result, 1);
    ck_assert_ptr_nonnull(times(g, read, 1));
    rt_tensor *const kept[] = {&x, unknown, read};
    for (int i = 0; i < 3; i++) {
        const real *data = kept[i]->data;
        rt_graph_release(g, kept[i]);
        ck_assert_ptr_eq(kept[i]->data, data);
    }
    rt_graph_record(g, false);
    rt_tensor *loose = forgetful(g, &x, 1); /* nothing goes back through it */
    rt_graph_release(g, loose);
    ck_assert_ptr_nonnull(loose->data);
    rt_graph_free(g);
}

/* The memory of a view is that of what it views: all of them lose it, and a reader of any needs it.
 */
TEST(views_give_back_one_memory)
{
    for (int reader = 0; reader < 3; reader++) {
        rt_graph *g = rt_graph_new();
        rt_tensor x = leaf();
        rt_tensor *y = forgetful(g, &x, 2);
        rt_tensor *first = rt_graph_view(g, &view_op, RT_SHAPE_OF(3, 1), y);
        rt_tensor *second = rt_graph_view(g, &view_op, RT_SHAPE_OF(3), first);
        ck_assert_ptr_nonnull(forgetful(g, y, 1));
        if (reader)
            ck_assert_ptr_nonnull(times(g, reader == 1 ? y : second, 1));
        rt_graph_release(g, reader == 2 ? first : second);
        ck_assert_int_eq(y->data == NULL, !reader);
        ck_assert_ptr_eq(first->data, y->data);
        ck_assert_ptr_eq(second->data, y->data);
        ck_assert_int_eq(RT_CHECK_INPUTS(g, "op", RT_INPUT(first)), reader > 0);
        if (!reader)
            ck_assert_str_eq(rt_graph_status(g).message,
                             "[op] first has shape (3, 1), and has given its numbers back");
        rt_graph_free(g);
    }
}

static rt_tensor *one_after_the_other(rt_graph *g, rt_tensor *x, void *context)
{
    (void)context;
    rt_tensor *y = forgetful(g, x, 2), *z = forgetful(g, y, 3);
    rt_graph_release(g, y);
    return forgetful(g, z, 1);
}

/* Memory that was given back before a segment is there after it, and nothing of the segment's. */
TEST(a_segment_that_is_computed_again_lends_its_own_memory)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    rt_tensor *y = forgetful(g, &x, 2), *z = forgetful(g, y, 1);
    const real *const data = y->data;
    rt_graph_release(g, y);
    for (int i = 0; i < 3; i++) {
        z = rt_graph_recompute(g, z, one_after_the_other, NULL, 0);
        ck_assert_ptr_nonnull(z);
        ck_assert_ptr_ne(z->data, data);
    }
    rt_tensor *after = forgetful(g, z, 1);
    ck_assert_ptr_eq(after->data, data);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq((double)after->data[i], 432 * (i + 1));
    expect_ok(rt_graph_backward_from(g, after, upstream));
    expect_gradient(432);
    rt_graph_free(g);
}

TEST(the_first_error_sticks_until_the_graph_is_cleared)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf(), matrix = rt_tensor_of(x_data, NULL, RT_SHAPE_OF(3, 1));
    rt_tensor *y = plus(g, times(g, &matrix, 2), &x);
    ck_assert_ptr_null(y);
    ck_assert_ptr_null(rt_graph_fail(g, RT_ARGUMENT, "a later message"));
    ck_assert_ptr_null(times(g, &x, 1));
    ck_assert_str_eq(rt_graph_status(g).message, "[times] x must be (N); got (3, 1)");
    ck_assert_int_eq(rt_graph_backward(g, y).code, RT_SHAPE);
    rt_graph_clear(g);
    ck_assert_int_eq(rt_graph_status(g).code, RT_OK);
    ck_assert_ptr_nonnull(times(g, &x, 1));
    rt_graph_free(g);
}

TEST(backward_wants_a_single_number_that_was_computed)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    ck_assert_str_eq(rt_graph_backward(g, times(g, &x, 2)).message,
                     "[backward] the loss must have one element; got (3)");
    ck_assert_int_eq(rt_graph_backward(g, NULL).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_graph_backward_from(g, &x, upstream).code, RT_ARGUMENT);
    rt_graph_free(g);
}

static rt_status step(rt_graph *g, rt_tensor *x)
{
    rt_graph_clear(g);
    rt_tensor *y = x;
    for (int i = 0; i < 50; i++)
        y = plus(g, times(g, y, 2), y);
    rt_graph_scratch(g, 5000, 8);
    return rt_graph_backward_from(g, y, upstream);
}

TEST(a_steady_loop_makes_no_call_to_the_heap)
{
    rt_graph *g = rt_graph_new();
    rt_tensor x = leaf();
    for (int i = 0; i < 3; i++)
        expect_ok(step(g, &x));
    const size_t requests = rt_memory_requests();
    for (int i = 0; i < 10; i++)
        expect_ok(step(g, &x));
    ck_assert_uint_eq(rt_memory_requests(), requests);
    rt_graph_free(g);
}

TEST(every_allocation_may_fail)
{
    rt_tensor x = leaf();
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        rt_memory_fail_at(n);
        rt_graph *g = rt_graph_new();
        failed = !g;
        for (int i = 0; g && i < 3; i++) {
            rt_status status = step(g, &x);
            ck_assert(!status.code || status.code == RT_MEMORY);
            failed |= status.code == RT_MEMORY;
        }
        rt_graph_free(g);
        ck_assert_uint_lt(n, 1000);
        if (n < 2)
            ck_assert(failed);
    }
}

/* Rounds of several sizes, of which each fills chunks of memory in its own way. */
static rt_graph_need need_of(rt_graph *g, real *numbers)
{
    static const int sizes[] = {LONG, 7, 3 * LONG, 2 * LONG};
    for (size_t round = 0; round < sizeof sizes / sizeof *sizes; round++) {
        rt_tensor x = rt_tensor_of(numbers, numbers, RT_SHAPE_OF(sizes[round]));
        rt_graph_clear(g);
        rt_graph_record(g, round % 2 == 0);
        const rt_arena_mark mark = rt_graph_here(g);
        rt_tensor *y = times(g, &x, 1);
        for (int link = 0; link < 4; link++)
            y = rt_graph_keep(g, mark, plus(g, times(g, y, 1), y));
        if (round % 2 == 0)
            expect_ok(rt_graph_backward_from(g, y, numbers));
        expect_ok(rt_graph_status(g));
    }
    return rt_graph_needs(g);
}

/* A dry one asks the heap for descriptions alone. */
TEST(a_dry_graph_needs_what_a_graph_needs_and_has_none_of_it)
{
    static real numbers[3 * LONG];
    rt_graph *g = rt_graph_new(), *dry = rt_graph_new_dry();
    const rt_graph_need need = need_of(g, numbers);
    const rt_graph_need told = need_of(dry, RT_RESERVED);
    ck_assert_uint_eq(told.touched, need.touched);
    ck_assert_uint_eq(told.space, need.space);
    ck_assert_uint_gt(need.touched, 10 * sizeof numbers);
    ck_assert_uint_gt(need.space, need.touched);
    ck_assert_uint_eq(rt_graph_peak(dry), rt_graph_peak(g));
    rt_tensor x = rt_tensor_of(RT_RESERVED, NULL, RT_SHAPE_OF(1 << 15, 1 << 15));
    rt_graph_clear(dry);
    ck_assert_ptr_null(plus(dry, times(dry, &x, 1), &x)); /* which takes (N) */
    ck_assert_int_eq(rt_graph_status(dry).code, RT_SHAPE);
    rt_graph_free(dry);
    rt_graph_free(g);
}

TEST(memory_of_the_size_max_is_refused)
{
    rt_graph *g = rt_graph_new();
    ck_assert_ptr_null(rt_graph_memory(g, (size_t)-1, 8));
    ck_assert_int_eq(rt_graph_status(g).code, RT_MEMORY);
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_graph_memory(g, (size_t)-1, 1));
    rt_graph_free(g);
}
