/* Random programs of ops on inputs that mostly fit: an op returns a tensor of a valid shape, or
 * NULL with a message in the graph; backward starts only from outputs with a gradient. Leaves are
 * exactly as large as their shapes, so that a sanitizer sees every access beside them. Invalid
 * inputs are in test_hostile.c. */

#include "calls.h"
#include "graphs.h"

enum {
    MOST_TENSORS = 48,
    MOST_CALLS = 8,
    MOST_ELEMENTS = 4096, /* of a tensor that is used again */
    ARRAY = 4096,         /* entries of the arrays that options point to, */
    FILLED = 256,         /* and of those that no shape reaches beyond */
    PROGRAMS = 500        /* of a row */
};

static struct program {
    rt_random random;
    uint64_t drawn;
    rt_graph *g;
    int leaf_count, pool_count;
    rt_tensor leaves[MOST_TENSORS], *pool[MOST_TENSORS]; /* the pool has leaves and results */
} p;

/* Memory of the options of a call, larger than any use of it. */
typedef struct arrays {
    int32_t ids[ARRAY];
    int order[RT_MAX_AXES];
    double positions[ARRAY], slopes[ARRAY];
    uint8_t mask[ARRAY];
    int16_t classes[ARRAY];
    real level[ARRAY], probabilities[ARRAY];
    rt_distances distances;
} arrays;

static int below(int n)
{
    return (int)rt_random_below(p.random, p.drawn++, (uint32_t)n);
}

static bool chance(int percent)
{
    return below(100) < percent;
}

static double share(void)
{
    return rt_random_uniform(p.random, p.drawn++);
}

static double number(void)
{
    return 4 * share() - 2;
}

static rt_tensor *add_to_pool(rt_tensor *x)
{
    if (rt_size(x) <= MOST_ELEMENTS && p.pool_count < MOST_TENSORS)
        p.pool[p.pool_count++] = x;
    return x;
}

static rt_tensor *leaf(rt_shape shape)
{
    if (p.leaf_count == MOST_TENSORS)
        return &p.leaves[0];
    const size_t size = rt_shape_size(shape);
    real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
    for (size_t i = 0; i < size; i++)
        data[i] = (real)number();
    rt_tensor *x = &p.leaves[p.leaf_count++];
    *x = rt_tensor_of(data, grad, shape);
    x->wants_grad = chance(85);
    return add_to_pool(x);
}

static rt_shape shape_of_axes(int ndim)
{
    rt_shape shape = {.ndim = ndim};
    for (int i = 0; i < RT_MAX_AXES; i++)
        shape.axis[i] = i < ndim ? 1 + below(chance(10) ? 9 : 5) : 1;
    return shape;
}

static rt_tensor *with_axes(int ndim)
{
    for (int tries = 0; tries < 4 && p.pool_count; tries++) {
        rt_tensor *x = p.pool[below(p.pool_count)];
        if (x->ndim == ndim)
            return x;
    }
    return leaf(shape_of_axes(ndim));
}

static int axis(const rt_tensor *x, int i)
{
    return x && x->shape[i] <= 64 ? x->shape[i] : 1;
}

/* Draws the inputs of a call: the first mostly from the pool, others to fit by letter. */
static void draw_inputs(const op_call *c, rt_tensor *in[MOST_INPUTS], int lengths[128])
{
    const char *next = c->inputs, *letters = next + (*next == '*');
    const int named = (int)strcspn(letters, ",");
    for (int i = 0; i < 128; i++)
        lengths[i] = 1 + below(5);
    in[0] = with_axes(*next == '*' ? named + below(RT_MAX_AXES + 1 - named) : named);
    const int ndim = in[0]->ndim >= named ? in[0]->ndim : named;
    rt_shape leading = {.ndim = *next == '*' ? ndim - named : 0};
    for (int i = 0; i < ndim; i++)
        if (i < leading.ndim)
            leading.axis[i] = axis(in[0], i);
        else if (i - leading.ndim < named)
            lengths[(int)letters[i - leading.ndim]] = axis(in[0], i);
    lengths['P'] = 1 + below(lengths['D'] / 2 + 1);
    lengths['G'] = chance(70) ? lengths['H'] : 1 + below(lengths['H']);
    lengths['S'] = chance(50) ? lengths['T'] : lengths['S'];
    next_input(&next, lengths, leading);
    for (int i = 1; *next; i++) {
        const rt_shape shape = next_input(&next, lengths, leading);
        in[i] = c->optional & 1u << i && chance(40) ? NULL
                : chance(10)                        ? in[below(i)]
                                                    : leaf(shape);
    }
}

/* Positions, a mask, labels and classes of distances, for sequences of up to 64 tokens. */
static void fill_arrays(arrays *a, const op_call *c, const rt_tensor *x, const int lengths[128])
{
    const int j = below(RT_MAX_AXES), k = below(RT_MAX_AXES);
    for (int i = 0; i < FILLED; i++) {
        a->positions[i] = i;
        a->mask[i] = chance(80);
        a->slopes[i] = 0.5;
        a->level[i] = (real)i;
        a->classes[i] = (int16_t)(i % lengths['K']);
    }
    if (chance(40))
        a->positions[below(4)] = number();
    a->distances = (rt_distances){1 + below(4), lengths['K'], a->classes};
    for (int i = 0; i < ARRAY; i++)
        a->ids[i] = c->op == &rt_op_cross_entropy && i % 3 == 0 ? RT_IGNORE : i * i % lengths['V'];
    for (int i = 0; i < RT_MAX_AXES; i++)
        a->order[i] = i;
    if (j < x->ndim && k < x->ndim) {
        a->order[j] = k;
        a->order[k] = j;
    }
}

static op_options draw_options(arrays *a, const op_call *c, rt_tensor *const *in)
{
    static const double theta[] = {0.3};
    const bool causal = chance(40), listed = rt_size(in[0]) <= ARRAY;
    const uint8_t *mask = chance(40) ? a->mask : NULL;
    const int size = (int)rt_size(in[0]), first = axis(in[0], 0);
    const bool few = c->op == &rt_op_pool || c->op == &rt_op_running_sum || c->op == &rt_op_shift;
    op_options o = {.number = c->op == &rt_op_rope ? 1 : share(),
                    .divisor = 1 + below(5),
                    .kind = below(few ? RT_POOL_LAST + 1 : RT_LOG_SIGMOID + 1),
                    .before = listed && chance(50) ? a->level : NULL,
                    .by_angles = c->good.by_angles,
                    .onto = c->good.onto,
                    .shape = shape_of_axes(below(RT_MAX_AXES)), /* of ids */
                    .order = a->order,
                    .ids = a->ids,
                    .padding = below(5),
                    .mask = mask,
                    .fixed = chance(20) ? theta : NULL,
                    .form = (rt_theta_form)below(RT_THETA_RAW + 1),
                    .pairing = (rt_pairing)below(RT_HALF + 1),
                    .positions = {.at = listed && chance(50) ? a->positions : NULL,
                                  .per_sequence = chance(30),
                                  .offset = number()},
                    .decay = chance(70) ? 0 : 1 + below(9),
                    .bias = c->good.bias,
                    .keys = c->good.keys,
                    .key_bias = c->good.key_bias,
                    .attention = {.scale = chance(50) ? 0 : number(),
                                  .causal = causal,
                                  .window = chance(30) ? below(5) : 0,
                                  .key_mask = mask,
                                  .query_positions = chance(30) ? a->positions : NULL,
                                  .key_positions = chance(30) ? a->positions : NULL,
                                  .slopes = chance(20) ? a->slopes : NULL,
                                  .distances = c->good.bias ? &a->distances : NULL,
                                  .dropout = chance(30) ? share() : 0},
                    .linear = {.causal = causal,
                               .key_mask = mask,
                               .constant = share(),
                               .eps = share(),
                               .level = causal && c->op != &rt_op_key_exp && chance(40) ? a->level
                                                                                        : NULL}};
    if (c->op == &rt_op_reshape)
        o.shape = chance(50) ? RT_SHAPE_OF(size) : RT_SHAPE_OF(first, size / first);
    if (chance(20) && first * axis(in[0], 2) * axis(in[0], 1) * axis(in[1], 1) <= ARRAY)
        o.attention.probabilities = a->probabilities;
    return o;
}

enum { CALLS_SIZE = MOST_CALLS * (CALL_TEXT_SIZE + 1) };

static rt_tensor *call_any(arrays *a, char calls[CALLS_SIZE])
{
    char text[CALL_TEXT_SIZE];
    const op_call *c = op_calls + below(op_call_count);
    rt_tensor *in[MOST_INPUTS] = {NULL};
    int lengths[128];
    draw_inputs(c, in, lengths);
    fill_arrays(a, c, in[0], lengths);
    op_options o = draw_options(a, c, in);
    strcat(strcat(calls, " "), write_call(text, c->op, in, MOST_INPUTS, &o));
    return c->call(p.g, in, &o);
}

static rt_status backward_from(rt_tensor *output)
{
    if (!output || rt_size(output) == 1)
        return rt_graph_backward(p.g, output);
    real *upstream = rt_alloc(rt_size(output), sizeof *upstream);
    for (size_t i = 0; i < rt_size(output); i++)
        upstream[i] = (real)number();
    const rt_status status = rt_graph_backward_from(p.g, output, upstream);
    rt_free(upstream);
    return status;
}

static void run_program(uint64_t seed, uint32_t program)
{
    static arrays all[MOST_CALLS];
    char calls[CALLS_SIZE] = "";
    rt_tensor *y = NULL;
    p = (struct program){.random = {seed, program, RT_STREAM_CHECK}, .g = rt_graph_new()};
    if (chance(70))
        rt_graph_set_random(p.g, seed, program, 0);
    if (chance(10))
        rt_graph_record(p.g, false);
    const int count = 1 + below(MOST_CALLS);
    for (int i = 0; i < count && (!i || y); i++) {
        y = call_any(all + i, calls);
        const rt_status status = rt_graph_status(p.g);
        ck_assert_msg(y ? !status.code && rt_shape_size(rt_tensor_shape(y))
                        : status.code && *status.message,
                      "program %u,%s: %s with code %d: %s", program, calls, y ? "a tensor" : "NULL",
                      (int)status.code, status.message);
        if (y)
            add_to_pool(y);
    }
    const bool leads = y && !y->borrowed && y->wants_grad;
    const rt_status status = backward_from(y);
    ck_assert_msg(leads == !status.code, "program %u,%s: backward from %s gradient: code %d: %s",
                  program, calls, leads ? "a" : "no", (int)status.code, status.message);
    rt_graph_free(p.g);
    for (int i = 0; i < p.leaf_count; i++) {
        rt_free(p.leaves[i].data);
        rt_free(p.leaves[i].grad);
    }
}

SAMPLED_ROWS(random_programs_keep_the_promises_of_ops, 0, 120, 8)
{
    const char *day = getenv("ROTOR_SEED"); /* other programs each night */
    const uint64_t seed = 1000 * (day ? strtoull(day, NULL, 10) : 0) + (uint64_t)_i;
    fill_call_arrays();
    for (uint32_t program = 0; program < PROGRAMS; program++)
        run_program(seed, program);
}
