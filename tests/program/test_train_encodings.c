/* Runs of `train` that compare encodings: decay, other lengths, a start from another run. */

#include "models/options.h"
#include "train_program.h"

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

TEST(xpos_is_trained_evaluated_at_other_lengths_and_resumed)
{
    static const char xpos[] =
        "tiny.ini --quiet theta.learn=no model.causal=yes position.xpos=3 train.eval_lengths=96";
    run("$TRAIN %s run.name=whole", xpos);
    run("$TRAIN %s train.steps=30 && $TRAIN %s --resume", xpos, xpos);
    number_behind(w->out, "eval at length 96: loss ");
    run("cmp runs/tiny/metrics.csv runs/whole/metrics.csv");
    run("grep -x 'xpos = 3' runs/tiny/config.ini");
    expect_told(2, "position.xpos: the run has '3', now it is '4'",
                "$TRAIN runs/tiny/config.ini position.xpos=4 --resume");
    expect_told(2,
                "position.xpos = 3 cannot be exported: a RoFormer of Hugging Face has no decay of "
                "its scores",
                "$TRAIN runs/tiny/config.ini --export hf");
}

TEST(decay_adds_the_theta_of_a_checkpoint)
{
    double configured, learned;
    run("$TRAIN tiny.ini --quiet");
    run("$TRAIN --decay tiny.ini --checkpoint runs/tiny/checkpoints/step-00000060.h5");
    ck_assert(!strncmp(w->out, "r,C,C_layer_0,C_layer_1\n", 24));
    ck_assert_int_eq(sscanf(strstr(w->out, "\n7,"), "\n7,%lf,%lf", &configured, &learned), 2);
    ck_assert_double_ne(configured, learned);
    expect_number(learned / configured, 0.7, 1.4);
}

TEST(a_checkpoint_that_is_named_must_be_there)
{
    static const char *const commands[] = {"$TRAIN --decay tiny.ini --checkpoint none.h5",
                                           "$TRAIN --eval tiny.ini --checkpoint none.h5",
                                           "$TRAIN tiny.ini --quiet train.init_from=none.h5"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_told(4, "none.h5: No such file or directory", "%s", commands[i]);
}

TEST(decay_needs_something_that_turns)
{
    expect_told(2, "nothing is rotated",
                "$TRAIN --decay tiny.ini theta.learn=no position.kind=alibi");
    run("$TRAIN tiny.ini --quiet theta.learn=no");
    expect_told(4, "its theta is fixed",
                "$TRAIN --decay tiny.ini --checkpoint runs/tiny/checkpoints/step-00000060.h5");
    ck_assert_str_eq(w->out, "");
}

enum { KINDS = RT_POSITION_NONE + 1 };

TEST_ROWS(every_kind_is_evaluated_at_other_lengths_and_resumes, 0, KINDS)
{
    run("$TRAIN tiny.ini --quiet theta.learn=no position.kind=%s train.eval_lengths=24,48 "
        "train.steps=30",
        rt_encoding_word(_i));
    number_behind(w->out, "eval at length 24: loss ");
    number_behind(w->out, "eval at length 48: loss ");
    expect_output("length,eval_loss,eval_accuracy\n12\n24\n48\n",
                  "sed '2,$s/,.*,.*//' runs/tiny/lengths.csv");
    run("$TRAIN tiny.ini --quiet --resume theta.learn=no position.kind=%s train.eval_lengths=24,48 "
        "train.steps=31",
        rt_encoding_word(_i));
    run("$TRAIN --eval tiny.ini theta.learn=no position.kind=%s train.eval_lengths=24,48",
        rt_encoding_word(_i));
    number_behind(w->out, "eval at length 48: loss ");
}

TEST_ROWS(linear_attention_trains_causal_and_not, 0, 6)
{
    static const char *const forms[] = {"linear_elu", "linear_softmax", "linear_cosine"};
    run("$TRAIN tiny.ini --quiet model.attention=%s model.causal=%s", forms[_i % 3],
        _i < 3 ? "no" : "yes");
    expect_number(number_behind(w->out, "eval: loss "), 0.5, 2.2);
}

TEST(a_run_starts_from_the_parameters_of_another)
{
    run("$TRAIN tiny.ini --quiet");
    const double end = number_behind(w->out, "eval: loss ");
    expect_told(0, "starting from ",
                "$TRAIN tiny.ini run.name=second train.steps=1 optimizer.lr=0 "
                "train.init_from=runs/tiny/checkpoints/step-00000060.h5");
    expect_text(w->err, "step-00000060.h5, theta included");
    expect_number(number_behind(w->out, "eval: loss ") - end, 0, 0);
    expect_text(w->out, "theta started elsewhere: max relative drift from its start 0 ");
}

TEST(theta_may_be_new_where_a_run_starts)
{
    run("$TRAIN tiny.ini --quiet theta.learn=no");
    expect_told(0, "theta as configured",
                "$TRAIN tiny.ini run.name=second train.steps=1 theta.scope=head "
                "train.init_from=runs/tiny/checkpoints/step-00000060.h5");
    run("$TRAIN tiny.ini run.name=third train.steps=1 theta.learn=no "
        "train.init_from=runs/second/checkpoints/step-00000001.h5");
}

/* Of the theta of some layers alone a model would be neither that of the checkpoint nor its own. */
TEST(theta_is_taken_whole_or_not)
{
    run("$TRAIN tiny.ini --quiet position.every=2");
    expect_told(0, "theta as configured",
                "$TRAIN tiny.ini run.name=second train.steps=1 position.every=1 "
                "train.init_from=runs/tiny/checkpoints/step-00000060.h5");
    expect_in_file("runs/second/theta.csv", "\n0,0,all,1,0.0999999968,0.1\n");
    run("$TRAIN tiny.ini run.name=third --quiet");
    expect_told(0, "theta included",
                "$TRAIN tiny.ini run.name=fourth train.steps=1 position.every=2 "
                "train.init_from=runs/third/checkpoints/step-00000060.h5");
}

/* From copy to order: the encoder is that of the checkpoint, the head is new. */
TEST(another_head_starts_anew)
{
    run("$TRAIN tiny.ini --quiet");
    expect_told(
        0, "step-00000060.h5, theta included",
        "$TRAIN tiny.ini run.name=second data.task=order train.steps=5 "
        "train.freeze=embeddings,layers.0 train.init_from=runs/tiny/checkpoints/step-00000060.h5");
    expect_text(w->err,
                "newly initialized parameters of the model: 4, the first is head.dense.weight");
    expect_text(w->err, "unexpected parameters of the checkpoint: 5, the first is head.dense.bias");
}

TEST(a_start_that_does_not_fit_is_refused_before_the_first_step)
{
    run("$TRAIN tiny.ini --quiet");
    static const char *const rows[][2] = {
        {"model.dim=8", "  model.dim = 8 (command line); the model has 16\n"},
        {"position.pairing=half", "  position.pairing = half (command line); the model has inter"},
        {"model.layers=3", "  model.layers = 3 (command line); the model has 2\n"},
        {"data.vocab=20", "  data.vocab = 20 (command line); the model has 10\n"},
        {"model.norm=pre", "  model.norm = pre (command line); the model has post\n"},
        {"model.norm_kind=rms", "  model.norm_kind = rms (command line); the model has layer\n"},
        {"model.ffn=swiglu", "  model.ffn = swiglu (command line); the model has plain\n"},
        {"model.bias=none", "  model.bias = none (command line); the model has all\n"},
        {"model.norm_bias=no", "  model.norm_bias = no (command line); the model has yes\n"},
        {"model.embedding_norm=no",
         "  model.embedding_norm = no (command line); the model has yes\n"},
        {"model.heads=4", "  model.heads = 4 (command line); the model has 2\n"},
        {"model.kv_heads=1", "  model.kv_heads = 1 (command line); the model has 2\n"},
        {"model.embedding_dim=8", "  model.embedding_dim = 8 (command line); the model has 16\n"},
        {"model.ffn_dim=8", "  model.ffn_dim = 8 (command line); the model has "},
        {"position.kind=t5 theta.learn=no",
         "  position.kind = t5 (command line); the model has rope"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_told(2, rows[i][1],
                    "$TRAIN tiny.ini --quiet run.name=second %s "
                    "train.init_from=runs/tiny/checkpoints/step-00000060.h5",
                    rows[i][0]);
        ck_assert_int_eq(count_of(w->err, "\n"), 2);
        expect_exit(w, 1, "test -e runs/second");
    }
}

/* ---- text ---- */

TEST(a_causal_language_model_learns_a_text)
{
    run("for i in $(seq 300); do echo 'the law of the rotor is \xce\xb8 = ln \xce\xbb.'; done "
        ">text.txt");
    run("$TRAIN tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "
        "data.level=char data.objective=lm model.causal=yes train.steps=200 optimizer.lr=5e-3 "
        "optimizer.schedule_steps=200");
    expect_number(number_behind(w->out, "eval: loss "), 0, 1.0); /* guessing costs ln 20 = 3 */
}

static double accuracy_of_order(const char *kind)
{
    run("$TRAIN tiny.ini --quiet --overwrite theta.learn=no data.task=order data.length=6 "
        "optimizer.lr=5e-3 train.steps=300 optimizer.schedule_steps=300 train.batch_size=32 "
        "train.eval_batches=8 position.kind=%s",
        kind);
    return accuracy_of(w->out);
}

/* In sequences of 6 tokens the order is learned from any seed, in longer ones from some. */
TEST(the_order_of_two_tokens_needs_positions)
{
    expect_number(accuracy_of_order("rope"), 0.95, 1);
    expect_number(accuracy_of_order("none"), 0.35, 0.65);
}
