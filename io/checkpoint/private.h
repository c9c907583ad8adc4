#ifndef ROTOR_IO_CHECKPOINT_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_PRIVATE_H

/* Private declarations of io/checkpoint/: fields of rt_checkpoint_info, options. */

#include "core/key.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/image.h"

/* Writes an info, with its vocabulary and labels. Errors are stored in the image. */
void rt_checkpoint_put_info(rt_image *image, const rt_checkpoint_info *info);

/* Reads an info. Fails the image unless it has the format and version of this program and all
 * fields are valid. What was read belongs to the info, also after an error. */
void rt_checkpoint_get_info(rt_image *image, rt_checkpoint_info *info);

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

extern const rt_checkpoint_field rt_checkpoint_fields[]; /* ends with a field without name */

/* Options as attributes of a group, one for each key of a table (core/key.h), under the full name
 * ("position.base"): integers, numbers and words. A list that is not empty is a text at
 * /SECTION/NAME, one of layers at /layers/SECTION.NAME. Paths are omitted: they belong to the run
 * and its configuration. */

void rt_image_put_options(rt_image *image, const char *group, const rt_key_table *table,
                          const void *options);

/* Reads options, except paths, which stay unchanged. Fails the image if a required key is missing
 * or a value is invalid. */
void rt_image_get_options(rt_image *image, const char *group, const rt_key_table *table,
                          void *options);

#endif
