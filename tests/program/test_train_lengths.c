/* Questions of random lengths, retrieval by distance, and random positions, through the program. */

#include "train_program.h"

static void make_files(void)
{
    write_file("c.ini", "[model]\nkind = decoder\nlayers = 2\ndim = 16\nheads = 2\n"
                        "[data]\nvocab = 10\nlength = 1..12\n"
                        "[optimizer]\nlr = 0.01\nschedule_steps = 60\n"
                        "[train]\nsteps = 60\nbatch_size = 16\neval_every = 20\neval_batches = 4\n"
                        "eval_lengths = 14, 20\ncheckpoint_every = 20\n");
}

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS, .prepare = make_files)

#define ANSWERS "$TRAIN c.ini --quiet "

static const char *const kinds[] = {"data.task=copy ", "data.task=reverse position.randomized=64 ",
                                    "data.task=sort position.kind=learned position.randomized=30 ",
                                    "data.task=addition data.vocab=15 position.kind=none "};

/* The lines at the end, the tables and the report have the same share of exact answers, and a
 * checkpoint opens to them. */
TEST_ROWS(exact_answers_are_counted_at_every_length, 0, ROWS(kinds))
{
    run(ANSWERS "%s", kinds[_i]);
    const char *end = lasting("%s", w->out);
    const double exact = atof(strstr(end, ", exact ") + strlen(", exact "));
    ck_assert(exact >= 0 && exact <= 1);
    ck_assert_int_eq(count_of(end, ", exact "), 3);
    ck_assert_double_eq_tol(result_of("c", "eval_exact"), exact, 5e-5);
    const char *longest = strstr(strstr(end, "at length 20: "), ", exact ");
    ck_assert_double_eq_tol(result_of("c", "eval_exact_at_20"), atof(longest + strlen(", exact ")),
                            5e-5);
    expect_output("length,eval_loss,eval_accuracy,eval_exact\n1..12\n14\n20\n",
                  "sed '2,$s/,.*//' runs/c/lengths.csv");
    expect_text(read_file("runs/c/report.html"), ", exact ");
    expect_output("length = 1..12\n", "grep '^length = ' runs/c/config.ini");
    run("$TRAIN --checkpoint runs/c --eval train.eval_lengths=14,20 | grep '^eval' >again; printf "
        "'%%s' '%s' | grep '^eval' | cmp - again",
        end);
    run(ANSWERS "%s run.name=parts train.steps=27 --threads 1", kinds[_i]);
    run(ANSWERS "%s run.name=parts --resume --threads 2", kinds[_i]);
    expect_same_model("c", "parts", 60);
    expect_same_in("c", "parts", "metrics.csv lengths.csv result.csv");
    run("$TRAIN64 c.ini --quiet --gradcheck %s", kinds[_i]);
}

TEST_ROWS(retrieval_has_tables_by_distance_and_head, 0, 4)
{
    static const char *const tasks[] = {"recall data.vocab=12", "mqar data.pairs=1", "induction",
                                        "passkey"};
    run(ANSWERS "data.length=12 data.task=%s train.eval_lengths=20", tasks[_i]);
    run("awk -F, 'FNR == 1 { if ($0 != \"length,distance,to,labels,eval_accuracy\") exit 1; next } "
        "{ n[$1] += $4; right[$1] += $4 * $5 } $2 < 1 || $3 < $2 || $3 >= $1 || $2 <= last[$1] { "
        "exit 2 } { last[$1] = $3 } END { print right[12] / n[12], right[20] / n[20] }' "
        "runs/c/distances.csv");
    double short_ones, long_ones;
    ck_assert_int_eq(sscanf(w->out, "%lf %lf", &short_ones, &long_ones), 2);
    ck_assert_double_eq_tol(short_ones, result_of("c", "eval_accuracy"), 1e-5);
    ck_assert_double_eq_tol(long_ones, result_of("c", "eval_accuracy_at_20"), 1e-5);
    run("awk -F, 'NR > 1 && !($3 >= 0 && $3 <= 1) { exit 1 } END { exit NR != 5 }' "
        "runs/c/heads.csv");
    expect_text(read_file("runs/c/report.html"), "Accuracy by distance");
    run(ANSWERS "data.length=12 data.task=%s run.name=linear model.attention=linear_elu "
                "train.eval_lengths=20 && test ! -e runs/linear/heads.csv",
        tasks[_i]);
}

/* A single length means questions of that length, not those with masks. */
TEST(a_model_of_several_lengths_is_evaluated_on_questions_and_not_on_masks)
{
    run(ANSWERS);
    const char *end = evaluate("--checkpoint runs/c data.length=12..12 train.eval_lengths=");
    ck_assert_str_eq(end, evaluate("--checkpoint runs/c data.length=12 train.eval_lengths="));
    expect_text(end, ", exact ");
    /* an override is no difference, and eval_lengths may have the length by now */
    expect_no_stderr("differs", "$TRAIN runs/c/config.ini --eval data.length=14 --quiet");
    expect_output("length 20\n",
                  "$TRAIN --checkpoint runs/c --eval data.length=14 train.eval_lengths=20 | sed -n "
                  "'s/^eval at \\(length 20\\).*/\\1/p'");
}

/* Their weights would take more memory than the training. */
TEST(long_sequences_have_no_table_of_heads)
{
    run(ANSWERS "data.task=passkey data.length=2000 train.eval_lengths= train.steps=1 "
                "train.batch_size=2 train.eval_batches=1");
    run("test -s runs/c/distances.csv && test -s runs/c/report.html && test ! -e runs/c/heads.csv");
    run("$TRAIN c.ini --check data.task=mqar data.length=20000 data.pairs=2100 data.vocab=20000 "
        "train.eval_lengths=");
}

/* The model of a use may stand at other positions than it was trained at. */
TEST(an_evaluation_can_turn_random_positions_off)
{
    run(ANSWERS "position.randomized=64");
    run("$TRAIN --checkpoint runs/c --export folder && grep '\"max_position_embeddings\": 64' "
        "folder/config.json && grep '\"rotor_length\": 12' folder/config.json");
    run("$TRAIN64 c.ini --gradcheck position.randomized=64 theta.learn=yes | sed 1,2d >random; "
        "$TRAIN64 c.ini --gradcheck theta.learn=yes | sed 1,2d >ordered; ! cmp random ordered");
    const char *own = evaluate("--checkpoint runs/c");
    ck_assert_str_ne(own, evaluate("--checkpoint runs/c position.randomized=0"));
    ck_assert_str_eq(own, evaluate("--checkpoint runs/c position.randomized=64"));
}

TEST(lengths_that_cannot_be_drawn_are_refused)
{
    expect_each_refused(
        ANSWERS "--check",
        {2, "model.causal=no",
         "data.length = 1..12 needs model.causal = yes: otherwise a token sees"},
        {2, "data.length=12..1", "from 2 to 1000000, or A..B, A <= B; got '12..1'"},
        {2, "data.length=1..2..3", "A <= B; got '1..2..3'"},
        {2, "data.length=..12", "A <= B; got '..12'"},
        {2, "data.length=0..12", "A <= B; got '0..12'"},
        {2, "position.randomized=19",
         "has too few positions for the longest sequence, of 20 tokens"},
        {2, "position.randomized=40 position.kind=learned position.max_len=30",
         "position.randomized = 40 needs as many positions; position.max_len allows 30"},
        {2, "position.randomized=40 position.xpos=1",
         "position.randomized = 40 needs as many positions; position.xpos allows 32"},
        {2, "train.eval_lengths=12,20",
         "train.eval_lengths = 12 is the end of data.length = 1..12, over which the evaluation is"},
        {2, "position.randomized=40 position.kind=alibi",
         "position.randomized = 40 has no effect: it needs position.kind = rope, "},
        {2,
         "data.task=spin2 data.length=50 position.randomized=64 data.objective=lm "
         "train.eval_lengths=",
         "position.randomized needs position.axes = 1"});
}
