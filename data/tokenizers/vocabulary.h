#ifndef ROTOR_DATA_TOKENIZERS_VOCABULARY_H
#define ROTOR_DATA_TOKENIZERS_VOCABULARY_H

/* A vocabulary: the meaning of the token ids of a text, special tokens and ordinary ones, of which
 * texts are made. At the levels byte and char an ordinary token is a byte or a character; what is
 * said here of characters holds of bytes at level byte.
 *
 * Level byte has one vocabulary for all texts: byte b has the id 4 + b, and there are 260 ids.
 * At level char the characters come after [UNK], which stands for all others.
 *
 * At level wordpiece a vocabulary is that of a vocab.txt: a word is cut into the longest pieces
 * that are in it, those within a word with ## before them; a word that cannot be cut, or has more
 * than 100 characters, is [UNK]. The words are those of BERT (words.h), cased, or in lower case
 * without accents. Texts come out of it as pieces with spaces between, none before ##.
 *
 * As a file, vocab.txt, it is UTF-8 with a line for each id in their order from 0: [PAD],
 * [CLS], [MASK], [SEP], at level char [UNK], then the characters. A byte is 0x00 ... 0xff. A
 * character is itself, but \n, \r, \0 and \\ stand for newline, return, NUL and backslash.
 * At level wordpiece a line is a piece as it is, and the five special tokens stand anywhere.
 * Refused with their line are empty lines, a line twice, a byte order mark, returns before
 * newlines, and what is not UTF-8; the last newline may be missing.
 *
 * At level bpe a vocabulary is that of a tokenizer.json of Hugging Face's tokenizers with a
 * byte-level BPE (bpe.h): the model's pieces and the added tokens with their ids, between which an
 * id may mean nothing. [CLS] is the token that begins a text: what the post-processor puts there,
 * or else <|begin_of_text|>, <s>, <bos> or the like; without any it is [SEP], the one that ends a
 * text: what the post-processor puts there, or <|end_of_text|>, </s>, <eos>, <|endoftext|>. [PAD]
 * is <pad> or the like, and [SEP] without one; [MASK] is <mask> or the like. What there is none for
 * is RT_NO_ID, and so is [UNK] unless there is an unk_token: a byte that has no piece is left out
 * then, and counted.
 *
 * At level residue a vocabulary is the vocab.txt of ESM: a line is a token as it is, most of them
 * one letter; <pad>, <cls>, <mask>, <eos> and <unk> stand anywhere. At each place of a text the
 * longest token is taken; what no token covers is <unk>, once up to the next token or blank; blanks
 * are left out. Texts come out of it without blanks.
 *
 * Errors are RT_DATA and begin with `name`, that of the file in question. */

#include "core/choice.h"
#include "core/real.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

enum { RT_NO_ID = -1 };

typedef struct rt_special_ids {
    int32_t pad, cls, mask, sep; /* RT_NO_ID at level bpe alone, pad never */
    int32_t unknown;             /* RT_NO_ID: what the vocabulary lacks is an error */
} rt_special_ids;

/* The tokens with which a language model says that a text is over. Which they are belongs to the
 * model, not to the file of a vocabulary: one that has learned running text has none. */
enum { RT_MOST_ENDS = 8 };
typedef struct rt_end_ids {
    int count;
    int32_t ids[RT_MOST_ENDS];
} rt_end_ids;

/* Also where there is no vocabulary: in toy tasks and files of token ids. */
extern const rt_special_ids rt_default_special_ids;

/* The special tokens as a level writes them, in the order of rt_special_ids, and their ids. */
enum { RT_SPECIAL_TOKENS = 5 };
const char *rt_special_token(rt_level level, int i);
int32_t *rt_special_id(rt_special_ids *ids, int i);

/* Returns whether there is a token for padding only. */
bool rt_vocabulary_pads(const rt_special_ids *ids);

/* Properties of a vocab.txt or tokenizer.json beside its bytes. */
typedef struct rt_vocabulary_kind {
    rt_level level;
    bool lowercase; /* at level wordpiece */
    bool has_known; /* at level bpe: somebody knows these ids, if not RT_NO_ID, which hold for what
                       the file seems to have */
    rt_special_ids known;
    rt_end_ids ends; /* ids of the vocabulary */
} rt_vocabulary_kind;

/* Kind of an id: at level bpe it may mean nothing. */
typedef enum rt_token_kind { RT_TOKEN_NONE, RT_TOKEN_ORDINARY, RT_TOKEN_SPECIAL } rt_token_kind;

typedef struct rt_vocabulary {
    rt_level level;
    bool lowercase;
    int count; /* ids, those of the special tokens included */
    rt_special_ids special;
    rt_end_ids ends;
    char *text;        /* what each id is written as, a zero behind each */
    uint32_t *starts;  /* (count + 1): where it stands there */
    uint8_t *kinds;    /* (count): rt_token_kind */
    int32_t *ordinary; /* ids of the ordinary tokens, ascending */
    int ordinary_count;
    int32_t *ids;             /* levels byte and char: of every character; special.unknown for those
                                 that it lacks */
    struct rt_pieces *pieces; /* levels wordpiece and residue */
    struct rt_bpe *bpe;       /* level bpe */
    bool newline_at_end;      /* of the file */
} rt_vocabulary;

/* The most characters beside the special tokens at the levels byte and char. */
enum { RT_CHARACTERS_LIMIT = 65000 };

/* Tokens around a text with a label: those that tokenizer.json puts there, if any, else the tokens
 * that begin and end a text; RT_NO_ID: none. */
typedef struct rt_text_frame {
    int32_t first, last;
} rt_text_frame;
rt_text_frame rt_vocabulary_frame(const rt_vocabulary *v);

/* The vocabulary of level byte. */
rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new) RT_MUST_CHECK;

/* The characters of a text, which must be UTF-8, in the order of their code points. */
rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes) RT_MUST_CHECK;
void rt_vocabulary_free(rt_vocabulary *vocabulary);

/* From the bytes of a vocab.txt, whose last newline may be missing, or of a tokenizer.json. Errors
 * name the line, or the key. */
rt_status rt_vocabulary_read(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                             const char *name, const unsigned char *bytes,
                             size_t size) RT_MUST_CHECK;

/* The vocab.txt or tokenizer.json, as a string that the caller frees; at the levels wordpiece,
 * bpe and residue the bytes that were read. */
rt_status rt_vocabulary_write(const rt_vocabulary *vocabulary, char **text_new) RT_MUST_CHECK;

/* A vocabulary of its own that equals this one. */
rt_status rt_vocabulary_copy(rt_vocabulary **copy_new,
                             const rt_vocabulary *vocabulary) RT_MUST_CHECK;

/* Returns the properties that rt_vocabulary_read needs to read the output of rt_vocabulary_write.
 */
rt_vocabulary_kind rt_vocabulary_kind_of(const rt_vocabulary *vocabulary);

/* Returns the name of its file: vocab.txt or tokenizer.json. */
const char *rt_vocabulary_file(const rt_vocabulary *vocabulary);

/* Returns whether every id means the same, and texts have the same ids; NULL equals only NULL. */
bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b);

/* The ordinary tokens, all but the special ones: how many, the id of a rank below that number,
 * whether an id is one. */
int rt_vocabulary_ordinary_tokens(const rt_vocabulary *vocabulary);
int32_t rt_vocabulary_ordinary_token(const rt_vocabulary *vocabulary, int rank);
bool rt_vocabulary_is_ordinary(const rt_vocabulary *vocabulary, int32_t id);

/* Returns whether a token ends a text; it may be an ordinary one as well. */
bool rt_vocabulary_is_end(const rt_vocabulary *vocabulary, int32_t id);

/* Makes -infinity of the logits, one for each id, of what cannot come next in a text: special
 * tokens, except where `ends` those that end one. */
void rt_vocabulary_mask_logits(const rt_vocabulary *vocabulary, bool ends, real *logits);

/* ---- from text to ids ---- */

/* Checks that a text can be encoded: it must be UTF-8, except at level byte. */
rt_status rt_vocabulary_check(const rt_vocabulary *vocabulary, const char *name,
                              const unsigned char *text, size_t bytes) RT_MUST_CHECK;

/* The most ids that a text of so many bytes can have; SIZE_MAX if there are more. At level bpe
 * words may get a space before them, or other characters in NFC; at the other levels an id is a
 * byte at least. */
size_t rt_vocabulary_most_ids(const rt_vocabulary *vocabulary, size_t bytes);

/* The most bytes of a text whose ids can be counted in an int. */
int rt_vocabulary_most_bytes(const rt_vocabulary *vocabulary);

/* The ids of a text, at most rt_vocabulary_most_ids. What looks like a special token is text.
 * RT_ARGUMENT names what is not UTF-8, and where it stands; RT_MEMORY. */
rt_status rt_vocabulary_encode(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                               int32_t *ids, int *count, rt_unknown *unknown) RT_MUST_CHECK;

/* Encodes a text in which special tokens ("[SEP]", in capitals; at level residue "<eos>", at level
 * bpe those of the file) are these tokens, as Hugging Face reads it. Not for running text, which
 * may mention [MASK] without hiding anything. */
rt_status rt_vocabulary_encode_special(const rt_vocabulary *vocabulary, const char *text,
                                       size_t bytes, int32_t *ids, int *count,
                                       rt_unknown *unknown) RT_MUST_CHECK;

/* Encodes a text of any size as rt_vocabulary_encode or, with `special`, as
 * rt_vocabulary_encode_special, and passes each id to `take`. */
typedef void rt_id_taker(void *context, int32_t id);
rt_status rt_vocabulary_encode_to(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                                  bool special, rt_id_taker *take, void *context,
                                  rt_unknown *unknown) RT_MUST_CHECK;

/* Adds what is unknown in a part, which begins `before` bytes into the whole; `at` and `name` stay
 * those of the first that the whole had. */
void rt_unknown_add(rt_unknown *whole, const rt_unknown *part, size_t before);

/* ---- from ids to text ---- */

/* The text of an ordinary token, zero-terminated, and its size in bytes; a piece within a word with
 * its ##. NULL for a special token and for what is no id. */
const char *rt_vocabulary_decode(const rt_vocabulary *vocabulary, int32_t id, size_t *size);

/* Continuation of a text by an id: its bytes, without ##, and whether a space precedes them unless
 * they are the first. A special token has its name as bytes; an invalid id has none. */
typedef struct rt_spelling {
    const char *bytes;
    size_t size;
    bool space;
} rt_spelling;
rt_spelling rt_vocabulary_spell(const rt_vocabulary *vocabulary, int32_t id);

/* The bytes of text that an id stands for; -1 where they are not known: of a special token, and at
 * level wordpiece, which does not keep the spaces of a text. */
int rt_vocabulary_bytes(const rt_vocabulary *vocabulary, int32_t id);

/* The text of a sequence, as spelled, zero-terminated; the caller frees it. */
rt_status rt_vocabulary_decode_all(const rt_vocabulary *vocabulary, const int32_t *ids, int count,
                                   char **text_new, size_t *bytes) RT_MUST_CHECK;

#endif
