/* The tables at the end of a run's page, from tables made by hand. */

#include "config_loading.h"
#include "scratch.h"

#include "core/memory.h"
#include "train/report/private.h"
#include "train/world/world.h"

#include <math.h>
#include <sys/stat.h>

static rt_writer page;

static void end(void)
{
    rt_writer_free(&page);
    remove_scratch();
}

static void write_table(const char *name, const char *text)
{
    write_bytes(in_scratch(name), text, strlen(text));
}

static const char *machine(const char *timing)
{
    if (timing)
        write_table("timing.csv", timing);
    rt_writer_free(&page);
    rt_report_machine(&page, scratch, NULL);
    return page.bytes;
}

SUITE(.setup = make_scratch, .teardown = end)

#define TIMES "step,seconds,tokens_per_s\n"

/* 3,000 tokens in 20 s until it was stopped, and 2,600 in 8 more; the last row has no number. */
TEST(the_time_of_a_run_is_the_sum_over_its_parts)
{
    expect_in(machine(TIMES "10,10,100\n20,20,150\n30,5,300\n40,8,325\n50,x,9\n"),
              "<tr><th>time</th><td>28.0 s for 40 steps, 200 tokens a second</td></tr>");
    expect_in(machine(TIMES "10,0.5,2000\n"), "<td>0.5 s for 10 steps, 2000 tokens a second</td>");
}

TEST(what_was_not_measured_is_not_told)
{
    ck_assert_ptr_null(strstr(machine(NULL), "tokens a second"));
    ck_assert_ptr_null(strstr(machine(TIMES "10,0,100\n"), "tokens a second"));
    ck_assert_ptr_null(strstr(machine("step,seconds\n10,2\n"), "tokens a second"));
    expect_in(machine("step,seconds\n10,2\n"), "<td>2.0 s for 10 steps</td>");
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
        lasting("%d processor%s</td>", rt_processors(), rt_processors() > 1 ? "s" : "");
    const char *text = machine(NULL);
    expect_in(text, "<tr><th>report made by</th><td>rotor " ROTOR_VERSION " (double)");
    expect_in(text, processors);
    expect_in(text, name);
}

TEST(a_long_time_is_told_in_minutes_and_hours)
{
    expect_in(machine(TIMES "10,200.9,5\n"), "<td>3 min 20 s for 10 steps, 5 tokens a second</td>");
    expect_in(machine(TIMES "10,7500,2\n"), "<td>2 h 5 min for 10 steps, 2 tokens a second</td>");
}

#define SESSIONS "step,seconds,tokens_per_s,begun,host,program,command,data\n"

/* The program and the data once, as long as they stay what they were; all in one line of the page,
 * which two runs of the same bytes need not share. */
TEST(the_sessions_of_a_run_are_told_in_one_line)
{
    const char *text =
        machine(SESSIONS "10,1,9,2026-01-02 03:04:05,here,rotor 1,train a.ini,a.txt\n20,2,9,,,,,\n"
                         "30,1,9,2026-01-03 04:05:06,<there>,rotor 1,train a.ini --resume,b.txt\n");
    expect_in(text, "<tr><th>time</th><td>3.0 s for 30 steps, 9 tokens a second</td></tr>"
                    "<tr><th>begun</th><td>2026-01-02 03:04:05 UTC on here: "
                    "<code>train a.ini</code></td></tr>"
                    "<tr><th>program</th><td>rotor 1</td></tr><tr><th>data</th><td>a.txt</td></tr>"
                    "<tr><th>resumed</th><td>2026-01-03 04:05:06 UTC on &lt;there&gt;: "
                    "<code>train a.ini --resume</code></td></tr>"
                    "<tr><th>data</th><td>b.txt</td></tr>\n");
}

/* 3 and 1 + 2 seconds; the run that has not begun has none. The first run tells when. */
TEST(a_sweep_takes_the_time_of_its_runs)
{
    static const char table[] = "run,run.seed,exit_code\na,1,0\nb,2,0\nc,3,\n";
    rt_sweep_runs runs;
    ck_assert(!mkdir(in_scratch("a"), 0777) && !mkdir(in_scratch("b"), 0777));
    write_table("a/timing.csv", SESSIONS "10,3,9,2026-01-02 03:04:05,here,rotor 1,train s.ini,\n");
    write_table("b/timing.csv", SESSIONS "10,1,9,then,there,rotor 1,train s.ini,\n5,2,9,,,,,\n");
    write_table("runs.csv", table);
    assert_status(rt_sweep_runs_read(&runs, scratch), RT_OK, "");
    rt_report_sweep_machine(&page, &runs);
    expect_in(page.bytes, "<tr><th>time</th><td>5.0 s, the sum over 3 runs</td></tr><tr><th>begun"
                          "</th><td>2026-01-02 03:04:05 UTC on here: <code>train s.ini</code>"
                          "</td></tr><tr><th>program</th><td>rotor 1</td></tr>\n");
    rt_sweep_runs_free(&runs);
    ck_assert(!remove(in_scratch("a/timing.csv")) && !remove(in_scratch("b/timing.csv")) &&
              !rmdir(in_scratch("a")) && !rmdir(in_scratch("b")));
}

/* A key that is not at its default stands out. */
TEST(keys_that_were_set_stand_out)
{
    rt_config config;
    load_sound(&config, "[model]\nlayers = 3\nheads = 4\n[data]\nlength = 32\n", NULL);
    rt_report_configuration(&page, &config);
    expect_in(page.bytes, "<tr class=\"set\"><th>layers</th><td><span>3</span>");
    expect_in(page.bytes, "<tr><th>heads</th><td><span>4</span>");
    expect_in(page.bytes, "<tr><th>length</th><td><span>32</span>");
}

/* Values that follow from model.kind and train.steps count as defaults. */
TEST(keys_that_follow_from_others_do_not_stand_out)
{
    rt_config config;
    load_sound(&config,
               "[model]\nkind = decoder\nbias = all\n[train]\nsteps = 50\n[data]\ntask = text\n"
               "file = /x\n",
               NULL);
    rt_report_configuration(&page, &config);
    expect_in(page.bytes, "<tr class=\"set\"><th>kind</th><td><span>decoder</span><small>default "
                          "roformer</small>");
    expect_in(page.bytes, "<tr class=\"set\"><th>bias</th><td><span>all</span><small>default none");
    expect_in(page.bytes, "<tr class=\"set\"><th>steps</th><td><span>50</span>");
    expect_in(page.bytes, "<tr class=\"set\"><th>task</th><td><span>text</span>");
    expect_in(page.bytes, "<tr><th>norm_kind</th><td><span>rms</span>");
    expect_in(page.bytes, "<tr><th>causal</th><td><span>yes</span>");
    expect_in(page.bytes, "<tr><th>schedule_steps</th><td><span>50</span>");
}

/* A table of theta may be a stranger's. */
TEST(a_share_has_a_bounded_form)
{
    write_table("theta_final.csv", "layer,head,i,theta,theta_initial,phase,turns,use\n"
                                   "0,all,0,2,1,0.5,0.75,0.25\n0,all,1,2,1,0.5,,1e300\n");
    rt_report_theta_table(&page, scratch);
    expect_in(page.bytes, "<td>+0.6931</td><td>0.5</td><td>0.75</td><td>25.0 %</td></tr>\n");
    expect_in(page.bytes, "<td>1e+302 %</td></tr>\n");
}

/* ---- classes ---- */

/* A row of the matrix is a true class, and a shade is the share of the row. A class that neither
 * occurs nor is predicted is left out. */
TEST(classes_have_their_scores_and_their_confusion)
{
    write_table("classes.csv", "label,precision,recall,f1,count\nA,0.5,0.5,0.75,2\n"
                               "B,0.25,0.125,0.5,8\nC,0,0,0,0\n");
    write_table("confusion.csv", "true,predicted,count\nA,A,1\nA,B,1\nB,A,6\nB,B,2\n");
    rt_report_classes(&page, scratch);
    expect_in(
        page.bytes,
        "<tr><th scope=\"col\">label</th><th scope=\"col\">precision</th><th scope=\"col\">"
        "recall</th><th scope=\"col\">F1</th><th scope=\"col\">count</th></tr>\n"
        "<tr><th scope=\"row\">A</th><td>0.5000</td><td>0.5000</td><td>0.7500</td><td>2</td></tr>\n"
        "<tr><th scope=\"row\">B</th><td>0.2500</td><td>0.1250</td><td>0.5000</td><td>8</td></tr>\n"
        "</table></div>\n");
    expect_in(
        page.bytes,
        "<tr><td></td><th scope=\"col\"><span>A</span></th><th scope=\"col\"><span>B</span></th>"
        "</tr>\n<tr><th scope=\"row\">A</th><td class=\"right\" style=\"--share:0.500\">1</td>"
        "<td class=\"wrong\" style=\"--share:0.500\">1</td></tr>\n"
        "<tr><th scope=\"row\">B</th><td class=\"wrong\" style=\"--share:0.750\">6</td>"
        "<td class=\"right\" style=\"--share:0.250\">2</td></tr>\n</table></div>\n");
}

/* Of 40 classes all texts are taken for l49: its errors are 10 ... 48, and those of another class
 * its own number. The matrix has the 30 with the most, l49 and l48 ... l20. */
TEST(the_matrix_of_many_classes_has_those_with_the_most_errors)
{
    rt_writer scores = {0}, confusion = {0};
    rt_writer_add(&scores, "label,precision,recall,f1,count\n");
    rt_writer_add(&confusion, "true,predicted,count\n");
    for (int i = 10; i < 50; i++) {
        rt_writer_add(&scores, "l%d,0,0,%d,%d\n", i, i == 49, i);
        rt_writer_add(&confusion, "l%d,l49,%d\n", i, i);
    }
    write_table("classes.csv", scores.bytes);
    write_table("confusion.csv", confusion.bytes);
    rt_writer_free(&scores);
    rt_writer_free(&confusion);
    rt_report_classes(&page, scratch);
    expect_in(page.bytes, "The 30 of the 40 classes with the most errors; confusion.csv has all.");
    expect_in(page.bytes, "<span>l49</span>");
    expect_in(page.bytes, "<span>l20</span>");
    ck_assert_ptr_null(strstr(page.bytes, "<span>l19</span>"));
    int wrong = 0, right = 0;
    for (const char *at = page.bytes; (at = strstr(at, "class=\"")); at++) {
        wrong += !strncmp(at, "class=\"wrong", 12);
        right += !strncmp(at, "class=\"right", 12);
    }
    ck_assert_int_eq(wrong, 29);
    ck_assert_int_eq(right, 1);
}

TEST(the_limit_is_twice_the_loss_of_a_guess)
{
    rt_transformer_options o = {.head = RT_HEAD_LM, .vocab = 10, .labels = 4};
    ck_assert_double_eq_tol(rt_divergence_limit(&o), 4.605170185988091, 1e-12);
    o.head = RT_HEAD_SEQUENCE;
    ck_assert_double_eq_tol(rt_divergence_limit(&o), 2.772588722239781, 1e-12);
    o.head = RT_HEAD_TOKEN;
    ck_assert_double_eq_tol(rt_divergence_limit(&o), 2.772588722239781, 1e-12);
    o.labels = 1;
    ck_assert(isinf(rt_divergence_limit(&o)));
}
