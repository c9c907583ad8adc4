#ifndef ROTOR_TRAIN_RUN_PROGRESS_H
#define ROTOR_TRAIN_RUN_PROGRESS_H

/* Messages of a run on stderr. The progress of a training is on a terminal one line that is updated
 * in place at most ten times a second; elsewhere a plain line for the first step that run.log_every
 * asks for, then for one such step a minute, and for the last. */

#include "train/step/trainer.h"
#include "train/world/world.h"

#include <stdbool.h>

typedef struct rt_progress {
    bool quiet;
    bool terminal;
    bool color;
    bool shown; /* a line stands on the terminal */
    int steps;  /* of the run */
    int log_every;
    int first_step; /* first step of this process; for the time left */
    double smooth_loss;
    double eval_loss, eval_accuracy; /* of the newest evaluation; accuracy < 0: none yet */
    double start;                    /* seconds, of a steady clock */
    double last_shown;
    long tokens; /* since start */
} rt_progress;

void rt_progress_begin(rt_progress *p, const rt_config *config, int finished_steps, bool quiet,
                       bool no_color);
void rt_progress_step(rt_progress *p, int step, const rt_step_result *result);

/* Shows the finished share of a task before the first step; removes the line at the end of it. */
void rt_progress_share(rt_progress *p, const char *what, double share);

/* Prints a message on a line of its own; the progress goes on below it. */
void rt_progress_say(rt_progress *p, const char *format, ...) RT_PRINTF(2, 3);

/* Removes the line that is updated in place. */
void rt_progress_clear(rt_progress *p);

/* Leaves the terminal at the start of a fresh line. */
void rt_progress_end(rt_progress *p);

/* ---- steps at a learning rate of 0: they change nothing, but take time ---- */

/* Returns the first step after `step` from which the rate is 0 until the end of the run; 0 if there
 * is none, or if optimizer.lr = 0 asks for it. */
int rt_zero_rate_from(const rt_config *config, int step);

/* Warns of them, and names the remedy. `where` is a phrase such as "in 2 of 3 runs ", or "". */
void rt_zero_rate_warn(rt_progress *p, const rt_config *config, int from, const char *where);

/* ---- opening the data ---- */

/* Context of data that is being opened: messages, progress, and a check for signals. */
typedef struct rt_opening {
    rt_progress progress;
    bool first; /* process 0 of a world, or a process alone */
    rt_data_watch watch;
} rt_opening;

/* Completes the options of data that is to be opened: the number of threads, and the folder for
 * tokens of large texts, without data.cache rotor in $XDG_CACHE_HOME, or in .cache of $HOME; texts
 * of $ROTOR_CACHE_FROM bytes and more are put there (for tests). The options point to `opening`,
 * whose progress is to be cleared after that. `quiet`: only warnings are printed. */
void rt_opening_begin(rt_opening *opening, rt_data_options *o, const rt_config *config,
                      const rt_world *world, bool quiet);

#endif
