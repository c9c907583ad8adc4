#include "bench/bench.h"

#include "train/run/kernels.h"
#include "train/world/world.h"
#include "util/number.h"
#include "util/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bench_options bench;

/* A command. */
typedef struct command {
    const char *name;
    const char *arguments; /* arguments in the usage, before the sizes */
    struct {
        const char *name; /* NULL after the last */
        int value;        /* default */
    } sizes[BENCH_MOST_SIZES + 1];
    const char *help; /* lines of the usage; NULL: those of the next command */
    void (*run)(void);
    bool configured; /* the first argument is a CONFIG.ini, which has the engine */
    bool threads;    /* runs on --threads */
} command;

#define CONFIGURED "CONFIG.ini [section.key=value ...]"

static const char usage[] =
    "usage: bench COMMAND [options] [NAME=NUMBER ...]\n"
    "\n"
    "Measures speed. A time is the median after a warm-up; low and high bound the\n"
    "middle half of the times. Every round also measures a matrix product of 1024^3\n"
    "(the GEMM peak) or a copy; a share is the median, over the rounds, of what was\n"
    "reached divided by that.\n"
    "\n"
    "commands, with their sizes and defaults\n";

static const command commands[] = {
    {"peak",
     .help = "measure multiply-adds in registers, the peak with both engines, matrix\n"
             "      products of the shapes of four models, and copies",
     .run = bench_peak, .threads = true},
    {"step", CONFIGURED, .run = bench_step, .configured = true,
     .help = "measure a training step: forward, loss, backward, clipping, update"},
    {"world", CONFIGURED, .run = bench_world, .configured = true,
     .help = "under mpirun: measure a step on several processes, and their messages"},
    {"math", CONFIGURED, .run = bench_math, .configured = true,
     .help = "compare the gradient of run.engine and run.math with that of OpenBLAS in\n"
             "      float, at steps 1 and 51"},
    {"engine", CONFIGURED, .run = bench_engine, .configured = true,
     .help = "measure a step with both engines, by the width of the model; ends with\n"
             "      the processor's row of the table of run.engine = auto"},
    {"generate", "llama",
     .sizes = {{"layers", 6},
               {"dim", 288},
               {"heads", 6},
               {"kv_heads", 6},
               {"ffn", 768},
               {"vocab", 32000},
               {"prompt", 256},
               {"tokens", 64},
               {"texts", 1}},
     .help = "measure a decoder (llama, qwen2 or gpt_neox) that reads prompts and\n"
             "      continues all of them in one batch",
     .run = bench_generate, .threads = true},
    {"rope", .sizes = {{"B", 8}, {"T", 512}, {"H", 8}, {"D", 64}},
     .help = "measure RoPE with a learned theta, beside a copy of the tensor", .run = bench_op},
    {"attention", .sizes = {{"B", 1}, {"T", 4096}, {"H", 1}, {"D", 64}},
     .help = "measure softmax attention", .run = bench_op},
    {"linear-attention", .sizes = {{"H", 4}, {"D", 64}, {"from", 512}, {"to", 16384}},
     .help = "measure every form of attention, doubling the length", .run = bench_linear_attention},
    {"linear", .sizes = {{"rows", 2048}, {"in", 256}, {"out", 1024}},
     .help = "measure a linear layer with bias", .run = bench_op},
    {"layernorm", .sizes = {{"rows", 4096}, {"columns", 512}}, .run = bench_op},
    {"gelu", .sizes = {{"rows", 4096}, {"columns", 512}}, .run = bench_op},
    {"softmax", .sizes = {{"rows", 4096}, {"columns", 512}}, .run = bench_op},
    {"xent", .sizes = {{"rows", 4096}, {"columns", 512}},
     .help = "measure softmax and cross-entropy", .run = bench_op},
    {"adamw", .sizes = {{"size", 4194304}}, .help = "measure the update of the parameters",
     .run = bench_adamw},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char options_usage[] =
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

/* Prints the command with its sizes, and its help below. */
static void print_command(FILE *to, const command *c)
{
    enum { WIDTH = 80 };
    int column =
        fprintf(to, "  %s%s%s", c->name, c->arguments ? " " : "", c->arguments ? c->arguments : "");
    for (int i = 0; c->sizes[i].name; i++) {
        const char *size = RT_PRINTED(64, " %s=%d", c->sizes[i].name, c->sizes[i].value);
        if (column + (int)strlen(size) > WIDTH)
            column = fprintf(to, "\n     ") - 1;
        column += fprintf(to, "%s", size);
    }
    if (c->help)
        fprintf(to, "\n      %s", c->help);
    fputc('\n', to);
}

static void print_usage(FILE *to)
{
    fputs(usage, to);
    for (int i = 0; i < COMMANDS; i++)
        print_command(to, &commands[i]);
    fputs(options_usage, to);
}

static const char *const engines[] = {RT_ENGINES(RT_CHOICE_WORD) NULL};
static const char *const maths[] = {RT_MATHS(RT_CHOICE_WORD) NULL};

/* Sets *choice to the index of a word. Returns false if it is unknown. */
static bool choose(int *choice, const char *word, const char *const *words)
{
    for (*choice = 0; words[*choice]; ++*choice)
        if (!strcmp(word, words[*choice]))
            return true;
    return false;
}

/* Parses the options and removes them from the arguments. Returns the number of arguments left. */
static int take_options(int argc, char **argv)
{
    enum { MOST_THREADS = 256 };
    int left = 0;
    for (int i = 0; i < argc; i++) {
        const char *name = argv[i], *text = i + 1 < argc ? argv[i + 1] : "";
        const char *needed = "a number above 0";
        int64_t whole;
        int choice;
        bool good = false;
        if (strncmp(name, "--", 2) != 0) {
            argv[left++] = argv[i];
            continue;
        }
        if (!strcmp(name, "--csv") || !strcmp(name, "--cpu")) {
            bench.csv |= !strcmp(name, "--csv");
            bench.cpu |= !strcmp(name, "--cpu");
            continue;
        }
        if (!strcmp(name, "--engine")) {
            good = choose(&choice, text, engines);
            bench.engine = (rt_engine)choice;
            needed = "openblas or onednn";
        } else if (!strcmp(name, "--math")) {
            good = choose(&choice, text, maths);
            bench.math = (rt_math)choice;
            needed = "float or bf16";
        } else if (!strcmp(name, "--threads")) {
            good = rt_integer_parse(text, &whole) && whole >= 1 && whole <= MOST_THREADS;
            bench.threads = good ? (int)whole : 0;
        } else if (!strcmp(name, "--seconds")) {
            good = rt_number_parse(text, &bench.seconds) && bench.seconds > 0;
        } else if (!strcmp(name, "--since")) {
            good = rt_number_parse(text, &bench.since) && bench.since > 0;
        } else {
            bench_need(rt_error(RT_CONFIG, "unknown option '%s'; bench --help lists them", name));
        }
        i++;
        if (!good)
            bench_need(rt_error(RT_CONFIG, "%s needs %s; got '%s'", name, needed, text));
    }
    if (bench.cpu && bench.threads > 1)
        bench_need(
            rt_error(RT_CONFIG, "--cpu measures one thread; got --threads %d", bench.threads));
    return left;
}

void bench_need(rt_status status)
{
    const bool wrong =
        status.code == RT_CONFIG || status.code == RT_ARGUMENT || status.code == RT_SHAPE;
    if (!status.code)
        return;
    const bool first = !rt_world_rank(bench.world);
    if (first)
        fprintf(stderr, "bench: %s\n", status.message);
    rt_world_end(bench.world);
    exit(!first ? 0 : wrong ? 2 : 1);
}

/* Parses NAME=NUMBER arguments. */
static void parse_sizes(const command *c, int argc, char **argv)
{
    enum { LARGEST_SIZE = 1 << 26 };
    for (int i = 0; c->sizes[i].name; i++)
        bench.sizes[i] = c->sizes[i].value;
    for (int a = 0; a < argc; a++) {
        const char *name, *number = strchr(argv[a], '=');
        const size_t length = strcspn(argv[a], "=");
        int64_t whole;
        int i = 0;
        while ((name = c->sizes[i].name) &&
               (strlen(name) != length || strncmp(name, argv[a], length) != 0))
            i++;
        if (!number || !name)
            bench_need(rt_error(
                RT_CONFIG,
                "'%s' is no NAME=NUMBER of this benchmark, without blanks; bench --help lists them",
                argv[a]));
        else if (!rt_integer_parse(number + 1, &whole) || whole < 1 || whole > LARGEST_SIZE)
            bench_need(rt_error(RT_CONFIG, "%s must be a whole number from 1 to %d; got '%s'", name,
                                LARGEST_SIZE, number + 1));
        else
            bench.sizes[i] = (int)whole;
    }
}

/* Runs the command with the given name. --engine and --math are checked first, because this build
 * may not have the engine. */
static void run_command(int argc, char **argv)
{
    int i = 0;
    if (!argc)
        bench_need(rt_error(RT_CONFIG, "a command is missing; bench --help lists them"));
    while (i < COMMANDS && strcmp(commands[i].name, argv[0]) != 0)
        i++;
    if (i == COMMANDS)
        bench_need(
            rt_error(RT_CONFIG, "there is no benchmark '%s'; bench --help lists them", argv[0]));
    const command *c = &commands[i];
    const int words = c->arguments && argc > 1 && !strchr(argv[1], '=');
    bench.command = c->name;
    if (c->configured && (bench.engine != RT_ENGINE_OPENBLAS || bench.math != RT_MATH_FLOAT))
        bench_need(rt_error(RT_CONFIG, "--engine and --math are run.engine=E and run.math=M here"));
    bench_need(rt_engine_use(bench.engine, bench.math));
    bench_need(rt_world_begin(&bench.world));
    if (c->configured && argc < 2)
        bench_need(rt_error(RT_CONFIG, "%s needs a CONFIG.ini", c->name));
    if (!c->configured)
        parse_sizes(c, argc - 1 - words, argv + 1 + words);
    if (!c->configured && !c->threads && bench.threads > 1)
        bench_need(rt_error(RT_CONFIG, "%s runs on one thread: leave out --threads", c->name));
    argv[c->configured ? argc : 1 + words] = NULL;
    bench.arguments = argv + 1;
    c->run();
    rt_world_end(bench.world);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_usage(stdout);
            return 0;
        }
    argc = take_options(argc - 1, argv + 1);
    bench_need(rt_kernels_of_environment());
    run_command(argc, argv + 1);
    return 0;
}
