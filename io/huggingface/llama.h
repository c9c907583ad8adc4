#ifndef ROTOR_IO_HUGGINGFACE_LLAMA_H
#define ROTOR_IO_HUGGINGFACE_LLAMA_H

/* What the files of Llama's family share. Its folders have no theta among the tensors: it follows
 * from rope_parameters in config.json, or from rope_theta and rope_scaling, as transformers before
 * version 5 had them. */

#include "io/huggingface/private.h"

extern const rt_family_class rt_llama_classes[];

/* Reads the frequencies. RT_CHECKPOINT in r names the key of what rotor has not. */
rt_frequency_options rt_llama_read_frequencies(rt_reading *r, int pairs, int max_positions);

/* Writes them, and returns max_position_embeddings, of at least `positions`, that goes with them in
 * transformers. */
int rt_llama_put_frequencies(rt_writer *w, const rt_transformer_options *o,
                             const rt_export_theta *theta, int positions);

/* Whether theta must be written number by number: it is learned, or no scaling has it. */
bool rt_llama_lists_theta(const rt_transformer_options *o);

/* The functions of rt_family_llama. */
rt_status rt_llama_settle_theta(rt_huggingface *there) RT_MUST_CHECK;
rt_status rt_llama_expressible(const rt_transformer *model) RT_MUST_CHECK;
const rt_family_class *rt_llama_class_of(const rt_transformer_options *o);
void rt_llama_put_config(rt_writer *w, const rt_transformer *model,
                         const rt_huggingface_export *export, const rt_export_theta *theta);

/* Of the model card. */
extern const char rt_llama_own_theta[];

#endif
