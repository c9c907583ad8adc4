#include "data/encode_text.h"

#include "core/memory.h"
#include "data/tokenizers/tokens.h"
#include "text/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Initial size of a part in bytes, and the largest if no cut is found. */
#define PART_SIZE ((size_t)4 << 20)
#define PART_MOST ((size_t)1 << 30)

enum { MOST_THREADS = 64 };

/* ---- files ---- */

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
    if (!rt_grow(&t->list, &t->capacity, t->count + 1, sizeof *t->list) ||
        !(file.path = rt_copy_text(path)))
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
    *t = (rt_text_files){.key = t->key};
}

/* Returns the file of byte `at`, which must exist. */
static const rt_text_file *file_at(const rt_text_files *t, size_t at)
{
    const rt_text_file *file = t->list;
    while (at >= file->start + file->size)
        file++;
    return file;
}

/* Reads bytes of one file and checks that it is unchanged. */
static rt_status read_file(const rt_text_files *t, const rt_text_file *file, size_t from,
                           size_t size, unsigned char *to)
{
    const struct stat *then = &file->facts;
    struct stat now;
    const int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = descriptor < 0 ? -1 : rt_read_at(descriptor, to, size, (off_t)from);
    const int problem = errno;
    const bool unchanged =
        descriptor >= 0 && !fstat(descriptor, &now) && now.st_dev == then->st_dev &&
        now.st_ino == then->st_ino && now.st_size == then->st_size &&
        now.st_mtim.tv_sec == then->st_mtim.tv_sec && now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
    if (descriptor >= 0)
        close(descriptor);
    if (got < 0)
        return rt_error(RT_DATA, "%.800s: %s (%s)", file->path, strerror(problem), t->key);
    if ((size_t)got < size)
        return rt_error(RT_DATA, "%.800s: %s changed while it was read: %zu bytes of %zu",
                        file->path, t->key, from + (size_t)got, file->size);
    return unchanged
               ? rt_ok()
               : rt_error(RT_DATA, "%.800s: %s changed while it was read", file->path, t->key);
}

/* Returns the file of byte `at`, its offset in the file, and the number of the next `size` bytes
 * that lie in the file. */
static const rt_text_file *piece_at(const rt_text_files *t, size_t at, size_t size, size_t *from,
                                    size_t *n)
{
    const rt_text_file *file = file_at(t, at);
    *from = at - file->start;
    *n = file->size - *from < size ? file->size - *from : size;
    return file;
}

static rt_status read_text(const rt_text_files *t, size_t at, size_t size, unsigned char *to)
{
    rt_status status = rt_ok();
    for (size_t done = 0, from, n; done < size && !status.code; done += n) {
        const rt_text_file *file = piece_at(t, at + done, size - done, &from, &n);
        status = read_file(t, file, from, n, to + done);
    }
    return status;
}

/* Validates bytes from offset `at` of the text, file by file. The error names the file and the
 * offset in it. */
static rt_status check_level(const rt_text_files *text, rt_level level, size_t at,
                             const unsigned char *bytes, size_t size)
{
    for (size_t done = 0, from, n; level != RT_LEVEL_BYTE && done < size; done += n) {
        const rt_text_file *file = piece_at(text, at + done, size - done, &from, &n);
        const size_t valid = rt_utf8_valid(bytes + done, n);
        if (valid < n)
            return rt_level_error(level, file->path, bytes[done + valid], from + valid);
    }
    return rt_ok();
}

rt_status rt_text_scan(const rt_text_files *text, size_t from, size_t to, rt_level level,
                       rt_text_look *look, void *context)
{
    unsigned char *bytes = rt_alloc_unset(PART_SIZE, 1);
    rt_status status = bytes ? rt_ok() : rt_out_of_memory("a part of a text");
    for (size_t at = from, size; at < to && !status.code; at += size) {
        const size_t left = to - at;
        size = left < PART_SIZE ? left : PART_SIZE;
        status = read_text(text, at, size, bytes);
        if (status.code)
            break;
        if (size < left)
            size = rt_whole_characters(bytes, size);
        status = check_level(text, level, at, bytes, size);
        if (!status.code)
            look(context, bytes, size);
    }
    rt_free(bytes);
    return status;
}

/* ---- parts ---- */

typedef struct part {
    const rt_text_encoding *e;
    unsigned char *bytes;
    size_t at, size, capacity; /* at: offset in the text */
    rt_id_list ids;
    rt_unknown unknown;
    rt_status status;
} part;

/* Appends the ids of some bytes. Special tokens are encoded as text unless data.special is set:
 * running text may mention [MASK]. */
static rt_status encode_bytes(part *p, size_t start, size_t end)
{
    const rt_vocabulary *v = p->e->vocabulary;
    rt_unknown unknown;
    rt_status status =
        rt_vocabulary_encode_to(v, (const char *)p->bytes + start, end - start,
                                p->e->options->special, rt_id_list_add, &p->ids, &unknown);
    rt_unknown_add(&p->unknown, &unknown, p->at + start);
    if (status.code == RT_ARGUMENT)
        return rt_error(RT_DATA, "%s: %s", p->e->text->key, status.message);
    return status;
}

static rt_status encode_documents(part *p)
{
    const char *documents = p->e->options->documents;
    rt_document_span span;
    rt_status status = rt_ok();
    size_t at = 0;
    while (!status.code && rt_document_next(documents, p->bytes, p->size, &at, &span)) {
        status = encode_bytes(p, span.start, span.end);
        rt_id_list_add(&p->ids, p->e->vocabulary->special.sep);
    }
    return status;
}

static void *encode_part(void *context)
{
    part *p = context;
    const rt_text_encoding *e = p->e;
    const rt_level level = e->vocabulary->level;
    p->status = check_level(e->text, level, p->at, p->bytes, p->size);
    if (p->status.code)
        return NULL;
    /* in English, a piece of a word has about four bytes */
    rt_id_list_reserve(&p->ids, level == RT_LEVEL_WORDPIECE || level == RT_LEVEL_BPE
                                    ? p->size / 3 + 1
                                : level == RT_LEVEL_BYTE ? p->size
                                                         : rt_utf8_count(p->bytes, p->size));
    if (!p->ids.failed)
        p->status =
            rt_documents_are_cut(e->options) ? encode_documents(p) : encode_bytes(p, 0, p->size);
    if (p->ids.failed)
        p->status = rt_out_of_memory("the text of a file");
    return NULL;
}

/* Reads more of a part, up to `size` bytes. A text in one part gets memory of exactly that size. */
static rt_status read_more(part *p, size_t size, bool whole)
{
    if (whole) {
        rt_free(p->bytes);
        p->bytes = rt_alloc_unset(size, 1);
        p->capacity = size;
    }
    if (whole ? !p->bytes : !rt_grow(&p->bytes, &p->capacity, size, 1))
        return rt_out_of_memory("a part of a text");
    rt_status status = read_text(p->e->text, p->at + p->size, size - p->size, p->bytes + p->size);
    p->size = status.code ? 0 : size;
    return status;
}

/* Reads the part that begins at `at`, up to a place where the text can be cut. */
static rt_status read_part(part *p, size_t at)
{
    const size_t left = p->e->text->bytes - at;
    const bool whole = !rt_text_can_be_cut(p->e->options, p->e->vocabulary);
    rt_status status = rt_ok();
    if (whole && left > RT_FILES_LIMIT)
        return rt_error(RT_DATA, "%.600s: %s can be read into memory up to %zu bytes; it has %zu",
                        file_at(p->e->text, at)->path, p->e->text->key, RT_FILES_LIMIT, left);
    p->at = at;
    p->size = 0;
    for (size_t size = PART_SIZE, end = 0; !end && !status.code; size *= 2) {
        const bool rest = whole || size >= left;
        if (!rest && size > PART_MOST)
            return rt_error(RT_DATA,
                            "%.600s: %s has no place where it can be cut in %zu bytes from byte "
                            "%zu on",
                            file_at(p->e->text, at)->path, p->e->text->key, size / 2, at);
        status = read_more(p, rest ? left : size, whole);
        end = rest          ? left
              : status.code ? 0
                            : rt_text_cut(p->e->options, p->e->vocabulary, p->bytes, p->size);
        p->size = status.code ? 0 : end ? end : p->size;
    }
    return status;
}

static rt_status stopped(const rt_text_encoding *e, size_t done)
{
    const rt_data_watch *w = e->options->watch;
    if (!w || !e->what)
        return rt_ok();
    w->progress(w->context, e->what, (double)done / (double)e->text->bytes);
    return w->stop(w->context) ? rt_error(RT_IO, "stopped by a signal while %s", e->what) : rt_ok();
}

/* Reads up to `threads` parts and encodes them in parallel. *count is their number; *at moves to
 * their end. */
static rt_status encode_round(part *parts, int threads, size_t *at, int *count)
{
    const rt_text_encoding *e = parts->e;
    pthread_t others[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    rt_status status = rt_ok();
    for (*count = 0; *count < threads && *at < e->text->bytes && !status.code; ++*count) {
        status = read_part(&parts[*count], *at);
        *at += parts[*count].size;
        if (e->see)
            e->see(e->context, parts[*count].bytes, parts[*count].size);
    }
    if (status.code)
        return status;
    for (int i = 1; i < *count; i++)
        started[i] = !pthread_create(&others[i], NULL, encode_part, &parts[i]);
    encode_part(&parts[0]);
    for (int i = 1; i < *count; i++)
        if (started[i])
            pthread_join(others[i], NULL);
        else
            encode_part(&parts[i]);
    return rt_ok();
}

static rt_status take_round(rt_text_encoding *e, part *parts, int count)
{
    rt_status status = rt_ok();
    for (int i = 0; i < count && !status.code; i++) {
        part *p = &parts[i];
        status = p->status;
        rt_unknown_add(&e->unknown, &p->unknown, 0);
        p->unknown = (rt_unknown){0};
        if (!status.code)
            status = e->take(e->context, &p->ids);
        p->ids.count = 0;
    }
    return status;
}

rt_status rt_text_encode(rt_text_encoding *e)
{
    const int wanted = e->options->threads;
    const int threads = wanted < 1 ? 1 : wanted > MOST_THREADS ? MOST_THREADS : wanted;
    e->unknown = (rt_unknown){0};
    part *parts = rt_alloc((size_t)threads, sizeof *parts);
    if (!parts)
        return rt_out_of_memory("parts of a text");
    for (int i = 0; i < threads; i++)
        parts[i] = (part){.e = e, .ids.width = rt_id_width(e->vocabulary->count)};
    rt_status status = rt_ok();
    for (size_t at = 0; at < e->text->bytes && !status.code;) {
        int count;
        status = stopped(e, at);
        if (!status.code)
            status = encode_round(parts, threads, &at, &count);
        if (!status.code)
            status = take_round(e, parts, count);
    }
    for (int i = 0; i < threads; i++) {
        rt_free(parts[i].bytes);
        rt_id_list_free(&parts[i].ids);
    }
    rt_free(parts);
    return status.code ? status : stopped(e, e->text->bytes);
}
