#include "train/step/memory_estimate.h"

#include "ops/engine.h"
#include "text/number.h"
#include "train/world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const double giga = 1e9;

/* Stack of a thread of OpenBLAS. */
static const double usual_stack = 8 << 20;

/* ---- control groups ---- */

/* Folder of the control groups of a version, and name of the file with the limit of a group. */
typedef struct hierarchy {
    int version;
    const char *folder, *file;
} hierarchy;

static const hierarchy hierarchies[] = {{1, "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                        {2, "/sys/fs/cgroup", "memory.max"},
                                        {2, "/sys/fs/cgroup/unified", "memory.max"}};

/* Without a limit, version 1 reports a number of this size, version 2 a word. */
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

/* Reads the limits of a group and of all groups above it. In a container, the folders of groups
 * outside are missing, and the root is the group of the container. */
static void read_group_limits(rt_memory_limits *limits, const char *root, const hierarchy *h,
                              const char *group)
{
    char path[RT_PATH_SIZE];
    for (int length = (int)strlen(group); length >= 0; length--) {
        if (length && group[length] && group[length] != '/')
            continue;
        const int size =
            snprintf(path, sizeof path, "%s%s%.*s/%s", root, h->folder, length, group, h->file);
        const double limit = size < RT_PATH_SIZE ? read_limit(path) : (double)INFINITY;
        if (limit >= limits->group)
            continue;
        limits->group = limit;
        snprintf(limits->group_file, sizeof limits->group_file, "%s", path);
    }
}

/* Parses a line "5:cpu,memory:/a/b" or, of version 2, "0::/a/b". */
static void read_group_line(rt_memory_limits *limits, const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    line[strcspn(line, "\n")] = '\0';
    controllers++;
    *group++ = '\0';
    const int version = !*controllers ? 2 : rt_list_has(controllers, "memory") ? 1 : 0;
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        if (hierarchies[i].version == version)
            read_group_limits(limits, root, hierarchies + i, group);
}

static void read_groups(rt_memory_limits *limits, const char *root)
{
    char line[RT_PATH_SIZE];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "r");
    while (file && fgets(line, sizeof line, file))
        read_group_line(limits, root, line);
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

/* Reads /proc/self/statm (proc(5)): pages of address space, of memory, and of data with stack. */
static void read_used(rt_memory_limits *limits)
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
    read_groups(limits, root);
    read_used(limits);
}

/* ---- address space of OpenBLAS ---- */

/* Returns the number of threads that OpenBLAS is going to have in this environment. */
static int openblas_threads(char **environment)
{
    static const char *const names[] = {"OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=",
                                        "OMP_NUM_THREADS="};
    const int processors = rt_processors();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **entry = environment; *entry; entry++) {
            const size_t length = strlen(names[i]);
            const bool is_set = !strncmp(*entry, names[i], length);
            const long threads = is_set ? strtol(*entry + length, NULL, 10) : 0;
            if (threads > 0)
                return threads < processors ? (int)threads : processors;
        }
    return processors;
}

rt_status rt_address_space_check(char **environment)
{
    const int threads = environment ? openblas_threads(environment) : 1;
    const double buffers = threads * (double)RT_OPENBLAS_BUFFER;
    const double needed = buffers + (environment ? threads * usual_stack : 0);
    rt_memory_limits limits;
    rt_memory_limits_read(&limits, "");
    const double left = fmax(limits.addresses - limits.addresses_used, 0);
    if (needed <= left)
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "the program needs about %.2f GB of address space (buffers of OpenBLAS %.2f); "
                    "the limit (ulimit -v) leaves %.2f GB%s",
                    needed / giga, buffers / giga, left / giga,
                    threads > 1 ? "; OPENBLAS_NUM_THREADS=1 in the environment makes it less" : "");
}

/* ---- need of a use ---- */

/* Returns the largest need of a use, and its phase: bytes beyond those of the process. */
static rt_memory_bytes largest_need(const rt_memory_need *need, rt_memory_use use, double freed,
                                    rt_memory_phase *phase)
{
    const rt_memory_phase last = use == RT_USE_RESUME ? RT_PHASE_RESUME : RT_PHASE_SAVE;
    rt_memory_bytes most = need->model;
    *phase = RT_PHASES;
    if (use == RT_USE_EVALUATE)
        return (rt_memory_bytes){fmax(most.resident, need->used.resident - freed),
                                 fmax(most.space, need->used.space - freed)};
    for (int i = RT_PHASE_STEP; i <= (int)last && use != RT_USE_MODEL; i++) {
        const rt_memory_bytes *at = &need->at[i];
        if (at->resident - freed > most.resident)
            *phase = (rt_memory_phase)i;
        most = (rt_memory_bytes){fmax(most.resident, at->resident - freed),
                                 fmax(most.space, at->space - freed)};
    }
    return most;
}

/* Formats "parameters and moments 1.6, 6 blocks of gradients 3.2, activations 70.2", in
 * gigabytes. */
static void format_parts(char *text, size_t size, const rt_memory_need *need, rt_memory_use use,
                         rt_memory_phase phase)
{
    const rt_dry_run *r = &need->run;
    const bool alone = use == RT_USE_EVALUATE || use == RT_USE_MODEL;
    const size_t *bytes = r->reserved.bytes;
    const double parameters =
        (double)bytes[RT_FOR_VALUES] + (double)(alone ? r->to_use : bytes[RT_FOR_ROUNDED]);
    const double gradients = (double)bytes[RT_FOR_GRADIENTS] + (double)bytes[RT_FOR_RECEIVED];
    const double graphs = r->places * (double)r->training.touched;
    const double step = need->at[RT_PHASE_STEP].resident;
    if (alone)
        snprintf(text, size, "parameters %.1f, activations %.1f", parameters / giga,
                 use == RT_USE_MODEL ? 0 : r->places * (double)r->evaluation.touched / giga);
    else if (phase == RT_PHASE_RESUME)
        snprintf(text, size, "to read its checkpoint; a step %.1f", step / giga);
    else
        snprintf(text, size,
                 "parameters and moments %.1f, %d block%s of gradients %.1f, activations %.1f%s",
                 (parameters + (double)bytes[RT_FOR_STATES]) / giga, r->blocks,
                 r->blocks > 1 ? "s" : "", gradients / giga, graphs / giga,
                 phase == RT_PHASE_SAVE ? ", and a checkpoint that is being written" : "");
}

/* ---- comparison with the limits ---- */

static rt_status refuse_memory(double needed, const char *parts, const char *what, double limit,
                               int processes)
{
    return rt_error(RT_CONFIG, "the run needs about %.2f GB of memory (%s); %s has %.2f GB%s",
                    needed / giga, parts, what, limit / giga,
                    processes > 1 ? " for each process" : "");
}

static rt_status refuse_space(double needed, double products, const char *what, const char *limit,
                              double left)
{
    return rt_error(RT_CONFIG,
                    "the run needs about %.2f GB of %s (buffers of OpenBLAS %.2f); the limit "
                    "(%s) leaves %.2f GB",
                    needed / giga, what, products / giga, limit, fmax(left, 0) / giga);
}

static rt_status compare_need(const rt_memory_need *need, const rt_memory_limits *limits,
                              rt_memory_use use, double freed, int processes)
{
    char parts[160], group[RT_PATH_SIZE + 32];
    rt_memory_phase phase;
    const rt_memory_bytes most = largest_need(need, use, freed, &phase);
    const double resident = limits->resident + most.resident;
    const double addresses = limits->addresses - limits->addresses_used;
    const double data = limits->data - limits->data_used;
    format_parts(parts, sizeof parts, need, use, phase);
    snprintf(group, sizeof group, "the control group (%s)", limits->group_file);
    if (resident > limits->machine / processes)
        return refuse_memory(resident, parts, "this machine", limits->machine / processes,
                             processes);
    if (resident > limits->group / processes)
        return refuse_memory(resident, parts, group, limits->group / processes, processes);
    if (most.space > addresses)
        return refuse_space(most.space, need->products, "address space", "ulimit -v", addresses);
    if (most.space - need->reserved > data)
        return refuse_space(most.space - need->reserved, need->products, "data", "ulimit -d", data);
    return rt_ok();
}

/* ---- the check ---- */

/* Adds to an error of a dry run what it means for the configuration. */
static rt_status explain_refusal(const rt_config *config, rt_status status)
{
    switch (status.code) {
    case RT_ARGUMENT:
    case RT_MEMORY:
        return rt_error(RT_CONFIG, "%s: the model is too large: %s", config->file, status.message);
    case RT_SHAPE:
        return rt_error(RT_CONFIG,
                        "%s: a step is too large: %s; a smaller data.length, vocabulary, or "
                        "train.batch_size / train.shards makes it smaller",
                        config->file, status.message);
    default:
        return status;
    }
}

rt_status rt_memory_check(rt_memory_need *need, const rt_config *config, const rt_data *data,
                          rt_world *world, rt_memory_use use, double freed)
{
    rt_memory_limits limits;
    rt_status status = rt_memory_estimate(need, config, data, world, use);
    if (status.code)
        return explain_refusal(config, status);
    rt_memory_limits_read(&limits, "");
    status = compare_need(need, &limits, use, freed, rt_world_on_host(world));
    return status.code ? rt_error(status.code, "%s: %s", config->file, status.message) : status;
}
