/* What launchers leave in the environment: Open MPI's mpirun, those of PMI, and Slurm's srun. */

#include "train/world/world.h"

#include <stdlib.h>

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
