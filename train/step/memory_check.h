#ifndef ROTOR_TRAIN_STEP_MEMORY_CHECK_H
#define ROTOR_TRAIN_STEP_MEMORY_CHECK_H

/* Whether a training, or the use of a trained model, fits the memory of the machine, asked before
 * it begins. */

#include "data/data.h"
#include "train/config/config.h"
#include "train/world/world.h"

/* What a training takes at most, in bytes; estimates but for the parameters. */
typedef struct rt_memory_need {
    double values;     /* the parameters alone */
    double parameters; /* with the moments of the optimiser */
    int blocks;        /* of gradients */
    double gradients;
    double activations;
    double products; /* address space that OpenBLAS reserves, most of which is never touched */
} rt_memory_need;

/* Of this process of a world. */
rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             const rt_world *world) RT_MUST_CHECK;

/* RT_CONFIG if the limit of the process (ulimit -v) leaves less than a buffer of OpenBLAS: a thread
 * that the library starts when it is loaded then asks for one for ever, and who forks or ends waits
 * for that thread. To be asked before anything else. */
rt_status rt_address_space_check(void) RT_MUST_CHECK;

/* What is to be done. Whoever does not train writes neither moments nor gradients, which then take
 * address space alone; an evaluation takes the activations of a training at most. */
typedef enum rt_memory_use { RT_USE_TRAIN, RT_USE_EVALUATE, RT_USE_MODEL } rt_memory_use;

/* RT_CONFIG, with both numbers, if the machine has less than that for each of the world's processes
 * on it, or the limit of the process (ulimit -v) leaves less. */
rt_status rt_memory_check(const rt_config *config, const rt_data *data, const rt_world *world,
                          rt_memory_use use) RT_MUST_CHECK;

#endif
