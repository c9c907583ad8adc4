/* Random programs of ops: builds thousands of small graphs, some of them with shapes and arguments
 * that no op should take, runs them forward and backward, and looks at what the library promises:
 * an op returns a tensor of a good shape, or NULL with a message in the graph; nothing leaks; and,
 * under sanitizers, no address or number is wrong.
 *
 *     torture-ops SEED FIRST COUNT     graphs FIRST ... FIRST + COUNT - 1
 *
 * Prints a line for each broken promise, with the calls that led to it, and then exits with 1.
 * ops_calls.c has the calls. */

#define _DEFAULT_SOURCE

#include "core/memory.h"
#include "torture/ops_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
