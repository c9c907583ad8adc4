#ifndef ROTOR_IO_CHECKPOINT_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_PRIVATE_H

/* Private declarations of the files that write and read checkpoints: the layout of a model in the
 * file. */

#include "core/key.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/image.h"

/* The version that is written and read. */
enum { RT_CHECKPOINT_VERSION = 3, RT_CHECKPOINT_BLOCKS = 1 + RT_MOST_STATES };

/* Generator of random numbers (core/random.h). */
#define RT_CHECKPOINT_GENERATOR "philox4x32-10"

#define RT_THETA_START "/theta_start"

enum { RT_GROUP_SIZE = 64 };

/* A block of the model and the group of its datasets; `of` begins its name in messages. */
typedef struct rt_checkpoint_block {
    char group[RT_GROUP_SIZE];
    char of[RT_GROUP_SIZE];
    real *values;
    const rt_update_rule *rule;
    int state; /* of the rule; -1: the parameters themselves */
} rt_checkpoint_block;

bool rt_checkpoint_block_has(const rt_checkpoint_block *b, const rt_parameter *parameter);

/* Lists the blocks that a model has, its parameters first; returns how many there are. */
int rt_checkpoint_list_blocks(const rt_checkpoint_model *model,
                              rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS]);

/* Group "/model" and parameter "a.b" make "/model/a/b". */
enum { RT_DATASET_SIZE = RT_NAME_SIZE + 32 };
void rt_checkpoint_dataset(char path[RT_DATASET_SIZE], const char *group, const char *parameter);

/* Finds the shape of a parameter of the file; false if it is not there. */
bool rt_checkpoint_find(rt_image *image, const char *name, rt_shape *shape);

/* Returns the first parameter of a block whose values are not finite, NULL if all are. */
const rt_parameter *rt_first_nonfinite(const rt_parameters *p, const real *block);

void rt_checkpoint_put_vocabulary(rt_image *image, const rt_vocabulary *vocabulary);

void rt_checkpoint_put_labels(rt_image *image, const rt_labels *labels);

/* ---- reading; what does not fit fails the image ---- */

/* Another version fails the image. */
void rt_checkpoint_expect_version(rt_image *image);

/* NULL: the data was no text. */
rt_vocabulary *rt_checkpoint_get_vocabulary(rt_image *image);

/* NULL: the data had no labels. */
rt_labels *rt_checkpoint_get_labels(rt_image *image);

void rt_checkpoint_get_info(rt_image *image, rt_checkpoint_info *info);

/* Checks that a load would take the file and get the numbers of the model. */
void rt_checkpoint_expect_saved(rt_image *image, const rt_checkpoint_model *model);

/* The parameters that joined the training after its first step. */
void rt_checkpoint_put_joined(rt_image *image, const rt_parameters *p);

/* Reads the joined parameters of a file whose run has taken `step` steps, by name. A name that is
 * not in the list fails the image, except for a branch, which may lack it. */
typedef enum rt_joined_use {
    RT_JOINED_EXPECT, /* the parameters stay as they are */
    RT_JOINED_TAKE,
    RT_JOINED_TAKE_KNOWN
} rt_joined_use;
void rt_checkpoint_get_joined(rt_image *image, int64_t step, const rt_parameters *p,
                              rt_joined_use use);

/* Computes the initial theta of a branch from the theta of its trunk, which has another scope or
 * form. */
void rt_checkpoint_convert_theta(rt_image *image, const rt_checkpoint_model *model, double *start);

/* The options of the model in the file. */
rt_transformer_options rt_checkpoint_get_options(rt_image *image);

/* ---- fields ---- */

/* Fields of an rt_checkpoint_info in a file: a row for each field with its name, its type and its
 * range. Saving, loading and the tests of forged files walk the rows. */

typedef enum rt_field_type {
    RT_FIELD_INTEGER,  /* int64_t, 0 ... most */
    RT_FIELD_UNSIGNED, /* uint64_t */
    RT_FIELD_LOSS,     /* double, infinite if there is none, and neither NaN nor -infinity */
    RT_FIELD_WORD,     /* char [RT_WORD_SIZE], printable */
    RT_FIELD_TEXT      /* char *, a dataset of that name below the group */
} rt_field_type;

typedef struct rt_checkpoint_field {
    const char *group, *name;
    rt_field_type type;
    size_t offset; /* in rt_checkpoint_info */
    int64_t (*most)(const rt_checkpoint_info *info);
    bool optional; /* an infinite loss and a text that is NULL are left out */
} rt_checkpoint_field;

/* The i-th row; NULL past the last. */
const rt_checkpoint_field *rt_checkpoint_field_at(int i);

/* Puts the fields of an info into an image that is built, or gets them from one that is read. Fails
 * the image if a field is missing, or is what it may not be; texts belong to the info in any case.
 */
void rt_checkpoint_exchange_fields(rt_image *image, bool put, rt_checkpoint_info *info);

/* ---- options of the model ---- */

/* Options in a checkpoint: an attribute of a group for each key of a table (core/key.h), under the
 * key's full name ("position.base"). Whole numbers, numbers and words are what they are; a list
 * that is not empty is a text at /SECTION/NAME. Paths of files are not kept: they are of a run, and
 * stand in its configuration. */

void rt_image_put_options(rt_image *image, const char *group, const rt_key_table *table,
                          const void *options);

/* Returns whether a checkpoint of version 3 may lack the key, since the key is newer. It then has
 * its default. */
bool rt_option_may_be_absent(const rt_key *key);

/* Fails the image if a key is missing, unless it may be, or does not accept its value. Paths stay
 * as they are. */
void rt_image_get_options(rt_image *image, const char *group, const rt_key_table *table,
                          void *options);

#endif
