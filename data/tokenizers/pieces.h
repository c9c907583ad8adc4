#ifndef ROTOR_DATA_TOKENIZERS_PIECES_H
#define ROTOR_DATA_TOKENIZERS_PIECES_H

/* Sorted strings with a search for the longest one at the start of a text: the pieces of WordPiece
 * (Schuster and Nakajima 2012, as in BERT), the residues of ESM, and the added tokens of byte-level
 * BPE. */

#include "data/tokenizers/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prefix of a piece inside a word. */
extern const char rt_piece_inside[]; /* "##" */
enum { RT_PIECE_INSIDE_SIZE = 2 };

/* Limit of the ids of a WordPiece vocabulary, special tokens included. */
enum { RT_PIECES_LIMIT = 1000000 };

typedef struct rt_piece {
    const char *text; /* zero-terminated; borrowed */
    int32_t id;
} rt_piece;

/* Pieces low ... high - 1. Pieces with a common prefix are adjacent, so a longer prefix is searched
 * in a smaller range. */
typedef struct rt_piece_range {
    int32_t low, high;
} rt_piece_range;

typedef struct rt_pieces {
    int32_t count;
    rt_piece *sorted;
    rt_piece_range first[2][256]; /* by first byte; by the byte after ## */
} rt_pieces;

/* Sorts the pieces, which the caller has filled in. Returns the second of two with the same text
 * (the higher id), NULL if all differ. */
const rt_piece *rt_pieces_sort(rt_pieces *pieces);

/* Finds the longest piece at the start of a text of at least one byte; `inside` a word, one with
 * ##. Returns the matched bytes, 0 if there is none. */
size_t rt_pieces_longest(const rt_pieces *pieces, bool inside, const unsigned char *text,
                         size_t bytes, int32_t *id);

/* Splits a word into the longest pieces, from left to right. Returns the number of ids, 0 if it
 * cannot be split. */
int rt_pieces_cut(const rt_pieces *pieces, const rt_word *word, int32_t ids[RT_WORD_CHARACTERS]);

#endif
