#include "data/token_cache.h"

#include "core/memory.h"
#include "data/token_format.h"
#include "text/files.h"
#include "text/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* Changes when the same text and tokenizer give other ids or another file. */
enum { CACHE_VERSION = 3 };

/* Default size from which a text is cached. */
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

/* ---- digests ---- */

/* Size of an XXH128 in hexadecimal digits with a final zero. */
enum { DIGEST_SIZE = 33 };

static void write_digest(char digest[DIGEST_SIZE], XXH128_hash_t hash)
{
    snprintf(digest, DIGEST_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
}

static void digest_content(char digest[DIGEST_SIZE], const void *content, size_t size)
{
    write_digest(digest, XXH3_128bits(content, size));
}

/* ---- entries ---- */

/* Entry of the cache. If it is missing, the process that holds its lock makes it while others wait.
 */
typedef struct entry {
    const rt_data_options *o;
    char name[DIGEST_SIZE];
    int lock; /* descriptor, between `hold` and `release` */
} entry;

/* Writes the path of a file of an entry; open_folder has checked the length. */
static void path_of(char path[RT_PATH_SIZE], const entry *e, const char *ending)
{
    snprintf(path, RT_PATH_SIZE, "%s/%s%s", e->o->cache, e->name, ending);
}

static rt_status open_folder(const rt_data_options *o)
{
    char path[RT_PATH_SIZE];
    const rt_status status =
        rt_path_join(path, o->cache, "0123456789abcdef0123456789abcdef.vocabulary");
    return status.code ? status : rt_folders_make(o->cache);
}

/* Writes a file of an entry: a line with the digest of its content, and the content. */
static rt_status put(const entry *e, const char *ending, const void *content, size_t size)
{
    char path[RT_PATH_SIZE], line[DIGEST_SIZE];
    rt_durable_file file;
    digest_content(line, content, size);
    line[DIGEST_SIZE - 1] = '\n';
    path_of(path, e, ending);
    rt_status status = rt_durable_replace(&file, path);
    if (!status.code)
        status = rt_durable_write(&file, line, sizeof line);
    if (!status.code)
        status = rt_durable_write(&file, content, size);
    return rt_durable_close(&file, status);
}

/* Returns the content of a file of an entry, which the caller frees; NULL if it is missing or
 * damaged. */
static char *get(const entry *e, const char *ending, size_t *size)
{
    char path[RT_PATH_SIZE], line[DIGEST_SIZE];
    path_of(path, e, ending);
    char *bytes = rt_read_bytes(path, LONG_MAX - 1, size);
    if (*size >= sizeof line) {
        *size -= sizeof line;
        digest_content(line, bytes + sizeof line, *size);
        line[DIGEST_SIZE - 1] = '\n';
        if (!memcmp(bytes, line, sizeof line))
            return memmove(bytes, bytes + sizeof line, *size + 1);
    }
    rt_free(bytes);
    return NULL;
}

static rt_status wait_for(int lock, const char *path, const rt_data_options *o)
{
    static const struct timespec pause = {0, WAIT_NANOSECONDS};
    for (bool told = false; flock(lock, LOCK_EX | LOCK_NB); told = true) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return rt_error(RT_IO, "cannot lock %s: %s", path, strerror(errno));
        if (!told)
            say(o, "waiting for another process that reads the same text");
        if (o->watch && o->watch->stop(o->watch->context))
            return rt_error(RT_IO, "stopped by a signal while another process read the same text");
        nanosleep(&pause, NULL);
    }
    return rt_ok();
}

/* Acquires the lock of an entry. After an error nothing needs to be released. */
static rt_status hold(entry *e)
{
    char path[RT_PATH_SIZE];
    struct stat held, named;
    rt_status status;
    path_of(path, e, ".lock");
    do {
        e->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (e->lock < 0)
            return rt_error(RT_IO, "cannot create %s: %s", path, strerror(errno));
        status = wait_for(e->lock, path, e->o);
        /* the previous holder removes the file: it must still have its name */
        if (!status.code && !fstat(e->lock, &held) && !stat(path, &named) &&
            held.st_ino == named.st_ino && held.st_dev == named.st_dev)
            return status;
        close(e->lock);
    } while (!status.code);
    return status;
}

/* Removes and releases the lock. Returns `status`. */
static rt_status release(entry *e, rt_status status)
{
    char path[RT_PATH_SIZE];
    path_of(path, e, ".lock");
    unlink(path);
    close(e->lock);
    return status;
}

/* ---- digests of files ---- */

/* Content of NAME.digest. */
typedef struct file_digest {
    int64_t size, seconds, nanoseconds;
    uint64_t device, inode;
    char digest[DIGEST_SIZE];
} file_digest;

/* Copies the digest of an unchanged file from the cache. Returns false if there is none. */
static bool find_digest(const entry *e, file_digest *f)
{
    size_t size;
    char *known = get(e, ".digest", &size);
    const bool same =
        known && size == sizeof *f && !memcmp(known, f, offsetof(file_digest, digest));
    if (same)
        memcpy(f, known, size);
    rt_free(known);
    return same;
}

static void digest_bytes(void *state, const unsigned char *bytes, size_t size)
{
    XXH3_128bits_update(state, bytes, size);
}

static rt_status make_digest(const entry *e, const rt_text_files *text, const rt_text_file *file,
                             file_digest *f)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return rt_out_of_memory("the digest of a file");
    XXH3_128bits_reset(state);
    rt_status status = rt_text_scan(text, file->start, file->start + file->size, RT_LEVEL_BYTE,
                                    digest_bytes, state);
    write_digest(f->digest, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    return status.code ? status : put(e, ".digest", f, sizeof *f);
}

static rt_status digest_file(const rt_text_files *text, const rt_text_file *file,
                             const rt_data_options *o, char digest[DIGEST_SIZE])
{
    const struct stat *s = &file->facts;
    entry e = {.o = o};
    file_digest f;
    memset(&f, 0, sizeof f); /* its padding is written, too */
    f.size = s->st_size;
    f.seconds = s->st_mtim.tv_sec;
    f.nanoseconds = s->st_mtim.tv_nsec;
    f.device = s->st_dev;
    f.inode = s->st_ino;
    digest_content(e.name, file->path, strlen(file->path));
    rt_status status = rt_ok();
    if (!find_digest(&e, &f)) {
        status = hold(&e);
        if (status.code)
            return status;
        if (!find_digest(&e, &f))
            status = make_digest(&e, text, file, &f);
        status = release(&e, status);
    }
    memcpy(digest, f.digest, DIGEST_SIZE);
    return status;
}

/* Writes the digests of the files of a text to `w`, and copies them to `list` unless it is NULL. */
static rt_status add_digests(rt_writer *w, const rt_text_files *text, const rt_data_options *o,
                             char (*list)[DIGEST_SIZE])
{
    char digest[DIGEST_SIZE];
    rt_status status = rt_ok();
    for (size_t i = 0; i < text->count && !status.code; i++) {
        status = digest_file(text, &text->list[i], o, digest);
        if (status.code)
            break;
        rt_writer_add(w, "text %s\n", digest);
        if (list)
            memcpy(list[i], digest, DIGEST_SIZE);
    }
    return status;
}

/* Removes the cached digests of the files of a text. */
static void forget_digests(const rt_text_files *text, const rt_data_options *o)
{
    char path[RT_PATH_SIZE];
    for (size_t i = 0; i < text->count; i++) {
        entry e = {.o = o};
        digest_content(e.name, text->list[i].path, strlen(text->list[i].path));
        path_of(path, &e, ".digest");
        unlink(path);
    }
}

/* Sets the name of an entry to the digest of `w`, and frees `w`. */
static rt_status name_entry(entry *e, rt_writer *w, rt_status status)
{
    if (!status.code && w->failed)
        status = rt_out_of_memory("a name in the cache");
    if (!status.code)
        digest_content(e->name, w->bytes, w->length);
    rt_writer_free(w);
    return status;
}

/* ---- ids ---- */

typedef struct ids_entry {
    entry entry;
    rt_token_runs *runs;
    const rt_text_files *text;
    const rt_vocabulary *v;
    rt_unknown *unknown;
    char (*digests)[DIGEST_SIZE]; /* digests of the files of the text */
    bool stale;                   /* the tokenized bytes had other digests */
} ids_entry;

static rt_status name_ids(ids_entry *m)
{
    const rt_data_options *o = m->entry.o;
    rt_writer w = {0};
    if (o->special)
        rt_writer_add(&w, "special tokens are tokens\n");
    rt_writer_add(&w, "rotor %s, cache %d\nlevel %d, %s\nend %d, documents %s\ntokenizer %s\n",
                  ROTOR_VERSION, CACHE_VERSION, (int)m->v->level,
                  m->v->lowercase ? "lower case" : "cased", (int)m->v->special.sep,
                  rt_documents_are_cut(o) ? o->documents : "none", m->v->file);
    return name_entry(&m->entry, &w, add_digests(&w, m->text, o, m->digests));
}

/* Beginning of NAME.info; the checksums of the ids follow. */
typedef struct ids_info {
    uint64_t count; /* of the ids */
    rt_unknown unknown;
} ids_info;
enum { INFO_WORDS = sizeof(ids_info) / sizeof(uint64_t) };
_Static_assert(sizeof(ids_info) % sizeof(uint64_t) == 0, "checksums follow without a gap");

/* Returns whether a file begins with the .npy header for these ids. */
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

/* Opens the ids. Returns false if a file is missing or damaged. */
static bool find_ids(const ids_entry *m)
{
    rt_data_file file = {.ids = true};
    ids_info info;
    size_t size;
    char *bytes = get(&m->entry, ".info", &size);
    path_of(file.path, &m->entry, ".npy");
    const bool whole = bytes && size >= sizeof info;
    if (whole)
        memcpy(&info, bytes, sizeof info);
    if (!whole || !has_header(file.path, rt_id_width(m->v->count), info.count)) {
        rt_free(bytes);
        return false;
    }
    size -= sizeof info;
    memmove(bytes, bytes + sizeof info, size);
    rt_token_sums sums = {(uint64_t *)(void *)bytes, size / sizeof *sums.list};
    *m->unknown = info.unknown;
    return !rt_token_runs_add_file(m->runs, m->text->key, &file, m->v->count, &sums).code;
}

/* State of writing ids to a file, with their checksums and the digests of the text files. */
typedef struct writing_ids {
    const ids_entry *m;
    rt_token_writer writer;
    uint64_t *info; /* content of NAME.info: `words` words */
    size_t words, capacity;
    XXH3_state_t *sum;    /* checksum of the current block */
    size_t filled;        /* bytes in the current block */
    XXH3_state_t *digest; /* digest of the current text file */
    size_t file, at;      /* index of the text file, and bytes read of it */
    bool differs;         /* a text file has another digest than NAME implies */
} writing_ids;

static rt_status end_block(writing_ids *w)
{
    if (!rt_grow(&w->info, &w->capacity, w->words + 1, sizeof *w->info))
        return rt_out_of_memory("checksums");
    w->info[w->words++] = XXH3_64bits_digest(w->sum);
    XXH3_64bits_reset(w->sum);
    w->filled = 0;
    return rt_ok();
}

static rt_status take_ids(void *context, rt_id_list *ids)
{
    writing_ids *w = context;
    const unsigned char *from = ids->ids;
    rt_status status = rt_ok();
    for (size_t left = ids->count * ids->width, n; left && !status.code; left -= n, from += n) {
        n = left < RT_SUMMED - w->filled ? left : RT_SUMMED - w->filled;
        XXH3_64bits_update(w->sum, from, n);
        w->filled += n;
        if (w->filled == RT_SUMMED)
            status = end_block(w);
    }
    return status.code ? status : rt_token_writer_take(&w->writer, ids);
}

/* Computes the digests of the text files from their consecutive bytes. */
static void see_bytes(void *context, const unsigned char *bytes, size_t size)
{
    writing_ids *w = context;
    char digest[DIGEST_SIZE];
    for (size_t n; size; bytes += n, size -= n) {
        const size_t left = w->m->text->list[w->file].size - w->at;
        n = size < left ? size : left;
        XXH3_128bits_update(w->digest, bytes, n);
        w->at += n;
        if (n < left)
            return;
        write_digest(digest, XXH3_128bits_digest(w->digest));
        w->differs |= strcmp(digest, w->m->digests[w->file]) != 0;
        XXH3_128bits_reset(w->digest);
        w->file++;
        w->at = 0;
    }
}

static rt_status encode_ids(writing_ids *w, rt_unknown *unknown)
{
    char what[RT_PATH_SIZE + 32];
    const ids_entry *m = w->m;
    snprintf(what, sizeof what, "tokenizing %.900s", m->text->list[0].path);
    rt_text_encoding e = {.text = m->text,
                          .vocabulary = m->v,
                          .options = m->entry.o,
                          .what = what,
                          .take = take_ids,
                          .see = see_bytes,
                          .context = w};
    rt_status status = rt_text_encode(&e);
    *unknown = e.unknown;
    if (!status.code && w->filled)
        status = end_block(w);
    if (!status.code && w->differs)
        status = rt_error(RT_DATA, "%.800s: %s changed while it was tokenized",
                          m->text->list[0].path, m->text->key);
    return status;
}

/* Writes NAME.npy, then NAME.info. */
static rt_status write_files(writing_ids *w)
{
    const entry *e = &w->m->entry;
    char path[RT_PATH_SIZE];
    ids_info info = {0};
    path_of(path, e, ".npy");
    rt_status status = rt_token_writer_open(&w->writer, path, true, rt_id_width(w->m->v->count));
    if (!status.code)
        status = encode_ids(w, &info.unknown);
    status = rt_token_writer_close(&w->writer, status);
    if (status.code)
        return status;
    info.count = w->writer.count;
    memcpy(w->info, &info, sizeof info);
    return put(e, ".info", w->info, w->words * sizeof *w->info);
}

static rt_status write_ids(ids_entry *m)
{
    writing_ids w = {.m = m,
                     .words = INFO_WORDS,
                     .sum = XXH3_createState(),
                     .digest = XXH3_createState()};
    rt_status status = rt_out_of_memory("the ids of a text");
    if (w.sum && w.digest && rt_grow(&w.info, &w.capacity, w.words, sizeof *w.info)) {
        XXH3_64bits_reset(w.sum);
        XXH3_128bits_reset(w.digest);
        status = write_files(&w);
    }
    m->stale = w.differs;
    rt_free(w.info);
    XXH3_freeState(w.sum);
    XXH3_freeState(w.digest);
    return status;
}

/* Makes the ids. If NAME.info exists, the files are damaged. */
static rt_status make_ids(ids_entry *m)
{
    const entry *e = &m->entry;
    char path[RT_PATH_SIZE], line[RT_PATH_SIZE + 128];
    path_of(path, e, ".info");
    if (!access(path, F_OK)) {
        snprintf(line, sizeof line,
                 "warning: the tokens in %.900s/%s.npy are damaged: they are made again",
                 e->o->cache, e->name);
        say(e->o, line);
    }
    rt_status status = write_ids(m);
    if (!status.code && !find_ids(m))
        status = rt_error(RT_IO, "the tokens that were written cannot be read back");
    return status;
}

/* Adds the folder to the message of an RT_IO error. */
static rt_status name_folder(rt_status status, const rt_data_options *o)
{
    return status.code == RT_IO
               ? rt_error(RT_IO, "%.600s (data.cache = %.300s)", status.message, o->cache)
               : status;
}

static rt_status open_ids(ids_entry *m)
{
    rt_status status = name_ids(m);
    if (status.code || find_ids(m))
        return status;
    status = hold(&m->entry);
    if (status.code)
        return status;
    if (!find_ids(m))
        status = make_ids(m);
    return release(&m->entry, status);
}

rt_status rt_token_cache_open(rt_token_runs *runs, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              rt_unknown *unknown)
{
    char line[2 * RT_PATH_SIZE];
    ids_entry m = {.entry = {.o = o},
                   .runs = runs,
                   .text = text,
                   .v = vocabulary,
                   .unknown = unknown,
                   .digests = rt_alloc(text->count, sizeof *m.digests)};
    rt_status status = m.digests ? open_folder(o) : rt_out_of_memory("digests");
    if (!status.code)
        status = open_ids(&m);
    if (m.stale) { /* a cached digest was wrong: try once more without it */
        forget_digests(text, o);
        status = open_ids(&m);
    }
    rt_free(m.digests);
    snprintf(line, sizeof line, "%s: the tokens of %.900s are in %s/%s.npy", text->key,
             text->list[0].path, o->cache, m.entry.name);
    if (!status.code)
        say(o, line);
    return name_folder(status, o);
}

/* ---- characters ---- */

static bool find_vocabulary(const entry *e, rt_vocabulary **vocabulary_new)
{
    static const rt_vocabulary_kind kind = {.level = RT_LEVEL_CHAR};
    size_t size;
    char *known = get(e, ".vocabulary", &size);
    const bool read =
        known &&
        !rt_vocabulary_read(vocabulary_new, kind, e->name, (unsigned char *)known, size).code;
    rt_free(known);
    return read;
}

rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new, const rt_text_files *text,
                                    const rt_data_options *o, rt_vocabulary_maker *make,
                                    void *context)
{
    entry e = {.o = o};
    rt_writer w = {0};
    *vocabulary_new = NULL;
    rt_status status = open_folder(o);
    rt_writer_add(&w, "rotor %s, cache %d, characters\n", ROTOR_VERSION, CACHE_VERSION);
    if (!status.code)
        status = add_digests(&w, text, o, NULL);
    status = name_entry(&e, &w, status);
    if (!status.code && find_vocabulary(&e, vocabulary_new))
        return status;
    if (!status.code)
        status = hold(&e);
    if (status.code)
        return name_folder(status, o);
    if (!find_vocabulary(&e, vocabulary_new)) {
        status = make(context, vocabulary_new);
        if (!status.code)
            status =
                put(&e, ".vocabulary", (*vocabulary_new)->file, strlen((*vocabulary_new)->file));
    }
    return name_folder(release(&e, status), o);
}
