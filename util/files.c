#define _GNU_SOURCE /* memfd_create */

#include "util/files.h"

#include "core/memory.h"
#include "util/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path in a message, truncated to leave room for the message. */
#define PATH "%.800s"

static rt_status file_error(const char *key, const char *path, int number)
{
    return rt_error(RT_DATA, PATH ": %s (%s)", path, strerror(number), key);
}

rt_status rt_file_measure(const char *key, const char *path, off_t *size)
{
    const bool is_option = *key == '-'; /* such as --vocab */
    struct stat facts;
    *size = 0;
    if (stat(path, &facts))
        return file_error(key, path, errno);
    if (S_ISDIR(facts.st_mode))
        return file_error(key, path, EISDIR);
    if (!S_ISREG(facts.st_mode))
        return rt_error(RT_DATA, PATH ": %s %s a regular file", path, key,
                        is_option ? "needs" : "must be");
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
        return file_error(key, path, errno);
    *size = facts.st_size;
    return rt_ok();
}

/* Opens a regular file and finds its size. Returns -1, with errno, for anything else. */
static int open_regular(const char *path, off_t *size)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && !fstat(file, &facts) && S_ISREG(facts.st_mode)) {
        *size = facts.st_size;
        return file;
    }
    if (file >= 0) {
        close(file);
        errno = EINVAL;
    }
    return -1;
}

rt_status rt_file_read(const char *key, const char *path, unsigned char **bytes_new, size_t *count)
{
    const bool is_option = *key == '-';
    off_t there;
    *bytes_new = NULL;
    *count = 0;
    RT_TRY(rt_file_measure(key, path, &there));
    const size_t size = (size_t)there;
    if (!size)
        return rt_error(RT_DATA, PATH ": %s %s text; the file is empty", path, key,
                        is_option ? "needs" : "must hold");
    if (size > RT_FILES_LIMIT)
        return rt_error(RT_DATA, PATH ": %s %s up to %zu bytes; the file has %zu", path, key,
                        is_option ? "takes files of" : "can be read", RT_FILES_LIMIT, size);
    *bytes_new = (unsigned char *)rt_read_bytes(path, there, count);
    if (*bytes_new && *count == size)
        return rt_ok();
    const int number = *bytes_new ? EIO : errno;
    rt_free(*bytes_new);
    *bytes_new = NULL;
    if (number == ENOMEM)
        return rt_out_of_memory(key);
    return number != EIO && number != EFBIG
               ? file_error(key, path, number)
               : rt_error(RT_DATA, PATH ": %s changed while it was read: %zu bytes of %zu", path,
                          key, *count, size);
}

bool rt_file_state_find(rt_file_state *state, int file, const char *path)
{
    struct stat s;
    if (file < 0 ? stat(path, &s) : fstat(file, &s))
        return false;
    *state = (rt_file_state){.device = s.st_dev,
                             .inode = s.st_ino,
                             .links = s.st_nlink,
                             .size = s.st_size,
                             .modified = {s.st_mtim.tv_sec, s.st_mtim.tv_nsec},
                             .changed = {s.st_ctim.tv_sec, s.st_ctim.tv_nsec}};
    return true;
}

const char *rt_file_change(const rt_file_state *before, int file, bool strictly)
{
    rt_file_state now;
    if (!rt_file_state_find(&now, file, NULL) || now.size < before->size)
        return "became shorter";
    if (now.links < before->links)
        return "was replaced or removed";
    const bool same = strictly ? !memcmp(&now, before, sizeof now)
                               : now.size == before->size &&
                                     !memcmp(now.modified, before->modified, sizeof now.modified);
    return same ? NULL : "was changed";
}

ssize_t rt_read_at(int file, void *to, size_t size, off_t at)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(file, (char *)to + done, size - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

FILE *rt_open_regular(const char *path)
{
    off_t size;
    const int descriptor = open_regular(path, &size);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    if (!file && descriptor >= 0)
        close(descriptor);
    return file;
}

char *rt_read_bytes(const char *path, long most, size_t *count)
{
    off_t size;
    const int file = open_regular(path, &size);
    *count = 0;
    if (file < 0)
        return NULL;
    /* one byte more, to detect a file that grows */
    char *bytes = size > most ? NULL : rt_alloc((size_t)size + 1, 1);
    const ssize_t got = bytes ? rt_read_at(file, bytes, (size_t)size + 1, 0) : -1;
    const int number = size > most ? EFBIG : !bytes ? ENOMEM : got < 0 ? errno : EIO;
    close(file);
    *count = (size_t)(size > most ? size : got < 0 ? 0 : got);
    if (got == size)
        return bytes;
    rt_free(bytes);
    errno = number;
    return NULL;
}

/* Copies the content of a pipe up to the first byte beyond `most`. */
static bool copy_pipe(int from, int to, size_t most)
{
    char bytes[BUFSIZ];
    ssize_t count = 1;
    for (size_t all = 0; count && all <= most; all += count > 0 ? (size_t)count : 0) {
        count = read(from, bytes, sizeof bytes);
        if (count < 0 ? errno != EINTR : !rt_write_all(to, bytes, (size_t)count))
            return false;
    }
    return true;
}

rt_status rt_file_make_rereadable(const char *path, size_t most)
{
    enum { MOST_DESCRIPTORS = 1 << 16 };
    struct stat pipe, other;
    int copy = -1;
    bool good = true;
    if (stat(path, &pipe) || !S_ISFIFO(pipe.st_mode))
        return rt_ok();
    for (int i = 0; i < MOST_DESCRIPTORS && good; i++) {
        if (fstat(i, &other) || other.st_dev != pipe.st_dev || other.st_ino != pipe.st_ino ||
            (fcntl(i, F_GETFL) & O_ACCMODE) == O_WRONLY)
            continue;
        if (copy < 0) { /* it stays open in what this process becomes */
            copy = memfd_create("pipe", 0);
            good = copy >= 0 && copy_pipe(i, copy, most);
        }
        good = good && dup2(copy, i) >= 0; /* at its end; opening the path begins anew */
    }
    const rt_status status =
        !good ? rt_error(RT_IO, PATH ": the pipe cannot be read: %s", path, strerror(errno))
        : copy < 0
            ? rt_error(RT_ARGUMENT, PATH " is a pipe that cannot be read again; give a file", path)
            : rt_ok();
    if (copy >= 0)
        close(copy);
    return status;
}

bool rt_is_lfs_pointer(const char *bytes, size_t size)
{
    static const char begin[] = "version https://git-lfs";
    return size >= sizeof begin - 1 && !memcmp(bytes, begin, sizeof begin - 1);
}

char *rt_read_text(const char *path)
{
    size_t count;
    return rt_read_bytes(path, RT_TEXT_FILE_BYTES, &count);
}

bool rt_write_all(int file, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        const ssize_t written = write(file, from, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (written <= 0)
            return false;
        from += written;
        size -= (size_t)written;
    }
    return true;
}

bool rt_folder_has(const char *folder, const char *name)
{
    return !access(RT_PATH_IN(folder, name), F_OK);
}

bool rt_is_own_folder(const char *path)
{
    struct stat found;
    return !lstat(path, &found) && S_ISDIR(found.st_mode);
}

void rt_folder_clear(const char *folder, const char *const *patterns)
{
    const struct dirent *entry;
    DIR *directory = rt_is_own_folder(folder) ? opendir(folder) : NULL;
    if (!directory)
        return;
    while ((entry = readdir(directory)))
        for (const char *const *p = patterns; *p; p++)
            if (!fnmatch(*p, entry->d_name, FNM_PERIOD))
                unlink(RT_PATH_IN(folder, entry->d_name));
    closedir(directory);
    rmdir(folder); /* fails if there are other files */
}

static rt_status folder_error(const char *path)
{
    return rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

rt_status rt_folders_make(const char *folder)
{
    char path[RT_PATH_SIZE];
    struct stat found;
    if (!*folder || snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) {
        errno = *folder ? ENAMETOOLONG : ENOENT;
        return folder_error(folder);
    }
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(path, 0777) && errno != EEXIST)
            return folder_error(path);
    }
    if ((mkdir(path, 0777) && errno != EEXIST) || stat(path, &found))
        return folder_error(path);
    errno = ENOTDIR;
    return S_ISDIR(found.st_mode) ? rt_ok() : folder_error(path);
}

bool rt_lines_next(rt_lines *l)
{
    const int most = l->most ? l->most : RT_LINE_LIMIT;
    int c;
    if (l->status.code)
        return false;
    l->start = l->read;
    l->number++;
    for (l->size = 0; (c = getc_unlocked(l->from)) != EOF && c != '\n'; l->size++) {
        if (l->size == (size_t)most)
            l->status = rt_error(RT_ARGUMENT, "has more than %d bytes", most);
        else if ((!l->bytes || l->size == l->capacity) &&
                 !rt_grow(&l->bytes, &l->capacity, l->size + 1, 1))
            l->status = rt_out_of_memory("a line");
        if (l->status.code)
            return false;
        l->bytes[l->size] = (char)c;
    }
    l->ended = c != EOF;
    l->read += l->size + l->ended;
    if (c == EOF && ferror(l->from))
        l->status = rt_error(RT_IO, "cannot be read: %s", strerror(errno));
    else if (!rt_grow(&l->bytes, &l->capacity, l->size + 1, 1))
        l->status = rt_out_of_memory("a line");
    if (l->status.code || (c == EOF && !l->size))
        return false;
    if (l->ended && l->size && l->bytes[l->size - 1] == '\r')
        l->size--;
    const size_t mark = l->number == 1 ? rt_byte_order_mark(l->bytes, l->size) : 0;
    l->size -= mark;
    l->start += mark;
    if (mark)
        memmove(l->bytes, l->bytes + mark, l->size);
    l->bytes[l->size] = '\0';
    return true;
}

void rt_lines_free(rt_lines *l)
{
    rt_free(l->bytes);
    *l = (rt_lines){.from = l->from, .most = l->most};
}
