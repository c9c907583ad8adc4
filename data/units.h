#ifndef ROTOR_DATA_UNITS_H
#define ROTOR_DATA_UNITS_H

/* The units of a text at the levels byte and char: bytes as numbers 0 ... 255, or code points
 * 0 ... 0x10ffff, which stand in it as UTF-8. Level wordpiece, which has words, is not one of
 * theirs; and how units of every level are named. */

#include "data/data.h"

/* Bytes for one of these units, with the final zero. */
enum { RT_UNIT_SIZE = 8 };

/* One more than the largest unit. */
int32_t rt_unit_limit(rt_level level);

/* Takes the first unit of a text that is not empty; returns how many bytes it has there,
 * 0 if they are not UTF-8. */
size_t rt_unit_read(rt_level level, const unsigned char *text, size_t bytes, int32_t *unit);

/* Returns how many bytes were written; a zero stands after them. */
size_t rt_unit_write(rt_level level, int32_t unit, char to[RT_UNIT_SIZE]);

/* Whether a terminal shows it as itself. */
bool rt_unit_is_visible(rt_level level, int32_t unit);

/* A unit as messages name it: 'a', '€' (U+20AC), U+0301, byte 0x0a; returns `name`. */
enum { RT_UNIT_NAME_SIZE = 40 };
const char *rt_unit_name(rt_level level, int32_t unit, char name[RT_UNIT_NAME_SIZE]);

/* A word, which is UTF-8, in the same way; the end of a long one is left out, and characters that
 * a terminal does not show stand as their number. Returns `name`. */
const char *rt_word_name(const char *word, size_t size, char name[RT_WORD_NAME_SIZE]);

/* How many units a text has, which must be UTF-8 for code points. */
size_t rt_unit_count(rt_level level, const unsigned char *text, size_t bytes);

/* What the units of a level are called. */
typedef struct rt_unit_words {
    const char *one, *many;
    const char *unknown; /* those that can be [UNK] */
} rt_unit_words;
rt_unit_words rt_words_for_units(rt_level level);

/* RT_DATA names the first byte of a file that is not UTF-8, and its offset; `key` needs it. */
rt_status rt_utf8_check(const char *key, const char *path, const unsigned char *text,
                        size_t bytes) RT_MUST_CHECK;

/* The same for data.level, at a level that needs it. */
rt_status rt_units_check(rt_level level, const char *path, const unsigned char *text,
                         size_t bytes) RT_MUST_CHECK;

#endif
