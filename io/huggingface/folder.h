#ifndef ROTOR_IO_HUGGINGFACE_FOLDER_H
#define ROTOR_IO_HUGGINGFACE_FOLDER_H

/* The files of a folder, and its tensors by name. */

#include "io/huggingface/family.h"
#include "util/writer.h"

#define RT_HF_VOCAB          "vocab.txt"
#define RT_HF_TOKENIZER      "tokenizer_config.json"
#define RT_HF_TOKENIZER_JSON "tokenizer.json"
#define RT_HF_VOCAB_JSON     "vocab.json"
#define RT_HF_MERGES         "merges.txt"
#define RT_HF_GENERATE       "generation_config.json"
#define RT_HF_MAP            "special_tokens_map.json"
#define RT_HF_ADDED          "added_tokens.json"
#define RT_HF_CARD           "README.md"
#define RT_HF_CHAT           "chat_template.jinja"
#define RT_HF_CHAT_KEY       "chat_template" /* in tokenizer_config.json */

/* Words of a model card that rotor wrote. */
#define RT_CARD_TRAINED   "trained with rotor"
#define RT_CARD_CONVERTED "converted with rotor"

/* Keys of config.json that rotor adds: data.level of the vocabulary, data.length, and data.begin
 * and data.end if they are none. */
#define RT_HF_LEVEL  "rotor_level"
#define RT_HF_BEGIN  "rotor_begin"
#define RT_HF_END    "rotor_end"
#define RT_HF_LENGTH "rotor_length"

#define RT_WEIGHTS_FILE  "model.safetensors"
#define RT_WEIGHTS_INDEX "model.safetensors.index.json"

/* Limit of files with weights, with a margin to the files that a process can open. */
enum { RT_MOST_WEIGHT_FILES = 512 };

/* Tensors of a folder, in model.safetensors or, if there is none, in the files that
 * model.safetensors.index.json names. A file must lie in the folder itself and have exactly the
 * tensors that the index assigns to it. Errors as in safetensors.h. */
typedef struct rt_weights {
    rt_safetensors **files;
    int count;
} rt_weights;

/* Opens the files of a folder. Call rt_weights_close even after an error. */
rt_status rt_weights_open(rt_weights *weights, const char *folder) RT_MUST_CHECK;
void rt_weights_close(rt_weights *weights);

struct rt_huggingface_files {
    const rt_family *family;
    const char *described; /* name of the file that describes the model, for messages */
    rt_weights weights;
    bool prefixed;                /* tensor names begin with the prefix of the family */
    rt_folder_theta written;      /* rotor_theta */
    rt_frequency_options sliding; /* of layers with a window, where they have their own */
    rt_writer warnings;
};

/* ---- for models in other files, such as GGUF ----
 *
 * The caller creates an rt_huggingface, sets weights and family, reads the options by the rows of
 * the family, resolves what follows from both, and reads a vocabulary. */
rt_status rt_huggingface_new(rt_huggingface **there_new) RT_MUST_CHECK;

/* Sets the options that a family or no format determines. Rows of keys follow. */
void rt_config_begin(rt_huggingface *there);

rt_status rt_huggingface_resolve(rt_huggingface *there) RT_MUST_CHECK;

/* Completes a model for a run; `read` is the status of its vocabulary, `warning` a line about it or
 * NULL. */
rt_status rt_huggingface_prepare(rt_huggingface *there, rt_status read,
                                 const char *warning) RT_MUST_CHECK;

/* Returns the name of a tensor without its prefix if the folder has none. */
const char *rt_huggingface_name(const rt_huggingface *there, const char *name);

/* Returns a tensor by its name, whose prefix the folder may lack; NULL if it is missing. */
const rt_safetensor *rt_huggingface_tensor(const rt_huggingface *there, const char *name);

#endif
