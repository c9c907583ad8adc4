#include "core/row_kernels.h"
#include "ops/private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

static rt_engine engine = RT_ENGINE_OPENBLAS;
static rt_math math = RT_MATH_FLOAT;
static atomic_bool failed;

static rt_status find_engine(rt_engine wanted, rt_math wanted_math)
{
    if (wanted == RT_ENGINE_ONEDNN)
        return rt_onednn_begin(wanted_math);
    return wanted_math == RT_MATH_FLOAT
               ? rt_ok()
               : rt_error(RT_CONFIG, "OpenBLAS has no matrix products in bf16; oneDNN has");
}

rt_status rt_engine_use(rt_engine other_engine, rt_math other_math)
{
    RT_TRY(find_engine(other_engine, other_math));
    engine = other_engine;
    math = other_math;
    return rt_ok();
}

bool rt_engine_works(rt_engine other_engine, rt_math other_math)
{
    return !find_engine(other_engine, other_math).code;
}

rt_engine rt_engine_in_use(void)
{
    return engine;
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
    RT_TRY(rt_graph_status(g));
    return rt_engine_status();
}

/* Fills the result of a failed product with NaN, so that it is not mistaken for a result. */
static void fill_with_nan(const rt_product *p)
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
    p.c.batch = (rt_batch_size){1, 1};
    p.a = rt_operand_from(p.a, outer * p.a.step.outer + inner * p.a.step.inner);
    p.b = rt_operand_from(p.b, outer * p.b.step.outer + inner * p.b.step.inner);
    p.c.data += outer * p.c.step.outer + inner * p.c.step.inner;
    return p;
}

/* Calls a function for every product of a batch. */
static void each(const rt_product *batch, void (*take)(const rt_product *))
{
    if (batch->c.batch.outer == 1 && batch->c.batch.inner == 1) {
        take(batch);
        return;
    }
    for (int i = 0; i < batch->c.batch.outer; i++)
        for (int j = 0; j < batch->c.batch.inner; j++) {
            const rt_product p = rt_product_of(batch, i, j);
            take(&p);
        }
}

void rt_gemm(rt_sizes s, real alpha, rt_operand a, rt_operand b, real beta, rt_result c)
{
    const rt_product p = {s.m, s.n, s.k, alpha, a, b, beta, c};
    if (engine == RT_ENGINE_OPENBLAS || !s.m || !s.n || !s.k || !c.batch.outer || !c.batch.inner)
        each(&p, rt_openblas_multiply);
    else if (!rt_onednn_multiply(&p, math))
        each(&p, fill_with_nan);
}

void rt_gemm_unrounded(rt_sizes s, real alpha, rt_operand a, rt_operand b, real beta, rt_result c)
{
    rt_openblas_multiply(&(rt_product){s.m, s.n, s.k, alpha, a, b, beta, c});
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

/* Leaves the operand as it is if memory is exhausted; the product then reports the error. */
rt_operand rt_gemm_share(rt_batch_size batch, rt_operand x, int rows, int columns, int place)
{
    if (rt_gemm_rounds() && rows && columns)
        x.rounded = rt_bf16_operand(batch, x, rows, columns, place);
    return x;
}

void rt_gemm_few(rt_sizes s, rt_operand x, rt_operand w, real beta, rt_result c)
{
    if (!rt_gemm_rounds()) {
        rt_few_rows(s, x.data, w.data, beta, c.data, c.stride);
        return;
    }
    x.rounded = rt_bf16_of((rt_batch_size){1, 1}, x, s.m, s.k, RT_BF16_OF_A);
    w.rounded = rt_bf16_of((rt_batch_size){1, 1}, w, s.n, s.k, RT_BF16_OF_B);
    if (x.rounded && w.rounded)
        rt_few_rows_bf16(s, x.rounded, w.rounded, beta, c.data, c.stride);
    else
        rt_gemm(s, 1, x, rt_transposed(w), beta, c);
}
