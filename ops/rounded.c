#include "ops/rounded.h"

#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/ops.h"

typedef struct rounding {
    uint16_t *to;
    const real *from;
} rounding;

static void round_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const rounding *r = context;
    (void)n;
    (void)room;
    rt_engine_round(r->to + span.first, r->from + span.first, span.count);
}

void rt_round_numbers(const rt_node *n, uint16_t *to, const real *from, size_t size)
{
    rounding r = {to, from};
    rt_node_rows(n, size, 1, round_span, &r);
}

uint16_t *rt_rounded_numbers(rt_graph *g, size_t size)
{
    return rt_gemm_rounds() && rt_graph_records(g) ? rt_graph_numbers(g, size, sizeof(uint16_t))
                                                   : NULL;
}

/* ---- rounded alone ---- */

/* The op of x may have rounded as it computed. */
static void round_forward(const rt_node *n)
{
    const rt_tensor *x = n->in[0];
    if (x->rounded != n->out->rounded)
        rt_round_numbers(n, n->out->rounded, x->data, rt_size(x));
}

static void round_backward(const rt_node *n)
{
    rt_grad_pass(n);
}

static bool round_reads(const rt_node *n, const rt_tensor *x)
{
    (void)n;
    (void)x;
    return false;
}

static const rt_op op_round = {.name = "round",
                               .forward = round_forward,
                               .backward = round_backward,
                               .reads = round_reads,
                               .passes = 1};

rt_tensor *rt_for_products(rt_graph *g, rt_tensor *x)
{
    if (!RT_TAKES(g, op_round.name, RT_FACTOR(x)))
        return NULL;
    if (!x->data || !rt_gemm_rounds() || !rt_graph_records(g) || rt_graph_needs_numbers(g, x))
        return x;
    void *rounded = x->rounded ? x->rounded : rt_rounded_numbers(g, rt_size(x));
    rt_tensor *y = rounded ? rt_graph_apply_rounded(g, &op_round, x, rounded) : NULL;
    if (y)
        rt_graph_give_back(g, x);
    return y;
}
