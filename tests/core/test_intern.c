/* Shared copies of texts and lists of options. */

#include "suite.h"

#include <stdint.h>

SUITE(.timeout = 20)

TEST(equal_texts_have_one_copy)
{
    char text[] = "first";
    const char *copy = rt_intern_text(text);
    ck_assert_ptr_ne(copy, text);
    ck_assert_str_eq(copy, "first");
    ck_assert_ptr_eq(copy, rt_intern_text("first"));
    ck_assert_ptr_ne(copy, rt_intern_text("firs"));
    text[0] = 't';
    ck_assert_str_eq(copy, "first");
}

TEST(bytes_of_lists_are_aligned_and_compared_whole)
{
    const double list[] = {1, 0.5, 3}, other[] = {1, 0.5, 4};
    const double *copy = rt_intern(list, sizeof list);
    ck_assert_uint_eq((uintptr_t)copy % sizeof(double), 0);
    ck_assert(copy[0] == 1 && copy[2] == 3);
    ck_assert_ptr_eq(copy, rt_intern(list, sizeof list));
    ck_assert_ptr_ne(copy, rt_intern(list, 2 * sizeof *list));
    ck_assert_ptr_ne(copy, rt_intern(other, sizeof other));
}

TEST(an_exhausted_heap_is_null_and_a_known_text_needs_none)
{
    const char *known = rt_intern_text("known");
    rt_memory_fail_at(1);
    ck_assert_ptr_eq(rt_intern_text("known"), known);
    ck_assert_ptr_null(rt_intern_text("unknown"));
    rt_memory_fail_at(0);
    ck_assert_str_eq(rt_intern_text("unknown"), "unknown");
}

TEST(copies_do_not_count_as_blocks_to_free)
{
    const size_t live = rt_memory_live();
    ck_assert_ptr_nonnull(rt_intern_text("a text that nobody has"));
    ck_assert_uint_eq(rt_memory_live(), live);
}
