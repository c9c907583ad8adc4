#ifndef ROTOR_TRAIN_RUN_STATE_H
#define ROTOR_TRAIN_RUN_STATE_H

/* What run.c, a training, and use.c, the use of a trained model, share: the things that a run
 * consists of, and how they are opened, saved and loaded. */

#include "io/checkpoint/checkpoint.h"
#include "io/huggingface/imported.h"
#include "train/folder/run_folder.h"
#include "train/run/arguments.h"
#include "train/run/metrics.h"
#include "train/run/progress.h"
#include "train/run/run.h"
#include "train/step/memory_estimate.h"

/* Summary of the evaluations of a run: the best one, and how many in a row brought no improvement.
 *
 * Regular evaluations are those every train.eval_every steps. One at the last step alone counts as
 * the best if it is, but nothing else follows from it: a run that is extended is as one that was
 * to take all the steps from the start. */
typedef struct rt_evaluations {
    double loss;      /* at the current step; infinite: it was not evaluated */
    double best_loss; /* of regular evaluations; infinite: there was none */
    int best_step;
    double reference; /* the next loss must be lower by at least train.min_delta */
    int stalled;      /* regular evaluations since the one with the reference loss */
} rt_evaluations;

/* Returns the summary of a run that has not begun. */
rt_evaluations rt_evaluations_none(void);

/* Counts the evaluation after a step. Returns whether it is better than all regular ones before. */
bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss);

/* Returns whether train.patience has run out. */
bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o);

/* Writes the summary to a checkpoint; reads it from one. */
void rt_evaluations_put(const rt_evaluations *e, rt_checkpoint_info *info);
rt_evaluations rt_evaluations_of(const rt_checkpoint_info *info);

/* A run: its configuration, data, model, files, and where it stands. */
typedef struct rt_run {
    rt_config *config;
    const rt_arguments *arguments;
    rt_world *world; /* of a training; NULL: this process alone */
    rt_run_folder folder;
    rt_vocabulary *vocabulary; /* of the checkpoint that it goes on or starts from; or NULL */
    rt_labels *labels;         /* likewise */
    rt_data *data;
    rt_image *image;       /* the checkpoint to load or to start from, until that is done */
    rt_imported *imported; /* likewise, of Hugging Face */
    int words, types;      /* rows of the tables that it has */
    rt_memory_need memory; /* what it takes, once it is known that there is as much */
    bool checks;           /* whether it could be taken, and no more */
    rt_trainer *trainer;
    rt_training_state *state;
    rt_metrics metrics;
    rt_progress progress;
    char *config_text;
    char *session; /* cells of timing.csv */
    rt_evaluations evaluations;
    bool branches;            /* from train.trunk, and has taken no step of its own */
    rt_branch_theta theta;    /* what has become of the trunk's, then */
    char trunk[RT_PATH_SIZE]; /* the folder of the trunk's run, then; "": not known */
    rt_config *before;        /* configuration that a resumed run had; or NULL */
    int extended;             /* step at which the run is extended to more steps; 0: it is not */
    bool broadcast_done;      /* the other processes know whether the run has been opened */
    bool unsaved;             /* the newest checkpoint that was due could not be written */
    bool stopping;            /* a signal has asked for it */
    bool finished;            /* all steps are taken, or the run has ended early */
    bool stopped_early;       /* finished because train.patience has run out */
    bool ended_before;        /* it was so when the run was opened */
} rt_run;

/* Nothing is open yet; the configuration and the arguments are kept, not copied. */
rt_run rt_run_new(rt_config *config, const rt_arguments *arguments);
void rt_run_free(rt_run *r);

/* Opens the data and makes the trainer, after asking whether they fit. A text is read with the
 * vocabulary, and labels with the classes, of the checkpoint that is to be loaded or, if that is
 * NULL, of train.init_from; it has its own if there is none of both. The trainer has threads: what
 * is to be parsed in a child process must be there before. A check makes a trainer only if it takes
 * values from elsewhere: the dry run has refused what a trainer would. */
rt_status rt_run_open(rt_run *r, const char *checkpoint) RT_MUST_CHECK;

/* The same for a model that is only used, without its data. */
rt_status rt_run_open_model(rt_run *r) RT_MUST_CHECK;

/* The same for a run that starts afresh, which takes the parameters of train.init_from and the
 * theta of theta.init_from if those are set. All that decides whether a configuration can be
 * trained, but for what the run folder holds, is decided here. */
rt_status rt_run_prepare(rt_run *r) RT_MUST_CHECK;

/* Warns of what a text cannot be read as, since the vocabulary lacks it; `text` says which one. */
void rt_run_report_unknown(rt_run *r, const rt_unknown *unknown, const char *text);

/* Says what a folder of Hugging Face is taken for that is not quite so. */
void rt_run_warn_of_folder(rt_run *r);

/* Says how many evaluations theta.tolerances asks for, which can take long; nothing if it
 * is known from before. */
void rt_run_announce_tolerances(rt_run *r);

/* What a checkpoint holds of the run: its blocks and what they mean. */
rt_checkpoint_model rt_run_checkpoint_model(const rt_run *r);

/* Saves where the run stands; loads its image, the checkpoint at `path`. */
rt_status rt_run_save(rt_run *r) RT_MUST_CHECK;
rt_status rt_run_load(rt_run *r, const char *path) RT_MUST_CHECK;

/* Stands where the checkpoint at `path` does: its step, the sequences that were drawn, its past
 * schedules. Who continues its training is refused if the configuration has drawn others. */
rt_status rt_run_take_history(rt_run *r, const rt_checkpoint_info *info, bool continues,
                              const char *path) RT_MUST_CHECK;

/* --export: writes the model of a run that was opened from `checkpoint` into arguments->export, and
 * prints the path. Returns RT_CONFIG and RT_IO as rt_huggingface_write and rt_gguf_write do. */
rt_status rt_run_export(const rt_run *r, const char *checkpoint) RT_MUST_CHECK;

/* ---- the beginning of a run ---- */

/* Checks whether the run that left this checkpoint can be resumed with the present configuration:
 * only some keys may change. Returns RT_CONFIG with a list of the differences. Closes found->image.
 */
rt_status rt_run_compare(rt_run *r, rt_checkpoint_found *found) RT_MUST_CHECK;

/* Loads the newest checkpoint, and reports the changes of an extension. To be called under the lock
 * of the folder: there may be a newer checkpoint than before. */
rt_status rt_run_resume(rt_run *r) RT_MUST_CHECK;

/* Opens the tables of r->metrics. A run that is resumed warns if the files of data are not those in
 * timing.csv, with size and XXH128 of both, and of tables that lack rows of earlier steps. */
rt_status rt_run_open_tables(rt_run *r) RT_MUST_CHECK;

/* Warns of changed data only, for a run that has nothing left to train and is evaluated. */
void rt_run_compare_data(rt_run *r);

/* ---- the end of a run ---- */

/* Evaluates the model; *best tells whether no regular evaluation before was as good. Returns
 * RT_NONFINITE if the loss is not finite. */
rt_status rt_run_evaluate(rt_run *r, rt_evaluation *evaluation, bool *best) RT_MUST_CHECK;

/* Sets r->finished and r->stopped_early after a step. `evaluation` is NULL if there was none. */
void rt_run_look_for_end(rt_run *r, const rt_evaluation *evaluation);

/* Sets r->finished and r->stopped_early for a run that was opened, and reports an end. */
rt_status rt_run_look_whether_ended(rt_run *r) RT_MUST_CHECK;

/* ---- a world of processes ---- */

/* Sends the text of process 0, which may be NULL, to all others, which free it. */
rt_status rt_pass_text(rt_world *world, char **text) RT_MUST_CHECK;

/* Process 0: sends the meaning of the data to the others, or the `status` if the data could not be
 * opened. Returns an error of any process. To be called once in any case. */
rt_status rt_run_broadcast(rt_run *r, rt_status status) RT_MUST_CHECK;

/* Other processes: take part in the run until process 0 is done. Process 0 alone reports errors and
 * returns an exit code. */
void rt_run_assist(rt_run *r);

#endif
