#ifndef ROTOR_TEXT_JSON_H
#define ROTOR_TEXT_JSON_H

/* JSON of strangers, by Jansson: with limits on what it may take, and without what it lets pass
 * that is no JSON, or none that the formats here allow.
 *
 * Jansson keeps its own memory (malloc). Errors are RT_DATA, begin with `name` and tell the line;
 * RT_MEMORY. */

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Brackets within brackets, as in serde_json, which Hugging Face reads with. */
enum { RT_JSON_DEPTH = 127 };

/* An object, to be given back with json_decref. A key that comes twice is refused, and so is NUL in
 * a string, and a text with more than `values` values, each of which takes up to 250 bytes. The
 * bytes are changed where Jansson and the formats differ on whole numbers: -0, which it takes for
 * 0, is read as -1; those from 2^63 to 2^64-1, which it does not take, as 2^63-1; and larger ones
 * as numbers that are not whole. */
rt_status rt_json_parse(json_t **object_new, int values, const char *name, char *bytes,
                        size_t size) RT_MUST_CHECK;

#endif
