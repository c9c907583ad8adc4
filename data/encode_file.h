#ifndef ROTOR_DATA_ENCODE_FILE_H
#define ROTOR_DATA_ENCODE_FILE_H

/* The tokens of data.file as a file of ids, which data.file can then name: a FILE.npy of uint16, or
 * of int32 for a vocabulary of more than 65536 ids; a FILE.bin of uint16 without a header; or a
 * FILE.h5 with the data set /train. The file has its name once it is whole. */

#include "data/data.h"

/* How many ids there are. RT_CONFIG for a name that ends in something else, a mixture, or a
 * FILE.bin for too many ids; errors of rt_data_open; RT_IO. */
rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count) RT_MUST_CHECK;

#endif
