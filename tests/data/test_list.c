/* Lists with commas between their items. */

#include "text/number.h"

#include "suite.h"

#include <string.h>

SUITE(.may_leak = true)

TEST(spaces_around_an_item_do_not_belong_to_it)
{
    static const char *const items[] = {"a", "", "b c", ""};
    rt_list_item item;
    const char *rest = " a ,  , b c,";
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        ck_assert_ptr_nonnull(rest);
        rest = rt_list_take(rest, &item);
        ck_assert(rt_list_item_is(item, items[i]));
        ck_assert(!rt_list_item_is(item, "a c"));
    }
    ck_assert_ptr_null(rest);
}

TEST(an_item_that_does_not_fit_is_cut)
{
    char text[4];
    rt_list_item item;
    ck_assert_ptr_null(rt_list_take("abcd", &item));
    ck_assert(!rt_list_item_copy(item, text, sizeof text));
    ck_assert_str_eq(text, "abc");
    ck_assert_ptr_nonnull(rt_list_take("abc,d", &item));
    ck_assert(rt_list_item_copy(item, text, sizeof text));
    ck_assert_str_eq(text, "abc");
}

TEST(a_list_has_its_items_and_no_parts_of_them)
{
    ck_assert(rt_list_has("cpu,memory", "memory"));
    ck_assert(rt_list_has("memory", "memory"));
    ck_assert(!rt_list_has("cpu,memory", "mem"));
    ck_assert(!rt_list_has("memory2,cpu", "memory"));
    ck_assert(rt_list_has("", ""));
}
