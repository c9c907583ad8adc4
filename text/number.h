#ifndef ROTOR_TEXT_NUMBER_H
#define ROTOR_TEXT_NUMBER_H

/* Numbers and lists as text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- numbers ---- */

/* Numbers as text: decimal, with a point, whatever the locale. */

enum { RT_NUMBER_SIZE = 32 };

/* Returns whether the whole text is one decimal number, also one that no double can hold. */
bool rt_number_is_decimal(const char *text);

/* False unless the whole text is one decimal number that a double can hold: no
 * hexadecimal, nan, inf, 1e999 or 1e-999, nothing before or after it. */
bool rt_number_read(const char *text, double *value);

/* Reads digits with an optional sign. */
bool rt_whole_read(const char *text, int64_t *value);

/* The shortest text that reads as the same number; returns it. */
const char *rt_number_write(char text[RT_NUMBER_SIZE], double value);

/* The number for a reader: with so many decimals, at most 9, or with four digits and an exponent
 * from 1e7 on; "nan" whatever its sign. Returns the text. */
const char *rt_number_show(char text[RT_NUMBER_SIZE], int decimals, double value);

/* ---- numbers in files ---- */

/* Write and read the lowest `size` bytes of a number, little endian whatever the machine. */
void rt_put_little_endian(unsigned char *at, uint64_t number, size_t size);
uint64_t rt_little_endian(const unsigned char *at, size_t size);

/* ---- lists ---- */

/* A list with commas between its items: "a, b,c". Spaces around an item do not belong to it; a
 * list always has an item, which may be empty. */

typedef struct rt_list_item {
    const char *start; /* in the list, not terminated */
    size_t length;
} rt_list_item;

/* The first item. Returns what follows its comma, NULL after the last. */
const char *rt_list_take(const char *list, rt_list_item *item);

bool rt_list_item_is(rt_list_item item, const char *text);

/* Copies and terminates the item; one that does not fit is cut, and false. */
bool rt_list_item_copy(rt_list_item item, char *text, size_t size);

/* Returns whether the text is an item of the list. */
bool rt_list_has(const char *list, const char *text);

#endif
