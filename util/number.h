#ifndef ROTOR_UTIL_NUMBER_H
#define ROTOR_UTIL_NUMBER_H

/* Numbers and lists as text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_NUMBER_SIZE = 32 };

/* Returns whether the whole text is one decimal number, even if it does not fit a double. */
bool rt_number_is_decimal(const char *text);

/* Parses a decimal number, with a point in every locale. Returns false unless the whole text is one
 * decimal number that fits a double: no hexadecimal, nan, inf, 1e999 or 1e-999, nothing before or
 * after it. */
bool rt_number_parse(const char *text, double *value);

/* Parses an integer: digits with an optional sign. Returns false if the text is not one or does not
 * fit. */
bool rt_integer_parse(const char *text, int64_t *value);

/* Writes a text of at most 17 digits that parses as the same number. Returns `text`. */
const char *rt_number_write(char text[RT_NUMBER_SIZE], double value);

/* Writes a number for a reader: with `decimals`, at most 9, or with four digits and an exponent
 * from 1e7 on; "nan" with either sign. Returns `text`. */
const char *rt_number_show(char text[RT_NUMBER_SIZE], int decimals, double value);

/* The same text in memory of the enclosing block. */
#define RT_SHOWN(decimals, value) rt_number_show((char[RT_NUMBER_SIZE]){0}, decimals, value)

/* Writes, and reads, the lowest `size` bytes of a number in little-endian order on
 * every machine. */
void rt_put_little_endian(unsigned char *at, uint64_t number, size_t size);
uint64_t rt_little_endian(const unsigned char *at, size_t size);

/* A list of comma-separated items: "a, b,c". Spaces around an item are ignored. A list always has
 * an item, which may be empty. */

typedef struct rt_list_item {
    const char *start; /* in the list, not terminated */
    size_t length;
} rt_list_item;

/* Parses the first item. Returns the text after its comma, NULL after the last item. */
const char *rt_list_parse(const char *list, rt_list_item *item);

bool rt_list_item_is(rt_list_item item, const char *text);

/* Copies and terminates the item. Returns false if it does not fit and is truncated. */
bool rt_list_item_copy(rt_list_item item, char *text, size_t size);

/* Returns whether the text is an item of the list. */
bool rt_list_has(const char *list, const char *text);

#endif
