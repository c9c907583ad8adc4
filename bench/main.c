#include "bench/commands.h"
#include "train/run/kernels.h"
#include "train/world/world.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: bench COMMAND [options] [NAME=NUMBER ...]\n"
    "\n"
    "Measures speed. Times are medians after a warm-up, low and high the ends of the middle half.\n"
    "Every round measures a matrix product of 1024^3 (the peak) or a copy as well; shares are\n"
    "medians of the quotients round by round.\n"
    "\n"
    "commands, with their sizes and defaults\n"
    "  peak                                    products of the shapes of four models; copies\n"
    "  step CONFIG.ini [section.key=value ...] a training step: forward, loss, backward,\n"
    "                                          clipping, update\n"
    "  world CONFIG.ini [section.key=value ...] under mpirun: a step on several processes, what\n"
    "                                          they send, and a model of more of them\n"
    "  math CONFIG.ini [section.key=value ...] the gradient with run.engine and run.math beside "
    "that\n"
    "                                          of OpenBLAS in float, at steps 1 and 51\n"
    "  generate layers=6 dim=288 heads=6 kv_heads=6 ffn=768 vocab=32000 prompt=256 tokens=64\n"
    "           texts=1                        a decoder reads prompts and goes on with all of "
    "them\n"
    "  rope B=8 T=512 H=8 D=64                 theta learned, beside a copy of the tensor\n"
    "  attention B=1 T=4096 H=1 D=64           softmax attention\n"
    "  linear-attention H=4 D=64 from=512 to=16384\n"
    "                                          every form of attention, the length doubled\n"
    "  linear rows=2048 in=256 out=1024        a linear map with bias\n"
    "  layernorm rows=4096 columns=512\n"
    "  gelu rows=4096 columns=512\n"
    "  softmax rows=4096 columns=512\n"
    "  xent rows=4096 columns=512              softmax and cross-entropy\n"
    "  adamw size=4194304                      the update of the parameters\n"
    "\n"
    "options\n"
    "  --csv          comma-separated values\n"
    "  --threads N    peak, step, generate: on N threads, and the peak with as many products at "
    "once;\n"
    "                 world: of every process\n"
    "  --engine E     peak, generate and the ops: openblas or onednn, as run.engine\n"
    "  --math M       the same: float or bf16, as run.math\n"
    "  --seconds S    measure at least as long (step: 5, others: 2)\n"
    "  --since T      step: also the time to the end of the first one, for a program that was\n"
    "                 started at T seconds of CLOCK_MONOTONIC\n"
    "  --cpu          time by the processor's clock, for one thread on a busy machine\n"
    "  --help         this text\n"
    "\n"
    "Exit status: 0, 1 if something failed, 2 if an argument is wrong.\n";

static const struct {
    const char *name;
    bench_command *run;
} commands[] = {
    {"peak", bench_peak},           {"step", bench_step},
    {"world", bench_world},         {"math", bench_math},
    {"generate", bench_generate},   {"rope", bench_rope},
    {"attention", bench_attention}, {"linear-attention", bench_linear_attention},
    {"linear", bench_linear},       {"layernorm", bench_layernorm},
    {"gelu", bench_gelu},           {"softmax", bench_softmax},
    {"xent", bench_xent},           {"adamw", bench_adamw},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

static rt_status run_command(const bench_options *options, int argc, char **argv)
{
    if (!argc)
        return rt_error(RT_CONFIG, "a command is missing; bench --help lists them");
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i].name, argv[0]))
            return commands[i].run(options, argc - 1, argv + 1);
    return rt_error(RT_CONFIG, "there is no benchmark '%s'; bench --help lists them", argv[0]);
}

/* Of the processes of a world, the first tells what is wrong. */
static rt_status run(int argc, char **argv)
{
    bench_options options = {0};
    rt_status status = bench_options_take(&options, &argc, argv);
    if (!status.code)
        status = rt_kernels_of_environment();
    if (!status.code)
        status = rt_engine_use(options.engine, options.math);
    if (!status.code)
        status = rt_world_begin(&options.world);
    if (!status.code)
        status = run_command(&options, argc, argv);
    if (rt_world_rank(options.world))
        status = rt_ok();
    rt_world_end(options.world);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2 || asks_for_help(argc, argv)) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    const rt_status status = run(argc - 1, argv + 1);
    if (status.code)
        fprintf(stderr, "bench: %s\n", status.message);
    if (status.code == RT_CONFIG || status.code == RT_ARGUMENT || status.code == RT_SHAPE)
        return 2;
    return status.code != RT_OK;
}
