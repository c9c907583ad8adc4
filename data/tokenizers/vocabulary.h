#ifndef ROTOR_DATA_TOKENIZERS_VOCABULARY_H
#define ROTOR_DATA_TOKENIZERS_VOCABULARY_H

/* A vocabulary: the text of each token id. Ordinary tokens make up texts; special tokens have other
 * roles. At the levels byte and char an ordinary token is a byte or a character ("character" below
 * means both).
 *
 * Level byte has one vocabulary of 260 ids; byte b has the id 4 + b. At level char the characters
 * of a text follow [UNK], which stands for all others.
 *
 * A vocab.txt is UTF-8 with one line per id from 0: [PAD], [CLS], [MASK], [SEP], at level char
 * [UNK], then the characters. A byte is written 0x00 ... 0xff. Newline, return, NUL and backslash
 * are written \n, \r, \0 and \\. Empty or repeated lines, a byte order mark, returns before
 * newlines and invalid UTF-8 are refused; the last newline is optional.
 *
 * Level wordpiece reads a vocab.txt of BERT: a line is a piece, and the five special tokens are at
 * any place. Words (words.h), cased or in lower case without accents, are split into the longest
 * pieces; pieces inside a word begin with ##. A word that cannot be split, or has more than 100
 * characters, is [UNK]. Decoding puts spaces between pieces, except before ##.
 *
 * Level bpe reads a tokenizer.json of Hugging Face's tokenizers with byte-level BPE (bpe.h): pieces
 * and added tokens. An id may be unused. [CLS] begins a text: the post-processor's token, or else
 * <|begin_of_text|>, <s>, <bos> or the like, or else [SEP]. [SEP] ends a text: the post-processor's
 * token, or else <|end_of_text|>, </s>, <eos> or the like. [PAD] is <pad> or the like, or else
 * [SEP] or [CLS]; [MASK] is <mask> or the like. A missing token is RT_NO_ID. Without an unk_token,
 * bytes without a piece are omitted and counted.
 *
 * Level residue reads the vocab.txt of ESM: a line is a token, mostly one letter; <pad>, <cls>,
 * <mask>, <eos> and <unk> are at any place. The longest token is matched at each position. Unknown
 * text is one <unk> up to the next token or blank; blanks are omitted, also in decoding.
 *
 * Errors are RT_DATA and begin with `name`, the name of the file. */

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

extern const char *const rt_level_words[]; /* NULL-terminated */

enum { RT_NO_ID = -1 };

/* Default ids of the special tokens. Symbols start at RT_FIRST_SYMBOL. */
enum { RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP, RT_FIRST_SYMBOL };

typedef struct rt_special_ids {
    int32_t pad, cls, mask, sep; /* RT_NO_ID is possible at level bpe only, and not for pad */
    int32_t unknown;             /* RT_NO_ID: unknown parts of a text have no id */
} rt_special_ids;

/* Default ids: of toy tasks, of files of token ids, and of the levels byte and char. */
extern const rt_special_ids rt_default_special_ids;

/* Indices of the special tokens follow the order of rt_special_ids. */
enum { RT_SPECIAL_TOKENS = 5 };

/* Returns the text of special token i: "[PAD]" or, at level residue, "<pad>". */
const char *rt_special_token(rt_level level, int i);

/* Returns a pointer to the id of special token i. */
int32_t *rt_special_id(rt_special_ids *ids, int i);

/* Returns whether [PAD] has an id that is not also that of [CLS] or [SEP]. */
bool rt_vocabulary_pads(const rt_special_ids *ids);

#define RT_NO_PLACE SIZE_MAX

/* Characters or words that are not in a vocabulary and are encoded as [UNK]. */
typedef struct rt_unknown {
    size_t count;
    size_t at;                    /* byte offset of the first; RT_NO_PLACE: none in the file */
    char name[RT_WORD_NAME_SIZE]; /* name of the first, for a message */
} rt_unknown;

/* Tokens with which a language model ends a text. They belong to the model, not to its vocabulary
 * file: a model of running text has none. */
enum { RT_MOST_ENDS = 8 };
typedef struct rt_end_ids {
    int count;
    int32_t ids[RT_MOST_ENDS];
} rt_end_ids;

/* Properties of a vocab.txt or tokenizer.json that the file does not contain. */
typedef struct rt_vocabulary_kind {
    rt_level level;
    bool lowercase; /* level wordpiece */
    bool has_known; /* level bpe: ids in `known`, unless RT_NO_ID, replace those of the file */
    rt_special_ids known;
    rt_end_ids ends; /* ids of the vocabulary */
} rt_vocabulary_kind;

/* Kind of an id; NONE: unused, at level bpe. */
typedef enum rt_token_kind { RT_TOKEN_NONE, RT_TOKEN_ORDINARY, RT_TOKEN_SPECIAL } rt_token_kind;

typedef struct rt_vocabulary {
    rt_level level;
    bool lowercase;
    int count; /* number of ids, special tokens included */
    rt_special_ids special;
    rt_end_ids ends;
    char *text;        /* text of each id, zero-terminated */
    uint32_t *starts;  /* (count + 1): offset of each id in `text` */
    uint8_t *kinds;    /* (count): rt_token_kind */
    int32_t *ordinary; /* ids of ordinary tokens, ascending */
    int ordinary_count;
    int32_t *ids;             /* levels byte and char: id of each character, or special.unknown */
    struct rt_pieces *pieces; /* levels wordpiece and residue */
    struct rt_bpe *bpe;       /* level bpe */
    char *file;               /* vocab.txt or tokenizer.json, zero-terminated */
} rt_vocabulary;

/* Limit of ordinary tokens at the levels byte and char. */
enum { RT_CHARACTERS_LIMIT = 65000 };

/* Tokens around a labelled text, or RT_NO_ID. */
typedef struct rt_text_frame {
    int32_t first, last;
} rt_text_frame;

/* Returns the tokens that a post-processor puts around a text; without one, [CLS] and [SEP]. */
rt_text_frame rt_vocabulary_frame(const rt_vocabulary *v);

/* Creates the vocabulary of level byte. */
rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new) RT_MUST_CHECK;

/* Creates the vocabulary of the characters of a text, by ascending code point. RT_DATA, which
 * begins with `name`, if the text is not UTF-8 or has too many characters. */
rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes) RT_MUST_CHECK;

void rt_vocabulary_free(rt_vocabulary *vocabulary);

/* Reads a vocab.txt or tokenizer.json. Errors name the line or the key. */
rt_status rt_vocabulary_read(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                             const char *name, const unsigned char *bytes,
                             size_t size) RT_MUST_CHECK;

/* Copies the vocab.txt or tokenizer.json to a string, which the caller frees. */
rt_status rt_vocabulary_write(const rt_vocabulary *vocabulary, char **text_new) RT_MUST_CHECK;

rt_status rt_vocabulary_copy(rt_vocabulary **copy_new,
                             const rt_vocabulary *vocabulary) RT_MUST_CHECK;

/* Returns the kind with which rt_vocabulary_read reads the output of rt_vocabulary_write. */
rt_vocabulary_kind rt_vocabulary_kind_of(const rt_vocabulary *vocabulary);

/* Returns the name of the vocabulary's file: vocab.txt or tokenizer.json. */
const char *rt_vocabulary_file(const rt_vocabulary *vocabulary);

/* Returns whether two vocabularies have equal ids for all texts; NULL equals only NULL. */
bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b);

/* Returns whether an id is that of an ordinary token. */
bool rt_vocabulary_is_ordinary(const rt_vocabulary *vocabulary, int32_t id);

/* Returns whether a token ends a text. It may be an ordinary token. */
bool rt_vocabulary_is_end(const rt_vocabulary *vocabulary, int32_t id);

/* Sets the logits (count) of special and unused ids to -infinity, since they cannot continue a
 * text. With `ends`, tokens that end a text are kept. */
void rt_vocabulary_mask_logits(const rt_vocabulary *vocabulary, bool ends, real *logits);

/* ---- encoding ---- */

/* Returns an upper bound of the number of ids of a text of this size, at most SIZE_MAX. It is the
 * number of bytes except at level bpe, where words may get a space and normal forms may add
 * characters. */
size_t rt_vocabulary_most_ids(const rt_vocabulary *vocabulary, size_t bytes);

/* Returns the largest number of bytes for which that bound is an int. */
int rt_vocabulary_most_bytes(const rt_vocabulary *vocabulary);

/* Encodes a text to at most rt_vocabulary_most_ids ids. Special tokens in it are encoded as text
 * or, with `special`, parsed as Hugging Face does: "[SEP]" in capitals, at level residue "<eos>",
 * at level bpe those of the file. That is not for running text, which may mention [MASK].
 * RT_ARGUMENT names the first byte that is not UTF-8. */
rt_status rt_vocabulary_encode(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                               bool special, int32_t *ids, int *count,
                               rt_unknown *unknown) RT_MUST_CHECK;

/* Encodes a text of any size in the same way, passing each id to `take`. */
typedef void rt_id_taker(void *context, int32_t id);
rt_status rt_vocabulary_encode_to(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                                  bool special, rt_id_taker *take, void *context,
                                  rt_unknown *unknown) RT_MUST_CHECK;

/* Adds the unknown characters or words of a part of a text that begins at offset `before`. `at` and
 * `name` remain those of the first. */
void rt_unknown_add(rt_unknown *whole, const rt_unknown *part, size_t before);

/* ---- decoding ---- */

/* Returns the zero-terminated text of an ordinary token and its size in bytes, with ## for a piece
 * inside a word. NULL for other ids. */
const char *rt_vocabulary_decode(const rt_vocabulary *vocabulary, int32_t id, size_t *size);

typedef struct rt_spelling {
    const char *bytes;
    size_t size;
    bool space;
} rt_spelling;

/* Returns the text that an id appends: its bytes without ##, after a space unless they are the
 * first. Special tokens have their names; invalid ids are empty. */
rt_spelling rt_vocabulary_spell(const rt_vocabulary *vocabulary, int32_t id);

/* Returns the number of text bytes of an id. -1 if unknown: for special tokens, and at level
 * wordpiece, which does not keep the spaces of a text. */
int rt_vocabulary_bytes(const rt_vocabulary *vocabulary, int32_t id);

#endif
