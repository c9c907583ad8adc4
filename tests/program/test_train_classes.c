/* Class scores of a training on labelled texts, and --predict for it, through the program. */

#include "markup.h"
#include "train_program.h"

/* The label is the text's most frequent letter, with exceptions; of tokens the first letter. */
static void make_files(void)
{
    run("mkdir sub; awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 300; i++) { k = i %% 3; s "
        "= \"\"; for (n = 0; n < 2 + i * 7 %% 5; n++) s = s substr(\"abc\", 1 + (k + (n %% 3 == "
        "2)) %% 3, 1); l = i %% 11 ? k : (k + 1) %% 3; print s \"\\t\" substr(\"ABC\", 1 + l, 1) } "
        "}' >sub/train.tsv; { echo 'text\tlabel'; sed -n '2,62p' sub/train.tsv; } >sub/test.tsv");
    run("awk 'NR > 1 { print $1 \"\\t\" $2; if (NR %% 4 == 0) print \"\" }' sub/train.tsv "
        ">sub/tags.tsv");
    run("printf '[data]\\ntask = classify\\nlevel = char\\nlength = 12\\nfile = "
        "train.tsv\\neval_file = test.tsv\\n[model]\\nlayers = 1\\ndim = 16\\nheads = "
        "2\\n[optimizer]\\nlr = 0.01\\n[train]\\nsteps = 40\\nbatch_size = 16\\neval_every = "
        "40\\n' >sub/c.ini");
}

#define CLASSIFY "sub/c.ini --quiet "
#define TAG      CLASSIFY "data.task=tag data.vocab=32 data.file=sub/tags.tsv data.eval_file= "

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

/* training/test_scores.c has how they follow from the confusion matrix. */
TEST_ROWS(printed_scores_are_those_of_the_tables, 0, 2)
{
    run("$TRAIN %s >out", _i ? TAG : CLASSIFY);
    run("awk -F, -v q=\"'\" 'NR > 1 { printf q $1 q \"    %%9.4f  %%6.4f  %%6.4f  %%8.0f\\n\", $2, "
        "$3, $4, $5 } END { exit NR != 4 }' runs/c/classes.csv >wanted && grep \"^'\" out | sort | "
        "cmp - wanted && head -n 1 runs/c/classes.csv | grep -x label,precision,recall,f1,count");
    expect_in_file("out", lasting("macro F1 %.4f (3 classes)\n", result_of("c", "macro_f1")));
    ck_assert_double_eq(result_of("c", "accuracy"), result_of("c", "eval_accuracy"));
}

TEST(evaluations_and_predictions_agree_with_the_confusion_matrix)
{
    run("$TRAIN " CLASSIFY ">out && sed -n '/^eval/,/^.C/p' out >trained");
    run("$TRAIN " CLASSIFY "--eval | sed -n '/^eval/,/^.C/p' | cmp - trained");
    expect_output("6\n", "grep -c '' trained");
    run("sed 1d sub/test.tsv | cut -f1 | $TRAIN " CLASSIFY
        "--predict - | cut -f1 >got; sed 1d sub/test.tsv | cut -f2 | paste -d, - got | sort | uniq "
        "-c | awk '{ print $2 \",\" $1 }' >counted; sed 1d runs/c/confusion.csv | sort | cmp - "
        "counted");
    /* an unfinished run has no classes yet */
    run("$TRAIN --report runs/c || test $? = 1");
    const double macro_f1 = result_of("c", "macro_f1");
    expect_text(page_text("runs/c/report.html"), lasting("\nmacro F1 %.4f\n", macro_f1),
                "\nClasses\n", "\nConfusion matrix\n");
    run("rm runs/c/result.csv; $TRAIN --report runs/c || test $? = 1");
    expect_no_text(read_file("runs/c/report.html"), "Confusion matrix");
}

TEST(predicted_labels_of_tokens_are_those_of_the_confusion_matrix)
{
#define WHOLE TAG "data.eval_fraction=0 data.length=40 "
    run("$TRAIN " WHOLE);
    run("awk -F'\t' '{ printf \"%%s\", NF ? $1 \" \" : \"\\n\" }' sub/tags.tsv | $TRAIN " WHOLE
        "--predict - | sed '$d' >got; cut -f1 sub/tags.tsv >words; cut -f1 got | cmp - words");
    run("cut -f2 got >labels; cut -f2 sub/tags.tsv | paste -d, - labels | grep -v '^,$' | sort | "
        "uniq -c | awk '{ print $2 \",\" $1 }' >counted; sed 1d runs/c/confusion.csv | sort | cmp "
        "- counted");
}

TEST(the_20_classes_with_the_lowest_f1_are_printed)
{
    double last = -1, f1;
    int rows = 0;
    run("awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 500; i++) print "
        "substr(\"abcdefghijklmnopqrstuvwxyz\", 1 + i %% 25, 1 + i %% 7 %% 2) \"\\tl\" i %% 25 }' "
        ">sub/many.tsv");
    expect_stdout("macro F1 ",
                  "$TRAIN " CLASSIFY
                  "data.file=sub/many.tsv data.eval_file= data.eval_fraction=0 train.steps=60");
    expect_text(w->out, " (25 classes)\n",
                "\nthese are the 20 of the 25 classes with the lowest F1\n");
    for (const char *at = w->out; (at = strstr(at, "\n'l")); rows++) {
        ck_assert_int_eq(sscanf(at, "\n%*s %*f %*f %lf", &f1), 1);
        ck_assert_double_ge(f1, last);
        last = f1;
        at++;
    }
    ck_assert_int_eq(rows, 20);
    expect_output("26\n", "grep -c '' runs/c/classes.csv");
}

TEST(runs_without_labels_have_no_classes)
{
    run("$TRAIN " CLASSIFY "run.name=tiny");
    ck_assert(exists("runs/tiny/classes.csv") && exists("runs/tiny/confusion.csv"));
    run("$TRAIN tiny.ini data.task=order data.vocab=12 --quiet --overwrite");
    ck_assert(!exists("runs/tiny/classes.csv") && !exists("runs/tiny/confusion.csv"));
    expect_no_text(w->out, "macro F1");
    expect_exit(w, 1, "grep -e ^accuracy -e ^macro runs/tiny/result.csv");
    expect_stdout("macro F1", "$TRAIN " CLASSIFY "train.steps=5 sweep.run.seed=1,2");
    expect_no_stdout("macro F1", TINY "train.steps=2 sweep.run.seed=1,2 run.name=copies");
    /* a class that neither occurs nor is predicted says nothing */
    run("echo 'aaaaaaaaaaaaaaaa\tZ' >>sub/train.tsv");
    expect_stdout(" (3 classes)\n", "$TRAIN " CLASSIFY "run.name=three");
    expect_no_text(w->out, "'Z'");
    expect_output("Z,0,0,0,0\n", "grep '^Z' runs/three/classes.csv");
}

/* A model that would read a second line before it answers the first waits here for ever. */
TEST(a_line_is_answered_before_the_next_one_is_read)
{
    run("$TRAIN " CLASSIFY);
    run("mkfifo in out; $TRAIN " CLASSIFY
        "--predict - <in >out & exec 3>in 4<out; for t in aab bbbc cc; do echo $t >&3; read -r "
        "answer <&4; test \"$answer\" = \"$($TRAIN " CLASSIFY
        "--predict $t)\" || exit 9; done; exec 3>&-; wait $!");
}

TEST(empty_lines_are_refused_and_truncated_or_unknown_text_is_a_warning)
{
    run("$TRAIN " CLASSIFY);
    expect_message(2, "train: the text is empty\n", "$TRAIN " CLASSIFY "--predict ''");
    expect_message(2, "train: line 2: the text is empty\n",
                   "printf 'ab\\n\\nab\\n' >lines; $TRAIN " CLASSIFY "--predict - <lines");
    ck_assert_int_eq(count_of(w->out, "\n"), 1);
    expect_message(0,
                   "train: warning: characters of the text that are not in the vocabulary and are "
                   "read as [UNK]: 1, the first is 'X' at byte 1\ntrain: warning: the text is "
                   "longer than data.length = 12 and is cut at the end\n",
                   "$TRAIN " CLASSIFY "--predict aXbbbbbbbbbbbbbbbbb");
    expect_message(0,
                   "train: warning: characters of standard input that are not in the vocabulary "
                   "and are read as [UNK]: 3, the first is 'X' at byte 22\ntrain: warning: of 3 "
                   "texts 1 are longer than data.length = 12 and are cut at the end\n",
                   "printf 'ab\\naaaaaaaaaaaaaaaaa\\naXbYY\\n' | $TRAIN " CLASSIFY "--predict -");
}

/* A model of pairs takes a line without a tab as one text: it may have been trained on both. */
TEST(a_tab_separates_the_texts_of_a_pair)
{
#define PAIRS CLASSIFY "data.file=sub/pairs.tsv data.eval_file= "
    run("awk 'NR == 1 { print \"text\\ttext_b\\tlabel\" } NR > 1 { print $1 \"\\tx\\t\" $2 }' "
        "sub/train.tsv >sub/pairs.tsv; $TRAIN " PAIRS);
    run("printf 'aab\\tb\\naab\\n' | $TRAIN " PAIRS "--predict -");
    ck_assert_int_eq(count_of(w->out, "\t0."), 2);
}
