#ifndef ROTOR_UTIL_KEY_VALUE_H
#define ROTOR_UTIL_KEY_VALUE_H

/* Values of keys as text, parsed and written by rows of a key table (core/key.h). `options` is the
 * struct of the table. */

#include "core/key.h"
#include "util/writer.h"

/* Writes "section.name", or only the name of a key without a section. Returns `text`. */
const char *rt_key_full_name(const rt_key *key, char text[RT_KEY_NAME_SIZE]);

/* Returns the row with a full name; NULL if there is none. */
const rt_key *rt_keys_find(const rt_key_table *table, const char *full_name);

/* Describes the values of a key: "from 1 to 64", "> 0 and < 1", "yes, no", "post, pre". */
const char *rt_key_values(const rt_key *key, char text[RT_VALUES_SIZE]);

/* Parses a value and sets the key. Returns false, with the options unchanged, if the key does not
 * accept the value; `problem` then has the reason: "must be a number > 0; got 'x'". If the heap is
 * exhausted, also returns false and sets problem->failed. */
bool rt_key_value_read(const rt_key *key, const char *value, void *options, rt_writer *problem);

/* Sets the key to a constant of the program, which the key must accept; a text is borrowed. */
void rt_key_value_set(const rt_key *key, const char *value, void *options);

/* Writes the key's value in the form that is parsed. Returns `text`; RT_KEY_VALUE has the memory of
 * the enclosing block. */
const char *rt_key_value_write(const rt_key *key, const void *options, char text[RT_VALUE_SIZE]);
#define RT_KEY_VALUE(key, options) rt_key_value_write(key, options, (char[RT_VALUE_SIZE]){0})

/* Copies the key's value; a text or a list is shared. */
void rt_key_value_copy(const rt_key *key, void *to, const void *from);

/* Returns whether the key has the same value in both options. */
bool rt_key_value_equal(const rt_key *key, const void *a, const void *b);

/* Sets every key of a table to its default. */
void rt_keys_set_defaults(const rt_key_table *table, void *options);

#endif
