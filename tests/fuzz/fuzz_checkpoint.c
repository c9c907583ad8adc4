/* A checkpoint whose checksum is right and whose content is any bytes: what a forger, or a bug
 * of ours, could write. It is read, or refused. */

#include "fuzz.h"

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "io/model_options.h"
#include "sealing.h"

#include <stdlib.h>

static void load(const char *path)
{
    rt_parameters p = {0};
    rt_checkpoint_info info;
    p.part = RT_PART_HEAD;
    rt_parameters_add(&p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(4, 5), "head.output.weight");
    p.part = RT_PART_LAYER;
    rt_parameters_add(&p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(2, 3),
                      "layers.0.attention.theta");
    rt_status status = rt_parameters_allocate(&p, 1, NULL);
    double start[6];
    const rt_transformer_options options = rt_model_options_of_kind(RT_KIND_ROFORMER);
    rt_checkpoint_model model = {.parameters = &p,
                                 .options = &options,
                                 .theta_start = start,
                                 .theta_shape = RT_SHAPE_OF(1, 2, 3)};
    rt_checkpoint_start taken;
    if (!status.code)
        status = rt_checkpoint_load(rt_image_open(path, RT_PARSE_APART), &model, &info);
    if (!status.code)
        rt_checkpoint_info_free(&info);
    status =
        rt_checkpoint_start_from(rt_image_open(path, RT_PARSE_APART), &model, true, &taken, &info);
    if (!status.code)
        rt_checkpoint_info_free(&info);
    rt_parameters_free(&p);
}

FUZZ(checkpoint)
{
    const char *path = fuzz_file(bytes, 0);
    rt_checkpoint_info info;
    rt_checkpoint_theta theta;
    if (write_sealed(path, bytes, size).code)
        abort();
    rt_status status = rt_checkpoint_read_info(rt_image_open(path, RT_PARSE_APART), &info);
    if (!status.code)
        rt_checkpoint_info_free(&info);
    status = rt_checkpoint_read_theta(rt_image_open(path, RT_PARSE_APART), &theta);
    rt_checkpoint_theta_free(&theta);
    load(path);
    return 0;
}
