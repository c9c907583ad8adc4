#ifndef ROTOR_TRAIN_RUN_STATE_H
#define ROTOR_TRAIN_RUN_STATE_H

/* Private to train/run and train/commands.c: the state of a run, which a training (run.c) and the
 * use of a trained model (use.c) share, and the functions that open, save and load it. */

#include "data/labels.h"
#include "text/writer.h"
#include "train/folder/run_folder.h"
#include "train/run/metrics.h"
#include "train/run/progress.h"
#include "train/run/run.h"
#include "train/step/measurements.h"
#include "train/step/memory.h"

/* ---- the evaluations of a run ---- */

/* Counts the evaluation after a step. Returns whether it is better than all regular ones before. */
bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss);

/* Returns whether train.patience has run out. */
bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o);

/* A run: its configuration, data, model and files, and its progress. */
typedef struct rt_run {
    rt_config *config;
    const rt_arguments *arguments;
    rt_world *world; /* of a training; NULL: this process alone */
    rt_run_folder folder;
    rt_vocabulary *vocabulary; /* of the checkpoint that the run resumes or starts from; or NULL */
    rt_labels *labels;         /* likewise */
    rt_data *data;
    rt_found found;        /* model to load or to start from; its image until that is done */
    int words, types;      /* rows of its tables of embeddings */
    rt_memory_need memory; /* set when the memory is checked */
    bool checks;           /* --check: nothing is created */
    rt_trainer *trainer;
    rt_training_state *state;
    rt_metrics metrics;
    rt_progress progress;
    rt_theta_change change; /* of --theta */
    double *other_theta;    /* numbers of `change`; or NULL */
    char *config_text;
    char *session; /* cells of timing.csv */
    rt_evaluations evaluations;
    bool branches;            /* begins as a branch of train.trunk */
    rt_branch_theta theta;    /* of a branch: origin of its theta */
    char trunk[RT_PATH_SIZE]; /* of a branch: folder of the trunk; "": not known */
    rt_config *before;        /* configuration that a resumed run had; or NULL */
    int extended;             /* step at which the run is extended to more steps; 0: it is not */
    int last_step;            /* step of the last model, once another is in its place; or 0 */
    bool reached_target;      /* finished because of train.target_accuracy */
    bool broadcast_done;      /* rt_run_broadcast was called */
    bool unsaved;             /* the newest checkpoint that was due could not be written */
    bool stopping;            /* a signal has requested a stop */
    bool finished;            /* all steps are taken, or the run has ended early */
    bool stopped_early;       /* finished because train.patience has run out */
    bool ended_before;        /* finished when the run was opened */
} rt_run;

/* Returns a run that has opened nothing yet. Borrows the configuration and the arguments. */
rt_run rt_run_new(rt_config *config, const rt_arguments *arguments);
void rt_run_free(rt_run *r);

/* Print a message on stderr, on a line of its own; a note is omitted with --quiet. */
#define rt_run_say(r, ...)  rt_progress_say(&(r)->progress, __VA_ARGS__)
#define rt_run_note(r, ...) ((r)->arguments->quiet ? (void)0 : rt_run_say(r, __VA_ARGS__))

/* Prints the text of a writer on stdout, and empties the writer. */
rt_status rt_run_print(rt_writer *w) RT_MUST_CHECK;

/* Opens the data, checks the memory, and creates the trainer. Texts are read with the vocabulary of
 * r->found, without a model with their own. With `own` (a checkpoint of this run, a trunk, the
 * model in use) labels are read with its classes, and both must fit the data. The trainer has
 * threads: files that a child process parses must be read before. A check creates a trainer only if
 * the run starts from values of another model: otherwise the dry run returns the same errors. Uses
 * of a model that do not evaluate it read no data of the configuration. */
rt_status rt_run_open(rt_run *r, bool own) RT_MUST_CHECK;

/* Warns of words or characters that the vocabulary lacks; `text` names the text. */
void rt_run_report_unknown(rt_run *r, const rt_unknown *unknown, const char *text);

/* Prints the warnings of the folder of Hugging Face: parts of it that rotor treats differently. */
void rt_run_warn_of_folder(rt_run *r);

/* Returns the parts of the run that a checkpoint holds. */
rt_checkpoint_model rt_run_checkpoint_model(const rt_run *r);

/* Saves a checkpoint of the current step. */
rt_status rt_run_save(rt_run *r) RT_MUST_CHECK;

/* Loads the model of r->found. */
rt_status rt_run_load(rt_run *r) RT_MUST_CHECK;

/* Takes over the step, the number of drawn sequences and the past schedules of r->found, and warns
 * of other kernels. If the run `continues` the training, also warns of another precision, and
 * returns RT_CHECKPOINT if the configuration draws other sequences. */
rt_status rt_run_take_history(rt_run *r, const rt_checkpoint_info *info,
                              bool continues) RT_MUST_CHECK;

/* ---- the beginning of a run ---- */

/* Opens a run afresh, as a branch or from its checkpoint, and its folder. Returns every error that
 * is possible before the first step. */
rt_status rt_run_begin(rt_run *r) RT_MUST_CHECK;

/* Opens the tables of r->metrics. A run that is resumed warns if the files of data are not those in
 * timing.csv, with size and XXH128 of both, and of tables that lack rows of earlier steps. */
rt_status rt_run_open_tables(rt_run *r) RT_MUST_CHECK;

/* Warns of changed data only, for a run that has ended and is evaluated again. */
void rt_run_compare_data(rt_run *r);

/* ---- the outcome: results of a trained model ---- */

/* Results of a trained model. Starts zeroed. */
typedef struct rt_outcome {
    rt_evaluation evaluation;       /* at the trained length */
    bool target_missed;             /* train.target_accuracy was not reached */
    bool theta_moved;               /* theta.check = unmoved has failed */
    bool theta_needed;              /* theta.check = unneeded has failed */
    bool stopped;                   /* a signal has stopped the measurements */
    rt_theta_tolerance *tolerances; /* or NULL */
    const rt_labels *labels;        /* of labelled data, which must stay open; or NULL */
    int64_t *confusion;             /* (classes, classes), as rt_trainer_evaluate */
    rt_class_score *scores;         /* of each class */
    rt_results results;
} rt_outcome;

void rt_outcome_free(rt_outcome *o);

/* Evaluates at the trained length; counts the confusion of the classes unless that is NULL. Returns
 * RT_NONFINITE if the loss is not finite. */
rt_status rt_run_evaluate(const rt_run *r, rt_evaluation *evaluation,
                          int64_t *confusion) RT_MUST_CHECK;

/* Evaluates at the trained length and at train.eval_lengths, and prints a line for each; for
 * labelled data also a table of the scores of the classes at the trained length. Returns
 * RT_NONFINITE if the loss is not finite. */
rt_status rt_outcome_evaluate(rt_outcome *o, const rt_run *r) RT_MUST_CHECK;

/* Evaluates, and prints the report on a learned theta: its distance from the start, the loss after
 * a reset, the tolerances. Measurements with another theta are not repeated if the run had ended
 * before it was opened: they are read from its files. */
rt_status rt_outcome_print(rt_outcome *o, rt_run *r) RT_MUST_CHECK;

/* Writes result.csv with the exit code, and lengths.csv, classes.csv, confusion.csv and
 * theta_final.csv where there are such results. */
rt_status rt_outcome_record(rt_outcome *o, const rt_run *r, rt_exit code) RT_MUST_CHECK;

/* ---- instruments, and another theta ---- */

/* Reads columns layer, head, i and theta of a CSV file, such as theta.csv and theta_final.csv of a
 * run, into `theta`, laid out as rt_transformer_theta, in radians per position. `all` as layer or
 * head stands for every one. With a column `step`, the rows of the last step are read. Lines with
 * another number of cells than the heading are skipped.
 *
 * Returns RT_CONFIG if the model learns no theta, if the file cannot be read, and if its rows do
 * not give every theta of the model once. */
rt_status rt_theta_file_read(const char *path, const rt_transformer *model,
                             double *theta) RT_MUST_CHECK;

/* Overrides the effective theta of the model, after context scaling, learned or fixed, by --theta:
 * start, base, off:K, off:Xturns, scale:X, or the path of a CSV file with any finite theta, whose
 * heads are those of keys. Prints a line on the result. Returns RT_CONFIG if the model has no theta
 * or no such pair, or if the file does not fit the model. */
rt_status rt_run_change_theta(rt_run *r) RT_MUST_CHECK;

/* Prints the table of --usage or --distances. Returns RT_CONFIG, with the reason, if the model has
 * no such pairs or weights. */
rt_status rt_run_print_instrument(rt_run *r) RT_MUST_CHECK;

/* Writes usage.csv, for a model with rope and softmax attention, and cutoffs.csv, with
 * theta.cutoffs, into the folder of a run that has ended. Sets *stopped if a signal requested a
 * stop between two evaluations. For a single process. */
rt_status rt_run_record_instruments(rt_run *r, bool *stopped) RT_MUST_CHECK;

/* ---- uses of a trained model that read lines ---- */

/* Returns the token that the tokenizer of a folder of Hugging Face appends to a text, RT_NO_ID if
 * there is none: rotor itself trains on texts without it. */
int32_t rt_run_last_token(const rt_run *r);

/* --embed: prints a row for each line below a heading v0, v1, ..., or writes the dataset
 * /embeddings of --output, after all lines have been read. Warns of lines that are cut.
 *
 * Returns RT_DATA for a line that cannot be read or has no token, and for a file without a line;
 * RT_CONFIG for a layer that the model does not have, and for data without texts. */
rt_status rt_run_embed(rt_run *r) RT_MUST_CHECK;

/* --eval --per-line: prints the loss of each line of the evaluation data as a table in CSV. Losses
 * are in nats.
 *
 *     labelled data   line,loss,label,predicted: of each text of the task classify, of each token
 *                     of the task tag
 *     text            line,loss,tokens: of each line of data.eval_file as a text of its own, the
 *                     mean loss of its tokens and their number. With data.objective = lm each token
 *                     is predicted from those before it, with mlm from all others, by hiding one
 *                     after the other (the pseudo-log-likelihood of Salazar et al. 2020). A line
 *                     without tokens has no loss. The tokens that begin and end a text are seen,
 *                     but have no loss.
 *
 * Warns of lines that are cut. Returns RT_CONFIG for a text without data.eval_file or with several,
 * and for data that has no lines; RT_DATA for a line that is no text. */
rt_status rt_run_per_line(rt_run *r) RT_MUST_CHECK;

/* ---- a world of processes ---- */

/* Broadcasts the text of process 0, which may be NULL; the others free their copies. */
rt_status rt_pass_text(rt_world *world, char **text) RT_MUST_CHECK;

/* Process 0: broadcasts the tokens and labels of the data, or the `status` if the data could not be
 * opened. Returns the error of any process. Must be called once in any case. */
rt_status rt_run_broadcast(rt_run *r, rt_status status) RT_MUST_CHECK;

/* Other processes: open the data of process 0, and serve its trainer until the run ends. Process 0
 * alone reports errors and returns an exit code. */
void rt_run_assist(rt_run *r);

#endif
