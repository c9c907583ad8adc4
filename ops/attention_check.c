#include "ops/attention_check.h"

#include <limits.h>
#include <math.h>

static bool fit(const rt_tensor *q, const rt_tensor *k, const rt_tensor *v)
{
    return q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && q->shape[0] == k->shape[0] &&
           k->shape[0] == v->shape[0] && k->shape[1] == v->shape[1] &&
           q->shape[2] % k->shape[2] == 0 && k->shape[2] == v->shape[2] &&
           q->shape[3] == k->shape[3];
}

/* Every class is one that there is, whatever the distance. */
static bool are_classes(const rt_distances *d)
{
    bool good = d->classes > 0 && d->reach >= 0 && d->reach < INT_MAX / 2 && d->class_of;
    for (int i = 0; good && i <= 2 * d->reach; i++)
        good = d->class_of[i] >= 0 && d->class_of[i] < d->classes;
    return good;
}

static bool distances_fit(rt_graph *g, const rt_attention_options *o, int H, int D)
{
    const rt_tensor *bias = o->distance_bias, *keys = o->distance_keys;
    const int classes = o->distances ? o->distances->classes : 0;
    if (!RT_TAKES(g, "attention", {"distance_bias", bias, .optional = true},
                  {"distance_keys", keys, .optional = true}))
        return false;
    if (o->distances && !are_classes(o->distances))
        rt_graph_fail(g, RT_ARGUMENT,
                      "[attention] the distances must have a reach of at least 0, and for each of "
                      "2 reach + 1 distances one of their classes; got reach %d, %d classes",
                      o->distances->reach, classes);
    else if ((bias && (bias->ndim != 2 || bias->shape[0] != classes || bias->shape[1] != H)) ||
             (keys && (keys->ndim != 2 || keys->shape[0] != classes || keys->shape[1] != D)))
        rt_graph_fail(g, RT_SHAPE,
                      "[attention] with %d heads of size %d, distance_bias must be (classes, H) "
                      "and distance_keys (classes, D) of the distances",
                      H, D);
    return !rt_graph_failed(g);
}

static bool are_finite(rt_graph *g, const char *name, const double *position, int T)
{
    for (int t = 0; position && t < T && !rt_graph_failed(g); t++)
        if (!isfinite(position[t]))
            rt_graph_fail(g, RT_ARGUMENT, "[attention] %s: position %d is %g", name, t,
                          position[t]);
    return !rt_graph_failed(g);
}

bool rt_attention_fits(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                       const rt_attention_options *o)
{
    if (!RT_TAKES(g, "attention", RT_FACTOR(q), RT_FACTOR(k), RT_FACTOR(v)) ||
        !rt_graph_given(g, "attention", "options", o) ||
        (o->distance_keys && !RT_TAKES(g, "attention", RT_INPUT(q))))
        return false;
    if (!fit(q, k, v))
        rt_graph_fail(
            g, RT_SHAPE,
            "[attention] q, k, v must be (B, Tq, H, D), (B, Tk, G, D), (B, Tk, G, E), G a "
            "divisor of H; got %s, %s, %s",
            rt_shape_text(q), rt_shape_text(k), rt_shape_text(v));
    else if (!(o->dropout >= 0 && o->dropout < 1))
        rt_graph_fail(g, RT_ARGUMENT, "[attention] dropout must be in [0, 1); got %g", o->dropout);
    else if (o->window < 0)
        rt_graph_fail(g, RT_ARGUMENT, "[attention] window must be >= 0; got %d", o->window);
    return !rt_graph_failed(g) && distances_fit(g, o, q->shape[2], q->shape[3]) &&
           are_finite(g, "query_positions", o->query_positions, q->shape[1]) &&
           are_finite(g, "key_positions", o->key_positions, k->shape[1]);
}
