#ifndef ROTOR_MODELS_TOKEN_DROPOUT_H
#define ROTOR_MODELS_TOKEN_DROPOUT_H

/* Token dropout, as ESM-2 has it (Lin et al. 2023): what the embeddings of a text have lost by
 * masks is made up for. */

#include "models/transformer.h"

/* Embeddings x, (B, T, E), of a model whose options have token_dropout: those of mask tokens and of
 * padding become 0, and all others are multiplied by
 *
 *     (1 - 0.15 * 0.8) / (1 - masks / tokens)
 *
 * of their text, padding not counted: 0.15 * 0.8 is the share of masks in its pretraining. A text
 * of masks alone is 0. */
rt_tensor *rt_token_dropout(const rt_transformer_options *options, rt_graph *g, rt_tensor *x,
                            const rt_transformer_input *input);

#endif
