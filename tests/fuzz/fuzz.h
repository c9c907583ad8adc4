#ifndef ROTOR_TESTS_FUZZ_H
#define ROTOR_TESTS_FUZZ_H

/* A harness is one function, FUZZ(name) { ... }, that returns 0 whatever bytes it is given.
 * libFuzzer calls it with inputs that it generates (fuzz-NAME), replay.c with those that are kept
 * in corpus/.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef FUZZ_ALONE
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
#define FUZZ(name) int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
#else
int fuzz_config(const uint8_t *bytes, size_t size);
int fuzz_checkpoint(const uint8_t *bytes, size_t size);
int fuzz_text(const uint8_t *bytes, size_t size);
int fuzz_tokens(const uint8_t *bytes, size_t size);
int fuzz_vocabulary(const uint8_t *bytes, size_t size);
int fuzz_wordpiece(const uint8_t *bytes, size_t size);
int fuzz_bpe(const uint8_t *bytes, size_t size);
int fuzz_labelled(const uint8_t *bytes, size_t size);
int fuzz_safetensors(const uint8_t *bytes, size_t size);
int fuzz_huggingface_config(const uint8_t *bytes, size_t size);
#define FUZZ(name) int fuzz_##name(const uint8_t *bytes, size_t size)
#endif

/* Where files may be made: in memory if that can be, since a file system may write each one out. */
const char *fuzz_folder(void);

/* Writes the bytes to a file of this process; returns its path, which stays the same. */
const char *fuzz_file(const uint8_t *bytes, size_t size);

#endif
