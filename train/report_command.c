#include "train/report_command.h"

#include "text/program_name.h"
#include "train/folder/run_folder.h"
#include "train/report/report.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Returns whether no earlier row names this run: one report of it is enough. */
static bool is_first_of_name(const rt_sweep_runs *runs, int run)
{
    for (int before = 0; before < run; before++)
        if (!strcmp(runs->list[before].cells[0], runs->list[run].cells[0]))
            return false;
    return true;
}

/* Writes the reports of the runs of a sweep that have begun. Stops at a failure: most likely it
 * concerns all runs, such as a missing gnuplot. */
static rt_exit report_members(const rt_arguments *arguments)
{
    char member[RT_PATH_SIZE], path[RT_PATH_SIZE];
    rt_sweep_runs runs;
    rt_exit code = RT_EXIT_DONE;
    const rt_status read = rt_sweep_runs_read(&runs, arguments->report);
    for (int i = 0; i < runs.count && !read.code && code != RT_EXIT_FAILURE; i++) {
        rt_arguments one = *arguments;
        if (!is_first_of_name(&runs, i) ||
            rt_path_join(member, arguments->report, runs.list[i].cells[0]).code ||
            rt_path_join(path, member, "config.ini").code || access(path, R_OK))
            continue;
        one.report = member;
        const rt_exit result = rt_run_report(&one);
        code = code ? code : result;
    }
    rt_sweep_runs_free(&runs);
    return code;
}

static rt_exit compare(const rt_arguments *arguments)
{
    const char *folders[RT_MOST_OTHERS + 1] = {arguments->report};
    const char *file = arguments->output ? arguments->output : "report.html";
    memcpy(folders + 1, arguments->others, (size_t)arguments->other_count * sizeof *folders);
    rt_status status = rt_compare_write(folders, arguments->other_count + 1, file);
    if (status.code)
        fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
    else
        printf("report: %s\n", file);
    return rt_exit_of(status.code);
}

/* Returns the size of a file in the folder; -1 if there is none. */
static off_t size_of(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    struct stat found;
    return !rt_path_join(path, folder, name).code && !stat(path, &found) ? found.st_size : -1;
}

/* Writes the report whenever the run has recorded something new, and once after its end. A run that
 * has results writes its own report. A failure is ignored until the end: it may be temporary. */
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
    rt_arguments silent = *arguments; /* from the second time on */
    silent.quiet = true;
    while (rt_run_folder_busy(folder)) {
        const off_t size = size_of(folder, "metrics.csv");
        if (size != drawn && size_of(folder, "result.csv") < 0)
            rt_run_report(drawn < 0 ? arguments : &silent);
        drawn = size;
        fflush(stdout);
        nanosleep(&moment, NULL);
    }
    return rt_run_report(arguments);
}

rt_exit rt_report_command(const rt_arguments *arguments)
{
    if (arguments->watch)
        return watch(arguments);
    if (arguments->other_count)
        return compare(arguments);
    const rt_exit members =
        rt_is_sweep_folder(arguments->report) ? report_members(arguments) : RT_EXIT_DONE;
    const rt_exit code = rt_run_report(arguments);
    return members ? members : code;
}
