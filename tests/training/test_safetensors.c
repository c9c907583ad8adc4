#include "suite.h"
#include "training/scratch.h"

#include "io/huggingface/safetensors.h"

#include <math.h>
#include <stdint.h>

/* Writes a file of a header as it is given, with the bytes behind it. */
static void write_file(const char *header, const void *data, size_t size)
{
    static unsigned char bytes[1 << 16];
    const size_t length = strlen(header);
    ck_assert_uint_le(8 + length + size, sizeof bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, size);
    write_bytes(in_scratch("a.safetensors"), bytes, 8 + length + size);
}

static rt_safetensors *opened(void)
{
    rt_safetensors *file;
    assert_status(rt_safetensors_open(&file, in_scratch("a.safetensors")), RT_OK, "");
    return file;
}

static void expect_refusal(const char *message)
{
    rt_safetensors *file;
    assert_status(rt_safetensors_open(&file, in_scratch("a.safetensors")), RT_CHECKPOINT, message);
    ck_assert_ptr_null(file);
}

static void fill_counting(const void *context, size_t first, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = *(const float *)context + (float)(first + i);
}

static void fill_infinite(const void *context, size_t first, size_t count, float *values)
{
    (void)context, (void)first;
    for (size_t i = 0; i < count; i++)
        values[i] = (float)INFINITY;
}

/* ---- numbers ---- */

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(numbers_of_every_width_are_read)
{
    static const char header[] =
        "{\"d\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
        "\"f\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[20,26]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[7],\"data_offsets\":[26,40]}}";
    static const unsigned char data[] = {
        0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, /* 0.1 */
        0,    0,    0,    0,    0,    0,    0x04, 0xc0, /* -2.5 */
        0xcd, 0xcc, 0xcc, 0x3d,                         /* 0.1f */
        0x80, 0x3f, 0x49, 0xc0, 0x80, 0x7f,             /* 1, -3.140625, infinity */
        0x00, 0x3c, 0x48, 0xc2, 0x01, 0x00, 0xff, 0x83, /* 1, -3.140625, 2^-24, -1023 2^-24 */
        0xff, 0x7b, 0x00, 0xfc, 0x01, 0x7e};            /* 65504, -infinity, NaN */
    double d[7];
    real r[7];
    write_file(header, data, sizeof data);
    rt_safetensors *file = opened();
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "d"), 0, 2, d), RT_OK, "");
    ck_assert(d[0] == 0.1 && d[1] == -2.5);
    assert_status(rt_safetensors_reals(rt_safetensors_find(file, "f"), 0, 1, r), RT_OK, "");
    ck_assert(r[0] == (real)0.1f);
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "b"), 0, 3, d), RT_OK, "");
    ck_assert(d[0] == 1 && d[1] == -3.140625 && isinf(d[2]) && d[2] > 0);
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "h"), 0, 7, d), RT_OK, "");
    ck_assert(d[0] == 1 && d[1] == -3.140625 && d[2] == ldexp(1, -24));
    ck_assert(d[3] == -1023 * ldexp(1, -24) && d[4] == 65504 && isinf(d[5]) && isnan(d[6]));
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "h"), 4, 1, d), RT_OK, "");
    ck_assert(d[0] == 65504);
    rt_safetensors_close(file);
}

TEST(what_is_no_such_number_or_not_there_is_refused)
{
    static const char header[] = "{\"i\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                                 "\"f\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}";
    double values[2];
    write_file(header, "12345678", 8);
    rt_safetensors *file = opened();
    assert_status(
        rt_safetensors_doubles(rt_safetensors_find(file, "i"), 0, 1, values), RT_CHECKPOINT,
        "a.safetensors: tensor 'i': its dtype is I32; F32, F16, BF16 and F64 can be read");
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "f"), 0, 2, values),
                  RT_CHECKPOINT, "a.safetensors: tensor 'f' has 1 numbers");
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "f"), 2, 0, values),
                  RT_CHECKPOINT, "a.safetensors: tensor 'f' has 1 numbers");
    ck_assert_ptr_null(rt_safetensors_find(file, "g"));
    ck_assert_str_eq(rt_safetensors_at(file, 0)->name, "f");
    ck_assert_ptr_null(rt_safetensors_at(file, 2));
    rt_safetensors_close(file);
}

TEST(a_file_that_shrinks_is_an_error)
{
    double values[2];
    write_file("{\"f\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "12345678", 8);
    rt_safetensors *file = opened();
    ck_assert_int_eq(truncate(in_scratch("a.safetensors"), 60), 0);
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "f"), 0, 2, values),
                  RT_CHECKPOINT,
                  "a.safetensors: it ends at byte 62: it was shortened while being read");
    rt_safetensors_close(file);
}

/* ---- headers ---- */

TEST(what_is_no_regular_file_is_not_waited_for)
{
    rt_safetensors *file;
    char message[256];
    ck_assert_int_eq(mkfifo(in_scratch("pipe"), 0600), 0);
    snprintf(message, sizeof message, "%s/pipe: cannot be opened: not a regular file", scratch);
    assert_status(rt_safetensors_open(&file, in_scratch("pipe")), RT_CHECKPOINT, message);
    snprintf(message, sizeof message, "%s/none: cannot be opened: No such file or directory",
             scratch);
    assert_status(rt_safetensors_open(&file, in_scratch("none")), RT_CHECKPOINT, message);
}

TEST_ROWS(a_text_is_no_safetensors_file, 0, 3)
{
    static const char *const texts[][2] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
         "a.safetensors: it is a git-lfs pointer, not the file itself; fetch the file with: git "
         "lfs pull"},
        {"version 1 of a model", "a.safetensors: not a safetensors file: it is a text that begins "
                                 "with 'version 1 of a model'"},
        {"<!DOCTYPE html>\n<title>401</title>",
         "a.safetensors: not a safetensors file: it is a text that begins with '<!DOCTYPE "
         "html>?<title>401</title>'"},
    };
    rt_safetensors *file;
    write_bytes(in_scratch("a.safetensors"), texts[_i][0], strlen(texts[_i][0]));
    assert_status(rt_safetensors_open(&file, in_scratch("a.safetensors")), RT_CHECKPOINT,
                  texts[_i][1]);
}

static const struct {
    const char *header, *message;
} refusals[] = {
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-0],\"data_offsets\":[0,0]}}",
     "a.safetensors: tensor 'a': its shape must have whole numbers from 0 on"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,8]}}",
     "a.safetensors: tensor 'a': its shape must have whole numbers from 0 on"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615],\"data_offsets\":[0,8]}}",
     "a.safetensors: tensor 'a': its shape overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551616],\"data_offsets\":[0,0]}}",
     "a.safetensors: tensor 'a': its shape must have whole numbers from 0 on"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,18446744073709551615]}}",
     "a.safetensors: tensor 'a': its data_offsets are not in the file"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     "a.safetensors: tensor 'a': there is a hole before its numbers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "a.safetensors: its tensors take 4 bytes, behind its header are 8"},
    {"{\"\\u001b[2J\":{\"dtype\":\"X\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "a.safetensors: tensor '?[2J': its dtype is none of the format's"},
    {"{\"a\":\n1,\n,}", "a.safetensors:3: invalid JSON: 'string or '}' expected near ',''"},
    {"{\"a\":{\"dtype\":\"F4\",\"shape\":[17],\"data_offsets\":[0,8]}}",
     "a.safetensors: tensor 'a': it does not end with a byte"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}",
     "a.safetensors: tensor 'a': its data_offsets do not fit its shape"},
    {"{\"__metadata__\":{\"a\":1}}", "a.safetensors: __metadata__: 'a' must be a string"},
};

TEST_ROWS(a_refusal_names_the_tensor_and_the_reason, 0, ROWS(refusals))
{
    write_file(refusals[_i].header, "12345678", 8);
    expect_refusal(refusals[_i].message);
}

TEST(a_header_takes_bounded_memory)
{
    enum { VALUES = 1100000 };
    static const char start[] = "{\"a\":[", *const end = "]}";
    const size_t size = sizeof start - 1 + 2 * VALUES;
    char *bytes = malloc(8 + size + 2);
    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((size + 1) >> 8 * i);
    memcpy(bytes + 8, start, sizeof start - 1);
    for (size_t i = 0; i < VALUES; i++)
        memcpy(bytes + 8 + sizeof start - 1 + 2 * i, "1,", 2);
    memcpy(bytes + 8 + size - 1, end, 2);
    write_bytes(in_scratch("a.safetensors"), bytes, 8 + size + 1);
    free(bytes);
    expect_refusal("a.safetensors:1: has more than 1048576 values");
}

TEST(a_header_has_at_most_a_hundred_million_bytes)
{
    static const unsigned char length[8] = {0x01, 0xe1, 0xf5, 0x05};
    write_bytes(in_scratch("a.safetensors"), length, sizeof length);
    ck_assert_int_eq(truncate(in_scratch("a.safetensors"), 100000100), 0);
    expect_refusal("a.safetensors: its header would have 100000001 bytes; the file has 100000100, "
                   "a header at most 100000000");
}

TEST(numbers_in_fields_that_nobody_reads_may_be_of_any_kind)
{
    write_file(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0, 18446744073709551615],\"data_offsets\":[0,0],"
        "\"x\":[-0, 1.5e3, -7, 18446744073709551616, -9223372036854775809, \"-0 [[[\\\"\"]}, "
        "\"b\":{\"dtype\":\"U8\",\"shape\":[8],"
        "\"data_offsets\":[0,8]}}",
        "12345678", 8);
    rt_safetensors_close(opened());
}

/* The two braces around a field count as well. */
TEST_ROWS(brackets_within_brackets_are_counted, 0, 2)
{
    char header[512], lists[128] = "", ends[128] = "";
    memset(lists, '[', 125 + (size_t)_i);
    memset(ends, ']', 125 + (size_t)_i);
    snprintf(header, sizeof header,
             "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8],\"x\":%s%s}}", lists,
             ends);
    write_file(header, "12345678", 8);
    if (_i == 0)
        rt_safetensors_close(opened());
    else
        expect_refusal("a.safetensors:1: nests brackets more than 127 deep");
}

/* ---- writing ---- */

TEST(a_file_is_written_byte_for_byte_as_the_library_would)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"a.b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
        "\"a.cc\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[4,12]}}       ";
    static const unsigned char numbers[] = {0, 0, 0x40, 0x40, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
    static const float one = 1, three = 3;
    const rt_safetensors_entry entries[] = {
        {.name = "a.cc", .axes = 2, .shape = {1, 2}, .fill = fill_counting, .context = &one},
        {.name = "a.b", .axes = 0, .fill = fill_counting, .context = &three}};
    assert_status(rt_safetensors_write(in_scratch("b.safetensors"), entries, 2), RT_OK, "");
    ck_assert_uint_eq((sizeof header - 1) % 8, 0);
    write_file(header, numbers, sizeof numbers);
    assert_same_file(in_scratch("a.safetensors"), in_scratch("b.safetensors"));
    ck_assert_int_eq(files_in_scratch(), 2);
}

TEST(a_long_tensor_is_written_and_read_in_parts)
{
    enum { COUNT = 3 * 4096 + 5 };
    static const float start = 0.5f;
    static double values[COUNT];
    const rt_safetensors_entry entry = {
        .name = "a", .axes = 1, .shape = {COUNT}, .fill = fill_counting, .context = &start};
    assert_status(rt_safetensors_write(in_scratch("a.safetensors"), &entry, 1), RT_OK, "");
    rt_safetensors *file = opened();
    assert_status(rt_safetensors_doubles(rt_safetensors_find(file, "a"), 0, COUNT, values), RT_OK,
                  "");
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(values[i] == i + 0.5, "number %d is %g", i, values[i]);
    rt_safetensors_close(file);
}

TEST(what_no_float_holds_is_not_written)
{
    const rt_safetensors_entry entry = {.name = "a",
                                        .axes = 1,
                                        .shape = {3},
                                        .fill = fill_infinite};
    assert_status(rt_safetensors_write(in_scratch("a.safetensors"), &entry, 1), RT_NONFINITE,
                  "a.safetensors: a has a number that is not finite as a float");
    ck_assert_int_eq(files_in_scratch(), 0);
}

static rt_status write_long(void)
{
    static const float zero = 0;
    const rt_safetensors_entry entry = {
        .name = "a", .axes = 1, .shape = {10000}, .fill = fill_counting, .context = &zero};
    return rt_safetensors_write(in_scratch("a.safetensors"), &entry, 1);
}

TEST(a_full_disk_leaves_nothing_behind)
{
    ck_assert(fails_on_full_disk(8192, write_long));
    ck_assert_int_eq(files_in_scratch(), 0);
}

static rt_status write_short(void *context)
{
    static const float zero = 0;
    const rt_safetensors_entry entry = {
        .name = "a", .axes = 1, .shape = {4}, .fill = fill_counting, .context = &zero};
    (void)context;
    const rt_status status = rt_safetensors_write(in_scratch("a.safetensors"), &entry, 1);
    ck_assert_int_eq(files_in_scratch(), status.code == RT_OK);
    return status;
}

static rt_status open_short(void *context)
{
    rt_safetensors *file;
    (void)context;
    const rt_status status = rt_safetensors_open(&file, in_scratch("a.safetensors"));
    ck_assert((status.code == RT_OK) == (file != NULL));
    rt_safetensors_close(file);
    return status;
}

TEST(every_allocation_can_fail)
{
    expect_faults(write_short, NULL, 2);
    expect_faults(open_short, NULL, 5);
}
