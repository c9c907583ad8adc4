/* `train --report RUN RUN ...`: a page that compares runs. */

#include "markup.h"
#include "train_program.h"

#define SHORT TINY "train.steps=20 "

static void make_runs(void)
{
    run(SHORT "run.name=a1 && " SHORT "run.name=a2 run.seed=2 && " SHORT
              "run.name=b run.dir=elsewhere model.dim=24 theta.learn=no");
}

SUITE(PROGRAM_OPTIONS)

TEST(a_comparison_shows_the_differing_keys_and_the_results)
{
    NEEDS_PROGRAM("gnuplot");
    make_runs();
    expect_output("report: report.html\n",
                  "mkdir tmp && TMPDIR=$PWD/tmp $TRAIN --report runs/a1 runs/a2 elsewhere/b");
    run("rmdir tmp"); /* nothing stays behind */
    /* not among sources */
    expect_output(
        "report: runs/compare-a1-b/report.html\n",
        "mv report.html kept; touch CMakeLists.txt; $TRAIN --report runs/a1/ elsewhere/b");
    run("cd runs && mkdir .git && $TRAIN --report ../elsewhere/b a1 a2");
    expect_text(page_text("elsewhere/compare-b-a1/report.html"), "\n3 runs compared\n");
    ck_assert(!exists("report.html") && !exists("runs/report.html"));
    run("rm CMakeLists.txt; mv kept report.html");
    expect_text(page_text("report.html"), "\n3 runs compared\n", "\n3 of 3 runs finished\n",
                "\n| run | runs | loss | accuracy | ", " | dim | learn\n", "\n| a1, a2 | 2 | ",
                " | 16 | yes\n", "\n| b | 1 | ", " | 24 | no\n", "dim=24, learn=no");
    const char *page = read_file("report.html");
    /* loss by two keys, loss, accuracy, theta, loss by tokens and by time */
    ck_assert_int_eq(count_in(page, "//svg:svg"), 7);
    ck_assert_int_eq(count_in(page, "//svg:svg/@style"), 0); /* each fits a narrow screen */
    expect_no_text(page, "href=\"a1");
    /* a sweep stands for its runs */
    run(SHORT "run.name=s sweep.run.seed=1,2 theta.learn=no");
    expect_output("report: all.html\n", "$TRAIN --report runs/s runs/a1 --output all.html");
    expect_text(page_text("all.html"), "\n3 runs compared\n", "| seed=1, seed=2 | ");
    /* a copy is no second seed */
    run(SHORT "run.name=copy run.threads=2 && $TRAIN --report runs/a1 runs/copy");
    expect_text(page_text("report.html"),
                "\n1 run has the effective settings and the seed of another (copy): counted once\n",
                "\n| a1 | 1 | ");
    expect_no_text(read_file("report.html"), "±");
}

#define OWN  TINY "theta.learn=no data.task=text data.vocab=32 "
#define TEXT OWN "train.steps=20 data.file=text.txt "

#define BPE TEST_SOURCES "/fixtures/llama/bpe/tokenizer.json"

static void make_texts(void)
{
    run("for i in $(seq 200); do printf 'one \303\244\342\202\254\n'; done >text.txt; (cat "
        "text.txt; echo one) >other.txt");
    run("$TRAIN --train-tokenizer 40 --level wordpiece text.txt >vocab.txt 2>/dev/null");
}

static const char *compare(const char *runs)
{
    run("$TRAIN --report %s", runs);
    return page_text("report.html");
}

/* Nine keys follow from model.kind, two from train.steps and data.task; an own value is shown. */
TEST(keys_that_follow_from_others_are_left_out)
{
    NEEDS_PROGRAM("gnuplot");
    static const char decoder[] = "model.kind=decoder";
    make_texts();
    run(TEXT "run.name=a optimizer.schedule_steps=20 && " OWN
             "run.name=b data.file=text.txt train.steps=21 optimizer.schedule_steps=21 %s && " TEXT
             "run.name=c optimizer.schedule_steps=20 model.norm=post %s",
        decoder, decoder);
    const char *page = compare("runs/a runs/b");
    expect_text(page, " | kind | objective | steps\n", "kind=decoder, objective=lm, steps=21");
    page = compare("runs/a runs/b runs/c");
    expect_no_text(page, "| norm_kind");
    expect_text(page, " | kind | norm | objective");
}

/* test_trainer.c has all settings that make losses incomparable. */
TEST(no_row_is_best_where_losses_are_not_comparable)
{
    NEEDS_PROGRAM("gnuplot");
    make_texts();
    run(TEXT "run.name=a && " TEXT "run.name=c model.dim=8 && " OWN
             "data.file=other.txt run.name=other train.steps=20");
    expect_text(compare("runs/a runs/other"),
                "No row is in bold: losses of different data are not comparable.\n");
    expect_no_text(read_file("report.html"), "class=\"best\"");
    run("mkdir moved; mv text.txt moved; " OWN
        "train.steps=20 run.name=here data.file=moved/text.txt");
    expect_no_text(compare("runs/a runs/here"), "not comparable"); /* by its content */
    const char *page = compare("runs/a runs/c");
    expect_text(page, "\nlowest loss: ", "\nNo row is in bold: without two common seeds ");
}

TEST(runs_on_different_texts_are_ranked_by_the_file_that_both_are_evaluated_on)
{
    NEEDS_PROGRAM("gnuplot");
    make_texts();
    run("tail -n 50 text.txt >own.txt; " TEXT "run.name=a data.eval_file=own.txt && " OWN
        "run.name=b data.eval_file=own.txt data.file=other.txt train.steps=20 && " OWN
        "run.name=c data.eval_file=text.txt data.file=other.txt train.steps=20 && mkdir else && cp "
        "text.txt else && " OWN
        "train.steps=20 run.name=d data.eval_file=own.txt data.file=else/text.txt");
    const char *page = compare("runs/a runs/b");
    expect_text(page, "\nlowest loss: ", " | other.txt\n", "file=text.txt");
    page = compare("runs/b runs/c");
    expect_text(page, "losses of different data are not comparable");
    /* a file is called by its name, unless another has the same */
    page = compare("runs/a runs/d");
    expect_text(page, "/else/text.txt\n");
}

/* Ten bytes are seven tokens at level char and ten at level byte; a token of level bpe has a byte
 * or more. The bytes of a word piece are unknown, as are the bits of a masked text. */
TEST(vocabularies_are_compared_by_bits_per_byte)
{
    NEEDS_PROGRAM("gnuplot");
    static const char lm[] = "data.objective=lm model.causal=yes train.eval_batches=0";
    make_texts();
    run(TEXT "%s run.name=bytes && " TEXT "%s run.name=chars data.level=char && " TEXT
             "%s run.name=pieces data.level=wordpiece data.vocab_file=vocab.txt",
        lm, lm, lm);
    run(TEXT "run.name=masked && " TEXT "%s run.name=bpe data.level=bpe data.vocab_file=" BPE, lm);
    const double bytes = result_of("bytes", "bits_per_byte"),
                 chars = result_of("chars", "bits_per_byte");
    ck_assert_double_eq_tol(bytes, result_of("bytes", "eval_loss") / log(2), 1e-6);
    ck_assert_double_eq_tol(chars / (result_of("chars", "eval_loss") / log(2)), 7.0 / 10, 0.03);
    const double bpe = result_of("bpe", "bits_per_byte") / (result_of("bpe", "eval_loss") / log(2));
    ck_assert_msg(bpe > 0.2 && bpe < 1, "%g tokens a byte", bpe);
    ck_assert(isnan(result_of("pieces", "bits_per_byte")) &&
              isnan(result_of("masked", "bits_per_byte")));
    const char *page = compare("runs/bytes runs/chars");
    expect_text(
        page, "| loss | bits/byte | accuracy",
        "No row is in bold: without two common seeds nothing tells the row with the fewest ",
        "\nbits/byte\n", "\nEvaluation loss in bits per byte\n",
        bytes < chars ? "\nfewest bits per byte: bytes, " : "\nfewest bits per byte: chars, ");
    page = compare("runs/bytes runs/pieces");
    expect_text(page, "\nNo row is in bold: losses of different vocabularies are not ");
}

TEST(runs_of_one_name_and_without_results_are_compared)
{
    NEEDS_PROGRAM("gnuplot");
    make_runs();
    run(SHORT
        "run.name=b run.dir=third && rm third/b/result.csv && $TRAIN --report elsewhere/b third/b");
    expect_text(page_text("report.html"), "\n1 of 2 runs finished\n");
    /* a report is replaced and nothing else */
    run("$TRAIN --report runs/a1 runs/a2 elsewhere/b");
    write_file("mine.html", "<html><head><title>mine</title>\n");
    expect_stderr(2, "mine.html is not a report of rotor: it was not replaced",
                  "$TRAIN --report runs/a1 elsewhere/b --output mine.html");
    ck_assert_str_eq(read_file("mine.html"), "<html><head><title>mine</title>\n");
    /* names that files of the comparison have */
    run("mv runs/a1 runs/figures && mv runs/a2 runs/runs.csv && $TRAIN --report runs/figures "
        "elsewhere/b");
    run("mkdir more && mv runs/runs.csv more && $TRAIN --report more/runs.csv elsewhere/b");
    ck_assert_int_eq(count_in(read_file("report.html"), "//svg:svg"), 7);
}

TEST(folders_that_cannot_be_compared_are_refused)
{
    make_runs();
    run("mkfifo pipe");
    expect_each_refused("$TRAIN --report runs/a1",
                        {2, "runs/none", "runs/none is not the folder of a run: "},
                        {2, "tiny.ini", "tiny.ini is not the folder of a run: "},
                        {2, "--output x.html", "--output needs --report with several runs"},
                        {1, "elsewhere/b --output none/x.html", "none"},
                        {2, "elsewhere/b --output pipe", ""});
    run("test -p pipe");
    ck_assert(!exists("report.html") && !exists("x.html"));
}

TEST(a_run_is_watched_until_it_ends)
{
    NEEDS_PROGRAM("gnuplot");
    make_runs();
    /* the run stands still meanwhile: the line comes at once, not with the next report */
    run(TINY "train.steps=1000000 run.name=long & trainer=$!; " WAIT_FOR_ROW(
        "20", "runs/long/metrics.csv") "kill -STOP $trainer; $TRAIN --watch runs/long >watched & "
                                       "watcher=$!; until grep -q 'http-equiv=.refresh' "
                                       "runs/long/report.html 2>.grep && test -s watched; do kill "
                                       "-0 $watcher || exit 99; sleep 0.01; done; kill -0 $watcher "
                                       "|| exit 98; kill -INT $trainer && kill -CONT $trainer || "
                                       "exit 97; wait $watcher");
    run("grep -c report: watched");
    ck_assert_int_ge(atoi(w->out), 2);
    run("$TRAIN --watch runs/a1");
    expect_no_text(read_file("runs/a1/report.html"), "http-equiv");
    run(SHORT "run.name=s sweep.run.seed=1,2");
    expect_each_refused("$TRAIN --watch", {2, "runs/none", ""},
                        {2, "runs/s", "--watch takes the folder of a run, not of a sweep"},
                        {2, "runs/a1 runs/a2", "--watch takes only one run"},
                        {2, "runs/a1 --report runs/a2", ""});
}

TEST(runs_on_a_text_that_was_replaced_share_no_row_and_are_not_compared)
{
    NEEDS_PROGRAM("gnuplot");
    make_texts();
    run(TEXT "run.name=a && " TEXT
             "run.name=b run.seed=2 && sed 's/one/two/' other.txt >text.txt && " TEXT
             "run.name=c run.seed=3");
    const char *page = compare("runs/a runs/b runs/c");
    expect_text(page, "| a, b | 2 | ", "| c | 1 | ", "losses of different contents of ",
                "/text.txt are not comparable.\n");
    expect_text(compare("runs/a runs/b"), "| a, b | 2 | ");
    expect_no_text(page_text("report.html"), "not comparable");
    /* one that was trained on both is none of the newer text */
    run("$TRAIN runs/b/config.ini --resume --quiet train.steps=30");
    run("$TRAIN runs/c/config.ini --resume --quiet train.steps=30");
    expect_text(compare("runs/b runs/c"), "losses of different contents of ");
}

TEST(runs_with_a_vocabulary_that_was_replaced_are_not_compared)
{
    NEEDS_PROGRAM("gnuplot");
    make_texts();
    run(TEXT "run.name=a data.level=char && cp runs/a/vocab.txt v.txt");
    run(TEXT
        "run.name=b data.level=char data.vocab_file=v.txt && { sed '$d' runs/a/vocab.txt; echo Z; "
        "tail -n 1 runs/a/vocab.txt; } >v.txt");
    run(TEXT "run.name=c data.level=char data.vocab_file=v.txt run.seed=2");
    expect_text(compare("runs/b runs/c"), "losses of different contents of ",
                "/v.txt are not comparable.\n");
}

/* A batch at level char covers more of the text than one at level byte. */
TEST(bits_per_byte_of_different_amounts_of_text_are_not_compared)
{
    NEEDS_PROGRAM("gnuplot");
    make_texts();
    for (int batches = 0; batches < 2; batches++)
        for (int chars = 0; chars < 2; chars++)
            run(TEXT "data.objective=lm model.causal=yes train.eval_batches=%d run.name=%s%d "
                     "data.level=%s",
                batches, chars ? "chars" : "bytes", batches, chars ? "char" : "byte");
    expect_text(compare("runs/bytes0 runs/chars0"), "\nfewest bits per byte: ");
    const char *page = compare("runs/bytes1 runs/chars1");
    expect_text(page,
                "\nNo row is in bold: losses of different amounts of text "
                "(take all of a data.eval_file: train.eval_batches = 0) are not comparable.\n");
    expect_no_text(page, "fewest");
    ck_assert_double_eq(result_of("bytes1", "eval_bytes"), 8 * 11);
    /* a run that has no results is of no amount */
    run("cp -r runs/chars1 runs/failed && sed -i '/^eval_\\|^bits/d' runs/failed/result.csv");
    expect_text(compare("runs/failed runs/bytes1 runs/bytes0"), "evaluation sequences");
    expect_no_text(compare("runs/failed runs/bytes1"), "not comparable");
    const double bytes = result_of("bytes0", "eval_bytes"), all = result_of("chars0", "eval_bytes");
    ck_assert_double_eq_tol(bytes / all, 1, 0.05);
}
