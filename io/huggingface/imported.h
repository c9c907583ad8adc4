#ifndef ROTOR_IO_HUGGINGFACE_IMPORTED_H
#define ROTOR_IO_HUGGINGFACE_IMPORTED_H

/* A folder of Hugging Face as a run needs it: with its vocabulary, its labels and what it reads.
 *
 * The vocabulary is that of vocab.txt or, without one, of tokenizer.json; what its tokenizer does
 * otherwise than BERT's is RT_CHECKPOINT, with the file and the key, and of a decoder a warning:
 * then the folder is one of ids. It has the tokens that end a text, if the folder names them. A
 * text begins, and one with a label ends, as its tokenizer has it: with BPE, by what the
 * post-processor puts there, or nothing. Labels are in the order of their bytes, as everywhere in
 * rotor (data/labels.h): the rows
 * of the head are put in that order.
 */

#include "data/data.h"
#include "data/labels.h"
#include "io/huggingface/huggingface.h"

typedef struct rt_imported {
    rt_huggingface *there;
    rt_vocabulary *vocabulary; /* NULL: the folder has none, ids alone have a meaning */
    rt_labels *labels;         /* of the sequence and token heads; else NULL. Whoever takes one of
                                  these two over leaves NULL */
    int *places;               /* (options.labels): where the class of each label was */
    rt_data_options data;      /* what the model reads; its length is that of the key if the folder
                                  does not say */
    bool bare;                 /* texts begin without a token that is put before them */
    bool open_ended;           /* and texts with a label end without one */
    const char *warning;       /* of its tokenizer, a line for the user; or NULL */
    char *refused;             /* the part of its tokenizer that rotor does not read; or NULL */
} rt_imported;

rt_status rt_imported_open(rt_imported **imported_new, const char *folder) RT_MUST_CHECK;
void rt_imported_close(rt_imported *imported);

/* RT_CHECKPOINT for a folder whose vocabulary is needed and was not read: says why. */
rt_status rt_imported_no_vocabulary(const rt_imported *imported, const char *path) RT_MUST_CHECK;

/* Takes the values, as rt_huggingface_load; without `head`, those of the model's head stay. */
rt_status rt_imported_load(const rt_imported *imported, rt_transformer *model, bool head,
                           rt_huggingface_taken *taken) RT_MUST_CHECK;

/* The first key by which a model would compute something else from the folder's weights than the
 * model that they are of; NULL if there is none. `theta` is what rt_imported_load has taken. */
const char *rt_imported_difference(const rt_imported *imported, const rt_transformer_options *o,
                                   bool theta);

#endif
