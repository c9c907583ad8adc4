#ifndef ROTOR_TRAIN_TEMPLATES_H
#define ROTOR_TRAIN_TEMPLATES_H

/* Short commented configurations to start from, which --init writes. */

#include "train/run/arguments.h"

/* A configuration for one purpose. */
typedef struct rt_template {
    const char *name;    /* word after --init */
    const char *purpose; /* for messages */
    const char *ini;     /* content of the file */
} rt_template;

/* Returns the i-th template; NULL past the last. */
const rt_template *rt_template_at(int i);

/* --init NAME FILE.ini: writes the template. Returns RT_CONFIG if there is none of that name, or if
 * the file exists and --overwrite is not given; RT_IO if it cannot be written. */
rt_status rt_init_command(const rt_arguments *arguments) RT_MUST_CHECK;

#endif
