/* The curves of a sweep from tables made by hand: which numbers, in which order, by which names. */

#include "util/scratch.h"

#include "train/folder/results.h"
#include "train/report/sections.h"

static rt_figures figures;
static rt_sweep_runs runs;
static const char *loss, *data;

static void write_run(const char *name, const char *rows)
{
    ck_assert_int_eq(mkdir(in_scratch(name), 0777), 0);
    put_text(lasting("%s/metrics.csv", name), lasting("step,eval_loss,eval_accuracy\n%s", rows));
}

static const rt_ranking by_loss = {RT_RESULT_LOSS, NULL};
static rt_ranking ranking = {RT_RESULT_LOSS, NULL};

static void draw(const char *table)
{
    put_text("runs.csv", table);
    expect_ok(rt_sweep_runs_read(&runs, scratch));
    rt_figures_begin(&figures, scratch);
    rt_report_curves(&figures, &runs, &ranking);
    expect_ok(figures.status);
    loss = text_in("figures/loss.gp");
    data = text_in("figures/curves.csv");
}

static void end(void)
{
    rt_sweep_runs_free(&runs);
    remove_scratch();
}

SUITE(.setup = make_scratch, .teardown = end)

/* Two seeds make one row: 1 and 3, 2 and 4. Steps 5 and 30 have one of them. A row without a loss
 * is skipped, and so are runs that failed or diverged beside others. */
TEST(a_curve_is_the_mean_of_its_runs_where_all_have_a_value)
{
    write_run("a", "20,2,0.5\n10,1,0.25\n15,,\n");
    write_run("b", "5,7,0.75\n10,3,0.25\n20,4,1\n30,5,1\n");
    write_run("c", "5,9,0.75\n");
    write_run("d", "10,1e9,0\n20,1e9,0\n");
    draw("run,model.dim,run.seed,exit_code,diverged_above\n"
         "a,8,1,0,\nb,8,2,0,\nc,8,3,5,\nd,8,4,0,8\nd,16,1,0,8\n");
    ck_assert_str_eq(data, "10,2,1.41421,0.25,0\n20,3,1.41421,0.75,0.353553\n\n\n");
    expect_in(loss, "\ncurves = 1\n");
    expect_in(figures.list[0].caption,
              "the mean over the seeds, with one standard deviation, where "
              "all of them have a value");
    expect_in(loss, "array labels[curves] = ['dim=8']\n");
    expect_in(loss, "\nhorizontal = 1\nvertical = 2\n");
    ck_assert_int_eq(figures.count, 2);
    expect_in(text_in("figures/accuracy.gp"),
              "\nunit = 'step'\nhorizontal = 1\nvertical = 4\ncurves = 1\n");
}

/* One run has its name, and several have a label truncated to whole characters. The cut lies within
 * an alpha. */
TEST(a_label_that_is_too_long_is_the_name_of_the_run_or_truncated)
{
    for (char name[] = "a"; *name <= 'd'; ++*name)
        write_run(name, "1,1,1\n");
    draw("run,variant,run.seed,model.dim,exit_code\n"
         "a,abcdefghijklmnopqrstuvwxyz-012345678,1,8,0\n"
         "b,abcd,1,16,0\n"
         "c,abcdefghijklmnopqrstuvwxyz-012345678\xce\xb1,1,8,0\n"
         "d,abcdefghijklmnopqrstuvwxyz-012345678\xce\xb1,2,8,0\n");
    expect_in(loss, "array labels[curves] = ['a', 'abcd, dim=16', "
                    "'abcdefghijklmnopqrstuvwxyz-012345678…']\n");
    expect_in(loss, "\nset key maxcols 1\n"); /* two columns would be cut */
}

/* The caption says that further curves are left out. */
TEST_ROWS(there_are_at_most_28_curves, 0, 2)
{
    char table[4096] = "run,variant,exit_code\n";
    for (int i = 0; i < 29 - _i; i++) {
        const char *name = lasting("r%03d", i);
        write_run(name, "1,1,1\n");
        sprintf(table + strlen(table), "%s,%s,0\n", name, name);
    }
    draw(table);
    expect_in(loss, "\ncurves = 28\narray labels[curves] = ['r000', 'r001', ");
    expect_in(loss, ", 'r027']\n");
    ck_assert_int_eq(strstr(figures.list[0].caption, "; only the first groups of runs are drawn") !=
                         NULL,
                     _i == 0);
}

TEST(a_row_that_was_never_evaluated_has_no_curve)
{
    write_run("a", "10,,\n");
    write_run("b", "10,1,1\n");
    draw("run,variant,exit_code\na,a,0\nb,b,0\nc,c,5\n");
    ck_assert_str_eq(data, "10,1,0,1,0\n\n\n");
    expect_in(loss, "\ncurves = 1\narray labels[curves] = ['b']\n");
}

/* The clock of timing.csv starts again at --resume: 20 s, and 5 and 8 more. A step that was not
 * timed is left out. */
TEST(the_times_of_a_resumed_run_add_up)
{
    write_run("a", "10,4,0\n20,3,0\n25,9,0\n30,2,0\n40,1,0\n");
    put_text("a/timing.csv", "step,seconds\n10,10\n20,20\n30,5\n40,8\n");
    draw("run,run.seed,exit_code\na,1,0\n");
    expect_content("figures/time_curves.csv",
                   "10,4,0,10,0\n20,3,0,20,0\n30,2,0,25,0\n40,1,0,28,0\n\n\n");
    loss = text_in("figures/loss_by_time.gp");
    expect_in(loss, "\nset xtics 10\n");
    expect_in(loss, "\nunit = 'seconds'\nhorizontal = 4\nvertical = 2\n");
}

/* Pairs 0 and 1: e and 1/e times the base in one run, the base in the other; the geometric mean of
 * the ratios is that of both. A row of no learned theta is left out, and one of a mixed theta,
 * which has no steps of a grid. */
TEST(theta_is_compared_pair_by_pair)
{
#define HEADING "layer,head,i,theta,theta_initial,geometric,grid\n"
    write_run("a", "");
    write_run("b", "");
    put_text("a/theta_final.csv", HEADING
             "0,all,1,0.03678794412,1,0.1,2\n0,all,0,2.718281828,1,1,0\n0,0,2,0.2,0.1,0.1,\n");
    put_text("b/theta_final.csv",
             HEADING "0,all,0,1,1,1,0\n0,all,1,0.1,1,0.1,0\n0,all,2,-1,1,0.1,\n");
    draw("run,run.seed,exit_code\na,1,0\nb,2,0\n");
    expect_content("figures/theta_curves.csv", "0,0.5,0.707107,,\n1,-0.5,0.707107,,\n\n\n");
    loss = text_in("figures/theta.gp");
    expect_in(loss, "file = 'theta_curves.csv'\n");
    expect_in(loss, "\nunit = 'pair'\nhorizontal = 1\nvertical = 2\n");
    ck_assert_int_eq(figures.count, 1);
}

/* A length without an accuracy has its loss. The mean over a range of lengths is left out. */
TEST(lengths_are_compared_by_their_loss_and_accuracy)
{
    write_run("a", "");
    write_run("b", "");
    put_text("a/lengths.csv", "length,eval_loss,eval_accuracy\n1..12,7,7\n64,3,0.5\n16,1,\n");
    put_text("b/lengths.csv", "length,eval_loss,eval_accuracy\n64,5,1\n");
    draw("run,run.seed,exit_code\na,1,0\nb,2,0\n");
    expect_content("figures/length_curves.csv", "16,1,0,,\n64,4,1.41421,0.75,0.353553\n\n\n");
    loss = text_in("figures/length_accuracy.gp");
    expect_in(loss, "\nunit = 'tokens'\nhorizontal = 1\nvertical = 4\n");
    expect_in(loss, "set logscale x 2");
    ck_assert_int_eq(figures.count, 2);
}

TEST(images_are_compared_by_their_size)
{
    write_run("a", "");
    put_text("a/lengths.csv", "size,eval_loss,eval_accuracy\n24,3,0.5\n28,1,1\n");
    draw("run,run.seed,exit_code\na,1,0\n");
    expect_content("figures/size_curves.csv", "24,3,0,0.5,0\n28,1,0,1,0\n\n\n");
    expect_in(text_in("figures/size_loss.gp"), "unit = 'pixels'\n");
    ck_assert_int_eq(figures.count, 2);
}

TEST(exact_answers_and_distances_are_compared)
{
    write_run("a", "");
    write_run("b", "");
    put_text("a/lengths.csv", "length,eval_loss,eval_accuracy,eval_exact\n8,1,1,0.5\n9,1,1,\n");
    put_text("b/lengths.csv", "length,eval_loss,eval_accuracy,eval_exact\n8,1,1,1\n9,1,1,0.25\n");
    put_text("a/distances.csv", "length,distance,to,labels,eval_accuracy\n8,2,2,5,0.1\n"
                                "16,2,2,5,0.5\n16,4,4,5,1\n");
    put_text("b/distances.csv", "length,distance,to,labels,eval_accuracy\n16,4,4,5,0.5\n"
                                "8,7,7,5,0\n");
    draw("run,run.seed,exit_code\na,1,0\nb,2,0\n");
    expect_content("figures/exact_curves.csv", "8,0.75,0.353553,,\n9,0.25,0,,\n\n\n");
    expect_content("figures/distance_curves.csv", "2,0.5,0,,\n4,0.75,0.353553,,\n\n\n");
    expect_in(text_in("figures/distances.gp"), "set xlabel 'distance (tokens)'");
    expect_in(text_in("figures/length_exact.gp"), "set ylabel 'accuracy'");
}

/* 2 nats of run a are 3 bits, 4 nats of run b are 1 bit. Run c has no bits, and no curve. */
TEST(losses_of_different_vocabularies_are_shown_in_bits_per_byte)
{
    ranking = (rt_ranking){RT_RESULT_BITS_PER_BYTE, NULL};
    write_run("a", "10,8,0.5\n20,2,0.5\n");
    write_run("b", "10,8,0.5\n20,4,0.5\n");
    write_run("c", "10,8,0.5\n");
    draw("run,data.level,exit_code,eval_loss,bits_per_byte\na,byte,0,2,3\nb,char,0,4,1\nc,bpe,0,8,"
         "\n");
    ck_assert_str_eq(data, "10,12,0,0.5,0\n20,3,0,0.5,0\n\n\n10,2,0,0.5,0\n20,1,0,0.5,0\n\n\n");
    expect_in(loss, "set ylabel 'bits per byte'");
    expect_in(figures.list[0].caption, "Evaluation loss in bits per byte");
    expect_in(figures.list[1].caption, "Evaluation accuracy");
    loss = text_in("figures/accuracy.gp");
    ck_assert_ptr_null(strstr(loss, "bits"));
}

TEST(the_caption_says_that_losses_are_not_comparable)
{
    ranking = (rt_ranking){NULL, "objectives"};
    write_run("a", "10,8,0.5\n");
    write_run("b", "10,4,0.5\n");
    draw("run,data.objective,exit_code\na,lm,0\nb,mlm,0\n");
    expect_in(figures.list[0].caption, "; losses of different objectives are not comparable");
    ck_assert_ptr_null(strstr(figures.list[1].caption, "comparable"));
}

/* Keys with the same value in all runs, or without a value, are in no label. */
TEST(a_label_names_the_keys_that_differ)
{
    write_run("a", "1,1,1\n");
    write_run("b", "1,1,1\n");
    draw("run,model.dim,data.vocab_file,data.level,exit_code\na,8,,byte,0\nb,8,v.txt,char,0\n");
    expect_in(loss, "array labels[curves] = ['level=byte', 'vocab_file=v.txt, level=char']\n");
}

/* base = 0 and 1 are the same for kind q, base = 2 is not. */
TEST(a_row_is_drawn_at_all_values_that_are_the_same_for_it)
{
    static const char by_base[] = "0,10,0,1\n1,20,0,1\n\n\nNaN,NaN,NaN,NaN\n\n\n"
                                  "0,30,0,1\n1,30,0,1\n2,40,0,1\n\n\nNaN,NaN,NaN,NaN\n\n\n";
    write_run("a", "1,10,1\n");
    write_run("b", "1,20,1\n");
    write_run("c", "1,30,1\n");
    write_run("d", "1,30,1\n");
    write_run("e", "1,40,1\n");
    draw("run,a.kind,a.base,exit_code,eval_loss\na,p,0,0,10\nb,p,1,0,20\nc,q,0,0,30\nd,q,1,0,30\ne,"
         "q,2,0,40\n");
    runs.list[2].setting = runs.list[3].setting = 1;
    expect_ok(rt_sweep_rows_find(&runs));
    rt_report_curves(&figures, &runs, &by_loss);
    expect_in(
        text_in("figures/loss.gp"),
        "labels[curves] = ['kind=p, base=0', 'kind=p, base=1', 'kind=q', 'kind=q, base=2']\n");
    rt_report_key_figures(&figures, &runs, &by_loss);
    expect_in(text_in("figures/key_1.gp"), "labels[series] = ['base=0', 'base=1', 'base=2']\n");
    expect_in(text_in("figures/key_2.gp"), "labels[series] = ['kind=p', 'kind=q']\n");
    expect_content("figures/key_2.csv", by_base);
}

/* In the label of a tic gnuplot reads % as the start of a format. */
TEST(a_value_with_a_percent_sign_is_a_label)
{
    write_run("a", "1,10,1\n");
    write_run("b", "1,20,1\n");
    draw("run,data.file,exit_code,eval_loss\na,5%g.txt,0,10\nb,b.txt,0,20\n");
    expect_in(loss, "['file=5%g.txt', 'file=b.txt']");
    rt_report_key_figures(&figures, &runs, &by_loss);
    expect_in(text_in("figures/key_1.gp"), "set xtics noenhanced ('5%%g.txt' 0, 'b.txt' 1)\n");
}

TEST(without_a_curve_there_is_no_figure)
{
    draw("run,variant,exit_code\na,a,5\n");
    ck_assert_int_eq(figures.count, 0);
    ck_assert_str_eq(loss, "");
}
