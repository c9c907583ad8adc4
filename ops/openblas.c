#include "ops/products.h"

#include <cblas.h>
#include <pthread.h>

#ifdef RT_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

const char *rt_openblas_kernels(void)
{
    return openblas_get_corename();
}

static CBLAS_TRANSPOSE order(rt_operand x)
{
    return x.transposed ? CblasTrans : CblasNoTrans;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

void rt_openblas_multiply(const rt_product *p)
{
    pthread_once(&once, use_one_thread);
    cblas_gemm(CblasRowMajor, order(p->a), order(p->b), p->m, p->n, p->k, p->alpha, p->a.data,
               p->a.stride, p->b.data, p->b.stride, p->beta, p->c.data, p->c.stride);
}
