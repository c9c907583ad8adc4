#ifndef ROTOR_DATA_TOKENIZERS_WORDPIECE_H
#define ROTOR_DATA_TOKENIZERS_WORDPIECE_H

#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/words.h"

/* The pieces of a WordPiece vocabulary (Schuster and Nakajima 2012, as BERT uses it), and how
 * words are cut into them: always the longest piece that fits; within a word those that begin
 * with ##. */

/* The most ids, the special ones included. */
enum { RT_PIECES_LIMIT = 1000000 };

/* "##" */
extern const char rt_piece_inside[];
enum { RT_PIECE_INSIDE_SIZE = 2 };

typedef struct rt_pieces rt_pieces;

/* Takes apart a vocab.txt of the vocabulary's level; errors are those of rt_vocabulary_read. Fills
 * in text, starts, count, special, pieces and newline_at_end of a vocabulary that has nothing but
 * its level and lowercase otherwise, also in part when it fails. */
rt_status rt_pieces_read(rt_vocabulary *v, const char *name, const unsigned char *bytes,
                         size_t size) RT_MUST_CHECK;
void rt_pieces_free(rt_pieces *pieces);

/* The longest piece that `bytes` of text, 1 at least, begin with, `inside` a word one with ##;
 * returns how many of the bytes it is, 0 if there is none. */
size_t rt_pieces_longest(const rt_pieces *pieces, bool inside, const char *text, size_t bytes,
                         int32_t *id);

/* Returns how many ids a word has, 0 if it cannot be cut. */
int rt_pieces_cut(const rt_pieces *pieces, const rt_word *word, int32_t ids[RT_WORD_CHARACTERS]);

#endif
