#ifndef ROTOR_UTIL_JSON_H
#define ROTOR_UTIL_JSON_H

/* Untrusted JSON, parsed by Jansson, with limits on memory and depth, and stricter where Jansson
 * accepts invalid JSON or the file formats differ.
 *
 * Jansson uses malloc. Errors are RT_DATA, begin with `name` and tell the line; RT_MEMORY. */

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Maximum depth of brackets, as in serde_json, which Hugging Face uses. */
enum { RT_JSON_DEPTH = 127 };

/* What is parsed. */
typedef struct rt_json_source {
    const char *name; /* prefix of messages */
    int line;         /* number of its first line; 0: 1 */
    int values;       /* limit of its values, each of which takes up to 250 bytes */
    bool zeros;       /* strings may hold \u0000 */
    char *bytes;
    size_t size;
} rt_json_source;

/* Parses an object, which the caller releases (json_auto_t of Jansson does so). Refused are
 * duplicate keys, NUL in a string unless `zeros`, and more values than the limit. The bytes are
 * changed where Jansson and the formats differ in integers: -0 (0 for Jansson) is read as -1;
 * 2^63 ... 2^64-1 (an error for Jansson) as 2^63-1; integers above that, or below -(2^63-1), as
 * real numbers of 17 digits. */
rt_status rt_json_parse(json_t **object_new, rt_json_source text) RT_MUST_CHECK;

/* Returns the string of a key of an object; "" for any other value. */
const char *rt_json_word(const json_t *object, const char *key);

#endif
