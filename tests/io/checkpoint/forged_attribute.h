#ifndef ROTOR_TESTS_FORGED_ATTRIBUTE_H
#define ROTOR_TESTS_FORGED_ATTRIBUTE_H

/* Attributes of a checkpoint, changed by another program that seals the file again. */

#include "sealing.h"
#include "suite.h"

#include "util/files.h"

#include <hdf5.h>
#include <stdint.h>

static inline void seal_again(const char *path)
{
    unsigned char *bytes;
    size_t size;
    expect_ok(rt_file_read("a checkpoint", path, &bytes, &size));
    ck_assert_int_eq(
        write_sealed(path, bytes + RT_CHECKSUM_BLOCK_SIZE, size - RT_CHECKSUM_BLOCK_SIZE).code,
        RT_OK);
    rt_free(bytes);
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

static inline void delete_attribute(const char *path, const char *owner, const char *name)
{
    hid_t file = begin_forging(path);
    ck_assert(H5Adelete_by_name(file, owner, name, H5P_DEFAULT) >= 0);
    end_forging(file, path);
}

/* Writes an attribute of a group or a data set, replacing any existing one. */
static inline void forge_attribute(const char *path, const char *owner, const char *name,
                                   hid_t type, const void *value)
{
    hid_t file = begin_forging(path), space = H5Screate(H5S_SCALAR);
    if (H5Aexists_by_name(file, owner, name, H5P_DEFAULT) > 0)
        ck_assert(H5Adelete_by_name(file, owner, name, H5P_DEFAULT) >= 0);
    hid_t attribute =
        H5Acreate_by_name(file, owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(attribute >= 0 && H5Awrite(attribute, type, value) >= 0);
    ck_assert(H5Aclose(attribute) >= 0 && H5Sclose(space) >= 0);
    end_forging(file, path);
}

/* Writes a data set with one axis, replacing any existing one. Without `numbers` no values are
 * written. */
static inline void forge_dataset(const char *path, const char *name, hid_t type, hid_t creation,
                                 hsize_t count, const double *numbers)
{
    hid_t file = begin_forging(path), space = H5Screate_simple(1, &count, NULL);
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        ck_assert(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ck_assert(set >= 0 && H5Sclose(space) >= 0);
    ck_assert(!numbers ||
              H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    ck_assert(H5Dclose(set) >= 0);
    end_forging(file, path);
}

/* Changes one number of a small data set. */
static inline void forge_number_at(const char *path, const char *dataset, int at, double number)
{
    double numbers[64];
    hid_t file = begin_forging(path), set = H5Dopen2(file, dataset, H5P_DEFAULT);
    ck_assert(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    numbers[at] = number;
    ck_assert(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    ck_assert(H5Dclose(set) >= 0);
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
