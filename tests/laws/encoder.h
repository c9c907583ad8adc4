#ifndef ROTOR_TESTS_ENCODER_H
#define ROTOR_TESTS_ENCODER_H

/* A small encoder and a block of tokens for it, to ask what it knows of positions. */

#include "laws.h"
#include "models/new_model.h"

#include "models/encodings/encoding.h"

enum { VOCAB = 50, DIM = 16, BLOCK = 40, MOST_PADDING = 100, OUTPUT = BLOCK * DIM };

enum { KINDS = RT_POSITION_NONE + 1 };
static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD) NULL};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions - 1 };

static inline rt_transformer_options with(rt_position_kind kind, rt_attention_kind attention,
                                          bool causal)
{
    return (rt_transformer_options){.vocab = VOCAB,
                                    .layers = 2,
                                    .dim = DIM,
                                    .heads = 2,
                                    .norm_eps = 1e-12,
                                    .tie_embeddings = true,
                                    .attention = attention,
                                    .causal = causal,
                                    .position = {.kind = kind,
                                                 .frequencies = {.base = 10000},
                                                 .fraction = 1,
                                                 .max_len = BLOCK + MOST_PADDING}};
}

/* Weights large enough that attention is far from uniform. */
static inline void grow(rt_transformer *m)
{
    for (int i = 0; i < m->parameters.count; i++) {
        rt_parameter *p = m->parameters.list[i];
        for (size_t k = 0; p->init == RT_INIT_NORMAL && k < rt_size(&p->tensor); k++)
            p->tensor.data[k] *= 20;
    }
}

static inline rt_transformer *make(const rt_transformer_options *o)
{
    rt_transformer *m = new_model(o, 1);
    grow(m);
    return m;
}

/* The hidden states, (BLOCK, DIM), of a block of tokens after padding. */
static inline void encode(real *hidden, rt_transformer *m, const int32_t *block, int padding)
{
    int32_t ids[BLOCK + MOST_PADDING] = {0};
    uint8_t mask[BLOCK + MOST_PADDING] = {0};
    rt_graph *g = rt_graph_new();
    memcpy(ids + padding, block, BLOCK * sizeof *ids);
    memset(mask + padding, 1, BLOCK);
    const rt_transformer_input in = {
        .B = 1, .T = padding + BLOCK, .ids = ids, .key_mask = mask, .padding_id = RT_NO_PADDING};
    const rt_tensor *h = rt_transformer_encode(m, g, &in);
    ck_assert_msg(h != NULL, "%s", rt_graph_status(g).message);
    memcpy(hidden, h->data + (size_t)padding * DIM, OUTPUT * sizeof *hidden);
    rt_graph_free(g);
}

static inline void draw_block(int32_t *block)
{
    uint64_t next = 0;
    for (int i = 0; i < BLOCK; i++)
        block[i] = draw_below(&next, VOCAB);
}

#endif
