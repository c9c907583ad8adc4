/* The files for TensorBoard, byte by byte: records, checksums, messages. */

#include "util/scratch.h"

#include "train/folder/event_file.h"

#include <glob.h>

static const unsigned char *file;
static size_t size;

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

/* Expects the event of the record at *from, which moves behind it: the time, which is now, and
 * these bytes behind it. */
static void expect_event(size_t *from, const char *expected, size_t count)
{
    const unsigned char *at = file + *from;
    double time;
    ck_assert_uint_eq(integer_at(at, 8), 9 + count);
    ck_assert_uint_le(*from + 16 + 9 + count, size);
    expect_checksum(at, 8);
    expect_checksum(at + 12, 9 + count);
    ck_assert_int_eq(at[12], 1 << 3 | 1);
    memcpy(&time, at + 13, sizeof time);
    ck_assert_double_gt(time, 1.7e9);
    ck_assert_mem_eq(at + 21, expected, count);
    *from += 16 + 9 + count;
}

/* Fields of an event behind its time: a step is 2, a summary 5, a session 7. A summary has values
 * 1, whose tag is 1 and whose number is 2. */
#define EXPECT_EVENT(from, bytes) expect_event(from, bytes, sizeof(bytes) - 1)
#define VERSION                                                                                    \
    "\x1a\x0d"                                                                                     \
    "brain.Event:2"
#define LOSS(bytes) "\x0a\x14\x0a\x0dloss/training\x15" bytes

/* Reads the only file in the folder. */
static void read_only_file(void)
{
    glob_t found;
    ck_assert_int_eq(glob(in_scratch("events/*"), 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    file = file_bytes(found.gl_pathv[0], &size);
    globfree(&found);
}

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

TEST(the_reader_of_this_test_computes_crc32c)
{
    ck_assert_uint_eq(remainder_of((const unsigned char *)"123456789", 9), 0xe3069283);
}

/* 128 is the least step that takes two bytes. */
TEST(written_events_are_read_back)
{
    const rt_scalar first[] = {{"loss/training", 0.5}, {"b", -3}},
                    second[] = {{"loss/training", 0.25}, {"nan", (double)NAN}, {"b", INFINITY}};
    size_t at = 0;
    rt_event_file f = open_after(0);
    rt_event_file_add(&f, 10, first, 2);
    rt_event_file_add(&f, 128, first, 1);
    rt_event_file_add(&f, 1000000, second, 3);
    ck_assert(!f.failed);
    rt_event_file_close(&f);
    read_only_file();
    EXPECT_EVENT(&at, VERSION);
    EXPECT_EVENT(&at, "\x10\x0a\x2a\x20" LOSS("\0\0\0\x3f") "\x0a\x08\x0a\x01\x62\x15\0\0\x40\xc0");
    EXPECT_EVENT(&at, "\x10\x80\x01\x2a\x16" LOSS("\0\0\0\x3f"));
    EXPECT_EVENT(&at, "\x10\xc0\x84\x3d\x2a\x16" LOSS("\0\0\x80\x3e"));
    ck_assert_uint_eq(at, size);
}

TEST(an_event_holds_the_largest_number_of_values)
{
    static const char tag[] = "a_tag_of_63_bytes_______________________________________________";
    enum { VALUE = 2 + 2 + 63 + 5, ALL = 5 + RT_MOST_SCALARS * VALUE };
    rt_scalar most[RT_MOST_SCALARS + 1];
    char all[ALL + 1];
    size_t at = 0;
    for (int i = 0; i <= RT_MOST_SCALARS; i++)
        most[i] = (rt_scalar){tag, i};
    const size_t head =
        (size_t)sprintf(all, "\x10\x01\x2a%c%c", (ALL - 5) % 128 | 128, (ALL - 5) / 128);
    for (int i = 0; i < RT_MOST_SCALARS; i++) {
        const float value = (float)i;
        char *to = all + head + i * VALUE;
        sprintf(to, "\x0a\x46\x0a\x3f%.63s\x15", tag);
        memcpy(to + VALUE - 4, &value, 4);
    }
    rt_event_file f = open_after(0);
    rt_event_file_add(&f, 1, most, RT_MOST_SCALARS + 1);
    rt_event_file_close(&f);
    read_only_file();
    EXPECT_EVENT(&at, VERSION);
    expect_event(&at, all, ALL);
    ck_assert_uint_eq(at, size);
}

/* TensorBoard discards events of other files from step 41 on. */
TEST(the_file_of_a_resumed_run_marks_its_first_step)
{
    size_t at = 0;
    rt_event_file f = open_after(40);
    rt_event_file_close(&f);
    read_only_file();
    EXPECT_EVENT(&at, VERSION);
    EXPECT_EVENT(&at, "\x10\x29\x3a\x02\x08\x01");
    ck_assert_uint_eq(at, size);
}

TEST(files_of_one_second_have_different_names)
{
    rt_event_file a = open_after(0), b = open_after(0);
    rt_event_file_close(&a);
    rt_event_file_close(&b);
    clear();
    ck_assert(!exists(in_scratch("events")));
}

TEST(an_event_file_that_cannot_be_created_or_written_is_an_error)
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
