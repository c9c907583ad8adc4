#include "train/report/theta_table.h"

#include "text/csv.h"
#include "text/number.h"
#include "train/report/page.h"
#include "train/report/theta_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 512 };

/* A number that is not negative, or `all`. */
static void add_place(rt_writer *w, const rt_csv *csv, const char *name)
{
    char text[RT_NUMBER_SIZE] = "all";
    int number;
    if (rt_csv_whole(csv, name, &number))
        snprintf(text, sizeof text, "%d", number);
    rt_page_cell(w, "td", text);
}

static void add_number(rt_writer *w, const char *format, double x)
{
    char text[RT_NUMBER_SIZE] = "-";
    if (isfinite(x))
        snprintf(text, sizeof text, format, x);
    rt_page_cell(w, "td", text);
}

static void add_share(rt_writer *w, double share)
{
    char number[RT_NUMBER_SIZE], text[RT_NUMBER_SIZE + 2] = "-";
    if (isfinite(share))
        snprintf(text, sizeof text, "%s %%", rt_number_show(number, 1, 100 * share));
    rt_page_cell(w, "td", text);
}

static void add_row(rt_writer *w, const rt_csv *csv, bool tolerances)
{
    const double theta = rt_csv_number(csv, "theta"), start = rt_csv_number(csv, "theta_initial");
    rt_writer_add(w, "<tr>");
    add_place(w, csv, "layer");
    add_place(w, csv, "head");
    add_place(w, csv, "i");
    add_number(w, "%.6g", start);
    add_number(w, "%.6g", theta);
    add_number(w, "%+.4f", log(theta / start));
    add_number(w, "%.3g", rt_csv_number(csv, "phase"));
    add_number(w, "%.3g", rt_csv_number(csv, "turns"));
    add_share(w, rt_csv_number(csv, "use"));
    if (tolerances) {
        add_number(w, "%.3g", -rt_csv_number(csv, RT_TOLERANCE_DOWN));
        add_number(w, "%+.3g", rt_csv_number(csv, RT_TOLERANCE_UP));
    }
    rt_writer_add(w, "</tr>\n");
}

static void begin(rt_writer *w, bool tolerances)
{
    static const char *const names[] = {"layer", "head",          "i",           "start",
                                        "end",   "ln(end/start)", "phase (rad)", "turns",
                                        "use",   "down",          "up"};
    const int count = (int)(sizeof names / sizeof *names) - (tolerances ? 0 : 2);
    rt_writer_add(w, "<h2>Learned theta</h2>\n<div class=\"scroll\"><table>\n<tr>");
    for (int i = 0; i < count; i++)
        rt_page_cell(w, "th", names[i]);
    rt_writer_add(w, "</tr>\n");
}

static void end(rt_writer *w, bool tolerances, int rows)
{
    rt_writer_add(w, "</table></div>\n<p>Start and end: the initial and the learned θ, in radians "
                     "per position. Turns: full turns over the distance that "
                     "attention reaches. Phase and use are defined at the top of the page.");
    if (tolerances)
        rt_writer_add(
            w,
            " Down, up: how far ln θ can change before the model gets worse; at most %g was tried.",
            RT_THETA_FARTHEST);
    if (rows > MOST_ROWS)
        rt_writer_add(w, " The first %d rows of %d; theta_final.csv has all.", MOST_ROWS, rows);
    rt_writer_add(w, "</p>\n");
}

void rt_report_theta_table(rt_writer *w, const char *folder)
{
    rt_csv csv;
    bool tolerances = false;
    int rows = 0;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        while (rt_csv_row(&csv)) {
            if (!rows++) {
                tolerances = rt_csv_column(&csv, RT_TOLERANCE_DOWN) < csv.columns;
                begin(w, tolerances);
            }
            if (rows <= MOST_ROWS)
                add_row(w, &csv, tolerances);
        }
    rt_csv_close(&csv);
    if (rows)
        end(w, tolerances, rows);
}
