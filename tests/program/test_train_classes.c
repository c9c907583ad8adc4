/* Class scores of a training on labelled texts, and --predict for it, through the program. */

#include "train_program.h"

#include "text/csv.h"

/* The label is the letter that the text has most of, now and then another one; of tokens the first
 * letter of each. */
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

enum { CLASSES = 3 };

/* The matrix that confusion.csv has. */
static void read_confusion(const char *folder, double matrix[CLASSES][CLASSES])
{
    rt_csv csv;
    memset(matrix, 0, CLASSES * sizeof *matrix);
    ck_assert(rt_csv_open(&csv, folder, "confusion.csv"));
    while (rt_csv_row(&csv)) {
        const int from = *rt_csv_cell(&csv, "true") - 'A';
        const int to = *rt_csv_cell(&csv, "predicted") - 'A';
        ck_assert(from >= 0 && from < CLASSES && to >= 0 && to < CLASSES && matrix[from][to] == 0);
        matrix[from][to] = rt_csv_number(&csv, "count");
        ck_assert_double_gt(matrix[from][to], 0);
    }
    rt_csv_close(&csv);
}

/* ---- scores ---- */

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

TEST_ROWS(the_scores_are_those_of_the_confusion_matrix, 0, 2)
{
    double m[CLASSES][CLASSES], right = 0, all = 0, macro = 0;
    rt_csv csv;
    int c = 0;
    run("$TRAIN %s", _i ? TAG : CLASSIFY);
    const char *printed = lasting("%s", w->out);
    read_confusion("runs/c", m);
    ck_assert(rt_csv_open(&csv, "runs/c", "classes.csv"));
    for (; rt_csv_row(&csv); c++) {
        double count = 0, predicted = 0;
        for (int k = 0; k < CLASSES; k++) {
            count += m[c][k];
            predicted += m[k][c];
        }
        const double precision = predicted > 0 ? m[c][c] / predicted : 0;
        const double recall = count > 0 ? m[c][c] / count : 0;
        const double f1 = count + predicted > 0 ? 2 * m[c][c] / (count + predicted) : 0;
        ck_assert_int_eq(*rt_csv_cell(&csv, "label"), 'A' + c);
        ck_assert_double_eq_tol(rt_csv_number(&csv, "precision"), precision, 1e-8);
        ck_assert_double_eq_tol(rt_csv_number(&csv, "recall"), recall, 1e-8);
        ck_assert_double_eq_tol(rt_csv_number(&csv, "f1"), f1, 1e-8);
        ck_assert_double_eq(rt_csv_number(&csv, "count"), count);
        ck_assert_str_eq(line_of(printed, lasting("'%c' ", 'A' + c)),
                         lasting("'%c'    %9.4f  %6.4f  %6.4f  %8.0f", 'A' + c, precision, recall,
                                 f1, count));
        right += m[c][c];
        all += count;
        macro += f1 / CLASSES;
    }
    rt_csv_close(&csv);
    ck_assert_int_eq(c, CLASSES);
    ck_assert_double_gt(all, right);
    ck_assert_double_eq_tol(result_of("c", "accuracy"), right / all, 1e-8);
    ck_assert_double_eq(result_of("c", "accuracy"), result_of("c", "eval_accuracy"));
    ck_assert_double_eq_tol(result_of("c", "macro_f1"), macro, 1e-8);
    ck_assert_str_eq(line_of(printed, "macro F1 "), lasting("macro F1 %.4f (3 classes)", macro));
}

/* The rows of the evaluation, asked one by one, make the same matrix. */
TEST(evaluations_and_predictions_are_what_was_counted)
{
    run("$TRAIN " CLASSIFY ">out && sed -n '/^eval/,/^.C/p' out >trained");
    run("$TRAIN " CLASSIFY "--eval | sed -n '/^eval/,/^.C/p' | cmp - trained");
    expect_output("6\n", "grep -c '' trained");
    run("sed 1d sub/test.tsv | cut -f1 | $TRAIN " CLASSIFY
        "--predict - | cut -f1 >got; sed 1d sub/test.tsv | cut -f2 | paste -d, - got | sort | uniq "
        "-c | awk '{ print $2 \",\" $1 }' >counted; sed 1d runs/c/confusion.csv | sort | cmp - "
        "counted");
}

TEST(what_is_predicted_of_tokens_is_what_was_counted)
{
#define WHOLE TAG "data.eval_fraction=0 data.length=40 "
    run("$TRAIN " WHOLE);
    run("awk -F'\t' '{ printf \"%%s\", NF ? $1 \" \" : \"\\n\" }' sub/tags.tsv | $TRAIN " WHOLE
        "--predict - | sed '$d' >got; cut -f1 sub/tags.tsv >words; cut -f1 got | cmp - words");
    run("cut -f2 got >labels; cut -f2 sub/tags.tsv | paste -d, - labels | grep -v '^,$' | sort | "
        "uniq -c | awk '{ print $2 \",\" $1 }' >counted; sed 1d runs/c/confusion.csv | sort | cmp "
        "- counted");
}

TEST(of_many_classes_the_worst_are_shown)
{
    double last = -1, f1;
    int rows = 0;
    run("awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 500; i++) print "
        "substr(\"abcdefghijklmnopqrstuvwxyz\", 1 + i %% 25, 1 + i %% 7 %% 2) \"\\tl\" i %% 25 }' "
        ">sub/many.tsv");
    expect_printed("macro F1 ",
                   "$TRAIN " CLASSIFY
                   "data.file=sub/many.tsv data.eval_file= data.eval_fraction=0 train.steps=60");
    expect_text(w->out, " (25 classes)\n");
    expect_text(w->out, "\nthese are the 20 of the 25 classes with the lowest F1\n");
    for (const char *at = w->out; (at = strstr(at, "\n'l")); rows++) {
        ck_assert_int_eq(sscanf(at, "\n%*s %*f %*f %lf", &f1), 1);
        ck_assert_double_ge(f1, last);
        last = f1;
        at++;
    }
    ck_assert_int_eq(rows, 20);
    expect_output("26\n", "grep -c '' runs/c/classes.csv");
}

TEST(a_class_that_neither_occurs_nor_is_predicted_says_nothing)
{
    run("echo 'aaaaaaaaaaaaaaaa\tZ' >>sub/train.tsv");
    expect_printed(" (3 classes)\n", "$TRAIN " CLASSIFY);
    expect_no_text(w->out, "'Z'");
    expect_output("Z,0,0,0,0\n", "grep '^Z' runs/c/classes.csv");
}

TEST(runs_without_labels_have_no_classes)
{
    run("$TRAIN " CLASSIFY "run.name=tiny");
    ck_assert(exists("runs/tiny/classes.csv") && exists("runs/tiny/confusion.csv"));
    run("$TRAIN tiny.ini data.task=order data.vocab=12 --quiet --overwrite");
    ck_assert(!exists("runs/tiny/classes.csv") && !exists("runs/tiny/confusion.csv"));
    expect_no_text(w->out, "macro F1");
    expect_exit(w, 1, "grep -e ^accuracy -e ^macro runs/tiny/result.csv");
}

TEST(a_sweep_has_a_column_for_macro_f1)
{
    expect_printed("macro F1", "$TRAIN " CLASSIFY "train.steps=5 sweep.run.seed=1,2");
    expect_unprinted("macro F1", "$TRAIN tiny.ini --quiet train.steps=2 sweep.run.seed=1,2");
}

/* ---- the report ---- */

/* A run that goes on has no classes of its own yet. */
TEST(the_page_has_the_table_and_the_matrix)
{
    run("$TRAIN " CLASSIFY "&& { $TRAIN --report runs/c || test $? = 1; }");
    const char *page = read_file("runs/c/report.html");
    expect_text(page, lasting("<p>macro F1 %.4f</p>", result_of("c", "macro_f1")));
    expect_text(page, "<h2>Classes</h2>");
    expect_text(page, "<h2>Confusion matrix</h2>");
    run("rm runs/c/result.csv; $TRAIN --report runs/c || test $? = 1");
    expect_no_text(read_file("runs/c/report.html"), "Confusion matrix");
}

/* ---- predictions ---- */

/* A model that would read a second line before it answers the first waits here for ever. */
TEST(a_line_is_answered_before_the_next_one_is_read)
{
    run("$TRAIN " CLASSIFY);
    run("mkfifo in out; $TRAIN " CLASSIFY
        "--predict - <in >out & exec 3>in 4<out; for t in aab bbbc cc; do echo $t >&3; read -r "
        "answer <&4; test \"$answer\" = \"$($TRAIN " CLASSIFY
        "--predict $t)\" || exit 9; done; exec 3>&-; wait $!");
}

TEST(what_is_no_row_is_refused_and_what_is_cut_or_unknown_is_told)
{
    static const struct {
        const char *arguments, *message;
    } bad[] = {
        {"--predict ''", "train: the text is empty\n"},
        {"--predict \"$(printf 'ab\\377')\"", "train: byte 0xff at byte 2 is not UTF-8\n"},
        {"--predict - <lines", "train: line 2: the text is empty\n"},
    };
    run("$TRAIN " CLASSIFY);
    run("printf 'ab\\n\\nab\\n' >lines");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_message(2, bad[i].message, "$TRAIN " CLASSIFY "%s", bad[i].arguments);
        ck_assert_int_eq(count_of(w->out, "\n"), i == 2);
    }
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

/* A model of pairs takes a line without a tab as a text, as one from elsewhere may have been
 * trained on both. */
TEST(a_pair_is_told_by_its_tab)
{
    run("awk 'NR == 1 { print \"text\\ttext_b\\tlabel\" } NR > 1 { print $1 \"\\tx\\t\" $2 }' "
        "sub/train.tsv >sub/pairs.tsv");
#define PAIRS CLASSIFY "data.file=sub/pairs.tsv data.eval_file= "
    run("$TRAIN " PAIRS);
    run("printf 'aab\\tb\\n' | $TRAIN " PAIRS "--predict -");
    ck_assert_int_eq(count_of(w->out, "\t0."), 1);
    run("printf 'aab\\tb\\naab\\n' | $TRAIN " PAIRS "--predict -");
    ck_assert_int_eq(count_of(w->out, "\t0."), 2);
    expect_told(
        2, "train: line 2: a pair must be TEXT<TAB>TEXT, neither empty; got more than one tab\n",
        "printf 'aab\\tb\\na\\tb\\tc\\n' | $TRAIN " PAIRS "--predict -");
}
