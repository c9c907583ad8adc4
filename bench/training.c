#include "bench/training.h"

#include "core/memory.h"

#include <stdio.h>

enum { ROOM = 32 };

static rt_status load(rt_config *config, const bench_options *o, int argc, char **argv)
{
    char threads[ROOM], *errors = NULL;
    const char **settings = rt_alloc((size_t)argc + 1, sizeof *settings);
    if (!settings)
        return rt_out_of_memory("the configuration");
    for (int i = 1; i < argc; i++)
        settings[i - 1] = argv[i];
    snprintf(threads, sizeof threads, "run.threads=%d", o->threads);
    settings[argc - 1] = threads;
    const rt_config_source source = {.path = argv[0],
                                     .overrides = settings,
                                     .override_count = argc - 1 + (o->threads > 0)};
    const rt_status status = rt_config_load(config, &source, &errors);
    rt_free(errors);
    rt_free(settings);
    return status;
}

rt_status bench_training_new(bench_training *t, const bench_options *o, int argc, char **argv)
{
    rt_status status = load(&t->config, o, argc, argv);
    if (!status.code)
        status = rt_engine_use(t->config.run.engine, t->config.run.math);
    if (!status.code)
        status = rt_data_open(&t->data, &t->config.data, NULL);
    status = rt_world_agree(o->world, status);
    return status.code ? status
                       : rt_trainer_new(&t->trainer, &t->config, t->data,
                                        &(rt_trainer_options){.world = o->world});
}

void bench_training_free(bench_training *t)
{
    rt_trainer_free(t->trainer);
    rt_data_close(t->data);
}
