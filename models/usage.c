#include "models/usage.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"

#include <math.h>

rt_status rt_usage_check(const rt_transformer_options *o)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    if (!rt_encoding_of(o)->pairs)
        return rt_error(RT_CONFIG, "position.kind = %s has no pairs that rotate",
                        rt_encoding_of(o)->word);
    if (!rt_transformer_pairs(o))
        return rt_error(RT_CONFIG, "position.fraction = 0 leaves no pair that rotates");
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_error(RT_CONFIG,
                        "model.attention = %s has no scores that pairs of queries and keys add to",
                        attentions[o->attention]);
    return rt_ok();
}

rt_status rt_usage_new(rt_usage *u, const rt_transformer_options *o, int length)
{
    const rt_encoding *encoding = rt_encoding_of(o);
    const rt_status pairs = rt_usage_check(o);
    size_t gates = 0, phases = 0;
    *u =
        (rt_usage){.places = length < RT_PHASE_PLACES ? length : RT_PHASE_PLACES, .length = length};
    if (!pairs.code) {
        u->keys =
            rt_shape_size(rt_transformer_rotation_shape(o)) / (size_t)rt_transformer_theta_axes(o);
        u->queries = u->keys / (size_t)o->kv_heads * (size_t)o->heads;
    }
    if (encoding->pairs && !encoding->rotation)
        phases = u->queries * (size_t)u->places;
    for (int n = 0; (encoding = rt_encoding_at(o, n)); n++)
        if (encoding->biases_keys && rt_encoding_acts(encoding, o, 0))
            gates = (size_t)o->layers * (size_t)o->heads;
    u->count = 3 * (u->queries + u->keys + phases) + gates;
    if (!u->count)
        return pairs;
    u->numbers = rt_alloc(u->count, sizeof *u->numbers);
    RT_TRY(rt_allocated(u->numbers, "the usage of pairs"));
    u->query = (rt_pair_sum *)u->numbers;
    u->key = u->query + u->queries;
    u->phases = phases ? (rt_phase_sum *)(u->key + u->keys) : NULL;
    u->gates = gates ? u->numbers + u->count - gates : NULL;
    return rt_ok();
}

void rt_usage_free(rt_usage *u)
{
    rt_free(u->numbers);
    *u = (rt_usage){.tokens = 0};
}

void rt_usage_clear(rt_usage *u)
{
    u->tokens = 0;
    for (size_t i = 0; i < u->count; i++)
        u->numbers[i] = 0;
}

void rt_usage_add(rt_usage *sum, const rt_usage *u)
{
    sum->tokens += u->tokens;
    for (size_t i = 0; i < u->count; i++)
        sum->numbers[i] += u->numbers[i];
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

/* Adds the gates of a layer, whose negative logarithms `bias` (B, H, T) has summed up. */
static void see_gates(double *gates, const rt_transformer_input *in, const rt_tensor *bias)
{
    const int H = bias->shape[1], T = bias->shape[2];
    for (int row = 0; row < in->B * H; row++)
        for (int t = 0; t < T; t++) {
            const double *at = bias->exact + (size_t)row * (size_t)T + t;
            if (counts(in, (size_t)(row / H) * (size_t)T + (size_t)t))
                gates[row % H] += exp((t ? at[-1] : 0) - *at);
        }
}

int rt_usage_position(const rt_usage *u, int place)
{
    return (int)((int64_t)(place + 1) * u->length / u->places) - 1;
}

static void see_phases(rt_usage *u, rt_phase_sum *sums, const rt_transformer_input *in,
                       const rt_tensor *phases)
{
    const size_t columns = (size_t)phases->shape[2] * (size_t)phases->shape[3];
    for (int i = 0; i < in->B * u->places; i++) {
        const int place = i % u->places, t = rt_usage_position(u, place);
        const size_t token = (size_t)(i / u->places) * (size_t)in->T + (size_t)t;
        for (size_t c = 0; t < in->T && counts(in, token) && c < columns; c++) {
            const double sum = phases->exact[token * columns + c];
            rt_phase_sum *at = sums + c * (size_t)u->places + place;
            at->count++;
            at->sum += sum;
            at->square += sum * sum;
        }
    }
}

void rt_usage_add_layer(const rt_transformer_options *o, int l, const rt_transformer_input *in,
                        const rt_attention_pass *a)
{
    rt_usage *u = in->usage;
    const int pairs = rt_transformer_pairs(o), n = rt_layer_number(o, l);
    for (size_t t = 0; !l && t < (size_t)in->B * (size_t)in->T; t++)
        u->tokens += counts(in, t);
    if (u->gates && a->options.key_bias)
        see_gates(u->gates + (size_t)l * (size_t)o->heads, in, a->options.key_bias);
    if (u->phases && a->phase_sums)
        see_phases(u, u->phases + (size_t)(n * o->heads * pairs * u->places), in, a->phase_sums);
    if (!u->keys || !rt_layer_row_of(o, l).has_positions)
        return;
    see_heads(u->query + (size_t)n * (size_t)(o->heads * pairs), o, l, in, a->query);
    see_heads(u->key + (size_t)n * (size_t)(o->kv_heads * pairs), o, l, in, a->key);
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
