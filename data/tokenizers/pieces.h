#ifndef ROTOR_DATA_TOKENIZERS_PIECES_H
#define ROTOR_DATA_TOKENIZERS_PIECES_H

/* Strings sorted by their bytes, of which the longest one that a text begins with is found: the
 * pieces of a WordPiece vocabulary (Schuster and Nakajima 2012, as BERT uses it), the residues of
 * ESM, and the added tokens of a byte-level BPE. */

#include "data/tokenizers/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a piece within a word begins with. */
extern const char rt_piece_inside[]; /* "##" */
enum { RT_PIECE_INSIDE_SIZE = 2 };

/* The most ids of a WordPiece vocabulary, the special ones included. */
enum { RT_PIECES_LIMIT = 1000000 };

typedef struct rt_piece {
    const char *text; /* zero-terminated; borrowed */
    int32_t id;
} rt_piece;

/* Pieces from low to high - 1. Those that begin alike are neighbours, so that a longer and longer
 * part of a text is looked for in a smaller and smaller range. */
typedef struct rt_piece_range {
    int32_t low, high;
} rt_piece_range;

typedef struct rt_pieces {
    int32_t count;
    rt_piece *sorted;
    rt_piece_range first[2][256]; /* those that begin with a byte; with ## and a byte */
} rt_pieces;

/* Makes room for so many pieces, which the caller fills in; false if the heap is exhausted. */
bool rt_pieces_allocate(rt_pieces *pieces, int32_t count);

/* Sorts the pieces. Returns the second of two with the same text, by their ids; NULL if all differ.
 */
const rt_piece *rt_pieces_sort(rt_pieces *pieces);

/* The longest piece that `bytes` of text, 1 at least, begin with, `inside` a word one with ##;
 * returns how many of the bytes it is, 0 if there is none. */
size_t rt_pieces_longest(const rt_pieces *pieces, bool inside, const unsigned char *text,
                         size_t bytes, int32_t *id);

/* Cuts a word: always the longest piece that fits. Returns how many ids it has, 0 if it cannot be
 * cut. */
int rt_pieces_cut(const rt_pieces *pieces, const rt_word *word, int32_t ids[RT_WORD_CHARACTERS]);

#endif
