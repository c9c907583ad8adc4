#include "data/token_file.h"

#include "core/memory.h"
#include "data/token_dataset.h"
#include "data/windows.h"
#include "text/child.h"
#include "text/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ids of the first look at a time, and of one call to read them. */
enum { BLOCK = 1 << 16, PIECE = 1 << 10 };

/* What HDF5 may take to read a file of tokens beside the addresses that a process has: its
 * caches, a chunk, and what unpacks it. */
#define HDF5_MEMORY ((size_t)512 << 20)

struct rt_token_file {
    char name[800];  /* file:dataset, for messages */
    const char *key; /* that names the file */
    int vocab;
    rt_token_place place; /* of the ids in what is read */
    int file;             /* what is read: the file of the user, or the decoded ids; -1: none */
    off_t size;           /* when it was opened */
    pthread_mutex_t mutex;
    rt_status status; /* the first failure of a read */
};

/* ---- reading ---- */

static rt_status changed(const rt_token_file *f)
{
    return rt_error(RT_DATA, "%s: %s became shorter while it was in use", f->name, f->key);
}

/* A file that was cut short must not pass for ids, whatever is left of it. */
static bool is_cut(const rt_token_file *f)
{
    struct stat facts;
    return fstat(f->file, &facts) || facts.st_size < f->size;
}

static rt_status read_bytes(const rt_token_file *f, size_t first, size_t count, void *to)
{
    const size_t size = count * (size_t)f->place.width;
    const uint64_t start = f->place.offset + first * f->place.width;
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(f->file, (char *)to + done, size - done, (off_t)(start + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rt_error(RT_DATA, "%s: %s cannot be read from id %zu to %zu: %s", f->name,
                            f->key, first, first + count - 1, strerror(errno));
        if (got == 0)
            return changed(f);
        done += (size_t)got;
    }
    return rt_ok();
}

/* The i-th of integers as they are in the file. */
static int64_t id_at(const rt_token_place *p, const void *from, size_t i)
{
    if (p->width == sizeof(int32_t)) {
        uint32_t id;
        memcpy(&id, (const char *)from + i * sizeof id, sizeof id);
        return (int32_t)(p->swapped ? __builtin_bswap32(id) : id);
    }
    uint64_t id;
    memcpy(&id, (const char *)from + i * sizeof id, sizeof id);
    return (int64_t)(p->swapped ? __builtin_bswap64(id) : id);
}

static rt_status no_id(const rt_token_file *f, size_t index, int64_t value)
{
    return rt_error(RT_DATA,
                    "%s: %s must hold ids from 0 to %d (data.vocab %d); got %lld at index %zu",
                    f->name, f->key, f->vocab - 1, f->vocab, (long long)value, index);
}

/* The file can have been written again since it was opened. */
static rt_status read_ids(const rt_token_file *f, size_t first, size_t count, int32_t *ids)
{
    int64_t piece[PIECE];
    rt_status status = is_cut(f) ? changed(f) : rt_ok();
    for (size_t done = 0; done < count && !status.code; done += PIECE) {
        const size_t n = count - done < PIECE ? count - done : PIECE;
        status = read_bytes(f, first + done, n, piece);
        for (size_t i = 0; i < n && !status.code; i++) {
            const int64_t id = id_at(&f->place, piece, i);
            if (id < 0 || id >= f->vocab)
                status = no_id(f, first + done + i, id);
            else
                ids[done + i] = (int32_t)id;
        }
    }
    return status;
}

static rt_status scan(const rt_token_file *f)
{
    const size_t count = (size_t)f->place.count;
    int32_t *block = rt_alloc(BLOCK, sizeof *block);
    if (!block)
        return rt_out_of_memory("a block of token ids");
    rt_status status = rt_ok();
    for (size_t first = 0; first < count && !status.code; first += BLOCK)
        status = read_ids(f, first, count - first < BLOCK ? count - first : BLOCK, block);
    rt_free(block);
    return status;
}

/* ---- opening ---- */

/* HDF5 parses in a child; what that says is bytes from a stranger. */
static rt_status parse(const rt_token_file *f, rt_child_work *work, rt_token_source *source,
                       rt_child_limits limits, void *answer)
{
    unsigned char *reply;
    size_t size;
    limits.memory = HDF5_MEMORY;
    rt_status status = rt_child_run(work, source, &limits, &reply, &size);
    if (status.code == RT_IO)
        status = rt_error(RT_IO, "%s: %s", f->name, status.message);
    else if (status.code == RT_CHECK || (!status.code && size != limits.answer))
        status = rt_error(RT_DATA, "%s: the file is damaged: %s (%s)", f->name,
                          status.code ? status.message : "HDF5 does not report where the ids are",
                          f->key);
    if (!status.code)
        memcpy(answer, reply, size);
    rt_free(reply);
    return status;
}

/* That all ids are in what is read, which is as large as the system says. */
static rt_status check_place(const rt_token_file *f)
{
    const rt_token_place *p = &f->place;
    const uint64_t size = (uint64_t)f->size;
    if (p->count && p->count <= RT_WINDOWS_LIMIT &&
        (p->width == sizeof(int32_t) || p->width == sizeof(int64_t)) &&
        (!p->in_place || (p->offset <= size && p->count <= (size - p->offset) / p->width)))
        return rt_ok();
    return rt_error(RT_DATA, "%s: the file is damaged: ids lie outside of it (%s)", f->name,
                    f->key);
}

/* A file without a name, which is gone when it is closed. */
static int temporary_file(void)
{
    static const char *const places[] = {"/var/tmp/rotor-XXXXXX", "/tmp/rotor-XXXXXX"};
    int file = -1;
    for (size_t i = 0; i < sizeof places / sizeof *places && file < 0; i++) {
        char path[32];
        snprintf(path, sizeof path, "%s", places[i]);
        file = mkstemp(path);
        if (file >= 0)
            unlink(path);
    }
    if (file >= 0)
        fcntl(file, F_SETFD, FD_CLOEXEC);
    return file;
}

/* Puts the decoded ids in the place of the file. */
static rt_status decode(rt_token_file *f, rt_token_source *source)
{
    const size_t size = (size_t)(f->place.count * f->place.width);
    rt_child_limits limits = {.seconds = rt_child_seconds((size_t)f->size + size)};
    char nothing;
    struct stat facts;
    source->to = limits.keep = temporary_file();
    if (source->to < 0)
        return rt_error(RT_IO, "%s: cannot make a temporary file for its ids: %s", f->name,
                        strerror(errno));
    close(f->file);
    f->file = source->to;
    rt_status status = parse(f, rt_token_dataset_decode, source, limits, &nothing);
    f->place = (rt_token_place){.count = f->place.count, .width = f->place.width};
    f->size = (off_t)size;
    if (!status.code && (fstat(f->file, &facts) || facts.st_size != f->size))
        status = rt_error(RT_DATA, "%s: the file is damaged: HDF5 decodes it to another size (%s)",
                          f->name, f->key);
    return status;
}

static rt_status open_and_scan(rt_token_file *f, const char *path, const char *dataset)
{
    rt_token_source source = {.name = f->name, .key = f->key, .path = path, .dataset = dataset};
    rt_status status = rt_file_measure(f->key, path, &f->size);
    if (status.code)
        return status;
    f->file = open(path, O_RDONLY | O_CLOEXEC);
    if (f->file < 0)
        return rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), f->key);
    const rt_child_limits limits = {.seconds = rt_child_seconds((size_t)f->size),
                                    .answer = sizeof f->place,
                                    .keep = -1};
    status = parse(f, rt_token_dataset_find, &source, limits, &f->place);
    if (!status.code)
        status = check_place(f);
    if (!status.code && !f->place.in_place)
        status = decode(f, &source);
    return status.code ? status : scan(f);
}

rt_status rt_token_file_open(rt_token_file **file_new, const char *key, const char *path,
                             const char *dataset, int vocab)
{
    *file_new = NULL;
    rt_token_file *f = rt_alloc(1, sizeof *f);
    if (!f)
        return rt_out_of_memory("a file of token ids");
    f->key = key;
    f->vocab = vocab;
    f->file = -1;
    f->status = rt_ok();
    pthread_mutex_init(&f->mutex, NULL);
    snprintf(f->name, sizeof f->name, "%.500s:%.200s", path, dataset);
    rt_status status = open_and_scan(f, path, dataset);
    if (status.code)
        rt_token_file_close(f);
    else
        *file_new = f;
    return status;
}

void rt_token_file_close(rt_token_file *file)
{
    if (!file)
        return;
    if (file->file >= 0)
        close(file->file);
    pthread_mutex_destroy(&file->mutex);
    rt_free(file);
}

size_t rt_token_file_count(const rt_token_file *file)
{
    return (size_t)file->place.count;
}

bool rt_token_file_read(rt_token_file *file, size_t first, size_t count, int32_t *ids)
{
    const rt_status status = read_ids(file, first, count, ids);
    pthread_mutex_lock(&file->mutex);
    if (status.code && !file->status.code)
        file->status = status;
    pthread_mutex_unlock(&file->mutex);
    return !status.code;
}

rt_status rt_token_file_status(rt_token_file *file)
{
    pthread_mutex_lock(&file->mutex);
    rt_status status = file->status;
    pthread_mutex_unlock(&file->mutex);
    return status;
}
