#include "io/checkpoint/forged_attribute.h"
#include "io/checkpoint/trained.h"
#include "models/new_model.h"
#include "option_words.h"

#include <time.h>

static rt_status load_example(trained *t)
{
    return rt_checkpoint_load(opened_file(), model_of(t));
}

static void assert_some_info(const rt_checkpoint_info *info)
{
    ck_assert(info->step == 200);
    ck_assert(info->seed == UINT64_MAX - 6);
    ck_assert(info->position == 6400);
    ck_assert(info->schedule_steps == 1000);
    ck_assert(info->evaluations.loss == 0.25);
    ck_assert(info->evaluations.best_loss == 0.125);
    ck_assert(info->evaluations.best_step == 199);
    ck_assert(info->evaluations.reference == 0.5);
    ck_assert(info->evaluations.stalled == 3);
    ck_assert_str_eq(info->config, some_config);
    ck_assert(rt_vocabularies_equal(info->vocabulary, some_vocabulary()));
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_saved_model_is_loaded_bit_for_bit)
{
    trained saved = new_trained(4, 1), loaded = new_trained(4, 2);
    save_example();
    ck_assert(!same_numbers(&saved, &loaded));
    rt_checkpoint *c = opened_file();
    expect_ok(rt_checkpoint_load(c, model_of(&loaded)));
    ck_assert(same_numbers(&saved, &loaded));
    assert_some_info(&c->info);
    ck_assert_int_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

TEST(an_info_without_texts_is_read_as_empty_texts)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info none = {.evaluations = RT_NO_EVALUATIONS}, info;
    save_model(model_of(&t), &none);
    expect_ok(look_once(opened_file(), &info));
    ck_assert_str_eq(info.config, "");
    ck_assert_ptr_null(info.vocabulary);
    ck_assert(isinf(info.evaluations.loss) && isinf(info.evaluations.best_loss));
    rt_checkpoint_info_free(&info);
}

TEST(the_best_evaluation_is_that_of_a_checkpoint_itself_only_if_it_is_better)
{
    rt_checkpoint_info info = some_info(200);
    ck_assert_int_eq(rt_checkpoint_best_step(&info), 199);
    info.evaluations.loss = info.evaluations.best_loss;
    ck_assert_int_eq(rt_checkpoint_best_step(&info), 199);
    info.evaluations.loss = 0.1;
    ck_assert_int_eq(rt_checkpoint_best_step(&info), 200);
    info.evaluations = RT_NO_EVALUATIONS;
    ck_assert_int_eq(rt_checkpoint_best_step(&info), 0);
}

TEST(the_same_state_gives_the_same_bytes)
{
    save_example();
    ck_assert_int_eq(rename(in_scratch(FILE_NAME), in_scratch("first")), 0);
    for (const time_t now = time(NULL); time(NULL) == now;) /* HDF5 counts times in seconds */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    save_example();
    assert_same_file(in_scratch("first"), in_scratch(FILE_NAME));
}

static void expect_refusal(trained *t, const char *message)
{
    trained before = new_trained(t->parameters.list[0]->tensor.shape[0], 2);
    ck_assert(same_numbers(t, &before));
    is_status(load_example(t), RT_CHECKPOINT, message);
    ck_assert_msg(same_numbers(t, &before), "the target was changed");
}

#define IN_CONFIGURATION(here) " in the checkpoint, " here " in the configuration"
static const struct {
    const char *options, *message;
} layouts[] = {
    {"position.pairing=half", "position.pairing is interleaved" IN_CONFIGURATION("half")},
    {"position.base=500000", "position.base is 10000" IN_CONFIGURATION("500000")},
    {"position.local_base=50", "position.local_base is 0" IN_CONFIGURATION("50")},
    {"model.heads=2", "heads have 16 features" IN_CONFIGURATION("32")},
    {"theta.form=raw", "theta.form is log" IN_CONFIGURATION("raw")},
    {"theta.scope=head", "theta.scope is layer" IN_CONFIGURATION("head")},
    /* of parameters: another shape, one that the checkpoint lacks, one that the model lacks */
    {"", "head.output.weight is (4, 5) in the checkpoint, (6, 5) in the model"},
    {"", "layers.1.ffn_norm.bias is not in the checkpoint"},
    {"", "the checkpoint has layers.0.attention.theta, which the model lacks"},
};

TEST_ROWS(another_layout_is_refused, 0, ROWS(layouts))
{
    save_example();
    trained t = new_trained(_i == 6 ? 6 : 4, 2);
    set_options(&t.options, layouts[_i].options);
    if (_i == 7)
        strcpy(t.parameters.list[1]->name, "layers.1.ffn_norm.bias");
    t.parameters.count -= _i == 8;
    expect_refusal(&t, lasting(FILE_NAME ": %s", layouts[_i].message));
}

TEST(a_load_without_moments_needs_none_in_the_file)
{
    trained t = new_trained(4, 2), saved = new_trained(4, 1);
    saved.model.states[1] = NULL;
    save_trained(&saved);
    is_status(load_example(&t), RT_CHECKPOINT,
              FILE_NAME ": second moment of head.output.weight is not in the checkpoint");
    t.model.states[1] = NULL;
    expect_ok(load_example(&t));
}

TEST_ROWS(a_checkpoint_of_either_precision_is_loaded, 0, 4)
{
    static const double values[5] = {0.5, -3, 1.0 + 1.0 / 1024, 0, 1e10};
    trained t = new_trained(4, 2);
    save_example();
    forge_dataset(in_scratch(FILE_NAME), "/model/layers/0/ffn_norm/bias",
                  _i / 2 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, H5P_DEFAULT, 5, values);
    rt_checkpoint *c = opened_as(in_scratch(FILE_NAME), _i % 2 ? RT_PARSE_APART : RT_PARSE_HERE);
    expect_ok(rt_checkpoint_load(c, model_of(&t)));
    for (int i = 0; i < 5; i++)
        ck_assert(t.parameters.list[1]->tensor.data[i] == (real)values[i]);
}

/* Saves a model that holds theta in one form, and starts one that holds it in the other. */
static rt_status start_in_another_form(trained *saved, trained *started, rt_theta_form form)
{
    rt_checkpoint_taken start;
    saved->options.theta.form = form;
    started->options.theta.form = form == RT_THETA_LOG ? RT_THETA_RAW : RT_THETA_LOG;
    save_trained(saved);
    const rt_status status = start_from_file(model_of(started), &start);
    ck_assert(status.code || start.theta);
    return status;
}

TEST_ROWS(a_model_with_another_form_of_theta_starts_from_the_same_theta, 0, 2)
{
    const bool raw = _i;
    trained saved = new_trained(4, 1), started = new_trained(4, 2);
    const rt_tensor *from = &saved.parameters.list[2]->tensor;
    const rt_tensor *to = &started.parameters.list[2]->tensor;
    for (size_t i = 0; i < rt_size(from); i++)
        from->data[i] = raw ? 0.5 + (double)i : -(double)i;
    expect_ok(start_in_another_form(&saved, &started, raw ? RT_THETA_RAW : RT_THETA_LOG));
    for (size_t i = 0; i < rt_size(from); i++)
        ck_assert_double_eq_tol(to->data[i], raw ? log(from->data[i]) : exp(from->data[i]), 1e-15);
}

/* Heads of different kinds share the names and shapes of some parameters: head.dense,
 * head.classifier. In a head of the same kind, parameters of another size keep their initial
 * values. */
TEST_ROWS(parameters_of_a_head_that_do_not_fit_keep_their_values, 0, 6)
{
    static const struct {
        const char *from, *to;
        int fresh, left;
        const char *first;
    } rows[] = {{"lm", "sequence", 4, 5, "head.dense.weight"},
                {"sequence", "lm", 5, 4, "head.dense.weight"},
                {"sequence", "token", 2, 4, "head.classifier.weight"},
                {"token", "sequence", 4, 2, "head.dense.weight"},
                {"sequence", "sequence", 0, 0, ""},
                {"sequence", "sequence labels=4", 2, 2, "head.classifier.weight"}};
    static const char small[] =
        "roformer vocab=8 model.layers=1 model.dim=8 model.heads=2 labels=3 head=%s";
    const rt_transformer_options o = options_of(lasting(small, rows[_i].from)),
                                 other = options_of(lasting(small, rows[_i].to));
    rt_transformer *saved = new_model(&o, 1), *started = new_model(&other, 2),
                   *drawn = new_model(&other, 2);
    const rt_data_options data = rt_data_options_of(&saved->options, NULL, 32, RT_BEGIN_AUTO);
    const rt_checkpoint_model from = rt_checkpoint_model_of(saved, &data, NULL, NULL);
    const rt_checkpoint_model to = rt_checkpoint_model_of(started, &data, NULL, NULL);
    const rt_checkpoint_info info = some_info(200);
    rt_checkpoint_taken start;
    save_model(&from, &info);
    expect_ok(start_from_file(&to, &start));
    ck_assert_int_eq(start.fresh.count, rows[_i].fresh);
    ck_assert_int_eq(start.left.count, rows[_i].left);
    ck_assert_str_eq(start.fresh.first, rows[_i].first);
    for (int i = 0; i < started->parameters.count; i++) {
        const rt_parameter *p = started->parameters.list[i],
                           *q = rt_parameters_find(&saved->parameters, p->name);
        const bool fits = q && rt_size(&p->tensor) == rt_size(&q->tensor);
        if (p->component == RT_COMPONENT_HEAD && (o.head != other.head || !fits))
            q = rt_parameters_find(&drawn->parameters, p->name);
        ck_assert_msg(!memcmp(p->tensor.data, q->tensor.data, rt_size(&p->tensor) * sizeof(real)),
                      "%s", p->name);
    }
}

TEST_ROWS(a_theta_that_is_not_above_0_has_no_logarithm_to_start_from, 0, 4)
{
    static const struct {
        int at;
        double value;
        int layer;
        const char *place;
    } rows[] = {
        {1, -1, 0, "layer 0, head 0, i 1 is -1"},
        {3, 0, 0, "layer 0, head 1, i 0 is 0"},
        {5, -0.25, -1, "all layers, head 1, i 2 is -0.25"},
        {2, -3, 17, "layer 17, head 0, i 2 is -3"},
    };
    trained saved = new_trained(4, 1), started = new_trained(4, 2), before = new_trained(4, 2);
    rt_parameter *theta = saved.parameters.list[2];
    for (size_t i = 0; i < rt_size(&theta->tensor); i++)
        theta->tensor.data[i] = 1;
    theta->tensor.data[rows[_i].at] = (real)rows[_i].value;
    rt_transformer_theta_name(theta->name, rows[_i].layer);
    rt_transformer_theta_name(started.parameters.list[2]->name, rows[_i].layer);
    started.parameters.list[2]->layer = rows[_i].layer;
    is_status(start_in_another_form(&saved, &started, RT_THETA_RAW), RT_CHECKPOINT,
              lasting(FILE_NAME
                      ": theta of %s: theta.form = log needs theta above 0, theta.form = raw takes "
                      "any",
                      rows[_i].place));
    ck_assert(same_numbers(&started, &before));
}

/* Older ones can only be trained again. */
TEST_ROWS(another_format_version_is_refused, 0, 4)
{
    static const int versions[] = {0, 1, 2, 4};
    const int version = versions[_i];
    const char *message =
        lasting(FILE_NAME ": version is %d; this program reads version 3%s", version,
                _i % 3 ? ": train again (--report still draws the tables of an older run)" : "");
    rt_checkpoint_theta theta;
    save_example();
    forge_attribute(in_scratch(FILE_NAME), "/", "version", H5T_NATIVE_INT, &version);
    trained t = new_trained(4, 2);
    expect_refusal(&t, message);
    is_status(rt_checkpoint_read_theta(opened_file(), &theta), RT_CHECKPOINT, message);
    rt_checkpoint_theta_free(&theta);
}

static void free_info(void *info)
{
    rt_checkpoint_info_free(info);
    free(info);
}

/* Reads the info, which is freed after the test; expects this status. */
static const rt_checkpoint_info *read_info(rt_code code, const char *message)
{
    rt_checkpoint_info *info = owned(calloc(1, sizeof *info), free_info);
    is_status(look_once(opened_file(), info), code, message);
    return info;
}

TEST_ROWS(a_vocabulary_of_any_kind_is_read_as_it_was_saved, 0, 4)
{
    static const unsigned char text[] = "hello\n\\";
    static const char pieces[] = "[UNK]\n[CLS]\na\n##b\n[SEP]\n[MASK]\n[PAD]\n\xc3\xa9";
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = _i == 3};
    rt_vocabulary *saved;
    expect_ok(_i == 0   ? rt_vocabulary_of_bytes(&saved)
              : _i == 1 ? rt_vocabulary_of_text(&saved, "text", text, sizeof text)
                        : rt_vocabulary_read(&saved, kind, "v", (const unsigned char *)pieces,
                                             sizeof pieces - 1));
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    info.vocabulary = owned(saved, release_vocabulary);
    saved->ends.count = _i < 2 ? _i : RT_MOST_ENDS;
    for (int i = 0; i < saved->ends.count; i++)
        saved->ends.ids[i] = saved->count - 1 - i % 5;
    save_model(model_of(&t), &info);
    const rt_vocabulary *read = read_info(RT_OK, "")->vocabulary;
    ck_assert_int_eq(read->ends.count, saved->ends.count);
    ck_assert(!memcmp(read->ends.ids, saved->ends.ids, sizeof read->ends.ids));
    ck_assert(rt_vocabularies_equal(saved, read));
    ck_assert_int_eq(read->lowercase, _i == 3);
}

/* Another word of the vocabulary, or another byte for the first character. */
TEST_ROWS(a_forged_vocabulary_is_refused, 0, 9)
{
#define NO_ENDS(ends) ": ends of the vocabulary are '" ends "', not 8 ids at most"
    static const struct {
        const char *attribute, *word, *message;
    } rows[] = {
        {"level", "word", ": level of the vocabulary is 'word', which is not known"},
        {"level", "byte", ": /vocabulary:5: must be a byte, from 0x00 to 0xff"},
        {NULL, NULL, ": /vocabulary:6: byte 0xff is not UTF-8"},
        {"lowercase", "YES", ": lowercase of the vocabulary is 'YES', which is not known"},
        {"ends", "1 99", ": /vocabulary: has no id 99, which is said to end a text"},
        {"ends", "1 -1", NO_ENDS("1 -1")},
        {"ends", "1 x", NO_ENDS("1 x")},
        {"ends", "1 2 3 4 1 2 3 4 1", NO_ENDS("1 2 3 4 1 2 3 4 1")},
        {"ends", "99999999999", NO_ENDS("99999999999")},
    };
    save_example();
    if (rows[_i].attribute)
        forge_word(in_scratch(FILE_NAME), "/vocabulary", rows[_i].attribute, rows[_i].word);
    else
        forge_number_at(in_scratch(FILE_NAME), "/vocabulary", 31, 0xff);
    ck_assert_ptr_null(
        read_info(RT_CHECKPOINT, lasting(FILE_NAME "%s", rows[_i].message))->vocabulary);
}

/* Saves a checkpoint with the labels of a text, one a line. */
static void save_labels(const char *text)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    expect_ok(rt_labels_read(&info.labels, "labels", text, strlen(text)));
    save_model(model_of(&t), &info);
    rt_labels_free(info.labels);
}

TEST(labels_are_read_as_they_were_saved)
{
    save_labels("B\nb\n\xc3\xa9 e\n");
    const rt_labels *labels = read_info(RT_OK, "")->labels;
    ck_assert_int_eq(labels->count, 3);
    ck_assert_str_eq(labels->names[2], "\xc3\xa9 e");
    save_example();
    ck_assert_ptr_null(read_info(RT_OK, "")->labels);
}

TEST_ROWS(forged_labels_are_refused, 0, 4)
{
    static const unsigned char forged[][5] = {"aa\nb", "b\na\n", "a\na\n", "a\n\x1b\n"};
    static const char message[] = FILE_NAME ": /labels:2: must be a label, after the one before it";
    const bool sound = _i == 0;
    save_labels("a\nb\n");
    for (int i = 0; i < 4; i++)
        forge_number_at(in_scratch(FILE_NAME), "/labels", i, forged[_i][i]);
    const rt_checkpoint_info *info =
        sound ? read_info(RT_OK, "") : read_info(RT_CHECKPOINT, message);
    ck_assert((info->labels != NULL) == sound);
}

/* Loads into the first of two models, which are alike, and the same until that succeeds. */
static rt_status try_load(void *models)
{
    trained *t = models;
    ck_assert(same_numbers(&t[0], &t[1]));
    return load_example(t);
}

static rt_status try_start(void *models)
{
    trained *t = models;
    rt_checkpoint_taken start;
    ck_assert(same_numbers(&t[0], &t[1]));
    return start_from_file(model_of(t), &start);
}

/* Row 1: a start takes the values without the moments. */
TEST_ROWS(a_failed_allocation_while_loading_changes_nothing, 0, 2)
{
    save_example();
    trained t[] = {new_trained(4, 2), new_trained(4, 2)}, saved = new_trained(4, 1);
    expect_faults(_i ? try_start : try_load, t, _i ? 4 : 6);
    ck_assert(!memcmp(t->parameters.values, saved.parameters.values,
                      saved.parameters.block_size * sizeof(real)));
    ck_assert_int_eq(same_numbers(&t[0], &saved), !_i);
}

static rt_status try_theta(void *unused)
{
    (void)unused;
    rt_checkpoint_theta theta;
    const rt_status status = rt_checkpoint_read_theta(opened_file(), &theta);
    ck_assert(status.code || (theta.values && theta.layers && theta.start[2] == 0.25));
    rt_checkpoint_theta_free(&theta);
    return status;
}

/* All layers share theta. */
TEST(theta_of_a_checkpoint_is_read_or_the_heap_is_an_error)
{
    rt_parameters p = {0};
    double start[] = {1, 0.5, 0.25};
    rt_parameters_add(&p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(3), "theta");
    expect_ok(rt_parameters_allocate(&p, 1, NULL));
    rt_transformer_options options = rt_model_defaults(RT_KIND_ROFORMER);
    options.theta.scope = RT_THETA_MODEL;
    options.vocab = 32;
    const rt_data_options data = rt_data_options_of(&options, NULL, 0, RT_BEGIN_AUTO);
    save_model(&(rt_checkpoint_model){.parameters = &p,
                                      .options = &options,
                                      .data = &data,
                                      .theta_start = start,
                                      .theta_shape = RT_SHAPE_OF(1, 1, 3)},
               &(rt_checkpoint_info){.step = 1});
    rt_parameters_free(&p);
    expect_faults(try_theta, NULL, 3);
}

static rt_status try_info(void)
{
    rt_checkpoint_info info;
    const rt_status status = look_once(opened_file(), &info);
    ck_assert_int_eq(!status.code, info.config != NULL);
    ck_assert_int_eq(!status.code, info.vocabulary != NULL);
    ck_assert_int_eq(!status.code, info.labels != NULL);
    rt_checkpoint_info_free(&info);
    return status;
}

TEST(an_info_is_complete_or_empty)
{
    save_labels("a\nb\n");
    expect_ok_after_refusals(12, try_info());
}
