#include "train/sweep/table.h"

#include "core/memory.h"
#include "train/text/text_file.h"
#include "train/text/writer.h"

#include <math.h>
#include <string.h>

static const char first_step[] = "first_step_with_accuracy_0.99";

/* ---- rows ---- */

static int seed_axis(const rt_sweep *s)
{
    const int seed = rt_key_find("run", "seed");
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].key == seed)
            return i;
    return -1;
}

/* Whether two runs differ in the seed at most. */
static bool same_row(const rt_sweep *s, int a, int b)
{
    const int seed = seed_axis(s);
    if (rt_sweep_variant(s, a) != rt_sweep_variant(s, b))
        return false;
    for (int i = 0; i < s->axis_count; i++)
        if (i != seed && rt_sweep_value(s, a, i) != rt_sweep_value(s, b, i))
            return false;
    return true;
}

static bool is_first_of_row(const rt_sweep *s, int run)
{
    for (int before = 0; before < run; before++)
        if (same_row(s, before, run))
            return false;
    return true;
}

/* A number over the runs of a row that have it. */
typedef struct summary {
    int count;
    double mean, deviation; /* of a sample; NaN for a single run */
} summary;

static summary summarise(const rt_sweep *s, const rt_sweep_result *results, int row,
                         const char *name)
{
    summary m = {0, 0, NAN};
    double squares = 0;
    const int runs = rt_sweep_count(s);
    for (int pass = 0; pass < 2; pass++)
        for (int run = row; run < runs; run++) {
            const double x =
                same_row(s, row, run) ? rt_results_get(&results[run].results, name) : NAN;
            if (isnan(x))
                continue;
            m.count += pass == 0;
            m.mean += pass == 0 ? x : 0;
            squares += pass == 1 ? (x - m.mean / m.count) * (x - m.mean / m.count) : 0;
        }
    m.mean = m.count ? m.mean / m.count : NAN;
    if (m.count > 1)
        m.deviation = sqrt(squares / (m.count - 1));
    return m;
}

static void count_runs(const rt_sweep *s, const rt_sweep_result *results, int row, int *all,
                       int *good)
{
    *all = *good = 0;
    for (int run = row; run < rt_sweep_count(s); run++)
        if (same_row(s, row, run)) {
            ++*all;
            *good +=
                results[run].ended && (results[run].exit_code == 0 || results[run].exit_code == 7);
        }
}

/* ---- the table ---- */

enum { MOST_COLUMNS = RT_MOST_AXES + 16, CELL_SIZE = 64 };

typedef struct table {
    int columns, rows;
    char (*cells)[MOST_COLUMNS][CELL_SIZE]; /* the first row is the header */
} table;

/* How wide a UTF-8 text of narrow characters is. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cells(FILE *to, const table *t)
{
    int width[MOST_COLUMNS] = {0};
    for (int r = 0; r < t->rows; r++)
        for (int c = 0; c < t->columns; c++)
            width[c] = width_of(t->cells[r][c]) > width[c] ? width_of(t->cells[r][c]) : width[c];
    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++)
            fprintf(to, "%s%s%*s", c ? "  " : "", t->cells[r][c],
                    c + 1 < t->columns ? width[c] - width_of(t->cells[r][c]) : 0, "");
        fputc('\n', to);
    }
}

/* "0.0123 ± 0.0004", "0.0123" for a single run, "-" for none. */
static void write_summary(char cell[CELL_SIZE], summary m, const char *format)
{
    char mean[24], deviation[24];
    snprintf(mean, sizeof mean, format, m.mean);
    snprintf(deviation, sizeof deviation, format, m.deviation);
    if (!m.count)
        snprintf(cell, CELL_SIZE, "-");
    else if (m.count == 1)
        snprintf(cell, CELL_SIZE, "%s", mean);
    else
        snprintf(cell, CELL_SIZE, "%s ± %s", mean, deviation);
}

/* The results that the table shows: name, heading, format. Other lengths come after accuracy. */
typedef struct shown {
    char name[RT_RESULT_NAME_SIZE];
    char heading[CELL_SIZE];
    const char *format;
} shown;

static bool any_has(const rt_sweep *s, const rt_sweep_result *results, const char *name)
{
    for (int run = 0; run < rt_sweep_count(s); run++)
        if (!isnan(rt_results_get(&results[run].results, name)))
            return true;
    return false;
}

static int choose_shown(const rt_sweep *s, const rt_sweep_result *results, shown list[MOST_COLUMNS])
{
    static const shown always[] = {{"eval_loss", "loss", "%.4f"},
                                   {"eval_accuracy", "accuracy", "%.4f"}};
    static const shown others[] = {{"theta_max_drift", "theta drift", "%.3f"},
                                   {"theta_max_phase", "phase (rad)", "%.2f"},
                                   {"theta_near", "near", "%.2f"}};
    static const char at[] = "eval_accuracy_at_";
    int count = 0;
    for (int i = 0; i < 2; i++)
        list[count++] = always[i];
    for (int run = 0; run < rt_sweep_count(s); run++)
        for (int i = 0; i < results[run].results.count && count < 12; i++) {
            const char *name = results[run].results.list[i].name;
            bool known = strncmp(name, at, strlen(at)) != 0;
            for (int k = 0; k < count; k++)
                known |= !strcmp(list[k].name, name);
            if (known)
                continue;
            snprintf(list[count].name, RT_RESULT_NAME_SIZE, "%s", name);
            snprintf(list[count].heading, CELL_SIZE, "at %s", name + strlen(at));
            list[count++].format = "%.4f";
        }
    for (int i = 0; i < 3; i++)
        if (any_has(s, results, others[i].name))
            list[count++] = others[i];
    return count;
}

static void fill_header(table *t, const rt_sweep *s, const shown *list, int count)
{
    char(*cell)[CELL_SIZE] = t->cells[t->rows++];
    int c = 0;
    if (s->variant_count)
        snprintf(cell[c++], CELL_SIZE, "variant");
    for (int i = 0; i < s->axis_count; i++)
        if (i != seed_axis(s))
            snprintf(cell[c++], CELL_SIZE, "%s", rt_key_at(s->axes[i].key)->name);
    snprintf(cell[c++], CELL_SIZE, "runs");
    for (int i = 0; i < count; i++)
        snprintf(cell[c++], CELL_SIZE, "%s", list[i].heading);
    snprintf(cell[c++], CELL_SIZE, "steps to 99 %%");
    t->columns = c;
}

static void fill_row(table *t, const rt_sweep *s, const rt_sweep_result *results, int row,
                     const shown *list, int count)
{
    char(*cell)[CELL_SIZE] = t->cells[t->rows++];
    const rt_variant *variant = rt_sweep_variant(s, row);
    const summary reached = summarise(s, results, row, first_step);
    int c = 0, all, good;
    count_runs(s, results, row, &all, &good);
    if (variant)
        snprintf(cell[c++], CELL_SIZE, "%s", variant->name);
    for (int i = 0; i < s->axis_count; i++)
        if (i != seed_axis(s))
            snprintf(cell[c++], CELL_SIZE, "%.50s", rt_sweep_value(s, row, i));
    if (good == all)
        snprintf(cell[c++], CELL_SIZE, "%d", all);
    else
        snprintf(cell[c++], CELL_SIZE, "%d of %d", good, all);
    for (int i = 0; i < count; i++)
        write_summary(cell[c++], summarise(s, results, row, list[i].name), list[i].format);
    write_summary(cell[c], reached, "%.0f");
    if (reached.count && reached.count < all)
        snprintf(cell[c] + strlen(cell[c]), CELL_SIZE - strlen(cell[c]), " (%d of %d)",
                 reached.count, all);
}

/* One line for all runs that learn theta. */
static void print_verdict(FILE *to, const rt_sweep *s, const rt_sweep_result *results)
{
    char name[RT_RUN_NAME_SIZE] = "";
    int learned = 0, near = 0, worst = 0;
    double most = -1;
    for (int run = 0; run < rt_sweep_count(s); run++) {
        const double is_near = rt_results_get(&results[run].results, "theta_near");
        const double drift = rt_results_get(&results[run].results, "theta_max_drift");
        if (isnan(is_near))
            continue;
        learned++;
        near += is_near != 0;
        if (drift > most) {
            most = drift;
            worst = run;
        }
    }
    if (!learned)
        return;
    rt_sweep_name(s, worst, name);
    fprintf(to, "theta: near in %d of the %d runs that learn it, max relative drift %.3g (%s)\n",
            near, learned, most, name);
}

rt_status rt_sweep_print(FILE *to, const rt_sweep *s, const rt_sweep_result *results)
{
    shown list[MOST_COLUMNS];
    const int runs = rt_sweep_count(s), count = choose_shown(s, results, list);
    table t = {.cells = rt_alloc((size_t)runs + 1, sizeof *t.cells)};
    if (!t.cells)
        return rt_out_of_memory("the table of a sweep");
    fill_header(&t, s, list, count);
    for (int run = 0; run < runs; run++)
        if (is_first_of_row(s, run))
            fill_row(&t, s, results, run, list, count);
    print_cells(to, &t);
    print_verdict(to, s, results);
    rt_free(t.cells);
    return rt_ok();
}

/* ---- files ---- */

/* The names of all results, in the order in which runs first have them. */
typedef struct names {
    int count;
    char list[RT_MOST_RESULTS][RT_RESULT_NAME_SIZE];
} names;

static void collect_names(names *n, const rt_sweep *s, const rt_sweep_result *results)
{
    n->count = 0;
    for (int run = 0; run < rt_sweep_count(s); run++)
        for (int i = 0; i < results[run].results.count; i++) {
            const char *name = results[run].results.list[i].name;
            bool known = !strcmp(name, "exit_code");
            for (int k = 0; k < n->count && !known; k++)
                known = !strcmp(n->list[k], name);
            if (!known && n->count < RT_MOST_RESULTS)
                snprintf(n->list[n->count++], RT_RESULT_NAME_SIZE, "%s", name);
        }
}

/* The columns that tell which run it is. */
static void add_identity_header(rt_writer *w, const rt_sweep *s, bool with_seed)
{
    char name[RT_KEY_NAME_SIZE];
    if (s->variant_count)
        rt_writer_add(w, "variant,");
    for (int i = 0; i < s->axis_count; i++)
        if (with_seed || i != seed_axis(s))
            rt_writer_add(w, "%s,", rt_key_full_name(rt_key_at(s->axes[i].key), name));
}

static void add_identity(rt_writer *w, const rt_sweep *s, int run, bool with_seed)
{
    const rt_variant *variant = rt_sweep_variant(s, run);
    if (variant)
        rt_writer_add(w, "%s,", variant->name);
    for (int i = 0; i < s->axis_count; i++)
        if (with_seed || i != seed_axis(s))
            rt_writer_add(w, "%s,", rt_sweep_value(s, run, i));
}

static void add_number(rt_writer *w, double x)
{
    if (isnan(x))
        rt_writer_add(w, ",");
    else
        rt_writer_add(w, ",%.9g", x);
}

static void write_sweep(rt_writer *w, const rt_sweep *s, const rt_sweep_result *results,
                        const names *n)
{
    add_identity_header(w, s, false);
    rt_writer_add(w, "runs,good");
    for (int i = 0; i < n->count; i++)
        rt_writer_add(w, ",%s_mean,%s_sd,%s_n", n->list[i], n->list[i], n->list[i]);
    rt_writer_add(w, "\n");
    for (int run = 0; run < rt_sweep_count(s); run++) {
        int all, good;
        if (!is_first_of_row(s, run))
            continue;
        count_runs(s, results, run, &all, &good);
        add_identity(w, s, run, false);
        rt_writer_add(w, "%d,%d", all, good);
        for (int i = 0; i < n->count; i++) {
            const summary m = summarise(s, results, run, n->list[i]);
            add_number(w, m.mean);
            add_number(w, m.deviation);
            rt_writer_add(w, ",%d", m.count);
        }
        rt_writer_add(w, "\n");
    }
}

static void write_runs(rt_writer *w, const rt_sweep *s, const rt_sweep_result *results,
                       const names *n)
{
    rt_writer_add(w, "run,");
    add_identity_header(w, s, true);
    rt_writer_add(w, "exit_code");
    for (int i = 0; i < n->count; i++)
        rt_writer_add(w, ",%s", n->list[i]);
    rt_writer_add(w, "\n");
    for (int run = 0; run < rt_sweep_count(s); run++) {
        char name[RT_RUN_NAME_SIZE];
        rt_sweep_name(s, run, name);
        rt_writer_add(w, "%s,", name);
        add_identity(w, s, run, true);
        if (results[run].ended)
            rt_writer_add(w, "%d", results[run].exit_code);
        for (int i = 0; i < n->count; i++)
            add_number(w, rt_results_get(&results[run].results, n->list[i]));
        rt_writer_add(w, "\n");
    }
}

static rt_status write_file(const char *folder, const char *name, rt_writer *w)
{
    char *text = rt_writer_take(w);
    rt_status status = text ? rt_write_text(folder, name, text) : rt_out_of_memory("a table");
    rt_free(text);
    return status;
}

rt_status rt_sweep_record(const char *folder, const rt_sweep *s, const rt_sweep_result *results)
{
    rt_writer w = {0};
    names n;
    collect_names(&n, s, results);
    write_sweep(&w, s, results, &n);
    rt_status status = write_file(folder, "sweep.csv", &w);
    write_runs(&w, s, results, &n);
    rt_status second = write_file(folder, "runs.csv", &w);
    return status.code ? status : second;
}
