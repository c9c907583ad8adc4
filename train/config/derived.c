#include "train/config/config.h"

/* What follows from several keys together. */

int rt_config_longest(const rt_config *config)
{
    int longest = config->data.length;
    for (int i = 0; i < config->train.eval_lengths.count; i++)
        if (config->train.eval_lengths.at[i] > longest)
            longest = config->train.eval_lengths.at[i];
    return longest;
}

rt_position_options rt_config_position(const rt_config *config)
{
    rt_position_options position = config->model.position;
    if (!position.max_len)
        position.max_len = rt_config_longest(config);
    if (!position.frequencies.original_len)
        position.frequencies.original_len = config->data.length;
    return position;
}
