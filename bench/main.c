#include "bench/bench.h"

#include "ops/engine.h"
#include "train/run/kernels.h"
#include "train/world/world.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: bench COMMAND [options] [NAME=NUMBER ...]\n"
    "\n"
    "Measures speed. A time is the median after a warm-up; low and high bound the\n"
    "middle half of the times. Every round also measures a matrix product of 1024^3\n"
    "(the GEMM peak) or a copy; a share is the median, over the rounds, of what was\n"
    "reached divided by that.\n"
    "\n"
    "commands, with their sizes and defaults\n"
    "  peak                 measure matrix products of the shapes of four models, and\n"
    "                       copies\n"
    "  step CONFIG.ini [section.key=value ...]\n"
    "                       measure a training step: forward, loss, backward,\n"
    "                       clipping, update\n"
    "  scale CONFIG.ini [section.key=value ...]\n"
    "                       measure a step on 1 and N threads in turns (--threads N,\n"
    "                       default 2), its serial part, barriers and bytes; compute a\n"
    "                       step on up to 128 threads\n"
    "  world CONFIG.ini [section.key=value ...]\n"
    "                       under mpirun: measure a step on several processes, and\n"
    "                       what they send; compute both for more processes\n"
    "  math CONFIG.ini [section.key=value ...]\n"
    "                       compare the gradient of run.engine and run.math with that\n"
    "                       of OpenBLAS in float, at steps 1 and 51\n"
    "  generate llama layers=6 dim=288 heads=6 kv_heads=6 ffn=768 vocab=32000\n"
    "           prompt=256 tokens=64 texts=1\n"
    "                       measure a decoder (llama, qwen2 or gpt_neox) that reads\n"
    "                       prompts and continues all of them in one batch\n"
    "  rope B=8 T=512 H=8 D=64\n"
    "                       measure RoPE with a learned theta, beside a copy of the\n"
    "                       tensor\n"
    "  attention B=1 T=4096 H=1 D=64\n"
    "                       measure softmax attention\n"
    "  linear-attention H=4 D=64 from=512 to=16384\n"
    "                       measure every form of attention, doubling the length\n"
    "  linear rows=2048 in=256 out=1024\n"
    "                       measure a linear layer with bias\n"
    "  layernorm rows=4096 columns=512\n"
    "  gelu rows=4096 columns=512\n"
    "  softmax rows=4096 columns=512\n"
    "  xent rows=4096 columns=512\n"
    "                       measure softmax and cross-entropy\n"
    "  adamw size=4194304   measure the update of the parameters\n"
    "\n"
    "options\n"
    "  --csv          print comma-separated values\n"
    "  --threads N    use N threads (peak, step, generate; world: in every process);\n"
    "                 the peak runs as many products at once\n"
    "  --engine E     use openblas or onednn, as run.engine (peak, generate, ops)\n"
    "  --math M       use float or bf16, as run.math (peak, generate, ops)\n"
    "  --seconds S    measure for at least S seconds (default: 5 for step, else 2)\n"
    "  --since T      step: print the time from T, in seconds of CLOCK_MONOTONIC,\n"
    "                 when the program was started, to the end of the first\n"
    "                 step\n"
    "  --cpu          measure processor time, for one thread on a busy machine\n"
    "  --help         print this help\n"
    "\n"
    "Exit status: 0, 1 if something failed, 2 if an argument is wrong.\n";

static const struct {
    const char *name;
    bench_command *run;
} commands[] = {
    {"peak", bench_peak},
    {"step", bench_step},
    {"scale", bench_scale},
    {"world", bench_world},
    {"math", bench_math},
    {"generate", bench_generate},
    {"rope", bench_rope},
    {"attention", bench_attention},
    {"linear-attention", bench_linear_attention},
    {"linear", bench_linear},
    {"layernorm", bench_layernorm},
    {"gelu", bench_gelu},
    {"softmax", bench_softmax},
    {"xent", bench_xent},
    {"adamw", bench_adamw},
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

/* Checks --engine and --math before they are used: this build may lack the engine. */
static rt_status choose_engine(const bench_options *o, const char *command)
{
    static const char *const configured[] = {"step", "scale", "world", "math"};
    const bool is_default = o->engine == RT_ENGINE_OPENBLAS && o->math == RT_MATH_FLOAT;
    for (size_t i = 0; i < sizeof configured / sizeof *configured && command && !is_default; i++)
        if (!strcmp(command, configured[i]))
            return rt_error(RT_CONFIG, "--engine and --math are run.engine=E and run.math=M here");
    return rt_engine_use(o->engine, o->math);
}

/* In a world of several processes, the first prints the errors. */
static rt_status run(int argc, char **argv)
{
    bench_options options = {0};
    rt_status status = bench_options_take(&options, &argc, argv);
    if (!status.code)
        status = rt_kernels_of_environment();
    if (!status.code)
        status = choose_engine(&options, argc ? argv[0] : NULL);
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
