#ifndef ROTOR_TRAIN_RUN_STATE_H
#define ROTOR_TRAIN_RUN_STATE_H

/* The state of a run, for training and for uses of a trained model, and functions that open, save
 * and load it. */

#include "data/labels.h"
#include "train/folder/run_folder.h"
#include "train/run/metrics.h"
#include "train/run/progress.h"
#include "train/run/trained_model.h"
#include "train/step/memory.h"

/* Counts the evaluation after a step. Returns whether it is the best regular one so far. */
bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss);

/* Returns whether train.patience has run out. */
bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o);

/* Stage of a run; from RT_STAGE_ALL_STEPS on it has ended. */
typedef enum rt_run_stage {
    RT_STAGE_TRAINING,  /* it has steps left */
    RT_STAGE_STOPPED,   /* a signal has stopped it before its end */
    RT_STAGE_ALL_STEPS, /* all steps are taken */
    RT_STAGE_TARGET,    /* train.target_accuracy is reached */
    RT_STAGE_PATIENCE   /* train.patience has run out */
} rt_run_stage;

/* A run: its configuration, data, model and files, and its progress. */
typedef struct rt_run {
    rt_config *config;
    const rt_arguments *arguments;
    rt_world *world; /* processes of a training; NULL: a single process */
    rt_run_folder folder;
    rt_data *data;
    rt_trained_model found;   /* model to load or to start from; its image is open until then */
    rt_data_of_model meaning; /* meaning of the ids of that model, borrowed from `found` */
    rt_memory_need memory;    /* set when the memory is checked */
    bool checks;              /* --check: nothing is created */
    rt_trainer *trainer;
    rt_training_state *state;
    rt_metrics metrics;
    rt_progress progress;
    rt_theta_change change; /* change of --theta */
    double *other_theta;    /* numbers of `change`, owned; or NULL */
    char *config_text;
    char *session; /* cells of timing.csv */
    rt_evaluations evaluations;
    bool branches;            /* the run begins as a branch of train.trunk */
    rt_branch_theta theta;    /* branch: origin of its theta */
    char trunk[RT_PATH_SIZE]; /* branch: folder of the trunk; "": unknown */
    rt_config *trunk_config;  /* branch: configuration of the trunk; or NULL */
    rt_config *before;        /* configuration that a resumed run had; or NULL */
    int extended;             /* step at which more steps were added to the run; 0: none were */
    int last_step;            /* step of the last model, once the best one replaces it; or 0 */
    bool broadcast_done;      /* rt_run_broadcast was called */
    bool unsaved;             /* the newest due checkpoint could not be written */
    rt_run_stage stage;
} rt_run;

/* Returns a run with nothing open. The configuration and the arguments are borrowed. */
rt_run rt_run_new(rt_config *config, const rt_arguments *arguments);
void rt_run_free(rt_run *r);

/* Prints a message on stderr, on its own line; rt_run_note omits it with --quiet. */
#define rt_run_say(r, ...)  rt_progress_say(&(r)->progress, __VA_ARGS__)
#define rt_run_note(r, ...) ((r)->arguments->quiet ? (void)0 : rt_run_say(r, __VA_ARGS__))

/* Opens the data, checks the memory, and creates the trainer. The vocabulary is that of r->found
 * or, without a model, of the data. With `own` (a checkpoint of this run, a trunk, a model in use)
 * labels are those of r->found, and vocabulary and labels must fit the data. The trainer starts
 * threads: files that need a child process must be read before. --check creates a trainer only if
 * the run starts from values of another model; otherwise the dry run returns the same errors. Uses
 * of a model that do not evaluate it read no data. */
rt_status rt_run_open(rt_run *r, bool own) RT_MUST_CHECK;

/* Finds data files that have gone since the run in `folder` read them, and prints where. */
void rt_run_find_data(rt_run *r, const char *folder);

/* Warns of words or characters that the vocabulary lacks; `text` names their text. */
void rt_run_report_unknown(rt_run *r, const rt_unknown *unknown, const char *text);

/* Warns of parts of a Hugging Face folder that rotor treats differently. */
void rt_run_warn_of_folder(rt_run *r);

/* Warns that the model has another theta than the one that the model of r->found has learned. */
void rt_run_warn_of_theta(rt_run *r);

/* Returns the parts of the run that a checkpoint holds. */
rt_checkpoint_model rt_run_checkpoint_model(const rt_run *r);

/* Saves a checkpoint of the current step. */
rt_status rt_run_save(rt_run *r) RT_MUST_CHECK;

/* Loads the model of r->found; a Hugging Face folder is at step 0. */
rt_status rt_run_load(rt_run *r) RT_MUST_CHECK;

/* Copies the step, the number of drawn sequences and the past schedules of r->found, and warns of
 * other kernels. If the run `continues` the training, also warns of another precision, and returns
 * RT_CHECKPOINT if the configuration draws other sequences. */
rt_status rt_run_take_history(rt_run *r, bool continues) RT_MUST_CHECK;

/* Returns the token that the tokenizer of a Hugging Face folder appends to a text; RT_NO_ID if
 * there is none. Texts that rotor trains on end without it. */
int32_t rt_run_last_token(const rt_run *r);

#endif
