#include "train/image.h"

#include "core/random.h"
#include "suite.h"
#include "train/sealed.h"
#include "training/scratch.h"

#include <hdf5.h>
#include <math.h>
#include <sys/wait.h>

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

static void write_example(const char *path)
{
    rt_image *image = rt_image_new();
    fill(image);
    rt_status status = rt_image_write(image, path);
    rt_image_close(image);
    ck_assert_msg(status.code == RT_OK, "%s", status.message);
}

static rt_status open_status(const char *path)
{
    rt_image *image = rt_image_open(path);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    return status;
}

static void assert_status(rt_status status, rt_code code, const char *message)
{
    ck_assert_str_eq(status.message, message);
    ck_assert_int_eq(status.code, code);
}

static void no_handle_is_open(void)
{
    ck_assert_int_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

/* ---- content ---- */

static void assert_reals(rt_image *image, const char *path, rt_shape shape)
{
    real values[24];
    rt_image_reals(image, path, values, shape);
    ck_assert_mem_eq(values, some_reals, rt_shape_size(shape) * sizeof(real));
}

START_TEST(what_was_put_is_read_back_bit_for_bit)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"));
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
END_TEST

START_TEST(a_dataset_of_several_chunks_is_read_back)
{
    rt_shape shape = RT_SHAPE_OF(3, 1 << 20, 2);
    size_t size = rt_shape_size(shape);
    real *values = rt_alloc(size, sizeof *values), *read = rt_alloc(size, sizeof *values);
    for (size_t i = 0; i < size; i++)
        values[i] = (real)i;
    rt_image *image = rt_image_new();
    rt_image_put_reals(image, "/large", values, shape);
    rt_status status = rt_image_write(image, in_scratch("large.h5"));
    rt_image_close(image);
    assert_status(status, RT_OK, "");
    image = rt_image_open(in_scratch("large.h5"));
    rt_image_reals(image, "/large", read, shape);
    assert_status(rt_image_status(image), RT_OK, "");
    ck_assert(!memcmp(values, read, size * sizeof *values));
    rt_image_close(image);
    rt_free(values);
    rt_free(read);
}
END_TEST

START_TEST(shapes_are_told_and_absent_datasets_are_not_an_error)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"));
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
END_TEST

static void append_path(void *context, const char *path)
{
    strcat(strcat(context, path), " ");
}

START_TEST(a_visit_sees_every_dataset_in_the_order_of_names)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"));
    char paths[256] = "";
    rt_image_visit(image, "/", append_path, paths);
    ck_assert_str_eq(paths, "a/b/four a/b/vector a/scalar bytes no_bytes nothing text ");
    rt_image_close(image);
}
END_TEST

/* A second apart: HDF5 counts times in seconds. */
START_TEST(the_same_content_gives_the_same_bytes)
{
    write_example(in_scratch("a.h5"));
    sleep(1);
    write_example(in_scratch("b.h5"));
    assert_same_file(in_scratch("a.h5"), in_scratch("b.h5"));
}
END_TEST

START_TEST(the_first_failure_sticks)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"));
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
END_TEST

/* Each reads what is there as something else. */
static void read_word_as_integer(rt_image *image)
{
    rt_image_integer(image, "/", "form");
}
static void read_integer_as_word(rt_image *image)
{
    rt_image_word(image, "/", "least", (char[RT_WORD_SIZE]){0});
}
static void read_another_shape(rt_image *image)
{
    rt_image_reals(image, "/a/b/four", (real[24]){0}, RT_SHAPE_OF(2, 3, 4));
}
static void read_bytes_as_reals(rt_image *image)
{
    rt_image_reals(image, "/bytes", (real[4]){0}, RT_SHAPE_OF(4));
}
static void read_reals_as_text(rt_image *image)
{
    rt_image_text(image, "/a/scalar");
}
static void read_reals_as_bytes(rt_image *image)
{
    rt_image_bytes(image, "/a/b/vector", &(size_t){0});
}
static void visit_what_is_absent(rt_image *image)
{
    rt_image_visit(image, "/absent", append_path, NULL);
}

static void (*const misreadings[])(rt_image *image) = {read_word_as_integer, read_integer_as_word,
                                                       read_another_shape,   read_bytes_as_reals,
                                                       read_reals_as_text,   read_reals_as_bytes,
                                                       visit_what_is_absent};

START_TEST(what_is_of_another_kind_is_refused)
{
    write_example(in_scratch("a.h5"));
    rt_image *image = rt_image_open(in_scratch("a.h5"));
    misreadings[_i](image);
    ck_assert_int_eq(rt_image_status(image).code, RT_CHECKPOINT);
    rt_image_close(image);
    no_handle_is_open();
}
END_TEST

START_TEST(plain_hdf5_reads_the_file)
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
END_TEST

START_TEST(h5ls_lists_the_file)
{
    if (system("command -v h5ls >/dev/null"))
        return;
    write_example(in_scratch("a.h5"));
    char command[600], line[256], listing[4096] = "";
    snprintf(command, sizeof command, "h5ls -r %s", in_scratch("a.h5"));
    FILE *pipe = popen(command, "r");
    while (fgets(line, sizeof line, pipe))
        strcat(listing, line);
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_msg(strstr(listing, "/a/b/four                Dataset {2, 3, 1, 4}") != NULL, "%s",
                  listing);
}
END_TEST

/* ---- damage ---- */

START_TEST(a_file_cut_at_any_length_is_refused)
{
    write_example(in_scratch("a.h5"));
    size_t size;
    unsigned char *bytes = file_bytes(in_scratch("a.h5"), &size);
    ck_assert_uint_gt(size, 4096);
    for (size_t length = 0; length < size; length += length < 4096 ? 1 : 97) {
        write_bytes(in_scratch("cut.h5"), bytes, length);
        char message[128];
        if (length < RT_SEAL_SIZE)
            snprintf(message, sizeof message, "cut.h5: too short: %zu bytes, at least 512 expected",
                     length);
        else
            snprintf(message, sizeof message, "cut.h5: length differs: %zu bytes, %zu written",
                     length, size);
        assert_status(open_status(in_scratch("cut.h5")), RT_CHECKPOINT, message);
    }
    free(bytes);
}
END_TEST

START_TEST(every_flipped_bit_is_found)
{
    enum { FLIPS = 10000 };
    const char *path = in_scratch("a.h5");
    write_example(path);
    size_t size;
    unsigned char *bytes = file_bytes(path, &size);
    rt_random random = {1, 0, RT_STREAM_CHECK};
    for (size_t i = 0; i < FLIPS; i++) {
        size_t bits = 8 * (i % 2 ? size : RT_SEAL_SIZE);
        size_t bit = i < 8 * 64 ? i : rt_random_below(random, i, (uint32_t)bits);
        flip_bit(path, bit);
        rt_status status = open_status(path);
        ck_assert_msg(status.code == RT_CHECKPOINT, "bit %zu was not found: %s", bit,
                      status.message);
        flip_bit(path, bit);
    }
    free(bytes);
    ck_assert_int_eq(open_status(path).code, RT_OK);
}
END_TEST

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

START_TEST(damage_is_named)
{
    write_example(in_scratch("a.h5"));
    flip_bit(in_scratch("a.h5"), 8 * damages[_i].byte);
    assert_status(open_status(in_scratch("a.h5")), RT_CHECKPOINT, damages[_i].message);
}
END_TEST

START_TEST(a_longer_file_is_refused)
{
    write_example(in_scratch("a.h5"));
    FILE *file = fopen(in_scratch("a.h5"), "ab");
    fputc(0, file);
    fclose(file);
    rt_status status = open_status(in_scratch("a.h5"));
    ck_assert_int_eq(status.code, RT_CHECKPOINT);
    ck_assert_ptr_nonnull(strstr(status.message, "a.h5: length differs: "));
}
END_TEST

START_TEST(a_huge_stranger_is_refused_before_memory_is_asked_for)
{
    write_bytes(in_scratch("huge.h5"), "", 0);
    ck_assert_int_eq(truncate(in_scratch("huge.h5"), (off_t)1 << 40), 0);
    size_t requests = rt_memory_requests();
    assert_status(open_status(in_scratch("huge.h5")), RT_CHECKPOINT,
                  "huge.h5: wrong magic: not a file of rotor");
    ck_assert_uint_eq(rt_memory_requests() - requests, 1);
}
END_TEST

START_TEST(sealed_bytes_that_are_not_hdf5_are_refused)
{
    char zeros[2048] = {0};
    rt_status status = rt_sealed_write(in_scratch("a.h5"), zeros, sizeof zeros);
    assert_status(status, RT_OK, "");
    assert_status(open_status(in_scratch("a.h5")), RT_CHECKPOINT, "a.h5: HDF5 cannot open it");
    no_handle_is_open();
}
END_TEST

START_TEST(what_is_not_a_file_is_refused)
{
    char message[256];
    snprintf(message, sizeof message, "cannot open %s/none.h5: No such file or directory", scratch);
    assert_status(open_status(in_scratch("none.h5")), RT_IO, message);
    snprintf(message, sizeof message, "cannot read %s: not a regular file", scratch);
    assert_status(open_status(scratch), RT_IO, message);
    ck_assert_int_eq(mkfifo(in_scratch("pipe"), 0600), 0);
    snprintf(message, sizeof message, "cannot read %s/pipe: not a regular file", scratch);
    assert_status(open_status(in_scratch("pipe")), RT_IO, message);
}
END_TEST

/* ---- failures ---- */

static rt_status write_status(const char *path)
{
    rt_image *image = rt_image_new();
    fill(image);
    rt_status status = rt_image_write(image, path);
    rt_image_close(image);
    return status;
}

START_TEST(a_folder_that_cannot_be_written_is_named)
{
    char message[256];
    snprintf(message, sizeof message, "cannot create %s/no/a.h5.tmp: No such file or directory",
             scratch);
    assert_status(write_status(in_scratch("no/a.h5")), RT_IO, message);
    if (geteuid() != 0) {
        chmod(scratch, 0500);
        snprintf(message, sizeof message, "cannot create %s/a.h5.tmp: Permission denied", scratch);
        assert_status(write_status(in_scratch("a.h5")), RT_IO, message);
        chmod(scratch, 0700);
    }
    ck_assert_int_eq(files_in_scratch(), 0);
}
END_TEST

START_TEST(a_name_that_cannot_be_taken_leaves_nothing_behind)
{
    char message[256];
    ck_assert_int_eq(mkdir(in_scratch("a.h5"), 0700), 0);
    snprintf(message, sizeof message, "cannot give its name to %s/a.h5: Is a directory", scratch);
    assert_status(write_status(in_scratch("a.h5")), RT_IO, message);
    ck_assert_int_eq(files_in_scratch(), 1);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
    char path[RT_SEALED_PATH_SIZE + 8];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(write_status(path).code, RT_IO);
}
END_TEST

START_TEST(a_file_survives_a_failed_overwrite)
{
    write_example(in_scratch("a.h5"));
    write_example(in_scratch("copy"));
    char message[256];
    snprintf(message, sizeof message, "cannot write %s/a.h5.tmp: File too large", scratch);
    pid_t child = fork();
    if (child == 0) {
        limit_file_size(3000);
        rt_status status = write_status(in_scratch("a.h5"));
        _exit(status.code == RT_IO && !strcmp(status.message, message) ? 0 : 1);
    }
    int result;
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert_int_eq(result, 0);
    assert_same_file(in_scratch("a.h5"), in_scratch("copy"));
    ck_assert_int_eq(files_in_scratch(), 2);
}
END_TEST

START_TEST(every_failed_allocation_is_an_error)
{
    write_example(in_scratch("a.h5"));
    rt_code code = RT_MEMORY;
    for (size_t n = 1; code != RT_OK; n++) {
        rt_memory_fail_at(n);
        rt_image *image = rt_image_open(in_scratch("a.h5"));
        char *text = rt_image_text(image, "/text");
        unsigned char *bytes = rt_image_bytes(image, "/bytes", &(size_t){0});
        code = rt_image_status(image).code;
        rt_memory_fail_at(0);
        ck_assert(code == RT_OK || code == RT_MEMORY);
        ck_assert_int_eq(code == RT_OK, text && bytes);
        rt_free(text);
        rt_free(bytes);
        rt_image_close(image);
    }
    rt_memory_fail_at(1);
    ck_assert_int_eq(write_status(in_scratch("b.h5")).code, RT_MEMORY);
    no_handle_is_open();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image");
    TCase *content = leak_checked_case(suite, "content");
    tcase_add_checked_fixture(content, make_scratch, remove_scratch);
    tcase_add_test(content, what_was_put_is_read_back_bit_for_bit);
    tcase_add_test(content, a_dataset_of_several_chunks_is_read_back);
    tcase_add_test(content, shapes_are_told_and_absent_datasets_are_not_an_error);
    tcase_add_test(content, a_visit_sees_every_dataset_in_the_order_of_names);
    tcase_add_test(content, the_same_content_gives_the_same_bytes);
    tcase_add_test(content, the_first_failure_sticks);
    tcase_add_loop_test(content, what_is_of_another_kind_is_refused, 0,
                        sizeof misreadings / sizeof *misreadings);
    tcase_add_test(content, plain_hdf5_reads_the_file);
    tcase_add_test(content, h5ls_lists_the_file);
    TCase *damage = leak_checked_case(suite, "damage");
    tcase_add_checked_fixture(damage, make_scratch, remove_scratch);
    tcase_add_test(damage, a_file_cut_at_any_length_is_refused);
    tcase_add_test(damage, every_flipped_bit_is_found);
    tcase_add_loop_test(damage, damage_is_named, 0, sizeof damages / sizeof *damages);
    tcase_add_test(damage, a_longer_file_is_refused);
    tcase_add_test(damage, a_huge_stranger_is_refused_before_memory_is_asked_for);
    tcase_add_test(damage, sealed_bytes_that_are_not_hdf5_are_refused);
    tcase_add_test(damage, what_is_not_a_file_is_refused);
    TCase *failures = leak_checked_case(suite, "failures");
    tcase_add_checked_fixture(failures, make_scratch, remove_scratch);
    tcase_add_test(failures, a_folder_that_cannot_be_written_is_named);
    tcase_add_test(failures, a_name_that_cannot_be_taken_leaves_nothing_behind);
    tcase_add_test(failures, a_path_that_is_too_long_is_refused);
    tcase_add_test(failures, a_file_survives_a_failed_overwrite);
    tcase_add_test(failures, every_failed_allocation_is_an_error);
    return run_suite(suite);
}
