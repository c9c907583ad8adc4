/* `train --report` of an untrusted folder: none of its words is run by gnuplot, sh or browser. */

#include "markup.h"
#include "train_program.h"

#include "util/csv.h"

/* Texts that run a command or become markup where they are not quoted; gnuplot runs in figures/. */
static const char *const payloads[] = {
    "'.\"`sh ../x`\".'",
    "`touch canary`",
    "\"`touch canary`\"",
    "'; system('touch canary'); #",
    "';!touch canary;'",
    "$(touch canary)",
    "|touch canary",
    "<touch canary",
    "' title system('touch canary') '",
    "a\\",
    "@canary {/=50 x} ^a_b %s%n%d",
    "</title></svg><script>canary()</script>",
    "\"><img src=x onerror=canary()>",
    "'onload='canary()",
    "&lt;b&gt;&#60;i&#62;<i>",
    "\x1b[31m<b>\x07",
    "all\x01",
    "1\x7f",
    "-1",
    "1e999",
    "0x10",
    "nan",
    "inf",
    "99999999999999999999",
    "../other",
    "/etc",
    "",
};
enum { PAYLOADS = ROWS(payloads) };

/* Appends copies of a table's last row with each payload in each column, unquoted ones included. */
static void poison(const char *folder, const char *name)
{
    enum { MOST_COLUMNS = 64 };
    const char *last[MOST_COLUMNS] = {NULL};
    rt_csv csv;
    rt_writer text = {0};
    ck_assert_msg(rt_csv_open(&csv, folder, name), "no %s/%s", folder, name);
    const int columns = csv.columns;
    ck_assert_int_le(columns, MOST_COLUMNS);
    while (rt_csv_row(&csv))
        for (int i = 0; i < columns; i++)
            last[i] = lasting("%s", csv.cells[i]);
    for (int column = 0; column < columns; column++)
        for (int p = 0; p < PAYLOADS; p++)
            for (int i = 0; i < columns; i++) {
                rt_csv_put(&text, i == column ? payloads[p] : last[i] ? last[i] : "");
                rt_writer_add(&text, i + 1 < columns ? "," : "\n");
            }
    FILE *to = fopen(lasting("%s/%s", folder, name), "a");
    ck_assert_ptr_nonnull(to);
    /* as the parser of old wanted it: without quotes around the cell */
    if (!strcmp(name, "theta.csv"))
        fprintf(to, "60,%s,all,0,1,2\n60,1,%s,0,1,2\n", payloads[0], payloads[0]);
    if (!strcmp(name, "theta_final.csv"))
        fprintf(to, "%s,all,0,1,2,2,0,0,0,0,0\n0,%s,0,1,2,2,0,0,0,0,0\n", payloads[0], payloads[0]);
    ck_assert(fputs(text.bytes, to) >= 0 && !fclose(to));
    rt_writer_free(&text);
}

static void expect_harmless(const char *page_path)
{
    expect_exit(w, 1, "find . -name '*canary*' | grep .");
    const char *page = read_file(page_path);
    expect_no_text(page, "<script", "<img", "<i>", "<b>", "<touch", "\x1b");
    ck_assert_int_eq(count_in(page, "//body"), 1);
}

SUITE(PROGRAM_OPTIONS)

TEST(cells_of_untrusted_tables_are_numbers_or_ignored)
{
    static const char *const tables[] = {"metrics.csv", "timing.csv", "theta.csv",
                                         "theta_final.csv", "lengths.csv"};
    run(TINY "train.eval_lengths=8");
    for (int i = 0; i < ROWS(tables); i++)
        poison("runs/tiny", tables[i]);
    write_file("runs/tiny/x", "touch canary\n");
    shell(w, "$TRAIN --report runs/tiny");
    expect_harmless("runs/tiny/report.html");
    expect_exit(w, 1,
                "grep -l -e canary -e '`' -e '<b>' runs/tiny/figures/*.gp runs/tiny/figures/*.csv");
}

TEST(untrusted_labels_are_shown_and_never_executed)
{
    NEEDS_PROGRAM("gnuplot");
    static const char *const tables[] = {"classes.csv", "confusion.csv"};
    run("for i in 1 2 3 4; do printf 'ab\\t<script>canary()</script>\\ncd\\t\"><img "
        "src=x>&lt;b>\\nef\\tc\\n'; done | sed '1i text\\tlabel' >a.tsv; $TRAIN tiny.ini --quiet "
        "data.task=classify data.vocab=32 data.file=a.tsv data.level=byte data.eval_fraction=0 && "
        "$TRAIN --report runs/tiny");
    expect_harmless("runs/tiny/report.html");
    expect_text(page_text("runs/tiny/report.html"), "\n| <script>canary()</script> | ",
                "\n| \"><img src=x>&lt;b> | ");
    for (int i = 0; i < ROWS(tables); i++)
        poison("runs/tiny", tables[i]);
    run("$TRAIN --report runs/tiny");
    expect_harmless("runs/tiny/report.html");
}

TEST(untrusted_headings_are_ignored)
{
    run(TINY "train.steps=2");
    for (int p = 0; p < 3; p++) {
        static const char *const tables[] = {"metrics.csv", "theta.csv", "theta_final.csv"};
        for (int i = 0; i < 3; i++) {
            const char *path = lasting("runs/tiny/%s", tables[i]);
            rt_writer text = {0};
            rt_csv_put(&text, payloads[p]);
            rt_writer_add(&text, "%s", strchr(read_file(path), ','));
            write_file(path, text.bytes);
            rt_writer_free(&text);
        }
        write_file("runs/tiny/x", "touch canary\n");
        shell(w, "$TRAIN --report runs/tiny");
        expect_harmless("runs/tiny/report.html");
    }
    /* huge numbers are short on the page */
    run(TINY "train.steps=2 --overwrite");
    write_file("runs/tiny/metrics.csv", "step,tokens,loss\n1e300,1e300,1\n");
    write_file("runs/tiny/result.csv",
               "name,value\nsteps,1e300\neval_loss,1e300\n"
               "eval_accuracy,-1e300\ntheta_near,1\ntheta_max_change,1e300\n"
               "theta_max_phase,nan\nend,0\n");
    shell(w, "$TRAIN --report runs/tiny");
    expect_text(page_text("runs/tiny/report.html"),
                "\neval: loss 1e+300, accuracy -1e+300 after 1e+300 steps\n",
                "\ntheta: max relative drift 1e+300, max phase drift nan rad");
    expect_no_text(read_file("runs/tiny/report.html"), "00000000000000000000");
}

TEST(untrusted_results_are_ignored_unless_they_are_numbers)
{
    NEEDS_PROGRAM("gnuplot");
    rt_writer text = {0};
    run(TINY "train.steps=2");
    rt_writer_add(&text, "name,value\n");
    for (int p = 0; p < PAYLOADS; p++) {
        rt_writer_add(&text, "eval_loss,");
        rt_csv_put(&text, payloads[p]);
        rt_writer_add(&text, "\n");
        rt_csv_put(&text, payloads[p]);
        rt_writer_add(&text, ",1\n");
    }
    rt_writer_add(&text, "end,0\n");
    write_file("runs/tiny/result.csv", text.bytes);
    rt_writer_free(&text);
    run("$TRAIN --report runs/tiny");
    expect_harmless("runs/tiny/report.html");
    /* endless files, pipes, folders and circular links are skipped */
    run(TINY "train.steps=2 --overwrite");
    run("cd runs/tiny && rm metrics.csv theta.csv timing.csv result.csv && mkfifo metrics.csv && "
        "ln -s /dev/zero theta.csv && mkdir timing.csv && ln -s result.csv result.csv");
    ck_assert_int_eq(shell(w, "$TRAIN --report runs/tiny"), 1);
    expect_text(w->err, "runs/tiny/metrics.csv: not a regular file\n");
}

TEST(untrusted_names_and_settings_of_a_sweep_are_never_executed)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "train.steps=5 train.eval_every=1 sweep.optimizer.lr=1e-2,2e-2");
    run(TINY "train.steps=1 run.name=other");
    poison("runs/tiny", "runs.csv");
    poison("runs/tiny/lr=1e-2", "metrics.csv");
    poison("runs/tiny/lr=1e-2", "theta.csv");
    write_file("runs/tiny/x", "touch canary\n");
    mkdir("runs/tiny/`touch canary`", 0777); /* a run of that name, which has a report */
    write_file("runs/tiny/`touch canary`/report.html", "");
    run("cp runs/tiny/lr=1e-2/metrics.csv 'runs/tiny/`touch canary`'");
    shell(w, "$TRAIN --report runs/tiny");
    run("rm -r 'runs/tiny/`touch canary`'");
    expect_harmless("runs/tiny/report.html");
    const char *page = read_file("runs/tiny/report.html");
    ck_assert_int_eq(count_in(page, "//svg:svg"), 6); /* of the sound rows */
    expect_text(page, "%60touch%20canary%60/report.html");
    expect_exit(w, 1, "test -e runs/other/report.html"); /* "../other" is no run of the sweep */
}

TEST(settings_are_quoted_in_scripts_of_gnuplot)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "train.steps=2 sweep.optimizer.lr=1e-2,2e-2");
    run("sed -i \"s/,1e-2,/,it's <b> \\`x\\` \\\\\\\\,/\" runs/tiny/runs.csv");
    run("$TRAIN --report runs/tiny");
    expect_in_file("runs/tiny/figures/loss.gp", "array labels[curves] = ['lr=it''s <b> ?x? ?', ");
    expect_text(page_text("runs/tiny/report.html"), "| it's <b> `x` \\");
    expect_no_text(read_file("runs/tiny/report.html"), "<b>");
}

TEST(links_in_an_untrusted_folder_are_not_followed_for_writing)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "train.steps=2; mkdir mine; for i in a b c; do echo mine >mine/$i.csv; done");
    run("cd runs/tiny && mkdir figures && ln -s ../../mine/a.csv report.html.tmp && ln -s "
        "../../../mine/b.csv figures/loss.gp.tmp && ln -s ../../../mine/c.csv figures/loss.svg && "
        "$TRAIN --report .");
    run("for i in a b c; do echo mine | cmp - mine/$i.csv || exit 1; done");
    run("rm -r runs/tiny/figures && ln -s ../../mine runs/tiny/figures");
    expect_stderr(1, "runs/tiny/figures: not a folder", "$TRAIN --report runs/tiny");
    run("ln -s ../../mine/a.csv runs/tiny/metrics.csv.tmp && $TRAIN tiny.ini --quiet train.steps=2 "
        "--overwrite");
    expect_output(
        "3\n",
        "ls mine | wc -l && for i in a b c; do echo mine | cmp - mine/$i.csv || exit 1; done");
}
