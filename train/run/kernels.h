#ifndef ROTOR_TRAIN_RUN_KERNELS_H
#define ROTOR_TRAIN_RUN_KERNELS_H

/* Kernels of a run, run.kernels, and its engine, run.engine.
 *
 * OpenBLAS chooses its kernels when it is loaded, by the processor or by OPENBLAS_CORETYPE. For
 * portable kernels the program sets that variable and restarts itself with the same arguments. */

#include "core/row_kernels.h"
#include "ops/engine.h"
#include "train/config/config.h"
#include "train/run/arguments.h"

/* Selects the row kernels of ROTOR_ROW_KERNELS, for tests: SSE2, AVX2 or AVX-512. Returns RT_CONFIG
 * if the name is unknown or the processor lacks the kernels. */
rt_status rt_kernels_of_environment(void) RT_MUST_CHECK;

/* Selects the kernels of the configuration. Does not return if the program must be restarted. Call
 * it before anything is printed or read from standard input, before MPI starts, and while only
 * OpenBLAS has threads. Returns RT_CONFIG if the processor or OpenBLAS lacks the kernels. */
rt_status rt_kernels_begin(const rt_config *config, const rt_arguments *arguments) RT_MUST_CHECK;

/* Returns the processor as the table of engines names it: vendor, family and model of CPUID,
 * "AuthenticAMD 25 17"; "" on other architectures. */
enum { RT_PROCESSOR_SIZE = 48 };
const char *rt_kernels_processor(char text[RT_PROCESSOR_SIZE]);

/* Returns whether a training step of a model of this width takes less time with oneDNN than with
 * OpenBLAS on a processor with these row kernels: OpenBLAS has chosen slower kernels
 * (`openblas`, as rt_openblas_kernels names them) than it has for AVX2 or AVX-512, or the table of
 * processors says so. */
bool rt_onednn_is_faster(const char *processor, rt_row_set set, const char *openblas, int width);

/* Returns the engine of the configuration. For run.engine = auto it is oneDNN if the build has it
 * and, in this order: run.math = bf16 needs it; the model was computed with it (`before`, text of
 * rt_kernels_describe; "": a new model); or rt_onednn_is_faster. Portable kernels, and those that
 * OPENBLAS_CORETYPE requests, are OpenBLAS's. */
rt_engine rt_kernels_engine(const rt_config *config, const char *before);

/* Selects the kernels, the engine and the math of matrix products. Returns RT_CONFIG if this build
 * or processor lacks one of them. */
rt_status rt_kernels_use(const rt_config *config, const rt_arguments *arguments,
                         const char *before) RT_MUST_CHECK;

/* Writes a warning with its remedy and returns true if the kernels are slower than the processor's
 * best. */
enum { RT_SLOWER_SIZE = 384 };
bool rt_kernels_are_slower(const rt_config *config, char text[RT_SLOWER_SIZE]);

#endif
