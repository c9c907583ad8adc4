#ifndef ROTOR_IO_HUGGINGFACE_EXPORT_H
#define ROTOR_IO_HUGGINGFACE_EXPORT_H

/* The tensors of a model as a family of Hugging Face, or of llama.cpp, has them in its files. */

#include "io/huggingface/family.h"

/* Tensors that are written for a model: its parameters and the additional tensors of the family. */
typedef struct rt_tensor_list {
    const rt_family *family;
    const rt_transformer *model;
    rt_safetensors_entry *entries;
    int count;
    rt_folder_tensors tensors; /* contexts of the entries */
    rt_folder_theta theta;
} rt_tensor_list;

/* Lists the tensors. RT_CONFIG names a parameter that the family lacks. Close it in any case. */
rt_status rt_tensor_list_open(rt_tensor_list *list, const rt_family *family,
                              const rt_transformer *model, int positions) RT_MUST_CHECK;
void rt_tensor_list_close(rt_tensor_list *list);

#endif
