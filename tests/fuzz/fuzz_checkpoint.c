/* A checkpoint with a right checksum and any content is read, or refused. */

#include "fuzz.h"

#include "io/checkpoint/checkpoint.h"
#include "io/model_options.h"
#include "io/rotor-io.h"
#include "sealing.h"

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
    const rt_transformer_options options = rt_model_defaults(RT_KIND_ROFORMER);
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
    must(!write_sealed(path, bytes, size).code);
    rt_image *image = rt_image_open(path, RT_PARSE_APART);
    rt_status status = rt_checkpoint_look(image, &info);
    rt_image_close(image);
    if (!status.code)
        rt_checkpoint_info_free(&info);
    status = rt_checkpoint_read_theta(rt_image_open(path, RT_PARSE_APART), &theta);
    rt_checkpoint_theta_free(&theta);
    load(path);
    return 0;
}
