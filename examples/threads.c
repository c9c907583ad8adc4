/* threads.c: threads for a program of one's own. librotor starts none: it passes the parts of its
 * large ops to a function of the program, here with OpenMP. The bits do not depend on the threads.
 *
 *     cc -std=c11 -fopenmp threads.c -o threads $(pkg-config --cflags --libs rotor) && ./threads */

#include <rotor/rotor.h>

#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 512, WIDTH = 256, SIZE = (ROWS + WIDTH) * WIDTH, THREADS = 4 };

typedef struct pool {
    int threads;
    int passes; /* that were cut into parts */
} pool;

/* Threads take part after part. One without scratch memory leaves the parts to the others. */
static void run_parts(void *runner, rt_part *part, void *context, int parts,
                      rt_part_scratch scratch)
{
    pool *p = runner;
    int next = 0;
    p->passes++;
#pragma omp parallel num_threads(p->threads)
    {
        const bool caller = omp_get_thread_num() == 0;
        void *own = caller ? scratch.own : rt_alloc_unset(scratch.bytes, 1);
        int i = caller || own ? 0 : parts;
        while (i < parts) {
#pragma omp atomic capture
            i = next++;
            if (i < parts)
                part(context, i, own);
        }
        if (!caller)
            rt_free(own);
    }
}

/* Computes the gradients of x and weight. */
static rt_status differentiate(rt_graph *g, const rt_threads *threads, real *values, real *grads)
{
    rt_tensor x = rt_tensor_of(values, grads, RT_SHAPE_OF(ROWS, WIDTH));
    rt_tensor weight =
        rt_tensor_of(values + ROWS * WIDTH, grads + ROWS * WIDTH, RT_SHAPE_OF(WIDTH, WIDTH));
    rt_graph_clear(g);
    rt_graph_set_threads(g, threads);
    rt_tensor *y = rt_activate(g, rt_linear(g, &x, &weight, NULL), RT_GELU);
    return rt_graph_backward(g, rt_mean(g, rt_multiply(g, y, y)));
}

int main(void)
{
    static real values[SIZE], alone[SIZE], together[SIZE];
    pool p = {.threads = THREADS};
    const rt_threads threads = {run_parts, &p};
    rt_graph *g = rt_graph_new();
    for (int i = 0; i < SIZE; i++)
        values[i] = (real)(0.1 * rt_random_normal((rt_random){.seed = 1}, (uint64_t)i));
    rt_status status = g ? rt_ok() : rt_out_of_memory("a graph");
    if (!status.code)
        status = differentiate(g, NULL, values, alone);
    if (!status.code)
        status = differentiate(g, &threads, values, together);
    if (status.code)
        fprintf(stderr, "%s\n", status.message);
    else
        printf("%d passes on %d threads: %s gradients\n", p.passes, p.threads,
               memcmp(alone, together, sizeof alone) ? "other" : "the same");
    rt_graph_free(g);
    return status.code != RT_OK;
}

/* It prints:
 *
 *     3 passes on 4 threads: the same gradients
 */
