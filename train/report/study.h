#ifndef ROTOR_TRAIN_REPORT_STUDY_H
#define ROTOR_TRAIN_REPORT_STUDY_H

/* The comparison of the runs of a sweep: which are ranked, the best row, and paired differences. */

#include "train/report/sweep_runs.h"

/* Ranking of rows. Losses are comparable if no key asks another question (rt_config_asks_other),
 * for the same contents of the files (rt_session_changed_input), and for the same vocabulary. Bits
 * per byte of the same text are comparable across vocabularies. */
typedef struct rt_ranking {
    const char *result; /* RT_RESULT_LOSS or RT_RESULT_BITS_PER_BYTE, lower is better; NULL if the
                           rows cannot be ranked */
    const char *differ; /* what the runs then differ in: "objectives" */
} rt_ranking;

/* The row with the lowest mean of the ranked result, compared with every other row; of rows whose
 * runs all have the result, if there are some. Runs of two rows with the same seed are a pair. */
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

/* Paired difference for two values of a key. Two runs are a pair if their losses are comparable,
 * all other settings, including the seed, are equal, so that they have drawn the same weights and
 * batches, and their rows differ: the key has an effect.
 * Pairs of one seed at several values of another key are not independent, but the intervals treat
 * them as if they were. */
typedef struct rt_paired_difference {
    const char *key, *value, *against; /* texts of the runs; `against` is the key's first value */
    rt_difference loss;                /* loss(value) - loss(against) */
    int seeds;                         /* number of seeds of these pairs */
} rt_paired_difference;

typedef struct rt_paired {
    rt_paired_difference *list;
    int count;
    bool bits;       /* of bits per byte: the vocabularies differ */
    int pairs;       /* number of pairs of all differences */
    bool intervals;  /* some difference has an interval */
    bool dependent;  /* some seed has several pairs of one difference */
    double doubling; /* change of the loss by twice the steps; NaN if no runs have them */
} rt_paired;

/* Computes all differences of the ranked result or, if the runs cannot be ranked, of the loss. The
 * caller calls rt_paired_free in any case, before it frees `runs`. */
rt_status rt_paired_make(rt_paired *paired, const rt_sweep_runs *runs,
                         const rt_ranking *ranking) RT_MUST_CHECK;
void rt_paired_free(rt_paired *paired);

/* Returns the compute that a difference of the loss is worth: 3.4 for 3.4 % more steps. NaN unless
 * twice the steps lower the loss, and for train.steps, which is compute itself. */
double rt_paired_compute(const rt_paired *paired, const rt_paired_difference *d, double difference);

/* Adds the differences as lines of text, none without pairs, or as paired.csv. */
void rt_paired_report(rt_writer *w, const rt_paired *paired);
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
