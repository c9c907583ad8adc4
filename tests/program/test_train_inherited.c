/* Inherited signals, limits and closed streams; more of a process is in data/test_process.c. */

#include "train_program.h"

SUITE(PROGRAM_OPTIONS)

/* The parent waits for none of its children. dash cannot be made to do so. */
TEST(runs_and_gnuplot_end_under_a_parent_that_ignores_sigchld)
{
#define CHILDREN_IGNORED "(exec env --ignore-signal=CHLD $TRAIN "
    expect_stdout("sweep: runs/tiny\n",
                  CHILDREN_IGNORED "tiny.ini --quiet train.steps=4 sweep.run.seed=1,2,3)");
    expect_in_file("runs/tiny/runs.csv", "\nseed=3,3,0,4,");
    NEEDS_PROGRAM("gnuplot");
    expect_message(0, "", CHILDREN_IGNORED "--report runs/tiny/seed=1)");
    expect_in_file("runs/tiny/seed=1/report.html", "<svg");
}

/* The reader is gone once echo fails. */
TEST(a_closed_pipe_ends_the_program_although_sigpipe_was_ignored)
{
    run("{ (trap '' PIPE; while echo; do :; done 2>/dev/null; exec $TRAIN --help); echo $? >code; "
        "} | :; grep -x 141 code");
}

/* A limit on files ends no command without a word, and leaves nothing that is half written. The
 * signal of the limit would end a program that does not ignore it. */
TEST(every_command_reports_a_file_size_limit)
{
#define UNPRINTED 1, "the results could not be printed"
    static const struct {
        const char *limit, *arguments;
        int code;
        const char *message;
    } rows[] = {
        {"ulimit -f 16; $TRAIN", "tiny.ini --quiet --resume train.steps=8", 6,
         "step-00000008.h5.tmp: File too large"},
        {"ulimit -f 4; $TRAIN", "tiny.ini --export model", 1,
         "model.safetensors.tmp: File too large"},
        {"ulimit -f 8; $TRAIN", "--report runs/tiny", 1, "report.html.tmp: File too large"},
        {"ulimit -f 1; $TRAIN", "--help", UNPRINTED},
        {"$TRAIN >/dev/full", "--train-tokenizer 200 --level wordpiece words.txt", UNPRINTED},
        {"$TRAIN >/dev/full", "--train-tokenizer 200 --level wordpiece words.txt --lowercase",
         UNPRINTED},
        {"$TRAIN >/dev/full", "--train-tokenizer 300 words.txt", UNPRINTED},
        {"$TRAIN >/dev/full", "tiny.ini --eval", UNPRINTED},
        {"$TRAIN >/dev/full", "tiny.ini --print-config --quiet", UNPRINTED},
        {"$TRAIN >/dev/full", "tiny.ini --decay", UNPRINTED},
        {"$TRAIN >/dev/full", "lm.ini --quiet --predict y --tokens 400", UNPRINTED},
        {"$TRAIN >/dev/full", "lm.ini --quiet --predict y --jsonl", UNPRINTED},
    };
    write_file("words.txt", "every word of a text is a piece and some of them are longer than "
                            "others while several are the same\n");
    write_file("lm.ini", "[run]\nname = lm\n[model]\nlayers = 1\ndim = 8\nheads = 1\n"
                         "causal = yes\n[data]\ntask = text\nfile = words.txt\nlevel = byte\n"
                         "objective = lm\nlength = 8\neval_fraction = 0.2\n[train]\nsteps = 2\n"
                         "batch_size = 2\neval_batches = 1\n");
    run(TINY "train.steps=4 && $TRAIN lm.ini --quiet");
    for (int i = 0; i < ROWS(rows); i++) {
        expect_stderr(rows[i].code, rows[i].message, "%s %s", rows[i].limit, rows[i].arguments);
        expect_output("", "find . -name '*.tmp'");
    }
}

/* Each stream closed, and all of them. Text that cannot be printed is an error and gets into no
 * file. */
TEST_ROWS(closed_streams_change_no_file_of_a_training, 0, 4)
{
    static const char *const closed[] = {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"};
    expect_exit(w, strstr(closed[_i], " >&-") || *closed[_i] == '>',
                "$TRAIN tiny.ini run.name=closed train.steps=4 %s", closed[_i]);
    run(TINY "train.steps=4 run.name=open");
    expect_same_in("open", "closed", "metrics.csv theta.csv result.csv");
    run("$TRAIN --checkpoint runs/closed --eval --quiet");
}
