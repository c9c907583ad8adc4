#ifndef ROTOR_DATA_TOKENIZERS_LEVEL_H
#define ROTOR_DATA_TOKENIZERS_LEVEL_H

/* What the tokens of a text are, and what of it has no token. */

#include "core/choice.h"
#include "core/status.h"

#include <stddef.h>

/* What a text is cut into: bytes, the code points of UTF-8, pieces of words as BERT has them, runs
 * of bytes that byte pair encoding has joined, or the residues of a protein as ESM has them. */
#define RT_LEVELS(X)                                                                               \
    X(RT_LEVEL_BYTE, "byte")                                                                       \
    X(RT_LEVEL_CHAR, "char")                                                                       \
    X(RT_LEVEL_WORDPIECE, "wordpiece") X(RT_LEVEL_BPE, "bpe") X(RT_LEVEL_RESIDUE, "residue")
typedef enum rt_level { RT_LEVELS(RT_CHOICE_VALUE) } rt_level;

/* What of a text the vocabulary lacks and what is read as [UNK]: characters, or whole words. */
typedef struct rt_unknown {
    size_t count;
    size_t at;                    /* the byte where the first of them stands */
    char name[RT_WORD_NAME_SIZE]; /* what it is, for a message */
} rt_unknown;

#endif
