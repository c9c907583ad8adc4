#include "util/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Locks an open file, unless another process has the lock. Returns 0 or the errno: EWOULDBLOCK, or
 * that of a file system without locks. */
static int try_lock(int file, int kind)
{
    enum { MOST_TRIES = 100 };
    int tries = 0;
    while (flock(file, kind | LOCK_NB))
        if (errno != EINTR || ++tries == MOST_TRIES)
            return errno;
    return 0;
}

/* Returns whether the path still names the file: the former holder removes it. */
static bool is_named(int file, const char *path)
{
    struct stat held, named;
    return !fstat(file, &held) && !stat(path, &named) && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

int rt_file_lock(const char *path, int *unlocked)
{
    for (;;) {
        int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0 && errno == EACCES) { /* left by a process of another user? */
            file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
            errno = EACCES;
        }
        *unlocked = file < 0 ? 0 : try_lock(file, LOCK_EX);
        if (file < 0 || (*unlocked && *unlocked != EWOULDBLOCK) ||
            (!*unlocked && is_named(file, path)))
            return file;
        close(file);
        if (*unlocked) {
            *unlocked = 0;
            errno = EWOULDBLOCK;
            return -1;
        }
    }
}

void rt_file_unlock(const char *path, int file)
{
    if (file < 0)
        return;
    unlink(path);
    close(file);
}

int rt_file_lock_probe(const char *path)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int code = file < 0 ? 0 : try_lock(file, LOCK_SH);
    if (file >= 0)
        close(file);
    return code;
}
