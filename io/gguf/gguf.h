#ifndef ROTOR_IO_GGUF_GGUF_H
#define ROTOR_IO_GGUF_GGUF_H

/* A Llama, Mistral or Qwen3 with its tokenizer as a file of llama.cpp: GGUF, version 3.
 *
 * Keys, then the tensors of architecture "llama" or "qwen3", each at a multiple of 32 bytes. The
 * features of queries and keys stand as that architecture pairs them: interleaved in a Llama, in
 * halves in a Qwen3. Theta is base^(-2i/D); in a Llama, what differs from that, learned or scaled,
 * is the tensor rope_freqs, a divisor for each pair. A window has no key there: the context of the
 * file is no longer than it, so it never shows. */

#include "io/huggingface/huggingface.h"

#define RT_GGUF_DTYPES(X) X(RT_GGUF_F32, "f32") X(RT_GGUF_F16, "f16")
typedef enum rt_gguf_dtype { RT_GGUF_DTYPES(RT_CHOICE_VALUE) } rt_gguf_dtype;

/* Returns whether a path ends with ".gguf". */
bool rt_is_gguf(const char *path);

/* Writes the file durably: it is there as a whole, or as it was. Matrices are of that type, vectors
 * F32. RT_CONFIG names the key of what llama.cpp has not, or says that the file exists
 * (export->overwrite); RT_IO; RT_NONFINITE for a number that the type does not hold. */
rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype) RT_MUST_CHECK;

#endif
