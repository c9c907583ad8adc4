#include "core/memory.h"
#include "revision.h"
#include "text/process.h"
#include "train/commands.h"
#include "train/config/config.h"
#include "train/model_check.h"
#include "train/run/arguments.h"
#include "train/run/kernels.h"
#include "train/run/run.h"
#include "train/run/stop.h"
#include "train/step/memory.h"
#include "train/sweep/runs.h"
#include "train/world/helper.h"
#include "train/world/world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Prints a text and frees it. Returns RT_EXIT_FAILURE for NULL. */
static rt_exit print_text(FILE *to, char *text)
{
    if (text)
        fputs(text, to);
    rt_free(text);
    return text ? RT_EXIT_DONE : RT_EXIT_FAILURE;
}

/* Prints the error of a status and returns its exit code. In a world, all processes have the same
 * status, and only process 0 prints it. */
static rt_exit conclude(const rt_world *world, rt_status status)
{
    if (status.code && rt_world_rank(world) == 0)
        fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
    return rt_exit_of(status.code);
}

/* Prints the help on a section or key; without one, or with a configuration file, all of it. */
static rt_exit print_help(const char *part)
{
    char quoted[RT_QUOTE_SIZE];
    char *text = part ? rt_config_help(part) : NULL;
    if (text && *text)
        return print_text(stdout, text);
    rt_free(text);
    if (part && !rt_path_ends_in(part, ".ini"))
        return conclude(NULL, rt_error(RT_CONFIG,
                                       "--help: no section and no key is named %s; --help alone "
                                       "lists all",
                                       rt_quote(quoted, part)));
    rt_arguments_print_usage(stdout);
    printf("\nconfiguration keys, with their defaults:\n\n");
    return print_text(stdout, rt_config_help(NULL));
}

/* Checks the configuration and the data, and prints the largest memory of each phase beyond the
 * program and its data. */
static rt_exit check(const rt_config *config, const rt_arguments *arguments)
{
    static const char *const phases[] = {RT_MEMORY_PHASES(RT_CHOICE_WORD)};
    rt_memory_need need;
    const rt_status status = rt_run_check(config, arguments, &need);
    if (status.code)
        return conclude(NULL, status);
    printf("%s: configuration and data are valid\nmemory, MB:", config->file);
    for (int i = 0; i < RT_PHASES; i++)
        printf("%s %s %.0f", i ? "," : "", phases[i], need.resident[i] / 1e6);
    printf("\n");
    return RT_EXIT_DONE;
}

/* ---- the configuration ---- */

/* Opens the checkpoint of --checkpoint, or that of the configuration's run. */
static rt_status find_model(rt_found *found, const rt_arguments *arguments, const rt_config *config)
{
    const rt_which_checkpoint which = arguments->best   ? RT_CHECKPOINT_BEST
                                      : arguments->last ? RT_CHECKPOINT_LAST
                                                        : RT_CHECKPOINT_OF_RUN;
    const rt_status status = rt_find_checkpoint(found, arguments->checkpoint, which, config);
    if (*found->warnings)
        fprintf(stderr, "%s: %s\n", rt_program_name(), found->warnings);
    return status;
}

/* Loads the configuration file; with `sweep` NULL, ignores a sweep in the file. In a world only
 * process 0 reads the folder of train.init_from, and broadcasts its configuration. */
static rt_status load_file(rt_config *config, const rt_arguments *arguments, rt_sweep *sweep,
                           char **errors)
{
    const bool uses_model =
        arguments->checkpoint || (arguments->best && arguments->command == RT_COMMAND_DECAY);
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count,
                                     .to_use = uses_model,
                                     .find_ancestor = rt_ancestry_find,
                                     .finder = arguments->ancestry,
                                     .sweep = sweep};
    const bool first = rt_world_rank(arguments->world) == 0;
    rt_status status = first ? rt_config_load(config, &source, errors) : rt_ok();
    const rt_status broadcast =
        arguments->world ? rt_ancestry_broadcast(arguments->ancestry, arguments->world) : rt_ok();
    if (!first && !broadcast.code)
        status = rt_config_load(config, &source, errors);
    return status.code ? status : broadcast;
}

/* Loads the configuration file or, without one, the checkpoint's, which `found` then has open. */
static rt_exit load(rt_config *config, rt_found *found, const rt_arguments *arguments,
                    rt_sweep *sweep)
{
    rt_world *world = arguments->world;
    char *errors = NULL;
    rt_status status = arguments->config ? load_file(config, arguments, sweep, &errors)
                                         : find_model(found, arguments, NULL);
    if (!status.code && !arguments->config)
        status = rt_found_configuration(config, found, arguments, &errors);
    if (status.code && found->imported && found->imported->refused)
        fprintf(stderr, "%s: warning: %s; the model reads token ids, but no texts\n",
                rt_program_name(), found->imported->refused);
    const bool listed = errors && rt_world_rank(world) == 0;
    status = rt_world_agree(world, status);
    if (listed)
        fputs(errors, stderr);
    rt_free(errors);
    return listed ? rt_exit_of(status.code) : conclude(world, status);
}

/* ---- the command ---- */

/* Runs a command with its configuration. */
static rt_exit obey_configured(rt_config *config, const rt_sweep *sweep, rt_found *found,
                               const rt_arguments *arguments)
{
    rt_world *world = arguments->world;
    rt_status status = rt_kernels_begin(config, arguments);
    if (!status.code && !arguments->quiet && arguments->override_count)
        print_text(stderr, rt_config_overrides(config));
    if (!status.code && world)
        status = rt_compare_hosts(config, sweep, arguments);
    if (status.code)
        return conclude(world, status);
    if (rt_sweep_requested(sweep) && arguments->command == RT_COMMAND_TRAIN)
        return rt_sweep_train(config, sweep, arguments);
    if (rt_sweep_requested(sweep)) {
        const rt_exit code = rt_sweep_validate(sweep, arguments);
        if (!code)
            printf("%s: the configurations of %d runs are valid\n", config->file,
                   rt_sweep_count(sweep));
        return code;
    }
    const bool decays = arguments->command == RT_COMMAND_DECAY;
    const bool uses = rt_arguments_use_model(arguments);
    if (uses && arguments->config && (!decays || arguments->checkpoint || arguments->best))
        status = find_model(found, arguments, config);
    if (status.code)
        return conclude(world, status);
    if (uses && !decays)
        return rt_run_use(config, found, arguments);
    switch (arguments->command) {
    case RT_COMMAND_CHECK:
        return check(config, arguments);
    case RT_COMMAND_GRADCHECK:
        return conclude(NULL, rt_model_check(stdout, config, RT_MODEL_CHECK_SAMPLES, NULL));
    case RT_COMMAND_DECAY:
        return conclude(NULL, rt_decay_command(stdout, config, found));
    case RT_COMMAND_ENCODE:
        return conclude(NULL, rt_encode_command(config, arguments));
    default:
        return rt_run_train(config, arguments);
    }
}

static rt_exit obey(const rt_arguments *arguments)
{
    rt_config config;
    rt_sweep sweep = {0};
    rt_found found = {0};
    switch (arguments->command) {
    case RT_COMMAND_REPORT:
        return rt_report_command(arguments);
    case RT_COMMAND_TOKENIZER:
        return conclude(NULL, rt_tokenizer_command(stdout, arguments));
    case RT_COMMAND_INIT:
        return conclude(NULL, rt_init_command(arguments));
    default:
        break;
    }
    const bool prints = arguments->command == RT_COMMAND_PRINT_CONFIG;
    /* Other commands use what all runs of a sweep share. */
    const bool knows_sweeps =
        prints || arguments->command == RT_COMMAND_TRAIN || arguments->command == RT_COMMAND_CHECK;
    rt_exit code = load(&config, &found, arguments, knows_sweeps ? &sweep : NULL);
    if (!code && prints && !arguments->quiet)
        code = print_text(stderr, rt_config_origins(&config));
    if (!code)
        code = prints ? print_text(stdout, rt_sweep_ini(&sweep, &config, true))
                      : obey_configured(&config, &sweep, &found, arguments);
    rt_found_close(&found);
    rt_free(arguments->ancestry->last);
    return code;
}

/* Returns the exit code, or RT_EXIT_FAILURE if results could not be printed. */
static rt_exit end(rt_exit code)
{
    struct rlimit space;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "%s: the results could not be printed\n", rt_program_name());
        code = code ? code : RT_EXIT_FAILURE;
    }
    /* At exit OpenBLAS waits for a thread that it started when it was loaded. If address space is
     * short, that thread still requests its buffer and never ends. */
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
        _exit(code);
    return code;
}

/* Signals that may be ignored at the start of the program, by nohup or a shell's background job. */
static const int inherited_signals[] = {SIGHUP, SIGINT, SIGQUIT};
enum { INHERITED_SIGNALS = sizeof inherited_signals / sizeof *inherited_signals };
static bool was_ignored[INHERITED_SIGNALS];

/* Runs before the constructors of all libraries. A library that Open MPI 5 loads (PSM2) handles
 * signals from then on, even ignored ones. Ends the program if the limit of its address space
 * (ulimit -v) leaves less than OpenBLAS allocates when it is loaded. */
static void start(int argc, char **argv, char **environment)
{
    struct sigaction now;
    struct rlimit space;
    (void)argc;
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        was_ignored[i] = !sigaction(inherited_signals[i], NULL, &now) && now.sa_handler == SIG_IGN;
    if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY)
        return;
    const rt_status status = rt_address_space_check(environment);
    if (!status.code)
        return;
    const char *slash = strrchr(argv[0], '/'); /* the C library does not know the name yet */
    fprintf(stderr, "%s: %s\n", slash ? slash + 1 : argv[0], status.message);
    _exit(RT_EXIT_CONFIG);
}

typedef void initializer(int argc, char **argv, char **environment);
__attribute__((section(".preinit_array"), used)) static initializer *const before_libraries = start;

/* Trains, in a world if a launcher started several processes. */
static rt_exit obey_in_world(rt_arguments *arguments)
{
    rt_status status = rt_kernels_begin_early(arguments);
    if (!status.code && rt_world_launched_size() > 1)
        status =
            rt_helper_begin(&arguments->helper, rt_stop_on_signals, rt_sweep_member, arguments);
    if (!status.code)
        status = rt_world_begin(&arguments->world);
    rt_world *world = arguments->world;
    rt_exit code = rt_exit_of(status.code);
    arguments->quiet |= rt_world_rank(world) > 0;
    if (!status.code)
        code = obey(arguments);
    else if (rt_world_launched_rank() == 0 || status.code != RT_CONFIG ||
             (world && rt_world_size(world) == 1)) /* an error that all processes find, once */
        conclude(NULL, status);
    rt_world_end(world);
    rt_helper_end(arguments->helper);
    return code;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        if (was_ignored[i])
            signal(inherited_signals[i], SIG_IGN);
    rt_process_normalize(); /* before anything is opened */
    rt_arguments arguments;
    rt_init_model_cache ancestry = {.arguments = &arguments};
    rt_status status = rt_arguments_parse(&arguments, argc, argv);
    const bool first = rt_world_launched_rank() == 0;
    if (status.code) {
        if (first)
            fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
        return RT_EXIT_CONFIG;
    }
    status = rt_kernels_of_environment();
    if (status.code)
        return first ? end(conclude(NULL, status)) : RT_EXIT_CONFIG;
    if (!first && arguments.command != RT_COMMAND_TRAIN)
        return RT_EXIT_DONE; /* only training uses several processes */
    arguments.revision = ROTOR_REVISION;
    arguments.ancestry = &ancestry;
    if (arguments.command == RT_COMMAND_HELP)
        return end(print_help(arguments.config));
    if (arguments.command == RT_COMMAND_VERSION) {
        char kernels[RT_KERNELS_SIZE];
        printf("rotor %s (%s)\n%s\n", ROTOR_VERSION, RT_PRECISION, rt_kernels_describe(kernels));
        return end(RT_EXIT_DONE);
    }
    status = rt_address_space_check(NULL);
    if (status.code)
        return end(conclude(NULL, status));
    return end(arguments.command == RT_COMMAND_TRAIN ? obey_in_world(&arguments)
                                                     : obey(&arguments));
}
