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

/* What a primitive is made for. */
typedef struct shape {
    int m, n, k;
    bool a_transposed, b_transposed, adds;
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

static bool same(const shape *a, const shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->a_transposed == b->a_transposed &&
           a->b_transposed == b->b_transposed && a->adds == b->adds;
}

static unsigned place_of(const shape *s)
{
    uint64_t hash = 0;
    const int parts[] = {s->m, s->n, s->k, s->a_transposed, s->b_transposed, s->adds};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hash = (hash ^ (uint64_t)parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 40) % PLACES;
}

static dnnl_status_t describe(dnnl_memory_desc_t *d, int rows, int columns, bool transposed,
                              dnnl_data_type_t type)
{
    const dnnl_dims_t sizes = {rows, columns};
    const dnnl_dims_t strides = {transposed ? 1 : columns, transposed ? rows : 1};
    return dnnl_memory_desc_init_by_strides(d, 2, sizes, type, strides);
}

static dnnl_status_t make_attributes(dnnl_primitive_attr_t *attributes, const shape *s)
{
    dnnl_post_ops_t after = NULL;
    dnnl_status_t bad = dnnl_primitive_attr_create(attributes);
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
    dnnl_status_t bad = describe(&a, s->m, s->k, s->a_transposed, dnnl_bf16);
    if (!bad)
        bad = describe(&b, s->k, s->n, s->b_transposed, dnnl_bf16);
    if (!bad)
        bad = describe(&c, s->m, s->n, false, dnnl_f32);
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

/* c = alpha x + beta c, where x has its rows one after the other. */
RT_ROW_KERNEL void add_product(const rt_product *p, const real *restrict x)
{
    for (int i = 0; i < p->m; i++) {
        real *restrict c = p->c + (size_t)i * (size_t)p->c_stride;
        const real *restrict row = x + (size_t)i * (size_t)p->n;
        for (int j = 0; j < p->n; j++)
            c[j] = p->beta == 0 ? p->alpha * row[j] : p->alpha * row[j] + p->beta * c[j];
    }
}

/* What stands there in bf16 already, or is rounded for this product alone. */
static const rt_bf16 *rounded(rt_operand x, int rows, int columns, int place)
{
    const rt_bf16 *there = x.rounded ? x.rounded : rt_bf16_parameters(x, rows, columns);
    return there ? there : rt_bf16_operand(x, rows, columns, place);
}

static bool execute(thread *t, const rt_product *p, const shape *s, real *c)
{
    primitive *made = primitive_for(t, s);
    const rt_bf16 *a = made ? rounded(p->a, p->m, p->k, RT_BF16_OF_A) : NULL;
    const rt_bf16 *b = a ? rounded(p->b, p->k, p->n, RT_BF16_OF_B) : NULL;
    if (!b)
        return false;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, made->a},
                                         {DNNL_ARG_WEIGHTS, made->b},
                                         {DNNL_ARG_DST, made->c}};
    return !dnnl_memory_set_data_handle(made->a, (void *)a) &&
           !dnnl_memory_set_data_handle(made->b, (void *)b) &&
           !dnnl_memory_set_data_handle(made->c, c) &&
           !dnnl_primitive_execute(made->run, t->stream, 3, arguments);
}

/* A primitive adds to c, or overwrites it, if the rows of c follow one another: for others oneDNN
 * has kernels that are up to ten times slower. */
static bool multiply_bf16(const rt_product *p)
{
    const bool dense = p->c_stride == p->n || p->m == 1;
    const bool direct = dense && p->alpha == 1 && (p->beta == 0 || p->beta == 1);
    const shape s = {p->m, p->n, p->k, p->a.transposed, p->b.transposed, direct && p->beta == 1};
    thread *t = this_thread();
    if (!t)
        return false;
    if (direct)
        return execute(t, p, &s, p->c);
    real *product = room_for(t, (size_t)p->m * (size_t)p->n);
    if (!product || !execute(t, p, &s, product))
        return false;
    add_product(p, product);
    return true;
}

static char letter(rt_operand x)
{
    return x.transposed ? 'T' : 'N';
}

static bool multiply_float(const rt_product *p)
{
    return this_thread() &&
           !dnnl_sgemm(letter(p->a), letter(p->b), p->m, p->n, p->k, (float)p->alpha,
                       (const float *)p->a.data, p->a.stride, (const float *)p->b.data, p->b.stride,
                       (float)p->beta, (float *)p->c, p->c_stride);
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
