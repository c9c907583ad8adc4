#ifndef ROTOR_TRAIN_REPORT_SWEEP_RUNS_H
#define ROTOR_TRAIN_REPORT_SWEEP_RUNS_H

/* The runs of a sweep as its runs.csv lists them, their table, and statistics over them. Runs that
 * differ in run.seed alone are one row of the table. */

#include "text/csv.h"
#include "train/config/config.h"
#include "train/folder/results.h"

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
    char **cells; /* of all columns; the first is its name */
    char *folder; /* path of its folder */
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
    size_t capacity; /* of the list */
    rt_sweep_run *list;
    rt_sweep_row *rows;
    double *values; /* scratch memory for rt_sweep_summary */
} rt_sweep_runs;

/* Reads FOLDER/runs.csv; the folder of a run is FOLDER/NAME. A folder without the file has no runs.
 * rt_sweep_runs_free is called in any case. */
rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder) RT_MUST_CHECK;
void rt_sweep_runs_free(rt_sweep_runs *s);

/* Adds runs.csv: a row for each run, and a column for each result that some run has. `write_run`
 * adds the name, the settings and the exit code of a run or, for run -1, their headings. */
typedef void rt_run_writer(rt_writer *w, const void *context, int run);
typedef const rt_results *rt_run_results(const void *context, int run);
void rt_sweep_runs_csv(rt_writer *w, int count, rt_run_writer *write_run,
                       rt_run_results *results_of, const void *context);

/* Loads the configuration of a run; returns false if it has none. */
bool rt_sweep_load_run(const rt_sweep_runs *s, int run, rt_config *config);

/* Returns whether a column sets rows apart: a setting other than the seed with different values. */
bool rt_sweep_differs(const rt_sweep_runs *s, int column);

/* Returns the column of a result, or of a setting; -1 if there is none. */
int rt_sweep_column(const rt_sweep_runs *s, const char *name);
int rt_sweep_setting(const rt_sweep_runs *s, const char *name);

/* Returns the result of a run as a number; NaN if there is none, as in column -1. */
double rt_sweep_number(const rt_sweep_runs *s, int run, int column);

/* Summarises a result over the runs of a row; column -1 has no values. */
rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column);

/* Adds the settings of a row that differ, "kind=rope, lr=0.001", or the name of a variant. Leaves
 * out one column (0: none) and, unless they are `shown`, empty values. */
void rt_sweep_row_settings(rt_writer *w, const rt_sweep_runs *s, int row, int left_out, bool shown);

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

/* Order of the columns: first the settings, which are few in a sweep, or first the names of the
 * runs and last the settings. */
typedef enum rt_sweep_order { RT_SETTINGS_FIRST, RT_RESULTS_FIRST } rt_sweep_order;

typedef enum rt_column_kind {
    RT_COLUMN_NAMES,   /* names of the runs */
    RT_COLUMN_SETTING, /* a setting that differs */
    RT_COLUMN_RUNS,    /* number of runs */
    RT_COLUMN_RESULT
} rt_column_kind;

typedef struct rt_table_column {
    rt_column_kind kind;
    int source;                 /* column of the runs; -1: they have none */
    const rt_result_view *view; /* of a result */
} rt_table_column;

typedef struct rt_sweep_table {
    int columns, rows; /* the first row has the headings */
    rt_table_column *list;
    char **cells; /* row after row */
} rt_sweep_table;

/* Makes the table of the settings that differ and of the results that rt_result_view_at names.
 * rt_sweep_table_free is called in any case. */
rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *runs,
                              rt_sweep_order order) RT_MUST_CHECK;
void rt_sweep_table_free(rt_sweep_table *t);

/* Prints the table with aligned columns; long cells are truncated. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t);

/* Adds the same rows with all settings and results, as sweep.csv has them. */
void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *runs);

/* ---- ranking ---- */

/* Losses are comparable if they answer the same question on the same data with the same
 * vocabulary. Bits per byte are comparable across vocabularies. */
typedef struct rt_ranking {
    const char *result; /* RT_RESULT_LOSS or RT_RESULT_BITS_PER_BYTE, the lower the better; NULL if
                           the rows cannot be ranked */
    const char *differ; /* what the runs differ in then: "objectives" */
} rt_ranking;

/* Ranks the runs whose folders have a configuration. */
rt_ranking rt_report_rank(const rt_sweep_runs *runs);

/* ---- paired differences ---- */

/* Factors for the mean of `count` normal numbers, in standard deviations of the sample; NaN below
 * two numbers. */
typedef struct rt_student {
    int count;
    double interval; /* half of the 95 % interval of the mean: t(0.975, count - 1) / sqrt(count) */
    double detectable; /* smallest true mean that a two-sided test at 5 % finds with a probability
                          of 90 %, by the noncentral t distribution */
} rt_student;

rt_student rt_student_of(int count);

/* Mean of paired differences with its 95 % interval by Student's t, NaN below two pairs. */
typedef struct rt_difference {
    int count;         /* of pairs */
    double mean;       /* NaN without pairs */
    double low, high;  /* interval */
    double detectable; /* smallest difference that this design shows with 90 %; NaN likewise */
} rt_difference;

/* The row with the lowest mean of the ranked result, against every other row: runs of two rows with
 * the same seed are a pair. */
typedef struct rt_sweep_best {
    int row;           /* -1: the rows cannot be ranked, or there is one alone */
    double mean;       /* of its result */
    int others;        /* number of other rows with a result */
    int same;          /* number of rows that are not told apart: the interval includes 0 */
    int unknown;       /* number of rows without an interval */
    int rival;         /* row with the lowest mean of those that are not told apart or, if there are
                          none, of all others */
    double rival_mean; /* of the result of the rival */
    rt_difference from_rival; /* of the rival's result from the best, above 0 */
} rt_sweep_best;

rt_sweep_best rt_sweep_find_best(const rt_sweep_runs *s, const rt_ranking *ranking);

/* Returns whether the interval of every other row excludes 0. */
bool rt_sweep_best_is_apart(const rt_sweep_best *best);

/* Adds the line "lowest loss: ..."; nothing if there is no best row. Rows are named as in the first
 * column of a table of that order. */
void rt_sweep_report_best(rt_writer *w, const rt_sweep_runs *s, const rt_sweep_best *best,
                          const rt_ranking *ranking, rt_sweep_order order);

/* Two runs are a pair if they agree in every setting but one, the seed included: both have drawn
 * the same weights and batches. Pairs of one seed at several values of another key are not
 * independent of each other; the intervals treat them as if they were. */
typedef struct rt_paired_difference {
    const char *key, *value, *against; /* texts of the runs; `against` is the key's first value */
    rt_difference loss;                /* loss(value) - loss(against) */
} rt_paired_difference;

typedef struct rt_paired {
    rt_paired_difference *list;
    int count;
    int seeds;       /* number of seeds; 0: run.seed does not set the runs apart */
    double doubling; /* change of the loss by twice the steps; NaN if the sweep has no such runs */
} rt_paired;

/* Computes all differences. rt_paired_free is called in any case, before the runs are freed. */
rt_status rt_paired_make(rt_paired *paired, const rt_sweep_runs *runs) RT_MUST_CHECK;
void rt_paired_free(rt_paired *paired);

/* Returns how much more compute a difference of the loss is worth: 0.034 is 3.4 % more steps. NaN
 * unless twice the steps lower the loss. */
double rt_paired_compute(const rt_paired *paired, double difference);

/* Adds the differences as lines of text, as a table of a page, or as paired.csv. The first two add
 * nothing if there is no pair. */
void rt_paired_report(rt_writer *w, const rt_paired *paired);
void rt_paired_page(rt_writer *w, const rt_paired *paired);
void rt_paired_csv(rt_writer *w, const rt_paired *paired);

#endif
