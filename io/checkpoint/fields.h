#ifndef ROTOR_IO_CHECKPOINT_FIELDS_H
#define ROTOR_IO_CHECKPOINT_FIELDS_H

/* What an rt_checkpoint_info is in a file: a row for each field with its name, its type and what it
 * may be. Saving, loading and the tests of forged files walk the rows. */

#include "io/checkpoint/checkpoint.h"

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

void rt_checkpoint_put_fields(rt_image *image, const rt_checkpoint_info *info);

/* Fails the image if a field is missing, or is what it may not be; texts belong to the info in any
 * case. */
void rt_checkpoint_get_fields(rt_image *image, rt_checkpoint_info *info);

#endif
