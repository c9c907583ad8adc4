#ifndef ROTOR_TRAIN_REPORT_STATISTICS_H
#define ROTOR_TRAIN_REPORT_STATISTICS_H

/* Statistics over the runs of a study: summaries, Student's t, and paired differences. */

#include "util/writer.h"

#include <stdbool.h>

typedef struct rt_summary {
    int count;        /* number of values that are not NaN */
    double mean;      /* NaN without values */
    double deviation; /* of a sample, sqrt(sum (x - mean)^2 / (count - 1)); NaN below two */
} rt_summary;

/* Summarizes the values that are not NaN. */
rt_summary rt_summarise(const double *values, int count);

/* Adds "0.0123 ± 0.0004 (2 of 3)" if two of three runs have the number, "0.0123" for a single run,
 * "-" if none has it. */
void rt_summary_report(rt_writer *w, const rt_summary *s, int decimals, int runs);

/* Factors for the mean of `count` normally distributed numbers, in sample standard deviations; NaN
 * below two numbers. */
typedef struct rt_student {
    int count;
    double interval; /* half of the 95 % interval of the mean: t(0.975, count - 1) / sqrt(count) */
    double detectable; /* smallest true mean that a two-sided test at 5 % detects with 90 % power,
                          by the noncentral t distribution */
} rt_student;

rt_student rt_student_of(int count);

/* Mean of paired differences, and its 95 % interval by Student's t, NaN below two seeds. */
typedef struct rt_difference {
    int count;         /* number of pairs */
    double mean;       /* NaN without pairs */
    double low, high;  /* interval */
    double detectable; /* smallest difference that is detected with 90 % power; or NaN */
} rt_difference;

/* Summarizes paired differences of so many seeds. `t` starts zeroed, and keeps the factors of the
 * last call, which often had the same number of pairs. */
rt_difference rt_difference_of(const double *values, int count, int seeds, rt_student *t);

/* Returns whether the interval excludes 0; false without an interval. */
bool rt_difference_is_apart(const rt_difference *d);

#endif
