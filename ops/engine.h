#ifndef ROTOR_OPS_ENGINE_H
#define ROTOR_OPS_ENGINE_H

/* Library and numbers of the matrix products: a property of the whole program.
 *
 * OpenBLAS is always there. oneDNN is there if the build found it, in float only; with bf16 it
 * rounds both operands of every product to bfloat16 (8 bits of fraction, to nearest, ties to even)
 * and sums in float; everything but products stays float. Either runs on the calling thread alone,
 * so that a product has the same bits every time. Products of a few rows that nothing goes back
 * through, as when a text is continued, are made without them, of the same numbers (private.h).
 */

#include "core/choice.h"
#include "core/graph.h"
#include "core/real.h"
#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

#define RT_ENGINES(X) X(RT_ENGINE_OPENBLAS, "openblas") X(RT_ENGINE_ONEDNN, "onednn")
typedef enum rt_engine { RT_ENGINES(RT_CHOICE_VALUE) } rt_engine;

#define RT_MATHS(X) X(RT_MATH_FLOAT, "float") X(RT_MATH_BF16, "bf16")
typedef enum rt_math { RT_MATHS(RT_CHOICE_VALUE) } rt_math;

/* The address space that a thread of OpenBLAS takes, in bytes, most of which is never touched. */
#define RT_OPENBLAS_BUFFER ((size_t)128 << 20)

/* To be called while no other thread computes; OpenBLAS in float before that. RT_CONFIG says what
 * the build or the processor lacks: then nothing changes. */
rt_status rt_engine_use(rt_engine engine, rt_math math) RT_MUST_CHECK;

/* "OpenBLAS" or "oneDNN", and what it has chosen for this processor, one word: "SkylakeX" of
 * OpenBLAS, "oneDNN-2.6.3-avx512_core_bf16" of the other. Different kernels round in different
 * order. */
const char *rt_engine_name(void);
const char *rt_engine_kernels(void);

/* All that decides the last bits of a result beside the program itself, in one line: "OpenBLAS
 * 0.3.21 Haswell, row kernels AVX2". Returns `text`. */
enum { RT_KERNELS_SIZE = 64 };
const char *rt_kernels_describe(char text[RT_KERNELS_SIZE]);

/* Returns the kernels that OpenBLAS has chosen, whether or not it is in use. */
const char *rt_openblas_kernels(void);

/* Parameters that do not change for a while, and room for as many numbers in bf16, or NULL for both
 * when they may change again: with bf16, products then read them from `rounded`, where they have
 * been put by rt_engine_round. To be called while no other thread computes. */
void rt_engine_hold(const real *values, const uint16_t *rounded, size_t size);
void rt_engine_round(uint16_t *rounded, const real *values, size_t size);

/* RT_MEMORY if a product could not be computed since this was asked last; what it should have
 * filled is NaN. */
rt_status rt_engine_status(void) RT_MUST_CHECK;

/* Returns rt_graph_status, or the status of the products that the graph computed. */
rt_status rt_engine_graph_status(const rt_graph *g) RT_MUST_CHECK;

#endif
