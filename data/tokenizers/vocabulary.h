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

#include "core/real.h"
#include "core/status.h"
#include "data/tokenizers/level.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters or words that a vocabulary lacks, which are encoded as [UNK]. */
typedef struct rt_unknown {
    size_t count;
    size_t at;                    /* byte offset of the first */
    char name[RT_WORD_NAME_SIZE]; /* name of the first, for a message */
} rt_unknown;

/* Tokens with which a language model ends a text. They belong to the model, not to the file of its
 * vocabulary: a model of running text has none. */
enum { RT_MOST_ENDS = 8 };
typedef struct rt_end_ids {
    int count;
    int32_t ids[RT_MOST_ENDS];
} rt_end_ids;

/* Properties of a vocab.txt or tokenizer.json beside its bytes. */
typedef struct rt_vocabulary_kind {
    rt_level level;
    bool lowercase; /* at level wordpiece */
    bool has_known; /* at level bpe: `known`, where it is not RT_NO_ID, replaces the file's ids */
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
    char *text;        /* text of each id with a zero after it */
    uint32_t *starts;  /* (count + 1): offset of each id in `text` */
    uint8_t *kinds;    /* (count): rt_token_kind */
    int32_t *ordinary; /* ids of the ordinary tokens, ascending */
    int ordinary_count;
    int32_t *ids;             /* levels byte and char: id of each character, or special.unknown */
    struct rt_pieces *pieces; /* levels wordpiece and residue */
    struct rt_bpe *bpe;       /* level bpe */
    bool newline_at_end;      /* of the file */
} rt_vocabulary;

/* Limit of the characters, without special tokens, at the levels byte and char. */
enum { RT_CHARACTERS_LIMIT = 65000 };

/* Tokens around a text with a label, or RT_NO_ID. */
typedef struct rt_text_frame {
    int32_t first, last;
} rt_text_frame;

/* Returns the tokens that tokenizer.json puts around a text, or else those that begin and end one.
 */
rt_text_frame rt_vocabulary_frame(const rt_vocabulary *v);

/* Creates the vocabulary of level byte. */
rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new) RT_MUST_CHECK;

/* Creates the vocabulary of the characters of a text, in the order of their code points. RT_DATA,
 * which begins with `name`, if the text is not UTF-8 or has too many of them. */
rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes) RT_MUST_CHECK;

/* Lists the ordinary tokens by `kinds`. Returns whether there is one. */
bool rt_vocabulary_list_ordinary(rt_vocabulary *v);

/* Allocates one flag for each code point, none of them set, for characters of texts that are read
 * part by part. The caller frees them. NULL if the heap is exhausted. */
bool *rt_characters_new(void) RT_MUST_CHECK;

/* Sets the flags, `seen`, of the characters of a part, which must be UTF-8. */
void rt_characters_see(void *seen, const unsigned char *text, size_t bytes);

/* Creates the vocabulary of the characters, at level byte the bytes, whose flag is set, in their
 * order. RT_DATA, which begins with `name`, if there are more than RT_CHARACTERS_LIMIT. */
rt_status rt_vocabulary_of_seen(rt_vocabulary **vocabulary_new, rt_level level, const char *name,
                                const bool *seen) RT_MUST_CHECK;

void rt_vocabulary_free(rt_vocabulary *vocabulary);

/* Reads a vocab.txt, whose last newline may be missing, or a tokenizer.json. Errors name the line
 * or the key. */
rt_status rt_vocabulary_read(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                             const char *name, const unsigned char *bytes,
                             size_t size) RT_MUST_CHECK;

/* Writes a vocab.txt or tokenizer.json to a string that the caller frees; at the levels wordpiece,
 * bpe and residue it has the bytes that were read. */
rt_status rt_vocabulary_write(const rt_vocabulary *vocabulary, char **text_new) RT_MUST_CHECK;

/* Copies a vocabulary. */
rt_status rt_vocabulary_copy(rt_vocabulary **copy_new,
                             const rt_vocabulary *vocabulary) RT_MUST_CHECK;

/* Returns the properties that rt_vocabulary_read needs to read the output of rt_vocabulary_write.
 */
rt_vocabulary_kind rt_vocabulary_kind_of(const rt_vocabulary *vocabulary);

/* Returns the name of its file: vocab.txt or tokenizer.json. */
const char *rt_vocabulary_file(const rt_vocabulary *vocabulary);

/* Returns whether every id means the same, and texts have the same ids; NULL equals only NULL. */
bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b);

/* Returns the number of ordinary tokens, which are all but the special ones; the id of the ordinary
 * token of a rank below it; whether an id is one. */
int rt_vocabulary_ordinary_tokens(const rt_vocabulary *vocabulary);
int32_t rt_vocabulary_ordinary_token(const rt_vocabulary *vocabulary, int rank);
bool rt_vocabulary_is_ordinary(const rt_vocabulary *vocabulary, int32_t id);

/* Returns whether a token ends a text; it may be an ordinary one as well. */
bool rt_vocabulary_is_end(const rt_vocabulary *vocabulary, int32_t id);

/* Sets the logits, one for each id, of tokens that cannot come next in a text to -infinity: the
 * special ones, but with `ends` not those that end a text. */
void rt_vocabulary_mask_logits(const rt_vocabulary *vocabulary, bool ends, real *logits);

/* ---- from text to ids ---- */

/* Checks that a text can be encoded: it must be UTF-8, except at level byte. */
rt_status rt_vocabulary_check(const rt_vocabulary *vocabulary, const char *name,
                              const unsigned char *text, size_t bytes) RT_MUST_CHECK;

/* Returns a bound of the number of ids of a text of that many bytes, at most SIZE_MAX. At level bpe
 * words may get a space before them, or other characters in NFC; at the other levels an id is a
 * byte at least. */
size_t rt_vocabulary_most_ids(const rt_vocabulary *vocabulary, size_t bytes);

/* Returns the largest number of bytes for which that bound is an int. */
int rt_vocabulary_most_bytes(const rt_vocabulary *vocabulary);

/* Encodes a text, in which a special token is text like other text, to at most
 * rt_vocabulary_most_ids ids. RT_ARGUMENT names the first byte that is not UTF-8; RT_MEMORY. */
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

/* Adds the unknown characters or words of a part that begins `before` bytes into the whole; `at`
 * and `name` stay those of the first. */
void rt_unknown_add(rt_unknown *whole, const rt_unknown *part, size_t before);

/* ---- from ids to text ---- */

/* Returns the text of an ordinary token, zero-terminated, and its size in bytes; a piece within a
 * word has its ##. NULL for other ids. */
const char *rt_vocabulary_decode(const rt_vocabulary *vocabulary, int32_t id, size_t *size);

/* Continuation of a text by an id: its bytes, without ##, and whether a space precedes them unless
 * they are the first. A special token has its name as bytes; an invalid id has none. */
typedef struct rt_spelling {
    const char *bytes;
    size_t size;
    bool space;
} rt_spelling;

/* Returns the continuation by an id. */
rt_spelling rt_vocabulary_spell(const rt_vocabulary *vocabulary, int32_t id);

/* Returns the number of bytes of text of an id; -1 if it is not known: of a special token, and at
 * level wordpiece, which does not keep the spaces of a text. */
int rt_vocabulary_bytes(const rt_vocabulary *vocabulary, int32_t id);

/* Decodes a sequence to a text, zero-terminated, that the caller frees. */
rt_status rt_vocabulary_decode_all(const rt_vocabulary *vocabulary, const int32_t *ids, int count,
                                   char **text_new, size_t *bytes) RT_MUST_CHECK;

#endif
