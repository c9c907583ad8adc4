#ifndef ROTOR_IO_GGUF_GGUF_H
#define ROTOR_IO_GGUF_GGUF_H

/* Export of Llama, Mistral and Qwen3 models, with their tokenizer, to llama.cpp: GGUF version 3.
 *
 * A file has keys, then the tensors of architecture "llama" or "qwen3", each at a multiple of 32
 * bytes. Queries and keys are paired as in the architecture: interleaved in "llama", in halves in
 * "qwen3". Theta is base^(-2i/D). In "llama", the tensor rope_freqs has a divisor for each pair if
 * theta is not that. There is no key for a window: the context of the file is at most as
 * long as the window, so the window has no effect. */

#include "io/huggingface/huggingface.h"

#define RT_GGUF_DTYPES(X) X(RT_GGUF_F32, "f32") X(RT_GGUF_F16, "f16")
typedef enum rt_gguf_dtype { RT_GGUF_DTYPES(RT_CHOICE_VALUE) } rt_gguf_dtype;

/* Writes a file durably (util/durable_file.h). Matrices have the type `dtype`, vectors are F32.
 * RT_CONFIG names the key of an option that llama.cpp does not support, or says that the file
 * exists (export->overwrite); RT_IO; RT_NONFINITE for a number that the type cannot represent. */
rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype) RT_MUST_CHECK;

#endif
