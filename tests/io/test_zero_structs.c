/* Every function of the installed headers that takes a struct, with one that nobody has filled: all
 * zeros. It answers with an error, or does nothing; each call has a process of its own. */

#include "suite.h"

#include "core/gradcheck.h"
#include "core/row_kernels.h"
#include "io/rotor-io.h"
#include "models/options.h"
#include "models/positions.h"
#include "models/sampler.h"
#include "models/session.h"
#include "models/usage.h"
#include "ops/engine.h"
#include "ops/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 4, NAME_SIZE = 64 };

/* Arguments for calls: structs of zeros, and others. */
static rt_tensor tensor, *x = &tensor;
static rt_graph *g;
static rt_tensor *leaf; /* (1, 2, 2, 2), as it should be */
static real numbers[16];
static double doubles[16];
static int32_t ids[16];
static int count;
static size_t bytes;
static char *text;

static rt_vocabulary vocabulary, *v = &vocabulary;
static rt_labels labels;
static rt_transformer transformer;
static rt_transformer_options options;
static rt_parameters parameters;
static rt_parameter parameter;
static rt_frequency_options frequencies;
static rt_model model;
static rt_row row;
static rt_node node;
static rt_arena arena;
static rt_rotation rotation;
static rt_rotation_table table;
static rt_unknown unknown;
static rt_special_ids special;
static rt_threads crew;
static rt_usage usage;
static rt_distances distances;
static rt_transformer *whole;

/* ---- what a call comes to ---- */

static void refused(rt_status status)
{
    ck_assert_int_ne(status.code, RT_OK);
    ck_assert_str_ne(status.message, "");
}

/* An op: no tensor, and a message. */
static void failed(const void *result)
{
    ck_assert_ptr_null(result);
    refused(rt_graph_status(g));
}

/* Nothing to refuse: the call returned. A status is good or has a message. */
static void done(rt_status status)
{
    ck_assert(!status.code || *status.message);
}

static void nothing(int result)
{
    (void)result;
}

#define IS_NOTHING(call) (nothing((call, 0)))

/* ---- the calls ---- */

static rt_tensor *any(rt_graph *graph, rt_tensor *const *inputs, void *context)
{
    (void)context;
    return rt_sum(graph, inputs[0]);
}

static rt_status straight(void *context, double t, double *difference)
{
    (void)context;
    *difference = t;
    return rt_ok();
}

static void ignore_rule(void *context, const char *const *names, const char *message)
{
    (void)context, (void)names, (void)message;
}

static void ignore_id(void *context, int32_t id)
{
    (void)context, (void)id;
}

static rt_status make(const rt_transformer_options *o)
{
    rt_transformer *made;
    return rt_transformer_new(&made, o, 1, NULL);
}

static rt_status with_vocabulary(void)
{
    rt_model *made;
    options = rt_model_defaults(RT_KIND_DECODER);
    return rt_model_new(&made, &options, v, NULL, SIZE, 1);
}

/* A model as it should be, for the structs that go with it. */
static rt_transformer *a_transformer(void)
{
    rt_transformer_options o = rt_model_defaults(RT_KIND_DECODER);
    o.vocab = 6;
    ck_assert(!rt_transformer_new(&whole, &o, 1, NULL).code);
    return whole;
}

/* A product large enough to be shared by a crew that cannot run. */
static void multiply_in_threads(void)
{
    enum { LARGE = 300 };
    static real values[LARGE * LARGE];
    rt_tensor square = rt_tensor_of(values, NULL, RT_SHAPE_OF(LARGE, LARGE));
    rt_graph_set_threads(g, &crew);
    ck_assert_ptr_nonnull(rt_linear(g, &square, &square, NULL));
}

static void do_nothing(void *context, int part, void *room)
{
    (void)context, (void)part, (void)room;
}

static void do_nothing_with_rows(const rt_row_span *span)
{
    (void)span;
}

static rt_status optimize_nothing(void)
{
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_SGD);
    rt_optimizer *o;
    rt_status status = rt_optimizer_new(&o, &parameters, &settings);
    if (!status.code)
        status = rt_optimizer_step(o, 1, NULL);
    if (!status.code)
        status = rt_optimizer_step_by(o, (rt_rates){0}, NULL);
    rt_optimizer_free(o);
    return status;
}

static rt_status optimize_without_settings(void)
{
    rt_optimizer *o;
    return rt_optimizer_new(&o, &parameters, &(rt_optimizer_settings){.eps = 0});
}

static rt_status read_kind(void)
{
    rt_vocabulary *made;
    return rt_vocabulary_read(&made, (rt_vocabulary_kind){.level = 0}, "none",
                              (const unsigned char *)"", 0);
}

static rt_status copy(void)
{
    rt_vocabulary *made;
    return rt_vocabulary_copy(&made, v);
}

static rt_status name_nothing(void)
{
    rt_labels *made;
    return rt_labels_of(&made, "none", &(rt_text_span){NULL, 0}, 1);
}

static rt_status session_of_nothing(void)
{
    rt_session *made;
    return rt_session_new(&made, &transformer, 0);
}

static rt_status sampler_of_nothing(void)
{
    rt_sampler *made;
    return rt_sampler_new(&made, &(rt_sampling){0}, SIZE);
}

#define CALLS(X)                                                                                   \
    X(rt_arena_take, IS_NOTHING(rt_arena_take(&arena, 1)))                                         \
    X(rt_arena_take_present, IS_NOTHING(rt_arena_take_present(&arena, &arena, 1)))                 \
    X(rt_arena_clear, rt_arena_clear(&arena))                                                      \
    X(rt_arena_here, IS_NOTHING(rt_arena_here(&arena)))                                            \
    X(rt_arena_keep, IS_NOTHING(rt_arena_keep(&arena, (rt_arena_mark){NULL, 0, 0}, NULL, 0)))      \
    X(rt_arena_touched, IS_NOTHING(rt_arena_touched(&arena)))                                      \
    X(rt_arena_space, IS_NOTHING(rt_arena_space(&arena)))                                          \
    X(rt_arena_return_pages, rt_arena_return_pages(&arena))                                        \
    X(rt_arena_free, rt_arena_free(&arena))                                                        \
    X(rt_gradcheck, refused(rt_gradcheck(any, NULL, &x, 1, &(rt_gradcheck_options){0}, NULL)))     \
    X(rt_graph_recompute, IS_NOTHING(rt_graph_recompute(g, x, NULL, NULL, 0)))                     \
    X(rt_graph_set_threads, multiply_in_threads())                                                 \
    X(rt_graph_keep, IS_NOTHING(rt_graph_keep(g, (rt_arena_mark){NULL, 0, 0}, x)))                 \
    X(rt_graph_observe, rt_graph_observe(g, (rt_observer){NULL, NULL, NULL}))                      \
    X(rt_graph_backward, refused(rt_graph_backward(g, x)))                                         \
    X(rt_graph_backward_from, refused(rt_graph_backward_from(g, x, numbers)))                      \
    X(rt_graph_check_inputs,                                                                       \
      ck_assert(!rt_graph_check_inputs(g, "op", &(rt_input){.name = NULL}, 1)))                    \
    X(rt_graph_apply, failed(rt_graph_apply(g, &(rt_op){0}, RT_SHAPE_OF(1), &leaf, 1, "", 0)))     \
    X(rt_graph_apply_rounded, failed(rt_graph_apply_rounded(g, &(rt_op){0}, x, numbers)))          \
    X(rt_graph_needs_numbers, ck_assert(rt_graph_needs_numbers(g, x)))                             \
    X(rt_graph_release, rt_graph_release(g, x))                                                    \
    X(rt_graph_view, failed(rt_graph_view(g, &(rt_op){0}, (rt_shape){0}, x)))                      \
    X(rt_node_share, rt_node_share(&node, do_nothing, NULL, 2))                                    \
    X(rt_node_do, rt_node_do(&node, do_nothing, NULL, 2))                                          \
    X(rt_node_rows, rt_node_rows(&node, 0, 0, do_nothing_with_rows, NULL))                         \
    X(rt_rows_of_part, ck_assert_uint_gt(rt_rows_of_part(0), 0))                                   \
    X(rt_parts_of_rows, ck_assert_int_eq(rt_parts_of_rows(0, 0), 0))                               \
    X(rt_scratch, IS_NOTHING(rt_scratch(&node)))                                                   \
    X(rt_grad, ck_assert_ptr_null(rt_grad(&node, 0)))                                              \
    X(rt_grad_or_fresh, ck_assert_ptr_null(rt_grad_or_fresh(&node, 0, numbers)))                   \
    X(rt_grad_rounded, ck_assert_ptr_null(rt_grad_rounded(&node, 0)))                              \
    X(rt_grad_pass, rt_grad_pass(&node, 0))                                                        \
    X(rt_account_alloc,                                                                            \
      ck_assert(rt_account_alloc(&(rt_account){{0}}, RT_FOR_VALUES, 1, 1) != NULL))                \
    X(rt_random_words, rt_random_words((rt_random){0}, 0, (uint32_t[4]){0}))                       \
    X(rt_random_uniform, IS_NOTHING(rt_random_uniform((rt_random){0}, 0)))                         \
    X(rt_random_normal, IS_NOTHING(rt_random_normal((rt_random){0}, 0)))                           \
    X(rt_random_below, IS_NOTHING(rt_random_below((rt_random){0}, 0, 1)))                          \
    X(rt_rule_broken, rt_rule_broken((rt_rule_sink){NULL, NULL}, RT_OPTIONS("a"), "broken"))       \
    X(rt_slope_find,                                                                               \
      done(rt_slope_find(straight, NULL, &(rt_slope_options){0}, 1, &(rt_slope){.kink = false})))  \
    X(rt_tensor_of, IS_NOTHING(rt_tensor_of(NULL, NULL, (rt_shape){0})))                           \
    X(rt_tensor_shape, IS_NOTHING(rt_tensor_shape(x)))                                             \
    X(rt_same_shape, IS_NOTHING(rt_same_shape(x, x)))                                              \
    X(rt_shapes_equal, IS_NOTHING(rt_shapes_equal((rt_shape){0}, (rt_shape){0})))                  \
    X(rt_size, IS_NOTHING(rt_size(x)))                                                             \
    X(rt_shape_size, IS_NOTHING(rt_shape_size((rt_shape){0})))                                     \
    X(rt_columns, IS_NOTHING(rt_columns(x)))                                                       \
    X(rt_rows, IS_NOTHING(rt_rows(x)))                                                             \
    X(rt_shape_write, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){""}, (rt_shape){0}))               \
    X(rt_add, failed(rt_add(g, x, x)))                                                             \
    X(rt_multiply, failed(rt_multiply(g, x, x)))                                                   \
    X(rt_scale, failed(rt_scale(g, x, 1)))                                                         \
    X(rt_scale_heads, failed(rt_scale_heads(g, x, x)))                                             \
    X(rt_exp, failed(rt_exp(g, x)))                                                                \
    X(rt_gelu, failed(rt_gelu(g, x)))                                                              \
    X(rt_activate, failed(rt_activate(g, x, RT_TANH)))                                             \
    X(rt_glu, failed(rt_glu(g, x, x, RT_SILU)))                                                    \
    X(rt_dropout, failed(rt_dropout(g, x, 0.5)))                                                   \
    X(rt_reshape, failed(rt_reshape(g, x, (rt_shape){.ndim = 1})))                                 \
    X(rt_permute, failed(rt_permute(g, x, &count)))                                                \
    X(rt_sum, failed(rt_sum(g, x)))                                                                \
    X(rt_mean, failed(rt_mean(g, x)))                                                              \
    X(rt_pool, failed(rt_pool(g, x, RT_POOL_LAST, NULL)))                                          \
    X(rt_matmul, failed(rt_matmul(g, x, x)))                                                       \
    X(rt_linear, failed(rt_linear(g, x, x, x)))                                                    \
    X(rt_linear_onto, failed(rt_linear_onto(g, x, x, x, x)))                                       \
    X(rt_for_products, failed(rt_for_products(g, x)))                                              \
    X(rt_linear_activate, failed(rt_linear_activate(g, x, x, x, RT_GELU)))                         \
    X(rt_layer_norm, failed(rt_layer_norm(g, x, x, x, 1)))                                         \
    X(rt_rms_norm, failed(rt_rms_norm(g, x, x, 1)))                                                \
    X(rt_softmax, failed(rt_softmax(g, x)))                                                        \
    X(rt_normalize, failed(rt_normalize(g, x)))                                                    \
    X(rt_log_softmax, failed(rt_log_softmax(g, x)))                                                \
    X(rt_embedding, failed(rt_embedding(g, x, ids, (rt_shape){0}, RT_NO_PADDING)))                 \
    X(rt_cross_entropy, failed(rt_cross_entropy(g, x, ids, 0, 1)))                                 \
    X(rt_largest, IS_NOTHING(rt_largest(x, 0)))                                                    \
    X(rt_count_correct, IS_NOTHING(rt_count_correct(x, ids)))                                      \
    X(rt_rotation_learned,                                                                         \
      failed(rt_rotation_learned(g, x, RT_THETA_RAW, RT_HALF, 1,                                   \
                                 (rt_positions){.B = 1, .T = 1, .at = NULL})))                     \
    X(rt_rotation_table_init, done(rt_rotation_table_init(&table, doubles, 0, RT_HALF, 1)))        \
    X(rt_rotation_reserve, refused(rt_rotation_reserve(&table, SIZE)))                             \
    X(rt_rotation_table_free, rt_rotation_table_free(&table))                                      \
    X(rt_rotation_decayed, failed(rt_rotation_decayed(g, &rotation, 1, 1)))                        \
    X(rt_rope, failed(rt_rope(g, leaf, &rotation)))                                                \
    X(rt_rotation_is_sound, ck_assert(!rt_rotation_is_sound(g, &rotation)))                        \
    X(rt_attention, failed(rt_attention(g, x, x, x, &(rt_attention_options){0})))                  \
    X(rt_attention_distances,                                                                      \
      failed(rt_attention(g, leaf, leaf, leaf,                                                     \
                          &(rt_attention_options){.distances = &distances, .distance_bias = x})))  \
    X(rt_linear_attention,                                                                         \
      failed(rt_linear_attention(g, x, x, x, x, x, &(rt_linear_attention_options){0})))            \
    X(rt_linear_attention_state,                                                                   \
      failed(rt_linear_attention(g, leaf, leaf, leaf, leaf, leaf,                                  \
                                 &(rt_linear_attention_options){                                   \
                                     .causal = true, .state = &(rt_linear_state){.sum = NULL}})))  \
    X(rt_key_exp, failed(rt_key_exp(g, x, NULL, false, NULL, NULL)))                               \
    X(rt_frequencies_check, done(rt_frequencies_check(&frequencies, SIZE)))                        \
    X(rt_frequencies, rt_frequencies(doubles, SIZE, &frequencies))                                 \
    X(rt_frequencies_at, rt_frequencies_at(doubles, SIZE, &frequencies, SIZE))                     \
    X(rt_frequencies_regime, IS_NOTHING(rt_frequencies_regime(&frequencies, SIZE)))                \
    X(rt_frequencies_magnitude, IS_NOTHING(rt_frequencies_magnitude(&frequencies)))                \
    X(rt_yarn_ramp, rt_yarn_ramp(&frequencies, SIZE, doubles, doubles + 1))                        \
    X(rt_linear_form,                                                                              \
      failed(rt_linear_form(g, leaf, leaf, leaf, &(rt_linear_form_options){.causal = false})))     \
    X(rt_parameters_begin_part, rt_parameters_begin_part(&parameters, RT_PART_LAYER, 0))           \
    X(rt_parameters_add,                                                                           \
      failed(                                                                                      \
          rt_parameters_add(&parameters, RT_ROLE_WEIGHT, RT_INIT_ZERO, (rt_shape){.ndim = 1}, "a") \
              ? NULL                                                                               \
              : rt_graph_fail(g, parameters.status.code, "%s", parameters.status.message)))        \
    X(rt_parameters_allocate, done(rt_parameters_allocate(&parameters, 1, NULL)))                  \
    X(rt_parameter_draw, rt_parameter_draw(&parameters, &parameter))                               \
    X(rt_parameters_free, rt_parameters_free(&parameters))                                         \
    X(rt_parameters_find, ck_assert_ptr_null(rt_parameters_find(&parameters, "a")))                \
    X(rt_parameters_count, IS_NOTHING(rt_parameters_count(&parameters)))                           \
    X(rt_parameters_zero_grads, rt_parameters_zero_grads(&parameters))                             \
    X(rt_keep_first_rule, rt_keep_first_rule(&(rt_first_rule){.code = RT_OK}, NULL, "a rule"))     \
    X(rt_transformer_rules, rt_transformer_rules(&options, ignore_rule, NULL))                     \
    X(rt_transformer_check, refused(rt_transformer_check(&options)))                               \
    X(rt_transformer_new, refused(make(&options)))                                                 \
    X(rt_transformer_new_from,                                                                     \
      refused(rt_transformer_new_from(&(rt_transformer *){NULL}, &options,                         \
                                      &(rt_model_start){.blank = true})))                          \
    X(rt_transformer_new_of_nothing,                                                               \
      refused(rt_transformer_new(&(rt_transformer *){NULL}, &a_transformer()->options, 1,          \
                                 &transformer)))                                                   \
    X(rt_transformer_size, refused(rt_transformer_size(&options, &bytes)))                         \
    X(rt_transformer_free, rt_transformer_free(&transformer))                                      \
    X(rt_transformer_encode,                                                                       \
      failed(rt_transformer_encode(&transformer, g, &(rt_transformer_input){0})))                  \
    X(rt_transformer_encode_nothing,                                                               \
      failed(rt_transformer_encode(a_transformer(), g, &(rt_transformer_input){0})))               \
    X(rt_transformer_capacity, IS_NOTHING(rt_transformer_capacity(&options)))                      \
    X(rt_vocabulary_frame,                                                                         \
      ck_assert_int_eq(rt_vocabulary_frame(&(rt_vocabulary){.level = RT_LEVEL_BYTE}).first, 0))    \
    X(rt_transformer_pool, failed(rt_transformer_pool(&transformer, g, x, NULL)))                  \
    X(rt_transformer_forward,                                                                      \
      failed(rt_transformer_forward(&transformer, g, &(rt_transformer_input){0})))                 \
    X(rt_transformer_logits, failed(rt_transformer_logits(&transformer, g, leaf)))                 \
    X(rt_transformer_logits_of_nothing, failed(rt_transformer_logits(a_transformer(), g, x)))      \
    X(rt_transformer_pairs, ck_assert_int_eq(rt_transformer_pairs(&options), 0))                   \
    X(rt_transformer_theta_shape, IS_NOTHING(rt_transformer_theta_shape(&options)))                \
    X(rt_transformer_theta_layer, IS_NOTHING(rt_transformer_theta_layer(&options, 0)))             \
    X(rt_transformer_theta_count, IS_NOTHING(rt_transformer_theta_count(&options)))                \
    X(rt_transformer_theta, rt_transformer_theta(&transformer, doubles))                           \
    X(rt_transformer_theta_start, ck_assert_ptr_null(rt_transformer_theta_start(&transformer)))    \
    X(rt_transformer_set_theta, rt_transformer_set_theta(&transformer, doubles))                   \
    X(rt_transformer_theta_geometric, rt_transformer_theta_geometric(&options, doubles))           \
    X(rt_transformer_theta_use, rt_transformer_theta_use(&transformer, doubles))                   \
    X(rt_transformer_head_use, rt_transformer_head_use(&transformer, 0, 0, doubles))               \
    X(rt_transformer_reach, ck_assert_int_eq(rt_transformer_reach(&options, 0, SIZE), SIZE))       \
    X(rt_transformer_rotation_shape, IS_NOTHING(rt_transformer_rotation_shape(&options)))          \
    X(rt_transformer_rotation, rt_transformer_rotation(&transformer, SIZE, doubles))               \
    X(rt_transformer_change_theta, rt_transformer_change_theta(&transformer, NULL))                \
    X(rt_usage_new, refused(rt_usage_new(&usage, &options)))                                       \
    X(rt_usage_free, rt_usage_free(&usage))                                                        \
    X(rt_usage_clear, rt_usage_clear(&usage))                                                      \
    X(rt_usage_add, rt_usage_add(&usage, &usage))                                                  \
    X(rt_usage_count, rt_usage_count(&usage, &(rt_transformer_input){.B = 0}))                     \
    X(rt_usage_add_layer,                                                                          \
      rt_usage_add_layer(&usage, &options, 0, &(rt_transformer_input){.B = 0}, x, x))              \
    X(rt_session_new, refused(session_of_nothing()))                                               \
    X(rt_session_bytes, IS_NOTHING(rt_session_bytes(&transformer, SIZE)))                          \
    X(rt_sampler_new, refused(sampler_of_nothing()))                                               \
    X(rt_label_problem, ck_assert_ptr_nonnull(rt_label_problem((rt_text_span){NULL, 0})))          \
    X(rt_labels_of, refused(name_nothing()))                                                       \
    X(rt_labels_free, rt_labels_free(&labels))                                                     \
    X(rt_labels_write, done(rt_labels_write(&labels, &text)))                                      \
    X(rt_labels_find, ck_assert_int_eq(rt_labels_find(&labels, (rt_text_span){NULL, 0}), -1))      \
    X(rt_labels_equal, ck_assert(rt_labels_equal(&labels, &labels)))                               \
    X(rt_special_id, IS_NOTHING(rt_special_id(&special, 0)))                                       \
    X(rt_vocabulary_pads, IS_NOTHING(rt_vocabulary_pads(&special)))                                \
    X(rt_vocabulary_free, rt_vocabulary_free(v))                                                   \
    X(rt_vocabulary_read, refused(read_kind()))                                                    \
    X(rt_vocabulary_write, done(rt_vocabulary_write(v, &text)))                                    \
    X(rt_vocabulary_copy, refused(copy()))                                                         \
    X(rt_vocabulary_kind_of, IS_NOTHING(rt_vocabulary_kind_of(v)))                                 \
    X(rt_vocabulary_file, ck_assert_str_eq(rt_vocabulary_file(v), "vocab.txt"))                    \
    X(rt_vocabularies_equal, ck_assert(rt_vocabularies_equal(v, &(rt_vocabulary){.count = 0})))    \
    X(rt_vocabulary_ordinary_tokens, IS_NOTHING(rt_vocabulary_ordinary_tokens(v)))                 \
    X(rt_vocabulary_ordinary_token, IS_NOTHING(rt_vocabulary_ordinary_token(v, 0)))                \
    X(rt_vocabulary_is_ordinary, ck_assert(!rt_vocabulary_is_ordinary(v, 0)))                      \
    X(rt_vocabulary_is_end, ck_assert(!rt_vocabulary_is_end(v, 0)))                                \
    X(rt_vocabulary_mask_logits, rt_vocabulary_mask_logits(v, true, numbers))                      \
    X(rt_vocabulary_check, done(rt_vocabulary_check(v, "none", (const unsigned char *)"a", 1)))    \
    X(rt_vocabulary_most_ids, IS_NOTHING(rt_vocabulary_most_ids(v, 1)))                            \
    X(rt_vocabulary_most_bytes, IS_NOTHING(rt_vocabulary_most_bytes(v)))                           \
    X(rt_vocabulary_encode, refused(rt_vocabulary_encode(v, "a", 1, ids, &count, &unknown)))       \
    X(rt_vocabulary_encode_special,                                                                \
      refused(rt_vocabulary_encode_special(v, "a", 1, ids, &count, &unknown)))                     \
    X(rt_vocabulary_encode_to,                                                                     \
      refused(rt_vocabulary_encode_to(v, "a", 1, false, ignore_id, NULL, &unknown)))               \
    X(rt_unknown_add, rt_unknown_add(&unknown, &unknown, 0))                                       \
    X(rt_vocabulary_decode, ck_assert_ptr_null(rt_vocabulary_decode(v, 0, &bytes)))                \
    X(rt_vocabulary_spell, ck_assert_uint_eq(rt_vocabulary_spell(v, 0).size, 0))                   \
    X(rt_vocabulary_bytes, ck_assert_int_eq(rt_vocabulary_bytes(v, 0), -1))                        \
    X(rt_vocabulary_decode_all, done(rt_vocabulary_decode_all(v, ids, 1, &text, &bytes)))          \
    X(rt_transformer_resolve, rt_transformer_resolve(&(rt_transformer_options){.dim = 0}))         \
    X(rt_transformer_resolve_lengths,                                                              \
      rt_transformer_resolve_lengths(&(rt_transformer_options){.dim = 0}, 0, 0))                   \
    X(rt_transformer_head_dim, ck_assert_int_eq(rt_transformer_head_dim(&options), 0))             \
    X(rt_layer_frequencies, (void)rt_layer_frequencies(&options, -1))                              \
    X(rt_layers_differ_in_base, IS_NOTHING(rt_layers_differ_in_base(&options)))                    \
    X(rt_layer_row_of, ck_assert_int_eq(rt_layer_row_of(&options, 0).window, 0))                   \
    X(rt_model_new, refused(rt_model_new(&(rt_model *){NULL}, &options, NULL, NULL, SIZE, 1)))     \
    X(rt_model_new_with_nothing, refused(with_vocabulary()))                                       \
    X(rt_model_close, rt_model_close(&model))                                                      \
    X(rt_model_save, refused(rt_model_save(&model, "none.h5")))                                    \
    X(rt_model_export, refused(rt_model_export(&model, "none")))                                   \
    X(rt_model_encode, refused(rt_model_encode(&model, "a", NULL, &row)))                          \
    X(rt_row_free, rt_row_free(&row))                                                              \
    X(rt_model_logits, failed(rt_model_logits(&model, g, &row, 1)))                                \
    X(rt_model_logits_of_ids,                                                                      \
      failed(rt_model_logits(&model, g, &(rt_row){.length = 1, .ids = ids}, 1)))                   \
    X(rt_logits_probabilities, refused(rt_logits_probabilities(x, 0, doubles)))                    \
    X(rt_model_classify, refused(rt_model_classify(&model, "a", NULL, doubles)))                   \
    X(rt_optimizer_new, refused(optimize_without_settings()))                                      \
    X(rt_optimizer_step, done(optimize_nothing()))                                                 \
    X(rt_optimizer_step_by, done(optimize_nothing()))

#define DEFINE(name, call)                                                                         \
    static void call_##name(void)                                                                  \
    {                                                                                              \
        call;                                                                                      \
    }
CALLS(DEFINE)

#define ROW(name, call) {#name, call_##name},
static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {CALLS(ROW)};
enum { COUNT = sizeof calls / sizeof *calls };

/* Where tests share a process, the one before has left something. */
static void make_zero(void)
{
#define ZERO(object) memset(&(object), 0, sizeof(object))
    ZERO(tensor);
    ZERO(numbers);
    ZERO(doubles);
    ZERO(ids);
    ZERO(count);
    ZERO(bytes);
    ZERO(vocabulary);
    ZERO(labels);
    ZERO(transformer);
    ZERO(options);
    ZERO(parameters);
    ZERO(parameter);
    ZERO(frequencies);
    ZERO(model);
    ZERO(row);
    ZERO(node);
    ZERO(arena);
    ZERO(rotation);
    ZERO(table);
    ZERO(unknown);
    ZERO(special);
    ZERO(crew);
    ZERO(distances);
    text = NULL;
    whole = NULL;
#undef ZERO
}

static const test_options all_options = {.may_leak = true};

TEST_ROWS(a_struct_of_zeros_crashes_nothing, 0, COUNT)
{
    make_zero();
    static real values[8], grads[8];
    rt_tensor there = rt_tensor_of(values, grads, RT_SHAPE_OF(1, 2, 2, 2));
    leaf = &there;
    g = rt_graph_new();
    calls[_i].call();
    rt_graph_free(g);
    rt_arena_free(&arena);
    rt_parameters_free(&parameters);
    rt_rotation_table_free(&table);
    rt_transformer_free(whole);
    rt_free(text);
}

/* ---- none is forgotten ---- */

/* Functions of numbers, strings, handles that only a function makes, or NULL for a struct. */
static const char without_structs[] =
    " rt_poison rt_unpoison rt_graph_new rt_graph_new_dry rt_graph_free rt_graph_clear "
    "rt_graph_return_pages rt_graph_record rt_graph_records rt_graph_set_recomputes "
    "rt_graph_recomputes rt_graph_threads rt_graph_set_random rt_graph_here rt_graph_status "
    "rt_graph_peak rt_graph_needs rt_graph_check_argument rt_graph_memory rt_graph_numbers "
    "rt_graph_scratch rt_graph_fail rt_graph_failed rt_graph_drops rt_graph_next_random "
    "rt_graph_tape rt_alloc rt_alloc_unset rt_grow rt_copy_text rt_intern rt_intern_text "
    "rt_free rt_memory_return_pages rt_memory_is_present rt_memory_copy rt_memory_live "
    "rt_memory_requests rt_memory_fail_at rt_row_set_works rt_row_set_use "
    "rt_row_set_use_named rt_row_set_name rt_row_kernels rt_ok rt_error rt_out_of_memory "
    "rt_larger_error rt_rotation_fixed rt_xpos_zeta rt_theta_geometric rt_engine_use "
    "rt_engine_name "
    "rt_engine_kernels rt_kernels_describe rt_openblas_kernels rt_engine_hold rt_engine_round "
    "rt_engine_status rt_engine_graph_status rt_activation_kernel rt_activation_gradient "
    "rt_sinusoidal_table rt_alibi_slopes rt_t5_distances rt_shaw_distances rt_decay "
    "rt_session_free rt_session_set_threads rt_session_feed rt_session_feed_each "
    "rt_transformer_theta_name rt_theta_turns rt_usage_shares rt_session_keep "
    "rt_session_count rt_session_capacity rt_sampler_free rt_sampler_draw "
    "rt_sampler_probabilities rt_probabilities rt_labels_read rt_special_token "
    "rt_vocabulary_of_bytes rt_vocabulary_of_text rt_model_defaults rt_model_open "
    "rt_optimizer_defaults rt_optimizer_free rt_optimizer_rule_word rt_encoding_word ";

static bool is_known(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(calls[i].name, name))
            return true;
    char word[NAME_SIZE + 2];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(without_structs, word) != NULL;
}

/* Functions are declared from the beginning of a line on, and what they return is before them. */
static void check_line(const char *header, const char *line)
{
    char name[NAME_SIZE];
    const char *open = strchr(line, '('), *start = open;
    if (!open || !isalpha((unsigned char)*line) || !strncmp(line, "typedef", 7))
        return;
    while (start > line && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
        start--;
    if (strncmp(start, "rt_", 3) != 0 || start == line)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(open - start), start);
    ck_assert_msg(is_known(name), "%s of %s is not called here", name, header);
}

TEST_WITH(all_options, every_function_of_the_installed_headers_is_called_here, 0, 1)
{
    char line[512];
    int headers = 0;
    FILE *list = popen("sed -n 's/^#include \"\\(.*\\)\"/\\1/p' " TEST_BINARIES "/rotor.h; "
                       "echo data/labels.h; echo data/tokenizers/vocabulary.h; echo io/rotor-io.h",
                       "r");
    ck_assert_ptr_nonnull(list);
    while (fgets(line, sizeof line, list)) {
        char path[1024], header[512];
        snprintf(header, sizeof header, "%.*s", (int)strcspn(line, "\n"), line);
        snprintf(path, sizeof path, TEST_SOURCES "/../%s", header);
        FILE *file = fopen(path, "r");
        ck_assert_msg(file != NULL, "%s", path);
        while (fgets(line, sizeof line, file))
            check_line(header, line);
        fclose(file);
        headers++;
    }
    pclose(list);
    ck_assert_int_gt(headers, 20);
}
