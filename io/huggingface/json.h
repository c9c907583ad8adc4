#ifndef ROTOR_IO_HUGGINGFACE_JSON_H
#define ROTOR_IO_HUGGINGFACE_JSON_H

/* Files of the folder of a stranger: their bytes, and JSON, read as by text/json.h, but with errors
 * that are RT_CHECKPOINT; and JSON that is written. */

#include "core/status.h"
#include "text/json.h"
#include "text/utf8.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- a file ---- */

bool rt_folder_has(const char *folder, const char *name);

/* The bytes of a regular file of at most `most`, which the caller frees. RT_CHECKPOINT names the
 * path of one that cannot be read; RT_CONFIG if the path is too long; RT_MEMORY. */
rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most) RT_MUST_CHECK;

/* ---- reading JSON ---- */

/* In one text. */
enum { RT_JSON_VALUES = 1 << 20 };

/* An object, to be given back with json_decref; the bytes are changed. */
rt_status rt_json_read(json_t **object_new, const char *name, char *bytes,
                       size_t size) RT_MUST_CHECK;

/* Parses a file in a folder, of at most 16 MiB. */
rt_status rt_json_read_file(json_t **object_new, const char *folder,
                            const char *name) RT_MUST_CHECK;

/* Returns the number of a word in a list that ends with NULL; -1 if it is not there. Both may be
 * NULL. */
int rt_word_index(const char *const *words, const char *word);

/* ---- writing JSON ---- */

/* JSON as it is made and written. Jansson keeps the values, which its own functions make, and
 * quotes strings; numbers that are not whole are the shortest text that reads as the same double,
 * where Jansson 2.14 writes 17 digits for each (1e-12 as 9.9999999999999998e-13), and lists of
 * numbers are on one line. */

/* An object that takes members until the heap is exhausted. rt_json_object_free in any case. */
typedef struct rt_json_object {
    json_t *json;
    bool failed;
} rt_json_object;

rt_json_object rt_json_object_new(void);
void rt_json_object_free(rt_json_object *to);

/* Takes the value over; NULL is one that could not be made. */
void rt_json_put(rt_json_object *to, const char *key, json_t *value);

/* Puts an object that was built, and frees it. */
void rt_json_put_object(rt_json_object *to, const char *key, rt_json_object *made);

/* A string of any bytes; what is no UTF-8 becomes U+FFFD. */
json_t *rt_json_string(const char *text);

/* A number that is written without a point if it is whole and not very large; json_real is written
 * with one, which makes it a float in Python. */
json_t *rt_json_number(double value);

/* A list of them. */
json_t *rt_json_numbers(const double *values, int count);

/* The object as a text, which the caller frees; NULL if the heap was exhausted. */
char *rt_json_text(const rt_json_object *object) RT_MUST_CHECK;

/* Any JSON as Jansson writes it, with an end behind it; NULL if the heap is exhausted. The caller
 * frees it. */
char *rt_json_dumped(const json_t *value, size_t flags, const char *end);

/* The first character of a text as UTF-8, U+FFFD for what is none; returns its bytes there. */
size_t rt_next_character(const char *text, char character[RT_UTF8_SIZE], int32_t *code);

#endif
