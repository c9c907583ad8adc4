#ifndef ROTOR_DATA_TASK_H
#define ROTOR_DATA_TASK_H

/* Private declarations of data/: tasks (rows of rt_tasks) and the state of a source. */

#include "data/data.h"
#include "data/examples.h"
#include "data/images.h"
#include "data/token_file.h"
#include "data/tokenizers/vocabulary.h"
#include "data/windows.h"

#include <stdbool.h>

/* Key of a sequence. All of its random numbers come from rt_random {seed, step, stream} at
 * rt_draw_index. */
typedef struct rt_draw {
    uint64_t seed;
    uint32_t step; /* 0: evaluation; 1 + the training step: so the two never share random numbers */
    uint32_t sequence;
} rt_draw;

static inline uint64_t rt_draw_index(rt_draw draw, int position)
{
    return (uint64_t)draw.sequence << 32 | (uint32_t)position;
}

/* Maps a random word to 0 ... n-1. */
static inline int rt_word_below(uint32_t word, int n)
{
    return (int)((uint64_t)word * (uint32_t)n >> 32);
}

/* A row of a batch. Before it is drawn it is padding without labels. */
typedef struct rt_sequence {
    int length; /* T, at least `shortest` of the task */
    int32_t *ids;
    int32_t *labels;
    uint8_t *mask;
    int32_t *types;     /* NULL: not needed */
    int32_t *distances; /* NULL: not needed */
    real *patches;      /* (T, patch), zero; NULL: no patches */
} rt_sequence;

/* Returns a row of a batch after filling it with padding and RT_NO_LABEL. */
rt_sequence rt_sequence_clear(const rt_data *data, rt_batch *batch, int row);

typedef struct rt_task {
    const char *name;
    int shortest; /* smallest length at which a label remains */
    int vocab;    /* smallest data.vocab; 0: the file decides */
    rt_target target;
    int classes;       /* number of classes; 0: labels are ids, or the file decides */
    rt_file_use files; /* paths in data.file */
    bool images;       /* data.file has images */
    bool token_ids;    /* data.file has token ids, whose special tokens no vocabulary names */
    bool objective;    /* data.objective applies */
    int axes;          /* coordinates of a position, 2 for a grid of tokens; 0: 1 */
    struct {
        int around, each; /* a question of n symbols has `around` + n `each` tokens with its answer;
                             0: data.length is one number */
    } question;
    bool distances; /* labels have distances */
    void (*draw)(const rt_data *data, rt_draw draw, rt_sequence row);
    /* Checks the rules of this task, as rt_data_rules; or NULL. */
    void (*check)(const rt_data_options *o, rt_rule_sink to);
    /* Opens the files and fills the fields of rt_data for them. NULL: toy task without files. */
    rt_status (*open)(rt_data *data);
} rt_task;

/* All tasks, ended by a row without a name. */
extern const rt_task rt_tasks[];

/* Functions of the tasks with files. Text and tokens open one long run of tokens, from which
 * rt_windows_draw cuts sequences; classify and tag open labelled rows. */
rt_status rt_sequence_open(rt_data *data) RT_MUST_CHECK;
rt_status rt_examples_open(rt_data *data) RT_MUST_CHECK;
void rt_sequence_check(const rt_data_options *o, rt_rule_sink to);

/* Finds the vocabulary of a text: the given one, that of data.vocab_file, or one that `make`
 * creates from the text and the source owns. RT_CONFIG if a special token that the task needs is
 * missing. */
typedef rt_status rt_vocabulary_maker(void *context, rt_vocabulary **vocabulary_new);
rt_status rt_text_find_vocabulary(rt_data *data, rt_vocabulary_maker *make,
                                  void *context) RT_MUST_CHECK;

/* Sets the vocabulary of a source. RT_CONFIG if a special token that the task needs is missing. */
rt_status rt_text_use_vocabulary(rt_data *data, const rt_vocabulary *v) RT_MUST_CHECK;

/* Returns RT_CONFIG if the given vocabulary has not data.level, or is cased with data.lowercase. */
rt_status rt_text_check_given(const rt_data *data) RT_MUST_CHECK;

/* Returns the tokens around a labelled text: those of the vocabulary, without the ones that
 * data.begin or data.end = none removes. */
rt_text_frame rt_data_frame(const rt_data *data);

/* Returns whether the default ids of the special tokens are reserved for them. */
bool rt_data_has_special_tokens(const rt_data *data);

/* Returns whether data.file is read: not for an evaluation of data.eval_file. */
bool rt_data_reads_training(const rt_data *data);

struct rt_data {
    rt_data_options options;
    const rt_task *task;
    bool evaluation_only; /* training sequences cannot be drawn */
    int vocab;
    rt_special_ids special;
    rt_windows windows;              /* text and tokens */
    rt_data_of_model meaning;        /* as passed by the caller */
    const rt_vocabulary *vocabulary; /* text: the given one or `own`; else NULL */
    rt_vocabulary *own;
    rt_unknown unknown[RT_PARTS]; /* text: unknown parts of its files */
    rt_token_runs runs;           /* text and tokens; training comes first */
    const rt_labels *labels;      /* classify and tag: the given ones or `own_labels`; else NULL */
    rt_labels *own_labels;
    rt_examples *examples; /* classify, tag and images */
    rt_images *images;
};

/* Returns whether labels belong to single tokens. */
static inline bool rt_data_has_tags(const rt_data *data)
{
    return data->task->target == RT_TARGET_TOKENS;
}

#endif
