#include "training/example.h"

#include "core/path.h"

/* ---- damage ---- */

SUITE(.setup = make_scratch, .teardown = remove_scratch)

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

TEST_ROWS(damage_is_named, 0, ROWS(damages))
{
    write_example("a.h5");
    flip_bit(in_scratch("a.h5"), 8 * damages[_i].byte);
    is_status(open_status(in_scratch("a.h5")), RT_CHECKPOINT, damages[_i].message);
}

TEST(a_huge_stranger_is_refused_before_memory_is_asked_for)
{
    put_text("huge.h5", "");
    ck_assert_int_eq(truncate(in_scratch("huge.h5"), (off_t)1 << 40), 0);
    size_t requests = rt_memory_requests();
    is_status(open_status(in_scratch("huge.h5")), RT_CHECKPOINT,
              "huge.h5: wrong magic: not a file of rotor");
    ck_assert_uint_eq(rt_memory_requests() - requests, 1);
}

TEST(sealed_bytes_that_are_not_hdf5_are_refused)
{
    char zeros[2048] = {0};
    expect_ok(write_sealed(in_scratch("a.h5"), zeros, sizeof zeros));
    is_status(open_status(in_scratch("a.h5")), RT_CHECKPOINT, "a.h5: HDF5 cannot open it");
    no_handle_is_open();
}

/* Fletcher32 protects the numbers from programs that do not know the seal. */
TEST(hdf5_alone_finds_damage_in_a_dataset)
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

TEST(what_is_not_a_file_is_refused)
{
    is_status(open_status(in_scratch("none.h5")), RT_CHECKPOINT,
              lasting("cannot open %s/none.h5: No such file or directory", scratch));
    is_status(open_status(scratch), RT_CHECKPOINT,
              lasting("cannot read %s: not a regular file", scratch));
    ck_assert_int_eq(mkfifo(in_scratch("pipe"), 0600), 0);
    is_status(open_status(in_scratch("pipe")), RT_CHECKPOINT,
              lasting("cannot read %s/pipe: not a regular file", scratch));
}

/* ---- failures ---- */

/* Root may write everywhere, and therefore becomes somebody else for a moment. */
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

TEST(a_name_that_cannot_be_taken_leaves_nothing_behind)
{
    ck_assert_int_eq(mkdir(in_scratch("a.h5"), 0700), 0);
    is_status(write_status(in_scratch("a.h5")), RT_IO,
              lasting("cannot rename a temporary file to %s/a.h5: Is a directory", scratch));
    ck_assert_int_eq(files_in_scratch(), 1);
}

TEST(a_path_that_is_too_long_is_refused)
{
    ck_assert_int_eq(write_status(lasting("%0*d", RT_PATH_SIZE + 7, 0)).code, RT_IO);
}

TEST(what_would_be_too_large_to_read_is_not_written)
{
    rt_durable_file file;
    expect_ok(rt_durable_open(&file, in_scratch("a.h5")));
    rt_status status =
        rt_checksummed_write(&file, "", RT_CHECKSUMMED_LIMIT - RT_CHECKSUM_BLOCK_SIZE + 1);
    is_status(rt_durable_close(&file, status), RT_CHECKPOINT, "a.h5: larger than 64 GiB");
    ck_assert_int_eq(files_in_scratch(), 0);
}
