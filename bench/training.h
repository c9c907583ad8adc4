#ifndef ROTOR_BENCH_TRAINING_H
#define ROTOR_BENCH_TRAINING_H

/* A trainer of CONFIG.ini [section.key=value ...], with --threads as one more setting. */

#include "bench/options.h"
#include "train/step/trainer.h"

typedef struct bench_training {
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
} bench_training;

/* To be freed in any case. */
rt_status bench_training_new(bench_training *t, const bench_options *o, int argc,
                             char **argv) RT_MUST_CHECK;
void bench_training_free(bench_training *t);

#endif
