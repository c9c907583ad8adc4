#include "train/folder/lock_holder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACE_SIZE = 64, LINE_SIZE = 256 }; /* of a path below /proc; of a line of fdinfo */

/* What /proc tells of a descriptor that holds a lock: a line "lock: 1: FLOCK ADVISORY WRITE ...".
 */
static bool has_lock(long process, long descriptor)
{
    char place[PLACE_SIZE], line[LINE_SIZE];
    bool found = false;
    snprintf(place, sizeof place, "/proc/%ld/fdinfo/%ld", process, descriptor);
    FILE *facts = fopen(place, "r");
    while (facts && !found && fgets(line, sizeof line, facts))
        found = !strncmp(line, "lock:", 5) && strstr(line, "FLOCK");
    if (facts)
        fclose(facts);
    return found;
}

static bool holds(long process, const struct stat *wanted)
{
    char place[PLACE_SIZE];
    struct dirent *entry;
    struct stat found;
    bool held = false;
    snprintf(place, sizeof place, "/proc/%ld/fd", process);
    DIR *descriptors = opendir(place);
    while (descriptors && !held && (entry = readdir(descriptors))) {
        const long descriptor = strtol(entry->d_name, NULL, 10); /* "." and ".." are 0 */
        snprintf(place, sizeof place, "/proc/%ld/fd/%ld", process, descriptor);
        held = !stat(place, &found) && found.st_dev == wanted->st_dev &&
               found.st_ino == wanted->st_ino && has_lock(process, descriptor);
    }
    if (descriptors)
        closedir(descriptors);
    return held;
}

pid_t rt_lock_holder(const char *path)
{
    struct stat wanted;
    struct dirent *entry;
    long holder = 0;
    if (stat(path, &wanted))
        return 0;
    DIR *processes = opendir("/proc");
    while (processes && !holder && (entry = readdir(processes))) {
        const long process = strtol(entry->d_name, NULL, 10); /* 0 for what is no process */
        if (process > 0 && process != (long)getpid() && holds(process, &wanted))
            holder = process;
    }
    if (processes)
        closedir(processes);
    return (pid_t)holder;
}
