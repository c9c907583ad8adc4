#ifndef ROTOR_IO_HUGGINGFACE_TENSOR_ROWS_H
#define ROTOR_IO_HUGGINGFACE_TENSOR_ROWS_H

/* The tensors of a family's folders as a table that is read in both directions: what a tensor is
 * called there, and which parameters of rotor (models/transformer.h) it is made of, and how.
 *
 *     {"model.layers.N.mlp.up_proj", .here = {"layers.N.ffn.up"}}
 *
 * A name is whole, or goes up to ".weight" or ".bias", which both sides then have. N stands for the
 * number of a layer. A tensor of which the model has no parameter is not there: biases that a model
 * has in some maps alone need no row of their own.
 *
 * A parameter can have several rows. All that hold are written; of those, the first whose tensor is
 * in the folder is read. */

#include "io/huggingface/safetensors.h"
#include "models/transformer.h"

/* q, k and v in one matrix. */
enum { RT_MOST_PARTS = 3 };

typedef enum rt_tensor_form {
    RT_AS_IT_IS, /* or the rows of several parameters, all of the first, then of the second */
    RT_TRANSPOSED,
    RT_BY_HEAD /* the rows of several parameters, one group after the other: of each head of
                  keys those of its queries, its key and its value, as the parts are named */
} rt_tensor_form;

/* What a row, or a key, holds for. */
typedef bool rt_options_test(const rt_transformer_options *o);
rt_options_test rt_when_lm, rt_when_sequence, rt_when_token, rt_when_causal, rt_when_bidirectional,
    rt_when_untied, rt_when_pool_first, rt_when_pool_last, rt_always, rt_never;

struct rt_family;
struct rt_export_theta;

/* What a tensor that is no parameter is made from; `theta` lives as long as the entry. */
typedef struct rt_beside {
    const rt_transformer_options *options;
    int positions; /* that the folder is for */
    const struct rt_export_theta *theta;
} rt_beside;

typedef struct rt_tensor_row {
    const char *there; /* NULL ends a table */
    const char *here[RT_MOST_PARTS];
    rt_tensor_form form;
    rt_options_test *when;    /* the models that have it; NULL: all */
    rt_options_test *written; /* the models that it is written of; NULL: all that have it */
    bool spare;               /* may be there without a parameter, and is of no use then */

    /* Fills shape, fill and context of what is written for a model without such a parameter, for
     * each layer if the name has one. */
    void (*make)(rt_safetensors_entry *e, const rt_beside *from);
} rt_tensor_row;

/* ---- where a parameter is ---- */

typedef struct rt_tensor_place {
    const rt_tensor_row *row;
    int part;
    char name[RT_NAME_SIZE]; /* of the tensor, there */
} rt_tensor_place;

/* The n-th place of a parameter in the folder of a model with such options; false past the last. */
bool rt_tensor_place_of(rt_tensor_place *place, const struct rt_family *family,
                        const rt_transformer_options *o, const char *parameter, int n);

/* The place that a message names, which is no other name that is only read. */
bool rt_tensor_main_place(rt_tensor_place *place, const struct rt_family *family,
                          const rt_transformer_options *o, const char *parameter);

/* Whether a row stands for a tensor of each layer; its name there, which must be whole, for one. */
bool rt_tensor_row_is_of_layers(const rt_tensor_row *row);
void rt_tensor_row_name(const rt_tensor_row *row, int layer, char name[RT_NAME_SIZE]);

/* Returns whether a tensor of that name belongs to the model, or is a buffer that is computed from
 * config.json. */
bool rt_tensor_is_known(const struct rt_family *family, const rt_transformer *model,
                        const char *there);

/* ---- where its numbers are ---- */

/* What of a parameter are the features of heads, which can stand in another order there. */
typedef enum rt_features { RT_NO_FEATURES, RT_FEATURE_ROWS, RT_FEATURE_COLUMNS } rt_features;

/* One parameter in a tensor. The rows of both are in groups, as many in one as in the other. */
typedef struct rt_tensor_map {
    int rows, columns; /* of the parameter */
    int groups;
    int block, before, width; /* rows of a group: of the parameter, of the parts before it, of the
                                 tensor */
    bool transposed;
    rt_features features; /* that stand in another order there */
    const struct rt_family *family;
    const rt_transformer_options *options;
} rt_tensor_map;

/* `o` are the options of the folder, `parameter` is one of the model's. */
rt_tensor_map rt_tensor_map_of(const rt_tensor_place *place, const struct rt_family *family,
                               const rt_transformer_options *o, const rt_transformer *model,
                               const rt_parameter *parameter);

/* The parameter's sibling: another part of the same tensor; NULL if the model has none. */
const rt_parameter *rt_tensor_part(const rt_tensor_place *place, const rt_transformer *model,
                                   const rt_parameter *parameter, int part);

/* The shape of the tensor. */
rt_shape rt_tensor_map_shape(const rt_tensor_map *map, const rt_parameter *parameter);

/* Whether number i of the tensor is number i of the parameter. */
bool rt_tensor_map_is_plain(const rt_tensor_map *map);

/* Number `row`, `column` of the tensor, among the parameter's; false if it is another part's. */
bool rt_tensor_map_index(const rt_tensor_map *map, size_t row, size_t column, size_t *index);

#endif
