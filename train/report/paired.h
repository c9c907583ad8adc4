#ifndef ROTOR_TRAIN_REPORT_PAIRED_H
#define ROTOR_TRAIN_REPORT_PAIRED_H

/* Paired differences of the runs of a sweep: what a key or a variant changes in the evaluation
 * loss, which has to be that of the same question (train/report/ranking.h). Two runs are a pair if
 * they agree in everything else that sets runs apart, the seed included, so that both have drawn
 * the same weights and batches. Pairs of one seed, at several values of another key, are not
 * independent of each other: the intervals take them as if they were. */

#include "train/report/sweep_runs.h"

/* A value against the first one of the same key. */
typedef struct rt_paired_difference {
    const char *key, *value, *against; /* of the runs */
    int count;                         /* of pairs */
    double mean;                       /* of loss(value) - loss(against) */
    double low, high;  /* its interval of 95 %, by Student's t; NaN below two pairs */
    double detectable; /* the smallest difference that so many pairs, with this deviation, would
                          show with a probability of 90 % */
} rt_paired_difference;

typedef struct rt_paired {
    rt_paired_difference *list;
    int count;
    int seeds; /* that the runs have; 0: run.seed does not set them apart */
    double
        doubling; /* what twice the steps change in the loss, where the sweep has both; else NaN */
} rt_paired;

/* To be freed in any case, before the runs. */
rt_status rt_paired_make(rt_paired *paired, const rt_sweep_runs *runs) RT_MUST_CHECK;
void rt_paired_free(rt_paired *paired);

/* How much more compute a difference of the loss is worth, as a share: 0.034 is 3.4 % more steps.
 * NaN unless twice the steps lower the loss. */
double rt_paired_compute(const rt_paired *paired, double difference);

/* A line for each difference, for the reader; nothing if there is no pair. */
void rt_paired_report(rt_writer *w, const rt_paired *paired);

/* The same as a table of a page. */
void rt_paired_page(rt_writer *w, const rt_paired *paired);

/* All of them as paired.csv. */
void rt_paired_csv(rt_writer *w, const rt_paired *paired);

#endif
