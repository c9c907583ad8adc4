#ifndef ROTOR_TRAIN_RUN_STATE_H
#define ROTOR_TRAIN_RUN_STATE_H

/* Private to train/run and train/commands.c: the state of a run, for training (run.c) and for uses
 * of a trained model (use.c), and functions that open, save and load it. */

#include "data/labels.h"
#include "train/folder/run_folder.h"
#include "train/run/metrics.h"
#include "train/run/progress.h"
#include "train/run/run.h"
#include "train/step/measurements.h"
#include "train/step/memory.h"

/* Counts the evaluation after a step. Returns whether it is the best regular one so far. */
bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss);

/* Returns whether train.patience has run out. */
bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o);

/* Reason why a run has ended. */
typedef enum rt_run_end {
    RT_END_NONE,    /* it has steps left */
    RT_END_STEPS,   /* all steps are taken */
    RT_END_TARGET,  /* train.target_accuracy is reached */
    RT_END_PATIENCE /* train.patience has run out */
} rt_run_end;

/* A run: its configuration, data, model and files, and its progress. */
typedef struct rt_run {
    rt_config *config;
    const rt_arguments *arguments;
    rt_world *world; /* processes of a training; NULL: a single process */
    rt_run_folder folder;
    rt_data *data;
    rt_found found;           /* model to load or to start from; its image is open until then */
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
    rt_config *before;        /* configuration that a resumed run had; or NULL */
    int extended;             /* step at which more steps were added to the run; 0: none were */
    int last_step;            /* step of the last model, once the best one replaces it; or 0 */
    bool broadcast_done;      /* rt_run_broadcast was called */
    bool unsaved;             /* the newest due checkpoint could not be written */
    bool stopping;            /* a signal has requested a stop */
    rt_run_end end;           /* reason why the run has ended; RT_END_NONE: it has not */
    bool ended_before;        /* the run had ended before it was opened */
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

/* Returns the parts of the run that a checkpoint holds. */
rt_checkpoint_model rt_run_checkpoint_model(const rt_run *r);

/* Saves a checkpoint of the current step. */
rt_status rt_run_save(rt_run *r) RT_MUST_CHECK;

/* Loads the model of r->found. */
rt_status rt_run_load(rt_run *r) RT_MUST_CHECK;

/* Copies the step, the number of drawn sequences and the past schedules of r->found, and warns of
 * other kernels. If the run `continues` the training, also warns of another precision, and returns
 * RT_CHECKPOINT if the configuration draws other sequences. */
rt_status rt_run_take_history(rt_run *r, bool continues) RT_MUST_CHECK;

/* Opens the run and its folder: afresh, as a branch or from its checkpoint. Returns every error
 * that is possible before the first step. */
rt_status rt_run_begin(rt_run *r) RT_MUST_CHECK;

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

/* Evaluates, and prints the report on a learned theta: its drift, the loss after a reset, the
 * tolerances. If the run had ended before it was opened, measurements with another theta are read
 * from its files instead of repeated. */
rt_status rt_outcome_print(rt_outcome *o, rt_run *r) RT_MUST_CHECK;

/* Writes result.csv with the exit code and, if there are such results, lengths.csv, classes.csv,
 * confusion.csv, distances.csv and theta_final.csv. */
rt_status rt_outcome_record(rt_outcome *o, const rt_run *r, rt_exit code) RT_MUST_CHECK;

/* Reads columns layer, head, i and theta of a CSV file, such as theta.csv or theta_final.csv of a
 * run, into `theta`, laid out as rt_transformer_theta, in radians per position. `all` as layer or
 * head stands for every one. If there is a column `step`, only rows of its last step are read.
 * Lines with another number of cells than the heading are skipped.
 *
 * Returns RT_CONFIG if the model learns no theta, if the file cannot be read, or if its rows do not
 * give every theta of the model exactly once. */
rt_status rt_theta_file_read(const char *path, const rt_transformer *model,
                             double *theta) RT_MUST_CHECK;

/* Overrides the effective theta of the model, after context scaling, learned or fixed, by --theta:
 * start, base, off:K, off:Xturns, scale:X, or the path of a CSV file with any finite theta per
 * layer and key head. Prints a line on the result. Returns RT_CONFIG if the model has no theta or
 * no such pair, or if the file does not fit the model. */
rt_status rt_run_change_theta(rt_run *r) RT_MUST_CHECK;

/* Prints the table of --usage or --distances. Returns RT_CONFIG, with the reason, if the model has
 * no such pairs or weights. */
rt_status rt_run_print_instrument(rt_run *r) RT_MUST_CHECK;

/* Writes usage.csv, if the model has rope and softmax attention, and cutoffs.csv, with
 * theta.cutoffs, into the folder of a run that has ended. Sets *stopped if a signal requested a
 * stop between two evaluations. For a single process. */
rt_status rt_run_record_instruments(rt_run *r, bool *stopped) RT_MUST_CHECK;

/* Returns the token that the tokenizer of a Hugging Face folder appends to a text; RT_NO_ID if
 * there is none. Texts that rotor trains on end without it. */
int32_t rt_run_last_token(const rt_run *r);

/* Prints, for --embed, a vector for each line below a heading v0, v1, ..., or writes all vectors as
 * the dataset /embeddings of --output or as .npy. Warns of truncated lines.
 *
 * Returns RT_DATA for a line that cannot be read or has no token, and for a file without a line;
 * RT_CONFIG for a layer that the model does not have, and for data without texts. */
rt_status rt_run_embed(rt_run *r) RT_MUST_CHECK;

/* Prints, for --eval --per-line, the loss of each line of the evaluation data in nats, as CSV.
 *
 *     labelled data   line,loss,label,predicted: of each text of the task classify, of each token
 *                     of the task tag
 *     text            line,loss,tokens: of each line of data.eval_file as a text of its own, the
 *                     mean loss of its tokens and their number. With data.objective = lm each token
 *                     is predicted from those before it, with mlm from all others, by masking one
 *                     after the other (the pseudo-log-likelihood of Salazar et al. 2020). A line
 *                     without tokens has no loss. The tokens that begin and end a text are input,
 *                     but have no loss.
 *
 * Warns of truncated lines. Returns RT_CONFIG for a text without data.eval_file or with several,
 * and for data that has no lines; RT_DATA for a line that is not text. */
rt_status rt_run_per_line(rt_run *r) RT_MUST_CHECK;

/* Broadcasts the text of process 0, which may be NULL; the others own their copies. */
rt_status rt_world_broadcast_text(rt_world *world, char **text) RT_MUST_CHECK;

/* Broadcasts, in process 0, the vocabulary and labels of the data, or `status` if the data could
 * not be opened. Returns the error of any process. Must be called exactly once. */
rt_status rt_run_broadcast(rt_run *r, rt_status status) RT_MUST_CHECK;

/* Opens, in the other processes, the data of process 0, and serves its trainer until the run ends.
 * Process 0 alone reports errors and returns an exit code. */
void rt_run_serve(rt_run *r);

#endif
