#include "io/model_options.h"

#include "data/data.h"
#include "util/key_value.h"

rt_transformer_options rt_model_options(const rt_transformer_options *model, const rt_data *data)
{
    rt_transformer_options options = *model;
    const rt_target target = data->task->target;
    options.vocab = data->vocab;
    options.token_types = data->types;
    options.mask_id = data->special.mask;
    options.head = target == RT_TARGET_SEQUENCE ? RT_HEAD_SEQUENCE
                   : target == RT_TARGET_TOKENS ? RT_HEAD_TOKEN
                                                : RT_HEAD_LM;
    options.labels = data->classes;
    options.patch = data->patch;
    return options;
}

rt_data_options rt_data_options_of(const rt_transformer_options *model,
                                   const rt_vocabulary *vocabulary, int length, rt_begin begin)
{
    rt_data_options options = {.length = 0};
    const char *task = model->head == RT_HEAD_SEQUENCE ? "classify"
                       : model->head == RT_HEAD_TOKEN  ? "tag"
                       : vocabulary                    ? "text"
                                                       : "tokens";
    rt_keys_set_defaults(&rt_data_keys, &options);
    rt_key_value_set(rt_keys_find(&rt_data_keys, "data.task"), task, &options);
    if (length)
        options.length = length;
    if (vocabulary) {
        options.level = vocabulary->level;
        options.lowercase = vocabulary->lowercase;
    } else {
        options.vocab = model->vocab;
    }
    options.begin = begin;
    if (model->causal)
        options.objective = RT_OBJECTIVE_LM;
    return options;
}
