#ifndef ROTOR_TESTS_FUZZ_H
#define ROTOR_TESTS_FUZZ_H

/* A harness is one function, FUZZ(name) { ... }, that returns 0 for any bytes. libFuzzer calls it
 * with inputs that it generates (fuzz-NAME), replay.c with those in corpus/. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FUZZ_ALONE
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
#define FUZZ(name) int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
#else
#define FUZZ(name)           int fuzz_##name(const uint8_t *bytes, size_t size)
/* clang-format off */
#define FUZZ_HARNESSES(X)                                                                          \
    X(config) X(checkpoint) X(text) X(tokens) X(vocabulary) X(wordpiece) X(bpe) X(labelled)        \
    X(safetensors) X(huggingface_config) X(gguf)
/* clang-format on */
#define FUZZ_PROTOTYPE(name) FUZZ(name);
FUZZ_HARNESSES(FUZZ_PROTOTYPE)
#endif

/* Ends the program unless a promise holds. */
static inline void must(bool holds)
{
    if (!holds)
        abort();
}

/* Returns a folder for files, in memory if possible: a disk would have to write each file. */
const char *fuzz_folder(void);

/* Writes the bytes to a file. */
void fuzz_write(const char *path, const uint8_t *bytes, size_t size);

/* Writes the bytes to a file of this process; returns its path, which stays the same. */
const char *fuzz_file(const uint8_t *bytes, size_t size);

#endif
