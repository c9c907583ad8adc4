#include "ops/onednn_primitives.h"

#include "core/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Data of many lengths has many shapes: what is kept is forgotten when there are too many. */

enum { KEPT = 512, PLACES = 2 * KEPT };

typedef rt_onednn_order order;
typedef rt_onednn_shape shape;
typedef rt_onednn_primitive primitive;
typedef rt_onednn_thread thread;

struct rt_onednn_thread {
    dnnl_stream_t stream;
    int kept;
    primitive places[PLACES];
    real *room; /* for a product that goes elsewhere afterwards */
    size_t room_size;
};

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
            dnnl_memory_destroy(t->places[i].alpha);
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

thread *rt_onednn_this_thread(void)
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

real *rt_onednn_room(thread *t, size_t size)
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

/* oneDNN 3 has other functions than oneDNN 2 for the same: a description is a pointer, a product
 * has no description of its own, and a factor is an argument of the primitive. */
#if DNNL_VERSION_MAJOR >= 3

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
    dnnl_status_t bad = dnnl_primitive_attr_set_scales_mask(attributes, DNNL_ARG_SRC, 0);
    if (!bad)
        bad = dnnl_memory_desc_create_with_strides(&d, 1, one, dnnl_f32, one);
    if (!bad)
        bad = dnnl_memory_create(&p->alpha, d, cpu, &p->shape.alpha);
    dnnl_memory_desc_destroy(d);
    return bad;
}

#else

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

/* One matrix has two axes; a batch has those of its two steps before them. */
static dnnl_status_t describe(dnnl_memory_desc_t *d, rt_batch_size batch, int rows, int columns,
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
    return describe_by_strides(d, 4 - skipped, sizes + skipped, type, strides + skipped);
}

static dnnl_status_t make_attributes(dnnl_primitive_attr_t *attributes, primitive *p)
{
    dnnl_post_ops_t after = NULL;
    dnnl_status_t bad = dnnl_primitive_attr_create(attributes);
    if (!bad && p->shape.alpha != 1)
        bad = set_factor(*attributes, p);
    if (!bad && p->shape.adds) {
        bad = dnnl_post_ops_create(&after);
        if (!bad)
            bad = append_sum(after);
        if (!bad)
            bad = dnnl_primitive_attr_set_post_ops(*attributes, after);
        dnnl_post_ops_destroy(after);
    }
    return bad;
}

/* Makes a primitive for its shape. */
static dnnl_status_t make_primitive(primitive *p)
{
    const shape *s = &p->shape;
    dnnl_memory_desc_t d[3] = {0};
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t product = NULL;
    dnnl_status_t bad = describe(&d[0], s->batch, s->m, s->k, s->a, s->type);
    if (!bad)
        bad = describe(&d[1], s->batch, s->k, s->n, s->b, s->type);
    if (!bad)
        bad = describe(&d[2], s->batch, s->m, s->n, s->c, dnnl_f32);
    if (!bad)
        bad = make_attributes(&attributes, p);
    if (!bad)
        bad = describe_product(&product, d, attributes);
    if (!bad)
        bad = make_memory(&p->a, d[0], DNNL_MEMORY_NONE);
    if (!bad)
        bad = make_memory(&p->b, d[1], DNNL_MEMORY_NONE);
    if (!bad)
        bad = make_memory(&p->c, d[2], DNNL_MEMORY_NONE);
    if (!bad)
        bad = dnnl_primitive_create(&p->run, product);
    for (int i = 0; i < 3; i++)
        forget_description(d[i]);
    dnnl_primitive_desc_destroy(product);
    dnnl_primitive_attr_destroy(attributes);
    return bad;
}

static void discard(primitive *p)
{
    dnnl_memory_destroy(p->a);
    dnnl_memory_destroy(p->b);
    dnnl_memory_destroy(p->c);
    dnnl_memory_destroy(p->alpha);
    *p = (primitive){.run = NULL};
}

primitive *rt_onednn_primitive_for(thread *t, const shape *s)
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
    p->shape = *s;
    if (make_primitive(p)) {
        discard(p);
        return NULL;
    }
    t->kept++;
    return p;
}

/* ---- the start ---- */

static void begin(void)
{
    begin_failed = pthread_key_create(&key, end_thread) || dnnl_engine_create(&cpu, dnnl_cpu, 0);
}

bool rt_onednn_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    return !begin_failed;
}

dnnl_stream_t rt_onednn_stream(const thread *t)
{
    return t->stream;
}
