#ifndef ROTOR_CORE_LISTS_H
#define ROTOR_CORE_LISTS_H

/* Short lists of numbers, as values of keys. */

/* Factors of theta, one for each pair. */
enum { RT_MOST_FACTORS = 256 };
typedef struct rt_factors {
    int count;
    const double *at; /* borrowed; a shared copy if it was read (core/memory.h) */
} rt_factors;

/* Lengths of sequences, in tokens. */
enum { RT_MOST_LENGTHS = 8 };
typedef struct rt_lengths {
    int count;
    int at[RT_MOST_LENGTHS];
} rt_lengths;

/* Values of a choice, one for each layer. */
enum { RT_MOST_LAYER_WORDS = 1000 };
typedef struct rt_layer_words {
    int count;
    unsigned char at[RT_MOST_LAYER_WORDS];
} rt_layer_words;

#endif
