#include "train/run/state.h"

#include "core/memory.h"
#include "text/durable_file.h"
#include "text/program_name.h"
#include "text/writer.h"
#include "train/config/config.h"
#include "train/report/report.h"
#include "train/run/kernels.h"
#include "train/run/progress.h"
#include "train/run/stop.h"
#include "train/step/observers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- beginning ---- */

static rt_status refuse_used_folder(const rt_run *r)
{
    const rt_arguments *a = r->arguments;
    if (a->command != RT_COMMAND_TRAIN)
        return rt_ok();
    if (rt_run_folder_is_sweep(&r->folder))
        return rt_error(RT_CONFIG, "%s holds a sweep: choose another run.name", r->folder.path);
    if (rt_is_huggingface(r->folder.path) && !a->resume)
        return rt_error(RT_CONFIG, "%s holds an exported model: choose another run.name",
                        r->folder.path);
    if (a->resume || a->overwrite || !rt_run_folder_used(&r->folder))
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "%s already holds a run: give --resume to continue it, --overwrite to replace "
                    "it, or another run.name",
                    r->folder.path);
}

/* Opens what a run needs, before anything is created. */
static rt_status open_run(rt_run *r)
{
    rt_checkpoint_found found = {0};
    rt_status status = rt_run_folder_name(&r->folder, r->config->run.dir, r->config->run.name);
    if (!status.code)
        status = refuse_used_folder(r);
    if (!status.code && r->arguments->resume)
        status = rt_checkpoint_newest(r->folder.checkpoints, RT_PARSE_HERE, &found);
    if (!status.code && found.found)
        status = rt_run_compare(r, &found);
    if (!status.code)
        status = found.found ? rt_run_open(r, found.path) : rt_run_prepare(r);
    return status;
}

/* Opens the run and its folder. Returns every error that is possible before the first step. */
static rt_status begin(rt_run *r)
{
    rt_status status = open_run(r);
    if (r->world && !r->broadcast_done)
        status = rt_run_broadcast(r, status);
    if (!status.code)
        status = rt_trainer_observe(r->trainer, r->arguments->trap, r->arguments->profile);
    if (!status.code)
        status = rt_run_folder_open(&r->folder, true);
    if (!status.code && r->arguments->resume)
        status = rt_run_resume(r);
    if (!status.code && r->arguments->overwrite) {
        rt_figures_clear(r->folder.path);
        status = rt_run_folder_clear(&r->folder);
    }
    if (status.code)
        return status;
    rt_trainer_on_stop(r->trainer, rt_stop_request);
    rt_trainer_share(r->trainer);
    r->config_text = rt_config_ini(r->config);
    return r->config_text ? rt_ok() : rt_out_of_memory("a configuration");
}

/* Writes config.ini, with the kernels as a comment, which are not keys; schedules.csv for a run
 * whose schedule was changed by an extension; and the vocabulary. */
static rt_status write_files(const rt_run *r)
{
    const rt_optimizer_options *o = &r->config->optimizer;
    const rt_vocabulary *vocabulary = rt_data_vocabulary(r->data);
    const char *folder = r->folder.path;
    char kernels[RT_KERNELS_SIZE], *text;
    rt_writer w = {0};
    rt_writer_add(&w, "# %s\n%s", rt_kernels_describe(kernels), r->config_text);
    rt_status status = rt_durable_given(folder, "config.ini", rt_writer_take(&w));
    if (!status.code && o->past_count)
        status = rt_durable_given(folder, "schedules.csv",
                                  rt_past_schedules_write(o, r->config->train.steps));
    if (status.code || !vocabulary)
        return status;
    status = rt_vocabulary_write(vocabulary, &text);
    return status.code ? status : rt_durable_given(folder, rt_vocabulary_file(vocabulary), text);
}

static void describe(rt_run *r)
{
    const rt_config *c = r->config;
    const size_t parameters = rt_parameters_count(&r->state->model->parameters);
    char processes[64] = "", kernels[RT_KERNELS_SIZE], slower[RT_SLOWER_SIZE];
    if (r->world)
        snprintf(processes, sizeof processes, "%d processes, here ", rt_world_size(r->world));
    rt_run_note(r,
                "%s: %zu parameters (%s), %d sequences of %s%d tokens a step in %d shard%s on %s%d "
                "thread%s; %s",
                c->run.name, parameters, RT_PRECISION, c->train.batch_size,
                rt_data_varies(r->data) ? "up to " : "", c->data.length, c->train.shards,
                c->train.shards > 1 ? "s" : "", processes, rt_trainer_threads(r->trainer),
                rt_trainer_threads(r->trainer) > 1 ? "s" : "", rt_kernels_describe(kernels));
    if (rt_kernels_are_slower(c, slower))
        rt_run_note(r, "%s", slower);
}

/* ---- the loop ---- */

/* Saves a checkpoint if it is due. A failure is a warning, and the save is tried again every
 * run.log_every steps; but parameters that are not finite end the run. */
static rt_status save_if_due(rt_run *r, bool due)
{
    const bool again = r->unsaved;
    if (!due && !(again && r->state->step % r->config->run.log_every == 0))
        return rt_ok();
    rt_status status = rt_run_save(r);
    if (status.code == RT_NONFINITE)
        return status;
    if (status.code && !again)
        rt_run_say(r, "warning: %s", status.message);
    return rt_ok();
}

/* Evaluates, records and saves after a step. */
static rt_status after_step(rt_run *r, const rt_step_result *result)
{
    rt_evaluation evaluation;
    const rt_config *c = r->config;
    const int step = r->state->step;
    const bool due = step >= c->train.steps || step % c->train.eval_every == 0;
    bool best = false;
    r->evaluations.loss = INFINITY;
    rt_status status = due ? rt_run_evaluate(r, &evaluation, &best) : rt_ok();
    rt_progress_step(&r->progress, step, result);
    if (!status.code)
        status = rt_metrics_step(&r->metrics, r->state, result, due ? &evaluation : NULL,
                                 rt_seconds() - r->progress.start);
    const char *lost = rt_metrics_failure(&r->metrics);
    if (lost)
        rt_run_say(r, "warning: %s/%s cannot be written", r->folder.path, lost);
    if (!status.code)
        rt_run_look_for_end(r, due ? &evaluation : NULL);
    r->stopping = rt_stop_requested();
    rt_stop_watch(NULL, 0); /* a disk may take its time */
    if (!status.code)
        status = save_if_due(r, r->finished || r->stopping || best ||
                                    step % c->train.checkpoint_every == 0);
    return status;
}

/* Takes steps until the end, or a stop. */
static rt_status loop(rt_run *r)
{
    rt_status status = rt_ok();
    double longest = 0;
    while (!r->finished && !r->stopping && !status.code) {
        rt_step_result result;
        const double start = rt_seconds();
        rt_stop_watch(rt_trainer_progress(r->trainer), rt_stop_patience(longest));
        status = rt_trainer_step(r->trainer, &result);
        if (!status.code)
            status = after_step(r, &result);
        longest = fmax(longest, rt_seconds() - start);
    }
    rt_stop_watch(NULL, 0);
    return status;
}

/* ---- the end ---- */

static rt_exit fail(rt_run *r, rt_status status)
{
    rt_run_say(r, "%s", status.message);
    return rt_exit_of(status.code);
}

/* Records the exit code of a run that has failed as its result. */
static void record_failure(rt_run *r, rt_exit code)
{
    rt_outcome o = {0};
    rt_results_put(&o.results, r->state->step, RT_RESULT_STEPS);
    rt_status status = rt_outcome_record(&o, r, code);
    rt_outcome_free(&o);
    if (status.code)
        rt_run_say(r, "%s", status.message);
}

/* Draws the report. A failure is only a message. */
static void report(rt_run *r)
{
    if (rt_reports_are_off())
        return;
    rt_trainer_rest(r->trainer);
    rt_status status = rt_report_write(r->folder.path, r->config, r->trainer, false);
    if (status.code)
        rt_run_say(r, "%s; %s --report %s tries again", status.message, rt_program_name(),
                   r->folder.path);
}

static rt_exit stopped(rt_run *r)
{
    rt_run_say(r, "stopped by a signal after step %d; --resume continues it", r->state->step);
    return RT_EXIT_STOPPED;
}

/* Prints the best evaluation if it was better than the last one. */
static void print_best(const rt_run *r, double last)
{
    const rt_evaluations *e = &r->evaluations;
    if (e->best_step && e->best_step != r->state->step && !(last < e->best_loss))
        printf("best: loss %.6g at step %d\n", e->best_loss, e->best_step);
}

static void print_early_stop(const rt_run *r)
{
    rt_writer w = {0};
    if (r->stopped_early)
        rt_early_stop_report(&w, r->state->step, &r->config->train);
    printf("%s", w.bytes ? w.bytes : "");
    rt_writer_free(&w);
}

/* Prints and records the results. Returns RT_EXIT_CHECK if a requested check failed. */
static rt_exit conclude(rt_run *r)
{
    rt_outcome o = {0};
    printf("steps: %d, %ld tokens\n", r->state->step,
           (long)r->state->sequences * r->config->data.length);
    rt_status status = rt_trainer_observe(r->trainer, r->arguments->trap, false);
    if (!status.code)
        status = rt_outcome_print(&o, r);
    const bool failed = o.target_missed || o.theta_moved || o.theta_needed;
    const rt_exit code = failed ? RT_EXIT_CHECK : RT_EXIT_DONE;
    if (r->config->train.patience)
        rt_results_put(&o.results, r->stopped_early, RT_RESULT_STOPPED_EARLY);
    if (!status.code && !o.stopped)
        status = rt_outcome_record(&o, r, code);
    rt_outcome_free(&o);
    if (status.code)
        return fail(r, status);
    if (o.stopped)
        return stopped(r);
    print_best(r, o.evaluation.loss);
    if (r->arguments->profile)
        rt_trainer_print_profile(stdout, r->trainer);
    printf("run: %s\n", r->folder.path);
    print_early_stop(r);
    fflush(stdout);
    rt_trainer_dismiss(r->trainer); /* the rest is done by process 0 alone */
    rt_world_leave(r->world);
    status = rt_run_record_instruments(r, &o.stopped);
    if (status.code)
        return fail(r, status);
    if (o.stopped)
        return stopped(r);
    report(r);
    if (o.target_missed)
        rt_run_say(r, "the accuracy %.4f is below train.target_accuracy = %g",
                   o.evaluation.accuracy, r->config->train.target_accuracy);
    return code;
}

/* Warns of steps at a rate of 0. The schedule of a fresh run was chosen: --quiet omits the warning.
 */
static void warn_of_rate_zero(rt_run *r)
{
    const int from = rt_zero_rate_from(r->config, r->state->step);
    if (from && (r->extended || !r->arguments->quiet))
        rt_zero_rate_warn(&r->progress, r->config, from, "");
}

/* Saves the steps taken before data became unreadable. */
static void save_before_failure(rt_run *r)
{
    if (!r->state->step)
        return;
    const rt_status status = rt_run_save(r);
    if (status.code)
        rt_run_say(r, "warning: %s", status.message);
    else
        rt_run_say(r, "a checkpoint holds step %d; --resume continues the run", r->state->step);
}

/* Takes the remaining steps, and records them. */
static rt_status take_steps(rt_run *r)
{
    describe(r);
    warn_of_rate_zero(r);
    rt_results_forget(r->folder.path);
    rt_status status = write_files(r);
    if (!status.code)
        status = rt_run_open_tables(r);
    const bool starts = r->state->step == 0 || (r->branches && r->theta != RT_BRANCH_CARRIED);
    if (!status.code && starts)
        status = rt_metrics_theta(&r->metrics, r->state);
    rt_progress_begin(&r->progress, r->config, r->state->step, r->arguments->quiet,
                      r->arguments->no_color);
    if (!status.code)
        status = loop(r);
    rt_progress_end(&r->progress);
    if (status.code == RT_NONFINITE)
        record_failure(r, RT_EXIT_NONFINITE);
    if (status.code == RT_DATA)
        save_before_failure(r);
    return status;
}

/* Ends a run that has not failed. */
static rt_exit end(rt_run *r)
{
    if (r->finished && !r->unsaved)
        return conclude(r);
    if (!r->unsaved)
        return stopped(r);
    rt_run_say(r, "the last checkpoint could not be written");
    return RT_EXIT_UNSAVED;
}

static rt_exit train(rt_run *r)
{
    rt_status status = begin(r);
    if (!status.code)
        status = rt_run_look_whether_ended(r);
    r->ended_before = r->finished;
    if (!status.code && r->finished)
        rt_run_compare_data(r);
    if (!status.code && !r->finished)
        status = take_steps(r);
    return status.code ? fail(r, status) : end(r);
}

rt_status rt_run_check(const rt_config *config, const rt_arguments *arguments, rt_memory_need *need)
{
    rt_config own = *config;
    rt_arguments silent = *arguments;
    silent.quiet = true;
    rt_run r = rt_run_new(&own, &silent);
    r.checks = true;
    rt_status status = open_run(&r);
    if (need)
        *need = r.memory;
    rt_run_free(&r);
    return status;
}

rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments)
{
    rt_run r = rt_run_new(config, arguments);
    rt_exit code = RT_EXIT_DONE;
    rt_stop_on_signals();
    r.world = arguments->world;
    if (rt_world_rank(r.world))
        rt_run_assist(&r);
    else
        code = train(&r);
    rt_run_free(&r);
    return code;
}
