#ifndef ROTOR_CORE_PATH_H
#define ROTOR_CORE_PATH_H

/* Paths of files as strings. No function here touches a file. */

#include "core/status.h"

#include <stdbool.h>

/* Maximum size of a path in bytes, with the final zero: PATH_MAX of Linux. */
enum { RT_PATH_SIZE = 4096 };

/* Joins folder and name with a slash. RT_CONFIG, with an empty path, if the result is too long. */
rt_status rt_path_join(char path[RT_PATH_SIZE], const char *folder, const char *name) RT_MUST_CHECK;

/* Joins folder and name. Returns `path` or, if it is too long, "", which names no file; RT_PATH_IN
 * has the memory of the enclosing block. */
const char *rt_path_in(char path[RT_PATH_SIZE], const char *folder, const char *name);
#define RT_PATH_IN(folder, name) rt_path_in((char[RT_PATH_SIZE]){0}, folder, name)

/* Returns the part of a path after its last slash. */
const char *rt_path_name(const char *path);

/* Splits a path: writes its folder, "." if it has none, and returns the part after its last slash;
 * NULL if the folder is too long. */
const char *rt_path_split(const char *path, char folder[RT_PATH_SIZE]);

/* Returns whether a path ends in `ending`, such as ".npy", after at least one other character. */
bool rt_path_ends_in(const char *path, const char *ending);

#endif
