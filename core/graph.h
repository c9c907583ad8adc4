#ifndef ROTOR_CORE_GRAPH_H
#define ROTOR_CORE_GRAPH_H

/* A graph: the tape of the ops that ran and the memory of their results.
 *
 * An op computes its result at once. If one of its inputs wants a gradient, the op adds a node to
 * the tape, which rt_graph_backward walks from the newest node to the oldest. The graph owns every
 * tensor that an op returns; rt_graph_clear releases them all, once per step, and the next step
 * reuses the memory. Leaves (parameters, inputs) belong to the caller and must outlive the step.
 *
 * Errors stick: after a wrong shape or argument, this op and every later one return NULL, and the
 * graph keeps the first message. An op that is given NULL by a graph without an error fails the
 * graph. So a model is plain nested calls, and the caller checks rt_graph_status once, after the
 * last.
 *
 * A graph belongs to one thread at a time.
 */

#include "core/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/status.h"
#include "core/tensor.h"

typedef struct rt_graph rt_graph;
typedef struct rt_node rt_node;

/* Returns an empty graph; NULL if the heap is exhausted. */
rt_graph *rt_graph_new(void);

/* Returns a graph for a dry run: its numbers, and those of leaves, are in reserved memory
 * (core/memory.h). Ops check shapes and arguments and add nodes to the tape, but no forward runs.
 * Backward functions run without gradients: rt_grad counts the memory and returns NULL, and no part
 * of a pass runs. The tape and every count equal those of a graph that computes. */
rt_graph *rt_graph_new_dry(void);
void rt_graph_free(rt_graph *g);

/* Removes the tape, the results and the error. */
void rt_graph_clear(rt_graph *g);

/* Clears the graph and returns its memory to the system until the next use. */
void rt_graph_return_pages(rt_graph *g);

/* Sets whether ops add nodes to the tape. Default: on; evaluation turns it off. */
void rt_graph_record(rt_graph *g, bool on);
bool rt_graph_records(const rt_graph *g);

/* Parallel-for over the threads of the caller; the library itself creates no threads. The cut of
 * the work does not depend on the threads, so results are bitwise identical for any number
 * of them. */

/* Computes one part, 0 ... parts - 1, of the work that `context` describes. `scratch` is scratch
 * memory with arbitrary contents. Parts write to separate memory and start no parts themselves. */
typedef void rt_part(void *context, int part, void *scratch);

/* Scratch memory of the thread that calls `run`. Every other thread provides as many bytes, aligned
 * to 64. */
typedef struct rt_part_scratch {
    void *own;
    size_t bytes;
} rt_part_scratch;

typedef struct rt_threads {
    /* Runs all parts, in any order and in parallel, and returns when all are done. */
    void (*run)(void *runner, rt_part *part, void *context, int parts, rt_part_scratch scratch);
    void *runner; /* passed to `run` */
} rt_threads;

/* Sets the threads that run the parts of large ops (borrowed). With NULL, the default, the calling
 * thread computes the same parts alone. */
void rt_graph_set_threads(rt_graph *g, const rt_threads *threads);
const rt_threads *rt_graph_threads(const rt_graph *g);

/* Turns dropout on until the next clear, and sets its random numbers; `shard` distinguishes graphs
 * of the same step. Without this call, as in evaluation, dropout does nothing. */
void rt_graph_set_random(rt_graph *g, uint64_t seed, uint32_t step, uint32_t shard);

/* Releases the numbers of a result x if no backward needs them (rt_graph_needs_numbers); otherwise
 * does nothing. The next result or gradient of that size reuses the memory, and ops refuse x. No
 * later forward may read x, the tensor that x views or its other views. */
void rt_graph_release(rt_graph *g, rt_tensor *x);

/* Returns whether the backward of a recorded op may read the numbers of x. True for a leaf and for
 * a result without a gradient. */
bool rt_graph_needs_numbers(const rt_graph *g, const rt_tensor *x);

/* Returns the current position in the memory of the graph. */
rt_arena_mark rt_graph_here(const rt_graph *g);

/* Frees the memory of every result since the mark except x, so that a chain of layers needs the
 * memory of one. Returns x, which has moved: do not use the old pointer. Does nothing in a graph
 * that records or has failed. */
rt_tensor *rt_graph_keep(rt_graph *g, rt_arena_mark mark, rt_tensor *x);

/* Computes a segment of the model, such as a layer, from x to the result. */
typedef rt_tensor *rt_segment(rt_graph *g, rt_tensor *x, void *context);

/* Returns the result of a segment and saves nothing else of it: backward computes the segment
 * again, with the same random numbers and so the same bits (Chen et al. 2016). The segment may read
 * x, leaves, and results that need no gradient. `context`, of `size` bytes, is copied. In a graph
 * that does not record, only the segment runs. */
rt_tensor *rt_graph_recompute(rt_graph *g, rt_tensor *x, rt_segment *segment, const void *context,
                              size_t size);

/* Sets whether a model recomputes its layers in backward while the graph records. Default: off. */
void rt_graph_set_recomputes(rt_graph *g, bool on);
bool rt_graph_recomputes(const rt_graph *g);

/* Functions called around the forward and the backward of every op that computes; `after` only if
 * the graph has not failed. Either may be NULL. An observer may fail the graph. */
typedef struct rt_observer {
    void (*before)(void *context, const rt_node *n, bool backward);
    void (*after)(void *context, const rt_node *n, bool backward);
    void *context;
} rt_observer;

/* Sets the observer; a zeroed one removes it. */
void rt_graph_observe(rt_graph *g, rt_observer observer);

/* Returns the first error since the last clear. */
rt_status rt_graph_status(const rt_graph *g) RT_MUST_CHECK;

/* Adds d(loss)/d(leaf) to the gradient of every leaf. `loss` has one element.
 *
 * Backward uses up the tape: it overwrites, passes on and reuses the gradients of results, and an
 * op may overwrite what it saved. A second call before rt_graph_clear returns RT_ARGUMENT. */
rt_status rt_graph_backward(rt_graph *g, rt_tensor *loss) RT_MUST_CHECK;

/* Computes the gradients of sum(output * upstream); upstream has the size of the output. */
rt_status rt_graph_backward_from(rt_graph *g, rt_tensor *output,
                                 const real *upstream) RT_MUST_CHECK;

/* Returns the largest number of bytes that any step so far has used. */
size_t rt_graph_peak(const rt_graph *g);

/* Bytes that all steps so far have needed. A dry graph counts the bytes that its ops would need. */
typedef struct rt_graph_need {
    size_t touched; /* memory that was used in any step */
    size_t space;   /* address space */
    size_t part;    /* scratch memory of each thread, in addition */
    size_t library; /* memory of the engine for the largest op, in addition: an estimate */
} rt_graph_need;
rt_graph_need rt_graph_needs(const rt_graph *g);

/* ---- for those who write ops; docs/adding-an-op.md has a complete example ---- */

/* A pass of an op: forward or backward. */
typedef enum rt_pass { RT_FORWARD, RT_BACKWARD } rt_pass;

/* Scratch memory of a pass, in bytes. */
typedef struct rt_scratch_size {
    size_t whole;   /* of the pass itself, see rt_scratch */
    size_t part;    /* of each part, see rt_node_share */
    size_t library; /* of the engine, for the products of the pass: an estimate, for dry runs */
} rt_scratch_size;

typedef struct rt_op {
    const char *name;
    /* Computes n->out->data. NULL for a view or a recomputed segment. */
    void (*forward)(const rt_node *n);

    /* Adds to the gradients of the inputs, see rt_grad. */
    void (*backward)(const rt_node *n);

    /* Returns the scratch memory of a pass; NULL: none. */
    rt_scratch_size (*scratch)(const rt_node *n, rt_pass pass);

    /* Returns whether backward reads the numbers of x, the result or an input. NULL: backward reads
     * them all. */
    bool (*reads)(const rt_node *n, const rt_tensor *x);

    /* Returns whether backward accepts the gradient of the result in bf16 alone. NULL: it
     * does not. */
    bool (*takes_rounded)(const rt_node *n);
} rt_op;

struct rt_node {
    const rt_op *op;
    rt_graph *graph;
    rt_tensor *out;
    rt_tensor **in; /* NULL for an optional input that is absent */
    int inputs;
    void *args; /* a copy of the constructor's arguments, of the op's own type */
    rt_node *older;
};

/* Input of an op, with its name in messages. */
typedef struct rt_input {
    const char *name;
    const rt_tensor *tensor;
    bool optional; /* may be NULL */
    bool rounded;  /* may be bf16-only */
} rt_input;

/* Returns whether an op can use its inputs: each is a tensor with a shape and memory. Otherwise
 * fails the graph, with a message such as "[op] x is NULL". Every constructor calls this before it
 * reads an input. */
bool rt_graph_check_inputs(rt_graph *g, const char *op, const rt_input *inputs, int count);

/* Inputs for RT_CHECK_INPUTS. RT_FACTOR: a factor of products, which may be bf16-only. */
#define RT_INPUT(x)    ((rt_input){.name = #x, .tensor = x})
#define RT_OPTIONAL(x) ((rt_input){.name = #x, .tensor = x, .optional = true})
#define RT_FACTOR(x)   ((rt_input){.name = #x, .tensor = x, .rounded = true})
#define RT_CHECK_INPUTS(g, op, ...)                                                                \
    rt_graph_check_inputs(g, op, (const rt_input[]){__VA_ARGS__},                                  \
                          (int)(sizeof((const rt_input[]){__VA_ARGS__}) / sizeof(rt_input)))

/* Returns whether an argument of another type is not NULL. Otherwise fails the graph. */
bool rt_graph_check_argument(rt_graph *g, const char *op, const char *name, const void *argument);

/* Returns a result of the op: creates the tensor, computes it and puts it on the tape. The
 * arguments are copied. NULL if the graph has failed. */
rt_tensor *rt_graph_apply(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                          int count, const void *args, size_t args_size);

/* Returns a bf16-only result of the op, which writes its numbers to `rounded`. */
rt_tensor *rt_graph_apply_rounded(rt_graph *g, const rt_op *op, rt_tensor *x, void *rounded);

/* Returns a view of x with another shape, without a forward. */
rt_tensor *rt_graph_view(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *x);

#define RT_APPLY(g, op, shape, args, ...)                                                          \
    rt_graph_apply(g, op, shape, (rt_tensor *[]){__VA_ARGS__},                                     \
                   (int)(sizeof((rt_tensor *[]){__VA_ARGS__}) / sizeof(rt_tensor *)), args,        \
                   sizeof *(args))
#define RT_NO_ARGS ((char *)"")

/* Returns memory that lives until the graph is cleared, for a few bytes that the constructor itself
 * fills in. Not zeroed. If the heap is exhausted, fails the graph and returns NULL. */
void *rt_graph_memory(rt_graph *g, size_t count, size_t size);

/* Returns memory for numbers that forward saves for backward. It is reserved in a dry graph, so a
 * constructor fills it only if rt_memory_is_present (core/memory.h). */
void *rt_graph_numbers(rt_graph *g, size_t count, size_t size);

/* Returns scratch memory as rt_graph_memory, but valid only until the next call of this function or
 * the next op. */
void *rt_graph_scratch(rt_graph *g, size_t count, size_t size);

/* Returns the scratch memory of the current pass, rt_scratch_size.whole bytes, shared by
 * all parts. */
void *rt_scratch(const rt_node *n);

/* Fails the graph with a message. Returns NULL, for a constructor to return. */
void *rt_graph_fail(rt_graph *g, rt_code code, const char *format, ...) RT_PRINTF(3, 4);
bool rt_graph_failed(const rt_graph *g);

/* Returns whether dropout is on, and the random numbers of the next dropout, which each call
 * advances. */
bool rt_graph_drops(const rt_graph *g);
rt_random rt_graph_next_random(rt_graph *g, uint64_t *first_index);

/* Returns the gradient of input i, to which backward adds: zeroed if nothing has been added yet.
 * NULL if the input wants no gradient, memory is exhausted, or the graph is dry: backward then
 * skips the input. In a dry graph the gradient of the result must not be read, so call
 * this first. */
real *rt_grad(const rt_node *n, int i);

/* Returns the gradient as rt_grad, for an op that can overwrite: if nothing has been added yet,
 * *beta is 0 and the contents are arbitrary; otherwise *beta is 1. */
real *rt_grad_or_fresh(const rt_node *n, int i, real *beta);

/* Returns memory for the gradient of input i in bf16, all of which this op must fill. NULL (use
 * rt_grad) if a gradient was already added, another op reads the input, or the op that made the
 * input does not accept a gradient in bf16. */
void *rt_grad_rounded(const rt_node *n, int i);

/* Passes the gradient of the result unchanged to input i: by pointer if nothing has been added yet,
 * by adding otherwise. For an op whose derivative is 1. Must be the last call in backward: the
 * gradient of the result is invalid afterwards. */
void rt_grad_pass(const rt_node *n, int i);

/* Runs the parts of the current pass, in the threads of the graph if it has any. The cut depends on
 * shapes alone, so the bits do not depend on the threads. A part must not ask the graph for
 * gradients or memory: the pass does so first. */
void rt_node_share(const rt_node *n, rt_part *part, void *context, int parts);

/* Runs all parts in the calling thread, one after the other. */
void rt_node_do(const rt_node *n, rt_part *part, void *context, int parts);

/* Part `number` of a pass over rows first ... first + count - 1. With one column, `first` is a
 * multiple of 64. */
typedef struct rt_row_span {
    const rt_node *node;
    void *context; /* the caller's */
    void *scratch; /* scratch memory of the part */
    size_t first, count;
    int number;
} rt_row_span;
typedef void rt_row_part(const rt_row_span *span);

/* Runs a pass over rows of `columns` numbers in parts, as rt_node_share. */
void rt_node_rows(const rt_node *n, size_t rows, size_t columns, rt_row_part *part, void *context);

/* Returns the number of rows of a part, except the last, and the number of parts. */
size_t rt_rows_of_part(size_t columns);
int rt_parts_of_rows(size_t rows, size_t columns);

/* Returns the newest node of the tape; `older` links to the others. */
const rt_node *rt_graph_tape(const rt_graph *g);

#endif
