/* Invalid input of every op: nothing crashes (the suite runs under ASan and UBSan, too), and a
 * refused call returns NULL and a message that begins with the name of the op.
 *
 * The calls are those of calls.c. To add an op, add a row to `faults` for each way in which an
 * argument can be wrong; the tests make tensors invalid by themselves.
 */

#include "calls.h"
#include "graphs.h"

#include <limits.h>

enum { ROOM = CALL_NUMBERS };

typedef struct fault {
    const rt_op *op;
    op_options o;
} fault;

static const int32_t low_id[] = {-1, 0}, high_id[] = {0, 1 << 20};
static const double not_a_number[] = {0, 1, NAN, 0, 0, 0}, infinite[] = {INFINITY, 0, 0, 0};
static const int16_t good[] = {0, 1, 2}, beyond[] = {0, 3, 2}, below[] = {0, 1, -1};
static rt_linear_state whole = {call_levels, call_levels, call_levels};
static rt_linear_state without_sum_below = {call_levels, NULL, call_levels};
static rt_linear_state without_level = {call_levels, call_levels, NULL}, of_zeros;

/* clang-format off */
#define NUMBER(op_name, value) {&rt_op_##op_name, {.number = value}}
#define EPS_OF(op_name) NUMBER(op_name, -1e-5), NUMBER(op_name, NAN), NUMBER(op_name, INFINITY)
#define KINDS_OF(op_name) {&rt_op_##op_name, {.kind = 99}}, {&rt_op_##op_name, {.kind = -1}},      \
    {&rt_op_##op_name, {.kind = RT_LOG_SIGMOID + 1}}, {&rt_op_##op_name, {.kind = INT_MIN}}
#define RESHAPE(...) {&rt_op_reshape, {.shape = __VA_ARGS__}}
#define PERMUTE(...) {&rt_op_permute, {.order = __VA_ARGS__}}
#define ORDER(...) (const int[]){__VA_ARGS__}
#define IDS(of, ...) {&rt_op_embedding, {.ids = of, .padding = 1, .shape = __VA_ARGS__}}
#define LABELS(of, smoothing, by)                                                                  \
    {&rt_op_cross_entropy, {.ids = of, .number = smoothing, .divisor = by}}
#define ROPE(...) {&rt_op_rope, {__VA_ARGS__}}
#define AT(positions_of_all) .positions = {.at = positions_of_all}
#define OF_ALL .number = 1, .positions = {.at = call_positions, .per_sequence = true}
#define ATTENTION(...) {&rt_op_attention, {.attention = {__VA_ARGS__}}}
#define DISTANCES(...)                                                                             \
    {&rt_op_attention, {.bias = true, .keys = true,                                                \
                        .attention = {.distances = &(const rt_distances){__VA_ARGS__}}}}
#define LINEAR(...) {&rt_op_linear_attention, {.linear = {__VA_ARGS__}}}
#define WITH_STATE(...) LINEAR(.key_mask = call_mask, .eps = 0.5, __VA_ARGS__)
static const fault faults[] = {
    NUMBER(dropout, -0.1), NUMBER(dropout, 1), NUMBER(dropout, NAN), NUMBER(dropout, INFINITY),
    EPS_OF(layer_norm), EPS_OF(rms_norm),
    KINDS_OF(linear_activation), KINDS_OF(glu),
    {&rt_op_pool, {.kind = -1}}, {&rt_op_pool, {.kind = RT_POOL_LAST + 1}},
    RESHAPE({2, {3, 3}}), RESHAPE({1, {-6}}), RESHAPE({2, {-2, -3}}), RESHAPE({0, {0}}),
    RESHAPE({-1, {6}}), RESHAPE({5, {6}}), RESHAPE({INT_MIN, {6}}), RESHAPE({INT_MAX, {6}}),
    RESHAPE({2, {0, 6}}), RESHAPE({2, {6, 0}}), RESHAPE({2, {INT_MAX, 6}}),
    RESHAPE({3, {1 << 30, 1 << 30, 16}}),
    PERMUTE(ORDER(0, 0)), PERMUTE(ORDER(-1, 0)), PERMUTE(ORDER(0, 2)), PERMUTE(ORDER(INT_MAX, 0)),
    PERMUTE(ORDER(INT_MIN, 1)), PERMUTE(NULL),
    IDS(call_zeros, {1, {-2}}), IDS(call_zeros, {1, {0}}), IDS(call_zeros, {4, {1, 1, 1, 1}}),
    IDS(call_zeros, {5, {1, 1, 1, 1}}), IDS(call_zeros, {-1, {2}}), IDS(call_zeros, {9, {2}}),
    IDS(call_zeros, {INT_MIN, {2}}), IDS(call_zeros, {2, {INT_MAX, INT_MAX}}),
    IDS(NULL, {1, {2}}), IDS(low_id, {1, {2}}), IDS(high_id, {1, {2}}),
    LABELS(call_zeros, 0.1, 0), LABELS(call_zeros, 0.1, -1), LABELS(call_zeros, 0.1, NAN),
    LABELS(call_zeros, 0.1, INFINITY), LABELS(call_zeros, -0.1, 1), LABELS(call_zeros, 1, 1),
    LABELS(call_zeros, NAN, 1), LABELS(NULL, 0, 1), LABELS(low_id, 0, 1), LABELS(high_id, 0, 1),
    {&rt_op_running_sum, {.kind = -1}}, {&rt_op_running_sum, {.kind = 3}},
    {&rt_op_shift, {.kind = -1}}, {&rt_op_shift, {.kind = 4}}, {&rt_op_shift, {.kind = INT_MIN}},
    {&rt_op_angles, {.form = (rt_theta_form)2}}, {&rt_op_angles, {.fixed = infinite}},
    ROPE(.by_angles = true, .pairing = (rt_pairing)-1), ROPE(.by_angles = true, .decay = 1),
    ROPE(OF_ALL, .B = -1), ROPE(OF_ALL, .B = INT_MAX), ROPE(OF_ALL, .T = -7),
    ROPE(OF_ALL, .T = INT_MAX), ROPE(OF_ALL, .form = (rt_theta_form)2),
    ROPE(OF_ALL, .pairing = (rt_pairing)-1), ROPE(.number = NAN),
    ROPE(.number = 1, .positions = {.offset = NAN}), ROPE(.number = 1, AT(not_a_number)),
    ROPE(.number = 1, AT(infinite)), ROPE(OF_ALL, .T = 1), ROPE(OF_ALL, .B = 3),
    ROPE(OF_ALL, .decay = 1, .decay_length = -1), ROPE(OF_ALL, .decay = 1, .decay_length = 9),
    ROPE(OF_ALL, .decay = NAN), ROPE(OF_ALL, .decay = INFINITY), ROPE(OF_ALL, .decay = -INFINITY),
    ROPE(OF_ALL, .decay = 0.03), ROPE(.number = NAN, .decay = 1),
    DISTANCES(-1, 3, good), DISTANCES(INT_MAX, 3, good), DISTANCES(INT_MAX / 2, 3, good),
    DISTANCES(INT_MIN, 3, good), DISTANCES(1, 0, good), DISTANCES(1, -3, good),
    DISTANCES(1, 2, good), DISTANCES(1, 3, NULL), DISTANCES(1, 3, beyond), DISTANCES(1, 3, below),
    DISTANCES(1, INT_MIN, good), DISTANCES(0, 0, NULL),
    {&rt_op_attention, {.bias = true, .keys = true}}, {&rt_op_attention, {.no_options = true}},
    ATTENTION(.dropout = 1), ATTENTION(.dropout = -1), ATTENTION(.dropout = NAN),
    ATTENTION(.query_positions = not_a_number), ATTENTION(.key_positions = infinite),
    ATTENTION(.window = -1), ATTENTION(.window = INT_MIN),
    {&rt_op_key_exp, {.linear = {.causal = true}, .no_options = true}},
    {&rt_op_key_exp, {.linear = {.level = call_levels}}},
    LINEAR(.eps = -0.5), LINEAR(.eps = NAN), LINEAR(.eps = INFINITY),
    LINEAR(.level = call_levels), {&rt_op_linear_attention, {.no_options = true}},
    LINEAR(.causal = true, .level = call_levels, .state = &whole), /* while the graph records */
    LINEAR(.causal = true, .state = &of_zeros),
};

/* Faults in a graph that does not record. */
static const fault unrecorded[] = {
    WITH_STATE(.state = &whole),
    WITH_STATE(.causal = true, .level = call_levels, .state = &without_sum_below),
    WITH_STATE(.causal = true, .level = call_levels, .state = &without_level),
    WITH_STATE(.causal = true, .level = call_levels, .state = &of_zeros),
};
/* clang-format on */

static rt_graph *g;
static real data[MOST_INPUTS][ROOM], grad[MOST_INPUTS][ROOM], upstream[ROOM];
static rt_tensor tensors[MOST_INPUTS], *in[MOST_INPUTS];

static void make_graph(void)
{
    g = new_graph();
    fill_call_arrays();
    for (int i = 0; i < ROOM; i++) {
        upstream[i] = (real)(i % 3) - 1;
        for (int k = 0; k < MOST_INPUTS; k++)
            data[k][i] = (real)0.1 + (real)(i % 7) / 10;
    }
}

/* Good input for a call; returns how many there are. */
static int prepare(const op_call *c)
{
    static const int lengths[128] = {
        ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 3, ['G'] = 1, ['H'] = 2, ['I'] = 3, ['K'] = 3,
        ['M'] = 2, ['N'] = 4, ['O'] = 5, ['P'] = 2, ['S'] = 4, ['T'] = 4, ['V'] = 5};
    const char *next = c->inputs;
    int count = 0;
    rt_shape shape;
    while ((shape = next_input(&next, lengths, RT_SHAPE_OF(2))).ndim >= 0) {
        tensors[count] = rt_tensor_of(data[count], grad[count], shape);
        in[count] = tensors + count;
        count++;
    }
    rt_graph_clear(g);
    rt_graph_set_random(g, 1, 2, 3);
    return count;
}

static rt_tensor *call(const op_call *c)
{
    return c->call(g, in, (void *)&c->good);
}

static void expect_refusal(const rt_op *op, const rt_tensor *y, const char *what)
{
    char prefix[64];
    const rt_status status = rt_graph_status(g);
    snprintf(prefix, sizeof prefix, "[%s] ", op->name);
    ck_assert_msg(!y, "%s: %s is accepted", op->name, what);
    ck_assert_msg(status.code, "%s: %s gives NULL, and the graph has not failed", op->name, what);
    ck_assert_msg(!strncmp(status.message, prefix, strlen(prefix)),
                  "%s: %s: the message does not begin with the name: %s", op->name, what,
                  status.message);
}

/* A result that backward works on, or a refusal. */
static void expect_either(const rt_op *op, rt_tensor *y, const char *what)
{
    if (!y) {
        expect_refusal(op, y, what);
        return;
    }
    ck_assert_uint_le(rt_size(y), ROOM);
    const rt_status status = rt_graph_backward_from(g, y, upstream);
    ck_assert_msg(!status.code, "%s: %s: %s", op->name, what, status.message);
}

/* Shapes that no tensor can have; one has 2^64 elements. */
/* clang-format off */
static const rt_shape impossible[] = {
    {1, {0}}, {1, {-1}}, {1, {INT_MIN}}, {2, {2, 0}}, {2, {0, 3}}, {2, {2, -1}}, {2, {-2, -3}},
    {2, {INT_MAX, INT_MAX}}, {2, {1 << 16, 1 << 16}}, {4, {1 << 16, 1 << 16, 1 << 16, 1 << 16}},
    {3, {2, 0, 3}}, {4, {2, 3, 0, 4}}, {4, {2, 3, 2, 0}}, {4, {2, 3, 2, -4}}, {4, {2, 3, -1, 4}},
    {4, {-1, -1, -1, -1}}, {-1, {2, 3}}, {INT_MIN, {2, 3}}, {5, {2, 3, 2, 4}},
    {INT_MAX, {2, 3, 2, 4}}};
/* clang-format on */
enum { IMPOSSIBLE = ROWS(impossible) };

SUITE(.setup = make_graph)

TEST_ROWS(a_tensor_that_is_null_is_refused, 0, op_call_count)
{
    const op_call *c = op_calls + _i;
    const int count = prepare(c);
    for (int i = 0; i < count; i++) {
        prepare(c);
        in[i] = NULL;
        rt_tensor *y = call(c);
        if (c->optional & 1u << i) {
            ck_assert_msg(y, "%s: %s", c->op->name, rt_graph_status(g).message);
            continue;
        }
        expect_refusal(c->op, y, "NULL");
        ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "is NULL"));
    }
    prepare(c); /* the good input of this and of all other tests */
    ck_assert_msg(call(c) && rt_graph_tape(g)->op == c->op, "%s: %s", c->op->name,
                  rt_graph_status(g).message);
}

TEST_ROWS(a_tensor_of_no_shape_or_without_memory_is_refused, 0, op_call_count)
{
    const op_call *c = op_calls + _i;
    const int count = prepare(c);
    for (int i = 0; i < count; i++) {
        for (int s = 0; s < IMPOSSIBLE; s++) {
            prepare(c);
            tensors[i] = rt_tensor_of(data[i], grad[i], impossible[s]);
            expect_refusal(c->op, call(c), rt_shape_text(tensors + i));
        }
        prepare(c);
        tensors[i].data = NULL;
        expect_refusal(c->op, call(c), "no data");
        prepare(c);
        tensors[i].grad = NULL;
        expect_refusal(c->op, call(c), "no gradient where one is wanted");
        prepare(c);
        if (tensors[i].ndim < RT_MAX_AXES) {
            tensors[i].shape[RT_MAX_AXES - 1] = 2;
            expect_refusal(c->op, call(c), "an axis beyond the last");
        }
        prepare(c);
        tensors[i] = (rt_tensor){0};
        expect_refusal(c->op, call(c), "a tensor of zeros");
    }
    prepare(c);
    memset(tensors, 0, sizeof tensors);
    expect_refusal(c->op, call(c), "tensors of zeros");
}

/* Every shape of up to four axes of length 1 ... 5 that differs from the good one in its rank or
 * in its lengths: taken or refused. */
TEST_ROWS(any_other_shape_is_accepted_or_refused_without_a_crash, 0, op_call_count)
{
    const op_call *c = op_calls + _i;
    const int count = prepare(c);
    for (int i = 0; i < count; i++)
        for (int ndim = 0, codes = 1; ndim <= RT_MAX_AXES; ndim++, codes *= 5)
            for (int code = 0; code < codes; code++) {
                rt_shape shape = {.ndim = ndim};
                for (int a = 0, rest = code; a < ndim; a++, rest /= 5)
                    shape.axis[a] = 1 + rest % 5;
                prepare(c);
                tensors[i] = rt_tensor_of(data[i], grad[i], shape);
                expect_either(c->op, call(c), rt_shape_text(tensors + i));
            }
}

TEST_ROWS(a_graph_that_has_failed_keeps_its_message, 0, op_call_count)
{
    const op_call *c = op_calls + _i;
    prepare(c);
    rt_graph_fail(g, RT_ARGUMENT, "the first");
    ck_assert_ptr_null(call(c));
    memset(in, 0, sizeof in);
    ck_assert_ptr_null(call(c));
    ck_assert_str_eq(rt_graph_status(g).message, "the first");
}

TEST(every_op_has_a_call)
{
#define OP(name) &rt_op_##name,
    static const rt_op *const ops[] = {RT_OPS(OP)};
    for (int i = 0; i < ROWS(ops); i++)
        ck_assert_msg(op_call_of(ops[i]), "%s has no row in calls.c", ops[i]->name);
}

TEST_ROWS(an_argument_that_does_not_fit_is_refused, 0, ROWS(faults) + ROWS(unrecorded))
{
    const bool recorded = _i < ROWS(faults);
    const fault *f = recorded ? &faults[_i] : &unrecorded[_i - ROWS(faults)];
    const op_call *c = op_call_of(f->op);
    prepare(c);
    rt_graph_record(g, recorded);
    expect_refusal(c->op, c->call(g, in, (void *)&f->o), lasting("fault %d", _i));
}

TEST(a_rotation_with_invalid_fields_is_refused)
{
    enum { SPOILT = 12, OF_DECAY = 4 };
    const op_call *c = op_call_of(&rt_op_rope);
    const rt_positions at = {.B = 2, .T = 4, .at = call_positions, .per_sequence = true};
    rt_rotation made[SPOILT + OF_DECAY];
    prepare(c);
    for (int i = 0; i < SPOILT + OF_DECAY; i++)
        made[i] = *rt_rotation_learned(g, in[1], RT_THETA_LOG, RT_HALF, 1, at);
    made[0].pairs = INT_MAX;
    made[1].pairs = -1;
    made[2].pairs = 1;
    made[3].heads = 0;
    made[4].heads = 2;
    made[5].sequences = -1;
    made[6].cosine = made[SPOILT].cosine = NULL;
    made[7].position = NULL;
    made[8].pairing = (rt_pairing)2;
    made[9].length = 1;
    made[10].form = (rt_theta_form)7;
    made[11] = (rt_rotation){0};
    for (int i = 0; i < SPOILT + OF_DECAY; i++) {
        const rt_rotation *r = made + i;
        prepare(c);
        if (i >= SPOILT) /* no cosine, no position that decays, a scale of 0, and no rotation */
            r = rt_rotation_decayed(g, i == SPOILT + 3 ? NULL : r, i == SPOILT + 1 ? 0 : 4,
                                    i != SPOILT + 2);
        expect_refusal(c->op, rt_rope(g, in[0], r), lasting("rotation %d", i));
    }
    prepare(c);
    expect_refusal(c->op, rt_rope(g, in[0], NULL), "no rotation");
    for (int T = 0; T < 2; T++) {
        const rt_positions none = {.B = T, .T = 1 - T, .at = call_positions, .per_sequence = true};
        prepare(c);
        expect_refusal(c->op,
                       (rt_tensor *)rt_rotation_learned(g, in[1], RT_THETA_LOG, RT_HALF, 1, none),
                       "no sequence or position");
    }
}

TEST(fixed_theta_of_another_shape_is_refused)
{
    static const double theta[8] = {0};
    static const rt_shape shapes[] = {{1, {3}}, {2, {1, 3}}, {2, {2, 2}}, {3, {4, 1, 2}},
                                      {0, {0}}, {-1, {2}},   {2, {0, 2}}, {1, {INT_MAX}}};
    const op_call *c = op_call_of(&rt_op_angles); /* sums (2, 4, 1, 2) */
    for (int i = -1; i < ROWS(shapes); i++) {
        prepare(c);
        expect_refusal(c->op,
                       rt_angles_fixed(g, in[0], i < 0 ? NULL : theta, shapes[i < 0 ? 0 : i]),
                       lasting("theta %d", i));
    }
}

TEST(a_rotation_by_angles_of_another_shape_is_refused)
{
    const op_call *c = op_call_of(&rt_op_rope);
    rt_tensor angles = rt_tensor_of(data[1], grad[1], RT_SHAPE_OF(1, 4, 2, 2));
    prepare(c);
    rt_rotation *r = rt_rotation_by_angles(g, &angles, RT_HALF);
    ck_assert_ptr_nonnull(r);
    ck_assert_ptr_null(rt_rotation_decayed(g, r, 4, 1));
    ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "positions with one coordinate"));
    for (int spoilt = 0; spoilt < 5; spoilt++) { /* x has two sequences of 4 tokens */
        rt_graph_clear(g);
        angles.shape[0] = spoilt ? 2 : 1;
        r = rt_rotation_by_angles(g, &angles, RT_HALF);
        r->length -= spoilt == 1;
        r->pairs -= spoilt == 2;
        r->angles = spoilt == 3 ? NULL : r->angles;
        r->cosine = spoilt == 4 ? NULL : r->cosine;
        expect_refusal(c->op, rt_rope(g, in[0], r), lasting("rotation %d", spoilt));
    }
}

TEST(a_refused_key_exp_has_no_level)
{
    const real *level = call_levels;
    prepare(op_call_of(&rt_op_key_exp));
    expect_refusal(&rt_op_key_exp, rt_key_exp(g, NULL, NULL, false, NULL, &level), "no input");
    ck_assert_ptr_null(level);
}

static rt_tensor leaf(int input, rt_shape shape)
{
    return rt_tensor_of(data[input], grad[input], shape);
}

TEST(a_result_that_is_too_large_is_refused)
{
    enum { N = 1 << 16 };
    rt_tensor column = leaf(0, RT_SHAPE_OF(N, 1)), line = leaf(1, RT_SHAPE_OF(1, N));
    rt_tensor bias = leaf(2, RT_SHAPE_OF(N)), query = leaf(3, RT_SHAPE_OF(1, N, 1, 1));
    rt_tensor key = leaf(4, RT_SHAPE_OF(1, 1, 1, 1)), value = leaf(5, RT_SHAPE_OF(1, 1, 1, N));
    const rt_attention_options o = {.causal = true};
    const rt_linear_attention_options linear_o = {.causal = false};
#define TOO_LARGE(op_name, result)                                                                 \
    rt_graph_clear(g);                                                                             \
    expect_refusal(&rt_op_##op_name, result, "2^32")
    TOO_LARGE(matmul, rt_matmul(g, &column, &line));
    TOO_LARGE(linear, rt_linear(g, &column, &column, &bias));
    TOO_LARGE(linear_activation, rt_linear_activate(g, &column, &column, &bias, RT_RELU));
    TOO_LARGE(embedding, rt_embedding(g, &line, call_zeros, RT_SHAPE_OF(N), 0));
    TOO_LARGE(attention, rt_attention(g, &query, &key, &value, &o));
    TOO_LARGE(linear_attention,
              rt_linear_attention(g, &query, &key, &value, &query, &key, &linear_o));
    TOO_LARGE(rope, (rt_tensor *)rt_rotation_learned(g, &bias, RT_THETA_RAW, RT_HALF, 1,
                                                     (rt_positions){.B = 1, .T = N}));
}

TEST(an_unknown_activation_is_refused)
{
    static const int kinds[] = {99, -1, RT_LOG_SIGMOID + 1, INT_MAX, INT_MIN};
    rt_tensor x = leaf(0, RT_SHAPE_OF(2, 3));
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(rt_activate(g, &x, (rt_activation)kinds[i]));
        ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "[activate] there is no act"));
        rt_graph_clear(g);
    }
}

TEST(invalid_logits_count_no_correct_predictions)
{
    for (int s = 0; s < IMPOSSIBLE; s++) {
        rt_tensor logits = rt_tensor_of(data[0], NULL, impossible[s]);
        ck_assert_uint_eq(rt_count_correct(&logits, call_zeros), 0);
    }
    rt_tensor logits = leaf(0, RT_SHAPE_OF(2, 3));
    ck_assert_uint_eq(rt_count_correct(NULL, call_zeros) + rt_count_correct(&logits, NULL), 0);
}

/* A factor may be NaN or infinite: it is plain arithmetic. */
TEST(a_factor_may_be_any_number)
{
    rt_tensor q = leaf(0, RT_SHAPE_OF(1, 2, 1, 2));
    const rt_attention_options o = {.scale = (double)NAN};
    ck_assert(isnan(rt_scale(g, &q, (double)NAN)->data[0]));
    ck_assert(isnan(rt_attention(g, &q, &q, &q, &o)->data[0]));
}
