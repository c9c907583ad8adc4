#ifndef ROTOR_IO_HUGGINGFACE_THETA_H
#define ROTOR_IO_HUGGINGFACE_THETA_H

/* Theta of a folder: rotor_theta with all learned theta, and rope_parameters. */

#include "io/huggingface/config.h"

/* Theta of a folder in radians per position: rotor_theta as it was read, or the effective theta of
 * a model that is written. */
typedef struct rt_folder_theta {
    double *own;    /* values of `shape`; NULL: none */
    rt_shape shape; /* (layers, heads, pairs); an axis is 1 if theta is shared along it */
    double base;    /* position.base */

    /* only of rotor_theta */
    double local_base; /* position.local_base */
    rt_theta_scope scope;
    rt_theta_form form;

    /* Only of a model that is written: mean over layers and heads for the pairs that the family
     * rotates (rt_family_pairs); 0 for pairs that the model does not rotate. */
    double *mean;
    int pairs;
} rt_folder_theta;

/* Computes the effective theta of a model for a family. A fixed theta has one row, or one for each
 * layer if layers differ. RT_NONFINITE. Free it even after an error. */
rt_status rt_folder_theta_of(const struct rt_family *family, const rt_transformer *model,
                             rt_folder_theta *theta) RT_MUST_CHECK;
void rt_folder_theta_free(rt_folder_theta *theta);

/* Key of config.json with all learned theta: {"scope": "layer", "form": "log", "base": 10000,
 * "theta": [[[...], ...], ...]}, in radians per position by layer, head and pair. A list has one
 * item where layers or heads share theta. "local_base" is optional. */
#define RT_HF_THETA "rotor_theta"

/* Reads rotor_theta, if config.json has it. */
void rt_huggingface_read_theta(rt_reading *r, const rt_transformer_options *o, rt_folder_theta *t);

/* Writes the key rotor_theta. */
void rt_put_theta(rt_config_writing *w);

/* Uses rotor_theta, if there is one and it fits, as the learned theta of the model, without a
 * scaling. If it does not fit `other`, a part of the folder, warns that `used` is used. */
void rt_huggingface_choose_theta(rt_huggingface *there, bool fits, const char *other,
                                 const char *used);

/* Layers over which theta is averaged. */
typedef enum rt_theta_layers {
    RT_THETA_OF_FULL,
    RT_THETA_OF_SLIDING,
    RT_THETA_OF_ALL
} rt_theta_layers;

/* Computes the mean of theta over heads and over the layers of a type, or over all layers if there
 * are none: (pairs), with zeros for pairs that are not rotated. */
void rt_folder_theta_mean(const rt_folder_theta *t, const rt_transformer_options *o,
                          rt_theta_layers layers, int pairs, double *mean);

/* ---- families without theta among the tensors ----
 *
 * Theta follows from rope_parameters in config.json or, before version 5 of transformers, from
 * rope_theta and rope_scaling. */

/* Rules of rope_parameters in the config.json of a family (theta.c). */
typedef struct rt_rope_rules {
    double base;              /* default; 0: 10000 */
    const char *old_base;     /* key outside, in older folders; NULL: rope_theta */
    double fraction;          /* default of partial_rotary_factor; 0: always 1 */
    const char *old_fraction; /* key outside, if there is a fraction; NULL: partial_rotary_factor */

    /* Rules for layers with a window that have their own rope_parameters; or NULL. */
    const struct rt_rope_rules *sliding;
} rt_rope_rules;

/* Rows of config.json, to be placed after those of sizes. For most models max_position_embeddings
 * is only an initial length. Further arguments are older keys of base and fraction. */
enum { RT_MOST_POSITIONS = 1 << 30 };
#define RT_ROPE_PARAMETERS(positions)                                                              \
    RT_ROPE_PARAMETERS_BASED(positions, "rope_theta", "partial_rotary_factor")
#define RT_ROPE_PARAMETERS_BASED(positions, ...)                                                   \
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_POSITIONS), .initial = positions,             \
     .when = rt_never},                                                                            \
        RT_ROW("rope_parameters", .read = rt_rope_parameters_read, .put = rt_rope_parameters_put,  \
               .also = RT_KEYS("rope_scaling", "original_max_position_embeddings", __VA_ARGS__))

/* Reads the frequencies. Sets RT_CHECKPOINT in `r` with the key of an unsupported value. */
void rt_rope_parameters_read(rt_reading *r, rt_huggingface *there);

/* Writes the frequencies, and the max_position_embeddings that transformers needs with them. */
void rt_rope_parameters_put(rt_config_writing *w);

/* Returns RT_CONFIG if rope_parameters cannot express theta of the model. */
rt_status rt_rope_parameters_check(const struct rt_family *family,
                                   const rt_transformer_options *o) RT_MUST_CHECK;

/* Uses rotor_theta if rope_parameters were made from it. RT_CHECKPOINT if the scalings of layers
 * with and without a window differ. */
rt_status rt_rope_parameters_resolve(rt_huggingface *there) RT_MUST_CHECK;

/* Returns whether theta agrees with the theta of transformers, to the precision of a float. */
bool rt_theta_is_near(const double *theta, const double *table, int pairs);

#endif
