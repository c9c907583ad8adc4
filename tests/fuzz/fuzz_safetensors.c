/* A safetensors file of any bytes is opened, and every tensor of it read, or refused. The tensors
 * of an opened file lie in it and cover all bytes after the header. */

#include "fuzz_tensors.h"

FUZZ(safetensors)
{
    rt_safetensors *file;
    const rt_status status = rt_safetensors_open(&file, fuzz_file(bytes, size));
    must((status.code == RT_OK) == (file != NULL));
    must(!status.code || status.code == RT_CHECKPOINT);
    must(!file || read_tensors(file, size) <= size - 8);
    rt_safetensors_close(file);
    return 0;
}
