#ifndef ROTOR_TRAIN_TEXT_SUGGEST_H
#define ROTOR_TRAIN_TEXT_SUGGEST_H

/* "did you mean": the nearest of some names to what somebody wrote.
 *
 *     rt_nearest nearest = {.written = "learnig_rate"};
 *     for each name
 *         rt_nearest_try(&nearest, name);
 *     if (nearest.name) ...
 */

typedef struct rt_nearest {
    const char *written;
    const char *name; /* NULL while nothing is near */
    int cost;
} rt_nearest;

/* Near is: a few letters wrong, missing, too many or swapped (up to a third of
 * them); the initials of its words (lr for learning_rate), or the reverse; or a
 * word or more of it (num_layers for layers). The nearest wins, the first of equals. */
void rt_nearest_try(rt_nearest *nearest, const char *name);

#endif
