/* Calls every function of the installed headers but the ops that takes a struct with a zeroed one.
 * The function returns an error, or does nothing. Each row runs in its own process. */

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

enum { SIZE = 4, NAME_SIZE = 64 };

/* Arguments for calls: structs of zeros, and where a call stores its result. */
static struct {
    rt_tensor tensor;
    real numbers[16];
    double doubles[16];
    int32_t ids[16];
    int count;
    size_t bytes;
    char *text;
    rt_vocabulary vocabulary;
    rt_labels labels;
    rt_transformer transformer, *whole;
    rt_transformer_options options;
    rt_parameters parameters;
    rt_parameter parameter;
    rt_frequency_options frequencies;
    rt_model model;
    rt_row row;
    rt_node node;
    rt_arena arena;
    rt_rotation rotation;
    rt_unknown unknown;
    rt_special_ids special;
    rt_threads threads;
    rt_usage usage;
} z;
static rt_tensor *x = &z.tensor;
static rt_vocabulary *v = &z.vocabulary;
static rt_graph *g;
static rt_tensor *leaf; /* (1, 2, 2, 2), as it should be */

static struct {
    rt_transformer *transformer;
    rt_vocabulary *vocabulary;
    rt_labels *labels;
    rt_model *model;
    rt_optimizer *optimizer;
    rt_sampler *sampler;
    rt_session *session;
} made;

static void refused(rt_status status)
{
    ck_assert_int_ne(status.code, RT_OK);
    ck_assert_str_ne(status.message, "");
}

static void none(const void *result)
{
    ck_assert_ptr_null(result);
}

/* An op: no tensor, and a message. The graph is made good again. */
static void failed(const void *result)
{
    none(result);
    refused(rt_graph_status(g));
    rt_graph_clear(g);
}

/* Expects the call to have returned a good status, or one with a message. */
static void done(rt_status status)
{
    ck_assert(!status.code || *status.message);
}

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

/* Returns a model as it should be, for the structs that go with it. */
static rt_transformer *whole(void)
{
    rt_transformer_options o = rt_model_defaults(RT_KIND_DECODER);
    o.vocab = 6;
    expect_ok(rt_transformer_new(&z.whole, &o, 1, NULL));
    return z.whole;
}

/* A product large enough to be shared by threads that cannot run. */
static void multiply(void)
{
    enum { LARGE = 300 };
    static real values[LARGE * LARGE];
    rt_tensor square = rt_tensor_of(values, NULL, RT_SHAPE_OF(LARGE, LARGE));
    ck_assert_ptr_nonnull(rt_linear(g, &square, &square, NULL));
}

static void do_nothing(void *context, int part, void *scratch)
{
    (void)context, (void)part, (void)scratch;
}

static void do_nothing_with_rows(const rt_row_span *span)
{
    (void)span;
}

/* Returns an optimizer of no parameters. */
static rt_optimizer *optimizer(void)
{
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_SGD);
    done(rt_optimizer_new(&made.optimizer, &z.parameters, &settings));
    return made.optimizer;
}

/* The calls of a row change none of the structs of zeros that a later one of them takes. */
#define CALLS(X)                                                                                   \
    X(rt_arena_take(&z.arena, 1))                                                                  \
    X(rt_arena_clear(&z.arena), rt_arena_return_pages(&z.arena), rt_arena_free(&z.arena))          \
    X(rt_arena_here(&z.arena))                                                                     \
    X(rt_arena_keep(&z.arena, (rt_arena_mark){NULL, 0, 0}, NULL, 0))                               \
    X(refused(rt_gradcheck(any, NULL, &x, 1, &(rt_gradcheck_options){0}, NULL)))                   \
    X(rt_graph_recompute(g, x, NULL, NULL, 0))                                                     \
    X(rt_graph_set_threads(g, &z.threads), multiply())                                             \
    X(rt_graph_keep(g, (rt_arena_mark){NULL, 0, 0}, x))                                            \
    X(rt_graph_observe(g, (rt_observer){NULL, NULL, NULL}))                                        \
    X(refused(rt_graph_backward(g, x)))                                                            \
    X(refused(rt_graph_backward_from(g, x, z.numbers)))                                            \
    X(ck_assert(!rt_graph_check_inputs(g, "op", &(rt_input){.name = NULL}, 1)))                    \
    X(failed(rt_graph_apply(g, &(rt_op){0}, RT_SHAPE_OF(1), &leaf, 1, "", 0)))                     \
    X(failed(rt_graph_apply_rounded(g, &(rt_op){0}, x, z.numbers)))                                \
    X(ck_assert(rt_graph_needs_numbers(g, x)))                                                     \
    X(rt_graph_release(g, x))                                                                      \
    X(failed(rt_graph_view(g, &(rt_op){0}, (rt_shape){0}, x)))                                     \
    X(rt_node_share(&z.node, do_nothing, NULL, 2))                                                 \
    X(rt_node_do(&z.node, do_nothing, NULL, 2))                                                    \
    X(rt_node_rows(&z.node, 0, 0, do_nothing_with_rows, NULL))                                     \
    X(ck_assert_uint_gt(rt_rows_of_part(0), 0))                                                    \
    X(ck_assert_int_eq(rt_parts_of_rows(0, 0), 0))                                                 \
    X(rt_scratch(&z.node))                                                                         \
    X(none(rt_grad(&z.node, 0)), none(rt_grad_or_fresh(&z.node, 0, z.numbers)),                    \
      none(rt_grad_rounded(&z.node, 0)))                                                           \
    X(rt_grad_pass(&z.node, 0))                                                                    \
    X(ck_assert(rt_account_alloc(&(rt_account){{0}}, RT_FOR_VALUES, 1, 1) != NULL))                \
    X(rt_random_below((rt_random){0}, 0, 1), rt_random_words((rt_random){0}, 0, (uint32_t[4]){0})) \
    X(rt_random_uniform((rt_random){0}, 0), rt_random_normal((rt_random){0}, 0))                   \
    X(rt_rule_broken((rt_rule_sink){NULL, NULL}, RT_OPTIONS("a"), "broken"))                       \
    X(done(rt_slope_find(straight, NULL, &(rt_slope_options){0}, 1, &(rt_slope){.kink = false})))  \
    X(rt_shapes_equal((rt_shape){0}, (rt_shape){0}), rt_shape_size((rt_shape){0}),                 \
      rt_tensor_of(NULL, NULL, (rt_shape){0}))                                                     \
    X(rt_tensor_shape(x), rt_same_shape(x, x), rt_size(x), rt_columns(x), rt_rows(x))              \
    X(rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){""}, (rt_shape){0}))                               \
    X(failed(rt_for_products(g, x)))                                                               \
    X(rt_largest(x, 0), rt_count_correct(x, z.ids))                                                \
    X(failed(rt_rotation_learned(g, x, RT_THETA_RAW, RT_HALF, 1,                                   \
                                 (rt_positions){.B = 1, .T = 1, .at = NULL})))                     \
    X(failed(rt_rotation_by_angles(g, x, RT_HALF)))                                                \
    X(failed(rt_rotation_decayed(g, &z.rotation, 1, 1)))                                           \
    X(ck_assert(!rt_rotation_is_sound(g, &z.rotation)))                                            \
    X(done(rt_frequencies_check(&z.frequencies, SIZE)))                                            \
    X(rt_frequencies(z.doubles, SIZE, &z.frequencies))                                             \
    X(rt_frequencies_at(z.doubles, SIZE, &z.frequencies, SIZE))                                    \
    X(rt_frequencies_regime(&z.frequencies, SIZE), rt_frequencies_magnitude(&z.frequencies))       \
    X(rt_yarn_ramp(&z.frequencies, SIZE, z.doubles, z.doubles + 1))                                \
    X(failed(rt_linear_form(g, leaf, leaf, leaf, &(rt_linear_form_options){.causal = false})))     \
    X(none(rt_parameters_add(&z.parameters, RT_ROLE_WEIGHT, RT_INIT_ZERO, (rt_shape){.ndim = 1},   \
                             "a")),                                                                \
      refused(z.parameters.status))                                                                \
    X(done(rt_parameters_allocate(&z.parameters, 1, NULL)))                                        \
    X(rt_parameter_draw(&z.parameters, &z.parameter))                                              \
    X(rt_parameters_free(&z.parameters))                                                           \
    X(none(rt_parameters_find(&z.parameters, "a")))                                                \
    X(rt_parameters_count(&z.parameters))                                                          \
    X(rt_parameters_zero_grads(&z.parameters))                                                     \
    X(rt_keep_first_rule(&(rt_first_rule){.code = RT_OK}, NULL, "a rule"))                         \
    X(rt_transformer_rules(&z.options, ignore_rule, NULL))                                         \
    X(refused(rt_transformer_check(&z.options)))                                                   \
    X(refused(rt_transformer_new(&made.transformer, &z.options, 1, NULL)))                         \
    X(refused(                                                                                     \
        rt_transformer_new_from(&made.transformer, &z.options, &(rt_model_start){.blank = true}))) \
    X(refused(rt_transformer_new(&made.transformer, &whole()->options, 1, &z.transformer)))        \
    X(refused(rt_transformer_size(&z.options, &z.bytes)))                                          \
    X(rt_transformer_free(&z.transformer))                                                         \
    X(failed(rt_transformer_encode(&z.transformer, g, &(rt_transformer_input){0})))                \
    X(failed(rt_transformer_encode(whole(), g, &(rt_transformer_input){0})))                       \
    X(rt_transformer_capacity(&z.options))                                                         \
    X(ck_assert_int_eq(rt_vocabulary_frame(&(rt_vocabulary){.level = RT_LEVEL_BYTE}).first, 0))    \
    X(failed(rt_transformer_forward(&z.transformer, g, &(rt_transformer_input){0})))               \
    X(failed(rt_transformer_logits(&z.transformer, g, leaf)))                                      \
    X(failed(rt_transformer_logits(whole(), g, x)))                                                \
    X(ck_assert_int_eq(rt_transformer_pairs(&z.options), 0))                                       \
    X(ck_assert_int_eq(rt_transformer_theta_axes(&z.options), 1))                                  \
    X(rt_theta_length(&z.options, z.doubles, 0), rt_transformer_extent(&z.options, 5))             \
    X(rt_transformer_theta_shape(&z.options), rt_transformer_theta_count(&z.options))              \
    X(rt_transformer_theta_layer(&z.options, 0), rt_transformer_rotation_shape(&z.options))        \
    X(rt_transformer_theta(&z.transformer, z.doubles))                                             \
    X(none(rt_transformer_theta_start(&z.transformer)))                                            \
    X(rt_transformer_theta_initial(&z.options, 1, z.doubles))                                      \
    X(rt_transformer_set_theta(&z.transformer, z.doubles))                                         \
    X(rt_transformer_theta_gradient(&z.transformer, z.doubles))                                    \
    X(rt_transformer_theta_geometric(&z.options, rt_transformer_theta_shape(&z.options),           \
                                     z.doubles))                                                   \
    X(rt_transformer_theta_use(&z.transformer, z.doubles))                                         \
    X(rt_transformer_head_use(&z.transformer, 0, 0, z.doubles))                                    \
    X(ck_assert_int_eq(rt_transformer_reach(&z.options, 0, SIZE), SIZE))                           \
    X(rt_transformer_turns_by_position(&z.options), rt_theta_turns(&z.options, 0, SIZE, 1))        \
    X(rt_transformer_rotation(&z.transformer, SIZE, z.doubles))                                    \
    X(rt_transformer_change_theta(&z.transformer, NULL))                                           \
    X(refused(rt_usage_new(&z.usage, &z.options, 0)), refused(rt_usage_check(&z.options)))         \
    X(rt_usage_free(&z.usage), rt_usage_clear(&z.usage))                                           \
    X(rt_usage_add(&z.usage, &z.usage))                                                            \
    X(refused(rt_session_new(&made.session, &z.transformer, 0)))                                   \
    X(rt_session_bytes(&z.transformer, SIZE))                                                      \
    X(refused(rt_sampler_new(&made.sampler, &(rt_sampling){0}, SIZE)))                             \
    X(ck_assert_ptr_nonnull(rt_label_problem((rt_text_span){NULL, 0})))                            \
    X(refused(rt_labels_of(&made.labels, "none", &(rt_text_span){NULL, 0}, 1)))                    \
    X(rt_labels_free(&z.labels))                                                                   \
    X(done(rt_labels_write(&z.labels, &z.text)))                                                   \
    X(ck_assert_int_eq(rt_labels_find(&z.labels, (rt_text_span){NULL, 0}), -1))                    \
    X(ck_assert(rt_labels_equal(&z.labels, &z.labels)))                                            \
    X(rt_special_id(&z.special, 0), rt_vocabulary_pads(&z.special), rt_vocabulary_kind_of(v))      \
    X(rt_vocabulary_free(v))                                                                       \
    X(refused(rt_vocabulary_read(&made.vocabulary, (rt_vocabulary_kind){0}, "none",                \
                                 (const unsigned char *)"", 0)))                                   \
    X(done(rt_vocabulary_write(v, &z.text)))                                                       \
    X(refused(rt_vocabulary_copy(&made.vocabulary, v)))                                            \
    X(ck_assert_str_eq(rt_vocabulary_file(v), "vocab.txt"))                                        \
    X(ck_assert(rt_vocabularies_equal(v, &(rt_vocabulary){.count = 0})))                           \
    X(ck_assert(!rt_vocabulary_is_ordinary(v, 0)), ck_assert(!rt_vocabulary_is_end(v, 0)))         \
    X(rt_vocabulary_mask_logits(v, true, z.numbers))                                               \
    X(rt_vocabulary_most_ids(v, 1), rt_vocabulary_most_bytes(v))                                   \
    X(refused(rt_vocabulary_encode(v, "a", 1, false, z.ids, &z.count, &z.unknown)))                \
    X(refused(rt_vocabulary_encode(v, "a", 1, true, z.ids, &z.count, &z.unknown)))                 \
    X(refused(rt_vocabulary_encode_to(v, "a", 1, false, ignore_id, NULL, &z.unknown)))             \
    X(rt_unknown_add(&z.unknown, &z.unknown, 0))                                                   \
    X(none(rt_vocabulary_decode(v, 0, &z.bytes)))                                                  \
    X(ck_assert_uint_eq(rt_vocabulary_spell(v, 0).size, 0))                                        \
    X(ck_assert_int_eq(rt_vocabulary_bytes(v, 0), -1))                                             \
    X(rt_transformer_resolve(&(rt_transformer_options){.dim = 0}))                                 \
    X(rt_transformer_resolve_lengths(&(rt_transformer_options){.dim = 0}, 0, 0))                   \
    X(ck_assert_int_eq(rt_transformer_head_dim(&z.options), 0))                                    \
    X(rt_layer_frequencies(&z.options, -1))                                                        \
    X(rt_layers_differ_in_base(&z.options))                                                        \
    X(ck_assert_int_eq(rt_layer_row_of(&z.options, 0).window, 0))                                  \
    X(refused(rt_model_new(&made.model, &z.options, NULL, NULL, SIZE, 1)))                         \
    X(z.options = rt_model_defaults(RT_KIND_DECODER),                                              \
      refused(rt_model_new(&made.model, &z.options, v, NULL, SIZE, 1)))                            \
    X(rt_model_close(&z.model))                                                                    \
    X(refused(rt_model_save(&z.model, "none.h5")))                                                 \
    X(refused(rt_model_export(&z.model, "none")))                                                  \
    X(refused(rt_model_encode(&z.model, "a", NULL, &z.row)))                                       \
    X(rt_row_free(&z.row))                                                                         \
    X(failed(rt_model_logits(&z.model, g, &z.row, 1)))                                             \
    X(failed(rt_model_logits(&z.model, g, &(rt_row){.length = 1, .ids = z.ids}, 1)))               \
    X(refused(rt_logits_probabilities(x, 0, z.doubles)))                                           \
    X(refused(rt_model_classify(&z.model, "a", NULL, z.doubles)))                                  \
    X(refused(rt_optimizer_new(&made.optimizer, &z.parameters, &(rt_optimizer_settings){0})))      \
    X(done(rt_optimizer_step(optimizer(), 1, NULL)))                                               \
    X(done(rt_optimizer_step_by(optimizer(), (rt_rates){0}, NULL)))

#define TEXT(...) #__VA_ARGS__,
static const char *const calls[] = {CALLS(TEXT)};

static void make_call(int number)
{
    int n = 0;
#define CALL_IF_IT_IS_THIS(...)                                                                    \
    if (n++ == number) {                                                                           \
        __VA_ARGS__;                                                                               \
    }
    CALLS(CALL_IF_IT_IS_THIS)
}

static const test_options all_options = {.may_leak = true};

TEST_ROWS(a_zeroed_struct_crashes_no_function, 0, ROWS(calls))
{
    memset(&z, 0, sizeof z); /* the test before may have shared the process */
    memset(&made, 0, sizeof made);
    static real values[8], grads[8];
    rt_tensor there = rt_tensor_of(values, grads, RT_SHAPE_OF(1, 2, 2, 2));
    leaf = &there;
    g = rt_graph_new();
    make_call(_i);
    rt_graph_free(g);
    rt_arena_free(&z.arena);
    rt_optimizer_free(made.optimizer);
    rt_parameters_free(&z.parameters);
    rt_transformer_free(z.whole);
    rt_free(z.text);
}

/* Functions of numbers, strings, handles that only a function makes, or NULL for a struct. */
static const char without_structs[] =
    " rt_poison rt_unpoison rt_graph_new rt_graph_new_dry rt_graph_free rt_graph_clear "
    "rt_graph_return_pages rt_graph_record rt_graph_records rt_graph_set_recomputes "
    "rt_graph_recomputes rt_graph_threads rt_graph_set_random rt_graph_here rt_graph_status "
    "rt_graph_peak rt_graph_needs rt_graph_check_argument rt_graph_memory rt_graph_numbers "
    "rt_graph_scratch rt_graph_fail rt_graph_failed rt_graph_drops rt_graph_next_random "
    "rt_graph_tape rt_alloc rt_alloc_unset rt_grow rt_copy_text rt_intern rt_intern_text "
    "rt_free rt_memory_return_pages rt_memory_is_present rt_memory_copy rt_memory_live "
    "rt_memory_requests rt_memory_fail_at rt_row_set_works rt_row_set_widest rt_row_set_use "
    "rt_row_set_use_named rt_row_set_name rt_row_kernels rt_ok rt_error rt_out_of_memory "
    "rt_allocated rt_free_owned rt_larger_error rt_rotation_fixed rt_xpos_zeta rt_theta_geometric "
    "rt_engine_use rt_engine_works rt_engine_in_use "
    "rt_engine_kernels rt_kernels_describe rt_openblas_kernels rt_openblas_is_serial "
    "rt_engine_hold "
    "rt_engine_round rt_engine_status rt_engine_graph_status rt_activation_kernel "
    "rt_grid_side rt_sinusoidal_table rt_sinusoidal_frequencies rt_alibi_slopes "
    "rt_t5_distances rt_shaw_distances rt_engine_name rt_positions_are_finite "
    "rt_decay "
    "rt_session_free rt_session_set_threads rt_session_feed rt_session_feed_each "
    "rt_transformer_theta_name rt_usage_shares rt_usage_position "
    "rt_session_keep "
    "rt_session_count rt_session_capacity rt_sampler_free rt_sampler_draw "
    "rt_sampler_probabilities rt_probabilities rt_labels_read rt_special_token "
    "rt_vocabulary_of_bytes rt_vocabulary_of_text rt_model_defaults rt_model_open "
    "rt_optimizer_defaults rt_optimizer_free rt_optimizer_rule_word rt_encoding_word ";

/* Ops, which tests/ops/test_hostile.c calls with tensors and options of zeros. */
#define OP_NAME(name) " rt_" #name " "
static const char ops[] = RT_OPS(OP_NAME) "rt_activate rt_linear_activate rt_linear_onto "
                                          "rt_angles_fixed ";

/* Returns whether a name stands before a delimiter, and behind none of a longer name. */
static bool has_word(const char *text, const char *name, char end)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++)
        if (at[length] == end && (at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')))
            return true;
    return false;
}

static bool is_known(const char *name)
{
    bool known = has_word(without_structs, name, ' ') || has_word(ops, name, ' ');
    for (int i = 0; i < ROWS(calls); i++)
        known |= has_word(calls[i], name, '(');
    return known;
}

/* A declaration starts at the beginning of a line with the type of the result. */
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
