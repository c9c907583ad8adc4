#ifndef ROTOR_TRAIN_THETA_REPORT_H
#define ROTOR_TRAIN_THETA_REPORT_H

/* How far a learned theta is from where it started. For pair i of a layer (and head):
 *
 *   drift   |theta / theta0 - 1|
 *   grid    |ln(theta / theta0)| / ((2/R) ln base), in distances to the next theta
 *   phase   |theta - theta0| (T - 1) in radians: what attention can feel
 *   used    share of the way that Adam could have gone at most, the sum of
 *           lr * theta.lr_scale over the steps
 *
 * theta0 is base^(-2i/R). The drift decides the verdict; the others inform.
 */

#include "models/roformer.h"
#include "train/config.h"

#include <stdio.h>

typedef struct rt_theta_worst {
    double value;
    int layer; /* -1: one theta for all layers */
    int head;  /* -1: one for all heads */
    int pair;
    double grid;
} rt_theta_worst;

typedef struct rt_theta_verdict {
    rt_theta_worst drift;
    rt_theta_worst phase;
    bool near;
} rt_theta_verdict;

rt_status rt_theta_judge(rt_theta_verdict *verdict, const rt_roformer *model,
                         const rt_config *config) RT_MUST_CHECK;

/* The table of all pairs after `steps` steps, and the verdict line. */
rt_status rt_theta_print(FILE *to, const rt_roformer *model, const rt_config *config,
                         int steps) RT_MUST_CHECK;

/* Calls back for every learned theta: layer and head as in rt_theta_worst. */
typedef void (*rt_theta_visitor)(void *context, int layer, int head, int pair, double theta,
                                 double initial);
rt_status rt_theta_visit(const rt_roformer *model, rt_theta_visitor visit,
                         void *context) RT_MUST_CHECK;

#endif
