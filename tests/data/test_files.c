/* Text files: how they are joined, and messages about unusable ones. */

#include "samples.h"

#include "util/file_lock.h"
#include "util/files.h"

#include <errno.h>

static rt_status status_at(const char *list, rt_level level, int length, double eval_fraction)
{
    rt_data_options o = options_for("text");
    o.length = length;
    o.level = level;
    o.eval_fraction = eval_fraction;
    o.file = lasting("%s", list);
    return status_of(&o);
}

static rt_status status_of_bytes(const char *list, int length, double eval_fraction)
{
    return status_at(list, RT_LEVEL_BYTE, length, eval_fraction);
}

static void refused(const char *list, const char *path, const char *message)
{
    is_data_error(status_of_bytes(list, 4, 0.1), path, message);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_missing_special_or_empty_file_is_named)
{
    static const char absent[] = ": No such file or directory (data.file)";
    const char *there = write_text("a", "abc"), *missing = in_folder("c");
    const char *empty = write_text("b", "");
    refused(missing, missing, absent);
    refused(lasting("%s,%s", there, missing), missing, absent);
    refused("/dev/zero", "/dev/zero", ": data.file must be a regular file");
    refused(lasting("%s,%s", there, empty), empty, ": data.file must hold text; the file is empty");
}

/* The truncated long path would name the existing folder. */
TEST(folders_of_an_empty_or_too_long_path_are_not_made)
{
    char longer[RT_PATH_SIZE + 2];
    snprintf(longer, sizeof longer, "%s", scratch);
    for (size_t at = strlen(longer); at + 2 < sizeof longer; at += 2)
        memcpy(longer + at, "/.", 3);
    is_status(rt_folders_make(""), RT_IO, ": No such file or directory");
    ck_assert_int_eq(rt_folders_make(longer).code, RT_IO);
    ck_assert(!rt_folders_make(lasting("%s/a/b", scratch)).code);
    ck_assert(!rmdir(in_folder("a/b")) && !rmdir(in_folder("a")));
}

/* Files of this kind say that they have 4096 bytes and then give fewer. */
TEST(a_file_that_ends_before_its_size_is_named)
{
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    struct stat facts;
    NEEDS(!stat(path, &facts) && S_ISREG(facts.st_mode) && facts.st_size == 4096, path);
    is_error(status_of_bytes(path, 4, 0.1), RT_DATA, "changed while it was read");
}

/* Only names and lists are allocated, and nothing of the size of the text. */
TEST(a_huge_file_is_refused_before_memory_is_allocated)
{
    static const char message[] =
        ": data.file can be read into memory up to 2147483647 bytes; it has 2147483648";
    const char *huge = write_text("a", "a"), *half = write_text("b", "a");
    const char *halves = lasting("%s,%s", half, half);
    ck_assert(!truncate(huge, (off_t)1 << 31) && !truncate(half, (off_t)1 << 30));
    size_t before = rt_memory_requests();
    refused(huge, huge, message);
    refused(halves, half, message);
    ck_assert_uint_eq(rt_memory_requests() - before, 12); /* for names and lists */
}

/* One window over all files shows their order. The label of a masked token is the token. */
TEST(files_are_joined_in_their_order)
{
    const char *first = write_text("a", "cab");
    const char *second = write_text("b", "bed");
    rt_data_options o = options_with("text", "length=10 eval_fraction=0");
    o.file = lasting(" %s , %s,%s", first, second, first);
    rt_data *data = source(&o);
    char read[10] = "";
    rt_batch batch = training_of(data, 1, 10);
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
        const char *path = write_text("a", wrong[i].text);
        is_data_error(status_at(path, RT_LEVEL_CHAR, 2, 0.1), path,
                      lasting(": data.level = char needs UTF-8; byte 0x%02x at offset %d is not",
                              wrong[i].byte, wrong[i].offset));
        ck_assert_int_eq(status_of_bytes(path, 2, 0).code, RT_OK);
    }
    /* offsets count from the start of the invalid file, and no character lies across two */
    const char *good = write_text("a", "\xc3\xa9\xc3\xa9");
    const char *bad = write_text("b", "ok \xff");
    is_data_error(status_at(lasting("%s,%s", good, bad), RT_LEVEL_CHAR, 2, 0.1), bad,
                  ": data.level = char needs UTF-8; byte 0xff at offset 3 is not");
    const char *start = write_text("a", "abc\xc3");
    const char *end = write_text("b", "\xa9");
    is_data_error(status_at(lasting("%s,%s", start, end), RT_LEVEL_CHAR, 2, 0.1), start,
                  ": data.level = char needs UTF-8; byte 0xc3 at offset 3 is not");
}

TEST(empty_and_too_long_names_are_refused)
{
    static const char *const lists[] = {"", "  ", "a,,b", "a,", ",a"};
    for (int i = 0; i < ROWS(lists); i++)
        is_status(status_of_bytes(lists[i], 4, 0.1), RT_CONFIG,
                  "data.file must name a file; got an empty name");
    is_status(status_of_bytes(lasting("%0*d", RT_PATH_SIZE, 0), 4, 0.1), RT_CONFIG,
              "data.file must name files with less than 4096 bytes; got 4096");
    is_error(status_of_bytes(lasting("%0*d", RT_PATH_SIZE - 1, 0), 4, 0.1), RT_DATA,
             "File name too long (data.file)");
}

/* A file that a killed process left is no obstacle. */
TEST(a_lock_has_one_holder_and_leaves_no_file)
{
    const char *path = in_folder("lock");
    int unlocked;
    write_text("lock", "host 1 0\n");
    const int first = rt_file_lock(path, &unlocked);
    ck_assert(first >= 0 && !unlocked && rt_file_lock_probe(path) == EWOULDBLOCK);
    ck_assert(rt_file_lock(path, &unlocked) == -1 && errno == EWOULDBLOCK && !unlocked);
    rt_file_unlock(path, first);
    ck_assert(access(path, F_OK) && !rt_file_lock_probe(path));
}
