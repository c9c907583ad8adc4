#include "data/text_files.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"
#include "text/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

rt_status rt_text_files_add(rt_text_files *t, const char *path)
{
    rt_text_file file = {.start = t->bytes};
    off_t size;
    rt_status status = rt_file_measure(t->key, path, &size);
    if (status.code)
        return status;
    if (!size)
        return rt_error(RT_DATA, "%.800s: %s must hold text; the file is empty", path, t->key);
    if (stat(path, &file.facts))
        return rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), t->key);
    rt_text_file *list = rt_grow(t->list, &t->room, t->count + 1, sizeof *list);
    if (list)
        t->list = list;
    file.path = list ? rt_copy_text(path) : NULL;
    if (!file.path)
        return rt_out_of_memory(t->key);
    file.size = (size_t)file.facts.st_size;
    t->bytes += file.size;
    t->list[t->count++] = file;
    return rt_ok();
}

void rt_text_files_close(rt_text_files *t)
{
    for (size_t i = 0; i < t->count; i++)
        rt_free(t->list[i].path);
    rt_free(t->list);
    rt_free(t->memory);
    *t = (rt_text_files){.key = t->key};
}

const rt_text_file *rt_text_files_at(const rt_text_files *t, size_t at)
{
    const rt_text_file *file = t->list;
    while (at >= file->start + file->size)
        file++;
    return file;
}

static rt_status changed(const rt_text_files *t, const rt_text_file *file, size_t got)
{
    return rt_error(RT_DATA, "%.800s: %s changed while it was read: %zu bytes of %zu", file->path,
                    t->key, got, file->size);
}

/* Returns whether an open file is the one that was looked at, and was not written to since. */
static bool is_unchanged(const rt_text_file *file, int descriptor)
{
    const struct stat *then = &file->facts;
    struct stat now;
    return !fstat(descriptor, &now) && now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
           now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

/* The bytes of one file. */
static rt_status read_file(const rt_text_files *t, const rt_text_file *file, size_t from,
                           size_t size, unsigned char *to)
{
    const int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    int problem = descriptor < 0 ? errno : 0;
    ssize_t step = 1;
    while (!problem && step && done < size) {
        step = pread(descriptor, to + done, size - done, (off_t)(from + done));
        if (step > 0)
            done += (size_t)step;
        else if (step < 0 && errno != EINTR)
            problem = errno;
    }
    const bool unchanged = descriptor >= 0 && is_unchanged(file, descriptor);
    if (descriptor >= 0)
        close(descriptor);
    if (problem)
        return rt_error(RT_DATA, "%.800s: %s (%s)", file->path, strerror(problem), t->key);
    if (done < size)
        return changed(t, file, from + done);
    return unchanged
               ? rt_ok()
               : rt_error(RT_DATA, "%.800s: %s changed while it was read", file->path, t->key);
}

rt_status rt_text_files_read(const rt_text_files *t, size_t at, size_t size, unsigned char *to)
{
    rt_status status = rt_ok();
    if (t->memory) {
        memcpy(to, t->memory + at, size);
        return status;
    }
    for (size_t done = 0; done < size && !status.code;) {
        const rt_text_file *file = rt_text_files_at(t, at + done);
        const size_t from = at + done - file->start, there = file->size - from;
        const size_t n = there < size - done ? there : size - done;
        status = read_file(t, file, from, n, to + done);
        done += n;
    }
    return status;
}

static rt_status check_files(const rt_text_files *t, rt_level level, const unsigned char *bytes)
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < t->count && !status.code; i++)
        status = rt_level_check(level, t->list[i].path, bytes + t->list[i].start, t->list[i].size);
    return status;
}

rt_status rt_text_files_load(rt_text_files *t, rt_level level)
{
    if (t->memory)
        return rt_ok();
    if (t->bytes > RT_FILES_LIMIT)
        return rt_error(RT_DATA, "%.800s: %s can be read into memory up to %zu bytes; it has %zu",
                        t->list[0].path, t->key, RT_FILES_LIMIT, t->bytes);
    unsigned char *memory = rt_alloc(t->bytes, 1);
    rt_status status = memory ? rt_text_files_read(t, 0, t->bytes, memory)
                              : rt_out_of_memory("the text of data.file");
    if (!status.code)
        status = check_files(t, level, memory);
    if (status.code)
        rt_free(memory);
    else
        t->memory = memory;
    return status;
}
