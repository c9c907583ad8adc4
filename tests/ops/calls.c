#include "tests/ops/calls.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROWS_OF(table) ((int)(sizeof(table) / sizeof *(table)))

const int32_t call_zeros[CALL_NUMBERS];
uint8_t call_mask[CALL_NUMBERS];
double call_positions[CALL_NUMBERS];
real call_levels[CALL_NUMBERS];

void fill_call_arrays(void)
{
    memset(call_mask, 1, sizeof call_mask);
    for (int i = 0; i < CALL_NUMBERS; i++)
        call_positions[i] = i % 50;
}

#define CALL(name, result)                                                                         \
    BUILDER(name)                                                                                  \
    {                                                                                              \
        const op_options *o __attribute__((unused)) = context;                                     \
        return result;                                                                             \
    }

CALL(add, rt_add(g, in[0], in[1]))
CALL(multiply, rt_multiply(g, in[0], in[1]))
CALL(scale, rt_scale(g, in[0], o->number))
CALL(scale_heads, rt_scale_heads(g, in[0], in[1]))
CALL(activate, rt_activate(g, in[0], (rt_activation)o->kind))
CALL(glu, rt_glu(g, in[0], in[1], (rt_activation)o->kind))
CALL(dropout, rt_dropout(g, in[0], o->number))
CALL(reshape, rt_reshape(g, in[0], o->shape))
CALL(permute, rt_permute(g, in[0], o->order))
CALL(sum, rt_sum(g, in[0]))
CALL(mean, rt_mean(g, in[0]))
CALL(pool, rt_pool(g, in[0], (rt_pooling)o->kind, o->mask))
CALL(running_sum, rt_running_sum(g, in[0], o->kind, o->before))
CALL(depthwise_conv, rt_depthwise_conv(g, in[0], in[1], o->before))
CALL(shift, rt_shift(g, in[0], o->kind, o->before, o->mask))
CALL(angles, o->fixed ? rt_angles_fixed(g, in[0], o->fixed, RT_SHAPE_OF(1))
                      : rt_angles(g, in[0], in[1], o->form))
CALL(polar, rt_polar(g, in[0], in[1]))
CALL(matmul, rt_matmul(g, in[0], in[1]))
CALL(linear,
     o->onto ? rt_linear_onto(g, in[3], in[0], in[1], in[2]) : rt_linear(g, in[0], in[1], in[2]))
CALL(linear_activate, rt_linear_activate(g, in[0], in[1], in[2], (rt_activation)o->kind))
CALL(layer_norm, rt_layer_norm(g, in[0], in[1], in[2], o->number))
CALL(rms_norm, rt_rms_norm(g, in[0], in[1], o->number))
CALL(normalize, rt_normalize(g, in[0]))
CALL(softmax, rt_softmax(g, in[0]))
CALL(log_softmax, rt_log_softmax(g, in[0]))
CALL(embedding, rt_embedding(g, in[0], o->ids, o->shape, (int)((unsigned)o->padding - 1)))
CALL(cross_entropy, rt_cross_entropy(g, in[0], o->ids, o->number, o->divisor))

/* A length of an input that may be no tensor. */
static int length_of(const rt_tensor *x, int axis)
{
    return x && x->shape[axis] >= 1 && x->shape[axis] <= CALL_NUMBERS / 64 ? x->shape[axis] : 1;
}

BUILDER(rope)
{
    const op_options *o = context;
    const int decayed = o->decay_length ? o->decay_length : length_of(in[0], 1);
    rt_positions at = o->positions;
    at.B = o->B ? o->B : length_of(in[0], 0);
    at.T = o->T ? o->T : length_of(in[0], 1);
    const rt_rotation *r =
        o->by_angles ? rt_rotation_by_angles(g, in[1], o->pairing)
        : o->fixed   ? rt_rotation_fixed(g, o->fixed, RT_SHAPE_OF(1, 1), o->pairing, o->number, at)
                     : rt_rotation_learned(g, in[1], o->form, o->pairing, o->number, at);
    return rt_rope(g, in[0], o->decay != 0 ? rt_rotation_decayed(g, r, decayed, o->decay) : r);
}

BUILDER(attention)
{
    const op_options *o = context;
    rt_attention_options options = o->attention;
    options.distance_bias = o->bias ? in[3] : NULL;
    options.distance_keys = o->keys ? in[3 + o->bias] : NULL;
    options.key_bias = o->key_bias ? in[3 + o->bias + o->keys] : NULL;
    return rt_attention(g, in[0], in[1], in[2], o->no_options ? NULL : &options);
}

BUILDER(key_exp)
{
    const op_options *o = context;
    const real *level;
    return rt_key_exp(g, in[0], o->linear.key_mask, o->linear.causal, o->linear.level,
                      o->no_options ? NULL : &level);
}

CALL(linear_attention,
     rt_linear_attention(g, in[0], in[1], in[2], in[3], in[4], o->no_options ? NULL : &o->linear))

static const int16_t classes[] = {0, 1, 2};
static const rt_distances distances = {1, 3, classes};
static const int reversed[RT_MAX_AXES] = {1, 0};

/* clang-format off */
#define ROW(op_name, call, axes, ...)                                                              \
    {&rt_op_##op_name, call, .inputs = axes, .good = {__VA_ARGS__}}
#define ROW_WITH(optional_inputs, op_name, call, axes, ...)                                        \
    {&rt_op_##op_name, call, axes, {__VA_ARGS__}, optional_inputs}
#define PLAIN(op_name, call, axes) {&rt_op_##op_name, call, .inputs = axes}
const op_call op_calls[] = {
    PLAIN(add, add, "*C,C"),
    PLAIN(multiply, multiply, "*C,C"),
    ROW(scale, scale, "*C", .number = -1.7),
    PLAIN(scale_heads, scale_heads, "*HD,H"),
    ROW(gelu, activate, "*C", .kind = RT_GELU),
    ROW(gelu_tanh, activate, "*C", .kind = RT_GELU_TANH),
    ROW(relu, activate, "*C", .kind = RT_RELU),
    ROW(tanh, activate, "*C", .kind = RT_TANH),
    ROW(sigmoid, activate, "*C", .kind = RT_SIGMOID),
    ROW(silu, activate, "*C", .kind = RT_SILU),
    ROW(exp, activate, "*C", .kind = RT_EXP),
    ROW(elu_plus_one, activate, "*C", .kind = RT_ELU_PLUS_ONE),
    ROW(softplus, activate, "*C", .kind = RT_SOFTPLUS),
    ROW(log_sigmoid, activate, "*C", .kind = RT_LOG_SIGMOID),
    ROW(glu, glu, "*C,*C", .kind = RT_SILU),
    ROW(dropout, dropout, "*C", .number = 0.4),
    ROW(reshape, reshape, "BC", .shape = {1, {6}}),
    ROW(permute, permute, "BC", .order = reversed),
    PLAIN(sum, sum, "*C"),
    PLAIN(mean, mean, "*C"),
    ROW(pool, pool, "BTC", .kind = RT_POOL_MEAN),
    ROW(running_sum, running_sum, "*TC", .kind = 0),
    PLAIN(depthwise_conv, depthwise_conv, "BTC,CK"),
    ROW(shift, shift, "BTHD", .kind = 1),
    PLAIN(matmul, matmul, "MK,KN"),
    PLAIN(matmul, matmul, "*MK,*KN"),
    ROW_WITH(1 << 2, linear, linear, "*I,OI,O", .onto = false),
    ROW_WITH(1 << 2, linear, linear, "*I,OI,O,*O", .onto = true),
    ROW_WITH(1 << 2, linear_activation, linear_activate, "*I,OI,O", .kind = RT_SILU),
    ROW_WITH(1 << 2, layer_norm, layer_norm, "*C,C,C", .number = 1e-5),
    ROW(rms_norm, rms_norm, "*C,C", .number = 1e-5),
    PLAIN(normalize, normalize, "*C"),
    PLAIN(softmax, softmax, "*C"),
    PLAIN(log_softmax, log_softmax, "*C"),
    ROW(embedding, embedding, "VC", .ids = call_zeros, .shape = {1, {2}}, .padding = 1),
    ROW(cross_entropy, cross_entropy, "*V", .ids = call_zeros, .number = 0.1, .divisor = 2),
    ROW(rope, rope, "BTHD,P", .number = 1, .pairing = RT_HALF,
        .positions = {.at = call_positions, .per_sequence = true}),
    ROW(rope, rope, "BTHD,P", .number = 1, .decay = 3),
    ROW(rope, rope, "BTHD,BTGP", .by_angles = true),
    PLAIN(angles, angles, "BTGP,GP"),
    ROW_WITH(1 << 1, polar, polar, "BTHD,GD", .number = 0),
    ROW_WITH(7 << 3, attention, attention, "BTHD,BSHD,BSHD,KH,KD,BHS", .bias = true, .keys = true,
             .key_bias = true,
             .attention = {.causal = true, .key_mask = call_mask, .dropout = 0.1,
                           .query_positions = call_positions, .slopes = call_positions,
                           .distances = &distances}),
    ROW(attention, attention, "BTHD,BSGD,BSGE", .attention = {.window = INT_MAX}),
    ROW(key_exp, key_exp, "BTHD", .linear = {.causal = true, .key_mask = call_mask}),
    ROW(linear_attention, linear_attention, "BTHD,BTHD,BTHE,BTHD,BTHD",
        .linear = {.causal = true, .key_mask = call_mask, .eps = 0.5, .level = call_levels}),
};
/* clang-format on */
const int op_call_count = sizeof op_calls / sizeof *op_calls;

const op_call *op_call_of(const rt_op *op)
{
    for (int i = 0; i < op_call_count; i++)
        if (op_calls[i].op == op)
            return op_calls + i;
    return NULL;
}

/* Appends to a text, after a comma unless it is the first in its brackets. */
static void append(char text[CALL_TEXT_SIZE], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (used && text[used - 1] != '(')
        snprintf(text + used, CALL_TEXT_SIZE - used, ", ");
    vsnprintf(text + strlen(text), CALL_TEXT_SIZE - strlen(text), format, arguments);
    va_end(arguments);
}

const char *write_call(char text[CALL_TEXT_SIZE], const rt_op *op, rt_tensor *const *in, int inputs,
                       const op_options *o)
{
    static const char *const activations[] = {
        RT_ACTIVATION_ROWS(RT_ACTIVATION_WORD, RT_CHOICE_WORD)};
    const rt_attention_options *a = &o->attention;
    const rt_linear_attention_options *l = &o->linear;
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"number", o->number},
                   {"divisor", o->divisor},
                   {"padding", o->padding},
                   {"offset", o->positions.offset},
                   {"B", o->B},
                   {"T", o->T},
                   {"decay", o->decay},
                   {"decay_length", o->decay_length},
                   {"scale", a->scale},
                   {"window", a->window},
                   {"dropout", a->dropout},
                   {"constant", l->constant},
                   {"eps", l->eps}};
    const struct {
        const char *name;
        bool is_given;
    } words[] = {{"onto", o->onto},
                 {"ids", o->ids},
                 {"order", o->order},
                 {"mask", o->mask},
                 {"before", o->before},
                 {"fixed theta", o->fixed},
                 {"by angles", o->by_angles},
                 {"ln theta", o->form == RT_THETA_LOG},
                 {"half", o->pairing == RT_HALF},
                 {"chosen positions", o->positions.at},
                 {"two axes", o->positions.second},
                 {"per sequence", o->positions.per_sequence},
                 {"bias", o->bias},
                 {"keys", o->keys},
                 {"key bias", o->key_bias},
                 {"no options", o->no_options},
                 {"causal", a->causal || l->causal},
                 {"key mask", a->key_mask || l->key_mask},
                 {"slopes", a->slopes},
                 {"query positions", a->query_positions},
                 {"key positions", a->key_positions},
                 {"probabilities", a->probabilities},
                 {"level", l->level},
                 {"state", l->state}};
    char shape[RT_SHAPE_TEXT_SIZE];
    snprintf(text, CALL_TEXT_SIZE, "%s(", op->name);
    while (inputs && !in[inputs - 1])
        inputs--;
    for (int i = 0; i < inputs; i++)
        append(text, "%s", in[i] ? rt_shape_write(shape, rt_tensor_shape(in[i])) : "NULL");
    if (op == &rt_op_glu || op == &rt_op_linear_activation)
        append(text, "%s", o->kind < ROWS_OF(activations) ? activations[o->kind] : "no activation");
    else if (op == &rt_op_pool || op == &rt_op_running_sum || op == &rt_op_shift)
        append(text, "kind %d", o->kind);
    for (int i = 0; i < ROWS_OF(numbers); i++)
        if (numbers[i].value != 0)
            append(text, "%s %g", numbers[i].name, numbers[i].value);
    for (int i = 0; i < ROWS_OF(words); i++)
        if (words[i].is_given)
            append(text, "%s", words[i].name);
    snprintf(text + strlen(text), CALL_TEXT_SIZE - strlen(text), ")");
    return text;
}

rt_shape next_input(const char **inputs, const int lengths[128], rt_shape leading)
{
    rt_shape shape = {.ndim = **inputs ? 0 : -1, .axis = {1, 1, 1, 1}};
    for (; **inputs && **inputs != ','; ++*inputs) {
        if (**inputs == '*')
            shape = leading;
        else if (shape.ndim < RT_MAX_AXES)
            shape.axis[shape.ndim++] = lengths[(int)**inputs];
    }
    *inputs += **inputs == ',';
    return shape;
}
