/* Encodings of the distance between query and key in the scores. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <math.h>
#include <stdio.h>

/* ALiBi (Press et al. 2022): subtracts a slope for each head times the distance from the scores. */

void rt_alibi_slopes(double *slopes, int heads)
{
    int n = 1;
    while (2 * n <= heads)
        n *= 2;
    for (int k = 0; k < heads; k++)
        slopes[k] = k < n ? pow(2, -8.0 * (k + 1) / n) : pow(2, -4.0 * (2 * (k - n) + 1) / n);
}

static rt_status alibi_start(rt_transformer *m)
{
    double *slopes = rt_alloc((size_t)m->options.heads, sizeof *slopes);
    m->encoding.state = slopes;
    RT_TRY(rt_allocated(slopes, "the slopes of ALiBi"));
    rt_alibi_slopes(slopes, m->options.heads);
    return rt_ok();
}

static void alibi_attention(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    (void)g;
    (void)l;
    a->options.slopes = m->encoding.state;
}

const rt_encoding rt_encoding_alibi = {.word = "alibi",
                                       .in_layers = true,
                                       .of_scores = true,
                                       .start = alibi_start,
                                       .attention = alibi_attention};

/* State of the encodings with classes of distances. */
typedef struct distance_classes {
    rt_distances distances; /* refers to class_of */
    int16_t class_of[RT_MAX_CLASSES_OF];
} distance_classes;

static rt_status classes_start(rt_transformer *m)
{
    distance_classes *classes = m->encoding.state = rt_alloc(1, sizeof *classes);
    RT_TRY(rt_allocated(classes, "the classes of distances"));
    classes->distances = m->options.position.kind == RT_POSITION_T5
                             ? rt_t5_distances(classes->class_of, m->options.causal)
                             : rt_shaw_distances(classes->class_of);
    return rt_ok();
}

/* T5 (Raffel et al. 2020): a learned bias of the scores for each head and class of distances.
 *
 *     positions.bias.weight   (RT_T5_BUCKETS, heads), shared by the layers */

/* Returns the bucket of a distance of at least 0: the first half of the buckets holds one distance
 * each, the others grow by equal factors and end at RT_T5_REACH. */
static int t5_bucket(int distance, int buckets)
{
    const int exact = buckets / 2;
    if (distance < exact)
        return distance;
    const double ratio = log((double)distance / exact) / log((double)RT_T5_REACH / exact);
    const int bucket = exact + (int)(ratio * (buckets - exact) + 1e-9); /* 2.9999... is 3 */
    return bucket < buckets ? bucket : buckets - 1;
}

rt_distances rt_t5_distances(int16_t *class_of, bool causal)
{
    const int side = causal ? RT_T5_BUCKETS : RT_T5_BUCKETS / 2;
    for (int d = -RT_T5_REACH; d <= RT_T5_REACH; d++) {
        const int behind = d < 0 ? t5_bucket(-d, side) : 0;
        const int ahead = d > 0 && !causal ? side + t5_bucket(d, side) : 0;
        class_of[d + RT_T5_REACH] = (int16_t)(behind + ahead);
    }
    return (rt_distances){RT_T5_REACH, RT_T5_BUCKETS, class_of};
}

static rt_tensor *t5_add(rt_transformer *m)
{
    return rt_add_encoding_weight(m, "positions.bias.weight", RT_T5_BUCKETS, m->options.heads);
}

static void t5_attention(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    const distance_classes *classes = m->encoding.state;
    (void)g;
    (void)l;
    a->options.distances = &classes->distances;
    a->options.distance_bias = m->encoding.weight;
}

const rt_encoding rt_encoding_t5 = {.word = "t5",
                                    .in_layers = true,
                                    .of_scores = true,
                                    .add = t5_add,
                                    .start = classes_start,
                                    .attention = t5_attention};

/* Shaw et al. (2018): a learned key for each class of distances, added to the keys.
 *
 *     layers.N.attention.distance_keys.weight   (2 RT_SHAW_REACH + 1, size of a head) */

rt_distances rt_shaw_distances(int16_t *class_of)
{
    for (int c = 0; c <= 2 * RT_SHAW_REACH; c++)
        class_of[c] = (int16_t)c;
    return (rt_distances){RT_SHAW_REACH, 2 * RT_SHAW_REACH + 1, class_of};
}

static void shaw_add_layer(rt_transformer *m, int layer)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.attention.distance_keys.weight", layer);
    m->layers[layer].encoding =
        rt_add_encoding_weight(m, name, 2 * RT_SHAW_REACH + 1, m->options.head_dim);
}

static void shaw_attention(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    const distance_classes *classes = m->encoding.state;
    (void)g;
    a->options.distances = &classes->distances;
    a->options.distance_keys = m->layers[l].encoding;
}

const rt_encoding rt_encoding_shaw = {.word = "shaw",
                                      .in_layers = true,
                                      .of_scores = true,
                                      .add_layer = shaw_add_layer,
                                      .start = classes_start,
                                      .attention = shaw_attention};
