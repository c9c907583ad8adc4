/* Refusals of checkpoints with a valid checksum: values that rotor never writes, and files that are
 * no tree of groups and datasets. */

#include "data/data.h"
#include "io/checkpoint/private.h"
#include "models/keys.h"
#include "util/key_value.h"

#include "io/checkpoint/forged_attribute.h"
#include "io/checkpoint/trained.h"

static rt_status load_as(rt_theta_form form, const char *path, double start[6])
{
    trained t = new_trained(4, 2), before = new_trained(4, 2);
    start[0] = 7;
    t.options.theta.form = form;
    t.model.theta_start = start;
    t.model.theta_shape = RT_SHAPE_OF(1, 2, 3);
    rt_status status = rt_checkpoint_load(opened(path), model_of(&t));
    ck_assert_msg(!status.code || (same_numbers(&t, &before) && start[0] == 7), "%s",
                  "the target was changed");
    return status;
}

static rt_status load(const char *path)
{
    double start[6];
    return load_as(RT_THETA_LOG, path, start);
}

static void save_as(rt_theta_form form, double start[6])
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    t.options.theta.form = form;
    t.model.theta_start = start;
    t.model.theta_shape = RT_SHAPE_OF(1, 2, 3);
    save_model(model_of(&t), &info);
}

static void save_with_theta(void)
{
    double start[6] = {1, 0.5, 0.25, 1, 0.5, 0};
    save_as(RT_THETA_LOG, start);
}

/* Expects the same message of who looks and of who loads, which has this part. */
static void is_refused_with(const char *part)
{
    rt_checkpoint_info info;
    const rt_status status = look_once(opened_file(), &info);
    is_status_with(status, RT_CHECKPOINT, lasting(FILE_NAME ": %s", part));
    is_status(load(in_scratch(FILE_NAME)), RT_CHECKPOINT, status.message);
}

enum { FIELDS = 13, TEXTS = 2 };

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Each field that is an attribute is missing, of another type, and out of its range. The texts,
 * which come last, are data sets. */
TEST_ROWS(a_missing_or_invalid_field_is_refused, 0, FIELDS - TEXTS)
{
    const char *path = in_scratch(FILE_NAME);
    const rt_checkpoint_field *f = &rt_checkpoint_fields[_i];
    ck_assert(f->name && !rt_checkpoint_fields[FIELDS].name);
    ck_assert(f->type != RT_FIELD_TEXT);
    save_with_theta();
    delete_attribute(path, f->group, f->name);
    rt_status status = load(path);
    ck_assert_msg(status.code == (f->optional ? RT_OK : RT_CHECKPOINT), "%s: %s", f->name,
                  status.message);
    ck_assert(f->optional || strstr(status.message, f->name));
    save_with_theta();
    if (f->type == RT_FIELD_WORD)
        forge_integer(path, f->group, f->name, 3);
    else
        forge_word(path, f->group, f->name, "three");
    ck_assert_int_eq(load(path).code, RT_CHECKPOINT);
    save_with_theta();
    switch (f->type) {
    case RT_FIELD_INTEGER:
        forge_integer(path, f->group, f->name, -1);
        is_refused_with(lasting("%s is -1, 0 to ", f->name));
        forge_integer(path, f->group, f->name, INT64_MAX);
        is_refused_with(lasting("%s is 9223372036854775807, 0 to ", f->name));
        break;
    case RT_FIELD_LOSS:
        forge_number(path, f->group, f->name, -INFINITY);
        is_refused_with(lasting("%s is -inf", f->name));
        forge_number(path, f->group, f->name, NAN);
        is_refused_with(lasting("%s is nan", f->name));
        break;
    case RT_FIELD_WORD:
        forge_word(path, f->group, f->name, "\033[2J");
        is_refused_with(lasting("%s holds a character that cannot be printed", f->name));
        break;
    case RT_FIELD_UNSIGNED:
    case RT_FIELD_TEXT:
        break;
    }
}

/* The range of a field may depend on another field; a word may be the only one. */
TEST_ROWS(a_value_that_the_others_do_not_allow_is_refused, 0, 3)
{
    const char *path = in_scratch(FILE_NAME);
    save_with_theta();
    if (_i == 0) {
        forge_integer(path, "/", "step", 198);
        is_refused_with("best_eval_step is 199, 0 to 198 expected");
    } else if (_i == 1) {
        forge_integer(path, "/data", "position", 200000001);
        is_refused_with("position is 200000001, 0 to 200000000 expected");
    } else {
        forge_word(path, "/random", "generator", "mt19937");
        is_refused_with("generator is 'mt19937', 'philox4x32-10' expected");
    }
}

/* Opening a model without a configuration reads every key. */
static rt_status open_options(const char *path)
{
    return rt_image_status(opened(path)->image);
}

static void forge_option(const char *path, const char *group, const rt_key *key, const char *name)
{
    save_with_theta();
    expect_ok(open_options(path));
    delete_attribute(path, group, name);
    if (key->later)
        expect_ok(open_options(path));
    else
        is_status_with(open_options(path), RT_CHECKPOINT, name);
    save_with_theta();
    if (key->type == RT_KEY_INTEGER)
        forge_integer(path, group, name, INT64_MIN);
    else if (key->type == RT_KEY_NUMBER)
        forge_number(path, group, name, NAN);
    else if (key->type != RT_KEY_SEED)
        forge_word(path, group, name, "nothing");
    else
        forge_integer(path, group, name, -1);
    is_status_with(open_options(path), RT_CHECKPOINT, name);
}

TEST_ROWS(an_option_that_its_key_does_not_accept_is_refused, 0, 2)
{
    const char *group = _i ? "/data" : "/model";
    const rt_key_table *table = _i ? &rt_data_keys : &rt_model_keys;
    char name[RT_KEY_NAME_SIZE];
    for (int i = 0; i < table->count; i++) {
        const rt_key *key = &table->keys[i];
        if (key->type != RT_KEY_TEXT && key->type != RT_KEY_FACTORS && key->type != RT_KEY_LAYERS)
            forge_option(in_scratch(FILE_NAME), group, key, rt_key_full_name(key, name));
    }
}

TEST(keys_that_an_older_checkpoint_lacks_have_their_defaults)
{
    static const char *const newer[][2] = {
        {"/model", "position.axes"},
        {"/model", "position.mixing"},
        {"/data", "data.end"},
        {"/data", "data.mask_id"},
        {"/data", "data.pairs"},
        {"/data", "data.theta2"},
        {"/data", "data.patch"},
        {"/data", "data.size"},
        {"/data", "data.special_tokens"},
    };
    rt_checkpoint c;
    save_with_theta();
    for (int i = 0; i < ROWS(newer); i++)
        delete_attribute(in_scratch(FILE_NAME), newer[i][0], newer[i][1]);
    expect_ok(rt_checkpoint_open(&c, in_scratch(FILE_NAME), RT_PARSE_HERE));
    ck_assert_int_eq(c.model.position.axes, 1);
    ck_assert_int_eq(c.model.position.mixing, RT_AXIAL);
    ck_assert_int_eq(c.data.patch, 4);
    rt_checkpoint_close(&c);
}

/* The moment of that row is refused to a branch, too. */
enum { BELOW_0 = 5 };
static const struct {
    const char *dataset;
    int at;
    double value;
    const char *message;
} numbers[] = {
    {"/theta_start", 3, NAN, "theta_start is nan at 3"},
    {"/theta_start", 5, -0.5, "theta_start is -0.5 at 5"},
    {"/theta_start", 0, INFINITY, "theta_start is inf at 0"},
    {"/model/head/output/weight", 19, NAN,
     "head.output.weight is not finite in " RT_PRECISION " precision"},
    {"/optimizer/first_moment/head/output/weight", 1, INFINITY,
     "first moment of head.output.weight is not finite in " RT_PRECISION " precision"},
    {"/optimizer/second_moment/head/output/weight", 0, -1e-3,
     "second moment of head.output.weight is -0.001 at 0, below 0"},
    {"/optimizer/second_moment/layers/0/attention/theta", 5, -1e-3,
     "second moment of layers.0.attention.theta is -0.001 at 5, below 0"},
    {"/optimizer/second_moment/layers/0/ffn_norm/bias", 2, -1e-3,
     "second moment of layers.0.ffn_norm.bias is -0.001 at 2, below 0"},
};

TEST_ROWS(a_number_that_is_never_written_is_refused, 0, ROWS(numbers))
{
    const char *message = lasting(FILE_NAME ": %s", numbers[_i].message);
    save_with_theta();
    forge_number_at(in_scratch(FILE_NAME), numbers[_i].dataset, numbers[_i].at, numbers[_i].value);
    is_status(load(in_scratch(FILE_NAME)), RT_CHECKPOINT, message);
    if (_i == BELOW_0) {
        trained t = new_trained(4, 2), before = new_trained(4, 2);
        rt_checkpoint_taken taken;
        is_status(rt_checkpoint_branch(opened_file(), model_of(&t), false, &taken), RT_CHECKPOINT,
                  message);
        ck_assert_msg(same_numbers(&t, &before), "the target was changed");
    }
}

TEST(a_theta_of_form_raw_starts_at_any_finite_number)
{
    const char *path = in_scratch(FILE_NAME);
    double start[6] = {-0.38, 0, -1e300, 1e300, -0.0, 3}, read[6];
    save_as(RT_THETA_RAW, start);
    expect_ok(load_as(RT_THETA_RAW, path, read));
    ck_assert_mem_eq(read, start, sizeof start);
    for (int i = 0; i < 2; i++) {
        forge_number_at(path, "/theta_start", 4, i ? -INFINITY : NAN);
        is_status(load_as(RT_THETA_RAW, path, read), RT_CHECKPOINT,
                  lasting(FILE_NAME ": theta_start is %s at 4", i ? "-inf" : "nan"));
    }
}

static void is_no_tree(const char *message)
{
    static const rt_parse parses[] = {RT_PARSE_HERE, RT_PARSE_APART};
    for (int i = 0; i < 2; i++) {
        rt_checkpoint_info info;
        rt_status status = look_once(opened_as(in_scratch(FILE_NAME), parses[i]), &info);
        is_status(status, RT_CHECKPOINT, message);
    }
}

/* HDF5 takes a minute to walk through 3,000 of them. */
TEST(thousands_of_nested_groups_are_refused)
{
    const char *path = in_scratch(FILE_NAME);
    save_with_theta();
    hid_t file = begin_forging(path), group = H5Gopen2(file, "/model", H5P_DEFAULT);
    for (int i = 0; i < 3000; i++) {
        hid_t next = H5Gcreate2(group, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        ck_assert(next >= 0 && H5Gclose(group) >= 0);
        group = next;
    }
    H5Gclose(group);
    end_forging(file, path);
    is_no_tree(FILE_NAME
               ": /model/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g... is more "
               "than 32 groups deep");
}

TEST_ROWS(links_and_second_names_of_groups_are_refused, 0, 4)
{
    static const char *const messages[] = {"/model has 2 names",
                                           "/model/soft is a link to another place",
                                           "/model/external is a link to another place",
                                           "/model holds a name that no checkpoint has"};
    const hid_t plain = H5P_DEFAULT;
    save_with_theta();
    const hid_t file = begin_forging(in_scratch(FILE_NAME));
    if (_i == 0)
        ck_assert(H5Lcreate_hard(file, "/model", file, "/model/again", plain, plain) >= 0);
    else if (_i == 1)
        ck_assert(H5Lcreate_soft("/config", file, "/model/soft", plain, plain) >= 0);
    else if (_i == 2)
        ck_assert(H5Lcreate_external("/etc/passwd", "/x", file, "/model/external", plain, plain) >=
                  0);
    else /* it would control a terminal */
        H5Gclose(H5Gcreate2(file, "/model/\033[2J", plain, plain, plain));
    end_forging(file, in_scratch(FILE_NAME));
    is_no_tree(lasting(FILE_NAME ": %s", messages[_i]));
}

/* Their size does not matter. */
TEST(foreign_attributes_and_data_sets_are_ignored)
{
    const char *path = in_scratch(FILE_NAME);
    const hsize_t many = 8000;
    static double values[8000];
    save_with_theta();
    hid_t file = begin_forging(path), space = H5Screate_simple(1, &many, NULL);
    hid_t attribute = H5Acreate2(file, "huge", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(attribute < 0 ||
              (H5Awrite(attribute, H5T_NATIVE_DOUBLE, values) >= 0 && H5Aclose(attribute) >= 0));
    ck_assert(H5Sclose(space) >= 0);
    end_forging(file, path);
    forge_dataset(path, "/notes", H5T_NATIVE_INT, H5P_DEFAULT, many, NULL);
    expect_ok(load(path));
}

/* Compressed data could claim more bytes than the file has. */
TEST(a_data_set_larger_than_the_file_is_refused)
{
    const char *path = in_scratch(FILE_NAME);
    const hsize_t many = (hsize_t)1 << 22, chunk = 1 << 20;
    save_with_theta();
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    ck_assert(H5Pset_chunk(creation, 1, &chunk) >= 0 && H5Pset_deflate(creation, 9) >= 0);
    forge_dataset(path, "/zeros", H5T_NATIVE_FLOAT, creation, many,
                  owned(calloc(many, sizeof(double)), free));
    ck_assert(H5Pclose(creation) >= 0);
    rt_image *image = rt_image_open(path, RT_PARSE_APART);
    rt_image_reals(image, "/zeros", (real[1]){0}, RT_SHAPE_OF((int)many));
    is_status(rt_image_status(image), RT_CHECKPOINT,
              FILE_NAME ": /zeros is missing or not as expected");
    rt_image_close(image);
}
