#define _GNU_SOURCE /* sched_getaffinity */

/* The functions of a world that need no MPI: launchers, agreement of processes, processors. */

#include "train/world/world.h"

#include "core/memory.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- environment of launchers: mpirun of Open MPI, those of PMI, and srun of Slurm ---- */

static int number_of(const char *const *names, int fallback)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end;
        const long number = text ? strtol(text, &end, 10) : -1;
        if (text && end != text && !*end && number >= 0 && number < 1 << 20)
            return (int)number;
    }
    return fallback;
}

/* srun sets SLURM_STEP_NUM_TASKS; SLURM_NTASKS alone is also there in a batch script, which has
 * started nothing. */
int rt_world_launched_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    return number_of(names, 1);
}

int rt_world_launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    return rt_world_launched_size() > 1 ? number_of(names, 0) : 0;
}

/* ---- agreement ---- */

bool rt_world_any(rt_world *world, bool holds)
{
    int64_t count = holds;
    rt_world_sum(world, &count, 1);
    return count > 0;
}

/* Broadcasts a status from process `from`. */
static void broadcast_status(rt_world *world, int from, rt_status *status)
{
    const int size = rt_world_size(world);
    rt_status all[2] = {*status, *status};
    size_t starts[size + 1];
    for (int i = 0; i <= size; i++)
        starts[i] = i > from;
    rt_world_gather(world, all, starts, sizeof *all);
    *status = all[0];
}

rt_status rt_world_agree(rt_world *world, rt_status mine)
{
    const int size = rt_world_size(world), rank = rt_world_rank(world);
    if (size == 1)
        return mine;
    /* The first failure is looked for only if there is one. */
    if (!rt_world_any(world, mine.code != RT_OK))
        return rt_ok();
    int64_t failed[size];
    memset(failed, 0, sizeof failed);
    failed[rank] = mine.code != RT_OK;
    rt_world_sum(world, failed, (size_t)size);
    int first = 0;
    while (!failed[first])
        first++;
    if (rank == first && rank)
        mine = rt_error(mine.code, "process %d on %s: %s", rank, rt_world_host(world, rank),
                        mine.message);
    broadcast_status(world, first, &mine);
    return mine;
}

/* Finds the first line that differs. */
static void find_difference(const char **a, const char **b, int *a_length, int *b_length)
{
    const char *x = *a, *y = *b;
    for (; *x && *x == *y; x++, y++)
        if (*x == '\n') {
            *a = x + 1;
            *b = y + 1;
        }
    *a_length = (int)strcspn(*a, "\n");
    *b_length = (int)strcspn(*b, "\n");
}

static rt_status report_difference(rt_world *world, rt_code code, const char *what,
                                   const char *first, const char *here, const char *advice)
{
    int length, here_length;
    find_difference(&first, &here, &length, &here_length);
    return rt_error(code,
                    "%s not the same on all processes: '%.*s' here, '%.*s' at process 0 "
                    "on %s%s%s",
                    what, here_length, here, length, first, rt_world_host(world, 0),
                    advice ? "; " : "", advice ? advice : "");
}

rt_status rt_world_compare(rt_world *world, rt_code code, const char *what, const char *text,
                           const char *advice)
{
    uint64_t bytes = strlen(text) + 1;
    if (rt_world_size(world) == 1)
        return rt_ok();
    rt_world_broadcast(world, &bytes, sizeof bytes);
    char *first = rt_alloc(bytes, 1);
    rt_status status = rt_world_agree(world, first ? rt_ok() : rt_out_of_memory("a comparison"));
    if (!status.code) {
        if (rt_world_rank(world) == 0)
            memcpy(first, text, bytes);
        rt_world_broadcast(world, first, bytes);
        if (strcmp(first, text) != 0)
            status = report_difference(world, code, what, first, text, advice);
        status = rt_world_agree(world, status);
    }
    rt_free(first);
    return status;
}

/* ---- processors ---- */

enum { FIRST_SIZE = 1024, LARGEST_SIZE = 1 << 20 }; /* processors */

/* Returns the set of usable processors, which the caller frees; NULL if it is unknown. The kernel
 * refuses a set that is smaller than its own, and does not report the size. */
static cpu_set_t *usable_processors(size_t *bytes)
{
    cpu_set_t *set = NULL;
    bool too_small = true;
    for (size_t size = FIRST_SIZE; too_small && size <= LARGEST_SIZE; size *= 2) {
        *bytes = CPU_ALLOC_SIZE(size);
        set = rt_alloc(*bytes, 1);
        if (!set || !sched_getaffinity(0, *bytes, set))
            return set;
        too_small = errno == EINVAL;
        rt_free(set);
    }
    return NULL;
}

int rt_processors(void)
{
    size_t bytes;
    cpu_set_t *set = usable_processors(&bytes);
    const long count = set ? CPU_COUNT_S(bytes, set) : sysconf(_SC_NPROCESSORS_ONLN);
    rt_free(set);
    return count > 1 ? (int)count : 1;
}

uint64_t rt_processors_digest(void)
{
    size_t bytes;
    cpu_set_t *set = usable_processors(&bytes);
    const uint64_t digest = set ? XXH3_64bits(set, bytes) : 0;
    rt_free(set);
    return digest;
}
