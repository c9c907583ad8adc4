#include "core/graph.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A gradient that was consumed, kept for the next of the same size. */
typedef struct spare {
    struct spare *next;
    size_t size;
    real *data;
} spare;

struct rt_graph {
    rt_arena arena;
    rt_node *newest;
    spare *spares; /* blocks to lend */
    spare *empty;  /* records whose block is lent */
    void *scratch;
    size_t scratch_size;
    rt_status status;
    rt_random random;
    uint32_t shard;
    bool record;
    bool drops; /* dropout is on */
    const rt_crew *crew;
    rt_observer observer;
};

rt_graph *rt_graph_new(void)
{
    rt_graph *g = rt_alloc(1, sizeof *g);
    if (g) {
        g->record = true;
        g->random.stream = RT_STREAM_DROPOUT;
    }
    return g;
}

void rt_graph_free(rt_graph *g)
{
    if (!g)
        return;
    rt_arena_free(&g->arena);
    rt_free(g);
}

void rt_graph_clear(rt_graph *g)
{
    rt_arena_clear(&g->arena);
    g->newest = NULL;
    g->spares = NULL;
    g->empty = NULL;
    g->scratch = NULL;
    g->scratch_size = 0;
    g->status = rt_ok();
    g->random.stream = RT_STREAM_DROPOUT;
    g->drops = false;
}

rt_arena_mark rt_graph_here(const rt_graph *g)
{
    return rt_arena_here(&g->arena);
}

rt_tensor *rt_graph_keep(rt_graph *g, rt_arena_mark mark, rt_tensor *x)
{
    if (g->record || rt_graph_failed(g) || !x)
        return x;
    rt_tensor moved = *x;
    moved.rounded = NULL;
    moved.data = rt_arena_keep(&g->arena, mark, x->data, rt_size(x) * sizeof *x->data);
    g->scratch = NULL;
    g->scratch_size = 0;
    rt_tensor *kept = rt_graph_memory(g, 1, sizeof *kept);
    if (kept)
        *kept = moved;
    return kept;
}

void rt_graph_record(rt_graph *g, bool on)
{
    g->record = on;
}

bool rt_graph_records(const rt_graph *g)
{
    return g->record;
}

void rt_graph_set_crew(rt_graph *g, const rt_crew *crew)
{
    g->crew = crew;
}

const rt_crew *rt_graph_crew(const rt_graph *g)
{
    return g->crew;
}

void rt_graph_observe(rt_graph *g, rt_observer observer)
{
    g->observer = observer;
}

void rt_graph_set_random(rt_graph *g, uint64_t seed, uint32_t step, uint32_t shard)
{
    g->random.seed = seed;
    g->random.step = step;
    g->shard = shard;
    g->drops = true;
}

bool rt_graph_drops(const rt_graph *g)
{
    return g->drops;
}

rt_random rt_graph_next_random(rt_graph *g, uint64_t *first_index)
{
    *first_index = (uint64_t)g->shard << 32;
    rt_random r = g->random;
    g->random.stream++;
    return r;
}

rt_status rt_graph_status(const rt_graph *g)
{
    return g->status;
}

bool rt_graph_failed(const rt_graph *g)
{
    return g->status.code != RT_OK;
}

size_t rt_graph_peak(const rt_graph *g)
{
    return g->arena.used > g->arena.peak ? g->arena.used : g->arena.peak;
}

const rt_node *rt_graph_tape(const rt_graph *g)
{
    return g->newest;
}

void *rt_graph_fail(rt_graph *g, rt_code code, const char *format, ...)
{
    va_list arguments;
    if (g->status.code != RT_OK)
        return NULL;
    g->status.code = code;
    va_start(arguments, format);
    vsnprintf(g->status.message, sizeof g->status.message, format, arguments);
    va_end(arguments);
    return NULL;
}

/* What is wrong with a tensor that was given to an op, or NULL. */
static const char *flaw_of(const rt_tensor *x)
{
    if (!rt_shape_size(rt_tensor_shape(x)))
        return "which is empty or too large";
    for (int i = x->ndim; i < RT_MAX_AXES; i++)
        if (x->shape[i] != 1)
            return "and more beyond its last axis";
    if (!x->data)
        return "and no memory";
    if (x->borrowed && x->wants_grad && !x->grad)
        return "and no memory for the gradient that it wants";
    return NULL;
}

bool rt_graph_takes(rt_graph *g, const char *op, const rt_input *inputs, int count)
{
    for (int i = 0; i < count && !rt_graph_failed(g); i++) {
        const rt_input *in = inputs + i;
        const char *flaw = in->tensor ? flaw_of(in->tensor) : NULL;
        if (!in->tensor && !in->optional)
            rt_graph_fail(g, RT_ARGUMENT, "[%s] %s is NULL", op, in->name);
        else if (flaw)
            rt_graph_fail(g, RT_SHAPE, "[%s] %s has shape %s, %s", op, in->name,
                          rt_shape_text(in->tensor), flaw);
    }
    return !rt_graph_failed(g);
}

bool rt_graph_given(rt_graph *g, const char *op, const char *name, const void *argument)
{
    if (!argument)
        rt_graph_fail(g, RT_ARGUMENT, "[%s] %s is NULL", op, name);
    return !rt_graph_failed(g);
}

void *rt_graph_memory(rt_graph *g, size_t count, size_t size)
{
    void *memory = size && count > SIZE_MAX / size ? NULL : rt_arena_take(&g->arena, count * size);
    return memory ? memory : rt_graph_fail(g, RT_MEMORY, "out of memory for a graph");
}

void *rt_graph_scratch(rt_graph *g, size_t count, size_t size)
{
    if (!g->scratch || count > g->scratch_size / size) {
        g->scratch = rt_graph_memory(g, count, size);
        g->scratch_size = g->scratch ? count * size : 0;
    }
    return g->scratch;
}

static bool any_wants_grad(rt_tensor *const *inputs, int count)
{
    for (int i = 0; i < count; i++)
        if (inputs[i] && inputs[i]->wants_grad)
            return true;
    return false;
}

static void run(const rt_node *n, bool backward)
{
    const rt_observer *o = &n->graph->observer;
    if (o->before)
        o->before(o->context, n, backward);
    if (backward)
        n->op->backward(n);
    else
        n->op->forward(n);
    if (o->after && !rt_graph_failed(n->graph))
        o->after(o->context, n, backward);
}

/* The node of a result whose numbers are in `data`. NULL if the graph has failed. */
static rt_node *new_node(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                         int count, real *data)
{
    rt_tensor *out = rt_graph_memory(g, 1, sizeof *out);
    rt_node *node = rt_graph_memory(g, 1, sizeof *node);
    rt_tensor **in = rt_graph_memory(g, (size_t)count, sizeof(rt_tensor *));
    if (!out || !node || !in || !data)
        return NULL;
    *out = rt_tensor_of(data, NULL, shape);
    out->borrowed = false;
    out->wants_grad = g->record && any_wants_grad(inputs, count);
    memcpy(in, inputs, (size_t)count * sizeof *in);
    *node = (rt_node){.op = op, .graph = g, .out = out, .in = in, .inputs = count};
    return node;
}

static void put_on_tape(rt_graph *g, rt_node *node)
{
    if (!node->out->wants_grad)
        return;
    node->older = g->newest;
    g->newest = node;
}

rt_tensor *rt_graph_apply(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                          int count, const void *args, size_t args_size)
{
    if (rt_graph_failed(g))
        return NULL;
    size_t size = rt_shape_size(shape);
    if (!size)
        return rt_graph_fail(g, RT_SHAPE, "[%s] a result of shape %s is empty or too large",
                             op->name, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape));
    void *own_args = rt_graph_memory(g, args_size, 1);
    rt_node *node = new_node(g, op, shape, inputs, count, rt_graph_memory(g, size, sizeof(real)));
    if (!node || !own_args)
        return NULL;
    node->args = memcpy(own_args, args, args_size);
    run(node, false);
    put_on_tape(g, node);
    return rt_graph_failed(g) ? NULL : node->out;
}

rt_tensor *rt_graph_view(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *x)
{
    rt_node *node = rt_graph_failed(g) ? NULL : new_node(g, op, shape, &x, 1, x->data);
    if (node)
        put_on_tape(g, node);
    return node ? node->out : NULL;
}

/* ---- gradients ---- */

static real *lend(rt_graph *g, size_t size)
{
    for (spare **link = &g->spares; *link; link = &(*link)->next) {
        spare *found = *link;
        if (found->size != size)
            continue;
        *link = found->next;
        found->next = g->empty;
        g->empty = found;
        rt_unpoison(found->data, size * sizeof(real));
        return found->data;
    }
    return rt_graph_memory(g, size, sizeof(real));
}

static void take_back(rt_graph *g, rt_tensor *x)
{
    spare *record = g->empty;
    if (record)
        g->empty = record->next;
    else if (!(record = rt_graph_memory(g, 1, sizeof *record)))
        return;
    *record = (spare){g->spares, rt_size(x), x->grad};
    g->spares = record;
    rt_poison(record->data, record->size * sizeof(real));
    x->grad = NULL;
}

real *rt_grad_or_fresh(const rt_node *n, int i, real *beta)
{
    rt_tensor *x = n->in[i];
    *beta = 1;
    if (!x || !x->wants_grad)
        return NULL;
    x->reached = true;
    if (!x->grad) {
        *beta = 0;
        x->grad = lend(n->graph, rt_size(x));
    }
    return x->grad;
}

real *rt_grad(const rt_node *n, int i)
{
    real beta;
    real *grad = rt_grad_or_fresh(n, i, &beta);
    if (grad && beta == 0)
        memset(grad, 0, rt_size(n->in[i]) * sizeof(real));
    return grad;
}

void rt_grad_pass(const rt_node *n, int i)
{
    rt_tensor *x = n->in[i];
    if (x->wants_grad && !x->grad) {
        x->grad = n->out->grad;
        n->out->grad = NULL;
        return;
    }
    real *restrict dx = rt_grad(n, i);
    const real *restrict dy = n->out->grad;
    for (size_t k = 0, size = rt_size(x); dx && k < size; k++)
        dx[k] += dy[k];
}

rt_status rt_graph_backward_from(rt_graph *g, rt_tensor *output, const real *upstream)
{
    if (rt_graph_failed(g))
        return rt_graph_status(g);
    if (!output || !upstream)
        return rt_error(RT_ARGUMENT, "[backward] %s is NULL", output ? "upstream" : "the output");
    if (output->borrowed || !output->wants_grad)
        return rt_error(RT_ARGUMENT, "[backward] nothing that was recorded leads to the output");
    output->grad = lend(g, rt_size(output));
    if (!output->grad)
        return rt_graph_status(g);
    memcpy(output->grad, upstream, rt_size(output) * sizeof(real));

    for (const rt_node *n = g->newest; n && !rt_graph_failed(g); n = n->older) {
        if (!n->out->grad)
            continue; /* the output does not depend on it */
        run(n, true);
        if (n->out->grad)
            take_back(g, n->out);
    }
    return rt_graph_status(g);
}

rt_status rt_graph_backward(rt_graph *g, rt_tensor *loss)
{
    const real one = 1;
    if (loss && rt_size(loss) != 1)
        return rt_error(RT_SHAPE, "[backward] the loss must have one element; got %s",
                        rt_shape_text(loss));
    return rt_graph_backward_from(g, loss, &one);
}
