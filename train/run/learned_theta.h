#ifndef ROTOR_TRAIN_RUN_LEARNED_THETA_H
#define ROTOR_TRAIN_RUN_LEARNED_THETA_H

/* The table of a learned theta, as it is printed and as theta_final.csv. */

#include "train/report/verdict.h"

#include <stdio.h>

/* Prints the table of all pairs after `steps` steps, and the verdict. `tolerances` are laid out as
 * rt_transformer_theta; NULL if they were not measured. */
rt_status rt_theta_print(FILE *to, const rt_transformer *model, const rt_config *config, int steps,
                         const rt_theta_tolerance *tolerances) RT_MUST_CHECK;

/* Returns the table as a new CSV text; NULL if the heap is exhausted. Its column drift is relative
 * to base^(-2i/R), drift_from_start to theta0. */
char *rt_theta_csv(const rt_transformer *model, const rt_config *config,
                   const rt_theta_tolerance *tolerances);

#endif
