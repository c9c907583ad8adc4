#ifndef ROTOR_TRAIN_CONFIG_ERRORS_H
#define ROTOR_TRAIN_CONFIG_ERRORS_H

/* Everything that is wrong with a configuration, a line each. */

#include "train/config/keys.h"

enum { RT_MOST_CONFIG_ERRORS = 100 }; /* that are written; all are counted */

typedef struct rt_config_errors {
    const char *file;
    rt_writer lines;
    int count;
    bool bad[RT_MAX_KEYS]; /* keys whose value was refused */
} rt_config_errors;

/* Adds "file:line: text", "command line: text" or, with RT_FROM_DEFAULT, "file: text". */
void rt_config_complain(rt_config_errors *errors, int origin, const char *format, ...)
    RT_PRINTF(3, 4);

/* Complain of a name that does not exist, and say what may have been meant. */
void rt_config_unknown_section(rt_config_errors *errors, int origin, const char *written);
void rt_config_unknown_key(rt_config_errors *errors, int origin, const char *section,
                           const char *written);
void rt_config_unknown_override(rt_config_errors *errors, const char *written);

/* Everything that a value on its own does not show: what two keys contradict each other
 * in, at the line of the later one that is set. Keys that were refused are left out. What a run was
 * trained with is taken as it is. */
void rt_config_check(const rt_config *config, const rt_config_source *source, bool trained,
                     rt_config_errors *errors);

/* Makes the paths of data.file absolute: from the configuration's folder, or from the
 * working directory if the command line gave them. */
void rt_config_find_files(rt_config *config, rt_config_errors *errors);

#endif
