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

/* Returns the line of its file that an evaluation sequence begins at. */
int rt_examples_line(const rt_data *data, uint32_t sequence);

/* Check the keys of labelled data, as rt_data_rules. */
void rt_classify_check(const rt_data_options *o, rt_rule_sink to);
void rt_tag_check(const rt_data_options *o, rt_rule_sink to);

/* The ids of a text of a row, at most as many as it has bytes; *count is 0 if the vocabulary has
 * nothing of it. A token is then [UNK], if there is one. Errors as rt_vocabulary_encode. */
rt_status rt_example_encode(const rt_data *data, rt_text_span text, int32_t *ids, int *count,
                            rt_unknown *unknown) RT_MUST_CHECK;

/* The length of a row that is not cut. */
size_t rt_example_length(const rt_data *data, const rt_example *example);

/* Fills a row with an example, cut to it: its ids and, of tokens, the label of each id. */
void rt_example_put(const rt_data *data, const rt_example *example, const int32_t *ids,
                    const int32_t *labels, struct rt_sequence row);

/* Fills a row with the sequence. */
void rt_examples_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
