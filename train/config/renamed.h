#ifndef ROTOR_TRAIN_CONFIG_RENAMED_H
#define ROTOR_TRAIN_CONFIG_RENAMED_H

/* Keys, and values of keys, that had another name before: the old name is refused, and the message
 * has the new one; but a value that every older run has in its config.ini is read. docs/changes.md
 * lists them all. */

#include <stdbool.h>

typedef struct rt_renamed {
    const char *key;   /* "section.name"; of a key that was renamed, as it was */
    const char *value; /* as it was; NULL: the key was renamed */
    const char *now;   /* of the value, or "section.name" */
    bool is_read;      /* as the new one; of values */
} rt_renamed;

/* The i-th row; NULL past the last. */
const rt_renamed *rt_renamed_at(int i);

/* The row of a key, or with a value of that value; NULL if it never had another name. */
const rt_renamed *rt_renamed_find(const char *key, const char *value);

#endif
