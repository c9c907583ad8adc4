/* T5 (Raffel et al. 2020): a learned bias of the scores, of each head and class of distances.
 *
 *     positions.bias.weight   (RT_T5_BUCKETS, heads), shared by the layers */

#include "models/encodings/classes.h"

static rt_tensor *add(rt_transformer *m)
{
    return rt_add_encoding_weight(m, "positions.bias.weight", RT_T5_BUCKETS, m->options.heads);
}

static rt_status start(rt_transformer *m)
{
    rt_distance_classes *classes = m->encoding.state = rt_alloc(1, sizeof *classes);
    if (!classes)
        return rt_out_of_memory("the classes of distances");
    classes->distances = rt_t5_distances(classes->class_of, m->options.causal);
    return rt_ok();
}

static void scores(const rt_transformer *m, rt_graph *g, int l, rt_attention_options *options)
{
    const rt_distance_classes *classes = m->encoding.state;
    (void)g;
    (void)l;
    options->distances = &classes->distances;
    options->distance_bias = m->encoding.weight;
}

const rt_encoding rt_encoding_t5 = {.word = "t5",
                                    .in_layers = true,
                                    .of_scores = true,
                                    .add = add,
                                    .start = start,
                                    .scores = scores};
