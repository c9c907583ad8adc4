#ifndef ROTOR_DATA_DATA_H
#define ROTOR_DATA_DATA_H

/* Sources of sequences: the toy tasks, text, files of token ids, and labelled texts.
 *
 * A source is opened once and then only read. Drawing from it is a pure function:
 * a sequence depends on the seed, the step and its own number, never on the batch
 * it came in, so several threads may draw from one source. Training and evaluation
 * never use the same random numbers, even when their seeds are the same.
 */

#include "core/choice.h"
#include "core/path.h"
#include "core/rules.h"
#include "core/status.h"
#include "data/batch.h"
#include "data/tokenizers/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The training objective of a text, of token ids, or of a sequence that repeats itself: to predict
 * masked tokens, or at every place the next one. */
#define RT_OBJECTIVES(X) X(RT_OBJECTIVE_MLM, "mlm") X(RT_OBJECTIVE_LM, "lm")
typedef enum rt_objective { RT_OBJECTIVES(RT_CHOICE_VALUE) } rt_objective;

/* Token at an end of a text: as the tokenizer puts it (auto), or none, for a model that was trained
 * without it. */
#define RT_BEGINS(X) X(RT_BEGIN_AUTO, "auto") X(RT_BEGIN_NONE, "none")
typedef enum rt_begin { RT_BEGINS(RT_CHOICE_VALUE) } rt_begin;

/* Meaning of the ids 0 to 3 in a file of token ids: [PAD], [CLS], [MASK] and [SEP] (batch.h), or
 * ordinary tokens. */
#define RT_SPECIAL_TOKENS(X) X(RT_SPECIAL_TOKENS_YES, "yes") X(RT_SPECIAL_TOKENS_NO, "no")
typedef enum rt_special_tokens { RT_SPECIAL_TOKENS(RT_CHOICE_VALUE) } rt_special_tokens;

/* Bytes for a list of paths with its final zero: a line of an INI file holds it. */
enum { RT_FILE_LIST_SIZE = 8000 };

/* Bytes for the text that separates documents, with its final zero. */
enum { RT_DOCUMENTS_SIZE = 128 };

/* Listener for messages while data is opened, which may take long. Called in the thread that opens.
 */
typedef struct rt_data_watch {
    void *context;
    void (*say)(void *context, const char *line);
    void (*progress)(void *context, const char *what, double share); /* from 0 to 1 */
    bool (*stop)(void *context);                                     /* whether to give up: RT_IO */
} rt_data_watch;

/* The keys of [data]; a task looks only at those that it uses. */
typedef struct rt_data_options {
    int task;     /* see rt_data_task_name */
    int length;   /* tokens, all special ones included */
    int vocab;    /* ids there are; a text has a vocabulary */
    int distance; /* shift: how far to look back; majority: its window */
    int pairs;    /* mqar: of keys and values */
    int period;   /* period: of the sequence, in tokens */
    double theta; /* spin: radians a position */
    /* text, tokens: one file, or several with commas between, with or without weights; of tokens,
     * and in a text: FILE.bin, FILE.npy, FILE.h5:/DATASET (data/file_list.h); classify, tag: one
     * path. Texts of options are not empty, and borrowed for as long as the data is open; NULL:
     * none. */
    const char *file;
    const char *eval_file;  /* evaluation data in the form of `file`; NULL: eval_fraction of it */
    const char *vocab_file; /* text at level char: a vocab.txt; NULL: the characters of the text; at
                               the levels wordpiece and bpe (tokenizer.json) needed, unless a
                               vocabulary is given */
    rt_level level;         /* text */
    bool lowercase;         /* text at level wordpiece: lower case without accents */
    rt_begin begin;         /* files; see rt_data_task_begins */
    rt_begin end;           /* classify, tag */
    rt_objective objective; /* see rt_data_task_has_objective */
    double mask_probability;          /* mlm: that a token is chosen */
    int mask_id;                      /* tokens, mlm: the id that hides others; 0: RT_ID_MASK */
    rt_special_tokens special_tokens; /* tokens; without them nothing begins a sequence */
    double eval_fraction; /* without eval_file: text and tokens: tail that training never
                             sees; classify, tag: share of the rows */
    uint64_t eval_seed;
    bool special;   /* text: special tokens in it, such as <|im_start|>, are tokens and not text */
    int batch_size; /* classify, tag: sequences of a step, which are drawn together */
    /* Separator of the documents of a text, each of which then ends with the token that ends a
     * text: NULL or "none": none; "line"; "blank" lines; or a text. */
    const char *documents;
    bool cross;                 /* with documents: windows may go over the end of one */
    const char *cache;          /* folder for tokenized texts; NULL: they stay in memory */
    size_t cache_from;          /* bytes of the smallest text that is put there; 0: 64 MB */
    int threads;                /* that tokenize such a text; 0: one */
    const rt_data_watch *watch; /* is told of that; or NULL */
} rt_data_options;

typedef struct rt_data rt_data;
typedef struct rt_labels rt_labels;

/* Meaning of the ids and of the classes of a model. */
typedef struct rt_data_meaning {
    const rt_vocabulary
        *vocabulary;         /* NULL: that of data.vocab_file or, without one, of the text */
    const rt_labels *labels; /* NULL: those of data.file */
    int ids;   /* rows of its table of words: the least that rt_data_vocab is for a text */
    int types; /* rows of its table of token types: the least that rt_data_types is */
} rt_data_meaning;

/* "copy", "reverse", ...; NULL past the last. */
const char *rt_data_task_name(int task);

/* Kind of labels: token ids, or classes. A class belongs to a sequence, at its token 0, or to each
 * token that has a label. */
typedef enum rt_target { RT_TARGET_IDS, RT_TARGET_SEQUENCE, RT_TARGET_TOKENS } rt_target;
rt_target rt_data_task_target(int task);

/* Returns whether the task reads texts with labels. */
bool rt_data_task_labelled(int task);

/* Files that data.file and data.eval_file name; a list has commas between the names. */
typedef enum rt_file_use { RT_NO_FILE, RT_ONE_FILE, RT_FILE_LIST } rt_file_use;
rt_file_use rt_data_task_files(int task);

/* Returns whether rt_data_options.objective is the training objective; other tasks have their own.
 */
bool rt_data_task_has_objective(int task);

/* Returns whether the task uses rt_data_options.begin: windows of a text or of ids, and texts with
 * labels. */
bool rt_data_task_begins(int task);

/* The path of the n-th file that the options name for their task, the data before the vocabulary;
 * false if there are no more. The options are those that rt_data_check accepts. */
bool rt_data_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE]);

/* Checks the options, whatever the files hold. RT_CONFIG, with a message that begins with the key.
 * With another length, checks whether batches of that length can be drawn. */
rt_status rt_data_check(const rt_data_options *o) RT_MUST_CHECK;

/* RT_CONFIG as rt_data_check; RT_DATA when a file is missing, unreadable, empty, too
 * short for one training and one evaluation sequence, or holds what it must not: a text
 * that is not UTF-8 at a level other than byte, a text for evaluation of which the vocabulary has
 * nothing, an id that is none. On an error *data_new is NULL.
 * The options are copied, but for the watch. HDF5 parses a file of token ids in a child process, so
 * that is opened before threads are started (see text/process.h).
 *
 * No sequence has tokens of two files of data.eval_file, of one and of data.file, or of two files
 * of a mixture; without weights the files of data.file are one text.
 *
 * `vocabulary` is the one that a text must be read with, and is needed as long as the source;
 * only a text looks at it. RT_CONFIG if it is of another level, or is not that of
 * data.vocab_file. NULL: that of data.vocab_file or, without one, of the text, which is RT_CONFIG
 * at the levels wordpiece and bpe; so is a vocabulary without a special token that the task needs.
 */
rt_status rt_data_open(rt_data **data_new, const rt_data_options *o,
                       const rt_vocabulary *vocabulary) RT_MUST_CHECK;

/* Opens the data as rt_data_open, with the meaning of a model. Labelled data has the classes of its
 * labels, with their numbers; RT_DATA names the line of any other label. */
rt_status rt_data_open_as(rt_data **data_new, const rt_data_options *o,
                          rt_data_meaning meaning) RT_MUST_CHECK;

/* Opens the data for evaluation only: nothing can be drawn for training. With data.eval_file,
 * data.file is not read and may be "". A text that is shorter than a window is one shorter
 * sequence, and labelled data needs no row for training. */
rt_status rt_data_open_evaluation(rt_data **data_new, const rt_data_options *o,
                                  rt_data_meaning meaning) RT_MUST_CHECK;

/* Returns whether the data was opened for evaluation only. */
bool rt_data_is_for_evaluation(const rt_data *data);

/* Opens a source without data, to encode texts of a caller. Nothing can be drawn. */
rt_status rt_data_open_without(rt_data **data_new, const rt_data_options *o,
                               rt_data_meaning meaning) RT_MUST_CHECK;
void rt_data_close(rt_data *data);

/* Returns the number of token ids, special ones included. */
int rt_data_vocab(const rt_data *data);

/* The id of the token that hides others; RT_NO_ID if there is none. */
int rt_data_mask(const rt_data *data);

/* The length that was asked for at opening. */
int rt_data_length(const rt_data *data);

/* Returns whether a token is put before a text or a window: always, except with data.begin = none
 * or data.special_tokens = no. */
bool rt_data_begins(const rt_data *data);

/* Returns whether a text with a label ends with a token: always, except with data.end = none. */
bool rt_data_ends(const rt_data *data);

/* Return the kind of labels, and the number of classes; 0 for token ids. */
rt_target rt_data_target(const rt_data *data);
int rt_data_classes(const rt_data *data);

/* Returns the names of the classes of labelled data, else NULL. Owned as by rt_data_vocabulary. */
const rt_labels *rt_data_labels(const rt_data *data);

/* Types of tokens, 2 for pairs of texts; 0: there is one alone. */
int rt_data_types(const rt_data *data);

/* Returns whether sequences differ in length. Then a batch can be cut to its longest row, since the
 * rest is padding. */
bool rt_data_varies(const rt_data *data);

/* Texts for evaluation alone that are shorter than a window, and the tokens of the shortest. */
typedef struct rt_short_texts {
    size_t count, least;
} rt_short_texts;
rt_short_texts rt_data_short_texts(const rt_data *data);

/* The length of the longest batch of that length: less than it if all rows are shorter. */
int rt_data_longest(const rt_data *data, int length);

/* Number of tokens near the start of a file of token ids that have the id of [PAD], [CLS] or
 * [MASK], or, with data.special_tokens = no, the id that hides tokens: files seldom mean these. */
typedef struct rt_special_use {
    size_t count, of;
} rt_special_use;
rt_special_use rt_data_special_use(const rt_data *data);

/* Rows of labelled data that are longer than data.length, and of how many. */
typedef struct rt_cut {
    size_t count, of;
} rt_cut;
rt_cut rt_data_cut(const rt_data *data);

/* Returns the number of evaluation sequences of a length before they repeat: LONG_MAX for a toy
 * task, 0 if all evaluation texts are shorter than one sequence. A file without an evaluation part
 * (eval_fraction 0, no data.eval_file) is evaluated on all of its training part. */
long rt_data_evaluation_rows(const rt_data *data, int length);

/* Returns the line of its file at which an evaluation sequence of labelled data begins; 0 for other
 * data. */
int rt_data_evaluation_line(const rt_data *data, uint32_t sequence);

/* Fill batch->rows sequences of batch->length tokens, which may be another length than
 * that of the options, if rt_data_check accepts it (mqar needs places for its pairs); row r is
 * sequence first_row + r. Evaluation draws from eval_seed; on a file, numbers past the last
 * sequence begin again, with other masks.
 *
 * Labelled rows are drawn batch_size a step: sequences 0 ... batch_size - 1 of the steps of an
 * epoch are all rows, see data/windows.h. */
void rt_data_training(const rt_data *data, uint64_t seed, uint32_t step, uint32_t first_row,
                      rt_batch *batch);
void rt_data_evaluation(const rt_data *data, uint32_t first_row, rt_batch *batch);

/* Token ids are read while drawing. RT_DATA with the first failure, once that went wrong
 * for a row, which is then padding without labels. RT_OK for every other task. */
rt_status rt_data_status(const rt_data *data) RT_MUST_CHECK;

/* Returns the vocabulary; NULL for a task without a text. It belongs to the source, or to the
 * caller who passed it. */
const rt_vocabulary *rt_data_vocabulary(const rt_data *data);

/* Return the characters or words that the vocabulary lacks, of data.file and of data.eval_file;
 * `at` counts the bytes of all files. */
rt_unknown rt_data_unknown(const rt_data *data);
rt_unknown rt_data_evaluation_unknown(const rt_data *data);

/* The ids of a text, without special ones around it, in a block that the caller frees, and what
 * became [UNK]. RT_ARGUMENT names a byte that is not UTF-8, and where it stands; also for a task
 * without a text. */
rt_status rt_data_encode(const rt_data *data, const char *text, int32_t **ids_new, int *count,
                         rt_unknown *unknown) RT_MUST_CHECK;

/* ---- rules of the options, for callers who want to know which are wrong ---- */

/* Tells of every rule that the options break, in the words of rt_data_check, which keeps the
 * first. Of rules that build on each other, such as that a sequence is long enough for its task
 * and that a distance fits into it, only the first. */
void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context);

#endif
