#include "io/huggingface/hf_folder.h"

/* Writes a file of a header and the bytes after it. */
static void write_file(const char *header, const void *data, size_t size)
{
    const size_t length = strlen(header);
    unsigned char *bytes = owned(malloc(8 + length + size), free);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, size);
    write_bytes(in_scratch("a.safetensors"), bytes, 8 + length + size);
}

static rt_status read_doubles(rt_safetensors *file, const char *name, uint64_t first, size_t count,
                              double *values)
{
    return rt_safetensors_doubles(rt_safetensors_find(file, name), first, count, values);
}

static rt_status try_open(void)
{
    rt_safetensors *file;
    const rt_status status = rt_safetensors_open(&file, in_scratch("a.safetensors"));
    ck_assert((status.code == RT_OK) == (file != NULL));
    rt_safetensors_close(file);
    return status;
}

static void expect_refusal(const char *message)
{
    is_status(try_open(), RT_CHECKPOINT, message);
}

static void fill_counting(const void *context, size_t first, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = *(const float *)context + (float)(first + i);
}

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
    write_file(header, data, sizeof data);
    rt_safetensors *file = opened_weights("a.safetensors");
    expect_ok(read_doubles(file, "d", 0, 2, d));
    ck_assert(d[0] == 0.1 && d[1] == -2.5);
    expect_ok(read_doubles(file, "f", 0, 1, d));
    ck_assert(d[0] == (double)0.1f);
    expect_ok(read_doubles(file, "b", 0, 3, d));
    ck_assert(d[0] == 1 && d[1] == -3.140625 && isinf(d[2]) && d[2] > 0);
    expect_ok(read_doubles(file, "h", 0, 7, d));
    ck_assert(d[0] == 1 && d[1] == -3.140625 && d[2] == ldexp(1, -24));
    ck_assert(d[3] == -1023 * ldexp(1, -24) && d[4] == 65504 && isinf(d[5]) && isnan(d[6]));
    expect_ok(read_doubles(file, "h", 4, 1, d));
    ck_assert(d[0] == 65504);
}

TEST(an_integer_tensor_or_an_index_out_of_range_is_refused)
{
    double values[2];
    write_file("{\"i\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]},"
               "\"f\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
               "12345678", 8);
    rt_safetensors *file = opened_weights("a.safetensors");
    is_status(read_doubles(file, "i", 0, 1, values), RT_CHECKPOINT,
              "a.safetensors: tensor 'i': its dtype is I32; F32, F16, BF16 and F64 can be read");
    for (int first = 0; first <= 2; first += 2)
        is_status(read_doubles(file, "f", (uint64_t)first, 2 - (size_t)first, values),
                  RT_CHECKPOINT, "a.safetensors: tensor 'f' has 1 numbers");
    ck_assert_ptr_null(rt_safetensors_find(file, "g"));
    ck_assert_str_eq(file->tensors[0].name, "f");
    ck_assert_uint_eq(file->count, 2);
}

TEST(a_file_that_shrinks_is_an_error)
{
    double values[2];
    write_file("{\"f\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "12345678", 8);
    rt_safetensors *file = opened_weights("a.safetensors");
    ck_assert_int_eq(truncate(in_scratch("a.safetensors"), 60), 0);
    is_status(read_doubles(file, "f", 0, 2, values), RT_CHECKPOINT,
              "a.safetensors: it ends at byte 62: it was shortened while being read");
}

TEST(a_pipe_is_refused_without_waiting)
{
    rt_safetensors *file;
    ck_assert_int_eq(mkfifo(in_scratch("pipe"), 0600), 0);
    is_status(rt_safetensors_open(&file, in_scratch("pipe")), RT_CHECKPOINT,
              lasting("%s/pipe: cannot be opened: not a regular file", scratch));
    is_status(rt_safetensors_open(&file, in_scratch("none")), RT_CHECKPOINT,
              lasting("%s/none: cannot be opened: No such file or directory", scratch));
}

TEST_ROWS(a_text_is_no_safetensors_file, 0, 3)
{
    static const char *const texts[][2] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
         "it is a git-lfs pointer, not the file itself; fetch the file with: git "
         "lfs pull"},
        {"version 1 of a model", "not a safetensors file: it is a text that begins "
                                 "with 'version 1 of a model'"},
        {"<!DOCTYPE html>\n<title>401</title>",
         "not a safetensors file: it is a text that begins with '<!DOCTYPE "
         "html>?<title>401</title>'"},
    };
    put_text("a.safetensors", texts[_i][0]);
    expect_refusal(lasting("a.safetensors: %s", texts[_i][1]));
}

/* Headers before eight bytes, and the message after the name of the file. */
#define TENSOR(dtype, shape, offsets)                                                              \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}}"
#define OF_A  ": tensor 'a': "
#define SHAPE OF_A "its shape must have whole numbers from 0 on"
static const struct {
    const char *header, *message;
} refusals[] = {
    {TENSOR("F32", "-0", "0,0"), SHAPE},
    {TENSOR("F32", "1.0", "0,8"), SHAPE},
    {TENSOR("F32", "18446744073709551615", "0,8"), OF_A "its shape overflows"},
    {TENSOR("F32", "0,18446744073709551616", "0,0"), SHAPE},
    {TENSOR("F32", "2", "0,18446744073709551615"), OF_A "its data_offsets are not in the file"},
    {TENSOR("F32", "1", "4,8"), OF_A "there is a hole before its numbers"},
    {TENSOR("F32", "1", "0,4"), ": its tensors take 4 bytes, behind its header are 8"},
    {"{\"\\u001b[2J\":{\"dtype\":\"X\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     ": tensor '?[2J': its dtype is none of the format's"},
    {"{\"a\":\n1,\n,}", ":3: invalid JSON: 'string or '}' expected near ',''"},
    {TENSOR("F4", "17", "0,8"), OF_A "it does not end with a byte"},
    {TENSOR("F32", "1", "0,8"), OF_A "its data_offsets do not fit its shape"},
    {"{\"__metadata__\":{\"a\":1}}", ": __metadata__: 'a' must be a string"},
};

TEST_ROWS(a_refusal_names_the_tensor_and_the_reason, 0, ROWS(refusals))
{
    write_file(refusals[_i].header, "12345678", 8);
    expect_refusal(lasting("a.safetensors%s", refusals[_i].message));
}

TEST(a_header_takes_bounded_memory)
{
    enum { VALUES = 1100000 };
    char *header = owned(malloc(2 * VALUES + 16), free), *at = header;
    at += sprintf(at, "{\"a\":[1");
    for (int i = 1; i < VALUES; i++, at += 2)
        memcpy(at, ",1", 2);
    strcpy(at, "]}");
    write_file(header, "", 0);
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

TEST(unread_fields_may_have_any_numbers)
{
    write_file(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0, 18446744073709551615],\"data_offsets\":[0,0],"
        "\"x\":[-0, 1.5e3, -7, 18446744073709551616, -9223372036854775809, \"-0 [[[\\\"\"]}, "
        "\"b\":{\"dtype\":\"U8\",\"shape\":[8],"
        "\"data_offsets\":[0,8]}}",
        "12345678", 8);
    opened_weights("a.safetensors");
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
        opened_weights("a.safetensors");
    else
        expect_refusal("a.safetensors:1: nests brackets more than 127 deep");
}

TEST(a_file_is_written_byte_for_byte_as_the_library_would)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"a.b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
        "\"a.cc\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[4,12]}}       ";
    static const unsigned char numbers[] = {0, 0, 0x40, 0x40, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
    static const float one = 1, three = 3;
    rt_safetensors_entry entries[] = {
        {.name = "a.cc", .shape = RT_SHAPE_OF(1, 2), .fill = fill_counting, .context = &one},
        {.name = "a.b", .fill = fill_counting, .context = &three}};
    expect_ok(rt_safetensors_write(in_scratch("b.safetensors"), entries, 2));
    ck_assert_uint_eq((sizeof header - 1) % 8, 0);
    write_file(header, numbers, sizeof numbers);
    assert_same_file(in_scratch("a.safetensors"), in_scratch("b.safetensors"));
    ck_assert_int_eq(files_in_scratch(), 2);
}

/* Writes a tensor that counts from a number on. */
static rt_status write_counting(float start, int count)
{
    rt_safetensors_entry entry = {.name = "a",
                                  .shape = RT_SHAPE_OF(count),
                                  .fill = fill_counting,
                                  .context = &start};
    return rt_safetensors_write(in_scratch("a.safetensors"), &entry, 1);
}

TEST(a_long_tensor_is_written_and_read_in_parts)
{
    enum { COUNT = 3 * 4096 + 5 };
    static double values[COUNT];
    expect_ok(write_counting(0.5f, COUNT));
    rt_safetensors *file = opened_weights("a.safetensors");
    expect_ok(read_doubles(file, "a", 0, COUNT, values));
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(values[i] == i + 0.5, "number %d is %g", i, values[i]);
}

TEST(a_number_that_overflows_a_float_is_not_written)
{
    is_status(write_counting((float)INFINITY, 3), RT_NONFINITE,
              "a.safetensors: a has a number that is not finite as a float");
    ck_assert_int_eq(files_in_scratch(), 0);
}
