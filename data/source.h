#ifndef ROTOR_DATA_SOURCE_H
#define ROTOR_DATA_SOURCE_H

/* Private to data/: the kinds of data as rows of functions, and what all kinds share. */

#include "core/random.h"
#include "data/data.h"
#include "data/files.h"

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

/* Sets the labels of a row of tokens; for mlm also replaces chosen tokens by [MASK] or other
 * tokens. */
void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row);

/* Private part of an open source. */
struct rt_data_state {
    rt_data_of_model meaning;  /* as passed by the caller */
    rt_vocabulary *vocabulary; /* own ones; else NULL */
    rt_labels *labels;
    bool documents; /* the texts have documents (rt_documents_are_cut) */
    void *rows;     /* state of the kind; NULL: toy tasks, and sources without data */
};

/* A kind of data. Functions that get a source, except `draw`, are called if it has rows. */
typedef struct rt_source {
    /* Checks the files, as rt_data_files_check. */
    bool (*check)(const rt_data_options *o, rt_file_check *check_file, rt_rule_sink to);
    rt_file_check *check_file;
    /* Reads the files and sets the fields of rt_data and the rows. NULL: there are no files. */
    rt_status (*open)(rt_data *data, const rt_data_files *files);
    /* Writes the tokens of the files, as rt_encode_file; NULL: they cannot be written. */
    rt_status (*write)(rt_data *data, const rt_data_files *files, const char *path, size_t *count);
    long (*rows)(const rt_data *data, int length);  /* rt_data_evaluation_rows */
    int (*line)(const rt_data *data, rt_draw draw); /* rt_data_evaluation_line; NULL: 0 */
    void (*draw)(const rt_data *data, rt_draw draw, rt_sequence row);
    void (*close)(void *rows);
} rt_source;

/* Rows of the kinds, in the order of rt_data_kind. */
extern const rt_source rt_toys, rt_windows, rt_labelled, rt_images;

/* Returns whether the vocabulary of a text consists of its own characters. */
bool rt_data_takes_characters(const rt_data *data);

/* Sets the vocabulary of a text: the given one, that of data.vocab_file, all bytes at level byte,
 * or state->vocabulary, which the caller has made of the characters of the text. RT_CONFIG if there
 * is none, if it differs from that of the model, or if a special token that the task needs is
 * missing; RT_DATA if data.vocab_file is invalid. */
rt_status rt_data_find_vocabulary(rt_data *data) RT_MUST_CHECK;

/* Sets the vocabulary of a source. RT_CONFIG if a special token that the task needs is missing. */
rt_status rt_data_use_vocabulary(rt_data *data, const rt_vocabulary *v) RT_MUST_CHECK;

/* Returns whether the default ids of the special tokens are reserved for them. */
bool rt_data_has_special_tokens(const rt_data *data);

#endif
