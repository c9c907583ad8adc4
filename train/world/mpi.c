#include "train/world/world.h"

#include "core/memory.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

/* MPI counts by int: what is larger goes in pieces. */
static const size_t most_at_once = (size_t)1 << 30;

enum { HOST_SIZE = 256 };

/* What tells processes that share processors. */
typedef struct place {
    char host[HOST_SIZE];
    uint64_t processors; /* rt_processors_digest */
} place;

struct rt_world {
    int rank, size;
    place *places; /* of every process */
    bool left;
    double sent; /* bytes */
};

static place place_of_this_process(void)
{
    place here;
    memset(&here, 0, sizeof here);
    if (gethostname(here.host, sizeof here.host))
        strcpy(here.host, "?");
    here.host[HOST_SIZE - 1] = '\0';
    here.processors = rt_processors_digest();
    return here;
}

/* A launcher that has gone would leave MPI_Init as a process alone, or keep it waiting. */
static rt_status start(rt_world *w)
{
    const int launched = rt_world_launched_size();
    int provided;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided))
        return rt_error(RT_CONFIG, "MPI cannot be started");
    if (provided < MPI_THREAD_FUNNELED)
        return rt_error(RT_CONFIG, "MPI does not allow threads beside the one that calls it");
    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w->size);
    if (w->size != launched)
        return rt_error(RT_CONFIG,
                        "the launcher's environment reports %d processes, MPI reports %d: start "
                        "all of them with mpirun or srun",
                        launched, w->size);
    return rt_ok();
}

rt_status rt_world_begin(rt_world **world)
{
    *world = NULL;
    if (rt_world_launched_size() == 1)
        return rt_ok();
    rt_world *w = rt_alloc(1, sizeof *w);
    if (!w)
        return rt_out_of_memory("a world of processes");
    rt_status status = start(w);
    if (!status.code) {
        const place here = place_of_this_process();
        w->places = rt_alloc((size_t)w->size, sizeof *w->places);
        if (!w->places)
            return rt_out_of_memory("a world of processes");
        MPI_Allgather(&here, sizeof here, MPI_BYTE, w->places, sizeof here, MPI_BYTE,
                      MPI_COMM_WORLD);
    }
    *world = w;
    return status;
}

void rt_world_leave(rt_world *w)
{
    if (w && !w->left)
        MPI_Finalize();
    if (w)
        w->left = true;
}

void rt_world_end(rt_world *w)
{
    if (!w)
        return;
    rt_world_leave(w);
    rt_free(w->places);
    rt_free(w);
}

int rt_world_rank(const rt_world *w)
{
    return w ? w->rank : 0;
}

int rt_world_size(const rt_world *w)
{
    return w ? w->size : 1;
}

const char *rt_world_host(const rt_world *w, int rank)
{
    return w ? w->places[rank].host : "this host";
}

int rt_world_neighbours(const rt_world *w)
{
    int count = !w;
    for (int i = 0; w && i < w->size; i++)
        count += !memcmp(w->places + i, w->places + w->rank, sizeof *w->places);
    return count;
}

int rt_world_on_host(const rt_world *w)
{
    int count = !w;
    for (int i = 0; w && i < w->size; i++)
        count += !strcmp(w->places[i].host, w->places[w->rank].host);
    return count;
}

double rt_world_sent(const rt_world *w)
{
    return w ? w->sent : 0;
}

void rt_world_broadcast(rt_world *w, void *data, size_t bytes)
{
    for (size_t at = 0; w && at < bytes; at += most_at_once) {
        const size_t count = bytes - at < most_at_once ? bytes - at : most_at_once;
        MPI_Bcast((char *)data + at, (int)count, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
}

void rt_world_gather(rt_world *w, void *array, const size_t *starts, size_t element)
{
    MPI_Datatype type;
    if (!w)
        return;
    int counts[w->size], offsets[w->size];
    for (int i = 0; i < w->size; i++) {
        counts[i] = (int)(starts[i + 1] - starts[i]);
        offsets[i] = (int)(starts[i] - starts[0]);
    }
    MPI_Type_contiguous((int)element, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Allgatherv(MPI_IN_PLACE, 0, type, (char *)array + starts[0] * element, counts, offsets,
                   type, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    w->sent += (double)counts[w->rank] * (double)element * (w->size - 1);
}

void rt_world_sum(rt_world *w, int64_t *numbers, size_t count)
{
    for (size_t at = 0; w && at < count; at += most_at_once / sizeof *numbers) {
        const size_t left = count - at, most = most_at_once / sizeof *numbers;
        MPI_Allreduce(MPI_IN_PLACE, numbers + at, (int)(left < most ? left : most), MPI_INT64_T,
                      MPI_SUM, MPI_COMM_WORLD);
    }
}

/* ---- exchange ---- */

static int pieces_of(const rt_parcel *parcels, int count)
{
    int pieces = 0;
    for (int i = 0; i < count; i++)
        pieces += (int)((parcels[i].bytes + most_at_once - 1) / most_at_once);
    return pieces;
}

static int begin(rt_world *w, const rt_parcel *p, bool send, MPI_Request *requests)
{
    int count = 0;
    for (size_t at = 0; at < p->bytes; at += most_at_once, count++) {
        const int bytes = (int)(p->bytes - at < most_at_once ? p->bytes - at : most_at_once);
        char *data = (char *)p->data + at;
        if (send)
            MPI_Isend(data, bytes, MPI_BYTE, p->rank, 0, MPI_COMM_WORLD, requests + count);
        else
            MPI_Irecv(data, bytes, MPI_BYTE, p->rank, 0, MPI_COMM_WORLD, requests + count);
        w->sent += send ? bytes : 0;
    }
    return count;
}

void rt_world_exchange(rt_world *w, const rt_parcel *sent, int sent_count,
                       const rt_parcel *received, int received_count)
{
    int count = 0;
    if (!w)
        return;
    MPI_Request requests[pieces_of(sent, sent_count) + pieces_of(received, received_count) + 1];
    for (int i = 0; i < received_count; i++)
        count += begin(w, received + i, false, requests + count);
    for (int i = 0; i < sent_count; i++)
        count += begin(w, sent + i, true, requests + count);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}
