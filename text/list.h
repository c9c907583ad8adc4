#ifndef ROTOR_TEXT_LIST_H
#define ROTOR_TEXT_LIST_H

/* A list with commas between its items: "a, b,c". Spaces around an item do not belong to it; a
 * list always has an item, which may be empty. */

#include <stdbool.h>
#include <stddef.h>

typedef struct rt_list_item {
    const char *start; /* in the list, not terminated */
    size_t length;
} rt_list_item;

/* The first item. Returns what follows its comma, NULL after the last. */
const char *rt_list_take(const char *list, rt_list_item *item);

bool rt_list_item_is(rt_list_item item, const char *text);

/* Copies and terminates the item; one that does not fit is cut, and false. */
bool rt_list_item_copy(rt_list_item item, char *text, size_t size);

/* Whether the text is an item of the list. */
bool rt_list_has(const char *list, const char *text);

#endif
