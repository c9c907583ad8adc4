#ifndef ROTOR_OPS_ENGINE_H
#define ROTOR_OPS_ENGINE_H

/* Library and number format of the matrix products, for the whole program.
 *
 * OpenBLAS is always available. oneDNN is available if the build found it, in float only. With
 * bf16, oneDNN rounds both operands of every product to bfloat16 (8 bits of fraction, to nearest,
 * ties to even) and sums in float; everything but products stays float. Both run on the calling
 * thread alone, so that a product always has the same bits. Products of a few rows in a graph that
 * does not record, as in generation, use neither library (private.h).
 */

#include "core/choice.h"
#include "core/graph.h"
#include "core/real.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_ENGINES(X) X(RT_ENGINE_OPENBLAS, "openblas") X(RT_ENGINE_ONEDNN, "onednn")
typedef enum rt_engine { RT_ENGINES(RT_CHOICE_VALUE) } rt_engine;

#define RT_MATHS(X) X(RT_MATH_FLOAT, "float") X(RT_MATH_BF16, "bf16")
typedef enum rt_math { RT_MATHS(RT_CHOICE_VALUE) } rt_math;

/* Address space of a thread of OpenBLAS, in bytes; most of it is never touched. */
#define RT_OPENBLAS_BUFFER ((size_t)128 << 20)

/* Selects an engine; the default is OpenBLAS in float. Call it while no other thread computes.
 * RT_CONFIG, without a change, if the build or the processor does not support it. */
rt_status rt_engine_use(rt_engine engine, rt_math math) RT_MUST_CHECK;

/* Returns whether rt_engine_use would select the engine, and the engine in use. */
bool rt_engine_works(rt_engine engine, rt_math math);
rt_engine rt_engine_in_use(void);

/* Returns "OpenBLAS" or "oneDNN", and its choice for this processor in one word: "SkylakeX" for
 * OpenBLAS, "oneDNN-2.6.3-avx512_core_bf16" for oneDNN. Different kernels round in
 * different order. */
const char *rt_engine_name(void);
const char *rt_engine_kernels(void);

/* Writes everything besides the program that decides the last bits of a result, in one line:
 * "OpenBLAS 0.3.21 Haswell, row kernels AVX2". Returns `text`. */
enum { RT_KERNELS_SIZE = 64 };
const char *rt_kernels_describe(char text[RT_KERNELS_SIZE]);

/* Returns the kernels that OpenBLAS has chosen, even if it is not in use. */
const char *rt_openblas_kernels(void);

/* Returns true if the loaded OpenBLAS is the serial build, which is not safe for threads. rotor
 * computes its products one at a time, with the same bits as those of the other builds. */
bool rt_openblas_is_serial(void);

/* Holds parameters that do not change for a while: with bf16, products read them from `rounded`,
 * filled by rt_engine_round. NULL for both ends this. Call it while no other thread computes. */
void rt_engine_hold(const real *values, const uint16_t *rounded, size_t size);
void rt_engine_round(uint16_t *rounded, const real *values, size_t size);

/* Returns RT_MEMORY if a product failed since the last call; its result is NaN. */
rt_status rt_engine_status(void) RT_MUST_CHECK;

/* Returns rt_graph_status, or else rt_engine_status. */
rt_status rt_engine_graph_status(const rt_graph *g) RT_MUST_CHECK;

#endif
