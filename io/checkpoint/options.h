#ifndef ROTOR_IO_CHECKPOINT_OPTIONS_H
#define ROTOR_IO_CHECKPOINT_OPTIONS_H

/* Options in a checkpoint: an attribute of a group for each key of a table (core/key.h), under the
 * key's full name ("position.base"). Whole numbers, numbers and words are what they are; a list
 * that is not empty is a text at /SECTION/NAME. Paths of files are not kept: they are of a run, and
 * stand in its configuration. */

#include "core/key.h"
#include "io/checkpoint/image.h"

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
