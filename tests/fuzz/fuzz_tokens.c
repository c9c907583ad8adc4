/* A token file of any bytes. HDF5 reads it itself: what breaks there is not ours, but what it
 * tells must not lead us to allocate or read more than there is. */

#include "fuzz.h"
#include "fuzz_data.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    rt_data_options o = options_of("tokens");
    snprintf(o.file, sizeof o.file, "%s:/ids", fuzz_file(bytes, size));
    open_and_draw(&o);
    return 0;
}
