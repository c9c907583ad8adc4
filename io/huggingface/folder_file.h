#ifndef ROTOR_IO_HUGGINGFACE_FOLDER_FILE_H
#define ROTOR_IO_HUGGINGFACE_FOLDER_FILE_H

/* A file of a folder of Hugging Face: whether it is there, and its bytes. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

bool rt_folder_has(const char *folder, const char *name);

/* The bytes of a regular file of at most `most`, which the caller frees. RT_CHECKPOINT names the
 * path of one that cannot be read; RT_CONFIG if the path is too long; RT_MEMORY. */
rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most) RT_MUST_CHECK;

#endif
