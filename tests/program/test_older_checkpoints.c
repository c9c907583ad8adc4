/* Checkpoints of versions 1 and 2: refused by everything that reads a model. The tables of a run
 * that has them are still drawn. */

#include "train_program.h"

#include "io/rotor-io.h"
#include "sealing.h"

#include <hdf5.h>

#define RUN    "runs/lm/checkpoints/step-00000004.h5"
#define CONFIG "runs/lm/config.ini run.dir=runs --quiet "

static void set_version(const char *path, int version)
{
    static unsigned char bytes[1 << 20];
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "version", H5P_DEFAULT);
    ck_assert(H5Awrite(attribute, H5T_NATIVE_INT, &version) >= 0);
    H5Aclose(attribute);
    ck_assert(H5Fclose(file) >= 0);
    FILE *read = fopen(path, "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, read);
    ck_assert(feof(read) && size > RT_CHECKSUM_BLOCK_SIZE);
    fclose(read);
    rt_status status =
        write_sealed(path, bytes + RT_CHECKSUM_BLOCK_SIZE, size - RT_CHECKSUM_BLOCK_SIZE);
    ck_assert_msg(!status.code, "%s", status.message);
}

/* A run with two checkpoints, which are then of that version. */
static void make_run(int version)
{
    static const char *const checkpoints[] = {"runs/lm/checkpoints/step-00000002.h5", RUN};
    run("for i in $(seq 60); do printf 'abcdefghijklmnop'; done >text.txt");
    run("$TRAIN tiny.ini --quiet run.name=lm data.task=text data.vocab=32 data.level=char "
        "data.file=text.txt train.steps=4 train.checkpoint_every=2 train.eval_every=2");
    for (int i = 0; i < 2; i++)
        set_version(checkpoints[i], version);
}

static const char *message_of(int version, char message[256])
{
    snprintf(message, 256,
             "step-00000004.h5: version is %d; this program reads version 3: train again (--report "
             "still draws the tables of an older run)",
             version);
    return message;
}

SUITE(PROGRAM_OPTIONS)

/* With the file, with the folder of the run and by the run's own configuration. */
TEST_ROWS(what_reads_a_model_refuses_it, 0, 2)
{
    static const char *const commands[] = {
        "--eval --checkpoint " RUN,
        "--eval --checkpoint runs/lm",
        CONFIG "--eval",
        CONFIG "--resume",
        CONFIG "--resume train.steps=6",
        CONFIG "--predict 'abc[MASK]e'",
        "--predict 'abc[MASK]e' --checkpoint " RUN,
        CONFIG "--export there",
        "--export there --checkpoint " RUN,
        "--print-config --checkpoint " RUN,
        CONFIG "run.name=new train.init_from=" RUN,
        CONFIG "run.name=new train.init_from=runs/lm",
        CONFIG "run.name=new train.init_from=" RUN " --check",
    };
    const int version = _i + 1;
    char message[256];
    make_run(version);
    run("cp -r runs before");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_told(4, message_of(version, message), "$TRAIN %s", commands[i]);
    run("diff -r before runs && test ! -e there");
}

TEST_ROWS(the_library_refuses_it, 0, 2)
{
    char message[256];
    rt_model *model;
    make_run(_i + 1);
    const rt_status status = rt_model_open(&model, RUN);
    ck_assert_int_eq(status.code, RT_CHECKPOINT);
    expect_text(status.message, message_of(_i + 1, message));
    ck_assert_ptr_null(model);
}

/* Alone, beside another run, and beside one of today. */
TEST(a_report_draws_its_tables)
{
    NEEDS_PROGRAM("gnuplot");
    char message[256];
    make_run(2);
    expect_told(0, message_of(2, message), "$TRAIN --report runs/lm");
    run("grep -q '<svg' runs/lm/report.html");
    run("$TRAIN tiny.ini --quiet run.name=now train.steps=4");
    run("$TRAIN --report runs/lm runs/now --output both.html");
    run("grep -q '<svg' both.html");
}
