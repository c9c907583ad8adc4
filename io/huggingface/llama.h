#ifndef ROTOR_IO_HUGGINGFACE_LLAMA_H
#define ROTOR_IO_HUGGINGFACE_LLAMA_H

/* What families that are built as Llama take over. */

#include "io/huggingface/private.h"

extern const rt_option_row rt_decoder_options[];
extern const rt_tensor_row rt_llama_tensors[];
extern const char *const rt_llama_head_prefixes[];

#endif
