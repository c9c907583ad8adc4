#include "train/step/memory_limits.h"

#include "text/list.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- control groups ---- */

/* A version of control groups: where their folders are, and the file with the limit in each. */
typedef struct hierarchy {
    const char *folder, *file;
} hierarchy;

static const hierarchy version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"};
static const hierarchy version_2[] = {{"/sys/fs/cgroup", "memory.max"},
                                      {"/sys/fs/cgroup/unified", "memory.max"}};

/* Version 1 has a number of this size where there is no limit, version 2 a word. */
static const double no_limit = 0x1p62;

static double read_limit(const char *path)
{
    double limit;
    FILE *file = fopen(path, "r");
    const bool is_number = file && fscanf(file, "%lf", &limit) == 1;
    if (file)
        fclose(file);
    return is_number && limit < no_limit ? limit : (double)INFINITY;
}

/* A limit holds for all groups below: from the group itself up to the root. In a container, folders
 * of groups outside of it are not there, and the root is its own. */
static void ask_groups(rt_memory_limits *limits, const char *root, hierarchy h, const char *group)
{
    char path[RT_PATH_SIZE];
    for (int length = (int)strlen(group); length >= 0; length--) {
        if (length && group[length] && group[length] != '/')
            continue;
        const int size =
            snprintf(path, sizeof path, "%s%s%.*s/%s", root, h.folder, length, group, h.file);
        const double limit = size < RT_PATH_SIZE ? read_limit(path) : (double)INFINITY;
        if (limit >= limits->group)
            continue;
        limits->group = limit;
        snprintf(limits->group_file, sizeof limits->group_file, "%s", path);
    }
}

/* A line "5:cpu,memory:/a/b" or, of version 2, "0::/a/b". */
static void ask_line(rt_memory_limits *limits, const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    line[strcspn(line, "\n")] = '\0';
    controllers++;
    *group++ = '\0';
    if (!*controllers) {
        ask_groups(limits, root, version_2[0], group);
        ask_groups(limits, root, version_2[1], group);
    } else if (rt_list_has(controllers, "memory")) {
        ask_groups(limits, root, version_1, group);
    }
}

static void find_groups(rt_memory_limits *limits, const char *root)
{
    char line[RT_PATH_SIZE];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "r");
    while (file && fgets(line, sizeof line, file))
        ask_line(limits, root, line);
    if (file)
        fclose(file);
}

/* ---- this process ---- */

static double limit_of(int resource)
{
    struct rlimit limit;
    const bool known = !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
    return known ? (double)limit.rlim_cur : (double)INFINITY;
}

/* Pages of addresses, memory, and data with the stack (proc(5), statm). */
static void find_used(rt_memory_limits *limits)
{
    double pages[6] = {0};
    const double page = (double)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    for (int i = 0; file && i < 6 && fscanf(file, "%lf", &pages[i]) == 1;)
        i++;
    if (file)
        fclose(file);
    limits->addresses_used = pages[0] * page;
    limits->resident = pages[1] * page;
    limits->data_used = pages[5] * page;
}

void rt_memory_limits_read(rt_memory_limits *limits, const char *root)
{
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    *limits = (rt_memory_limits){.machine = machine > 0 ? machine : (double)INFINITY,
                                 .group = (double)INFINITY,
                                 .addresses = limit_of(RLIMIT_AS),
                                 .data = limit_of(RLIMIT_DATA)};
    find_groups(limits, root);
    find_used(limits);
}
