/* What `train` refuses before it does anything, and that --check refuses the same. */

#include "train_program.h"

/* ---- the command line ---- */

START_TEST(options_of_a_prediction_need_one)
{
    static const char *const given[] = {"--tokens 200",    "--tokens 100", "--seed 0",
                                        "--temperature 0", "--top-k 3",    "--top-p 0.5",
                                        "--stop x"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        expect_exit(w, 2, "$TRAIN tiny.ini %s", given[i]);
        ck_assert_str_eq(w->err, "train: --temperature, --top-k, --top-p, --seed, --tokens and "
                                 "--stop go with --predict\n");
    }
    ck_assert(!exists("runs"));
}
END_TEST

START_TEST(a_key_of_a_sweep_is_given_once)
{
    expect_exit(w, 2, "$TRAIN tiny.ini sweep.run.seed=1,2 sweep.run.seed=3");
    ck_assert_str_eq(w->err, "command line: sweep.run.seed is given twice\n");
    expect_exit(w, 2, "$TRAIN tiny.ini sweep.run.seed=1,2 sweep.jobs=2 sweep.jobs=1");
    ck_assert_str_eq(w->err, "command line: sweep.jobs is given twice\n");
    expect_exit(w, 2,
                "printf '[sweep]\\njobs = 2\\njobs = 1\\nrun.seed = 1,2\\n' >>tiny.ini; "
                "$TRAIN tiny.ini");
    expect_text(w->err, ": duplicate key 'jobs' in [sweep]; line ");
    ck_assert(!exists("runs"));
}
END_TEST

START_TEST(the_command_line_takes_the_place_of_the_file)
{
    expect_exit(w, 0,
                "printf '[sweep]\\njobs = 2\\nrun.seed = 1,2\\n' >>tiny.ini; "
                "$TRAIN --check tiny.ini sweep.jobs=1 sweep.run.seed=3,4,5");
    expect_text(w->out, "the configurations of 3 runs are good");
}
END_TEST

START_TEST(the_command_line_can_empty_a_list_or_a_text)
{
    expect_exit(w, 0,
                "printf 'eval_lengths = 24,48\\ninit_from = gone.h5\\n' >>tiny.ini; "
                "$TRAIN --quiet --check tiny.ini train.eval_lengths= train.init_from=");
    expect_exit(w, 0, "$TRAIN tiny.ini --print-config train.eval_lengths= train.init_from=");
    expect_no_text(w->out, "24,48");
    expect_no_text(w->out, "gone.h5");
    expect_exit(w, 2, "$TRAIN tiny.ini optimizer.lr=");
    expect_text(w->err, "command line: optimizer.lr has no value\n");
}
END_TEST

START_TEST(results_that_nobody_can_read_are_a_failure)
{
    expect_exit(w, 1, "$TRAIN tiny.ini --print-config >&-");
    expect_text(w->err, "train: the results could not be printed\n");
    expect_exit(w, 1, "$TRAIN --version >&-");
    expect_exit(w, 1, "$TRAIN tiny.ini --quiet >&-");
    ck_assert(exists("runs/tiny/result.csv"));
}
END_TEST

/* ---- what computes ---- */

START_TEST(an_engine_that_is_not_there_is_refused)
{
    expect_exit(w, 2, "$TRAIN tiny.ini --quiet run.math=bf16");
    expect_text(w->err, "tiny.ini: run.engine, run.math: OpenBLAS has no products in bf16");
    expect_exit(w, 2, "$TRAIN tiny.ini --quiet --check run.math=bf16");
    expect_exit(w, 2, "$TRAIN64 tiny.ini --quiet run.engine=onednn");
    expect_text(w->err, "oneDNN computes in float; this program computes in double");
    ck_assert(!exists("runs"));
}
END_TEST

/* A run may go on with another engine, but not in other numbers. */
START_TEST(a_change_of_the_engine_is_told)
{
    if (shell(w, "$TRAIN tiny.ini --quiet --check run.engine=onednn run.math=bf16")) {
        printf("SKIP engines: needs oneDNN and a processor with bf16\n");
        return;
    }
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet run.engine=onednn train.steps=4");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet --resume run.engine=openblas train.steps=6");
    expect_text(w->err, "was computed with the BLAS kernels oneDNN-");
    expect_exit(w, 2,
                "$TRAIN tiny.ini --quiet --resume run.engine=onednn run.math=bf16 "
                "train.steps=8");
    expect_text(w->err, "run.math");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet --overwrite run.engine=onednn run.math=bf16");
    expect_text(w->out, "eval: loss ");
}
END_TEST

/* ---- numbers ---- */

static const struct {
    const char *setting;
    const char *in_float;
} coarse[] = {
    {"optimizer.eps=1e-60", "0"},          {"model.norm_eps=1e-50", "0"},
    {"optimizer.lr=1e39", "inf"},          {"theta.lr_scale=1e300", "inf"},
    {"optimizer.beta2=0.9999999999", "1"}, {"model.dropout=0.99999999999", "1"},
    {"position.base=1.00000000001", "1"},  {"optimizer.lr=1e-60", "0"},
    {"model.init_std=1e-60", "0"},         {"position.init_std=1e-60", "0"},
};

START_TEST(what_is_another_number_in_the_precision_of_the_build_is_refused)
{
    char end[64];
    snprintf(end, sizeof end, ", which is %s in float\n", coarse[_i].in_float);
    expect_exit(w, 2, "$TRAIN tiny.ini --quiet --check %s", coarse[_i].setting);
    expect_text(w->err, "command line: ");
    expect_text(w->err, end);
    expect_exit(w, 0, "$TRAIN64 tiny.ini --quiet --check %s", coarse[_i].setting);
}
END_TEST

/* ---- --check ---- */

/* Both end alike, with the same message, and leave nothing behind. */
static void refused_alike(int code, const char *arguments, const char *message)
{
    expect_exit(w, code, "$TRAIN --quiet --check tiny.ini %s", arguments);
    char *said = rt_alloc(OUTPUT_SIZE, 1);
    ck_assert_ptr_nonnull(said);
    memcpy(said, w->err, OUTPUT_SIZE);
    expect_text(said, message);
    expect_exit(w, code, "$TRAIN --quiet tiny.ini %s", arguments);
    ck_assert_str_eq(w->err, said);
    ck_assert_msg(!exists("runs"), "a folder was made for %s", arguments);
    rt_free(said);
}

START_TEST(what_training_refuses_check_refuses_alike)
{
    ck_assert_int_eq(shell(w, "yes 'a line of text' | head -c 4000 >text.txt"), 0);
    refused_alike(3, "data.task=text data.file=text.txt train.eval_lengths=500",
                  "text.txt: the part for evaluation is shorter than the 500 tokens of "
                  "train.eval_lengths\n");
    refused_alike(3, "data.task=text data.file=absent.txt", "absent.txt: No such file");
    refused_alike(2, "train.batch_size=1000000 data.length=1000000", "; this machine has ");
    refused_alike(4, "train.init_from=absent.h5", "absent.h5: No such file");
    refused_alike(2, "run.dir=$(printf '%4000s' '' | tr ' ' a)",
                  "the path of the run folder has 4005 bytes, 3999 are possible: aaa");
}
END_TEST

START_TEST(another_model_to_start_from_is_found_by_check)
{
    expect_exit(w, 0, "$TRAIN --quiet tiny.ini run.dir=first train.steps=1");
    refused_alike(4, "train.init_from=first/tiny/checkpoints/step-00000001.h5 model.layers=1",
                  "step-00000001.h5: ");
    expect_exit(w, 0,
                "$TRAIN --quiet --check tiny.ini "
                "train.init_from=first/tiny/checkpoints/step-00000001.h5");
    ck_assert_str_eq(w->err, "");
}
END_TEST

START_TEST(the_runs_of_a_sweep_are_checked_with_their_data)
{
    ck_assert_int_eq(shell(w, "yes 'a line of text' | head -c 4000 >text.txt"), 0);
    expect_exit(w, 3,
                "$TRAIN --quiet --check tiny.ini data.task=text sweep.data.file=text.txt,gone");
    expect_text(w->err, "gone: No such file or directory (data.file)");
    expect_exit(w, 3, "$TRAIN --quiet tiny.ini data.task=text sweep.data.file=text.txt,gone");
    expect_text(w->err, "gone: No such file or directory (data.file)");
    expect_exit(w, 2,
                "$TRAIN --quiet --check tiny.ini sweep.data.length=12,1000000 "
                "train.batch_size=1000000");
    expect_text(w->err, "; this machine has ");
    ck_assert(!exists("runs"));
}
END_TEST

/* 3,995 bytes of folder hold the sweep, but not a run in it. */
START_TEST(a_sweep_whose_runs_have_no_room_is_found_by_check)
{
    static const char dir[] = "run.dir=$(printf '%3990s' '' | tr ' ' a) sweep.run.seed=1,2";
    expect_exit(w, 2, "$TRAIN --quiet --check tiny.ini %s", dir);
    expect_text(w->err, "the path of the run folder has ");
    expect_exit(w, 2, "$TRAIN --quiet tiny.ini %s", dir);
    expect_text(w->err, "the path of the run folder has ");
    ck_assert_int_ne(shell(w, "ls -d aaa*"), 0);
}
END_TEST

START_TEST(a_pipe_in_place_of_a_run_configuration_is_not_waited_for)
{
    expect_exit(w, 0, "mkdir run && mkfifo run/config.ini");
    expect_exit(w, 2, "timeout -s KILL 60 $TRAIN --report run");
    expect_text(w->err, "run is not the folder of a run: ");
}
END_TEST

/* ---- address space ---- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(SANITIZED) /* which reserves terabytes */
START_TEST(too_little_address_space_is_said_and_ends_the_program)
{
    expect_exit(w, 0, "ulimit -v 200000; timeout -s KILL 60 $TRAIN --version");
    expect_exit(w, 2, "ulimit -v 200000; timeout -s KILL 60 $TRAIN --quiet tiny.ini");
    expect_text(w->err, " GB of address space (buffers of OpenBLAS 0.13); the limit (ulimit -v) "
                        "leaves ");
    ck_assert(!exists("runs"));
    expect_exit(
        w, 0,
        "export OPENBLAS_NUM_THREADS=1; ulimit -v 4000000; $TRAIN --quiet tiny.ini run.threads=2");
    /* these start a process of their own, which a thread of OpenBLAS must not hold up */
    static const char *const commands[] = {
        "tiny.ini --eval", "tiny.ini --eval --checkpoint runs/tiny/checkpoints/step-00000060.h5",
        "--report runs/tiny", "tiny.ini sweep.run.seed=1,2 run.name=sweep"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_exit(w, 2, "ulimit -v 220000; timeout -s KILL 60 $TRAIN --quiet %s", commands[i]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_exit(w, 0,
                    "export OPENBLAS_NUM_THREADS=1; ulimit -v 4000000; timeout -s KILL 60 $TRAIN "
                    "--quiet %s",
                    commands[i]);
}
END_TEST
#define LIMITS_ADDRESS_SPACE
#endif

int main(void)
{
    Suite *suite = suite_create("train: refusals");
    TCase *tests = program_case(suite);
    tcase_add_test(tests, options_of_a_prediction_need_one);
    tcase_add_test(tests, a_key_of_a_sweep_is_given_once);
    tcase_add_test(tests, the_command_line_takes_the_place_of_the_file);
    tcase_add_test(tests, the_command_line_can_empty_a_list_or_a_text);
    tcase_add_test(tests, results_that_nobody_can_read_are_a_failure);
    tcase_add_loop_test(tests, what_is_another_number_in_the_precision_of_the_build_is_refused, 0,
                        sizeof coarse / sizeof *coarse);
    tcase_add_test(tests, what_training_refuses_check_refuses_alike);
    tcase_add_test(tests, another_model_to_start_from_is_found_by_check);
    tcase_add_test(tests, a_sweep_whose_runs_have_no_room_is_found_by_check);
    tcase_add_test(tests, an_engine_that_is_not_there_is_refused);
    tcase_add_test(tests, a_change_of_the_engine_is_told);
    tcase_add_test(tests, a_pipe_in_place_of_a_run_configuration_is_not_waited_for);
    tcase_add_test(tests, the_runs_of_a_sweep_are_checked_with_their_data);
#ifdef LIMITS_ADDRESS_SPACE
    tcase_add_test(tests, too_little_address_space_is_said_and_ends_the_program);
#endif
    return run_suite(suite);
}
