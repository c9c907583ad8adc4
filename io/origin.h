#ifndef ROTOR_IO_ORIGIN_H
#define ROTOR_IO_ORIGIN_H

/* Private declarations of io/: the origin of a model. */

#include "io/rotor-io.h"

#include "data/data.h"
#include "io/checkpoint/checkpoint.h"

struct rt_model_origin {
    rt_data_options data_options;
    rt_checkpoint_info info; /* which has the vocabulary and the labels; of a folder, too */
    rt_data *data;           /* without anything to be drawn: what encodes texts */
    char *warnings;
};

#endif
