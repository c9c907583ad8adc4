#ifndef ROTOR_TESTS_TRAINING_FORGING_H
#define ROTOR_TESTS_TRAINING_FORGING_H

/* Checkpoints that another program has changed and sealed again: whoever can write a file can
 * write its checksum. */

#include "sealing.h"
#include "suite.h"
#include "training/scratch.h"
#include "training/trained.h"

#include <hdf5.h>

#define FILE_NAME "step-00000200.h5"

/* The model of seed 1, saved as FILE_NAME. */
static inline void save_example(void)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    rt_status status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&t), &info);
    assert_status(status, RT_OK, "");
    free_trained(&t);
}

static inline void seal_again(const char *path)
{
    size_t size;
    unsigned char *bytes = file_bytes(path, &size);
    rt_status status = write_sealed(path, bytes + RT_SEAL_SIZE, size - RT_SEAL_SIZE);
    assert_status(status, RT_OK, "");
    free(bytes);
}

static inline hid_t begin_forging(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert(file >= 0);
    return file;
}

static inline void end_forging(hid_t file, const char *path)
{
    ck_assert(H5Fclose(file) >= 0);
    seal_again(path);
}

#endif
