/* Messages about files of any origin that cannot be used as token ids. */

#include "samples.h"

static void write_set(hid_t type, int rank, hsize_t extent, const void *values, hsize_t chunk)
{
    writing w = begin();
    ck_assert(!chunk || H5Pset_chunk(w.creation, 1, &chunk) >= 0);
    put(w, type, rank, extent, type, values);
    end(w);
}

static rt_data_options options_of(const char *path, const char *dataset)
{
    rt_data_options o = options_with("tokens", "length=4");
    o.file = lasting("%s:%s", path, dataset);
    return o;
}

static void refused_at(const char *path, const char *dataset, const char *message)
{
    const rt_data_options o = options_of(path, dataset);
    is_data_error(status_of(&o), o.file, message);
}

static void refused(const char *message)
{
    refused_at(in_folder("a"), "/ids", message);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(an_id_out_of_range_is_named)
{
    static const struct {
        int64_t id;
        size_t index;
        const char *message;
    } wrong[] = {
        {-1, 0, "-1 at index 0"},
        {32, 99999, "32 at index 99999"},
        {INT64_MAX, 65536, "9223372036854775807 at index 65536"},
        {INT64_MIN, 65535, "-9223372036854775808 at index 65535"},
        {(INT64_C(1) << 32) + 5, 70000, "4294967301 at index 70000"},
    };
    static int64_t ids[100000];
    for (int i = 0; i < ROWS(wrong); i++) {
        rt_data_options o = options_for("tokens");
        ids[wrong[i].index] = wrong[i].id;
        write_ids(&o, (storage){.type = H5T_STD_I64LE, .chunk = i % 2 ? 1000 : 0}, ids, 100000);
        ids[wrong[i].index] = 0;
        refused(lasting(": data.file must hold ids from 0 to 31 (data.vocab 32); got %s",
                        wrong[i].message));
    }
}

/* Row 1: all ids are ordinary tokens. */
TEST_ROWS(ids_of_special_tokens_are_refused_or_ordinary, 0, 2)
{
    static const int64_t ids[] = {0, 1, 2, 3, 4, 31, 0, 31, 5};
    rt_data_options o = options_with("tokens", "length=9 eval_fraction=0 objective=lm");
    write_ids(&o, (storage){0}, ids, 9);
    o.special_tokens = _i ? RT_SPECIAL_TOKENS_NO : RT_SPECIAL_TOKENS_YES;
    rt_data *data = source(&o);
    const rt_special_use use = rt_data_special_use(data);
    ck_assert_uint_eq(use.count, _i ? 0 : 4); /* 3 ends documents, which files may have */
    ck_assert_int_eq(rt_data_begins(data), !_i);
    rt_batch batch = evaluation_of(data, 1, 9);
    for (int t = 0; t < 9; t++)
        ck_assert_int_eq(batch.ids[t], _i ? ids[t] : t ? ids[t - 1] : RT_ID_CLS);
}

/* One of ten masked tokens becomes a random token: without special ids also one below 4. */
TEST_ROWS(a_mask_is_replaced_by_any_ordinary_token, 0, 3)
{
    enum { LENGTH = 4000 };
    static int64_t ids[LENGTH];
    for (int t = 0; t < LENGTH; t++)
        ids[t] = 7;
    rt_data_options o =
        options_with("tokens", "length=4000 eval_fraction=0 objective=mlm mask_probability=1");
    write_ids(&o, (storage){0}, ids, LENGTH);
    o.mask_id = _i < 2 ? 31 : 0; /* RT_ID_MASK */
    o.special_tokens = _i ? RT_SPECIAL_TOKENS_NO : RT_SPECIAL_TOKENS_YES;
    rt_data *data = source(&o);
    rt_batch batch = evaluation_of(data, 1, LENGTH);
    int below = 0, masks = 0;
    for (int t = 1; t < LENGTH; t++) {
        below += batch.ids[t] < RT_FIRST_SYMBOL;
        masks += batch.ids[t] == (_i < 2 ? 31 : RT_ID_MASK);
    }
    ck_assert_int_gt(masks, LENGTH / 2);
    ck_assert_int_eq(below > 0, _i > 0);
}

TEST(a_file_that_is_not_hdf5_is_named)
{
    write_text("a", "4 5 6 7");
    refused(": the file is not an HDF5 file (data.file)");
    write_text("a", "");
    refused(": the file is not an HDF5 file (data.file)");
    /* an error of a damaged chunk names its ids */
    static const int values[8] = {4, 5, 6, 7, 8, 9, 10, 11};
    const hsize_t chunk = 4, second = 4;
    writing w = begin();
    ck_assert(H5Pset_chunk(w.creation, 1, &chunk) >= 0 && H5Pset_deflate(w.creation, 6) >= 0);
    put(w, H5T_NATIVE_INT, 1, 8, H5T_NATIVE_INT, values);
    hid_t set = H5Dopen2(w.file, "ids", H5P_DEFAULT);
    ck_assert(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &second, 7, "garbage") >= 0);
    ck_assert(H5Dclose(set) >= 0);
    end(w);
    refused(": data.file cannot be read from id 0 to 7");
}

TEST(a_file_that_was_cut_short_is_refused)
{
    static int64_t ids[100];
    rt_data_options o = options_for("tokens");
    for (int deflated = 0; deflated < 2; deflated++) {
        write_ids(&o, (storage){.chunk = deflated ? 10 : 0, .deflated = deflated}, ids, 100);
        o.length = 4;
        size_t size;
        const unsigned char *whole = file_bytes(in_folder("a"), &size);
        ck_assert_uint_gt(size, 1000);
        for (size_t length = 0; length < size; length += 1 + size / 500) {
            write_bytes(in_folder("a"), whole, length);
            ck_assert_int_eq(status_of(&o).code, RT_DATA);
        }
    }
}

TEST(a_missing_data_set_is_named)
{
    static const char *const names[] = {"/", "/idz", "/ids/ids", "/group", "/nowhere", "/round"};
    write_set(H5T_STD_I32LE, 1, 3, (const int32_t[]){4, 5, 6}, 0);
    hid_t file = H5Fopen(in_folder("a"), H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Lcreate_soft("/not/there", file, "nowhere", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    ck_assert(H5Lcreate_soft("/round", file, "round", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    ck_assert(H5Gclose(group) >= 0 && H5Fclose(file) >= 0);
    for (int i = 0; i < ROWS(names); i++)
        refused_at(in_folder("a"), names[i], ": the file has no data set of that name (data.file)");
}

TEST(ids_in_other_files_are_not_read)
{
    static const char message[] =
        ": the data set must lie in the file itself; it is %s (data.file)";
    const hsize_t extent = 100;
    write_set(H5T_STD_I32LE, 1, 3, (const int32_t[]){4, 5, 6}, 0);
    ck_assert_int_eq(rename(in_folder("a"), in_folder("b")), 0);
    writing w = begin();
    ck_assert(H5Lcreate_external(in_folder("b"), "/ids", w.file, "ids", H5P_DEFAULT, H5P_DEFAULT) >=
              0);
    end(w);
    refused(lasting(message, "a link to another"));
    w = begin();
    ck_assert(H5Pset_external(w.creation, "/etc/passwd", 0, 400) >= 0);
    put(w, H5T_STD_I32LE, 1, extent, 0, NULL);
    end(w);
    refused(lasting(message, "in other files"));
    w = begin();
    hid_t space = H5Screate_simple(1, &extent, NULL);
    ck_assert(H5Pset_virtual(w.creation, space, "/etc/passwd", "/ids", space) >= 0);
    ck_assert(H5Sclose(space) >= 0);
    put(w, H5T_STD_I32LE, 1, extent, 0, NULL);
    end(w);
    refused(lasting(message, "a virtual data set, made of others"));
}

#define OTHER_TYPE "hold uint16, uint32, int32 or int64; it holds "

TEST(another_rank_or_type_is_named)
{
    static const double values[9] = {0};
    struct {
        hid_t type;
        int rank, extent;
        const char *message;
    } wrong[] = {{H5T_NATIVE_INT, 2, 3, "have one dimension; it has 2"},
                 {H5T_NATIVE_INT, 0, 0, "have one dimension; it has 0"},
                 {H5T_IEEE_F32LE, 1, 8, OTHER_TYPE "floating-point numbers of 4 bytes"},
                 {H5T_IEEE_F64LE, 1, 8, OTHER_TYPE "floating-point numbers of 8 bytes"},
                 {H5T_STD_U8LE, 1, 8, OTHER_TYPE "unsigned integers of 1 bytes"},
                 {H5T_STD_U64BE, 1, 8, OTHER_TYPE "unsigned integers of 8 bytes"},
                 {H5T_STD_I16LE, 1, 8, OTHER_TYPE "integers of 2 bytes"},
                 {H5T_STD_I8LE, 1, 8, OTHER_TYPE "integers of 1 bytes"},
                 {H5T_C_S1, 1, 8, OTHER_TYPE "strings of 1 bytes"},
                 {H5T_STD_B32LE, 1, 8, OTHER_TYPE "something else of 4 bytes"}};
    for (int i = 0; i < ROWS(wrong); i++) {
        write_set(wrong[i].type, wrong[i].rank, (hsize_t)wrong[i].extent, values, 0);
        refused(lasting(": the data set must %s (data.file)", wrong[i].message));
    }
}

TEST(an_empty_data_set_is_named)
{
    write_set(H5T_STD_I32LE, 1, 0, NULL, 0);
    refused(": the data set is empty (data.file)");
    writing w = begin();
    hid_t space = H5Screate(H5S_NULL);
    hid_t set =
        H5Dcreate2(w.file, "ids", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Dclose(set) >= 0 && H5Sclose(space) >= 0);
    end(w);
    refused(": the data set is empty (data.file)");
}

/* The file has a few kilobytes and claims terabytes. Memory must not follow the claim. */
TEST(huge_extents_are_refused_before_memory_is_allocated)
{
    struct rusage before, after;
    const struct {
        hsize_t extent, chunk;
        const char *message;
    } claims[] = {{(hsize_t)1 << 60, 1 << 20,
                   "the data set can have up to 281474976710655 ids; it has 1152921504606846976"},
                  {UINT32_MAX, 1 << 20, "parts of the data set were never written"},
                  {UINT32_MAX, (1 << 23) + 1,
                   "the data set can have chunks of up to 8388608 ids; they have 8388609"}};
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < ROWS(claims); i++) {
        write_set(H5T_STD_I32LE, 1, claims[i].extent, NULL, claims[i].chunk);
        refused(lasting(": %s (data.file)", claims[i].message));
    }
    getrusage(RUSAGE_SELF, &after);
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 64 << 10);
}

/* HDF5 would return zeros for missing ids. */
TEST(a_data_set_with_unwritten_parts_is_refused)
{
    static const char message[] = ": parts of the data set were never written (data.file)";
    static const int values[10] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    const hsize_t chunk = 10, start = 0, all = 25, longest = H5S_UNLIMITED;
    write_set(H5T_STD_I32LE, 1, 100, NULL, 0);
    refused(message);
    for (int deflated = 0; deflated < 2; deflated++) {
        writing w = begin();
        ck_assert(H5Pset_chunk(w.creation, 1, &chunk) >= 0);
        ck_assert(!deflated || H5Pset_deflate(w.creation, 6) >= 0);
        hid_t space = H5Screate_simple(1, &all, &longest), some = H5Screate_simple(1, &chunk, NULL);
        hid_t set =
            H5Dcreate2(w.file, "ids", H5T_STD_I32LE, space, H5P_DEFAULT, w.creation, H5P_DEFAULT);
        ck_assert(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &chunk, NULL) >= 0);
        ck_assert(H5Dwrite(set, H5T_NATIVE_INT, some, space, H5P_DEFAULT, values) >= 0);
        ck_assert(H5Dclose(set) >= 0 && H5Sclose(some) >= 0 && H5Sclose(space) >= 0);
        end(w);
        refused(message);
    }
}

static size_t keep_bytes(unsigned flags, size_t values, const unsigned *value, size_t bytes,
                         size_t *size, void **buffer)
{
    (void)flags, (void)values, (void)value, (void)size, (void)buffer;
    return bytes;
}

/* A foreign filter, whether HDF5 has it already or would have to search for it. */
TEST(a_foreign_hdf5_filter_is_not_loaded)
{
    static const int values[8] = {4};
    const hsize_t chunk = 4;
    const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, 300, 1, 1, "own", NULL, NULL, keep_bytes};
    writing w = begin();
    ck_assert(H5Zregister(&filter) >= 0);
    ck_assert(H5Pset_chunk(w.creation, 1, &chunk) >= 0);
    ck_assert(H5Pset_filter(w.creation, 300, H5Z_FLAG_MANDATORY, 0, NULL) >= 0);
    put(w, H5T_NATIVE_INT, 1, 8, H5T_NATIVE_INT, values);
    end(w);
    static const char message[] =
        ": the data set is stored with filter 300 (own), which this HDF5 library lacks (data.file)";
    refused(message);
    ck_assert(H5Zunregister(300) >= 0);
    refused(message);
}

/* HDF5 1.10 divides by zero on some of these and reads what it does not have on others. Of the
 * first three, the version of the message that says where the ids lie is one of the future; the
 * header says that they begin where not all of them fit, which is read without HDF5; it begins with
 * a "?". */
static const struct {
    const char *name, *words, *more;
} damaged[] = {
    {"newer-layout", "cannot open the data set: ",
     "of a newer version of HDF5 (then write it with libver='earliest' of h5py)"},
#if H5_VERSION_GE(1, 14, 0)
    {"ids-beyond-the-end", " cannot open the data set: ", "; it is damaged, "},
#else
    {"ids-beyond-the-end", ": the file is damaged: ids lie outside of it (data.file)", ""},
#endif
    {"damaged-header", " cannot open the data set: ", "; it is damaged, "},
    {"signature-alone",
     "cannot open the file: ", "; it is damaged, cut short, being written, or of a newer"},
    {"crash-chunks", "", ""},
    {"crash-contiguous", "", ""},
    {"crash-deflate", "", ""},
    {"crash-division", "", ""},
    {"crash-fletcher", "", ""},
};

TEST_ROWS(a_damaged_file_is_refused, 0, ROWS(damaged))
{
    const char *path = lasting(TEST_SOURCES "/fuzz/corpus/tokens/%s", damaged[_i].name);
    const rt_data_options o = options_of(path, "/ids");
    is_error(status_of(&o), RT_DATA, o.file);
    is_error(status_of(&o), RT_DATA, damaged[_i].words);
    is_error(status_of(&o), RT_DATA, damaged[_i].more);
}

TEST(a_full_disk_is_an_error)
{
    static int64_t ids[100000];
    rt_data_options o = options_for("tokens");
    write_ids(&o, (storage){.chunk = 1000}, ids, 100000);
    is_status(status_on_full_disk(&o, 5000), RT_IO,
              lasting("%s: cannot write a temporary file for its ids: File too large", o.file));
}
