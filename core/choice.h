#ifndef ROTOR_CORE_CHOICE_H
#define ROTOR_CORE_CHOICE_H

/* Values of keys. One list defines an enumeration and its words, so that they cannot diverge:
 *
 *     #define RT_PAIRINGS(X) X(RT_INTERLEAVED, "interleaved") X(RT_HALF, "half")
 *     typedef enum rt_pairing { RT_PAIRINGS(RT_CHOICE_VALUE) } rt_pairing;
 *     static const char *const words[] = { RT_PAIRINGS(RT_CHOICE_WORD) NULL };
 */

#define RT_CHOICE_VALUE(value, word) value,
#define RT_CHOICE_WORD(value, word)  word,

/* Factors of theta, one for each pair. */
enum { RT_MOST_FACTORS = 256 };
typedef struct rt_factors {
    int count;
    const double *at; /* borrowed; a shared copy (core/memory.h) if parsed */
} rt_factors;

/* Lengths of sequences, in tokens. */
enum { RT_MOST_LENGTHS = 8 };
typedef struct rt_lengths {
    int count;
    int at[RT_MOST_LENGTHS];
} rt_lengths;

/* A number, or all from `least` to `most`, written "least..most". */
typedef struct rt_interval {
    int most;
    int least; /* 0: `most` alone */
} rt_interval;

/* Values of a choice, one for each layer. */
enum { RT_MOST_LAYER_WORDS = 1000 };
typedef struct rt_layer_words {
    int count;
    unsigned char at[RT_MOST_LAYER_WORDS];
} rt_layer_words;

#endif
