#ifndef ROTOR_DATA_EXAMPLES_H
#define ROTOR_DATA_EXAMPLES_H

/* Rows with labels, texts or images, and the order in which they are drawn. */

#include "data/labels.h"
#include "data/source.h"

/* Order in which a training visits rows sorted by length: a function of the seed, the step and the
 * number of a sequence in its batch. An epoch cuts the rows into blocks with random bounds and
 * shuffles each block. Batches are consecutive shuffled rows, of similar length, and are shuffled
 * as well. An epoch has ceil(rows / batch) steps and contains every row; it fills its last batch
 * with rows of its first. */
typedef struct rt_order {
    uint32_t rows;  /* at least 1 */
    uint32_t batch; /* rows per step, at least 1 */
} rt_order;

/* Returns the index, among the rows sorted by length, of a training sequence. */
uint32_t rt_order_training(rt_order order, uint64_t seed, uint32_t step, uint32_t sequence);

/* Returns the same index for an evaluation sequence. An evaluation visits every row once: first
 * full batches of consecutive rows in random order, so that any prefix is a sample of all lengths,
 * then the remaining rows. Numbers past the last row wrap around. */
uint32_t rt_order_evaluation(rt_order order, uint64_t seed, uint32_t sequence);

/* Returns element i of a random permutation of 0 ... n-1: a Feistel network with Philox as round
 * function, repeated while the result is not below n. `number` selects the permutation. */
uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i);

/* Rows of labelled data as ids. Task classify: texts or pairs of texts, each with a label. Task
 * tag: sentences of tokens, each token with a label.
 *
 *     [CLS] text [SEP]                   types 0
 *     [CLS] text [SEP] text_b [SEP]      types 0, and 1 from text_b on
 *
 * A tokenizer.json may define fewer tokens around a text (rt_vocabulary_frame in vocabulary.h). The
 * label of a text is at [CLS], that of a token at its first piece. Rows that are too long are
 * truncated at the end of the text; of a pair, the longer text first, and of an odd number of
 * places for two truncated texts the longer one, or the second of equal ones, has one more. */

typedef struct rt_example {
    size_t first;          /* index of the first id, or of an image */
    int32_t count, second; /* ids of the text, and of text_b after them; second 0: not a pair */
    int32_t label;         /* classify */
    int line;              /* line of the file on which the row begins */
    int length;            /* before, then after truncation */
    bool evaluation;
} rt_example;

typedef struct rt_examples {
    bool pairs;
    rt_example *rows; /* training file first, then evaluation file */
    size_t count;
    int32_t *ids;
    int32_t *labels;                     /* tag: one per id; else NULL */
    size_t used;                         /* number of ids */
    const rt_example **sorted[RT_PARTS]; /* rows of each part, by length, then by place */
    rt_order order[RT_PARTS];
} rt_examples;

/* Checks the files of a kind with rows (rt_data_files_check), and the rows of a step. */
bool rt_examples_check(const rt_data_options *o, rt_file_check *check, rt_rule_sink to);

/* Sets the labels of a source: the given ones, or the distinct names of a list of a file. */
rt_status rt_examples_label(rt_data *data, const char *path, rt_text_span *names,
                            size_t count) RT_MUST_CHECK;

/* Assigns the rows, whose lengths before truncation are set, to the parts and orders those of each
 * part. RT_DATA if one that is read has none. */
rt_status rt_examples_order(rt_data *data, rt_examples *examples) RT_MUST_CHECK;

/* Returns the row of a sequence. */
const rt_example *rt_examples_row(const rt_examples *examples, rt_draw draw);

/* Functions of rt_source for rows that begin with an rt_examples. */
long rt_examples_rows(const rt_data *data, int length);
int rt_examples_line(const rt_data *data, rt_draw draw);
void rt_examples_free(void *examples);

#endif
