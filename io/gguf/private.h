#ifndef ROTOR_IO_GGUF_PRIVATE_H
#define ROTOR_IO_GGUF_PRIVATE_H

/* Architectures of llama.cpp as families, and the file format. */

#include "data/tokenizers/bpe.h"
#include "io/huggingface/family.h"

/* NULL-terminated lists of the architectures, whose names are family->type. A model is written as
 * the first that can express it. Their keys follow the name of the architecture. */
extern const rt_family *const rt_gguf_written[];
extern const rt_family *const rt_gguf_read[];

#define RT_GGUF_FACTORS "rope_freqs.weight" /* divisors of theta */
#define RT_GGUF_LONG    "rope_factors_long.weight"
#define RT_GGUF_SHORT   "rope_factors_short.weight"

/* A sequence of pre-tokenizers by its name in llama.cpp (tokenizer.ggml.pre). */
typedef struct rt_gguf_pattern {
    const char *name;   /* NULL ends the list */
    bool ignore_merges; /* also the default of tokenizer.ggml.add_bos_token */
    int count;
    rt_pretokenizer cuts[RT_CUTS_LIMIT];
} rt_gguf_pattern;

/* Of several names for one sequence, the first is written. */
extern const rt_gguf_pattern rt_gguf_patterns[];

/* Keys of tokenizers, and types of tokens with the numbers of the format. */
#define RT_GGUF_TOKENIZER "tokenizer.ggml."
#define RT_GGUF_CHAT      "tokenizer.chat_template"
enum { RT_GGUF_NORMAL = 1, RT_GGUF_UNKNOWN, RT_GGUF_CONTROL, RT_GGUF_ADDED, RT_GGUF_UNUSED };

/* Types of values, with the numbers of the format. */
typedef enum rt_gguf_kind {
    RT_GGUF_U8,
    RT_GGUF_I8,
    RT_GGUF_U16,
    RT_GGUF_I16,
    RT_GGUF_U32,
    RT_GGUF_I32,
    RT_GGUF_FLOAT,
    RT_GGUF_FLAG,
    RT_GGUF_TEXT,
    RT_GGUF_LIST,
    RT_GGUF_U64,
    RT_GGUF_I64,
    RT_GGUF_DOUBLE,
    RT_GGUF_KINDS
} rt_gguf_kind;

/* Returns the layout of the numbers of a tensor by the type's number in the format: floats, or
 * blocks with a scale, rounded to float, in which llama.cpp computes them; NULL if rotor does not
 * read it. */
const rt_number_type *rt_gguf_type(uint32_t number);
#define RT_GGUF_TYPES "F32, F16, BF16, F64, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K"

#define RT_GGUF_MAGIC 0x46554747 /* the first four bytes, "GGUF", as a number */

/* An open file of version 2 or 3. */
typedef struct rt_gguf {
    rt_safetensors *tensors; /* shapes as in rotor: the last axis is contiguous */
    json_t *keys; /* values by key; lists of texts and of numbers of 4 bytes for the keys that begin
                     with RT_GGUF_TOKENIZER, else an empty list */
} rt_gguf;

/* Opens a file, which is untrusted, and checks its header: counts and lengths against the size of
 * the file, types, duplicates, shapes against the blocks of their type, and that tensors are
 * aligned, lie in the file, and do not overlap. RT_CHECKPOINT names the file and the key or the
 * tensor; RT_MEMORY. Close it even after an error. */
rt_status rt_gguf_open(rt_gguf *g, const char *path) RT_MUST_CHECK;
void rt_gguf_close(rt_gguf *g);

#endif
