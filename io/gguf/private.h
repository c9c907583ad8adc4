#ifndef ROTOR_IO_GGUF_PRIVATE_H
#define ROTOR_IO_GGUF_PRIVATE_H

/* Private declarations of the files that write GGUF. */

#include "io/gguf/gguf.h"
#include "io/huggingface/private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- bytes and keys ---- */

/* The parts of a GGUF before its tensors, as bytes: little-endian, whatever the machine. */

/* Starts zeroed; to be freed. When the heap is exhausted it remembers that. */
typedef struct rt_gguf_bytes {
    unsigned char *at;
    size_t length, capacity;
    bool failed;
} rt_gguf_bytes;

void rt_gguf_free(rt_gguf_bytes *b);
void rt_gguf_add(rt_gguf_bytes *b, const void *bytes, size_t size);
void rt_gguf_number(rt_gguf_bytes *b, uint64_t number, int size);
void rt_gguf_string(rt_gguf_bytes *b, const char *text, size_t size);

/* Keys with their values, and how many there are. */
typedef struct rt_gguf_keys {
    rt_gguf_bytes bytes;
    uint64_t count;
} rt_gguf_keys;

void rt_gguf_put_whole(rt_gguf_keys *k, const char *key, uint32_t value);
void rt_gguf_put_float(rt_gguf_keys *k, const char *key, double value);
void rt_gguf_put_flag(rt_gguf_keys *k, const char *key, bool value);
void rt_gguf_put_text(rt_gguf_keys *k, const char *key, const char *text);

/* A list, whose values follow: rt_gguf_string of strings, rt_gguf_number of 4 bytes of the others.
 */
typedef enum rt_gguf_type {
    RT_GGUF_INTS = 5,
    RT_GGUF_FLOATS = 6,
    RT_GGUF_STRINGS = 8
} rt_gguf_type;
void rt_gguf_put_list(rt_gguf_keys *k, const char *key, rt_gguf_type type, size_t count);

uint32_t rt_gguf_float_bits(float value);

/* ---- the model ---- */

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
