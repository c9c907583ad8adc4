#include "io/checkpoint/trained.h"

static const char *checkpoint(int step)
{
    return in_scratch(lasting("step-%08d.h5", step));
}

static rt_status save(int step, int keep)
{
    trained t = new_trained(4, (uint64_t)step);
    rt_checkpoint_info info = some_info(step);
    return rt_checkpoint_save_in(scratch, model_of(&t), &info, keep);
}

static void save_steps(const int *steps, int keep)
{
    for (; *steps; steps++)
        expect_ok(save(*steps, keep));
}
#define SAVE(keep, ...) save_steps((int[]){__VA_ARGS__, 0}, keep)

typedef struct newest {
    rt_checkpoint c;
    char path[RT_PATH_SIZE], warnings[RT_MESSAGE_SIZE];
} newest;

static rt_status find_in(const char *folder, newest *found)
{
    return rt_checkpoint_newest(&found->c, folder, RT_PARSE_HERE, found->path, found->warnings);
}

static void damage(int step)
{
    flip_bit(checkpoint(step), 8 * 2000);
}

/* Expects these steps in the folder, newest first. */
static void expect_steps(const char *expected)
{
    int64_t *steps;
    int count;
    char text[256] = "";
    expect_ok(rt_checkpoint_list(scratch, &steps, &count));
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%lld ", (long long)steps[i]);
    rt_free(steps);
    ck_assert_str_eq(text, expected);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(only_names_of_checkpoints_are_listed_newest_first)
{
    char names[] = "step-00000200.h5 step-100000000.h5 step-00000030.h5 step-00000000.h5 "
                   "step-200.h5 step-000000200.h5 step-00000300.h5.tmp step-0000040x.h5 "
                   "step--0000001.h5 step-00000500.h5~ xstep-00000600.h5 step-00000700.hdf5 "
                   "step-.h5 step- latest step-99999999999999999999999.h5";
    put_text("step- 0000001.h5", "");
    for (const char *name = strtok(names, " "); name; name = strtok(NULL, " "))
        put_text(name, "");
    expect_steps("100000000 200 30 0 ");
}

TEST(the_newest_checkpoints_are_kept_up_to_the_wanted_number)
{
    SAVE(3, 100, 200, 300, 400, 500);
    expect_steps("500 400 300 ");
    SAVE(1, 600);
    expect_steps("600 ");
    SAVE(0, 700, 800);
    expect_steps("800 700 600 ");
    SAVE(2, 800);
    expect_steps("800 700 ");
}

TEST(the_best_evaluation_is_kept_beside_the_newest)
{
    static const char *const expected[] = {"10 ", "20 ", "30 20 ", "40 20 ", "50 ", "60 50 "};
    trained t = new_trained(4, 1);
    for (int step = 10; step <= 60; step += 10) {
        rt_checkpoint_info info = some_info(step);
        info.evaluations.best_step = step < 20 ? 10 : step < 50 ? 20 : 50;
        expect_ok(rt_checkpoint_save_in(scratch, model_of(&t), &info, 1));
        expect_steps(expected[step / 10 - 1]);
    }
}

TEST(later_checkpoints_are_neither_counted_nor_removed)
{
    SAVE(0, 100, 200, 300, 400);
    damage(400);
    SAVE(1, 250);
    expect_steps("400 300 250 ");
}

TEST(unfinished_files_are_removed)
{
    put_text("step-00000100.h5.tmp", "x");
    put_text("notes.tmp", "x");
    SAVE(3, 200);
    ck_assert(!exists(in_scratch("step-00000100.h5.tmp")));
    ck_assert(exists(in_scratch("notes.tmp")));
}

TEST_ROWS(a_checkpoint_that_could_not_be_loaded_is_not_saved_and_removes_nothing, 0, 7)
{
#define OF_FILE "step-00000300.h5.tmp: "
#define UNSAVED " is not finite: no checkpoint was saved"
    static const char *const messages[] = {
        OF_FILE "second moment of head.output.weight is -1 at 3, below 0",
        OF_FILE "best_eval_step is 301, 0 to 300 expected",
        OF_FILE "best_eval_loss is nan",
        OF_FILE "theta_start is inf at 2",
        OF_FILE "blas holds a character that cannot be printed",
        "second moment of layers.0.attention.theta" UNSAVED,
        "layers.0.ffn_norm.bias" UNSAVED, /* parameters are checked first */
    };
    static double start[6] = {1, 2, INFINITY, 4, 5, 6};
    SAVE(2, 100, 200);
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(300);
    if (_i == 0)
        t.model.states[1][3] = -1;
    info.evaluations.best_step += 2 * (_i == 1);
    if (_i == 2)
        info.evaluations.best_loss = NAN;
    if (_i == 3) {
        t.model.theta_start = start;
        t.model.theta_shape = RT_SHAPE_OF(1, 2, 3);
    }
    strcpy(info.blas, _i == 4 ? "\033[2J" : "");
    if (_i >= 5)
        t.model.states[1][t.parameters.list[2]->offset] = (real)INFINITY;
    if (_i == 6)
        t.parameters.list[1]->tensor.data[4] = (real)NAN;
    is_status(rt_checkpoint_save_in(scratch, model_of(&t), &info, 1),
              _i < 5 ? RT_CHECKPOINT : RT_NONFINITE, messages[_i]);
    expect_steps("200 100 ");
    ck_assert_int_eq(files_in_scratch(), 2);
}

static void expect_newest(int step, const char *warnings)
{
    newest found;
    expect_ok(find_in(scratch, &found));
    ck_assert_ptr_nonnull(found.c.image);
    ck_assert_str_eq(found.path, checkpoint(step));
    ck_assert_str_eq(found.warnings, warnings);
    trained loaded = new_trained(4, 9999), saved = new_trained(4, (uint64_t)step);
    expect_ok(rt_checkpoint_load(&found.c, model_of(&loaded)));
    ck_assert_int_eq(found.c.info.step, step);
    ck_assert(same_numbers(&loaded, &saved));
    rt_checkpoint_close(&found.c);
}

/* The file of a killed save does not count. */
TEST(the_newest_checkpoint_is_found)
{
    SAVE(0, 100, 300, 200);
    put_text("step-00000400.h5.tmp", "half");
    expect_newest(300, "");
}

TEST(a_damaged_checkpoint_is_skipped_with_a_warning)
{
    SAVE(0, 100, 200, 300, 400);
    damage(400);
    expect_newest(300, "step-00000400.h5: checksum differs; falling back to step-00000300.h5");
    ck_assert_int_eq(truncate(checkpoint(300), 100), 0);
    expect_newest(200, "step-00000400.h5: checksum differs; falling back to step-00000300.h5\n"
                       "step-00000300.h5: too short: 100 bytes, at least 512 expected; "
                       "falling back to step-00000200.h5");
}

/* A copy is valid, but must not replace a newer checkpoint. */
TEST(a_copy_under_a_later_name_is_skipped)
{
    size_t size;
    SAVE(0, 100, 200);
    unsigned char *bytes = file_bytes(checkpoint(100), &size);
    write_bytes(checkpoint(300), bytes, size);
    expect_newest(200, "step-00000300.h5: it is of step 100; falling back to step-00000200.h5");
    rt_checkpoint_info info;
    expect_ok(look_once(opened(checkpoint(300)), &info));
    ck_assert_int_eq(info.step, 100);
    rt_checkpoint_info_free(&info);
}

TEST(only_damaged_checkpoints_are_an_error)
{
    newest found;
    SAVE(0, 100, 200);
    damage(100);
    damage(200);
    is_status(find_in(scratch, &found), RT_CHECKPOINT,
              lasting("%s: none of 2 checkpoints can be used; the newest: step-00000200.h5: "
                      "checksum differs",
                      scratch));
    ck_assert_ptr_null(found.c.image);
    ck_assert_str_eq(found.warnings,
                     "step-00000200.h5: checksum differs; falling back to step-00000100.h5\n"
                     "step-00000100.h5: checksum differs");
}

TEST(a_missing_folder_is_no_error_and_a_file_in_its_place_is)
{
    newest found;
    for (int i = 0; i < 2; i++) {
        expect_ok(find_in(i ? in_scratch("no") : scratch, &found));
        ck_assert_ptr_null(found.c.image);
    }
    put_text("file", "");
    is_status(find_in(in_scratch("file"), &found), RT_IO,
              lasting("cannot open %s/file: Not a directory", scratch));
}

static rt_status find_newest(void)
{
    newest found;
    const rt_status status = find_in(scratch, &found);
    ck_assert_int_eq(!status.code, found.c.info.step == 200);
    ck_assert_int_eq(!status.code, found.c.image != NULL);
    rt_checkpoint_close(&found.c);
    return status;
}

TEST(every_failed_allocation_is_an_error)
{
    SAVE(0, 100, 200);
    expect_ok_after_refusals(3, find_newest());
}

/* Only the last allocation, for the list of files to remove, may fail unnoticed. */
TEST(a_failed_allocation_while_saving_loses_nothing)
{
    SAVE(0, 100, 200);
    trained t = new_trained(4, 300);
    rt_checkpoint_info info = some_info(300);
    size_t before = rt_memory_requests();
    ck_assert_int_eq(rt_checkpoint_save_in(scratch, model_of(&t), &info, 3).code, RT_OK);
    size_t requests = rt_memory_requests() - before;
    for (size_t n = 1; n <= requests; n++) {
        remove(checkpoint(300));
        rt_memory_fail_at(n);
        rt_code code = rt_checkpoint_save_in(scratch, model_of(&t), &info, 1).code;
        rt_memory_fail_at(0);
        ck_assert_int_eq(code, n < requests ? RT_MEMORY : RT_OK);
        ck_assert(exists(checkpoint(100)) && exists(checkpoint(200)));
        ck_assert(n < requests || exists(checkpoint(300)));
    }
}
