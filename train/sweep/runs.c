#include "train/sweep/runs.h"

#include "core/memory.h"
#include "text/process.h"
#include "train/folder/run_folder.h"
#include "train/report/report.h"
#include "train/run/progress.h"
#include "train/run/run.h"
#include "train/run/stop.h"
#include "train/step/observers.h"
#include "train/step/trainer.h"
#include "train/sweep/private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct sweep_run {
    const rt_sweep *sweep;
    const rt_arguments *arguments;
    rt_run_folder folder;
    rt_sweep_result *runs;    /* runs of the sweep, followed by the trunks */
    rt_sweep_workers workers; /* used in a world */
    bool requested;           /* another process of the world was asked to stop */
    int count, trunks;        /* numbers of runs and of trunks */
    int running, ended;
    int jobs, threads; /* threads of each run */
    double start;
    rt_progress progress;
    bool signalled;
    int zero_rates;          /* runs that would take steps at a learning rate of 0 */
    int zero_run, zero_from; /* first such run, and its first such step */
    rt_config zero_config;   /* configuration of that run */
} sweep_run;

/* ---- one run ---- */

/* Loads the configuration of a run again, after a first load of all runs, and names its folder. */
static rt_status load_again(const sweep_run *r, int run, rt_config *config, rt_run_folder *folder)
{
    const rt_status status = rt_sweep_load(r->sweep, r->arguments, run, config, NULL);
    return status.code ? status : rt_run_folder_name(folder, config->run.dir, config->run.name);
}

/* Reads the results of a run, and sets its state to RT_RUN_ENDED if it needs no more steps. Returns
 * RT_CONFIG if the results are those of another configuration. */
static rt_status look_for_results(sweep_run *r, int run)
{
    rt_sweep_result *result = &r->runs[run];
    rt_run_folder folder;
    rt_config config, before;
    rt_status status = load_again(r, run, &config, &folder);
    if (status.code || !rt_results_read(&result->results, folder.path))
        return status;
    status = rt_config_load_folder(&before, folder.path);
    int code = 0, steps = 0;
    const bool ended = rt_results_whole(&result->results, RT_RESULT_EXIT_CODE, &code) &&
                       rt_results_whole(&result->results, RT_RESULT_STEPS, &steps);
    if (!status.code)
        status = rt_config_compare(&before, steps, &config, folder.path);
    if (!status.code && ended && (steps >= config.train.steps || code == RT_EXIT_NONFINITE)) {
        result->ended = true;
        result->exit_code = code;
        result->state = RT_RUN_ENDED;
        r->ended += run < r->count;
    } else {
        rt_results_free(&result->results);
    }
    return status;
}

/* Returns the steps in the results of a run; 0 without results. */
static int steps_taken(const char *folder)
{
    rt_results results;
    int steps = 0;
    if (rt_results_read(&results, folder)) {
        if (!rt_results_whole(&results, RT_RESULT_STEPS, &steps))
            steps = 0;
        rt_results_free(&results);
    }
    return steps;
}

/* Counts a run to be trained in that folder if it would take steps at a learning rate of 0. With
 * --quiet, counts only a run that is extended under its former schedule. */
static void count_zero_rate(sweep_run *r, int run, const rt_config *config, const char *folder)
{
    rt_config own = *config, before;
    int steps = 0;
    bool warned = !r->arguments->quiet;
    if (!r->arguments->overwrite && !rt_config_load_folder(&before, folder).code) {
        steps = steps_taken(folder);
        warned |= rt_config_extends(&before, steps, &own);
        rt_config_continue(&own, &before);
    }
    const int from = warned ? rt_zero_rate_from(&own, steps) : 0;
    if (from && !r->zero_rates++) {
        r->zero_run = run;
        r->zero_from = from;
        r->zero_config = own;
    }
}

static void warn_of_zero_rates(sweep_run *r)
{
    char name[RT_RUN_NAME_SIZE], where[RT_RUN_NAME_SIZE + 64];
    if (!r->zero_rates)
        return;
    rt_sweep_name(r->sweep, r->zero_run, name);
    snprintf(where, sizeof where, "in %d of %d runs (%s is the first) ", r->zero_rates, r->count,
             name);
    rt_zero_rate_warn(&r->progress, &r->zero_config, r->zero_from, where);
}

/* Checks that no other process trains the run and that a new run can begin. A run that has begun
 * and cannot continue fails alone. */
static rt_status check_member(sweep_run *r, int run)
{
    rt_config config;
    rt_run_folder folder;
    rt_status status = load_again(r, run, &config, &folder);
    if (!status.code)
        status = rt_run_folder_idle(&folder);
    if (!status.code)
        count_zero_rate(r, run, &config, folder.path);
    if (status.code || (!r->arguments->overwrite && rt_run_folder_used(&folder)))
        return status;
    status = rt_sweep_check_run(r->sweep, r->arguments, run, &config);
    return status.code ? rt_error(status.code, "%s: %s", config.run.name, status.message) : status;
}

/* Redirects the output of a run to output.log in its folder. */
static bool print_to_log(const sweep_run *r, const char *name)
{
    char folder[RT_PATH_SIZE], path[RT_PATH_SIZE];
    if (rt_path_join(folder, r->folder.path, name).code ||
        rt_path_join(path, folder, "output.log").code || (mkdir(folder, 0777) && errno != EEXIST))
        return false;
    const int log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool printed = log >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0;
    if (log > STDERR_FILENO)
        close(log);
    return printed;
}

/* Trains a run in its own process, or continues it if it was interrupted. */
static rt_exit run_member(const sweep_run *r, rt_config *config)
{
    rt_arguments own = *r->arguments;
    own.quiet = true;
    own.resume = !own.overwrite;
    if (!print_to_log(r, config->run.name))
        return RT_EXIT_FAILURE;
    const rt_exit code = rt_run_train(config, &own);
    return fflush(stdout) && !code ? RT_EXIT_FAILURE : code;
}

/* Parses the text of start in workers.c: name, threads, settings. */
int rt_sweep_member(const void *context, const char *text)
{
    sweep_run r = {.arguments = context};
    rt_config config;
    char name[RT_RUN_NAME_SIZE];
    const size_t length = strcspn(text, "\n");
    int threads, used = 0;
    if (length >= sizeof name || sscanf(text + length, "\n%d%n", &threads, &used) != 1)
        return RT_EXIT_FAILURE;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const rt_status status =
        rt_sweep_load_settings(&config, r.arguments, text + length + used + 1, name, NULL);
    if (status.code)
        return RT_EXIT_FAILURE;
    snprintf(r.folder.path, sizeof r.folder.path, "%s", config.run.dir);
    config.run.threads = threads;
    return (int)run_member(&r, &config);
}

static rt_status start_run(sweep_run *r, int run)
{
    rt_sweep_result *started = &r->runs[run];
    if (r->arguments->world) {
        rt_sweep_workers_assign(&r->workers, run);
    } else {
        fflush(stdout);
        fflush(stderr);
        started->process = rt_process_fork(SIGTERM);
        if (started->process < 0)
            return rt_error(RT_IO, "a run of the sweep cannot be started: %s", strerror(errno));
        if (started->process == 0) {
            rt_config config;
            rt_run_folder folder;
            rt_run_folder_close(&r->folder); /* only the sweep holds its lock */
            _exit(load_again(r, run, &config, &folder).code ? RT_EXIT_FAILURE
                                                            : run_member(r, &config));
        }
    }
    started->state = RT_RUN_RUNNING;
    r->running++;
    return rt_ok();
}

/* ---- all runs ---- */

static void show_count(sweep_run *r)
{
    if (r->arguments->quiet || !r->progress.terminal)
        return;
    fprintf(stderr, "\r%d of %d runs done, %d at work, %.0f s\033[K", r->ended, r->count,
            r->running, rt_seconds() - r->start);
    fflush(stderr);
    r->progress.shown = true;
}

static const char *ending_of(const rt_sweep_result *result)
{
    switch (result->exit_code) {
    case RT_EXIT_DONE:
        return rt_results_get(&result->results, RT_RESULT_STOPPED_EARLY) == 1 ? "stopped early"
                                                                              : "done";
    case RT_EXIT_CHECK:
        return "done, a check failed";
    case RT_EXIT_NONFINITE:
        return "the loss is not finite";
    case RT_EXIT_STOPPED:
        return "stopped";
    default:
        return "FAILED";
    }
}

/* Prints a line on a run that has ended: number `number`, or a trunk. */
static void report_end(sweep_run *r, int run, int number, const char *how)
{
    char name[RT_RUN_NAME_SIZE], place[32] = "trunk";
    if (run < r->count)
        snprintf(place, sizeof place, "%d/%d", number, r->count);
    const rt_sweep_result *result = &r->runs[run];
    rt_sweep_name(r->sweep, run, name);
    if (result->exit_code == RT_EXIT_DONE || result->exit_code == RT_EXIT_CHECK)
        rt_progress_say(&r->progress, "[%s] %s: %s, loss %.4f, accuracy %.4f", place, name, how,
                        rt_results_get(&result->results, RT_RESULT_LOSS),
                        rt_results_get(&result->results, RT_RESULT_ACCURACY));
    else
        rt_progress_say(&r->progress, "[%s] %s: %s (exit code %d, see %s/%s/output.log)", place,
                        name, how, result->exit_code, r->folder.path, name);
}

/* Reports the runs that are reused. */
static void report_taken(sweep_run *r)
{
    for (int run = 0, number = 0; run < r->count && !r->arguments->quiet; run++)
        if (r->runs[run].state == RT_RUN_ENDED)
            report_end(r, run, ++number, "reused as it was");
}

static void end_run(void *context, int run, int how)
{
    sweep_run *r = context;
    char name[RT_RUN_NAME_SIZE], path[RT_PATH_SIZE];
    rt_sweep_result *result = &r->runs[run];
    rt_sweep_name(r->sweep, run, name);
    result->exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : RT_EXIT_FAILURE;
    result->ended = result->exit_code != RT_EXIT_STOPPED;
    if (!rt_path_join(path, r->folder.path, name).code)
        rt_results_read(&result->results, path);
    result->state = RT_RUN_ENDED;
    r->running--;
    r->ended += run < r->count;
    if (!r->arguments->quiet)
        report_end(r, run, r->ended, ending_of(result));
}

static bool must_stop(const sweep_run *r)
{
    return rt_stop_requested() || r->requested;
}

static void collect(sweep_run *r)
{
    if (r->arguments->world) {
        r->requested |= rt_sweep_workers_poll(&r->workers, must_stop(r), end_run, r);
        r->jobs = rt_sweep_workers_count(&r->workers);
        return;
    }
    for (int run = 0; run < r->count + r->trunks; run++) {
        int how;
        if (r->runs[run].state == RT_RUN_RUNNING && rt_process_ended(r->runs[run].process, &how))
            end_run(r, run, how);
    }
}

/* Passes a stop signal of this process on to the runs. */
static void pass_signal_on(sweep_run *r)
{
    if (r->arguments->world || !rt_stop_requested() || r->signalled)
        return;
    r->signalled = true;
    for (int run = 0; run < r->count + r->trunks; run++)
        if (r->runs[run].state == RT_RUN_RUNNING)
            kill(r->runs[run].process, SIGTERM);
}

/* Trains the pending runs `next` ... `end` - 1. */
static rt_status make_runs(sweep_run *r, int next, int end)
{
    rt_status status = rt_ok();
    do {
        while (next < end && r->running < r->jobs && !must_stop(r) && !status.code) {
            if (r->runs[next].state == RT_RUN_PENDING)
                status = start_run(r, next);
            next++;
        }
        pass_signal_on(r);
        show_count(r);
        nanosleep(&rt_sweep_pause, NULL);
        collect(r);
        if (!r->jobs)
            return rt_error(RT_IO, "no process can start a run");
    } while (r->running || (next < end && !must_stop(r) && !status.code));
    rt_progress_clear(&r->progress);
    return status;
}

/* Trains the trunks, which runs wait for, before the runs. */
static rt_status make_trunks(sweep_run *r)
{
    char name[RT_RUN_NAME_SIZE];
    rt_status status = make_runs(r, r->count, r->count + r->trunks);
    for (int run = r->count; run < r->count + r->trunks && !status.code && !must_stop(r); run++) {
        const int code = r->runs[run].exit_code;
        if (r->runs[run].state != RT_RUN_ENDED || code == RT_EXIT_DONE || code == RT_EXIT_CHECK)
            continue;
        rt_sweep_name(r->sweep, run, name);
        status = rt_error(RT_IO, "%s has failed, and its branches have nothing to continue", name);
    }
    return status;
}

/* Returns whether a run has yet to begin from its trunk. */
static bool needs_trunk(const sweep_run *r, int run)
{
    rt_config config;
    rt_run_folder folder;
    if (r->runs[run].state != RT_RUN_PENDING)
        return false;
    return r->arguments->overwrite || load_again(r, run, &config, &folder).code ||
           !rt_run_folder_used(&folder);
}

/* Marks trunks from which no run begins as ended: they are neither trained nor checked. */
static void choose_trunks(sweep_run *r)
{
    bool wanted[RT_MOST_AXIS_VALUES > RT_MOST_VARIANTS ? RT_MOST_AXIS_VALUES : RT_MOST_VARIANTS] = {
        false};
    for (int run = 0; run < r->count && r->trunks; run++)
        if (needs_trunk(r, run))
            wanted[rt_sweep_trunk_of(r->sweep, run) - r->count] = true;
    for (int trunk = 0; trunk < r->trunks; trunk++)
        if (!wanted[trunk])
            r->runs[r->count + trunk].state = RT_RUN_ENDED;
}

/* ---- beginning and end ---- */

static rt_status prepare(sweep_run *r, const rt_config *base)
{
    r->count = rt_sweep_count(r->sweep);
    r->jobs = r->arguments->world ? rt_world_size(r->arguments->world)
              : r->sweep->jobs    ? r->sweep->jobs
                                  : 1;
    r->threads = r->arguments->world ? r->workers.threads : rt_sweep_threads(r->sweep, base);
    r->trunks = r->sweep->trunk_steps ? r->sweep->seed_count : 0;
    const size_t all = (size_t)r->count + (size_t)r->trunks;
    r->runs = rt_alloc(all, sizeof *r->runs);
    if (!r->runs)
        return rt_out_of_memory("a sweep");
    rt_status status = rt_run_folder_name(&r->folder, base->run.dir, base->run.name);
    if (!status.code && rt_run_folder_used(&r->folder))
        status =
            rt_error(RT_CONFIG, "%s holds a single run: choose another run.name", r->folder.path);
    if (!status.code)
        status = rt_run_folder_idle(&r->folder); /* first: stopping the sweep stops its runs */
    for (int run = 0; run < r->count && !status.code && !r->arguments->overwrite; run++)
        status = look_for_results(r, run);
    if (!status.code)
        choose_trunks(r);
    for (int run = r->count; run < (int)all && !status.code && !r->arguments->overwrite; run++)
        if (r->runs[run].state == RT_RUN_PENDING)
            status = look_for_results(r, run);
    for (int run = 0; run < (int)all && !status.code; run++)
        if (r->runs[run].state != RT_RUN_ENDED)
            status = check_member(r, run);
    return status.code ? status : rt_run_folder_open(&r->folder, false);
}

static rt_exit first_failure(const sweep_run *r)
{
    for (int run = 0; run < r->count; run++)
        if (r->runs[run].state == RT_RUN_ENDED && r->runs[run].exit_code)
            return (rt_exit)r->runs[run].exit_code;
    return RT_EXIT_DONE;
}

static rt_exit train_all(sweep_run *r, const rt_config *base)
{
    int fresh = 0;
    rt_status status = prepare(r, base);
    if (!status.code && !r->arguments->quiet)
        rt_progress_say(&r->progress, "%s: %d runs, %d at a time on %d thread%s each%s",
                        r->folder.path, r->count, r->jobs, r->threads, r->threads > 1 ? "s" : "",
                        r->ended == r->count ? "; all are finished already"
                        : r->ended           ? "; some are finished already"
                                             : "");
    if (!status.code)
        status = rt_sweep_note_growth(r->folder.path, r->sweep, r->runs, r->arguments->overwrite,
                                      &fresh);
    if (!status.code) {
        if (fresh && !r->arguments->quiet)
            rt_progress_say(&r->progress, "the sweep has grown: %d of %d runs are new", fresh,
                            r->count);
        warn_of_zero_rates(r);
        report_taken(r);
        status = make_trunks(r);
    }
    if (!status.code && !must_stop(r))
        status = make_runs(r, 0, r->count);
    rt_sweep_workers_free(&r->workers);
    rt_world_leave(r->arguments->world);
    if (!status.code)
        status = rt_sweep_record(stdout, r->folder.path, r->sweep, r->runs);
    if (status.code) {
        rt_progress_say(&r->progress, "%s", status.message);
        return rt_exit_of(status.code);
    }
    printf("sweep: %s\n", r->folder.path);
    fflush(stdout);
    if (!rt_reports_are_off()) {
        status = rt_sweep_report_write(r->folder.path, base->run.name);
        if (status.code)
            rt_progress_say(&r->progress, "%s; %s --report %s tries again", status.message,
                            rt_program_name(), r->folder.path);
    }
    if (!must_stop(r))
        return first_failure(r);
    rt_progress_say(&r->progress, "stopped by a signal; the same command continues it");
    return RT_EXIT_STOPPED;
}

/* Validates and trains the sweep, in process 0 or in a single process. */
static rt_exit train_validated(sweep_run *r, const rt_config *base)
{
    if (r->arguments->world && r->sweep->jobs > 1) {
        rt_progress_say(&r->progress,
                        "sweep.jobs = %d: each process that the launcher has started trains one "
                        "run at a time; leave the key out",
                        r->sweep->jobs);
        return RT_EXIT_CONFIG;
    }
    const rt_exit code = rt_sweep_validate(r->sweep, r->arguments);
    return code ? code : train_all(r, base);
}

rt_exit rt_sweep_train(const rt_config *base, const rt_sweep *sweep, const rt_arguments *arguments)
{
    rt_world *world = arguments->world;
    sweep_run r = {.sweep = sweep,
                   .arguments = arguments,
                   .folder.lock = -1,
                   .start = rt_seconds()};
    rt_status status = rt_ok();
    rt_progress_begin(&r.progress, base, 0, arguments->quiet, arguments->no_color);
    rt_stop_on_signals();
    if (world)
        status = rt_sweep_workers_new(&r.workers, world, arguments->helper, sweep,
                                      rt_threads_of(base, world));
    rt_exit code = rt_exit_of(status.code);
    if (rt_world_rank(world) == 0) {
        if (status.code)
            rt_progress_say(&r.progress, "%s", status.message);
        else
            code = train_validated(&r, base);
    } else if (!status.code) {
        rt_sweep_workers_serve(&r.workers, rt_stop_requested);
    }
    rt_sweep_workers_free(&r.workers);
    rt_run_folder_close(&r.folder);
    for (int run = 0; r.runs && run < r.count + r.trunks; run++)
        rt_results_free(&r.runs[run].results);
    rt_free(r.runs);
    return code;
}
