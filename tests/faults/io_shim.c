/* Makes one call of a program for its files or its memory fail, or ends the program there. Loaded
 * with LD_PRELOAD, or linked with a suite; the variable ROTOR_FAULT says which call and how: "write
 * 7 ENOSPC". A kind of call, how many of its kind it is, and
 *
 *   EIO, ENOSPC, EINTR   the call does nothing and fails so
 *   full, ENOLCK         it and all of its kind that follow fail with ENOSPC, ENOLCK
 *   short                of a write, the first half is written and reported
 *   kill                 the program dies before the call
 *   half                 of a write, the first half is written; then the program dies
 *   after                the program dies after the call
 *
 * "facts" are stat, lstat, fstat, access and chmod.
 * "memory 7 ENOMEM" refuses a request of the library's heap (not of HDF5's, which is malloc's, nor
 * of oneDNN's, which crashes where it makes a kernel and is refused memory). "bytes 5000 full" is a
 * disk with room for so many bytes, where what is removed stays occupied. ROTOR_FAULT_COUNTS names
 * a file for the number of calls of each kind and how often one failed, kept up to date so that a
 * program that was killed has told them too.
 *
 * Streams go through cookies, as the C library's own calls cannot be replaced. Devices and
 * the files of the system are left alone. */

#define _GNU_SOURCE

#include "faults/io_shim.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 };

static const char *const words[] = {SHIM_KINDS(SHIM_WORD)};

static shim_counts here, *counts = &here;
static int kind = -1;
static long number;
static char action[16];
static bool watched[DESCRIPTORS];
static bool waits_for_disk = true;

static void obey(const char *order, const char *path)
{
    char word[16];
    kind = -1;
    if (order && sscanf(order, "%15s %ld %15s", word, &number, action) == 3)
        for (int i = 0; i < SHIM_COUNT; i++)
            if (!strcmp(word, words[i]))
                kind = i;
    if (!path)
        return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0666);
    void *map = file < 0 || ftruncate(file, sizeof *counts)
                    ? MAP_FAILED
                    : mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED)
        counts = map;
    if (file >= 0)
        syscall(SYS_close, file);
}

__attribute__((constructor)) static void read_orders(void)
{
    obey(getenv("ROTOR_FAULT"), getenv("ROTOR_FAULT_COUNTS"));
}

void shim_order(const char *order, const char *counts_path)
{
    waits_for_disk = false;
    obey(order, counts_path);
}

static bool is(const char *wanted)
{
    return !strcmp(action, wanted);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

/* Counts a call; true if it must fail, for which errno is set. */
static bool fails(int this_kind)
{
    const long turn = atomic_fetch_add(&counts->calls[this_kind], 1) + 1;
    if (this_kind != kind || turn < number || (turn > number && !is("full") && !is("ENOLCK")))
        return false;
    if (is("after") || is("half") || is("short"))
        return false;
    atomic_fetch_add(&counts->failed, 1);
    if (is("kill"))
        die();
    errno = is("EIO") ? EIO : is("EINTR") ? EINTR : is("ENOLCK") ? ENOLCK : ENOSPC;
    return true;
}

/* Returns whether the call that was just counted is the one to be disturbed. */
static bool chosen(int this_kind, const char *wanted)
{
    return this_kind == kind && atomic_load(&counts->calls[kind]) == number && is(wanted);
}

static long end(int this_kind, long result)
{
    if (chosen(this_kind, "after"))
        die();
    return result;
}

static bool is_ours(const char *path)
{
    static const char *const system[] = {"/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib"};
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (!strncmp(path, system[i], strlen(system[i])))
            return false;
    const char *dot = strrchr(path, '.');
    return !dot || strcmp(dot, ".gcda"); /* what counts the lines that ran */
}

static bool is_watched(int file)
{
    return file >= 0 && file < DESCRIPTORS && watched[file];
}

/* A function that counts, and is a call of the system. */
#define COUNTED(this_kind, name, parameters, ...)                                                  \
    int name parameters                                                                            \
    {                                                                                              \
        return fails(this_kind) ? -1 : (int)end(this_kind, syscall(__VA_ARGS__));                  \
    }
/* The function of this name in the library that is loaded next. */
#define NEXT(name)                                                                                 \
    static __typeof__(&name) next;                                                                 \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

static int watch(int file)
{
    if (file >= 0 && file < DESCRIPTORS)
        watched[file] = true;
    return (int)end(SHIM_OPEN, file);
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    if (!is_ours(path))
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fails(SHIM_OPEN))
        return -1;
    return watch((int)syscall(SYS_openat, folder, path, flags, mode));
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* A template is a path. */
int mkostemp(char *path, int flags)
{
    NEXT(mkostemp);
    return fails(SHIM_OPEN) ? -1 : watch(next(path, flags));
}

int mkstemp(char *path)
{
    return mkostemp(path, 0);
}

DIR *opendir(const char *path)
{
    const int file = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    return file < 0 ? NULL : fdopendir(file);
}

/* Counts as the opening of the folder. */
int scandir(const char *path, struct dirent ***list, int (*chooses)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    NEXT(scandir);
    const int file = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (file < 0)
        return -1;
    if (file < DESCRIPTORS)
        watched[file] = false;
    syscall(SYS_close, file);
    return next(path, list, chooses, compare);
}

ssize_t read(int file, void *bytes, size_t size)
{
    if (!is_watched(file))
        return syscall(SYS_read, file, bytes, size);
    return fails(SHIM_READ) ? -1 : end(SHIM_READ, syscall(SYS_read, file, bytes, size));
}

/* Limits a write to a disk of `number` bytes; a write without room fails. */
static bool fits(size_t *size)
{
    if (kind != SHIM_BYTES)
        return true;
    const long before = atomic_fetch_add(&counts->calls[SHIM_BYTES], (long)*size);
    if (before + (long)*size <= number)
        return true;
    atomic_fetch_add(&counts->failed, 1);
    *size = before < number ? (size_t)(number - before) : 0;
    errno = ENOSPC;
    return *size > 0;
}

/* Writes at an offset, or where the file stands if that is below 0. */
static ssize_t put(int file, const void *bytes, size_t size, off_t offset)
{
    return offset < 0 ? syscall(SYS_write, file, bytes, size)
                      : syscall(SYS_pwrite64, file, bytes, size, offset);
}

static ssize_t put_watched(int file, const void *bytes, size_t size, off_t offset)
{
    if (!is_watched(file))
        return put(file, bytes, size, offset);
    if (fails(SHIM_WRITE) || !fits(&size))
        return -1;
    if (chosen(SHIM_WRITE, "half") || chosen(SHIM_WRITE, "short")) {
        const long half = put(file, bytes, (size + 1) / 2, offset);
        if (is("half"))
            die();
        return half;
    }
    return end(SHIM_WRITE, put(file, bytes, size, offset));
}

ssize_t write(int file, const void *bytes, size_t size)
{
    return put_watched(file, bytes, size, -1);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset)
{
    return put_watched(file, bytes, size, offset);
}

COUNTED(SHIM_LOCK, flock, (int file, int operation), SYS_flock, file, operation)
COUNTED(SHIM_RENAME, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
        SYS_renameat2, a, from, b, to, flags)
COUNTED(SHIM_MKDIR, mkdir, (const char *path, mode_t mode), SYS_mkdirat, AT_FDCWD, path, mode)
COUNTED(SHIM_UNLINK, unlink, (const char *path), SYS_unlinkat, AT_FDCWD, path, 0)
COUNTED(SHIM_FACTS, stat, (const char *path, struct stat *facts), SYS_newfstatat, AT_FDCWD, path,
        facts, 0)
COUNTED(SHIM_FACTS, lstat, (const char *path, struct stat *facts), SYS_newfstatat, AT_FDCWD, path,
        facts, AT_SYMLINK_NOFOLLOW)
COUNTED(SHIM_FACTS, fstat, (int file, struct stat *facts), SYS_newfstatat, file, "", facts,
        AT_EMPTY_PATH)
COUNTED(SHIM_FACTS, access, (const char *path, int mode), SYS_faccessat, AT_FDCWD, path, mode)
COUNTED(SHIM_FACTS, chmod, (const char *path, mode_t mode), SYS_fchmodat, AT_FDCWD, path, mode)
COUNTED(SHIM_UNLINK, rmdir, (const char *path), SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)

int fsync(int file)
{
    if (fails(SHIM_FSYNC))
        return -1;
    return (int)end(SHIM_FSYNC, waits_for_disk ? syscall(SYS_fsync, file) : 0);
}

/* A failed close has closed the file, as on a network file system. */
int close(int file)
{
    if (!is_watched(file))
        return (int)syscall(SYS_close, file);
    watched[file] = false;
    const bool failed = fails(SHIM_CLOSE);
    const int number_of_error = errno;
    const long result = syscall(SYS_close, file);
    errno = failed ? number_of_error : errno;
    return failed ? -1 : (int)end(SHIM_CLOSE, result);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int remove(const char *path)
{
    return unlink(path);
}

pid_t fork(void)
{
    NEXT(fork);
    return fails(SHIM_FORK) ? -1 : next();
}

int pipe2(int ends[2], int flags)
{
    return fails(SHIM_PIPE) ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

pid_t waitpid(pid_t process, int *how, int options)
{
    return fails(SHIM_WAIT) ? -1 : (pid_t)syscall(SYS_wait4, process, how, options, NULL);
}

static bool is_of_onednn(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libdnnl");
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    NEXT(posix_memalign); /* a sanitizer has one of its own */
    const bool counted = !is_of_onednn(__builtin_return_address(0));
    return counted && fails(SHIM_MEMORY) ? ENOMEM : next(block, alignment, size);
}

static ssize_t read_stream(void *cookie, char *bytes, size_t size)
{
    return read(*(int *)cookie, bytes, size);
}

static ssize_t write_stream(void *cookie, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) { /* as the streams of the C library do */
        const ssize_t written = write(*(int *)cookie, bytes + done, size - done);
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    return (ssize_t)done;
}

static int seek_stream(void *cookie, off64_t *offset, int whence)
{
    const off64_t at = lseek64(*(int *)cookie, *offset, whence);
    *offset = at < 0 ? *offset : at;
    return at < 0 ? -1 : 0;
}

static int close_stream(void *cookie)
{
    const int file = *(int *)cookie;
    free(cookie);
    return close(file);
}

static int flags_of(const char *mode)
{
    const int both = strchr(mode, '+') ? O_RDWR : 0;
    const int rest = (strchr(mode, 'x') ? O_EXCL : 0) | (strchr(mode, 'e') ? O_CLOEXEC : 0);
    if (*mode == 'r')
        return both; /* O_RDONLY is 0 */
    return (both ? both : O_WRONLY) | O_CREAT | (*mode == 'w' ? O_TRUNC : O_APPEND) | rest;
}

FILE *fopen(const char *path, const char *mode)
{
    static const cookie_io_functions_t calls = {read_stream, write_stream, seek_stream,
                                                close_stream};
    int *cookie = malloc(sizeof *cookie);
    if (!cookie)
        return NULL;
    *cookie = open_at(AT_FDCWD, path, flags_of(mode), 0666);
    if (*cookie >= 0)
        return fopencookie(cookie, mode, calls);
    free(cookie);
    return NULL;
}

FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));
