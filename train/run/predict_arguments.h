#ifndef ROTOR_TRAIN_RUN_PREDICT_ARGUMENTS_H
#define ROTOR_TRAIN_RUN_PREDICT_ARGUMENTS_H

/* What the command line says of --predict. */

#include "train/config/config.h"
#include "train/run/arguments.h"
#include "train/run/predict.h"

/* RT_CONFIG names an option that changes nothing of what is predicted for these data: a label is
 * not sampled, a masked text does not grow, and at temperature 0 nothing is drawn. */
rt_status rt_predict_arguments_check(const rt_arguments *a, const rt_data_options *o) RT_MUST_CHECK;

/* The options, without the crew and the positions of the model. */
rt_predict_options rt_predict_arguments(const rt_arguments *a, const rt_config *config);

#endif
