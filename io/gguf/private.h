#ifndef ROTOR_IO_GGUF_PRIVATE_H
#define ROTOR_IO_GGUF_PRIVATE_H

/* What the files that write a GGUF share. */

#include "io/gguf/gguf.h"
#include "io/gguf/keys.h"
#include "io/huggingface/private.h"

/* The architectures as families, whose folders there are none of; NULL ends the list. */
extern const rt_family *const rt_gguf_families[];

enum { RT_GGUF_KEY_SIZE = 64 }; /* bytes of the name of a key, with its final zero */

/* Adds the keys of the model as one of that architecture. */
void rt_gguf_put_model(rt_gguf_keys *k, const rt_family *family, const rt_transformer *model,
                       const rt_huggingface_export *export, rt_gguf_dtype dtype);

/* The keys of its vocabulary, with a token for each id of the model. RT_CONFIG names what llama.cpp
 * cannot do to a text. */
rt_status rt_gguf_put_vocabulary(rt_gguf_keys *k, const rt_transformer *model,
                                 const rt_huggingface_export *export) RT_MUST_CHECK;

#endif
