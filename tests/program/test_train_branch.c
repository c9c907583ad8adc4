/* Branches: runs that continue a trunk with a theta or a learning rate of their own. */

#include "train_program.h"

#define FIXED  "tiny.ini theta.learn=no "
#define TRUNK  "$TRAIN " FIXED "--quiet run.name=trunk train.steps=30"
#define FROM   "train.trunk=runs/trunk/checkpoints/step-00000030.h5"
#define BRANCH "--quiet " FROM

SUITE(PROGRAM_OPTIONS)

TEST(a_branch_inherits_learned_theta_with_its_optimizer_states)
{
    run(TINY "run.name=straight && $TRAIN tiny.ini --quiet run.name=trunk train.steps=30 && $TRAIN "
             "tiny.ini run.name=branch " BRANCH);
    expect_same_in("straight", "branch", "metrics.csv theta.csv");
    expect_same_model("straight", "branch", 60);
    /* with another scope or form it begins at the trunk's */
    static const char *const scopes[] = {"layer", "head"};
    for (int i = 0; i < ROWS(scopes); i++)
        run("$TRAIN tiny.ini run.name=%s theta.scope=%s theta.form=raw " BRANCH
            " && awk -F, 'NR == FNR { if ($1 == 30) t[$2, $4] = $5; next } $1 == 30 { n++; d = $5 "
            "- t[$2, $4]; if (d < -1e-6 || d > 1e-6) bad = 1 } END { exit bad || n != %d }' "
            "runs/trunk/theta.csv runs/%s/theta.csv",
            scopes[i], scopes[i], i ? 16 : 8, scopes[i]);
    expect_stderr(0, "left behind: 2, the first is layers.0.attention.theta",
                  "$TRAIN tiny.ini run.name=none theta.learn=no position.kind=none " FROM);
}

/* Bias correction counts from there: Adam's first step is at most the learning rate. */
TEST(theta_that_joins_at_a_branch_takes_its_first_step_there)
{
    run(TRUNK "&& $TRAIN tiny.ini run.name=branch theta.learn=yes run.log_every=1 "
              "train.eval_every=1 train.steps=31 " BRANCH);
    run("awk -F, 'NR == FNR { if ($1 == 31) lr = $6; next } $1 == 31 { d = log($5 / $6); if (d < "
        "0) d = -d; if (d > m) m = d } END { exit !(lr > 0 && m > 0.9 * lr && m < 1.01 * lr) }' "
        "runs/branch/metrics.csv runs/branch/theta.csv");
    expect_stdout("layers.0.attention.theta 30",
                  "h5dump -d /joined runs/branch/checkpoints/step-00000031.h5");
    run("$TRAIN tiny.ini run.name=whole theta.learn=yes " BRANCH
        "&& $TRAIN tiny.ini run.name=parts theta.learn=yes train.steps=40 " BRANCH
        " && rm -r runs/trunk/checkpoints && $TRAIN tiny.ini run.name=parts theta.learn=yes "
        "--resume run.threads=1 " BRANCH);
    expect_same_in("whole", "parts", "metrics.csv theta.csv");
    run("$TRAIN runs/parts/config.ini --eval");
}

/* Factors start at 1, which changes no bit of the model of the trunk. */
TEST(head_factors_join_at_a_branch)
{
    run(TRUNK);
    expect_stderr(0, "parameters that join: 2, the first is layers.0.attention.head_scale",
                  "$TRAIN tiny.ini run.name=branch theta.learn=no theta.head_scale=yes " FROM);
    run("$TRAIN runs/branch/config.ini --eval && $TRAIN runs/branch/config.ini --resume "
        "train.steps=70 --quiet");
    expect_stderr(
        2, "/runs/trunk is read from runs/trunk, which this training writes anew",
        "$TRAIN tiny.ini theta.learn=no run.name=trunk train.trunk=runs/trunk --overwrite");
    run("$TRAIN runs/trunk/config.ini --eval");
}

static void write_sweep(void)
{
    run("sed 's/^learn = yes/learn = no/' tiny.ini >s.ini; printf '[sweep]\\ntrunk = 30\\nrun.seed "
        "= 1,2\\n[variant fixed]\\ntheta.learn = no\\n[variant learned]\\ntheta.learn = "
        "yes\\ntheta.scope = head\\n' >>s.ini");
}

TEST(a_sweep_makes_a_trunk_for_each_seed)
{
    write_sweep();
    run(TINY "theta.learn=no run.name=straight run.seed=2");
    run("$TRAIN s.ini --quiet --check");
    expect_stderr(2, "has a newline in its name",
                  "mkdir 'a\nb' && cd 'a\nb' && $TRAIN ../s.ini sweep.trunk=30");
    expect_stderr(0, "[trunk] trunk_seed=1: done", "$TRAIN s.ini");
    expect_text(w->err, "[4/4] learned_seed=2: done");
    expect_same_in("straight", "s/fixed_seed=2", "metrics.csv");
    expect_stdout("step-00000030.h5\n5\n",
                  "ls runs/s/trunk_seed=1/checkpoints; wc -l <runs/s/runs.csv");
    run("$TRAIN --print-config s.ini >again.ini && $TRAIN again.ini run.name=again sweep.jobs=2");
    expect_same_in("s/learned_seed=1", "again/learned_seed=1", "theta.csv");
}

TEST(a_sweep_that_grew_makes_the_trunks_it_lacks)
{
#define LONGER "$TRAIN s.ini run.dir=moved train.steps=70 optimizer.schedule_steps=70"
    write_sweep();
    expect_no_stderr(
        "[trunk]",
        "$TRAIN s.ini --quiet && cp -r runs moved && rm -r 'runs/s/trunk_seed=1' && $TRAIN s.ini");
    expect_stderr(0, "[trunk] trunk_seed=3: done", "$TRAIN s.ini sweep.run.seed=1,2,3");
    expect_no_text(w->err, "trunk_seed=1");
    expect_stderr(0, "[4/4] learned_seed=2: reused as it was",
                  "rm -r runs; $TRAIN s.ini run.dir=moved");
    expect_no_stderr("[trunk]", LONGER);
    expect_stderr(2, "train.trunk: the run has", LONGER " sweep.trunk=20");
}

/* Both take the same first step: of a frozen theta nothing was learned. */
TEST(a_branch_cannot_drop_or_merge_theta_that_the_trunk_learned)
{
    run(TINY "run.name=trunk train.steps=30 train.freeze=theta");
    run("$TRAIN tiny.ini run.name=branch train.freeze=theta " BRANCH);
    expect_stdout("layers.1.attention.theta 30",
                  "$TRAIN tiny.ini run.name=thawed train.steps=31 " BRANCH
                  " && h5dump -d /joined runs/thawed/checkpoints/step-00000031.h5");
    run(TINY "run.name=trunk train.steps=30 theta.scope=head --overwrite");
    run(TINY "run.name=layers train.steps=30 && $TRAIN tiny.ini --quiet run.name=heads "
             "train.steps=30 theta.head_scale=yes");
    expect_each_refused("$TRAIN tiny.ini run.name=x",
                        {2, "theta.learn=no " BRANCH, "train.freeze = theta keeps it"},
                        {4, "theta.scope=layer " BRANCH,
                         "theta.scope = layer cannot merge theta of the trunk"},
                        {4, "theta.scope=model train.trunk=runs/layers",
                         "theta.scope = model cannot merge theta of the trunk"},
                        {2, "train.trunk=runs/heads",
                         "theta.head_scale = no would replace them by 1"},
                        {4, "train.trunk=none.h5", ""});
    ck_assert(!exists("runs/x"));
    run("$TRAIN tiny.ini run.name=kept theta.scope=head train.freeze=theta " BRANCH);
    run("awk -F, '$1 == 40 { t[$2, $3, $4] = $5 } $1 == 60 { n++; if (t[$2, $3, $4] != $5) bad = 1 "
        "} END { exit bad || !n }' runs/kept/theta.csv");
}

TEST(a_branch_that_contradicts_its_trunk_is_refused)
{
    write_sweep();
    write_file("v.ini", "[variant trunk]\ntheta.learn = yes\n");
    run(TRUNK);
    expect_each_refused(
        "$TRAIN run.name=x",
        {2, FIXED "model.dim=32 " BRANCH, "model.dim: the run has '16', now it is '32'"},
        {2, FIXED "run.seed=2 " BRANCH, "run.seed: the run has '1', now it is '2'"},
        {2, FIXED "data.length=14 " BRANCH, "data.length: the run has"},
        {2, FIXED "optimizer.kind=sgd " BRANCH, "optimizer.kind: the run has"},
        {2, FIXED "position.kind=alibi " BRANCH, "position.kind: the run has"},
        {2, FIXED "train.steps=30 " BRANCH, "has taken 30 steps already"},
        {2, "s.ini sweep.model.dim=16,32", "model.dim: the run has '16', now it is '32'"},
        {2, "s.ini sweep.trunk=60", "branches need more steps than train.steps = 60"},
        {2, "s.ini sweep.trunk=0", "must be a number of steps from 1"},
        {2, "s.ini train.target_accuracy=0.5", "train.target_accuracy may end it before"},
        {2, "s.ini " BRANCH, "contradict each other"},
        {2, "s.ini sweep.train.steps=20,25", "branches need more steps than train.steps = 25"},
        {2, "v.ini sweep.run.seed=1,2 sweep.trunk=30", "variant trunk is that of a trunk's folder"},
        {2, "tiny.ini sweep.trunk=30", "sweep.trunk has no branches"});
    expect_stderr(1, "runs/trunk/metrics.csv: a branch would lose damaged lines (3)",
                  "sed -i '1s/^/x/' runs/trunk/metrics.csv; $TRAIN " FIXED "run.name=x " BRANCH);
    expect_stderr(1, "runs/trunk/metrics.csv: not a regular file",
                  "rm runs/trunk/metrics.csv; mkdir runs/trunk/metrics.csv; $TRAIN " FIXED
                  "run.name=x --check " BRANCH);
    ck_assert(!exists("runs/x"));
    run(TRUNK " --overwrite && mkdir runs/x && printf 'step\nx\n' >runs/x/timing.csv");
    expect_stderr(1, "runs/x/timing.csv: --resume would lose damaged lines (1)",
                  "$TRAIN " FIXED "run.name=x --resume " BRANCH);
}

TEST(a_branch_on_changed_data_is_a_warning)
{
#define TEXT "data.task=text data.vocab=32 data.file=a.txt "
    run("yes 'some lines of text' | head -c 2000 >a.txt; " TRUNK " " TEXT);
    expect_no_stderr("warning", "$TRAIN " FIXED TEXT "run.name=same " BRANCH);
    expect_stderr(0, "warning: the data has changed since the trunk was trained: it was ",
                  "echo x >>a.txt; $TRAIN " FIXED TEXT "run.name=other " BRANCH);
    expect_text(w->err, "a.txt (2000 bytes, ", "a.txt (2002 bytes, ",
                "); the branch continues on other data\n");
    expect_no_stderr("warning", "$TRAIN " FIXED TEXT "run.name=other --resume " BRANCH);
}
