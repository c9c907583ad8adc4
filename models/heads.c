#include "models/parts.h"

static void add_lm_head(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_parameters *p = &m->parameters;
    const bool transforms = o->kind == RT_KIND_ROFORMER;
    const int E = transforms ? o->embedding_dim : o->dim;
    if (transforms) {
        m->head.dense = rt_add_linear(p, RT_ROLE_WEIGHT, "head.dense", E, o->dim, o->bias);
        m->head.norm = rt_add_norm(p, "head.norm", E, o->norm_kind);
    }
    m->head.output.weight =
        o->tie_embeddings ? m->embeddings.tokens : rt_add_table(p, "head.output", o->vocab, E);
    if (transforms && o->bias == RT_BIAS_YES)
        m->head.output.bias = rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ZERO,
                                                RT_SHAPE_OF(o->vocab), RT_OUTPUT_BIAS_NAME);
}

void rt_add_head(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_begin_part(m, RT_PART_HEAD, -1);
    switch (o->head) {
    case RT_HEAD_LM:
        add_lm_head(m);
        break;
    case RT_HEAD_SEQUENCE:
        m->head.dense =
            rt_add_linear(&m->parameters, RT_ROLE_WEIGHT, "head.dense", o->dim, o->dim, o->bias);
        m->head.classifier = rt_add_linear(&m->parameters, RT_ROLE_WEIGHT, "head.classifier",
                                           o->labels, o->dim, o->bias);
        break;
    case RT_HEAD_TOKEN:
        m->head.classifier = rt_add_linear(&m->parameters, RT_ROLE_WEIGHT, "head.classifier",
                                           o->labels, o->dim, o->bias);
        break;
    }
}

static rt_tensor *lm_logits(rt_transformer *m, rt_graph *g, rt_tensor *hidden)
{
    if (!m->head.dense.weight)
        return rt_affine_apply(g, hidden, m->head.output);
    rt_tensor *x = rt_affine_activate(g, hidden, m->head.dense, m->options.activation);
    x = rt_affine_norm(g, x, m->head.norm, m->options.norm_eps);
    return rt_affine_apply(g, x, m->head.output);
}

/* The hidden state of token 0 of every sequence, (B, C). */
static rt_tensor *first_tokens(rt_graph *g, rt_tensor *hidden)
{
    if (!RT_TAKES(g, "sequence head", RT_INPUT(hidden)))
        return NULL;
    if (hidden->ndim != 3)
        return rt_graph_fail(g, RT_SHAPE, "[sequence head] hidden must be (B, T, C); got %s",
                             rt_shape_text(hidden));
    const int B = hidden->shape[0], T = hidden->shape[1], C = hidden->shape[2];
    int32_t *rows = rt_graph_numbers(g, (size_t)B, sizeof *rows);
    for (int b = 0; rows && b < B && !rt_graph_is_dry(g); b++)
        rows[b] = b * T;
    return rows ? rt_embedding(g, rt_reshape(g, hidden, RT_SHAPE_OF(B * T, C)), rows,
                               RT_SHAPE_OF(B), RT_NO_PADDING)
                : NULL;
}

rt_tensor *rt_transformer_logits(rt_transformer *m, rt_graph *g, rt_tensor *hidden)
{
    const double p = m->options.dropout;
    rt_tensor *x;
    switch (m->options.head) {
    case RT_HEAD_LM:
        return lm_logits(m, g, hidden);
    case RT_HEAD_SEQUENCE:
        x = rt_dropout(g, first_tokens(g, hidden), p);
        x = rt_dropout(g, rt_affine_activate(g, x, m->head.dense, m->options.activation), p);
        return rt_affine_apply(g, x, m->head.classifier);
    case RT_HEAD_TOKEN:
        return rt_affine_apply(g, rt_dropout(g, hidden, p), m->head.classifier);
    }
    return rt_graph_fail(g, RT_ARGUMENT, "[roformer] there is no head %d", (int)m->options.head);
}
