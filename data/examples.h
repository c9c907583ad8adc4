#ifndef ROTOR_DATA_EXAMPLES_H
#define ROTOR_DATA_EXAMPLES_H

/* Rows of labelled data as ids. Task classify: texts or pairs of texts, each with a label. Task
 * tag: sentences of tokens, each token with a label.
 *
 *     [CLS] text [SEP]                   types 0
 *     [CLS] text [SEP] text_b [SEP]      types 0, and 1 from text_b on
 *
 * A tokenizer.json may define fewer tokens around a text (rt_vocabulary_frame in vocabulary.h). The
 * label of a text is at [CLS], that of a token at its first piece. Rows that are too long are
 * truncated at the end of the text; of a pair, the longer text first. */

#include "data/data.h"
#include "data/labelled_file.h"
#include "data/windows.h"

struct rt_draw;
struct rt_sequence;

enum { RT_PART_TRAINING, RT_PART_EVALUATION, RT_PARTS };

/* Largest number of special tokens around a pair: [CLS] and two [SEP]. */
enum { RT_AROUND_PAIR = 3 };

typedef struct rt_example {
    size_t first;          /* index of the first id, or of an image */
    int32_t count, second; /* ids of the text, and of text_b after them; second 0: not a pair */
    int32_t label;         /* classify */
    int line;              /* line of the file on which the row begins */
    bool evaluation;
} rt_example;

typedef struct rt_examples {
    bool pairs;
    rt_example *rows; /* training file first, then evaluation file */
    size_t count;
    int32_t *ids;
    int32_t *labels; /* tag: one per id; else NULL */
    size_t used;     /* number of ids */
    size_t cut;      /* rows longer than data.length */
    size_t longest;  /* length of the longest row before truncation */
    /* Indices of the rows of each part, sorted by length, then by index. */
    uint32_t *sorted[RT_PARTS];
    rt_order order[RT_PARTS];
} rt_examples;

void rt_examples_free(rt_examples *examples);

/* Checks the keys of labelled data, as rt_data_rules. */
void rt_examples_check(const rt_data_options *o, rt_rule_sink to);

/* Appends the ids of a text, pair or token to the last row, with its label (of a token at its first
 * id). `from` is the start of the bytes that `unknown` counts; NULL: of each text. RT_ARGUMENT
 * names a byte that is not UTF-8, as rt_vocabulary_encode; RT_DATA if the text, or the second one
 * (*second), has no token of the vocabulary; a token to tag becomes [UNK] if there is one. */
rt_status rt_examples_add(rt_examples *x, const rt_data *data, const rt_labelled_text *t,
                          int32_t label, const char *from, rt_unknown *unknown,
                          bool *second) RT_MUST_CHECK;

/* Returns the length of a row before truncation. */
size_t rt_example_length(const rt_data *data, const rt_example *example);

/* Fills a row with an example, truncated to the row: ids, types and labels. */
void rt_example_put(const rt_data *data, const rt_examples *all, const rt_example *x,
                    struct rt_sequence row);

/* Assigns the rows to the parts and orders those of each part. RT_DATA if one that is read has
 * none. */
rt_status rt_examples_order(rt_data *data) RT_MUST_CHECK;

/* Returns the row of a sequence. */
const rt_example *rt_examples_row(const rt_data *data, struct rt_draw draw);

/* Fills a row with a sequence. */
void rt_examples_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
