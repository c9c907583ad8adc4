#ifndef ROTOR_TRAIN_RUN_OUTCOME_H
#define ROTOR_TRAIN_RUN_OUTCOME_H

/* The results of a trained model: evaluated, printed on stdout, recorded in the run folder. */

#include "data/labels.h"
#include "train/folder/results.h"
#include "train/step/scores.h"
#include "train/step/theta_reset.h"

/* Starts zeroed. */
typedef struct rt_outcome {
    rt_evaluation evaluation;       /* at the trained length */
    bool target_missed;             /* train.target_accuracy was not reached */
    bool theta_moved;               /* against theta.check = unmoved */
    bool theta_needed;              /* against theta.check = unneeded */
    bool stopped;                   /* a signal has stopped the measurements */
    rt_theta_tolerance *tolerances; /* or NULL */
    const rt_labels *labels;        /* of labelled data, which must stay open; or NULL */
    int64_t *confusion;             /* (classes, classes), as rt_trainer_confusion */
    rt_class_score *scores;         /* of each class */
    rt_results results;
} rt_outcome;

void rt_outcome_free(rt_outcome *o);

/* Evaluates at the trained length and at train.eval_lengths, and prints a line for each; for
 * labelled data also a table of the scores of the classes at the trained length. Returns
 * RT_NONFINITE if the loss is not finite. */
rt_status rt_outcome_evaluate(rt_outcome *o, const rt_config *config,
                              rt_trainer *trainer) RT_MUST_CHECK;

/* Evaluates, and prints the report on a learned theta: its distance from the start, the loss after
 * a reset, the tolerances. Measurements with another theta are not repeated if the run in `folder`,
 * which may be NULL, has ended at the same step: they are read from its files. */
rt_status rt_outcome_print(rt_outcome *o, const rt_config *config, rt_trainer *trainer,
                           const char *folder) RT_MUST_CHECK;

/* Writes result.csv with the exit code, and lengths.csv, classes.csv, confusion.csv and
 * theta_final.csv where there are such results. */
rt_status rt_outcome_record(rt_outcome *o, const rt_config *config, const rt_transformer *model,
                            const char *folder, int exit_code) RT_MUST_CHECK;

#endif
