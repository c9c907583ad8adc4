/* Images with something of every kind in them, and the checksummed files that hold them. */

#include "core/path.h"
#include "io/checkpoint/forged_attribute.h"
#include "util/scratch.h"

#include <hdf5.h>

static const real some_reals[24] = {0,           (real)-0.0, 1, (real)0.1, -3, (real)1e-30,
                                    RT_REAL_MAX, -5,         8, 9,         10, 11};

static void fill(rt_image *image)
{
    rt_image_put_integer(image, "/", "least", INT64_MIN);
    rt_image_put_unsigned(image, "/", "greatest", UINT64_MAX);
    rt_image_put_number(image, "/", "none_yet", INFINITY);
    rt_image_put_word(image, "/", "form", "log");
    rt_image_put_word(image, "/a/b", "empty", "");
    rt_image_put_reals(image, "/a/scalar", some_reals, RT_SCALAR);
    rt_image_put_reals(image, "/a/b/vector", some_reals, RT_SHAPE_OF(7));
    rt_image_put_reals(image, "/a/b/four", some_reals, RT_SHAPE_OF(2, 3, 1, 4));
    rt_image_put_text(image, "/text", "[run]\nname = \xce\xb8\n");
    rt_image_put_text(image, "/nothing", "");
    rt_image_put_bytes(image, "/bytes", "\0\xff\0x", 4);
    rt_image_put_bytes(image, "/no_bytes", NULL, 0);
}

static rt_status write_status(const char *path)
{
    rt_image *image = rt_image_new();
    fill(image);
    rt_status status = write_image(image, path);
    rt_image_close(image);
    return status;
}

static void write_example(const char *name)
{
    expect_ok(write_status(in_scratch(name)));
}

RELEASER(close_image, rt_image_close)

/* Opens a file of the scratch folder, which is closed after the test. */
static rt_image *opened(const char *name, rt_parse parse)
{
    return owned(rt_image_open(in_scratch(name), parse), close_image);
}

/* Writes an image as a file of the scratch folder, and opens it. */
static rt_image *written_and_opened(rt_image *image, const char *name)
{
    const rt_status status = write_image(image, in_scratch(name));
    rt_image_close(image);
    expect_ok(status);
    return opened(name, RT_PARSE_HERE);
}

static rt_status open_status(const char *path)
{
    rt_image *image = rt_image_open(path, RT_PARSE_HERE);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    return status;
}

static void no_handle_is_open(void)
{
    ck_assert_int_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static void assert_reals(rt_image *image, const char *path, rt_shape shape)
{
    real values[24];
    rt_image_reals(image, path, values, shape);
    ck_assert_mem_eq(values, some_reals, rt_shape_size(shape) * sizeof(real));
}

static const rt_parse parses[] = {RT_PARSE_HERE, RT_PARSE_APART};

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(written_values_are_read_back_bit_for_bit, 0, ROWS(parses))
{
    write_example("a.h5");
    rt_image *image = opened("a.h5", parses[_i]);
    char word[RT_WORD_SIZE];
    ck_assert(rt_image_integer(image, "/", "least") == INT64_MIN);
    ck_assert(rt_image_unsigned(image, "/", "greatest") == UINT64_MAX);
    ck_assert(isinf(rt_image_number(image, "/", "none_yet")));
    rt_image_word(image, "/", "form", word);
    ck_assert_str_eq(word, "log");
    rt_image_word(image, "/a/b", "empty", word);
    ck_assert_str_eq(word, "");
    assert_reals(image, "/a/scalar", RT_SCALAR);
    assert_reals(image, "/a/b/vector", RT_SHAPE_OF(7));
    assert_reals(image, "/a/b/four", RT_SHAPE_OF(2, 3, 1, 4));
    const char *text = owned(rt_image_text(image, "/text"), rt_free);
    const char *nothing = owned(rt_image_text(image, "/nothing"), rt_free);
    ck_assert_str_eq(text, "[run]\nname = \xce\xb8\n");
    ck_assert_str_eq(nothing, "");
    size_t size, none;
    const unsigned char *bytes = owned(rt_image_bytes(image, "/bytes", &size), rt_free);
    const unsigned char *no_bytes = owned(rt_image_bytes(image, "/no_bytes", &none), rt_free);
    ck_assert_uint_eq(size, 4);
    ck_assert_mem_eq(bytes, "\0\xff\0x", 4);
    ck_assert_ptr_nonnull(no_bytes);
    ck_assert_uint_eq(none, 0);
    expect_ok(rt_image_status(image));
}

/* 48 MiB in chunks of at most 16: the longest axis is halved twice. */
TEST(a_dataset_of_several_chunks_of_at_most_16_MiB_is_read_back)
{
    const rt_shape shape = RT_SHAPE_OF(3, 1 << 20, 2);
    const size_t size = rt_shape_size(shape);
    hsize_t chunk[3] = {0};
    real *values = owned(rt_alloc(size, sizeof *values), rt_free);
    real *read = owned(rt_alloc(size, sizeof *values), rt_free);
    for (size_t i = 0; i < size; i++)
        values[i] = (real)i;
    rt_image *image = rt_image_new();
    rt_image_put_reals(image, "/large", values, shape);
    image = written_and_opened(image, "large.h5");
    rt_image_reals(image, "/large", read, shape);
    expect_ok(rt_image_status(image));
    ck_assert(!memcmp(values, read, size * sizeof *values));
    const hid_t file = H5Fopen(in_scratch("large.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/large", H5P_DEFAULT);
    const hid_t creation = H5Dget_create_plist(dataset);
    ck_assert_int_eq(H5Pget_chunk(creation, 3, chunk), 3);
    ck_assert(chunk[0] == 3 && chunk[1] == 1 << 18 && chunk[2] == 2);
    ck_assert_uint_eq(rt_image_chunk_bytes(shape), ((size_t)6 << 18) * sizeof(real));
    H5Pclose(creation);
    H5Dclose(dataset);
    H5Fclose(file);
}

static void append_path(void *context, const char *path)
{
    strcat(strcat(context, path), " ");
}

TEST(shapes_are_read_and_absent_datasets_are_no_error)
{
    write_example("a.h5");
    rt_image *image = opened("a.h5", RT_PARSE_HERE);
    char paths[256] = "";
    rt_shape shape;
    ck_assert(rt_image_shape(image, "/a/b/four", &shape));
    ck_assert_str_eq(rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape), "(2, 3, 1, 4)");
    ck_assert(rt_image_shape(image, "/a/scalar", &shape));
    ck_assert_int_eq(shape.ndim, 0);
    ck_assert(!rt_image_shape(image, "/a/b", &shape));
    ck_assert(!rt_image_shape(image, "/a/b/five", &shape));
    ck_assert(!rt_image_shape(image, "/x/y/z", &shape));
    rt_image_visit(image, "/", append_path, paths); /* in the order of names */
    ck_assert_str_eq(paths, "a/b/four a/b/vector a/scalar bytes no_bytes nothing text ");
    expect_ok(rt_image_status(image));
}

TEST(the_first_failure_sticks)
{
    write_example("a.h5");
    rt_image *image = rt_image_open(in_scratch("a.h5"), RT_PARSE_HERE);
    size_t size = 1;
    rt_shape shape;
    ck_assert_int_eq(rt_image_integer(image, "/", "absent"), 0);
    ck_assert_ptr_null(rt_image_text(image, "/absent"));
    ck_assert_ptr_null(rt_image_bytes(image, "/bytes", &size));
    ck_assert_uint_eq(size, 0);
    ck_assert(!rt_image_shape(image, "/a/scalar", &shape));
    is_status(rt_image_status(image), RT_CHECKPOINT,
              "a.h5: attribute absent of / is missing or not as expected");
    rt_image_close(image);
    no_handle_is_open();
}

/* A word has at most 64 bytes with its final zero. */
TEST(a_word_that_is_too_long_is_refused)
{
    char word[RT_WORD_SIZE + 2] = "", read[RT_WORD_SIZE + 1];
    for (int length = RT_WORD_SIZE - 1; length <= RT_WORD_SIZE + 1; length++) {
        memset(word, 'w', (size_t)length);
        word[length] = '\0';
        rt_image *image = rt_image_new();
        rt_image_put_word(image, "/", "word", word);
        image = written_and_opened(image, "word.h5");
        read[RT_WORD_SIZE] = 'x';
        rt_image_word(image, "/", "word", read);
        ck_assert_int_eq(rt_image_status(image).code,
                         length < RT_WORD_SIZE ? RT_OK : RT_CHECKPOINT);
        ck_assert_int_eq(read[RT_WORD_SIZE], 'x');
        ck_assert_str_eq(read, length < RT_WORD_SIZE ? word : "");
    }
}

/* Reads a value as another type or shape, or an absent value. */
enum { MISREADINGS = 8 };
static void misread(rt_image *image, int i)
{
    real reals[24];
    char word[RT_WORD_SIZE];
    size_t size;
    if (i == 0)
        rt_image_integer(image, "/", "form");
    else if (i == 1)
        rt_image_word(image, "/", "least", word);
    else if (i == 2)
        rt_image_reals(image, "/a/b/four", reals, RT_SHAPE_OF(2, 3, 4));
    else if (i == 3)
        rt_image_reals(image, "/a/b/vector", reals, RT_SHAPE_OF(6));
    else if (i == 4)
        rt_image_reals(image, "/bytes", reals, RT_SHAPE_OF(4));
    else if (i == 5)
        rt_image_text(image, "/a/scalar");
    else if (i == 6)
        rt_image_bytes(image, "/a/b/vector", &size);
    else
        rt_image_visit(image, "/absent", append_path, NULL);
}

TEST_ROWS(a_value_of_another_type_or_shape_is_refused, 0, MISREADINGS)
{
    write_example("a.h5");
    for (int i = 0; i < ROWS(parses); i++) {
        rt_image *image = rt_image_open(in_scratch("a.h5"), parses[i]);
        misread(image, _i);
        ck_assert_int_eq(rt_image_status(image).code, RT_CHECKPOINT);
        rt_image_close(image);
    }
    no_handle_is_open();
}

/* The file is sealed again: a forger would do the same. */
static void expect_no_bytes(hid_t creation, hsize_t extent)
{
    size_t size;
    write_example("a.h5");
    forge_dataset(in_scratch("a.h5"), "/bytes", H5T_STD_U8LE, creation, extent, NULL);
    rt_image *image = rt_image_open(in_scratch("a.h5"), RT_PARSE_HERE);
    ck_assert_ptr_null(rt_image_bytes(image, "/bytes", &size));
    is_status(rt_image_status(image), RT_CHECKPOINT, "a.h5: /bytes is missing or not as expected");
    rt_image_close(image);
    no_handle_is_open();
}

/* A dataset that was never written has an extent and no bytes; HDF5 reads it as zeros. */
TEST(an_unwritten_dataset_is_refused_before_memory_is_allocated)
{
    expect_no_bytes(H5P_DEFAULT, (hsize_t)1 << 40);
}

TEST(a_dataset_in_an_external_file_is_refused)
{
    put_text("other", "secret");
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, in_scratch("other"), 0, 6);
    expect_no_bytes(creation, 6);
    H5Pclose(creation);
}

TEST(a_file_of_any_other_length_is_refused)
{
    write_example("a.h5");
    size_t size;
    unsigned char *bytes = file_bytes(in_scratch("a.h5"), &size);
    ck_assert_uint_gt(size, 4096);
    for (size_t length = 0; length <= size + 1;
         length += length < 4096 || length > size - 97 ? 1 : 97) {
        write_bytes(in_scratch("cut.h5"), bytes, length); /* with the zero behind them */
        if (length != size)
            is_status(open_status(in_scratch("cut.h5")), RT_CHECKPOINT,
                      length < RT_CHECKSUM_BLOCK_SIZE
                          ? lasting("cut.h5: too short: %zu bytes, at least 512 expected", length)
                          : lasting("cut.h5: length differs: %zu bytes, %zu written", length,
                                    size));
    }
}

static const struct {
    size_t byte;
    const char *message;
} damages[] = {
    {0, "a.h5: wrong magic: not a file of rotor"},
    {8, "a.h5: version of the seal is 0, 1 expected"},
    {24, "a.h5: checksum differs"},
    {100, "a.h5: block differs: not zero where it must be"},
    {700, "a.h5: checksum differs"},
};

TEST_ROWS(damage_is_reported_by_its_kind, 0, ROWS(damages))
{
    write_example("a.h5");
    flip_bit(in_scratch("a.h5"), 8 * damages[_i].byte);
    is_status(open_status(in_scratch("a.h5")), RT_CHECKPOINT, damages[_i].message);
}

TEST(a_huge_foreign_file_is_refused_before_memory_is_allocated)
{
    put_text("huge.h5", "");
    ck_assert_int_eq(truncate(in_scratch("huge.h5"), (off_t)1 << 40), 0);
    size_t requests = rt_memory_requests();
    is_status(open_status(in_scratch("huge.h5")), RT_CHECKPOINT,
              "huge.h5: wrong magic: not a file of rotor");
    ck_assert_uint_eq(rt_memory_requests() - requests, 1);
}

TEST(checksummed_bytes_that_are_not_hdf5_are_refused)
{
    char zeros[2048] = {0};
    expect_ok(write_sealed(in_scratch("a.h5"), zeros, sizeof zeros));
    is_status(open_status(in_scratch("a.h5")), RT_CHECKPOINT, "a.h5: HDF5 cannot open it");
    no_handle_is_open();
}

/* Fletcher32 protects the numbers from programs that do not know the seal. */
TEST(hdf5_finds_damage_in_a_dataset_without_the_checksum_of_the_file)
{
    static const char pattern[] = "found by its Fletcher checksum";
    rt_image *image = rt_image_new();
    rt_image_put_bytes(image, "/bytes", pattern, sizeof pattern);
    expect_ok(write_image(image, in_scratch("a.h5")));
    rt_image_close(image);
    size_t size, at = 0;
    unsigned char *bytes = file_bytes(in_scratch("a.h5"), &size);
    while (at + sizeof pattern < size && memcmp(bytes + at, pattern, sizeof pattern))
        at++;
    bytes[at] ^= 1;
    expect_ok(write_sealed(in_scratch("a.h5"), bytes + RT_CHECKSUM_BLOCK_SIZE,
                           size - RT_CHECKSUM_BLOCK_SIZE));
    image = rt_image_open(in_scratch("a.h5"), RT_PARSE_HERE);
    ck_assert_ptr_null(rt_image_bytes(image, "/bytes", &size));
    is_status(rt_image_status(image), RT_CHECKPOINT, "a.h5: /bytes cannot be read");
    rt_image_close(image);
    no_handle_is_open();
}

TEST(a_path_without_a_regular_file_is_refused)
{
    is_status(open_status(in_scratch("none.h5")), RT_CHECKPOINT,
              lasting("cannot open %s/none.h5: No such file or directory", scratch));
    is_status(open_status(scratch), RT_CHECKPOINT,
              lasting("cannot read %s: not a regular file", scratch));
    ck_assert_int_eq(mkfifo(in_scratch("pipe"), 0600), 0);
    is_status(open_status(in_scratch("pipe")), RT_CHECKPOINT,
              lasting("cannot read %s/pipe: not a regular file", scratch));
}

/* Root may write everywhere, and therefore becomes another user for a moment. */
TEST(a_folder_that_cannot_be_written_is_named)
{
    const uid_t user = geteuid(), somebody = 65534;
    is_status(write_status(in_scratch("no/a.h5")), RT_IO,
              lasting("cannot create %s/no/a.h5.tmp: No such file or directory", scratch));
    ck_assert_int_eq(chmod(scratch, 0555), 0);
    ck_assert_int_eq(seteuid(user ? user : somebody), 0);
    rt_status status = write_status(in_scratch("a.h5"));
    ck_assert_int_eq(seteuid(user), 0);
    ck_assert_int_eq(chmod(scratch, 0700), 0);
    is_status(status, RT_IO, lasting("cannot create %s/a.h5.tmp: Permission denied", scratch));
    ck_assert_int_eq(files_in_scratch(), 0);
}

TEST(a_failed_rename_leaves_no_temporary_file)
{
    ck_assert_int_eq(mkdir(in_scratch("a.h5"), 0700), 0);
    is_status(write_status(in_scratch("a.h5")), RT_IO,
              lasting("cannot rename a temporary file to %s/a.h5: Is a directory", scratch));
    ck_assert_int_eq(files_in_scratch(), 1);
}

TEST(a_file_that_would_be_too_large_to_read_is_not_written)
{
    rt_durable_file file;
    expect_ok(rt_durable_open(&file, in_scratch("a.h5")));
    rt_status status =
        rt_checksummed_write(&file, "", RT_CHECKSUMMED_LIMIT - RT_CHECKSUM_BLOCK_SIZE + 1);
    is_status(rt_durable_close(&file, status), RT_CHECKPOINT, "a.h5: larger than 64 GiB");
    ck_assert_int_eq(files_in_scratch(), 0);
}
