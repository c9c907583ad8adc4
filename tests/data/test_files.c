/* The files of a text: how they are joined, and what is said of those that cannot be used. */

#include "samples.h"

#include "text/durable_file.h"

#include <sys/stat.h>

static rt_status status_at(const char *list, rt_level level, int length, double eval_fraction)
{
    rt_data_options o = options_for("text");
    o.length = length;
    o.level = level;
    o.eval_fraction = eval_fraction;
    set_file(&o, list);
    return status_of(&o);
}

static rt_status status_of_bytes(const char *list, int length, double eval_fraction)
{
    return status_at(list, RT_LEVEL_BYTE, length, eval_fraction);
}

static rt_status status_of_characters(const char *list)
{
    return status_at(list, RT_LEVEL_CHAR, 2, 0.1);
}

static void refused(const char *list, const char *path, const char *message)
{
    is_data_error(status_of_bytes(list, 4, 0.1), path, message);
}

SUITE(.setup = make_folder, .teardown = remove_folder)

TEST(a_missing_file_is_named)
{
    const char *there = write_file(in_folder("a"), "abc", 3);
    const char *missing = in_folder("b");
    refused(missing, missing, ": No such file or directory (data.file)");
    refused(lasting("%s,%s", there, missing), missing, ": No such file or directory (data.file)");
}

TEST(what_is_no_text_is_named)
{
    const char *full = write_file(in_folder("a"), "abc", 3);
    const char *empty = write_file(in_folder("b"), "", 0);
    refused(folder, folder, ": Is a directory (data.file)");
    refused("/dev/zero", "/dev/zero", ": data.file must be a regular file");
    refused(lasting("%s,%s", full, empty), empty, ": data.file must hold text; the file is empty");
}

/* Nothing is unreadable for root, who therefore becomes somebody else for a moment. */
TEST(a_file_without_permission_is_named)
{
    const uid_t user = geteuid(), somebody = 65534;
    const char *path = write_file(in_folder("a"), "abc", 3);
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert_int_eq(seteuid(user ? user : somebody), 0);
    rt_status status = status_of_bytes(path, 4, 0.1);
    ck_assert_int_eq(seteuid(user), 0);
    is_data_error(status, path, ": Permission denied (data.file)");
}

/* Files of this kind say that they have 4096 bytes and then give fewer. */
TEST(a_file_that_ends_before_its_size_is_named)
{
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    struct stat facts;
    NEEDS(!stat(path, &facts) && S_ISREG(facts.st_mode) && facts.st_size == 4096, path);
    is_error(status_of_bytes(path, 4, 0.1), RT_DATA, "changed while it was read");
}

static const char *write_hole(const char *path, off_t size)
{
    write_file(path, "a", 1);
    ck_assert_int_eq(truncate(path, size), 0);
    return path;
}

/* The source itself is the one request: none is made for the text. */
TEST(a_huge_file_is_refused_before_memory_is_asked_for)
{
    const char *huge = write_hole(in_folder("a"), (off_t)1 << 31);
    const char *half = write_hole(in_folder("b"), (off_t)1 << 30);
    size_t before = rt_memory_requests();
    refused(huge, huge,
            ": data.file can be read into memory up to 2147483647 bytes; it has 2147483648");
    refused(lasting("%s,%s", half, half), half,
            ": data.file can be read into memory up to 2147483647 bytes; it has 2147483648");
    ck_assert_uint_eq(rt_memory_requests() - before, 11); /* for names and lists */
}

TEST(characters_are_counted_not_their_bytes)
{
    const char *path = write_file(in_folder("a"), "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8);
    is_data_error(status_at(path, RT_LEVEL_CHAR, 6, 0), path,
                  ": data.length 6 needs 5 characters for training and as many for evaluation; "
                  "data.file has 4: 4 for training and 4 for evaluation (data.eval_fraction 0)");
}

/* Ten bytes, of which a fifth is kept: windows of up to two bytes fit in both parts. */
TEST(a_text_must_hold_a_window_of_each_kind)
{
    const char *path = write_file(in_folder("a"), "0123456789", 10);
    ck_assert_int_eq(status_of_bytes(path, 3, 0.2).code, RT_OK);
    is_data_error(
        status_of_bytes(path, 4, 0.2), path,
        ": data.length 4 needs 3 bytes for training and as many for evaluation; data.file "
        "has 10: 8 for training and 2 for evaluation (data.eval_fraction 0.2)");
    ck_assert_int_eq(status_of_bytes(path, 4, 0.8).code, RT_DATA);
    ck_assert_int_eq(status_of_bytes(path, 2, 0.01).code, RT_DATA);
    ck_assert_int_eq(status_of_bytes(path, 11, 0).code, RT_OK);
    ck_assert_int_eq(status_of_bytes(path, 12, 0).code, RT_DATA);
    ck_assert_int_eq(status_of_bytes(path, INT32_MAX, 0).code, RT_DATA);
}

/* One window over all of it shows the order; what is hidden is read off its label. */
TEST(files_are_joined_in_their_order)
{
    const char *first = write_file(in_folder("a"), "cab", 3);
    const char *second = write_file(in_folder("b"), "bed", 3);
    rt_data_options o = options_for("text");
    o.length = 10;
    o.eval_fraction = 0;
    o.file = lasting(" %s , %s,%s", first, second, first);
    rt_data *data = source(&o);
    rt_batch batch = batch_of(1, 10);
    char read[10] = "";
    rt_data_training(data, 1, 0, 0, &batch);
    for (int t = 1; t < 10; t++)
        read[t - 1] = (char)(original(&batch, t) - RT_FIRST_SYMBOL);
    ck_assert_str_eq(read, "cabbedcab");
}

/* Surrogates, a code point past the last, an overlong '/', and sequences that stop short. */
TEST(characters_that_are_not_utf8_are_named)
{
    static const struct {
        const char *text;
        int byte, offset;
    } wrong[] = {{"\xff text", 0xff, 0},          {"\x80", 0x80, 0},
                 {"some \xe2\x82 text", 0xe2, 5}, {"some \xc3\xa9\xa9 text", 0xa9, 7},
                 {"a text\xc3", 0xc3, 6},         {"a text\xf0\x9f\x98", 0xf0, 6},
                 {"a\xed\xa0\x80", 0xed, 1},      {"a\xf4\x90\x80\x80", 0xf4, 1},
                 {"a\xc0\xaf", 0xc0, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *path = write_file(in_folder("a"), wrong[i].text, strlen(wrong[i].text));
        is_data_error(status_of_characters(path), path,
                      lasting(": data.level = char needs UTF-8; byte 0x%02x at offset %d is not",
                              wrong[i].byte, wrong[i].offset));
        ck_assert_int_eq(status_of_bytes(path, 2, 0).code, RT_OK);
    }
}

/* Offsets count from the start of the file that is wrong, and no character lies across two. */
TEST(a_character_lies_in_one_file)
{
    const char *good = write_file(in_folder("a"), "\xc3\xa9\xc3\xa9", 4);
    const char *bad = write_file(in_folder("b"), "ok \xff", 4);
    is_data_error(status_of_characters(lasting("%s,%s", good, bad)), bad,
                  ": data.level = char needs UTF-8; byte 0xff at offset 3 is not");
    const char *start = write_file(in_folder("a"), "abc\xc3", 4);
    const char *end = write_file(in_folder("b"), "\xa9", 1);
    is_data_error(status_of_characters(lasting("%s,%s", start, end)), start,
                  ": data.level = char needs UTF-8; byte 0xc3 at offset 3 is not");
}

TEST(names_that_cannot_be_are_refused)
{
    static const char *const lists[] = {"", "  ", "a,,b", "a,", ",a"};
    for (int i = 0; i < ROWS(lists); i++)
        is_status(status_of_bytes(lists[i], 4, 0.1), RT_CONFIG,
                  "data.file must name a file; got an empty name");
    char path[RT_PATH_SIZE + 1];
    memset(path, 'x', RT_PATH_SIZE);
    path[RT_PATH_SIZE] = '\0';
    is_status(status_of_bytes(path, 4, 0.1), RT_CONFIG,
              "data.file must name files with less than 4096 bytes; got 4096");
    path[RT_PATH_SIZE - 1] = '\0';
    is_error(status_of_bytes(path, 4, 0.1), RT_DATA, "File name too long (data.file)");
}

/* ---- files for results ---- */

TEST(a_file_for_results_is_new_or_replaced_on_request)
{
    const char *there = write_file(in_folder("a"), "abc", 3);
    const char *const inputs[] = {"nowhere", there, NULL};
    ck_assert_int_eq(rt_output_check("nowhere", false, inputs).code, RT_OK);
    ck_assert_int_eq(rt_output_check("/dev/null", false, inputs).code, RT_OK);
    ck_assert_int_eq(rt_output_check(there, true, NULL).code, RT_OK);
    is_status(rt_output_check(there, false, NULL), RT_CONFIG,
              lasting("%s: the file exists; give --overwrite to replace it", there));
    ck_assert_int_eq(link(there, in_folder("b")), 0); /* another name of an input */
    is_status(rt_output_check(in_folder("b"), true, inputs), RT_CONFIG,
              lasting("%s is read; name another file to write", in_folder("b")));
    ck_assert_int_eq(rt_output_check(folder, true, inputs).code, RT_CONFIG);
    ck_assert_int_eq(unlink(in_folder("b")), 0);
}
