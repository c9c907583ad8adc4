#include "graphs.h"

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

static real x_data[] = {1, 2, 3}, x_grad[3];
static const real upstream[] = {1, 10, 100};

static rt_graph *g;
static rt_tensor x;

static void begin(void)
{
    memset(x_grad, 0, sizeof x_grad);
    x = rt_tensor_of(x_data, x_grad, RT_SHAPE_OF(3));
    g = new_graph();
}

SUITE(.setup = begin)

static void expect_gradient(real factor)
{
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq((double)x_grad[i], (double)(factor * upstream[i]));
}

TEST(gradients_of_leaves_add_up_over_calls)
{
    for (int i = 0; i < 3; i++) {
        rt_graph_clear(g);
        expect_ok(rt_graph_backward_from(g, times(g, &x, 5), upstream));
    }
    expect_gradient(15);
}

/* The first backward passes gradients of results on, and ops release what they saved. */
TEST(a_graph_goes_backward_once_until_it_is_cleared)
{
    rt_tensor *y = times(g, &x, 2);
    expect_ok(rt_graph_backward_from(g, plus(g, y, y), upstream));
    for (int later = 0; later < 2; later++)
        is_status(rt_graph_backward_from(g, later ? times(g, &x, 3) : y, upstream), RT_ARGUMENT,
                  "[backward] an earlier backward has consumed the tape: clear the graph and "
                  "compute the output again");
    expect_gradient(4);
    rt_graph_clear(g);
    expect_ok(rt_graph_backward_from(g, times(g, &x, 2), upstream));
    expect_gradient(6);
}

TEST(a_node_that_does_not_lead_to_the_output_gets_no_gradient)
{
    rt_tensor *y = times(g, &x, 2);
    times(g, y, 100);
    expect_ok(rt_graph_backward_from(g, y, upstream));
    expect_gradient(2);
}

TEST(an_op_without_recording_or_gradients_leaves_no_node)
{
    rt_graph_record(g, false);
    rt_tensor *y = times(g, &x, 2);
    ck_assert_ptr_null(rt_graph_tape(g));
    ck_assert_int_eq(rt_graph_backward_from(g, y, upstream).code, RT_ARGUMENT);
    rt_graph_record(g, true);
    x.wants_grad = false;
    times(g, &x, 2);
    ck_assert_ptr_null(rt_graph_tape(g));
}

enum { LONG = 30000 }; /* two results fill the first chunk of memory */

TEST(a_chain_keeps_only_its_last_result)
{
    static real numbers[LONG], same[LONG];
    for (int i = 0; i < LONG; i++)
        numbers[i] = (real)i;
    x = rt_tensor_of(numbers, NULL, RT_SHAPE_OF(LONG));
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
}

TEST(a_graph_that_records_or_has_failed_keeps_all)
{
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
}

/* y = x * factor, whose backward reads neither. */
static bool reads_nothing(const rt_node *n, const rt_tensor *input)
{
    (void)n;
    (void)input;
    return false;
}

static const rt_op forgetful_op = {.name = "forgetful",
                                   .forward = times_forward,
                                   .backward = times_backward,
                                   .reads = reads_nothing};
static const rt_op view_op = {.name = "view", .backward = plus_backward};

static rt_tensor *forgetful(rt_tensor *input, real factor)
{
    return RT_APPLY(g, &forgetful_op, rt_tensor_shape(input), &factor, input);
}

TEST(the_next_result_gets_the_memory_that_is_given_back)
{
    rt_tensor *y = forgetful(&x, 2), *z = forgetful(y, 3);
    const real *const data = y->data;
    ck_assert(!rt_graph_needs_numbers(g, y));
    rt_graph_release(g, y);
    rt_graph_release(g, y);
    ck_assert_ptr_null(y->data);
    rt_tensor *after = forgetful(z, 1), *other = forgetful(after, 1);
    ck_assert_ptr_eq(after->data, data);
    ck_assert_ptr_ne(other->data, data);
    expect_ok(rt_graph_backward_from(g, other, upstream));
    expect_gradient(6);
}

TEST(values_that_a_backward_may_read_are_kept)
{
    rt_tensor *unknown = times(g, &x, 2), *result = forgetful(unknown, 1);
    rt_tensor *read = forgetful(result, 1);
    ck_assert_ptr_nonnull(times(g, read, 1));
    rt_tensor *const kept[] = {&x, unknown, read};
    for (int i = 0; i < 3; i++) {
        const real *data = kept[i]->data;
        rt_graph_release(g, kept[i]);
        ck_assert_ptr_eq(kept[i]->data, data);
    }
    rt_graph_record(g, false);
    rt_tensor *loose = forgetful(&x, 1); /* nothing goes back through it */
    rt_graph_release(g, loose);
    ck_assert_ptr_nonnull(loose->data);
}

/* Views share one memory: all of them lose it at once, and it stays while any of them is read. */
TEST(views_release_the_memory_they_share)
{
    for (int reader = 0; reader < 3; reader++) {
        rt_graph_clear(g);
        rt_tensor *y = forgetful(&x, 2);
        rt_tensor *first = rt_graph_view(g, &view_op, RT_SHAPE_OF(3, 1), y);
        rt_tensor *second = rt_graph_view(g, &view_op, RT_SHAPE_OF(3), first);
        ck_assert_ptr_nonnull(forgetful(y, 1));
        if (reader)
            ck_assert_ptr_nonnull(times(g, reader == 1 ? y : second, 1));
        rt_graph_release(g, reader == 2 ? first : second);
        ck_assert_int_eq(y->data == NULL, !reader);
        ck_assert_ptr_eq(first->data, y->data);
        ck_assert_ptr_eq(second->data, y->data);
        ck_assert_int_eq(RT_CHECK_INPUTS(g, "op", RT_INPUT(first)), reader > 0);
        if (!reader)
            ck_assert_str_eq(rt_graph_status(g).message,
                             "[op] first has shape (3, 1), but its data was released");
    }
}

static rt_tensor *one_after_the_other(rt_graph *graph, rt_tensor *input, void *context)
{
    (void)context;
    rt_tensor *y = forgetful(input, 2), *z = forgetful(y, 3);
    rt_graph_release(graph, y);
    return forgetful(z, 1);
}

/* Memory released before a segment is available after it, and none of the segment's own. */
TEST(a_segment_that_is_computed_again_lends_its_own_memory)
{
    rt_tensor *y = forgetful(&x, 2), *z = forgetful(y, 1);
    const real *const data = y->data;
    rt_graph_release(g, y);
    for (int i = 0; i < 3; i++) {
        z = rt_graph_recompute(g, z, one_after_the_other, NULL, 0);
        ck_assert_ptr_nonnull(z);
        ck_assert_ptr_ne(z->data, data);
    }
    rt_tensor *after = forgetful(z, 1);
    ck_assert_ptr_eq(after->data, data);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq((double)after->data[i], 432 * (i + 1));
    expect_ok(rt_graph_backward_from(g, after, upstream));
    expect_gradient(432);
}

/* The gradient of `sum` is in a block that was released before the segment. The two gradients
 * borrowed while it is read must be elsewhere. */
TEST(a_block_that_a_segment_borrows_is_lent_once)
{
    rt_tensor *sum = plus(g, times(g, times(g, &x, 1), 2), times(g, times(g, &x, 1), 3));
    rt_tensor *z = rt_graph_recompute(g, sum, one_after_the_other, NULL, 0);
    rt_tensor *y = times(g, times(g, z, 1), 1);
    expect_ok(rt_graph_backward_from(g, y, upstream));
    expect_gradient(30);
}

TEST(the_first_error_sticks_until_the_graph_is_cleared)
{
    rt_tensor matrix = rt_tensor_of(x_data, NULL, RT_SHAPE_OF(3, 1));
    rt_tensor *y = plus(g, times(g, &matrix, 2), &x);
    ck_assert_ptr_null(y);
    ck_assert_ptr_null(rt_graph_fail(g, RT_ARGUMENT, "a later message"));
    ck_assert_ptr_null(times(g, &x, 1));
    ck_assert_str_eq(rt_graph_status(g).message, "[times] x must be (N); got (3, 1)");
    ck_assert_int_eq(rt_graph_backward(g, y).code, RT_SHAPE);
    rt_graph_clear(g);
    ck_assert_int_eq(rt_graph_status(g).code, RT_OK);
    ck_assert_ptr_nonnull(times(g, &x, 1));
}

TEST(backward_refuses_an_output_that_is_no_computed_scalar)
{
    rt_tensor *y = times(g, &x, 2);
    is_status(rt_graph_backward(g, y), RT_SHAPE,
              "[backward] the loss must have one element; got (3)");
    is_status(rt_graph_backward(g, NULL), RT_ARGUMENT, "[backward] the output is NULL");
    is_status(rt_graph_backward_from(g, NULL, upstream), RT_ARGUMENT,
              "[backward] the output is NULL");
    is_status(rt_graph_backward_from(g, y, NULL), RT_ARGUMENT, "[backward] upstream is NULL");
    ck_assert_int_eq(rt_graph_backward_from(g, &x, upstream).code, RT_ARGUMENT);
    expect_ok(rt_graph_backward_from(g, y, upstream));
}

static rt_status step(rt_graph *graph)
{
    rt_graph_clear(graph);
    rt_tensor *y = &x;
    for (int i = 0; i < 50; i++)
        y = plus(graph, times(graph, y, 2), y);
    rt_graph_scratch(graph, 5000, 8);
    return rt_graph_backward_from(graph, y, upstream);
}

TEST(a_steady_loop_makes_no_call_to_the_heap)
{
    for (int i = 0; i < 3; i++)
        expect_ok(step(g));
    const size_t requests = rt_memory_requests();
    for (int i = 0; i < 10; i++)
        expect_ok(step(g));
    ck_assert_uint_eq(rt_memory_requests(), requests);
}

TEST(every_allocation_may_fail)
{
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 1)
    {
        rt_graph *graph = rt_graph_new();
        code = graph ? RT_OK : RT_MEMORY;
        for (int i = 0; graph && i < 3; i++) {
            const rt_code of_step = step(graph).code;
            ck_assert(!of_step || of_step == RT_MEMORY);
            code = of_step ? of_step : code;
        }
        rt_graph_free(graph);
    }
    ck_assert_int_eq(code, RT_OK);
}

/* Rounds of several sizes, of which each fills chunks of memory in its own way. */
static rt_graph_need need_of(rt_graph *graph, real *numbers)
{
    static const int sizes[] = {LONG, 7, 3 * LONG, 2 * LONG};
    for (size_t round = 0; round < sizeof sizes / sizeof *sizes; round++) {
        rt_tensor input = rt_tensor_of(numbers, numbers, RT_SHAPE_OF(sizes[round]));
        const size_t touched = rt_graph_needs(graph).touched;
        rt_graph_clear(graph);
        rt_graph_record(graph, round % 2 == 0);
        const rt_arena_mark mark = rt_graph_here(graph);
        rt_tensor *y = times(graph, &input, 1);
        for (int link = 0; link < 4; link++)
            y = rt_graph_keep(graph, mark, plus(graph, times(graph, y, 1), y));
        if (round % 2 == 0)
            expect_ok(rt_graph_backward_from(graph, y, numbers));
        expect_ok(rt_graph_status(graph));
        ck_assert_uint_ge(rt_graph_needs(graph).touched, touched);
    }
    return rt_graph_needs(graph);
}

/* A dry one asks the heap for descriptions alone. */
TEST(a_dry_graph_counts_the_memory_of_a_graph_without_allocating_it)
{
    static real numbers[3 * LONG];
    rt_graph *dry = rt_graph_new_dry();
    const rt_graph_need need = need_of(g, numbers);
    const rt_graph_need told = need_of(dry, RT_RESERVED);
    ck_assert_uint_eq(told.touched, need.touched);
    ck_assert_uint_eq(told.space, need.space);
    ck_assert_uint_gt(need.touched, 10 * sizeof numbers);
    ck_assert_uint_gt(need.space, need.touched);
    ck_assert_uint_eq(rt_graph_peak(dry), rt_graph_peak(g));
    x = rt_tensor_of(RT_RESERVED, NULL, RT_SHAPE_OF(1 << 15, 1 << 15));
    rt_graph_clear(dry);
    ck_assert_ptr_null(plus(dry, times(dry, &x, 1), &x)); /* which takes (N) */
    ck_assert_int_eq(rt_graph_status(dry).code, RT_SHAPE);
    rt_graph_free(dry);
}

TEST(memory_of_the_size_max_is_refused)
{
    ck_assert_ptr_null(rt_graph_memory(g, (size_t)-1, 8));
    ck_assert_int_eq(rt_graph_status(g).code, RT_MEMORY);
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_graph_memory(g, (size_t)-1, 1));
}
