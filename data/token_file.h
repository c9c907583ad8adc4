#ifndef ROTOR_DATA_TOKEN_FILE_H
#define ROTOR_DATA_TOKEN_FILE_H

/* Token ids in a file of one of the formats of token_format.h, or in a data set of an HDF5 file.
 * They are read where they are, a window at a time, and never mapped: a file that is cut while it
 * is read is an error of the read. HDF5 sees a file only while it is opened, in a child process;
 * what lies in chunks is decoded then, into a temporary file without a name. */

#include "data/file_list.h"
#include "data/token_run.h"

/* Checksums (rt_checksum) of the ids in a file, one for each RT_SUMMED bytes of them. */
enum { RT_SUMMED = 1 << 16 };
typedef struct rt_token_sums {
    uint64_t *list;
    size_t count;
} rt_token_sums;

/* Looks at every id of a file of up to 256 MiB, to see that it is in 0 ... vocab-1; those of a
 * larger one are looked at when they are read. A file that is cut, written again or replaced is an
 * error of the next read.
 *
 * `sums`, or NULL: rotor wrote the file, whose name may go while it is read. Its ids are compared
 * with the checksums when it is opened, or those of a file above 1 GiB when they are read first;
 * then a file whose ids differ is removed. The list is freed in any case.
 *
 * RT_DATA names the file, the data set, the `key` that names them, which is not copied, and what is
 * wrong: also a file that HDF5 crashes on or does not get done with, a layout that leads to other
 * files or to code outside of HDF5, chunks too large for a cache of 32 MiB, and places that were
 * never written. RT_IO if there can be no child process or no temporary file. To be called before
 * threads are started (see text/child.h). */
rt_status rt_token_file_open(rt_token_run *run, const char *key, const rt_data_file *file,
                             int vocab, rt_token_sums *sums) RT_MUST_CHECK;

#endif
