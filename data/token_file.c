/* Token ids: in memory, in files of other programs and of rotor, and as one long run. */

#include "core/memory.h"
#include "core/path.h"
#include "data/task.h"
#include "util/files.h"
#include "util/number.h"
#include "util/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { IS_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

size_t rt_id_width(int vocab)
{
    return vocab <= UINT16_MAX + 1 ? sizeof(uint16_t) : sizeof(int32_t);
}

void rt_id_list_reserve(rt_id_list *list, size_t capacity)
{
    list->failed |= !rt_grow(&list->ids, &list->capacity, capacity, list->width);
}

void rt_id_list_add(void *context, int32_t id)
{
    rt_id_list *list = context;
    if (list->count == list->capacity)
        rt_id_list_reserve(list, list->capacity + 1);
    if (list->failed)
        return;
    if (list->width == sizeof(uint16_t))
        ((uint16_t *)list->ids)[list->count++] = (uint16_t)id;
    else
        ((int32_t *)list->ids)[list->count++] = id;
}

void rt_id_list_free(rt_id_list *list)
{
    rt_free(list->ids);
    *list = (rt_id_list){.width = list->width};
}

/* Reads up to `size` bytes from the start of a file. */
static rt_status read_start(const rt_token_input *in, unsigned char *to, size_t size, size_t *got)
{
    const ssize_t n = rt_read_at(in->file, to, size, 0);
    *got = n < 0 ? 0 : (size_t)n;
    return n < 0 ? rt_token_refuse(in, "%s", strerror(errno)) : rt_ok();
}

enum { BIN_HEADER = 1024 };

static uint32_t little_at(const unsigned char *bytes, int i)
{
    return (uint32_t)rt_little_endian(bytes + 4 * i, 4);
}

/* Header of a file of llm.c. */
typedef struct llmc_header {
    uint32_t magic, version; /* version 0: not a file of tokens */
    uint64_t width;          /* bytes per id */
    const char *what;
} llmc_header;

/* Returns the llm.c header with the magic number of a file, NULL if there is none. */
static const llmc_header *llmc_header_of(const unsigned char *start, size_t got)
{
    static const llmc_header headers[] = {{20240520, 1, 2, "tokens"},
                                          {20240801, 7, 4, "tokens"},
                                          {20240326, 0, 0, "a model"},
                                          {20240803, 0, 0, "a model"},
                                          {20240327, 0, 0, "a state"},
                                          {20240328, 0, 0, "a tokenizer"},
                                          {20240522, 0, 0, "an evaluation"}};
    for (size_t i = 0; got >= 8 && i < sizeof headers / sizeof *headers; i++)
        if (headers[i].magic == little_at(start, 0))
            return &headers[i];
    return NULL;
}

static rt_status find_in_bin(const rt_token_input *in, rt_token_place *place)
{
    unsigned char start[BIN_HEADER];
    const uint64_t size = (uint64_t)in->size;
    size_t got;
    rt_status status = read_start(in, start, sizeof start, &got);
    if (status.code)
        return status;
    const llmc_header *header = llmc_header_of(start, got);
    *place = (rt_token_place){.width = header ? header->width : 2,
                              .is_unsigned = 1,
                              .in_place = 1,
                              .swapped = !IS_LITTLE_ENDIAN,
                              .offset = header ? BIN_HEADER : 0};
    if (!header) {
        place->count = size / 2;
        return size % 2 == 0 ? rt_ok()
                             : rt_token_refuse(in,
                                               "a .bin file holds ids of 2 bytes; it has an odd "
                                               "number of bytes, %" PRIu64,
                                               size);
    }
    if (!header->version)
        return rt_token_refuse(in, "the file is %s of llm.c and holds no token ids", header->what);
    if (little_at(start, 1) != header->version)
        return rt_token_refuse(in,
                               "the file has a header of llm.c (magic number %" PRIu32
                               ") of version %" PRIu32 "; rotor reads version %" PRIu32,
                               header->magic, little_at(start, 1), header->version);
    if (got < BIN_HEADER)
        return rt_token_refuse(in,
                               "the file is cut short: a header of llm.c has %d bytes, the file "
                               "has %zu",
                               BIN_HEADER, got);
    place->count = little_at(start, 2);
    if (place->count * place->width != size - BIN_HEADER)
        return rt_token_refuse(in,
                               "the header says %" PRIu64 " ids of %" PRIu64 " bytes; %" PRIu64
                               " bytes follow it",
                               place->count, place->width, size - BIN_HEADER);
    return rt_ok();
}

static const char npy_magic[] = "\x93NUMPY";
enum { NPY_MAGIC = 6, NPY_VERSIONS = 3, NPY_START = 10, NPY_TEXT = 4096 };

/* Returns the text after 'name' in the header's dictionary, NULL if it is missing. */
static const char *value_of(const char *header, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", name);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at++ != ':')
        return NULL;
    return at + strspn(at, " ");
}

/* Returns the length of a type to print: a quoted word, or a shortened list of fields. */
static int length_of_type(const char *type)
{
    enum { SHOWN = 60 };
    if (!type || (*type != '\'' && *type != '['))
        return SHOWN;
    const char *end = strchr(type + 1, *type == '[' ? ']' : '\'');
    return end && end - type < SHOWN ? (int)(end - type) + 1 : SHOWN;
}

static rt_status read_type(const rt_token_input *in, const char *header, rt_token_place *place)
{
    static const char *const types[] = {"u2", "u4", "i4", "i8"};
    const char *type = value_of(header, "descr");
    const bool ordered = type && *type == '\'' && strchr("<>=|", type[1]) && type[1];
    for (size_t i = 0; ordered && i < sizeof types / sizeof *types; i++) {
        if (strncmp(type + 2, types[i], 2) != 0 || type[4] != '\'')
            continue;
        place->is_unsigned = types[i][0] == 'u';
        place->width = (uint64_t)(types[i][1] - '0');
        place->swapped = type[1] == (IS_LITTLE_ENDIAN ? '>' : '<');
        return rt_ok();
    }
    return rt_token_refuse(in,
                           "the array must be of uint16, uint32, int32 or int64; its type is %.*s",
                           length_of_type(type), type ? type : "missing");
}

static rt_status find_in_npy(const rt_token_input *in, rt_token_place *place)
{
    unsigned char start[NPY_START + 2 + NPY_TEXT + 1];
    size_t got;
    rt_status status = read_start(in, start, sizeof start - 1, &got);
    if (status.code)
        return status;
    if (got < NPY_START + 2 || memcmp(start, npy_magic, NPY_MAGIC) != 0)
        return rt_token_refuse(in, "the file is not a .npy file of NumPy");
    if (start[NPY_MAGIC] < 1 || start[NPY_MAGIC] > NPY_VERSIONS || start[NPY_MAGIC + 1])
        return rt_token_refuse(in,
                               "the file is a .npy file of version %d.%d; rotor reads versions "
                               "1.0 to %d.0",
                               start[NPY_MAGIC], start[NPY_MAGIC + 1], NPY_VERSIONS);
    const size_t before = start[NPY_MAGIC] == 1 ? NPY_START : NPY_START + 2;
    const size_t size = (size_t)rt_little_endian(start + 8, before - 8);
    if (size > NPY_TEXT || before + size > got)
        return rt_token_refuse(in, "the header of the .npy file is damaged");
    start[before + size] = '\0';
    *place = (rt_token_place){.in_place = 1, .offset = before + size};
    status = read_type(in, (const char *)start + before, place);
    if (status.code)
        return status;
    const char *shape = value_of((const char *)start + before, "shape");
    char *end;
    errno = 0;
    const bool begins = shape && *shape == '(' && isdigit((unsigned char)shape[1]);
    const unsigned long long count = begins ? strtoull(shape + 1, &end, 10) : 0;
    if (!begins || errno || *end != ',' || end[1 + strspn(end + 1, " ")] != ')')
        return rt_token_refuse(in, "the array must have one dimension");
    const uint64_t left = (uint64_t)in->size - place->offset;
    if (count > left / place->width)
        return rt_token_refuse(in, "the file is cut short: of %llu ids it holds %" PRIu64, count,
                               left / place->width);
    place->count = count;
    return rt_ok();
}

void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns)
{
    char text[RT_NPY_HEADER], second[24] = "";
    const int size = RT_NPY_HEADER - NPY_START;
    if (columns)
        snprintf(second, sizeof second, " %zu", columns);
    const int length = snprintf(text, sizeof text,
                                "{'descr': '%c%s', 'fortran_order': False, 'shape': (%zu,%s), }",
                                IS_LITTLE_ENDIAN ? '<' : '>', type, rows, second);
    memset(header, ' ', RT_NPY_HEADER);
    memcpy(header, npy_magic, NPY_MAGIC);
    header[NPY_MAGIC] = 1;
    header[NPY_MAGIC + 1] = 0;
    header[8] = (unsigned char)size;
    header[9] = 0;
    memcpy(header + NPY_START, text, (size_t)length);
    header[RT_NPY_HEADER - 1] = '\n';
}

void rt_npy_header_of_ids(unsigned char header[RT_NPY_HEADER], size_t width, size_t count)
{
    rt_npy_header(header, width == sizeof(uint16_t) ? "u2" : "i4", count, 0);
}

rt_status rt_token_writer_open(rt_token_writer *w, const char *path, bool header, size_t width)
{
    unsigned char bytes[RT_NPY_HEADER];
    *w = (rt_token_writer){.header = header, .width = width};
    rt_status status = rt_durable_open(&w->file, path);
    rt_npy_header_of_ids(bytes, width, 0);
    return status.code || !header ? status : rt_durable_write(&w->file, bytes, sizeof bytes);
}

rt_status rt_token_writer_take(void *writer, rt_id_list *ids)
{
    rt_token_writer *w = writer;
    w->count += ids->count;
    return rt_durable_write(&w->file, ids->ids, ids->count * w->width);
}

/* Rewrites the header with the number of ids. Its size does not change. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status)
{
    unsigned char bytes[RT_NPY_HEADER];
    rt_npy_header_of_ids(bytes, w->width, w->count);
    if (!status.code && w->header &&
        pwrite(w->file.descriptor, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        status = rt_error(RT_IO, "cannot write %s: %s", w->file.temporary, strerror(errno));
    return rt_durable_close(&w->file, status);
}

/* Ids per read. */
enum { PIECE = 1 << 10 };

/* Limit of the memory in which HDF5 reads a file of tokens, beyond that of this process: its
 * caches, a chunk, and the decoding filters. */
#define HDF5_MEMORY ((size_t)512 << 20)

/* Largest file whose ids are all checked when it is opened, which takes less than a second. */
#define SCANNED ((uint64_t)256 << 20)

/* Largest file whose checksums are all checked when it is opened. */
#define SUMMED_FIRST ((uint64_t)1 << 30)

typedef struct rt_token_run {
    size_t count;
    rt_id_list memory; /* ids in memory; empty: the run is a file */
    rt_token_input in;
    int vocab;
    char *own_path;       /* path of a file that rotor wrote, whose name may disappear; else NULL */
    rt_token_sums sums;   /* of a file that rotor wrote */
    atomic_bool *sound;   /* (sums.count): the block was checked */
    rt_token_place place; /* place of the ids in the file */
    struct stat opened;
    pthread_mutex_t mutex;
    rt_status status; /* first failed read */
} rt_token_run;

static rt_status changed(const rt_token_run *f, const char *how)
{
    return rt_error(RT_DATA, "%s: %s %s while it was in use", f->in.name, f->in.key, how);
}

/* Checks that a file was not truncated, rewritten or replaced: other ids would change a running
 * training. */
static rt_status check_unchanged(const rt_token_run *f)
{
    struct stat now;
    if (fstat(f->in.file, &now) || now.st_size < f->in.size)
        return changed(f, "became shorter");
    if (!f->own_path && now.st_nlink < f->opened.st_nlink)
        return changed(f, "was replaced or removed");
    if (now.st_size != f->opened.st_size || now.st_mtim.tv_sec != f->opened.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != f->opened.st_mtim.tv_nsec)
        return changed(f, "was changed");
    return rt_ok();
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
    rt_status status = read_bytes(f, first, n, bytes);
    if (!status.code && XXH3_64bits(bytes, n * width) != f->sums.list[block]) {
        struct stat named;
        if (!stat(f->own_path, &named) && named.st_ino == f->opened.st_ino &&
            named.st_dev == f->opened.st_dev)
            unlink(f->own_path);
        status = rt_error(RT_DATA,
                          "%s: the ids from %zu to %zu are damaged; the file was removed, and the "
                          "next run makes it again",
                          f->in.name, first, first + n - 1);
    }
    if (!status.code)
        atomic_store_explicit(&f->sound[block], true, memory_order_relaxed);
    return status;
}

/* Compares the blocks of these ids with their checksums, unless already done. */
static rt_status check_blocks(const rt_token_run *f, size_t first, size_t count)
{
    const size_t whole = RT_SUMMED / (size_t)f->place.width;
    rt_status status = rt_ok();
    if (!f->sums.count || !count)
        return status;
    for (size_t b = first / whole; b <= (first + count - 1) / whole && !status.code; b++)
        if (!atomic_load_explicit(&f->sound[b], memory_order_relaxed))
            status = check_block(f, b);
    return status;
}

/* Reads and checks ids: the file may have changed since it was opened. */
static rt_status read_ids(const rt_token_run *f, size_t first, size_t count, int32_t *ids)
{
    int64_t piece[PIECE];
    rt_status status = check_unchanged(f);
    if (!status.code)
        status = check_blocks(f, first, count);
    for (size_t done = 0; done < count && !status.code; done += PIECE) {
        const size_t n = count - done < PIECE ? count - done : PIECE;
        status = read_bytes(f, first + done, n, piece);
        for (size_t i = 0; i < n && !status.code; i++) {
            const int64_t id = id_at(&f->place, piece, i);
            if (id < 0 || id >= f->vocab)
                status = rt_error(RT_DATA,
                                  "%s: %s must hold ids from 0 to %d (data.vocab %d); got %lld at "
                                  "index %zu",
                                  f->in.name, f->in.key, f->vocab - 1, f->vocab, (long long)id,
                                  first + done + i);
            else
                ids[done + i] = (int32_t)id;
        }
    }
    return status;
}

/* Validates the ids of a small file. For a file that rotor wrote, prepares its checksums, and
 * compares them if the file is small. */
static rt_status check_small(rt_token_run *f)
{
    enum { BLOCK = 1 << 14 };
    int32_t block[BLOCK];
    const size_t count = (size_t)f->place.count;
    const uint64_t bytes = count * f->place.width;
    rt_status status = rt_ok();
    if (f->own_path) {
        if (f->sums.count != (bytes + RT_SUMMED - 1) / RT_SUMMED)
            return rt_error(RT_DATA, "%s: the file has another size than its checksums",
                            f->in.name);
        f->sound = rt_alloc(f->sums.count, sizeof *f->sound);
        if (!f->sound)
            return rt_out_of_memory("checksums");
        return bytes > SUMMED_FIRST ? status : check_blocks(f, 0, count);
    }
    if (bytes > SCANNED)
        return status;
    for (size_t first = 0; first < count && !status.code; first += BLOCK)
        status = read_ids(f, first, count - first < BLOCK ? count - first : BLOCK, block);
    return status;
}

/* Runs an HDF5 parser in a child process, whose answer is untrusted. */
static rt_status parse_hdf5(rt_token_run *f, rt_child_work *work, rt_child_limits limits,
                            void *answer)
{
    unsigned char *reply;
    size_t size;
    limits.memory = HDF5_MEMORY;
    rt_status status = rt_child_run(work, &f->in, &limits, &reply, &size);
    if (status.code == RT_IO)
        status = rt_error(RT_IO, "%s: %s", f->in.name, status.message);
    else if (status.code == RT_CHECK || (!status.code && size != limits.answer))
        status = rt_token_refuse(&f->in, "the file is damaged: %s",
                                 status.code ? status.message
                                             : "HDF5 does not report where the ids are");
    if (!status.code)
        memcpy(answer, reply, size);
    rt_free(reply);
    return status;
}

/* Creates an unnamed file, which disappears when it is closed. */
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

/* Replaces the file by a temporary one with the decoded ids. */
static rt_status decode(rt_token_run *f)
{
    const size_t size = (size_t)(f->place.count * f->place.width);
    const int file = temporary_file();
    const rt_child_limits limits = {.seconds = rt_child_seconds((size_t)f->in.size + size),
                                    .keep = file};
    char nothing;
    struct stat facts;
    if (file < 0)
        return rt_error(RT_IO, "%s: cannot make a temporary file for its ids: %s", f->in.name,
                        strerror(errno));
    close(f->in.file);
    f->in.file = file;
    rt_status status = parse_hdf5(f, rt_token_dataset_decode, limits, &nothing);
    f->place.in_place = f->place.swapped = f->place.offset = 0;
    f->in.size = (off_t)size;
    if (!status.code && (fstat(file, &facts) || facts.st_size != f->in.size))
        status = rt_token_refuse(&f->in, "the file is damaged: HDF5 decodes it to another size");
    return status;
}

/* Opens a file and finds its ids. Only HDF5 files need a child process. */
static rt_status open_file(rt_token_run *f)
{
    rt_status status = rt_file_measure(f->in.key, f->in.path, &f->in.size);
    if (status.code)
        return status;
    const rt_child_limits limits = {.seconds = rt_child_seconds((size_t)f->in.size),
                                    .answer = sizeof f->place,
                                    .keep = -1};
    f->in.file = open(f->in.path, O_RDONLY | O_CLOEXEC);
    if (f->in.file >= 0)
        status = *f->in.dataset ? parse_hdf5(f, rt_token_dataset_find, limits, &f->place)
                 : rt_path_ends_in(f->in.path, ".bin") ? find_in_bin(&f->in, &f->place)
                                                       : find_in_npy(&f->in, &f->place);
    const rt_token_place *p = &f->place;
    const uint64_t size = (uint64_t)f->in.size;
    const bool found = !status.code && f->in.file >= 0;
    if (found && !p->count)
        status = rt_token_refuse(&f->in, "the file holds no id");
    else if (found &&
             (p->count > RT_TOKENS_LIMIT ||
              (p->width != sizeof(uint16_t) && p->width != sizeof(int32_t) &&
               p->width != sizeof(int64_t)) ||
              (p->in_place && (p->offset > size || p->count > (size - p->offset) / p->width))))
        status = rt_token_refuse(&f->in, "the file is damaged: ids lie outside of it");
    if (!status.code && f->in.file >= 0 && !f->place.in_place)
        status = decode(f);
    if (f->in.file < 0 || (!status.code && fstat(f->in.file, &f->opened)))
        status = rt_error(RT_DATA, "%.800s: %s (%s)", f->in.path, strerror(errno), f->in.key);
    return status;
}

/* Ids per block of a search. */
enum { RUN_BLOCK = 256 };

static void close_run(rt_token_run *f)
{
    if (f->in.file >= 0)
        close(f->in.file);
    pthread_mutex_destroy(&f->mutex);
    rt_free(f->memory.ids);
    rt_free(f->own_path);
    rt_free(f->sums.list);
    rt_free(f->sound);
    rt_free(f);
}

/* Returns a new run after the others, still to be filled; NULL if memory is exhausted. */
static rt_token_run *new_run(rt_token_runs *runs)
{
    const bool grown = rt_grow(&runs->list, &runs->capacity, runs->count + 1, sizeof *runs->list);
    rt_token_run *run = grown ? rt_alloc(1, sizeof *run) : NULL;
    if (run) {
        run->in.file = -1;
        pthread_mutex_init(&run->mutex, NULL);
        runs->list[runs->count] = run;
    }
    return run;
}

static void add_run(rt_token_runs *runs, size_t count)
{
    runs->list[runs->count++]->count = count;
    runs->tokens += count;
}

rt_status rt_token_runs_add_ids(rt_token_runs *runs, rt_id_list ids)
{
    rt_token_run *run = new_run(runs);
    if (!run) {
        rt_id_list_free(&ids);
        return rt_out_of_memory("the files of data");
    }
    run->memory = ids;
    add_run(runs, ids.count);
    return rt_ok();
}

rt_status rt_token_runs_add_file(rt_token_runs *runs, const char *key, const rt_data_file *file,
                                 int vocab, rt_token_sums *sums)
{
    rt_token_run *f = new_run(runs);
    if (!f) {
        if (sums)
            rt_free(sums->list);
        return rt_out_of_memory("a file of token ids");
    }
    f->in = (rt_token_input){.key = key, .path = file->path, .dataset = file->dataset, .file = -1};
    f->vocab = vocab;
    snprintf(f->in.name, sizeof f->in.name, "%.500s%s%.200s", file->path, *file->dataset ? ":" : "",
             file->dataset);
    if (sums) {
        f->sums = *sums;
        f->own_path = rt_copy_text(file->path);
    }
    rt_status status = sums && !f->own_path ? rt_out_of_memory("a path") : open_file(f);
    if (!status.code)
        status = check_small(f);
    if (status.code)
        close_run(f);
    else
        add_run(runs, (size_t)f->place.count);
    return status;
}

void rt_token_runs_close(rt_token_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        close_run(runs->list[i]);
    rt_free(runs->list);
    *runs = (rt_token_runs){.count = 0};
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

bool rt_token_runs_read(const rt_token_runs *runs, size_t first, size_t count, int32_t *ids)
{
    rt_token_run *const *run = runs->list;
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

rt_status rt_data_status(const rt_data *data)
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < data->runs.count && !status.code; i++) {
        rt_token_run *run = data->runs.list[i];
        pthread_mutex_lock(&run->mutex);
        status = run->status;
        pthread_mutex_unlock(&run->mutex);
    }
    return status;
}

size_t rt_token_runs_find(const rt_token_runs *runs, size_t first, size_t end, int32_t id,
                          bool last)
{
    int32_t ids[RUN_BLOCK];
    while (first < end) {
        const size_t n = end - first < RUN_BLOCK ? end - first : RUN_BLOCK;
        const size_t from = last ? end - n : first;
        const bool read = rt_token_runs_read(runs, from, n, ids);
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
