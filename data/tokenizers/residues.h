#ifndef ROTOR_DATA_TOKENIZERS_RESIDUES_H
#define ROTOR_DATA_TOKENIZERS_RESIDUES_H

/* Texts at level residue (vocabulary.h), as EsmTokenizer of Hugging Face has them (Lin et al. 2022,
 * ESM-2). Their vocabulary is read as that of level wordpiece is. */

#include "data/tokenizers/vocabulary.h"

/* As rt_bpe_encode: gives the ids of the bytes from `from` to `to` of a text to `take`, and counts
 * what becomes <unk>. Where `special` is false special tokens are text. RT_ARGUMENT names what is
 * not UTF-8 and where it stands. */
rt_status rt_residues_encode(const rt_vocabulary *v, const unsigned char *text, size_t from,
                             size_t to, bool special, rt_id_taker *take, void *context,
                             rt_unknown *unknown) RT_MUST_CHECK;

#endif
