/* Trainings with positions that depend on content: each key with each way to train and to use a
 * model. Sessions are in laws/sessions.h, several processes in world/bits.sh. */

#include "train_program.h"

SUITE(PROGRAM_OPTIONS)

static const struct {
    const char *settings;
    const char *key; /* that an export refuses */
} keys[] = {
    {"position.forget=gate", "position.forget = gate"},
    {"position.forget=bias position.kind=none theta.learn=no", "position.forget = bias"},
    {"position.forget=fixed position.forget_times=2..9", "position.forget = fixed"},
    {"position.key_shift=yes position.fraction=0.5", "position.key_shift = yes"},
    {"position.key_shift=yes position.kind=none theta.learn=no", "position.key_shift = yes"},
    {"position.kind=selective theta.learn=no", "position.kind = selective"},
    {"position.kind=selective position.rank=3 position.phase_bias=yes position.phase_gate=yes",
     "position.kind = selective"},
    {"position.kind=pope position.fraction=1", "position.kind = pope"},
    {"position.kind=pope position.fraction=1 position.phase=no theta.learn=no",
     "position.kind = pope"},
    {"model.length_scale=learned", "model.length_scale = learned"},
    {"model.length_scale=floor model.length_floor=4 position.every=2",
     "model.length_scale = floor"},
};

#define IN_BF16 "run.engine=onednn run.math=bf16"

/* A training of two micro-batches, compared with one that takes another way to the same end. */
static const struct {
    const char *name;
    const char *way; /* commands that make the run `other` */
    double within;   /* of the other loss; 0: the models are equal bit by bit */
} cells[] = {
    {"resume",
     "$TRAIN tiny.ini --quiet train.steps=3 %s >first && $TRAIN tiny.ini --quiet train.steps=7 "
     "--resume "
     "%s",
     0},
    {"recompute", "$TRAIN tiny.ini --quiet train.steps=7 train.recompute=layers %s", 0},
    {"two threads", "$TRAIN tiny.ini --quiet train.steps=7 run.threads=2 %s", 0},
    {"double", "$TRAIN64 tiny.ini --quiet train.steps=7 %s", 1e-4},
    {"bf16", "$TRAIN tiny.ini --quiet train.steps=7 " IN_BF16 " %s", 1e-2},
};
enum { KEYS = ROWS(keys), CELLS = ROWS(cells) };

#define SHORT                                                                                      \
    "model.kind=decoder train.shards=2 optimizer.schedule_steps=7 optimizer.warmup_steps=1 "       \
    "train.checkpoint_every=100 run.name="

TEST_ROWS(every_way_of_training_ends_in_the_same_model, 0, KEYS *CELLS)
{
    const char *settings = keys[_i / CELLS].settings, *way = cells[_i % CELLS].way;
    const char *other = lasting(SHORT "other %s", settings);
    const double within = cells[_i % CELLS].within;
    if (strstr(way, IN_BF16))
        NEEDS(!shell(w, "$TRAIN tiny.ini --check " IN_BF16), "oneDNN and a processor with bf16");
    run("$TRAIN tiny.ini --quiet train.steps=7 " SHORT "plain %s", settings);
    const double loss = number_behind(w->out, "eval: loss ");
    run(way, other, other);
    const double found = number_behind(w->out, "eval: loss ");
    ck_assert_msg(fabs(found - loss) <= within, "%s: loss %.9g instead of %.9g",
                  cells[_i % CELLS].name, found, loss);
    if (within <= 0)
        expect_same_model("plain", "other", 7);
}

TEST_ROWS(a_model_is_evaluated_and_continues_texts_but_is_not_exported, 0, KEYS)
{
    run("$TRAIN tiny.ini --quiet data.task=period data.objective=lm train.steps=7 " SHORT "tiny %s",
        keys[_i].settings);
    const double loss = number_behind(w->out, "eval: loss ");
    run("$TRAIN --checkpoint runs/tiny --eval");
    ck_assert_msg(number_behind(w->out, "eval: loss ") == loss, "another loss: %s", w->out);
    run("$TRAIN --checkpoint runs/tiny --predict '4 5 6 7' --tokens 20");
    expect_stderr(2, keys[_i].key, "$TRAIN --checkpoint runs/tiny --export folder");
    expect_stderr(2, keys[_i].key, "$TRAIN --checkpoint runs/tiny --export model.gguf");
}

/* Gates in double, whose nine digits no kernel changes. */
TEST(a_run_records_its_gates_and_phases)
{
    run("$TRAIN64 tiny.ini --quiet train.steps=2 theta.learn=no position.kind=none " SHORT
        "gates position.forget=fixed position.forget_times=2..2");
    ck_assert(!exists("runs/gates/usage.csv") && !exists("runs/gates/phases.csv"));
    expect_output("layer,head,gate 0,0,0.60653066 0,1,0.60653066 1,0,0.60653066 1,1,0.60653066 ",
                  "tr '\\n' ' ' <runs/gates/gates.csv");
    expect_stderr(2, "--usage: position.kind = none has no pairs that rotate",
                  "$TRAIN64 --checkpoint runs/gates --usage");
    run("$TRAIN tiny.ini --quiet train.steps=2 position.kind=selective " SHORT "phases");
    ck_assert(exists("runs/phases/usage.csv") && !exists("runs/phases/gates.csv"));
    expect_output("layer,head,i,position,sum,deviation\n",
                  "grep -v '^[01],[01],[0-3],[0-9]*,[-0-9.e]*,[0-9.e-]*$' runs/phases/phases.csv");
    NEEDS_PROGRAM("gnuplot");
    run("$TRAIN64 --report runs/gates && test -s runs/gates/figures/gates.svg");
    run("$TRAIN --report runs/phases && test -s runs/phases/figures/phases.svg");
}

/* Encodings with a theta have the measurements of rope. */
TEST_ROWS(theta_is_measured_with_each_encoding_that_has_a_theta, 0, 3)
{
    static const char *const kinds[] = {"rope", "selective", "pope"};
    run("$TRAIN tiny.ini --quiet train.steps=2 theta.learn=yes theta.cutoffs=yes "
        "theta.tolerances=yes position.kind=%s " SHORT "theta",
        kinds[_i]);
    expect_text(w->out, "theta: max relative drift ", "theta: reset to init: ");
    ck_assert(exists("runs/theta/cutoffs.csv") && exists("runs/theta/usage.csv"));
    run("$TRAIN --checkpoint runs/theta --eval --theta off:1 && $TRAIN --checkpoint runs/theta "
        "--usage");
}

/* Theta of selective RoPE has no turns: its angles are not a position times theta. */
TEST(numbers_that_take_angles_by_position_are_left_out_where_tokens_add_up_to_them)
{
    static const char of_run[] = "$TRAIN --checkpoint runs/theta ";
    run("$TRAIN tiny.ini --quiet train.steps=2 theta.cutoffs=yes position.kind=selective " SHORT
        "theta");
    expect_text(w->out, "   drift    use   used\n", "\ndrift: ln(theta/theta0)\nuse: share");
    ck_assert_msg(!strstr(w->out, "phase") && !strstr(w->out, "turns"), "printed: %s", w->out);
    expect_output("1\n",
                  "grep -vc '^[^,]*,[^,]*,[0-9]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,,,[0-9.]*$' "
                  "runs/theta/theta_final.csv");
    expect_output("1\n", "grep -vc '^[01],[01],[0-3],[^,]*,,[0-9]' runs/theta/usage.csv");
    expect_output("1\n", "grep -vc '^[0-4],,[0-9]' runs/theta/cutoffs.csv");
    expect_output("", "! grep phase runs/theta/result.csv");
    expect_output("1\n", "%s --gradient theta | grep -vc '^[01],all,[0-3],[^,]*,,'", of_run);
    run("%s --eval --theta off:1", of_run);
    ck_assert_msg(strstr(w->out, "|theta| from") && !strstr(w->out, "turns"), "printed: %s",
                  w->out);
    expect_stderr(2, "--theta off:0.5turns: the angles of position.kind = selective",
                  "%s --eval --theta off:0.5turns", of_run);
    expect_stderr(2, "--decay needs position.kind = rope: the angle between two tokens is not",
                  "%s --decay", of_run);
    run("$TRAIN --report runs/theta");
    expect_output("", "! grep -E 'max phase|<th scope=.col.>(phase|turns)' runs/theta/report.html");
    NEEDS_PROGRAM("gnuplot");
    ck_assert(exists("runs/theta/figures/theta.svg"));
    for (const char *const *name =
             (const char *const[]){"wavelengths", "decay", "usage", "cutoffs", NULL};
         *name; name++)
        ck_assert_msg(!exists(lasting("runs/theta/figures/%s.svg", *name)), "%s", *name);
}

TEST(decay_of_polar_heads_is_printed_without_phases_alone)
{
    expect_stderr(2, "--decay needs position.kind = rope, or position.phase = no",
                  "$TRAIN tiny.ini position.kind=pope --decay");
    run("$TRAIN tiny.ini position.kind=pope position.phase=no --decay");
}

#define SELECTIVE "position.kind=selective position.base=10000 position.phase_bias="

/* Continuations of a run with rope, and a part of the expected error (NULL: none). */
static const struct {
    const char *settings, *error;
} continuing[] = {
    {SELECTIVE "yes", NULL},
    {SELECTIVE "yes theta.learn=yes theta.form=raw position.taps=0", NULL},
    {SELECTIVE "no", "position.kind = selective"},
    {SELECTIVE "yes position.phase_gate=yes", "position.phase_gate"},
    {SELECTIVE "yes position.base=500000", "position.base"},
    {SELECTIVE "yes theta.learn=no", "theta.learn"},
    {SELECTIVE "yes theta.scope=head", "theta.scope"},
};

#define CONTINUE                                                                                   \
    "$TRAIN tiny.ini --quiet model.kind=decoder train.shards=2 optimizer.warmup_steps=0 "          \
    "optimizer.schedule_steps=9 train.init_from=runs/"

/* The second map alone is 0, so that it learns. */
TEST_ROWS(selective_rope_continues_a_model_of_rope, 0, ROWS(continuing))
{
    const char *settings = continuing[_i].settings, *error = continuing[_i].error;
    run("$TRAIN tiny.ini --quiet train.steps=7 " SHORT "plain");
    const double loss = number_behind(w->out, "eval: loss ");
    if (error) {
        expect_stderr(2, error, CONTINUE "plain run.name=more %s", settings);
        return;
    }
    run(CONTINUE "plain run.name=more train.steps=1 optimizer.lr=1e-9 %s", settings);
    ck_assert_msg(fabs(number_behind(w->out, "eval: loss ") - loss) < 1e-5, "another loss: %s",
                  w->out);
    run(CONTINUE "plain run.name=more train.steps=2 optimizer.lr=1e-9 --resume %s", settings);
    run(CONTINUE "plain run.name=learns train.steps=9 %s", settings);
    ck_assert_msg(fabs(number_behind(w->out, "eval: loss ") - loss) > 1e-4, "nothing is learned");
    expect_stderr(2, "position.rank = 3", CONTINUE "learns run.name=other position.rank=3 %s",
                  settings);
}

/* Parameters that join a trained model do not change its outputs. */
static const char *const joining[] = {"position.forget=gate", "position.forget=bias"};

TEST_ROWS(gates_that_join_a_model_start_open, 0, ROWS(joining))
{
    run("$TRAIN tiny.ini --quiet train.steps=7 " SHORT "plain");
    const double loss = number_behind(w->out, "eval: loss ");
    const char *start =
        lasting("$TRAIN tiny.ini --quiet model.kind=decoder train.init_from=runs/plain "
                "train.shards=2 optimizer.warmup_steps=0 optimizer.lr=1e-9 "
                "optimizer.schedule_steps=9 %s run.name=",
                joining[_i]);
    run("%smore train.steps=1", start);
    ck_assert_msg(fabs(number_behind(w->out, "eval: loss ") - loss) < 1e-5, "another loss: %s",
                  w->out);
    run("grep -q '^forget_bias = 20$' runs/more/config.ini");
    run("%smore train.steps=2 --resume", start);
    run("%sown train.steps=1 position.forget_bias=1", start);
    run("grep -q '^forget_bias = 1$' runs/own/config.ini");
}
