/* Runs the command of a command line. Uses of a trained model are in train/run/use.c. */

#include "train/commands.h"

#include "core/memory.h"
#include "data/tokenizers/train.h"
#include "io/checkpoint/checkpoint.h"
#include "models/positions.h"
#include "models/transformer.h"
#include "templates.h"
#include "train/folder/run_folder.h"
#include "train/model_check.h"
#include "train/report/report.h"
#include "train/run/kernels.h"
#include "train/run/state.h"
#include "train/run/stop.h"
#include "train/step/workers.h"
#include "train/sweep/runs.h"
#include "train/world/helper.h"
#include "train/world/world.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/process.h"

#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
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
 * program. An export reads no data. */
static rt_exit check(const rt_config *config, const rt_arguments *arguments)
{
    static const char *const phases[] = {RT_MEMORY_PHASES(RT_CHOICE_WORD)};
    rt_memory_need need;
    const rt_status status = rt_run_check(config, arguments, &need);
    if (status.code)
        return conclude(NULL, status);
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

/* ---- --decay ---- */

enum { FARTHEST = 256 }; /* distance of the last row, or more */

/* Prints the table of the initial theta and of learned ones, if there are any. The initial theta is
 * that of all layers or, if sliding layers have another base, that of layers that see all tokens
 * and that of sliding layers. */
static rt_status print_table(const rt_config *config, const rt_checkpoint_theta *l)
{
    const rt_transformer_options *o = &config->model;
    const int pairs = rt_transformer_pairs(o), longest = rt_config_longest(config) - 1;
    const int heads = l->shape.axis[1], learned = l->values ? l->shape.axis[0] * heads : 0;
    const double xpos = o->position.xpos;
    const int starts = rt_layers_differ_in_base(o) ? 2 : 1;
    rt_frequency_options of[2] = {rt_layer_frequencies(o, -1)};
    if (starts > 1) {
        of[0] = of[1] = o->position.frequencies;
        of[1].base = o->position.local_base;
    }
    double *theta = rt_alloc((size_t)(starts * pairs), sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    for (int n = 0; n < starts; n++)
        rt_frequencies_at(theta + n * pairs, pairs, &of[n], config->data.length);
    printf("%s", starts > 1 ? "r,C,C_sliding" : "r,C");
    for (int n = 0; n < learned; n++) {
        if (l->scope == RT_THETA_MODEL)
            printf(",C_all");
        else if (l->scope == RT_THETA_LAYER)
            printf(",C_layer_%d", l->layers[n / heads]);
        else
            printf(",C_layer_%d_head_%d", l->layers[n / heads], n % heads);
    }
    putchar('\n');
    for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++) {
        printf("%d", r);
        for (int n = 0; n < starts; n++)
            printf(",%.9g", rt_decay(theta + n * pairs, pairs, r, xpos));
        for (int n = 0; n < learned; n++)
            printf(",%.9g", rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
        putchar('\n');
    }
    rt_free(theta);
    return rt_ok();
}

/* Prints, for --decay, as CSV how much theta can prefer near keys, by distance (rt_decay), with the
 * decay of xPos if position.xpos is set. Columns are r; C, of the configuration's initial theta;
 * C_sliding, of sliding layers with another base; and, with --checkpoint or --best, C_layer_0,
 * C_layer_0_head_1 or C_all for each learned theta. Rows are 0 to 256, or to the longest sequence.
 * `found` may have an open checkpoint, which is closed. Returns RT_CONFIG if nothing rotates. */
static rt_status print_decay(const rt_config *config, rt_found *found)
{
    rt_checkpoint_theta learned = {.values = NULL};
    rt_status status = rt_ok();
    if (found->imported)
        status = rt_error(RT_CONFIG, "--decay reads the learned theta of a checkpoint, not of %s",
                          found->path);
    if (!status.code && !rt_transformer_pairs(&config->model))
        status = rt_error(RT_CONFIG, "--decay needs position.kind = rope and a position.fraction "
                                     "above 0: nothing is rotated");
    if (!status.code && config->model.position.axes > 1)
        status =
            rt_error(RT_CONFIG, "--decay needs position.axes = 1: with two coordinates, scores "
                                "depend on more than a distance");
    if (!status.code && found->checkpoint.image)
        status = rt_checkpoint_read_theta(&found->checkpoint, &learned);
    if (!status.code)
        status = print_table(config, &learned);
    rt_checkpoint_theta_free(&learned);
    return status;
}

/* ---- --encode ---- */

/* Writes, for --encode CONFIG.ini OUT, the tokens of data.file as a file of ids (data/data.h). */
static rt_status encode(const rt_config *config, const rt_arguments *arguments)
{
    rt_data_options o = config->data;
    rt_opening opening;
    size_t count;
    rt_status status = rt_arguments_spare_inputs(arguments, config, NULL, arguments->encode);
    if (status.code)
        return status;
    rt_stop_on_signals();
    rt_opening_begin(&opening, &o, config, NULL, arguments->quiet);
    status = rt_encode_file(&o, arguments->encode, &count);
    rt_progress_clear(&opening.progress);
    if (!status.code)
        printf("%s: %zu tokens\n", arguments->encode, count);
    return status;
}

/* ---- --train-tokenizer ---- */

/* Progress of --train-tokenizer. */
typedef struct showing {
    const char *path; /* counted text; NULL: pairs are merged */
    rt_progress progress;
} showing;

static void show_progress(void *context, const char *what, double done, double all)
{
    showing *s = context;
    char text[RT_MESSAGE_SIZE];
    snprintf(text, sizeof text, "%.0f of %.0f %s%s%s", done, all, what, s->path ? " of " : "",
             s->path ? s->path : "");
    rt_progress_share(&s->progress, text, all > 0 ? done / all : 0);
}

/* Prints, for --train-tokenizer N TEXT ..., a byte-level BPE of texts as a tokenizer.json or, with
 * --level wordpiece, a vocab.txt (data/tokenizers/train.h). Shows progress of a BPE on stderr: on a
 * terminal as a line updated in place, elsewhere as a line per minute. Returns RT_DATA for a text
 * that cannot be read, is empty or is not UTF-8; RT_CONFIG if N is too small for a vocab.txt. */
static rt_status train_tokenizer(const rt_arguments *arguments)
{
    const bool pieces = arguments->wordpiece;
    showing s = {.progress = {.terminal = isatty(STDERR_FILENO), .last_shown = rt_seconds()}};
    const rt_train_progress shown = {show_progress, &s};
    const rt_train_progress *progress = arguments->quiet || pieces ? NULL : &shown;
    rt_word_counts counts = {.wordpiece = pieces, .lowercase = arguments->lowercase};
    rt_workers *workers;
    char *text = NULL;
    int ids = 0;
    rt_status status = rt_workers_new(&workers, rt_processors(NULL));
    for (int i = 0; i < arguments->other_count && !status.code; i++) {
        unsigned char *bytes;
        size_t size;
        s.path = arguments->others[i];
        status = rt_file_read("--train-tokenizer", s.path, &bytes, &size);
        if (!status.code)
            status = rt_word_counts_add(&counts, rt_workers_threads(workers, 0), s.path, bytes,
                                        size, progress);
        rt_free(bytes);
    }
    s.path = NULL;
    rt_workers_free(workers);
    if (!status.code)
        status = rt_tokenizer_train(&counts, arguments->tokenizer, arguments->mask, progress, &text,
                                    &ids);
    rt_word_counts_free(&counts);
    rt_progress_clear(&s.progress);
    if (status.code == RT_CONFIG)
        return rt_error(RT_CONFIG,
                        "--train-tokenizer %d is too few: %s; give a larger number, or texts with "
                        "fewer different characters",
                        arguments->tokenizer, status.message);
    if (!status.code)
        fputs(text, stdout);
    rt_free(text);
    if (!status.code && ids < arguments->tokenizer && !arguments->quiet)
        fprintf(stderr, "%s: warning: %d %s, not %d: every word of the texts is a %s\n",
                rt_program_name(), ids, pieces ? "lines" : "tokens", arguments->tokenizer,
                pieces ? "piece" : "token");
    return status;
}

/* ---- --init ---- */

static const struct {
    const char *name;    /* word after --init */
    const char *purpose; /* for messages */
    const char *ini;     /* contents of the file */
} templates[] = {
    {"gpt", "a decoder that continues a text", gpt_ini},
    {"classify", "an encoder that labels texts", classify_ini},
    {"tag", "an encoder that labels the words of sentences", tag_ini},
    {"mlm", "an encoder that fills in masked tokens", mlm_ini},
    {"theta", "a sweep that compares a fixed with a learned theta", theta_ini},
};

enum { TEMPLATES = sizeof templates / sizeof *templates };

rt_status rt_init_command(const rt_arguments *arguments)
{
    char names[RT_MESSAGE_SIZE] = "", quoted[RT_QUOTE_SIZE];
    rt_durable_file file;
    int i = 0;
    for (; i < TEMPLATES && strcmp(templates[i].name, arguments->init) != 0; i++) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", templates[i].name);
    }
    if (i == TEMPLATES)
        return rt_error(RT_CONFIG, "--init must be one of %s; got %s", names,
                        rt_quote(quoted, arguments->init));
    rt_status status = rt_output_check(arguments->config, arguments->overwrite);
    if (status.code)
        return status;
    status = rt_durable_open(&file, arguments->config);
    if (!status.code)
        status = rt_durable_write(&file, templates[i].ini, strlen(templates[i].ini));
    status = rt_durable_close(&file, status);
    if (!status.code && !arguments->quiet)
        printf("%s: %s\n", arguments->config, templates[i].purpose);
    return status;
}

/* ---- --report ---- */

/* Draws the report of a run, without attention maps if its data or checkpoints are missing. */
static rt_status report_run(const rt_arguments *arguments, const char *folder)
{
    char path[RT_PATH_SIZE];
    rt_config config;
    rt_status status = rt_config_load_folder(&config, folder);
    if (status.code)
        return rt_error(RT_CONFIG, "%s is not the folder of a run: %.800s", folder, status.message);
    rt_run r = rt_run_new(&config, arguments);
    rt_run_find_data(&r, folder);
    status = rt_path_join(path, folder, "checkpoints");
    if (!status.code)
        status = rt_find_checkpoint(&r.found, path, RT_CHECKPOINT_OF_RUN, &config);
    if (!status.code)
        status = rt_run_open(&r, true);
    if (!status.code)
        status = rt_run_load(&r);
    const bool has_model = !status.code;
    if (!has_model)
        rt_run_note(&r, "no attention maps: %s", status.message);
    status = rt_report_write(folder, &config, has_model ? r.trainer : NULL,
                             arguments->watch && rt_run_folder_busy(folder));
    rt_run_free(&r);
    return status;
}

static rt_exit report_one(const rt_arguments *arguments, const char *folder)
{
    char name[RT_PATH_SIZE];
    snprintf(name, sizeof name, "%s", folder); /* basename changes it: runs/theta/ is theta */
    const rt_status status = rt_is_sweep_folder(folder)
                                 ? rt_sweep_report_write(folder, basename(name))
                                 : report_run(arguments, folder);
    if (!status.code && !arguments->quiet)
        printf("report: %s/report.html\n", folder);
    return conclude(NULL, status);
}

/* Draws the reports of those runs of a sweep that have begun. Stops at a failure, since it probably
 * concerns all runs, like a missing gnuplot. */
static rt_exit report_members(const rt_arguments *arguments)
{
    char path[RT_PATH_SIZE];
    rt_sweep_runs runs;
    rt_exit code = RT_EXIT_DONE;
    const rt_status read = rt_sweep_runs_read(&runs, arguments->report);
    for (int i = 0; i < runs.count && !read.code && code != RT_EXIT_FAILURE; i++) {
        int first = 0; /* first row with the name of the run, whose report is drawn once */
        while (strcmp(runs.list[first].cells[0], runs.list[i].cells[0]))
            first++;
        if (first < i || rt_path_join(path, runs.list[i].folder, "config.ini").code ||
            access(path, R_OK))
            continue;
        const rt_exit result = report_one(arguments, runs.list[i].folder);
        code = code ? code : result;
    }
    rt_sweep_runs_free(&runs);
    return code;
}

/* Draws the report whenever the run has recorded something new, and once after its end. A run that
 * has results draws its own report. Earlier failures are ignored, because they may be temporary. */
static rt_exit watch(const rt_arguments *arguments)
{
    const struct timespec moment = {1, 0};
    const char *folder = arguments->report;
    char metrics[RT_PATH_SIZE];
    struct stat found;
    off_t drawn = -1;
    if (rt_is_sweep_folder(folder))
        return conclude(NULL,
                        rt_error(RT_CONFIG, "--watch takes the folder of a run, not of a sweep"));
    rt_arguments silent = *arguments; /* from the second report on */
    silent.quiet = true;
    const bool fits = !rt_path_join(metrics, folder, "metrics.csv").code;
    while (rt_run_folder_busy(folder)) {
        const off_t size = fits && !stat(metrics, &found) ? found.st_size : -1;
        if (size != drawn && !rt_folder_has(folder, "result.csv"))
            report_one(drawn < 0 ? arguments : &silent, folder);
        drawn = size;
        fflush(stdout);
        nanosleep(&moment, NULL);
    }
    return report_one(arguments, folder);
}

/* Draws, for --report and --watch, the report of a run, of a sweep with its runs, or of several. */
static rt_exit report(const rt_arguments *arguments)
{
    const char *folders[RT_MOST_OTHERS + 1] = {arguments->report};
    const char *file = arguments->output ? arguments->output : "report.html";
    if (arguments->watch)
        return watch(arguments);
    if (arguments->other_count) {
        memcpy(folders + 1, arguments->others, (size_t)arguments->other_count * sizeof *folders);
        const rt_status status = rt_compare_write(folders, arguments->other_count + 1, file);
        if (!status.code)
            printf("report: %s\n", file);
        return conclude(NULL, status);
    }
    const rt_exit members =
        rt_is_sweep_folder(arguments->report) ? report_members(arguments) : RT_EXIT_DONE;
    const rt_exit code = report_one(arguments, arguments->report);
    return members ? members : code;
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

/* Loads the configuration file or, if none is given, the configuration of the checkpoint, which
 * stays open in `found`. With `sweep` NULL, a sweep in the file is ignored. In a world, only
 * process 0 reads the folder of train.init_from, and broadcasts its configuration. */
static rt_exit load(rt_config *config, rt_found *found, const rt_arguments *arguments,
                    rt_sweep *sweep)
{
    rt_world *world = arguments->world;
    const bool first = rt_world_rank(world) == 0;
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count,
                                     .to_use = arguments->checkpoint ||
                                               (arguments->best &&
                                                arguments->command == RT_COMMAND_DECAY),
                                     .find_ancestor = rt_ancestry_find,
                                     .finder = arguments->ancestry,
                                     .sweep = sweep};
    char *errors = NULL;
    rt_status status = rt_ok();
    if (arguments->config) {
        if (first)
            status = rt_config_load(config, &source, &errors);
        const rt_status broadcast =
            world ? rt_ancestry_broadcast(arguments->ancestry, world) : rt_ok();
        if (!first && !broadcast.code)
            status = rt_config_load(config, &source, &errors);
        status = status.code ? status : broadcast;
    } else {
        status = find_model(found, arguments, NULL);
        if (!status.code)
            status = rt_found_configuration(config, found, arguments, &errors);
    }
    if (status.code && found->imported && found->imported->refused)
        fprintf(stderr, "%s: warning: %s; the model reads token ids, but no texts\n",
                rt_program_name(), found->imported->refused);
    const bool listed = errors && first;
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
        return conclude(NULL, print_decay(config, found));
    case RT_COMMAND_ENCODE:
        return conclude(NULL, encode(config, arguments));
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
        return report(arguments);
    case RT_COMMAND_TOKENIZER:
        return conclude(NULL, train_tokenizer(arguments));
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

/* Trains, in a world if a launcher started several processes. */
static rt_exit obey_in_world(rt_arguments *arguments)
{
    rt_config config;
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count};
    rt_status status = rt_ok();
    /* before the processes know of each other; errors in the file are reported when it is loaded */
    if (!rt_config_read(&config, &source).code)
        status = rt_kernels_begin(&config, arguments);
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

int rt_command_line(int argc, char **argv, const char *revision)
{
    rt_process_normalize(); /* before anything is opened */
    rt_arguments arguments;
    rt_init_model_cache ancestry = {.arguments = &arguments};
    rt_status status = rt_arguments_parse(&arguments, argc, argv);
    const bool first = rt_world_launched_rank() == 0;
    if (status.code) {
        if (first)
            conclude(NULL, status);
        return RT_EXIT_CONFIG;
    }
    status = rt_kernels_of_environment();
    if (status.code)
        return first ? end(conclude(NULL, status)) : RT_EXIT_CONFIG;
    if (!first && arguments.command != RT_COMMAND_TRAIN)
        return RT_EXIT_DONE; /* only training uses several processes */
    arguments.revision = revision;
    arguments.ancestry = &ancestry;
    if (arguments.command == RT_COMMAND_HELP)
        return end(print_help(arguments.config));
    if (arguments.command == RT_COMMAND_VERSION) {
        char kernels[RT_KERNELS_SIZE];
        printf("rotor %s (%s)\n%s\n", ROTOR_VERSION, RT_PRECISION, rt_kernels_describe(kernels));
        return end(RT_EXIT_DONE);
    }
    status = rt_address_space_check(NULL);
    if (!status.code && arguments.config)
        status = rt_file_make_rereadable(arguments.config);
    if (status.code == RT_ARGUMENT)
        status.code = RT_CONFIG;
    if (status.code)
        return end(conclude(NULL, status));
    return end(arguments.command == RT_COMMAND_TRAIN ? obey_in_world(&arguments)
                                                     : obey(&arguments));
}
