#ifndef ROTOR_UTIL_FILE_LOCK_H
#define ROTOR_UTIL_FILE_LOCK_H

/* Locks between processes: files that exist while they are held. A network file system carries the
 * lock of a file to its server, unlike the lock of a folder. The lock ends with its process, so
 * that a file that a killed process left is no obstacle. */

/* Creates the file and locks it. Returns its descriptor; -1, with errno, if it cannot be created,
 * or EWOULDBLOCK if another process has the lock. If the file system cannot lock, returns the
 * descriptor and sets *unlocked to the errno; otherwise to 0. */
int rt_file_lock(const char *path, int *unlocked);

/* Removes the file and ends the lock; nothing for a descriptor below 0. */
void rt_file_unlock(const char *path, int file);

/* Returns 0, EWOULDBLOCK if a process has the lock, or the errno of a file system that cannot lock;
 * 0 without a file. */
int rt_file_lock_probe(const char *path);

#endif
