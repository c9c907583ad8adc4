#include "io/checkpoint/checksummed.h"

#include "core/memory.h"
#include "core/path.h"
#include "util/files.h"
#include "util/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { VERSION = 1, AT_VERSION = 8, AT_LENGTH = 16, AT_CHECKSUM = 24 };

static const char too_large[] = "larger than 64 GiB";

static const unsigned char magic[8] = {0x89, 'r', 'o', 't', 'o', 'r', '\n', 0x1a};

static void make_block(unsigned char block[RT_CHECKSUM_BLOCK_SIZE], const void *body, size_t size)
{
    memset(block, 0, RT_CHECKSUM_BLOCK_SIZE);
    memcpy(block, magic, sizeof magic);
    rt_put_little_endian(block + AT_VERSION, VERSION, 8);
    rt_put_little_endian(block + AT_LENGTH, RT_CHECKSUM_BLOCK_SIZE + (uint64_t)size, 8);
    rt_put_little_endian(block + AT_CHECKSUM, XXH3_64bits(body, size), 8);
}

static rt_status cannot(const char *verb, const char *path)
{
    return rt_error(RT_IO, "cannot %s %s: %s", verb, path, strerror(errno));
}

static rt_status damaged(const char *path, const char *what)
{
    return rt_error(RT_CHECKPOINT, "%s: %s", rt_path_name(path), what);
}

rt_status rt_checksummed_write(rt_durable_file *file, const void *body, size_t size)
{
    unsigned char block[RT_CHECKSUM_BLOCK_SIZE];
    if (size > RT_CHECKSUMMED_LIMIT - RT_CHECKSUM_BLOCK_SIZE)
        return damaged(file->path, too_large);
    make_block(block, body, size);
    RT_TRY(rt_durable_write(file, block, RT_CHECKSUM_BLOCK_SIZE));
    return rt_durable_write(file, body, size);
}

/* Reads the block and the size of the file, and checks all but the checksum. */
static rt_status read_block(int file, const char *path, unsigned char block[RT_CHECKSUM_BLOCK_SIZE],
                            size_t *size)
{
    struct stat about;
    if (fstat(file, &about))
        return cannot("read", path);
    if (!S_ISREG(about.st_mode))
        return rt_error(RT_IO, "cannot read %s: not a regular file", path);
    *size = (size_t)about.st_size;
    const ssize_t got = rt_read_at(file, block, RT_CHECKSUM_BLOCK_SIZE, 0);
    if (got < 0)
        return cannot("read", path);
    if (got < RT_CHECKSUM_BLOCK_SIZE)
        return rt_error(RT_CHECKPOINT, "%s: too short: %zd bytes, at least %d expected",
                        rt_path_name(path), got, RT_CHECKSUM_BLOCK_SIZE);
    if (memcmp(block, magic, sizeof magic))
        return damaged(path, "wrong magic: not a file of rotor");
    const uint64_t version = rt_little_endian(block + AT_VERSION, 8);
    if (version != VERSION)
        return rt_error(RT_CHECKPOINT, "%s: version of the seal is %" PRIu64 ", %d expected",
                        rt_path_name(path), version, VERSION);
    const uint64_t length = rt_little_endian(block + AT_LENGTH, 8);
    if (length != *size)
        return rt_error(RT_CHECKPOINT, "%s: length differs: %zu bytes, %" PRIu64 " written",
                        rt_path_name(path), *size, length);
    return *size <= RT_CHECKSUMMED_LIMIT ? rt_ok() : damaged(path, too_large);
}

/* Reads the body behind its block, and checks the checksum. */
static rt_status read_body(int file, const char *path, unsigned char *bytes, size_t size)
{
    unsigned char expected[RT_CHECKSUM_BLOCK_SIZE], *body = bytes + RT_CHECKSUM_BLOCK_SIZE;
    const size_t body_size = size - RT_CHECKSUM_BLOCK_SIZE;
    const ssize_t got = rt_read_at(file, body, body_size, RT_CHECKSUM_BLOCK_SIZE);
    if (got < 0)
        return cannot("read", path);
    if ((size_t)got != body_size)
        return damaged(path, "length differs: it was shortened while being read");
    make_block(expected, body, body_size);
    if (memcmp(bytes + AT_CHECKSUM, expected + AT_CHECKSUM, 8) != 0)
        return damaged(path, "checksum differs");
    if (memcmp(bytes, expected, RT_CHECKSUM_BLOCK_SIZE) != 0)
        return damaged(path, "block differs: not zero where it must be");
    return rt_ok();
}

/* Opens with O_NONBLOCK, so that a pipe opened by mistake does not wait for its other end. */
rt_status rt_checksummed_read(const char *path, unsigned char **bytes, size_t *size)
{
    unsigned char block[RT_CHECKSUM_BLOCK_SIZE], *whole = NULL;
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *size = 0;
    if (file < 0)
        return cannot("open", path);
    rt_status status = read_block(file, path, block, size);
    if (!status.code && !(whole = rt_alloc(*size, 1)))
        status = rt_out_of_memory(rt_path_name(path));
    if (!status.code) {
        memcpy(whole, block, sizeof block);
        status = read_body(file, path, whole, *size);
    }
    close(file);
    if (status.code)
        rt_free(whole);
    else
        *bytes = whole;
    return status;
}
