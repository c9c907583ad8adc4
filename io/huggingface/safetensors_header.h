#ifndef ROTOR_IO_HUGGINGFACE_SAFETENSORS_HEADER_H
#define ROTOR_IO_HUGGINGFACE_SAFETENSORS_HEADER_H

/* The header of a safetensors file as a list of tensors. */

#include "io/huggingface/safetensors.h"

/* One list; `shapes` and `names` are what its tensors refer to. */
typedef struct rt_safetensors_list {
    rt_safetensor *tensors; /* by name */
    size_t count;
    uint64_t *shapes;
    char *names;
} rt_safetensors_list;

/* Reads a header of `size` bytes, which it changes, and checks it against `room`, the number of
 * bytes behind it in the file. Where a tensor begins is counted from the header's end. */
rt_status rt_safetensors_parse(rt_safetensors_list *list, const char *name, char *header,
                               size_t size, uint64_t room) RT_MUST_CHECK;
void rt_safetensors_list_free(rt_safetensors_list *list);

#endif
