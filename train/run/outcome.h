#ifndef ROTOR_TRAIN_RUN_OUTCOME_H
#define ROTOR_TRAIN_RUN_OUTCOME_H

/* The outcome of a run: evaluations, lines on stdout, and records in the folder of the run. */

#include "train/folder/results.h"
#include "train/run/state.h"
#include "train/step/measurements.h"

/* Results of a trained model; zeroed at the start. */
typedef struct rt_outcome {
    rt_evaluation evaluation;       /* evaluation at the trained length */
    bool target_missed;             /* train.target_accuracy was not reached */
    bool theta_moved;               /* theta.check = unmoved failed */
    bool theta_needed;              /* theta.check = unneeded failed */
    bool stopped;                   /* a signal stopped the measurements */
    rt_theta_tolerance *tolerances; /* tolerances of theta; or NULL */
    const rt_labels *labels;        /* labels of the data, borrowed; or NULL */
    int64_t *tallies;               /* tally of rt_trainer_evaluate at the trained length, then at
                                       each of train.eval_lengths; or NULL */
    rt_class_score *scores;         /* (classes); or NULL */
    rt_results results;
} rt_outcome;

void rt_outcome_free(rt_outcome *o);

/* Evaluates at the trained length, and fills `tally` unless it is NULL. Returns RT_NONFINITE if the
 * loss is not finite. */
rt_status rt_run_evaluate(const rt_run *r, rt_evaluation *evaluation, int64_t *tally) RT_MUST_CHECK;

/* Evaluates at the trained length and at train.eval_lengths, and prints a line for each; for
 * labelled data also a table of the scores of classes at the trained length. Returns RT_NONFINITE
 * if the loss at the trained length is not finite. */
rt_status rt_outcome_evaluate(rt_outcome *o, const rt_run *r) RT_MUST_CHECK;

/* Evaluates, and prints the report on a learned theta: its changes, the loss after a reset, the
 * tolerances. If the run had `ended_before` it was opened, measurements with another theta are read
 * from its files instead of repeated. */
rt_status rt_outcome_print(rt_outcome *o, rt_run *r, bool ended_before) RT_MUST_CHECK;

/* Writes result.csv with the exit code and, if there are such results, lengths.csv, classes.csv,
 * confusion.csv, distances.csv and theta_final.csv. */
rt_status rt_outcome_record(rt_outcome *o, const rt_run *r, rt_exit code) RT_MUST_CHECK;

#endif
