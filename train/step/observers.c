/* Observers of the graphs of a trainer: the first number that is not finite (--trap), and the time
 * of each op (--profile). */

#include "train/step/private.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Weak symbol: the test of the progress line has its own clock. */
__attribute__((weak)) double rt_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void expect_finite(const rt_node *n, const real *x, const rt_tensor *of, const char *what)
{
    const size_t size = x ? rt_size(of) : 0;
    size_t i = 0;
    while (i < size && isfinite(x[i]))
        i++;
    if (i < size)
        rt_graph_fail(n->graph, RT_NONFINITE, "[%s] %s: element %zu of %s is %g", n->op->name, what,
                      i, rt_shape_text(of), (double)x[i]);
}

/* Checks the result, or the gradients of the inputs. A gradient may be in bf16: the exponent bits
 * of an infinity or a NaN are all ones. */
static void trap_after(void *context, const rt_node *n, bool backward)
{
    enum { EXPONENT = 0x7f80 };
    (void)context;
    if (!backward)
        expect_finite(n, n->out->data, n->out, "result");
    for (int i = 0; backward && i < n->inputs; i++) {
        const rt_tensor *x = n->in[i];
        const uint16_t *rounded = x ? x->rounded_grad : NULL;
        const size_t size = rounded ? rt_size(x) : 0;
        size_t k = 0;
        if (x)
            expect_finite(n, x->grad, x, "gradient of an input");
        while (k < size && (rounded[k] & EXPONENT) != EXPONENT)
            k++;
        if (k < size)
            rt_graph_fail(n->graph, RT_NONFINITE,
                          "[%s] gradient of an input, in bf16: element %zu of %s is not finite",
                          n->op->name, k, rt_shape_text(x));
    }
}

const rt_observer rt_trap = {.after = trap_after};

enum { MOST_PROFILED = 64 };

/* Time, calls and work of an op. */
typedef struct profile_entry {
    const rt_op *op;
    long calls[2]; /* here and below: [0] forward, [1] backward */
    double seconds[2];
    double bytes[2];
    double flops[2];
} profile_entry;

typedef struct rt_profile {
    int count;
    profile_entry list[MOST_PROFILED];
    double start; /* start of the current op, in seconds */
} rt_profile;

static double size_of(const rt_tensor *x)
{
    return x ? (double)rt_size(x) : 0;
}

/* Returns the additions and multiplications of products and attention; for other ops, one per
 * element. Backward of a product computes two products. */
static double flops_of(const rt_node *n, bool backward)
{
    const rt_tensor *first = n->in[0], *out = n->out;
    const double products = backward ? 2 : 1;
    if (n->op == &rt_op_linear || n->op == &rt_op_linear_activation || n->op == &rt_op_matmul)
        return products * 2 * size_of(out) * rt_columns(first);
    if (n->op == &rt_op_attention) /* backward computes the scores once more */
        return (backward ? 10 : 4) * size_of(first) * n->in[1]->shape[1];
    if (n->op == &rt_op_linear_attention)
        return products * 4 * size_of(first) * n->in[2]->shape[3];
    return size_of(out);
}

static profile_entry *entry_of(rt_profile *p, const rt_op *op)
{
    int i = 0;
    while (i < p->count && p->list[i].op != op)
        i++;
    if (i == MOST_PROFILED)
        return NULL;
    if (i == p->count)
        p->list[p->count++] = (profile_entry){.op = op};
    return &p->list[i];
}

static void profile_before(void *context, const rt_node *n, bool backward)
{
    (void)n;
    (void)backward;
    ((rt_profile *)context)->start = rt_seconds();
}

static void profile_after(void *context, const rt_node *n, bool backward)
{
    rt_profile *p = context;
    const double seconds = rt_seconds() - p->start;
    double elements = size_of(n->out);
    profile_entry *e = entry_of(p, n->op);
    if (!e)
        return;
    for (int i = 0; i < n->inputs; i++)
        elements += size_of(n->in[i]);
    e->calls[backward]++;
    e->seconds[backward] += seconds;
    e->bytes[backward] += (backward ? 2 : 1) * elements * sizeof(real);
    e->flops[backward] += flops_of(n, backward);
}

rt_status rt_trainer_observe(rt_trainer *t, bool trap, bool profile)
{
    if (profile)
        rt_free(t->profiles);
    if (profile && !(t->profiles = rt_alloc((size_t)t->graph_count, sizeof *t->profiles)))
        return rt_out_of_memory("a profile");
    if (profile)
        t->profiled = 0;
    for (int i = 0; i < t->graph_count; i++)
        rt_graph_observe(t->graphs[i],
                         trap      ? rt_trap
                         : profile ? (rt_observer){profile_before, profile_after, t->profiles + i}
                                   : (rt_observer){0});
    return rt_ok();
}

static double total(const profile_entry *e)
{
    return e->seconds[0] + e->seconds[1];
}

static int most_expensive_first(const void *a, const void *b)
{
    const double x = total(a), y = total(b);
    return (x < y) - (x > y);
}

void rt_trainer_print_profile(FILE *to, const rt_trainer *t)
{
    static const char *const ways[] = {"forward", "backward"};
    rt_profile sum = {0};
    double seconds = 0;
    if (!t->profiles)
        return;
    for (int i = 0; i < t->graph_count; i++)
        for (int k = 0; k < t->profiles[i].count; k++) {
            const profile_entry *one = &t->profiles[i].list[k];
            profile_entry *e = entry_of(&sum, one->op);
            for (int way = 0; e && way < 2; way++) {
                e->calls[way] += one->calls[way];
                e->seconds[way] += one->seconds[way];
                e->bytes[way] += one->bytes[way];
                e->flops[way] += one->flops[way];
            }
        }
    for (int i = 0; i < sum.count; i++)
        seconds += total(&sum.list[i]);
    qsort(sum.list, (size_t)sum.count, sizeof *sum.list, most_expensive_first);
    fprintf(to, "%-17s %-9s %9s %9s %7s %9s %9s\n", "op", "", "calls", "us/call", "share",
            "GFLOP/s", "GB/s");
    for (int i = 0; i < sum.count; i++)
        for (int way = 0; way < 2; way++) {
            const profile_entry *e = &sum.list[i];
            const double s = e->seconds[way] > 0 ? e->seconds[way] : 1e-12;
            if (e->calls[way])
                fprintf(to, "%-17s %-9s %9ld %9.1f %6.1f%% %9.1f %9.1f\n", e->op->name, ways[way],
                        e->calls[way], 1e6 * s / (double)e->calls[way], 100 * s / seconds,
                        1e-9 * e->flops[way] / s, 1e-9 * e->bytes[way] / s);
        }
    fprintf(to, "ops: %.3f ms a step over all threads, %d steps and their evaluations\n",
            1e3 * seconds / (t->profiled ? t->profiled : 1), t->profiled);
}
