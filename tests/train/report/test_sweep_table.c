/* Counts, means and names in the table of a sweep, sweep.csv and the report, of rows made by hand.
 */

#include "util/scratch.h"

#include "train/report/sections.h"

static rt_sweep_runs runs;
static rt_sweep_table table;
static rt_paired paired;
static rt_writer written;
static char text[16384];

static void free_all(void)
{
    rt_writer_free(&written);
    rt_paired_free(&paired);
    rt_sweep_table_free(&table);
    rt_sweep_runs_free(&runs);
    remove_scratch();
}

static void read_runs(const char *rows)
{
    rt_sweep_runs_free(&runs);
    put_text("runs.csv", rows);
    expect_ok(rt_sweep_runs_read(&runs, scratch));
}

static const char *printed_in(rt_sweep_order order, const char *rows)
{
    FILE *to = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(to);
    read_runs(rows);
    expect_ok(rt_sweep_table_make(&table, &runs, order));
    rt_sweep_table_print(to, &table);
    fclose(to);
    return text;
}

static const char *as_csv(const char *rows)
{
    read_runs(rows);
    rt_writer_free(&written);
    rt_sweep_table_csv(&written, &runs);
    return written.bytes;
}

SUITE(.setup = make_scratch, .teardown = free_all)

static const rt_paired_difference *difference(const char *key, const char *value)
{
    for (int i = 0; i < paired.count; i++)
        if (!strcmp(paired.list[i].key, key) && !strcmp(paired.list[i].value, value))
            return &paired.list[i];
    ck_abort_msg("no %s = %s", key, value);
    return NULL;
}

static void pair(const char *rows)
{
    rt_paired_free(&paired);
    read_runs(rows);
    expect_ok(rt_paired_make(&paired, &runs, &(rt_ranking){RT_RESULT_LOSS, NULL}));
}

/* Two seeds at two values of train.steps; the third seed has no partner. */
TEST(pairs_count_their_seeds_and_compare_bits_if_bits_rank)
{
    static const char rows[] =
        "run,model.kind,run.seed,train.steps,exit_code,eval_loss,bits_per_byte\n"
        "1,a,1,10,0,1,9\n2,a,2,10,0,1,8\n3,a,1,20,0,1,7\n4,a,2,20,0,1,6\n"
        "5,b,1,10,0,2,5\n6,b,2,10,0,2,4\n7,b,1,20,0,2,3\n8,b,2,20,0,2,2\n"
        "9,a,3,10,0,1,1\n";
    pair(rows);
    ck_assert_int_eq(difference("model.kind", "b")->loss.count, 4);
    ck_assert_int_eq(difference("model.kind", "b")->seeds, 2);
    ck_assert_double_eq(difference("model.kind", "b")->loss.mean, 1);
    rt_paired_free(&paired);
    expect_ok(rt_paired_make(&paired, &runs, &(rt_ranking){RT_RESULT_BITS_PER_BYTE, NULL}));
    ck_assert_double_eq(difference("model.kind", "b")->loss.mean, -4);
}

/* Differences of one seed and one dim: 1, 2, 3 for b; c lacks a seed, and one of its runs failed.
 */
TEST(runs_that_differ_in_one_key_are_paired)
{
    pair("run,model.kind,run.seed,train.steps,exit_code,eval_loss\n"
         "1,a,1,100,0,10\n2,a,2,100,0,20\n3,a,3,100,0,30\n"
         "4,b,1,100,0,11\n5,b,2,100,0,22\n6,b,3,100,0,33\n"
         "7,c,2,100,0,19\n8,c,3,100,5,\n9,b,1,200,0,7\n");
    /* twice the steps lower the loss by 4: half of that is worth a factor of sqrt(2), -29.3 % */
    ck_assert_double_eq(paired.doubling, -4);
    rt_paired_csv(&written, &paired);
    expect_in(written.bytes, "key,value,against,n,mean,low,high,detectable_90\n"
                             "model.kind,b,a,3,2,-0.484137712,4.48413771,3.92344851\n"
                             "model.kind,c,a,1,-1,,,\n"
                             "train.steps,200,100,1,-4,,,\n");
    rt_paired_report(&written, &paired);
    expect_in(written.bytes, "model.kind = b against a: +2 [-0.484, +4.48], "
                             "detectable 3.92, worth -29.3 % of compute");
}

/* The worth of a difference needs runs that took their steps, and a gain that is known. */
TEST(nothing_is_worth_compute_if_twice_the_steps_have_no_known_gain)
{
    static const struct {
        const char *name, *c, *d; /* loss and steps at 100 and 200 steps, of the second seed */
        bool known;
    } rows[] = {{"known", "20,100", "15.9,200", true},
                {"stopped early", "20,100", "15.9,150", false},
                {"older runs", "20,", "15.9,", true},
                {"no interval below 0", "20,100", "19.9,200", false}};
    for (int i = 0; i < ROWS(rows); i++) {
        pair(lasting("run,run.seed,train.steps,exit_code,eval_loss,steps\n1,1,100,0,10,100\n"
                     "2,1,200,0,6,200\n3,2,100,0,%s\n4,2,200,0,%s\n",
                     rows[i].c, rows[i].d));
        ck_assert_msg(!isnan(paired.doubling) == rows[i].known, "%s", rows[i].name);
    }
}

/* Of row b one run diverged: neither the mean nor a difference has its loss. */
TEST(results_of_runs_that_diverged_are_left_out)
{
    static const char rows[] =
        "run,model.kind,run.seed,exit_code,eval_loss,diverged_above,theta_near,theta_max_change\n"
        "1,a,1,0,10,,1,0.1\n2,a,2,0,20,,1,0.2\n3,a,3,0,30,,1,0.3\n"
        "4,b,1,0,11,,1,0.1\n5,b,2,0,1e9,50,0,8e3\n6,b,3,0,32,,1,0.1\n";
    pair(rows);
    ck_assert_int_eq(difference("model.kind", "b")->loss.count, 2);
    ck_assert_double_eq(difference("model.kind", "b")->loss.mean, 1.5);
    ck_assert_int_eq(runs.rows[1].good, 2);
    ck_assert_double_eq(rt_sweep_summary(&runs, 1, rt_sweep_column(&runs, "eval_loss")).mean, 21.5);
    ck_assert_double_eq(rt_sweep_number(&runs, 4, rt_sweep_column(&runs, "eval_loss")), 1e9);
    const rt_sweep_verdict v = rt_sweep_judge(&runs);
    ck_assert_int_eq(v.finished, 6);
    ck_assert(v.learned == 5 && v.near == 5 && v.change == 0.3);
    rt_writer_free(&written);
    rt_sweep_report_left_out(&written, &v);
    ck_assert_str_eq(written.bytes, "1 run diverged (5): left out of means and differences\n");
}

static const rt_ranking by_loss = {RT_RESULT_LOSS, NULL};

static const char *best_by(const rt_ranking *ranking, const char *rows)
{
    read_runs(rows);
    rt_writer_free(&written);
    rt_sweep_report_best(&written, &(rt_sweep_study){.runs = runs,
                                                     .order = RT_SETTINGS_FIRST,
                                                     .ranking = *ranking,
                                                     .best = rt_sweep_find_best(&runs, ranking)});
    return written.length ? written.bytes : "";
}

/* The verdict on the rows a, b and c. b is higher than a by 1, 2 and 3 at the three seeds. */
static const struct {
    const char *c, *line;
    bool apart;
} bests[] = {
    {"7,c,1,0,20\n8,c,2,0,31\n9,c,3,0,40\n",
     "lowest loss: kind=a, 20.0000; kind=b is higher by 5 [2.52, 7.48] (95 % interval, 3 pairs); "
     "the others are told apart, too\n",
     true},
    {"7,c,1,0,10\n8,c,2,0,25\n9,c,3,0,40\n",
     "lowest loss: kind=a, 20.0000; not told apart from kind=c, which is higher by 5 [-7.42, 17.4] "
     "(95 % interval, 3 pairs)\n",
     false},
    /* row c has no result: nothing is said of it */
    {"7,c,1,5,\n",
     "lowest loss: kind=a, 20.0000; kind=b is higher by 5 [2.52, 7.48] (95 % interval, 3 pairs)\n",
     true},
    /* row c has the lowest mean and is higher at the seed that it shares */
    {"7,c,1,0,11\n", "", false},
    {"7,c,9,0,21\n",
     "lowest loss: kind=a, 20.0000; kind=c has 21.0000, without an interval: that needs two common "
     "seeds\n",
     false},
    /* the one run of row c that has not failed has the lowest loss */
    {"7,c,8,0,9\n8,c,9,5,\n", "", false},
    {"7,c,8,0,29\n8,c,9,5,\n",
     "lowest loss: kind=a, 20.0000; kind=b is higher by 5 [2.52, 7.48] (95 % interval, 3 pairs)\n",
     false},
};

TEST_ROWS(the_best_row_is_distinguished_by_paired_seeds, 0, ROWS(bests))
{
    const char *rows =
        lasting("run,model.kind,run.seed,exit_code,eval_loss\n1,a,1,0,10\n2,a,2,0,20\n3,a,3,0,30\n"
                "4,b,1,0,14\n5,b,2,0,25\n6,b,3,0,36\n%s",
                bests[_i].c);
    ck_assert_str_eq(best_by(&by_loss, rows), bests[_i].line);
    const rt_sweep_best best = rt_sweep_find_best(&runs, &by_loss);
    ck_assert_int_eq(rt_sweep_best_is_apart(&best), bests[_i].apart);
}

TEST(a_single_row_and_incomparable_losses_have_no_best)
{
#define KINDS "run,model.kind,run.seed,exit_code,eval_loss\n1,a,1,0,10\n"
    ck_assert_str_eq(best_by(&by_loss, KINDS "2,a,2,0,20\n"), "");
    ck_assert_str_eq(best_by(&by_loss, KINDS "2,b,1,5,\n"), "");
    ck_assert_str_eq(best_by(&(rt_ranking){NULL, "tasks"}, KINDS "2,b,1,0,11\n"), "");
}

/* A setting of one seed counts once, also in an untrusted file: its first run that is good. */
TEST(repeated_runs_count_once)
{
    char rows[8192] = "run,model.kind,exit_code,eval_loss\n";
    for (int i = 0; i < 100; i++)
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "r%d,%s,0,%d\n", i,
                 i % 2 ? "b" : "a", i);
    pair(rows);
    ck_assert_int_eq(paired.count, 1);
    ck_assert_int_eq(paired.list[0].loss.count, 1);
    ck_assert(runs.row_count == 2 && runs.rows[0].runs == 1 && !runs.seeds);
    pair("run,model.kind,run.seed,exit_code,eval_loss\n1,a,1,5,\n2,a,1,0,10\n3,a,2,0,20\n"
         "4,a,1,0,10\n5,b,1,0,13\n6,b,1,0,13\n7,b,2,0,21\n");
    const rt_summary a = rt_sweep_summary(&runs, 0, rt_sweep_column(&runs, "eval_loss"));
    ck_assert(a.count == 2 && a.mean == 15 && runs.rows[0].runs == 2 && runs.rows[0].good == 2);
    ck_assert_int_eq(difference("model.kind", "b")->loss.count, 2);
    ck_assert_double_eq(difference("model.kind", "b")->loss.mean, 2);
    expect_ok(rt_sweep_table_make(&table, &runs, RT_RESULTS_FIRST));
    ck_assert_str_eq(table.cells[1], "2, 3");
    const rt_sweep_verdict v = rt_sweep_judge(&runs);
    rt_sweep_report_left_out(&written, &v);
    ck_assert_str_eq(written.bytes, "3 runs have the effective settings and the seed of another "
                                    "(1, ...): counted once\n");
}

/* base has no effect on a row of kind b, whose two runs of each seed are of one setting. steps has
 * an effect on all. */
TEST(a_key_without_effect_sets_no_runs_apart)
{
    rt_writer rows = {0};
    rt_writer_add(&rows, "run,model.kind,a.base,run.seed,train.steps,exit_code,eval_loss\n");
    for (int i = 0; i < 16; i++) {
        const int b = i / 8, base = i / 4 % 2, seed = i / 2 % 2, more = i % 2;
        rt_writer_add(&rows, "%d,%s,%d,%d,%d,0,%d\n", i, b ? "b" : "a", base, seed, 10 << more,
                      b ? 100 + seed - 6 * more : 10 + 4 * base + seed - 3 * more);
    }
    read_runs(rows.bytes);
    rt_writer_free(&rows);
    for (int i = 8; i < 16; i++)
        runs.list[i].setting = (uint64_t)i % 4 + 1;
    expect_ok(rt_sweep_rows_find(&runs));
    expect_ok(rt_paired_make(&paired, &runs, &by_loss));
    ck_assert_int_eq(difference("a.base", "1")->loss.count, 4);
    ck_assert_double_eq(difference("a.base", "1")->loss.mean, 4);
    ck_assert_int_eq(difference("model.kind", "b")->loss.count, 8);
    ck_assert_int_eq(difference("train.steps", "20")->loss.count, 6);
    ck_assert_double_eq(paired.doubling, -4);
    rt_sweep_table_csv(&written, &runs);
    expect_in(written.bytes, "\na,1,20,2,2,11.5,0.707106781,2\nb,,10,2,2,100.5,0.707106781,2\n"
                             "b,,20,2,2,94.5,0.707106781,2\n");
    expect_ok(rt_sweep_table_make(&table, &runs, RT_SETTINGS_FIRST));
    ck_assert_str_eq(table.cells[table.rows + 5], "-");
    rt_writer_free(&written);
    rt_sweep_row_settings(&written, &runs, 5);
    ck_assert_str_eq(written.bytes, "kind=b, steps=20");
}

TEST(runs_that_differ_only_in_the_seed_are_not_paired)
{
    pair("run,run.seed,exit_code,eval_loss\n1,1,0,10\n2,2,0,20\n");
    ck_assert_int_eq(paired.count, 0);
    ck_assert(isnan(paired.doubling));
    rt_paired_report(&written, &paired);
    rt_paired_page(&written, &paired);
    ck_assert_uint_eq(written.length, 0);
}

/* Four rows of position.kind and model.dim with up to three seeds. */
#define HEADINGS                                                                                   \
    "run,position.kind,run.seed,model.dim,exit_code,steps,eval_loss,eval_accuracy,theta_near,"     \
    "theta_max_change,theta_max_phase,first_step_with_accuracy_0.99\n"

static const char grid[] = HEADINGS "a1,rope,1,8,0,20,0.25,0.5,1,0.125,2,10\n"
                                    "a2,rope,2,8,7,20,0.5,0.75,0,0.25,4,20\n"
                                    "a3,rope,3,8,0,20,1.5,1,1,0.375,0.5,\n"
                                    "b1,rope,1,16,5,3,,,,,,\n"
                                    "b2,rope,2,16,,20,2,0.5,1,0.0625,1,\n"
                                    "c1,none,1,8,0,20,2,0.25,,,,\n"
                                    "c2,none,2,8,6,20,4,0.25,,,,15\n";

static const struct {
    rt_sweep_order order;
    const char *rows, *table;
} tables[] = {
    /* row a: loss 2.25 / 3 = 0.75, deviations -0.5, -0.25, 0.75: 0.875 / 2, root 0.6614; accuracy
     * 0.75 and 0.25; change 0.25 and 0.125; phase 6.5 / 3, 6.1667 / 2, root 1.756; near 2/3 and
     * sqrt(1/3); steps 15 and sqrt(50) */
    {RT_SETTINGS_FIRST, grid,
     "kind  dim  runs    loss             accuracy         theta change    phase (rad)    "
     "near           steps to 99 %\n"
     "rope  8    3       0.7500 ± 0.6614  0.7500 ± 0.2500  0.250 ± 0.125   2.17 ± 1.76    "
     "0.67 ± 0.58    15 ± 7 (2 of 3)\n"
     "rope  16   0 of 2  2.0000 (1 of 2)  0.5000 (1 of 2)  0.062 (1 of 2)  1.00 (1 of 2)  "
     "1.00 (1 of 2)  -\n"
     "none  8    1 of 2  3.0000 ± 1.4142  0.2500 ± 0.0000  -               -              "
     "-              15 (1 of 2)\n"},
    /* rows of one setting need not stand together */
    {RT_SETTINGS_FIRST,
     "run,run.seed,a.x,exit_code,eval_loss\n1,1,p,0,1\n2,1,q,0,10\n3,2,p,0,3\n4,2,q,0,30\n",
     "x  runs  loss               accuracy  steps to 99 %\n"
     "p  2     2.0000 ± 1.4142    -         -\n"
     "q  2     20.0000 ± 14.1421  -         -\n"},
    /* first the names of the runs, last the settings; one that all runs have is not shown */
    {RT_RESULTS_FIRST,
     "run,a.x,b.y,run.seed,c.z,exit_code,eval_loss,bits_per_byte\n"
     "a1,p,1,1,9,0,1,\na2,p,1,2,9,0,3,\na3,p,1,3,9,0,2,\n"
     "b1,q,1,1,9,0,5,2.5\nb2,q,1,2,9,5,,\nc,q,2,1,9,0,6,4\n",
     "run          runs    loss             bits/byte        accuracy  steps to 99 %  x  y\n"
     "a1, a2, ...  3       2.0000 ± 1.0000  -                -         -              p  1\n"
     "b1, b2       1 of 2  5.0000 (1 of 2)  2.5000 (1 of 2)  -         -              q  1\n"
     "c            1       6.0000           4.0000           -         -              q  2\n"},
    /* nan is no result; numbers may be as large as a double */
    {RT_SETTINGS_FIRST,
     "run,a.x,run.seed,exit_code,eval_loss\n1,p,1,0,1e301\n2,p,2,0,3e301\n3,q,1,0,inf\n"
     "4,r,1,0,nan\n5,s,1,0,-inf\n6,t,1,0,1e301\n7,t,2,0,nan\n",
     "x  runs  loss             accuracy  steps to 99 %\n"
     "p  2     2e+301 ± inf     -         -\n"
     "q  1     inf              -         -\n"
     "r  1     -                -         -\n"
     "s  1     -inf             -         -\n"
     "t  2     1e+301 (1 of 2)  -         -\n"},
    {RT_SETTINGS_FIRST, "run,a.x,b.y,exit_code\n1,p,1,0\n2,p,2,0\n",
     "y  runs  loss  accuracy  steps to 99 %\n"
     "1  1     -     -         -\n"
     "2  1     -     -         -\n"},
    /* long settings are cut to whole characters, and none speaks to the terminal */
    {RT_SETTINGS_FIRST,
     "run,a.x,exit_code\n1,0000000000000000000000000000000000000000000000000\xce\xb8z,0\n"
     "2,\x1b[31m\x07,0\n",
     "x                                                  runs  loss  accuracy  steps to 99 %\n"
     "0000000000000000000000000000000000000000000000000  1     -     -         -\n"
     "?[31m?                                             1     -     -         -\n"},
};

TEST_ROWS(the_table_has_the_means_and_deviations_of_its_rows, 0, ROWS(tables))
{
    ck_assert_str_eq(printed_in(tables[_i].order, tables[_i].rows), tables[_i].table);
    for (int i = 0; i < table.columns && tables[_i].order == RT_RESULTS_FIRST; i++)
        ck_assert_int_eq(table.list[i].kind, i == 0   ? RT_COLUMN_NAMES
                                             : i == 1 ? RT_COLUMN_RUNS
                                             : i < 6  ? RT_COLUMN_RESULT
                                                      : RT_COLUMN_SETTING);
}

TEST(a_run_whose_check_failed_counts_as_finished)
{
    static const struct {
        const char *code;
        int good;
    } codes[] = {{"0", 1}, {"7", 1}, {"1", 0}, {"5", 0}, {"6", 0}, {"75", 0}, {"", 0}, {"x", 0}};
    for (int i = 0; i < ROWS(codes); i++) {
        read_runs(lasting("run,exit_code,steps\na,%s,1\n", codes[i].code));
        ck_assert_int_eq(runs.rows[0].runs, 1);
        ck_assert_msg(runs.rows[0].good == codes[i].good, "exit code %s", codes[i].code);
        ck_assert_int_eq(rt_sweep_judge(&runs).finished, codes[i].good);
    }
}

/* The file names all settings, those that all runs have as well. */
TEST(the_file_has_every_result_of_every_row)
{
    expect_in(as_csv("run,a.x,b.y,exit_code\n1,p,1,0\n2,p,2,0\n"), "a.x,b.y,runs,good\np,1,1,1\n");
    ck_assert_str_eq(as_csv("run,variant,run.seed,exit_code,eval_loss,other\n"
                            "a1,a,1,0,1,\n"
                            "a2,a,2,7,2,5\n"
                            "a3,a,3,5,4.5,\n"
                            "b1,\"b,\"\"c\",1,0,inf,\n"),
                     "variant,runs,good,eval_loss_mean,eval_loss_sd,eval_loss_n,other_mean,"
                     "other_sd,other_n\n"
                     /* 7.5 / 3; (2.25 + 0.25 + 4) / 2 = 3.25 */
                     "a,3,2,2.5,1.80277564,3,5,,1\n"
                     "\"b,\"\"c\",1,1,inf,,1,,,0\n");
}

TEST(other_lengths_have_a_column_each)
{
    rt_writer rows = {0};
    rt_writer_add(&rows, "run,exit_code");
    for (int i = 0; i < 40; i++)
        rt_writer_add(&rows, ",eval_loss_at_%d,eval_accuracy_at_%d", 100 + i, 100 + i);
    rt_writer_add(&rows, "\na,0");
    for (int i = 0; i < 40; i++)
        rt_writer_add(&rows, ",9,0.%d", 10 + i);
    rt_writer_add(&rows, "\n");
    const char *lines = printed_in(RT_SETTINGS_FIRST, rows.bytes);
    rt_writer_free(&rows);
    ck_assert_int_eq(table.columns, 1 + 2 + 40 + 1);
    for (int i = 0; i < 40; i++) {
        expect_in(lines, lasting("  at %d  ", 100 + i));
        expect_in(lines, lasting("  0.%d00  ", 10 + i));
    }
}

/* Columns of any number are in test_csv.c. */
TEST(thousands_of_runs_are_summarized)
{
    enum { RUNS = 3000 };
    rt_writer rows = {0};
    rt_writer_add(&rows, "run,a.x,run.seed,exit_code,eval_loss\n");
    for (int r = 0; r < RUNS; r++)
        rt_writer_add(&rows, "r%d,%d,%d,0,%d\n", r, r % 1000, r / 1000, r / 1000 + 1);
    read_runs(rows.bytes);
    rt_writer_free(&rows);
    ck_assert_int_eq(runs.count, RUNS);
    ck_assert_int_eq(runs.row_count, 1000);
    for (int row = 0; row < 1000; row++) {
        const rt_summary s = rt_sweep_summary(&runs, row, rt_sweep_column(&runs, "eval_loss"));
        ck_assert_int_eq(s.count, 3);
        ck_assert_double_eq(s.mean, 2);
        ck_assert_double_eq(s.deviation, 1);
    }
}

/* The second row is of an earlier version, which had another name of the change. */
static const struct {
    const char *rows, *verdict;
} verdicts[] = {
    {grid, "theta: near in 3 of the 4 runs that learn it, max relative drift 0.375 (a3)\n"},
    {"run,exit_code,theta_near,theta_max_drift\nfirst,0,1,0.5\nsecond,0,1,0.5\nno theta,0,,9\n",
     "theta: near in 2 of the 2 runs that learn it, max relative drift 0.5 (first)\n"},
    {"run,exit_code,theta_near,theta_max_change\na,0,0,1\nb,0,0,inf\nc,0,0,1e300\n",
     "theta: near in 0 of the 3 runs that learn it, max relative drift inf (b)\n"},
    {"run,exit_code,theta_near,theta_max_change\na,0,0,\n",
     "theta: near in 0 of the 1 runs that learn it\n"},
    {"run,run.seed,exit_code,theta_near,theta_needed\na,1,0,1,1\nb,2,0,1,0\nc,3,7,0,1\nd,4,0,0,\n"
     "e,5,0,,\n",
     "theta: near in 2 of the 4 runs that learn it\n"
     "theta: reset to init: 2 of the 3 models depend on it\n"},
    {"run,exit_code,eval_loss\na,0,1\n", ""},
};

TEST_ROWS(the_verdict_names_the_run_with_the_largest_drift, 0, ROWS(verdicts))
{
    read_runs(verdicts[_i].rows);
    const rt_sweep_verdict v = rt_sweep_judge(&runs);
    rt_sweep_report_theta(&written, &v);
    ck_assert_str_eq(written.bytes ? written.bytes : "", verdicts[_i].verdict);
}

TEST(without_a_file_there_are_no_runs)
{
    expect_ok(rt_sweep_runs_read(&runs, scratch));
    ck_assert_int_eq(runs.count, 0);
    expect_ok(rt_sweep_table_make(&table, &runs, RT_SETTINGS_FIRST));
    ck_assert_int_eq(rt_sweep_judge(&runs).finished, 0);
}

TEST(a_table_without_runs_and_exit_codes_is_refused)
{
    static const char *const texts_of_others[] = {"step,loss\n1,2\n", "run,a.x\n1,2\n",
                                                  "name,exit_code\n1,0\n"};
    for (int i = 0; i < 3; i++) {
        put_text("runs.csv", texts_of_others[i]);
        is_status(rt_sweep_runs_read(&runs, scratch), RT_IO,
                  lasting("%s: not the table of the runs of a sweep", in_scratch("runs.csv")));
        rt_sweep_runs_free(&runs);
    }
}

/* A name is that of a folder below the sweep's own. */
TEST(runs_outside_the_folder_of_the_sweep_are_ignored)
{
    read_runs("run,exit_code\n..,0\n.,0\n/etc,0\na/b,0\n../x,0\n,0\n...,0\nok,0\n");
    ck_assert_int_eq(runs.count, 2);
    ck_assert_str_eq(runs.list[0].cells[0], "...");
    ck_assert_str_eq(runs.list[1].cells[0], "ok");
}

static rt_status make_table(void)
{
    rt_status status = rt_sweep_runs_read(&runs, scratch);
    if (!status.code)
        status = rt_sweep_table_make(&table, &runs, RT_SETTINGS_FIRST);
    rt_sweep_table_free(&table);
    rt_sweep_runs_free(&runs);
    return status;
}

TEST(an_exhausted_heap_is_an_error_without_a_leak)
{
    put_text("runs.csv", grid);
    expect_ok_after_refusals(29, make_table());
}
