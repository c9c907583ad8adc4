#ifndef ROTOR_DATA_GZIP_H
#define ROTOR_DATA_GZIP_H

/* Files of data as streams of bytes. Those whose names end in .gz are unpacked: one or more members
 * of gzip (RFC 1952), behind which only zero bytes may follow. */

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>

/* Returns whether the name of a file, without a final .gz, ends with `ending`. */
bool rt_name_ends(const char *path, const char *ending);
bool rt_name_is_packed(const char *path);

/* An open file. It does not move while it is open. */
typedef struct rt_unpacked {
    FILE *file; /* of the unpacked bytes; NULL: closed */
    int descriptor;
    const char *path;            /* borrowed */
    struct rt_inflation *packed; /* NULL: the file is not compressed */
    rt_status status;            /* error of reading, if ferror(file) */
} rt_unpacked;

/* Opens a regular file. RT_DATA names `key` and the path. */
rt_status rt_unpacked_open(rt_unpacked *u, const char *key, const char *path) RT_MUST_CHECK;

/* Returns RT_DATA if reading has failed. */
rt_status rt_unpacked_status(const rt_unpacked *u) RT_MUST_CHECK;
void rt_unpacked_close(rt_unpacked *u);

#endif
