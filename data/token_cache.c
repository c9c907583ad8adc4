#include "data/token_cache.h"

#include "core/memory.h"
#include "data/documents.h"
#include "data/file_list.h"
#include "data/token_file.h"
#include "data/token_format.h"
#include "text/durable_file.h"
#include "text/files.h"
#include "text/text_file.h"
#include "text/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Changes when the same text and tokenizer make other ids, or another file of them. */
enum { CACHE_VERSION = 2 };

/* Texts from so many bytes on. */
static const size_t least_bytes = 64000000;

enum { WAIT_NANOSECONDS = 50000000 };

bool rt_token_cache_takes(const rt_data_options *o, size_t bytes)
{
    return o->cache && bytes >= (o->cache_from ? o->cache_from : least_bytes);
}

static void say(const rt_data_options *o, const char *line)
{
    if (o->watch)
        o->watch->say(o->watch->context, line);
}

static rt_status path_of(char path[RT_PATH_SIZE], const rt_data_options *o, const char *name,
                         const char *ending)
{
    char whole[2 * RT_DIGEST_SIZE];
    snprintf(whole, sizeof whole, "%s%s", name, ending);
    return rt_path_join(path, o->cache, whole);
}

/* Puts a text into the cache, behind a line with its digest. */
static rt_status put_text(const rt_data_options *o, const char *name, const char *ending,
                          const char *text)
{
    char whole[2 * RT_DIGEST_SIZE], digest[RT_DIGEST_SIZE];
    rt_writer w = {0};
    snprintf(whole, sizeof whole, "%s%s", name, ending);
    rt_digest_text(digest, text);
    rt_writer_add(&w, "%s\n%s", digest, text);
    return rt_durable_given(o->cache, whole, rt_writer_take(&w));
}

/* Returns the text under a name, which the caller frees; NULL if there is none, or a damaged one.
 */
static char *get_text(const rt_data_options *o, const char *name, const char *ending)
{
    char path[RT_PATH_SIZE], digest[RT_DIGEST_SIZE];
    const size_t before = RT_DIGEST_SIZE; /* the digest and a newline */
    char *text = path_of(path, o, name, ending).code ? NULL : rt_read_text(path);
    if (!text)
        return NULL;
    const size_t length = strlen(text);
    if (length >= before) {
        rt_digest_text(digest, text + before);
        if (!memcmp(digest, text, before - 1) && text[before - 1] == '\n') {
            memmove(text, text + before, length - before + 1);
            return text;
        }
    }
    rt_free(text);
    return NULL;
}

/* ---- the lock ---- */

/* Returns whether the locked file still has its name: the process that held it removes it. */
static bool has_name(int lock, const char *path)
{
    struct stat held, named;
    return !fstat(lock, &held) && !stat(path, &named) && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

static bool stopped(const rt_data_options *o)
{
    return o->watch && o->watch->stop(o->watch->context);
}

static rt_status wait_for(int lock, const char *path, const rt_data_options *o)
{
    static const struct timespec pause = {0, WAIT_NANOSECONDS};
    for (bool told = false; flock(lock, LOCK_EX | LOCK_NB); told = true) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return rt_error(RT_IO, "cannot lock %s: %s", path, strerror(errno));
        if (!told)
            say(o, "waiting for another process that reads the same text");
        if (stopped(o))
            return rt_error(RT_IO, "stopped by a signal while another process read the same text");
        nanosleep(&pause, NULL);
    }
    return rt_ok();
}

static rt_status take_lock(int *lock, const char *path, const rt_data_options *o)
{
    rt_status status = rt_ok();
    *lock = -1;
    do {
        if (*lock >= 0)
            close(*lock);
        *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (*lock < 0)
            return rt_error(RT_IO, "cannot create %s: %s", path, strerror(errno));
        status = wait_for(*lock, path, o);
    } while (!status.code && !has_name(*lock, path));
    return status;
}

static void release_lock(int lock, const char *path, bool held)
{
    if (held)
        unlink(path);
    if (lock >= 0)
        close(lock);
}

/* Something that one process makes while others wait. */
typedef rt_status maker(void *context);

static rt_status make_alone(const rt_data_options *o, const char *name, maker *make, void *context)
{
    char path[RT_PATH_SIZE];
    int lock = -1;
    rt_status status = path_of(path, o, name, ".lock");
    if (!status.code)
        status = take_lock(&lock, path, o);
    const bool held = !status.code;
    if (held)
        status = make(context);
    release_lock(lock, path, held);
    return status;
}

/* ---- the digest of a file ---- */

static void write_identity(char *text, size_t size, const struct stat *s)
{
    snprintf(text, size, "size %jd time %jd.%09ld inode %ju.%ju digest ", (intmax_t)s->st_size,
             (intmax_t)s->st_mtim.tv_sec, s->st_mtim.tv_nsec, (uintmax_t)s->st_dev,
             (uintmax_t)s->st_ino);
}

typedef struct digesting {
    const rt_text_files *text;
    const rt_text_file *file;
    const rt_data_options *o;
    char name[RT_DIGEST_SIZE];
    char digest[RT_DIGEST_SIZE]; /* that is looked for */
} digesting;

/* Returns whether the cache has the digest of the unchanged file. */
static bool know_digest(digesting *d)
{
    char identity[256];
    write_identity(identity, sizeof identity, &d->file->facts);
    const size_t length = strlen(identity);
    char *known = get_text(d->o, d->name, ".digest");
    const bool same =
        known && !strncmp(known, identity, length) && strlen(known + length) == RT_DIGEST_SIZE - 1;
    if (same)
        memcpy(d->digest, known + length, RT_DIGEST_SIZE);
    rt_free(known);
    return same;
}

static rt_status make_digest(void *context)
{
    digesting *d = context;
    char line[256 + RT_DIGEST_SIZE];
    if (know_digest(d))
        return rt_ok();
    rt_status status = rt_digest_file(d->digest, d->text->key, d->file->path, d->file->size);
    write_identity(line, 256, &d->file->facts);
    const size_t length = strlen(line);
    snprintf(line + length, sizeof line - length, "%s", d->digest);
    return status.code ? status : put_text(d->o, d->name, ".digest", line);
}

static rt_status find_digest(char digest[RT_DIGEST_SIZE], const rt_text_files *text,
                             const rt_text_file *file, const rt_data_options *o)
{
    digesting d = {.text = text, .file = file, .o = o};
    rt_digest_text(d.name, file->path);
    rt_status status = know_digest(&d) ? rt_ok() : make_alone(o, d.name, make_digest, &d);
    memcpy(digest, d.digest, RT_DIGEST_SIZE);
    return status;
}

/* Adds the digests of the files of a text; `list`, or NULL, takes a copy of them. */
static rt_status add_digests(rt_writer *w, const rt_text_files *text, const rt_data_options *o,
                             char (*list)[RT_DIGEST_SIZE])
{
    char digest[RT_DIGEST_SIZE];
    rt_status status = rt_ok();
    for (size_t i = 0; i < text->count && !status.code; i++) {
        status = find_digest(digest, text, &text->list[i], o);
        rt_writer_add(w, "text %s\n", digest);
        if (list)
            memcpy(list[i], digest, RT_DIGEST_SIZE);
    }
    return status;
}

/* Removes the digests of the files of a text, which do not agree with their bytes. */
static void forget_digests(const rt_text_files *text, const rt_data_options *o)
{
    char name[RT_DIGEST_SIZE], path[RT_PATH_SIZE];
    for (size_t i = 0; i < text->count; i++) {
        rt_digest_text(name, text->list[i].path);
        if (!path_of(path, o, name, ".digest").code)
            unlink(path);
    }
}

/* The name that follows from what was written, which is freed. */
static rt_status name_of(char name[RT_DIGEST_SIZE], rt_writer *w, rt_status status)
{
    if (!status.code && w->failed)
        status = rt_out_of_memory("a name in the cache");
    if (!status.code)
        rt_digest_text(name, w->bytes);
    rt_writer_free(w);
    return status;
}

/* ---- ids ---- */

typedef struct making_ids {
    rt_token_run *run;
    const rt_text_files *text;
    const rt_vocabulary *v;
    const rt_data_options *o;
    rt_unknown *unknown;
    char name[RT_DIGEST_SIZE];
    char (*digests)[RT_DIGEST_SIZE]; /* of the files of the text */
    bool stale;                      /* the tokenized bytes had other digests */
} making_ids;

static rt_status name_ids(making_ids *m)
{
    rt_writer w = {0};
    char *tokenizer = NULL;
    rt_status status = rt_vocabulary_write(m->v, &tokenizer);
    if (m->o->special)
        rt_writer_add(&w, "special tokens are tokens\n");
    rt_writer_add(&w, "rotor %s, cache %d\nlevel %d, %s\nend %d, documents %s\ntokenizer %s\n",
                  ROTOR_VERSION, CACHE_VERSION, (int)m->v->level,
                  m->v->lowercase ? "lower case" : "cased", (int)m->v->special.sep,
                  rt_documents_are_cut(m->o) ? m->o->documents : "none",
                  status.code ? "" : tokenizer);
    if (!status.code)
        rt_free(tokenizer);
    if (!status.code)
        status = add_digests(&w, m->text, m->o, m->digests);
    return name_of(m->name, &w, status);
}

/* Content of NAME.info. */
typedef struct ids_info {
    unsigned long long count;
    char sums[RT_DIGEST_SIZE];
    rt_unknown unknown;
} ids_info;

static bool read_info(const making_ids *m, ids_info *info)
{
    char *text = get_text(m->o, m->name, ".info");
    *info = (ids_info){0};
    const bool read = text && sscanf(text, "ids %llu sums %32s unknown %zu at %zu name %119[^\n]",
                                     &info->count, info->sums, &info->unknown.count,
                                     &info->unknown.at, info->unknown.name) >= 4;
    rt_free(text);
    return read;
}

static rt_status put_info(const making_ids *m, const ids_info *info)
{
    char text[RT_WORD_NAME_SIZE + RT_DIGEST_SIZE + 128];
    snprintf(text, sizeof text, "ids %llu sums %s unknown %zu at %zu name %s\n", info->count,
             info->sums, info->unknown.count, info->unknown.at, info->unknown.name);
    return put_text(m->o, m->name, ".info", text);
}

/* Reads the checksums; false if they do not have the digest of NAME.info. */
static bool read_sums(const making_ids *m, const ids_info *info, rt_token_sums *sums)
{
    char path[RT_PATH_SIZE], digest[RT_DIGEST_SIZE];
    size_t size = 0;
    char *bytes = path_of(path, m->o, m->name, ".sums").code
                      ? NULL
                      : rt_read_bytes(path, LONG_MAX - 1, &size);
    if (!bytes)
        return false;
    rt_digest_bytes(digest, bytes, size);
    *sums = (rt_token_sums){(uint64_t *)(void *)bytes, size / sizeof *sums->list};
    if (!strcmp(digest, info->sums) && size % sizeof *sums->list == 0)
        return true;
    rt_free(bytes);
    return false;
}

/* Returns whether a file begins with the header of so many ids. */
static bool has_header(const char *path, size_t width, size_t count)
{
    unsigned char wanted[RT_NPY_HEADER], there[RT_NPY_HEADER];
    FILE *file = rt_open_regular(path);
    rt_npy_header_of_ids(wanted, width, count);
    const bool same = file && fread(there, 1, sizeof there, file) == sizeof there &&
                      !memcmp(there, wanted, sizeof there);
    if (file)
        fclose(file);
    return same;
}

/* Opens the ids if they are there, whole and undamaged. */
static bool open_ids(making_ids *m)
{
    rt_data_file file = {.ids = true};
    rt_token_sums sums;
    ids_info info;
    if (!read_info(m, &info) || path_of(file.path, m->o, m->name, ".npy").code ||
        !has_header(file.path, rt_id_width(m->v->count), info.count) || !read_sums(m, &info, &sums))
        return false;
    *m->unknown = info.unknown;
    return !rt_token_file_open(m->run, m->text->key, &file, m->v->count, &sums).code;
}

/* The ids of a text on their way into a file: their checksums, and the digest of the text. */
typedef struct writing_ids {
    const making_ids *m;
    rt_token_writer writer;
    unsigned char block[RT_SUMMED]; /* the ids since the last checksum */
    size_t filled;
    rt_token_sums sums;
    size_t room;
    bool failed;       /* the heap is exhausted */
    rt_digest *digest; /* of the file that is being read */
    size_t file, at;   /* its number, and bytes of it so far */
    bool differs;      /* a file had another digest than its name says */
} writing_ids;

static void end_block(writing_ids *w)
{
    if (w->sums.count == w->room) {
        const size_t room = 2 * w->room + 64;
        uint64_t *list = rt_alloc_unset(room, sizeof *list);
        w->failed |= !list;
        if (!list)
            return;
        if (w->sums.count)
            memcpy(list, w->sums.list, w->sums.count * sizeof *list);
        rt_free(w->sums.list);
        w->sums.list = list;
        w->room = room;
    }
    w->sums.list[w->sums.count++] = rt_checksum(w->block, w->filled);
    w->filled = 0;
}

static rt_status take_ids(void *context, rt_id_list *ids)
{
    writing_ids *w = context;
    const unsigned char *from = ids->ids;
    for (size_t left = ids->count * ids->width; left && !w->failed;) {
        const size_t room = sizeof w->block - w->filled, n = left < room ? left : room;
        memcpy(w->block + w->filled, from, n);
        w->filled += n;
        from += n;
        left -= n;
        if (w->filled == sizeof w->block)
            end_block(w);
    }
    return w->failed ? rt_out_of_memory("checksums") : rt_token_writer_take(&w->writer, ids);
}

/* Sees the bytes of the text in their order. */
static void see_bytes(void *context, const unsigned char *bytes, size_t size)
{
    writing_ids *w = context;
    char digest[RT_DIGEST_SIZE];
    while (size) {
        const rt_text_files *text = w->m->text;
        const size_t left = text->list[w->file].size - w->at, n = size < left ? size : left;
        rt_digest_add(w->digest, bytes, n);
        bytes += n;
        size -= n;
        w->at += n;
        if (n < left)
            return;
        rt_digest_end(w->digest, digest);
        w->differs |= strcmp(digest, w->m->digests[w->file]) != 0;
        w->file++;
        w->at = 0;
    }
}

static rt_status encode_ids(writing_ids *w, rt_unknown *unknown)
{
    char what[RT_PATH_SIZE + 32];
    const making_ids *m = w->m;
    snprintf(what, sizeof what, "tokenizing %.900s", m->text->list[0].path);
    rt_text_encoding e = {.text = m->text,
                          .vocabulary = m->v,
                          .options = m->o,
                          .what = what,
                          .take = take_ids,
                          .context = w,
                          .see = see_bytes,
                          .viewer = w};
    rt_status status = rt_text_encode(&e);
    *unknown = e.unknown;
    if (!status.code && w->filled)
        end_block(w);
    if (!status.code && w->failed)
        status = rt_out_of_memory("checksums");
    if (!status.code && w->differs)
        status = rt_error(RT_DATA, "%.800s: %s changed while it was tokenized",
                          m->text->list[0].path, m->text->key);
    return status;
}

/* Writes NAME.npy, then NAME.sums. */
static rt_status write_ids_and_sums(writing_ids *w, ids_info *info)
{
    char path[RT_PATH_SIZE];
    const making_ids *m = w->m;
    rt_durable_file file;
    rt_status status = path_of(path, m->o, m->name, ".npy");
    if (status.code)
        return status;
    status = rt_token_writer_open(&w->writer, path, true, rt_id_width(m->v->count));
    if (!status.code)
        status = encode_ids(w, &info->unknown);
    status = rt_token_writer_close(&w->writer, status);
    if (!status.code)
        status = path_of(path, m->o, m->name, ".sums");
    if (status.code)
        return status;
    const size_t size = w->sums.count * sizeof *w->sums.list;
    info->count = w->writer.count;
    rt_digest_bytes(info->sums, w->sums.list, size);
    status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_durable_write(&file, w->sums.list, size);
    return rt_durable_close(&file, status);
}

static rt_status write_ids(making_ids *m)
{
    ids_info info = {0};
    writing_ids *w = rt_alloc(1, sizeof *w);
    rt_digest *digest = rt_digest_new();
    rt_status status = w && digest ? rt_ok() : rt_out_of_memory("the ids of a text");
    if (!status.code) {
        *w = (writing_ids){.m = m, .digest = digest};
        status = write_ids_and_sums(w, &info);
        m->stale = w->differs;
        rt_free(w->sums.list);
    }
    rt_digest_free(digest);
    rt_free(w);
    return status.code ? status : put_info(m, &info);
}

/* Says that files are there which cannot be used. */
static void say_damaged(const making_ids *m)
{
    char path[RT_PATH_SIZE], line[RT_PATH_SIZE + 128];
    if (path_of(path, m->o, m->name, ".info").code || access(path, F_OK))
        return;
    snprintf(line, sizeof line,
             "warning: the tokens in %.900s/%s.npy are damaged: they are made again", m->o->cache,
             m->name);
    say(m->o, line);
}

static rt_status make_ids(void *context)
{
    making_ids *m = context;
    if (open_ids(m))
        return rt_ok();
    say_damaged(m);
    rt_status status = write_ids(m);
    if (!status.code && !open_ids(m))
        status = rt_error(RT_IO, "the tokens that were written cannot be read back");
    return status;
}

/* Adds the folder to what could not be read or written in it. */
static rt_status name_folder(rt_status status, const rt_data_options *o)
{
    return status.code == RT_IO
               ? rt_error(RT_IO, "%.600s (data.cache = %.300s)", status.message, o->cache)
               : status;
}

static rt_status find_ids(making_ids *m)
{
    rt_status status = name_ids(m);
    if (status.code || open_ids(m))
        return status;
    return make_alone(m->o, m->name, make_ids, m);
}

rt_status rt_token_cache_open(rt_token_run *run, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              rt_unknown *unknown)
{
    char line[2 * RT_PATH_SIZE];
    making_ids m = {.run = run,
                    .text = text,
                    .v = vocabulary,
                    .o = o,
                    .unknown = unknown,
                    .digests = rt_alloc(text->count, sizeof *m.digests)};
    rt_status status = m.digests ? rt_folders_make(o->cache) : rt_out_of_memory("digests");
    if (!status.code)
        status = find_ids(&m);
    if (m.stale) { /* the digest of a file was of other bytes: once more, without it */
        forget_digests(text, o);
        status = find_ids(&m);
    }
    rt_free(m.digests);
    snprintf(line, sizeof line, "%s: the tokens of %.900s are in %s/%s.npy", text->key,
             text->list[0].path, o->cache, m.name);
    if (!status.code)
        say(o, line);
    return name_folder(status, o);
}

/* ---- characters ---- */

typedef struct making_vocabulary {
    rt_vocabulary **vocabulary_new;
    const rt_data_options *o;
    rt_vocabulary_maker *make;
    void *context;
    char name[RT_DIGEST_SIZE];
} making_vocabulary;

static bool know_vocabulary(const making_vocabulary *m)
{
    static const rt_vocabulary_kind kind = {.level = RT_LEVEL_CHAR};
    char *known = get_text(m->o, m->name, ".vocabulary");
    const bool read = known && !rt_vocabulary_read(m->vocabulary_new, kind, m->name,
                                                   (const unsigned char *)known, strlen(known))
                                    .code;
    rt_free(known);
    return read;
}

static rt_status make_vocabulary(void *context)
{
    making_vocabulary *m = context;
    char *text = NULL;
    if (know_vocabulary(m))
        return rt_ok();
    rt_status status = m->make(m->context, m->vocabulary_new);
    if (!status.code)
        status = rt_vocabulary_write(*m->vocabulary_new, &text);
    if (!status.code)
        status = put_text(m->o, m->name, ".vocabulary", text);
    rt_free(text);
    return status;
}

rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new,
                                    const rt_text_files *const *texts, size_t count,
                                    const rt_data_options *o, rt_vocabulary_maker *make,
                                    void *context)
{
    making_vocabulary m = {.vocabulary_new = vocabulary_new,
                           .o = o,
                           .make = make,
                           .context = context};
    rt_writer w = {0};
    *vocabulary_new = NULL;
    rt_status status = rt_folders_make(o->cache);
    rt_writer_add(&w, "rotor %s, cache %d, characters\n", ROTOR_VERSION, CACHE_VERSION);
    for (size_t i = 0; i < count && !status.code; i++)
        status = add_digests(&w, texts[i], o, NULL);
    status = name_of(m.name, &w, status);
    if (!status.code && !know_vocabulary(&m))
        status = make_alone(o, m.name, make_vocabulary, &m);
    return name_folder(status, o);
}
