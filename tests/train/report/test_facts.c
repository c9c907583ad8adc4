/* The tables at the end of a run's page, from tables made by hand. */

#include "markup.h"
#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/report/report.h"
#include "train/report/sections.h"
#include "train/report/verdict.h"
#include "train/world/world.h"

static rt_run_page page = {.folder = scratch};

static void end(void)
{
    rt_figures_clear(scratch);
    rt_writer_free(&page.w);
    remove_scratch();
}

static const char *machine(const char *timing)
{
    if (timing)
        put_text("timing.csv", timing);
    rt_writer_free(&page.w);
    expect_ok(rt_report_machine(&page));
    return text_of(page.w.bytes);
}

SUITE(.setup = make_scratch, .teardown = end)

#define TIMES "step,seconds,tokens_per_s\n"

/* 3,000 tokens in 20 s until it was stopped, and 2,600 in 8 more; the last row has no number. */
TEST_ROWS(the_time_of_a_run_is_the_sum_over_its_parts, 0, 7)
{
    static const char *const rows[][2] = {
        {TIMES "10,10,100\n20,20,150\n30,5,300\n40,8,325\n50,x,9\n",
         "\n| time | 28.0 s up to step 40, 200 tokens a second\n"},
        {TIMES "10,0.5,2000\n", "| 0.5 s up to step 10, 2000 tokens a second\n"},
        {TIMES "10,200.9,5\n", "| 3 min 20 s up to step 10, 5 tokens a second\n"},
        {TIMES "10,7500,2\n", "| 2 h 5 min up to step 10, 2 tokens a second\n"},
        /* a rate that was not measured is left out */
        {"step,seconds\n10,2\n", "| 2.0 s up to step 10\n"},
        {TIMES "10,0,100\n", ""},
        {NULL, ""},
    };
    const char *text = machine(rows[_i][0]);
    expect_in(text, rows[_i][1]);
    ck_assert_int_eq(strstr(text, "tokens a second") != NULL, _i < 4);
}

/* The clock starts again at --resume; a row without a time is left out. */
TEST(the_figures_have_the_seconds_of_all_parts)
{
    rt_config config;
    load_sound(&config, "", NULL);
    put_text("metrics.csv", "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm,accuracy,"
                            "theta_grad_norm\n10,100,4,3,0.5,0.1,1,0.25,0\n"
                            "30,300,2,,,0.1,1,0.25,0\n35,350,2,,,0.1,1,0.25,0\n"
                            "40,400,1,,,0.1,1,0.25,0\n");
    put_text("timing.csv", TIMES "10,10,1\n20,20,1\n30,5,1\n40,8,1\n");
    const rt_status status = rt_report_write(scratch, &config, NULL, false);
    ck_assert(!status.code || status.code == RT_IO); /* gnuplot may be missing */
    expect_content("figures/timing.csv", "10,4,3,0.5,0.1,1,0.25,0,100,10\n"
                                         "30,2,,,0.1,1,0.25,0,300,25\n"
                                         "40,1,,,0.1,1,0.25,0,400,28\n");
}

TEST(the_machine_is_named)
{
    char line[256], name[256] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !*name && fgets(line, sizeof line, file))
        sscanf(line, "model name : %255[^\n]", name);
    if (file)
        fclose(file);
    const char *processors =
        lasting("%d processor%s\n", rt_processors(NULL), rt_processors(NULL) > 1 ? "s" : "");
    const char *text = machine(NULL);
    expect_in(text, "\n| report made by | rotor " ROTOR_VERSION " (double)");
    expect_in(text, processors);
    expect_in(text, name);
}

#define SESSIONS "step,seconds,tokens_per_s,begun,host,program,command,data\n"

/* The program and the data are listed again only if they changed. Everything is in one line of the
 * page, which two runs of the same bytes need not share. */
TEST(the_sessions_of_a_run_are_listed)
{
    const char *text =
        machine(SESSIONS "10,1,9,2026-01-02 03:04:05,here,rotor 1,train a.ini,a.txt\n20,2,9,,,,,\n"
                         "30,1,9,2026-01-03 04:05:06,<there>,rotor 1,train a.ini --resume,b.txt\n");
    expect_in(text, "\n| time | 3.0 s up to step 30, 9 tokens a second\n"
                    "| begun | 2026-01-02 03:04:05 UTC on here: train a.ini\n"
                    "| program | rotor 1\n| data | a.txt\n"
                    "| resumed | 2026-01-03 04:05:06 UTC on <there>: train a.ini --resume\n"
                    "| data | b.txt\n");
}

/* Runs of 3 and 1 + 2 seconds. A run that has not begun has none. The first run gives the date. */
TEST(a_sweep_takes_the_time_of_its_runs)
{
    rt_sweep_runs runs;
    ck_assert(!mkdir(in_scratch("a"), 0777) && !mkdir(in_scratch("b"), 0777));
    put_text("a/timing.csv", SESSIONS "10,3,9,2026-01-02 03:04:05,here,rotor 1,train s.ini,\n");
    put_text("b/timing.csv", SESSIONS "10,1,9,then,there,rotor 1,train s.ini,\n5,2,9,,,,,\n");
    put_text("runs.csv", "run,run.seed,exit_code\na,1,0\nb,2,0\nc,3,\n");
    expect_ok(rt_sweep_runs_read(&runs, scratch));
    rt_report_sweep_machine(&page.w, &runs);
    expect_in(text_of(page.w.bytes), "\n| time | 5.0 s, the sum over 3 runs\n"
                                     "| begun | 2026-01-02 03:04:05 UTC on here: train s.ini\n"
                                     "| program | rotor 1\n");
    rt_sweep_runs_free(&runs);
}

/* Values that follow from model.kind and train.steps count as defaults. */
TEST(keys_that_differ_from_their_defaults_are_marked)
{
    static const struct {
        const char *key, *value;
        bool marked;
    } rows[] = {{"layers", "3", true},
                {"heads", "4", false},
                {"length", "32", false},
                {"kind", "decoder default roformer", true},
                {"bias", "all default none", true},
                {"steps", "50", true},
                {"task", "text", true},
                {"norm_kind", "rms", false},
                {"causal", "yes", false},
                {"schedule_steps", "50", false}};
    rt_config config;
    load_sound(&config,
               "[model]\nkind = decoder\nbias = all\nlayers = 3\nheads = 4\n[train]\nsteps = 50\n"
               "[data]\ntask = text\nfile = /x\nlength = 32\n",
               NULL);
    page.config = &config;
    expect_ok(rt_report_configuration(&page));
    for (int i = 0; i < ROWS(rows); i++) {
        const char *row =
            lasting("//tr[th = '%s'][starts-with(concat(td/span, ' ', td/small), '%s')]",
                    rows[i].key, rows[i].value);
        ck_assert_msg(count_in(page.w.bytes, row) == 1, "no %s", row);
        ck_assert_msg(count_in(page.w.bytes, lasting("%s/@class", row)) == rows[i].marked, "%s",
                      row);
    }
}

/* The table of theta may be untrusted. */
TEST(a_share_is_printed_in_few_characters)
{
    put_text("theta_final.csv", "layer,head,i,theta,theta_initial,phase,turns,use\n"
                                "0,all,0,2,1,0.5,0.75,0.25\n0,all,1,2,1,0.5,,1e300\n");
    rt_config config;
    load_sound(&config, "[theta]\nlearn = yes\n[train]\nfreeze = theta\n", NULL);
    page.config = &config;
    expect_ok(rt_report_theta_table(&page));
    expect_in(text_of(page.w.bytes), "Theta, which was not trained");
    expect_in(text_of(page.w.bytes), " | initial | last | ");
    expect_in(text_of(page.w.bytes), " | +0.6931 | 0.5 | 0.75 | 25.0 %\n");
    expect_in(text_of(page.w.bytes), " | 1e+302 %\n");
    /* a trunk has moved it */
    rt_results_put(&page.results, 0.02, RT_RESULT_START_CHANGE);
    rt_writer_free(&page.w);
    expect_ok(rt_report_theta_table(&page));
    expect_in(text_of(page.w.bytes), "Learned theta");
    rt_results_free(&page.results);
}

/* A row of the matrix is a true class, and a shade is the share of the row. A class that neither
 * occurs nor is predicted is left out. */
TEST(classes_have_their_scores_and_their_confusion)
{
    put_text("classes.csv", "label,precision,recall,f1,count\nA,0.5,0.5,0.75,2\n"
                            "B,0.25,0.125,0.5,8\nC,0,0,0,0\n");
    put_text("confusion.csv", "true,predicted,count\nA,A,1\nA,B,1\nB,A,6\nB,B,2\n");
    expect_ok(rt_report_classes(&page));
    expect_in(text_of(page.w.bytes), "\n| label | precision | recall | F1 | count\n"
                                     "| A | 0.5000 | 0.5000 | 0.7500 | 2\n"
                                     "| B | 0.2500 | 0.1250 | 0.5000 | 8\n");
    expect_in(text_of(page.w.bytes), "\n| | A | B\n| A | 1 | 1\n| B | 6 | 2\n");
    static const char *const shades[] = {"--share:0.500 right", "--share:0.500 wrong",
                                         "--share:0.750 wrong", "--share:0.250 right"};
    for (int i = 0; i < ROWS(shades); i++) {
        const char *cell = lasting("(//td[@style])[%d]", i + 1);
        ck_assert_str_eq(value_in(page.w.bytes,
                                  lasting("concat(%s/@style, ' ', %s/@class)", cell, cell)),
                         shades[i]);
    }
}

/* All texts of 40 classes are predicted as l49. Each other class, l10 to l48, has as many errors as
 * its name says. The matrix shows the 30 classes with the most: l49 and l48 to l20. */
TEST(the_matrix_of_many_classes_has_those_with_the_most_errors)
{
    rt_writer scores = {0}, confusion = {0};
    rt_writer_add(&scores, "label,precision,recall,f1,count\n");
    rt_writer_add(&confusion, "true,predicted,count\n");
    for (int i = 10; i < 50; i++) {
        rt_writer_add(&scores, "l%d,0,0,%d,%d\n", i, i == 49, i);
        rt_writer_add(&confusion, "l%d,l49,%d\n", i, i);
    }
    put_text("classes.csv", scores.bytes);
    put_text("confusion.csv", confusion.bytes);
    rt_writer_free(&scores);
    rt_writer_free(&confusion);
    expect_ok(rt_report_classes(&page));
    const char *text = text_of(page.w.bytes);
    expect_in(text, "The 30 of the 40 classes with the most errors; confusion.csv has all.");
    const char *matrix = strstr(text, "\n| | l");
    ck_assert_ptr_nonnull(matrix);
    expect_in(matrix, " | l49");
    expect_in(matrix, "\n| l20 | ");
    ck_assert_ptr_null(strstr(matrix, "l19"));
    ck_assert_int_eq(count_in(page.w.bytes, "//td[@class = 'wrong']"), 29);
    ck_assert_int_eq(count_in(page.w.bytes, "//td[@class = 'right']"), 1);
}

TEST_ROWS(the_limit_is_twice_the_loss_of_a_guess, 0, 4)
{
    static const struct {
        rt_head head;
        int labels;
        double limit;
    } rows[] = {{RT_HEAD_LM, 4, 4.605170185988091},
                {RT_HEAD_SEQUENCE, 4, 2.772588722239781},
                {RT_HEAD_TOKEN, 4, 2.772588722239781},
                {RT_HEAD_TOKEN, 1, INFINITY}};
    const rt_transformer_options o = {.head = rows[_i].head,
                                      .vocab = 10,
                                      .labels = rows[_i].labels};
    const double limit = rt_divergence_limit(&o);
    ck_assert(limit == rows[_i].limit || fabs(limit - rows[_i].limit) <= 1e-12);
}
