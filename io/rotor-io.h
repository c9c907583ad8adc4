#ifndef ROTOR_IO_ROTOR_IO_H
#define ROTOR_IO_ROTOR_IO_H

/* librotor-io, for programs that embed rotor: trained models from files and folders, texts as rows
 * of ids, predictions for them, the optimiser, and saving. It is linked together with
 * librotor, whose tensors, graph and RoFormer are used here. docs/library.md has a program.
 *
 * Nothing here prints, ends the program, forks, starts a thread or reads the environment. A model
 * and an optimiser belong to one thread at a time. Only one thread of a process at a time may open
 * or save: HDF5 asks for that.
 *
 * On an error what was to be made is NULL, and nothing has changed. Closing and freeing take NULL.
 * RT_MEMORY is possible everywhere. A struct that nobody has made, all of whose members are zero,
 * is RT_ARGUMENT, and is closed or freed by doing nothing.
 */

#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "models/transformer.h"
#include "optim/optimizer.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- models ---- */

typedef struct rt_model {
    rt_transformer *transformer;     /* its parameters may be changed, its options not */
    const rt_vocabulary *vocabulary; /* NULL: the model reads token ids, not texts */
    const rt_labels *labels;         /* names of the classes; NULL: it has none */
    int length;                      /* of the sequences that it is for, [CLS] included */
    int64_t step;  /* optimiser steps that it has taken; count yours if you train it further */
    bool has_head; /* false: the folder had none, and it is newly initialized */
    const char *warnings; /* lines about what rotor reads differently from the folder; or "" */
    struct rt_model_origin *origin;
} rt_model;

/* The options of a kind of model that the program has without a configuration: two layers of width
 * 64 with four heads, and so on (docs/configuration.md). */
rt_transformer_options rt_model_defaults(rt_model_kind kind);

/* A new model, drawn from the seed. Vocabulary and labels are copied.
 *
 *     options     vocab may be 0 if there is a vocabulary, and labels if there are names; a number
 *                 that is 0 and must not be is that of the configuration's default
 *     vocabulary  what the ids mean (data/tokenizers/vocabulary.h); NULL: token ids alone,
 *                 head lm
 *     labels      the names of the classes (data/labels.h), for the heads sequence and token alone
 *     length      of the sequences that it is for, [CLS] included; at least 2
 *
 * RT_ARGUMENT, or RT_CONFIG with a key, for what cannot be. */
rt_status rt_model_new(rt_model **model_new, const rt_transformer_options *options,
                       const rt_vocabulary *vocabulary, const rt_labels *labels, int length,
                       uint64_t seed) RT_MUST_CHECK;

/* Opens a checkpoint of rotor, or a folder of Hugging Face with a model of its families:
 * config.json, its tensors and its vocabulary. RT_CHECKPOINT names the file if it is invalid or
 * missing.
 *
 * Sizes are checked before memory is asked for. But HDF5, which parses the file of a checkpoint,
 * does so in this process: the checksum of a checkpoint protects against damage, not against
 * forgery, and a malicious file may crash HDF5 or keep it busy. The program rotor parses such files
 * in a child process. To open an untrusted checkpoint, fork first, or let the program convert it to
 * a folder (--export): rotor itself parses folders, without that risk. */
rt_status rt_model_open(rt_model **model_new, const char *path) RT_MUST_CHECK;
void rt_model_close(rt_model *model);

/* Writes a checkpoint durably: the file is there as a whole, or as it was before. The program
 * reads it like any other; its optimizer moments are 0, so a run that continues from it is not
 * bitwise identical. RT_IO; RT_NONFINITE names a parameter that has a NaN or an infinity,
 * RT_ARGUMENT a step that no run can have; RT_CHECKPOINT if what was written is not what
 * rt_model_open takes. */
rt_status rt_model_save(const rt_model *model, const char *path) RT_MUST_CHECK;

/* Writes a folder that from_pretrained of Hugging Face's transformers reads. RT_CONFIG if it is not
 * empty, or with the key of an option that no model there has: then nothing is written.
 * RT_IO; RT_NONFINITE. */
rt_status rt_model_export(const rt_model *model, const char *folder) RT_MUST_CHECK;

/* ---- texts ---- */

/* A sequence. One of ids alone can be made by hand: length and ids are enough. */
typedef struct rt_row {
    int length;      /* of the sequences that it is for, [CLS] included */
    int32_t *ids;    /* (T) */
    int32_t *types;  /* (T): 1 = in the second text of a pair; NULL: all 0 */
    int32_t *tokens; /* (T), of the token head: which token has its first piece here, from 0, else
                        RT_NO_TOKEN; of other heads NULL */
    bool cut;        /* the text was longer than the model's length */
    rt_unknown unknown; /* what of the text became [UNK] */
} rt_row;
enum { RT_NO_TOKEN = -1 };

/* Makes the row of a text as training does; free it even after an error.
 *
 *     head sequence   [CLS] text [SEP], or [CLS] text [SEP] second [SEP]; cut to the model's length
 *     head token      [CLS] tokens [SEP], with blanks between tokens in the text; likewise
 *     head lm         [CLS] text, of any length; where the text has [MASK] stands that token.
 *                     Without [CLS] for a model that was trained so (data.begin = none)
 *
 * `second` is NULL unless there is a pair. RT_ARGUMENT if the model has no vocabulary or was
 * trained without pairs, and for a text that cannot be read: empty, not UTF-8, or without a token
 * of the vocabulary. */
rt_status rt_model_encode(const rt_model *model, const char *text, const char *second,
                          rt_row *row) RT_MUST_CHECK;
void rt_row_free(rt_row *row);

/* The logits of the model for rows, which are padded to the longest of them. The rows are not
 * needed afterwards; a loss of the logits can go backward. NULL if the graph has failed, as any op.
 *
 *     head sequence   (rows, labels)
 *     head token      (rows, T, labels)
 *     head lm         (rows, T, V); a text that grows token by token is for a session
 *                     (models/session.h), which has a KV cache */
rt_tensor *rt_model_logits(rt_model *model, rt_graph *g, const rt_row *rows, int count);

/* The softmax of one row of logits, as many numbers as it has columns. RT_ARGUMENT as
 * rt_probabilities (models/sampler.h). */
rt_status rt_logits_probabilities(const rt_tensor *logits, size_t row,
                                  double *probabilities) RT_MUST_CHECK;

/* The probability of each class for one text, or for a pair: (model->labels->count). Errors as
 * rt_model_encode; RT_ARGUMENT also for a model of another head than sequence. */
rt_status rt_model_classify(rt_model *model, const char *text, const char *second,
                            double *probabilities) RT_MUST_CHECK;

#endif
