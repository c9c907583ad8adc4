/* --embed and --eval --per-line, through the program. */

#include "train_program.h"

static void make_files(void)
{
    run("awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 60; i++) print "
        "substr(\"abcdabcdabcdabcd\", 1 + i %% 4, 1 + i * 7 %% 11) (i %% 2 ? \"x\" : \"\") \"\\t\" "
        "(i %% 2 ? \"with\" : \"none\") }' >train.tsv; printf "
        "'label,text\\nwith,bxa\\n\\nnone,\"ab\"\\nwith,cdx\\n' >test.csv; printf "
        "'a\\tX\\nb\\tO\\n\\nc\\tX\\nd\\tO\\na\\tX\\n' >tags.tsv; printf 'bxa\\nabcdabcdab\\nd\\n' "
        ">lines.txt; tr '\\n\\t' '  ' <train.tsv >run.txt; printf '[data]\\ntask = "
        "classify\\nlevel = char\\nlength = 16\\nfile = train.tsv\\neval_file = "
        "test.csv\\n[model]\\nlayers = 2\\ndim = 16\\nheads = 2\\n[train]\\nsteps = 4\\nbatch_size "
        "= 16\\nshards = 4\\n' >c.ini");
}

#define TEXT  "data.task=text data.file=run.txt data.eval_file= "
#define C_INI "$TRAIN c.ini --quiet "
#define LM    C_INI TEXT "model.kind=decoder "
#define MLM   C_INI TEXT

/* Reads numbers of row `row` of the output, counted from 1 below its heading. */
static int read_row(int row, double *to, int most)
{
    int count = 0;
    char *end;
    const char *table = w->out;
    for (; row > 0; row--) {
        table = strchr(table, '\n');
        ck_assert_ptr_nonnull(table++);
    }
    while (count < most) {
        to[count++] = strtod(table, &end);
        table = end + 1;
        if (*end != ',')
            break;
    }
    return count;
}

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

TEST_ROWS(the_vector_of_a_line_does_not_depend_on_other_lines, 0, 4)
{
    static const char *const models[] = {C_INI, C_INI "model.kind=decoder ", LM, MLM};
    run("%s", models[_i]);
    run("%s --embed lines.txt >all; test $(wc -l <all) = 4", models[_i]);
    run("head -n 1 all | grep '^v0,v1,.*,v15$'");
    for (int line = 1; line <= 3; line++)
        run("sed -n %dp lines.txt | %s --embed - | tail -n 1 >>alone", line, models[_i]);
    run("tail -n 3 all | cmp - alone");
    run("%s --embed lines.txt --threads 3 | cmp - all", models[_i]);
}

/* The mean of one token is that token. Layer 0 are the embeddings, the same at every place. */
TEST(pooling_takes_the_first_the_last_or_the_mean_of_a_layer)
{
#define BARE LM "data.begin=none "
    double first[16] = {0}, longer[16] = {0}, last[16] = {0}, mean[16] = {0}, one[16] = {0};
    run(BARE "&& printf 'ab\\nabcd\\na\\nb\\n' >ab.txt && printf 'aba\\n' >aba.txt");
    run(BARE "--embed ab.txt --pool first");
    ck_assert_int_eq(read_row(1, first, 16), 16);
    read_row(2, longer, 16);
    read_row(3, one, 16);
    run(BARE "--embed ab.txt --pool last");
    read_row(1, last, 16);
    run(BARE "--embed ab.txt");
    read_row(1, mean, 16);
    for (int i = 0; i < 16; i++) {
        ck_assert_double_eq_tol(first[i], longer[i], 1e-5);
        ck_assert_double_eq_tol(first[i], one[i], 1e-5);
        ck_assert_double_eq_tol(mean[i], (first[i] + last[i]) / 2, 1e-5);
    }
    ck_assert_double_gt(fabs(first[0] - last[0]) + fabs(first[1] - last[1]), 1e-3);
    run(BARE "--embed aba.txt --layer 0 --pool first");
    read_row(1, first, 16);
    run(BARE "--embed aba.txt --layer 0 --pool last");
    read_row(1, last, 16);
    for (int i = 0; i < 16; i++)
        ck_assert_double_eq_tol(first[i], last[i], 1e-7);
    run(BARE "--embed aba.txt --layer 2 >two; " BARE "--embed aba.txt | cmp - two");
    expect_exit(w, 1, BARE "--embed aba.txt --layer 1 | cmp -s - two");
    expect_stderr(2, "--layer 3: the model has layers 1 to 2, and 0 for the",
                  BARE "--embed lines.txt --layer 3");
}

/* A header of 128 bytes (version 1.0 of the format), then the numbers of the CSV; or HDF5. */
TEST(vectors_are_an_array_of_numpy_or_a_dataset_of_hdf5)
{
    run(C_INI);
    expect_stdout("embeddings: v.h5\n", C_INI "--embed lines.txt --output v.h5");
    run("h5dump -H v.h5 || exit 0; h5dump -H v.h5 | grep -F '( 3, 16 ) / ( 3, 16 )'");
    run("cp v.h5 old.h5; " C_INI "--embed lines.txt --output v.h5 --overwrite; cmp v.h5 old.h5");
    expect_stdout("embeddings: v.npy\n", C_INI "--embed lines.txt --output v.npy");
    run("printf '\\223NUMPY\\1\\0v\\0%%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, "
        "'shape': (3, 16), }\" >header; head -c 128 v.npy | cmp - header");
    run("tail -c +129 v.npy | od -An -v -w64 -tf4 >numbers; " C_INI
        "--embed lines.txt | tail -n +2 | tr , ' ' | paste -d ' ' - numbers | awk '{ for (i = 1; i "
        "<= 16; i++) if (!(($i - $(i + 16)) ^ 2 <= 1e-14) || $i !~ /^[-+.0-9e]+$/ || $(i + 16) !~ "
        "/^[-+.0-9e]+$/) bad = 1 } NF != 32 { bad = 1 } END { exit bad || NR != 3 }'");
}

TEST(vectors_replace_a_file_only_with_overwrite)
{
    run(C_INI "train.keep=2 train.checkpoint_every=1");
    run("cat runs/*/checkpoints/*.h5 | cksum >before");
    for (int newest = 0; newest < 2; newest++)
        expect_stderr(2,
                      newest ? ".h5 is read; name another file to write"
                             : ": the file exists; give --overwrite to replace it",
                      C_INI "--embed lines.txt --output $(ls runs/*/checkpoints/*.h5 | %s -n 1)",
                      newest ? "tail" : "head");
    expect_stderr(
        2, ".h5 is read; name another file to write",
        C_INI "--embed lines.txt --overwrite --output $(ls runs/*/checkpoints/*.h5 | tail -n 1)");
    run("cat runs/*/checkpoints/*.h5 | cksum | cmp - before");
    expect_exit(w, 2, "cp lines.txt in.h5; " C_INI "--embed in.h5 --output in.h5 --overwrite");
    run("cmp in.h5 lines.txt");
}

TEST_ROWS(lines_without_tokens_and_files_without_lines_are_refused, 0, 2)
{
    static const char *const models[] = {C_INI, LM};
    run("%s", models[_i]);
    run("printf 'ab\\n\\nab\\n' >bad.txt; : >empty.txt; printf 'a\\0b\\n' >zero.txt");
    expect_stderr(3, "bad.txt:2: the line has no token: it is empty",
                  "%s --embed bad.txt --output v.h5", models[_i]);
    ck_assert(!exists("v.h5"));
    expect_stderr(3, "standard input:2: the line has no token: it is empty",
                  "%s --embed - <bad.txt", models[_i]);
    ck_assert_str_eq(w->out, "");
    expect_stderr(3, "empty.txt has no line", "%s --embed empty.txt", models[_i]);
    expect_stderr(3, "zero.txt:1: ", "%s --embed zero.txt", models[_i]);
    expect_stderr(3, "nowhere.txt: cannot be read: No such file or directory",
                  "%s --embed nowhere.txt", models[_i]);
    expect_stderr(2, "a.jsonl: the lines must be those of a plain text",
                  "echo '{\"text\": \"a\"}' >a.jsonl; %s --embed a.jsonl", models[_i]);
}

TEST(each_labelled_line_has_its_loss)
{
    double sum = 0, row[2] = {0};
    run(C_INI);
    run(C_INI "--eval --per-line");
    ck_assert_int_eq(strncmp(w->out, "line,loss,label,predicted\n2,", 28), 0);
    expect_text(w->out, "\n4,", "\n5,"); /* an empty line is none */
    for (int i = 1; i <= 3; i++) {
        read_row(i, row, 2);
        sum += row[1];
    }
    run(C_INI "--eval");
    ck_assert_double_eq_tol(number_behind(w->out, "eval: loss "), sum / 3, 1e-4);
    /* each tag has the line of its token */
#define TAGS C_INI "data.task=tag data.file=tags.tsv data.eval_file=tags.tsv "
    run(TAGS "--overwrite");
    expect_output("line,label 1,X 2,O 4,X 5,O 6,X ",
                  TAGS "--eval --per-line | cut -d, -f1,3 | tr '\\n' ' '");
    run("echo '{\"text\": [\"a\", \"b\"], \"label\": [\"X\", \"O\"]}\n\n"
        "{\"text\": [\"c\", \"d\"], \"label\": [\"X\", \"O\"]}' >tags.jsonl");
    expect_output("line,label 1,X 1,O 3,X 3,O ",
                  C_INI "data.task=tag data.file=tags.tsv data.eval_file=tags.jsonl --eval "
                        "--per-line | cut -d, -f1,3 | tr '\\n' ' '");
}

/* Step 1 leaves weights of 1e30, from which no finite number is computed. */
TEST_ROWS(a_vector_or_loss_that_is_not_finite_is_an_error, 0, 2)
{
    static const char *const models[] = {C_INI, MLM};
    expect_stderr(5, "step 2: the loss is",
                  "%s optimizer.lr=1e30 train.steps=2 train.checkpoint_every=1", models[_i]);
    expect_stderr(5, "lines.txt:1: component 0 of the vector is",
                  "$TRAIN runs/c/config.ini --embed lines.txt");
    expect_each_refused("$TRAIN runs/c/config.ini --quiet",
                        {5, "--embed lines.txt --output v.npy", "lines.txt:1: component 0 of the"},
                        {5, "--eval --per-line data.eval_file=test.csv", ": the loss is"});
}

/* exp of the negative losses are probabilities: those of all second tokens sum to 1 for lm. A
 * masked model does not see the token that it predicts. */
TEST_ROWS(each_line_of_a_text_has_its_loss, 0, 2)
{
    static const char *const models[] = {LM, MLM};
    double row[3] = {0};
    run("%s", models[_i]);
    run("printf 'ab\\n\\nabcd\\n' >u.txt");
    expect_no_stderr("shorter than data.length",
                     "$TRAIN runs/c/config.ini --eval --per-line data.eval_file=u.txt");
    ck_assert_int_eq(strncmp(w->out, "line,loss,tokens\n1,", 19), 0);
    expect_text(w->out, "\n2,,0\n3,");
    read_row(1, row, 3);
    ck_assert(row[1] > 0 && row[2] == 2);
    /* [UNK] is predicted by lm as any token, but not by mlm */
    expect_output(_i ? "2\n" : "3\n",
                  "echo aYb >y.txt; $TRAIN runs/c/config.ini --quiet --eval --per-line "
                  "data.eval_file=y.txt | tail -n 1 | cut -d, -f3");
    run("$TRAIN runs/c/config.ini --quiet --eval --per-line data.eval_file=u.txt");
    read_row(3, row, 3);
    ck_assert(row[1] > 0 && row[2] == 4);
    expect_stderr(2, "--per-line evaluates the lines of one text: give data.eval_file=FILE",
                  "$TRAIN runs/c/config.ini --eval --per-line");
}

TEST(lines_have_the_loss_of_their_last_tokens_with_eval_last)
{
    double shorter[3], whole[3], last[3];
    run(LM "&& printf 'abc\\nabcd\\n' >u.txt");
    run("$TRAIN runs/c/config.ini --quiet --eval --per-line data.eval_file=u.txt");
    read_row(1, shorter, 3);
    read_row(2, whole, 3);
    run("$TRAIN runs/c/config.ini --quiet --eval --per-line data.eval_file=u.txt data.eval_last=1");
    read_row(2, last, 3);
    ck_assert(whole[2] == 4 && last[2] == 1);
    ck_assert_double_eq_tol(last[1], 4 * whole[1] - 3 * shorter[1], 1e-5);
}
