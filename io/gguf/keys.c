#include "io/gguf/private.h"

#include "core/memory.h"

#include <string.h>

/* Types of values, as the format numbers them, beside those of lists. */
enum { WHOLE = 4, FLOAT = 6, FLAG = 7, TEXT = 8, LIST = 9 };

void rt_gguf_free(rt_gguf_bytes *b)
{
    rt_free(b->at);
    *b = (rt_gguf_bytes){0};
}

void rt_gguf_add(rt_gguf_bytes *b, const void *bytes, size_t size)
{
    if (!b->failed && size > b->capacity - b->length) {
        const size_t capacity = 2 * (b->length + size) + 256;
        unsigned char *larger = rt_alloc_unset(capacity, 1);
        b->failed = !larger;
        if (larger && b->length)
            memcpy(larger, b->at, b->length);
        if (larger) {
            rt_free(b->at);
            b->at = larger;
            b->capacity = capacity;
        }
    }
    if (b->failed || !size)
        return;
    memcpy(b->at + b->length, bytes, size);
    b->length += size;
}

void rt_gguf_number(rt_gguf_bytes *b, uint64_t number, int size)
{
    unsigned char bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    rt_gguf_add(b, bytes, (size_t)size);
}

void rt_gguf_string(rt_gguf_bytes *b, const char *text, size_t size)
{
    rt_gguf_number(b, size, 8);
    rt_gguf_add(b, text, size);
}

uint32_t rt_gguf_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- keys ---- */

static rt_gguf_bytes *put(rt_gguf_keys *k, const char *key, int type)
{
    rt_gguf_string(&k->bytes, key, strlen(key));
    rt_gguf_number(&k->bytes, (uint64_t)type, 4);
    k->count++;
    return &k->bytes;
}

void rt_gguf_put_whole(rt_gguf_keys *k, const char *key, uint32_t value)
{
    rt_gguf_number(put(k, key, WHOLE), value, 4);
}

void rt_gguf_put_float(rt_gguf_keys *k, const char *key, double value)
{
    rt_gguf_number(put(k, key, FLOAT), rt_gguf_float_bits((float)value), 4);
}

void rt_gguf_put_flag(rt_gguf_keys *k, const char *key, bool value)
{
    rt_gguf_number(put(k, key, FLAG), value, 1);
}

void rt_gguf_put_text(rt_gguf_keys *k, const char *key, const char *text)
{
    rt_gguf_string(put(k, key, TEXT), text, strlen(text));
}

void rt_gguf_put_list(rt_gguf_keys *k, const char *key, rt_gguf_type type, size_t count)
{
    rt_gguf_bytes *b = put(k, key, LIST);
    rt_gguf_number(b, type, 4);
    rt_gguf_number(b, count, 8);
}
