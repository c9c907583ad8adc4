#define _GNU_SOURCE /* mkostemp */

/* HDF5 data sets of token ids: reading in a child process, since HDF5 crashes on some forged files,
 * and writing. */

#include "core/memory.h"
#include "data/token_formats.h"
#include "util/file_lock.h"
#include "util/files.h"
#include "util/process.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limit of a chunk in bytes, and HDF5's chunk cache. */
enum { CACHE_SIZE = 32 << 20, CACHE_SLOTS = 10007 };

/* Ids per block. */
enum { BLOCK = 1 << 16 };

/* Limit of the memory in which HDF5 reads a file of tokens, beyond that of this process: its
 * caches, a chunk, and the decoding filters. */
#define HDF5_MEMORY ((size_t)512 << 20)

/* An open data set. It is never closed because the child process ends. */
typedef struct set {
    const rt_token_input *in;
    hid_t file;
    hid_t ids;
    hid_t space;
    rt_token_place place;
} set;

/* Size of HDF5's description of an error. */
enum { SAID_SIZE = 200 };

static herr_t copy_description(unsigned depth, const H5E_error2_t *error, void *said)
{
    if (depth == 0 && error->desc)
        snprintf(said, SAID_SIZE, "%s", error->desc);
    return 0;
}

/* Copies the description of the innermost error of the last HDF5 call. */
static void copy_last_error(char said[SAID_SIZE])
{
    snprintf(said, SAID_SIZE, "unknown error");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, copy_description, said);
}

static rt_status not_readable(const set *d, const char *what, const char *said)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return rt_token_refuse(
        d->in,
        "HDF5 %u.%u.%u cannot open the %s: %s; it is damaged, cut short, being written, or "
        "of a newer version of HDF5 (then write it with libver='earliest' of h5py)",
        major, minor, release, what, said);
}

/* Returns the access to a file by the plain driver, whatever the environment requests. A file that
 * cannot be locked is opened without a lock, which HDF5 would refuse. */
static hid_t plain_access(const char *path)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    bool good = access >= 0 && H5Pset_fapl_sec2(access) >= 0;
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    const int code = rt_file_lock_probe(path);
    good = good && (!code || code == EWOULDBLOCK || H5Pset_file_locking(access, false, true) >= 0);
#else
    (void)path;
#endif
    if (access >= 0 && !good)
        H5Pclose(access);
    return good ? access : -1;
}

static rt_status open_file(set *d)
{
    char said[SAID_SIZE];
    hid_t access = plain_access(d->in->path);
    if (access < 0)
        return rt_out_of_memory("an HDF5 file");
    d->file = H5Fopen(d->in->path, H5F_ACC_RDONLY, access);
    if (d->file > 0)
        return rt_ok();
    copy_last_error(said);
    if (H5Fis_hdf5(d->in->path) > 0)
        return not_readable(d, "file", said);
    return rt_token_refuse(d->in, "the file is not an HDF5 file");
}

static rt_status not_in_file(const set *d, const char *what)
{
    return rt_token_refuse(d->in, "the data set must lie in the file itself; it is %s", what);
}

static herr_t stay_in_file(const char *from, const char *group, const char *to, const char *object,
                           unsigned *flags, hid_t access, void *led_out)
{
    (void)from, (void)group, (void)to, (void)object, (void)flags, (void)access;
    *(bool *)led_out = true;
    return -1;
}

static rt_status open_dataset(set *d)
{
    char said[SAID_SIZE];
    bool led_out = false;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access < 0)
        return rt_out_of_memory("an HDF5 data set");
    if (H5Pset_elink_cb(access, stay_in_file, &led_out) >= 0 &&
        H5Pset_chunk_cache(access, CACHE_SLOTS, CACHE_SIZE, H5D_CHUNK_CACHE_W0_DEFAULT) >= 0)
        d->ids = H5Dopen2(d->file, d->in->dataset, access);
    if (d->ids > 0)
        return rt_ok();
    copy_last_error(said);
    if (led_out)
        return not_in_file(d, "a link to another");
    const bool exists = H5Oexists_by_name(d->file, d->in->dataset, H5P_DEFAULT) > 0;
    const hid_t object = exists ? H5Oopen(d->file, d->in->dataset, H5P_DEFAULT) : -1;
    if (!exists || (object >= 0 && H5Iget_type(object) != H5I_DATASET))
        return rt_token_refuse(d->in, "the file has no data set of that name");
    return not_readable(d, "data set", said);
}

static const char *kind_of(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned integers" : "integers";
    case H5T_FLOAT:
        return "floating-point numbers";
    case H5T_STRING:
        return "strings";
    default:
        return "something else";
    }
}

static rt_status check_type(set *d)
{
    hid_t type = H5Dget_type(d->ids);
    size_t size = H5Tget_size(type);
    d->place.width = size;
    d->place.swapped = H5Tget_order(type) != H5Tget_order(H5T_NATIVE_INT);
    d->place.is_unsigned = H5Tget_sign(type) == H5T_SGN_NONE;
    const bool known = d->place.is_unsigned ? size == 2 || size == 4 : size == 4 || size == 8;
    if (H5Tget_class(type) != H5T_INTEGER || !known || H5Tget_precision(type) != 8 * size)
        return rt_token_refuse(
            d->in,
            "the data set must hold uint16, uint32, int32 or int64; it holds %s of %zu "
            "bytes",
            kind_of(type), size);
    return rt_ok();
}

static rt_status check_extent(set *d)
{
    hsize_t extent = 0;
    d->space = H5Dget_space(d->ids);
    if (H5Sget_simple_extent_type(d->space) == H5S_NULL)
        return rt_token_refuse(d->in, "the data set is empty");
    int dimensions = H5Sget_simple_extent_ndims(d->space);
    if (dimensions != 1)
        return rt_token_refuse(d->in, "the data set must have one dimension; it has %d",
                               dimensions);
    if (H5Sget_simple_extent_dims(d->space, &extent, NULL) != 1 || extent == 0)
        return rt_token_refuse(d->in, "the data set is empty");
    if (extent > RT_TOKENS_LIMIT)
        return rt_token_refuse(d->in, "the data set can have up to %zu ids; it has %llu",
                               RT_TOKENS_LIMIT, (unsigned long long)extent);
    d->place.count = extent;
    return rt_ok();
}

static const char never_written[] = "parts of the data set were never written";

/* Checks the chunks. Filters that are not part of HDF5 are refused, since it would search and load
 * foreign code, and missing chunks, since HDF5 would read them as zeros. */
static rt_status check_chunks(const set *d, hid_t creation)
{
    hsize_t chunk = 0, chunks = 0;
    const size_t size = (size_t)d->place.width;
    if (H5Pget_chunk(creation, 1, &chunk) != 1 || !chunk)
        return rt_token_refuse(d->in, "HDF5 does not report the chunks of the data set");
    if (chunk > CACHE_SIZE / size)
        return rt_token_refuse(d->in,
                               "the data set can have chunks of up to %zu ids; they have %llu",
                               CACHE_SIZE / size, (unsigned long long)chunk);
    const int filters = H5Pget_nfilters(creation);
    for (int i = 0; i < filters; i++) {
        unsigned flags, configuration;
        size_t values = 0;
        char word[64] = "";
        H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL,
                                             sizeof word, word, &configuration);
        bool own = filter >= H5Z_FILTER_DEFLATE && filter <= H5Z_FILTER_SCALEOFFSET;
        if (!own || H5Zfilter_avail(filter) <= 0)
            return rt_token_refuse(
                d->in,
                "the data set is stored with filter %d (%.60s), which this HDF5 library lacks",
                filter, word);
    }
    if (H5Dget_num_chunks(d->ids, d->space, &chunks) < 0 ||
        chunks != (d->place.count - 1) / chunk + 1)
        return rt_token_refuse(d->in, "%s", never_written);
    return rt_ok();
}

static rt_status check_storage(const set *d)
{
    H5D_space_status_t written;
    const hid_t creation = H5Dget_create_plist(d->ids);
    if (creation < 0)
        return rt_token_refuse(d->in, "HDF5 does not report how the data set is stored");
    switch (H5Pget_layout(creation)) {
    case H5D_CHUNKED:
        return check_chunks(d, creation);
    case H5D_COMPACT:
    case H5D_CONTIGUOUS:
        if (H5Pget_external_count(creation) != 0)
            return not_in_file(d, "in other files");
        if (H5Dget_space_status(d->ids, &written) < 0 || written != H5D_SPACE_STATUS_ALLOCATED)
            return rt_token_refuse(d->in, "%s", never_written);
        return rt_ok();
    default:
        return not_in_file(d, "a virtual data set, made of others");
    }
}

/* Opens and checks the data set. H5dont_atexit is needed by a test that runs this in its own
 * process. */
static rt_status open_set(set *d)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    RT_TRY(open_file(d));
    RT_TRY(open_dataset(d));
    RT_TRY(check_type(d));
    RT_TRY(check_extent(d));
    return check_storage(d);
}

/* Finds the ids, as an rt_token_place. Runs in a child process. */
static rt_status find_in_child(void *input, unsigned char **place_new, size_t *size)
{
    set d = {.in = input};
    RT_TRY(open_set(&d));
    rt_token_place *place = rt_alloc(1, sizeof *place);
    RT_TRY(rt_allocated(place, "the place of token ids"));
    d.place.offset = H5Dget_offset(d.ids); /* undefined for chunked and compact data */
    d.place.in_place = d.place.offset != HADDR_UNDEF;
    *place = d.place;
    *place_new = (unsigned char *)place;
    *size = sizeof *place;
    return rt_ok();
}

static hid_t type_of(const rt_token_place *p)
{
    return p->width == sizeof(uint16_t)  ? H5T_NATIVE_UINT16
           : p->width == sizeof(int64_t) ? H5T_NATIVE_INT64
           : p->is_unsigned              ? H5T_NATIVE_UINT32
                                         : H5T_NATIVE_INT32;
}

/* Reads or writes a block of ids. */
static bool move_block(const set *d, size_t first, size_t count, void *block, bool write)
{
    const hsize_t start = first, extent = count;
    const hid_t type = type_of(&d->place);
    const hid_t memory = H5Screate_simple(1, &extent, NULL);
    bool good = H5Sselect_hyperslab(d->space, H5S_SELECT_SET, &start, NULL, &extent, NULL) >= 0;
    if (good && write)
        good = H5Dwrite(d->ids, type, memory, d->space, H5P_DEFAULT, block) >= 0;
    else if (good)
        good = H5Dread(d->ids, type, memory, d->space, H5P_DEFAULT, block) >= 0;
    H5Sclose(memory);
    return good;
}

/* Writes all ids to the descriptor in->file in native byte order. Runs in a child process. */
static rt_status decode_in_child(void *input, unsigned char **nothing, size_t *size)
{
    set d = {.in = input};
    *nothing = NULL;
    *size = 0;
    RT_TRY(open_set(&d));
    RT_OWNED unsigned char *block = rt_alloc(BLOCK, (size_t)d.place.width);
    RT_TRY(rt_allocated(block, "a block of token ids"));
    for (size_t first = 0, count = d.place.count; first < count; first += BLOCK) {
        const size_t n = count - first < BLOCK ? count - first : BLOCK;
        if (!move_block(&d, first, n, block, false))
            return rt_error(RT_DATA, "%s: %s cannot be read from id %zu to %zu", d.in->name,
                            d.in->key, first, first + n - 1);
        if (!rt_write_all(d.in->file, block, n * d.place.width))
            return rt_error(RT_IO, "cannot write a temporary file for its ids: %s",
                            strerror(errno));
    }
    return rt_ok();
}

/* Runs an HDF5 parser in a child process, whose answer is untrusted. */
static rt_status run_apart(rt_token_input *in, rt_child_work *work, rt_child_limits limits,
                           void *answer)
{
    RT_OWNED unsigned char *reply = NULL;
    size_t size;
    limits.memory = HDF5_MEMORY;
    rt_status status = rt_child_run(work, in, &limits, &reply, &size);
    if (status.code == RT_IO)
        status = rt_error(RT_IO, "%s: %s", in->name, status.message);
    else if (status.code == RT_CHECK || (!status.code && size != limits.answer))
        status = rt_token_refuse(in, "the file is damaged: %s",
                                 status.code ? status.message
                                             : "HDF5 does not report where the ids are");
    if (!status.code)
        memcpy(answer, reply, size);
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
        file = mkostemp(path, O_CLOEXEC);
        if (file >= 0)
            unlink(path);
    }
    return file;
}

/* Replaces the file by a temporary one with the decoded ids. */
static rt_status decode(rt_token_input *in, rt_token_place *place)
{
    const size_t size = (size_t)(place->count * place->width);
    const int file = temporary_file();
    const rt_child_limits limits = {.seconds = rt_child_seconds((size_t)in->size + size),
                                    .keep = file};
    char nothing;
    struct stat facts;
    if (file < 0)
        return rt_error(RT_IO, "%s: cannot make a temporary file for its ids: %s", in->name,
                        strerror(errno));
    close(in->file);
    in->file = file;
    rt_status status = run_apart(in, decode_in_child, limits, &nothing);
    place->in_place = place->swapped = place->offset = 0;
    in->size = (off_t)size;
    if (!status.code && (fstat(file, &facts) || facts.st_size != in->size))
        status = rt_token_refuse(in, "the file is damaged: HDF5 decodes it to another size");
    return status;
}

static rt_status find(rt_token_input *in, rt_token_place *place)
{
    const rt_child_limits limits = {.seconds = rt_child_seconds((size_t)in->size),
                                    .answer = sizeof *place,
                                    .keep = -1};
    return run_apart(in, find_in_child, limits, place);
}

static bool copy_ids(const rt_token_writer *ids, const set *d)
{
    FILE *from = fopen(ids->file.temporary, "rb");
    RT_OWNED void *block = rt_alloc_unset(BLOCK, ids->width);
    bool good = from && block;
    for (size_t done = 0, n; good && done < ids->count; done += n) {
        n = ids->count - done < BLOCK ? ids->count - done : BLOCK;
        good = fread(block, ids->width, n, from) == n && move_block(d, done, n, block, true);
    }
    if (from)
        fclose(from);
    return good;
}

/* Writes contiguous data, so that ids can be read in place, without the time, so that equal ids
 * give equal files. The file has the plain driver, whatever the environment requests. HDF5's
 * cleanup at exit is off: it would crash after a failed close. */
static bool copy(const char *path, const rt_token_writer *ids)
{
    const hsize_t extent = ids->count;
    set d = {.file = -1, .place.width = ids->width};
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = plain_access(path);
    if (access >= 0)
        d.file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0)
        H5Pclose(access);
    if (d.file < 0)
        return false;
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    bool good = H5Pset_obj_track_times(creation, false) >= 0;
    d.space = H5Screate_simple(1, &extent, NULL);
    d.ids =
        H5Dcreate2(d.file, "train", type_of(&d.place), d.space, H5P_DEFAULT, creation, H5P_DEFAULT);
    good = d.ids >= 0 && copy_ids(ids, &d) && good;
    good = d.ids >= 0 && H5Dclose(d.ids) >= 0 && good;
    H5Sclose(d.space);
    H5Pclose(creation);
    return H5Fclose(d.file) >= 0 && good;
}

const rt_token_format rt_hdf5_format = {.endings = {".h5", ".hdf5"},
                                        .sets = true,
                                        .most_width = sizeof(int32_t),
                                        .find = find,
                                        .decode = decode,
                                        .copy = copy};
