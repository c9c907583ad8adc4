#ifndef ROTOR_IO_HUGGINGFACE_PUT_H
#define ROTOR_IO_HUGGINGFACE_PUT_H

/* JSON as it is written: strings, and members of an object, each on a line of its own with a comma
 * behind it. */

#include "data/tokenizers/simple_tokens.h"
#include "text/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string of any bytes; what is no UTF-8 becomes U+FFFD. */
void rt_put_string(rt_writer *w, const char *text);

/* `text` and `key` are words that need no quoting. */
void rt_put_word(rt_writer *w, const char *key, const char *text);
void rt_put_number(rt_writer *w, const char *key, double value);
void rt_put_whole(rt_writer *w, const char *key, int value);
void rt_put_flag(rt_writer *w, const char *key, bool value);
void rt_put_null(rt_writer *w, const char *key);

/* The first character of a text as UTF-8, U+FFFD for what is none; returns its bytes there. */
size_t rt_next_character(const char *text, char character[RT_UTF8_SIZE], int32_t *unit);

#endif
