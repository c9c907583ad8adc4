#include "ops/gemm.h"

#include "core/row_kernels.h"
#include "ops/bf16.h"
#include "ops/few_rows.h"
#include "ops/products.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

static rt_engine engine = RT_ENGINE_OPENBLAS;
static rt_math math = RT_MATH_FLOAT;
static atomic_bool failed;

rt_status rt_engine_use(rt_engine other_engine, rt_math other_math)
{
    rt_status status = rt_ok();
    if (other_engine == RT_ENGINE_ONEDNN)
        status = rt_onednn_begin(other_math);
    else if (other_math != RT_MATH_FLOAT)
        status = rt_error(RT_CONFIG, "OpenBLAS has no matrix products in bf16; oneDNN has");
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

const char *rt_kernels_describe(char text[RT_KERNELS_SIZE])
{
    char of_engine[RT_KERNELS_SIZE / 2];
    if (engine == RT_ENGINE_ONEDNN)
        snprintf(of_engine, sizeof of_engine, "%s", rt_onednn_kernels());
    else
        rt_openblas_describe(of_engine, sizeof of_engine);
    snprintf(text, RT_KERNELS_SIZE, "%s, row kernels %s", of_engine, rt_row_kernels());
    return text;
}

rt_status rt_engine_status(void)
{
    return atomic_exchange(&failed, false) ? rt_out_of_memory("a matrix product") : rt_ok();
}

rt_status rt_engine_graph_status(const rt_graph *g)
{
    const rt_status status = rt_graph_status(g);
    return status.code ? status : rt_engine_status();
}

/* What could not be computed must not look as if it were. */
static void spoil(const rt_product *p)
{
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++)
            p->c.data[(size_t)i * (size_t)p->c.stride + (size_t)j] = (real)NAN;
    atomic_store(&failed, true);
}

rt_product rt_product_of(const rt_product *batch, int i, int j)
{
    const size_t outer = (size_t)i, inner = (size_t)j;
    rt_product p = *batch;
    p.batch = (rt_batch){1, 1};
    p.a.data += outer * p.a.step.outer + inner * p.a.step.inner;
    p.b.data += outer * p.b.step.outer + inner * p.b.step.inner;
    p.c.data += outer * p.c.step.outer + inner * p.c.step.inner;
    return p;
}

/* One after the other. */
static void each(const rt_product *batch, void (*take)(const rt_product *))
{
    if (batch->batch.outer == 1 && batch->batch.inner == 1) {
        take(batch);
        return;
    }
    for (int i = 0; i < batch->batch.outer; i++)
        for (int j = 0; j < batch->batch.inner; j++) {
            const rt_product p = rt_product_of(batch, i, j);
            take(&p);
        }
}

void rt_gemm_batch(rt_batch batch, int m, int n, int k, real alpha, rt_operand a, rt_operand b,
                   real beta, rt_result c)
{
    const rt_product p = {batch, m, n, k, alpha, beta, a, b, c};
    if (engine == RT_ENGINE_OPENBLAS || !m || !n || !k || !batch.outer || !batch.inner)
        each(&p, rt_openblas_multiply);
    else if (!rt_onednn_multiply(&p, math))
        each(&p, spoil);
}

void rt_gemm(int m, int n, int k, real alpha, rt_operand a, rt_operand b, real beta, real *c,
             int c_stride)
{
    rt_gemm_batch((rt_batch){1, 1}, m, n, k, alpha, a, b, beta,
                  (rt_result){.data = c, .stride = c_stride});
}

void rt_gemm_unrounded(int m, int n, int k, real alpha, rt_operand a, rt_operand b, real beta,
                       real *c, int c_stride)
{
    const rt_product p = {
        .batch = {1, 1}, m, n, k, alpha, beta, a, b, {.data = c, .stride = c_stride}};
    rt_openblas_multiply(&p);
}

int rt_gemm_batch_room(void)
{
    return engine == RT_ENGINE_ONEDNN ? rt_onednn_batch_room(math) : 0;
}

size_t rt_gemm_library(int m, int n, int k)
{
    return engine == RT_ENGINE_ONEDNN ? rt_onednn_library(m, n, k, math)
                                      : rt_openblas_library(m, n, k);
}

bool rt_gemm_rounds(void)
{
    return math == RT_MATH_BF16;
}

/* Without memory the product finds that there is none. */
rt_operand rt_gemm_share_batch(rt_batch batch, rt_operand x, int rows, int columns, int place)
{
    if (rt_gemm_rounds() && rows && columns)
        x.rounded = rt_bf16_operand(batch, x, rows, columns, place);
    return x;
}

rt_operand rt_gemm_share(rt_operand x, int rows, int columns, int place)
{
    return rt_gemm_share_batch((rt_batch){1, 1}, x, rows, columns, place);
}

/* A weight that is not held would have to be rounded first; the engine does that as it copies it.
 */
void rt_gemm_few(int m, int n, int k, rt_operand x, const real *w, real beta, real *c, int c_stride)
{
    if (!rt_gemm_rounds()) {
        rt_few_rows(m, n, k, x.data, w, beta, c, c_stride);
        return;
    }
    const rt_operand weight = rt_rows_at(w, k);
    const rt_bf16 *rounded = rt_bf16_parameters(weight, n, k);
    if (rounded && !x.rounded)
        x.rounded = rt_bf16_operand((rt_batch){1, 1}, x, m, k, RT_BF16_OF_A);
    if (rounded && x.rounded)
        rt_few_rows_bf16(m, n, k, x.rounded, rounded, beta, c, c_stride);
    else
        rt_gemm(m, n, k, 1, x, rt_transposed(weight), beta, c, c_stride);
}
