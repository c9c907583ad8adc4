#ifndef ROTOR_IO_HUGGINGFACE_ROFORMER_H
#define ROTOR_IO_HUGGINGFACE_ROFORMER_H

/* What the files of the RoFormer's family share. Beside the parameters its folders have a table of
 * sines, by which transformers rotate, token types, and for an untied decoder a second bias, which
 * is the one that is used. */

#include "io/huggingface/private.h"

#define RT_HF_TABLE        "roformer.encoder.embed_positions.weight"
#define RT_HF_TYPES        "roformer.embeddings.token_type_embeddings.weight"
#define RT_HF_DECODER      "cls.predictions.decoder.weight"
#define RT_HF_DECODER_BIAS "cls.predictions.decoder.bias"
#define RT_HF_BIAS         "cls.predictions.bias"

/* hidden_act and what it is in rotor; the first word of each is the one that is written. */
typedef struct rt_activation_word {
    const char *word;
    rt_activation kind;
} rt_activation_word;
extern const rt_activation_word rt_activation_words[];
extern const int rt_activation_word_count;

extern const rt_family_class rt_roformer_classes[];

/* The functions of rt_family_roformer. */
rt_status rt_roformer_settle_theta(rt_huggingface *there) RT_MUST_CHECK;
rt_status rt_roformer_expressible(const rt_transformer *model) RT_MUST_CHECK;
const rt_family_class *rt_roformer_class_of(const rt_transformer_options *o);
void rt_roformer_put_config(rt_writer *w, const rt_transformer *model,
                            const rt_huggingface_export *export, const rt_export_theta *theta);
void rt_roformer_add_beside(rt_entry_list *list, const rt_transformer *model,
                            const rt_huggingface_export *export, const rt_export_theta *theta);

/* Of the model card. */
extern const char rt_roformer_own_theta[];

#endif
