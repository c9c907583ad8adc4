#ifndef ROTOR_BENCH_COMMANDS_H
#define ROTOR_BENCH_COMMANDS_H

/* The commands, one subject a file; arguments are those behind the command. */

#include "bench/options.h"

typedef rt_status bench_command(const bench_options *o, int argc, char **argv);

bench_command bench_peak;
bench_command bench_rope;
bench_command bench_attention;
bench_command bench_linear_attention;
bench_command bench_linear;
bench_command bench_layernorm;
bench_command bench_gelu;
bench_command bench_softmax;
bench_command bench_xent;
bench_command bench_adamw;
bench_command bench_step;
bench_command bench_scale;
bench_command bench_world;
bench_command bench_math;
bench_command bench_generate;

#endif
