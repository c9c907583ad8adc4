#ifndef ROTOR_UTIL_SUGGEST_H
#define ROTOR_UTIL_SUGGEST_H

/* "did you mean": finds the name nearest to a mistyped one.
 *
 *     rt_nearest nearest = {.written = "learnig_rate"};
 *     for each name
 *         rt_nearest_try(&nearest, name, name);
 *     if (nearest.name) ...
 */

typedef struct rt_nearest {
    const char *written;
    const char *name; /* NULL until a name is near */
    int cost;
} rt_nearest;

/* Tries a name by a spelling: itself, or learning_rate for lr. Near are: a few letters wrong,
 * missing, added or swapped (up to a third of the longer name); the initials of its words (wd for
 * weight_decay); or whole words that are at least half of the longer name (num_layers for layers).
 * The nearest name wins, the first of equals. */
void rt_nearest_try(rt_nearest *nearest, const char *spelled, const char *name);

#endif
