#include "io/model_options.h"

#include "data/data.h"
#include "text/key_value.h"

#include <string.h>

rt_transformer_options rt_model_options(const rt_transformer_options *model, const rt_data *data)
{
    rt_transformer_options options = *model;
    const rt_target target = rt_data_target(data);
    options.vocab = rt_data_vocab(data);
    options.token_types = rt_data_types(data);
    options.mask_id = rt_data_mask(data);
    options.head = target == RT_TARGET_SEQUENCE ? RT_HEAD_SEQUENCE
                   : target == RT_TARGET_TOKENS ? RT_HEAD_TOKEN
                                                : RT_HEAD_LM;
    options.labels = rt_data_classes(data);
    options.patch = rt_data_patch(data);
    return options;
}

static int task_of(const rt_transformer_options *model, bool text)
{
    const char *name = model->head == RT_HEAD_SEQUENCE ? "classify"
                       : model->head == RT_HEAD_TOKEN  ? "tag"
                       : text                          ? "text"
                                                       : "tokens";
    int task = 0;
    while (strcmp(rt_data_task_name(task), name) != 0)
        task++;
    return task;
}

rt_data_options rt_data_options_of(const rt_transformer_options *model,
                                   const rt_vocabulary *vocabulary, int length, rt_begin begin)
{
    rt_data_options options = {.length = 0};
    rt_keys_set_defaults(&rt_data_keys, &options);
    options.task = task_of(model, vocabulary != NULL);
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
