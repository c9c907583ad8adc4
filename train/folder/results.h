#ifndef ROTOR_TRAIN_FOLDER_RESULTS_H
#define ROTOR_TRAIN_FOLDER_RESULTS_H

/* What a run came to: names with a number each, kept as result.csv in its folder, so that
 * runs can be compared without their logs. */

#include "core/status.h"

#include <stdbool.h>

enum { RT_MOST_RESULTS = 48, RT_RESULT_NAME_SIZE = 40 };

typedef struct rt_results {
    int count;
    struct {
        char name[RT_RESULT_NAME_SIZE];
        double value; /* may be NaN or infinite */
    } list[RT_MOST_RESULTS];
} rt_results;

void rt_results_put(rt_results *r, double value, const char *name_format, ...) RT_PRINTF(3, 4);

/* NaN if there is none of that name. */
double rt_results_get(const rt_results *r, const char *name);

rt_status rt_results_write(const rt_results *r, const char *folder) RT_MUST_CHECK;

/* False if the folder has no result.csv, or one that is not whole. */
bool rt_results_read(rt_results *r, const char *folder);

#endif
