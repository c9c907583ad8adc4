#define _GNU_SOURCE /* sched_getaffinity */
/* What launchers leave in the environment: Open MPI's mpirun, those of PMI, and Slurm's srun. */

#include "train/world/world.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

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

/* srun gives SLURM_STEP_NUM_TASKS; SLURM_NTASKS alone is also there in a batch script, which has
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

/* Who is bound to fewer processors than the host has is taken to be the only one on them. */
int rt_world_launched_neighbours(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_NTASKS_PER_NODE", NULL};
    cpu_set_t set;
    const bool bound =
        !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) < sysconf(_SC_NPROCESSORS_ONLN);
    return bound ? 1 : number_of(names, 1);
}
