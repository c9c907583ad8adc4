#include "models/usage.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"

#include <math.h>

rt_status rt_usage_new(rt_usage *u, const rt_transformer_options *o)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    *u = (rt_usage){.tokens = 0};
    if (!rt_encoding_of(o)->pairs)
        return rt_error(RT_CONFIG, "position.kind = %s has no pairs that rotate",
                        rt_encoding_of(o)->word);
    if (!rt_transformer_pairs(o))
        return rt_error(RT_CONFIG, "position.fraction = 0 leaves no pair that rotates");
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_error(RT_CONFIG,
                        "model.attention = %s has no scores that pairs of queries and keys add to",
                        attentions[o->attention]);
    u->keys =
        rt_shape_size(rt_transformer_rotation_shape(o)) / (size_t)rt_transformer_theta_axes(o);
    u->queries = u->keys / (size_t)o->kv_heads * (size_t)o->heads;
    u->query = rt_alloc(u->queries + u->keys, sizeof *u->query);
    if (!u->query)
        return rt_out_of_memory("the usage of pairs");
    u->key = u->query + u->queries;
    return rt_ok();
}

void rt_usage_free(rt_usage *u)
{
    rt_free(u->query);
    *u = (rt_usage){.tokens = 0};
}

void rt_usage_clear(rt_usage *u)
{
    u->tokens = 0;
    for (size_t i = 0; i < u->queries + u->keys; i++)
        u->query[i] = (rt_pair_sum){.length = 0};
}

void rt_usage_add(rt_usage *sum, const rt_usage *u)
{
    sum->tokens += u->tokens;
    for (size_t i = 0; i < u->queries + u->keys; i++) {
        sum->query[i].length += u->query[i].length;
        sum->query[i].a += u->query[i].a;
        sum->query[i].b += u->query[i].b;
    }
}

static bool counts(const rt_transformer_input *in, size_t token)
{
    return !in->key_mask || in->key_mask[token];
}

static void see_heads(rt_pair_sum *sums, const rt_transformer_options *o, int l,
                      const rt_transformer_input *in, const rt_tensor *x)
{
    const int heads = x->shape[2], size = x->shape[3], pairs = rt_transformer_pairs(o);
    const int rotated = rt_layer_pairs(o, l);
    const size_t columns = (size_t)heads * (size_t)size;
    for (size_t t = 0; t < (size_t)in->B * (size_t)in->T; t++) {
        const real *token = x->data + t * columns;
        for (int h = 0; h < heads && counts(in, t); h++, token += size)
            for (int i = 0; i < rotated; i++) {
                const rt_pair_features at = rt_pair_features_of(o, l, i);
                const double a = (double)token[at.a], b = (double)token[at.b];
                rt_pair_sum *sum = sums + h * pairs + i;
                sum->length += sqrt(a * a + b * b);
                sum->a += a;
                sum->b += b;
            }
    }
}

void rt_usage_add_layer(rt_usage *u, const rt_transformer_options *o, int l,
                        const rt_transformer_input *in, const rt_tensor *query,
                        const rt_tensor *key)
{
    const int pairs = rt_transformer_pairs(o), n = rt_layer_number(o, l);
    if (!pairs)
        return;
    for (size_t t = 0; !n && t < (size_t)in->B * (size_t)in->T; t++)
        u->tokens += counts(in, t);
    see_heads(u->query + (size_t)n * (size_t)(o->heads * pairs), o, l, in, query);
    see_heads(u->key + (size_t)n * (size_t)(o->kv_heads * pairs), o, l, in, key);
}

static void divide_by_mean(double *x, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i];
    for (int i = 0; i < count; i++)
        x[i] = sum > 0 ? x[i] * count / sum : 0;
}

void rt_usage_shares(double *length, double *of_mean, const rt_pair_sum *sums, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        length[i] = sums[i].length;
        of_mean[i] = sqrt(sums[i].a * sums[i].a + sums[i].b * sums[i].b);
    }
    divide_by_mean(length, pairs);
    divide_by_mean(of_mean, pairs);
}
