/* The files for TensorBoard, read back by a reader of their own: records, checksums, messages. */

#include "suite.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "train/folder/event_file.h"

#include <glob.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 1 << 16 };
static unsigned char file[SIZE];
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

typedef struct event {
    double time;
    uint64_t step;
    char version[32];
    bool starts; /* a session log that says START */
    int count;
    char tags[8][64];
    float values[8];
} event;

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

enum { DOUBLE = 1, BYTES, FLOAT = 5 };
#define KEY(number, type) ((number) << 3 | (type))

static void read_summary(const unsigned char *at, const unsigned char *end, event *e)
{
    for (; at < end; e->count++) {
        const field value = next_field(&at);
        ck_assert_uint_eq(value.key, KEY(1, BYTES));
        ck_assert_int_lt(e->count, 8);
        for (const unsigned char *in = value.bytes; in < value.bytes + value.number;) {
            const field f = next_field(&in);
            const uint32_t bits = (uint32_t)f.number;
            ck_assert(f.key == KEY(1, BYTES) || f.key == KEY(2, FLOAT));
            if (f.key == KEY(1, BYTES))
                snprintf(e->tags[e->count], sizeof *e->tags, "%.*s", (int)f.number, f.bytes);
            else
                memcpy(&e->values[e->count], &bits, sizeof bits);
        }
    }
}

static event read_event(const unsigned char *at, const unsigned char *end)
{
    event e = {.step = 0};
    while (at < end) {
        const field f = next_field(&at);
        switch (f.key) {
        case KEY(1, DOUBLE):
            memcpy(&e.time, &f.number, sizeof f.number);
            break;
        case KEY(2, 0):
            e.step = f.number;
            break;
        case KEY(3, BYTES):
            snprintf(e.version, sizeof e.version, "%.*s", (int)f.number, f.bytes);
            break;
        case KEY(5, BYTES):
            read_summary(f.bytes, f.bytes + f.number, &e);
            break;
        default:
            ck_assert_uint_eq(f.key, KEY(7, BYTES));
            e.starts = f.number == 2 && f.bytes[0] == KEY(1, 0) && f.bytes[1] == 1;
        }
    }
    ck_assert_ptr_eq(at, end);
    return e;
}

/* The record at *from, which moves behind it. */
static event next(size_t *from)
{
    const unsigned char *at = file + *from;
    const size_t length = (size_t)integer_at(at, 8);
    ck_assert_uint_le(*from + 16 + length, size);
    expect_checksum(at, 8);
    expect_checksum(at + 12, length);
    *from += 16 + length;
    return read_event(at + 12, at + 12 + length);
}

/* Reads the only file in the folder. */
static void read_only_file(const char *folder)
{
    glob_t found;
    ck_assert_int_eq(glob(lasting("%s/*", folder), 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    FILE *from = fopen(found.gl_pathv[0], "rb");
    ck_assert_ptr_nonnull(from);
    size = fread(file, 1, SIZE, from);
    fclose(from);
    globfree(&found);
}

/* ---- tests ---- */

static const char *folder(void)
{
    return in_scratch("events");
}

static void clear(void)
{
    rt_event_files_clear(folder());
}

SUITE(.setup = make_scratch, .prepare = clear, .clean = clear, .teardown = remove_scratch)

TEST(the_reader_knows_the_checksum_of_the_standard)
{
    ck_assert_uint_eq(remainder_of((const unsigned char *)"123456789", 9), 0xe3069283);
}

TEST(what_is_written_is_read_back)
{
    const rt_scalar first[] = {{"loss/training", 0.5}, {"b", -3}},
                    second[] = {{"loss/training", 0.25}, {"nan", (double)NAN}, {"b", INFINITY}};
    rt_event_file f;
    size_t at = 0;
    expect_ok(rt_event_file_open(&f, folder(), 0));
    rt_event_file_add(&f, 10, first, 2);
    rt_event_file_add(&f, 128, first, 1);
    rt_event_file_add(&f, 99999999, second, 3);
    ck_assert(!f.failed);
    rt_event_file_close(&f);
    read_only_file(folder());
    event e = next(&at);
    ck_assert_str_eq(e.version, "brain.Event:2");
    ck_assert(e.time > 1.7e9 && e.count == 0);
    e = next(&at);
    ck_assert_uint_eq(e.step, 10);
    ck_assert_int_eq(e.count, 2);
    ck_assert_str_eq(e.tags[0], "loss/training");
    ck_assert_float_eq(e.values[0], 0.5f);
    ck_assert_str_eq(e.tags[1], "b");
    ck_assert_float_eq(e.values[1], -3);
    e = next(&at);
    ck_assert_uint_eq(e.step, 128); /* the least that takes two bytes */
    e = next(&at);
    ck_assert_uint_eq(e.step, 99999999);
    ck_assert_int_eq(e.count, 1);
    ck_assert_float_eq(e.values[0], 0.25f);
    ck_assert_uint_eq(at, size);
}

TEST(as_many_values_as_there_can_be_fit)
{
    rt_scalar most[RT_MOST_SCALARS + 1];
    rt_event_file f;
    size_t at = 0;
    for (int i = 0; i <= RT_MOST_SCALARS; i++)
        most[i] =
            (rt_scalar){"a_tag_of_63_bytes_______________________________________________", i};
    expect_ok(rt_event_file_open(&f, folder(), 0));
    rt_event_file_add(&f, 1, most, 8);
    rt_event_file_add(&f, 2, most, RT_MOST_SCALARS + 1);
    rt_event_file_close(&f);
    read_only_file(folder());
    next(&at);
    const event e = next(&at);
    ck_assert_int_eq(e.count, 8);
    ck_assert_float_eq(e.values[7], 7);
    const size_t length = (size_t)integer_at(file + at, 8);
    ck_assert_uint_eq(length, 9 + 2 + 3 + RT_MOST_SCALARS * (2 + 2 + 63 + 5));
    expect_checksum(file + at + 12, length);
    ck_assert_uint_eq(at + 16 + length, size);
}

/* Beyond step 40 the file takes back what others have. */
TEST(a_file_of_a_run_that_goes_on_says_where)
{
    rt_event_file f;
    size_t at = 0;
    expect_ok(rt_event_file_open(&f, folder(), 40));
    rt_event_file_close(&f);
    read_only_file(folder());
    event e = next(&at);
    ck_assert(!e.starts);
    e = next(&at);
    ck_assert(e.starts);
    ck_assert_uint_eq(e.step, 41);
    ck_assert_uint_eq(at, size);
}

TEST(files_of_one_second_have_names_of_their_own)
{
    rt_event_file a, b;
    expect_ok(rt_event_file_open(&a, folder(), 0));
    expect_ok(rt_event_file_open(&b, folder(), 0));
    rt_event_file_close(&a);
    rt_event_file_close(&b);
    clear();
    ck_assert_int_eq(access(folder(), F_OK), -1);
}

TEST(what_cannot_be_made_or_written_is_told)
{
    rt_event_file f;
    rt_status status = rt_event_file_open(&f, "/proc/none", 0);
    ck_assert_int_eq(status.code, RT_IO);
    expect_ok(rt_event_file_open(&f, folder(), 0));
    fclose(f.file);
    f.file = fopen("/dev/full", "wb");
    rt_event_file_add(&f, 1, &(rt_scalar){"a", 1}, 1);
    ck_assert(f.failed);
    rt_event_file_add(&f, 2, &(rt_scalar){"a", 1}, 1);
    fclose(f.file);
    f.file = NULL;
    rt_event_file_close(&f);
}
