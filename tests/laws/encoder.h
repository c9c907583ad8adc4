#ifndef ROTOR_TESTS_ENCODER_H
#define ROTOR_TESTS_ENCODER_H

/* A small encoder and a block of tokens, to measure its dependence on positions. */

#include "laws.h"
#include "models/new_model.h"
#include "option_words.h"

#include "models/encodings/encoding.h"

enum { VOCAB = 50, DIM = 16, BLOCK = 40, MOST_PADDING = 100, OUTPUT = BLOCK * DIM };

enum { KINDS = RT_POSITION_NONE + 1 };
static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD) NULL};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions - 1 };

static inline rt_transformer_options with(rt_position_kind kind, rt_attention_kind attention,
                                          bool causal)
{
    rt_transformer_options o = {.vocab = VOCAB,
                                .dim = DIM,
                                .attention = attention,
                                .causal = causal,
                                .position = {.kind = kind, .max_len = BLOCK + MOST_PADDING}};
    set_options(&o, "model.layers=2 model.heads=2 model.norm_eps=1e-12 model.tie_embeddings=yes "
                    "position.base=10000 position.fraction=1 position.phase=yes");
    return o;
}

static inline rt_transformer *make(const rt_transformer_options *o)
{
    rt_transformer *m = new_model(o, 1);
    grow(m, 20);
    return m;
}

static inline void draw_block(int32_t *block)
{
    uint64_t next = 0;
    for (int i = 0; i < BLOCK; i++)
        block[i] = draw_below(&next, VOCAB);
}

/* The hidden states, (BLOCK, DIM), of a block of tokens after padding. */
static inline void encode(real *hidden, rt_transformer *m, const int32_t *block, int padding)
{
    int32_t ids[BLOCK + MOST_PADDING] = {0};
    uint8_t mask[BLOCK + MOST_PADDING] = {0};
    rt_graph *g = rt_graph_new();
    memcpy(ids + padding, block, BLOCK * sizeof *ids);
    memset(mask + padding, 1, BLOCK);
    const rt_transformer_input in =
        INPUT(.B = 1, .T = padding + BLOCK, .ids = ids, .key_mask = mask);
    const rt_tensor *h = made(g, rt_transformer_encode(m, g, &in));
    memcpy(hidden, h->data + (size_t)padding * DIM, OUTPUT * sizeof *hidden);
    rt_graph_free(g);
}

/* The hidden states of the drawn block in a new model. */
static inline void encode_block(real hidden[OUTPUT], const rt_transformer_options *o, int padding)
{
    int32_t block[BLOCK];
    draw_block(block);
    encode(hidden, make(o), block, padding);
}

/* The place that each token comes from when the block is put in another order. */
typedef struct places {
    int from[BLOCK];
} places;

static inline places by_steps(int step, int start)
{
    places p;
    for (int i = 0; i < BLOCK; i++)
        p.from[i] = (step * i + start) % BLOCK;
    return p;
}

/* Returns the largest change of the outputs of the same tokens, all or one, when the block is
 * reordered. */
enum { ALL = -1 };
static inline double change_by_order(rt_transformer *m, places p, int token)
{
    int32_t block[BLOCK], reordered[BLOCK];
    real out[OUTPUT], expected[OUTPUT], got[OUTPUT];
    draw_block(block);
    encode(out, m, block, 0);
    for (int i = 0; i < BLOCK; i++) {
        reordered[i] = block[p.from[i]];
        memcpy(expected + (size_t)i * DIM, out + (size_t)p.from[i] * DIM, DIM * sizeof *out);
    }
    encode(got, m, reordered, 0);
    if (token == ALL)
        return largest_difference(got, expected, OUTPUT);
    return largest_difference(got + token * DIM, expected + token * DIM, DIM);
}

#endif
