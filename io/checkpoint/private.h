#ifndef ROTOR_IO_CHECKPOINT_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_PRIVATE_H

/* Private declarations of io/checkpoint/: datasets of a model, fields of rt_checkpoint_info,
 * options. */

#include "core/key.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/image.h"

/* Version of the file format, and the largest number of blocks of a model. */
enum { RT_CHECKPOINT_VERSION = 3, RT_CHECKPOINT_BLOCKS = 1 + RT_MOST_STATES };

/* Name of the random number generator (core/random.h). */
#define RT_CHECKPOINT_GENERATOR "philox4x32-10"

#define RT_THETA_START "/theta_start"

enum { RT_GROUP_SIZE = 64 };

/* Block of values of a model: the parameters or one optimizer state. `group` is its group in the
 * file; `of` is the prefix of its name in messages ("second moment of "). */
typedef struct rt_checkpoint_block {
    char group[RT_GROUP_SIZE];
    char of[RT_GROUP_SIZE];
    real *values;
    const rt_update_rule *rule;
    int state; /* index of the state in the rule; -1: the parameters */
} rt_checkpoint_block;

bool rt_checkpoint_block_has(const rt_checkpoint_block *b, const rt_parameter *parameter);

/* Lists the blocks of a model, parameters first. Returns their number. */
int rt_checkpoint_list_blocks(const rt_checkpoint_model *model,
                              rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS]);

/* Builds a dataset path: group "/model" and parameter "a.b" give "/model/a/b". */
enum { RT_DATASET_SIZE = RT_NAME_SIZE + 32 };
void rt_checkpoint_dataset(char path[RT_DATASET_SIZE], const char *group, const char *parameter);

/* Returns whether none of the numbers of a parameter is a NaN or an infinity. */
bool rt_checkpoint_is_finite(const rt_parameter *parameter, const real *values);

/* Writes an info, with its vocabulary and labels. Errors are stored in the image. */
void rt_checkpoint_put_info(rt_image *image, const rt_checkpoint_info *info);

/* Reads an info. Fails the image unless it has the format and version of this program and all
 * fields are valid. What was read belongs to the info, also after an error. */
void rt_checkpoint_get_info(rt_image *image, rt_checkpoint_info *info);

/* Checks that a load would accept the file and get exactly the numbers of the model. Closes the
 * image. */
rt_status rt_checkpoint_expect_saved(rt_checkpoint *c,
                                     const rt_checkpoint_model *model) RT_MUST_CHECK;

/* Writes the parameters that joined the training after its first step. */
void rt_checkpoint_put_joined(rt_image *image, const rt_parameters *p);

/* Reads the parameters that joined after the first step, in a run of `step` steps; stores their
 * steps with `take`. Fails the image if a name is unknown, unless `may_lack` (a branch may lack
 * parameters of the trunk). */
void rt_checkpoint_get_joined(rt_image *image, int64_t step, const rt_parameters *p, bool may_lack,
                              bool take);

/* Table of the fields of rt_checkpoint_info in a file. Saving, loading and the tests of forged
 * files walk its rows. */

typedef enum rt_field_type {
    RT_FIELD_INTEGER,  /* int64_t, from 0 */
    RT_FIELD_UNSIGNED, /* uint64_t */
    RT_FIELD_LOSS,     /* double; +infinity: none; NaN and -infinity are refused */
    RT_FIELD_WORD,     /* char [RT_WORD_SIZE], printable */
    RT_FIELD_TEXT      /* char *, a dataset in the group */
} rt_field_type;

typedef struct rt_checkpoint_field {
    const char *group, *name;
    rt_field_type type;
    size_t offset; /* offset in rt_checkpoint_info */
    bool optional; /* omitted if infinite (loss) or NULL (text) */
    int64_t most;  /* largest value of an integer */
    bool per_step; /* `most` is multiplied by the step of the info */
} rt_checkpoint_field;

/* Returns the i-th row, NULL past the last. */
const rt_checkpoint_field *rt_checkpoint_field_at(int i);

/* Options as attributes of a group, one for each key of a table (core/key.h), under the full name
 * ("position.base"): integers, numbers and words. A list that is not empty is a text at
 * /SECTION/NAME, one of layers at /layers/SECTION.NAME. Paths are omitted: they belong to the run
 * and its configuration. */

void rt_image_put_options(rt_image *image, const char *group, const rt_key_table *table,
                          const void *options);

/* Returns whether a checkpoint of version 3 may lack a key because the key is newer. It then has
 * its default. */
bool rt_option_may_be_absent(const rt_key *key);

/* Reads options, except paths, which stay unchanged. Fails the image if a required key is missing
 * or a value is invalid. */
void rt_image_get_options(rt_image *image, const char *group, const rt_key_table *table,
                          void *options);

#endif
