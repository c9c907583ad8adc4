#ifndef ROTOR_CORE_PATH_H
#define ROTOR_CORE_PATH_H

/* Paths of files as strings. No function here touches a file. */

#include "core/status.h"

#include <stdbool.h>

/* The longest path with its ending zero, in bytes: PATH_MAX of Linux. */
enum { RT_PATH_SIZE = 4096 };

/* folder/name. RT_CONFIG, with an empty path, if it is longer than the size allows. */
rt_status rt_path_join(char path[RT_PATH_SIZE], const char *folder, const char *name) RT_MUST_CHECK;

/* The part behind the last slash. */
const char *rt_path_name(const char *path);

/* Returns whether a path ends in `ending`, such as ".npy", and has something before it. */
bool rt_path_ends_in(const char *path, const char *ending);

#endif
