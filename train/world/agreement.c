/* What the processes of a world must be at one about. */

#include "train/world/world.h"

#include "core/memory.h"

#include <string.h>

bool rt_world_any(rt_world *world, bool holds)
{
    int64_t count = holds;
    rt_world_sum(world, &count, 1);
    return count > 0;
}

/* All get a status from one of them. */
static void pass_round(rt_world *world, int from, rt_status *status)
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
    /* Who failed first is asked only if anybody did. */
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
    pass_round(world, first, &mine);
    return mine;
}

/* The first line of each text that is not the same. */
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

static rt_status tell_difference(rt_world *world, rt_code code, const char *what, const char *first,
                                 const char *here, const char *advice)
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
            status = tell_difference(world, code, what, first, text, advice);
        status = rt_world_agree(world, status);
    }
    rt_free(first);
    return status;
}
