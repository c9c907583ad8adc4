#ifndef ROTOR_CORE_CHOICE_H
#define ROTOR_CORE_CHOICE_H

/* An enumeration and the words for it, from one list, so that they cannot drift
 * apart:
 *
 *     #define RT_PAIRINGS(X) X(RT_INTERLEAVED, "interleaved") X(RT_HALF, "half")
 *     typedef enum rt_pairing { RT_PAIRINGS(RT_CHOICE_VALUE) } rt_pairing;
 *     static const char *const words[] = { RT_PAIRINGS(RT_CHOICE_WORD) NULL };
 */

#define RT_CHOICE_VALUE(value, word) value,
#define RT_CHOICE_WORD(value, word)  word,

#endif
