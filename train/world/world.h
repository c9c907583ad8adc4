#ifndef ROTOR_TRAIN_WORLD_WORLD_H
#define ROTOR_TRAIN_WORLD_WORLD_H

/* Processes of one training, connected by MPI. Only this folder uses MPI.
 *
 * A world is the set of processes that a launcher (mpirun, srun) starts. Without a launcher, the
 * world is NULL: a single process, rank 0 of 1, for which all functions below do nothing. All
 * processes of a world call the same functions in the same order. If a process ends without
 * rt_world_end, the launcher ends the others. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_world rt_world;

/* Returns the rank and the number of processes in the launcher's environment, before MPI is
 * started; 0 and 1 without a launcher. */
int rt_world_launched_rank(void);
int rt_world_launched_size(void);

/* Starts MPI. *world is NULL without a launcher, or if it started a single process. Returns
 * RT_CONFIG if this build has no MPI for several processes, or if MPI does not find all of them. */
rt_status rt_world_begin(rt_world **world) RT_MUST_CHECK;
void rt_world_end(rt_world *world);

/* Finalizes MPI, in all processes. They may continue, but only rt_world_end may follow. */
void rt_world_leave(rt_world *world);

int rt_world_rank(const rt_world *world);
int rt_world_size(const rt_world *world);

/* Returns the host of a process, and the number of processes on this host: all of them, or those
 * that share the processors of this process. */
const char *rt_world_host(const rt_world *world, int rank);
int rt_world_on_host(const rt_world *world, bool same_processors);

/* Returns the bytes that this process has sent in rt_world_gather and rt_world_exchange. */
double rt_world_sent(const rt_world *world);

/* Broadcasts bytes from process 0. */
void rt_world_broadcast(rt_world *world, void *data, size_t bytes);

/* Gathers an array of which process r has elements starts[r] ... starts[r + 1] - 1, or element r if
 * `starts` is NULL; then every process has all of it. There may be at most 2^31 - 1 elements. */
void rt_world_gather(rt_world *world, void *array, const size_t *starts, size_t element);

/* Sums integers over all processes. */
void rt_world_sum(rt_world *world, int64_t *numbers, size_t count);

/* Bytes to send to a process, or to receive from it. Parcels between two processes are matched in
 * the order of their lists. */
typedef struct rt_parcel {
    int rank;
    void *data;
    size_t bytes;
} rt_parcel;

/* Sends and receives parcels, and returns when all are complete. */
void rt_world_exchange(rt_world *world, const rt_parcel *sent, int sent_count,
                       const rt_parcel *received, int received_count);

/* Returns whether the condition holds in any process. */
bool rt_world_any(rt_world *world, bool holds);

/* Returns, in all processes, the error of the lowest rank that has one. For ranks > 0 its message
 * begins with the rank and the host. */
rt_status rt_world_agree(rt_world *world, rt_status mine) RT_MUST_CHECK;

/* Returns an error with `code`, in every process, if a text differs from that of process 0. The
 * message has `what` ("the data is"), the first line that differs, and `advice` unless NULL. */
rt_status rt_world_compare(rt_world *world, rt_code code, const char *what, const char *text,
                           const char *advice) RT_MUST_CHECK;

/* Returns the number of processors that this process may use, or that are online if the system does
 * not report them; at least 1. *digest, unless it is NULL, receives a digest of the set, equal for
 * processes of a host with the same set; 0 if the system does not report it. */
int rt_processors(uint64_t *digest);

#endif
