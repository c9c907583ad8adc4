#include "train/commands.h"

#include "core/memory.h"
#include "train/model_check.h"
#include "train/run/broadcast.h"
#include "train/run/kernels.h"
#include "train/run/run.h"
#include "train/run/stop.h"
#include "train/sweep/runs.h"
#include "train/use/use.h"
#include "train/world/helper.h"
#include "train/world/world.h"
#include "util/files.h"
#include "util/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Prints an error, and returns the exit code. In a world, all processes have the same status, and
 * only process 0 prints it. */
static rt_exit print_error(const rt_world *world, rt_status status)
{
    return rt_world_rank(world) == 0 ? rt_exit_print(status) : rt_exit_of(status.code);
}

/* Prints the help on a section, key or option; without one, or with a configuration file, all. */
static rt_exit print_help(const rt_arguments *arguments)
{
    char part[RT_QUOTE_SIZE];
    const char *word = arguments->override_count ? arguments->overrides[0] : arguments->config;
    if (!word || rt_path_ends_in(word, ".ini")) {
        rt_arguments_print_usage(stdout);
        printf("\nconfiguration keys, with their defaults:\n\n");
        return print_text(stdout, rt_config_help(NULL));
    }
    snprintf(part, sizeof part, "%.*s", (int)strcspn(word, "="), word);
    rt_nearest nearest = {.written = part};
    char *text = rt_config_help(part);
    const bool keys = !text || *text;
    const rt_exit code = print_text(stdout, text);
    if (rt_arguments_print_option(stdout, part) || keys)
        return code;
    rt_config_help_try(&nearest);
    rt_arguments_try_options(&nearest);
    return rt_exit_print(
        rt_error(RT_CONFIG,
                 nearest.name ? "--help: no section and no key is named %s; did you mean '%s'?"
                              : "--help: no section and no key is named %s; --help alone lists all",
                 RT_QUOTED(part), nearest.name));
}

/* Checks the configuration and the data, and prints the largest memory of each phase beyond the
 * program. An export reads no data. */
static rt_exit check(const rt_config *config, const rt_arguments *arguments)
{
    static const char *const phases[] = {RT_MEMORY_PHASES(RT_CHOICE_WORD)};
    rt_memory_need need;
    const rt_status status = rt_run_check(config, arguments, &need);
    if (status.code)
        return rt_exit_print(status);
    printf("%s: configuration and data are valid\nmemory, MB:", config->file);
    for (int i = 0; i < RT_PHASES; i++) {
        const double data = i == RT_PHASE_EXPORT ? 0 : (double)need.data;
        const double opening =
            i == RT_PHASE_EXPORT || i == RT_PHASE_SAVE ? 0 : (double)need.opening;
        printf("%s %s %.0f", i ? "," : "", phases[i],
               (data + fmax(opening, need.resident[i])) / 1e6);
    }
    printf("\n");
    return RT_EXIT_DONE;
}

/* Writes, for --encode CONFIG.ini OUT, the tokens of data.file as a file of ids (data/data.h). */
static rt_status encode(const rt_config *config, const rt_arguments *arguments)
{
    rt_data_options o = config->data;
    rt_opening opening;
    size_t count;
    RT_TRY(rt_arguments_spare_inputs(arguments, config, NULL, arguments->encode));
    rt_stop_on_signals();
    rt_opening_begin(&opening, &o, config, NULL, arguments->quiet);
    rt_status status = rt_encode_file(&o, arguments->encode, &count);
    rt_progress_clear(&opening.progress);
    if (!status.code)
        printf("%s: %zu tokens\n", arguments->encode, count);
    return status;
}

/* Opens the checkpoint of --checkpoint, or that of the configuration's run. */
static rt_status find_model(rt_trained_model *found, const rt_arguments *arguments,
                            const rt_config *config)
{
    const rt_which_checkpoint which = arguments->best   ? RT_CHECKPOINT_BEST
                                      : arguments->last ? RT_CHECKPOINT_LAST
                                                        : RT_CHECKPOINT_OF_RUN;
    const rt_status status = rt_trained_model_find(found, arguments->checkpoint, which, config);
    if (*found->warnings)
        fprintf(stderr, "%s: %s\n", rt_program_name(), found->warnings);
    return status;
}

/* Start of a training, alone or in a world if a launcher started several processes. */
typedef struct launch {
    rt_arguments *arguments;
    rt_status status;
} launch;

/* Begins with the kernels, before threads and MPI start. The other processes of a world then wait
 * for the models that process 0 finds, since only it reads the folder of train.init_from. */
static rt_status begin_training(void *beginner, const rt_config *written)
{
    launch *l = beginner;
    rt_arguments *a = l->arguments;
    if (written)
        l->status = rt_kernels_begin(written, a);
    if (!l->status.code && rt_world_launched_size() > 1)
        l->status = rt_helper_begin(&a->helper, rt_stop_on_signals, rt_sweep_member, a);
    if (!l->status.code)
        l->status = rt_world_begin(&a->world);
    const bool first = rt_world_rank(a->world) == 0;
    a->quiet |= !first;
    return l->status.code || first ? l->status : rt_init_model_broadcast(a->ancestry, a->world);
}

/* Loads the configuration file or, if none is given, the configuration of the checkpoint, which
 * stays open in `found`. With `sweep` NULL, a sweep in the file is ignored. Begins a training. */
static rt_exit load(rt_config *config, rt_trained_model *found, rt_arguments *arguments,
                    rt_sweep *sweep)
{
    launch start = {.arguments = arguments};
    const bool trains = arguments->command == RT_COMMAND_TRAIN;
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count,
                                     .to_use = arguments->checkpoint ||
                                               (arguments->best &&
                                                arguments->command == RT_COMMAND_DECAY),
                                     .find_ancestor = rt_init_model_search,
                                     .finder = arguments->ancestry,
                                     .begin = trains ? begin_training : NULL,
                                     .beginner = &start,
                                     .sweep = sweep};
    char *errors = NULL;
    rt_status status;
    if (arguments->config) {
        status = rt_config_load(config, &source, &errors);
    } else {
        status = find_model(found, arguments, NULL);
        if (!status.code)
            status = rt_trained_model_configuration(config, found, arguments, &errors);
    }
    rt_world *world = arguments->world;
    const bool first = rt_world_rank(world) == 0, listed = errors && first;
    if (start.status.code) { /* why a world could not begin; once, if all processes find it */
        rt_free(errors);
        if (rt_world_launched_rank() == 0 || start.status.code != RT_CONFIG ||
            (world && rt_world_size(world) == 1))
            rt_exit_print(start.status);
        return rt_exit_of(start.status.code);
    }
    if (world && first) {
        const rt_status broadcast = rt_init_model_broadcast(arguments->ancestry, world);
        status = status.code ? status : broadcast;
    }
    if (status.code && found->imported && found->imported->refused)
        fprintf(stderr, "%s: warning: %s; the model reads token ids, but no texts\n",
                rt_program_name(), found->imported->refused);
    status = rt_world_agree(world, status);
    if (listed)
        fputs(errors, stderr);
    rt_free(errors);
    return listed ? rt_exit_of(status.code) : print_error(world, status);
}

static rt_exit run_configured(rt_config *config, const rt_sweep *sweep, rt_trained_model *found,
                              const rt_arguments *arguments)
{
    rt_world *world = arguments->world;
    rt_status status = rt_kernels_begin(config, arguments);
    if (!status.code && !arguments->quiet && arguments->override_count)
        print_text(stderr, rt_config_overrides(config));
    if (!status.code && world)
        status = rt_compare_hosts(config, sweep, arguments);
    if (status.code)
        return print_error(world, status);
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
        return print_error(world, status);
    if (uses && !decays)
        return rt_use_model(config, found, arguments);
    switch (arguments->command) {
    case RT_COMMAND_CHECK:
        return check(config, arguments);
    case RT_COMMAND_GRADCHECK:
        return rt_exit_print(rt_model_check(stdout, config, RT_MODEL_CHECK_SAMPLES, NULL));
    case RT_COMMAND_DECAY:
        return rt_exit_print(rt_print_decay(config, found, arguments));
    case RT_COMMAND_ENCODE:
        return rt_exit_print(encode(config, arguments));
    default:
        return rt_run_train(config, arguments);
    }
}

static rt_exit run_command(rt_arguments *arguments)
{
    rt_config config;
    rt_sweep sweep = {0};
    rt_trained_model found = {0};
    switch (arguments->command) {
    case RT_COMMAND_REPORT:
        return rt_report_command(arguments);
    case RT_COMMAND_TOKENIZER:
        return rt_exit_print(rt_train_tokenizer_command(arguments));
    case RT_COMMAND_INIT:
        return rt_exit_print(rt_init_command(arguments));
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
                      : run_configured(&config, &sweep, &found, arguments);
    rt_trained_model_close(&found);
    rt_free(arguments->ancestry->last);
    rt_world_end(arguments->world);
    rt_helper_end(arguments->helper);
    return code;
}

/* Returns the exit code, or RT_EXIT_FAILURE if results could not be printed. */
static rt_exit finish(rt_exit code)
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

int rt_command_line(int argc, char **argv, const char *revision)
{
    rt_process_normalize(); /* before anything is opened */
    rt_path_set_home(getenv("HOME"));
    rt_arguments arguments;
    rt_init_model_cache ancestry = {.arguments = &arguments};
    rt_status status = rt_arguments_parse(&arguments, argc, argv);
    const bool first = rt_world_launched_rank() == 0;
    if (status.code) {
        if (first)
            rt_exit_print(status);
        return RT_EXIT_CONFIG;
    }
    status = rt_kernels_of_environment();
    if (status.code)
        return first ? finish(rt_exit_print(status)) : RT_EXIT_CONFIG;
    if (!first && arguments.command != RT_COMMAND_TRAIN)
        return RT_EXIT_DONE; /* only training uses several processes */
    arguments.revision = revision;
    arguments.ancestry = &ancestry;
    if (arguments.command == RT_COMMAND_HELP)
        return finish(print_help(&arguments));
    if (arguments.command == RT_COMMAND_COMPLETION) {
        rt_arguments_print_words(stdout);
        return finish(print_text(stdout, rt_config_words()));
    }
    if (arguments.command == RT_COMMAND_VERSION) {
        char kernels[RT_KERNELS_SIZE];
        printf("rotor %s (%s)\n%s\n", ROTOR_VERSION, RT_PRECISION, rt_kernels_describe(kernels));
        if (!rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_FLOAT).code)
            printf("%s\n", rt_kernels_describe(kernels));
        return finish(RT_EXIT_DONE);
    }
    status = rt_address_space_check(NULL);
    if (!status.code && arguments.config && arguments.command != RT_COMMAND_INIT)
        status = rt_file_make_rereadable(arguments.config, RT_TEXT_FILE_BYTES);
    if (status.code == RT_ARGUMENT)
        status.code = RT_CONFIG;
    if (status.code)
        return finish(rt_exit_print(status));
    return finish(run_command(&arguments));
}
