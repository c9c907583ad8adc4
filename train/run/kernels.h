#ifndef ROTOR_TRAIN_RUN_KERNELS_H
#define ROTOR_TRAIN_RUN_KERNELS_H

/* Which kernels a run computes with, run.kernels.
 *
 * OpenBLAS chooses its kernels when it is loaded, by the processor or by OPENBLAS_CORETYPE. So
 * portable ones need that variable before the program is loaded: the program is started once more
 * with it, by execve, with the same arguments. */

#include "train/config/config.h"
#include "train/run/arguments.h"

/* Uses the row kernels that ROTOR_ROW_KERNELS names, for tests: SSE2, AVX2 or AVX-512. Returns
 * RT_CONFIG if there are none of that name, or the processor lacks them. */
rt_status rt_kernels_of_environment(void) RT_MUST_CHECK;

/* Has the program compute with the kernels of the configuration. Does not return where the program
 * must be started again, so nothing may have been printed or read, there are no other threads but
 * those of OpenBLAS, and MPI has not begun. RT_CONFIG if the processor or OpenBLAS lacks them. */
rt_status rt_kernels_begin(const rt_config *config, const rt_arguments *arguments) RT_MUST_CHECK;

/* Calls rt_kernels_begin for the given configuration file; errors in the file are reported when it
 * is loaded. For a training, before the processes of a world know of each other. */
rt_status rt_kernels_begin_early(const rt_arguments *arguments) RT_MUST_CHECK;

/* Has matrix products computed as the configuration says, with its kernels, engine and math.
 * Returns RT_CONFIG if that is impossible. */
rt_status rt_kernels_use(const rt_config *config, const rt_arguments *arguments) RT_MUST_CHECK;

/* Writes a sentence on kernels that are slower than the processor's best. Returns false if they are
 * not. */
enum { RT_SLOWER_SIZE = 256 };
bool rt_kernels_are_slower(const rt_config *config, char text[RT_SLOWER_SIZE]);

#endif
