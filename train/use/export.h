#ifndef ROTOR_TRAIN_USE_EXPORT_H
#define ROTOR_TRAIN_USE_EXPORT_H

/* Export of a trained model. */

#include "train/run/state.h"

/* Exports the loaded model to the path of --export, with its length of training, results and drift
 * of theta in the model card: a file FILE.gguf or a folder of Hugging Face. Returns RT_CONFIG if
 * the path is a run, or if the format cannot represent an option of the model. */
rt_status rt_export_model(const rt_run *r) RT_MUST_CHECK;

#endif
