/* The world of a build without MPI: no world but that of a process alone. */

#include "train/world/world.h"

rt_status rt_world_begin(rt_world **world)
{
    *world = NULL;
    if (rt_world_launched_size() == 1)
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "a launcher has started %d processes, but this program was built without MPI: "
                    "install libopenmpi-dev and build again, or start one process",
                    rt_world_launched_size());
}

void rt_world_end(rt_world *world)
{
    (void)world;
}

void rt_world_leave(rt_world *world)
{
    (void)world;
}

int rt_world_rank(const rt_world *world)
{
    (void)world;
    return 0;
}

int rt_world_size(const rt_world *world)
{
    (void)world;
    return 1;
}

const char *rt_world_host(const rt_world *world, int rank)
{
    (void)world;
    (void)rank;
    return "this host";
}

int rt_world_neighbours(const rt_world *world)
{
    (void)world;
    return 1;
}

int rt_world_on_host(const rt_world *world)
{
    (void)world;
    return 1;
}

double rt_world_sent(const rt_world *world)
{
    (void)world;
    return 0;
}

void rt_world_broadcast(rt_world *world, void *data, size_t bytes)
{
    (void)world;
    (void)data;
    (void)bytes;
}

void rt_world_gather(rt_world *world, void *array, const size_t *starts, size_t element)
{
    (void)world;
    (void)array;
    (void)starts;
    (void)element;
}

void rt_world_sum(rt_world *world, int64_t *numbers, size_t count)
{
    (void)world;
    (void)numbers;
    (void)count;
}

void rt_world_exchange(rt_world *world, const rt_parcel *sent, int sent_count,
                       const rt_parcel *received, int received_count)
{
    (void)world;
    (void)sent;
    (void)sent_count;
    (void)received;
    (void)received_count;
}
