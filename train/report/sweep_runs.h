#ifndef ROTOR_TRAIN_REPORT_SWEEP_RUNS_H
#define ROTOR_TRAIN_REPORT_SWEEP_RUNS_H

/* The runs of a sweep as its runs.csv lists them, and the tables made of them: on the terminal, in
 * sweep.csv and in the report. Runs that differ in run.seed alone are one row of a table. */

#include "text/csv.h"
#include "train/config/config.h"

#include <stdio.h>

/* ---- a number over several runs ---- */

typedef struct rt_summary {
    int count;        /* of values that are not NaN */
    double mean;      /* NaN without values */
    double deviation; /* of a sample, sqrt(sum (x - mean)^2 / (count - 1)); NaN below two */
} rt_summary;

/* Summarises the values that are not NaN. */
rt_summary rt_summarise(const double *values, int count);

/* Writes "0.0123 ± 0.0004 (2 of 3)" for two of three runs that have the number, "0.0123" for a
 * single run, "-" for none. Returns the text. */
enum { RT_SUMMARY_SIZE = 128 };
const char *rt_summary_text(char text[RT_SUMMARY_SIZE], const rt_summary *s, int decimals,
                            int runs);

/* ---- the runs ---- */

typedef struct rt_sweep_run {
    char **cells; /* of all columns; the first is its name, which is that of its folder */
    int next;     /* next run of its row; -1 behind the last */
} rt_sweep_run;

typedef struct rt_sweep_row {
    int first, last; /* of its runs */
} rt_sweep_row;

typedef struct rt_sweep_runs {
    int columns;
    int exit_column; /* columns 1 ... exit_column - 1 are settings, those behind it results */
    char **names;    /* of the columns */
    int count, row_count;
    int capacity;       /* of the three lists */
    rt_sweep_run *list; /* its block holds the other two as well */
    rt_sweep_row *rows;
    double *values; /* scratch memory for rt_sweep_summary */
} rt_sweep_runs;

/* Reads FOLDER/runs.csv. A folder without one has no runs. rt_sweep_runs_free is called in any
 * case. */
rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder) RT_MUST_CHECK;
void rt_sweep_runs_free(rt_sweep_runs *s);

/* Loads the configuration of a run in FOLDER; returns false if it has none. */
bool rt_sweep_load_run(const rt_sweep_runs *s, const char *folder, int run, rt_config *config);

/* Returns whether a column can set rows apart: a setting other than the seed. */
bool rt_sweep_sets_apart(const rt_sweep_runs *s, int column);

/* Returns whether a column sets rows apart: its cells are not all the same. */
bool rt_sweep_differs(const rt_sweep_runs *s, int column);

/* Returns the column of a result, or of a setting; -1 if there is none. */
int rt_sweep_column(const rt_sweep_runs *s, const char *name);
int rt_sweep_setting(const rt_sweep_runs *s, const char *name);

/* Returns the result of a run as a number; NaN if there is none, as in column -1. */
double rt_sweep_number(const rt_sweep_runs *s, int run, int column);

/* Summarises a result over the runs of a row; column -1 has no values. */
rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column);

typedef struct rt_endings {
    int runs;
    int finished; /* runs that came to an end, even if a requested check failed */
} rt_endings;

rt_endings rt_sweep_endings(const rt_sweep_runs *s, int row);

/* All runs in a few words. */
typedef struct rt_sweep_verdict {
    rt_endings endings;
    int learned, near;    /* runs that learn theta; of them, those whose theta stayed near */
    int reset, dependent; /* runs whose theta was reset; of them, those that depend on it */
    double drift;         /* the largest */
    const char *farthest; /* name of the run with that drift; NULL if there is none */
} rt_sweep_verdict;

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s);

/* Adds the lines on theta, if some runs learn it. */
void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v);

/* ---- their table: a row for the runs that differ in the seed alone ---- */

/* Whether a row begins with its settings, which are few in a sweep, or with the names of its runs
 * and ends with its settings. */
typedef enum rt_sweep_order { RT_SETTINGS_FIRST, RT_RESULTS_FIRST } rt_sweep_order;

typedef struct rt_sweep_table {
    int columns, rows; /* the first row has the headings */
    int first_setting; /* columns of settings stand together */
    int settings;
    char **cells; /* row after row */
    int *widths;  /* of the columns, in characters */
} rt_sweep_table;

/* Makes the table of the settings that differ and of the results that rt_result_view_at names.
 * rt_sweep_table_free is called in any case. */
rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *runs,
                              rt_sweep_order order) RT_MUST_CHECK;
void rt_sweep_table_free(rt_sweep_table *t);

/* Prints the table with aligned columns; long cells are truncated. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t);

/* Adds the same rows with all results, as sweep.csv has them. */
void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *runs);

#endif
