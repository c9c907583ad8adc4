#include "ops/private.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef RT_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

/* Held by a product of the serial build, and while the number of threads is set. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The number of threads belongs to the process in the build with POSIX threads, and to the calling
 * thread in the build with OpenMP. */
static _Thread_local bool has_one_thread;

bool rt_openblas_is_serial(void)
{
    return openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
}

static void use_one_thread(void)
{
    pthread_mutex_lock(&lock);
    if (openblas_get_parallel() == OPENBLAS_OPENMP || openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
    pthread_mutex_unlock(&lock);
    has_one_thread = true;
}

const char *rt_openblas_kernels(void)
{
    return openblas_get_corename();
}

/* Parses the configuration, which begins "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...". */
void rt_openblas_describe(char *text, size_t size)
{
    const char *all = openblas_get_config();
    const size_t name = strcspn(all, " "), version = strcspn(all + name, " ") + 1;
    const size_t length = name + version + strcspn(all + name + version, " ");
    snprintf(text, size, "%.*s %s", (int)length, all, openblas_get_corename());
}

/* Models OpenBLAS, which goes through k in slices of at most DEPTH, or in halves below two of them.
 * It copies the slice of one operand, for all m rows if the result has more than NARROW columns.
 * The sizes are those of its AVX2 kernels; others are similar. */
size_t rt_openblas_library(int m, int n, int k)
{
    enum { DEPTH = 320, NARROW = 320, PANEL = 1 << 20 };
    const int slice = k >= 2 * DEPTH ? DEPTH : k > DEPTH ? (k + 1) / 2 : k;
    const size_t copied = n > NARROW ? (size_t)slice * (size_t)m * sizeof(real) : 0;
    return PANEL + (copied < RT_OPENBLAS_BUFFER ? copied : RT_OPENBLAS_BUFFER);
}

static CBLAS_TRANSPOSE order(rt_operand x)
{
    return x.transposed ? CblasTrans : CblasNoTrans;
}

void rt_openblas_multiply(const rt_product *p)
{
    const bool alone = rt_openblas_is_serial();
    if (!has_one_thread)
        use_one_thread();
    if (alone)
        pthread_mutex_lock(&lock);
    cblas_gemm(CblasRowMajor, order(p->a), order(p->b), p->m, p->n, p->k, p->alpha, p->a.data,
               p->a.stride, p->b.data, p->b.stride, p->beta, p->c.data, p->c.stride);
    if (alone)
        pthread_mutex_unlock(&lock);
}
