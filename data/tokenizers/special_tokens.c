#include "data/batch.h"
#include "data/tokenizers/vocabulary.h"

const rt_special_ids rt_default_special_ids = {RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP,
                                               RT_NO_ID};

const char *rt_special_token(int i)
{
    static const char *const tokens[RT_SPECIAL_TOKENS] = {"[PAD]", "[CLS]", "[MASK]", "[SEP]",
                                                          "[UNK]"};
    return tokens[i];
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
