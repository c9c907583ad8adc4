/* Whether the decoder of a folder is tied to its embeddings. */

#include "io/huggingface/private.h"

#include <string.h>

/* Whether two tensors of the same shape have the same numbers. */
static rt_status compare(rt_weight a, rt_weight b, bool *same)
{
    enum { BLOCK = 512 };
    double one[BLOCK], other[BLOCK];
    *same =
        a.tensor->axes == b.tensor->axes &&
        !memcmp(a.tensor->shape, b.tensor->shape, (size_t)a.tensor->axes * sizeof *a.tensor->shape);
    for (uint64_t first = 0; first < a.tensor->count && *same; first += BLOCK) {
        const uint64_t left = a.tensor->count - first;
        const size_t part = left < BLOCK ? (size_t)left : BLOCK;
        rt_status status = rt_safetensors_doubles(a.file, a.tensor, first, part, one);
        if (!status.code)
            status = rt_safetensors_doubles(b.file, b.tensor, first, part, other);
        if (status.code)
            return status;
        *same = !memcmp(one, other, part * sizeof *one);
    }
    return rt_ok();
}

/* If both are there and differ, the one that a tied decoder would not have, says so and which. */
static rt_status warn_of(rt_huggingface *there, const char *used, const char *tied, bool *differ)
{
    const rt_weight a = rt_huggingface_tensor(there, used);
    const rt_weight b = rt_huggingface_tensor(there, tied);
    bool same = true;
    rt_status status = a.tensor && b.tensor ? compare(a, b, &same) : rt_ok();
    *differ = !same;
    if (*differ)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": tie_word_embeddings = true, but %s is not %s; the former is "
                                   "used\n",
                      used, tied);
    return status;
}

rt_status rt_huggingface_settle_decoder(rt_huggingface *there)
{
    const rt_family *f = there->files->family;
    rt_transformer_options *o = &there->options;
    rt_tensor_place first, second;
    bool weights_differ, biases_differ;
    if (o->head != RT_HEAD_LM || !there->has_head || !o->tie_embeddings ||
        !rt_tensor_place_of(&first, f, o, RT_OUTPUT_NAME, 0) ||
        !rt_tensor_place_of(&second, f, o, RT_TOKENS_NAME, 0))
        return rt_ok();
    rt_status status = warn_of(there, first.name, second.name, &weights_differ);
    if (!status.code && rt_tensor_place_of(&first, f, o, RT_OUTPUT_BIAS_NAME, 0) &&
        rt_tensor_place_of(&second, f, o, RT_OUTPUT_BIAS_NAME, 1))
        status = warn_of(there, first.name, second.name, &biases_differ);
    if (!status.code && weights_differ)
        o->tie_embeddings = false;
    return status;
}
