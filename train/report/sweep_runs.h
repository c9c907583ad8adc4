#ifndef ROTOR_TRAIN_REPORT_SWEEP_RUNS_H
#define ROTOR_TRAIN_REPORT_SWEEP_RUNS_H

/* Runs of a sweep as listed in runs.csv, their table, and statistics over them. Runs that differ
 * only in run.seed are one row of the table. */

#include "text/csv.h"
#include "train/config/config.h"
#include "train/folder/results.h"

#include <stdio.h>

typedef struct rt_summary {
    int count;        /* number of values that are not NaN */
    double mean;      /* NaN without values */
    double deviation; /* of a sample, sqrt(sum (x - mean)^2 / (count - 1)); NaN below two */
} rt_summary;

/* Summarizes the values that are not NaN. */
rt_summary rt_summarise(const double *values, int count);

/* Writes "0.0123 ± 0.0004 (2 of 3)" if two of three runs have the number, "0.0123" for a single
 * run, "-" if none has it. Returns the text. */
enum { RT_SUMMARY_SIZE = 128 };
const char *rt_summary_text(char text[RT_SUMMARY_SIZE], const rt_summary *s, int decimals,
                            int runs);

typedef struct rt_sweep_run {
    char **cells; /* cells of all columns; the first is its name */
    char *folder; /* path of its folder */
    int next;     /* next run of its row; -1 after the last */
} rt_sweep_run;

typedef struct rt_sweep_row {
    int first, last; /* its first and last run */
    int runs;        /* number of its runs */
    int finished;    /* those of them that came to an end, even if a requested check failed */
} rt_sweep_row;

typedef struct rt_sweep_runs {
    int columns;
    int exit_column; /* columns 1 ... exit_column - 1 are settings, later ones results */
    char **names;    /* names of the columns */
    int count, row_count;
    size_t capacity; /* of the list */
    rt_sweep_run *list;
    rt_sweep_row *rows;
    double *values; /* scratch memory, one number per run: results of a row, or differences of
                       pairs */
} rt_sweep_runs;

/* Reads FOLDER/runs.csv; the folder of a run is FOLDER/NAME. Without the file there are no runs.
 * The caller calls rt_sweep_runs_free also after an error. */
rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder) RT_MUST_CHECK;
void rt_sweep_runs_free(rt_sweep_runs *s);

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

/* Summarizes a result over the runs of a row; column -1 has no values. */
rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column);

/* Adds the settings in which a row differs from others, "kind=rope, lr=0.001", or the name of a
 * variant. Omits column `left_out` (0: none) and, unless `shown`, empty values. */
void rt_sweep_row_settings(rt_writer *w, const rt_sweep_runs *s, int row, int left_out, bool shown);

/* Summary of all runs. */
typedef struct rt_sweep_verdict {
    int finished;         /* runs that came to an end, even if a requested check failed */
    int learned, near;    /* runs that learn theta, and those of them whose theta stayed near */
    int reset, dependent; /* runs whose theta was reset, and those of them that depend on theta */
    double drift;         /* largest drift */
    const char *farthest; /* name of the run with that drift; or NULL */
} rt_sweep_verdict;

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s);

/* Adds the lines on theta if some runs learn it. */
void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v);

/* ---- the table: one row for runs that differ only in the seed ---- */

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
    int source;                 /* column of the runs; -1: none */
    const rt_result_view *view; /* view of a result */
} rt_table_column;

typedef struct rt_sweep_table {
    int columns, rows; /* including the row of headings */
    rt_table_column *list;
    char **cells; /* column after column */
} rt_sweep_table;

/* Makes the table of the settings that differ and of the results of rt_result_view_at. The caller
 * calls rt_sweep_table_free also after an error. */
rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *runs,
                              rt_sweep_order order) RT_MUST_CHECK;
void rt_sweep_table_free(rt_sweep_table *t);

/* Prints the table with aligned columns; long cells are truncated. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t);

/* Adds sweep.csv: the same rows with all settings and results. */
void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *runs);

/* Ranking of rows. Losses are comparable for the same task, data and vocabulary. Bits per byte are
 * comparable across vocabularies. */
typedef struct rt_ranking {
    const char *result; /* RT_RESULT_LOSS or RT_RESULT_BITS_PER_BYTE, lower is better; NULL if the
                           rows cannot be ranked */
    const char *differ; /* what the runs then differ in: "objectives" */
} rt_ranking;

/* Chooses the ranking of those runs whose folders have a configuration. */
rt_ranking rt_report_rank(const rt_sweep_runs *runs);

/* Factors for the mean of `count` normally distributed numbers, in sample standard deviations; NaN
 * below two numbers. */
typedef struct rt_student {
    int count;
    double interval; /* half of the 95 % interval of the mean: t(0.975, count - 1) / sqrt(count) */
    double detectable; /* smallest true mean that a two-sided test at 5 % detects with 90 % power,
                          by the noncentral t distribution */
} rt_student;

rt_student rt_student_of(int count);

/* Mean of paired differences, and its 95 % interval by Student's t, NaN below two pairs. */
typedef struct rt_difference {
    int count;         /* number of pairs */
    double mean;       /* NaN without pairs */
    double low, high;  /* interval */
    double detectable; /* smallest difference that is detected with 90 % power; or NaN */
} rt_difference;

/* The row with the lowest mean of the ranked result, compared with every other row. Runs of two
 * rows with the same seed are a pair. */
typedef struct rt_sweep_best {
    int row;     /* -1: the rows cannot be ranked, or there is only one, or at the common seeds
                    another is lower */
    double mean; /* mean of its result */
    int others;  /* number of other rows with a result */
    int same;    /* number of those whose difference has an interval that includes 0 */
    int unknown; /* number of those without an interval */
    int rival;   /* row with the lowest mean of the `same` ones, or else of all others */
    double rival_mean;        /* mean of the rival's result */
    rt_difference from_rival; /* rival's result minus the best, above 0 */
} rt_sweep_best;

rt_sweep_best rt_sweep_find_best(const rt_sweep_runs *s, const rt_ranking *ranking);

/* Returns whether the interval of every other row excludes 0. */
bool rt_sweep_best_is_apart(const rt_sweep_best *best);

/* Paired difference for two values of a key. Two runs are a pair if all other settings, including
 * the seed, are equal: they have drawn the same weights and batches. Pairs of one seed at several
 * values of another key are not independent, but the intervals treat them as if they were. */
typedef struct rt_paired_difference {
    const char *key, *value, *against; /* texts of the runs; `against` is the key's first value */
    rt_difference loss;                /* loss(value) - loss(against) */
    int seeds;                         /* number of seeds of these pairs */
} rt_paired_difference;

typedef struct rt_paired {
    rt_paired_difference *list;
    int count;
    bool bits;       /* of bits per byte: the vocabularies differ */
    double doubling; /* change of the loss by twice the steps; NaN if no runs have them */
} rt_paired;

/* Computes all differences of the ranked result or, if the runs cannot be ranked, of the loss. The
 * caller calls rt_paired_free in any case, before it frees `runs`. */
rt_status rt_paired_make(rt_paired *paired, const rt_sweep_runs *runs,
                         const rt_ranking *ranking) RT_MUST_CHECK;
void rt_paired_free(rt_paired *paired);

/* Adds the differences as lines of text, as a table of a page, or as paired.csv. Without pairs, the
 * first two add nothing. */
void rt_paired_report(rt_writer *w, const rt_paired *paired);
void rt_paired_page(rt_writer *w, const rt_paired *paired);
void rt_paired_csv(rt_writer *w, const rt_paired *paired);

typedef struct rt_sweep_study {
    rt_sweep_runs runs;
    rt_sweep_order order;
    rt_sweep_table table;
    rt_sweep_verdict verdict;
    rt_ranking ranking;
    rt_sweep_best best;
    rt_paired paired;
} rt_sweep_study;

/* Computes everything from the runs and the order; the rest is zeroed before. The caller calls
 * rt_sweep_study_free also after an error. */
rt_status rt_sweep_study_make(rt_sweep_study *study) RT_MUST_CHECK;
void rt_sweep_study_free(rt_sweep_study *study);

/* Adds the line "lowest loss: ..."; nothing if there is no best row. Rows are named as in the first
 * column of the table. */
void rt_sweep_report_best(rt_writer *w, const rt_sweep_study *study);

#endif
