#include "train/commands.h"

#include "core/memory.h"
#include "data/tokenizers/train.h"
#include "io/checkpoint/checkpoint.h"
#include "models/positions.h"
#include "models/transformer.h"
#include "templates.h"
#include "text/durable_file.h"
#include "text/files.h"
#include "text/process.h"
#include "train/folder/run_folder.h"
#include "train/report/report.h"
#include "train/run/state.h"
#include "train/run/stop.h"
#include "train/step/observers.h"
#include "train/step/workers.h"
#include "train/world/world.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- --decay ---- */

enum { FARTHEST = 256 }; /* distance of the last row, or more */

/* Computes the initial theta of texts of the length, (count, pairs), which the caller frees: of all
 * layers or, if sliding layers have another base, of layers that see all tokens and of sliding
 * layers; or NULL. */
static double *find_starts(const rt_transformer_options *o, int length, int *count)
{
    const int pairs = rt_transformer_pairs(o);
    rt_frequency_options of[2] = {rt_layer_frequencies(o, -1)};
    *count = 1;
    if (rt_layers_differ_in_base(o)) {
        *count = 2;
        of[0] = of[1] = o->position.frequencies;
        of[1].base = o->position.local_base;
    }
    double *theta = rt_alloc((size_t)(*count * pairs), sizeof *theta);
    for (int n = 0; theta && n < *count; n++)
        rt_frequencies_at(theta + n * pairs, pairs, &of[n], length);
    return theta;
}

/* Prints the table of the initial theta and of learned ones, if there are any. */
static rt_status print_table(FILE *to, const rt_config *config, const rt_checkpoint_theta *l)
{
    const rt_transformer_options *o = &config->model;
    const int pairs = rt_transformer_pairs(o), longest = rt_config_longest(config) - 1;
    const int heads = l->shape.axis[1], learned = l->values ? l->shape.axis[0] * heads : 0;
    const double xpos = o->position.xpos;
    int starts;
    double *theta = find_starts(o, config->data.length, &starts);
    if (!theta)
        return rt_out_of_memory("theta");
    fprintf(to, starts > 1 ? "r,C,C_sliding" : "r,C");
    for (int n = 0; n < learned; n++) {
        if (l->scope == RT_THETA_MODEL)
            fprintf(to, ",C_all");
        else if (l->scope == RT_THETA_LAYER)
            fprintf(to, ",C_layer_%d", l->layers[n / heads]);
        else
            fprintf(to, ",C_layer_%d_head_%d", l->layers[n / heads], n % heads);
    }
    fputc('\n', to);
    for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++) {
        fprintf(to, "%d", r);
        for (int n = 0; n < starts; n++)
            fprintf(to, ",%.9g", rt_decay(theta + n * pairs, pairs, r, xpos));
        for (int n = 0; n < learned; n++)
            fprintf(to, ",%.9g",
                    rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
        fputc('\n', to);
    }
    rt_free(theta);
    return rt_ok();
}

rt_status rt_decay_command(FILE *to, const rt_config *config, rt_found *found)
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
        status = print_table(to, config, &learned);
    rt_checkpoint_theta_free(&learned);
    return status;
}

rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments)
{
    rt_data_options o = config->data;
    rt_opening opening;
    size_t count;
    char path[RT_PATH_SIZE];
    const char *inputs[] = {arguments->config, NULL};
    rt_status status = rt_output_check(arguments->encode, arguments->overwrite, inputs);
    inputs[0] = path;
    for (int i = 0; !status.code && rt_data_file_at(&o, i, path); i++)
        status = rt_output_check(arguments->encode, arguments->overwrite, inputs);
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

static rt_status count_texts(rt_word_counts *counts, const rt_arguments *arguments, showing *s,
                             const rt_train_progress *progress)
{
    rt_workers *workers;
    rt_status status = rt_workers_new(&workers, rt_processors());
    for (int i = 0; i < arguments->other_count && !status.code; i++) {
        unsigned char *bytes;
        size_t size;
        s->path = arguments->others[i];
        status = rt_file_read("--train-tokenizer", s->path, &bytes, &size);
        if (!status.code)
            status = rt_word_counts_add(counts, rt_workers_threads(workers, 0), s->path, bytes,
                                        size, progress);
        rt_free(bytes);
    }
    s->path = NULL;
    rt_workers_free(workers);
    return status;
}

rt_status rt_tokenizer_command(FILE *to, const rt_arguments *arguments)
{
    const bool pieces = arguments->wordpiece;
    showing s = {.progress = {.terminal = isatty(STDERR_FILENO), .last_shown = rt_seconds()}};
    const rt_train_progress shown = {show_progress, &s};
    const rt_train_progress *progress = arguments->quiet || pieces ? NULL : &shown;
    rt_word_counts counts = {.wordpiece = pieces, .lowercase = arguments->lowercase};
    char *text = NULL;
    int ids = 0;
    rt_status status = count_texts(&counts, arguments, &s, progress);
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
        fputs(text, to);
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
    rt_status status = rt_output_check(arguments->config, arguments->overwrite, NULL);
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
    if (status.code)
        fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
    else if (!arguments->quiet)
        printf("report: %s/report.html\n", folder);
    return rt_exit_of(status.code);
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

/* Returns the size of a file in a folder; -1 if there is no such file. */
static off_t size_of(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    struct stat found;
    return !rt_path_join(path, folder, name).code && !stat(path, &found) ? found.st_size : -1;
}

/* Draws the report whenever the run has recorded something new, and once after its end. A run that
 * has results draws its own report. Earlier failures are ignored, because they may be temporary. */
static rt_exit watch(const rt_arguments *arguments)
{
    const struct timespec moment = {1, 0};
    const char *folder = arguments->report;
    off_t drawn = -1;
    if (rt_is_sweep_folder(folder)) {
        fprintf(stderr, "%s: --watch takes the folder of a run, not of a sweep\n",
                rt_program_name());
        return RT_EXIT_CONFIG;
    }
    rt_arguments silent = *arguments; /* from the second report on */
    silent.quiet = true;
    while (rt_run_folder_busy(folder)) {
        const off_t size = size_of(folder, "metrics.csv");
        if (size != drawn && size_of(folder, "result.csv") < 0)
            report_one(drawn < 0 ? arguments : &silent, folder);
        drawn = size;
        fflush(stdout);
        nanosleep(&moment, NULL);
    }
    return report_one(arguments, folder);
}

rt_exit rt_report_command(const rt_arguments *arguments)
{
    const char *folders[RT_MOST_OTHERS + 1] = {arguments->report};
    const char *file = arguments->output ? arguments->output : "report.html";
    if (arguments->watch)
        return watch(arguments);
    if (arguments->other_count) {
        memcpy(folders + 1, arguments->others, (size_t)arguments->other_count * sizeof *folders);
        const rt_status status = rt_compare_write(folders, arguments->other_count + 1, file);
        if (status.code)
            fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
        else
            printf("report: %s\n", file);
        return rt_exit_of(status.code);
    }
    const rt_exit members =
        rt_is_sweep_folder(arguments->report) ? report_members(arguments) : RT_EXIT_DONE;
    const rt_exit code = report_one(arguments, arguments->report);
    return members ? members : code;
}
