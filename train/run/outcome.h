#ifndef ROTOR_TRAIN_RUN_OUTCOME_H
#define ROTOR_TRAIN_RUN_OUTCOME_H

/* What a model has come to: evaluated, printed on stdout, recorded. */

#include "train/folder/results.h"
#include "train/run/class_outcome.h"
#include "train/step/theta_reset.h"

typedef struct rt_outcome {
    rt_evaluation evaluation;       /* at the trained length */
    bool target_missed;             /* train.target_accuracy */
    bool theta_moved;               /* although theta.check is unmoved */
    bool stopped;                   /* a signal has asked for it before all was found */
    bool theta_needed;              /* although theta.check is unneeded */
    rt_theta_tolerance *tolerances; /* or NULL */
    rt_class_outcome classes;       /* of labelled data */
    rt_results results;
} rt_outcome;

void rt_outcome_free(rt_outcome *o);

/* Evaluates at the trained length and at train.eval_lengths, and prints a line for each; of
 * labelled data also how well each class is told from the others, at the trained length.
 * RT_NONFINITE if the loss is not finite. */
rt_status rt_outcome_evaluate(rt_outcome *o, const rt_config *config,
                              rt_trainer *trainer) RT_MUST_CHECK;

/* The same, and then the report on a learned theta, and what resetting it costs. What takes
 * evaluations with another theta is not done again for a run that has ended with the same step in
 * `folder`, which may be NULL: its files tell. */
rt_status rt_outcome_print(rt_outcome *o, const rt_config *config, rt_trainer *trainer,
                           const char *folder) RT_MUST_CHECK;

/* Adds to the results what the metrics of the run in that folder show, and the exit code, and
 * writes result.csv, and lengths.csv, classes.csv, confusion.csv and theta_final.csv if there is
 * something to tell. */
rt_status rt_outcome_record(rt_outcome *o, const rt_config *config, const rt_transformer *model,
                            const char *folder, int exit_code) RT_MUST_CHECK;

#endif
