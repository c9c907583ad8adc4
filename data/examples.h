#ifndef ROTOR_DATA_EXAMPLES_H
#define ROTOR_DATA_EXAMPLES_H

/* The rows of labelled data as ids: the task classify has texts or pairs of texts, each with a
 * label, the task tag sentences of tokens, each with a label.
 *
 *     [CLS] text [SEP]                   types 0
 *     [CLS] text [SEP] text_b [SEP]      types 0, and 1 from text_b on
 *
 * A tokenizer.json may put fewer tokens around a text (rt_vocabulary_frame in vocabulary.h).
 * A text has its label at [CLS], a token at its first piece. What is longer than the sequence is
 * cut at its end, of a pair the longer text first. */

#include "data/data.h"
#include "data/labelled_file.h"
#include "data/windows.h"

struct rt_draw;
struct rt_sequence;

enum { RT_PART_TRAINING, RT_PART_EVALUATION, RT_PARTS };

/* The most places of a sequence that are no text of a pair: [CLS], and a [SEP] after each text. */
enum { RT_AROUND_PAIR = 3 };

typedef struct rt_example {
    size_t first;          /* of its ids */
    int32_t count, second; /* ids of the text, and of text_b after them; 0: no pair */
    int32_t label;         /* classify */
    int line;              /* of its file, where it begins */
    bool evaluation;
} rt_example;

typedef struct rt_examples {
    bool pairs;
    rt_example *rows; /* those of the training file, then those of the file for evaluation */
    size_t count;
    int32_t *ids;
    int32_t *labels; /* tag: one for each id; else NULL */
    size_t used;     /* ids */
    size_t cut;      /* rows that are longer than data.length */
    size_t longest;  /* length of the longest row, as if none were cut */
    /* Numbers of the rows for training and for evaluation, sorted by length, then by number. */
    uint32_t *sorted[RT_PARTS];
    rt_order order[RT_PARTS];
} rt_examples;

void rt_examples_free(rt_examples *examples);

/* Check the keys of labelled data, as rt_data_rules. */
void rt_classify_check(const rt_data_options *o, rt_rule_sink to);
void rt_tag_check(const rt_data_options *o, rt_rule_sink to);

/* Appends the ids of a text or a pair of a table, or of a token, to the last row, which they have
 * the label of: at the first id of a token. `from` is where the bytes begin that `unknown` counts;
 * NULL: those of each text by itself. RT_ARGUMENT names what is not UTF-8, as rt_vocabulary_encode;
 * RT_DATA: the text, or its `second`, has no token. */
rt_status rt_examples_add(rt_examples *x, const rt_data *data, const rt_labelled_text *t,
                          int32_t label, const char *from, rt_unknown *unknown,
                          bool *second) RT_MUST_CHECK;

/* The length of a row that is not cut. */
size_t rt_example_length(const rt_data *data, const rt_example *example);

/* Fills a row with an example, cut to it: its ids and, of tokens, the label of each id. */
void rt_example_put(const rt_data *data, const rt_examples *all, const rt_example *x,
                    struct rt_sequence row);

/* Fills a row with the sequence. */
void rt_examples_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
