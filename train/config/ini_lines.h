#ifndef ROTOR_TRAIN_CONFIG_INI_LINES_H
#define ROTOR_TRAIN_CONFIG_INI_LINES_H

/* An INI file as a sequence of lines that say something. */

#include <stdio.h>

/* The longest line, in bytes, and the largest file. */
#define RT_INI_LONGEST_LINE 8190
enum { RT_INI_LARGEST_FILE = 1 << 24 };

typedef struct rt_ini_events {
    void (*section)(void *user, int line, const char *name); /* NULL for a broken header */
    void (*pair)(void *user, int line, const char *key, const char *value);
    void (*problem)(void *user, int line, const char *message);
} rt_ini_events;

/* Reads the text, or the file if text is NULL, and reports every line in order, from 1.
 * White space around a line, a key and a value does not count, so an indented line is a
 * line like any other; nor does a byte order mark. Comments start with ; or # at the start
 * of a line, and with ; after white space. The strings live as long as the call of the
 * event. Whether the file could be read is for the caller to ask (ferror). */
void rt_ini_lines(FILE *file, const char *text, const rt_ini_events *events, void *user);

#endif
