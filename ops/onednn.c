#include "ops/products.h"

#include "core/memory.h"
#include "ops/bf16.h"

#include <dnnl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A primitive is made for a shape once in a thread and kept. Data of many lengths has many shapes:
 * what is kept is forgotten when there are too many. */

enum { KEPT = 512, PLACES = 2 * KEPT };

/* How the matrices of an operand lie; none has gaps. */
typedef struct order {
    bool transposed;
    bool side_by_side; /* of a batch: in the same rows */
} order;

/* What a primitive is made for. */
typedef struct shape {
    rt_batch batch;
    int m, n, k;
    order a, b, c;
    bool adds;
    float alpha;
    dnnl_data_type_t type; /* of a and b */
} shape;

typedef struct primitive {
    shape shape;
    dnnl_primitive_t run; /* NULL: the place is free */
    dnnl_memory_t a, b, c;
} primitive;

/* What a thread has. */
typedef struct thread {
    dnnl_stream_t stream;
    int kept;
    primitive places[PLACES];
    real *room; /* for a product that goes elsewhere afterwards */
    size_t room_size;
} thread;

static dnnl_engine_t cpu;
static pthread_key_t key;
static bool begin_failed;

/* libdnnl's threads are those of OpenMP; the setting is of the calling thread alone. */
extern void omp_set_num_threads(int threads);

/* ---- threads ---- */

static void forget(thread *t)
{
    for (int i = 0; i < PLACES; i++)
        if (t->places[i].run) {
            dnnl_primitive_destroy(t->places[i].run);
            dnnl_memory_destroy(t->places[i].a);
            dnnl_memory_destroy(t->places[i].b);
            dnnl_memory_destroy(t->places[i].c);
        }
    memset(t->places, 0, sizeof t->places);
    t->kept = 0;
}

static void end_thread(void *context)
{
    thread *t = context;
    forget(t);
    if (t->stream)
        dnnl_stream_destroy(t->stream);
    rt_free(t->room);
    rt_free(t);
}

static thread *this_thread(void)
{
    thread *t = pthread_getspecific(key);
    if (t)
        return t;
    t = rt_alloc(1, sizeof *t);
    if (!t)
        return NULL;
    omp_set_num_threads(1);
    if (dnnl_stream_create(&t->stream, cpu, dnnl_stream_default_flags) ||
        pthread_setspecific(key, t)) {
        end_thread(t);
        return NULL;
    }
    return t;
}

static real *room_for(thread *t, size_t size)
{
    if (t->room_size >= size)
        return t->room;
    rt_free(t->room);
    t->room = rt_alloc_unset(size, sizeof *t->room);
    t->room_size = t->room ? size : 0;
    return t->room;
}

/* ---- primitives ---- */

static bool same_order(order a, order b)
{
    return a.transposed == b.transposed && a.side_by_side == b.side_by_side;
}

static bool same(const shape *a, const shape *b)
{
    return a->batch.outer == b->batch.outer && a->batch.inner == b->batch.inner && a->m == b->m &&
           a->n == b->n && a->k == b->k && same_order(a->a, b->a) && same_order(a->b, b->b) &&
           same_order(a->c, b->c) && a->adds == b->adds && a->alpha == b->alpha &&
           a->type == b->type;
}

static unsigned place_of(const shape *s)
{
    uint64_t hash = 0;
    const int flags = s->a.transposed | s->a.side_by_side << 1 | s->b.transposed << 2 |
                      s->b.side_by_side << 3 | s->c.side_by_side << 4 | s->adds << 5 |
                      (s->type == dnnl_bf16) << 6;
    const int parts[] = {s->batch.outer, s->batch.inner, s->m, s->n, s->k, flags};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hash = (hash ^ (uint64_t)parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 40) % PLACES;
}

/* One matrix has two axes; a batch has those of its two steps before them. */
static dnnl_status_t describe(dnnl_memory_desc_t *d, rt_batch batch, int rows, int columns,
                              order lie, dnnl_data_type_t type)
{
    const bool single = batch.outer == 1 && batch.inner == 1;
    const dnnl_dim_t height = lie.transposed ? columns : rows;
    const dnnl_dim_t width = lie.transposed ? rows : columns;
    const dnnl_dim_t inner = lie.side_by_side ? width : height * width;
    const dnnl_dim_t row = lie.side_by_side ? width * batch.inner : width;
    const dnnl_dims_t sizes = {batch.outer, batch.inner, rows, columns};
    const dnnl_dims_t strides = {height * width * batch.inner, inner, lie.transposed ? 1 : row,
                                 lie.transposed ? row : 1};
    const int skipped = single ? 2 : 0;
    return dnnl_memory_desc_init_by_strides(d, 4 - skipped, sizes + skipped, type,
                                            strides + skipped);
}

static dnnl_status_t make_attributes(dnnl_primitive_attr_t *attributes, const shape *s)
{
    dnnl_post_ops_t after = NULL;
    dnnl_status_t bad = dnnl_primitive_attr_create(attributes);
    if (!bad && s->alpha != 1)
        bad = dnnl_primitive_attr_set_output_scales(*attributes, 1, 0, &s->alpha);
    if (!bad && s->adds) {
        bad = dnnl_post_ops_create(&after);
        if (!bad)
            bad = dnnl_post_ops_append_sum(after, 1);
        if (!bad)
            bad = dnnl_primitive_attr_set_post_ops(*attributes, after);
        dnnl_post_ops_destroy(after);
    }
    return bad;
}

static dnnl_status_t make_primitive(primitive *p, const shape *s)
{
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t product;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t description = NULL;
    dnnl_status_t bad = describe(&a, s->batch, s->m, s->k, s->a, s->type);
    if (!bad)
        bad = describe(&b, s->batch, s->k, s->n, s->b, s->type);
    if (!bad)
        bad = describe(&c, s->batch, s->m, s->n, s->c, dnnl_f32);
    if (!bad)
        bad = dnnl_matmul_desc_init(&product, &a, &b, NULL, &c);
    if (!bad)
        bad = make_attributes(&attributes, s);
    if (!bad)
        bad = dnnl_primitive_desc_create(&description, &product, attributes, cpu, NULL);
    if (!bad)
        bad = dnnl_memory_create(&p->a, &a, cpu, DNNL_MEMORY_NONE);
    if (!bad)
        bad = dnnl_memory_create(&p->b, &b, cpu, DNNL_MEMORY_NONE);
    if (!bad)
        bad = dnnl_memory_create(&p->c, &c, cpu, DNNL_MEMORY_NONE);
    if (!bad)
        bad = dnnl_primitive_create(&p->run, description);
    dnnl_primitive_desc_destroy(description);
    dnnl_primitive_attr_destroy(attributes);
    return bad;
}

static void discard(primitive *p)
{
    dnnl_memory_destroy(p->a);
    dnnl_memory_destroy(p->b);
    dnnl_memory_destroy(p->c);
    *p = (primitive){.run = NULL};
}

/* NULL if it cannot be made. */
static primitive *primitive_for(thread *t, const shape *s)
{
    unsigned place = place_of(s);
    while (t->places[place].run && !same(&t->places[place].shape, s))
        place = (place + 1) % PLACES;
    primitive *p = t->places + place;
    if (p->run)
        return p;
    if (t->kept == KEPT) {
        forget(t);
        p = t->places + place_of(s);
    }
    if (make_primitive(p, s)) {
        discard(p);
        return NULL;
    }
    p->shape = *s;
    t->kept++;
    return p;
}

/* ---- products ---- */

static order order_of(rt_batch batch, rt_operand x)
{
    return (order){x.transposed, rt_side_by_side(batch, x.stride, x.step)};
}

/* Whether matrices (rows, columns), not transposed, lie as a primitive has them: without gaps. For
 * others oneDNN has kernels that are up to ten times slower. */
static bool dense(rt_batch batch, int rows, int columns, int stride, rt_steps step)
{
    const size_t height = (size_t)rows, width = (size_t)columns, inner = (size_t)batch.inner;
    const bool side = rt_side_by_side(batch, stride, step);
    return (rows == 1 || (size_t)stride == (side ? width * inner : width)) &&
           (inner == 1 || step.inner == (side ? width : height * width)) &&
           (batch.outer == 1 || step.outer == height * width * inner);
}

static bool dense_operand(rt_batch batch, rt_operand x, int rows, int columns)
{
    return x.transposed ? dense(batch, columns, rows, x.stride, x.step)
                        : dense(batch, rows, columns, x.stride, x.step);
}

static bool dense_result(const rt_product *p)
{
    return dense(p->batch, p->m, p->n, p->c.stride, p->c.step);
}

/* c = alpha x + beta c, where x has its rows one after the other. */
RT_ROW_KERNEL void add_product(const rt_product *p, const real *restrict x)
{
    for (int i = 0; i < p->m; i++) {
        real *restrict c = p->c.data + (size_t)i * (size_t)p->c.stride;
        const real *restrict row = x + (size_t)i * (size_t)p->n;
        for (int j = 0; j < p->n; j++)
            c[j] = p->beta == 0 ? p->alpha * row[j] : p->alpha * row[j] + p->beta * c[j];
    }
}

/* What stands there in bf16 already, or is rounded for this product alone. */
static const void *rounded(rt_batch batch, rt_operand x, int rows, int columns, int place)
{
    if (x.rounded)
        return x.rounded;
    const bool single = batch.outer == 1 && batch.inner == 1;
    const rt_bf16 *there = single ? rt_bf16_parameters(x, rows, columns) : NULL;
    return there ? there : rt_bf16_operand(batch, x, rows, columns, place);
}

static bool execute(thread *t, const rt_product *p, const shape *s, real *c)
{
    primitive *made = primitive_for(t, s);
    const void *a = p->a.data, *b = p->b.data;
    if (made && s->type == dnnl_bf16) {
        a = rounded(p->batch, p->a, p->m, p->k, RT_BF16_OF_A);
        b = a ? rounded(p->batch, p->b, p->k, p->n, RT_BF16_OF_B) : NULL;
    }
    if (!made || !b)
        return false;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, made->a},
                                         {DNNL_ARG_WEIGHTS, made->b},
                                         {DNNL_ARG_DST, made->c}};
    return !dnnl_memory_set_data_handle(made->a, (void *)a) &&
           !dnnl_memory_set_data_handle(made->b, (void *)b) &&
           !dnnl_memory_set_data_handle(made->c, c) &&
           !dnnl_primitive_execute(made->run, t->stream, 3, arguments);
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
    const real *from = room_for(t, size * (size_t)p->batch.outer * (size_t)p->batch.inner);
    if (!from || !execute(t, p, &s, t->room))
        return false;
    for (int i = 0; i < p->batch.outer; i++)
        for (int j = 0; j < p->batch.inner; j++, from += size) {
            const rt_product one = rt_product_of(p, i, j);
            add_product(&one, from);
        }
    return true;
}

static bool multiply_bf16(const rt_product *p)
{
    thread *t = this_thread();
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

/* A batch in one call: without gaps, and without a large operand that its kernel would transpose by
 * copying it. */
static bool together(const rt_product *p)
{
    return (p->batch.outer > 1 || p->batch.inner > 1) && rt_onednn_batch_room(RT_MATH_FLOAT) &&
           (p->beta == 0 || p->beta == 1) && (!p->a.transposed || p->m <= 32) &&
           dense_operand(p->batch, p->a, p->m, p->k) && dense_operand(p->batch, p->b, p->k, p->n) &&
           dense_result(p);
}

static bool multiply_float(const rt_product *p)
{
    thread *t = this_thread();
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

static void begin(void)
{
    begin_failed = pthread_key_create(&key, end_thread) || dnnl_engine_create(&cpu, dnnl_cpu, 0);
}

/* Instruction sets are sets of bits; one has all those of what it goes beyond. */
static bool has(dnnl_cpu_isa_t set)
{
    return ((int)dnnl_get_effective_cpu_isa() & (int)set) == (int)set;
}

/* Kernels of float for batches are there from AVX-512 on; measured with the heads of attention. */
int rt_onednn_batch_room(rt_math math)
{
    return math == RT_MATH_BF16 ? 65536 : has(dnnl_cpu_isa_avx512_core) ? 16384 : 0;
}

rt_status rt_onednn_begin(rt_math math)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    if (begin_failed)
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
