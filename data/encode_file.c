#include "data/encode_text.h"

#include "core/memory.h"
#include "data/token_format.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

/* Ids that are copied at a time. */
enum { BLOCK = 1 << 16 };

static rt_status encode_plain(const rt_data_options *o, const char *path, size_t *count)
{
    rt_token_writer writer;
    rt_status status = rt_sequence_write(o, &writer, path, path);
    if (writer.file.made)
        status = rt_token_writer_close(&writer, status);
    *count = writer.count;
    return status;
}

/* ---- HDF5 ---- */

static bool copy_ids(const rt_token_writer *ids, hid_t set, hid_t space, hid_t type)
{
    FILE *from = fopen(ids->file.temporary, "rb");
    void *block = rt_alloc_unset(BLOCK, ids->width);
    bool good = from && block;
    for (size_t done = 0; good && done < ids->count;) {
        const size_t n = ids->count - done < BLOCK ? ids->count - done : BLOCK;
        const hsize_t start = done, extent = n;
        hid_t memory = H5Screate_simple(1, &extent, NULL);
        good = fread(block, ids->width, n, from) == n &&
               H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &extent, NULL) >= 0 &&
               H5Dwrite(set, type, memory, space, H5P_DEFAULT, block) >= 0;
        H5Sclose(memory);
        done += n;
    }
    rt_free(block);
    if (from)
        fclose(from);
    return good;
}

/* By the plain driver, whatever the environment asks HDF5 for, whose own end would crash after a
 * close that failed. */
static hid_t create_file(const char *path)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    const bool plain = access >= 0 && H5Pset_fapl_sec2(access) >= 0;
    const hid_t file = plain ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : -1;
    if (access >= 0)
        H5Pclose(access);
    return file;
}

/* In one piece, so that the ids are read where they are, and without the time, so that the same ids
 * are the same file. */
static bool write_set(const char *path, const rt_token_writer *ids)
{
    const hsize_t extent = ids->count;
    hid_t file = create_file(path); /* before H5T_*, which opens the library */
    if (file < 0)
        return false;
    const hid_t type = ids->width == sizeof(uint16_t) ? H5T_NATIVE_UINT16 : H5T_NATIVE_INT32;
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &extent, NULL);
    bool good = H5Pset_obj_track_times(creation, false) >= 0;
    hid_t set = H5Dcreate2(file, "train", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    good = set >= 0 && copy_ids(ids, set, space, type) && good;
    good = set >= 0 && H5Dclose(set) >= 0 && good;
    H5Sclose(space);
    H5Pclose(creation);
    return H5Fclose(file) >= 0 && good;
}

/* The number of ids is known once all are written; then they are copied. */
static rt_status encode_hdf5(const rt_data_options *o, const char *path, size_t *count)
{
    char ids[RT_PATH_SIZE];
    rt_durable_file file;
    rt_token_writer writer;
    snprintf(ids, sizeof ids, "%s.ids", path);
    rt_status status = rt_sequence_write(o, &writer, path, ids);
    status = rt_durable_settle(&writer.file, status);
    if (!status.code) {
        status = rt_durable_open(&file, path);
        if (!status.code && !write_set(file.temporary, &writer))
            status = rt_error(RT_IO, "cannot write %.800s", file.temporary);
        status = rt_durable_close(&file, status);
    }
    rt_durable_discard(&writer.file);
    *count = writer.count;
    return status;
}

rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count)
{
    *count = 0;
    if (strlen(path) >= RT_PATH_SIZE - sizeof ".ids" RT_TEMPORARY_SUFFIX)
        return rt_error(RT_CONFIG, "--encode: the path of the file is too long");
    if (rt_path_ends_in(path, ".h5") || rt_path_ends_in(path, ".hdf5"))
        return encode_hdf5(o, path, count);
    if (rt_path_ends_in(path, ".npy") || rt_path_ends_in(path, ".bin"))
        return encode_plain(o, path, count);
    return rt_error(RT_CONFIG,
                    "--encode writes a file whose name ends in .h5, .npy or .bin; got '%.600s'",
                    path);
}
