#include "io/checkpoint/private.h"

#include "data/data.h"
#include "models/keys.h"

rt_checkpoint_model rt_checkpoint_model_of(const rt_transformer *model, const rt_data_options *data,
                                           const rt_update_rule *rule,
                                           real *const states[RT_MOST_STATES])
{
    rt_checkpoint_model m = {.parameters = &model->parameters,
                             .options = &model->options,
                             .data = data,
                             .rule = rule,
                             .theta_start = rt_transformer_theta_start(model),
                             .theta_shape = rt_transformer_theta_shape(&model->options)};
    for (int i = 0; rule && i < rule->state_count; i++)
        m.states[i] = states[i];
    return m;
}

static rt_image *build(const rt_checkpoint_model *model, const rt_checkpoint_info *info)
{
    const rt_parameters *p = model->parameters;
    rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS];
    rt_image *image = rt_image_new();
    rt_checkpoint_put_info(image, info);
    rt_image_put_options(image, "/model", &rt_model_keys, model->options);
    rt_image_put_options(image, "/data", &rt_data_keys, model->data);
    if (model->theta_start)
        rt_image_put_doubles(image, RT_THETA_START, model->theta_start, model->theta_shape);
    rt_checkpoint_put_joined(image, p);
    const int count = rt_checkpoint_list_blocks(model, blocks);
    for (const rt_checkpoint_block *b = blocks; b < blocks + count; b++)
        for (int i = 0; i < p->count; i++) {
            const rt_parameter *parameter = p->list[i];
            char path[RT_DATASET_SIZE];
            if (!rt_checkpoint_block_has(b, parameter))
                continue;
            rt_checkpoint_dataset(path, b->group, parameter->name);
            rt_image_put_reals(image, path, b->values + parameter->offset,
                               rt_tensor_shape(&parameter->tensor));
        }
    return image;
}

static rt_status check_finite(const rt_checkpoint_model *model)
{
    const rt_parameters *p = model->parameters;
    rt_checkpoint_block blocks[RT_CHECKPOINT_BLOCKS];
    const int count = rt_checkpoint_list_blocks(model, blocks);
    for (const rt_checkpoint_block *b = blocks; b < blocks + count; b++)
        for (int i = 0; i < p->count; i++)
            if (!rt_checkpoint_is_finite(p->list[i], b->values + p->list[i]->offset))
                return rt_error(RT_NONFINITE, "%s%s is not finite: no checkpoint was saved", b->of,
                                p->list[i]->name);
    return rt_ok();
}

rt_status rt_checkpoint_save(const char *path, const rt_checkpoint_model *model,
                             const rt_checkpoint_info *info)
{
    rt_durable_file file = {.descriptor = -1};
    rt_checkpoint c;
    rt_status status = check_finite(model);
    if (status.code)
        return status;
    rt_image *image = build(model, info);
    status = rt_image_status(image);
    if (!status.code)
        status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_image_write(image, &file);
    rt_image_close(image); /* reading back needs as much memory */
    status = rt_durable_sync(&file, status);
    if (!status.code) { /* the unfinished file must be one that can be loaded */
        status = rt_checkpoint_open(&c, file.temporary, RT_PARSE_HERE);
        if (!status.code)
            status = rt_checkpoint_expect_saved(&c, model);
        rt_checkpoint_close(&c);
    }
    return rt_durable_close(&file, status);
}
