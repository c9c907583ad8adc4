/* The engine oneDNN: primitives, of which each thread keeps one per shape, and the products that
 * they compute. */

#include "core/memory.h"
#include "core/row_kernels.h"
#include "ops/private.h"

#include <dnnl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Data of many lengths has many shapes, so all primitives are discarded at this number. */
enum { KEPT = 512, PLACES = 2 * KEPT };

/* Layout of the matrices of a product, which have no gaps. The matrices of a batch may lie beside
 * each other in the same rows. */
enum { TRANSPOSED = 1, BESIDE = 2, OF_A = 0, OF_B = 2, OF_C = 4, ADDS = 64 };

/* Shape of the product of a primitive; it has no padding and is compared bytewise. */
typedef struct shape {
    rt_batch_size batch;
    int m, n, k;
    int flags; /* layouts, each shifted by OF_..., and ADDS */
    float alpha;
    dnnl_data_type_t type; /* of a and b */
} shape;
_Static_assert(sizeof(shape) == sizeof(rt_batch_size) + 6 * sizeof(int), "a shape has no padding");

typedef struct primitive {
    shape shape;
    dnnl_primitive_t run; /* NULL: the place is free */
    dnnl_memory_t a, b, c;
    dnnl_memory_t alpha; /* the factor, if it is an argument of the primitive; or NULL */
} primitive;

/* Primitives of a thread. */
typedef struct thread {
    dnnl_stream_t stream;
    int kept;
    primitive places[PLACES];
} thread;

static dnnl_engine_t cpu;
static pthread_key_t key;
static bool begin_failed;
static sigset_t handled; /* signals that a program may handle and continue */

/* libdnnl's threads are those of OpenMP; the setting affects the calling thread only. */
extern void omp_set_num_threads(int threads);

/* Empties a place, also after a failed creation. */
static void discard(primitive *p)
{
    dnnl_primitive_destroy(p->run);
    dnnl_memory_destroy(p->a);
    dnnl_memory_destroy(p->b);
    dnnl_memory_destroy(p->c);
    dnnl_memory_destroy(p->alpha);
    *p = (primitive){.run = NULL};
}

static void forget(thread *t)
{
    for (int i = 0; i < PLACES; i++)
        if (t->places[i].run)
            discard(t->places + i);
    t->kept = 0;
}

static void end_thread(void *context)
{
    thread *t = context;
    forget(t);
    if (t->stream)
        dnnl_stream_destroy(t->stream);
    rt_free(t);
}

/* Returns the primitives of the calling thread; NULL if they cannot be created. */
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

static unsigned place_of(const shape *s)
{
    uint32_t words[sizeof *s / sizeof(uint32_t)];
    uint64_t hash = 0;
    memcpy(words, s, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 40) % PLACES;
}

/* oneDNN 3 replaced these functions of oneDNN 2: a description is a pointer, a product has no
 * description of its own, and a factor is an argument of the primitive. */
#if DNNL_VERSION_MAJOR >= 3

#define ARG_ALPHA                (DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC)
#define describe_by_strides      dnnl_memory_desc_create_with_strides
#define append_sum(after)        dnnl_post_ops_append_sum(after, 1, 0, dnnl_data_type_undef)
#define forget_description(d)    dnnl_memory_desc_destroy(d)
#define make_memory(m, d, place) dnnl_memory_create(m, d, cpu, place)

static dnnl_status_t describe_product(dnnl_primitive_desc_t *product, const dnnl_memory_desc_t d[3],
                                      dnnl_primitive_attr_t attributes)
{
    return dnnl_matmul_primitive_desc_create(product, cpu, d[0], d[1], NULL, d[2], attributes);
}

static dnnl_status_t set_factor(dnnl_primitive_attr_t attributes, primitive *p)
{
    static const dnnl_dims_t one = {1};
    dnnl_memory_desc_t d = NULL;
    const bool bad = dnnl_primitive_attr_set_scales_mask(attributes, DNNL_ARG_SRC, 0) ||
                     dnnl_memory_desc_create_with_strides(&d, 1, one, dnnl_f32, one) ||
                     dnnl_memory_create(&p->alpha, d, cpu, &p->shape.alpha);
    dnnl_memory_desc_destroy(d);
    return bad ? dnnl_runtime_error : dnnl_success;
}

#else

#define ARG_ALPHA                0 /* the factor is in the primitive */
#define describe_by_strides      dnnl_memory_desc_init_by_strides
#define append_sum(after)        dnnl_post_ops_append_sum(after, 1)
#define forget_description(d)    ((void)(d))
#define make_memory(m, d, place) dnnl_memory_create(m, &(d), cpu, place)

static dnnl_status_t describe_product(dnnl_primitive_desc_t *product, const dnnl_memory_desc_t d[3],
                                      dnnl_primitive_attr_t attributes)
{
    dnnl_matmul_desc_t operation;
    const dnnl_status_t bad = dnnl_matmul_desc_init(&operation, &d[0], &d[1], NULL, &d[2]);
    return bad ? bad : dnnl_primitive_desc_create(product, &operation, attributes, cpu, NULL);
}

static dnnl_status_t set_factor(dnnl_primitive_attr_t attributes, primitive *p)
{
    return dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &p->shape.alpha);
}

#endif

/* Describes a matrix: two axes, preceded by two for the steps of a batch. */
static dnnl_status_t describe(dnnl_memory_desc_t *d, const shape *s, int rows, int columns, int of)
{
    const bool transposed = s->flags >> of & TRANSPOSED, beside = s->flags >> of & BESIDE;
    const rt_batch_size batch = s->batch;
    const dnnl_dim_t height = transposed ? columns : rows, width = transposed ? rows : columns;
    const dnnl_dim_t inner = beside ? width : height * width;
    const dnnl_dim_t row = beside ? width * batch.inner : width;
    const dnnl_dims_t sizes = {batch.outer, batch.inner, rows, columns};
    const dnnl_dims_t strides = {height * width * batch.inner, inner, transposed ? 1 : row,
                                 transposed ? row : 1};
    const int skipped = batch.outer == 1 && batch.inner == 1 ? 2 : 0;
    return describe_by_strides(d, 4 - skipped, sizes + skipped, of == OF_C ? dnnl_f32 : s->type,
                               strides + skipped);
}

/* Creates the primitive for p->shape. Returns whether that worked. */
static bool make_primitive(primitive *p)
{
    const shape *s = &p->shape;
    dnnl_memory_desc_t d[3] = {0};
    dnnl_post_ops_t sum = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t product = NULL;
    const bool bad =
        describe(&d[0], s, s->m, s->k, OF_A) || describe(&d[1], s, s->k, s->n, OF_B) ||
        describe(&d[2], s, s->m, s->n, OF_C) || dnnl_primitive_attr_create(&attributes) ||
        (s->alpha != 1 && set_factor(attributes, p)) ||
        ((s->flags & ADDS) && (dnnl_post_ops_create(&sum) || append_sum(sum) ||
                               dnnl_primitive_attr_set_post_ops(attributes, sum))) ||
        describe_product(&product, d, attributes) || make_memory(&p->a, d[0], DNNL_MEMORY_NONE) ||
        make_memory(&p->b, d[1], DNNL_MEMORY_NONE) || make_memory(&p->c, d[2], DNNL_MEMORY_NONE) ||
        dnnl_primitive_create(&p->run, product);
    for (int i = 0; i < 3; i++)
        forget_description(d[i]);
    dnnl_primitive_desc_destroy(product);
    dnnl_primitive_attr_destroy(attributes);
    dnnl_post_ops_destroy(sum);
    return !bad;
}

/* Returns the primitive for a shape, valid until the next call; NULL if it cannot be created. */
static primitive *primitive_for(thread *t, const shape *s)
{
    unsigned place = place_of(s);
    while (t->places[place].run && memcmp(&t->places[place].shape, s, sizeof *s) != 0)
        place = (place + 1) % PLACES;
    primitive *p = t->places + place;
    if (p->run)
        return p;
    if (t->kept == KEPT) {
        forget(t);
        p = t->places + place_of(s);
    }
    p->shape = *s;
    if (!make_primitive(p)) {
        discard(p);
        return NULL;
    }
    t->kept++;
    return p;
}

static int layout_of(rt_batch_size batch, int stride, rt_steps step, bool transposed)
{
    return (transposed ? TRANSPOSED : 0) | (rt_side_by_side(batch, stride, step) ? BESIDE : 0);
}

/* Returns whether matrices (rows, columns), not transposed, have no gaps, as primitives require.
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

/* Computes c = alpha x + beta c, where x has no gaps between rows. */
static RT_ROW_KERNEL(add_product, (const rt_product *p, const real *restrict x), (p, x))
{
    for (int i = 0; i < p->m; i++) {
        real *restrict c = p->c.data + (size_t)i * (size_t)p->c.stride;
        const real *restrict row = x + (size_t)i * (size_t)p->n;
        for (int j = 0; j < p->n; j++)
            c[j] = p->beta == 0 ? p->alpha * row[j] : p->alpha * row[j] + p->beta * c[j];
    }
}

static bool execute(thread *t, const rt_product *p, const shape *s, real *c)
{
    primitive *made = primitive_for(t, s);
    const void *a = p->a.data, *b = p->b.data;
    if (made && s->type == dnnl_bf16) {
        a = rt_bf16_of(p->c.batch, p->a, p->m, p->k, RT_BF16_OF_A);
        b = a ? rt_bf16_of(p->c.batch, p->b, p->k, p->n, RT_BF16_OF_B) : NULL;
    }
    if (!made || !b)
        return false;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, made->a},
                                         {DNNL_ARG_WEIGHTS, made->b},
                                         {DNNL_ARG_DST, made->c},
                                         {ARG_ALPHA, made->alpha}};
    return !dnnl_memory_set_data_handle(made->a, (void *)a) &&
           !dnnl_memory_set_data_handle(made->b, (void *)b) &&
           !dnnl_memory_set_data_handle(made->c, c) &&
           !dnnl_primitive_execute(made->run, t->stream, made->alpha ? 4 : 3, arguments);
}

/* Returns the shape of a product into separate memory. */
static shape shape_of(const rt_product *p, dnnl_data_type_t type)
{
    const rt_operand *a = &p->a, *b = &p->b;
    return (shape){.batch = p->c.batch,
                   .m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .flags = layout_of(p->c.batch, a->stride, a->step, a->transposed) << OF_A |
                            layout_of(p->c.batch, b->stride, b->step, b->transposed) << OF_B,
                   .alpha = 1,
                   .type = type};
}

/* Computes a product into its result, which has no gaps; beta is 0 or 1. */
static bool multiply_into(thread *t, const rt_product *p, dnnl_data_type_t type)
{
    shape s = shape_of(p, type);
    s.flags |= layout_of(p->c.batch, p->c.stride, p->c.step, false) << OF_C;
    s.flags |= p->beta == 1 ? ADDS : 0;
    s.alpha = (float)p->alpha;
    return execute(t, p, &s, p->c.data);
}

/* Computes products into scratch memory and then adds them to their results. */
static bool multiply_beside(thread *t, const rt_product *p, dnnl_data_type_t type)
{
    const shape s = shape_of(p, type);
    const size_t size = (size_t)p->m * (size_t)p->n;
    const size_t all = size * (size_t)p->c.batch.outer * (size_t)p->c.batch.inner;
    void *scratch = rt_bf16_place(RT_BF16_RESULT, all * (sizeof(real) / sizeof(rt_bf16)));
    const real *from = scratch;
    if (!from || !execute(t, p, &s, scratch))
        return false;
    for (int i = 0; i < p->c.batch.outer; i++)
        for (int j = 0; j < p->c.batch.inner; j++, from += size) {
            const rt_product one = rt_product_of(p, i, j);
            add_product(&one, from);
        }
    return true;
}

/* Computes the products of a batch. In float, operands are not copied: a batch is one call only if
 * it has no gaps and the processor is fast at batches. */
static bool multiply(const rt_product *p, rt_math math)
{
    const rt_batch_size batch = p->c.batch;
    const bool direct =
        dense(batch, p->m, p->n, p->c.stride, p->c.step) && (p->beta == 0 || p->beta == 1);
    thread *t = this_thread();
    bool good = t;
    if (good && math == RT_MATH_BF16)
        return direct ? multiply_into(t, p, dnnl_bf16) : multiply_beside(t, p, dnnl_bf16);
    if (good && direct && (batch.outer > 1 || batch.inner > 1) && rt_onednn_batch_room(math) &&
        dense_operand(batch, p->a, p->m, p->k) && dense_operand(batch, p->b, p->k, p->n))
        return multiply_into(t, p, dnnl_f32);
    for (int i = 0; i < batch.outer; i++)
        for (int j = 0; good && j < batch.inner; j++) {
            const rt_product one = rt_product_of(p, i, j);
            good = !dnnl_sgemm(p->a.transposed ? 'T' : 'N', p->b.transposed ? 'T' : 'N', p->m, p->n,
                               p->k, (float)p->alpha, (const float *)one.a.data, p->a.stride,
                               (const float *)one.b.data, p->b.stride, (float)p->beta,
                               (float *)one.c.data, p->c.stride);
        }
    return good;
}

/* Signals are blocked meanwhile: in the kernels of dnnl_sgemm for long sums (with AVX-512 from 84
 * terms on) the stack pointer points to a buffer in the heap, so that the frame of a signal handler
 * would overwrite the memory below it. */
bool rt_onednn_multiply(const rt_product *p, rt_math math)
{
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &handled, &before);
    const bool good = multiply(p, math);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

/* Returns whether the processor has an instruction set. A set is a bit mask that includes the sets
 * below it. */
static bool has(dnnl_cpu_isa_t set)
{
    return ((int)dnnl_get_effective_cpu_isa() & (int)set) == (int)set;
}

/* Returns limits measured with the heads of attention. Float kernels for batches exist from AVX-512
 * on and pay off for small products only. */
int rt_onednn_batch_room(rt_math math)
{
    return math == RT_MATH_BF16 ? 65536 : has(dnnl_cpu_isa_avx512_core) ? 4096 : 0;
}

/* Estimates the memory for the operands in bf16 and a copy of one of them in the layout of the
 * kernels. */
size_t rt_onednn_library(int m, int n, int k, rt_math math)
{
    enum { PRIMITIVES = 4 << 20 };
    const size_t a = (size_t)m * (size_t)k, b = (size_t)k * (size_t)n;
    const size_t larger = a > b ? a : b;
    return PRIMITIVES + (math == RT_MATH_BF16 ? 2 * larger * sizeof(rt_bf16) : 0);
}

static void begin(void)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigfillset(&handled);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigdelset(&handled, fatal[i]);
    begin_failed = pthread_key_create(&key, end_thread) || dnnl_engine_create(&cpu, dnnl_cpu, 0);
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
