#define _GNU_SOURCE /* sched_getaffinity */

#include "train/world/world.h"

#include "core/memory.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#ifdef RT_MPI
#include <mpi.h>
#endif

enum { HOST_SIZE = 256 };

/* Processors of a process. Processes with equal locations share them. */
typedef struct location {
    char host[HOST_SIZE];
    uint64_t processors; /* digest of rt_processors */
} location;

struct rt_world {
    int rank, size;
    location *locations; /* location of every process */
    bool left;
    double sent; /* sent bytes */
};

/* Returns the first number among variables of the environment of launchers: Open MPI's mpirun, PMI
 * launchers, and Slurm's srun. */
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

/* Reads SLURM_STEP_NUM_TASKS, which srun sets: SLURM_NTASKS is also set in a batch script, which
 * has started nothing. */
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

#ifdef RT_MPI

/* Limit of the bytes of one MPI call, which counts by int. */
static const size_t most_at_once = (size_t)1 << 30;

/* Starts MPI. Sets the size to 0 if that fails. Without its launcher, MPI_Init would start each
 * process as a world of its own, or wait forever. */
static rt_status start_mpi(rt_world *w, int launched)
{
    location here;
    int provided;
    memset(&here, 0, sizeof here);
    if (gethostname(here.host, sizeof here.host))
        strcpy(here.host, "?");
    here.host[HOST_SIZE - 1] = '\0';
    rt_processors(&here.processors);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided))
        return rt_error(RT_CONFIG, "MPI cannot be started");
    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w->size);
    if (provided < MPI_THREAD_FUNNELED)
        return rt_error(RT_CONFIG, "MPI does not allow threads beside the one that calls it");
    if (w->size != launched)
        return rt_error(RT_CONFIG,
                        "the launcher's environment reports %d processes, MPI reports %d: start "
                        "all of them with mpirun or srun",
                        launched, w->size);
    w->locations = rt_alloc((size_t)w->size, sizeof *w->locations);
    RT_TRY(rt_allocated(w->locations, "a world of processes"));
    MPI_Allgather(&here, sizeof here, MPI_BYTE, w->locations, sizeof here, MPI_BYTE,
                  MPI_COMM_WORLD);
    return rt_ok();
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
        counts[i] = starts ? (int)(starts[i + 1] - starts[i]) : 1;
        offsets[i] = starts ? (int)(starts[i] - starts[0]) : i;
    }
    MPI_Type_contiguous((int)element, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Allgatherv(MPI_IN_PLACE, 0, type, (char *)array + (starts ? starts[0] * element : 0),
                   counts, offsets, type, MPI_COMM_WORLD);
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

/* Starts to send or to receive a parcel. Returns the number of its requests. */
static int start_parcel(rt_world *w, const rt_parcel *p, bool send, MPI_Request *requests)
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
    size_t most = 1;
    int count = 0;
    if (!w)
        return;
    for (int i = 0; i < sent_count + received_count; i++)
        most += (i < sent_count ? sent[i] : received[i - sent_count]).bytes / most_at_once + 1;
    MPI_Request requests[most];
    for (int i = 0; i < received_count; i++)
        count += start_parcel(w, received + i, false, requests + count);
    for (int i = 0; i < sent_count; i++)
        count += start_parcel(w, sent + i, true, requests + count);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

#else /* every world is NULL */

static rt_status start_mpi(rt_world *w, int launched)
{
    (void)w;
    return rt_error(RT_CONFIG,
                    "a launcher has started %d processes, but this program was built without MPI: "
                    "install libopenmpi-dev and build again, or start one process",
                    launched);
}

void rt_world_broadcast(rt_world *w, void *data, size_t bytes)
{
    (void)w, (void)data, (void)bytes;
}

void rt_world_gather(rt_world *w, void *array, const size_t *starts, size_t element)
{
    (void)w, (void)array, (void)starts, (void)element;
}

void rt_world_sum(rt_world *w, int64_t *numbers, size_t count)
{
    (void)w, (void)numbers, (void)count;
}

void rt_world_exchange(rt_world *w, const rt_parcel *sent, int sent_count,
                       const rt_parcel *received, int received_count)
{
    (void)w, (void)sent, (void)sent_count, (void)received, (void)received_count;
}

#endif

rt_status rt_world_begin(rt_world **world)
{
    const int launched = rt_world_launched_size();
    *world = NULL;
    if (launched == 1)
        return rt_ok();
    rt_world *w = rt_alloc(1, sizeof *w);
    RT_TRY(rt_allocated(w, "a world of processes"));
    const rt_status status = start_mpi(w, launched);
    if (w->size)
        *world = w;
    else
        rt_free(w);
    return status;
}

void rt_world_leave(rt_world *w)
{
    if (!w || w->left)
        return;
#ifdef RT_MPI
    MPI_Finalize();
#endif
    w->left = true;
}

void rt_world_end(rt_world *w)
{
    if (!w)
        return;
    rt_world_leave(w);
    rt_free(w->locations);
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
    return w ? w->locations[rank].host : "this host";
}

int rt_world_on_host(const rt_world *w, bool same_processors)
{
    int count = !w;
    for (int i = 0; w && i < w->size; i++) {
        const location *here = w->locations + w->rank, *there = w->locations + i;
        count += !strcmp(there->host, here->host) &&
                 (!same_processors || there->processors == here->processors);
    }
    return count;
}

double rt_world_sent(const rt_world *w)
{
    return w ? w->sent : 0;
}

bool rt_world_any(rt_world *world, bool holds)
{
    int64_t count = holds;
    rt_world_sum(world, &count, 1);
    return count > 0;
}

rt_status rt_world_agree(rt_world *world, rt_status mine)
{
    const int size = rt_world_size(world), rank = rt_world_rank(world);
    if (size == 1)
        return mine;
    /* statuses are gathered only if there is a failure */
    if (!rt_world_any(world, mine.code != RT_OK))
        return rt_ok();
    rt_status all[size];
    if (mine.code && rank)
        mine = rt_error(mine.code, "process %d on %s: %s", rank, rt_world_host(world, rank),
                        mine.message);
    all[rank] = mine;
    rt_world_gather(world, all, NULL, sizeof *all);
    int first = 0;
    while (!all[first].code)
        first++;
    return all[first];
}

rt_status rt_world_compare(rt_world *world, rt_code code, const char *what, const char *text,
                           const char *advice)
{
    uint64_t bytes = strlen(text) + 1;
    if (rt_world_size(world) == 1)
        return rt_ok();
    rt_world_broadcast(world, &bytes, sizeof bytes);
    RT_OWNED char *first = rt_alloc(bytes, 1);
    rt_status status = rt_ok();
    RT_TRY(rt_world_agree(world, rt_allocated(first, "a comparison")));
    size_t line = 0; /* start of the first line that differs */
    if (rt_world_rank(world) == 0)
        memcpy(first, text, bytes);
    rt_world_broadcast(world, first, bytes);
    for (size_t i = 0; first[i] && first[i] == text[i]; i++)
        line = first[i] == '\n' ? i + 1 : line;
    const char *there = first + line, *here = text + line;
    if (strcmp(there, here) != 0)
        status = rt_error(code,
                          "%s not the same on all processes: '%.*s' here, '%.*s' at process 0 "
                          "on %s%s%s",
                          what, (int)strcspn(here, "\n"), here, (int)strcspn(there, "\n"), there,
                          rt_world_host(world, 0), advice ? "; " : "", advice ? advice : "");
    return rt_world_agree(world, status);
}

/* The kernel rejects a set smaller than its own, so this one has room for 2^20 processors. */
int rt_processors(uint64_t *digest)
{
    const size_t bytes = CPU_ALLOC_SIZE(1 << 20);
    RT_OWNED cpu_set_t *set = rt_alloc(bytes, 1);
    const bool known = set && !sched_getaffinity(0, bytes, set);
    const long count = known ? CPU_COUNT_S(bytes, set) : sysconf(_SC_NPROCESSORS_ONLN);
    if (digest)
        *digest = known ? XXH3_64bits(set, bytes) : 0;
    return count > 1 ? (int)count : 1;
}
