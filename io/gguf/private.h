#ifndef ROTOR_IO_GGUF_PRIVATE_H
#define ROTOR_IO_GGUF_PRIVATE_H

/* Private declarations of the files that write GGUF. */

#include "io/gguf/gguf.h"

#include <stdint.h>
#include <stdio.h>

/* Keys with their values in memory, and how many there are. The stream remembers a heap that is
 * exhausted. */
typedef struct rt_gguf_keys {
    FILE *to;
    uint64_t count;
} rt_gguf_keys;

/* Write a number of `size` bytes, little-endian whatever the machine, and a string. */
void rt_gguf_number(FILE *to, uint64_t number, size_t size);
void rt_gguf_string(FILE *to, const char *text, size_t size);

void rt_gguf_put_whole(rt_gguf_keys *k, const char *key, uint32_t value);
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

/* The keys of its vocabulary, with a token for each id of the model. RT_CONFIG names what llama.cpp
 * cannot do to a text. */
rt_status rt_gguf_put_vocabulary(rt_gguf_keys *k, const rt_transformer *model,
                                 const rt_huggingface_export *export) RT_MUST_CHECK;

#endif
