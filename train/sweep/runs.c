#include "train/sweep/runs.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/folder/run_folder.h"
#include "train/folder/session.h"
#include "train/report/report.h"
#include "train/report/study.h"
#include "train/run/progress.h"
#include "train/run/stop.h"
#include "train/step/trainer.h"
#include "train/world/helper.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* State of a run of the sweep, and its result. */
typedef struct sweep_member {
    enum { PENDING, RUNNING, ENDED } state;
    pid_t process; /* process of a running run; unused in a world */
    bool ended;    /* exit_code is set, unless the run was stopped */
    int exit_code;
    bool begun;         /* the run had begun before this call */
    int steps;          /* steps in its results before this call; 0 without results */
    rt_results results; /* empty if the run has no results */
} sweep_member;

typedef struct sweep_run {
    const rt_sweep *sweep;
    const rt_arguments *arguments;
    rt_run_folder folder;
    sweep_member *runs; /* runs of the sweep, followed by the trunks */
    int *run_of;        /* run of each process of a world, NO_RUN, or NO_WORKER */
    int *next;          /* run that each process begins in the next round, and an order; or NULL */
    int own;            /* newest run of this process of a world, or NO_RUN */
    bool requested;     /* another process of the world was asked to stop */
    int count, trunks;  /* numbers of runs and of trunks */
    int running, ended;
    int jobs, threads; /* runs at a time, and threads of each run */
    double start;
    rt_progress progress;
    bool signalled;
    int zero_rates;          /* runs that would take steps at a learning rate of 0 */
    int zero_run, zero_from; /* first such run, and its first such step */
    rt_config zero_config;   /* configuration of that run */
    rt_inputs inputs;        /* files that new runs read */
} sweep_run;

/* The processes of a world train the runs of a sweep, one run at a time per process, in its helper.
 * Every few milliseconds they take part in a round: process 0 broadcasts which process begins which
 * run, and gathers which runs have ended. */

enum { NO_RUN = -1, NO_WORKER = -2 }; /* a process without a run; one that cannot start any */
enum { CONTINUE, STOP, END };         /* orders of process 0 to all processes */

/* Time between two looks at the running processes. */
static const struct timespec poll_interval = {.tv_nsec = 30000000};

/* Report of one process in a round. */
typedef struct report {
    int ended;  /* run that ended, or NO_RUN */
    int how;    /* wait status of that run (waitpid) */
    int stop;   /* 1: the process was asked to stop */
    int broken; /* 1: its helper cannot start runs */
} report;

static rt_status begin_rounds(sweep_run *r)
{
    rt_world *world = r->arguments->world;
    const int size = rt_world_size(world);
    r->run_of = rt_alloc((size_t)size, sizeof *r->run_of);
    r->next = rt_alloc((size_t)size + 1, sizeof *r->next);
    for (int i = 0; r->run_of && r->next && i < size; i++)
        r->run_of[i] = r->next[i] = NO_RUN;
    rt_status status =
        rt_world_agree(world, r->run_of && r->next ? rt_ok() : rt_out_of_memory("a sweep"));
    if (status.code) { /* the other processes take no part in rounds */
        rt_free(r->next);
        r->next = NULL;
    }
    return status;
}

/* Starts a run in the helper with the lines of its text: name, threads and settings. */
static bool start_in_helper(const sweep_run *r, int run)
{
    RT_OWNED char *settings = rt_sweep_overrides(r->sweep, run);
    rt_writer text = {0};
    rt_writer_add(&text, "%s\n%d\n%s", RT_SWEEP_NAME(r->sweep, run), r->threads,
                  settings ? settings : "");
    RT_OWNED char *whole = rt_writer_take(&text);
    return settings && whole && rt_helper_start(r->arguments->helper, whole);
}

/* Takes part in a round of all processes. Returns false if process 0 sent END. */
static bool round_of_all(sweep_run *r, int order, bool stop, report *reports)
{
    rt_world *world = r->arguments->world;
    rt_helper *helper = r->arguments->helper;
    const int size = rt_world_size(world), rank = rt_world_rank(world);
    r->next[size] = order;
    rt_world_broadcast(world, r->next, (size_t)(size + 1) * sizeof *r->next);
    if (r->next[size] == END)
        return false;
    report *mine = reports + rank;
    *mine = (report){NO_RUN, 1 << 8, stop, 0}; /* exit code 1 */
    if (r->next[rank] != NO_RUN) {
        r->own = r->next[rank];
        mine->broken = !start_in_helper(r, r->own);
        if (mine->broken)
            mine->ended = r->own;
    }
    if (r->next[size] == STOP)
        rt_helper_signal(helper, SIGTERM);
    if (rt_helper_ended(helper, &mine->how))
        mine->ended = r->own;
    rt_world_gather(world, reports, NULL, sizeof *reports);
    return true;
}

/* Ends the rounds of the other processes, in process 0. */
static void end_rounds(sweep_run *r)
{
    if (r->next && rt_world_rank(r->arguments->world) == 0)
        round_of_all(r, END, false, NULL);
    rt_free(r->run_of);
    rt_free(r->next);
    r->run_of = r->next = NULL;
}

/* Loads the configuration of a run again, after a first load of all runs, and names its folder. */
static rt_status load_again(const sweep_run *r, int run, rt_config *config, rt_run_folder *folder)
{
    RT_TRY(rt_sweep_load(r->sweep, r->arguments, run, config, NULL));
    return rt_run_folder_name(folder, config->run.dir, config->run.name);
}

/* Reads the results of a run, and sets its state to ENDED if it needs no more steps. Returns
 * RT_CONFIG if the results are those of another configuration. */
static rt_status look_for_results(sweep_run *r, int run)
{
    sweep_member *result = &r->runs[run];
    rt_run_folder folder;
    rt_config config, before;
    int code = 0;
    RT_TRY(load_again(r, run, &config, &folder));
    result->begun = rt_run_folder_used(&folder);
    if (!rt_results_read(&result->results, folder.path))
        return rt_ok();
    const bool ended = rt_results_whole(&result->results, RT_RESULT_STEPS, &result->steps) &&
                       rt_results_whole(&result->results, RT_RESULT_EXIT_CODE, &code);
    rt_status status = rt_config_load_folder(&before, folder.path);
    if (!status.code)
        rt_session_take_moved(&before, folder.path, &config, NULL);
    if (!status.code)
        status = rt_config_compare(&before, result->steps, &config, folder.path);
    if (!status.code && ended &&
        (result->steps >= config.train.steps || code == RT_EXIT_NONFINITE)) {
        result->ended = true;
        result->exit_code = code;
        result->state = ENDED;
        r->ended += run < r->count;
    } else {
        rt_results_free(&result->results);
    }
    return status;
}

/* Checks that no other process trains the run and that a new run can begin. A run that has begun
 * and cannot continue fails alone. Counts a run that would take steps at a learning rate of 0; with
 * --quiet, only if it is extended under its former schedule. */
static rt_status check_member(sweep_run *r, int run)
{
    const int steps = r->runs[run].steps;
    bool warned = !r->arguments->quiet;
    rt_config config, before;
    rt_run_folder folder;
    RT_TRY(load_again(r, run, &config, &folder));
    RT_TRY(rt_run_folder_idle(&folder));
    rt_config own = config;
    if (!r->arguments->overwrite && !rt_config_load_folder(&before, folder.path).code) {
        warned |= rt_config_extends(&before, steps, &own);
        rt_config_continue(&own, &before, steps);
    }
    const int from = warned ? rt_zero_rate_from(&own, steps) : 0;
    if (from && !r->zero_rates++) {
        r->zero_run = run;
        r->zero_from = from;
        r->zero_config = own;
    }
    if (r->runs[run].begun)
        return rt_ok();
    if (r->trunks && run < r->count) /* the sweep's own, which are trained first */
        config.train.trunk = NULL;
    rt_inputs_add_config(&r->inputs, &config);
    const rt_status status = rt_sweep_check_run(r->sweep, r->arguments, run, &config);
    return status.code ? rt_error(status.code, "%s: %s", config.run.name, status.message) : status;
}

/* Returns RT_CONFIG if a new run reads a file that another run or the sweep writes: it would start
 * from what was there by chance. */
static rt_status spare_inputs(const sweep_run *r)
{
    rt_run_folder folder;
    RT_TRY(rt_run_folder_spare(&r->folder, &r->inputs));
    for (int run = 0; run < r->count + r->trunks; run++) {
        if (r->runs[run].state == ENDED)
            continue;
        RT_TRY(rt_run_folder_name(&folder, r->folder.path, RT_SWEEP_NAME(r->sweep, run)));
        RT_TRY(rt_run_folder_spare(&folder, &r->inputs));
    }
    return rt_ok();
}

/* Trains a run in its own process, or continues it if it was interrupted. Its configuration names
 * its folder, where output.log takes its output. */
static rt_exit run_member(const rt_arguments *arguments, rt_config *config)
{
    rt_arguments own = *arguments;
    const char *folder = RT_PATH_IN(config->run.dir, config->run.name);
    own.quiet = true;
    own.resume = !own.overwrite;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return RT_EXIT_FAILURE;
    const int log =
        open(RT_PATH_IN(folder, "output.log"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        return RT_EXIT_FAILURE;
    if (log > STDERR_FILENO)
        close(log);
    const rt_exit code = rt_run_train(config, &own);
    return fflush(stdout) && !code ? RT_EXIT_FAILURE : code;
}

/* Parses the text of start_in_helper: name, threads, settings. */
int rt_sweep_member(const void *context, const char *text)
{
    rt_config config;
    const size_t length = strcspn(text, "\n");
    const char *name = RT_PRINTED(RT_RUN_NAME_SIZE, "%.*s", (int)length, text);
    int threads, used = 0;
    if (length >= RT_RUN_NAME_SIZE || sscanf(text + length, "\n%d%n", &threads, &used) != 1)
        return RT_EXIT_FAILURE;
    if (rt_sweep_load_settings(&config, context, text + length + used + 1, name, NULL).code)
        return RT_EXIT_FAILURE;
    config.run.threads = threads;
    return (int)run_member(context, &config);
}

static rt_status start_run(sweep_run *r, int run)
{
    sweep_member *started = &r->runs[run];
    if (r->arguments->world) {
        int process = 0;
        while (r->run_of[process] != NO_RUN) /* one is free, since running < jobs */
            process++;
        r->run_of[process] = r->next[process] = run;
    } else {
        fflush(stdout);
        fflush(stderr);
        started->process = rt_process_fork(SIGTERM);
        if (started->process < 0)
            return rt_error(RT_IO, "a run of the sweep cannot be started: %s", strerror(errno));
        if (started->process == 0) {
            rt_config config;
            close(r->folder.lock); /* only the sweep holds its lock */
            _exit(rt_sweep_load(r->sweep, r->arguments, run, &config, NULL).code
                      ? RT_EXIT_FAILURE
                      : run_member(r->arguments, &config));
        }
    }
    started->state = RUNNING;
    r->running++;
    return rt_ok();
}

static const char *ending_of(const sweep_member *result)
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
    const char *name = RT_SWEEP_NAME(r->sweep, run);
    const char *place = run < r->count ? RT_PRINTED(32, "%d/%d", number, r->count) : "trunk";
    const sweep_member *result = &r->runs[run];
    if (result->exit_code == RT_EXIT_DONE || result->exit_code == RT_EXIT_CHECK)
        rt_progress_say(&r->progress, "[%s] %s: %s, loss %.4f, accuracy %.4f", place, name, how,
                        rt_results_get(&result->results, RT_RESULT_LOSS),
                        rt_results_get(&result->results, RT_RESULT_ACCURACY));
    else
        rt_progress_say(&r->progress, "[%s] %s: %s (exit code %d, see %s/%s/output.log)", place,
                        name, how, result->exit_code, r->folder.path, name);
}

/* Notes that a run has ended with a wait status (waitpid). */
static void end_run(sweep_run *r, int run, int how)
{
    sweep_member *result = &r->runs[run];
    result->exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : RT_EXIT_FAILURE;
    result->ended = result->exit_code != RT_EXIT_STOPPED;
    rt_results_read(&result->results, RT_PATH_IN(r->folder.path, RT_SWEEP_NAME(r->sweep, run)));
    result->state = ENDED;
    r->running--;
    r->ended += run < r->count;
    if (!r->arguments->quiet)
        report_end(r, run, r->ended, ending_of(result));
}

static bool must_stop(const sweep_run *r)
{
    return rt_stop_requested() || r->requested;
}

/* In a world, begins the assigned runs; otherwise passes a stop signal of this process on to the
 * runs. Notes the runs that have ended. */
static void collect(sweep_run *r)
{
    const int size = rt_world_size(r->arguments->world);
    const bool passes = rt_stop_requested() && !r->signalled;
    report reports[size];
    int how;
    if (r->arguments->world) {
        round_of_all(r, must_stop(r) ? STOP : CONTINUE, false, reports);
        for (int i = 0; i < size; i++) {
            r->next[i] = NO_RUN;
            r->requested |= reports[i].stop != 0;
            if (reports[i].ended == NO_RUN)
                continue;
            r->run_of[i] = reports[i].broken ? NO_WORKER : NO_RUN;
            r->jobs -= reports[i].broken;
            end_run(r, reports[i].ended, reports[i].how);
        }
        return;
    }
    for (int run = 0; run < r->count + r->trunks; run++) {
        if (r->runs[run].state != RUNNING)
            continue;
        if (passes)
            kill(r->runs[run].process, SIGTERM);
        if (rt_process_ended(r->runs[run].process, &how))
            end_run(r, run, how);
    }
    r->signalled |= passes;
}

/* Trains the pending runs `next` ... `end` - 1. */
static rt_status make_runs(sweep_run *r, int next, int end)
{
    rt_status status = rt_ok();
    do {
        while (next < end && r->running < r->jobs && !must_stop(r) && !status.code) {
            if (r->runs[next].state == PENDING)
                status = start_run(r, next);
            next++;
        }
        if (!r->arguments->quiet && r->progress.terminal) {
            fprintf(stderr, "\r%d of %d runs done, %d at work, %.0f s\033[K", r->ended, r->count,
                    r->running, rt_seconds() - r->start);
            fflush(stderr);
            r->progress.shown = true;
        }
        nanosleep(&poll_interval, NULL);
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
    rt_status status = make_runs(r, r->count, r->count + r->trunks);
    for (int run = r->count; run < r->count + r->trunks && !status.code && !must_stop(r); run++) {
        const int code = r->runs[run].exit_code;
        if (r->runs[run].state == ENDED && code != RT_EXIT_DONE && code != RT_EXIT_CHECK)
            status = rt_error(RT_IO, "%s has failed, and its branches have nothing to continue",
                              RT_SWEEP_NAME(r->sweep, run));
    }
    return status;
}

/* Writes runs.csv: the name, the settings, the exit code and the results of each. */
static rt_status record_runs(const sweep_run *r)
{
    const rt_sweep *s = r->sweep;
    RT_CLOSED_BY(rt_results_free) rt_results names = {0};
    rt_writer w = {0};
    for (int run = 0; run < r->count; run++)
        rt_sweep_add_names(&names, &r->runs[run].results);
    for (int run = -1; run < r->count; run++) { /* -1: the headings */
        rt_csv_put(&w, run < 0 ? "run" : RT_SWEEP_NAME(s, run));
        if (s->variant_count)
            rt_writer_add(&w, ",%s", run < 0 ? "variant" : rt_sweep_variant(s, run)->name);
        for (int i = 0; i < s->axis_count; i++) {
            rt_writer_add(&w, ",");
            rt_csv_put(&w, run < 0 ? rt_key_name(s->axes[i].key) : rt_sweep_value(s, run, i));
        }
        rt_writer_add(&w, run < 0 ? "," RT_RESULT_EXIT_CODE : ",");
        if (run >= 0 && r->runs[run].ended)
            rt_writer_add(&w, "%d", r->runs[run].exit_code);
        rt_sweep_add_results(&w, &names, run < 0 ? NULL : &r->runs[run].results);
    }
    return rt_durable_write_and_free(r->folder.path, "runs.csv", rt_writer_take(&w));
}

/* Writes runs.csv, means over seeds (sweep.csv), and paired.csv. Prints the table of the recorded
 * runs and lines on theta. */
static rt_status record(const sweep_run *r)
{
    const char *folder = r->folder.path;
    RT_CLOSED_BY(rt_sweep_study_free) rt_sweep_study s = {.order = RT_SETTINGS_FIRST};
    rt_writer w = {0};
    RT_TRY(record_runs(r));
    RT_TRY(rt_sweep_runs_read(&s.runs, folder));
    RT_TRY(rt_sweep_study_make(&s));
    rt_sweep_table_csv(&w, &s.runs);
    RT_TRY(rt_durable_write_and_free(folder, "sweep.csv", rt_writer_take(&w)));
    rt_paired_csv(&w, &s.paired);
    RT_TRY(rt_durable_write_and_free(folder, "paired.csv", rt_writer_take(&w)));
    rt_sweep_table_print(stdout, &s.table);
    rt_sweep_report_best(&w, &s);
    if (s.ranking.differ)
        rt_writer_add(&w, "losses of different %s are not comparable\n", s.ranking.differ);
    else
        rt_paired_report(&w, &s.paired);
    rt_sweep_report_left_out(&w, &s.verdict);
    rt_sweep_report_theta(&w, &s.verdict);
    rt_sweep_report_schedules(&w, &s.runs);
    return rt_writer_print(&w, stdout);
}

/* Compares the sweep with the runs.csv of an earlier call, before any run is trained. If there are
 * more runs now, writes to growth.csv which runs are reused and which are new, and counts the new
 * ones in *fresh. Otherwise keeps an earlier growth.csv, unless all runs start again. */
static rt_status note_growth(const sweep_run *r, int *fresh)
{
    const char *folder = r->folder.path, name_of_file[] = "growth.csv";
    const bool from_start = r->arguments->overwrite;
    rt_csv csv;
    rt_writer w = {0};
    int before = 0;
    *fresh = 0;
    for (rt_csv_open(&csv, folder, "runs.csv"); rt_csv_row(&csv);)
        before++;
    if (from_start)
        unlink(RT_PATH_IN(folder, name_of_file));
    if (from_start || !before || r->count <= before)
        return rt_ok();
    rt_writer_add(&w, "run,run_is\n");
    for (int run = 0; run < r->count; run++) {
        *fresh += !r->runs[run].ended;
        rt_csv_put(&w, RT_SWEEP_NAME(r->sweep, run));
        rt_writer_add(&w, r->runs[run].ended ? ",before\n" : ",new\n");
    }
    char *table = rt_writer_take(&w);
    if (!table || *fresh)
        return rt_durable_write_and_free(folder, name_of_file, table);
    rt_free(table);
    return rt_ok();
}

/* Warns if data files have changed since a run that has begun, or a trunk, has read them: the runs
 * that are trained now differ from it in more than their settings. Names the first. */
static rt_status warn_of_data(sweep_run *r)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    RT_OWNED char *list = NULL;
    rt_config config;
    rt_data_options listed = {0};
    rt_run_folder folder;
    for (int run = 0; run < r->count + r->trunks && r->ended < r->count && !w.length; run++) {
        if (!r->runs[run].begun)
            continue;
        RT_TRY(load_again(r, run, &config, &folder));
        if (!list || config.data.file != listed.file || config.data.eval_file != listed.eval_file) {
            rt_free(list); /* most runs read the same files */
            list = rt_session_data(&config.data);
            listed = config.data;
        }
        rt_session_compare(&w, &config.data, list ? list : "", folder.path, false);
    }
    if (w.length && list)
        rt_progress_say(&r->progress,
                        "warning: the data has changed since %s: %s; runs from before and after "
                        "that are not compared; --overwrite trains all of them again",
                        config.run.name, w.bytes);
    return rt_ok();
}

static rt_status prepare(sweep_run *r, const rt_config *base)
{
    r->count = rt_sweep_count(r->sweep);
    r->jobs = r->arguments->world ? rt_world_size(r->arguments->world)
              : r->sweep->jobs    ? r->sweep->jobs
                                  : 1;
    r->trunks = r->sweep->trunk_steps ? r->sweep->seed_count : 0;
    const size_t all = (size_t)r->count + (size_t)r->trunks;
    r->runs = rt_alloc(all, sizeof *r->runs);
    RT_TRY(rt_allocated(r->runs, "a sweep"));
    RT_TRY(rt_run_folder_name(&r->folder, base->run.dir, base->run.name));
    if (rt_run_folder_used(&r->folder))
        return rt_error(RT_CONFIG, "%s holds a single run: choose another run.name",
                        r->folder.path);
    RT_TRY(rt_run_folder_idle(&r->folder)); /* first: stopping the sweep stops its runs */
    for (int run = 0; run < r->count && !r->arguments->overwrite; run++)
        RT_TRY(look_for_results(r, run));
    /* trunks from which no run begins are neither trained nor checked */
    for (int run = r->count; run < (int)all; run++)
        r->runs[run].state = ENDED;
    for (int run = 0; run < r->count && r->trunks; run++)
        if (r->runs[run].state == PENDING && !r->runs[run].begun)
            r->runs[rt_sweep_trunk_of(r->sweep, run)].state = PENDING;
    for (int run = r->count; run < (int)all && !r->arguments->overwrite; run++)
        if (r->runs[run].state == PENDING)
            RT_TRY(look_for_results(r, run));
    for (int run = 0; run < (int)all; run++)
        if (r->runs[run].state != ENDED)
            RT_TRY(check_member(r, run));
    RT_TRY(spare_inputs(r));
    return rt_run_folder_open(&r->folder, false);
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
    if (!status.code && r->folder.unlocked)
        rt_progress_say(&r->progress, RT_UNLOCKED_WARNING, r->folder.path,
                        strerror(r->folder.unlocked));
    if (!status.code && !r->arguments->overwrite)
        status = warn_of_data(r);
    if (!status.code)
        status = note_growth(r, &fresh);
    if (!status.code) {
        if (fresh && !r->arguments->quiet)
            rt_progress_say(&r->progress, "the sweep has grown: %d of %d runs are new", fresh,
                            r->count);
        if (r->zero_rates)
            rt_zero_rate_warn(&r->progress, &r->zero_config, r->zero_from,
                              RT_PRINTED(RT_RUN_NAME_SIZE + 64,
                                         "in %d of %d runs (%s is the first) ", r->zero_rates,
                                         r->count, RT_SWEEP_NAME(r->sweep, r->zero_run)));
        for (int run = 0, number = 0; run < r->count && !r->arguments->quiet; run++)
            if (r->runs[run].state == ENDED)
                report_end(r, run, ++number, "reused as it was");
        status = make_trunks(r);
    }
    if (!status.code && !must_stop(r))
        status = make_runs(r, 0, r->count);
    end_rounds(r);
    rt_world_leave(r->arguments->world);
    if (!status.code)
        status = record(r);
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
    if (must_stop(r)) {
        rt_progress_say(&r->progress, "stopped by a signal; the same command%s continues it",
                        r->arguments->overwrite ? " without --overwrite" : "");
        return RT_EXIT_STOPPED;
    }
    for (int run = 0; run < r->count; run++)
        if (r->runs[run].state == ENDED && r->runs[run].exit_code)
            return (rt_exit)r->runs[run].exit_code;
    return RT_EXIT_DONE;
}

rt_exit rt_sweep_train(const rt_config *base, const rt_sweep *sweep, const rt_arguments *arguments)
{
    rt_world *world = arguments->world;
    sweep_run r = {.sweep = sweep,
                   .arguments = arguments,
                   .folder.lock = -1,
                   .own = NO_RUN,
                   .threads = world ? rt_threads_of(base, world) : rt_sweep_threads(sweep, base),
                   .start = rt_seconds()};
    rt_status status = rt_ok();
    rt_progress_begin(&r.progress, base, 0, arguments->quiet, arguments->no_color);
    rt_stop_on_signals();
    if (world)
        status = begin_rounds(&r);
    rt_exit code = rt_exit_of(status.code);
    if (rt_world_rank(world) > 0 && !status.code) {
        report reports[rt_world_size(world)];
        while (round_of_all(&r, CONTINUE, rt_stop_requested(), reports))
            nanosleep(&poll_interval, NULL); /* waiting in MPI would keep a processor busy */
    } else if (status.code && rt_world_rank(world) == 0) {
        rt_progress_say(&r.progress, "%s", status.message);
    } else if (world && sweep->jobs > 1) {
        rt_progress_say(&r.progress,
                        "sweep.jobs = %d: each process that the launcher has started trains one "
                        "run at a time; leave the key out",
                        sweep->jobs);
        code = RT_EXIT_CONFIG;
    } else if (!status.code) {
        code = rt_sweep_validate(sweep, arguments);
        code = code ? code : train_all(&r, base);
    }
    end_rounds(&r);
    rt_run_folder_close(&r.folder);
    rt_inputs_free(&r.inputs);
    for (int run = 0; r.runs && run < r.count + r.trunks; run++)
        rt_results_free(&r.runs[run].results);
    rt_free(r.runs);
    return code;
}
