#include "core/graph_private.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

rt_graph *rt_graph_new(void)
{
    rt_graph *g = rt_alloc(1, sizeof *g);
    if (g) {
        g->record = true;
        g->random.stream = RT_STREAM_DROPOUT;
    }
    return g;
}

rt_graph *rt_graph_new_dry(void)
{
    rt_graph *g = rt_graph_new();
    if (g)
        g->arena.dry = true;
    return g;
}

void rt_graph_free(rt_graph *g)
{
    if (!g)
        return;
    rt_arena_free(&g->arena);
    rt_arena_free(&g->present);
    rt_free(g);
}

void rt_graph_clear(rt_graph *g)
{
    rt_arena_clear(&g->arena);
    rt_arena_clear(&g->present);
    g->newest = NULL;
    g->spares = (spare_blocks){NULL, NULL};
    g->scratch = NULL;
    g->status = rt_ok();
    g->random.stream = RT_STREAM_DROPOUT;
    g->drops = false;
    g->used_up = false;
}

void rt_graph_return_pages(rt_graph *g)
{
    rt_graph_clear(g);
    rt_arena_return_pages(&g->arena);
}

rt_arena_mark rt_graph_here(const rt_graph *g)
{
    return rt_arena_here(&g->arena);
}

rt_tensor *rt_graph_keep(rt_graph *g, rt_arena_mark mark, rt_tensor *x)
{
    return g->record || rt_graph_failed(g) || !x ? x : rt_graph_forget(g, mark, x);
}

rt_tensor *rt_graph_forget(rt_graph *g, rt_arena_mark mark, rt_tensor *x)
{
    rt_tensor moved = *x;
    if (!x->data)
        return rt_graph_fail(g, RT_ARGUMENT, "[graph] the data of the tensor to keep was released");
    moved.rounded = NULL;
    moved.exact = NULL;
    moved.viewed = NULL;
    moved.data = rt_arena_keep(&g->arena, mark, x->data, rt_size(x) * sizeof *x->data);
    g->scratch = NULL;
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

void rt_graph_set_recomputes(rt_graph *g, bool on)
{
    g->recomputes = on;
}

bool rt_graph_recomputes(const rt_graph *g)
{
    return g->recomputes && g->record;
}

void rt_graph_set_threads(rt_graph *g, const rt_threads *threads)
{
    g->threads = threads && threads->run ? threads : NULL;
}

const rt_threads *rt_graph_threads(const rt_graph *g)
{
    return g->threads;
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

rt_graph_need rt_graph_needs(const rt_graph *g)
{
    return (rt_graph_need){g->arena.touched, g->arena.space, g->part, g->library};
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

/* Returns the reason why an op cannot use an input, or NULL. */
static const char *flaw_of(const rt_input *in)
{
    const rt_tensor *x = in->tensor;
    if (!rt_shape_size(rt_tensor_shape(x)))
        return "which is empty or too large";
    for (int i = x->ndim; i < RT_MAX_AXES; i++)
        if (x->shape[i] != 1)
            return "but its unused axes are not 1";
    if (!x->data && x->borrowed)
        return "but no data";
    if (!x->data && !x->rounded)
        return "but its data was released";
    if (!x->data && !in->rounded)
        return "but is bf16-only; only matrix products accept it";
    if (x->borrowed && x->wants_grad && !x->grad)
        return "but no memory for its gradient";
    return NULL;
}

bool rt_graph_check_inputs(rt_graph *g, const char *op, const rt_input *inputs, int count)
{
    for (int i = 0; i < count && !rt_graph_failed(g); i++) {
        const rt_input *in = inputs + i;
        const char *flaw = in->tensor ? flaw_of(in) : NULL;
        if (!in->tensor && !in->optional)
            rt_graph_fail(g, RT_ARGUMENT, "[%s] %s is NULL", op, in->name);
        else if (flaw)
            rt_graph_fail(g, RT_SHAPE, "[%s] %s has shape %s, %s", op, in->name,
                          rt_shape_text(in->tensor), flaw);
    }
    return !rt_graph_failed(g);
}

bool rt_graph_check_argument(rt_graph *g, const char *op, const char *name, const void *argument)
{
    if (!argument)
        rt_graph_fail(g, RT_ARGUMENT, "[%s] %s is NULL", op, name);
    return !rt_graph_failed(g);
}

void *rt_graph_numbers(rt_graph *g, size_t count, size_t size)
{
    void *memory = size && count > SIZE_MAX / size ? NULL : rt_arena_take(&g->arena, count * size);
    return memory ? memory : rt_graph_fail(g, RT_MEMORY, "out of memory for a graph");
}

/* Counts the bytes in a dry graph as well, but returns memory that can be used. */
void *rt_graph_memory(rt_graph *g, size_t count, size_t size)
{
    void *memory = rt_graph_numbers(g, count, size);
    if (!memory || !g->arena.dry)
        return memory;
    memory = rt_arena_take(&g->present, count * size);
    return memory ? memory : rt_graph_fail(g, RT_MEMORY, "out of memory for a graph");
}

void *rt_graph_scratch(rt_graph *g, size_t count, size_t size)
{
    if (!g->scratch || count > g->scratch_size / size) {
        g->scratch = rt_graph_numbers(g, count, size);
        g->scratch_size = count * size;
    }
    return g->scratch;
}

void *rt_scratch(const rt_node *n)
{
    return n->graph ? n->graph->scratch : NULL;
}

real *rt_block_borrow(rt_graph *g, size_t size)
{
    for (spare **link = &g->spares.free; *link; link = &(*link)->next) {
        spare *found = *link;
        if (found->size != size)
            continue;
        *link = found->next;
        found->next = g->spares.empty;
        g->spares.empty = found;
        rt_unpoison(found->data, size * sizeof(real));
        return found->data;
    }
    return rt_graph_numbers(g, size, sizeof(real));
}

void rt_block_return(rt_graph *g, real *block, size_t size)
{
    spare *record = g->spares.empty;
    if (record)
        g->spares.empty = record->next;
    else if (!(record = rt_graph_memory(g, 1, sizeof *record)))
        return;
    *record = (spare){g->spares.free, size, block};
    g->spares.free = record;
    rt_poison(block, size * sizeof *block);
}

void rt_node_run(const rt_node *n, rt_pass pass)
{
    enum { ALIGNMENT = 64 };
    const rt_observer none = {NULL, NULL, NULL};
    rt_graph *g = n->graph;
    const bool dry = g->arena.dry, backward = pass == RT_BACKWARD;
    const rt_observer *o = dry ? &none : &g->observer;
    const rt_scratch_size size = n->op->scratch ? n->op->scratch(n, pass) : (rt_scratch_size){0};
    /* The scratch memory of the pass is followed by that of one part. */
    const size_t aligned = (size.whole + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t bytes = size.part ? aligned + size.part : size.whole;
    char *scratch = bytes ? rt_graph_scratch(g, bytes, 1) : NULL;
    g->part = size.part > g->part ? size.part : g->part;
    g->library = size.library > g->library ? size.library : g->library;
    g->part_scratch = (rt_part_scratch){size.part && scratch ? scratch + aligned : NULL, size.part};
    if (bytes && !scratch)
        return;
    if (o->before)
        o->before(o->context, n, backward);
    if (backward)
        n->op->backward(n);
    else if (!dry)
        n->op->forward(n);
    if (o->after && !rt_graph_failed(g))
        o->after(o->context, n, backward);
}

rt_node *rt_node_new(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                     int count, real *data)
{
    rt_tensor *out = rt_graph_memory(g, 1, sizeof *out);
    rt_node *node = rt_graph_memory(g, 1, sizeof *node);
    rt_tensor **in = rt_graph_memory(g, (size_t)count, sizeof(rt_tensor *));
    if (!out || !node || !in)
        return NULL;
    *out = rt_tensor_of(data, NULL, shape);
    out->borrowed = false;
    for (int i = 0; i < count && g->record; i++)
        out->wants_grad |= inputs[i] && inputs[i]->wants_grad;
    memcpy(in, inputs, (size_t)count * sizeof *in);
    *node = (rt_node){.op = op, .graph = g, .out = out, .in = in, .inputs = count};
    return node;
}

void rt_node_put(rt_node *node)
{
    if (!node->out->wants_grad)
        return;
    node->older = node->graph->newest;
    node->graph->newest = node;
}

static rt_tensor *run(rt_node *node)
{
    rt_node_run(node, RT_FORWARD);
    rt_node_put(node);
    return rt_graph_failed(node->graph) ? NULL : node->out;
}

static bool is_complete(rt_graph *g, const rt_op *op)
{
    if (!op->name || !op->forward)
        rt_graph_fail(g, RT_ARGUMENT, "[graph] an op needs a name and a forward");
    return !rt_graph_failed(g);
}

rt_tensor *rt_graph_apply(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                          int count, const void *args, size_t args_size)
{
    if (!is_complete(g, op))
        return NULL;
    size_t size = rt_shape_size(shape);
    if (!size)
        return rt_graph_fail(g, RT_SHAPE, "[%s] a result of shape %s is empty or too large",
                             op->name, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape));
    void *own_args = rt_graph_memory(g, args_size, 1);
    real *data = rt_block_borrow(g, size);
    rt_node *node = data ? rt_node_new(g, op, shape, inputs, count, data) : NULL;
    if (!node || !own_args)
        return NULL;
    node->args = memcpy(own_args, args, args_size);
    return run(node);
}

rt_tensor *rt_graph_apply_rounded(rt_graph *g, const rt_op *op, rt_tensor *x, void *rounded)
{
    rt_node *node = is_complete(g, op) ? rt_node_new(g, op, rt_tensor_shape(x), &x, 1, NULL) : NULL;
    if (!node)
        return NULL;
    node->out->rounded = rounded;
    return run(node);
}

/* Creates a view, which is bf16-only if x is. */
rt_tensor *rt_graph_view(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *x)
{
    if (!op->name)
        rt_graph_fail(g, RT_ARGUMENT, "[graph] an op needs a name");
    rt_node *node = rt_graph_failed(g) ? NULL : rt_node_new(g, op, shape, &x, 1, x->data);
    if (!node)
        return NULL;
    node->out->viewed = x->viewed ? x->viewed : x;
    node->out->rounded = x->rounded;
    node->out->exact = x->exact;
    rt_node_put(node);
    return node->out;
}

static bool is_in(const rt_tensor *x, const rt_tensor *memory)
{
    return x && rt_memory_of(x) == memory;
}

static bool reads(const rt_node *n, const rt_tensor *x, const rt_tensor *memory)
{
    return !n->out->viewed && is_in(x, memory) && (!n->op->reads || n->op->reads(n, x));
}

/* Searches back to the node that made the numbers, because no older node can read them. */
bool rt_graph_needs_numbers(const rt_graph *g, const rt_tensor *x)
{
    const rt_tensor *memory = rt_memory_of(x);
    for (const rt_node *n = g->newest; n; n = n->older) {
        bool needs = reads(n, n->out, memory);
        for (int i = 0; i < n->inputs; i++)
            needs |= reads(n, n->in[i], memory);
        if (needs || n->out == memory)
            return needs;
    }
    return true;
}

void rt_graph_release(rt_graph *g, rt_tensor *x)
{
    if (rt_graph_failed(g) || !x || !x->data || rt_graph_needs_numbers(g, x))
        return;
    const rt_tensor *memory = rt_memory_of(x);
    real *data = x->data;
    const rt_node *n = g->newest;
    for (; n->out != memory; n = n->older) {
        for (int i = 0; i < n->inputs; i++)
            if (is_in(n->in[i], memory))
                n->in[i]->data = NULL;
        if (is_in(n->out, memory))
            n->out->data = NULL;
    }
    n->out->data = NULL;
    rt_block_return(g, data, rt_size(x));
}

void rt_node_do(const rt_node *n, rt_part *part, void *context, int parts)
{
    const rt_graph *g = n->graph;
    for (int i = 0; i < parts && !(g && g->arena.dry); i++)
        part(context, i, g ? g->part_scratch.own : NULL);
}

void rt_node_share(const rt_node *n, rt_part *part, void *context, int parts)
{
    const rt_graph *g = n->graph;
    if (parts > 1 && g && g->threads && !g->arena.dry)
        g->threads->run(g->threads->runner, part, context, parts, g->part_scratch);
    else
        rt_node_do(n, part, context, parts);
}

/* Numbers of a part: enough to justify a thread. */
enum { PART = 1 << 15 };

size_t rt_rows_of_part(size_t columns)
{
    return columns < PART ? PART / (columns ? columns : 1) : 1;
}

int rt_parts_of_rows(size_t rows, size_t columns)
{
    const size_t most = rt_rows_of_part(columns);
    return (int)((rows + most - 1) / most);
}

typedef struct rows_pass {
    const rt_node *node;
    rt_row_part *part;
    void *context;
    size_t rows, most; /* rows of the pass, rows of a part */
} rows_pass;

static void run_rows(void *context, int number, void *scratch)
{
    const rows_pass *p = context;
    const size_t first = (size_t)number * p->most, left = p->rows - first;
    const size_t count = left < p->most ? left : p->most;
    p->part(&(rt_row_span){p->node, p->context, scratch, first, count, number});
}

void rt_node_rows(const rt_node *n, size_t rows, size_t columns, rt_row_part *part, void *context)
{
    rows_pass p = {n, part, context, rows, rt_rows_of_part(columns)};
    rt_node_share(n, run_rows, &p, rt_parts_of_rows(rows, columns));
}
