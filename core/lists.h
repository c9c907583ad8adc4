#ifndef ROTOR_CORE_LISTS_H
#define ROTOR_CORE_LISTS_H

/* Short lists of numbers, as values of keys. */

/* Of factors of theta, one for each pair. */
enum { RT_MOST_FACTORS = 256 };
typedef struct rt_factors {
    int count;
    double at[RT_MOST_FACTORS];
} rt_factors;

/* Of lengths of sequences, in tokens. */
enum { RT_MOST_LENGTHS = 8 };
typedef struct rt_lengths {
    int count;
    int at[RT_MOST_LENGTHS];
} rt_lengths;

#endif
