#include "data/tokens.h"

#include "core/memory.h"
#include "util/files.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Ids per read. */
enum { PIECE = 1 << 10 };

/* Largest file whose ids are all checked when it is opened, which takes less than a second. */
#define SCANNED ((uint64_t)256 << 20)

/* Largest file whose checksums are all checked when it is opened. */
#define SUMMED_FIRST ((uint64_t)1 << 30)

typedef struct rt_token_run {
    size_t count;
    rt_id_list memory; /* ids in memory; empty: the run is a file */
    rt_token_input in;
    int vocab;
    atomic_bool *sound;   /* (in.sums.count): the block was checked */
    rt_token_place place; /* place of the ids in the file */
    rt_file_state opened; /* without links if the name of the file may disappear */
    pthread_mutex_t mutex;
    rt_status status; /* first failed read */
} rt_token_run;

static rt_status changed(const rt_token_run *f, const char *how)
{
    return rt_error(RT_DATA, "%s: %s %s while it was in use", f->in.name, f->in.key, how);
}

static rt_status read_bytes(const rt_token_run *f, size_t first, size_t count, void *to)
{
    const size_t size = count * (size_t)f->place.width;
    const uint64_t start = f->place.offset + first * f->place.width;
    const ssize_t got = rt_read_at(f->in.file, to, size, (off_t)start);
    if (got < 0)
        return rt_error(RT_DATA, "%s: %s cannot be read from id %zu to %zu: %s", f->in.name,
                        f->in.key, first, first + count - 1, strerror(errno));
    return (size_t)got < size ? changed(f, "became shorter") : rt_ok();
}

/* Returns the i-th integer of a block of the file. */
static int64_t id_at(const rt_token_place *p, const void *from, size_t i)
{
    if (p->width == sizeof(uint16_t)) {
        uint16_t id;
        memcpy(&id, (const char *)from + i * sizeof id, sizeof id);
        return p->swapped ? __builtin_bswap16(id) : id;
    }
    if (p->width == sizeof(int32_t)) {
        uint32_t id;
        memcpy(&id, (const char *)from + i * sizeof id, sizeof id);
        id = p->swapped ? __builtin_bswap32(id) : id;
        return p->is_unsigned ? (int64_t)id : (int32_t)id;
    }
    uint64_t id;
    memcpy(&id, (const char *)from + i * sizeof id, sizeof id);
    return (int64_t)(p->swapped ? __builtin_bswap64(id) : id);
}

/* Compares a block of ids with its checksum. A damaged file is removed, so that the next process
 * that needs the ids creates it again; its name may belong to another file by then. */
static rt_status check_block(const rt_token_run *f, size_t block)
{
    unsigned char bytes[RT_SUMMED];
    const size_t width = (size_t)f->place.width, whole = RT_SUMMED / width, first = block * whole;
    const size_t left = (size_t)f->place.count - first, n = left < whole ? left : whole;
    RT_TRY(read_bytes(f, first, n, bytes));
    if (XXH3_64bits(bytes, n * width) != f->in.sums.list[block]) {
        rt_file_state named;
        if (rt_file_state_find(&named, -1, f->in.path) && named.inode == f->opened.inode &&
            named.device == f->opened.device)
            unlink(f->in.path);
        return rt_error(RT_DATA,
                        "%s: the ids from %zu to %zu are damaged; the file was removed, and the "
                        "next run makes it again",
                        f->in.name, first, first + n - 1);
    }
    atomic_store_explicit(&f->sound[block], true, memory_order_relaxed);
    return rt_ok();
}

/* Compares the blocks of these ids with their checksums, unless already done. */
static rt_status check_blocks(const rt_token_run *f, size_t first, size_t count)
{
    const size_t whole = RT_SUMMED / (size_t)f->place.width;
    if (!f->in.sums.count || !count)
        return rt_ok();
    for (size_t b = first / whole; b <= (first + count - 1) / whole; b++)
        if (!atomic_load_explicit(&f->sound[b], memory_order_relaxed))
            RT_TRY(check_block(f, b));
    return rt_ok();
}

/* Reads and checks ids: a file that was truncated, rewritten or replaced would change a running
 * training. */
static rt_status read_ids(const rt_token_run *f, size_t first, size_t count, int32_t *ids)
{
    int64_t piece[PIECE];
    const char *change = rt_file_change(&f->opened, f->in.file, false);
    RT_TRY(change ? changed(f, change) : check_blocks(f, first, count));
    for (size_t done = 0; done < count; done += PIECE) {
        const size_t n = count - done < PIECE ? count - done : PIECE;
        RT_TRY(read_bytes(f, first + done, n, piece));
        for (size_t i = 0; i < n; i++) {
            const int64_t id = id_at(&f->place, piece, i);
            if (id < 0 || id >= f->vocab)
                return rt_error(RT_DATA,
                                "%s: %s must hold ids from 0 to %d (data.vocab %d); got %lld at "
                                "index %zu",
                                f->in.name, f->in.key, f->vocab - 1, f->vocab, (long long)id,
                                first + done + i);
            ids[done + i] = (int32_t)id;
        }
    }
    return rt_ok();
}

/* Validates the ids of a small file. Prepares checksums, and compares them if the file is small. */
static rt_status check_small(rt_token_run *f)
{
    enum { BLOCK = 1 << 14 };
    int32_t block[BLOCK];
    const size_t count = (size_t)f->place.count;
    const uint64_t bytes = count * f->place.width;
    if (f->in.sums.count) {
        if (f->in.sums.count != (bytes + RT_SUMMED - 1) / RT_SUMMED)
            return rt_error(RT_DATA, "%s: the file has another size than its checksums",
                            f->in.name);
        f->opened.links = 0;
        f->sound = rt_alloc(f->in.sums.count, sizeof *f->sound);
        RT_TRY(rt_allocated(f->sound, "checksums"));
        return bytes > SUMMED_FIRST ? rt_ok() : check_blocks(f, 0, count);
    }
    if (bytes > SCANNED)
        return rt_ok();
    for (size_t first = 0; first < count; first += BLOCK)
        RT_TRY(read_ids(f, first, count - first < BLOCK ? count - first : BLOCK, block));
    return rt_ok();
}

/* Ids per block of a search. */
enum { RUN_BLOCK = 256 };

static void close_run(rt_token_run *f)
{
    if (f->in.file >= 0)
        close(f->in.file);
    pthread_mutex_destroy(&f->mutex);
    rt_free(f->memory.ids);
    rt_free(f->in.sums.list);
    rt_free(f->sound);
    rt_free(f);
}

/* Returns a new run after the others, still to be filled; NULL if memory is exhausted. */
static rt_token_run *new_run(rt_tokens *tokens)
{
    const bool grown =
        rt_grow(&tokens->list, &tokens->capacity, tokens->runs + 1, sizeof *tokens->list);
    rt_token_run *run = grown ? rt_alloc(1, sizeof *run) : NULL;
    if (run) {
        run->in.file = -1;
        pthread_mutex_init(&run->mutex, NULL);
        tokens->list[tokens->runs] = run;
    }
    return run;
}

static void add_run(rt_tokens *tokens, size_t count)
{
    tokens->list[tokens->runs++]->count = count;
    tokens->count += count;
}

rt_status rt_tokens_add_ids(rt_tokens *tokens, rt_id_list ids)
{
    rt_token_run *run = new_run(tokens);
    if (!run) {
        rt_id_list_free(&ids);
        return rt_out_of_memory("the files of data");
    }
    run->memory = ids;
    add_run(tokens, ids.count);
    return rt_ok();
}

rt_status rt_tokens_add_file(rt_tokens *tokens, rt_token_input file, int vocab)
{
    rt_token_run *f = new_run(tokens);
    if (!f) {
        rt_free(file.sums.list);
        return rt_out_of_memory("a file of token ids");
    }
    f->in = file;
    f->vocab = vocab;
    rt_status status = rt_token_input_open(&f->in, &f->place);
    if (!status.code && !rt_file_state_find(&f->opened, f->in.file, NULL))
        status = rt_error(RT_DATA, "%.800s: %s (%s)", file.path, strerror(errno), file.key);
    if (!status.code)
        status = check_small(f);
    if (status.code)
        close_run(f);
    else
        add_run(tokens, (size_t)f->place.count);
    return status;
}

void rt_tokens_close(rt_tokens *tokens)
{
    for (size_t i = 0; i < tokens->runs; i++)
        close_run(tokens->list[i]);
    rt_free(tokens->list);
    *tokens = (rt_tokens){.runs = 0};
}

/* Reads ids of one run. Stores its first failure. */
static bool read_run(rt_token_run *f, size_t first, size_t count, int32_t *to)
{
    if (!f->memory.ids) {
        const rt_status status = read_ids(f, first, count, to);
        pthread_mutex_lock(&f->mutex);
        if (status.code && !f->status.code)
            f->status = status;
        pthread_mutex_unlock(&f->mutex);
        return !status.code;
    }
    if (f->memory.width == sizeof *to)
        memcpy(to, (const int32_t *)f->memory.ids + first, count * sizeof *to);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = ((const uint16_t *)f->memory.ids)[first + i];
    return true;
}

bool rt_tokens_read(const rt_tokens *tokens, size_t first, size_t count, int32_t *ids)
{
    rt_token_run *const *run = tokens->list;
    for (; first >= (*run)->count; run++)
        first -= (*run)->count;
    for (size_t done = 0; done < count; run++, first = 0) {
        const size_t there = (*run)->count - first, left = count - done,
                     n = there < left ? there : left;
        if (!read_run(*run, first, n, ids + done))
            return false;
        done += n;
    }
    return true;
}

rt_status rt_tokens_status(const rt_tokens *tokens)
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < tokens->runs && !status.code; i++) {
        rt_token_run *run = tokens->list[i];
        pthread_mutex_lock(&run->mutex);
        status = run->status;
        pthread_mutex_unlock(&run->mutex);
    }
    return status;
}

size_t rt_tokens_find(const rt_tokens *tokens, size_t first, size_t end, int32_t id, bool last)
{
    int32_t ids[RUN_BLOCK];
    while (first < end) {
        const size_t n = end - first < RUN_BLOCK ? end - first : RUN_BLOCK;
        const size_t from = last ? end - n : first;
        const bool read = rt_tokens_read(tokens, from, n, ids);
        for (size_t i = 0; read && i < n; i++)
            if (ids[last ? n - 1 - i : i] == id)
                return from + (last ? n - 1 - i : i);
        if (last)
            end = from;
        else
            first += n;
    }
    return SIZE_MAX;
}
