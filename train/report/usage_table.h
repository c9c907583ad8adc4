#ifndef ROTOR_TRAIN_REPORT_USAGE_TABLE_H
#define ROTOR_TRAIN_REPORT_USAGE_TABLE_H

/* The usage of pairs as a table, a row for each layer that rope turns in, query head and pair:
 *
 *   theta, turns          what the pair rotates by in texts of `length` tokens; full turns of it
 *                         over the distance that attention reaches
 *   use                   its share of the head's query and key weights, |W_q rows| |W_k rows|
 *   query, key            the mean length of its queries and keys before their rotation, over the
 *                         mean of the head's pairs
 *   query_mean, key_mean  likewise the length of their mean over the tokens
 *
 * Heads that share their keys have the same key and key_mean. */

#include "models/usage.h"

/* In a new text; NULL if memory is short. */
char *rt_usage_csv(const rt_transformer *model, const rt_usage *usage, int length);

#endif
