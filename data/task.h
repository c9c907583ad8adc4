#ifndef ROTOR_DATA_TASK_H
#define ROTOR_DATA_TASK_H

/* Private declarations of data/: a task is a row of rt_tasks. */

#include "data/data.h"
#include "data/examples.h"
#include "data/token_file.h"
#include "data/tokenizers/vocabulary.h"
#include "data/windows.h"

#include <stdbool.h>
#include <string.h>

/* A sequence to draw. All of its numbers come from rt_random {seed, step, stream} at rt_draw_index.
 */
typedef struct rt_draw {
    uint64_t seed;
    uint32_t step; /* 0 for evaluation, 1 + the step for training: so they never meet */
    uint32_t sequence;
} rt_draw;

static inline uint64_t rt_draw_index(rt_draw draw, int position)
{
    return (uint64_t)draw.sequence << 32 | (uint32_t)position;
}

/* A random word as a number in 0 ... n-1. */
static inline int rt_word_below(uint32_t word, int n)
{
    return (int)((uint64_t)word * (uint32_t)n >> 32);
}

/* The row to fill. It arrives as padding without labels. */
typedef struct rt_sequence {
    int length; /* T, at least the task's `shortest` */
    int32_t *ids;
    int32_t *labels;
    uint8_t *mask;
    int32_t *types; /* NULL: not wanted */
} rt_sequence;

/* The row of that number of a batch, which becomes padding without labels. */
rt_sequence rt_sequence_clear(const rt_data *data, rt_batch *batch, int row);

typedef struct rt_task {
    const char *name;
    int shortest; /* the length below which no label remains */
    int vocab;    /* the smallest data.vocab; 0 when the file decides */
    rt_target target;
    int classes;       /* that labels can be; 0 when they are ids or the file decides */
    rt_file_use files; /* that data.file names */
    bool objective;    /* data.objective is its training objective */
    void (*draw)(const rt_data *data, rt_draw draw, rt_sequence row);
    /* Checks the rules of the task itself, as rt_data_rules; or NULL. */
    void (*check)(const rt_data_options *o, rt_rule_sink to);
    /* Opens the files: fills in what of rt_data is its own. NULL for a toy task: no file. */
    rt_status (*open)(rt_data *data);
} rt_task;

/* Returns whether the task reads token ids, of which no vocabulary names the special ones. */
static inline bool rt_task_is_token_ids(const rt_task *task)
{
    return !strcmp(task->name, "tokens");
}

/* All tasks; the row after the last has no name. */
extern const rt_task rt_tasks[];

/* Tasks of files: a long run of tokens, from which rt_windows_draw cuts sequences (text, tokens),
 * or labelled rows. */
rt_status rt_sequence_open(rt_data *data) RT_MUST_CHECK;
rt_status rt_examples_open(rt_data *data) RT_MUST_CHECK;
void rt_text_check(const rt_data_options *o, rt_rule_sink to);
void rt_tokens_check(const rt_data_options *o, rt_rule_sink to);

/* Functions that the tasks with texts share: check the rules of data.vocab_file, and find the
 * vocabulary of a text, the given one, that of data.vocab_file, or its own, which `make` creates
 * and the source owns. RT_CONFIG if the vocabulary lacks a special token that the task needs. */
void rt_text_check_vocabulary(const rt_data_options *o, rt_rule_sink to);
typedef rt_status rt_vocabulary_maker(void *context, rt_vocabulary **vocabulary_new);
rt_status rt_text_find_vocabulary(rt_data *data, rt_vocabulary_maker *make,
                                  void *context) RT_MUST_CHECK;

/* Takes a vocabulary. RT_CONFIG if it lacks a special token that the task needs. */
rt_status rt_text_use_vocabulary(rt_data *data, const rt_vocabulary *v) RT_MUST_CHECK;

/* RT_CONFIG if the vocabulary that was given is of another level than the options say. */
rt_status rt_text_check_given(const rt_data *data) RT_MUST_CHECK;

/* The tokens that stand around a text with a label: those of the vocabulary, but for data.begin and
 * data.end = none. */
rt_text_frame rt_data_frame(const rt_data *data);

/* Returns whether the default special ids are no ordinary tokens. */
bool rt_data_has_special_tokens(const rt_data *data);

/* Returns whether data.file is read: not for an evaluation with files of its own. */
bool rt_data_reads_training(const rt_data *data);

struct rt_data {
    rt_data_options options;
    const rt_task *task;
    bool evaluation_only; /* nothing is drawn for training */
    int vocab;
    rt_special_ids special;
    rt_windows windows;              /* text and tokens */
    rt_data_meaning meaning;         /* that was given */
    const rt_vocabulary *vocabulary; /* of text: the given one or `own`; else NULL */
    rt_vocabulary *own;
    rt_unknown unknown[RT_PARTS]; /* of text: what its files lack */
    rt_token_runs runs;           /* text and tokens: those for training first */
    const rt_labels *labels;      /* classify and tag: the given ones or `own_labels`; else NULL */
    rt_labels *own_labels;
    rt_examples *examples; /* classify and tag */
};

#endif
