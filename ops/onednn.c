#include "ops/bf16.h"

#include "core/row_kernels.h"
#include "ops/onednn_primitives.h"
#include "ops/products.h"

#include <stdio.h>

typedef rt_onednn_order order;
typedef rt_onednn_shape shape;
typedef rt_onednn_primitive primitive;
typedef rt_onednn_thread thread;

/* ---- products ---- */

static order order_of(rt_batch_size batch, rt_operand x)
{
    return (order){x.transposed, rt_side_by_side(batch, x.stride, x.step)};
}

/* Returns whether matrices (rows, columns), not transposed, lie without gaps, as primitives need.
 * For others oneDNN has kernels that are up to ten times slower. */
static bool dense(rt_batch_size batch, int rows, int columns, int stride, rt_steps step)
{
    const size_t height = (size_t)rows, width = (size_t)columns, inner = (size_t)batch.inner;
    const bool side = rt_side_by_side(batch, stride, step);
    return (rows == 1 || (size_t)stride == (side ? width * inner : width)) &&
           (inner == 1 || step.inner == (side ? width : height * width)) &&
           (batch.outer == 1 || step.outer == height * width * inner);
}

static bool dense_operand(rt_batch_size batch, rt_operand x, int rows, int columns)
{
    return x.transposed ? dense(batch, columns, rows, x.stride, x.step)
                        : dense(batch, rows, columns, x.stride, x.step);
}

static bool dense_result(const rt_product *p)
{
    return dense(p->batch, p->m, p->n, p->c.stride, p->c.step);
}

/* c = alpha x + beta c, where x has its rows one after the other. */
static RT_ROW_KERNEL(add_product, (const rt_product *p, const real *restrict x), (p, x))
{
    for (int i = 0; i < p->m; i++) {
        real *restrict c = p->c.data + (size_t)i * (size_t)p->c.stride;
        const real *restrict row = x + (size_t)i * (size_t)p->n;
        for (int j = 0; j < p->n; j++)
            c[j] = p->beta == 0 ? p->alpha * row[j] : p->alpha * row[j] + p->beta * c[j];
    }
}

/* Returns the operand in bf16: its rounded numbers, or a copy for this product. */
static const void *rounded(rt_batch_size batch, rt_operand x, int rows, int columns, int place)
{
    if (x.rounded)
        return x.rounded;
    const bool single = batch.outer == 1 && batch.inner == 1;
    const rt_bf16 *there = single ? rt_bf16_parameters(x, rows, columns) : NULL;
    return there ? there : rt_bf16_operand(batch, x, rows, columns, place);
}

static bool execute(thread *t, const rt_product *p, const shape *s, real *c)
{
    primitive *made = rt_onednn_primitive_for(t, s);
    const void *a = p->a.data, *b = p->b.data;
    if (made && s->type == dnnl_bf16) {
        a = rounded(p->batch, p->a, p->m, p->k, RT_BF16_OF_A);
        b = a ? rounded(p->batch, p->b, p->k, p->n, RT_BF16_OF_B) : NULL;
    }
    if (!made || !b)
        return false;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, made->a},
                                         {DNNL_ARG_WEIGHTS, made->b},
                                         {DNNL_ARG_DST, made->c},
                                         {RT_ONEDNN_ARG_ALPHA, made->alpha}};
    return !dnnl_memory_set_data_handle(made->a, (void *)a) &&
           !dnnl_memory_set_data_handle(made->b, (void *)b) &&
           !dnnl_memory_set_data_handle(made->c, c) &&
           !dnnl_primitive_execute(made->run, rt_onednn_stream(t), made->alpha ? 4 : 3, arguments);
}

static shape shape_of(const rt_product *p, dnnl_data_type_t type)
{
    return (shape){.batch = p->batch,
                   .m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .a = order_of(p->batch, p->a),
                   .b = order_of(p->batch, p->b),
                   .alpha = 1,
                   .type = type};
}

/* Into the result itself, which has no gaps; beta is 0 or 1. */
static bool multiply_into(thread *t, const rt_product *p, dnnl_data_type_t type)
{
    shape s = shape_of(p, type);
    s.c.side_by_side = rt_side_by_side(p->batch, p->c.stride, p->c.step);
    s.adds = p->beta == 1;
    s.alpha = (float)p->alpha;
    return execute(t, p, &s, p->c.data);
}

/* Into memory of their own, from which the products are added. */
static bool multiply_beside(thread *t, const rt_product *p, dnnl_data_type_t type)
{
    const shape s = shape_of(p, type);
    const size_t size = (size_t)p->m * (size_t)p->n;
    real *room = rt_onednn_room(t, size * (size_t)p->batch.outer * (size_t)p->batch.inner);
    if (!room || !execute(t, p, &s, room))
        return false;
    const real *from = room;
    for (int i = 0; i < p->batch.outer; i++)
        for (int j = 0; j < p->batch.inner; j++, from += size) {
            const rt_product one = rt_product_of(p, i, j);
            add_product(&one, from);
        }
    return true;
}

static bool multiply_bf16(const rt_product *p)
{
    thread *t = rt_onednn_this_thread();
    if (!t)
        return false;
    return dense_result(p) && (p->beta == 0 || p->beta == 1) ? multiply_into(t, p, dnnl_bf16)
                                                             : multiply_beside(t, p, dnnl_bf16);
}

static char letter(rt_operand x)
{
    return x.transposed ? 'T' : 'N';
}

static bool multiply_alone(const rt_product *p)
{
    return !dnnl_sgemm(letter(p->a), letter(p->b), p->m, p->n, p->k, (float)p->alpha,
                       (const float *)p->a.data, p->a.stride, (const float *)p->b.data, p->b.stride,
                       (float)p->beta, (float *)p->c.data, p->c.stride);
}

/* A batch in one call, without gaps: an operand that is not converted is not copied. */
static bool together(const rt_product *p)
{
    return (p->batch.outer > 1 || p->batch.inner > 1) && rt_onednn_batch_room(RT_MATH_FLOAT) &&
           (p->beta == 0 || p->beta == 1) && dense_operand(p->batch, p->a, p->m, p->k) &&
           dense_operand(p->batch, p->b, p->k, p->n) && dense_result(p);
}

static bool multiply_float(const rt_product *p)
{
    thread *t = rt_onednn_this_thread();
    bool good = t;
    if (good && together(p))
        return multiply_into(t, p, dnnl_f32);
    for (int i = 0; i < p->batch.outer; i++)
        for (int j = 0; good && j < p->batch.inner; j++) {
            const rt_product one = rt_product_of(p, i, j);
            good = multiply_alone(&one);
        }
    return good;
}

bool rt_onednn_multiply(const rt_product *p, rt_math math)
{
    return math == RT_MATH_BF16 ? multiply_bf16(p) : multiply_float(p);
}

/* ---- the engine ---- */

/* Instruction sets are sets of bits; one has all those of what it goes beyond. */
static bool has(dnnl_cpu_isa_t set)
{
    return ((int)dnnl_get_effective_cpu_isa() & (int)set) == (int)set;
}

/* Measured with the heads of attention. Kernels of float for batches are there from AVX-512 on, and
 * pay for small products alone. */
int rt_onednn_batch_room(rt_math math)
{
    return math == RT_MATH_BF16 ? 65536 : has(dnnl_cpu_isa_avx512_core) ? 4096 : 0;
}

/* Operands in bf16, and a copy of one of them as the kernels read it. */
size_t rt_onednn_library(int m, int n, int k, rt_math math)
{
    enum { PRIMITIVES = 4 << 20 };
    const size_t a = (size_t)m * (size_t)k, b = (size_t)k * (size_t)n;
    const size_t larger = a > b ? a : b;
    return PRIMITIVES + (math == RT_MATH_BF16 ? 2 * larger * sizeof(rt_bf16) : 0);
}

rt_status rt_onednn_begin(rt_math math)
{
    if (!rt_onednn_start())
        return rt_error(RT_CONFIG, "oneDNN cannot be started");
    if (math == RT_MATH_BF16 && !has(dnnl_cpu_isa_avx512_core_bf16))
        return rt_error(RT_CONFIG, "this processor has no products in bf16 (AVX-512 BF16)");
    return rt_ok();
}

const char *rt_onednn_kernels(void)
{
    static char text[64];
    const dnnl_version_t *v = dnnl_version();
    const char *name = has(dnnl_cpu_isa_avx512_core_amx)    ? "avx512_core_amx"
                       : has(dnnl_cpu_isa_avx512_core_bf16) ? "avx512_core_bf16"
                       : has(dnnl_cpu_isa_avx512_core)      ? "avx512_core"
                       : has(dnnl_cpu_isa_avx2)             ? "avx2"
                                                            : "sse";
    snprintf(text, sizeof text, "oneDNN-%d.%d.%d-%s", v->major, v->minor, v->patch, name);
    return text;
}
