/* The files for TensorBoard, read back by a reader of their own: records, checksums, messages. */

#include "training/scratch.h"

#include "text/writer.h"
#include "train/folder/event_file.h"

#include <glob.h>
#include <math.h>

static const unsigned char *file;
static size_t size;

/* ---- a reader ---- */

/* CRC-32C a second way: by long division of the message's bits, the first one lowest. */
static uint32_t remainder_of(const unsigned char *at, size_t count)
{
    uint32_t rest = 0xffffffff;
    for (size_t i = 0; i < 8 * count; i++) {
        const uint32_t bit = at[i / 8] >> i % 8 & 1, top = rest & 1;
        rest >>= 1;
        if (bit ^ top)
            rest ^= 0x82f63b78;
    }
    return rest ^ 0xffffffff;
}

static uint64_t integer_at(const unsigned char *at, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void expect_checksum(const unsigned char *at, size_t count)
{
    const uint32_t stored = (uint32_t)integer_at(at + count, 4) - 0xa282ead8u;
    ck_assert_uint_eq((stored << 15 | stored >> 17), remainder_of(at, count));
}

static uint64_t varint(const unsigned char **at)
{
    uint64_t value = 0;
    int shift = 0;
    do
        value |= (uint64_t)(**at & 127) << shift;
    while (shift += 7, *(*at)++ & 128);
    return value;
}

/* A field of a message: a number, or bytes and their number. */
typedef struct field {
    uint64_t key, number;
    const unsigned char *bytes;
} field;

static field next_field(const unsigned char **at)
{
    field f = {.key = varint(at)};
    const int type = f.key & 7;
    ck_assert(type == 0 || type == 1 || type == 2 || type == 5);
    if (type == 0 || type == 2)
        f.number = varint(at);
    else
        f.number = integer_at(*at, type == 1 ? 8 : 4);
    f.bytes = *at;
    *at += type == 1 ? 8 : type == 5 ? 4 : type == 2 ? f.number : 0;
    return f;
}

/* Writes the fields of an event as "1=now 2=STEP 5{1{1=TAG 2=VALUE }}": of depth 1 are those of a
 * summary or a session, of depth 2 those of a value. */
static void write_fields(rt_writer *w, const unsigned char *at, const unsigned char *end, int depth)
{
    while (at < end) {
        const field f = next_field(&at);
        const int number = (int)(f.key >> 3), type = f.key & 7;
        const uint32_t bits = (uint32_t)f.number;
        float value;
        double time;
        memcpy(&value, &bits, sizeof value);
        memcpy(&time, &f.number, sizeof time);
        if (type == 2 && (depth ? depth == 1 : number != 3)) {
            rt_writer_add(w, "%d{", number);
            write_fields(w, f.bytes, f.bytes + f.number, depth + 1);
            rt_writer_add(w, "}");
        } else if (type == 2)
            rt_writer_add(w, "%d=%.*s ", number, (int)f.number, f.bytes);
        else if (type == 1)
            rt_writer_add(w, "%d=%s ", number, time > 1.7e9 ? "now" : "another time");
        else if (type == 5)
            rt_writer_add(w, "%d=%g ", number, (double)value);
        else
            rt_writer_add(w, "%d=%d ", number, (int)f.number);
    }
    ck_assert_ptr_eq(at, end);
}

/* Expects the event of the record at *from, which moves behind it. */
static void expect_event(size_t *from, const char *expected)
{
    rt_writer w = {0};
    const unsigned char *at = file + *from;
    const size_t length = (size_t)integer_at(at, 8);
    ck_assert_uint_le(*from + 16 + length, size);
    expect_checksum(at, 8);
    expect_checksum(at + 12, length);
    *from += 16 + length;
    write_fields(&w, at + 12, at + 12 + length, 0);
    ck_assert_str_eq(w.bytes, expected);
    rt_writer_free(&w);
}

#define VERSION "1=now 3=brain.Event:2 "

/* Reads the only file in the folder. */
static void read_only_file(void)
{
    glob_t found;
    ck_assert_int_eq(glob(in_scratch("events/*"), 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    file = file_bytes(found.gl_pathv[0], &size);
    globfree(&found);
}

/* ---- tests ---- */

static void clear(void)
{
    rt_event_files_clear(in_scratch("events"));
}

static rt_event_file open_after(int step)
{
    rt_event_file f;
    expect_ok(rt_event_file_open(&f, in_scratch("events"), step));
    return f;
}

SUITE(.setup = make_scratch, .prepare = clear, .clean = clear, .teardown = remove_scratch)

TEST(the_reader_knows_the_checksum_of_the_standard)
{
    ck_assert_uint_eq(remainder_of((const unsigned char *)"123456789", 9), 0xe3069283);
}

/* 128 is the least step that takes two bytes. */
TEST(what_is_written_is_read_back)
{
    const rt_scalar first[] = {{"loss/training", 0.5}, {"b", -3}},
                    second[] = {{"loss/training", 0.25}, {"nan", (double)NAN}, {"b", INFINITY}};
    size_t at = 0;
    rt_event_file f = open_after(0);
    rt_event_file_add(&f, 10, first, 2);
    rt_event_file_add(&f, 128, first, 1);
    rt_event_file_add(&f, 99999999, second, 3);
    ck_assert(!f.failed);
    rt_event_file_close(&f);
    read_only_file();
    expect_event(&at, VERSION);
    expect_event(&at, "1=now 2=10 5{1{1=loss/training 2=0.5 }1{1=b 2=-3 }}");
    expect_event(&at, "1=now 2=128 5{1{1=loss/training 2=0.5 }}");
    expect_event(&at, "1=now 2=99999999 5{1{1=loss/training 2=0.25 }}");
    ck_assert_uint_eq(at, size);
}

TEST(as_many_values_as_there_can_be_fit)
{
    static const char tag[] = "a_tag_of_63_bytes_______________________________________________";
    rt_scalar most[RT_MOST_SCALARS + 1];
    rt_writer eight = {0};
    size_t at = 0;
    for (int i = 0; i <= RT_MOST_SCALARS; i++)
        most[i] = (rt_scalar){tag, i};
    rt_writer_add(&eight, "1=now 2=1 5{");
    for (int i = 0; i < 8; i++)
        rt_writer_add(&eight, "1{1=%.63s 2=%d }", tag, i);
    rt_writer_add(&eight, "}");
    rt_event_file f = open_after(0);
    rt_event_file_add(&f, 1, most, 8);
    rt_event_file_add(&f, 2, most, RT_MOST_SCALARS + 1);
    rt_event_file_close(&f);
    read_only_file();
    expect_event(&at, VERSION);
    expect_event(&at, eight.bytes);
    rt_writer_free(&eight);
    const size_t length = (size_t)integer_at(file + at, 8);
    ck_assert_uint_eq(length, 9 + 2 + 3 + RT_MOST_SCALARS * (2 + 2 + 63 + 5));
    expect_checksum(file + at + 12, length);
    ck_assert_uint_eq(at + 16 + length, size);
}

/* Beyond step 40 the file takes back what others have. */
TEST(a_file_of_a_run_that_goes_on_says_where)
{
    size_t at = 0;
    rt_event_file f = open_after(40);
    rt_event_file_close(&f);
    read_only_file();
    expect_event(&at, VERSION);
    expect_event(&at, "1=now 2=41 7{1=1 }");
    ck_assert_uint_eq(at, size);
}

TEST(files_of_one_second_have_names_of_their_own)
{
    rt_event_file a = open_after(0), b = open_after(0);
    rt_event_file_close(&a);
    rt_event_file_close(&b);
    clear();
    ck_assert(!exists(in_scratch("events")));
}

TEST(what_cannot_be_made_or_written_is_told)
{
    rt_event_file f;
    ck_assert_int_eq(rt_event_file_open(&f, "/proc/none", 0).code, RT_IO);
    f = open_after(0);
    fclose(f.file);
    f.file = fopen("/dev/full", "wb");
    rt_event_file_add(&f, 1, &(rt_scalar){"a", 1}, 1);
    ck_assert(f.failed);
    rt_event_file_add(&f, 2, &(rt_scalar){"a", 1}, 1);
    fclose(f.file);
    f.file = NULL;
    rt_event_file_close(&f);
}
