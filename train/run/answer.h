#ifndef ROTOR_TRAIN_RUN_ANSWER_H
#define ROTOR_TRAIN_RUN_ANSWER_H

/* Answers of --predict --jsonl: an object of JSON a line, written by Jansson. Its functions give
 * NULL when the heap is exhausted, and take NULL, so that only the end needs a check. */

#include "core/status.h"

#include <jansson.h>
#include <stdio.h>

/* A string of any bytes. JSON is UTF-8: what is none becomes U+FFFD, as in a continuation that is
 * printed (text/utf8_stream.h). */
json_t *rt_answer_string(const char *bytes, size_t size);

/* null for what is not finite, which JSON has no number for. */
json_t *rt_answer_number(double x);

/* Prints the object, a newline behind it, and gives it back. Failures of the file are its own
 * affair (ferror). */
rt_status rt_answer_print(FILE *to, json_t *answer) RT_MUST_CHECK;

#endif
