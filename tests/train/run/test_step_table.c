/* Rows of metrics.csv, theta.csv and timing.csv that stay when a run is resumed. */

#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/run/metrics.h"

#define METRICS_HEADER                                                                             \
    "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm,accuracy,theta_grad_norm\n"
#define THETA_HEADER  "step,layer,head,i,theta,theta_initial\n"
#define TIMING_HEADER "step,seconds,tokens_per_s,begun,host,program,command,data\n"
#define NO_SESSION    ",,,,,"
#define SESSION       "2026-01-02 03:04:05,here,rotor 1,train a.ini,"

static rt_config config;
static rt_metrics metrics;

/* Logs every 10 steps and evaluates every 20. */
static void open_after(int finished_steps)
{
    load_sound(&config,
               "[run]\nlog_every = 10\n[theta]\nlearn = yes\n[data]\nlength = 12\n"
               "[train]\neval_every = 20\n",
               NULL);
    expect_ok(rt_metrics_open(&metrics, &config, NULL, scratch, finished_steps, SESSION, NULL));
}

static void reopen_after(int finished_steps)
{
    open_after(finished_steps);
    rt_metrics_close(&metrics);
}

#define ROW_10 "10,120,2.5,,,0.1,1,0.25,0.125\n"
#define ROW_20 "20,240,2,1.9,0.5,0.1,1,0.5,0.125\n"
#define ROW_30 "30,11520,1.5,,,0.1,1,0.5,0.125\n"

static const char rows_to_30[] = METRICS_HEADER ROW_10 ROW_20 ROW_30;

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_new_run_empties_its_tables)
{
    put_text("metrics.csv", rows_to_30);
    put_text("theta.csv", THETA_HEADER "0,0,all,0,1,1\n");
    put_text("timing.csv", TIMING_HEADER "10,0.1,5\n");
    reopen_after(0);
    expect_content("metrics.csv", METRICS_HEADER);
    expect_content("theta.csv", THETA_HEADER);
    expect_content("timing.csv", TIMING_HEADER);
    ck_assert_int_eq(files_in_scratch(), 3);
}

#define KEPT  METRICS_HEADER ROW_10 ROW_20
#define THETA "0,0,all,0,1,1\n0,1,all,0,1,1\n"
#define CLOCK TIMING_HEADER "10,0.1,5," SESSION "\n27,0.3,5" NO_SESSION "\n"

/* Content of a table before a run goes on after a step, and then; NULL: there is no file. */
static const struct {
    const char *name, *before;
    int step;
    const char *then;
} tables[] = {
    {"metrics.csv", rows_to_30, 20, KEPT},
    {"metrics.csv", rows_to_30, 5, METRICS_HEADER},
    /* a run of 30 steps evaluates at its end, a longer one does not at that step */
    {"metrics.csv", KEPT "30,11520,1.5,1.25,0.75,0.1,1,0.5,0.125\n", 30, rows_to_30},
    {"metrics.csv", rows_to_30, 30, rows_to_30},
    {"metrics.csv", KEPT, 20, KEPT},
    /* an earlier end that is not logged */
    {"metrics.csv", KEPT "27,324,1.6,1.5,0.6,0.1,1,0.5,0.125\n", 27, KEPT},
    /* rows that a crash has cut off */
    {"metrics.csv", KEPT "3", 40, KEPT},
    {"metrics.csv", KEPT "30", 40, KEPT},
    {"metrics.csv", KEPT "30,11520,1.5,,,0.1,1,0.5,0.125", 40, KEPT},
    {"metrics.csv", KEPT "20,2", 40, KEPT},
    {"metrics.csv", NULL, 20, METRICS_HEADER},
    {"metrics.csv", "", 20, METRICS_HEADER},
    /* rows of another version, whose columns were fewer and stood otherwise */
    {"metrics.csv", "step,loss,tokens,other\n10,2.5,120,x\n20,2,240,y\n30,2,360,z\n", 20,
     METRICS_HEADER "10,120,2.5,,,,,,\n20,240,2,,,,,,\n"},
    {"theta.csv", NULL, 20, THETA_HEADER},
    {"theta.csv", "step,la", 20, THETA_HEADER},
    /* theta of an earlier end stays if it was due */
    {"theta.csv", THETA_HEADER THETA "20,0,all,0,2,1\n27,0,all,0,3,1\n", 27,
     THETA_HEADER THETA "20,0,all,0,2,1\n"},
    {"theta.csv", THETA_HEADER THETA "20,0,all,0,2,1\n", 20, THETA_HEADER THETA "20,0,all,0,2,1\n"},
    {"theta.csv", THETA_HEADER THETA "20,0,all,0,2,1\n", 19, THETA_HEADER THETA},
    {"timing.csv", CLOCK "30,0.4,5" NO_SESSION "\n", 27, CLOCK},
    /* as it was before there were sessions in it */
    {"timing.csv", "step,seconds,tokens_per_s\n10,0.1,5\n30,0.4,5\n", 27,
     TIMING_HEADER "10,0.1,5" NO_SESSION "\n"},
};

TEST_ROWS(rows_up_to_the_step_are_kept, 0, ROWS(tables))
{
    if (tables[_i].before)
        put_text(tables[_i].name, tables[_i].before);
    reopen_after(tables[_i].step);
    expect_content(tables[_i].name, tables[_i].then);
}

/* A run that logged every 10 steps and evaluated every 20, with theta, goes on after a step with
 * other periods: rows that were due stay as they were, and those that were only an end do not. */
TEST(rows_that_were_due_stay_if_a_run_goes_on_with_other_periods)
{
#define AT_30 "30,0,all,0,2,1\n"
#define AT_27 "27,324,1.6,1.5,0.6,0.1,1,0.5,0.125\n"
    static const struct {
        const char *periods, *name, *before;
        int step;
        const char *then;
    } rows[] = {
        {"[run]\nlog_every = 7\n[train]\neval_every = 7\n", "metrics.csv", rows_to_30, 20, KEPT},
        {"[run]\nlog_every = 7\n[train]\neval_every = 7\n", "metrics.csv", rows_to_30, 30,
         rows_to_30},
        {"[run]\nlog_every = 7\n[train]\neval_every = 7\n", "metrics.csv", KEPT AT_27, 27, KEPT},
        {"[run]\nlog_every = 7\n[train]\neval_every = 9\n", "metrics.csv", KEPT AT_27, 27,
         KEPT AT_27},
        {"[run]\nlog_every = 7\n", "theta.csv", THETA_HEADER THETA AT_30, 30,
         THETA_HEADER THETA AT_30},
    };
    static rt_config before;
    load_sound(&before,
               "[run]\nlog_every = 10\n[train]\neval_every = 20\n"
               "[theta]\nlearn = yes\nlog = yes\n",
               NULL);
    for (int i = 0; i < ROWS(rows); i++) {
        load_sound(&config, lasting("%s[theta]\nlearn = yes\n", rows[i].periods), NULL);
        put_text(rows[i].name, rows[i].before);
        expect_ok(
            rt_metrics_open(&metrics, &config, &before, scratch, rows[i].step, SESSION, NULL));
        rt_metrics_close(&metrics);
        expect_content(rows[i].name, rows[i].then);
    }
}

TEST(a_table_that_cannot_be_read_is_kept)
{
    load_sound(&config, "", NULL);
    ck_assert_int_eq(mkdir(in_scratch("metrics.csv"), 0777), 0);
    is_status(rt_metrics_open(&metrics, &config, NULL, scratch, 20, NULL, NULL), RT_IO,
              lasting("%s: not a regular file", in_scratch("metrics.csv")));
    rt_metrics_close(&metrics);
    ck_assert_int_eq(files_in_scratch(), 1);
    ck_assert_int_eq(rmdir(in_scratch("metrics.csv")), 0);
    static const char *const lines[] = {"x", ",,,,,,,,", "-1,,,,,,,,", "1e1,,,,,,,,", "10,1,1"};
    for (int i = 0; i < ROWS(lines); i++) {
        const char *damaged = lasting(METRICS_HEADER ROW_10 "%s\n\n" ROW_20, lines[i]);
        put_text("metrics.csv", damaged);
        is_status(rt_metrics_open(&metrics, &config, NULL, scratch, 20, NULL, NULL), RT_IO,
                  lasting("%s: --resume would lose damaged lines (1): repair or delete them, or "
                          "rename the file",
                          in_scratch("metrics.csv")));
        rt_metrics_close(&metrics);
        expect_content("metrics.csv", damaged);
    }
    put_text("metrics.csv", rows_to_30);
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 1)
    {
        code = rt_metrics_open(&metrics, &config, NULL, scratch, 30, NULL, NULL).code;
        rt_metrics_close(&metrics);
        expect_content("metrics.csv", rows_to_30);
    }
    ck_assert_int_eq(code, RT_OK);
}

#define EVALUATED(step, accuracy) #step ",0,9,0.5," #accuracy ",0.1,1,1,0.125\n"

TEST(the_first_evaluation_that_reaches_an_accuracy_is_found)
{
    ck_assert(isnan(rt_metrics_first_step(scratch, 0.99)));
    put_text("metrics.csv",
             METRICS_HEADER EVALUATED(20, 0.5) "30,0,9,,,0.1,1,1,0.125\n" EVALUATED(40, 0.989999999)
                 EVALUATED(60, 0.99) EVALUATED(80, 0.5) EVALUATED(100, 1));
    ck_assert_double_eq(rt_metrics_first_step(scratch, 0.99), 60);
    ck_assert_double_eq(rt_metrics_first_step(scratch, 0.5), 20);
    ck_assert_double_eq(rt_metrics_first_step(scratch, 0.9900001), 100);
    ck_assert(isnan(rt_metrics_first_step(scratch, 1.001)));
    /* neither the accuracy in training nor a cell that is no number is one */
    put_text("metrics.csv", METRICS_HEADER "10,0,9,9,,0.1,1,1,0.125\n20,0,9,9,1x,0.1,1,1,0.125\n"
                                           "x,0,9,9,1,0.1,1,1,0.125\n30,0,9,9,nan,0.1,1,1,0.125\n");
    ck_assert(isnan(rt_metrics_first_step(scratch, 0.99)));
}

TEST(a_fixed_theta_has_no_file)
{
    load_sound(&config, "[theta]\nlearn = no\n", NULL);
    expect_ok(rt_metrics_open(&metrics, &config, NULL, scratch, 0, NULL, NULL));
    rt_metrics_close(&metrics);
    ck_assert(!exists(in_scratch("theta.csv")));
}

TEST(steps_are_recorded_when_they_are_due)
{
    const rt_step_result result = {.loss = 1.5,
                                   .accuracy = 0.5,
                                   .grad_norm = 2,
                                   .theta_grad_norm = 0.25,
                                   .lr = 0.1,
                                   .tokens = 1920};
    const rt_evaluation evaluation = {.loss = 1.25, .accuracy = 0.75};
    rt_training_state state = {.step = 29, .sequences = 29 * 32};
    put_text("metrics.csv", METRICS_HEADER ROW_20);
    open_after(20);
    fclose(metrics.theta.file);
    metrics.theta.file = NULL; /* there is no model to tell about */
    expect_ok(rt_metrics_step(&metrics, &state, &result, NULL, 2));
    state = (rt_training_state){.step = 30, .sequences = 30 * 32};
    expect_ok(rt_metrics_step(&metrics, &state, &result, NULL, 2));
    state = (rt_training_state){.step = 33, .sequences = 33 * 32};
    expect_ok(rt_metrics_step(&metrics, &state, &result, &evaluation, 4));
    /* before it is closed: a row is handed to the system at once */
    expect_content("metrics.csv", METRICS_HEADER ROW_20 "30,11520,1.5,,,0.1,2,0.5,0.25\n"
                                                        "33,12672,1.5,1.25,0.75,0.1,2,0.5,0.25\n");
    /* counts all steps since the clock was started, also those that were not recorded; the first
     * row has the session */
    expect_content("timing.csv",
                   TIMING_HEADER "30,2.000,1920," SESSION "\n33,4.000,1440" NO_SESSION "\n");
    rt_metrics_close(&metrics);
}

TEST(a_file_that_cannot_be_written_is_reported_once)
{
    const rt_step_result result = {.loss = 1.5};
    const rt_training_state state = {.step = 10};
    open_after(0);
    ck_assert_ptr_null(rt_metrics_failure(&metrics));
    fclose(metrics.metrics.file);
    metrics.metrics.file = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(metrics.metrics.file);
    expect_ok(rt_metrics_step(&metrics, &state, &result, NULL, 1));
    ck_assert_str_eq(rt_metrics_failure(&metrics), "metrics.csv");
    ck_assert_ptr_null(rt_metrics_failure(&metrics));
    rt_metrics_close(&metrics);
    put_text("tensorboard", "");
    load_sound(&config, "[run]\ntensorboard = yes\n", NULL);
    is_status(rt_metrics_open(&metrics, &config, NULL, scratch, 0, SESSION, NULL), RT_IO,
              lasting("%s: not a folder", in_scratch("tensorboard")));
    rt_metrics_close(&metrics);
}
