/* Heap memory: shared copies of texts and lists of options; large blocks; reserved memory. */

#define _GNU_SOURCE /* mincore */

#include "suite.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(an_interned_text_needs_no_memory_and_a_new_one_is_null_without)
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

/* The system may answer the write of a page with a huge page of 2 MiB; both ends of the block are
 * written, too. */
TEST(a_large_zeroed_block_costs_only_the_pages_that_are_written)
{
    enum { PAGES = 4096 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    static unsigned char resident[PAGES];
    int count = 0;
    char *used = rt_alloc(PAGES * page, 1);
    ck_assert_ptr_nonnull(used);
    memset(used, 1, PAGES * page);
    rt_free(used); /* the heap may give the same pages again */
    char *block = rt_alloc(PAGES * page, 1);
    ck_assert_ptr_nonnull(block);
    char *first = block + (page - (uintptr_t)block % page);
    first[PAGES / 2 * page] = 1;
    ck_assert_int_eq(mincore(first, (PAGES - 1) * page, resident), 0);
    for (int i = 0; i < PAGES - 1; i++)
        count += resident[i] & 1;
    ck_assert_int_lt(count, PAGES / 2);
    rt_free(block);
}

TEST(an_account_counts_bytes_by_purpose_and_allocates_nothing)
{
    rt_account account = {{0}};
    const size_t live = rt_memory_live(), requests = rt_memory_requests();
    void *values = rt_account_alloc(&account, RT_FOR_VALUES, (size_t)1 << 40, 8);
    void *more = rt_account_alloc(&account, RT_FOR_VALUES, 3, 8);
    void *tables = rt_account_alloc(&account, RT_FOR_ROUNDED, 5, 2);
    ck_assert(values && more && tables);
    ck_assert_uint_eq(account.bytes[RT_FOR_VALUES], ((size_t)1 << 43) + 24);
    ck_assert_uint_eq(account.bytes[RT_FOR_ROUNDED], 10);
    ck_assert_ptr_null(rt_account_alloc(&account, RT_FOR_VALUES, SIZE_MAX / 8, 8));
    rt_memory_return_pages(values, (size_t)1 << 43);
    rt_free(values);
    rt_free(more);
    rt_free(tables);
    ck_assert_uint_eq(rt_memory_live(), live);
    ck_assert_uint_eq(rt_memory_requests(), requests);
}

TEST(an_array_grows_and_keeps_its_elements)
{
    size_t capacity = 0, before;
    int *array = NULL;
    ck_assert(rt_grow(&array, &capacity, 1, sizeof *array) && array && capacity >= 1);
    const int *const first = array;
    ck_assert(rt_grow(&array, &capacity, capacity, sizeof *array) && array == first);
    for (size_t i = 0; i < capacity; i++)
        array[i] = (int)i;
    before = capacity;
    ck_assert(rt_grow(&array, &capacity, before + 1, sizeof *array) && capacity > before);
    for (size_t i = 0; i < before; i++)
        ck_assert_int_eq(array[i], (int)i);
    before = capacity;
    rt_memory_fail_at(1);
    ck_assert(!rt_grow(&array, &capacity, before + 1, sizeof *array));
    rt_memory_fail_at(0);
    ck_assert(!rt_grow(&array, &capacity, SIZE_MAX - 1, sizeof *array));
    ck_assert(capacity == before && array[1] == 1);
    rt_free(array);
}

TEST(without_an_account_memory_is_allocated_and_zeroed)
{
    int *numbers = rt_account_alloc(NULL, RT_FOR_BATCHES, 3, sizeof *numbers);
    ck_assert(numbers && !numbers[0] && !numbers[2]);
    rt_free(numbers);
}

/* The kernel lists the advice as "hg" among the flags of the memory (proc(5)). */
TEST(large_memory_of_a_run_asks_for_huge_pages)
{
    NEEDS(!access("/sys/kernel/mm/transparent_hugepage", R_OK), "a kernel with huge pages");
    const size_t size = (size_t)1 << 24;
    char *memory = rt_account_alloc(NULL, RT_FOR_VALUES, size, 1);
    const uintptr_t middle = (uintptr_t)memory + size / 2;
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    bool inside = false, found = false;
    ck_assert(memory && maps);
    while (fgets(line, sizeof line, maps)) {
        uintptr_t first, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2)
            inside = first <= middle && middle < end;
        found |= inside && !strncmp(line, "VmFlags:", 8) && strstr(line, " hg");
    }
    ck_assert(found);
    fclose(maps);
    rt_free(memory);
}

TEST(reserved_memory_is_not_present_and_not_copied)
{
    int numbers[2] = {1, 2}, others[2] = {3, 4};
    char *inside = (char *)RT_RESERVED + ((size_t)1 << 40);
    ck_assert(!rt_memory_is_present(NULL) && !rt_memory_is_present(RT_RESERVED));
    ck_assert(!rt_memory_is_present(inside) && rt_memory_is_present(numbers));
    rt_memory_copy(inside, numbers, sizeof numbers);
    rt_memory_copy(numbers, inside, sizeof numbers);
    ck_assert(numbers[0] == 1 && numbers[1] == 2);
    rt_memory_copy(numbers, others, sizeof numbers);
    ck_assert(numbers[0] == 3 && numbers[1] == 4);
}

TEST(a_write_of_reserved_memory_ends_the_program)
{
    static const size_t offsets[] = {0, (size_t)1 << 30, (size_t)1 << 46};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        int status;
        const pid_t child = fork();
        if (!child) {
            close(STDERR_FILENO);
            *((volatile char *)RT_RESERVED + offsets[i]) = 1;
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(!WIFEXITED(status) || WEXITSTATUS(status));
    }
}
