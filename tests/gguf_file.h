#ifndef ROTOR_TESTS_GGUF_FILE_H
#define ROTOR_TESTS_GGUF_FILE_H

/* A GGUF file for tests: a decoder of one layer whose tensors have all types, with a tokenizer. Its
 * blocks are pseudo-random bytes with scales of their own. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { GGUF_DIM = 256, GGUF_VOCAB = 6 };

/* A key in addition, by the type of its value in the format; `text` for type 8. */
typedef struct gguf_extra {
    const char *name; /* NULL: none */
    uint32_t type;
    uint64_t value;
    const char *text;
    bool factors; /* there is a tensor rope_freqs.weight, too */
} gguf_extra;

typedef struct gguf_tensor {
    const char *name;
    int rows, columns; /* rows 0: a vector */
    uint32_t type;
    int numbers, bytes; /* of a block */
    int scale, minimum; /* offsets of halves in a block, or -1 */
} gguf_tensor;

static const gguf_tensor gguf_tensors[] = {
    {"token_embd.weight", GGUF_VOCAB, GGUF_DIM, 7, 32, 24, 0, 2},
    {"blk.0.attn_q.weight", GGUF_DIM, GGUF_DIM, 12, 256, 144, 0, 2},
    {"blk.0.attn_k.weight", GGUF_DIM / 2, GGUF_DIM, 3, 32, 20, 0, 2},
    {"blk.0.attn_v.weight", GGUF_DIM / 2, GGUF_DIM, 6, 32, 22, 0, -1},
    {"blk.0.attn_output.weight", GGUF_DIM, GGUF_DIM, 13, 256, 176, 0, 2},
    {"blk.0.ffn_gate.weight", GGUF_DIM, GGUF_DIM, 14, 256, 210, 208, -1},
    {"blk.0.ffn_up.weight", GGUF_DIM, GGUF_DIM, 8, 32, 34, 0, -1},
    {"blk.0.ffn_down.weight", GGUF_DIM, GGUF_DIM, 2, 32, 18, 0, -1},
    {"output.weight", GGUF_VOCAB, GGUF_DIM, 30, 1, 2, 0, -1},
    {"blk.0.attn_norm.weight", 0, GGUF_DIM, 0, 1, 4, 2, -1},
    {"blk.0.ffn_norm.weight", 0, GGUF_DIM, 1, 1, 2, 0, -1},
    {"output_norm.weight", 0, GGUF_DIM, 28, 1, 8, 6, -1},
    {"rope_freqs.weight", 0, GGUF_DIM / 8, 0, 1, 4, 2, -1}, /* only with `factors` */
};
enum { GGUF_TENSORS = sizeof gguf_tensors / sizeof *gguf_tensors - 1, GGUF_MOST = 1 << 19 };

/* The bytes of a file. */
typedef struct gguf_file {
    unsigned char bytes[GGUF_MOST];
    size_t size;
    size_t data; /* where the tensors begin */
} gguf_file;

static void gguf_whole(gguf_file *f, uint64_t value, int size)
{
    for (int i = 0; i < size; i++, value >>= 8)
        f->bytes[f->size++] = (unsigned char)value;
}

static void gguf_text(gguf_file *f, const char *text)
{
    gguf_whole(f, strlen(text), 8);
    memcpy(f->bytes + f->size, text, strlen(text));
    f->size += strlen(text);
}

static void gguf_key(gguf_file *f, const char *name, uint32_t type, uint64_t value)
{
    static const int sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    gguf_text(f, name);
    gguf_whole(f, type, 4);
    gguf_whole(f, value, type < sizeof sizes / sizeof *sizes ? sizes[type] : 4);
}

static void gguf_texts(gguf_file *f, const char *name, const char *const *texts, size_t count)
{
    gguf_text(f, name);
    gguf_whole(f, 9, 4);
    gguf_whole(f, 8, 4);
    gguf_whole(f, count, 8);
    for (size_t i = 0; i < count; i++)
        gguf_text(f, texts[i]);
}

static size_t gguf_bytes(const gguf_tensor *t)
{
    return (size_t)(t->rows ? t->rows : 1) * (size_t)(t->columns / t->numbers) * (size_t)t->bytes;
}

/* Fills a tensor with pseudo-random bytes. Floats get them below a high byte of their own. */
static void gguf_fill(unsigned char *to, const gguf_tensor *t, uint32_t *seed)
{
    for (size_t i = 0; i < gguf_bytes(t); i++) {
        *seed = *seed * 1664525 + 1013904223;
        to[i] = (unsigned char)(*seed >> 24);
    }
    for (size_t at = 0; at < gguf_bytes(t); at += (size_t)t->bytes) {
        memcpy(to + at + t->scale, t->numbers > 1 ? "\xcd\x24" : "\x9d\x3f", 2);
        if (t->minimum >= 0)
            memcpy(to + at + t->minimum, "\xf3\xa1", 2);
    }
}

static void gguf_put(gguf_file *f, gguf_extra extra)
{
    if (extra.name && extra.type == 8) {
        gguf_text(f, extra.name);
        gguf_whole(f, 8, 4);
        gguf_text(f, extra.text);
    } else if (extra.name) {
        gguf_key(f, extra.name, extra.type, extra.value);
    }
}

/* A second key in addition, which a test may set. */
static gguf_extra gguf_more;

/* Writes the file with a key in addition. */
static void gguf_build(gguf_file *f, gguf_extra extra)
{
    static const char *const tokens[] = {"a", "b", "ab", "\xc4\xa0", "<|end|>", "c"};
    static const char *const merges[] = {"a b"};
    static const uint32_t types[] = {1, 1, 1, 1, 3, 1};
    const int tensors = GGUF_TENSORS + extra.factors;
    size_t place = 0;
    uint32_t seed = 1;
    memset(f, 0, sizeof *f);
    memcpy(f->bytes, "GGUF", f->size = 4);
    gguf_whole(f, 3, 4);
    gguf_whole(f, (uint64_t)tensors, 8);
    gguf_whole(f, 16 + (extra.name != NULL) + (gguf_more.name != NULL), 8);
    gguf_text(f, "general.architecture");
    gguf_whole(f, 8, 4);
    gguf_text(f, "llama");
    gguf_key(f, "general.alignment", 4, 32);
    gguf_key(f, "llama.context_length", 4, 64);
    gguf_key(f, "llama.embedding_length", 4, GGUF_DIM);
    gguf_key(f, "llama.block_count", 4, 1);
    gguf_key(f, "llama.feed_forward_length", 4, GGUF_DIM);
    gguf_key(f, "llama.attention.head_count", 4, 4);
    gguf_key(f, "llama.attention.head_count_kv", 4, 2);
    gguf_key(f, "llama.attention.layer_norm_rms_epsilon", 6, 0x3727c5ac);
    gguf_text(f, "tokenizer.ggml.model");
    gguf_whole(f, 8, 4);
    gguf_text(f, "gpt2");
    gguf_text(f, "tokenizer.ggml.pre");
    gguf_whole(f, 8, 4);
    gguf_text(f, "gpt-2");
    gguf_texts(f, "tokenizer.ggml.tokens", tokens, GGUF_VOCAB);
    gguf_texts(f, "tokenizer.ggml.merges", merges, 1);
    gguf_text(f, "tokenizer.ggml.token_type");
    gguf_whole(f, 9, 4);
    gguf_whole(f, 5, 4);
    gguf_whole(f, GGUF_VOCAB, 8);
    for (int i = 0; i < GGUF_VOCAB; i++)
        gguf_whole(f, types[i], 4);
    gguf_key(f, "tokenizer.ggml.eos_token_id", 4, 4);
    gguf_key(f, "llama.attention.causal", 7, 1);
    gguf_put(f, extra);
    gguf_put(f, gguf_more);
    for (int n = 0; n < tensors; n++) {
        const gguf_tensor *t = gguf_tensors + n;
        gguf_text(f, t->name);
        gguf_whole(f, t->rows ? 2 : 1, 4);
        gguf_whole(f, (uint64_t)t->columns, 8);
        if (t->rows)
            gguf_whole(f, (uint64_t)t->rows, 8);
        gguf_whole(f, t->type, 4);
        gguf_whole(f, place, 8);
        place += (gguf_bytes(t) + 31) / 32 * 32;
    }
    f->data = f->size = (f->size + 31) / 32 * 32;
    for (int n = 0; n < tensors; n++) {
        gguf_fill(f->bytes + f->size, gguf_tensors + n, &seed);
        f->size += (gguf_bytes(gguf_tensors + n) + 31) / 32 * 32;
    }
}

#endif
