#ifndef ROTOR_TRAIN_REPORT_RANKING_H
#define ROTOR_TRAIN_REPORT_RANKING_H

/* By which number the rows of a sweep or a comparison can be ranked. Losses are compared where they
 * are those of the same question, asked of the same data; and of the same vocabulary, for a token
 * is not the same piece of text in another one. Bits per byte are compared across vocabularies. */

#include "train/report/sweep_runs.h"

typedef struct rt_ranking {
    const char *result; /* RT_RESULT_LOSS or RT_RESULT_BITS_PER_BYTE, the lower the better; NULL if
                           the rows cannot be ranked */
    const char *differ; /* what the runs differ in then: "objectives" */
} rt_ranking;

/* Of the runs whose folders in FOLDER have a configuration. */
rt_ranking rt_report_rank(const char *folder, const rt_sweep_runs *runs);

/* The row with the lowest mean of that result; -1 if none has one, or there is no other. */
int rt_ranking_best(const rt_ranking *ranking, const rt_sweep_runs *runs);

#endif
