#ifndef ROTOR_IO_GGUF_GGUF_H
#define ROTOR_IO_GGUF_GGUF_H

/* Models of llama.cpp: GGUF. Of version 2 and 3, the architectures llama, qwen2, qwen3 and gptneox
 * are read, in floats or quantized, with a tokenizer of byte-level BPE, and used as a folder of
 * Hugging Face is. Llama, Mistral, Qwen2 and Qwen3 are written, in version 3.
 *
 * A file has keys, then tensors at aligned places. Queries and keys are paired as in the
 * architecture: interleaved in "llama", else in halves. Theta is base^(-2i/D). In "llama", the
 * tensor rope_freqs has a divisor for each pair if theta is not that. There is no key for a window:
 * the context of the file is at most as long as the window, so the window has no effect. */

#include "io/huggingface/huggingface.h"

#define RT_GGUF_DTYPES(X) X(RT_GGUF_F32, "f32") X(RT_GGUF_F16, "f16")
typedef enum rt_gguf_dtype { RT_GGUF_DTYPES(RT_CHOICE_VALUE) } rt_gguf_dtype;

/* Returns whether a path is a regular file that begins with "GGUF". */
bool rt_is_gguf(const char *path);

/* Opens a file with vocabulary and data options. It is untrusted: an error in its content is
 * RT_CHECKPOINT with the file and the key or the tensor; RT_MEMORY. Numbers are read when a model
 * is filled, a few at a time. A tokenizer that rotor does not read is a warning; the model then
 * reads ids only. */
rt_status rt_gguf_import(rt_huggingface **there_new, const char *path) RT_MUST_CHECK;

/* Reads tokenizer.chat_template as JSON, which the caller frees; NULL if there is none. */
rt_status rt_gguf_chat_template(char **template_new, const char *path) RT_MUST_CHECK;

/* Writes a file durably (util/durable_file.h). Matrices have the type `dtype`, vectors are F32.
 * RT_CONFIG names the key of an option that llama.cpp does not support, or says that the file
 * exists (export->overwrite); RT_IO; RT_NONFINITE for a number that the type cannot represent. */
rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype) RT_MUST_CHECK;

#endif
