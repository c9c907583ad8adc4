#ifndef ROTOR_TESTS_FUZZ_H
#define ROTOR_TESTS_FUZZ_H

/* What every harness has: one function that must return whatever it is given. libFuzzer calls it
 * with inputs that it makes up; replay.c with those that are kept in corpus/. */

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Where files may be made: in memory if that can be, since a file system may write each one out. */
const char *fuzz_folder(void);

/* Writes the bytes to a file of this process; returns its path, which stays the same. */
const char *fuzz_file(const uint8_t *bytes, size_t size);

#endif
