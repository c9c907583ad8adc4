#ifndef ROTOR_DATA_VOCABULARY_H
#define ROTOR_DATA_VOCABULARY_H

/* What the token ids of a text mean: special tokens, and the units of text.
 *
 * Level byte has one vocabulary for all texts: byte b has the id 4 + b, and there are 260 ids.
 * At level char the characters come after [UNK], which stands for all others.
 *
 * As a file, vocab.txt, it is UTF-8 with a line for each id in their order from 0: [PAD],
 * [CLS], [MASK], [SEP], at level char [UNK], then the units. A byte is 0x00 ... 0xff. A
 * character is itself, but \n, \r, \0 and \\ stand for newline, return, NUL and backslash.
 *
 * An alphabet is what checkpoints of version 1 have: the units that occur in the training
 * text, ascending, from id 4 on. It has no [UNK]: any other unit is an error.
 *
 * Errors are RT_DATA and begin with `name`, that of the file in question. */

#include "data/data.h"

#include <stdbool.h>

enum { RT_NO_ID = -1 };

typedef struct rt_special_ids {
    int32_t pad, cls, mask, sep;
    int32_t unknown; /* RT_NO_ID: a unit that is not in the vocabulary is an error */
} rt_special_ids;

/* Also where there is no vocabulary: in toy tasks and files of token ids. */
extern const rt_special_ids rt_default_special_ids;

struct rt_vocabulary {
    rt_level level;
    bool alphabet;
    int count; /* ids, those of the special tokens included */
    rt_special_ids special;
    int32_t *units; /* (count): what each id means; RT_NO_UNIT for a special token */
    int32_t *ids;   /* of every unit there can be; special.unknown for those that it lacks */
};
enum { RT_NO_UNIT = -1 };

/* The most units beside the special tokens, so that an id has 16 bits. */
enum { RT_UNITS_LIMIT = 65000 };

/* The vocabulary of level byte. */
rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new) RT_MUST_CHECK;

/* The characters of a text, which must be UTF-8, in the order of their code points. */
rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes) RT_MUST_CHECK;

/* The alphabet of a text, which is also that of its own units, one after the other. */
rt_status rt_vocabulary_of_alphabet(rt_vocabulary **vocabulary_new, rt_level level,
                                    const char *name, const unsigned char *text,
                                    size_t bytes) RT_MUST_CHECK;

/* Different units of a level; their ids are in the same order. */
rt_status rt_vocabulary_of_units(rt_vocabulary **vocabulary_new, rt_level level, bool alphabet,
                                 const int32_t *units, int count) RT_MUST_CHECK;
void rt_vocabulary_free(rt_vocabulary *vocabulary);

/* From the bytes of a vocab.txt, whose last newline may be missing. Errors name the line. */
rt_status rt_vocabulary_read(rt_vocabulary **vocabulary_new, rt_level level, bool alphabet,
                             const char *name, const unsigned char *bytes,
                             size_t size) RT_MUST_CHECK;

/* The vocab.txt, as a string that the caller frees. */
rt_status rt_vocabulary_write(const rt_vocabulary *vocabulary, char **text_new) RT_MUST_CHECK;

/* Whether every id means the same; NULL equals NULL alone. */
bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b);

/* The ids that stand for units of text: how many, the one of a rank, whether this is one. */
int rt_vocabulary_units(const rt_vocabulary *vocabulary);
int32_t rt_vocabulary_unit(const rt_vocabulary *vocabulary, int rank);
bool rt_vocabulary_is_unit(const rt_vocabulary *vocabulary, int32_t id);

/* Whether a text can be encoded: it is UTF-8, and an alphabet has all of its units. */
rt_status rt_vocabulary_check(const rt_vocabulary *vocabulary, const char *name,
                              const unsigned char *text, size_t bytes) RT_MUST_CHECK;

/* The ids of a text, at most as many as it has bytes. RT_ARGUMENT names what is not UTF-8 or
 * not in the alphabet, and where it stands. */
rt_status rt_vocabulary_encode(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                               int32_t *ids, int *count, rt_unknown *unknown) RT_MUST_CHECK;

/* The unit of an id, zero-terminated; returns its size in bytes, 0 for a special token and
 * for what is no id. */
size_t rt_vocabulary_decode(const rt_vocabulary *vocabulary, int32_t id, char unit[RT_UNIT_SIZE]);

#endif
