#ifndef ROTOR_IO_HUGGINGFACE_ROFORMER_H
#define ROTOR_IO_HUGGINGFACE_ROFORMER_H

/* The table of sines that the folders of a RoFormer have beside the parameters, by which
 * transformers rotate (roformer_sines.c). */

#include "io/huggingface/private.h"

#define RT_HF_TABLE "roformer.encoder.embed_positions.weight"

rt_status rt_roformer_settle_theta(rt_huggingface *there) RT_MUST_CHECK;
void rt_roformer_make_table(rt_safetensors_entry *e, const rt_beside *from);

/* Rows of the table of sines that is written, and max_position_embeddings. */
int rt_roformer_rows(const rt_huggingface_export *export);

#endif
