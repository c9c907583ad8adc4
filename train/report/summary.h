#ifndef ROTOR_TRAIN_REPORT_SUMMARY_H
#define ROTOR_TRAIN_REPORT_SUMMARY_H

/* A number over several runs. */
typedef struct rt_summary {
    int count;        /* of the runs that have it */
    double mean;      /* NaN if none has */
    double deviation; /* of a sample, sqrt(sum (x - mean)^2 / (count - 1)); NaN below two */
} rt_summary;

/* Of the values that are not NaN. */
rt_summary rt_summarise(const double *values, int count);

/* "0.0123 ± 0.0004 (2 of 3)" for two of three runs that have it, "0.0123" for a single run, "-"
 * for none. Returns the text. */
enum { RT_SUMMARY_SIZE = 128 };
const char *rt_summary_text(char text[RT_SUMMARY_SIZE], const rt_summary *s, int decimals,
                            int runs);

#endif
