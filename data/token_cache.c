#include "data/token_cache.h"

#include "core/memory.h"
#include "data/digest.h"
#include "data/documents.h"
#include "data/token_file.h"
#include "data/token_writer.h"
#include "text/files.h"
#include "text/text_file.h"
#include "text/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Changes when the same text and tokenizer make other ids, or another file of them. */
enum { CACHE_VERSION = 1 };

/* Texts from so many bytes on. */
static const size_t least_bytes = 64000000;

enum { WAIT_NANOSECONDS = 50000000 };

bool rt_token_cache_takes(const rt_data_options *o, size_t bytes)
{
    return *o->cache && bytes >= (o->cache_from ? o->cache_from : least_bytes);
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

/* Puts a text into the cache. */
static rt_status put_text(const rt_data_options *o, const char *name, const char *ending,
                          const char *text)
{
    char whole[2 * RT_DIGEST_SIZE];
    snprintf(whole, sizeof whole, "%s%s", name, ending);
    return rt_durable_text(o->cache, whole, text);
}

/* What is there under a name; NULL if nothing is. The caller frees it. */
static char *get_text(const rt_data_options *o, const char *name, const char *ending)
{
    char path[RT_PATH_SIZE];
    const rt_status status = path_of(path, o, name, ending);
    return status.code ? NULL : rt_read_text(path);
}

/* ---- the lock ---- */

/* Whether the file that is locked still has the name: the one who held it removes it. */
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

/* Whether the cache knows the digest of the file as it is. */
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

static rt_status add_digests(rt_writer *w, const rt_text_files *text, const rt_data_options *o)
{
    char digest[RT_DIGEST_SIZE];
    rt_status status = rt_ok();
    for (size_t i = 0; i < text->count && !status.code; i++) {
        status = find_digest(digest, text, &text->list[i], o);
        rt_writer_add(w, "text %s\n", digest);
    }
    return status;
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
} making_ids;

static rt_status name_ids(making_ids *m)
{
    rt_writer w = {0};
    char *tokenizer = NULL;
    rt_status status = rt_vocabulary_write(m->v, &tokenizer);
    rt_writer_add(&w, "rotor %s, cache %d\nlevel %d, %s\nend %d, documents %s\ntokenizer %s\n",
                  ROTOR_VERSION, CACHE_VERSION, (int)m->v->level,
                  m->v->lowercase ? "lower case" : "cased", (int)m->v->special.sep,
                  rt_documents_are_cut(m->o) ? m->o->documents : "none",
                  status.code ? "" : tokenizer);
    if (!status.code)
        rt_free(tokenizer);
    if (!status.code)
        status = add_digests(&w, m->text, m->o);
    return name_of(m->name, &w, status);
}

/* Opens the ids if they are there, whole. */
static bool open_ids(making_ids *m)
{
    rt_data_file file = {.ids = true};
    rt_unknown *unknown = m->unknown;
    unsigned long long count = 0;
    char *info = get_text(m->o, m->name, ".info");
    rt_status status = path_of(file.path, m->o, m->name, ".npy");
    *unknown = (rt_unknown){0};
    const bool read = info && sscanf(info, "ids %llu unknown %zu at %zu name %119[^\n]", &count,
                                     &unknown->count, &unknown->at, unknown->name) >= 3;
    rt_free(info);
    if (!read || status.code)
        return false;
    status = rt_token_file_open(m->run, m->text->key, &file, m->v->count, true);
    if (!status.code && m->run->count == count)
        return true;
    if (!status.code)
        m->run->kind->close(m->run->ids);
    return false;
}

static rt_status put_info(const making_ids *m, size_t count, const rt_unknown *unknown)
{
    char text[RT_WORD_NAME_SIZE + 128];
    snprintf(text, sizeof text, "ids %zu unknown %zu at %zu name %s\n", count, unknown->count,
             unknown->at, unknown->name);
    return put_text(m->o, m->name, ".info", text);
}

static rt_status write_ids(const making_ids *m)
{
    char path[RT_PATH_SIZE], what[RT_PATH_SIZE + 32];
    rt_token_writer writer;
    snprintf(what, sizeof what, "tokenizing %.900s", m->text->list[0].path);
    rt_text_encoding e = {.text = m->text,
                          .vocabulary = m->v,
                          .options = m->o,
                          .what = what,
                          .take = rt_token_writer_take,
                          .context = &writer};
    rt_status status = path_of(path, m->o, m->name, ".npy");
    if (status.code)
        return status;
    status = rt_token_writer_open(&writer, path, true, rt_id_width(m->v->count));
    if (!status.code)
        status = rt_text_encode(&e);
    status = rt_token_writer_close(&writer, status);
    return status.code ? status : put_info(m, writer.count, &e.unknown);
}

static rt_status make_ids(void *context)
{
    making_ids *m = context;
    if (open_ids(m))
        return rt_ok();
    rt_status status = write_ids(m);
    if (!status.code && !open_ids(m))
        status = rt_error(RT_IO, "the tokens that were written cannot be read back");
    return status;
}

rt_status rt_token_cache_open(rt_token_run *run, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              rt_unknown *unknown)
{
    char line[2 * RT_PATH_SIZE];
    making_ids m = {.run = run, .text = text, .v = vocabulary, .o = o, .unknown = unknown};
    rt_status status = rt_folders_make(o->cache);
    if (!status.code)
        status = name_ids(&m);
    if (!status.code && !open_ids(&m))
        status = make_alone(o, m.name, make_ids, &m);
    if (status.code == RT_IO)
        return rt_error(RT_IO, "%.600s (data.cache = %.300s)", status.message, o->cache);
    snprintf(line, sizeof line, "%s: the tokens of %.900s are in %s/%s.npy", text->key,
             text->list[0].path, o->cache, m.name);
    if (!status.code)
        say(o, line);
    return status;
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
        status = add_digests(&w, texts[i], o);
    status = name_of(m.name, &w, status);
    return status.code || know_vocabulary(&m) ? status : make_alone(o, m.name, make_vocabulary, &m);
}
