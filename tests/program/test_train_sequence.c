/* Token files, cached texts, mixtures and documents: the same bytes; data that goes away. */

#include "train_program.h"

/* A run on a text of two files, and the same text as ids. */
static void make_texts(void)
{
    expect_stdout(
        "a.h5: 40893 tokens",
        "seq 3000 | sed 's/$/ and more/' >a.txt; seq 4000 6000 >b.txt; sed 's/^vocab.*/task = "
        "text\\nfile = a.txt/; s/^learn.*/learn = no/; s/^steps = 60/steps = 12/' tiny.ini >t.ini; "
        "$TRAIN --encode t.ini b.bin data.file=b.txt; $TRAIN --encode t.ini a.h5");
}

#define RUN "$TRAIN t.ini --quiet --overwrite "
#define MIX "'data.file=a.txt*3, b.bin*1.5' data.documents=line data.cross=no "

SUITE(PROGRAM_OPTIONS, .prepare = make_texts)

TEST(the_folder_of_the_cache_follows_from_the_environment)
{
    expect_stderr(
        0, "data.file: the tokens of ",
        "ROTOR_CACHE_FROM=1 XDG_CACHE_HOME=$PWD/xdg $TRAIN t.ini --overwrite train.steps=1");
    run("ls xdg/rotor/*.npy");
    run("unset XDG_CACHE_HOME; ROTOR_CACHE_FROM=1 HOME=$PWD/home " RUN "train.steps=1");
    run("ls home/.cache/rotor/*.npy");
    run("XDG_CACHE_HOME=$PWD/none " RUN "train.steps=1; ! ls none");
    expect_stderr(1, "Not a directory (data.cache = ",
                  "touch file; ROTOR_CACHE_FROM=1 " RUN "data.cache=file");
}

TEST(a_mixture_is_exact_under_threads_and_resume)
{
    run(RUN MIX "run.name=whole run.threads=1");
    run(RUN MIX "run.name=parts run.threads=2 train.steps=6");
    run("$TRAIN t.ini --quiet " MIX "run.name=parts --resume");
    expect_same_files("runs/whole/metrics.csv", "runs/parts/metrics.csv");
    run("ROTOR_CACHE_FROM=1 " RUN MIX "run.name=cached data.cache=cache && ls cache/*.npy");
    expect_same_files("runs/whole/metrics.csv", "runs/cached/metrics.csv");
    /* a text as a file of its ids */
    run(RUN "run.name=text && " RUN "run.name=ids data.file=a.h5:/train");
    expect_same_files("runs/text/metrics.csv", "runs/ids/metrics.csv");
    expect_stderr(2, "data.cross: the run has 'no'",
                  "$TRAIN t.ini --quiet 'data.file=a.txt*3, b.bin*1.5' data.documents=line "
                  "run.name=parts --resume");
}

/* The evaluation of step 4 takes the file away. */
TEST(a_file_that_is_cut_while_it_is_read_ends_the_run_with_a_checkpoint)
{
    static const char *const harms[] = {"truncate -s 100 b.bin", "cp a.txt c; mv c b.bin"};
    static const char *const messages[] = {"became shorter", "was replaced or removed"};
    for (int i = 0; i < 2; i++) {
        run("$TRAIN --encode t.ini b.bin data.file=b.txt --overwrite; rm -rf runs/t");
        expect_stderr(3, messages[i],
                      "$TRAIN t.ini data.file=b.bin train.steps=10000000 run.name=t >out 2>err & "
                      "until [ -s runs/t/metrics.csv ] && grep -q '^[0-9]' runs/t/metrics.csv; do "
                      "sleep 0.05; done; %s; wait $!; code=$?; cat err >&2; exit $code",
                      harms[i]);
        expect_text(w->err, "a checkpoint holds step ");
        run("ls runs/t/checkpoints/*.h5");
    }
}

TEST(encode_replaces_a_file_only_with_overwrite)
{
    static const char *const names[] = {"o.npy", "o.bin", "o.h5"};
    for (int i = 0; i < 3; i++) {
        expect_stderr(2, ": the file exists; give --overwrite to replace it",
                      "echo mine >%s; $TRAIN --encode t.ini %s data.file=b.txt", names[i],
                      names[i]);
        expect_output("mine\n", "cat %s", names[i]);
        run("$TRAIN --encode t.ini %s data.file=b.txt --overwrite", names[i]);
        expect_exit(w, 1, "grep mine %s", names[i]);
    }
    expect_stderr(2, "o.bin is read; name another file to write",
                  "cp o.bin before; $TRAIN --encode t.ini o.bin data.file=o.bin --overwrite");
    run("cmp o.bin before");
    run("mkfifo p.bin; cat p.bin >got & $TRAIN --encode t.ini p.bin data.file=b.txt; wait; test -p "
        "p.bin && cmp got o.bin");
    /* what it cannot write */
    expect_each_refused("$TRAIN --encode",
                        {2, "t.ini", "--encode takes a CONFIG.ini and the file to write"},
                        {2, "t.ini n.txt", "name ends in .h5, .npy or .bin; got 'n.txt'"},
                        {2, "t.ini n.npy 'data.file=a.txt*2,b.txt*1'",
                         "data.file is a mixture with weights"},
                        {2, "tiny.ini n.npy", "--encode needs data.task = text or tokens"});
    expect_exit(w, 1, "(ulimit -f 8; $TRAIN --encode t.ini n.npy)");
    run("! ls n.*");
}
