#ifndef ROTOR_TESTS_FUZZ_DATA_H
#define ROTOR_TESTS_FUZZ_DATA_H

/* Opens a source of data and draws from it. */

#include "fuzz.h"

#include "data/data.h"

static inline rt_data_options options_of(const char *task)
{
    rt_data_options o = {.length = 8,
                         .vocab = 300,
                         .distance = 3,
                         .mask_probability = 0.15,
                         .eval_fraction = 0.25,
                         .eval_seed = 1};
    while (strcmp(rt_data_task_name(o.task), task))
        o.task++;
    return o;
}

static inline void open_and_draw(const rt_data_options *o)
{
    int32_t ids[16], labels[16], types[16];
    uint8_t mask[16];
    rt_batch batch = {2, 8, ids, labels, mask, types, NULL, NULL};
    rt_data *data;
    rt_status status = rt_data_open(&data, o, (rt_data_of_model){.vocabulary = NULL});
    if (status.code)
        return;
    rt_data_training(data, 1, 2, 3, &batch);
    rt_data_evaluation(data, 0, &batch);
    status = rt_data_status(data);
    rt_data_close(data);
}

#endif
