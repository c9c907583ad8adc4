#ifndef ROTOR_TRAIN_REPORT_SWEEP_RUNS_H
#define ROTOR_TRAIN_REPORT_SWEEP_RUNS_H

/* The runs of a sweep and their table. */

#include "train/folder/results.h"
#include "train/report/statistics.h"
#include "util/writer.h"

#include <stdint.h>
#include <stdio.h>

/* Runs of a sweep are listed in runs.csv. Runs that differ only in run.seed, and whose losses are
 * comparable, are one row of the table. A difference in a key without effect is none. */

typedef struct rt_sweep_run {
    char **cells;  /* cells of all columns; the first is its name */
    char *folder;  /* path of its folder */
    bool diverged; /* its results are left out of statistics and curves */
    bool good;     /* it finished (rt_sweep_verdict) and did not diverge */
    bool copy;     /* its row has another run of its seed, which stands for both */
    int row;
    int next;         /* next run of its row that is no copy; -1 after the last */
    int question;     /* equal for runs with comparable losses; set by rt_sweep_study_make */
    uint64_t setting; /* digest of its effective configuration, also set there; 0: unknown */
} rt_sweep_run;

typedef struct rt_sweep_row {
    int first, last; /* its first and last run, without copies as the numbers */
    int runs;        /* number of its runs */
    int good;        /* those of them that are good */
    bool merged;     /* its runs differ in the texts of keys without effect */
} rt_sweep_row;

typedef struct rt_sweep_runs {
    int columns;
    int exit_column; /* columns 1 ... exit_column - 1 are settings, later ones results */
    int seed_column; /* run.seed; -1: all runs have one seed */
    char **names;    /* names of the columns */
    int count, row_count;
    size_t capacity; /* of the list */
    rt_sweep_run *list;
    rt_sweep_row *rows;
    bool seeds;     /* some row has several runs */
    double *values; /* scratch memory, one number per run: results of a row, or differences of
                       pairs */
} rt_sweep_runs;

/* Reads FOLDER/runs.csv; the folder of a run is FOLDER/NAME. Without the file there are no runs.
 * The caller calls rt_sweep_runs_free also after an error. */
rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder) RT_MUST_CHECK;
void rt_sweep_runs_free(rt_sweep_runs *s);

/* Finds the rows, by the settings and the question of each run, and the copies. */
rt_status rt_sweep_rows_find(rt_sweep_runs *s) RT_MUST_CHECK;

/* Adds the names of results that the list does not have yet; they are the columns of runs.csv. */
void rt_sweep_add_names(rt_results *names, const rt_results *results);

/* Adds the end of a row of runs.csv: the results of a run under those names or, for NULL, the
 * headings. */
void rt_sweep_add_results(rt_writer *w, const rt_results *names, const rt_results *results);

/* Returns whether a column is a setting, other than the seed, with several values. */
bool rt_sweep_differs(const rt_sweep_runs *s, int column);

/* Returns the column of a result or of a setting; -1 if there is no such column. */
int rt_sweep_column(const rt_sweep_runs *s, const char *name);

/* Returns the result of a run as a number; NaN if it is missing, and for column -1. */
double rt_sweep_number(const rt_sweep_runs *s, int run, int column);

/* The same for statistics over runs: NaN for a run that diverged, too. */
double rt_sweep_sample(const rt_sweep_runs *s, int run, int column);

/* Summarizes a result over the runs of a row; column -1 has no values. */
rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column);

/* Returns whether two runs agree in all settings but the one of column `but`, or in all if it is 0.
 * The seed is not a setting. */
bool rt_sweep_same_settings(const rt_sweep_runs *s, const rt_sweep_run *a, const rt_sweep_run *b,
                            int but);

/* Returns whether two runs have the same seed. */
bool rt_sweep_same_seed(const rt_sweep_runs *s, int a, int b);

/* Returns the text of a setting of a row; NULL for a key without effect, of which its runs have
 * several. Of several variants the row has the first. */
const char *rt_sweep_setting(const rt_sweep_runs *s, int row, int column);

/* Adds the settings in which a row differs from others, "kind=rope, lr=0.001", or the name of a
 * variant. Omits empty ones and those without effect. */
void rt_sweep_row_settings(rt_writer *w, const rt_sweep_runs *s, int row);

/* Adds all of these settings of a run, except column `left_out`. */
void rt_sweep_run_settings(rt_writer *w, const rt_sweep_runs *s, int run, int left_out);

/* Summary of all runs. */
typedef struct rt_sweep_verdict {
    int finished;               /* runs that came to an end, even if a requested check failed */
    int diverged;               /* those of them whose loss is above the limit of divergence */
    const char *first_diverged; /* name of the first; or NULL */
    int copies;                 /* runs that are copies of others */
    const char *first_copy;     /* name of the first; or NULL */
    int learned, near;    /* runs that learn theta, and those of them whose theta stayed near */
    int reset, dependent; /* runs whose theta was reset, and those of them that depend on theta */
    double change;        /* largest relative change */
    const char *farthest; /* name of the run with that change; or NULL */
} rt_sweep_verdict;

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s);

/* Adds a line on runs that diverged, and one on copies, if there are some. */
void rt_sweep_report_left_out(rt_writer *w, const rt_sweep_verdict *v);

/* Adds the lines on theta if some runs learn it. */
void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v);

/* Order of the columns: first the settings, which are few in a sweep, or first the names of runs
 * and last the settings. */
typedef enum rt_sweep_order { RT_SETTINGS_FIRST, RT_RESULTS_FIRST } rt_sweep_order;

typedef enum rt_column_kind {
    RT_COLUMN_NAMES,   /* names of the runs */
    RT_COLUMN_SETTING, /* setting that differs */
    RT_COLUMN_RUNS,    /* number of runs */
    RT_COLUMN_RESULT
} rt_column_kind;

typedef struct rt_table_column {
    rt_column_kind kind;
    int source;                        /* column of the runs; -1: none */
    const struct rt_result_view *view; /* view of a result */
} rt_table_column;

typedef struct rt_sweep_table {
    int columns, rows; /* including the row of headings */
    rt_table_column *list;
    char **cells; /* column after column */
} rt_sweep_table;

/* Makes the table of the settings that differ and of the results. The caller
 * calls rt_sweep_table_free also after an error. */
rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *runs,
                              rt_sweep_order order) RT_MUST_CHECK;
void rt_sweep_table_free(rt_sweep_table *t);

/* Prints the table with aligned columns; long cells are truncated. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t);

/* Adds sweep.csv: the same rows with all settings and results. */
void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *runs);

/* Adds a warning that names keys of the schedule (steps, learning rate) in which the runs of a
 * sweep differ although the sweep does not set them. Runs differ so if a sweep is given more steps
 * and some of its runs continue from fewer. */
void rt_sweep_report_schedules(rt_writer *w, const rt_sweep_runs *runs);

#endif
