#ifndef ROTOR_TRAIN_REPORT_PAIRED_H
#define ROTOR_TRAIN_REPORT_PAIRED_H

/* Statistics over the runs of a sweep or a comparison: by which result they are ranked, and paired
 * differences of the loss with intervals. */

#include "train/report/sweep_runs.h"

/* ---- ranking ---- */

/* Losses are comparable if they answer the same question on the same data with the same
 * vocabulary. Bits per byte are comparable across vocabularies. */
typedef struct rt_ranking {
    const char *result; /* RT_RESULT_LOSS or RT_RESULT_BITS_PER_BYTE, the lower the better; NULL if
                           the rows cannot be ranked */
    const char *differ; /* what the runs differ in then: "objectives" */
} rt_ranking;

/* Ranks the runs whose folders in FOLDER have a configuration. */
rt_ranking rt_report_rank(const char *folder, const rt_sweep_runs *runs);

/* Returns the row with the lowest mean of the ranked result; -1 if there is none, or one row only.
 */
int rt_ranking_best(const rt_ranking *ranking, const rt_sweep_runs *runs);

/* ---- Student's t ---- */

/* Factors for the mean of `count` normal numbers, in standard deviations of the sample; NaN below
 * two numbers. */
typedef struct rt_student {
    int count;
    double interval; /* half of the 95 % interval of the mean: t(0.975, count - 1) / sqrt(count) */
    double detectable; /* smallest true mean that a two-sided test at 5 % finds with a probability
                          of 90 %, by the noncentral t distribution */
} rt_student;

rt_student rt_student_of(int count);

/* ---- paired differences ---- */

/* Two runs are a pair if they agree in every setting but one, the seed included: both have drawn
 * the same weights and batches. Pairs of one seed at several values of another key are not
 * independent of each other; the intervals treat them as if they were. */
typedef struct rt_paired_difference {
    const char *key, *value, *against; /* texts of the runs; `against` is the key's first value */
    int count;                         /* of pairs */
    double mean;                       /* of loss(value) - loss(against) */
    double low, high;                  /* 95 % interval by Student's t; NaN below two pairs */
    double detectable;                 /* smallest difference that this design shows with 90 % */
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
