#include "io/checkpoint/image.h"

#include "suite.h"
#include "training/example.h"

static void assert_reals(rt_image *image, const char *path, rt_shape shape)
{
    real values[24];
    rt_image_reals(image, path, values, shape);
    ck_assert_mem_eq(values, some_reals, rt_shape_size(shape) * sizeof(real));
}

static const rt_parse parses[] = {RT_PARSE_HERE, RT_PARSE_APART};
enum { PARSES = sizeof parses / sizeof *parses };

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(what_was_put_is_read_back_bit_for_bit, 0, PARSES)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"), parses[_i]);
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
    char *text = rt_image_text(image, "/text"), *nothing = rt_image_text(image, "/nothing");
    ck_assert_str_eq(text, "[run]\nname = \xce\xb8\n");
    ck_assert_str_eq(nothing, "");
    size_t size, none;
    unsigned char *bytes = rt_image_bytes(image, "/bytes", &size);
    unsigned char *no_bytes = rt_image_bytes(image, "/no_bytes", &none);
    ck_assert_uint_eq(size, 4);
    ck_assert_mem_eq(bytes, "\0\xff\0x", 4);
    ck_assert_ptr_nonnull(no_bytes);
    ck_assert_uint_eq(none, 0);
    assert_status(rt_image_status(image), RT_OK, "");
    rt_free(text);
    rt_free(nothing);
    rt_free(bytes);
    rt_free(no_bytes);
    rt_image_close(image);
}

TEST(a_dataset_of_several_chunks_is_read_back)
{
    rt_shape shape = RT_SHAPE_OF(3, 1 << 20, 2);
    size_t size = rt_shape_size(shape);
    real *values = rt_alloc(size, sizeof *values), *read = rt_alloc(size, sizeof *values);
    for (size_t i = 0; i < size; i++)
        values[i] = (real)i;
    rt_image *image = rt_image_new();
    rt_image_put_reals(image, "/large", values, shape);
    rt_status status = write_image(image, in_scratch("large.h5"));
    rt_image_close(image);
    assert_status(status, RT_OK, "");
    image = rt_image_open(in_scratch("large.h5"), RT_PARSE_HERE);
    rt_image_reals(image, "/large", read, shape);
    assert_status(rt_image_status(image), RT_OK, "");
    ck_assert(!memcmp(values, read, size * sizeof *values));
    rt_image_close(image);
    rt_free(values);
    rt_free(read);
}

/* 48 MiB in chunks of at most 16: the longest axis is halved twice. */
TEST(a_chunk_has_at_most_16_MiB)
{
    const rt_shape shape = RT_SHAPE_OF(3, 1 << 20, 2);
    hsize_t chunk[3] = {0};
    real *values = rt_alloc(rt_shape_size(shape), sizeof *values);
    rt_image *image = rt_image_new();
    rt_image_put_reals(image, "/large", values, shape);
    rt_status status = write_image(image, in_scratch("large.h5"));
    rt_image_close(image);
    rt_free(values);
    assert_status(status, RT_OK, "");
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

TEST(shapes_are_told_and_absent_datasets_are_not_an_error)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"), RT_PARSE_HERE);
    rt_shape shape;
    ck_assert(rt_image_shape(image, "/a/b/four", &shape));
    ck_assert_str_eq(rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape), "(2, 3, 1, 4)");
    ck_assert(rt_image_shape(image, "/a/scalar", &shape));
    ck_assert_int_eq(shape.ndim, 0);
    ck_assert(!rt_image_shape(image, "/a/b", &shape));
    ck_assert(!rt_image_shape(image, "/a/b/five", &shape));
    ck_assert(!rt_image_shape(image, "/x/y/z", &shape));
    assert_status(rt_image_status(image), RT_OK, "");
    rt_image_close(image);
}

static void append_path(void *context, const char *path)
{
    strcat(strcat(context, path), " ");
}

TEST(a_visit_sees_every_dataset_in_the_order_of_names)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"), RT_PARSE_HERE);
    char paths[256] = "";
    rt_image_visit(image, "/", append_path, paths);
    ck_assert_str_eq(paths, "a/b/four a/b/vector a/scalar bytes no_bytes nothing text ");
    rt_image_close(image);
}

/* A second apart: HDF5 counts times in seconds. */
TEST(the_same_content_gives_the_same_bytes)
{
    write_example(in_scratch("a.h5"));
    wait_for_the_next_second();
    write_example(in_scratch("b.h5"));
    assert_same_file(in_scratch("a.h5"), in_scratch("b.h5"));
}

TEST(the_first_failure_sticks)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"), RT_PARSE_HERE);
    size_t size = 1;
    rt_shape shape;
    ck_assert_int_eq(rt_image_integer(image, "/", "absent"), 0);
    ck_assert_ptr_null(rt_image_text(image, "/absent"));
    ck_assert_ptr_null(rt_image_bytes(image, "/bytes", &size));
    ck_assert_uint_eq(size, 0);
    ck_assert(!rt_image_shape(image, "/a/scalar", &shape));
    assert_status(rt_image_status(image), RT_CHECKPOINT,
                  "a.h5: attribute absent of / is missing or not as expected");
    rt_image_close(image);
    no_handle_is_open();
}

/* With its zero a word has 64 bytes. */
TEST(a_word_that_is_too_long_is_refused)
{
    char word[RT_WORD_SIZE + 2] = "", read[RT_WORD_SIZE + 1];
    for (int length = RT_WORD_SIZE - 1; length <= RT_WORD_SIZE + 1; length++) {
        memset(word, 'w', (size_t)length);
        word[length] = '\0';
        rt_image *image = rt_image_new();
        rt_image_put_word(image, "/", "word", word);
        rt_status status = write_image(image, in_scratch("word.h5"));
        rt_image_close(image);
        assert_status(status, RT_OK, "");
        image = rt_image_open(in_scratch("word.h5"), RT_PARSE_HERE);
        read[RT_WORD_SIZE] = 'x';
        rt_image_word(image, "/", "word", read);
        status = rt_image_status(image);
        rt_image_close(image);
        ck_assert_int_eq(status.code, length < RT_WORD_SIZE ? RT_OK : RT_CHECKPOINT);
        ck_assert_int_eq(read[RT_WORD_SIZE], 'x');
        ck_assert_str_eq(read, length < RT_WORD_SIZE ? word : "");
    }
}

enum { MISREADINGS = 8 };

/* Reads what is there as something else, or what is absent. */
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

TEST_ROWS(what_is_of_another_kind_is_refused, 0, MISREADINGS)
{
    write_example(in_scratch("a.h5"));
    for (int i = 0; i < PARSES; i++) {
        rt_image *image = rt_image_open(in_scratch("a.h5"), parses[i]);
        misread(image, _i);
        ck_assert_int_eq(rt_image_status(image).code, RT_CHECKPOINT);
        rt_image_close(image);
    }
    no_handle_is_open();
}

TEST(plain_hdf5_reads_the_file)
{
    write_example(in_scratch("a.h5"));
    hid_t file = H5Fopen(in_scratch("a.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    ck_assert(file >= 0);
    hid_t dataset = H5Dopen2(file, "/a/b/vector", H5P_DEFAULT);
    double values[7];
    ck_assert(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int i = 0; i < 7; i++)
        ck_assert(values[i] == (double)some_reals[i]);
    H5Dclose(dataset);
    H5Fclose(file);
}

TEST(h5ls_lists_the_file)
{
    NEEDS_PROGRAM("h5ls");
    write_example(in_scratch("a.h5"));
    char line[256], listing[4096] = "";
    FILE *pipe = popen(lasting("h5ls -r %s", in_scratch("a.h5")), "r");
    while (fgets(line, sizeof line, pipe))
        strcat(listing, line);
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_msg(strstr(listing, "/a/b/four                Dataset {2, 3, 1, 4}") != NULL, "%s",
                  listing);
}

/* ---- what the file does not hold ---- */

/* Replaces /bytes of the example and seals the file again: a forger would do the same. */
static void forge(const char *path, hid_t type, hid_t creation, hsize_t extent)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "/bytes", H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t set = H5Dcreate2(file, "/bytes", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ck_assert(set >= 0 && H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
    size_t size;
    unsigned char *bytes = file_bytes(path, &size);
    assert_status(write_sealed(path, bytes + RT_CHECKSUM_BLOCK_SIZE, size - RT_CHECKSUM_BLOCK_SIZE),
                  RT_OK, "");
    free(bytes);
}

static void expect_no_bytes(const char *path)
{
    size_t size;
    rt_image *image = rt_image_open(path, RT_PARSE_HERE);
    ck_assert_ptr_null(rt_image_bytes(image, "/bytes", &size));
    assert_status(rt_image_status(image), RT_CHECKPOINT,
                  "a.h5: /bytes is missing or not as expected");
    rt_image_close(image);
    no_handle_is_open();
}

/* A dataset that was never written has an extent and no bytes; HDF5 reads it as zeros. */
TEST(what_was_never_written_is_refused_before_memory_is_asked_for)
{
    const char *path = in_scratch("a.h5");
    write_example(path);
    forge(path, H5T_STD_U8LE, H5P_DEFAULT, (hsize_t)1 << 40);
    expect_no_bytes(path);
}

TEST(what_lies_in_another_file_is_refused)
{
    const char *path = in_scratch("a.h5");
    write_example(path);
    write_bytes(in_scratch("other"), "secret", 6);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, in_scratch("other"), 0, 6);
    forge(path, H5T_STD_U8LE, creation, 6);
    H5Pclose(creation);
    expect_no_bytes(path);
}
