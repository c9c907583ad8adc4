#ifndef ROTOR_IO_ROTOR_IO_H
#define ROTOR_IO_ROTOR_IO_H

/* Interface of librotor-io, for programs that embed rotor: open, create and save models, encode
 * texts as rows of token ids, and compute predictions. Link it together with librotor, which has
 * tensors, graphs and the transformer. examples/ has complete programs.
 *
 * These functions do not print, exit, fork, start threads or read the environment. A model and an
 * optimizer belong to one thread at a time. Only one thread of a process at a time may open or
 * save, because HDF5 requires that.
 *
 * After an error, the result of a function that creates something is NULL, and nothing has changed.
 * rt_model_close accepts NULL. RT_MEMORY is possible everywhere. A struct whose members are all
 * zero is RT_ARGUMENT, and closing or freeing it does nothing. */

#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "models/transformer.h"
#include "optim/optimizer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rt_model {
    rt_transformer *transformer;     /* parameters may be changed, options must not */
    const rt_vocabulary *vocabulary; /* NULL: the model reads token ids, not texts */
    const rt_labels *labels;         /* names of the classes; NULL: none */
    int length;                      /* sequence length of the model in tokens, [CLS] included */
    int64_t step;         /* optimizer steps taken; increase it when you train the model further */
    bool has_head;        /* false: the opened folder had no head, and a new one was initialized */
    const char *warnings; /* lines about what rotor reads differently from the folder; or "" */
    struct rt_model_origin *origin;
} rt_model;

/* Returns the options that the program uses without a configuration: two layers of width 64 with
 * four heads, and so on (docs/configuration.md). */
rt_transformer_options rt_model_defaults(rt_model_kind kind);

/* Creates a model with parameters drawn from the seed. Vocabulary and labels are copied.
 *
 *     options     vocab and labels may be 0 if `vocabulary` and `labels` give them; another 0 that
 *                 its key does not allow means its default, except layers, dim and heads
 *     vocabulary  meaning of the ids (data/tokenizers/vocabulary.h); NULL: token ids only, head lm
 *     labels      names of the classes (data/labels.h) for the heads sequence and token; else NULL
 *     length      sequence length in tokens, [CLS] included, at least 2; 0: the default
 *
 * Returns RT_ARGUMENT or, with the key, RT_CONFIG for options that are invalid or inconsistent. */
rt_status rt_model_new(rt_model **model_new, const rt_transformer_options *options,
                       const rt_vocabulary *vocabulary, const rt_labels *labels, int length,
                       uint64_t seed) RT_MUST_CHECK;

/* Opens a rotor checkpoint, a GGUF file, or a Hugging Face folder of a supported family:
 * config.json, tensors and vocabulary. RT_CHECKPOINT names the file if it is invalid or missing.
 *
 * Sizes are checked before memory is allocated. But HDF5 parses the file of a checkpoint in the
 * calling process: the checksum detects damage, not forgery, and a malicious file may crash HDF5 or
 * keep it busy. The program rotor parses such files in a child process. To open an untrusted
 * checkpoint, fork first, or let the program convert it to a folder (--export): rotor itself parses
 * folders, without that risk. */
rt_status rt_model_open(rt_model **model_new, const char *path) RT_MUST_CHECK;
void rt_model_close(rt_model *model);

/* Writes a checkpoint durably: after a failure, `path` still has the old file or none. The program
 * reads it like any other checkpoint. The optimizer moments are saved as zeros, so a run that
 * continues from it is not bitwise identical. RT_IO; RT_NONFINITE names a parameter that has a NaN
 * or an infinity; RT_ARGUMENT if model->step is out of range; RT_CHECKPOINT if the written file
 * cannot be read back. */
rt_status rt_model_save(const rt_model *model, const char *path) RT_MUST_CHECK;

/* Writes a folder that from_pretrained of Hugging Face's transformers reads. RT_CONFIG if the
 * folder is not empty, or with the key of an option that no model there supports; nothing is
 * written then. RT_IO; RT_NONFINITE. */
rt_status rt_model_export(const rt_model *model, const char *folder) RT_MUST_CHECK;

/* A sequence of token ids. A row that you fill by hand needs only `length` and `ids`. */
typedef struct rt_row {
    int length;      /* T: number of tokens, [CLS] included */
    int32_t *ids;    /* (T) */
    int32_t *types;  /* (T): 1 in the second text of a pair, else 0; NULL: all 0 */
    int32_t *tokens; /* (T), head token; else NULL: number, from 0, of the token whose first piece
                        is here, or RT_NO_TOKEN */
    bool cut;        /* the text was longer than the model's length and was truncated */
    rt_unknown unknown; /* parts of the text that became [UNK] */
} rt_row;
enum { RT_NO_TOKEN = -1 };

/* Encodes a text as a row, as in training. Free the row even after an error.
 *
 *     head sequence   [CLS] text [SEP], or [CLS] text [SEP] second [SEP]; truncated to the model's
 *                     length
 *     head token      [CLS] tokens [SEP], with blanks between tokens in the text; likewise
 *     head lm         [CLS] text, of any length; [MASK] in the text becomes that token. Without
 *                     [CLS] for a model that was trained so (data.begin = none)
 *
 * `second` is NULL unless there is a pair. RT_ARGUMENT if the model has no vocabulary or was
 * trained without pairs, or if the text is not UTF-8 or gives no token. */
rt_status rt_model_encode(const rt_model *model, const char *text, const char *second,
                          rt_row *row) RT_MUST_CHECK;
void rt_row_free(rt_row *row);

/* Computes the logits of rows, which are padded to the longest and may be freed afterwards. A loss
 * of the logits can be differentiated. Returns NULL if the graph has failed, as any op.
 *
 *     head sequence   (rows, labels)
 *     head token      (rows, T, labels)
 *     head lm         (rows, T, V); to generate token by token, use a session (models/session.h),
 *                     which has a KV cache */
rt_tensor *rt_model_logits(rt_model *model, rt_graph *g, const rt_row *rows, int count);

/* Computes the softmax of one row of logits, one number per column. RT_ARGUMENT as rt_probabilities
 * (models/sampler.h). */
rt_status rt_logits_probabilities(const rt_tensor *logits, size_t row,
                                  double *probabilities) RT_MUST_CHECK;

/* Computes the probability of each class, (model->labels->count), for a text or a pair. Errors as
 * rt_model_encode; RT_ARGUMENT also for a model without a sequence head. */
rt_status rt_model_classify(rt_model *model, const char *text, const char *second,
                            double *probabilities) RT_MUST_CHECK;

#endif
