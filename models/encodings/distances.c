/* Encodings of the distance between query and key in the scores. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <stdio.h>

/* ALiBi (Press et al. 2022): subtracts a slope for each head times the distance from the scores. */

static rt_status alibi_start(rt_transformer *m)
{
    double *slopes = rt_alloc((size_t)m->options.heads, sizeof *slopes);
    m->encoding.state = slopes;
    if (!slopes)
        return rt_out_of_memory("the slopes of ALiBi");
    rt_alibi_slopes(slopes, m->options.heads);
    return rt_ok();
}

static void alibi_scores(const rt_transformer *m, rt_graph *g, int l, rt_attention_options *options)
{
    (void)g;
    (void)l;
    options->slopes = m->encoding.state;
}

const rt_encoding rt_encoding_alibi = {.word = "alibi",
                                       .in_layers = true,
                                       .of_scores = true,
                                       .start = alibi_start,
                                       .scores = alibi_scores};

/* State of the encodings with classes of distances. */
typedef struct distance_classes {
    rt_distances distances; /* refers to class_of */
    int16_t class_of[RT_MAX_CLASSES_OF];
} distance_classes;

static rt_status make_classes(rt_transformer *m, distance_classes **classes)
{
    *classes = m->encoding.state = rt_alloc(1, sizeof **classes);
    return *classes ? rt_ok() : rt_out_of_memory("the classes of distances");
}

/* T5 (Raffel et al. 2020): a learned bias of the scores for each head and class of distances.
 *
 *     positions.bias.weight   (RT_T5_BUCKETS, heads), shared by the layers */

static rt_status t5_start(rt_transformer *m)
{
    distance_classes *classes;
    const rt_status status = make_classes(m, &classes);
    if (!status.code)
        classes->distances = rt_t5_distances(classes->class_of, m->options.causal);
    return status;
}

static rt_tensor *t5_add(rt_transformer *m)
{
    return rt_add_encoding_weight(m, "positions.bias.weight", RT_T5_BUCKETS, m->options.heads);
}

static void t5_scores(const rt_transformer *m, rt_graph *g, int l, rt_attention_options *options)
{
    const distance_classes *classes = m->encoding.state;
    (void)g;
    (void)l;
    options->distances = &classes->distances;
    options->distance_bias = m->encoding.weight;
}

const rt_encoding rt_encoding_t5 = {.word = "t5",
                                    .in_layers = true,
                                    .of_scores = true,
                                    .add = t5_add,
                                    .start = t5_start,
                                    .scores = t5_scores};

/* Shaw et al. (2018): a learned key for each class of distances, added to the keys.
 *
 *     layers.N.attention.distance_keys.weight   (2 RT_SHAW_REACH + 1, size of a head) */

static rt_status shaw_start(rt_transformer *m)
{
    distance_classes *classes;
    const rt_status status = make_classes(m, &classes);
    if (!status.code)
        classes->distances = rt_shaw_distances(classes->class_of);
    return status;
}

static rt_tensor *shaw_add_layer(rt_transformer *m, int layer)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.attention.distance_keys.weight", layer);
    return rt_add_encoding_weight(m, name, 2 * RT_SHAW_REACH + 1, m->options.head_dim);
}

static void shaw_scores(const rt_transformer *m, rt_graph *g, int l, rt_attention_options *options)
{
    const distance_classes *classes = m->encoding.state;
    (void)g;
    options->distances = &classes->distances;
    options->distance_keys = m->layers[l].encoding;
}

const rt_encoding rt_encoding_shaw = {.word = "shaw",
                                      .in_layers = true,
                                      .of_scores = true,
                                      .add_layer = shaw_add_layer,
                                      .start = shaw_start,
                                      .scores = shaw_scores};
