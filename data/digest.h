#ifndef ROTOR_DATA_DIGEST_H
#define ROTOR_DATA_DIGEST_H

/* XXH128 as hexadecimal digits, zero-terminated. */

#include "core/status.h"

#include <stddef.h>

enum { RT_DIGEST_SIZE = 33 };

void rt_digest_text(char digest[RT_DIGEST_SIZE], const char *text);

/* Of the bytes of a file, of which there must be `size`: RT_DATA, with the key that names it. */
rt_status rt_digest_file(char digest[RT_DIGEST_SIZE], const char *key, const char *path,
                         size_t size) RT_MUST_CHECK;

#endif
