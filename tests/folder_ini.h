#ifndef ROTOR_TESTS_FOLDER_INI_H
#define ROTOR_TESTS_FOLDER_INI_H

/* The configuration of a folder of Hugging Face, but for its vocabulary. */

#include "io/huggingface/huggingface.h"
#include "io/model_options.h"
#include "train/config/config.h"

static inline char *ini_of(const rt_huggingface *there)
{
    rt_data_options data = rt_data_options_of(&there->options, NULL, 0, RT_BEGIN_AUTO);
    data.vocab = 32;
    return rt_model_ini(&there->options, &data);
}

#endif
