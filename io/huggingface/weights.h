#ifndef ROTOR_IO_HUGGINGFACE_WEIGHTS_H
#define ROTOR_IO_HUGGINGFACE_WEIGHTS_H

/* The tensors of a Hugging Face folder: those of model.safetensors or, if there is none, of the
 * files that model.safetensors.index.json names. Every file must have just the tensors that the
 * index gives it, and lie in the folder itself.
 *
 * Errors as in safetensors.h and json.h. */

#include "io/huggingface/safetensors.h"

#include <stdbool.h>

#define RT_WEIGHTS_FILE  "model.safetensors"
#define RT_WEIGHTS_INDEX "model.safetensors.index.json"

/* Number of files that a process can have open, with a margin. */
enum { RT_MOST_WEIGHT_FILES = 512 };

typedef struct rt_weights {
    rt_safetensors **files;
    int count;
} rt_weights;

/* A tensor and where it is; neither if there is none of that name. */
typedef struct rt_weight {
    const rt_safetensors *file;
    const rt_safetensor *tensor;
} rt_weight;

/* rt_weights_close is to be called in any case. */
rt_status rt_weights_open(rt_weights *weights, const char *folder) RT_MUST_CHECK;
void rt_weights_close(rt_weights *weights);

rt_weight rt_weights_find(const rt_weights *weights, const char *name);

/* The numbers of all tensors together, and how many tensors there are. */
uint64_t rt_weights_size(const rt_weights *weights, uint64_t *tensors);

#endif
