#include "io/checkpoint/checkpoint.h"
#include "option_words.h"

#include "training/forging.h"

#include <math.h>

static rt_status load_parsed(trained *t, rt_parse parse)
{
    rt_checkpoint_info info = {0};
    rt_status status =
        rt_checkpoint_load(rt_image_open(in_scratch(FILE_NAME), parse), model_of(t), &info);
    rt_checkpoint_info_free(&info);
    return status;
}

static rt_status load_example(trained *t)
{
    return load_parsed(t, RT_PARSE_HERE);
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
    ck_assert(rt_vocabularies_equal(info->vocabulary, &some_vocabulary));
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(what_was_saved_is_loaded_bit_for_bit)
{
    trained saved = new_trained(4, 1), loaded = new_trained(4, 2);
    rt_checkpoint_info info = {0};
    save_example();
    ck_assert(!same_numbers(&saved, &loaded));
    rt_status status = rt_checkpoint_load(opened(in_scratch(FILE_NAME)), model_of(&loaded), &info);
    assert_status(status, RT_OK, "");
    ck_assert(same_numbers(&saved, &loaded));
    assert_some_info(&info);
    rt_checkpoint_info_free(&info);
    ck_assert_int_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

TEST(the_info_is_read_without_a_model)
{
    rt_checkpoint_info info;
    save_example();
    assert_status(rt_checkpoint_read_info(opened(in_scratch(FILE_NAME)), &info), RT_OK, "");
    assert_some_info(&info);
    rt_checkpoint_info_free(&info);
}

TEST(an_info_without_texts_is_read_as_empty_texts)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info none = {.evaluations = RT_NO_EVALUATIONS}, info;
    rt_status status = rt_checkpoint_save(in_scratch("a.h5"), model_of(&t), &none);
    assert_status(status, RT_OK, "");
    assert_status(rt_checkpoint_read_info(opened(in_scratch("a.h5")), &info), RT_OK, "");
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
    wait_for_the_next_second();
    save_example();
    assert_same_file(in_scratch("first"), in_scratch(FILE_NAME));
}

TEST(a_parameter_lies_where_its_name_says)
{
    static const char *const paths[] = {
        "/config",
        "/vocabulary",
        "/model/head/output/weight",
        "/model/layers/0/attention/theta",
        "/optimizer/first_moment/layers/0/ffn_norm/bias",
        "/optimizer/second_moment/head/output/weight",
    };
    save_example();
    hid_t file = H5Fopen(in_scratch(FILE_NAME), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        hid_t dataset = H5Dopen2(file, paths[i], H5P_DEFAULT);
        ck_assert_msg(dataset >= 0, "%s is missing", paths[i]);
        H5Dclose(dataset);
    }
    H5Fclose(file);
}

/* ---- what does not fit ---- */

static void expect_refusal(trained *t, const char *message)
{
    trained before = new_trained(t->parameters.list[0]->tensor.shape[0], 2);
    ck_assert(same_numbers(t, &before));
    assert_status(load_example(t), RT_CHECKPOINT, message);
    ck_assert_msg(same_numbers(t, &before), "the target was changed");
}

TEST(another_shape_is_refused)
{
    save_example();
    trained t = new_trained(6, 2);
    expect_refusal(&t, FILE_NAME
                   ": head.output.weight is (4, 5) in the checkpoint, (6, 5) in the model");
}

TEST(a_parameter_that_the_checkpoint_lacks_is_refused)
{
    save_example();
    trained t = new_trained(4, 2);
    strcpy(t.parameters.list[1]->name, "layers.1.ffn_norm.bias");
    expect_refusal(&t, FILE_NAME ": layers.1.ffn_norm.bias is not in the checkpoint");
}

TEST(a_parameter_that_the_model_lacks_is_refused)
{
    save_example();
    trained t = new_trained(4, 2);
    t.parameters.count--;
    expect_refusal(&t, FILE_NAME
                   ": the checkpoint has layers.0.attention.theta, which the model lacks");
}

static const struct {
    const char *options, *message;
} layouts[] = {
    {"position.pairing=half",
     "position.pairing is interleaved in the checkpoint, half in the configuration"},
    {"position.base=500000",
     "position.base is 10000 in the checkpoint, 500000 in the configuration"},
    {"position.local_base=50",
     "position.local_base is 0 in the checkpoint, 50 in the configuration"},
    {"model.heads=2", "heads have 16 features in the checkpoint, 32 in the configuration"},
    {"theta.form=raw", "theta.form is log in the checkpoint, raw in the configuration"},
    {"theta.scope=head", "theta.scope is layer in the checkpoint, head in the configuration"},
};

TEST_ROWS(another_layout_is_refused, 0, ROWS(layouts))
{
    save_example();
    trained t = new_trained(4, 2);
    set_options(&t.options, layouts[_i].options);
    expect_refusal(&t, lasting(FILE_NAME ": %s", layouts[_i].message));
}

TEST(moments_that_are_not_wanted_are_not_needed)
{
    trained t = new_trained(4, 2), saved = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    saved.model.states[1] = NULL;
    rt_status status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&saved), &info);
    assert_status(status, RT_OK, "");
    assert_status(load_example(&t), RT_CHECKPOINT,
                  FILE_NAME ": second moment of head.output.weight is not in the checkpoint");
    t.model.states[1] = NULL;
    assert_status(load_example(&t), RT_OK, "");
}

TEST(what_is_not_finite_is_not_saved)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    const char *path = in_scratch(FILE_NAME);
    t.parameters.list[1]->tensor.data[4] = (real)NAN;
    assert_status(rt_checkpoint_save(path, model_of(&t), &info), RT_NONFINITE,
                  "layers.0.ffn_norm.bias is not finite: no checkpoint was saved");
    t.parameters.list[1]->tensor.data[4] = 0;
    t.model.states[1][t.parameters.list[2]->offset] = (real)INFINITY;
    assert_status(
        rt_checkpoint_save(path, model_of(&t), &info), RT_NONFINITE,
        "second moment of layers.0.attention.theta is not finite: no checkpoint was saved");
    ck_assert(!exists(path));
}

/* ---- files that another program has changed and sealed again ---- */

/* Puts five numbers of another type in the place of the bias. */
static void replace_bias(hid_t type, const double values[5])
{
    hsize_t axis = 5;
    hid_t file = begin_forging(in_scratch(FILE_NAME));
    ck_assert(H5Ldelete(file, "/model/layers/0/ffn_norm/bias", H5P_DEFAULT) >= 0);
    hid_t space = H5Screate_simple(1, &axis, NULL);
    hid_t dataset = H5Dcreate2(file, "/model/layers/0/ffn_norm/bias", type, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    end_forging(file, in_scratch(FILE_NAME));
}

static void assert_bias_is_loaded(const double values[5])
{
    static const rt_parse parses[] = {RT_PARSE_HERE, RT_PARSE_APART};
    for (int n = 0; n < 2; n++) {
        trained t = new_trained(4, 2);
        assert_status(load_parsed(&t, parses[n]), RT_OK, "");
        for (int i = 0; i < 5; i++)
            ck_assert(t.parameters.list[1]->tensor.data[i] == (real)values[i]);
    }
}

TEST(a_checkpoint_of_either_precision_is_loaded)
{
    static const double values[5] = {0.5, -3, 1.0 + 1.0 / 1024, 0, 1e10};
    save_example();
    replace_bias(H5T_IEEE_F32LE, values);
    assert_bias_is_loaded(values);
    replace_bias(H5T_IEEE_F64LE, values);
    assert_bias_is_loaded(values);
}

TEST(a_number_that_is_not_finite_is_not_loaded)
{
    save_example();
    replace_bias(H5T_IEEE_F64LE, (double[5]){1, 2, sizeof(real) == 4 ? 1e300 : INFINITY});
    trained t = new_trained(4, 2);
    expect_refusal(&t, FILE_NAME ": layers.0.ffn_norm.bias is not finite in " RT_PRECISION
                                 " precision");
}

/* Saves a model that holds theta in one form, and starts one that holds it in the other. */
static rt_status start_in_another_form(trained *saved, trained *started, rt_theta_form form)
{
    rt_checkpoint_info info = some_info(200);
    rt_checkpoint_start start;
    saved->options.theta.form = form;
    started->options.theta.form = form == RT_THETA_LOG ? RT_THETA_RAW : RT_THETA_LOG;
    rt_status status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(saved), &info);
    assert_status(status, RT_OK, "");
    rt_checkpoint_info read = {0};
    status = rt_checkpoint_start_from(opened(in_scratch(FILE_NAME)), model_of(started), true,
                                      &start, &read);
    ck_assert(status.code || start.theta);
    rt_checkpoint_info_free(&read);
    return status;
}

TEST_ROWS(a_model_that_holds_theta_in_another_form_starts_from_the_same_theta, 0, 2)
{
    const bool raw = _i;
    trained saved = new_trained(4, 1), started = new_trained(4, 2);
    const rt_tensor *from = &saved.parameters.list[2]->tensor;
    const rt_tensor *to = &started.parameters.list[2]->tensor;
    for (size_t i = 0; i < rt_size(from); i++)
        from->data[i] = raw ? 0.5 + (double)i : -(double)i;
    assert_status(start_in_another_form(&saved, &started, raw ? RT_THETA_RAW : RT_THETA_LOG), RT_OK,
                  "");
    for (size_t i = 0; i < rt_size(from); i++)
        ck_assert_double_eq_tol(to->data[i], raw ? log(from->data[i]) : exp(from->data[i]), 1e-15);
}

/* Parameters of the head may differ: a weight of another size stays as it was drawn, the bias of
 * the layer is that of the file. */
TEST(what_does_not_fit_stays_as_it_was)
{
    trained saved = new_trained(4, 1), started = new_trained(5, 2), before = new_trained(5, 2);
    rt_checkpoint_info info = some_info(200), read = {0};
    rt_checkpoint_start start;
    for (int i = 0; i < 5; i++)
        saved.parameters.list[1]->tensor.data[i] = 10 + i;
    assert_status(rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&saved), &info), RT_OK, "");
    assert_status(rt_checkpoint_start_from(opened(in_scratch(FILE_NAME)), model_of(&started), true,
                                           &start, &read),
                  RT_OK, "");
    rt_checkpoint_info_free(&read);
    ck_assert(start.theta);
    ck_assert_int_eq(start.fresh.count, 1);
    ck_assert_str_eq(start.fresh.first, "head.output.weight");
    ck_assert_int_eq(start.left.count, 1);
    ck_assert_str_eq(start.left.first, "head.output.weight");
    ck_assert_mem_eq(started.parameters.list[0]->tensor.data,
                     before.parameters.list[0]->tensor.data, 25 * sizeof(real));
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq(started.parameters.list[1]->tensor.data[i], 10 + i);
}

static rt_transformer *model_with(rt_head head, uint64_t seed)
{
    rt_transformer_options o = rt_model_options_of_kind(RT_KIND_ROFORMER);
    o.vocab = 8;
    o.layers = 1;
    o.dim = 8;
    o.heads = 2;
    o.head = head;
    o.labels = 3;
    rt_transformer *model;
    assert_status(rt_transformer_new(&model, &o, seed, NULL), RT_OK, "");
    return model;
}

/* Heads of two kinds have parameters of one name and shape: head.dense, head.classifier. */
TEST_ROWS(a_head_of_another_kind_stays_as_it_was, 0, 5)
{
    static const struct {
        rt_head from, to;
        int fresh, left;
    } rows[] = {{RT_HEAD_LM, RT_HEAD_SEQUENCE, 4, 5},
                {RT_HEAD_SEQUENCE, RT_HEAD_LM, 5, 4},
                {RT_HEAD_SEQUENCE, RT_HEAD_TOKEN, 2, 4},
                {RT_HEAD_TOKEN, RT_HEAD_SEQUENCE, 4, 2},
                {RT_HEAD_SEQUENCE, RT_HEAD_SEQUENCE, 0, 0}};
    rt_transformer *saved = model_with(rows[_i].from, 1), *started = model_with(rows[_i].to, 2);
    rt_transformer *drawn = model_with(rows[_i].to, 2);
    const rt_data_options data = rt_data_options_of(&saved->options, NULL, 32, RT_BEGIN_AUTO);
    const rt_checkpoint_model from = rt_checkpoint_model_of(saved, &data, NULL, NULL);
    const rt_checkpoint_model to = rt_checkpoint_model_of(started, &data, NULL, NULL);
    rt_checkpoint_info info = some_info(200), read = {0};
    rt_checkpoint_start start;
    assert_status(rt_checkpoint_save(in_scratch(FILE_NAME), &from, &info), RT_OK, "");
    assert_status(rt_checkpoint_start_from(opened(in_scratch(FILE_NAME)), &to, true, &start, &read),
                  RT_OK, "");
    rt_checkpoint_info_free(&read);
    ck_assert_int_eq(start.fresh.count, rows[_i].fresh);
    ck_assert_int_eq(start.left.count, rows[_i].left);
    for (int i = 0; i < started->parameters.count; i++) {
        const rt_parameter *p = started->parameters.list[i];
        const rt_transformer *expected =
            p->part == RT_PART_HEAD && rows[_i].from != rows[_i].to ? drawn : saved;
        const rt_parameter *q = rt_parameters_find(&expected->parameters, p->name);
        ck_assert_msg(!memcmp(p->tensor.data, q->tensor.data, rt_size(&p->tensor) * sizeof(real)),
                      "%s", p->name);
    }
    rt_transformer_free(saved);
    rt_transformer_free(started);
    rt_transformer_free(drawn);
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
    assert_status(
        start_in_another_form(&saved, &started, RT_THETA_RAW), RT_CHECKPOINT,
        lasting(FILE_NAME
                ": theta of %s: theta.form = log needs theta above 0, theta.form = raw takes "
                "any",
                rows[_i].place));
    ck_assert(same_numbers(&started, &before));
}

static void write_attribute(hid_t owner, const char *name, hid_t type, const void *value)
{
    hid_t attribute = H5Aopen(owner, name, H5P_DEFAULT);
    ck_assert(H5Awrite(attribute, type, value) >= 0);
    H5Aclose(attribute);
}

static void set_version(int version)
{
    hid_t file = begin_forging(in_scratch(FILE_NAME));
    write_attribute(file, "version", H5T_NATIVE_INT, &version);
    end_forging(file, in_scratch(FILE_NAME));
}

/* Older ones can only be trained again. */
TEST_ROWS(another_format_version_is_refused, 0, 4)
{
#define ONE_VERSION(number) FILE_NAME ": version is " number "; this program reads version 3"
#define AGAIN               ": train again (--report still draws the tables of an older run)"
    static const struct {
        int version;
        const char *message;
    } rows[] = {{0, ONE_VERSION("0")},
                {1, ONE_VERSION("1") AGAIN},
                {2, ONE_VERSION("2") AGAIN},
                {4, ONE_VERSION("4")}};
    rt_checkpoint_theta theta;
    rt_vocabulary *vocabulary = NULL;
    rt_labels *labels = NULL;
    save_example();
    set_version(rows[_i].version);
    trained t = new_trained(4, 2);
    expect_refusal(&t, rows[_i].message);
    assert_status(rt_checkpoint_read_theta(opened(in_scratch(FILE_NAME)), &theta), RT_CHECKPOINT,
                  rows[_i].message);
    rt_image *image = opened(in_scratch(FILE_NAME));
    assert_status(rt_checkpoint_vocabulary(image, &vocabulary), RT_CHECKPOINT, rows[_i].message);
    assert_status(rt_checkpoint_labels(image, &labels), RT_CHECKPOINT, rows[_i].message);
    rt_image_close(image);
    rt_vocabulary_free(vocabulary);
    rt_labels_free(labels);
    rt_checkpoint_theta_free(&theta);
}

/* ---- vocabulary and labels ---- */

/* Reads the info, and gives away its vocabulary or its labels. */
static rt_status read_parts(rt_vocabulary **vocabulary, rt_labels **labels)
{
    rt_checkpoint_info info;
    rt_status status = rt_checkpoint_read_info(opened(in_scratch(FILE_NAME)), &info);
    if (vocabulary) {
        *vocabulary = info.vocabulary;
        info.vocabulary = NULL;
    }
    if (labels) {
        *labels = info.labels;
        info.labels = NULL;
    }
    rt_checkpoint_info_free(&info);
    return status;
}

TEST_ROWS(a_vocabulary_of_any_kind_is_read_as_it_was_saved, 0, 4)
{
    static const unsigned char text[] = "hello\n\\";
    static const char pieces[] = "[UNK]\n[CLS]\na\n##b\n[SEP]\n[MASK]\n[PAD]\n\xc3\xa9";
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = _i == 3};
    rt_vocabulary *saved, *read;
    rt_status status = _i == 0 ? rt_vocabulary_of_bytes(&saved)
                       : _i == 1
                           ? rt_vocabulary_of_text(&saved, "text", text, sizeof text)
                           : rt_vocabulary_read(&saved, kind, "v", (const unsigned char *)pieces,
                                                sizeof pieces - 1);
    assert_status(status, RT_OK, "");
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    info.vocabulary = saved;
    saved->ends.count = _i < 2 ? _i : RT_MOST_ENDS;
    for (int i = 0; i < saved->ends.count; i++)
        saved->ends.ids[i] = saved->count - 1 - i % 5;
    status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&t), &info);
    assert_status(status, RT_OK, "");
    assert_status(read_parts(&read, NULL), RT_OK, "");
    ck_assert_int_eq(read->ends.count, saved->ends.count);
    ck_assert(!memcmp(read->ends.ids, saved->ends.ids, sizeof read->ends.ids));
    ck_assert(rt_vocabularies_equal(saved, read));
    ck_assert_int_eq(read->lowercase, _i == 3);
    rt_vocabulary_free(saved);
    rt_vocabulary_free(read);
}

/* Another word, or another byte for the first character. */
static void forge_vocabulary(const char *attribute, const char *word)
{
    unsigned char bytes[64] = {0};
    hid_t file = begin_forging(in_scratch(FILE_NAME));
    hid_t set = H5Dopen2(file, "/vocabulary", H5P_DEFAULT);
    if (attribute) {
        hid_t type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, strlen(word));
        H5Tset_strpad(type, H5T_STR_NULLPAD);
        H5Tset_cset(type, H5T_CSET_UTF8);
        hid_t space = H5Screate(H5S_SCALAR);
        if (H5Aexists(set, attribute) > 0)
            H5Adelete(set, attribute);
        H5Aclose(H5Acreate2(set, attribute, type, space, H5P_DEFAULT, H5P_DEFAULT));
        write_attribute(set, attribute, type, word);
        H5Sclose(space);
        H5Tclose(type);
    } else {
        ck_assert(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
        bytes[31] = 0xff;
        ck_assert(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    }
    H5Dclose(set);
    end_forging(file, in_scratch(FILE_NAME));
}

TEST_ROWS(a_forged_vocabulary_is_refused, 0, 9)
{
    static const struct {
        const char *attribute, *word, *message;
    } rows[] = {
        {"level", "word", FILE_NAME ": level of the vocabulary is 'word', which is not known"},
        {"level", "byte", FILE_NAME ": /vocabulary:5: must be a byte, from 0x00 to 0xff"},
        {NULL, NULL, FILE_NAME ": /vocabulary:6: byte 0xff is not UTF-8"},
        {"lowercase", "YES",
         FILE_NAME ": lowercase of the vocabulary is 'YES', which is not known"},
        {"ends", "1 99", FILE_NAME ": /vocabulary: has no id 99, which is said to end a text"},
        {"ends", "1 -1", FILE_NAME ": ends of the vocabulary are '1 -1', not 8 ids at most"},
        {"ends", "1 x", FILE_NAME ": ends of the vocabulary are '1 x', not 8 ids at most"},
        {"ends", "1 2 3 4 1 2 3 4 1",
         FILE_NAME ": ends of the vocabulary are '1 2 3 4 1 2 3 4 1', not 8 ids at most"},
        {"ends", "99999999999",
         FILE_NAME ": ends of the vocabulary are '99999999999', not 8 ids at most"},
    };
    rt_vocabulary *read;
    save_example();
    forge_vocabulary(rows[_i].attribute, rows[_i].word);
    assert_status(read_parts(&read, NULL), RT_CHECKPOINT, rows[_i].message);
    ck_assert_ptr_null(read);
}

/* A checkpoint with the labels of a text, one a line; without any for NULL. */
static void save_labels(const char *text)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    rt_status status = rt_ok();
    if (text)
        status = rt_labels_read(&info.labels, "labels", text, strlen(text));
    assert_status(status, RT_OK, "");
    status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&t), &info);
    assert_status(status, RT_OK, "");
    rt_labels_free(info.labels);
}

TEST(labels_are_read_as_they_were_saved)
{
    rt_labels *labels, *alone;
    save_labels("B\nb\n\xc3\xa9 e\n");
    assert_status(read_parts(NULL, &labels), RT_OK, "");
    ck_assert_int_eq(labels->count, 3);
    ck_assert_str_eq(labels->names[2], "\xc3\xa9 e");
    rt_image *image = opened(in_scratch(FILE_NAME));
    assert_status(rt_checkpoint_labels(image, &alone), RT_OK, "");
    ck_assert(rt_labels_equal(labels, alone));
    rt_image_close(image);
    rt_labels_free(labels);
    rt_labels_free(alone);
}

TEST(data_without_labels_has_none)
{
    rt_labels *labels;
    save_labels(NULL);
    assert_status(read_parts(NULL, &labels), RT_OK, "");
    ck_assert_ptr_null(labels);
}

TEST_ROWS(forged_labels_are_refused, 0, 4)
{
    static const unsigned char forged[][5] = {"aa\nb", "b\na\n", "a\na\n", "a\n\x1b\n"};
    static const char message[] = FILE_NAME ": /labels:2: must be a label, after the one before it";
    const bool sound = _i == 0;
    rt_labels *labels;
    save_labels("a\nb\n");
    hid_t file = begin_forging(in_scratch(FILE_NAME));
    hid_t set = H5Dopen2(file, "/labels", H5P_DEFAULT);
    ck_assert(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, forged[_i]) >= 0);
    H5Dclose(set);
    end_forging(file, in_scratch(FILE_NAME));
    assert_status(read_parts(NULL, &labels), sound ? RT_OK : RT_CHECKPOINT, sound ? "" : message);
    ck_assert((labels != NULL) == sound);
    rt_labels_free(labels);
}

/* ---- failures ---- */

TEST(a_missing_file_is_named)
{
    trained t = new_trained(4, 2);
    assert_status(load_example(&t), RT_CHECKPOINT,
                  lasting("cannot open %s/" FILE_NAME ": No such file or directory", scratch));
}

/* Loads into the first of two models, which are alike, and the same until that succeeds. */
static rt_status try_load(void *models)
{
    trained *t = models;
    ck_assert(same_numbers(&t[0], &t[1]));
    return load_example(t);
}

TEST(a_failed_allocation_while_loading_changes_nothing)
{
    save_example();
    trained t[] = {new_trained(4, 2), new_trained(4, 2)}, saved = new_trained(4, 1);
    expect_faults(try_load, t, 6);
    ck_assert(same_numbers(&t[0], &saved));
}

static rt_status try_save(void *model)
{
    const rt_checkpoint_info info = some_info(200);
    ck_assert_int_eq(files_in_scratch(), 0);
    return rt_checkpoint_save(in_scratch(FILE_NAME), model, &info);
}

TEST(a_failed_allocation_while_saving_is_an_error)
{
    trained t = new_trained(4, 1);
    expect_faults(try_save, (void *)model_of(&t), 6);
}

static rt_status try_labels(void *unused)
{
    rt_labels *labels;
    (void)unused;
    const rt_status status = read_parts(NULL, &labels);
    ck_assert((labels != NULL) == !status.code);
    rt_labels_free(labels);
    return status;
}

TEST(a_failed_allocation_while_labels_are_read_is_a_status)
{
    save_labels("a\nb\n");
    expect_faults(try_labels, NULL, 3);
}
