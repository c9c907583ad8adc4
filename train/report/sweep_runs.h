#ifndef ROTOR_TRAIN_REPORT_SWEEP_RUNS_H
#define ROTOR_TRAIN_REPORT_SWEEP_RUNS_H

/* The runs of a sweep as its runs.csv lists them, from which the table on the terminal, sweep.csv
 * and the report are made. Its columns are the run's name, what sets it apart from the others,
 * the exit code, and the results. Runs that differ in run.seed alone are one row of the tables.
 */

#include "text/csv.h"
#include "train/report/summary.h"

typedef struct rt_sweep_run {
    char **cells; /* of all columns; the first is its name, which is that of its folder */
    int next;     /* run of its row; -1 behind the last */
} rt_sweep_run;

typedef struct rt_sweep_row {
    int first, last; /* of its runs */
} rt_sweep_row;

typedef struct rt_sweep_runs {
    int columns;
    int exit_column; /* columns 1 ... exit_column - 1 set runs apart, results are behind it */
    char **names;    /* of the columns */
    int count, row_count;
    int capacity; /* of the three lists */
    rt_sweep_run *list;
    rt_sweep_row *rows;
    double *values; /* of the runs that are summed up */
} rt_sweep_runs;

/* Reads FOLDER/runs.csv. Without one there are no runs. To be freed in any case. */
rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder) RT_MUST_CHECK;
void rt_sweep_runs_free(rt_sweep_runs *s);

/* Whether the column can set rows apart; the seed does not. */
bool rt_sweep_sets_apart(const rt_sweep_runs *s, int column);

/* Whether it does: a setting that all runs have tells nothing of a row. */
bool rt_sweep_differs(const rt_sweep_runs *s, int column);

/* The column of a result; -1 if no run has it. */
int rt_sweep_column(const rt_sweep_runs *s, const char *name);

/* A result of the runs of a row; none in column -1. */
rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column);

typedef struct rt_endings {
    int runs;
    int finished; /* came to an end, even if a check failed that was asked for */
} rt_endings;

rt_endings rt_sweep_endings(const rt_sweep_runs *s, int row);

/* All runs in a few words. */
typedef struct rt_sweep_verdict {
    rt_endings endings;
    int learned, near;    /* runs that learn theta; of them, whose theta stayed near */
    int reset, dependent; /* runs whose theta was reset; of them, those that depend on it */
    double drift;         /* the largest, and the name of its run; NULL if there is none */
    const char *farthest;
} rt_sweep_verdict;

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s);

/* Adds a line on theta, if some runs learn it. */
void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v);

#endif
