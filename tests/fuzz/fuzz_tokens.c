/* A data set as the input says, of whatever HDF5 can write; or a file of just these bytes. */

#include "fuzz_data.h"

#include <hdf5.h>

static const char signature[] = "\211HDF\r\n\032\n";

enum { MOST_DIMENSIONS = 3, LONGEST = 4096 };

/* Rest of the input; zeros behind its end. */
typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input;

static unsigned take(input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->bytes++;
}

static hid_t type_of(unsigned choice)
{
    const hid_t types[] = {H5T_STD_I32LE, H5T_STD_I64LE,  H5T_STD_I32BE,  H5T_STD_I64BE,
                           H5T_STD_I8LE,  H5T_STD_I16BE,  H5T_STD_U32LE,  H5T_STD_U64LE,
                           H5T_STD_B32LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_C_S1};
    return types[choice % (sizeof types / sizeof *types)];
}

static hid_t space_of(input *in)
{
    hsize_t extent[MOST_DIMENSIONS], most[MOST_DIMENSIONS];
    const unsigned choice = take(in);
    const int dimensions = 1 + (choice % 8 == 7) + (choice % 16 == 15);
    if (choice == 0xff)
        return H5Screate(H5S_NULL);
    if (choice == 0xfe)
        return H5Screate(H5S_SCALAR);
    for (int i = 0; i < dimensions; i++) {
        extent[i] = (take(in) | take(in) << 8) % (i ? 4 : LONGEST);
        most[i] = H5S_UNLIMITED;
    }
    return H5Screate_simple(dimensions, extent, choice & 0x80 ? most : NULL);
}

/* Chunks, filters, compact or early storage, an external file. */
static hid_t creation_of(input *in)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1 + take(in) + ((hsize_t)take(in) << 15), 1, 1};
    const unsigned choice = take(in), dimensions = 1 + choice / 64 % 3;
    if (choice & 1)
        H5Pset_chunk(creation, (int)dimensions, chunk);
    if (choice & 2)
        H5Pset_deflate(creation, 1);
    if (choice & 4)
        H5Pset_fletcher32(creation);
    if (choice & 8)
        H5Pset_shuffle(creation);
    if ((choice & 0x31) == 0x10)
        H5Pset_layout(creation, H5D_COMPACT);
    if ((choice & 0x31) == 0x20)
        H5Pset_external(creation, "/dev/zero", 0, H5F_UNLIMITED);
    if ((choice & 0x31) == 0x30)
        H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    return creation;
}

/* Ids from the rest of the input, two bytes each: most are small, some are not. */
static void write_ids(hid_t set, hid_t space, input *in)
{
    static int64_t ids[LONGEST * 4 * 4];
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    for (hssize_t i = 0; i < count; i++) {
        const int64_t id = take(in) | (int64_t)take(in) << 8;
        ids[i] = id < 0x8000 ? id % 320 : id - 0x10000;
        if (id == 0x7fff)
            ids[i] = (int64_t)1 << 40;
    }
    H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids);
}

static void write_file(const char *path, input *in)
{
    const unsigned choice = take(in);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = space_of(in), creation = creation_of(in);
    hid_t set = H5Dcreate2(file, choice & 0x80 ? "other" : "ids", type_of(choice & 0x3f), space,
                           H5P_DEFAULT, creation, H5P_DEFAULT);
    if (set >= 0 && !(choice & 0x40))
        write_ids(set, space, in);
    if (choice & 0x80)
        H5Lcreate_external("/nowhere.h5", "ids", file, "ids", H5P_DEFAULT, H5P_DEFAULT);
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
}

FUZZ(tokens)
{
    rt_data_options o = options_of("tokens");
    input in = {bytes, size};
    const bool raw = size >= sizeof signature && !memcmp(bytes, signature, sizeof signature - 1);
    const char *path = fuzz_file(bytes, raw ? size : 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (!raw)
        write_file(path, &in);
    char name[RT_PATH_SIZE];
    snprintf(name, sizeof name, "%s:/ids", path);
    o.file = name;
    open_and_draw(&o);
    H5garbage_collect();
    return 0;
}
