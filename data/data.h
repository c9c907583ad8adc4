#ifndef ROTOR_DATA_DATA_H
#define ROTOR_DATA_DATA_H

/* Where sequences come from: the toy tasks, text, files of token ids, and labelled texts.
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
#include "data/tokenizers/level.h"

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

/* Whether ids 0 to 3 of a file of token ids stand for [PAD], [CLS], [MASK] and [SEP] (batch.h), or
 * are tokens like all others. */
#define RT_SPECIAL_TOKENS(X) X(RT_SPECIAL_TOKENS_YES, "yes") X(RT_SPECIAL_TOKENS_NO, "no")
typedef enum rt_special_tokens { RT_SPECIAL_TOKENS(RT_CHOICE_VALUE) } rt_special_tokens;

/* Bytes for a list of paths with its final zero: a line of an INI file holds it. */
enum { RT_FILE_LIST_SIZE = 8000 };

/* Bytes for the text that separates documents, with its final zero. */
enum { RT_DOCUMENTS_SIZE = 128 };

/* Who hears of a long opening, from the thread that opens. */
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
typedef struct rt_vocabulary rt_vocabulary;
typedef struct rt_labels rt_labels;

/* What a model knows its data by: what the ids of a text mean, and the numbers of classes. */
typedef struct rt_data_meaning {
    const rt_vocabulary
        *vocabulary;         /* NULL: that of data.vocab_file or, without one, of the text */
    const rt_labels *labels; /* NULL: those of data.file */
    int ids;   /* rows of its table of words: the least that rt_data_vocab is for a text */
    int types; /* rows of its table of token types: the least that rt_data_types is */
} rt_data_meaning;

/* "copy", "reverse", ...; NULL past the last. */
const char *rt_data_task_name(int task);

/* What labels are: token ids, or classes: one a sequence, at its token 0, or one for each token
 * that has a label. */
typedef enum rt_target { RT_TARGET_IDS, RT_TARGET_SEQUENCE, RT_TARGET_TOKENS } rt_target;
rt_target rt_data_task_target(int task);

/* Whether it reads texts with labels. */
bool rt_data_task_labelled(int task);

/* What data.file and data.eval_file name; a list has commas between. */
typedef enum rt_file_use { RT_NO_FILE, RT_ONE_FILE, RT_FILE_LIST } rt_file_use;
rt_file_use rt_data_task_files(int task);

/* Whether rt_data_options.objective is the training objective; other tasks have their own. */
bool rt_data_task_has_objective(int task);

/* Returns whether the task uses rt_data_options.begin: windows of a text or of ids, and texts with
 * labels. */
bool rt_data_task_begins(int task);

/* The path of the n-th file that the options name for their task, the data before the vocabulary;
 * false if there are no more. The options are those that rt_data_check accepts. */
bool rt_data_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE]);

/* What options cannot be, whatever the files hold: RT_CONFIG, with a message that
 * begins with the key. Asked again with another length, it tells whether batches
 * of that length can be drawn. */
rt_status rt_data_check(const rt_data_options *o) RT_MUST_CHECK;

/* RT_CONFIG as rt_data_check; RT_DATA when a file is missing, unreadable, empty, too
 * short for one training and one evaluation sequence, or holds what it must not: a text
 * that is not UTF-8 at a level other than byte, a text for evaluation of which the vocabulary has
 * nothing, an id that is none. On an error *data_new is NULL.
 * The options are copied, but for the watch. HDF5 parses a file of token ids in a child process, so
 * that is opened before threads are started (see text/child.h).
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

/* The same with all that a model knows: labelled data has the classes of its labels, whose numbers
 * they keep, and RT_DATA names the line of any other label. */
rt_status rt_data_open_as(rt_data **data_new, const rt_data_options *o,
                          rt_data_meaning meaning) RT_MUST_CHECK;

/* The same for evaluation alone: nothing can be drawn for training. With data.eval_file, data.file
 * is not read and may be "". A text that is shorter than a window is one shorter sequence, and
 * labelled data needs no row for training. */
rt_status rt_data_open_evaluation(rt_data **data_new, const rt_data_options *o,
                                  rt_data_meaning meaning) RT_MUST_CHECK;

/* Whether it was opened so. */
bool rt_data_is_for_evaluation(const rt_data *data);

/* The same without the data: for a text that somebody gives. There is nothing to be drawn. */
rt_status rt_data_open_without(rt_data **data_new, const rt_data_options *o,
                               rt_data_meaning meaning) RT_MUST_CHECK;
void rt_data_close(rt_data *data);

/* How many token ids there are, the special ones included. */
int rt_data_vocab(const rt_data *data);

/* The id of the token that hides others; RT_NO_ID if there is none. */
int rt_data_mask(const rt_data *data);

/* The length that was asked for at opening. */
int rt_data_length(const rt_data *data);

/* Whether a token is put before what a text, or a window of one, has: always, but with data.begin =
 * none or data.special_tokens = no. */
bool rt_data_begins(const rt_data *data);

/* Returns whether a text with a label ends with a token: always, except with data.end = none. */
bool rt_data_ends(const rt_data *data);

/* What labels are, and the number of classes; 0: they are token ids. */
rt_target rt_data_target(const rt_data *data);
int rt_data_classes(const rt_data *data);

/* What the classes of labelled data are called; else NULL. As rt_data_vocabulary. */
const rt_labels *rt_data_labels(const rt_data *data);

/* Types of tokens, 2 for pairs of texts; 0: there is one alone. */
int rt_data_types(const rt_data *data);

/* Whether sequences have lengths of their own: then a batch can be cut to the longest of its rows,
 * and what is cut off is padding. */
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

/* How many evaluation sequences of that length there are before they repeat: LONG_MAX
 * for a toy task, 0 when all texts for evaluation are shorter than one. A file without a part for
 * evaluation (eval_fraction 0, no data.eval_file) is evaluated on all of what it trains on. */
long rt_data_evaluation_rows(const rt_data *data, int length);

/* Of labelled data, the line of its file that an evaluation sequence begins at; 0 of other data. */
int rt_data_evaluation_line(const rt_data *data, uint32_t sequence);

/* Fill batch->rows sequences of batch->length tokens, which may be another length than
 * that of the options; row r is sequence first_row + r. Evaluation draws from eval_seed;
 * on a file, numbers past the last sequence begin again, with other masks.
 *
 * Labelled rows are drawn batch_size a step: sequences 0 ... batch_size - 1 of the steps of an
 * epoch are all rows, see data/windows.h. */
void rt_data_training(const rt_data *data, uint64_t seed, uint32_t step, uint32_t first_row,
                      rt_batch *batch);
void rt_data_evaluation(const rt_data *data, uint32_t first_row, rt_batch *batch);

/* Token ids are read while drawing. RT_DATA with the first failure, once that went wrong
 * for a row, which is then padding without labels. RT_OK for every other task. */
rt_status rt_data_status(const rt_data *data) RT_MUST_CHECK;

/* What the ids of a text mean; NULL for a task without a text. Belongs to the source, or to
 * who opened it. */
const rt_vocabulary *rt_data_vocabulary(const rt_data *data);

/* What of a text is not in its vocabulary; `at` counts the bytes of all files. The second is of
 * data.eval_file. */
rt_unknown rt_data_unknown(const rt_data *data);
rt_unknown rt_data_evaluation_unknown(const rt_data *data);

/* The ids of a text, without special ones around it, in a block that the caller frees, and what
 * became [UNK]. RT_ARGUMENT names a byte that is not UTF-8, and where it stands; also for a task
 * without a text. */
rt_status rt_data_encode(const rt_data *data, const char *text, int32_t **ids_new, int *count,
                         rt_unknown *unknown) RT_MUST_CHECK;

/* The text of an ordinary token, zero-terminated, and its size in bytes (it can be the byte 0); it
 * belongs to the vocabulary. RT_ARGUMENT for a special token, for what is no id, and for a task
 * without a text. */
rt_status rt_data_decode(const rt_data *data, int32_t id, const char **text,
                         size_t *size) RT_MUST_CHECK;

/* ---- rules of the options ---- */

/* What the options of a source of data must obey, for those who ask which options are wrong. */

/* Tells of every rule that the options break, in the words of rt_data_check, which keeps the
 * first. Of rules that build on each other, such as that a sequence is long enough for its task
 * and that a distance fits into it, only the first. */
void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context);

#endif
