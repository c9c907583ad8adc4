#ifndef ROTOR_OPS_ONEDNN_PRIMITIVES_H
#define ROTOR_OPS_ONEDNN_PRIMITIVES_H

/* Primitives of oneDNN for products. A thread creates one for each shape and keeps it. */

#include "ops/gemm.h"

#include <dnnl.h>

/* Layout of the matrices of an operand; none has gaps. */
typedef struct rt_onednn_order {
    bool transposed;
    bool side_by_side; /* of a batch: in the same rows */
} rt_onednn_order;

/* Shape of the product that a primitive computes. */
typedef struct rt_onednn_shape {
    rt_batch_size batch;
    int m, n, k;
    rt_onednn_order a, b, c;
    bool adds;
    float alpha;
    dnnl_data_type_t type; /* of a and b */
} rt_onednn_shape;

typedef struct rt_onednn_primitive {
    rt_onednn_shape shape;
    dnnl_primitive_t run; /* NULL: the place is free */
    dnnl_memory_t a, b, c;
    dnnl_memory_t alpha; /* the factor, where oneDNN takes it as an argument; or NULL */
} rt_onednn_primitive;

/* The argument of a primitive that its alpha is. oneDNN 2 has the factor in the primitive. */
#if DNNL_VERSION_MAJOR >= 3
#define RT_ONEDNN_ARG_ALPHA (DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC)
#else
#define RT_ONEDNN_ARG_ALPHA 0
#endif

/* The primitives and the room of a thread. */
typedef struct rt_onednn_thread rt_onednn_thread;

/* False if oneDNN cannot be started. To be called before the others. */
bool rt_onednn_start(void);

/* Returns the primitives of the calling thread; NULL if memory is short. */
rt_onednn_thread *rt_onednn_this_thread(void);
dnnl_stream_t rt_onednn_stream(const rt_onednn_thread *t);

/* Room for products that go elsewhere afterwards, until the next call. NULL if memory is short. */
real *rt_onednn_room(rt_onednn_thread *t, size_t size);

/* The thread's primitive for a shape, until the next call; NULL if it cannot be made. */
rt_onednn_primitive *rt_onednn_primitive_for(rt_onednn_thread *t, const rt_onednn_shape *s);

#endif
