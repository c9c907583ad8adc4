#ifndef ROTOR_TEXT_NUMBER_H
#define ROTOR_TEXT_NUMBER_H

/* Numbers as text: decimal, with a point, whatever the locale. */

#include <stdbool.h>
#include <stdint.h>

enum { RT_NUMBER_SIZE = 32 };

/* Returns whether the whole text is one decimal number, also one that no double can hold. */
bool rt_number_is_decimal(const char *text);

/* False unless the whole text is one decimal number that a double can hold: no
 * hexadecimal, nan, inf, 1e999 or 1e-999, nothing before or after it. */
bool rt_number_read(const char *text, double *value);

/* The same for digits with an optional sign. */
bool rt_whole_read(const char *text, int64_t *value);

/* The shortest text that reads as the same number; returns it. */
const char *rt_number_write(char text[RT_NUMBER_SIZE], double value);

/* The number for a reader: with so many decimals, at most 9, or with four digits and an exponent
 * from 1e7 on; "nan" whatever its sign. Returns the text. */
const char *rt_number_show(char text[RT_NUMBER_SIZE], int decimals, double value);

#endif
