/* --report and --watch: reports from what runs have left in their folders. */

#include "train/report/report.h"

#include "core/memory.h"
#include "train/folder/run_folder.h"
#include "train/folder/session.h"
#include "train/report/sweep_runs.h"
#include "train/run/state.h"
#include "train/use/use.h"
#include "util/files.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Draws the report of a run, without attention maps and samples if its checkpoints are missing, or
 * its data is missing or has changed. */
static rt_status report_run(const rt_arguments *arguments, const char *folder)
{
    rt_config config;
    rt_status status = rt_config_load_folder(&config, folder);
    if (status.code)
        return rt_error(RT_CONFIG, "%s is not the folder of a run: %.800s", folder, status.message);
    RT_CLOSED_BY(rt_run_free) rt_run r = rt_run_new(&config, arguments);
    rt_run_find_data(&r, folder);
    RT_OWNED char *data = rt_session_data(&config.data);
    RT_CLOSED_BY(rt_writer_free) rt_writer changed = {0};
    rt_session_compare(&changed, &config.data, data ? data : "", folder, false);
    status = rt_trained_model_find(&r.found, RT_PATH_IN(folder, "checkpoints"),
                                   RT_CHECKPOINT_OF_RUN, &config);
    if (!status.code)
        status = rt_run_open(&r, true);
    if (!status.code)
        status = rt_run_load(&r);
    if (!status.code && changed.length) /* the page names the data that the run has read */
        status = rt_error(RT_DATA, "the data has changed since the run: %s", changed.bytes);
    const bool has_model = !status.code;
    if (!has_model)
        rt_run_note(&r, "no attention maps and no samples: %s", status.message);
    return rt_report_write(folder, &config, has_model ? r.trainer : NULL,
                           arguments->watch && rt_run_folder_busy(folder));
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
    return rt_exit_print(status);
}

/* Draws the reports of those runs of a sweep that have begun. Stops at a failure, since it probably
 * concerns all runs, like a missing gnuplot. */
static rt_exit report_members(const rt_arguments *arguments)
{
    RT_CLOSED_BY(rt_sweep_runs_free) rt_sweep_runs runs = {0};
    rt_exit code = RT_EXIT_DONE;
    const rt_status read = rt_sweep_runs_read(&runs, arguments->report);
    for (int i = 0; i < runs.count && !read.code && code != RT_EXIT_FAILURE; i++) {
        int first = 0; /* first row with the name of the run, whose report is drawn once */
        while (strcmp(runs.list[first].cells[0], runs.list[i].cells[0]))
            first++;
        if (first < i || access(RT_PATH_IN(runs.list[i].folder, "config.ini"), R_OK))
            continue;
        const rt_exit result = report_one(arguments, runs.list[i].folder);
        code = code ? code : result;
    }
    return code;
}

/* Draws the report whenever the run has recorded something new, and once after its end. A run that
 * has results draws its own report. Earlier failures are ignored, because they may be temporary. */
static rt_exit watch(const rt_arguments *arguments)
{
    const struct timespec moment = {1, 0};
    const char *folder = arguments->report;
    struct stat found;
    off_t drawn = -1;
    if (rt_is_sweep_folder(folder))
        return rt_exit_print(
            rt_error(RT_CONFIG, "--watch takes the folder of a run, not of a sweep"));
    rt_arguments silent = *arguments; /* from the second report on */
    silent.quiet = true;
    while (rt_run_folder_busy(folder)) {
        const off_t size = !stat(RT_PATH_IN(folder, "metrics.csv"), &found) ? found.st_size : -1;
        if (size != drawn && !rt_folder_has(folder, "result.csv"))
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
    char file[RT_PATH_SIZE];
    if (arguments->watch)
        return watch(arguments);
    if (arguments->other_count) {
        memcpy(folders + 1, arguments->others, (size_t)arguments->other_count * sizeof *folders);
        const rt_status status =
            rt_compare_write(folders, arguments->other_count + 1, arguments->output, file);
        if (!status.code)
            printf("report: %s\n", file);
        return rt_exit_print(status);
    }
    const rt_exit members =
        rt_is_sweep_folder(arguments->report) ? report_members(arguments) : RT_EXIT_DONE;
    const rt_exit code = report_one(arguments, arguments->report);
    return members ? members : code;
}
