#include "data/digest.h"

#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { BLOCK = 1 << 20 };

static void write_digest(char digest[RT_DIGEST_SIZE], XXH128_hash_t hash)
{
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    for (size_t i = 0; i < sizeof bytes.digest; i++)
        snprintf(digest + 2 * i, 3, "%02x", bytes.digest[i]);
}

void rt_digest_bytes(char digest[RT_DIGEST_SIZE], const void *bytes, size_t size)
{
    write_digest(digest, XXH3_128bits(bytes, size));
}

void rt_digest_text(char digest[RT_DIGEST_SIZE], const char *text)
{
    rt_digest_bytes(digest, text, strlen(text));
}

uint64_t rt_checksum(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* An rt_digest is a state of xxHash. */
rt_digest *rt_digest_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return (rt_digest *)state;
}

void rt_digest_add(rt_digest *d, const void *bytes, size_t size)
{
    XXH3_128bits_update((XXH3_state_t *)d, bytes, size);
}

void rt_digest_end(rt_digest *d, char digest[RT_DIGEST_SIZE])
{
    XXH3_state_t *state = (XXH3_state_t *)d;
    write_digest(digest, XXH3_128bits_digest(state));
    XXH3_128bits_reset(state);
}

void rt_digest_free(rt_digest *d)
{
    XXH3_freeState((XXH3_state_t *)d);
}

/* Returns how many bytes there were; errno is 0 unless one could not be read. */
static size_t digest_all(XXH3_state_t *state, unsigned char *block, int file)
{
    size_t done = 0;
    ssize_t got = 1;
    errno = 0;
    while (got > 0) {
        got = read(file, block, BLOCK);
        if (got > 0) {
            XXH3_128bits_update(state, block, (size_t)got);
            done += (size_t)got;
        } else if (got < 0 && errno == EINTR) {
            got = 1;
            errno = 0;
        }
    }
    return done;
}

rt_status rt_digest_file(char digest[RT_DIGEST_SIZE], const char *key, const char *path,
                         size_t size)
{
    unsigned char *block = rt_alloc_unset(BLOCK, 1);
    XXH3_state_t *state = XXH3_createState();
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    rt_status status = rt_ok();
    *digest = '\0';
    if (file < 0) {
        status = rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), key);
    } else if (!block || !state || XXH3_128bits_reset(state) != XXH_OK) {
        status = rt_out_of_memory("the digest of a file");
    } else {
        const size_t done = digest_all(state, block, file);
        if (errno)
            status = rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), key);
        else if (done != size)
            status = rt_error(RT_DATA, "%.800s: %s changed while it was read: %zu bytes of %zu",
                              path, key, done, size);
        else
            write_digest(digest, XXH3_128bits_digest(state));
    }
    if (file >= 0)
        close(file);
    XXH3_freeState(state);
    rt_free(block);
    return status;
}
