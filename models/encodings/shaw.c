/* Shaw et al. (2018): a learned key of each class of distances, which queries are multiplied with.
 *
 *     layers.N.attention.distance_keys.weight   (2 RT_SHAW_REACH + 1, size of a head) */

#include "models/encodings/classes.h"

#include <stdio.h>

static rt_tensor *add_layer(rt_transformer *m, int layer)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.attention.distance_keys.weight", layer);
    return rt_add_encoding_weight(m, name, 2 * RT_SHAW_REACH + 1, m->options.head_dim);
}

static rt_status start(rt_transformer *m)
{
    rt_distance_classes *classes = m->encoding.state = rt_alloc(1, sizeof *classes);
    if (!classes)
        return rt_out_of_memory("the classes of distances");
    classes->distances = rt_shaw_distances(classes->class_of);
    return rt_ok();
}

static void scores(const rt_transformer *m, rt_graph *g, int l, rt_attention_options *options)
{
    const rt_distance_classes *classes = m->encoding.state;
    (void)g;
    options->distances = &classes->distances;
    options->distance_keys = m->layers[l].encoding;
}

const rt_encoding rt_encoding_shaw = {.word = "shaw",
                                      .in_layers = true,
                                      .of_scores = true,
                                      .add_layer = add_layer,
                                      .start = start,
                                      .scores = scores};
