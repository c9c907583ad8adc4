#ifndef ROTOR_IO_HUGGINGFACE_HUGGINGFACE_H
#define ROTOR_IO_HUGGINGFACE_HUGGINGFACE_H

/* A model of one of the families in a folder of Hugging Face's transformers: config.json and
 * model.safetensors, or the files that model.safetensors.index.json names.
 *
 *     rt_huggingface *there;
 *     rt_transformer *model = NULL;
 *     rt_status status = rt_huggingface_open(&there, folder);
 *     if (!status.code)
 *         status = rt_huggingface_model(there, &model);
 *     ...
 *     rt_transformer_free(model);
 *     rt_huggingface_close(there);
 *
 * The folder is a stranger's: sizes are checked before memory is asked for, and everything is
 * parsed by the calling process, in memory of bounded size, without a child. Errors of what is in
 * it are RT_CHECKPOINT, begin with the name of the file and name its key or tensor; RT_MEMORY. A
 * path that is too long is RT_CONFIG.
 *
 * What a model of Hugging Face computes is computed by rotor in the same way, or the folder is
 * refused. A RoFormer turns its heads by a table of sines that is among its tensors (see
 * sines.c); if its theta are base^(-2i/R), so are those of the imported model; otherwise
 * the model learns theta, of scope model, and starts with those of the table. A Llama turns them by
 * rope_parameters of config.json, which are keys of position.* here; its theta are fixed. A folder
 * that rotor wrote also has its learned theta as numbers (key rotor_theta), which hold as long as
 * they fit the table, or rope_parameters. */

#include "data/data.h"
#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "models/transformer.h"

#include <stdbool.h>

enum { RT_LEVEL_WORD_SIZE = 16 };

typedef struct rt_huggingface {
    const char *architecture;       /* its class, such as RoFormerForMaskedLM */
    bool has_head;                  /* false: of a RoFormerModel, LlamaModel or MistralModel */
    rt_transformer_options options; /* the whole model; of one without a head, with the lm head */
    int max_positions;              /* max_position_embeddings; of a RoFormer, rows of its table of
                                       sines */
    int length;                     /* tokens that it was trained on, if rotor wrote it; otherwise
                                       max_positions */
    bool own;                       /* rotor wrote it */
    bool bare;                      /* its texts begin without a token that is put before them */
    bool open_ended;                /* and texts with a label end without one */
    rt_end_ids ends;                /* of a causal model: eos_token_id */
    int padding_id;                 /* the id whose embedding was not trained; RT_NO_PADDING */
    char **labels;                  /* (options.labels), of the sequence and token heads; or NULL */
    double *theta;                  /* if options.theta.learn, laid out as rt_transformer_theta */
    char level[RT_LEVEL_WORD_SIZE]; /* data.level of the vocabulary, if rotor wrote it; or "" */
    const char *warnings;           /* lines for the user; "" if there is none */
    struct rt_huggingface_files *files;

    /* What rt_huggingface_import reads; NULL or 0 without it. */
    rt_vocabulary *vocabulary; /* NULL: the folder has none, ids alone have a meaning */
    rt_labels *sorted_labels;  /* of the sequence and token heads; else NULL. Whoever takes one of
                                  these two over leaves NULL */
    int *places;               /* (options.labels): where the class of each label was */
    rt_data_options data;      /* what the model reads; its length is that of the key if the folder
                                  does not say */
    char *refused;             /* the part of its tokenizer that rotor does not read; or NULL */
} rt_huggingface;

/* Returns whether a path is a folder with config.json and tensors. */
bool rt_is_huggingface(const char *path);

/* RT_CHECKPOINT if the path is that of weights which are not read as they are: a folder that has
 * them in another format, or a file of such a folder. The message says how to have them read. */
rt_status rt_huggingface_refuse_format(const char *path) RT_MUST_CHECK;

/* Opens a folder for its model alone, whose labels stand as in the folder. */
rt_status rt_huggingface_open(rt_huggingface **there_new, const char *folder) RT_MUST_CHECK;

/* Opens a folder as a run needs it: with its vocabulary, its labels and what it reads.
 *
 * The vocabulary is that of vocab.txt or, without one, of tokenizer.json; what its tokenizer does
 * otherwise than BERT's is RT_CHECKPOINT, with the file and the key, and of a decoder a warning:
 * then the folder is one of ids. It has the tokens that end a text, if the folder names them. A
 * text begins, and one with a label ends, as its tokenizer has it: with BPE, by what the
 * post-processor puts there, or nothing. Labels are in the order of their bytes, as everywhere in
 * rotor (data/labels.h): the rows of the head are put in that order. */
rt_status rt_huggingface_import(rt_huggingface **there_new, const char *folder) RT_MUST_CHECK;

void rt_huggingface_close(rt_huggingface *there);

/* A model of the options with the values of the folder. The head of a RoFormerModel is drawn from
 * a seed. */
rt_status rt_huggingface_model(const rt_huggingface *there,
                               rt_transformer **model_new) RT_MUST_CHECK;

/* Fills the values of a model that somebody has made, for train.init_from. The encoder must be of
 * the same shape, with the same heads and pairing. The head is taken if both have the same one; an
 * untied decoder cannot become a tied one; without `head` it stays; of a blank model one that is
 * not taken is drawn. A head that is not taken must be sound all the same. Theta is taken if the
 * model learns it and can hold it: one of scope model goes to every layer and head, one of another
 * scope needs the same scope; the fraction must be the same; what is not above 0 is refused if the
 * model learns its logarithm. If the model has a fixed theta, taken.theta tells whether it is the
 * folder's. What does not fit is found before anything is changed; when a file cannot be read to
 * its end, some values are the folder's and some are not. */
typedef struct rt_huggingface_taken {
    bool head;
    bool theta;
} rt_huggingface_taken;
rt_status rt_huggingface_load(const rt_huggingface *there, rt_transformer *model, bool head,
                              rt_huggingface_taken *taken) RT_MUST_CHECK;

/* RT_CHECKPOINT for a folder whose vocabulary is needed and was not read: says why. */
rt_status rt_huggingface_no_vocabulary(const rt_huggingface *there, const char *path) RT_MUST_CHECK;

/* The first key by which a model would compute something else from the folder's weights than the
 * model that they are of; NULL if there is none. `theta` is what rt_huggingface_load has taken. */
const char *rt_huggingface_difference(const rt_huggingface *there, const rt_transformer_options *o,
                                      bool theta);

/* Reads the chat template of a folder, which rotor keeps and does not apply: that of
 * chat_template.jinja or the key chat_template of tokenizer_config.json, as JSON that the caller
 * frees; NULL if there is none that can be read. */
rt_status rt_huggingface_chat_template(char **template_new, const char *folder) RT_MUST_CHECK;

/* ---- writing ---- */

typedef struct rt_huggingface_export {
    const rt_vocabulary *vocabulary; /* or NULL: ids alone */
    bool lowercase;                  /* of the vocabulary's words */
    const char *const *labels;       /* (options.labels), of the sequence and token heads; or NULL:
                                        LABEL_0 and so on */
    int length;                      /* tokens that the model was trained on, or is made for:
                                        max_position_embeddings */
    int table_rows;                  /* of a RoFormer's table of sines, beyond which transformers
                                        reads no text; 0: 1536, or `length` if that is more */
    bool bare;                       /* no token was put before its texts */
    bool open_ended;                 /* nor behind those with a label */
    const char *title;               /* heading of the model card: a name; or NULL */
    const char *const *facts;        /* lines for the model card, such as "loss: 0.31"; or NULL */
    int fact_count;
    bool overwrite; /* the folder may have files: those of a model are replaced; of one with the
                       same vocabulary generation_config.json, special_tokens_map.json,
                       added_tokens.json and the chat template stay; a README.md that rotor did not
                       write always stays */
    const char *chat_template; /* value of that key of tokenizer_config.json, as JSON; or NULL */
} rt_huggingface_export;

/* Writes a folder that from_pretrained of the same class reads: model.safetensors (always F32),
 * vocab.txt (of level bpe tokenizer.json) and tokenizer_config.json if there is a vocabulary,
 * README.md, and config.json. A tokenizer.json puts around a text what rotor does: the token that
 * begins it, unless the model is bare, and of labelled texts those that end them.
 * The folder is made if it is absent, in one that exists. An older model in it is there until the
 * new one is on the disk as a whole, and then replaced at once (text/durable_file.h).
 *
 * RT_CONFIG names the key of what no model of Hugging Face expresses here, or a folder that is not
 * empty or has the name of a file, such as out.gguf; RT_IO; RT_NONFINITE. After an error the folder
 * is as it was. */
rt_status rt_huggingface_write(const char *folder, const rt_transformer *model,
                               const rt_huggingface_export *export) RT_MUST_CHECK;

#endif
