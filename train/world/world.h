#ifndef ROTOR_TRAIN_WORLD_WORLD_H
#define ROTOR_TRAIN_WORLD_WORLD_H

/* The processes that work at one training, by MPI: the only place that knows it.
 *
 * A world is what a launcher (mpirun, srun) starts. Where there is none, the world is NULL, which
 * is a process alone: rank 0 of 1, for which everything below does nothing and costs nothing. All
 * processes of a world call the same functions in the same order; a process that ends without
 * rt_world_end ends the others, too, by the launcher.
 */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_world rt_world;

/* What a launcher says of this process before MPI is asked; 0 of 1 without one. */
int rt_world_launched_rank(void);
int rt_world_launched_size(void);

/* NULL without a launcher, or with one that starts a single process. RT_CONFIG if a launcher
 * started several and this build has no MPI, or if the launcher is not there. */
rt_status rt_world_begin(rt_world **world) RT_MUST_CHECK;
void rt_world_end(rt_world *world);

/* Of all processes: nothing is asked of the world any more but its end. Who leaves may work on. */
void rt_world_leave(rt_world *world);

int rt_world_rank(const rt_world *world);
int rt_world_size(const rt_world *world);

/* The name of a process's host, and how many processes share the processors of this one. */
const char *rt_world_host(const rt_world *world, int rank);
int rt_world_neighbours(const rt_world *world);

/* How many processes run on this host. */
int rt_world_on_host(const rt_world *world);

/* Bytes that this process has sent so far, as far as this file counts them: those of
 * rt_world_gather and rt_world_exchange. */
double rt_world_sent(const rt_world *world);

/* Process 0's bytes, at every process. */
void rt_world_broadcast(rt_world *world, void *data, size_t bytes);

/* Process r has elements starts[r] ... starts[r + 1] - 1 of an array, and ends with all of it.
 * Elements are counted by int: at most 2^31 - 1. */
void rt_world_gather(rt_world *world, void *array, const size_t *starts, size_t element);

/* Sums of whole numbers, at every process. */
void rt_world_sum(rt_world *world, int64_t *numbers, size_t count);

/* Something to be sent to a process, or to be received from it. What two processes exchange is
 * matched in the order in which each lists it. */
typedef struct rt_parcel {
    int rank;
    void *data;
    size_t bytes;
} rt_parcel;

/* Sends and receives; returns when all is done. */
void rt_world_exchange(rt_world *world, const rt_parcel *sent, int sent_count,
                       const rt_parcel *received, int received_count);

/* Whether it holds at any process. */
bool rt_world_any(rt_world *world, bool holds);

/* The first failure among the processes, at all of them; one of another process than 0 is told
 * with its number and its host. */
rt_status rt_world_agree(rt_world *world, rt_status mine) RT_MUST_CHECK;

/* An error of that code at every process if a text is not the same at all of them; `what` it is
 * ("the data is"), and `advice` on it, or NULL, stand in the message with both values. A difference
 * of many lines is told by the first line that differs. */
rt_status rt_world_compare(rt_world *world, rt_code code, const char *what, const char *text,
                           const char *advice) RT_MUST_CHECK;

#endif
