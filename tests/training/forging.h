#ifndef ROTOR_TESTS_TRAINING_FORGING_H
#define ROTOR_TESTS_TRAINING_FORGING_H

/* Checkpoints that another program has changed and sealed again: whoever can write a file can
 * write its checksum. */

#include "suite.h"
#include "training/forged_attribute.h"
#include "training/scratch.h"
#include "training/trained.h"

#define FILE_NAME "step-00000200.h5"

/* The model of seed 1, saved as FILE_NAME. */
static inline void save_example(void)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    rt_status status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&t), &info);
    assert_status(status, RT_OK, "");
}

#endif
