#ifndef ROTOR_IO_HUGGINGFACE_ROPE_PARAMETERS_H
#define ROTOR_IO_HUGGINGFACE_ROPE_PARAMETERS_H

/* For families without theta among the tensors: it follows from rope_parameters in config.json, or
 * from rope_theta and rope_scaling, as transformers before version 5 had them. */

#include "io/huggingface/private.h"

/* The rows of config.json, behind those of sizes; for most models the number of positions, which
 * is that of a folder that has none, means nothing but a length to begin with. */
enum { RT_MOST_POSITIONS = 1 << 30 };
#define RT_ROPE_PARAMETERS(positions)                                                              \
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_POSITIONS), .initial = positions,             \
     .when = rt_never},                                                                            \
    {                                                                                              \
        "rope_parameters", .read = rt_rope_parameters_read, .put = rt_rope_parameters_put          \
    }

/* Reads the frequencies. RT_CHECKPOINT in r names the key of what rotor has not. */
void rt_rope_parameters_read(rt_reading *r, rt_huggingface *there);

/* Writes them, and max_position_embeddings that goes with them in transformers. */
void rt_rope_parameters_put(rt_config_writing *w);

/* RT_CONFIG if they cannot say what the model turns by. */
rt_status rt_rope_parameters_check(const rt_family *family,
                                   const rt_transformer_options *o) RT_MUST_CHECK;

/* Takes rotor_theta if rope_parameters were made of it. */
rt_status rt_rope_parameters_settle(rt_huggingface *there) RT_MUST_CHECK;

/* Of the model card. */
extern const char rt_rope_parameters_shared[], rt_rope_parameters_mean[];

#endif
