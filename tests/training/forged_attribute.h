#ifndef ROTOR_TESTS_TRAINING_FORGED_ATTRIBUTE_H
#define ROTOR_TESTS_TRAINING_FORGED_ATTRIBUTE_H

/* Attributes of a checkpoint, changed by another program that seals the file again. */

#include "sealing.h"

#include <check.h>
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void seal_again(const char *path)
{
    FILE *file = fopen(path, "rb");
    ck_assert(file && !fseek(file, 0, SEEK_END));
    const size_t size = (size_t)ftell(file) - RT_CHECKSUM_BLOCK_SIZE;
    unsigned char *bytes = malloc(size);
    ck_assert(bytes && !fseek(file, RT_CHECKSUM_BLOCK_SIZE, SEEK_SET) &&
              fread(bytes, size, 1, file) == 1);
    fclose(file);
    ck_assert_int_eq(write_sealed(path, bytes, size).code, RT_OK);
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

/* Takes an attribute away. */
static inline void delete_attribute(const char *path, const char *group, const char *name)
{
    hid_t file = begin_forging(path);
    ck_assert(H5Adelete_by_name(file, group, name, H5P_DEFAULT) >= 0);
    end_forging(file, path);
}

/* Puts an attribute in the place of the one that is there. */
static inline void forge_attribute(const char *path, const char *group, const char *name,
                                   hid_t type, const void *value)
{
    delete_attribute(path, group, name);
    hid_t file = begin_forging(path), space = H5Screate(H5S_SCALAR);
    hid_t attribute =
        H5Acreate_by_name(file, group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(attribute >= 0 && H5Awrite(attribute, type, value) >= 0);
    ck_assert(H5Aclose(attribute) >= 0 && H5Sclose(space) >= 0);
    end_forging(file, path);
}

static inline void forge_integer(const char *path, const char *group, const char *name,
                                 int64_t value)
{
    forge_attribute(path, group, name, H5T_NATIVE_INT64, &value);
}

static inline void forge_number(const char *path, const char *group, const char *name, double value)
{
    forge_attribute(path, group, name, H5T_NATIVE_DOUBLE, &value);
}

static inline void forge_word(const char *path, const char *group, const char *name,
                              const char *word)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    ck_assert(H5Tset_size(type, strlen(word)) >= 0);
    forge_attribute(path, group, name, type, word);
    ck_assert(H5Tclose(type) >= 0);
}

#endif
