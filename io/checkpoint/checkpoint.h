#ifndef ROTOR_IO_CHECKPOINT_CHECKPOINT_H
#define ROTOR_IO_CHECKPOINT_CHECKPOINT_H

/* A checkpoint: all that a training needs to continue with the same bits, in one HDF5 file (see
 * io/checkpoint/image.h). There is no state of a random generator: every random number is a
 * function of the seed and the step.
 *
 *   /                          attributes format "rotor", version, step, precision, blas, seed,
 *                              best_eval_loss, best_eval_step, patience_loss, patience_count;
 *                              eval_loss, if it was evaluated at this step
 *   /vocabulary                of a model of text: the bytes of its vocab.txt or
 *                              tokenizer.json (see data/tokenizers/vocabulary.h); attributes
 *                              level, of a tokenizer.json pad, cls, mask, sep: ids or -1; and, of
 *                              a model that knows them, ends: the ids that end a text, with blanks
 *                              between
 *   /labels                    of a model of labelled data: the names of the classes, one a line
 *                              (data/labels.h)
 *   /config                    the configuration, an INI text
 *   /past_schedules            of a run that was extended with another schedule: a table in CSV
 *                              (train/config/config.h)
 *   /joined                    of a branch: parameters that the trunk lacks, a line each: the
 *                              name, a space, the steps that were taken when they joined
 *   /model/a/b/c               the parameter a.b.c; the attributes of /model are the keys of the
 *                              model (io/checkpoint/private.h): position.base, theta.scope, ...
 *   /theta_start               of a learned theta: its initial value, in radians per position,
 *                              with the layout of rt_transformer_theta_shape
 *   /optimizer/first_moment/a/b/c, /optimizer/second_moment/a/b/c, as the update rule names its
 *       states (optim/rules.h), of the parameters that have them
 *                              attribute schedule_steps
 *   /random                    attribute generator
 *   /data                      attribute position, and the keys of the data that are no paths
 *
 * This is version 3, the only one that is read.
 *
 * Numbers are stored in the precision of the build that saves, and converted to that
 * of the build that loads. Errors of what is in a file are RT_CHECKPOINT and begin
 * with the file's name without its folder. A file that cannot be opened or read is
 * RT_CHECKPOINT as well: whoever asks for a checkpoint has been told its name.
 *
 * Functions that read take an image from rt_image_open, which decides where HDF5 parses the file.
 */

#include "core/path.h"
#include "data/data.h"
#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "io/checkpoint/image.h"
#include "models/transformer.h"
#include "optim/rules.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* The most steps that the keys allow; their numbers have eight digits in the names of
 * checkpoints. */
enum { RT_CHECKPOINT_STEPS = 99999999 };

/* Summary of the evaluations of a run: the best one, and how many in a row brought no improvement.
 *
 * Regular evaluations are those every train.eval_every steps. The evaluation after the last step
 * does not count unless it is regular, so that a run that is extended equals one that was given all
 * its steps at the start. */
typedef struct rt_evaluations {
    double loss;      /* at the current step; infinite: it was not evaluated */
    double best_loss; /* of regular evaluations; infinite: there was none */
    int64_t best_step;
    double reference; /* loss from which an improvement by train.min_delta is counted */
    int64_t stalled;  /* regular evaluations since the one with the reference loss */
} rt_evaluations;

/* Summary of a run that has not begun. */
#define RT_NO_EVALUATIONS                                                                          \
    ((rt_evaluations){.loss = INFINITY, .best_loss = INFINITY, .reference = INFINITY})

/* State of a training, apart from the numbers that are trained. */
enum { RT_BLAS_NAME_SIZE = 64, RT_PRECISION_NAME_SIZE = RT_BLAS_NAME_SIZE };
typedef struct rt_checkpoint_info {
    int64_t step; /* optimiser steps done */
    uint64_t seed;
    char precision[RT_PRECISION_NAME_SIZE]; /* "float" or "double"; a save has that of the build */
    char blas[RT_BLAS_NAME_SIZE];           /* the kernels that the numbers were computed with */
    int64_t position;                       /* sequences drawn so far */
    int64_t schedule_steps;                 /* the horizon of the learning rate's schedule */
    rt_evaluations evaluations;
    char *config;              /* an INI text; NULL counts as "" */
    char *past_schedules;      /* NULL: none */
    rt_vocabulary *vocabulary; /* NULL: the data was no text */
    rt_labels *labels;         /* NULL: the data had no labels */
} rt_checkpoint_info;

/* Frees what belongs to an info that was read. An info that is saved only borrows it. */
void rt_checkpoint_info_free(rt_checkpoint_info *info);

/* The trained numbers, and what they mean: two models with the same parameters but
 * another layout compute something else. Blocks are laid out as parameters->values. */
typedef struct rt_checkpoint_model {
    const rt_parameters *parameters;
    const rt_transformer_options *options;
    const rt_data_options *data;  /* what it was trained on; only a save asks for it */
    const rt_update_rule *rule;   /* of the optimizer; NULL: its states are not wanted */
    real *states[RT_MOST_STATES]; /* of its rule */
    double *theta_start;          /* NULL: theta is fixed */
    rt_shape theta_shape;
} rt_checkpoint_model;

/* Returns the parts of a model, which must live as long. Rule and states may both be NULL, and
 * data. */
rt_checkpoint_model rt_checkpoint_model_of(const rt_transformer *model, const rt_data_options *data,
                                           const rt_update_rule *rule,
                                           real *const states[RT_MOST_STATES]);

/* Writes a checkpoint durably (text/durable_file.h): RT_IO if the file cannot be written.
 * RT_NONFINITE names the first parameter that has, itself or in a moment, a NaN or an infinity:
 * those are not saved. Before the file gets its name it is read back, and everything is asked of it
 * that rt_checkpoint_load asks: RT_CHECKPOINT if a load would refuse it.
 *
 * Beside the model this takes as much memory as the file has bytes: for the image, and when that is
 * written and freed, for the file that is read back, and then the largest parameter once more. */
rt_status rt_checkpoint_save(const char *path, const rt_checkpoint_model *model,
                             const rt_checkpoint_info *info) RT_MUST_CHECK;

/* Fills the blocks of the model, and info, which the caller then frees; closes the image, as
 * rt_checkpoint_start_from and rt_checkpoint_branch do. Layout, names and shapes must be those of
 * the file, in both directions, and its numbers must be finite; otherwise the first difference is
 * named and nothing is changed. Numbers are read twice, to check them and to take them: if the
 * second reading fails, some of the model's are those of the file. Beside the model and the image
 * this takes the memory of the largest parameter. */
rt_status rt_checkpoint_load(rt_image *image, const rt_checkpoint_model *model,
                             rt_checkpoint_info *info) RT_MUST_CHECK;

/* Parameters of one side that the other has not, or in another shape. */
typedef struct rt_checkpoint_rest {
    int count;
    char first[RT_NAME_SIZE];
} rt_checkpoint_rest;

/* Result of a start from another model: whether theta was taken, the parameters that stay as they
 * were drawn, and those of the checkpoint that are not used. */
typedef struct rt_checkpoint_start {
    bool theta;
    rt_checkpoint_rest fresh, left;
} rt_checkpoint_start;

/* Fills the values of the parameters from the checkpoint of another run, and nothing else.
 * Pairing, head size, names and shapes of the encoder must be those of the model. Of the head and
 * the embeddings of token types what fits is taken, of the head only with `head` and if it is of
 * the same kind; the rest stays; so does theta, all of it, unless both have all that the model has
 * in the same shape, in either form; one that is not above 0 is refused if the model learns its
 * logarithm. info as for rt_checkpoint_load. */
rt_status rt_checkpoint_start_from(rt_image *image, const rt_checkpoint_model *model, bool head,
                                   rt_checkpoint_start *start,
                                   rt_checkpoint_info *info) RT_MUST_CHECK;

/* Origin of theta in a branch: the model itself, as the theta of the trunk is fixed or not wanted;
 * the trunk, with states and start, in the same scope and form; or the values of the trunk alone,
 * in another scope or form. */
typedef enum rt_branch_theta {
    RT_BRANCH_FRESH,
    RT_BRANCH_CARRIED,
    RT_BRANCH_CONVERTED
} rt_branch_theta;

typedef struct rt_checkpoint_branched {
    rt_branch_theta theta;
    rt_checkpoint_rest fresh, left; /* parameters that joined, and those that the branch lacks */
} rt_checkpoint_branched;

/* Fills the blocks of a model that continues the training of another with a theta, or positions, of
 * its own: all parameters but theta, head_scale and tables of positions must be there in their
 * shapes. Those that the trunk lacks stay as they are, with states of 0, and join the training at
 * its step (rt_parameter.since). With `theta_stays` theta does so whatever the trunk has. info as
 * for rt_checkpoint_load. */
rt_status rt_checkpoint_branch(rt_image *image, const rt_checkpoint_model *model, bool theta_stays,
                               rt_checkpoint_branched *branched,
                               rt_checkpoint_info *info) RT_MUST_CHECK;

/* RT_CHECKPOINT: a model that learns the logarithm of theta cannot start from this one. -1 stands
 * for all layers, or all heads of the layer. */
rt_status rt_checkpoint_no_logarithm(int layer, int head, int pair, double theta) RT_MUST_CHECK;

/* All learned theta of a checkpoint, in radians per position, laid out as rt_transformer_theta, and
 * the layers that they are of, in order; -1 for one that all layers share. */
typedef struct rt_checkpoint_theta {
    double *values;
    int *layers;
    rt_shape shape;
    rt_theta_scope scope;
} rt_checkpoint_theta;

/* The caller frees them, after an error as well. RT_CHECKPOINT if theta was fixed. */
rt_status rt_checkpoint_read_theta(rt_image *image, rt_checkpoint_theta *theta) RT_MUST_CHECK;
void rt_checkpoint_theta_free(rt_checkpoint_theta *theta);

/* The vocabulary alone, of an image that stays open: what its data is to be read with. NULL if
 * that was no text; else the caller frees it. */
rt_status rt_checkpoint_vocabulary(rt_image *image, rt_vocabulary **vocabulary_new) RT_MUST_CHECK;

/* The labels, in the same way. */
rt_status rt_checkpoint_labels(rt_image *image, rt_labels **labels_new) RT_MUST_CHECK;

/* The rows of its tables of words and of token types, 0 of one that it lacks. */
rt_status rt_checkpoint_tables(rt_image *image, int *words, int *types) RT_MUST_CHECK;

/* The options of its model, without what its data decides (io/model_options.h), and those of the
 * data without the paths of files. Of an image that stays open. */
rt_status rt_checkpoint_options(rt_image *image, rt_transformer_options *model,
                                rt_data_options *data) RT_MUST_CHECK;

/* The step of the best evaluation that a checkpoint knows of, its own included; 0: there is none.
 */
int64_t rt_checkpoint_best_step(const rt_checkpoint_info *info);

/* The info alone: enough to build the model that rt_checkpoint_load wants. The second is of an
 * image that stays open. */
rt_status rt_checkpoint_read_info(rt_image *image, rt_checkpoint_info *info) RT_MUST_CHECK;
rt_status rt_checkpoint_look(rt_image *image, rt_checkpoint_info *info) RT_MUST_CHECK;

/* Reads the info without vocabulary and labels, which take time to read. */
rt_status rt_checkpoint_look_at_run(rt_image *image, rt_checkpoint_info *info) RT_MUST_CHECK;

/* ---- a folder of checkpoints: step-00000200.h5, ... ----
 *
 * Other names, also those of unfinished files, are no checkpoints. A folder has one
 * writer at a time (the trainer locks it). */

/* The path of a step's checkpoint; errors as rt_path_join. */
rt_status rt_checkpoint_path(char path[RT_PATH_SIZE], const char *folder,
                             int64_t step) RT_MUST_CHECK;

/* The steps that have a checkpoint, newest first; none if there is no such folder. The
 * caller frees *steps. */
rt_status rt_checkpoint_list(const char *folder, int64_t **steps, int *count) RT_MUST_CHECK;

/* Saves into a folder, as rt_checkpoint_save does, and only then removes older
 * ones, so that `keep` are left, this one counted, and beside them the one of the best
 * evaluation (info->evaluations.best_step); keep < 1 removes none. Checkpoints
 * of later steps (left when a training went on from an earlier one) are not counted and
 * not removed. Unfinished files of an earlier time are removed first. */
rt_status rt_checkpoint_save_in(const char *folder, const rt_checkpoint_model *model,
                                const rt_checkpoint_info *info, int keep) RT_MUST_CHECK;

typedef struct rt_checkpoint_found {
    bool found;
    int64_t step;
    rt_image *image; /* if found: to be read, or closed */
    char path[RT_PATH_SIZE];
    char warnings[RT_MESSAGE_SIZE]; /* a line for each newer one passed over */
} rt_checkpoint_found;

/* The newest checkpoint that verifies and is of the step that its name says. No checkpoint at all
 * is RT_OK with found = false; checkpoints of which none verifies are RT_CHECKPOINT. */
rt_status rt_checkpoint_newest(const char *folder, rt_parse parse,
                               rt_checkpoint_found *found) RT_MUST_CHECK;

#endif
