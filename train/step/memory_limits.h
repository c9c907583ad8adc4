#ifndef ROTOR_TRAIN_STEP_MEMORY_LIMITS_H
#define ROTOR_TRAIN_STEP_MEMORY_LIMITS_H

/* How much memory this process may have, and how much it has. */

#include "core/path.h"

/* In bytes; INFINITY where there is no limit, 0 of what is not known to be used. */
typedef struct rt_memory_limits {
    double machine; /* memory of the machine */
    double group;   /* the least limit of the control groups that the process is in, ... */
    char group_file[RT_PATH_SIZE];              /* ... and the file that says so; "" */
    double addresses;                           /* ulimit -v, RLIMIT_AS */
    double data;                                /* ulimit -d, RLIMIT_DATA */
    double resident, addresses_used, data_used; /* of this process */
} rt_memory_limits;

/* Control groups are looked for in the files below `root`, "" but in tests: the group's own path is
 * in root/proc/self/cgroup, and its limits are those of every group on that path, in
 * root/sys/fs/cgroup (version 2, memory.max) and root/sys/fs/cgroup/memory (version 1,
 * memory.limit_in_bytes). */
void rt_memory_limits_read(rt_memory_limits *limits, const char *root);

#endif
