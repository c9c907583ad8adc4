#ifndef ROTOR_TRAIN_HUGGINGFACE_PRIVATE_H
#define ROTOR_TRAIN_HUGGINGFACE_PRIVATE_H

/* What the files that read and write Hugging Face folders share. */

#include "train/huggingface/huggingface.h"
#include "train/huggingface/weights.h"
#include "train/text/writer.h"

#include <jansson.h>

#define RT_HF_CONFIG    "config.json"
#define RT_HF_VOCAB     "vocab.txt"
#define RT_HF_TOKENIZER "tokenizer_config.json"

/* Names of tensors that are no parameters of rotor's. */
#define RT_HF_PREFIX       "roformer."
#define RT_HF_TABLE        "roformer.encoder.embed_positions.weight"
#define RT_HF_TYPES        "roformer.embeddings.token_type_embeddings.weight"
#define RT_HF_WORDS        "roformer.embeddings.word_embeddings.weight"
#define RT_HF_DECODER      "cls.predictions.decoder.weight"
#define RT_HF_DECODER_BIAS "cls.predictions.decoder.bias"
#define RT_HF_BIAS         "cls.predictions.bias"

/* Keys of config.json: data.level of the vocabulary, data.length. */
#define RT_HF_LEVEL  "rotor_level"
#define RT_HF_LENGTH "rotor_length"

/* The key of config.json with all learned theta: {"scope": "layer", "form": "log", "base": 10000,
 * "theta": [[[...], ...], ...]}, radians a position by layer, head and pair, where layers or heads
 * share them a list of one. */
#define RT_HF_THETA "rotor_theta"

typedef struct rt_written_theta {
    double *values; /* NULL: there is none */
    rt_theta_scope scope;
    rt_theta_form form;
    double base;
    int layers, rows, pairs;
} rt_written_theta;

struct rt_huggingface_files {
    rt_weights weights;
    bool prefixed; /* names of the encoder begin with RT_HF_PREFIX */
    rt_written_theta written;
    rt_writer warnings;
};

/* hidden_act and what it is in rotor; the first word of each is the one that is written. */
typedef struct rt_activation_word {
    const char *word;
    rt_activation kind;
} rt_activation_word;
extern const rt_activation_word rt_activation_words[];
extern const int rt_activation_word_count;

extern const char *const rt_roformer_class_words[];

/* Fills what config.json says. */
rt_status rt_huggingface_read_config(rt_huggingface *there, const char *folder) RT_MUST_CHECK;

/* The tensor of that name, which may lack its prefix in the folder. */
rt_weight rt_huggingface_tensor(const rt_huggingface *there, const char *name);

/* The tensor that holds a parameter of rotor's; none for theta and for what the folder lacks. A
 * decoder that is tied is the words, and its bias, where there are two, that which is used. */
rt_weight rt_huggingface_find(const rt_huggingface *there, const char *parameter);

/* Finds out by what theta the folder turns, and whether its decoder is tied. */
rt_status rt_huggingface_settle_theta(rt_huggingface *there) RT_MUST_CHECK;
rt_status rt_huggingface_settle_decoder(rt_huggingface *there) RT_MUST_CHECK;

/* The mean over layers and heads of theta of that shape (layers, rows, R/2), with zeros for the
 * pairs that are not rotated: (pairs), which is what stands in the table. */
void rt_mean_theta(const double *theta, rt_shape shape, int pairs, double *mean);

/* ---- writing ---- */

/* RT_CONFIG names the key of what cannot be expressed. */
rt_status rt_huggingface_expressible(const rt_roformer *model) RT_MUST_CHECK;

/* What a model turns by, laid out as rt_roformer_theta; the shape of a theta that is fixed is that
 * of scope model. The caller frees it. */
rt_status rt_huggingface_theta_of(const rt_roformer *model, double **theta_new,
                                  rt_shape *shape) RT_MUST_CHECK;

/* The rows of the table of sines. */
int rt_huggingface_positions(const rt_huggingface_export *export);

/* The parameters and the table, to a file. */
rt_status rt_huggingface_write_weights(const char *path, const rt_roformer *model,
                                       int positions) RT_MUST_CHECK;

/* Texts that the caller frees. */
rt_status rt_huggingface_config_text(char **text_new, const rt_roformer *model,
                                     const rt_huggingface_export *export) RT_MUST_CHECK;
rt_status rt_huggingface_tokenizer_text(char **text_new,
                                        const rt_huggingface_export *export) RT_MUST_CHECK;
rt_status rt_huggingface_card_text(char **text_new, const rt_roformer *model,
                                   const rt_huggingface_export *export) RT_MUST_CHECK;

#endif
