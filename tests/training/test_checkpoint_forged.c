/* What is refused of a checkpoint whose checksum is right: values that rotor never writes, and
 * files that are no tree of groups and data sets. */

#include "train/checkpoint/checkpoint.h"

#include "training/forging.h"

#include <math.h>

static rt_status load(const char *path)
{
    trained t = new_trained(4, 2), before = new_trained(4, 2);
    rt_checkpoint_info info = {0};
    double start[6] = {7};
    t.model.theta_start = start;
    t.model.theta_shape = RT_SHAPE_OF(1, 2, 3);
    rt_status status = rt_checkpoint_load(opened(path), model_of(&t), &info);
    ck_assert_msg(!status.code || (same_numbers(&t, &before) && start[0] == 7), "%s",
                  "the target was changed");
    rt_checkpoint_info_free(&info);
    free_trained(&t);
    free_trained(&before);
    return status;
}

static void save_with_theta(void)
{
    trained t = new_trained(4, 1);
    double start[6] = {1, 0.5, 0.25, 1, 0.5, 0};
    rt_checkpoint_info info = some_info(200);
    t.model.theta_start = start;
    t.model.theta_shape = RT_SHAPE_OF(1, 2, 3);
    assert_status(rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&t), &info), RT_OK, "");
    free_trained(&t);
}

/* ---- values ---- */

static void write_attribute(const char *group, const char *name, hid_t type, const void *value)
{
    const char *path = in_scratch(FILE_NAME);
    hid_t file = begin_forging(path), space = H5Screate(H5S_SCALAR);
    ck_assert(H5Adelete_by_name(file, group, name, H5P_DEFAULT) >= 0);
    hid_t attribute = H5Acreate_by_name(file, group, name, type, space, H5P_DEFAULT, H5P_DEFAULT,
                                        H5P_DEFAULT);
    ck_assert(attribute >= 0 && H5Awrite(attribute, type, value) >= 0);
    ck_assert(H5Aclose(attribute) >= 0 && H5Sclose(space) >= 0);
    end_forging(file, path);
}

/* Each is written in the place of the good value, and of `also` unless that is NULL. */
static const struct {
    const char *group, *name, *also;
    int64_t value;
    const char *message;
} integers[] = {
    {"/", "step", "/random", -1, "step is -1, 0 to 99999999 expected"},
    {"/", "step", "/random", INT64_C(1) << 40, "step is 1099511627776, 0 to 99999999 expected"},
    {"/", "step", "/random", INT64_MAX, "step is 9223372036854775807, 0 to 99999999 expected"},
    {"/", "step", "/random", 198, "best_eval_step is 199, 0 to 198 expected"},
    {"/", "step", NULL, 201, "step is 201 and, of /random, 200"},
    {"/", "seed", NULL, 5, "seed is 5 and, of /random, 18446744073709551609"},
    {"/", "best_eval_step", NULL, -1, "best_eval_step is -1, 0 to 200 expected"},
    {"/", "best_eval_step", NULL, 201, "best_eval_step is 201, 0 to 200 expected"},
    {"/optimizer", "schedule_steps", NULL, -1, "schedule_steps is -1, 0 to 99999999 expected"},
    {"/optimizer", "schedule_steps", NULL, 100000000,
     "schedule_steps is 100000000, 0 to 99999999 expected"},
    {"/data", "position", NULL, -1, "position is -1, 0 to 200000000 expected"},
    {"/data", "position", NULL, INT64_MAX,
     "position is 9223372036854775807, 0 to 200000000 expected"},
};

static void is_refused(const char *message)
{
    char whole[300];
    rt_checkpoint_info info;
    snprintf(whole, sizeof whole, FILE_NAME ": %s", message);
    assert_status(rt_checkpoint_read_info(opened(in_scratch(FILE_NAME)), &info), RT_CHECKPOINT, whole);
    assert_status(load(in_scratch(FILE_NAME)), RT_CHECKPOINT, whole);
}

START_TEST(an_integer_that_is_never_written_is_refused)
{
    save_with_theta();
    assert_status(load(in_scratch(FILE_NAME)), RT_OK, "");
    write_attribute(integers[_i].group, integers[_i].name, H5T_NATIVE_INT64, &integers[_i].value);
    if (integers[_i].also)
        write_attribute(integers[_i].also, integers[_i].name, H5T_NATIVE_INT64,
                        &integers[_i].value);
    is_refused(integers[_i].message);
}
END_TEST

START_TEST(a_loss_that_cannot_be_is_refused)
{
    const double none = NAN, endless = -INFINITY;
    save_with_theta();
    write_attribute("/", "best_eval_loss", H5T_NATIVE_DOUBLE, &endless);
    is_refused("best_eval_loss is -inf");
    write_attribute("/", "best_eval_loss", H5T_NATIVE_DOUBLE, &none);
    is_refused("best_eval_loss is nan");
}
END_TEST

static void write_word(const char *group, const char *name, const char *word)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    ck_assert(H5Tset_size(type, strlen(word)) >= 0);
    write_attribute(group, name, type, word);
    ck_assert(H5Tclose(type) >= 0);
}

START_TEST(a_word_that_is_never_written_is_refused)
{
    save_with_theta();
    write_word("/", "blas", "\033[2J");
    is_refused("blas holds a character that cannot be printed");
    write_word("/", "blas", "SkylakeX");
    write_word("/random", "generator", "mt19937");
    is_refused("generator is 'mt19937', 'philox4x32-10' expected");
}
END_TEST

/* One number of a data set in the place of what is there. */
static void write_number(const char *dataset, hsize_t at, double value)
{
    const char *path = in_scratch(FILE_NAME);
    hid_t file = begin_forging(path), set = H5Dopen2(file, dataset, H5P_DEFAULT);
    double values[32];
    ck_assert(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    values[at] = value;
    ck_assert(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    ck_assert(H5Dclose(set) >= 0);
    end_forging(file, path);
}

static const struct {
    const char *dataset;
    hsize_t at;
    double value;
    const char *message;
} numbers[] = {
    {"/theta_start", 3, NAN, "theta_start is nan at 3"},
    {"/theta_start", 5, -0.5, "theta_start is -0.5 at 5"},
    {"/theta_start", 0, INFINITY, "theta_start is inf at 0"},
    {"/model/embeddings/words", 19, NAN,
     "embeddings.words is not finite in " RT_PRECISION " precision"},
    {"/optimizer/first_moment/embeddings/words", 1, INFINITY,
     "first moment of embeddings.words is not finite in " RT_PRECISION " precision"},
    {"/optimizer/second_moment/encoder/layer/0/bias", 2, -1e-3,
     "second moment of encoder.layer.0.bias is -0.001 at 2, below 0"},
};

START_TEST(a_number_that_is_never_written_is_refused)
{
    char message[300];
    save_with_theta();
    write_number(numbers[_i].dataset, numbers[_i].at, numbers[_i].value);
    snprintf(message, sizeof message, FILE_NAME ": %s", numbers[_i].message);
    assert_status(load(in_scratch(FILE_NAME)), RT_CHECKPOINT, message);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("forged checkpoints");
    TCase *values = leak_checked_case(suite, "values");
    tcase_add_checked_fixture(values, make_scratch, remove_scratch);
    tcase_add_loop_test(values, an_integer_that_is_never_written_is_refused, 0, ROWS(integers));
    tcase_add_test(values, a_loss_that_cannot_be_is_refused);
    tcase_add_test(values, a_word_that_is_never_written_is_refused);
    tcase_add_loop_test(values, a_number_that_is_never_written_is_refused, 0, ROWS(numbers));
    return run_suite(suite);
}
