/* A file of any bytes is read as token ids, or refused. The corpus has HDF5 files of each kind. */

#include "fuzz_data.h"

#include <hdf5.h>

FUZZ(tokens)
{
    rt_data_options o = options_of("tokens");
    char name[RT_PATH_SIZE];
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    snprintf(name, sizeof name, "%s:/ids", fuzz_file(bytes, size));
    o.file = name;
    open_and_draw(&o);
    H5garbage_collect();
    return 0;
}
