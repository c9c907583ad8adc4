/* Measurements of `train` on pairs: usage, cutoffs, factors of heads; and distances of heads. */

#include "train_program.h"

#define PLAIN "sed -i 's/^learn = yes//' tiny.ini; "

/* Two layers of two heads of four pairs; over a head, use sums to 1 and the others average 1. */
static const char means_of_heads[] =
    "awk -F, 'NR == 1 { if ($0 != \"layer,head,i,theta,turns,use,query,key,query_mean,key_mean\") "
    "exit 1; next } { use += $6; for (c = 7; c <= 10; c++) sum[c] += $c } NR %% 4 == 1 { if (use < "
    ".9999 || use > 1.0001) exit 2; use = 0; for (c = 7; c <= 10; c++) { if (sum[c] < 3.999 || "
    "sum[c] > 4.001) exit 3; sum[c] = 0 } } END { exit NR != 17 }' %s";

SUITE(PROGRAM_OPTIONS)

TEST_ROWS(a_run_ends_with_the_usage_of_its_pairs, 0, 2)
{
    run(_i ? TINY "theta.scope=head run.threads=1" : PLAIN TINY "run.threads=1 train.shards=4");
    run(means_of_heads, "runs/tiny/usage.csv");
    run("grep '^1,1,0,1,' runs/tiny/usage.csv || [ %d = 1 ]", _i);
    run("$TRAIN runs/tiny/config.ini --usage --quiet run.threads=2 >again");
    expect_same_files("runs/tiny/usage.csv", "again");
    run("$TRAIN --checkpoint runs/tiny --usage --quiet >again");
    expect_same_files("runs/tiny/usage.csv", "again");
    run("cp runs/tiny/usage.csv first; $TRAIN runs/tiny/config.ini --resume --quiet");
    expect_same_files("runs/tiny/usage.csv", "first");
    run("$TRAIN runs/tiny/config.ini --quiet --overwrite train.steps=1");
    expect_exit(w, 1, "cmp -s runs/tiny/usage.csv first");
}

TEST(usage_accounts_for_windows_and_shared_keys)
{
    run(PLAIN TINY "train.steps=5 model.window=5 model.kv_heads=1");
    run("grep '^0,1,0,1,0.63661977' runs/tiny/usage.csv");
    run("for h in 0 1; do grep \"^.,$h,\" runs/tiny/usage.csv | cut -d, -f1,3,8,10 >keys$h; grep "
        "\"^.,$h,\" runs/tiny/usage.csv | cut -d, -f7 >queries$h; done");
    expect_same_files("keys0", "keys1");
    expect_exit(w, 1, "cmp -s queries0 queries1");
    expect_stdout("    phase    turns    use   used\n", PLAIN TINY
                  "train.steps=5 theta.learn=yes theta.log=yes model.window=5 run.name=learned");
    expect_text(w->out, "\nturns: full turns over 4 positions\n");
    expect_stdout("phase,turns\t",
                  "head -n 2 runs/learned/theta_final.csv | cut -d, -f10,11 | paste -s");
}

TEST(a_folder_of_hugging_face_has_a_usage)
{
    run(PLAIN TINY "&& $TRAIN tiny.ini --export folder");
    run("$TRAIN tiny.ini --checkpoint folder --usage --quiet >usage");
    run(means_of_heads, "usage");
    expect_stdout("theta: off:2 in the place of the model's own: 2 of 4 pairs of a head",
                  "$TRAIN tiny.ini --checkpoint folder --eval --theta off:2");
    /* keys that are all alike have weights 1 / T: at a distance r there are 2 (T - r) / T^2 */
    run("sed -i 's/^learn = yes//' tiny.ini; $TRAIN tiny.ini --quiet train.steps=1 --overwrite "
        "optimizer.lr=1e-30 position.kind=none");
    run("$TRAIN runs/tiny/config.ini --distances --quiet >distances");
    run("awk -F, '$3 + 1 > T { T = $3 + 1 } { at[NR] = $3; a[NR] = $4 } END { for (i = 2; i <= NR; "
        "i++) { r = at[i]; even = (r ? 2 : 1) * (T - r) / T / T; e = a[i] / even - 1; if (e * e > "
        ".01) exit 1 } exit T != 12 }' distances");
    run(TINY "model.attention=linear_elu run.name=linear");
    expect_stderr(2, "--distances: model.attention = linear_elu has no weights",
                  "$TRAIN runs/linear/config.ini --distances");
}

TEST(a_model_without_rotated_pairs_has_no_usage)
{
    run(PLAIN "for i in position.kind=alibi model.attention=linear_elu position.fraction=0; do "
              "$TRAIN tiny.ini --quiet train.steps=2 run.name=$i $i || exit 2; test -e "
              "runs/$i/usage.csv && exit 1; done; :");
    expect_each_refused("$TRAIN --usage",
                        {2, "runs/position.kind=alibi/config.ini",
                         "--usage: position.kind = alibi has no pairs that rotate"},
                        {2, "tiny.ini --eval", "cannot be combined with another command"});
}

TEST(gradient_theta_prints_a_table)
{
    run(TINY "train.steps=5 theta.scope=head");
    run("$TRAIN runs/tiny/config.ini --gradient theta --quiet run.threads=1 >one");
    run("awk -F, 'NR == 1 { exit $0 != \"layer,head,i,theta,turns,gradient,deviation,sequences\" } "
        "' one && awk -F, 'NR > 1 && !($7 > 0 && $6 * $6 > 0 && $8 > 1) { exit 1 } END { exit NR "
        "!= "
        "17 }' one");
    run("$TRAIN --checkpoint runs/tiny --gradient theta --quiet run.threads=2 >two");
    expect_same_files("one", "two");
    expect_stderr(2, "--gradient must be theta; got 'x'",
                  "$TRAIN --checkpoint runs/tiny --gradient x");
    run(PLAIN TINY "train.steps=2 run.name=fixed");
    expect_stderr(2, "--gradient: needs a learned theta of one axis: theta.learn = yes",
                  "$TRAIN --checkpoint runs/fixed --gradient theta");
    run("$TRAIN --checkpoint runs/fixed --export folder");
    run("$TRAIN tiny.ini --checkpoint folder --gradient theta --quiet theta.learn=yes "
        "theta.scope=layer >folder.csv");
    run("test $(wc -l <folder.csv) = 9");
}

/* Layer 0 has no positions, or a window. */
TEST_ROWS(gradient_theta_has_the_turns_of_the_final_table, 0, 2)
{
    static const char *const layers[] = {"position.layers=no,yes",
                                         "model.window=3 model.layer_types=sliding,full"};
    run(TINY "train.steps=2 theta.scope=model %s", layers[_i]);
    run("$TRAIN runs/tiny/config.ini --gradient theta --quiet | cut -d, -f1-3,5 >one");
    run("awk -F, 'NR == 1 { for (c = 1; c <= NF; c++) if ($c == \"turns\") turns = c } { print $1 "
        "\",\" $2 \",\" $3 \",\" $turns }' runs/tiny/theta_final.csv >two");
    expect_same_files("two", "one");
}

/* Two layers of two heads with a window of 3: a head sums to 1, with nothing beyond distance 2. */
TEST_ROWS(distances_are_parts_of_the_weights_of_a_head, 0, 2)
{
    run(PLAIN TINY "train.steps=5 model.window=3 %s", _i ? "model.causal=yes" : "");
    run("$TRAIN runs/tiny/config.ini --distances --quiet run.threads=1 >distances");
    run("awk -F, 'NR == 1 { if ($0 != \"layer,head,distance,attention\") exit 1; next } $3 > 2 && "
        "$4 { exit 2 } $3 <= 2 && !($4 > 0) { exit 3 } { sum[$1, $2] += $4; rows[$1, $2]++ } END { "
        "for (head in sum) { heads++; if (sum[head] < .9999 || sum[head] > 1.0001 || rows[head] != "
        "rows[0, 0]) exit 4 } exit heads != 4 }' distances");
    run("$TRAIN --checkpoint runs/tiny --distances --quiet run.threads=2 >again");
    expect_same_files("distances", "again");
    run("for n in 0,0 0,1 1,0; do grep ^$n, distances | cut -d, -f4 >of-$n; done; ! cmp -s of-0,0 "
        "of-0,1 && ! cmp -s of-0,0 of-1,0");
}

static double cell_of(const char *file, const char *beginning, int column)
{
    run("grep '^%s' %s | cut -d, -f%d", beginning, file, column);
    return strtod(w->out, NULL);
}

TEST(cutoffs_are_evaluations_without_the_slower_pairs)
{
    run(PLAIN "$TRAIN tiny.ini --quiet");
    ck_assert(!exists("runs/tiny/cutoffs.csv"));
    run(TINY "--resume theta.cutoffs=yes");
    expect_output("off 4 3 2 1 0\n", "cut -d, -f1 runs/tiny/cutoffs.csv | paste -s -d' '");
    const double own = result_of("tiny", "eval_loss");
    ck_assert_double_eq(cell_of("runs/tiny/cutoffs.csv", "4,,", 3), own);
    for (int K = 0; K < 4; K += 3) {
        const double loss = cell_of("runs/tiny/cutoffs.csv", lasting("%d,", K), 3);
        run("$TRAIN tiny.ini --eval --theta off:%d", K);
        ck_assert_double_eq_tol(number_behind(w->out, "eval: loss "), loss, 1e-5 * loss);
    }
    expect_stderr(2, "theta.cutoffs = yes has no effect: it needs position.kind = rope",
                  "$TRAIN tiny.ini position.kind=alibi theta.cutoffs=yes run.name=none");
    NEEDS_PROGRAM("gnuplot");
    shell(w, PLAIN TINY "theta.cutoffs=yes --overwrite");
    shell(w, "$TRAIN --report runs/tiny");
    expect_in_file("runs/tiny/report.html", "filled above twice the mean",
                   "pairs from one on do not rotate");
    run("test -s runs/tiny/figures/usage.svg -a -s runs/tiny/figures/cutoffs.svg");
}

/* Their start, and that they are resumed, is in models/test_transformer.c and test_train_resume.c.
 */
TEST_ROWS(factors_of_heads_are_learned, 0, 2)
{
    const char *keys = _i ? "theta.learn=yes theta.scope=head" : "theta.learn=no";
    run(PLAIN TINY "%s theta.head_scale=yes && $TRAIN tiny.ini --quiet %s theta.head_scale=yes "
                   "theta.lr_scale=0 run.name=still",
        keys, keys);
    expect_exit(w, 1, "cmp -s runs/still/metrics.csv runs/tiny/metrics.csv");
    expect_stderr(0, "warning: theta.head_scale = yes has no effect: theta.lr_scale = 0 keeps",
                  "$TRAIN tiny.ini %s theta.head_scale=yes theta.lr_scale=0 --overwrite", keys);
}

TEST(a_rate_of_theta_that_nothing_has_is_named)
{
    shell(w, PLAIN TINY);
    expect_stderr(0, "warning: theta.lr_scale = 3 has no effect: train.freeze = theta keeps",
                  "$TRAIN tiny.ini theta.learn=yes theta.lr_scale=3 train.freeze=theta "
                  "train.init_from=runs/tiny run.name=kept");
    expect_stderr(
        0, "warning: theta.lr_scale = 3 has no effect: train.freeze = layers.0,layers.1 keeps",
        "$TRAIN tiny.ini theta.head_scale=yes theta.lr_scale=3 "
        "train.freeze=layers.0,layers.1 "
        "train.init_from=runs/tiny run.name=factors");
    run("$TRAIN tiny.ini theta.learn=yes theta.head_scale=yes theta.lr_scale=3 "
        "train.freeze=theta train.init_from=runs/tiny run.name=one 2>kept && ! grep 'no effect' "
        "kept");
}

/* Factors are folded into the queries; a model from there, or without any, starts with 1. */
TEST(head_factors_are_exported_with_the_model)
{
    run(PLAIN TINY "theta.head_scale=yes theta.lr_scale=30 && $TRAIN tiny.ini --quiet "
                   "theta.head_scale=yes --export folder");
    const double own = result_of("tiny", "eval_loss");
    run(TINY "theta.head_scale=yes train.init_from=folder run.name=b optimizer.lr=0 train.steps=1");
    ck_assert_double_eq_tol(result_of("b", "eval_loss"), own, 2e-5 * own);
    run(TINY "run.name=c; $TRAIN tiny.ini --quiet theta.head_scale=yes train.init_from=runs/c "
             "run.name=d optimizer.lr=0 train.steps=1");
    ck_assert_double_eq(result_of("d", "eval_loss"), result_of("c", "eval_loss"));
    expect_stderr(4, "layers.0.attention.head_scale, which the model lacks",
                  "$TRAIN tiny.ini train.init_from=runs/tiny run.name=e");
}
