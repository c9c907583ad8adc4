#include "data/batch.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/vocabulary.h"

const rt_special_ids rt_default_special_ids = {RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP,
                                               RT_NO_ID};

const char *rt_special_token(rt_level level, int i)
{
    static const char *const of_texts[RT_SPECIAL_TOKENS] = {"[PAD]", "[CLS]", "[MASK]", "[SEP]",
                                                            "[UNK]"};
    static const char *const of_proteins[RT_SPECIAL_TOKENS] = {"<pad>", "<cls>", "<mask>", "<eos>",
                                                               "<unk>"};
    return level == RT_LEVEL_RESIDUE ? of_proteins[i] : of_texts[i];
}

bool rt_vocabulary_pads(const rt_special_ids *ids)
{
    return ids->pad != RT_NO_ID && ids->pad != ids->cls && ids->pad != ids->sep;
}

int32_t *rt_special_id(rt_special_ids *ids, int i)
{
    int32_t *const all[RT_SPECIAL_TOKENS] = {&ids->pad, &ids->cls, &ids->mask, &ids->sep,
                                             &ids->unknown};
    return all[i];
}

rt_text_frame rt_vocabulary_frame(const rt_vocabulary *v)
{
    const rt_bpe *bpe = v->bpe;
    const bool framed = bpe && (bpe->first != RT_NO_ID || bpe->last != RT_NO_ID);
    return framed ? (rt_text_frame){bpe->first, bpe->last}
                  : (rt_text_frame){v->special.cls, v->special.sep};
}
