/* Runs of `train` whose layers start at a theta of their own: position.local_base. */

#include "markup.h"
#include "train_program.h"

/* Pairs 1 of 4 start at 10000^(-1/4) = 0.1 in the first layer, at 100^(-1/4) in the others. */
#define APART                                                                                      \
    "model.layers=3 model.window=5 model.layer_types=full,sliding,sliding position.local_base=100"
#define LOCAL "0.316227766"

SUITE(PROGRAM_OPTIONS)

TEST(every_table_has_the_initial_theta_of_the_layer)
{
    expect_stdout("\n    0  all   1        0.1        0.1  +0.0000    0.000 ",
                  "$TRAIN tiny.ini " APART " theta.lr_scale=0 train.steps=20");
    expect_text(w->out, "\n    2  all   1     0.3162     0.3162  +0.0000    0.000 ",
                ": near (tolerance 0.20)\n");
    expect_output("2\n", "grep -c '^[0-9]*,0,all,1,0.[01][0-9]*,0.1$' runs/tiny/theta.csv");
    expect_output("4\n",
                  "grep -c '^[0-9]*,[12],all,1,0.31622[0-9]*," LOCAL "$' runs/tiny/theta.csv");
    expect_output("0,all,1,0.1,0.1\n1,all,1," LOCAL "," LOCAL "\n2,all,1," LOCAL "," LOCAL "\n",
                  "cut -d, -f1-3,5,6 runs/tiny/theta_final.csv | grep ',all,1,'");
    expect_output("4\n", "$TRAIN --checkpoint runs/tiny --usage | cmp - runs/tiny/usage.csv && "
                         "grep -c '^[12],[01],1,0.31622' runs/tiny/usage.csv");
}

/* Each layer started at its base, so there is one theta to reset to. */
TEST(resetting_puts_each_layer_where_it_started)
{
    NEEDS_PROGRAM("gnuplot");
    expect_no_stdout("started elsewhere",
                     "$TRAIN tiny.ini " APART " theta.lr_scale=30 theta.tolerances=yes");
    ck_assert_int_eq(count_of(w->out, "theta: reset to "), 1);
    const char *reset = line_of(w->out, "theta: reset to init: eval loss ");
    const double loss = number_behind(strstr(reset, "-> "), "-> ");
    static const char *const places[] = {"start", "base"};
    for (int i = 0; i < 2; i++) {
        run("$TRAIN runs/tiny/config.ini --eval --theta %s", places[i]);
        ck_assert_double_eq(number_behind(w->out, "eval: loss "), loss);
    }
    expect_in_file("runs/tiny/theta_final.csv", ",tolerance_down,tolerance_up\n");
    /* a grid step is that of the layer's own base: ln 10000 / 4, or ln 100 / 4 */
    expect_output(
        "12\n", "awk -F, 'NR > 1 { step = log($1 ? 100 : 10000) / 4; moved = log($4 / $5) / step; "
                "moved = moved < 0 ? -moved : moved; d = moved - $9; n++; if (d * d > 1e-12 || "
                "moved > 2 * $9 + 1e-9) exit 1 } END { print n }' runs/tiny/theta_final.csv");
    run("$TRAIN tiny.ini " APART
        " theta.lr_scale=30 theta.tolerances=yes train.steps=80 --resume --quiet");
    run("$TRAIN --report runs/tiny");
    expect_text(page_text("runs/tiny/report.html"), " | 0.316228 | ");
}

/* --theta base is the fixed theta, and so is a file with the theta of each layer. */
TEST(a_fixed_theta_is_the_base_of_its_layer)
{
    static const char *const same[] = {"start", "base", "scale:1", "table.csv"};
    run("sed -i 's/^learn = yes//' tiny.ini; $TRAIN tiny.ini " APART " --quiet");
    const char *own = line_of(w->out, "eval: loss ");
    run("{ echo layer,head,i,theta; for l in 0 1 2; do for i in 0 1 2 3; do b=100; [ $l = 0 ] && "
        "b=10000; awk \"BEGIN { printf \\\"$l,all,$i,%%.17g\\\\n\\\", $b^(-$i / 4) }\"; done; "
        "done; } >table.csv");
    for (int i = 0; i < ROWS(same); i++) {
        run("$TRAIN runs/tiny/config.ini --eval --theta %s", same[i]);
        ck_assert_str_eq(line_of(w->out, "eval: loss "), own);
    }
    expect_stdout("2 to 3 of 4 pairs of a head rotate, |theta| from 0.1 to 1",
                  "$TRAIN runs/tiny/config.ini --eval --theta off:0.05turns | grep '^theta: '");
}

TEST(decay_has_a_column_for_each_initial_theta)
{
    expect_output("r,C,C_sliding\n",
                  "$TRAIN tiny.ini " APART
                  " --decay >both.csv; $TRAIN tiny.ini --decay >one.csv; $TRAIN tiny.ini "
                  "position.base=100 --decay >other.csv; head -n 1 both.csv");
    run("cut -d, -f1,2 both.csv | cmp - one.csv && cut -d, -f1,3 both.csv | sed 's/_sliding//' | "
        "cmp - other.csv");
    run("$TRAIN tiny.ini model.window=5 position.local_base=100 --decay | cmp - other.csv");
    expect_stdout("r,C,C_sliding,C_layer_0,C_layer_1,C_layer_2\n",
                  "$TRAIN tiny.ini " APART
                  " train.steps=2 --quiet; $TRAIN --checkpoint runs/tiny --decay | head -n 1");
    /* sliding layers with another rotated share */
    run("for c in local_fraction=0.25 fraction=0.25; do $TRAIN tiny.ini model.window=5 "
        "model.layers=3 model.layer_types=full,sliding,full theta.learn=no position.$c --decay "
        ">$c.csv; done; "
        "cut -d, -f1,2 local_fraction=0.25.csv | cmp - one.csv && cut -d, -f1,3 "
        "local_fraction=0.25.csv | sed 's/_sliding//' | cmp - fraction=0.25.csv");
    /* a theta of all layers needs one start */
    run("$TRAIN tiny.ini model.window=5 position.local_base=100 theta.scope=model train.steps=2 "
        "--quiet --overwrite && grep '^0,all,all,1,.*," LOCAL "$' runs/tiny/theta.csv");
}

TEST(a_run_keeps_its_base_of_sliding_layers)
{
    static const char from[] = "train.init_from=runs/tiny train.steps=2 --quiet run.name=";
    run("$TRAIN tiny.ini " APART " --quiet train.steps=20");
    expect_in_file("runs/tiny/config.ini", "\nlocal_base = 100\n");
    expect_stdout("\nlocal_base = 100\n",
                  "sed -i /^layers/d tiny.ini; $TRAIN tiny.ini %ssecond && grep '^local_base = ' "
                  "runs/second/config.ini",
                  from);
    expect_no_stdout("local_base",
                     "$TRAIN tiny.ini %sthird model.window=0 && cat runs/third/config.ini", from);
}
