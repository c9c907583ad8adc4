#include "core/path.h"
#include "suite.h"

enum { LONGEST = RT_PATH_SIZE - 1 };

static const char *folder_of(char folder[2 * RT_PATH_SIZE], size_t length)
{
    memset(folder, 'f', length);
    folder[length] = '\0';
    return folder;
}

TEST(folder_and_name_are_joined_by_a_slash)
{
    char path[RT_PATH_SIZE];
    expect_ok(rt_path_join(path, "runs/a b", "metrics.csv"));
    ck_assert_str_eq(path, "runs/a b/metrics.csv");
}

TEST(the_longest_path_fits_and_a_byte_more_is_refused)
{
    char folder[2 * RT_PATH_SIZE], path[RT_PATH_SIZE];
    ck_assert_int_eq(rt_path_join(path, folder_of(folder, LONGEST - 2), "x").code, RT_OK);
    ck_assert_uint_eq(strlen(path), LONGEST);
    const rt_status status = rt_path_join(path, folder_of(folder, LONGEST - 1), "x");
    ck_assert_int_eq(status.code, RT_CONFIG);
    ck_assert_msg(strstr(status.message, "the path of x has more than 4095 bytes: fff") != NULL,
                  "%s", status.message);
    ck_assert_str_eq(path, "");
}

TEST(the_name_of_a_path_follows_its_last_slash)
{
    ck_assert_str_eq(rt_path_name("a/b/c.h5"), "c.h5");
    ck_assert_str_eq(rt_path_name("c.h5"), "c.h5");
    ck_assert_str_eq(rt_path_name("a/"), "");
}

/* A message that begins with a long path must still contain its reason. */
TEST(a_long_message_keeps_its_beginning_and_its_end)
{
    char folder[2 * RT_PATH_SIZE];
    const rt_status status =
        rt_error(RT_IO, "cannot open %s: no such file", folder_of(folder, LONGEST));
    const size_t length = strlen(status.message);
    ck_assert_uint_lt(length, RT_MESSAGE_SIZE);
    ck_assert_uint_gt(length, RT_MESSAGE_SIZE - 16);
    ck_assert_msg(!strncmp(status.message, "cannot open fff", 15), "%s", status.message);
    ck_assert_str_eq(status.message + length - 18, "ffff: no such file");
    ck_assert_ptr_nonnull(strstr(status.message, "ff ... ff"));
}

TEST(a_long_message_is_cut_between_characters)
{
    char text[2000] = "";
    for (int i = 0; i < 1998; i += 2)
        memcpy(text + i, "\xc3\xa4", 3);
    for (int shift = 0; shift < 2; shift++) {
        const rt_status status = rt_error(RT_IO, "%s%s", shift ? "x" : "", text);
        const char *gap = strstr(status.message, " ... ");
        ck_assert_ptr_nonnull(gap);
        ck_assert_msg(!memcmp(gap - 2, "\xc3\xa4 ... \xc3\xa4", 9), "%s", status.message);
    }
}
