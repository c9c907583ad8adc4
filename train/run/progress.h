#ifndef ROTOR_TRAIN_RUN_PROGRESS_H
#define ROTOR_TRAIN_RUN_PROGRESS_H

/* What a run says while it trains, on stderr: on a terminal one line that is updated in
 * place at most ten times a second; elsewhere a plain line of the first step that run.log_every
 * asks for, then of one such step a minute, and of the last. */

#include "train/step/trainer.h"

#include <stdbool.h>

typedef struct rt_progress {
    bool quiet;
    bool terminal;
    bool color;
    bool shown; /* a line stands on the terminal */
    int steps;  /* of the run */
    int log_every;
    int first_step; /* that this process takes; for the time left */
    double smooth_loss;
    double eval_accuracy; /* below 0: not evaluated yet */
    double start;         /* seconds, of a steady clock */
    double last_shown;
    long tokens; /* since start */
} rt_progress;

void rt_progress_begin(rt_progress *p, const rt_config *config, int finished_steps, bool quiet,
                       bool no_color);
void rt_progress_step(rt_progress *p, int step, const rt_step_result *result);
void rt_progress_evaluated(rt_progress *p, const rt_evaluation *evaluation);

/* How much of something is done that comes before the first step; at its end nothing stays. */
void rt_progress_share(rt_progress *p, const char *what, double share);

/* Prints a message on a line of its own; the progress goes on below it. */
void rt_progress_say(rt_progress *p, const char *format, ...) RT_PRINTF(2, 3);

/* Takes the line that is updated in place away. */
void rt_progress_clear(rt_progress *p);

/* Leaves the terminal at the start of a fresh line. */
void rt_progress_end(rt_progress *p);

#endif
