#ifndef ROTOR_DATA_DATA_H
#define ROTOR_DATA_DATA_H

/* Sources of token sequences: toy tasks, text, files of token ids, and labelled texts.
 *
 * A source is read-only once it is open. Drawing is a pure function: a sequence depends on the
 * seed, the step and its own number, never on its batch, so several threads may draw from one
 * source. Training and evaluation never use the same random numbers, even with equal seeds. */

#include "core/choice.h"
#include "core/path.h"
#include "core/real.h"
#include "core/status.h"
#include "data/tokenizers/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Training objective of text, token ids and periodic sequences: masked language modelling, or
 * prediction of the next token. */
#define RT_OBJECTIVES(X) X(RT_OBJECTIVE_MLM, "mlm") X(RT_OBJECTIVE_LM, "lm")
typedef enum rt_objective { RT_OBJECTIVES(RT_CHOICE_VALUE) } rt_objective;

/* Token that begins or ends a text: auto = as the tokenizer defines it; none = omitted, for a model
 * trained without it. */
#define RT_BEGINS(X) X(RT_BEGIN_AUTO, "auto") X(RT_BEGIN_NONE, "none")
typedef enum rt_begin { RT_BEGINS(RT_CHOICE_VALUE) } rt_begin;

/* Ids 0 to 3 in a file of token ids: yes = [PAD], [CLS], [MASK] and [SEP]; no = ordinary
 * tokens. */
#define RT_SPECIAL_TOKENS(X) X(RT_SPECIAL_TOKENS_YES, "yes") X(RT_SPECIAL_TOKENS_NO, "no")
typedef enum rt_special_tokens { RT_SPECIAL_TOKENS(RT_CHOICE_VALUE) } rt_special_tokens;

/* Size of a list of paths with its final zero, in bytes; a line of an INI file has room for it. */
enum { RT_FILE_LIST_SIZE = 8000 };

/* Size of a document separator with its final zero, in bytes. */
enum { RT_DOCUMENTS_SIZE = 128 };

/* Size of the names of fields with their final zero, in bytes. */
enum { RT_FIELD_SIZE = 256 };

/* Label of a position that does not count. */
enum { RT_NO_LABEL = -100 };

/* A batch of B token sequences of T tokens with their labels. A data source fills it; the arrays
 * belong to the caller. */
typedef struct rt_batch {
    int rows;           /* B */
    int length;         /* T */
    int32_t *ids;       /* (B, T) */
    int32_t *labels;    /* (B, T); a label of a whole sequence is at its token 0 */
    uint8_t *mask;      /* (B, T): 1 = token, 0 = padding */
    int32_t *types;     /* (B, T): 1 = second text of a pair, else 0; may be NULL */
    int32_t *distances; /* (B, T): at a label, tokens back to the token that answers it, or 0 if no
                           single token does; may be NULL */
    real *patches;      /* (B, T, rt_data.patch): numbers of the patch at a token, else 0; may be
                           NULL */
} rt_batch;

/* Callbacks for messages and progress while data is opened. They run in the thread that opens. */
typedef struct rt_data_watch {
    void *context;
    void (*say)(void *context, const char *line);
    void (*progress)(void *context, const char *what, double share); /* share: 0 to 1 */
    bool (*stop)(void *context); /* true: tokenizing, or waiting for a cache, ends with RT_IO */
} rt_data_watch;

/* The keys of [data]. A task reads only the ones it uses. Strings are borrowed while the data is
 * open, and not empty unless a function says so; NULL means unset. */
typedef struct rt_data_options {
    int task; /* index into rt_tasks */
    union {
        rt_interval lengths; /* the two numbers below */
        struct {
            int length;   /* tokens of a sequence, special tokens included; the most of them */
            int shortest; /* copy, reverse, sort, addition: the fewest; 0: all sequences have
                             `length` */
        };
    };
    int vocab;     /* number of ids; a text has that of its vocabulary */
    int distance;  /* shift: distance to the copied token; majority: window size */
    int pairs;     /* mqar: number of key-value pairs */
    int period;    /* period: period of the sequence, in tokens */
    double theta;  /* spin, spin2: radians per position, or per column */
    double theta2; /* spin2: radians per row */
    int patch;     /* images: side of a patch, in pixels */
    int size;      /* images: side of an image, in pixels, to which those of the file are resized */
    /* Text and tokens: one path or a comma-separated list, with or without weights. FILE.bin,
     * FILE.npy and FILE.h5:/DATASET hold token ids (data/files.h). Classify and tag: one path.
     * Texts may be compressed (.gz) and JSON lines (.jsonl). */
    const char *file;
    const char *eval_file;   /* evaluation data, as `file`; NULL: eval_fraction of `file` */
    const char *field;       /* JSON lines: name of the field of the text; of the two of a pair,
                                separated by a comma; of the tokens. NULL: "text" */
    const char *label_field; /* JSON lines: of the label or labels; NULL: "label" */
    const char *vocab_file;  /* tasks with text: vocab.txt or, at level bpe, tokenizer.json. NULL: a
                                given vocabulary or, at level char, the characters of the text */
    rt_level level;          /* tasks with text: kind of tokens */
    bool lowercase;          /* level wordpiece: lower case, accents removed */
    rt_begin begin;          /* tasks that read texts or ids */
    rt_begin end;            /* classify, tag */
    rt_objective objective;  /* tasks with an `objective` */
    double mask_probability; /* mlm: probability that a token is chosen */
    int mask_id;             /* tokens, mlm: id of the mask token; 0: RT_ID_MASK */
    rt_special_tokens special_tokens; /* tokens; no: no token begins a sequence */
    double eval_fraction; /* without eval_file: share of the text or ids, at the end, or of the
                             labelled rows, kept for evaluation */
    uint64_t eval_seed;
    int eval_last; /* text and tokens, lm: most predicted tokens of an evaluation sequence, the last
                      ones; 0: all */
    bool special;  /* text: parse special tokens such as <|im_start|> instead of encoding their
                      characters */
    int batch_size; /* classify, tag: sequences per step, which are drawn together */
    /* Separator of the documents of a text: "line", "blank" (blank lines) or a string; NULL or
     * "none": no documents. Each document ends with the token that ends a text. */
    const char *documents;
    bool cross;                 /* with documents: windows may cross the end of a document */
    const char *cache;          /* folder of cached token ids; NULL: ids stay in memory */
    size_t cache_from;          /* size in bytes from which a text is cached; 0: 64 MB */
    int threads;                /* threads that tokenize a text; 0: one */
    const rt_data_watch *watch; /* receives messages while the data is opened; or NULL */
} rt_data_options;

/* Table of the keys of [data] (core/key.h), which are the fields of rt_data_options. */
extern const struct rt_key_table rt_data_keys;

typedef struct rt_data rt_data;
typedef struct rt_labels rt_labels;

/* Vocabulary, labels and table sizes of an existing model. */
typedef struct rt_data_of_model {
    const rt_vocabulary *vocabulary; /* NULL: from data.vocab_file or else from the text */
    const rt_labels *labels;         /* NULL: from data.file */
    int ids;       /* rows of the token embedding: lower bound of rt_data.vocab for text */
    int types;     /* rows of the token type embedding: lower bound of rt_data.types */
    int patch;     /* numbers of a patch, which images must have; 0: any */
    bool complete; /* no token type embedding, which pairs of texts need, is added to the model */
} rt_data_of_model;

/* Kind of labels: token ids, one class per sequence (at its token 0), or classes of tokens. */
typedef enum rt_target { RT_TARGET_IDS, RT_TARGET_SEQUENCE, RT_TARGET_TOKENS } rt_target;

/* Kind of data: sequences that are generated; windows of texts and token ids, from lists of files;
 * texts or tokens with labels, from one file; images with labels, from one file. */
typedef enum rt_data_kind {
    RT_DATA_TOY,
    RT_DATA_WINDOWS,
    RT_DATA_LABELLED,
    RT_DATA_IMAGES
} rt_data_kind;

struct rt_draw;
struct rt_sequence;

/* A task: a row of rt_tasks. Only data/ calls the functions. */
typedef struct rt_task {
    const char *name;
    int shortest; /* smallest length at which a label remains */
    int vocab;    /* smallest data.vocab; 0: the file decides */
    rt_target target;
    int classes; /* number of classes; 0: labels are ids, or the file decides */
    rt_data_kind kind;
    bool token_ids;  /* data.file has token ids, whose special tokens no vocabulary names */
    bool objective;  /* data.objective applies */
    bool next_token; /* labels are the next tokens of the input: for causal models only */
    bool grid;       /* a position has two coordinates in a grid of tokens (rt_grid_side) */
    struct {
        int around, each; /* a question of n symbols has `around` + n `each` tokens with its answer;
                             0: data.length is one number */
    } question;
    bool distances; /* labels have distances */
    int modulus;    /* of sums */
    /* Draws a sequence of a toy task. */
    void (*draw)(const rt_data *data, struct rt_draw draw, struct rt_sequence row);
    /* Checks the rules of this task, as rt_data_rules; or NULL. */
    void (*check)(const rt_data_options *o, rt_rule_sink to);
} rt_task;

/* All tasks, ended by a row without a name. */
extern const rt_task rt_tasks[];

/* Returns whether data.file is one file, whose rows have labels. */
static inline bool rt_task_has_rows(const rt_task *task)
{
    return task->kind == RT_DATA_LABELLED || task->kind == RT_DATA_IMAGES;
}

/* Returns the name of a task ("copy", "reverse", ...), NULL past the last. */
const char *rt_data_task_name(int task);

enum { RT_PART_TRAINING, RT_PART_EVALUATION, RT_PARTS };

/* An open source. Code outside data/ only reads it. Its pointers are valid until rt_data_close; a
 * given vocabulary and given labels belong to the caller. */
struct rt_data {
    rt_data_options options;
    const rt_task *task;
    bool evaluation_only;   /* training sequences cannot be drawn */
    int vocab;              /* number of token ids, special ones included */
    rt_special_ids special; /* RT_NO_ID: there is none */
    int types; /* token types: those of the model, at least 2 for pairs of texts; 0: none */
    int patch; /* numbers of a patch of an image; 0: other data */
    const rt_vocabulary *vocabulary; /* text: the given one or its own; else NULL */
    const rt_labels *labels;         /* names of the classes of labelled data, the given ones or
                                        its own; else NULL */
    rt_unknown unknown[RT_PARTS];    /* unknown characters or words of data.file and data.eval_file;
                                        `at` counts the bytes of all files */
    struct {
        size_t count, of; /* labelled rows truncated to data.length, and all labelled rows */
    } cut;
    int classes;    /* number of classes; 0: labels are token ids */
    bool varies;    /* sequences differ in length: a batch can be truncated to its longest row */
    bool sentences; /* tag: a line of the evaluated file is a sentence, not a token */
    int longest;    /* length of the longest labelled text before truncation; else INT_MAX */
    size_t memory;  /* bytes of texts, ids, rows and images in memory */
    size_t opening; /* bytes of files that were in memory as well while they were opened */
    struct rt_data_state *state; /* private to data/ */
};

/* Validates the options without reading files. Returns RT_CONFIG with a message that begins with
 * the key. With another o->length it tells whether batches of that length can be drawn. */
rt_status rt_data_check(const rt_data_options *o) RT_MUST_CHECK;

/* Opens a source for training and evaluation, for a model if `meaning` has parts of one. The
 * options are copied, except the watch. On an error *data_new is NULL.
 *
 * RT_CONFIG as rt_data_check. RT_DATA if a file is missing, unreadable, empty, too short for one
 * training and one evaluation sequence, or has invalid content: text that is not UTF-8 (except a
 * running text at level byte), evaluation text without a token of the vocabulary, an id out of
 * range.
 *
 * HDF5 parses files of token ids in a child process, so call this before starting threads
 * (util/process.h).
 *
 * A sequence never crosses from one file of data.eval_file, or of a mixture, to another, nor from
 * data.file to data.eval_file. Without weights the files of data.file form one text.
 *
 * meaning.vocabulary encodes texts (tasks without text ignore it) and must outlive the source.
 * RT_CONFIG if it contradicts data.level, data.lowercase or data.vocab_file. NULL: the vocabulary
 * of data.vocab_file or, at the levels byte and char, of the text itself. RT_CONFIG if there is
 * none, or if it lacks a special token that the task needs.
 *
 * Labelled data gets the classes of meaning.labels and their numbers; RT_DATA names the line of an
 * unknown label. */
rt_status rt_data_open(rt_data **data_new, const rt_data_options *o,
                       rt_data_of_model meaning) RT_MUST_CHECK;

/* Opens the data for evaluation only: rt_data_training must not be called. With data.eval_file,
 * data.file is not read and may be "". A text may be shorter than data.length, and labelled data
 * needs no training rows. */
rt_status rt_data_open_evaluation(rt_data **data_new, const rt_data_options *o,
                                  rt_data_of_model meaning) RT_MUST_CHECK;

/* Opens a source that has a vocabulary but no data, to encode texts of the caller. */
rt_status rt_data_open_encoder(rt_data **data_new, const rt_data_options *o,
                               rt_data_of_model meaning) RT_MUST_CHECK;
void rt_data_close(rt_data *data);

/* Returns whether a token may begin a text or window: not with data.begin = none or
 * data.special_tokens = no, nor with a tokenizer that has none. */
bool rt_data_begins(const rt_data *data);

/* Returns whether a token can be masked and predicted by mlm: no special token can, [SEP] and [UNK]
 * included, as in transformers. */
bool rt_data_masks(const rt_data *data, int32_t id);

/* Unexpected special tokens near the start of a file of token ids: `count` of the first `of` tokens
 * have the id of [PAD], [CLS] or [MASK] or, with data.special_tokens = no, of the mask token. */
typedef struct rt_special_use {
    size_t count, of;
} rt_special_use;
rt_special_use rt_data_special_use(const rt_data *data);

/* Returns the number of different evaluation sequences of a length: LONG_MAX for a toy task.
 * Without an evaluation part (eval_fraction 0, no data.eval_file) all of data.file is evaluated. */
long rt_data_evaluation_rows(const rt_data *data, int length);

/* Evaluation texts with fewer tokens than a sequence of a length: `count` of `of`, the shortest
 * with `least` tokens. Each is one shorter sequence. */
typedef struct rt_short_texts {
    size_t count, of, least;
} rt_short_texts;
rt_short_texts rt_data_short_texts(const rt_data *data, int length);

/* Returns the line of the file on which an evaluation sequence of labelled data begins, the number
 * of an image, from 1; 0 for other data. */
int rt_data_evaluation_line(const rt_data *data, uint32_t sequence);

/* Fills batch->rows sequences of batch->length tokens; row r is sequence first_row + r.
 * batch->length may differ from data.length if rt_data_check accepts it. Evaluation draws from
 * eval_seed; past its last sequence it starts again, with other masks.
 *
 * Labelled data is drawn batch_size rows a step: sequences 0 ... batch_size - 1 of the steps of an
 * epoch are all rows (data/examples.h). */
void rt_data_training(const rt_data *data, uint64_t seed, uint32_t step, uint32_t first_row,
                      rt_batch *batch);
void rt_data_evaluation(const rt_data *data, uint32_t first_row, rt_batch *batch);

/* Returns RT_DATA with the first failed read of token ids, which are read while drawing. A row that
 * could not be read is padding without labels. */
rt_status rt_data_status(const rt_data *data) RT_MUST_CHECK;

/* Encodes a text without special tokens around it. The caller frees *ids_new. `unknown` describes
 * the parts encoded as [UNK]. RT_ARGUMENT names the first byte that is not UTF-8; also for a task
 * without text. */
rt_status rt_data_encode(const rt_data *data, const char *text, int32_t **ids_new, int *count,
                         rt_unknown *unknown) RT_MUST_CHECK;

/* Reports every rule that the options break, with the messages of rt_data_check. Of rules that
 * depend on each other (a length that suits the task, a distance that fits the length), reports the
 * first. */
void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context);

/* Writes the tokens of data.file to a file of ids that data.file can then name: FILE.npy of uint16
 * (int32 for more than 65536 ids), FILE.bin of uint16 without a header, or FILE.h5 with the data
 * set /train. The file gets its name when it is complete.
 *
 * *count is the number of ids. RT_CONFIG for another file name ending, a mixture, a task other than
 * text and tokens, or too many ids for FILE.bin; errors of rt_data_open; RT_IO. */
rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count) RT_MUST_CHECK;

#endif
