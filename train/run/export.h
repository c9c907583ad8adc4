#ifndef ROTOR_TRAIN_RUN_EXPORT_H
#define ROTOR_TRAIN_RUN_EXPORT_H

/* --export: a trained model as a folder of Hugging Face, with what is known of it on its card, or
 * as a file of llama.cpp. */

#include "train/run/state.h"

/* Writes the model of a run that was opened from `checkpoint` into arguments->export. RT_CONFIG
 * and RT_IO as rt_huggingface_write, or rt_gguf_write. */
rt_status rt_run_export(const rt_run *r, const char *checkpoint) RT_MUST_CHECK;

#endif
