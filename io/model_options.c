#include "io/model_options.h"

rt_transformer_options rt_model_options(const rt_transformer_options *model, const rt_data *data)
{
    rt_transformer_options options = *model;
    const rt_target target = rt_data_target(data);
    options.vocab = rt_data_vocab(data);
    options.token_types = rt_data_types(data);
    options.head = target == RT_TARGET_SEQUENCE ? RT_HEAD_SEQUENCE
                   : target == RT_TARGET_TOKENS ? RT_HEAD_TOKEN
                                                : RT_HEAD_LM;
    options.labels = rt_data_classes(data);
    return options;
}
