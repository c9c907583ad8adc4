#include "ops/gemm.h"

#include "ops/ops.h"

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

const char *rt_blas_kernels(void)
{
    return openblas_get_corename();
}

static CBLAS_TRANSPOSE order(rt_operand x)
{
    return x.transposed ? CblasTrans : CblasNoTrans;
}

void rt_gemm(int m, int n, int k, real alpha, rt_operand a, rt_operand b, real beta, real *c,
             int c_stride)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_one_thread);
    cblas_gemm(CblasRowMajor, order(a), order(b), m, n, k, alpha, a.data, a.stride, b.data,
               b.stride, beta, c, c_stride);
}
