#ifndef ROTOR_IO_GGUF_KEYS_H
#define ROTOR_IO_GGUF_KEYS_H

/* The parts of a GGUF before its tensors, as bytes: little-endian, whatever the machine. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
