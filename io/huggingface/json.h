#ifndef ROTOR_IO_HUGGINGFACE_JSON_H
#define ROTOR_IO_HUGGINGFACE_JSON_H

/* The JSON files of a folder: reading untrusted files, checking their keys, and writing. Errors are
 * RT_CHECKPOINT; otherwise as in util/json.h. */

#include "core/status.h"
#include "util/json.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <jansson.h>
#include <stdbool.h>

#define RT_HF_CONFIG "config.json"

/* ---- reading files ---- */

/* Reads a regular file of at most `most` bytes; the caller frees them. RT_CHECKPOINT names a file
 * that cannot be read; RT_CONFIG if the path is too long; RT_MEMORY. */
rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most) RT_MUST_CHECK;

/* Parses an object, which the caller releases, as json_auto_t of Jansson does. The bytes are
 * changed. */
rt_status rt_json_read(json_t **object_new, const char *name, char *bytes,
                       size_t size) RT_MUST_CHECK;

/* Parses a file of a folder, of at most 16 MiB. rt_json_read_optional sets *object_new to NULL if
 * the file is missing. */
rt_status rt_json_read_file(json_t **object_new, const char *folder,
                            const char *name) RT_MUST_CHECK;
rt_status rt_json_read_optional(json_t **object_new, const char *folder,
                                const char *name) RT_MUST_CHECK;

/* Returns the index of a word in a NULL-terminated list, or -1. Both may be NULL. */
int rt_word_index(const char *const *words, const char *word);

/* ---- reading keys ---- */

/* A JSON object whose keys are read one by one. The first error is kept in `status`: RT_CHECKPOINT
 * with the name of the key. Values that are read after an error are meaningless. A key that is
 * missing or null has its default. */
typedef struct rt_reading {
    const json_t *json;
    const char *file;   /* NULL: config.json */
    const char *within; /* prefix of the keys in messages, such as "rope_parameters."; or NULL */
    rt_status status;
} rt_reading;

/* Keeps an error, unless there is one: "FILE: MESSAGE". */
void rt_reading_refuse_as(rt_reading *r, const char *message);
#define rt_reading_refuse(r, ...) rt_reading_refuse_as(r, RT_PRINTED(RT_MESSAGE_SIZE, __VA_ARGS__))

/* Returns the value of a key; NULL if it is missing or null. */
json_t *rt_reading_find(const rt_reading *r, const char *key);

int rt_reading_whole(rt_reading *r, const char *key, int initial, int low, int high);

/* Reads a finite number above 0. */
double rt_reading_above_0(rt_reading *r, const char *key, double initial);

bool rt_reading_flag(rt_reading *r, const char *key, bool initial);

/* Reads a string; "" if the key is missing. */
const char *rt_reading_word(rt_reading *r, const char *key);

/* Refuses a word that is not in a list: "KEY must be A, B or C: REASON; got 'D'". */
void rt_reading_refuse_word(rt_reading *r, const char *key, const char *const *words, int count,
                            const char *reason, const char *got);

/* Reads a whole number from 1 to RT_MOST_SIZE, the limit of rotor's sizes. */
int rt_reading_size(rt_reading *r, const char *key, int initial);

/* ---- writing ---- */

/* Jansson's functions make the values that are written. Numbers that are not whole are written as
 * the shortest text that reads as the same double, where Jansson 2.14 writes 17 digits (1e-12 as
 * 9.9999999999999998e-13). Lists of numbers are on one line. */

/* Sets a member of an object, or appends to a list. Takes over the value. If that fails, or the
 * value is NULL because it could not be made, *to is freed and becomes NULL. */
void rt_json_put(json_t **to, const char *key, json_t *value);
void rt_json_append(json_t **to, json_t *value);

/* Creates a string of any bytes; those that are not UTF-8 become U+FFFD. */
json_t *rt_json_string(const char *text);

/* Creates a number, which is written without a point if it is whole and not very large. json_real
 * is always written with one, so that Python reads a float. */
json_t *rt_json_number(double value);

/* Creates a list of such numbers. */
json_t *rt_json_numbers(const double *values, int count);

/* Returns an object as a text, which the caller frees; NULL if it is NULL or the heap is exhausted.
 */
char *rt_json_text(json_t *object) RT_MUST_CHECK;

/* Returns any JSON as Jansson writes it, and `end`, for the caller to free; NULL if that fails. */
char *rt_json_dump(const json_t *value, size_t flags, const char *end);

/* Copies the first character of a text as UTF-8, or U+FFFD. Returns its bytes in the text. */
size_t rt_next_character(const char *text, char character[RT_UTF8_SIZE], int32_t *code);

#endif
