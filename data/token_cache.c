#include "data/token_cache.h"

#include "core/memory.h"
#include "util/file_lock.h"
#include "util/files.h"
#include "util/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

/* Key of a cache entry: its folder (of the options) and the digest that names its files. */
typedef struct entry {
    const rt_data_options *o;
    char name[DIGEST_SIZE];
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

/* Locks NAME.lock of an entry, so that one process makes the entry while others wait. On an error,
 * *lock is -1. */
static rt_status lock_entry(const entry *e, int *lock)
{
    static const struct timespec pause = {0, WAIT_NANOSECONDS};
    const rt_data_options *o = e->o;
    char path[RT_PATH_SIZE], line[RT_MESSAGE_SIZE];
    int unlocked;
    path_of(path, e, ".lock");
    for (bool told = false; (*lock = rt_file_lock(path, &unlocked)) < 0; told = true) {
        if (errno != EWOULDBLOCK)
            return rt_error(RT_IO, "cannot create %s: %s", path, strerror(errno));
        if (!told)
            rt_data_say(o, "waiting for another process that reads the same text");
        if (o->watch && o->watch->stop(o->watch->context))
            return rt_error(RT_IO, "stopped by a signal while another process read the same text");
        nanosleep(&pause, NULL);
    }
    snprintf(line, sizeof line,
             "warning: %.900s cannot be locked (%s): other processes may tokenize the same text",
             o->cache, strerror(unlocked));
    if (unlocked)
        rt_data_say(o, line);
    return rt_ok();
}

static void unlock_entry(const entry *e, int lock)
{
    char path[RT_PATH_SIZE];
    path_of(path, e, ".lock");
    rt_file_unlock(path, lock);
}

/* Content of NAME.digest. */
typedef struct known_digest {
    rt_file_state state;
    char digest[DIGEST_SIZE];
} known_digest;

/* Copies the digest of an unchanged file from the cache. Returns false if there is none. */
static bool find_digest(const entry *e, known_digest *wanted)
{
    size_t size;
    char *known = get(e, ".digest", &size);
    const bool same =
        known && size == sizeof *wanted && !memcmp(known, wanted, offsetof(known_digest, digest));
    if (same)
        memcpy(wanted, known, size);
    rt_free(known);
    return same;
}

static void digest_bytes(void *state, const unsigned char *bytes, size_t size)
{
    XXH3_128bits_update(state, bytes, size);
}

static rt_status make_digest(const entry *e, known_digest *known, const rt_text_files *text,
                             const rt_text_file *file)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return rt_out_of_memory("the digest of a file");
    XXH3_128bits_reset(state);
    rt_status status = rt_text_scan(text, file->start, file->start + file->size, RT_LEVEL_BYTE,
                                    digest_bytes, state);
    write_digest(known->digest, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    return status.code ? status : put(e, ".digest", known, sizeof *known);
}

/* Writes the digest of the i-th file of a text. With `anew`, removes the cached digest and
 * computes it again. */
static rt_status digest_file(const rt_text_files *text, size_t i, const rt_data_options *o,
                             bool anew, char digest[DIGEST_SIZE])
{
    const rt_text_file *file = &text->list[i];
    char path[RT_PATH_SIZE];
    int lock = -1;
    entry e = {.o = o};
    known_digest known;
    memset(&known, 0, sizeof known); /* the padding is written, too */
    known.state = file->state;
    digest_content(e.name, file->path, strlen(file->path));
    path_of(path, &e, ".digest");
    if (anew)
        unlink(path);
    rt_status status = rt_ok();
    if (!find_digest(&e, &known)) {
        status = lock_entry(&e, &lock);
        if (!status.code && !find_digest(&e, &known))
            status = make_digest(&e, &known, text, file);
    }
    unlock_entry(&e, lock);
    memcpy(digest, known.digest, DIGEST_SIZE);
    return status;
}

/* Sets the name of an entry to the digest of `w` and of the files of a text, and frees `w`. The
 * digests of the files are copied to `list`. */
static rt_status name_entry(entry *e, rt_writer *w, const rt_text_files *text, bool anew,
                            char (*list)[DIGEST_SIZE])
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < text->count && !status.code; i++) {
        status = digest_file(text, i, e->o, anew, list[i]);
        rt_writer_add(w, "text %s\n", list[i]);
    }
    if (!status.code && w->failed)
        status = rt_out_of_memory("a name in the cache");
    if (!status.code)
        digest_content(e->name, w->bytes, w->length);
    rt_writer_free(w);
    return status;
}

/* Ids of a text. While they are written to a file, their checksums and the digests of the text
 * files are computed. */
typedef struct making {
    entry entry;
    rt_cached_ids *found; /* result */
    const rt_text_files *text;
    const rt_vocabulary *v;
    bool damaged;                 /* the file of the ids is made again */
    char (*digests)[DIGEST_SIZE]; /* digests of the files of the text */
    bool stale;                   /* a tokenized file had another digest */
    rt_token_writer writer;
    uint64_t *info; /* content of NAME.info: `words` words */
    size_t words, capacity;
    XXH3_state_t *sum;    /* checksum of the current block */
    size_t filled;        /* bytes in the current block */
    XXH3_state_t *digest; /* digest of the current text file */
    size_t file, at;      /* index of the text file, and bytes read of it */
} making;

/* Beginning of NAME.info; the checksums of the ids follow. */
typedef struct ids_info {
    uint64_t count; /* of the ids */
    rt_unknown unknown;
} ids_info;
enum { INFO_WORDS = sizeof(ids_info) / sizeof(uint64_t) };
_Static_assert(sizeof(ids_info) % sizeof(uint64_t) == 0, "checksums follow without a gap");

/* Finds the ids. Returns false if NAME.info is missing or damaged. */
static bool find_ids(const making *m)
{
    char path[RT_PATH_SIZE];
    ids_info info;
    size_t size;
    char *bytes = get(&m->entry, ".info", &size);
    path_of(path, &m->entry, ".npy");
    const char *name = rt_intern_text(path);
    if (!name || !bytes || size < sizeof info) {
        rt_free(bytes);
        return false;
    }
    memcpy(&info, bytes, sizeof info);
    size -= sizeof info;
    memmove(bytes, bytes + sizeof info, size);
    m->found->file = (rt_token_input){.format = &rt_npy_format,
                                      .key = m->text->key,
                                      .path = name,
                                      .dataset = ""};
    m->found->sums = (rt_token_sums){(uint64_t *)(void *)bytes, size / sizeof(uint64_t)};
    m->found->unknown = info.unknown;
    return true;
}

static rt_status end_block(making *m)
{
    if (!rt_grow(&m->info, &m->capacity, m->words + 1, sizeof *m->info))
        return rt_out_of_memory("checksums");
    m->info[m->words++] = XXH3_64bits_digest(m->sum);
    XXH3_64bits_reset(m->sum);
    m->filled = 0;
    return rt_ok();
}

static rt_status take_ids(void *context, rt_id_list *ids)
{
    making *m = context;
    const unsigned char *from = ids->ids;
    rt_status status = rt_ok();
    for (size_t left = ids->count * ids->width, n; left && !status.code; left -= n, from += n) {
        n = left < RT_SUMMED - m->filled ? left : RT_SUMMED - m->filled;
        XXH3_64bits_update(m->sum, from, n);
        m->filled += n;
        if (m->filled == RT_SUMMED)
            status = end_block(m);
    }
    return status.code ? status : rt_token_writer_take(&m->writer, ids);
}

/* Computes the digests of the text files from their consecutive bytes. */
static void see_bytes(void *context, const unsigned char *bytes, size_t size)
{
    making *m = context;
    char digest[DIGEST_SIZE];
    for (size_t n; size; bytes += n, size -= n) {
        const size_t left = m->text->list[m->file].size - m->at;
        n = size < left ? size : left;
        XXH3_128bits_update(m->digest, bytes, n);
        m->at += n;
        if (n < left)
            return;
        write_digest(digest, XXH3_128bits_digest(m->digest));
        m->stale |= strcmp(digest, m->digests[m->file]) != 0;
        XXH3_128bits_reset(m->digest);
        m->file++;
        m->at = 0;
    }
}

static rt_status write_files(making *m)
{
    char path[RT_PATH_SIZE];
    ids_info info = {0};
    rt_text_encoding e = {.text = m->text,
                          .vocabulary = m->v,
                          .options = m->entry.o,
                          .watched = true,
                          .take = take_ids,
                          .see = see_bytes,
                          .context = m};
    path_of(path, &m->entry, ".npy");
    rt_status status = rt_token_writer_open(&m->writer, path, &rt_npy_format, m->v->count);
    if (!status.code)
        status = rt_text_encode(&e);
    if (!status.code && m->filled)
        status = end_block(m);
    if (!status.code && m->stale)
        status = rt_error(RT_DATA, "%.800s: %s changed while it was tokenized",
                          m->text->list[0].path, m->text->key);
    status = rt_token_writer_close(&m->writer, status);
    if (status.code)
        return status;
    info.count = m->writer.count;
    info.unknown = e.unknown;
    memcpy(m->info, &info, sizeof info);
    return put(&m->entry, ".info", m->info, m->words * sizeof *m->info);
}

/* Makes the ids. If NAME.info exists, the files are damaged. */
static rt_status make_ids(making *m)
{
    const entry *e = &m->entry;
    char path[RT_PATH_SIZE], line[RT_PATH_SIZE + 128];
    path_of(path, e, ".info");
    if (!access(path, F_OK)) {
        snprintf(line, sizeof line,
                 "warning: the tokens in %.900s/%s.npy are damaged: they are made again",
                 e->o->cache, e->name);
        rt_data_say(e->o, line);
    }
    rt_status status = rt_out_of_memory("the ids of a text");
    m->sum = XXH3_createState();
    m->digest = XXH3_createState();
    m->words = INFO_WORDS;
    if (m->sum && m->digest && rt_grow(&m->info, &m->capacity, m->words, sizeof *m->info)) {
        XXH3_64bits_reset(m->sum);
        XXH3_128bits_reset(m->digest);
        status = write_files(m);
    }
    rt_free(m->info);
    XXH3_freeState(m->sum);
    XXH3_freeState(m->digest);
    if (!status.code && !find_ids(m))
        status = rt_error(RT_IO, "the tokens that were written cannot be read back");
    return status;
}

/* Names the ids by everything they depend on, and finds them or, always if they are damaged, makes
 * them. With `anew`, the digests of the text files are computed again. */
static rt_status find_or_make(making *m, bool anew)
{
    const rt_data_options *o = m->entry.o;
    rt_writer w = {0};
    int lock;
    if (o->special)
        rt_writer_add(&w, "special tokens are tokens\n");
    rt_writer_add(&w, "rotor %s, cache %d\nlevel %d, %s\nend %d, documents %s\ntokenizer %s\n",
                  ROTOR_VERSION, CACHE_VERSION, (int)m->v->level,
                  m->v->lowercase ? "lower case" : "cased", (int)m->v->special.sep,
                  rt_documents_are_cut(o) ? o->documents : "none", m->v->file);
    rt_status status = name_entry(&m->entry, &w, m->text, anew, m->digests);
    if (status.code || (!m->damaged && find_ids(m)))
        return status;
    status = lock_entry(&m->entry, &lock);
    if (!status.code && (m->damaged || !find_ids(m)))
        status = make_ids(m);
    unlock_entry(&m->entry, lock);
    return status;
}

/* Adds the folder to the message of an RT_IO error. */
static rt_status name_folder(rt_status status, const rt_data_options *o)
{
    return status.code == RT_IO
               ? rt_error(RT_IO, "%.600s (data.cache = %.300s)", status.message, o->cache)
               : status;
}

rt_status rt_token_cache_find(rt_cached_ids *ids, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              bool damaged)
{
    const making fresh = {.entry = {.o = o},
                          .found = ids,
                          .text = text,
                          .v = vocabulary,
                          .damaged = damaged,
                          .digests = rt_alloc(text->count, sizeof *fresh.digests)};
    making m = fresh;
    rt_status status = m.digests ? open_folder(o) : rt_out_of_memory("digests");
    if (!status.code)
        status = find_or_make(&m, false);
    if (m.stale) { /* a cached digest was wrong: try once more without it */
        m = fresh;
        status = find_or_make(&m, true);
    }
    rt_free(m.digests);
    return name_folder(status, o);
}

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
                                    const rt_data_options *o)
{
    entry e = {.o = o};
    char(*digests)[DIGEST_SIZE] = rt_alloc(text->count, sizeof *digests);
    rt_writer w = {0};
    int lock = -1;
    *vocabulary_new = NULL;
    rt_writer_add(&w, "rotor %s, cache %d, characters\n", ROTOR_VERSION, CACHE_VERSION);
    rt_status status = digests ? open_folder(o) : rt_out_of_memory("digests");
    if (!status.code)
        status = name_entry(&e, &w, text, false, digests);
    if (!status.code && !find_vocabulary(&e, vocabulary_new)) {
        status = lock_entry(&e, &lock);
        if (!status.code && !find_vocabulary(&e, vocabulary_new)) {
            status = rt_text_characters(vocabulary_new, text, o);
            if (!status.code)
                status = put(&e, ".vocabulary", (*vocabulary_new)->file,
                             strlen((*vocabulary_new)->file));
        }
        unlock_entry(&e, lock);
    }
    rt_writer_free(&w);
    rt_free(digests);
    return name_folder(status, o);
}
