#ifndef ROTOR_IO_HUGGINGFACE_JSON_H
#define ROTOR_IO_HUGGINGFACE_JSON_H

/* JSON in the folders of strangers, as text/json.h reads it; but errors are RT_CHECKPOINT. */

#include "text/json.h"

/* In one text. */
enum { RT_JSON_VALUES = 1 << 20 };

/* An object, to be given back with json_decref; the bytes are changed. */
rt_status rt_json_read(json_t **object_new, const char *name, char *bytes,
                       size_t size) RT_MUST_CHECK;

/* The same of a file in a folder, of at most 16 MiB. */
rt_status rt_json_read_file(json_t **object_new, const char *folder,
                            const char *name) RT_MUST_CHECK;

#endif
