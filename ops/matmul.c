#include "ops/gemm.h"
#include "ops/ops.h"

/* One product for each matrix of a. If b is a single matrix, the rows of all matrices of a form one
 * product. */
typedef struct extent {
    size_t products;
    int m, k, n;
    size_t b_step; /* from one matrix of b to the next; 0 for a single b */
} extent;

static extent extent_of(const rt_tensor *a, const rt_tensor *b)
{
    extent e = {1, (int)rt_rows(a), rt_columns(a), rt_columns(b), 0};
    if (b->ndim > 2) {
        e.m = a->shape[a->ndim - 2];
        e.products = rt_rows(a) / (size_t)e.m;
        e.b_step = (size_t)e.k * (size_t)e.n;
    }
    return e;
}

static void matmul_forward(const rt_node *n)
{
    const real *a = n->in[0]->data, *b = n->in[1]->data;
    extent e = extent_of(n->in[0], n->in[1]);
    size_t a_step = (size_t)e.m * (size_t)e.k, y_step = (size_t)e.m * (size_t)e.n;
    for (size_t i = 0; i < e.products; i++)
        rt_gemm((rt_sizes){e.m, e.n, e.k}, 1, rt_rows_at(a + i * a_step, e.k),
                rt_rows_at(b + i * e.b_step, e.n), 0, rt_result_at(n->out->data + i * y_step, e.n));
}

static void matmul_backward(const rt_node *n)
{
    const real *a = n->in[0]->data, *b = n->in[1]->data, *g = n->out->grad;
    extent e = extent_of(n->in[0], n->in[1]);
    size_t a_step = (size_t)e.m * (size_t)e.k, y_step = (size_t)e.m * (size_t)e.n;
    real *da = rt_grad(n, 0), *db = rt_grad(n, 1);
    for (size_t i = 0; i < e.products; i++) {
        const rt_operand dy = rt_rows_at(g + i * y_step, e.n);
        if (da)
            rt_gemm((rt_sizes){e.m, e.k, e.n}, 1, dy,
                    rt_transposed(rt_rows_at(b + i * e.b_step, e.n)), 1,
                    rt_result_at(da + i * a_step, e.k));
        if (db)
            rt_gemm((rt_sizes){e.k, e.n, e.m}, 1, rt_transposed(rt_rows_at(a + i * a_step, e.k)),
                    dy, 1, rt_result_at(db + i * e.b_step, e.n));
    }
}

const rt_op rt_op_matmul = {.name = "matmul",
                            .forward = matmul_forward,
                            .backward = matmul_backward};

rt_tensor *rt_matmul(rt_graph *g, rt_tensor *a, rt_tensor *b)
{
    if (!RT_CHECK_INPUTS(g, "matmul", RT_INPUT(a), RT_INPUT(b)))
        return NULL;
    bool fits = a->ndim >= 2 && (b->ndim == 2 || b->ndim == a->ndim) &&
                rt_columns(a) == b->shape[b->ndim - 2];
    for (int i = 0; fits && b->ndim > 2 && i < b->ndim - 2; i++)
        fits = a->shape[i] == b->shape[i];
    if (!fits)
        return rt_graph_fail(g, RT_SHAPE,
                             "[matmul] a must be (..., M, K), b (..., K, N) or (K, N); got %s, %s",
                             rt_shape_text(a), rt_shape_text(b));
    rt_shape shape = rt_tensor_shape(a);
    shape.axis[shape.ndim - 1] = rt_columns(b);
    return RT_APPLY(g, &rt_op_matmul, shape, RT_NO_ARGS, a, b);
}
