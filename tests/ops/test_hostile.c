/* What ops.h promises of every op, held against input that does not fit: nothing crashes (the
 * suite runs under ASan and UBSan, too), and what is refused leaves NULL and a message that
 * begins with the op's name. Every op of the list needs a row.
 *
 * To add an op, write a function that calls it on good input, and with something wrong in an
 * argument for each `fault` from 1 on; the tensors are spoilt by the tests.
 */

#include "ops/ops.h"
#include "suite.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_INPUTS = 7, ROOM = 1 << 17 };

typedef rt_tensor *call(rt_graph *g, rt_tensor *const *in, int fault);

typedef struct row {
    const rt_op *op;
    call *call;
    rt_shape shapes[MAX_INPUTS + 1]; /* of good input; ndim -1 ends the list */
    int faults;
    unsigned optional; /* bit i: input i may be NULL */
} row;

/* clang-format off */
#define END {.ndim = -1}
#define AXES(...) {(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}}
/* clang-format on */
#define SHAPES(...) .shapes = {__VA_ARGS__, END}

#define CALL(name) static rt_tensor *name(rt_graph *g, rt_tensor *const *in, int fault)
#define UNUSED     (void)fault

/* Long enough for every shape that is tried. */
static int32_t ids[ROOM], labels[ROOM];
static uint8_t mask[ROOM];
static double positions[ROOM];
static real levels[ROOM];

/* ---- calls ---- */

CALL(add)
{
    UNUSED;
    return rt_add(g, in[0], in[1]);
}
CALL(multiply)
{
    UNUSED;
    return rt_multiply(g, in[0], in[1]);
}
CALL(scale)
{
    UNUSED;
    return rt_scale(g, in[0], 2);
}
CALL(scale_heads)
{
    UNUSED;
    return rt_scale_heads(g, in[0], in[1]);
}
CALL(exp_of)
{
    UNUSED;
    return rt_exp(g, in[0]);
}
#define ACTIVATION(name, kind)                                                                     \
    CALL(name)                                                                                     \
    {                                                                                              \
        UNUSED;                                                                                    \
        return rt_activate(g, in[0], kind);                                                        \
    }
ACTIVATION(gelu, RT_GELU)
ACTIVATION(gelu_tanh, RT_GELU_TANH)
ACTIVATION(relu, RT_RELU)
ACTIVATION(tanh_of, RT_TANH)
ACTIVATION(sigmoid, RT_SIGMOID)
ACTIVATION(silu, RT_SILU)
ACTIVATION(elu_plus_one, RT_ELU_PLUS_ONE)
CALL(dropout)
{
    static const double p[] = {0.5, -0.1, 1, NAN, INFINITY};
    rt_graph_set_random(g, 1, 2, 3);
    return rt_dropout(g, in[0], p[fault]);
}
CALL(reshape)
{
    static const rt_shape shapes[] = {{1, {6}},
                                      {2, {3, 3}},
                                      {1, {-6}},
                                      {2, {-2, -3}},
                                      {0, {0}},
                                      {-1, {6}},
                                      {5, {6}},
                                      {INT_MIN, {6}},
                                      {INT_MAX, {6}},
                                      {2, {0, 6}},
                                      {2, {6, 0}},
                                      {2, {INT_MAX, 6}},
                                      {3, {1 << 30, 1 << 30, 16}}};
    return rt_reshape(g, in[0], shapes[fault]);
}
CALL(permute)
{
    static const int orders[][4] = {{1, 0}, {0, 0}, {-1, 0}, {0, 2}, {INT_MAX, 0}, {INT_MIN, 1}};
    return rt_permute(g, in[0], fault == 6 ? NULL : orders[fault]);
}
CALL(sum)
{
    UNUSED;
    return rt_sum(g, in[0]);
}
CALL(mean)
{
    UNUSED;
    return rt_mean(g, in[0]);
}
CALL(pool)
{
    static const int kinds[] = {RT_POOL_MEAN, -1, RT_POOL_LAST + 1};
    return rt_pool(g, in[0], (rt_pooling)kinds[fault], NULL);
}
CALL(matmul)
{
    UNUSED;
    return rt_matmul(g, in[0], in[1]);
}
CALL(linear)
{
    UNUSED;
    return rt_linear(g, in[0], in[1], in[2]);
}
CALL(linear_onto)
{
    UNUSED;
    return rt_linear_onto(g, in[3], in[0], in[1], in[2]);
}
CALL(linear_activate)
{
    static const int kinds[] = {RT_SILU, 99, -1, RT_ELU_PLUS_ONE + 1, INT_MIN};
    return rt_linear_activate(g, in[0], in[1], in[2], (rt_activation)kinds[fault]);
}
CALL(layer_norm)
{
    static const double eps[] = {1e-5, -1e-5, NAN, INFINITY};
    return rt_layer_norm(g, in[0], in[1], in[2], eps[fault]);
}
CALL(rms_norm)
{
    static const double eps[] = {1e-5, -1e-5, NAN, INFINITY};
    return rt_rms_norm(g, in[0], in[1], eps[fault]);
}
CALL(glu)
{
    static const int kinds[] = {RT_SILU, 99, -1, RT_ELU_PLUS_ONE + 1, INT_MIN};
    return rt_glu(g, in[0], in[1], (rt_activation)kinds[fault]);
}
CALL(normalize)
{
    UNUSED;
    return rt_normalize(g, in[0]);
}
CALL(softmax)
{
    UNUSED;
    return rt_softmax(g, in[0]);
}
CALL(log_softmax)
{
    UNUSED;
    return rt_log_softmax(g, in[0]);
}
CALL(embedding)
{
    static const int32_t low[] = {-1, 0}, high[] = {0, 1 << 20};
    static const rt_shape shapes[] = {
        {1, {2}},  {1, {-2}}, {1, {0}},       {4, {1, 1, 1, 1}},      {5, {1, 1, 1, 1}},
        {-1, {2}}, {9, {2}},  {INT_MIN, {2}}, {2, {INT_MAX, INT_MAX}}};
    switch (fault) {
    case 9:
        return rt_embedding(g, in[0], NULL, shapes[0], 0);
    case 10:
        return rt_embedding(g, in[0], low, shapes[0], 0);
    case 11:
        return rt_embedding(g, in[0], high, shapes[0], 0);
    default:
        return rt_embedding(g, in[0], ids, shapes[fault], 0);
    }
}
CALL(cross_entropy)
{
    static const int32_t low[] = {-1, 0}, high[] = {0, 1 << 20};
    static const double divisors[] = {2, 0, -1, NAN, INFINITY}, smoothings[] = {-0.1, 1, NAN};
    if (fault < 5)
        return rt_cross_entropy(g, in[0], labels, 0.1, divisors[fault]);
    if (fault < 8)
        return rt_cross_entropy(g, in[0], labels, smoothings[fault - 5], 1);
    return rt_cross_entropy(g, in[0], fault == 8 ? NULL : fault == 9 ? low : high, 0, 1);
}

/* A rotation that is learned: of x (B, T, H, D) by theta. */
CALL(rope)
{
    static const double not_a_number[] = {0, 1, NAN, 0, 0, 0}, infinite[] = {INFINITY, 0, 0, 0};
    const int B = fault == 1 ? 0 : fault == 2 ? -1 : fault == 3 ? INT_MAX : 8;
    const int T = fault == 4 ? 0 : fault == 5 ? -7 : fault == 6 ? INT_MAX : 8;
    const rt_theta_form form = fault == 7 ? (rt_theta_form)2 : RT_THETA_LOG;
    const rt_pairing pairing = fault == 8 ? (rt_pairing)-1 : RT_HALF;
    const double magnitude = fault == 9 ? (double)NAN : 1;
    static const double scales[] = {0, NAN, INFINITY, -INFINITY, 0.03};
    rt_positions at = {.at = positions, .per_sequence = true};
    if (fault == 10)
        at = (rt_positions){.offset = (double)NAN};
    if (fault == 11 || fault == 12)
        at = (rt_positions){.at = fault == 11 ? not_a_number : infinite};
    rt_rotation *r = rt_rotation_learned(g, in[1], form, pairing, magnitude, B, T, at);
    static rt_rotation made; /* which the op keeps */
    if (!r)
        return rt_rope(g, in[0], r);
    made = *r;
    if (in[0] && in[0]->ndim == 4 && in[0]->shape[0] < B)
        made.sequences = in[0]->shape[0];
    switch (fault) {
    case 13:
        return rt_rope(g, in[0], NULL);
    case 14:
        made.pairs = INT_MAX;
        break;
    case 15:
        made.pairs = -1;
        break;
    case 16:
        made.heads = 0;
        break;
    case 17:
        made.sequences = -1;
        break;
    case 18:
        made.cosine = NULL;
        break;
    case 19:
        made.position = NULL;
        break;
    case 20:
        made.pairing = (rt_pairing)2;
        break;
    case 21:
        made.length = 1;
        break;
    case 22:
        made.form = (rt_theta_form)7;
        break;
    case 23:
        made.pairs = 1;
        break;
    case 24:
        made = (rt_rotation){0};
        break;
    case 25:
        made.heads = 2;
        break;
    case 26:
    case 27:
        return rt_rope(g, in[0], rt_rotation_decayed(g, &made, fault == 26 ? 0 : 9, 1));
    case 28:
    case 29:
    case 30:
    case 31:
    case 32:
        return rt_rope(g, in[0], rt_rotation_decayed(g, &made, 8, scales[fault - 28]));
    case 33:
        return rt_rope(g, in[0], rt_rotation_decayed(g, NULL, 8, 1));
    case 34:
        made.cosine = NULL;
        return rt_rope(g, in[0], rt_rotation_decayed(g, &made, 8, 1));
    default:
        break;
    }
    return rt_rope(g, in[0], &made);
}

CALL(attention)
{
    static const int16_t good[] = {0, 1, 2}, beyond[] = {0, 3, 2}, below[] = {0, 1, -1};
    static const double not_a_number[] = {0, 1, NAN, 0, 0, 0}, infinite[] = {INFINITY, 0, 0, 0};
    static const rt_distances all[] = {{1, 3, good},       {-1, 3, good},
                                       {INT_MAX, 3, good}, {INT_MAX / 2, 3, good},
                                       {INT_MIN, 3, good}, {1, 0, good},
                                       {1, -3, good},      {1, 2, good},
                                       {1, 3, NULL},       {1, 3, beyond},
                                       {1, 3, below},      {1, INT_MIN, good}};
    enum { DISTANCES = sizeof all / sizeof *all };
    rt_attention_options o = {.causal = true,
                              .key_mask = mask,
                              .query_positions = positions,
                              .slopes = positions,
                              .distances = all + (fault < DISTANCES ? fault : 0),
                              .distance_bias = in[3],
                              .distance_keys = in[4],
                              .dropout = 0.1};
    rt_graph_set_random(g, 1, 2, 3);
    switch (fault) {
    case 12:
        o.dropout = 1;
        break;
    case 13:
        o.dropout = -1;
        break;
    case 14:
        o.dropout = (double)NAN;
        break;
    case 15:
        o.query_positions = not_a_number;
        break;
    case 16:
        o.key_positions = infinite;
        break;
    case 17:
        o.distances = NULL;
        break;
    case 19:
        o.window = -1;
        break;
    case 20:
        o.window = INT_MIN;
        break;
    default:
        o.window = in[0] && in[0]->ndim == 4 && in[0]->shape[1] == 3 ? INT_MAX : 0;
        break;
    }
    return rt_attention(g, in[0], in[1], in[2], fault == 18 ? NULL : &o);
}

CALL(key_exp)
{
    const real *level = levels;
    rt_tensor *y = rt_key_exp(g, in[0], mask, fault != 2, fault == 2 ? levels : NULL,
                              fault == 1 ? NULL : &level);
    ck_assert(fault || !y == !level);
    return y;
}

CALL(linear_attention)
{
    static const double eps[] = {0.5, -0.5, NAN, INFINITY};
    rt_linear_state state = {levels, fault == 8 ? NULL : levels, fault == 9 ? NULL : levels};
    rt_linear_attention_options o = {.causal = fault != 4 && fault != 7,
                                     .key_mask = mask,
                                     .eps = eps[fault < 4 ? fault : 0],
                                     .level = fault == 7 ? NULL : levels,
                                     .state = fault > 5 ? &state : NULL};
    if (fault > 6)
        rt_graph_record(g, false); /* fault 6: a state while it records */
    return rt_linear_attention(g, in[0], in[1], in[2], in[3], in[4], fault == 5 ? NULL : &o);
}

#define Q AXES(2, 4, 2, 4)
static const row rows[] = {
    {&rt_op_add, add, SHAPES(AXES(2, 3), AXES(3))},
    {&rt_op_multiply, multiply, SHAPES(AXES(2, 3), AXES(3))},
    {&rt_op_scale, scale, SHAPES(AXES(2, 3))},
    {&rt_op_scale_heads, scale_heads, SHAPES(AXES(2, 3, 4), AXES(3))},
    {&rt_op_exp, exp_of, SHAPES(AXES(2, 3))},
    {&rt_op_gelu, gelu, SHAPES(AXES(2, 3))},
    {&rt_op_gelu_tanh, gelu_tanh, SHAPES(AXES(2, 3))},
    {&rt_op_relu, relu, SHAPES(AXES(2, 3))},
    {&rt_op_tanh, tanh_of, SHAPES(AXES(2, 3))},
    {&rt_op_sigmoid, sigmoid, SHAPES(AXES(2, 3))},
    {&rt_op_silu, silu, SHAPES(AXES(2, 3))},
    {&rt_op_elu_plus_one, elu_plus_one, SHAPES(AXES(2, 3))},
    {&rt_op_dropout, dropout, SHAPES(AXES(2, 3)), .faults = 4},
    {&rt_op_reshape, reshape, SHAPES(AXES(2, 3)), .faults = 12},
    {&rt_op_permute, permute, SHAPES(AXES(2, 3)), .faults = 6},
    {&rt_op_sum, sum, SHAPES(AXES(2, 3))},
    {&rt_op_mean, mean, SHAPES(AXES(2, 3))},
    {&rt_op_pool, pool, SHAPES(AXES(2, 3, 4)), .faults = 2},
    {&rt_op_matmul, matmul, SHAPES(AXES(2, 3), AXES(3, 4))},
    {&rt_op_matmul, matmul, SHAPES(AXES(5, 2, 3), AXES(5, 3, 4))},
    {&rt_op_linear, linear, SHAPES(AXES(2, 3), AXES(5, 3), AXES(5)), .optional = 1 << 2},
    {&rt_op_linear, linear_onto, SHAPES(AXES(2, 3), AXES(5, 3), AXES(5), AXES(2, 5)),
     .optional = 1 << 2},
    {&rt_op_linear_activation, linear_activate, SHAPES(AXES(2, 3), AXES(5, 3), AXES(5)),
     .faults = 4, .optional = 1 << 2},
    {&rt_op_layer_norm, layer_norm, SHAPES(AXES(2, 3), AXES(3), AXES(3)), .faults = 3,
     .optional = 1 << 2},
    {&rt_op_rms_norm, rms_norm, SHAPES(AXES(2, 3), AXES(3)), .faults = 3},
    {&rt_op_glu, glu, SHAPES(AXES(2, 3), AXES(2, 3)), .faults = 4},
    {&rt_op_normalize, normalize, SHAPES(AXES(2, 3))},
    {&rt_op_softmax, softmax, SHAPES(AXES(2, 3))},
    {&rt_op_log_softmax, log_softmax, SHAPES(AXES(2, 3))},
    {&rt_op_embedding, embedding, SHAPES(AXES(5, 3)), .faults = 11},
    {&rt_op_cross_entropy, cross_entropy, SHAPES(AXES(2, 3)), .faults = 10},
    {&rt_op_rope, rope, SHAPES(Q, AXES(2)), .faults = 34},
    {&rt_op_attention, attention, SHAPES(Q, Q, Q, AXES(3, 2), AXES(3, 4)), .faults = 16,
     .optional = 3 << 3},
    {&rt_op_attention, attention, SHAPES(Q, Q, Q, AXES(3, 2), AXES(3, 4)), .faults = 20,
     .optional = 3 << 3},
    {&rt_op_attention, attention,
     SHAPES(AXES(2, 4, 2, 4), AXES(2, 4, 1, 4), AXES(2, 4, 1, 4), AXES(3, 2), AXES(3, 4)),
     .optional = 3 << 3},
    {&rt_op_key_exp, key_exp, SHAPES(AXES(2, 3, 2, 4)), .faults = 2},
    {&rt_op_linear_attention, linear_attention, SHAPES(Q, Q, Q, Q, Q), .faults = 9},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- running a row ---- */

static rt_graph *g;
static real data[MAX_INPUTS][ROOM], grad[MAX_INPUTS][ROOM], upstream[ROOM];

static void make_graph(void)
{
    g = rt_graph_new();
    memset(mask, 1, sizeof mask);
    for (int i = 0; i < ROOM; i++) {
        positions[i] = i % 50;
        upstream[i] = (real)(i % 3) - 1;
    }
    for (int k = 0; k < MAX_INPUTS; k++)
        for (int i = 0; i < ROOM; i++)
            data[k][i] = (real)0.1 + (real)(i % 7) / 10;
}

static void free_graph(void)
{
    rt_graph_free(g);
}

/* Good input for a row. */
static int prepare(const row *r, rt_tensor *tensors, rt_tensor **in)
{
    int count = 0;
    for (; r->shapes[count].ndim >= 0; count++) {
        tensors[count] = rt_tensor_of(data[count], grad[count], r->shapes[count]);
        in[count] = tensors + count;
    }
    rt_graph_clear(g);
    return count;
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

/* ---- tensors ---- */

/* Shapes that no tensor can have. */
static const rt_shape impossible[] = {
    {1, {0}},
    {1, {-1}},
    {1, {INT_MIN}},
    {2, {2, 0}},
    {2, {0, 3}},
    {2, {2, -1}},
    {2, {-2, -3}},
    {2, {INT_MAX, INT_MAX}},
    {2, {1 << 16, 1 << 16}},
    {4, {1 << 16, 1 << 16, 1 << 16, 1 << 16}}, /* 2^64 */
    {3, {2, 0, 3}},
    {4, {2, 3, 0, 4}},
    {4, {2, 3, 2, 0}},
    {4, {2, 3, 2, -4}},
    {4, {2, 3, -1, 4}},
    {4, {-1, -1, -1, -1}},
    {-1, {2, 3}},
    {INT_MIN, {2, 3}},
    {5, {2, 3, 2, 4}},
    {INT_MAX, {2, 3, 2, 4}},
};
enum { IMPOSSIBLE = sizeof impossible / sizeof *impossible };

SUITE(.setup = make_graph, .teardown = free_graph)

TEST_ROWS(good_input_is_accepted, 0, ROWS)
{
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    prepare(r, tensors, in);
    rt_tensor *y = r->call(g, in, 0);
    ck_assert_msg(y, "%s: %s", r->op->name, rt_graph_status(g).message);
    ck_assert(rt_graph_tape(g) && rt_graph_tape(g)->op == r->op);
    expect_either(r->op, y, "good input");
}

TEST_ROWS(a_tensor_that_is_null_is_refused, 0, ROWS)
{
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    const int count = prepare(r, tensors, in);
    for (int i = 0; i < count; i++) {
        prepare(r, tensors, in);
        in[i] = NULL;
        rt_tensor *y = r->call(g, in, 0);
        if (r->optional & 1u << i) {
            ck_assert_msg(y, "%s: %s", r->op->name, rt_graph_status(g).message);
            continue;
        }
        expect_refusal(r->op, y, "NULL");
        ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "is NULL"));
    }
}

TEST_ROWS(a_tensor_of_no_shape_is_refused, 0, ROWS)
{
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    const int count = prepare(r, tensors, in);
    for (int i = 0; i < count; i++)
        for (int s = 0; s < IMPOSSIBLE; s++) {
            prepare(r, tensors, in);
            tensors[i] = rt_tensor_of(data[i], grad[i], impossible[s]);
            expect_refusal(r->op, r->call(g, in, 0), rt_shape_text(tensors + i));
        }
}

TEST_ROWS(a_tensor_without_memory_is_refused, 0, ROWS)
{
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    const int count = prepare(r, tensors, in);
    for (int i = 0; i < count; i++) {
        prepare(r, tensors, in);
        tensors[i].data = NULL;
        expect_refusal(r->op, r->call(g, in, 0), "no data");
        prepare(r, tensors, in);
        tensors[i].grad = NULL;
        expect_refusal(r->op, r->call(g, in, 0), "no gradient where one is wanted");
        prepare(r, tensors, in);
        if (tensors[i].ndim < RT_MAX_AXES) {
            tensors[i].shape[RT_MAX_AXES - 1] = 2;
            expect_refusal(r->op, r->call(g, in, 0), "an axis beyond the last");
        }
    }
}

/* Every shape of up to four axes of length 1 ... 5 that differs from the good one in its rank or
 * in its lengths: taken or refused. */
TEST_ROWS(other_shapes_are_taken_or_refused, 0, ROWS)
{
    static const int lengths[] = {1, 2, 3, 4, 5};
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    const int count = prepare(r, tensors, in);
    for (int i = 0; i < count; i++)
        for (int ndim = 0, codes = 1; ndim <= RT_MAX_AXES; ndim++, codes *= 5)
            for (int code = 0; code < codes; code++) {
                rt_shape shape = {.ndim = ndim};
                for (int a = 0, rest = code; a < ndim; a++, rest /= 5)
                    shape.axis[a] = lengths[rest % 5];
                prepare(r, tensors, in);
                tensors[i] = rt_tensor_of(data[i], grad[i], shape);
                expect_either(r->op, r->call(g, in, 0), rt_shape_text(tensors + i));
            }
}

/* ---- arguments ---- */

TEST_ROWS(an_argument_that_does_not_fit_is_refused, 0, ROWS)
{
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    for (int fault = 1; fault <= r->faults; fault++) {
        char what[32];
        snprintf(what, sizeof what, "fault %d", fault);
        prepare(r, tensors, in);
        expect_refusal(r->op, r->call(g, in, fault), what);
    }
}

TEST_ROWS(a_graph_that_has_failed_keeps_its_message, 0, ROWS)
{
    const row *r = rows + _i;
    rt_tensor tensors[MAX_INPUTS], *in[MAX_INPUTS];
    prepare(r, tensors, in);
    rt_graph_fail(g, RT_ARGUMENT, "the first");
    ck_assert_ptr_null(r->call(g, in, 0));
    memset(in, 0, sizeof in);
    ck_assert_ptr_null(r->call(g, in, 0));
    ck_assert_str_eq(rt_graph_status(g).message, "the first");
}

/* ---- the list is complete ---- */

TEST(every_op_has_a_row)
{
#define OP(name) &rt_op_##name,
    static const rt_op *const ops[] = {RT_OPS(OP)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int found = 0;
        for (int r = 0; r < ROWS; r++)
            found += rows[r].op == ops[i];
        ck_assert_msg(found, "%s has no row with hostile input", ops[i]->name);
    }
}

/* ---- beyond the rows ---- */

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
    expect_refusal(&rt_op_matmul, rt_matmul(g, &column, &line), "2^32");
    rt_graph_clear(g);
    expect_refusal(&rt_op_linear, rt_linear(g, &column, &column, &bias), "2^32");
    rt_graph_clear(g);
    expect_refusal(&rt_op_linear_activation,
                   rt_linear_activate(g, &column, &column, &bias, RT_RELU), "2^32");
    rt_graph_clear(g);
    expect_refusal(&rt_op_embedding, rt_embedding(g, &line, ids, RT_SHAPE_OF(N), 0), "2^32");
    rt_graph_clear(g);
    expect_refusal(&rt_op_attention, rt_attention(g, &query, &key, &value, &o), "2^32");
    rt_graph_clear(g);
    expect_refusal(&rt_op_linear_attention,
                   rt_linear_attention(g, &query, &key, &value, &query, &key, &linear_o), "2^32");
    rt_graph_clear(g);
    expect_refusal(&rt_op_rope,
                   (rt_tensor *)rt_rotation_learned(g, &bias, RT_THETA_RAW, RT_HALF, 1, 1, N,
                                                    (rt_positions){0}),
                   "2^32");
}

TEST(an_activation_that_there_is_not_is_refused)
{
    static const int kinds[] = {99, -1, RT_ELU_PLUS_ONE + 1, INT_MAX, INT_MIN};
    rt_tensor x = leaf(0, RT_SHAPE_OF(2, 3));
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(rt_activate(g, &x, (rt_activation)kinds[i]));
        ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "[activate] there is no act"));
        rt_graph_clear(g);
    }
}

TEST(a_loss_that_is_null_is_refused)
{
    rt_tensor x = leaf(0, RT_SHAPE_OF(3));
    rt_tensor *y = rt_exp(g, &x);
    ck_assert_str_eq(rt_graph_backward(g, NULL).message, "[backward] the output is NULL");
    ck_assert_str_eq(rt_graph_backward_from(g, NULL, upstream).message,
                     "[backward] the output is NULL");
    ck_assert_str_eq(rt_graph_backward_from(g, y, NULL).message, "[backward] upstream is NULL");
    ck_assert_int_eq(rt_graph_backward_from(g, y, upstream).code, RT_OK);
}

TEST(nothing_is_correct_where_there_are_no_logits)
{
    for (int s = 0; s < IMPOSSIBLE; s++) {
        rt_tensor logits = rt_tensor_of(data[0], NULL, impossible[s]);
        ck_assert_uint_eq(rt_count_correct(&logits, labels), 0);
    }
    rt_tensor logits = leaf(0, RT_SHAPE_OF(2, 3));
    ck_assert_uint_eq(rt_count_correct(NULL, labels) + rt_count_correct(&logits, NULL), 0);
}

TEST(a_table_of_rotations_refuses_what_it_cannot_hold)
{
    static const double theta[] = {1, 0.1};
    rt_rotation_table table;
    ck_assert_int_eq(rt_rotation_table_init(&table, NULL, 2, RT_HALF, 1).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_rotation_table_init(&table, theta, -1, RT_HALF, 1).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_rotation_table_init(&table, theta, 2, (rt_pairing)3, 1).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_rotation_table_init(&table, theta, 2, RT_HALF, (double)NAN).code,
                     RT_ARGUMENT);
    rt_rotation_table_free(&table);
    ck_assert_int_eq(rt_rotation_table_init(&table, theta, 2, RT_HALF, 1).code, RT_OK);
    rt_tensor x = leaf(0, RT_SHAPE_OF(1, 3, 1, 4));
    expect_refusal(&rt_op_rope, rt_rope(g, &x, &table.rotation), "a table without a row");
    rt_rotation_table_free(&table);
}

/* A factor may be NaN or infinite: it is plain arithmetic. */
TEST(a_factor_may_be_any_number)
{
    rt_tensor q = leaf(0, RT_SHAPE_OF(1, 2, 1, 2));
    const rt_attention_options o = {.scale = (double)NAN};
    ck_assert(isnan(rt_scale(g, &q, (double)NAN)->data[0]));
    ck_assert(isnan(rt_attention(g, &q, &q, &q, &o)->data[0]));
}
