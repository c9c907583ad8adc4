#ifndef ROTOR_IO_CHECKPOINT_CHECKPOINT_H
#define ROTOR_IO_CHECKPOINT_CHECKPOINT_H

/* A checkpoint: one HDF5 file (io/checkpoint/image.h) from which a training continues with
 * bitwise identical results. It has no state of a random generator: every random number is a
 * function of the seed and the step.
 *
 *   /                          attributes format "rotor", version, step, precision, blas, seed,
 *                              best_eval_loss, best_eval_step, patience_loss, patience_count,
 *                              eval_loss (if this step was evaluated)
 *   /vocabulary                text: the bytes of vocab.txt or tokenizer.json
 *                              (data/tokenizers/vocabulary.h). Attributes: level, the kind of
 *                              token; lowercase, if set; for a tokenizer.json the ids pad, cls,
 *                              mask, sep (-1: none); ends, the ids that end a text, separated by
 *                              spaces
 *   /labels                    labelled data: names of the classes, one per line (data/labels.h)
 *   /config                    the configuration, an INI text
 *   /past_schedules            CSV table of the earlier schedules of a run that was extended with
 *                              another schedule (train/config/config.h)
 *   /joined                    in a run that continues another one (rt_checkpoint_branch):
 *                              parameters not taken from that one, one per line: name, space,
 *                              step at which the parameter joined the training
 *   /model/a/b/c               parameter a.b.c. The attributes of /model are the keys of the
 *                              model (models/keys.h)
 *   /SECTION/NAME              a key whose value is a non-empty list, as text; a list of one
 *                              word per layer is at /layers/SECTION.NAME
 *   /theta_start               learned theta: its initial value, in radians per position, in the
 *                              layout of rt_transformer_theta_shape
 *   /optimizer                 attribute schedule_steps
 *   /optimizer/first_moment/a/b/c, ...
 *                              optimizer states of the parameters that have them, named by the
 *                              update rule (optim/rules.h)
 *   /random                    attribute generator: "philox4x32-10"
 *   /data                      attributes position and the keys of [data] that are not texts;
 *                              a range A..B of lengths: data.length is B, data.length.least A
 *
 * This is version 3; other versions are refused.
 *
 * Parameters and states are stored in the precision of the build that saves and converted to that
 * of the build that loads; theta_start is always double. Errors in the content are RT_CHECKPOINT
 * and begin with the file's name without its folder. A file that cannot be opened or read is
 * RT_CHECKPOINT as well.
 *
 * Opening a checkpoint reads the whole file into memory, verifies it and parses all but the
 * parameters and states; loading then fills a model from that memory. A branch is a run that
 * continues the training of another run, its trunk, with other settings.
 */

#include "core/path.h"
#include "data/data.h"
#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "io/checkpoint/image.h"
#include "models/transformer.h"
#include "optim/rules.h"

#include <math.h>
#include <stdint.h>

/* Largest number of steps that train.steps allows. Names of checkpoints have eight digits. */
enum { RT_CHECKPOINT_STEPS = 99999999 };

/* Summary of the evaluations of a run.
 *
 * Regular evaluations happen every train.eval_every steps. The evaluation after the last step is
 * left out of best_loss unless it is a regular one, so that a run which is extended later has the
 * same results as one that had all its steps from the start.
 */
typedef struct rt_evaluations {
    double loss;      /* at the current step; infinite: not evaluated */
    double best_loss; /* of regular evaluations; infinite: none yet */
    int64_t best_step;
    double reference; /* loss that a regular evaluation must undercut by train.min_delta to be an
                         improvement */
    int64_t stalled;  /* regular evaluations since the last improvement, or since a run that stopped
                         early was continued */
} rt_evaluations;

/* Evaluations of a run that has not begun. */
#define RT_NO_EVALUATIONS                                                                          \
    ((rt_evaluations){.loss = INFINITY, .best_loss = INFINITY, .reference = INFINITY})

/* State of a training apart from parameters and optimizer states. */
typedef struct rt_checkpoint_info {
    int64_t step; /* optimizer steps done */
    uint64_t seed;
    char precision[RT_WORD_SIZE]; /* "float" or "double"; a save writes that of the build */
    char blas[RT_WORD_SIZE];      /* BLAS kernels that computed the numbers */
    int64_t position;             /* sequences drawn so far */
    int64_t schedule_steps;       /* length of the learning rate schedule */
    rt_evaluations evaluations;
    char *config;              /* INI text; NULL counts as "" */
    char *past_schedules;      /* CSV; NULL: none */
    rt_vocabulary *vocabulary; /* NULL: no text data */
    rt_labels *labels;         /* NULL: no labelled data */
} rt_checkpoint_info;

/* Frees the contents of an info that was read. An info that was only saved stays the caller's. */
void rt_checkpoint_info_free(rt_checkpoint_info *info);

/* Parameters, optimizer states and options of a model to save or fill. State blocks are laid out as
 * parameters->values. */
typedef struct rt_checkpoint_model {
    const rt_parameters *parameters;
    const rt_transformer_options *options;
    const rt_data_options *data;  /* options of the training data; needed only for a save */
    const rt_update_rule *rule;   /* rule of the optimizer; NULL: states are skipped */
    real *states[RT_MOST_STATES]; /* state blocks of the rule; NULL: skipped */
    double *theta_start;          /* initial theta; NULL: theta is fixed */
    rt_shape theta_shape;
} rt_checkpoint_model;

/* Returns the parts of a model (borrowed pointers). `data` may be NULL. `rule` may be NULL too, and
 * `states` is not read in that case. */
rt_checkpoint_model rt_checkpoint_model_of(const rt_transformer *model, const rt_data_options *data,
                                           const rt_update_rule *rule,
                                           real *const states[RT_MOST_STATES]);

/* Writes a checkpoint durably (util/durable_file.h). Before the file gets its name it is read back
 * and checked as by rt_checkpoint_load. RT_IO if it cannot be written, RT_CHECKPOINT if a load
 * would refuse it, RT_MEMORY if memory runs out. RT_NONFINITE names the first parameter whose
 * values or optimizer states have a NaN or an infinity.
 *
 * Besides the model this needs memory for one copy of the file (as built, then as read back) and
 * for the largest parameter. */
rt_status rt_checkpoint_save(const char *path, const rt_checkpoint_model *model,
                             const rt_checkpoint_info *info) RT_MUST_CHECK;

/* A checkpoint that was opened. */
typedef struct rt_checkpoint {
    rt_image *image; /* NULL after rt_checkpoint_load and the other functions that close it */
    rt_checkpoint_info info;
    rt_transformer_options model; /* without options that the data decides (io/model_options.h) */
    rt_data_options data;         /* without keys that are texts, such as paths */
    int words, types; /* rows of the token and token type embeddings, 0 for a missing one */
    int patch;        /* numbers of a patch, 0 for a model without images */
} rt_checkpoint;

/* Reads a file into memory and parses all but its parameters and states; `parse` as in image.h.
 * After an error `c->info` is empty and the functions below return the same error. The caller
 * closes `c` in any case. */
rt_status rt_checkpoint_open(rt_checkpoint *c, const char *path, rt_parse parse) RT_MUST_CHECK;
void rt_checkpoint_close(rt_checkpoint *c);

/* Fills the model and closes the image. Both sides must have the same parameters, by name and
 * shape, the same pairing, head size, position.base and position.local_base, and the same form and
 * scope of theta; values must be finite. Otherwise the error names the first difference and the
 * model is unchanged. Values are checked, then read again and stored: only if that second read
 * fails is the model filled in part. Besides the model and the image this needs memory for the
 * largest parameter. */
rt_status rt_checkpoint_load(rt_checkpoint *c, const rt_checkpoint_model *model) RT_MUST_CHECK;

/* Number of parameters that were not transferred, and the name of the first. */
typedef struct rt_parameter_difference {
    int count;
    char first[RT_NAME_SIZE];
} rt_parameter_difference;

/* Origin of theta in a model that rt_checkpoint_branch or rt_checkpoint_start_from filled. The
 * latter stores a converted theta in the model and gives RT_BRANCH_CARRIED. */
typedef enum rt_branch_theta {
    RT_BRANCH_FRESH,    /* the model's own theta */
    RT_BRANCH_CARRIED,  /* theta of the file; in a branch also its states and initial value */
    RT_BRANCH_CONVERTED /* theta of a trunk with another scope or form, converted: it is only in
                           rt_checkpoint_model.theta_start, and the caller passes it to
                           rt_transformer_set_theta */
} rt_branch_theta;

/* Differences between a model and the checkpoint that it started from. */
typedef struct rt_checkpoint_taken {
    rt_branch_theta theta;
    rt_parameter_difference fresh; /* parameters of the model that were not read;
                                      rt_checkpoint_start_from does not count theta */
    rt_parameter_difference left;  /* in a branch, parameters of the trunk that the model lacks;
                                      else output head and token types that were not read */
} rt_checkpoint_taken;

/* Fills the parameters of a model from the checkpoint of another run, without optimizer states, and
 * closes the image. Pairing, head size, names and shapes of the encoder must agree.
 *
 * Token type embeddings, parameters that join (core/parameters.h) and, with `head`, an output head
 * of the same kind are read where shapes agree; otherwise they keep their values and count as
 * fresh. Theta is read, and converted between the forms, only if the checkpoint has every theta of
 * the model in the same shape, and both start alike (rt_theta_starts_alike); it never counts as
 * fresh or left. RT_CHECKPOINT if such a theta is not above 0 and the model learns ln theta. */
rt_status rt_checkpoint_start_from(rt_checkpoint *c, const rt_checkpoint_model *model, bool head,
                                   rt_checkpoint_taken *taken) RT_MUST_CHECK;

/* Fills a model from the checkpoint of the trunk and closes the image. The model may differ from
 * the trunk in theta, in factors of heads (head_scale) and in the bias of t5, but not in pairing
 * and head size. Every other parameter
 * of the model must be in the trunk in the same shape; parameters of the trunk that the model lacks
 * are counted in taken->left. Parameters that are not read keep their values and optimizer states,
 * and their rt_parameter.since becomes the step of the trunk. With `theta_stays` theta always keeps
 * its values. */
rt_status rt_checkpoint_branch(rt_checkpoint *c, const rt_checkpoint_model *model, bool theta_stays,
                               rt_checkpoint_taken *taken) RT_MUST_CHECK;

/* Returns the RT_CHECKPOINT error for a theta that has no logarithm in a model with theta.form =
 * log. Layer or head -1 stands for all of them. */
rt_status rt_checkpoint_no_logarithm(int layer, int head, int pair, double theta) RT_MUST_CHECK;

/* Learned theta of a checkpoint in radians per position, in the layout of
 * rt_transformer_theta_shape. layers[n] is the layer of the model at entry n of the first axis,
 * ascending; -1: shared by all layers. */
typedef struct rt_checkpoint_theta {
    double *values;
    double *start; /* initial values */
    int *layers;
    rt_shape shape;
    rt_theta_scope scope;
} rt_checkpoint_theta;

/* Reads the learned theta and closes the image. RT_CHECKPOINT if theta was fixed. The caller frees
 * `theta`, also after an error. */
rt_status rt_checkpoint_read_theta(rt_checkpoint *c, rt_checkpoint_theta *theta) RT_MUST_CHECK;
void rt_checkpoint_theta_free(rt_checkpoint_theta *theta);

/* Returns info->step if evaluations.loss is below best_loss, else best_step; 0: there is none. */
int64_t rt_checkpoint_best_step(const rt_checkpoint_info *info);

/* ---- a folder of checkpoints: step-00000200.h5, ... ----
 *
 * Files with other names are ignored. A folder has one writer at a time: the program locks the
 * folder of the run. */

/* Returns the path of the checkpoint of a step. Errors as rt_path_join. */
rt_status rt_checkpoint_path(char path[RT_PATH_SIZE], const char *folder,
                             int64_t step) RT_MUST_CHECK;

/* Lists the steps that have a checkpoint, newest first; none if the folder does not exist. The
 * caller frees *steps. */
rt_status rt_checkpoint_list(const char *folder, int64_t **steps, int *count) RT_MUST_CHECK;

/* Removes unfinished files, saves as rt_checkpoint_save, and then keeps the newest `keep` of the
 * checkpoints of this and earlier steps, and that of the best evaluation
 * (info->evaluations.best_step); keep < 1 keeps all. Later steps, left over when a training
 * continued from an earlier checkpoint, are neither counted nor removed. */
rt_status rt_checkpoint_save_in(const char *folder, const rt_checkpoint_model *model,
                                const rt_checkpoint_info *info, int keep) RT_MUST_CHECK;

/* Opens the newest valid checkpoint whose step agrees with its name, and returns its path and a
 * line for each newer one that was skipped, as far as they fit. A folder without checkpoints is
 * RT_OK with c->image = NULL. RT_CHECKPOINT if no checkpoint is valid; RT_MEMORY and RT_IO, which
 * say nothing about a file, end the search. The caller closes `c`, also
 * after an error. */
rt_status rt_checkpoint_newest(rt_checkpoint *c, const char *folder, rt_parse parse,
                               char path[RT_PATH_SIZE],
                               char warnings[RT_MESSAGE_SIZE]) RT_MUST_CHECK;

#endif
