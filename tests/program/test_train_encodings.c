/* Runs of `train` that compare encodings: decay, other lengths, a start from another run. */

#include "models/encodings/encoding.h"
#include "train_program.h"

#define END "runs/tiny/checkpoints/step-00000060.h5"

SUITE(PROGRAM_OPTIONS)

/* Golden numbers: heads of 128 features, figure 2 of the RoFormer paper. */
TEST(decay_prints_the_curve_of_the_paper)
{
    run("$TRAIN --decay tiny.ini model.dim=256 model.heads=2");
    ck_assert(!strncmp(w->out, "r,C\n0,32.5\n", 11));
    ck_assert_int_eq(count_of(w->out, "\n"), 258);
    expect_number(number_behind(w->out, "10,"), 17.954136, 17.954138);
    expect_number(number_behind(w->out, "256,"), 6.543096, 6.543098);
    run("$TRAIN --decay tiny.ini model.dim=256 model.heads=2 position.scaling=linear "
        "position.scale=10 data.length=400");
    expect_number(number_behind(w->out, "100,"), 17.954136, 17.954138); /* as far as 10 was */
    ck_assert_int_eq(count_of(w->out, "\n"), 401);
    /* that of xpos at its scale: the numbers of numpy for (2i/D + 0.4) / 1.4 */
    run("$TRAIN --decay tiny.ini model.dim=256 model.heads=2 model.causal=yes position.xpos=50");
    ck_assert(!strncmp(w->out, "r,C\n0,32.5\n", 11));
    expect_number(number_behind(w->out, "10,"), 16.374676, 16.374678);
    expect_number(number_behind(w->out, "50,"), 8.386096, 8.386098);
}

TEST(decay_adds_the_theta_of_a_checkpoint)
{
    double configured, learned;
    run("$TRAIN tiny.ini --quiet");
    run("$TRAIN --decay tiny.ini --checkpoint " END);
    ck_assert(!strncmp(w->out, "r,C,C_layer_0,C_layer_1\n", 24));
    ck_assert_int_eq(sscanf(strstr(w->out, "\n7,"), "\n7,%lf,%lf", &configured, &learned), 2);
    ck_assert_double_ne(configured, learned);
    expect_number(learned / configured, 0.7, 1.4);
    expect_stderr(2, "nothing is rotated",
                  "$TRAIN --decay tiny.ini theta.learn=no position.kind=alibi");
    run(TINY "theta.learn=no --overwrite");
    expect_stderr(4, "its theta is fixed", "$TRAIN --decay tiny.ini --checkpoint " END);
    ck_assert_str_eq(w->out, "");
}

/* The first column is of the theta_initial that the run records, however it was given. */
TEST(decay_is_of_the_theta_that_the_run_starts_with)
{
    static const char *const rows[][2] = {
        {"theta.init_from=given.csv", "r,C\n"},
        {"theta.init=perturbed", "r,C_initial_layer_0,C_initial_layer_1\n"},
        {"theta.init=uniform theta.scope=model", "r,C\n"},
        {"train.init_from=runs/first", "r,C_initial_layer_0,C_initial_layer_1\n"},
        {"train.trunk=runs/first", "r,C\n"},
        {"train.trunk=runs/first theta.scope=head",
         "r,C_initial_layer_0_head_0,C_initial_layer_0_head_1,C_initial_layer_1_head_0,"
         "C_initial_layer_1_head_1\n"},
    };
    run("printf 'layer,head,i,theta\\nall,all,0,2\\nall,all,1,1\\nall,all,2,0.5\\nall,all,3,"
        "0.25\\n' >given.csv; $TRAIN tiny.ini --quiet run.name=first train.steps=30");
    for (int i = 0; i < ROWS(rows); i++) {
        run("$TRAIN tiny.ini --quiet --overwrite %s && $TRAIN tiny.ini %s --decay >configured.csv",
            rows[i][0], rows[i][0]);
        expect_output(rows[i][1], "head -n 1 configured.csv");
        const int columns = count_of(rows[i][1], ",") + 1;
        run("$TRAIN --checkpoint runs/tiny --decay | cut -d, -f1-%d | cmp - configured.csv",
            columns);
        run("awk -F, 'NR == FNR { if ($1 == 7) c = $2; next } FNR > 1 && n < 4 { x += cos(7 * $5); "
            "y += sin(7 * $5); s += sqrt(x * x + y * y); n++ } END { d = c - s / n; exit !(n == 4 "
            "&& d < 1e-6 && d > -1e-6) }' configured.csv runs/tiny/theta_final.csv");
    }
}

TEST(decay_refuses_an_initial_theta_that_the_run_cannot_have)
{
    expect_stderr(2, "theta.init_from has no effect",
                  "$TRAIN tiny.ini theta.learn=no theta.init_from=given.csv --decay");
    expect_stderr(4, "runs/none: No such file", "$TRAIN tiny.ini train.trunk=runs/none --decay");
    ck_assert_str_eq(w->out, "");
}

enum { KINDS = RT_POSITION_NONE + 1 };

TEST_ROWS(every_kind_is_evaluated_at_other_lengths_and_resumes, 0, KINDS)
{
    const rt_transformer_options o = {.position.kind = (rt_position_kind)_i};
    const rt_encoding *kind = rt_encoding_of(&o);
    const char *settings = lasting("theta.learn=no position.kind=%s model.causal=%s "
                                   "train.eval_lengths=24,48",
                                   kind->word, kind->causal ? "yes" : "no");
    run(TINY "%s train.steps=30", settings);
    number_behind(w->out, "eval at length 24: loss ");
    number_behind(w->out, "eval at length 48: loss ");
    expect_output("length,eval_loss,eval_accuracy\n12\n24\n48\n",
                  "sed '2,$s/,.*,.*//' runs/tiny/lengths.csv");
    run(TINY "--resume %s train.steps=31", settings);
    run("$TRAIN --eval tiny.ini %s", settings);
    number_behind(w->out, "eval at length 48: loss ");
}

/* A run of order starts with the encoder of a checkpoint of copy and a new head. */
TEST(a_run_starts_from_the_parameters_of_another)
{
    run("$TRAIN tiny.ini --quiet");
    const double end = number_behind(w->out, "eval: loss ");
    expect_stderr(
        0, "starting from ",
        "$TRAIN tiny.ini run.name=second train.steps=1 optimizer.lr=0 train.init_from=" END);
    expect_text(w->err, "step-00000060.h5, step 60, theta included");
    expect_number(number_behind(w->out, "eval: loss ") - end, 0, 0);
    expect_text(w->out, "theta started elsewhere: max relative drift from its start 0 ");
    expect_stderr(0, "step-00000060.h5, step 60, theta included",
                  "$TRAIN tiny.ini run.name=third data.task=order train.steps=5 "
                  "train.freeze=embeddings,layers.0 train.init_from=" END);
    expect_text(w->err,
                "newly initialized parameters of the model: 4, the first is head.dense.weight",
                "unexpected parameters of the checkpoint: 5, the first is head.dense.bias");
}

/* With theta of only some layers a model would be neither that of the checkpoint nor the configured
 * one. */
TEST(theta_is_inherited_for_all_layers_or_for_none)
{
    run(TINY "position.every=2");
    expect_stderr(
        0, "theta as configured",
        "$TRAIN tiny.ini run.name=second train.steps=1 position.every=1 train.init_from=" END);
    expect_in_file("runs/second/theta.csv", "\n0,0,all,1,0.0999999968,0.1\n");
    run("$TRAIN tiny.ini run.name=third --quiet");
    expect_stderr(0, "theta included",
                  "$TRAIN tiny.ini run.name=fourth train.steps=1 position.every=2 "
                  "train.init_from=runs/third/checkpoints/step-00000060.h5");
    /* theta may be new where a run starts */
    run(TINY "theta.learn=no --overwrite");
    expect_stderr(
        0, "theta as configured",
        "$TRAIN tiny.ini run.name=heads train.steps=1 theta.scope=head train.init_from=" END);
    run("$TRAIN tiny.ini run.name=fixed train.steps=1 theta.learn=no train.init_from=runs/heads");
}

TEST(a_start_that_does_not_fit_is_refused_before_the_first_step)
{
    run("$TRAIN tiny.ini --quiet");
    static const char *const rows[][2] = {
        {"model.dim = 8", "16\n"},           {"position.pairing = half", "inter"},
        {"model.layers = 3", "2\n"},         {"data.vocab = 20", "10\n"},
        {"model.norm = pre", "post\n"},      {"model.norm_kind = rms", "layer\n"},
        {"model.ffn = swiglu", "plain\n"},   {"model.bias = none", "all\n"},
        {"model.norm_bias = no", "yes\n"},   {"model.embedding_norm = no", "yes\n"},
        {"model.heads = 4", "2\n"},          {"model.kv_heads = 1", "2\n"},
        {"model.embedding_dim = 8", "16\n"}, {"model.ffn_dim = 8", ""},
        {"position.kind = t5", "rope"}};
    for (int i = 0; i < ROWS(rows); i++) {
        const char *key = rows[i][0], *value = strchr(key, '=') + 2;
        expect_stderr(2, lasting("  %s (command line); the model has %s", key, rows[i][1]),
                      TINY "run.name=second %.*s=%s %s train.init_from=" END,
                      (int)strcspn(key, " "), key, value,
                      strstr(key, "t5") ? "theta.learn=no" : "");
        ck_assert_int_eq(count_of(w->err, "\n"), 2);
        ck_assert(!exists("runs/second"));
    }
}
