#ifndef ROTOR_IO_HUGGINGFACE_ROFORMER_H
#define ROTOR_IO_HUGGINGFACE_ROFORMER_H

/* The family of the RoFormer. Its folders have a table of sines beside the parameters, by which
 * transformers rotate (roformer_sines.c), and token types. */

#include "io/huggingface/private.h"

#define RT_HF_TABLE "roformer.encoder.embed_positions.weight"

extern const rt_family rt_family_roformer;

/* What its rows name of the table of sines. */
rt_status rt_roformer_settle_theta(rt_huggingface *there) RT_MUST_CHECK;
void rt_roformer_make_table(rt_safetensors_entry *e, const rt_beside *from);

#endif
