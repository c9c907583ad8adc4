#ifndef ROTOR_IO_HUGGINGFACE_HUGGINGFACE_H
#define ROTOR_IO_HUGGINGFACE_HUGGINGFACE_H

/* Models of Hugging Face's transformers as folders: config.json with model.safetensors, or with the
 * files that model.safetensors.index.json names.
 *
 *     rt_huggingface *there;
 *     rt_transformer *model = NULL;
 *     rt_status status = rt_huggingface_open(&there, folder);
 *     if (!status.code)
 *         status = rt_huggingface_model(there, NULL, &model, NULL);
 *     ...
 *     rt_transformer_free(model);
 *     rt_huggingface_close(there);
 *
 * A folder is untrusted: sizes are checked before memory is allocated, and all files are parsed in
 * the calling process, in bounded memory. Errors in its content are RT_CHECKPOINT and name the file
 * and its key or tensor. RT_MEMORY; RT_CONFIG if a path is too long.
 *
 * rotor computes the same as the model of Hugging Face, or refuses the folder. A RoFormer is
 * rotated by a table of sines among its tensors (sines.c). If theta of the table is base^(-2i/R),
 * the model has this base; otherwise it learns theta, with scope model, and starts with the theta
 * of the table. A Llama is rotated by rope_parameters of config.json, which become keys of
 * position.*; its theta is fixed. A folder that rotor wrote also lists its learned theta (key
 * rotor_theta), which is used as long as it matches the table or rope_parameters. */

#include "data/data.h"
#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "models/transformer.h"

#include <stdbool.h>

enum { RT_LEVEL_WORD_SIZE = 16 };

/* A folder that is open for reading. */
typedef struct rt_huggingface {
    const char *architecture;       /* class, such as RoFormerForMaskedLM */
    bool has_head;                  /* false: base model, such as RoFormerModel or LlamaModel */
    rt_transformer_options options; /* of the whole model; a base model gets the lm head */
    int max_positions;              /* max_position_embeddings; rows of the table of a RoFormer */
    int length;                     /* training length in tokens if rotor wrote the folder, else
                                       max_positions */
    bool own;                       /* rotor wrote the folder */
    bool bare;                      /* no token is put before a text */
    bool open_ended;                /* no token is put after a text with a label */
    rt_end_ids ends;                /* eos_token_id of a causal model */
    int padding_id;                 /* id whose embedding was not trained, or RT_NO_PADDING */
    char **labels;                  /* (options.labels), heads sequence and token; else NULL */
    double *theta;                  /* if options.theta.learn, laid out as rt_transformer_theta */
    char level[RT_LEVEL_WORD_SIZE]; /* data.level of the vocabulary if rotor wrote it, else "" */
    const char *warnings;           /* lines for the user; "" if there are none */
    struct rt_huggingface_files *files;

    /* Set by rt_huggingface_import, else NULL or 0. */
    rt_vocabulary *vocabulary; /* NULL: the folder has none, and the model reads ids only */
    rt_labels *sorted_labels;  /* heads sequence and token; else NULL. A caller that takes over
                                  this or the vocabulary leaves NULL */
    int *places;               /* (options.labels): index in the folder of each sorted label */
    rt_data_options data; /* data options of the model; default length if the folder has none */
    char *refused;        /* error of a tokenizer that rotor cannot read, or NULL */
} rt_huggingface;

/* Returns whether a path is a folder with config.json and tensors. */
bool rt_is_huggingface(const char *path);

/* Returns RT_CHECKPOINT if a path holds weights that cannot be opened as they are: a folder in
 * another format, or a single file of a model folder. The message says what to do. */
rt_status rt_huggingface_refuse_format(const char *path) RT_MUST_CHECK;

/* Opens a folder for its model only. Labels keep the order of the folder. */
rt_status rt_huggingface_open(rt_huggingface **there_new, const char *folder) RT_MUST_CHECK;

/* Opens a folder as a run needs it: with vocabulary, sorted labels and data options.
 *
 * The vocabulary is that of vocab.txt or, if there is none, of tokenizer.json. A tokenizer that
 * rotor does not support is RT_CHECKPOINT with the file and the key; for a decoder it is a warning,
 * and the model reads ids only. eos_token_id gives the tokens that end a text. The tokenizer
 * decides which tokens are put around a text; with BPE, its post-processor does. Labels are sorted
 * by their bytes, as everywhere in rotor (data/labels.h); rows of the head are loaded in that
 * order. */
rt_status rt_huggingface_import(rt_huggingface **there_new, const char *folder) RT_MUST_CHECK;

void rt_huggingface_close(rt_huggingface *there);

/* Seed of the parameters that a folder lacks, so that two imports are equal. */
enum { RT_HUGGINGFACE_SEED = 1 };

/* Creates a model with the values of the folder, and with its options or, unless `options` is NULL,
 * with others for the same weights. *has_head is false if the head was drawn, which a base model
 * lacks; has_head may be NULL. */
rt_status rt_huggingface_model(const rt_huggingface *there, const rt_transformer_options *options,
                               rt_transformer **model_new, bool *has_head) RT_MUST_CHECK;

/* Parts of a model that come from a folder. A fixed theta counts if it equals the folder's. */
typedef struct rt_huggingface_taken {
    bool head;
    bool theta;
} rt_huggingface_taken;

/* Fills the values of an existing model, for train.init_from.
 *
 * The layers must have the same shapes, heads and pairing. The head is read if `head` is set and
 * both models have the same one; an untied decoder cannot fill a tied one. A head that is not read
 * must be valid all the same, and in a blank model it is drawn. Theta is read if the model learns
 * it with as many pairs: theta of scope model fills all layers and heads, theta of another scope
 * needs the same scope. A value that is not above 0 is refused if the model learns its logarithm.
 * Mismatches are found before anything is changed. After a later error, such as a number that is
 * not finite, some values are the folder's, and theta is the model's. */
rt_status rt_huggingface_load(const rt_huggingface *there, rt_transformer *model, bool head,
                              rt_huggingface_taken *taken) RT_MUST_CHECK;

/* Returns RT_CHECKPOINT with the reason why a folder has no vocabulary. */
rt_status rt_huggingface_no_vocabulary(const rt_huggingface *there, const char *path) RT_MUST_CHECK;

/* Returns the first key by which a model computes something else from the folder's weights than the
 * folder's model does, or "the fixed theta"; NULL if there is none. `theta` is taken->theta. */
const char *rt_huggingface_difference(const rt_huggingface *there, const rt_transformer_options *o,
                                      bool theta);

/* Reads the chat template of a folder, which rotor keeps but does not apply: chat_template.jinja,
 * or the key chat_template of tokenizer_config.json. The caller frees the text, which is JSON; NULL
 * if there is none that can be read. */
rt_status rt_huggingface_chat_template(char **template_new, const char *folder) RT_MUST_CHECK;

/* ---- writing ---- */

/* Options of an export. */
typedef struct rt_huggingface_export {
    const rt_vocabulary *vocabulary; /* NULL: ids only */
    bool lowercase;                  /* do_lower_case of the tokenizer */
    const char *const *labels;       /* (options.labels), heads sequence and token; NULL: LABEL_0
                                        and so on */
    int length;                      /* sequence length of the training; 0: trained elsewhere */
    int positions;                   /* for max_position_embeddings; 0: `length` */
    int table_rows;                  /* rows of the table of a RoFormer, the longest text that
                                        transformers reads; 0: 1536, or `length` if that is more */
    bool bare;                       /* no token is put before a text */
    bool open_ended;                 /* no token is put after a text with a label */
    bool theta_kept;                 /* a learned theta that the training did not change */
    const char *theta_kept_layers;   /* its layers, as in "0, 2", if it was only there; or NULL */
    const char *title;               /* heading of the model card, or NULL */
    const char *const *facts;        /* lines of the model card, such as "loss: 0.31"; or NULL */
    int fact_count;
    bool overwrite; /* the folder may have files; those of a model are replaced. If it has the same
                       vocabulary, generation_config.json, special_tokens_map.json,
                       added_tokens.json and the chat template are kept. A README.md that rotor did
                       not write is always kept */
    const char *chat_template; /* chat_template of tokenizer_config.json, as JSON; or NULL */
} rt_huggingface_export;

/* Writes a folder that from_pretrained of the same class reads: model.safetensors (always F32),
 * README.md, config.json and, with a vocabulary, tokenizer_config.json and vocab.txt (at level bpe
 * tokenizer.json). A tokenizer.json puts the same tokens around a text as rotor does: [CLS] unless
 * `bare`, and [SEP] after a text with a label unless `open_ended`.
 *
 * Creates the folder if it does not exist; its parent must exist. An older model stays in it until
 * the new one is completely on the disk, and is then replaced at once (util/durable_file.h).
 *
 * RT_CONFIG names the key of an option that no model of Hugging Face has, or a folder that is not
 * empty or has the ending of a file, such as out.bin; RT_IO; RT_NONFINITE. After an error the
 * folder is unchanged. */
rt_status rt_huggingface_write(const char *folder, const rt_transformer *model,
                               const rt_huggingface_export *export) RT_MUST_CHECK;

#endif
