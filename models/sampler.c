#include "models/sampler.h"

#include "core/memory.h"
#include "core/random.h"

#include <math.h>
#include <stdbool.h>

struct rt_sampler {
    rt_sampling options;
    int count;
    double *p;     /* (count): probabilities of a draw */
    int32_t *heap; /* (count): ids */
};

rt_status rt_sampler_new(rt_sampler **sampler_new, const rt_sampling *options, int count)
{
    *sampler_new = NULL;
    if (count < 1)
        return rt_error(RT_ARGUMENT, "[sampler] needs at least one token; got %d", count);
    if (!(isfinite(options->temperature) && options->temperature >= 0))
        return rt_error(RT_ARGUMENT, "[sampler] temperature must be a number >= 0; got %g",
                        options->temperature);
    if (options->top_k < 0)
        return rt_error(RT_ARGUMENT, "[sampler] top_k must be >= 0; got %d", options->top_k);
    if (!(options->top_p > 0 && options->top_p <= 1))
        return rt_error(RT_ARGUMENT, "[sampler] top_p must be in (0, 1]; got %g", options->top_p);
    rt_sampler *s = rt_alloc(1, sizeof *s);
    RT_TRY(rt_allocated(s, "a sampler"));
    *s = (rt_sampler){.options = *options,
                      .count = count,
                      .p = rt_alloc_unset((size_t)count, sizeof *s->p),
                      .heap = rt_alloc_unset((size_t)count, sizeof *s->heap)};
    if (s->p && s->heap)
        *sampler_new = s;
    else
        rt_sampler_free(s);
    return rt_allocated(*sampler_new, "a sampler");
}

void rt_sampler_free(rt_sampler *s)
{
    if (!s)
        return;
    rt_free(s->p);
    rt_free(s->heap);
    rt_free(s);
}

/* Finds the first index of the largest logit. */
static rt_status find_largest(const real *logits, int count, int *largest)
{
    *largest = 0;
    for (int i = 0; i < count; i++) {
        if (isnan(logits[i]) || logits[i] == (real)INFINITY)
            return rt_error(RT_NONFINITE, "logit %d of a row is %g", i, (double)logits[i]);
        if (logits[i] > logits[*largest])
            *largest = i;
    }
    if (count < 1 || isinf(logits[*largest]))
        return rt_error(count < 1 ? RT_ARGUMENT : RT_NONFINITE,
                        "none of the %d logits of a row is finite", count);
    return rt_ok();
}

static void exponentials(double *p, const real *logits, int count, int largest, double temperature)
{
    for (int i = 0; i < count; i++)
        p[i] = exp(((double)logits[i] - (double)logits[largest]) / temperature);
}

static void scale_to_one(double *p, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += p[i];
    for (int i = 0; i < count; i++)
        p[i] /= sum;
}

rt_status rt_probabilities(const real *logits, int count, double *probabilities)
{
    int largest;
    RT_TRY(find_largest(logits, count, &largest));
    exponentials(probabilities, logits, count, largest, 1);
    scale_to_one(probabilities, count);
    return rt_ok();
}

static bool comes_first(const double *p, int32_t a, int32_t b)
{
    return p[a] != p[b] ? p[a] > p[b] : a < b;
}

/* Moves the id at `i` down to its place in the heap. */
static void sift_down(int32_t *heap, int size, int i, const double *p)
{
    const int32_t id = heap[i];
    for (int child; (child = 2 * i + 1) < size; i = child) {
        child += child + 1 < size && comes_first(p, heap[child + 1], heap[child]);
        if (!comes_first(p, heap[child], id))
            break;
        heap[i] = heap[child];
    }
    heap[i] = id;
}

static void keep_most_likely(double *p, int32_t *heap, int count, int top_k, double top_p)
{
    const int least = top_k && top_k < count ? count - top_k : 0;
    int left = count;
    double sum = 0;
    for (int i = 0; i < count; i++)
        heap[i] = i;
    for (int i = count / 2; i-- > 0;)
        sift_down(heap, count, i, p);
    while (left > least && (top_p == 1 || sum < top_p)) { /* the first id moves behind the heap */
        const int32_t first = heap[0];
        heap[0] = heap[--left];
        heap[left] = first;
        sift_down(heap, left, 0, p);
        sum += p[first];
    }
    for (int i = 0; i < left; i++)
        p[heap[i]] = 0;
    for (int i = left; i < count; i++)
        p[heap[i]] /= sum;
}

static void round_to_real(double *p, int count)
{
    for (int i = 0; i < count; i++)
        p[i] = (double)(real)p[i];
}

rt_status rt_sampler_probabilities(rt_sampler *s, const real *logits, double *p)
{
    const rt_sampling *o = &s->options;
    int largest;
    RT_TRY(find_largest(logits, s->count, &largest));
    if (o->temperature == 0) {
        for (int i = 0; i < s->count; i++)
            p[i] = i == largest;
        return rt_ok();
    }
    exponentials(p, logits, s->count, largest, o->temperature);
    round_to_real(p, s->count);
    scale_to_one(p, s->count);
    round_to_real(p, s->count);
    if (o->top_k || o->top_p < 1) {
        keep_most_likely(p, s->heap, s->count, o->top_k, o->top_p);
        round_to_real(p, s->count);
    }
    return rt_ok();
}

/* Draws the id at which the sum of the probabilities exceeds a number below 1. If rounding keeps
 * the sum below the number, draws the most likely id. */
rt_status rt_sampler_draw(rt_sampler *s, const real *logits, uint64_t number, int32_t *token)
{
    const rt_random random = {s->options.seed, (uint32_t)number, RT_STREAM_SAMPLE};
    RT_TRY(rt_sampler_probabilities(s, logits, s->p));
    double left = rt_random_uniform(random, number >> 32);
    int32_t best = 0, i = 0;
    for (; i < s->count && (left -= s->p[i]) >= 0; i++)
        if (s->p[i] > s->p[best])
            best = i;
    *token = i < s->count ? i : best;
    return rt_ok();
}
