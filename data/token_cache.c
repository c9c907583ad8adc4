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
enum { CACHE_VERSION = 4 };

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

/* Key of a cache entry: its folder (of the options) and the digest that names its files. */
typedef struct entry {
    const rt_data_options *o;
    char name[DIGEST_SIZE];
} entry;

/* The path of a file of an entry, whose length open_folder has checked, in the memory of the
 * enclosing block. */
#define PATH_OF(e, ending) RT_PRINTED(RT_PATH_SIZE, "%s/%s%s", (e)->o->cache, (e)->name, ending)

static rt_status open_folder(const rt_data_options *o)
{
    char path[RT_PATH_SIZE];
    RT_TRY(rt_path_join(path, o->cache, "0123456789abcdef0123456789abcdef.vocabulary"));
    return rt_folders_make(o->cache);
}

/* Writes a file of an entry: a line with the digest of its content, and the content. */
static rt_status put(const entry *e, const char *ending, const void *content, size_t size)
{
    char line[DIGEST_SIZE];
    rt_durable_file file;
    write_digest(line, XXH3_128bits(content, size));
    line[DIGEST_SIZE - 1] = '\n';
    rt_status status = rt_durable_replace(&file, PATH_OF(e, ending));
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
    char line[DIGEST_SIZE], *bytes = rt_read_bytes(PATH_OF(e, ending), LONG_MAX - 1, size);
    if (bytes && *size >= sizeof line) {
        *size -= sizeof line;
        write_digest(line, XXH3_128bits(bytes + sizeof line, *size));
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
    const char *path = PATH_OF(e, ".lock");
    int unlocked;
    for (bool told = false; (*lock = rt_file_lock(path, &unlocked)) < 0; told = true) {
        if (errno != EWOULDBLOCK)
            return rt_error(RT_IO, "cannot create %s: %s", path, strerror(errno));
        if (!told)
            rt_data_say(o, "waiting for another process that reads the same text");
        if (o->watch && o->watch->stop(o->watch->context))
            return rt_error(RT_IO, "stopped by a signal while another process read the same text");
        nanosleep(&pause, NULL);
    }
    if (unlocked)
        rt_data_say(
            o, RT_PRINTED(RT_MESSAGE_SIZE,
                          "warning: %.900s cannot be locked (%s): other processes may tokenize the "
                          "same text",
                          o->cache, strerror(unlocked)));
    return rt_ok();
}

/* Sets the name of an entry to the digest of a text, which it frees. Returns the first error. */
static rt_status name_entry(entry *e, rt_writer *text, rt_status status)
{
    if (!status.code && text->failed)
        status = rt_out_of_memory("a name in the cache");
    if (!status.code)
        write_digest(e->name, XXH3_128bits(text->bytes, text->length));
    rt_writer_free(text);
    return status;
}

/* Finds the files of an entry or, always if they are wrong, makes them, while other processes that
 * need them wait. */
static rt_status find_or_make(const entry *e, bool wrong,
                              bool (*find)(const entry *e, void *context),
                              rt_status (*make)(const entry *e, void *context), void *context)
{
    int lock;
    if (!wrong && find(e, context))
        return rt_ok();
    rt_status status = lock_entry(e, &lock);
    if (!status.code && (wrong || !find(e, context)))
        status = make(e, context);
    rt_file_unlock(PATH_OF(e, ".lock"), lock);
    return status;
}

/* Digest of the bytes of a text. */
typedef struct text_digest {
    rt_text_files *text;
    char digits[DIGEST_SIZE];
} text_digest;

static bool find_digest(const entry *e, void *context)
{
    text_digest *d = context;
    size_t size = 0;
    RT_OWNED char *known = get(e, ".digest", &size);
    const bool found = known && size == sizeof d->digits;
    if (found)
        memcpy(d->digits, known, size);
    return found;
}

static void digest_bytes(void *state, const unsigned char *bytes, size_t size)
{
    XXH3_128bits_update(state, bytes, size);
}

static rt_status make_digest(const entry *e, void *context)
{
    text_digest *d = context;
    XXH3_state_t *state = XXH3_createState();
    RT_TRY(rt_allocated(state, "the digest of a text"));
    XXH3_128bits_reset(state);
    const rt_status status = rt_text_scan(d->text, RT_LEVEL_BYTE, digest_bytes, state);
    write_digest(d->digits, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    return status.code ? status : put(e, ".digest", d->digits, sizeof d->digits);
}

/* Adds the digest of a text and the sizes of its files to what an entry is named by. With `anew`
 * the digest in the cache is not used. */
static rt_status add_text(rt_writer *name, text_digest *d, const rt_data_options *o, bool anew)
{
    entry e = {.o = o};
    rt_writer files = {0};
    for (size_t i = 0; i < d->text->count; i++) {
        const rt_text_file *file = &d->text->list[i];
        uint64_t state[sizeof file->state / sizeof(uint64_t)];
        memcpy(state, &file->state, sizeof state);
        rt_writer_add(&files, "%s\n%s%s", file->path, file->json ? d->text->field : "",
                      file->json ? " of lines\n" : "");
        for (size_t k = 0; k < sizeof state / sizeof *state; k++)
            rt_writer_add(&files, "%" PRIx64 "\n", state[k]);
        rt_writer_add(name, "file of %zu bytes\n", file->size);
    }
    rt_status status = name_entry(&e, &files, rt_ok());
    if (!status.code)
        status = find_or_make(&e, anew, find_digest, make_digest, d);
    rt_writer_add(name, "text %s\n", d->digits);
    return status;
}

/* Ids of a text. While they are written to a file, their checksums and the digest of the text are
 * computed. */
typedef struct making {
    const rt_vocabulary *v;
    rt_cached_ids *found; /* result */
    text_digest digest;   /* by which the ids are named */
    bool stale;           /* the tokenized text had another digest */
    rt_token_writer writer;
    uint64_t *info; /* content of NAME.info: `words` words */
    size_t words, capacity;
    XXH3_state_t *sum;  /* checksum of the current block */
    size_t filled;      /* bytes in the current block */
    XXH3_state_t *seen; /* digest of the bytes that are tokenized */
} making;

/* NAME.info begins with the unknown characters or words; the checksums of the ids follow. */
enum { INFO_WORDS = sizeof(rt_unknown) / sizeof(uint64_t) };
_Static_assert(sizeof(rt_unknown) % sizeof(uint64_t) == 0, "checksums follow without a gap");

/* Finds the ids. Returns false if NAME.info is missing or damaged. */
static bool find_ids(const entry *e, void *context)
{
    making *m = context;
    rt_unknown *unknown = &m->found->unknown;
    size_t size;
    char *bytes = get(e, ".info", &size);
    const char *name = rt_intern_text(PATH_OF(e, ".npy"));
    if (!name || !bytes || size < sizeof *unknown) {
        rt_free(bytes);
        return false;
    }
    memcpy(unknown, bytes, sizeof *unknown);
    size -= sizeof *unknown;
    memmove(bytes, bytes + sizeof *unknown, size);
    m->found->file = (rt_token_input){.format = &rt_npy_format,
                                      .key = m->digest.text->key,
                                      .path = name,
                                      .dataset = "",
                                      .sums = {(uint64_t *)(void *)bytes, size / sizeof(uint64_t)}};
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
    for (size_t left = ids->count * ids->width, n; left; left -= n, from += n) {
        n = left < RT_SUMMED - m->filled ? left : RT_SUMMED - m->filled;
        XXH3_64bits_update(m->sum, from, n);
        m->filled += n;
        if (m->filled == RT_SUMMED)
            RT_TRY(end_block(m));
    }
    return rt_token_writer_take(&m->writer, ids);
}

static void see_bytes(void *context, const unsigned char *bytes, size_t size)
{
    digest_bytes(((making *)context)->seen, bytes, size);
}

static rt_status write_files(making *m, const entry *e)
{
    rt_text_files *text = m->digest.text;
    char digest[DIGEST_SIZE];
    rt_text_encoding encoding = {.text = text,
                                 .vocabulary = m->v,
                                 .options = e->o,
                                 .watched = true,
                                 .take = take_ids,
                                 .see = see_bytes,
                                 .context = m};
    rt_status status =
        rt_token_writer_open(&m->writer, PATH_OF(e, ".npy"), &rt_npy_format, m->v->count);
    if (!status.code)
        status = rt_text_encode(&encoding);
    if (!status.code && m->filled)
        status = end_block(m);
    write_digest(digest, XXH3_128bits_digest(m->seen));
    m->stale = !status.code && strcmp(digest, m->digest.digits) != 0;
    if (m->stale)
        status = rt_error(RT_DATA, "%.800s: %s changed while it was tokenized", text->list[0].path,
                          text->key);
    RT_TRY(rt_token_writer_close(&m->writer, status));
    memcpy(m->info, &encoding.unknown, sizeof encoding.unknown);
    return put(e, ".info", m->info, m->words * sizeof *m->info);
}

/* Makes the ids. If NAME.info exists, the files are damaged. */
static rt_status make_ids(const entry *e, void *context)
{
    making *m = context;
    if (!access(PATH_OF(e, ".info"), F_OK))
        rt_data_say(e->o, RT_PRINTED(RT_MESSAGE_SIZE,
                                     "warning: the tokens in %.900s/%s.npy are damaged: they are "
                                     "made again",
                                     e->o->cache, e->name));
    rt_status status = rt_out_of_memory("the ids of a text");
    m->sum = XXH3_createState();
    m->seen = XXH3_createState();
    m->words = INFO_WORDS;
    if (m->sum && m->seen && rt_grow(&m->info, &m->capacity, m->words, sizeof *m->info)) {
        XXH3_64bits_reset(m->sum);
        XXH3_128bits_reset(m->seen);
        status = write_files(m, e);
    }
    rt_free(m->info);
    XXH3_freeState(m->sum);
    XXH3_freeState(m->seen);
    if (!status.code && !find_ids(e, m))
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

static rt_status find_by_digest(rt_cached_ids *ids, rt_text_files *text, const rt_vocabulary *v,
                                const rt_data_options *o, bool damaged, bool anew)
{
    making m = {.v = v, .found = ids, .digest.text = text};
    const char *documents = rt_text_documents(text, o);
    entry e = {.o = o};
    rt_writer name = {0};
    if (o->special)
        rt_writer_add(&name, "special tokens are tokens\n");
    rt_writer_add(&name, "rotor %s, cache %d\nlevel %d, %s\nend %d, documents %s\ntokenizer %s\n",
                  ROTOR_VERSION, CACHE_VERSION, (int)v->level,
                  v->lowercase ? "lower case" : "cased", (int)v->special.sep,
                  documents ? documents : "none", v->file);
    rt_status status = name_entry(&e, &name, add_text(&name, &m.digest, o, anew));
    if (!status.code)
        status = find_or_make(&e, damaged, find_ids, make_ids, &m);
    return m.stale && !anew ? find_by_digest(ids, text, v, o, damaged, true) : status;
}

rt_status rt_token_cache_find(rt_cached_ids *ids, rt_text_files *text, const rt_vocabulary *v,
                              const rt_data_options *o, bool damaged)
{
    const rt_status status = open_folder(o);
    return name_folder(status.code ? status : find_by_digest(ids, text, v, o, damaged, false), o);
}

/* Vocabulary of the characters of a text. */
typedef struct characters {
    rt_text_files *text;
    rt_vocabulary **vocabulary_new;
} characters;

static bool find_vocabulary(const entry *e, void *context)
{
    static const rt_vocabulary_kind kind = {.level = RT_LEVEL_CHAR};
    const characters *c = context;
    size_t size;
    RT_OWNED char *known = get(e, ".vocabulary", &size);
    return known &&
           !rt_vocabulary_read(c->vocabulary_new, kind, e->name, (unsigned char *)known, size).code;
}

static rt_status make_vocabulary(const entry *e, void *context)
{
    const characters *c = context;
    RT_TRY(rt_text_characters(c->vocabulary_new, c->text, e->o));
    const char *file = (*c->vocabulary_new)->file;
    return put(e, ".vocabulary", file, strlen(file));
}

rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new, rt_text_files *text,
                                    const rt_data_options *o)
{
    entry e = {.o = o};
    text_digest digest = {.text = text};
    characters c = {text, vocabulary_new};
    rt_writer name = {0};
    *vocabulary_new = NULL;
    rt_writer_add(&name, "rotor %s, cache %d, characters\n", ROTOR_VERSION, CACHE_VERSION);
    rt_status status = open_folder(o);
    if (!status.code)
        status = add_text(&name, &digest, o, false);
    status = name_entry(&e, &name, status);
    if (!status.code)
        status = find_or_make(&e, false, find_vocabulary, make_vocabulary, &c);
    return name_folder(status, o);
}
