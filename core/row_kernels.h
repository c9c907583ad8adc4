#ifndef ROTOR_CORE_ROW_KERNELS_H
#define ROTOR_CORE_ROW_KERNELS_H

/* Row kernels: functions that pass over rows of numbers, each compiled for several instruction
 * sets. At program start, the best set that the processor supports is chosen for all of them.
 *
 *     static RT_ROW_KERNEL(add_rows, (real *restrict y, const real *restrict x, size_t n), (y, x,
 * n))
 *     {
 *         for (size_t i = 0; i < n; i++)
 *             y[i] += x[i];
 *     }
 *
 * defines `void add_rows(real *, const real *, size_t)`; without `static` it can be declared in a
 * header. Wider vectors sum in another order, and a fused multiply-add rounds once, so the last
 * bits of results differ from set to set.
 */

#include "core/choice.h"
#include "core/status.h"

#include <stdbool.h>

/* Instruction sets in rising order. Each is a level of the x86-64 psABI: every processor has the
 * first, AVX2 with FMA is x86-64-v3, AVX-512 is x86-64-v4. Other architectures have only
 * the first. */
#if defined(__x86_64__)
#define RT_ROW_SETS(X)                                                                             \
    X(RT_ROWS_BASELINE, "SSE2") X(RT_ROWS_AVX2, "AVX2") X(RT_ROWS_AVX512, "AVX-512")
#else
#define RT_ROW_SETS(X)                                                                             \
    X(RT_ROWS_BASELINE, "baseline") X(RT_ROWS_AVX2, "AVX2") X(RT_ROWS_AVX512, "AVX-512")
#endif
typedef enum rt_row_set { RT_ROW_SETS(RT_CHOICE_VALUE) } rt_row_set;

/* Set in use, read at each call. */
extern rt_row_set rt_row_set_in_use;

/* Returns whether the processor and the operating system can run the set. */
bool rt_row_set_works(rt_row_set set);

/* Returns the widest kernels that work on this processor. */
rt_row_set rt_row_set_widest(void);

/* Selects a set. Call it while no other thread computes. RT_CONFIG, without a change, if the
 * processor does not support the set. */
rt_status rt_row_set_use(rt_row_set set) RT_MUST_CHECK;

/* Selects the set of a name (RT_ROW_SETS). RT_CONFIG for any other name. NULL and "" change
 * nothing. */
rt_status rt_row_set_use_named(const char *name) RT_MUST_CHECK;

/* Returns the name of a set, and of the set in use. */
const char *rt_row_set_name(rt_row_set set);
const char *rt_row_kernels(void);

/* Begins the definition of a kernel, whose body follows. The second form returns a number of
 * `type`. */
#define RT_ROW_KERNEL(name, parameters, arguments)                                                 \
    RT_ROW_VARIANTS(void, , name, parameters, arguments)
#define RT_ROW_FUNCTION(type, name, parameters, arguments)                                         \
    RT_ROW_VARIANTS(type, return, name, parameters, arguments)

/* The body is written once and inlined into a function for each instruction set. A `static` before
 * the macro applies to its first line. */
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
