/* A checkpoint with a right checksum and any content is read, or refused. */

#include "fuzz.h"

#include "io/checkpoint/checkpoint.h"
#include "io/model_options.h"
#include "io/rotor-io.h"
#include "sealing.h"

static void load(const char *path)
{
    rt_parameters p = {0};
    rt_checkpoint c;
    p.component = RT_COMPONENT_HEAD;
    rt_parameters_add(&p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(4, 5), "head.output.weight");
    p.component = RT_COMPONENT_LAYER;
    rt_parameters_add(&p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(2, 3),
                      "layers.0.attention.theta");
    rt_status status = rt_parameters_allocate(&p, 1, NULL);
    double start[6];
    const rt_transformer_options options = rt_model_defaults(RT_KIND_ROFORMER);
    rt_checkpoint_model model = {.parameters = &p,
                                 .options = &options,
                                 .theta_start = start,
                                 .theta_shape = RT_SHAPE_OF(1, 2, 3)};
    rt_checkpoint_taken taken;
    for (int i = 0; i < 2 && !status.code; i++) {
        status = rt_checkpoint_open(&c, path, RT_PARSE_APART);
        if (!status.code)
            status = i ? rt_checkpoint_start_from(&c, &model, true, &taken)
                       : rt_checkpoint_load(&c, &model);
        status = status.code == RT_MEMORY ? status : rt_ok();
        rt_checkpoint_close(&c);
    }
    rt_parameters_free(&p);
}

FUZZ(checkpoint)
{
    const char *path = fuzz_file(bytes, 0);
    rt_checkpoint c;
    rt_checkpoint_theta theta;
    must(!write_sealed(path, bytes, size).code);
    rt_status status = rt_checkpoint_open(&c, path, RT_PARSE_APART);
    if (!status.code) {
        status = rt_checkpoint_read_theta(&c, &theta);
        rt_checkpoint_theta_free(&theta);
    }
    rt_checkpoint_close(&c);
    load(path);
    return 0;
}
