#include "ops/gemm.h"

#include "ops/bf16.h"
#include "ops/products.h"

#include <math.h>
#include <stdatomic.h>

static rt_engine engine = RT_ENGINE_OPENBLAS;
static rt_math math = RT_MATH_FLOAT;
static atomic_bool failed;

rt_status rt_engine_use(rt_engine other_engine, rt_math other_math)
{
    rt_status status = rt_ok();
    if (other_engine == RT_ENGINE_ONEDNN)
        status = rt_onednn_begin(other_math);
    else if (other_math != RT_MATH_FLOAT)
        status = rt_error(RT_CONFIG, "OpenBLAS has no products in bf16: oneDNN has");
    if (status.code)
        return status;
    engine = other_engine;
    math = other_math;
    return rt_ok();
}

const char *rt_engine_name(void)
{
    return engine == RT_ENGINE_ONEDNN ? "oneDNN" : "OpenBLAS";
}

const char *rt_engine_kernels(void)
{
    return engine == RT_ENGINE_ONEDNN ? rt_onednn_kernels() : rt_openblas_kernels();
}

rt_status rt_engine_status(void)
{
    return atomic_exchange(&failed, false) ? rt_out_of_memory("a matrix product") : rt_ok();
}

/* What could not be computed must not look as if it were. */
static void spoil(const rt_product *p)
{
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++)
            p->c[(size_t)i * (size_t)p->c_stride + (size_t)j] = (real)NAN;
    atomic_store(&failed, true);
}

void rt_gemm(int m, int n, int k, real alpha, rt_operand a, rt_operand b, real beta, real *c,
             int c_stride)
{
    const rt_product p = {m, n, k, alpha, beta, a, b, c, c_stride};
    if (engine == RT_ENGINE_OPENBLAS || !m || !n || !k)
        rt_openblas_multiply(&p);
    else if (!rt_onednn_multiply(&p, math))
        spoil(&p);
}

bool rt_gemm_rounds(void)
{
    return math == RT_MATH_BF16;
}

/* Without memory the product finds that there is none. */
rt_operand rt_gemm_share(rt_operand x, int rows, int columns, int place)
{
    if (math == RT_MATH_BF16 && rows && columns)
        x.rounded = rt_bf16_operand(x, rows, columns, place);
    return x;
}

void rt_gemv(int n, int k, const real *w, const real *x, real beta, real *y)
{
    if (engine == RT_ENGINE_OPENBLAS)
        rt_openblas_multiply_row(n, k, w, x, beta, y);
    else
        rt_gemm(1, n, k, 1, rt_rows_at(x, k), rt_transposed(rt_rows_at(w, k)), beta, y, n);
}
