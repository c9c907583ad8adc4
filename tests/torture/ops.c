/* Random programs of ops: builds thousands of small graphs, of inputs that mostly fit, runs them
 * forward and backward, and looks at what the library promises: an op returns a tensor of a good
 * shape, or NULL with a message in the graph; nothing leaks; and, under sanitizers, no address or
 * number is wrong. Input that no op should take is in tests/ops/test_hostile.c.
 *
 *     torture-ops SEED FIRST COUNT     graphs FIRST ... FIRST + COUNT - 1
 *
 * Prints a line for each broken promise, with the calls that led to it, and then exits with 1.
 * The calls are those of tests/ops/calls.c. */

#define _DEFAULT_SOURCE

#include "core/memory.h"
#include "ops/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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
    rt_graph *g;
    rt_tensor leaves[MOST_TENSORS];
    int leaf_count;
    rt_tensor *pool[MOST_TENSORS]; /* leaves and results */
    int pool_count;
    char trace[TRACE_SIZE];
} program;

/* Memory of the options of a call, larger than any use of it; valid until the graph is cleared. */
typedef struct arrays {
    int32_t ids[ARRAY];
    int order[RT_MAX_AXES];
    double positions[ARRAY], slopes[ARRAY];
    uint8_t mask[ARRAY];
    int16_t classes[ARRAY];
    real level[ARRAY], probabilities[ARRAY];
    rt_distances distances;
} arrays;

/* ---- random numbers ---- */

static int below(program *p, int n)
{
    return (int)rt_random_below(p->random, p->drawn++, (uint32_t)n);
}

static bool chance(program *p, int percent)
{
    return below(p, 100) < percent;
}

static double share(program *p)
{
    return rt_random_uniform(p->random, p->drawn++);
}

static double number(program *p)
{
    return 4 * share(p) - 2;
}

static int whole(program *p, int low, int high)
{
    return low + below(p, high - low + 1);
}

/* ---- tensors ---- */

static rt_tensor *add_to_pool(program *p, rt_tensor *x)
{
    if (x && rt_size(x) <= MOST_ELEMENTS && p->pool_count < MOST_TENSORS)
        p->pool[p->pool_count++] = x;
    return x;
}

/* The blocks are exactly as large as the shape, so that a sanitizer sees every step beside them. */
static rt_tensor *leaf(program *p, rt_shape shape)
{
    if (p->leaf_count == MOST_TENSORS)
        return &p->leaves[0];
    const size_t size = rt_shape_size(shape);
    real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
    if (!data || !grad)
        abort();
    for (size_t i = 0; i < size; i++)
        data[i] = (real)number(p);
    rt_tensor *x = &p->leaves[p->leaf_count++];
    *x = rt_tensor_of(data, grad, shape);
    x->wants_grad = chance(p, 85);
    return add_to_pool(p, x);
}

static rt_shape shape_of_axes(program *p, int ndim)
{
    rt_shape shape = {.ndim = ndim};
    for (int i = 0; i < RT_MAX_AXES; i++)
        shape.axis[i] = i < ndim ? 1 + below(p, chance(p, 10) ? 9 : 5) : 1;
    return shape;
}

static rt_tensor *with_axes(program *p, int ndim)
{
    for (int tries = 0; tries < 4 && p->pool_count; tries++) {
        rt_tensor *x = p->pool[below(p, p->pool_count)];
        if (x->ndim == ndim)
            return x;
    }
    return leaf(p, shape_of_axes(p, ndim));
}

static int axis(const rt_tensor *x, int i)
{
    return x && i >= 0 && x->shape[i] >= 1 && x->shape[i] <= 64 ? x->shape[i] : 1;
}

/* ---- calls ---- */

/* Draws the inputs of a call: the first mostly from the pool, others to fit by letter. */
static void draw_inputs(program *p, const op_call *c, rt_tensor *in[MOST_INPUTS], int lengths[128])
{
    const char *next = c->inputs, *letters = next + (*next == '*');
    const int named = (int)strcspn(letters, ",");
    for (int i = 0; i < 128; i++)
        lengths[i] = 1 + below(p, 5);
    in[0] = with_axes(p, *next == '*' ? named + below(p, RT_MAX_AXES + 1 - named) : named);
    const int ndim =
        in[0] && in[0]->ndim >= named && in[0]->ndim <= RT_MAX_AXES ? in[0]->ndim : named;
    rt_shape leading = {.ndim = *next == '*' ? ndim - named : 0};
    for (int i = 0; i < ndim; i++)
        if (i < leading.ndim)
            leading.axis[i] = axis(in[0], i);
        else if (i - leading.ndim < named)
            lengths[(int)letters[i - leading.ndim]] = axis(in[0], i);
    lengths['P'] = 1 + below(p, lengths['D'] / 2 + 1);
    lengths['G'] = chance(p, 70) ? lengths['H'] : 1 + below(p, lengths['H']);
    lengths['S'] = chance(p, 50) ? lengths['T'] : lengths['S'];
    next_input(&next, lengths, leading);
    for (int i = 1; *next; i++) {
        const rt_shape shape = next_input(&next, lengths, leading);
        in[i] = c->optional & 1u << i && chance(p, 40) ? NULL
                : chance(p, 10)                        ? in[below(p, i)]
                                                       : leaf(p, shape);
    }
}

/* Positions, a mask and classes of distances for sequences of up to 64 tokens. */
static void fill_arrays(program *p, arrays *a, int classes)
{
    for (int i = 0; i < FILLED; i++) {
        a->positions[i] = i;
        a->mask[i] = chance(p, 80);
        a->slopes[i] = 0.5;
        a->level[i] = (real)i;
        a->classes[i] = (int16_t)(i % classes);
    }
    for (int i = 0; i < RT_MAX_AXES; i++)
        a->order[i] = i;
    if (chance(p, 40))
        a->positions[below(p, 4)] = number(p);
    a->distances = (rt_distances){1 + below(p, 4), classes, a->classes};
}

/* A shape of as many elements as x, or one for ids. */
static rt_shape draw_shape(program *p, const op_call *c, const rt_tensor *x)
{
    rt_shape shape = shape_of_axes(p, below(p, RT_MAX_AXES));
    const int size = x ? (int)rt_size(x) : 1;
    if (c->op == &rt_op_reshape)
        shape = chance(p, 50) ? RT_SHAPE_OF(size) : RT_SHAPE_OF(axis(x, 0), size / axis(x, 0));
    return shape;
}

static op_options draw_options(program *p, arrays *a, const op_call *c, rt_tensor *const *in,
                               const int lengths[128])
{
    const bool rope = c->op == &rt_op_rope, causal = chance(p, 40);
    const int B = axis(in[0], 0), T = axis(in[0], 1), most_kind = c->op == &rt_op_pool ? 2 : 6;
    const bool listed = B * T <= ARRAY; /* a list of positions is as long as it must be */
    const int j = below(p, RT_MAX_AXES), k = below(p, RT_MAX_AXES);
    fill_arrays(p, a, lengths['K']);
    for (int i = 0; i < ARRAY; i++)
        a->ids[i] = c->op == &rt_op_cross_entropy && i % 3 == 0 ? RT_IGNORE : i * i % lengths['V'];
    if (j < (in[0] ? in[0]->ndim : 1) && k < (in[0] ? in[0]->ndim : 1)) {
        a->order[j] = k;
        a->order[k] = j;
    }
    const uint8_t *mask = chance(p, 40) ? a->mask : NULL;
    static const double theta[] = {0.3};
    op_options o = {.number = rope ? 1 : share(p),
                    .divisor = 1 + below(p, 5),
                    .kind = below(p, most_kind + 1),
                    .onto = c->good.onto,
                    .shape = draw_shape(p, c, in[0]),
                    .order = a->order,
                    .ids = a->ids,
                    .padding = whole(p, 0, 4),
                    .mask = mask,
                    .fixed = chance(p, 20) ? theta : NULL,
                    .form = (rt_theta_form)whole(p, RT_THETA_LOG, RT_THETA_RAW),
                    .pairing = (rt_pairing)whole(p, RT_INTERLEAVED, RT_HALF),
                    .positions = {.at = listed && chance(p, 50) ? a->positions : NULL,
                                  .per_sequence = chance(p, 30),
                                  .offset = number(p)},
                    .decay = chance(p, 70) ? 0 : 1 + below(p, 9),
                    .bias = c->good.bias,
                    .keys = c->good.keys,
                    .attention = {.scale = chance(p, 50) ? 0 : number(p),
                                  .causal = causal,
                                  .window = chance(p, 30) ? whole(p, 0, 4) : 0,
                                  .key_mask = mask,
                                  .query_positions = chance(p, 30) ? a->positions : NULL,
                                  .key_positions = chance(p, 30) ? a->positions : NULL,
                                  .slopes = chance(p, 20) ? a->slopes : NULL,
                                  .distances = c->good.bias ? &a->distances : NULL,
                                  .dropout = chance(p, 30) ? share(p) : 0},
                    .linear = {.causal = causal,
                               .key_mask = mask,
                               .constant = share(p),
                               .eps = share(p),
                               .level = causal && c->op != &rt_op_key_exp && chance(p, 40)
                                            ? a->level
                                            : NULL}};
    if (chance(p, 20) && B * axis(in[0], 2) * T * axis(in[1], 1) <= ARRAY)
        o.attention.probabilities = a->probabilities;
    return o;
}

static rt_tensor *call_any(program *p, arrays *a)
{
    const op_call *c = op_calls + below(p, op_call_count);
    rt_tensor *in[MOST_INPUTS] = {NULL};
    int lengths[128];
    const size_t length = strlen(p->trace);
    snprintf(p->trace + length, sizeof p->trace - length, "%s%s", length ? ", " : "", c->op->name);
    draw_inputs(p, c, in, lengths);
    op_options o = draw_options(p, a, c, in, lengths);
    return c->call(p->g, in, &o);
}

/* ---- a program ---- */

static void set_up(program *p, uint64_t seed, uint32_t number_of_program)
{
    *p = (program){.random = {seed, number_of_program, RT_STREAM_CHECK}};
    p->g = rt_graph_new();
    if (!p->g)
        abort();
    if (chance(p, 70))
        rt_graph_set_random(p->g, seed, number_of_program, 0);
    if (chance(p, 10))
        rt_graph_record(p->g, false);
}

static void take_down(program *p)
{
    rt_graph_free(p->g);
    for (int i = 0; i < p->leaf_count; i++) {
        rt_free(p->leaves[i].data);
        rt_free(p->leaves[i].grad);
    }
}

/* Returns the flaw of the result of a call, or NULL. */
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

/* Returns a flaw, or NULL; *status has the last message. */
static const char *run(program *p, arrays *a, rt_status *status)
{
    const int count = 1 + below(p, MOST_CALLS);
    rt_tensor *result = NULL;
    for (int i = 0; i < count; i++) {
        result = call_any(p, &a[i]);
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

/* Broken promises that are told in full, and seconds of the processor for one process. */
enum { TOLD = 10, LIMIT = 60 };

/* A request for more memory than there is gets NULL, as without the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Memory that the process which runs the programs leaves behind. */
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
        take_down(&s->p);
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
            setrlimit(RLIMIT_CPU, &(struct rlimit){LIMIT, LIMIT + 5}); /* for one that hangs */
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
