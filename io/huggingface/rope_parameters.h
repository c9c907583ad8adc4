#ifndef ROTOR_IO_HUGGINGFACE_ROPE_PARAMETERS_H
#define ROTOR_IO_HUGGINGFACE_ROPE_PARAMETERS_H

/* For families without theta among the tensors: it follows from rope_parameters in config.json, or
 * from rope_theta and rope_scaling, as transformers before version 5 had them. */

#include "io/huggingface/private.h"

/* The rows of config.json, behind those of sizes; for most models the number of positions, which
 * is that of a folder that has none, means nothing but a length to begin with. */
enum { RT_MOST_POSITIONS = 1 << 30 };
#define RT_ROPE_PARAMETERS(positions)                                                              \
    RT_ROPE_PARAMETERS_BASED(positions, "rope_theta", "partial_rotary_factor")
#define RT_ROPE_PARAMETERS_BASED(positions, old_base, old_fraction)                                \
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_POSITIONS), .initial = positions,             \
     .when = rt_never},                                                                            \
    {                                                                                              \
        "rope_parameters", .read = rt_rope_parameters_read, .put = rt_rope_parameters_put,         \
                           .also = RT_KEYS("rope_scaling", "original_max_position_embeddings",     \
                                           old_base, old_fraction)                                 \
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

/* ---- for families with one for some layers and one for others ---- */

/* rope_parameters, or rope_scaling, which comes first where it is not empty; NULL if there is
 * neither. */
const json_t *rt_rope_parameters_find(rt_reading *r, const char **key);

/* The frequencies of one object; `within` begins the names of its keys in messages. */
rt_frequency_options rt_rope_parameters_read_one(rt_reading *r, const json_t *parameters,
                                                 const char *within, const rt_rope_rules *rules,
                                                 rt_huggingface *there);

/* Returns whether theta is the theta of transformers, to the precision of its floats. */
bool rt_theta_is_near(const double *theta, const double *table, int pairs);

/* Takes rotor_theta in place of the frequencies. */
void rt_rope_parameters_take_written(rt_huggingface *there);

/* Writes one object of frequencies or, where theta must be listed, of the mean of theta; returns
 * the max_position_embeddings that goes with it. */
int rt_rope_parameters_put_one(rt_config_writing *w, rt_json_object *to, const char *key,
                               const rt_frequency_options *f, const rt_export_theta *theta);

/* The base that says the frequencies in transformers, ntk included. */
double rt_rope_parameters_base(const rt_config_writing *w, const rt_frequency_options *f);

/* ---- the model card ---- */

extern const char rt_rope_parameters_shared[], rt_rope_parameters_mean[];

#endif
