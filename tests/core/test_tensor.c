/* Tensors, memory and random numbers. */

#include "core/random.h"
#include "core/tensor.h"
#include "suite.h"

#include <limits.h>
#include <stdint.h>

TEST(shapes_are_counted_and_written)
{
    rt_tensor x = rt_tensor_of(NULL, NULL, RT_SHAPE_OF(2, 3, 4)),
              one = rt_tensor_of(NULL, NULL, RT_SCALAR);
    ck_assert_uint_eq(rt_size(&x), 24);
    ck_assert_uint_eq(rt_rows(&x), 6);
    ck_assert_int_eq(rt_columns(&x), 4);
    ck_assert_str_eq(rt_shape_text(&x), "(2, 3, 4)");
    ck_assert_uint_eq(rt_size(&one), 1);
    ck_assert_str_eq(rt_shape_text(&one), "()");
    ck_assert_uint_eq(rt_shape_size(RT_SHAPE_OF(2, 0)), 0);
    ck_assert_uint_eq(rt_shape_size(RT_SHAPE_OF(-1)), 0);
    ck_assert_uint_eq(rt_shape_size(RT_SHAPE_OF(INT_MAX)), INT_MAX);
    ck_assert_uint_eq(rt_shape_size(RT_SHAPE_OF(INT_MAX, 2)), 0);
    rt_shape widest = RT_SHAPE_OF(-INT_MAX, -INT_MAX, -INT_MAX, -INT_MAX);
    char text[RT_SHAPE_TEXT_SIZE];
    ck_assert_str_eq(rt_shape_write(text, widest),
                     "(-2147483647, -2147483647, -2147483647, -2147483647)");
    ck_assert_uint_le(sizeof(rt_tensor), 72);
}

TEST(memory_is_zeroed_aligned_and_counted)
{
    const size_t live = rt_memory_live();
    unsigned char *block = rt_alloc(100, 3);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % 64, 0);
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(block[i], 0);
    ck_assert_uint_eq(rt_memory_live(), live + 1);
    rt_free(block);
    rt_free(NULL);
    ck_assert_uint_eq(rt_memory_live(), live);
    ck_assert_ptr_null(rt_alloc(SIZE_MAX, 2));
    ck_assert_ptr_null(rt_alloc(SIZE_MAX / 2, 2));
    void *nothing = rt_alloc(0, 8);
    ck_assert_ptr_nonnull(nothing);
    rt_free(nothing);
}

/* Sizes around that from which pages are dropped, in memory that others have written to. */
TEST(large_memory_is_zeroed_again)
{
    static const size_t sizes[] = {(1u << 20) - 1, 1u << 20, (1u << 20) + 12345, 1u << 25};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (int turn = 0; turn < 3; turn++) {
            char *block = rt_alloc(sizes[n], 1);
            ck_assert_ptr_nonnull(block);
            ck_assert(!block[0] && !memcmp(block, block + 1, sizes[n] - 1));
            memset(block, 0x5a, sizes[n]);
            rt_free(block);
        }
}

/* The known answers of Philox4x32-10 that are published with Random123. */
TEST(random_words_are_philox)
{
    uint32_t w[4];
    rt_random_words((rt_random){0, 0, 0}, 0, w);
    ck_assert(w[0] == 0x6627e8d5 && w[1] == 0xe169c58d && w[2] == 0xbc57ac4c && w[3] == 0x9b00dbd8);
    rt_random_words((rt_random){UINT64_MAX, UINT32_MAX, UINT32_MAX}, UINT64_MAX, w);
    ck_assert(w[0] == 0x408f276d && w[1] == 0x41c83b0e && w[2] == 0xa20bc7c6 && w[3] == 0x6d5451fd);
    /* counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0 */
    rt_random_words((rt_random){0x299f31d0a4093822, 0x13198a2e, 0x03707344}, 0x85a308d3243f6a88, w);
    ck_assert(w[0] == 0xd16cfe09 && w[1] == 0x94fdcceb && w[2] == 0x5001e420 && w[3] == 0x24126ea1);
}

/* Counts numbers below limits. Neighbours must be uncorrelated: radius and angle are independent.
 */
TEST(normal_numbers_have_their_distribution)
{
    enum { N = 100000 };
    static const double limits[] = {-3, -2, -1.5, -1, -0.5, -0.2, 0, 0.2, 0.5, 1, 1.5, 2, 3};
    double product = 0;
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        const double expected = 0.5 * erfc(-limits[k] / sqrt(2));
        int below = 0;
        for (uint64_t i = 0; i < N; i++)
            below += rt_random_normal((rt_random){6, 2, RT_STREAM_CHECK}, i) < limits[k];
        /* five standard deviations */
        ck_assert_double_eq_tol((double)below / N, expected,
                                5 * sqrt(expected * (1 - expected) / N));
    }
    for (uint64_t i = 0; i < N; i++)
        product += rt_random_normal((rt_random){6, 2, RT_STREAM_CHECK}, i) *
                   rt_random_normal((rt_random){6, 2, RT_STREAM_CHECK}, i + 1);
    ck_assert_double_eq_tol(product / N, 0, 5 / sqrt(N));
}
