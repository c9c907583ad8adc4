/* Random programs of ops: builds thousands of small graphs, some of them with shapes and arguments
 * that no op should take, runs them forward and backward, and looks at what the library promises:
 * an op returns a tensor of a good shape, or NULL with a message in the graph; nothing leaks; and,
 * under sanitizers, no address or number is wrong.
 *
 *     torture-ops SEED FIRST COUNT     graphs FIRST ... FIRST + COUNT - 1
 *
 * Prints a line for each broken promise, with the calls that led to it, and then exits with 1.
 * A new op gets a function and a line in `calls`. */

#define _DEFAULT_SOURCE

#include "core/memory.h"
#include "core/random.h"
#include "ops/ops.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_TENSORS = 48,
    MOST_CALLS = 8,
    MOST_ELEMENTS = 4096, /* of a tensor that is used again */
    ARRAY = 4096,         /* entries of the arrays that options point to, */
    FILLED = 256,         /* and of those that no shape reaches beyond */
    TRACE_SIZE = 4096
};

typedef struct program {
    rt_random random;
    uint64_t drawn;
    bool hostile;
    rt_graph *g;
    rt_tensor leaves[MOST_TENSORS];
    int leaf_count;
    rt_tensor *pool[MOST_TENSORS]; /* leaves and results */
    int pool_count;
    char trace[TRACE_SIZE];
} program;

/* What the options of a call point to: it lives until the graph is cleared, and is larger than any
 * use of it. */
typedef struct arrays {
    int32_t ids[ARRAY];
    double positions[ARRAY];
    uint8_t mask[ARRAY];
    double slopes[ARRAY];
    int16_t classes[ARRAY];
    real level[ARRAY], probabilities[ARRAY];
    rt_distances distances;
    rt_rotation_table table;
} arrays;

static int below(program *p, int n)
{
    return (int)rt_random_below(p->random, p->drawn++, (uint32_t)n);
}

static bool chance(program *p, int percent)
{
    return below(p, 100) < percent;
}

static bool hostile(program *p, int percent)
{
    return p->hostile && chance(p, percent);
}

static void note(program *p, const char *format, ...) RT_PRINTF(2, 3);
static void note(program *p, const char *format, ...)
{
    const size_t length = strlen(p->trace);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->trace + length, sizeof p->trace - length, format, arguments);
    va_end(arguments);
}

static double number(program *p)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, -1e300, 1e-300, 2};
    if (hostile(p, 15))
        return odd[below(p, sizeof odd / sizeof *odd)];
    return 4 * rt_random_uniform(p->random, p->drawn++) - 2;
}

/* From 0, or 1, to 1. */
static double share(program *p)
{
    return hostile(p, 20) ? number(p) : rt_random_uniform(p->random, p->drawn++);
}

static int whole(program *p, int low, int high)
{
    static const int odd[] = {INT_MIN, -100, -1, 0, 99, 1 << 16, INT_MAX};
    if (hostile(p, 10))
        return odd[below(p, sizeof odd / sizeof *odd)];
    return low + below(p, high - low + 1);
}

/* ---- tensors ---- */

static rt_tensor *add_to_pool(program *p, rt_tensor *x)
{
    if (x && rt_size(x) <= MOST_ELEMENTS && p->pool_count < MOST_TENSORS)
        p->pool[p->pool_count++] = x;
    return x;
}

/* A hostile shape has no elements that could be read: an axis below 1, more elements than can be
 * counted, or too many axes. Any other must be what the memory holds. */
static rt_shape spoiled(program *p, rt_shape shape)
{
    static const int odd[] = {0, -1, INT_MIN, INT_MAX, 1 << 16};
    rt_shape other = shape;
    for (int i = 0; i < shape.ndim; i++)
        if (chance(p, 50))
            other.axis[i] = odd[below(p, sizeof odd / sizeof *odd)];
    return rt_shape_size(other) ? shape : other;
}

/* The blocks are exactly as large as the shape, so that a sanitizer sees every step beside them. */
static rt_tensor *leaf(program *p, rt_shape shape)
{
    if (hostile(p, 4))
        return NULL;
    if (p->leaf_count == MOST_TENSORS)
        return &p->leaves[0];
    const size_t size = rt_shape_size(shape);
    real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
    if (!data || !grad)
        abort();
    for (size_t i = 0; i < size; i++)
        data[i] = (real)(hostile(p, 2) ? number(p)
                                       : 4 * rt_random_uniform(p->random, p->drawn++) - 2);
    rt_tensor *x = &p->leaves[p->leaf_count++];
    const bool spoil = hostile(p, 8);
    *x = rt_tensor_of(data, grad, spoil ? spoiled(p, shape) : shape);
    x->wants_grad = chance(p, 85);
    return spoil ? x : add_to_pool(p, x);
}

static rt_shape shape_of_axes(program *p, int ndim)
{
    rt_shape shape = {.ndim = ndim};
    for (int i = 0; i < RT_MAX_AXES; i++)
        shape.axis[i] = i < ndim ? 1 + below(p, chance(p, 10) ? 9 : 5) : 1;
    return shape;
}

static rt_tensor *fresh(program *p)
{
    return leaf(p, shape_of_axes(p, below(p, RT_MAX_AXES + 1)));
}

static rt_tensor *any(program *p)
{
    if (hostile(p, 4))
        return NULL;
    if (!p->pool_count || chance(p, 15))
        return fresh(p);
    return p->pool[below(p, p->pool_count)];
}

/* One of that many axes, if there is any. */
static rt_tensor *with_axes(program *p, int ndim)
{
    if (hostile(p, 10))
        return any(p);
    for (int tries = 0; tries < 4 && p->pool_count; tries++) {
        rt_tensor *x = p->pool[below(p, p->pool_count)];
        if (x->ndim == ndim)
            return x;
    }
    return leaf(p, shape_of_axes(p, ndim));
}

/* A leaf of that shape, or now and then of none that fits. */
static rt_tensor *fitting(program *p, rt_shape shape)
{
    return hostile(p, 10) ? any(p) : leaf(p, shape);
}

static int axis(const rt_tensor *x, int i)
{
    return x && i >= 0 && x->shape[i] >= 1 && x->shape[i] <= 64 ? x->shape[i] : 1;
}

static int columns(const rt_tensor *x)
{
    return axis(x, x && x->ndim > 0 && x->ndim <= RT_MAX_AXES ? x->ndim - 1 : -1);
}

/* Of a leaf whose shape may be spoiled. */
static rt_shape shape_of(const rt_tensor *x)
{
    rt_shape shape = {.ndim = x ? x->ndim : 1};
    for (int i = 0; i < RT_MAX_AXES; i++)
        shape.axis[i] = axis(x, i);
    return shape;
}

/* ---- the calls ---- */

typedef rt_tensor *call(program *p, arrays *a);

static rt_tensor *call_add(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_tensor *y = chance(p, 30) ? x : fitting(p, RT_SHAPE_OF(columns(x)));
    return rt_add(p->g, x, y);
}

static rt_tensor *call_multiply(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_tensor *y = chance(p, 30) ? x : fitting(p, shape_of(x));
    return rt_multiply(p->g, x, y);
}

static rt_tensor *call_scale(program *p, arrays *a)
{
    (void)a;
    return rt_scale(p->g, any(p), number(p));
}

static rt_tensor *call_exp(program *p, arrays *a)
{
    (void)a;
    return rt_exp(p->g, any(p));
}

static rt_tensor *call_gelu(program *p, arrays *a)
{
    (void)a;
    return rt_gelu(p->g, any(p));
}

static rt_activation activation(program *p)
{
    return (rt_activation)whole(p, RT_GELU, RT_ELU_PLUS_ONE);
}

static rt_tensor *call_activate(program *p, arrays *a)
{
    (void)a;
    return rt_activate(p->g, any(p), activation(p));
}

static rt_tensor *call_dropout(program *p, arrays *a)
{
    (void)a;
    return rt_dropout(p->g, any(p), share(p));
}

static rt_tensor *call_reshape(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_shape shape = RT_SHAPE_OF(x ? (int)rt_size(x) : 1);
    if (chance(p, 50))
        shape = (rt_shape){2, {axis(x, 0), x ? (int)rt_size(x) / axis(x, 0) : 1, 1, 1}};
    if (hostile(p, 20))
        shape = spoiled(p, shape);
    if (hostile(p, 10))
        shape.ndim = whole(p, -1, 5);
    return rt_reshape(p->g, x, shape);
}

static rt_tensor *call_permute(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    int order[RT_MAX_AXES] = {0, 1, 2, 3};
    const int ndim = x ? x->ndim : 0;
    for (int i = ndim - 1; i > 0; i--) {
        const int j = below(p, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    if (hostile(p, 20))
        order[below(p, RT_MAX_AXES)] = whole(p, -1, 4);
    return rt_permute(p->g, x, hostile(p, 5) ? NULL : order);
}

static rt_tensor *call_sum(program *p, arrays *a)
{
    (void)a;
    return rt_sum(p->g, any(p));
}

static rt_tensor *call_mean(program *p, arrays *a)
{
    (void)a;
    return rt_mean(p->g, any(p));
}

static rt_tensor *call_matmul(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = with_axes(p, 2 + below(p, 3));
    return rt_matmul(p->g, x, fitting(p, RT_SHAPE_OF(columns(x), 1 + below(p, 5))));
}

static rt_tensor *call_linear(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    const int out = 1 + below(p, 5);
    rt_tensor *weight = fitting(p, RT_SHAPE_OF(out, columns(x)));
    rt_tensor *bias = chance(p, 40) ? NULL : fitting(p, RT_SHAPE_OF(out));
    rt_shape shape = shape_of(x);
    switch (below(p, 3)) {
    case 0:
        return rt_linear(p->g, x, weight, bias);
    case 1:
        return rt_linear_activate(p->g, x, weight, bias, activation(p));
    default:
        if (shape.ndim > 0 && shape.ndim <= RT_MAX_AXES)
            shape.axis[shape.ndim - 1] = out;
        return rt_linear_onto(p->g, fitting(p, shape), x, weight, bias);
    }
}

static rt_tensor *call_layer_norm(program *p, arrays *a)
{
    (void)a;
    rt_tensor *x = any(p);
    rt_tensor *weight = fitting(p, RT_SHAPE_OF(columns(x)));
    return rt_layer_norm(p->g, x, weight, fitting(p, RT_SHAPE_OF(columns(x))), share(p));
}

static rt_tensor *call_rows(program *p, arrays *a)
{
    (void)a;
    switch (below(p, 3)) {
    case 0:
        return rt_softmax(p->g, any(p));
    case 1:
        return rt_log_softmax(p->g, any(p));
    default:
        return rt_normalize(p->g, any(p));
    }
}

static rt_tensor *call_embedding(program *p, arrays *a)
{
    rt_tensor *table = with_axes(p, 2);
    rt_shape shape = shape_of_axes(p, below(p, 4));
    for (size_t i = 0, count = rt_shape_size(shape); i < count && i < ARRAY; i++)
        a->ids[i] = hostile(p, 1) ? whole(p, -1, 9) : below(p, axis(table, 0));
    if (hostile(p, 10))
        shape = spoiled(p, shape);
    if (hostile(p, 10))
        shape.ndim = whole(p, -1, 5);
    return rt_embedding(p->g, table, hostile(p, 3) ? NULL : a->ids, shape, whole(p, -1, 3));
}

static rt_tensor *call_cross_entropy(program *p, arrays *a)
{
    rt_tensor *logits = any(p);
    for (int i = 0; i < ARRAY; i++)
        a->ids[i] = i % 3 ? i % columns(logits) : RT_IGNORE;
    if (hostile(p, 10))
        a->ids[below(p, 8)] = whole(p, -1, 9);
    const int32_t *labels = hostile(p, 5) ? NULL : a->ids;
    const double smoothing = share(p);
    if (logits && labels && rt_shape_size(rt_tensor_shape(logits)))
        (void)rt_count_correct(logits, labels);
    return rt_cross_entropy(p->g, logits, labels, smoothing,
                            hostile(p, 10) ? number(p) : 1 + below(p, 5));
}

static rt_tensor *call_rope(program *p, arrays *a)
{
    rt_tensor *x = with_axes(p, 4);
    const int heads = axis(x, 2), pairs = 1 + below(p, axis(x, 3) / 2 + 1);
    const double magnitude = hostile(p, 10) ? number(p) : 1;
    const rt_pairing pairing = (rt_pairing)whole(p, RT_INTERLEAVED, RT_HALF);
    if (chance(p, 25)) {
        double theta[MOST_ELEMENTS];
        for (int i = 0; i < pairs; i++)
            theta[i] = number(p);
        rt_status status = rt_rotation_table_init(&a->table, theta, pairs, pairing, magnitude);
        if (!status.code)
            status = rt_rotation_reserve(&a->table, 1 + below(p, 9));
        return rt_rope(p->g, x, status.code ? NULL : &a->table.rotation);
    }
    rt_tensor *theta =
        fitting(p, chance(p, 50) ? RT_SHAPE_OF(pairs) : RT_SHAPE_OF(heads, pairs));
    for (int i = 0; i < FILLED; i++)
        a->positions[i] = i;
    a->positions[below(p, 4)] = number(p);
    const rt_positions positions = {.at = chance(p, 50) ? a->positions : NULL,
                                    .per_sequence = chance(p, 30),
                                    .offset = number(p)};
    const bool wrong = hostile(p, 10);
    rt_rotation *r = rt_rotation_learned(
        p->g, theta, (rt_theta_form)whole(p, RT_THETA_LOG, RT_THETA_RAW), pairing, magnitude,
        wrong ? whole(p, -1, 3) : axis(x, 0), wrong ? whole(p, -1, 3) : axis(x, 1), positions);
    return rt_rope(p->g, x, r);
}

/* Positions, a mask and classes of distances for sequences of up to 64 tokens. */
static void fill_arrays(program *p, arrays *a)
{
    const int reach = 1 + below(p, 4), classes = 1 + below(p, 5);
    for (int i = 0; i < FILLED; i++) {
        a->positions[i] = i;
        a->mask[i] = chance(p, 80);
        a->slopes[i] = 0.5;
        a->level[i] = (real)i;
        a->classes[i] = (int16_t)(i % classes);
    }
    if (hostile(p, 20))
        a->positions[below(p, 4)] = number(p);
    if (hostile(p, 10))
        a->slopes[below(p, 2)] = number(p);
    if (hostile(p, 10))
        a->classes[below(p, 2 * reach + 1)] = (int16_t)whole(p, -1, 9);
    a->distances = (rt_distances){hostile(p, 10) ? whole(p, -1, 9) : reach,
                                  hostile(p, 10) ? whole(p, -1, 9) : classes,
                                  hostile(p, 5) ? NULL : a->classes};
    if (a->distances.reach > FILLED / 2 - 1) /* the array is as long as it is said to be */
        a->distances.reach = reach;
}

static rt_tensor *call_attention(program *p, arrays *a)
{
    rt_tensor *q = with_axes(p, 4);
    const int B = axis(q, 0), H = axis(q, 2), D = axis(q, 3), T = 1 + below(p, 6);
    rt_tensor *k = chance(p, 30) ? q : fitting(p, RT_SHAPE_OF(B, T, H, D));
    rt_tensor *v = chance(p, 30) ? k : fitting(p, RT_SHAPE_OF(B, axis(k, 1), H, 1 + below(p, 4)));
    fill_arrays(p, a);
    rt_attention_options o = {.scale = chance(p, 50) ? 0 : number(p),
                              .causal = chance(p, 40),
                              .key_mask = chance(p, 40) ? a->mask : NULL,
                              .query_positions = chance(p, 30) ? a->positions : NULL,
                              .key_positions = chance(p, 30) ? a->positions : NULL,
                              .slopes = chance(p, 20) ? a->slopes : NULL,
                              .dropout = chance(p, 30) ? share(p) : 0};
    if (chance(p, 30)) {
        const int classes = a->distances.classes > 0 && a->distances.classes < 64
                                ? a->distances.classes
                                : 1;
        o.distances = &a->distances;
        o.distance_bias = chance(p, 50) ? fitting(p, RT_SHAPE_OF(classes, H)) : NULL;
        o.distance_keys = chance(p, 50) ? fitting(p, RT_SHAPE_OF(classes, D)) : NULL;
    }
    if (chance(p, 20) && B * H * axis(q, 1) * axis(k, 1) <= ARRAY)
        o.probabilities = a->probabilities;
    return rt_attention(p->g, q, k, v, hostile(p, 5) ? NULL : &o);
}

static rt_tensor *call_linear_attention(program *p, arrays *a)
{
    rt_tensor *q = with_axes(p, 4);
    const int B = axis(q, 0), H = axis(q, 2), D = axis(q, 3);
    const bool causal = chance(p, 40);
    const int T = causal ? axis(q, 1) : 1 + below(p, 6);
    rt_tensor *k = fitting(p, RT_SHAPE_OF(B, T, H, D));
    rt_tensor *v = fitting(p, RT_SHAPE_OF(B, T, H, 1 + below(p, 4)));
    fill_arrays(p, a);
    rt_linear_attention_options o = {.causal = causal,
                                     .key_mask = chance(p, 40) ? a->mask : NULL,
                                     .constant = share(p),
                                     .eps = share(p)};
    if (chance(p, 40))
        k = rt_key_exp(p->g, k, o.key_mask, causal, hostile(p, 5) ? NULL : &o.level);
    rt_tensor *other_q = chance(p, 60) ? q : fitting(p, shape_of(q));
    rt_tensor *other_k = chance(p, 60) ? k : fitting(p, shape_of(k));
    return rt_linear_attention(p->g, q, k, v, other_q, other_k, hostile(p, 5) ? NULL : &o);
}

static const struct {
    const char *name;
    call *call;
} calls[] = {
    {"add", call_add},
    {"multiply", call_multiply},
    {"scale", call_scale},
    {"exp", call_exp},
    {"gelu", call_gelu},
    {"activate", call_activate},
    {"dropout", call_dropout},
    {"reshape", call_reshape},
    {"permute", call_permute},
    {"sum", call_sum},
    {"mean", call_mean},
    {"matmul", call_matmul},
    {"linear", call_linear},
    {"layer_norm", call_layer_norm},
    {"softmax, log_softmax or normalize", call_rows},
    {"embedding", call_embedding},
    {"cross_entropy", call_cross_entropy},
    {"rope", call_rope},
    {"attention", call_attention},
    {"linear_attention", call_linear_attention},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- a program ---- */

static void set_up(program *p, uint64_t seed, uint32_t number_of_program)
{
    *p = (program){.random = {seed, number_of_program, RT_STREAM_CHECK}};
    p->hostile = chance(p, 50);
    p->g = rt_graph_new();
    if (!p->g)
        abort();
    if (chance(p, 70))
        rt_graph_set_random(p->g, seed, number_of_program, 0);
    if (chance(p, 10))
        rt_graph_record(p->g, false);
}

static void take_down(program *p, arrays *a)
{
    rt_graph_free(p->g);
    for (int i = 0; i < MOST_CALLS; i++) {
        rt_rotation_table_free(&a[i].table);
        a[i].table = (rt_rotation_table){0};
    }
    for (int i = 0; i < p->leaf_count; i++) {
        rt_free(p->leaves[i].data);
        rt_free(p->leaves[i].grad);
    }
}

/* What is wrong with the result of a call, or NULL. */
static const char *judge(const program *p, const rt_tensor *result)
{
    const rt_status status = rt_graph_status(p->g);
    if (!result && !status.code)
        return "it returned NULL and the graph has no error";
    if (!result && !*status.message)
        return "the error has no message";
    if (result && status.code)
        return "it returned a tensor and the graph has an error";
    if (result && !rt_shape_size(rt_tensor_shape(result)))
        return "the result has no good shape";
    return NULL;
}

/* Backward from the last result. */
static rt_status go_back(program *p, rt_tensor *output)
{
    if (!output || rt_size(output) == 1)
        return rt_graph_backward(p->g, output);
    real *upstream = rt_alloc(rt_size(output), sizeof *upstream);
    if (!upstream)
        abort();
    for (size_t i = 0; i < rt_size(output); i++)
        upstream[i] = (real)number(p);
    rt_status status = rt_graph_backward_from(p->g, output, upstream);
    rt_free(upstream);
    return status;
}

/* What is wrong, or NULL; *status has the message that was last given. */
static const char *run(program *p, arrays *a, rt_status *status)
{
    const int count = 1 + below(p, MOST_CALLS);
    rt_tensor *result = NULL;
    for (int i = 0; i < count; i++) {
        const int which = below(p, CALLS);
        note(p, "%s%s", i ? ", " : p->hostile ? "hostile: " : "", calls[which].name);
        result = calls[which].call(p, &a[i]);
        const char *wrong = judge(p, result);
        *status = rt_graph_status(p->g);
        if (wrong)
            return wrong;
        if (!result)
            break;
        add_to_pool(p, result);
    }
    const bool good = result && !result->borrowed && result->wants_grad;
    *status = go_back(p, result);
    if (good == !status->code)
        return NULL;
    return good ? "backward fails" : "backward succeeds from what leads to no gradient";
}

/* ---- many of them, in a process that may not survive them ---- */

enum { TOLD = 10 }; /* broken promises that are told in full */

/* A request for more memory than there is gets NULL, as without the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* What the process that runs the programs leaves behind. */
typedef struct shared {
    program p;
    long current;
    int broken;
} shared;

static void tell(const shared *s, const char *seed, const char *wrong, const char *message)
{
    if (s->broken > TOLD)
        return;
    printf("graph %ld of seed %s (%s): %s%s%s\n", s->current, seed, s->p.trace, wrong,
           *message ? ": " : "", message);
    fflush(stdout);
}

static void run_all(shared *s, const char *seed, long end)
{
    static arrays a[MOST_CALLS];
    for (; s->current < end; s->current++) {
        const size_t live = rt_memory_live();
        set_up(&s->p, strtoull(seed, NULL, 10), (uint32_t)s->current);
        rt_status status;
        const char *wrong = run(&s->p, a, &status);
        take_down(&s->p, a);
        if (!wrong && rt_memory_live() != live)
            wrong = "memory leaks";
        s->broken += wrong != NULL;
        if (wrong)
            tell(s, seed, wrong, status.message);
    }
}

int main(int argc, char **argv)
{
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc != 4 || s == MAP_FAILED) {
        fprintf(stderr, "usage: torture-ops SEED FIRST COUNT\n");
        return 2;
    }
    const long first = atol(argv[2]), end = first + atol(argv[3]);
    for (s->current = first; s->current < end; s->current++) {
        int how = 0;
        const pid_t process = fork();
        if (process == 0) {
            alarm(60); /* one that hangs is ended by this signal */
            run_all(s, argv[1], end);
            _exit(0);
        }
        if (process < 0 || waitpid(process, &how, 0) < 0) {
            perror("torture-ops");
            return 2;
        }
        s->broken += how != 0;
        if (how)
            tell(s, argv[1], WIFSIGNALED(how) ? "ended by a signal" : "stopped by a sanitizer", "");
    }
    printf("%ld graphs, %d broken promises\n", end - first, s->broken);
    return s->broken > 0;
}
