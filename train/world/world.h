#ifndef ROTOR_TRAIN_WORLD_WORLD_H
#define ROTOR_TRAIN_WORLD_WORLD_H

/* The processes of one training, by MPI: only this folder knows MPI.
 *
 * A world is the set of processes that a launcher (mpirun, srun) starts. Without a launcher, the
 * world is NULL, a single process: rank 0 of 1, for which all functions below do nothing. All
 * processes of a world call the same functions in the same order; a process that ends without
 * rt_world_end ends the others, too, by the launcher.
 */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_world rt_world;

/* Return the rank and the size in the environment of the launcher, before MPI is started; 0 of 1
 * without a launcher. */
int rt_world_launched_rank(void);
int rt_world_launched_size(void);

/* Starts MPI; NULL without a launcher, or with one that starts a single process. RT_CONFIG if a
 * launcher started several and this build has no MPI, or if the launcher has gone. */
rt_status rt_world_begin(rt_world **world) RT_MUST_CHECK;
void rt_world_end(rt_world *world);

/* Finalizes MPI, in all processes: only rt_world_end may follow, but the process may work on. */
void rt_world_leave(rt_world *world);

int rt_world_rank(const rt_world *world);
int rt_world_size(const rt_world *world);

/* Return the host name of a process, and how many processes share the processors of this one. */
const char *rt_world_host(const rt_world *world, int rank);
int rt_world_neighbours(const rt_world *world);

/* Returns how many processes run on this host. */
int rt_world_on_host(const rt_world *world);

/* Returns the bytes that this process has sent with rt_world_gather and rt_world_exchange. */
double rt_world_sent(const rt_world *world);

/* Broadcasts bytes of process 0. */
void rt_world_broadcast(rt_world *world, void *data, size_t bytes);

/* Gathers an array: process r has elements starts[r] ... starts[r + 1] - 1 of an array, and ends
 * with all of it. Elements are counted by int: at most 2^31 - 1. */
void rt_world_gather(rt_world *world, void *array, const size_t *starts, size_t element);

/* Sums whole numbers over all processes. */
void rt_world_sum(rt_world *world, int64_t *numbers, size_t count);

/* Bytes to be sent to a process, or to be received from it. Parcels of two processes are matched in
 * the order of their lists. */
typedef struct rt_parcel {
    int rank;
    void *data;
    size_t bytes;
} rt_parcel;

/* Sends and receives; returns when all is done. */
void rt_world_exchange(rt_world *world, const rt_parcel *sent, int sent_count,
                       const rt_parcel *received, int received_count);

/* Returns whether the condition holds at any process. */
bool rt_world_any(rt_world *world, bool holds);

/* Returns, at all processes, the failure of the lowest rank; unless that is 0, its message gets the
 * rank and the host. */
rt_status rt_world_agree(rt_world *world, rt_status mine) RT_MUST_CHECK;

/* Returns an error of this code at every process if a text differs between processes. The message
 * has `what` ("the data is"), the first line that differs at both processes, and `advice` unless it
 * is NULL. */
rt_status rt_world_compare(rt_world *world, rt_code code, const char *what, const char *text,
                           const char *advice) RT_MUST_CHECK;

/* ---- processors that this process may use ---- */

/* Returns their number, at least 1: the number of online processors if the system does not tell. */
int rt_processors(void);

/* Returns a digest of their set, which is equal for processes of a host with the same processors; 0
 * if the system does not tell. */
uint64_t rt_processors_digest(void);

#endif
