/* run.kernels: the same bits on every processor with AVX2, and the recorded names of kernels. */

#include "core/row_kernels.h"
#include "train/run/kernels.h"
#include "train_program.h"

static const char portable_kernels[] = "Haswell, row kernels AVX2";

#define HAS_ONEDNN !shell(w, TINY "--check run.engine=onednn")

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS)

TEST(portable_runs_do_not_depend_on_the_environment)
{
    NEEDS(rt_row_set_works(RT_ROWS_AVX2), "AVX2");
    run(TINY "run.kernels=portable run.name=plain");
    expect_stderr(
        0, "run.kernels = portable replaces OPENBLAS_CORETYPE='Prescott' with Haswell\n",
        "OPENBLAS_CORETYPE=Prescott $TRAIN tiny.ini --quiet run.kernels=portable run.name=old");
    expect_same_in("plain", "old", "metrics.csv theta.csv");
    run("ROTOR_ROW_KERNELS=SSE2 $TRAIN tiny.ini --quiet run.kernels=portable run.name=rows && cmp "
        "runs/plain/metrics.csv runs/rows/metrics.csv");
}

TEST(native_runs_follow_the_kernels)
{
    run("OPENBLAS_CORETYPE=Prescott $TRAIN tiny.ini --quiet run.name=prescott");
    run("OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini --quiet run.name=nehalem");
    expect_exit(w, 1, "cmp runs/prescott/metrics.csv runs/nehalem/metrics.csv");
    NEEDS(rt_row_set_works(RT_ROWS_AVX2) && TEST_LOOPS_ARE_VECTORS,
          "AVX2, and loops compiled to vectors");
    run("OPENBLAS_CORETYPE=Nehalem ROTOR_ROW_KERNELS=AVX2 $TRAIN tiny.ini --quiet run.name=avx2");
    run("OPENBLAS_CORETYPE=Nehalem ROTOR_ROW_KERNELS=SSE2 $TRAIN tiny.ini --quiet run.name=sse2");
    expect_exit(w, 1, "cmp runs/avx2/metrics.csv runs/sse2/metrics.csv");
}

TEST(kernels_are_recorded_and_those_below_the_processor_are_reported)
{
    expect_stdout("OpenBLAS 0.",
                  "OPENBLAS_CORETYPE=Nehalem ROTOR_ROW_KERNELS=SSE2 $TRAIN --version");
    expect_text(w->out, " Nehalem, row kernels SSE2\n");
    ck_assert_int_eq(strstr(w->out, "\noneDNN-") != NULL, HAS_ONEDNN);
    NEEDS(rt_row_set_works(RT_ROWS_AVX2), "AVX2");
    expect_stderr(0, "thread", "OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini run.kernels=portable");
    expect_text(w->err, portable_kernels);
    expect_stdout("# OpenBLAS 0.", "head -n 1 runs/tiny/config.ini");
    expect_text(w->out, portable_kernels);
    run("grep -c '%s' runs/tiny/timing.csv", portable_kernels);
    run("grep -c '%s' runs/tiny/report.html", portable_kernels);
    expect_stdout(portable_kernels, "h5dump -a /blas runs/tiny/checkpoints/step-00000060.h5");
    /* kernels below the processor are reported */
    expect_stderr(0,
                  "OpenBLAS computes with its kernels for SSE (Nehalem, as OPENBLAS_CORETYPE is "
                  "'Nehalem'): those for the AVX",
                  "OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini train.steps=20 run.name=below");
    expect_text(w->err, " times as fast; set OPENBLAS_CORETYPE=");
    expect_no_stderr("times as fast",
                     "OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini run.kernels=portable "
                     "train.steps=20 run.name=portable"); /* it was asked for */
}

/* The checkpoint names the kernels that rounded its products; OpenBLAS can be given others. */
TEST(other_kernels_of_the_blas_are_warned_about)
{
#define RESUMED "OPENBLAS_CORETYPE=%s $TRAIN tiny.ini --quiet --resume train.steps="
    run("OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini --quiet train.steps=30");
    expect_no_stderr("warning", RESUMED "31", "Nehalem");
    expect_stderr(0, " Nehalem, row kernels ", RESUMED "32", "Sandybridge");
    expect_text(w->err, "the continuation will not be bitwise identical");
    NEEDS(rt_row_set_works(RT_ROWS_AVX2), "AVX2");
    run("OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini --quiet --overwrite train.steps=30");
    expect_stderr(0, " Nehalem, row kernels ", RESUMED "40 run.kernels=portable", "Nehalem");
    expect_text(w->err, "this process computes with OpenBLAS 0.",
                "Haswell, row kernels AVX2: the continuation will not be bitwise identical");
    expect_no_stderr("warning", TINY "--resume run.kernels=portable");
}

TEST(portable_kernels_are_used_by_every_command_on_a_run)
{
    NEEDS(rt_row_set_works(RT_ROWS_AVX2), "AVX2");
    run("OPENBLAS_CORETYPE=Nehalem $TRAIN tiny.ini --quiet run.kernels=portable train.steps=20 "
        "sweep.run.seed=1,2");
    expect_stdout(" 2 # OpenBLAS 0.", "head -q -n 1 runs/tiny/*/config.ini | sort | uniq -c");
    expect_text(w->out, portable_kernels);
    expect_no_stderr("warning",
                     "OPENBLAS_CORETYPE=Nehalem $TRAIN --checkpoint runs/tiny/seed=1 --eval");
    expect_no_stderr("warning",
                     "OPENBLAS_CORETYPE=Nehalem $TRAIN runs/tiny/seed=1/config.ini --eval");
    expect_stderr(2, "run.kernels is the same for all runs of a sweep: set it in [run]",
                  TINY "sweep.run.kernels=native,portable run.name=both");
    ck_assert(!exists("runs/both"));
}

/* Returns whether run.engine = auto takes oneDNN for a new model of this width. */
static bool auto_takes_onednn(int width)
{
    char processor[RT_PROCESSOR_SIZE];
    const char *requested = getenv("OPENBLAS_CORETYPE");
    return (!requested || !*requested) &&
           rt_onednn_is_faster(rt_kernels_processor(processor), rt_row_set_widest(),
                               rt_openblas_kernels(), width);
}

TEST(run_engine_auto_keeps_the_engine_of_a_model)
{
    static const char *const named[] = {"openblas", "onednn"};
    static const char *const told[] = {"OpenBLAS", "oneDNN-"};
    NEEDS(HAS_ONEDNN, "oneDNN");
    for (int i = 0; i < 2; i++) {
        run(TINY "--overwrite run.engine=%s train.steps=20", named[i]);
        expect_no_stderr("warning", TINY "--resume train.steps=21");
        expect_stdout("2\n", "grep -c %s runs/tiny/timing.csv", told[i]);
        run("grep -q '^engine = %s$' runs/tiny/config.ini",
            auto_takes_onednn(16) == i ? "auto" : named[i]);
        expect_no_stderr("warning", "$TRAIN --checkpoint runs/tiny --eval");
        run(TINY
            "--overwrite train.trunk=runs/tiny run.name=branch theta.learn=yes train.steps=22");
        run("grep -q %s runs/branch/timing.csv", told[i]);
    }
}

TEST(run_engine_auto_is_openblas_for_portable_kernels_and_onednn_for_bf16)
{
    NEEDS(rt_row_set_works(RT_ROWS_AVX2), "AVX2");
    run(TINY "run.kernels=portable model.dim=64 train.steps=2");
    run("grep -q 'OpenBLAS 0.' runs/tiny/timing.csv");
    NEEDS(!shell(w, TINY "--check run.math=bf16 run.name=rounded"), BF16);
    run(TINY "--overwrite run.math=bf16 train.steps=2");
    run("grep -q oneDNN- runs/tiny/timing.csv");
}

TEST(onednn_is_faster_by_the_table_and_where_openblas_has_chosen_slower_kernels)
{
    static const struct {
        const char *processor;
        rt_row_set set;
        const char *openblas;
        bool narrow, wide; /* of width 16 and 64 */
    } cases[] = {
        {"AuthenticAMD 25 17", RT_ROWS_AVX512, "Cooperlake", false, true},
        {"GenuineIntel 6 207", RT_ROWS_AVX512, "SkylakeX", true, true},
        {"GenuineIntel 6 143", RT_ROWS_AVX512, "SapphireRapids", false, false},
        {"GenuineIntel 6 143", RT_ROWS_AVX512, "Prescott", true, true},
        {"GenuineIntel 6 143", RT_ROWS_AVX512, "Haswell", true, true},
        {"GenuineIntel 6 60", RT_ROWS_AVX2, "Haswell", false, false},
        /* as a build for one target spells it */
        {"GenuineIntel 6 60", RT_ROWS_AVX2, "HASWELL", false, false},
        {"GenuineIntel 6 60", RT_ROWS_AVX2, "Sandybridge", true, true},
        {"GenuineIntel 6 23", RT_ROWS_BASELINE, "Core2", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int wide = 0; wide < 2; wide++)
            ck_assert_msg(rt_onednn_is_faster(cases[i].processor, cases[i].set, cases[i].openblas,
                                              wide ? 64 : 16) ==
                              (wide ? cases[i].wide : cases[i].narrow),
                          "case %zu, wide %d", i, wide);
}

TEST(run_engine_auto_takes_the_faster_engine_unless_kernels_are_requested)
{
    NEEDS(HAS_ONEDNN, "oneDNN");
    for (int width = 16; width <= 64; width += 48) {
        run(TINY "--overwrite model.dim=%d train.steps=2", width);
        run("grep -q '%s' runs/tiny/timing.csv", auto_takes_onednn(width) ? "oneDNN-" : "OpenBLAS");
        run("OPENBLAS_CORETYPE=Nehalem " TINY "--overwrite model.dim=%d train.steps=2", width);
        run("grep -q Nehalem runs/tiny/timing.csv");
    }
}
