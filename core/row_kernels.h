#ifndef ROTOR_CORE_ROW_KERNELS_H
#define ROTOR_CORE_ROW_KERNELS_H

/* Row kernels: functions that pass over rows of numbers, each compiled for several instruction
 * sets. When the program starts, the best set that the processor has is chosen for all of them.
 *
 *     static RT_ROW_KERNEL(add_rows, (real *restrict y, const real *restrict x, size_t n), (y, x,
 * n))
 *     {
 *         for (size_t i = 0; i < n; i++)
 *             y[i] += x[i];
 *     }
 *
 * defines `void add_rows(real *, const real *, size_t)`; without `static` it can be declared in a
 * header. Vectors of another width add up in another order, so that sums, and whatever a fused
 * multiply and add rounds once, differ in their last bits from set to set.
 */

#include "core/choice.h"
#include "core/status.h"

#include <stdbool.h>

/* In rising order. Each is a level of the x86-64 psABI: the first every processor has, AVX2 with
 * FMA is x86-64-v3, AVX-512 x86-64-v4. Processors of other kinds have the first alone. */
#if defined(__x86_64__)
#define RT_ROW_SETS(X)                                                                             \
    X(RT_ROWS_BASELINE, "SSE2") X(RT_ROWS_AVX2, "AVX2") X(RT_ROWS_AVX512, "AVX-512")
#else
#define RT_ROW_SETS(X)                                                                             \
    X(RT_ROWS_BASELINE, "baseline") X(RT_ROWS_AVX2, "AVX2") X(RT_ROWS_AVX512, "AVX-512")
#endif
typedef enum rt_row_set { RT_ROW_SETS(RT_CHOICE_VALUE) } rt_row_set;

/* The one in use, read at each call. */
extern rt_row_set rt_row_set_in_use;

/* Returns whether the processor and the operating system can run the set. */
bool rt_row_set_works(rt_row_set set);

/* To be called while no other thread computes. RT_CONFIG if the processor lacks it: then nothing
 * changes. */
rt_status rt_row_set_use(rt_row_set set) RT_MUST_CHECK;

/* Uses the set with the name "SSE2", "AVX2" or "AVX-512". RT_CONFIG for any other name. NULL and ""
 * change nothing. */
rt_status rt_row_set_use_named(const char *name) RT_MUST_CHECK;

/* The name of a set, and of the one in use. */
const char *rt_row_set_name(rt_row_set set);
const char *rt_row_kernels(void);

/* A kernel whose body follows; of the second, which returns a number, `type` is what it returns. */
#define RT_ROW_KERNEL(name, parameters, arguments)                                                 \
    RT_ROW_VARIANTS(void, , name, parameters, arguments)
#define RT_ROW_FUNCTION(type, name, parameters, arguments)                                         \
    RT_ROW_VARIANTS(type, return, name, parameters, arguments)

/* The body is written once and inlined into a function for each instruction set. The first line
 * takes the `static` that may stand before it. */
#if defined(__x86_64__)
#define RT_ROW_VARIANTS(type, result, name, parameters, arguments)                                 \
    type name parameters;                                                                          \
    RT_ROW_BODY(type, name) parameters;                                                            \
    __attribute__((target("arch=x86-64-v4"))) static type name##_avx512 parameters                 \
    {                                                                                              \
        result name##_body arguments;                                                              \
    }                                                                                              \
    __attribute__((target("arch=x86-64-v3"))) static type name##_avx2 parameters                   \
    {                                                                                              \
        result name##_body arguments;                                                              \
    }                                                                                              \
    static type name##_baseline parameters                                                         \
    {                                                                                              \
        result name##_body arguments;                                                              \
    }                                                                                              \
    type name parameters                                                                           \
    {                                                                                              \
        result rt_row_set_in_use == RT_ROWS_AVX512 ? name##_avx512 arguments                       \
        : rt_row_set_in_use == RT_ROWS_AVX2        ? name##_avx2 arguments                         \
                                                   : name##_baseline arguments;                           \
    }                                                                                              \
    RT_ROW_BODY(type, name) parameters
#else
#define RT_ROW_VARIANTS(type, result, name, parameters, arguments)                                 \
    type name parameters;                                                                          \
    RT_ROW_BODY(type, name) parameters;                                                            \
    type name parameters                                                                           \
    {                                                                                              \
        result name##_body arguments;                                                              \
    }                                                                                              \
    RT_ROW_BODY(type, name) parameters
#endif
#define RT_ROW_BODY(type, name) __attribute__((always_inline)) static inline type name##_body

#endif
