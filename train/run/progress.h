#ifndef ROTOR_TRAIN_RUN_PROGRESS_H
#define ROTOR_TRAIN_RUN_PROGRESS_H

/* Messages of a run on stderr. On a terminal the progress of a training is one line that is updated
 * in place, at most ten times a second. Elsewhere it is a line for the first logged step
 * (run.log_every), then for one logged step a minute, and for the last step. */

#include "train/step/trainer.h"
#include "train/world/world.h"

#include <stdbool.h>

typedef struct rt_progress {
    bool quiet;
    bool terminal;
    bool color;
    bool shown; /* the terminal shows a line */
    int steps;  /* steps of the run */
    int log_every;
    int first_step; /* first step of this process; for the time left */
    double smooth_loss;
    double eval_loss, eval_accuracy; /* newest evaluation; accuracy < 0: none yet */
    double start;                    /* start of the clock, in seconds (rt_seconds) */
    double last_shown;
    long tokens; /* tokens since start */
} rt_progress;

void rt_progress_begin(rt_progress *p, const rt_config *config, int finished_steps, bool quiet,
                       bool no_color);
void rt_progress_step(rt_progress *p, int step, const rt_step_result *result);

/* Shows the finished share of a task, 0 to 1, before the first step; at 1 removes the line. */
void rt_progress_share(rt_progress *p, const char *what, double share);

/* Prints a message on a line of its own, above the progress. */
void rt_progress_say(rt_progress *p, const char *format, ...) RT_PRINTF(2, 3);

/* Removes the line of the progress. */
void rt_progress_clear(rt_progress *p);

/* Ends the line of the progress, so that the terminal is at the start of a new line. */
void rt_progress_end(rt_progress *p);

/* Returns the first step after `step` from which the learning rate is 0, so that steps change
 * nothing, until the end of the run; 0 if there is none, or if optimizer.lr = 0. */
int rt_zero_rate_from(const rt_config *config, int step);

/* Warns of steps at a learning rate of 0, and names the remedy. `where` may be a phrase, such as
 * "in 2 of 3 runs ". */
void rt_zero_rate_warn(rt_progress *p, const rt_config *config, int from, const char *where);

/* Context of opening data: messages, progress, and a check for signals. */
typedef struct rt_opening {
    rt_progress progress;
    bool first; /* process 0 of a world, or a single process */
    rt_data_watch watch;
} rt_opening;

/* Completes the options of data to be opened: the number of threads and, without data.cache, the
 * cache folder for tokens of large texts, rotor in $XDG_CACHE_HOME or in $HOME/.cache. For tests,
 * texts of at least $ROTOR_CACHE_FROM bytes are cached. The options borrow `opening`; the caller
 * clears its progress after opening the data. `quiet`: only warnings are printed. */
void rt_opening_begin(rt_opening *opening, rt_data_options *o, const rt_config *config,
                      const rt_world *world, bool quiet);

#endif
