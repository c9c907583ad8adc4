#ifndef ROTOR_DATA_DIGEST_H
#define ROTOR_DATA_DIGEST_H

/* XXH128 as hexadecimal digits, zero-terminated. */

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RT_DIGEST_SIZE = 33 };

void rt_digest_bytes(char digest[RT_DIGEST_SIZE], const void *bytes, size_t size);
void rt_digest_text(char digest[RT_DIGEST_SIZE], const char *text);

/* Returns a checksum of 64 bits (XXH3). */
uint64_t rt_checksum(const void *bytes, size_t size);

/* A digest of bytes that come one after the other. NULL when the heap is exhausted. */
typedef struct rt_digest rt_digest;
rt_digest *rt_digest_new(void);
void rt_digest_add(rt_digest *d, const void *bytes, size_t size);

/* Writes the digest of all bytes since the last end, and begins again. */
void rt_digest_end(rt_digest *d, char digest[RT_DIGEST_SIZE]);
void rt_digest_free(rt_digest *d);

/* Of the bytes of a file, of which there must be `size`: RT_DATA, with the key that names it. */
rt_status rt_digest_file(char digest[RT_DIGEST_SIZE], const char *key, const char *path,
                         size_t size) RT_MUST_CHECK;

#endif
