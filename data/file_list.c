#include "data/file_list.h"

#include "core/memory.h"
#include "text/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Bytes of a list item with its final zero. */
enum { ITEM_SIZE = RT_FILE_LIST_SIZE };

/* Range of a weight: the sum of the weights of a list neither overflows nor loses one of them to
 * underflow. */
#define LEAST_WEIGHT 1e-100
#define MOST_WEIGHT  1e100

/* The ':' before the data set in "file.h5:/dataset", NULL if there is none. A path may hold a ':'
 * and even a ":/", hence the last one. */
static char *find_dataset(char *name, bool any_set)
{
    char *colon = NULL;
    for (char *at = name; (at = strstr(at, ":/")); at++)
        colon = at;
    if (!colon || colon == name)
        return NULL;
    *colon = '\0';
    const bool is_set = any_set || rt_path_ends_in(name, ".h5") || rt_path_ends_in(name, ".hdf5");
    *colon = ':';
    return is_set ? colon : NULL;
}

/* Returns whether a text is written as a number, even one that no double can hold. */
static bool looks_like_number(const char *text)
{
    return *text && !text[strspn(text, "+-.0123456789eE")] && strpbrk(text, "0123456789");
}

/* The '*' before the weight of a file; NULL without one, such as in a name that has a '*'. */
static char *find_weight(char *name)
{
    char *star = strrchr(name, '*');
    return star && star > name && looks_like_number(star + 1 + strspn(star + 1, " ")) ? star : NULL;
}

/* Takes an item apart; the size of its path is what it would have without a limit. */
static const char *take(const char *list, bool any_set, rt_data_file *file, size_t *size)
{
    char name[ITEM_SIZE];
    rt_list_item item;
    const char *rest = rt_list_take(list, &item);
    rt_list_item_copy(item, name, sizeof name);
    *file = (rt_data_file){.weight = 1};
    char *star = find_weight(name);
    if (star) {
        *star = '\0';
        file->weighted = true;
        if (!rt_number_read(star + 1 + strspn(star + 1, " "), &file->weight))
            file->weight = 0;
    }
    for (size_t end = strlen(name); star && end && name[end - 1] == ' '; end--)
        name[end - 1] = '\0';
    char *colon = find_dataset(name, any_set);
    if (colon) {
        *colon = '\0';
        snprintf(file->dataset, sizeof file->dataset, "%.*s", RT_PATH_SIZE - 1, colon + 1);
    }
    file->ids = colon || rt_path_ends_in(name, ".bin") || rt_path_ends_in(name, ".npy");
    *size = strlen(name);
    snprintf(file->path, sizeof file->path, "%.*s", RT_PATH_SIZE - 1, name);
    return rest;
}

const char *rt_data_file_take(const char *list, bool any_set, rt_data_file *file)
{
    size_t size;
    return take(list, any_set, file, &size);
}

bool rt_data_files_weighted(const char *list, bool any_set)
{
    rt_data_file file = {.weighted = false};
    while (list && !file.weighted)
        list = rt_data_file_take(list, any_set, &file);
    return file.weighted;
}

static bool check_file(const char *key, const rt_data_file *file, size_t size, bool only_ids,
                       rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", key);
    const bool mixes = !strcmp(key, "data.file");
    if (only_ids && !file->ids)
        rt_rule_broken(to, options,
                       "%s must name a file and a data set for tokens, as in ids.h5:/train, or a "
                       "file that ends in .bin or .npy; got '%.600s'",
                       key, file->path);
    else if (!file->ids &&
             (rt_path_ends_in(file->path, ".h5") || rt_path_ends_in(file->path, ".hdf5")))
        rt_rule_broken(to, options,
                       "%s must name the data set of an HDF5 file behind it, as in ids.h5:/train; "
                       "got '%.600s'",
                       key, file->path);
    else if (!size)
        rt_rule_broken(to, options, "%s must name a file; got an empty name", key);
    else if (size >= RT_PATH_SIZE)
        rt_rule_broken(to, options, "%s must name files with less than %d bytes; got %zu", key,
                       RT_PATH_SIZE, size);
    else if (file->weighted && !mixes)
        rt_rule_broken(to, options, "%s takes no weights; got one for %.600s", key, file->path);
    else if (!(file->weight >= LEAST_WEIGHT && file->weight <= MOST_WEIGHT))
        rt_rule_broken(to, options, "%s: the weight of %.600s must be a number from %g to %g", key,
                       file->path, LEAST_WEIGHT, MOST_WEIGHT);
    else
        return true;
    return false;
}

void rt_data_files_check(const char *key, const char *list, bool only_ids, rt_rule_sink to)
{
    rt_data_file file;
    size_t size;
    list = list ? list : "";
    for (bool good = true; list && good;) {
        list = take(list, only_ids, &file, &size);
        good = check_file(key, &file, size, only_ids, to);
    }
}

/* ---- digests ---- */

enum { BLOCK = 1 << 20 };

static void write_digest(char digest[RT_DIGEST_SIZE], XXH128_hash_t hash)
{
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    for (size_t i = 0; i < sizeof bytes.digest; i++)
        snprintf(digest + 2 * i, 3, "%02x", bytes.digest[i]);
}

void rt_digest_bytes(char digest[RT_DIGEST_SIZE], const void *bytes, size_t size)
{
    write_digest(digest, XXH3_128bits(bytes, size));
}

void rt_digest_text(char digest[RT_DIGEST_SIZE], const char *text)
{
    rt_digest_bytes(digest, text, strlen(text));
}

uint64_t rt_checksum(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* An rt_digest is a state of xxHash. */
rt_digest *rt_digest_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return (rt_digest *)state;
}

void rt_digest_add(rt_digest *d, const void *bytes, size_t size)
{
    XXH3_128bits_update((XXH3_state_t *)d, bytes, size);
}

void rt_digest_end(rt_digest *d, char digest[RT_DIGEST_SIZE])
{
    XXH3_state_t *state = (XXH3_state_t *)d;
    write_digest(digest, XXH3_128bits_digest(state));
    XXH3_128bits_reset(state);
}

void rt_digest_free(rt_digest *d)
{
    XXH3_freeState((XXH3_state_t *)d);
}

/* Returns how many bytes there were; errno is 0 unless one could not be read. */
static size_t digest_all(XXH3_state_t *state, unsigned char *block, int file)
{
    size_t done = 0;
    ssize_t got = 1;
    errno = 0;
    while (got > 0) {
        got = read(file, block, BLOCK);
        if (got > 0) {
            XXH3_128bits_update(state, block, (size_t)got);
            done += (size_t)got;
        } else if (got < 0 && errno == EINTR) {
            got = 1;
            errno = 0;
        }
    }
    return done;
}

rt_status rt_digest_file(char digest[RT_DIGEST_SIZE], const char *key, const char *path,
                         size_t size)
{
    unsigned char *block = rt_alloc_unset(BLOCK, 1);
    XXH3_state_t *state = XXH3_createState();
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    rt_status status = rt_ok();
    *digest = '\0';
    if (file < 0) {
        status = rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), key);
    } else if (!block || !state || XXH3_128bits_reset(state) != XXH_OK) {
        status = rt_out_of_memory("the digest of a file");
    } else {
        const size_t done = digest_all(state, block, file);
        if (errno)
            status = rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), key);
        else if (done != size)
            status = rt_error(RT_DATA, "%.800s: %s changed while it was read: %zu bytes of %zu",
                              path, key, done, size);
        else
            write_digest(digest, XXH3_128bits_digest(state));
    }
    if (file >= 0)
        close(file);
    XXH3_freeState(state);
    rt_free(block);
    return status;
}
