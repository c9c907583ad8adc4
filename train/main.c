#include "core/memory.h"
#include "revision.h"
#include "text/process.h"
#include "text/program_name.h"
#include "train/commands.h"
#include "train/config/config.h"
#include "train/model_check.h"
#include "train/run/arguments.h"
#include "train/run/found.h"
#include "train/run/kernels.h"
#include "train/run/run.h"
#include "train/run/stop.h"
#include "train/step/memory_estimate.h"
#include "train/sweep/runs.h"
#include "train/templates.h"
#include "train/world/helper.h"
#include "train/world/world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Prints a text that the caller owns, and frees it. */
static rt_exit print_text(FILE *to, char *text)
{
    if (text)
        fputs(text, to);
    rt_free(text);
    return text ? RT_EXIT_DONE : RT_EXIT_FAILURE;
}

/* Prints the help on the section or key that is named, else all of it. */
static rt_exit print_help(const char *part)
{
    char *text = part ? rt_config_help_on(part) : NULL;
    if (text && *text)
        return print_text(stdout, text);
    rt_free(text);
    rt_arguments_print_usage(stdout);
    printf("\nconfiguration keys, with their defaults:\n\n");
    return print_text(stdout, rt_config_help());
}

/* Prints the message of a status, and returns its exit code. */
static rt_exit conclude(rt_status status)
{
    if (status.code)
        fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
    return rt_exit_of(status.code);
}

/* Concludes a status that all processes of a world have: process 0 prints it. */
static rt_exit conclude_in(const rt_world *world, rt_status status)
{
    return rt_world_rank(world) ? rt_exit_of(status.code) : conclude(status);
}

/* Prints the most memory of each phase, beyond the program and its data. */
static void print_memory(const rt_memory_need *need)
{
    static const char *const names[] = {RT_MEMORY_PHASES(RT_CHOICE_WORD)};
    const double mega = 1e6;
    printf("memory, MB:");
    for (int i = 0; i < RT_PHASES; i++)
        printf("%s %s %.0f", i ? "," : "", names[i], need->at[i].resident / mega);
    printf("\n");
}

static rt_exit check(const rt_config *config, const rt_arguments *arguments)
{
    rt_memory_need need;
    const rt_status status = rt_run_check(config, arguments, &need);
    if (!status.code) {
        printf("%s: configuration and data are valid\n", config->file);
        print_memory(&need);
    }
    return conclude(status);
}

/* Loads the configuration of the checkpoint that is named. */
static rt_status load_found(rt_config *config, const rt_arguments *arguments, char **errors)
{
    rt_found found;
    rt_status status =
        rt_find_checkpoint(&found, arguments->checkpoint, rt_which_of(arguments), NULL);
    if (*found.warnings)
        fprintf(stderr, "%s: %s\n", rt_program_name(), found.warnings);
    if (!status.code)
        status = rt_found_configuration(config, &found, arguments, errors);
    if (status.code && found.imported && found.imported->refused)
        fprintf(stderr, "%s: warning: %s; the model reads token ids, but no texts\n",
                rt_program_name(), found.imported->refused);
    rt_found_close(&found);
    return status;
}

/* Returns whether the model of a checkpoint is used with a configuration file. */
static bool uses_model(const rt_arguments *arguments)
{
    return arguments->checkpoint || (arguments->best && arguments->command == RT_COMMAND_DECAY);
}

/* Loads the configuration file. With `sweep` NULL, a sweep in the file is ignored. */
static rt_status load_file(rt_config *config, const rt_arguments *arguments, rt_sweep *sweep,
                           char **errors)
{
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count,
                                     .purpose = uses_model(arguments) ? RT_CONFIG_TO_USE
                                                                      : RT_CONFIG_TO_TRAIN,
                                     .find_ancestor = rt_ancestry_find,
                                     .finder = arguments->ancestry,
                                     .sweep = sweep};
    return rt_config_load(config, &source, errors);
}

/* Loads the configuration file at all processes of a world. Process 0 alone needs the folder of
 * train.init_from; the others receive its configuration. */
static rt_status load_in(rt_world *world, rt_config *config, const rt_arguments *arguments,
                         rt_sweep *sweep, char **errors)
{
    const bool first = rt_world_rank(world) == 0;
    rt_status status = first ? load_file(config, arguments, sweep, errors) : rt_ok();
    const rt_status broadcast = rt_ancestry_broadcast(arguments->ancestry, world);
    if (!first && !broadcast.code)
        status = load_file(config, arguments, sweep, errors);
    return status.code ? status : broadcast;
}

static rt_exit load(rt_config *config, const rt_arguments *arguments, rt_sweep *sweep)
{
    rt_world *world = arguments->world;
    char *errors = NULL;
    rt_status status = !arguments->config ? load_found(config, arguments, &errors)
                       : world            ? load_in(world, config, arguments, sweep, &errors)
                                          : load_file(config, arguments, sweep, &errors);
    const bool listed = errors && rt_world_rank(world) == 0;
    status = rt_world_agree(world, status);
    if (listed)
        fputs(errors, stderr);
    rt_free(errors);
    return listed ? rt_exit_of(status.code) : conclude_in(world, status);
}

/* Returns whether the command can be given for a sweep. Others use what all runs of a sweep share.
 */
static bool knows_sweeps(rt_command command)
{
    return command == RT_COMMAND_TRAIN || command == RT_COMMAND_CHECK ||
           command == RT_COMMAND_PRINT_CONFIG;
}

static rt_exit obey_one(rt_config *config, const rt_arguments *arguments)
{
    switch (arguments->command) {
    case RT_COMMAND_CHECK:
        return check(config, arguments);
    case RT_COMMAND_GRADCHECK:
        return conclude(rt_model_check(stdout, config, RT_MODEL_CHECK_SAMPLES, NULL));
    case RT_COMMAND_DECAY:
        return conclude(rt_decay_command(stdout, config, arguments));
    case RT_COMMAND_ENCODE:
        return conclude(rt_encode_command(config, arguments));
    case RT_COMMAND_EVAL:
    case RT_COMMAND_USAGE:
    case RT_COMMAND_DISTANCES:
    case RT_COMMAND_PREDICT:
    case RT_COMMAND_EMBED:
    case RT_COMMAND_EXPORT:
        return rt_run_use(config, arguments);
    default:
        return rt_run_train(config, arguments);
    }
}

/* Prints the configuration with the meaning of each key on stdout, and the origins of its values on
 * stderr. */
static rt_exit print_configuration(const rt_config *config, const rt_sweep *sweep,
                                   const rt_arguments *arguments)
{
    const rt_exit code =
        arguments->quiet ? RT_EXIT_DONE : print_text(stderr, rt_config_origins(config));
    if (code)
        return code;
    char *ini = rt_sweep_requested(sweep) ? rt_sweep_ini(sweep, config) : rt_config_ini(config);
    char *explained = ini ? rt_config_explain(ini) : NULL;
    rt_free(ini);
    return print_text(stdout, explained);
}

static rt_exit obey_sweep(const rt_config *config, const rt_sweep *sweep,
                          const rt_arguments *arguments)
{
    if (arguments->command == RT_COMMAND_TRAIN)
        return rt_sweep_train(config, sweep, arguments);
    const rt_exit code = rt_sweep_validate(sweep, arguments);
    if (!code)
        printf("%s: the configurations of %d runs are valid\n", config->file,
               rt_sweep_count(sweep));
    return code;
}

static rt_exit obey(const rt_arguments *arguments)
{
    if (arguments->command == RT_COMMAND_REPORT)
        return rt_report_command(arguments);
    if (arguments->command == RT_COMMAND_TOKENIZER)
        return conclude(rt_tokenizer_command(stdout, arguments));
    if (arguments->command == RT_COMMAND_INIT)
        return conclude(rt_init_command(arguments));
    rt_config config;
    rt_sweep sweep = {0};
    rt_exit code = load(&config, arguments, knows_sweeps(arguments->command) ? &sweep : NULL);
    const bool prints = arguments->command == RT_COMMAND_PRINT_CONFIG;
    if (!code && !prints)
        code = conclude_in(arguments->world, rt_kernels_begin(&config, arguments));
    if (!code && prints) {
        code = print_configuration(&config, &sweep, arguments);
    } else if (!code) {
        if (!arguments->quiet && arguments->override_count)
            print_text(stderr, rt_config_overrides(&config));
        if (arguments->world)
            code = conclude_in(arguments->world, rt_compare_hosts(&config, &sweep, arguments));
        if (!code)
            code = rt_sweep_requested(&sweep) ? obey_sweep(&config, &sweep, arguments)
                                              : obey_one(&config, arguments);
    }
    rt_sweep_free(&sweep);
    rt_ancestry_free(arguments->ancestry);
    return code;
}

/* Returns the exit code; results that could not be printed are a failure. */
static rt_exit end(rt_exit code)
{
    struct rlimit space;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "%s: the results could not be printed\n", rt_program_name());
        code = code ? code : RT_EXIT_FAILURE;
    }
    /* OpenBLAS waits at its end for a thread that it started when it was loaded; where address
     * space is short, that thread still asks for its buffer and never ends. */
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
        _exit(code);
    return code;
}

/* Ends the program if the limit on its address space (ulimit -v) leaves less than OpenBLAS
 * allocates when it is loaded. The C library does not know the name of the program yet. */
static void check_address_space(int argc, char **argv, char **environment)
{
    struct rlimit space;
    (void)argc;
    if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY)
        return;
    const rt_status status = rt_address_space_check_loading(environment);
    if (!status.code)
        return;
    const char *slash = strrchr(argv[0], '/');
    fprintf(stderr, "%s: %s\n", slash ? slash + 1 : argv[0], status.message);
    _exit(RT_EXIT_CONFIG);
}

/* Signals that may be ignored when the program starts: by nohup, or by a shell for a background
 * job. */
static const int inherited_signals[] = {SIGHUP, SIGINT, SIGQUIT};
enum { INHERITED_SIGNALS = sizeof inherited_signals / sizeof *inherited_signals };
static bool was_ignored[INHERITED_SIGNALS];

/* Runs before the constructors of all libraries. One of those that Open MPI 5 loads (PSM2) handles
 * signals from then on, also those that were ignored. */
static void start(int argc, char **argv, char **environment)
{
    struct sigaction now;
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        was_ignored[i] = !sigaction(inherited_signals[i], NULL, &now) && now.sa_handler == SIG_IGN;
    check_address_space(argc, argv, environment);
}

static void ignore_signals_again(void)
{
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        if (was_ignored[i])
            signal(inherited_signals[i], SIG_IGN);
}

typedef void initializer(int argc, char **argv, char **environment);
__attribute__((section(".preinit_array"), used)) static initializer *const before_libraries = start;

/* Reports why the world could not begin: process 0 alone if all processes find the same error. */
static rt_exit conclude_beginning(const rt_world *world, rt_status status)
{
    const bool tells = rt_world_launched_rank() == 0 || status.code != RT_CONFIG ||
                       (world && rt_world_size(world) == 1);
    return tells ? conclude(status) : rt_exit_of(status.code);
}

int main(int argc, char **argv)
{
    ignore_signals_again();
    rt_process_normalize(); /* before anything is opened */
    rt_arguments arguments;
    rt_ancestry ancestry = {.arguments = &arguments};
    rt_status status = rt_arguments_parse(&arguments, argc, argv);
    const bool first = rt_world_launched_rank() == 0;
    if (status.code) {
        if (first)
            fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
        return RT_EXIT_CONFIG;
    }
    status = rt_kernels_of_environment();
    if (status.code)
        return end(conclude(status));
    if (!first && arguments.command != RT_COMMAND_TRAIN)
        return RT_EXIT_DONE; /* process 0 alone does anything but train */
    arguments.revision = ROTOR_REVISION;
    arguments.ancestry = &ancestry;
    if (arguments.command == RT_COMMAND_HELP)
        return end(print_help(arguments.config));
    if (arguments.command == RT_COMMAND_VERSION) {
        char kernels[RT_KERNELS_SIZE];
        printf("rotor %s (%s)\n%s\n", ROTOR_VERSION, RT_PRECISION, rt_kernels_describe(kernels));
        return end(RT_EXIT_DONE);
    }
    status = rt_address_space_check();
    if (status.code)
        return end(conclude(status));
    if (arguments.command != RT_COMMAND_TRAIN)
        return end(obey(&arguments));
    status = rt_kernels_begin_early(&arguments);
    if (!status.code && rt_world_launched_size() > 1)
        status =
            rt_helper_begin(&arguments.helper, rt_stop_on_signals, rt_sweep_member, &arguments);
    if (!status.code)
        status = rt_world_begin(&arguments.world);
    arguments.quiet |= rt_world_rank(arguments.world) > 0;
    const rt_exit code =
        status.code ? conclude_beginning(arguments.world, status) : obey(&arguments);
    rt_world_end(arguments.world);
    rt_helper_end(arguments.helper);
    return end(code);
}
