/* A GGUF file of any bytes is imported, and every tensor of it read, or refused. Each tensor lies
 * in the file, and none overlaps another. */

#include "fuzz_tensors.h"

#include "io/gguf/gguf.h"
#include "io/huggingface/folder.h"

FUZZ(gguf)
{
    rt_huggingface *there;
    const rt_status status = rt_gguf_import(&there, fuzz_file(bytes, size));
    must((status.code == RT_OK) == (there != NULL));
    must(!status.code || status.code == RT_CHECKPOINT);
    must(read_tensors(there ? there->files->weights.files[0] : NULL, size) <= size);
    rt_huggingface_close(there);
    return 0;
}
