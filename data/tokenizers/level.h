#ifndef ROTOR_DATA_TOKENIZERS_LEVEL_H
#define ROTOR_DATA_TOKENIZERS_LEVEL_H

/* Levels of tokens, and the parts of a text that have no token. */

#include "core/choice.h"
#include "core/status.h"

#include <stddef.h>

/* Kind of tokens of a text: bytes, code points of UTF-8, pieces of words as in BERT, runs of bytes
 * joined by byte pair encoding, or residues of a protein as in ESM. */
#define RT_LEVELS(X)                                                                               \
    X(RT_LEVEL_BYTE, "byte")                                                                       \
    X(RT_LEVEL_CHAR, "char")                                                                       \
    X(RT_LEVEL_WORDPIECE, "wordpiece") X(RT_LEVEL_BPE, "bpe") X(RT_LEVEL_RESIDUE, "residue")
typedef enum rt_level { RT_LEVELS(RT_CHOICE_VALUE) } rt_level;

/* Characters or words that the vocabulary lacks and that are read as [UNK]. */
typedef struct rt_unknown {
    size_t count;
    size_t at;                    /* the byte where the first of them stands */
    char name[RT_WORD_NAME_SIZE]; /* what it is, for a message */
} rt_unknown;

#endif
