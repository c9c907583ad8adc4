/* Calls of rotor to each build of OpenBLAS. The functions below replace the library, so that all
 * builds are tested on every machine. */

#include "core/graph.h"
#include "core/tensor.h"
#include "ops/engine.h"
#include "ops/ops.h"
#include "suite.h"

#include <cblas.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, PRODUCTS = 200 };

static int build;                   /* OPENBLAS_SEQUENTIAL, OPENBLAS_THREAD or OPENBLAS_OPENMP */
static atomic_int of_process;       /* number of threads of the pthread build */
static _Thread_local int of_thread; /* of the OpenMP build; 0: not set */
static atomic_int at_work, most_at_work;    /* products that run at the same time */
static atomic_int setting, settings, wrong; /* products with more than one thread are wrong */

int openblas_get_parallel(void)
{
    return build;
}

int openblas_get_num_threads(void)
{
    return of_process;
}

void openblas_set_num_threads(int threads)
{
    if (atomic_fetch_add(&setting, 1))
        wrong++; /* two threads at once would free its buffers twice */
    sched_yield();
    atomic_fetch_sub(&setting, 1);
    settings++;
    of_process = of_thread = threads;
}

char *openblas_get_corename(void)
{
    return "Standin";
}

char *openblas_get_config(void)
{
    return "OpenBLAS 0.0.0 Standin";
}

void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE a_is, CBLAS_TRANSPOSE b_is, blasint m,
                 blasint n, blasint k, double alpha, const double *a, blasint a_stride,
                 const double *b, blasint b_stride, double beta, double *c, blasint c_stride)
{
    (void)order, (void)a_is, (void)b_is, (void)beta, (void)a_stride, (void)b_stride;
    const int now = atomic_fetch_add(&at_work, 1) + 1;
    if (now > most_at_work)
        most_at_work = now;
    if (build == OPENBLAS_OPENMP ? of_thread != 1 : of_process != 1)
        wrong++;
    for (int i = 0; i < 20; i++)
        sched_yield();
    for (blasint i = 0; i < m; i++)
        for (blasint j = 0; j < n; j++)
            c[i * c_stride + j] = alpha * a[0] * b[0] * k;
    atomic_fetch_sub(&at_work, 1);
}

static void *multiply(void *context)
{
    double ones[64];
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    rt_tensor a = rt_tensor_of(ones, NULL, RT_SHAPE_OF(8, 8));
    rt_graph *g = rt_graph_new();
    for (int i = 0; i < PRODUCTS; i++)
        if (rt_matmul(g, &a, &a)->data[63] != 8)
            wrong++;
    rt_graph_free(g);
    return context;
}

/* Multiplies on several threads. `at_start` is the number of threads that OpenBLAS has at first. */
static void multiply_on_threads(int with, int at_start)
{
    pthread_t threads[THREADS];
    build = with;
    of_process = at_start;
    wrong = settings = most_at_work = 0;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(threads + i, NULL, multiply, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(wrong, 0);
}

TEST(the_serial_build_computes_one_product_at_a_time)
{
    multiply_on_threads(OPENBLAS_SEQUENTIAL, 1);
    ck_assert_int_eq(most_at_work, 1);
    ck_assert(rt_openblas_is_serial());
}

TEST(every_thread_that_multiplies_sets_the_number_of_the_openmp_build)
{
    multiply_on_threads(OPENBLAS_OPENMP, 8);
    ck_assert_int_eq(settings, THREADS);
    ck_assert_int_gt(most_at_work, 1);
    ck_assert(!rt_openblas_is_serial());
}

TEST(the_first_thread_sets_the_number_of_the_pthread_build)
{
    multiply_on_threads(OPENBLAS_THREAD, 8);
    ck_assert_int_eq(settings, 1);
    ck_assert_int_gt(most_at_work, 1);
}
