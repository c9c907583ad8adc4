/* The life of a run:
 *
 *     start    afresh, perhaps with the parameters of another model; as a branch of another run; or
 *              resumed from its own checkpoint, perhaps extended to more steps (start.c)
 *     steps    each followed by an evaluation, records and a checkpoint, if they are due
 *     end      all steps are taken, train.target_accuracy is reached or train.patience has run
 *              out: the results are printed and recorded (outcome.c), and the report is drawn
 *     stop     by a signal, after the current step: a checkpoint is saved, and --resume continues
 *     failure  a loss that is not finite is recorded as the result; if data cannot be read, a
 *              checkpoint is saved
 *
 * A run that has ended and is resumed takes no step: it is evaluated again. */

#include "train/run/run.h"

#include "core/memory.h"
#include "train/config/config.h"
#include "train/folder/session.h"
#include "train/report/report.h"
#include "train/report/verdict.h"
#include "train/run/broadcast.h"
#include "train/run/kernels.h"
#include "train/run/outcome.h"
#include "train/run/stop.h"
#include "train/run/theta.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/process.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_ended(const rt_run *r)
{
    return r->stage >= RT_STAGE_ALL_STEPS;
}

static bool reached_target(const rt_train_options *o, const rt_evaluation *evaluation)
{
    return o->target_accuracy > 0 && evaluation->accuracy >= o->target_accuracy;
}

/* Sets r->stage of a run that had ended before it was opened, and reports why it has. */
static rt_status find_earlier_end(rt_run *r)
{
    rt_train_options *o = &r->config->train;
    const int step = r->state->step;
    rt_evaluation evaluation;
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    if (step >= o->steps) {
        r->stage = RT_STAGE_ALL_STEPS;
        if (step > o->steps)
            rt_run_note(r,
                        "nothing is left to train: the run has taken %d steps, more than "
                        "train.steps = %d",
                        step, o->steps);
        else
            rt_run_note(r, "nothing is left to train: the run has taken %d steps", step);
        o->steps = step; /* reports show the steps that were taken */
        return rt_ok();
    }
    /* The target is checked at the same steps as in an uninterrupted run. */
    if (step && o->target_accuracy > 0 && step % o->eval_every == 0) {
        RT_TRY(rt_trainer_evaluate(r->trainer, r->config->data.length, o->eval_batches, &evaluation,
                                   NULL));
        if (reached_target(o, &evaluation))
            r->stage = RT_STAGE_TARGET;
    }
    if (has_ended(r) || !rt_evaluations_stalled(&r->evaluations, o))
        return rt_ok();
    if (!r->before || o->steps > r->before->train.steps) {
        rt_run_note(r,
                    "the run had stopped early at step %d; it continues, and train.patience is "
                    "counted from 0 again",
                    step);
        r->evaluations.stalled = 0;
        return rt_ok();
    }
    r->stage = RT_STAGE_PATIENCE;
    rt_early_stop_report(&w, step, o);
    if (w.bytes)
        rt_run_note(r, "nothing is left to train: %.*s", (int)strcspn(w.bytes, "\n"), w.bytes);
    rt_run_note(r, "set a larger train.patience or more train.steps to continue the run");
    return rt_ok();
}

/* Warns if the data files, listed by rt_session_data, differ from those that the run or the trunk
 * in a folder has read, and returns whether they do. Evaluations of other files are not compared
 * with those that follow. The vocabulary is ignored: the run uses that of its checkpoint. */
static bool warn_of_data(rt_run *r, const char *data, const char *folder)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0}, evaluated = {0};
    rt_session_compare(&w, &r->config->data, data ? data : "", folder, false);
    rt_session_compare(&evaluated, &r->config->data, data ? data : "", folder, true);
    const bool differs = w.length && data, evaluates = evaluated.length;
    if (differs)
        rt_run_say(r, "warning: the data has changed since the %s: %s; the %s",
                   r->branches ? "trunk was trained" : "run was stopped", w.bytes,
                   has_ended(r)  ? "results are those of the changed data"
                   : r->branches ? "branch continues on other data"
                   : evaluates   ? "continuation will not be bitwise identical, and its "
                                   "evaluations are not compared with earlier ones"
                                 : "continuation will not be bitwise identical");
    if (differs && evaluates)
        r->evaluations = has_ended(r) && r->config->train.patience
                             ? (rt_evaluations){.loss = NAN, .best_step = r->evaluations.best_step}
                             : RT_NO_EVALUATIONS;
    return differs;
}

/* Warns of rows up to this step that the tables of a resumed run lack. */
static void warn_of_tables(rt_run *r)
{
    const rt_config *before = r->before ? r->before : r->config;
    const rt_step_table *tables[] = {&r->metrics.metrics, &r->metrics.timing, &r->metrics.theta};
    const int step = r->state->step;
    const int logged = step - step % before->run.log_every; /* last steps with a row */
    const int evaluated = step - step % before->train.eval_every;
    for (int i = 0; i < 3; i++) {
        const rt_step_table *table = tables[i];
        const bool logs = table != &r->metrics.theta || before->theta.log;
        const int due = logs && logged > evaluated ? logged : evaluated;
        if (!table->file || !due || table->last >= due)
            continue;
        if (table->last < 0)
            rt_run_say(r,
                       "warning: %s/%s has no rows: those up to step %d are lost, and the table "
                       "begins after them",
                       r->folder.path, table->name, step);
        else
            rt_run_say(r, "warning: %s/%s ends at step %d: its rows up to step %d are lost",
                       r->folder.path, table->name, table->last, due);
    }
}

/* Opens the tables of r->metrics. A resumed run and a branch compare their data; a resumed run also
 * warns if rows of earlier steps are missing in its tables. */
static rt_status open_tables(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const bool resumed = r->state->step > 0 && !r->branches;
    /* tables of the trunk with rows that a branch keeps */
    static const char *const names[] = {"metrics.csv", "theta.csv"};
    const char *folders[] = {*r->trunk ? r->trunk : NULL, NULL};
    const bool carried = r->config->model.theta.learn && r->theta == RT_BRANCH_CARRIED;
    folders[1] = carried ? folders[0] : NULL;
    for (int i = 0; i < 1 + carried && r->branches; i++)
        if (!folders[i] || !rt_folder_has(folders[i], names[i]))
            rt_run_say(r, "warning: the rows of %s until step %d are not known", names[i],
                       r->state->step);
    RT_OWNED char *data = rt_session_inputs(r->config);
    r->session = data ? rt_session_cells(data, a->revision, a->argc, a->argv) : NULL;
    if (resumed || *r->trunk)
        warn_of_data(r, data, resumed ? r->folder.path : r->trunk);
    RT_TRY(rt_allocated(r->session, "a table"));
    RT_TRY(rt_metrics_open(&r->metrics, r->config, r->branches ? r->trunk_config : r->before,
                           r->folder.path, r->state->step, r->session,
                           r->branches ? folders : NULL));
    if (resumed)
        warn_of_tables(r);
    return rt_ok();
}

/* Writes config.ini, with a comment on the kernels, which are not keys; schedules.csv, if an
 * extension changed the schedule; and the vocabulary. */
static rt_status write_files(const rt_run *r)
{
    const rt_optimizer_options *o = &r->config->optimizer;
    const rt_vocabulary *vocabulary = r->data->vocabulary;
    const char *folder = r->folder.path;
    char kernels[RT_KERNELS_SIZE], *text;
    rt_writer w = {0};
    rt_writer_add(&w, "# %s\n%s", rt_kernels_describe(kernels), r->config_text);
    RT_TRY(rt_durable_write_and_free(folder, "config.ini", rt_writer_take(&w)));
    if (o->past_count)
        RT_TRY(rt_durable_write_and_free(folder, "schedules.csv",
                                         rt_past_schedules_write(o, r->config->train.steps)));
    if (!vocabulary)
        return rt_ok();
    RT_TRY(rt_vocabulary_write(vocabulary, &text));
    return rt_durable_write_and_free(folder, rt_vocabulary_file(vocabulary), text);
}

/* Prints the size of the model and of a step. Warns of slow kernels, of steps at a learning rate of
 * 0, and of steps that are too few for the warmup or train.patience. With --quiet, only warns, and
 * only of such steps in an extended run. */
static void describe(rt_run *r)
{
    const rt_config *c = r->config;
    const int threads = rt_workers_count(rt_trainer_workers(r->trainer));
    const int zero_rate = rt_zero_rate_from(c, r->state->step);
    char processes[64] = "", kernels[RT_KERNELS_SIZE], slower[RT_SLOWER_SIZE];
    if (r->world)
        snprintf(processes, sizeof processes, "%d processes, here ", rt_world_size(r->world));
    rt_run_note(r,
                "%s: %zu parameters (%s), %d sequences of %s%d tokens a step in %d shard%s on %s%d "
                "thread%s; %s",
                c->run.name, rt_parameters_count(&r->state->model->parameters), RT_PRECISION,
                c->train.batch_size, r->data->varies ? "up to " : "", c->data.length,
                c->train.shards, c->train.shards > 1 ? "s" : "", processes, threads,
                threads > 1 ? "s" : "", rt_kernels_describe(kernels));
    if (rt_kernels_are_slower(c, slower))
        rt_run_note(r, "%s", slower);
    if (threads > 1 && rt_engine_in_use() == RT_ENGINE_OPENBLAS && rt_openblas_is_serial())
        rt_run_note(r,
                    "OpenBLAS is its serial build (libopenblas0-serial), which computes one matrix "
                    "product at a time, not %d; install libopenblas0-pthread",
                    threads);
    if (zero_rate && (r->extended || !r->arguments->quiet))
        rt_zero_rate_warn(&r->progress, c, zero_rate, "");
    if (rt_patience_ends_from(&c->train) >= c->train.steps)
        rt_run_note(r,
                    "warning: train.patience = %d cannot end the run: it runs out at step %jd at "
                    "the earliest, and train.steps = %d",
                    c->train.patience, (intmax_t)rt_patience_ends_from(&c->train), c->train.steps);
    if (c->model.theta.head_scale && !(c->optimizer.settings.theta_lr_scale > 0))
        rt_run_note(r,
                    "warning: theta.head_scale = yes has no effect: theta.lr_scale = 0 keeps the "
                    "factors of all heads");
    if (c->optimizer.settings.theta_lr_scale != 1 &&
        (!c->model.theta.learn || rt_config_freezes(c, RT_ROLE_THETA)) &&
        (!c->model.theta.head_scale || rt_config_freezes(c, RT_ROLE_FACTOR)))
        rt_run_note(r,
                    "warning: theta.lr_scale = %g has no effect: train.freeze = %s keeps all that "
                    "it applies to",
                    c->optimizer.settings.theta_lr_scale, c->train.freeze);
    if (c->optimizer.warmup_steps > c->train.steps)
        rt_run_note(r,
                    "warning: optimizer.warmup_steps = %d, and train.steps = %d: the learning rate "
                    "rises to the end, and stays below optimizer.lr",
                    c->optimizer.warmup_steps, c->train.steps);
}

/* Saves a checkpoint if it is due. A failure is a warning, and the save is repeated every
 * run.log_every steps. Returns RT_NONFINITE if a parameter is not finite, which ends the run. */
static rt_status save_if_due(rt_run *r, bool due)
{
    const bool again = r->unsaved;
    if (!due && !(again && r->state->step % r->config->run.log_every == 0))
        return rt_ok();
    rt_metrics_session(&r->metrics, r->state->step, rt_seconds() - r->progress.start);
    rt_status status = rt_run_save(r);
    if (status.code == RT_NONFINITE)
        return status;
    if (status.code && !again)
        rt_run_say(r, "warning: %s", status.message);
    return rt_ok();
}

/* Evaluates, records and saves after a step, if they are due. */
static rt_status after_step(rt_run *r, const rt_step_result *result)
{
    rt_evaluation evaluation;
    const rt_config *c = r->config;
    const int step = r->state->step;
    const bool due = step >= c->train.steps || step % c->train.eval_every == 0;
    bool best = false;
    r->evaluations.loss = INFINITY;
    rt_status status = due ? rt_run_evaluate(r, &evaluation, NULL) : rt_ok();
    if (due && !status.code)
        best = rt_evaluations_add(&r->evaluations, &c->train, step, evaluation.loss);
    if (due && !status.code) {
        r->progress.eval_loss = evaluation.loss;
        r->progress.eval_accuracy = evaluation.accuracy;
    }
    rt_progress_step(&r->progress, step, result);
    if (!status.code)
        status = rt_metrics_step(&r->metrics, r->state, result, due ? &evaluation : NULL,
                                 rt_seconds() - r->progress.start);
    const char *lost = rt_metrics_failure(&r->metrics);
    if (lost)
        rt_run_say(r, "warning: %s/%s cannot be written", r->folder.path, lost);
    if (!status.code)
        r->stage = due && reached_target(&c->train, &evaluation)               ? RT_STAGE_TARGET
                   : step >= c->train.steps                                    ? RT_STAGE_ALL_STEPS
                   : due && rt_evaluations_stalled(&r->evaluations, &c->train) ? RT_STAGE_PATIENCE
                   : rt_stop_requested()                                       ? RT_STAGE_STOPPED
                                                                               : RT_STAGE_TRAINING;
    rt_stop_watch(NULL, 0); /* no limit: a disk may be slow */
    if (!status.code)
        status = save_if_due(r, r->stage != RT_STAGE_TRAINING || best ||
                                    step % c->train.checkpoint_every == 0);
    return status;
}

/* Takes steps until the end or a stop. */
static rt_status loop(rt_run *r)
{
    rt_status status = rt_ok();
    double longest = 0;
    while (r->stage == RT_STAGE_TRAINING && !status.code) {
        rt_step_result result;
        const double start = rt_seconds();
        rt_stop_watch(rt_workers_progress(rt_trainer_workers(r->trainer)),
                      rt_stop_patience(longest));
        status = rt_trainer_step(r->trainer, &result);
        if (!status.code)
            status = after_step(r, &result);
        longest = fmax(longest, rt_seconds() - start);
    }
    rt_stop_watch(NULL, 0);
    return status;
}

/* Takes the remaining steps, and records them. A loss that is not finite is recorded as the result.
 * If data cannot be read, saves a checkpoint of the steps taken. */
static rt_status take_steps(rt_run *r)
{
    rt_outcome o = {0};
    rt_status end = rt_ok();
    describe(r);
    rt_status status = rt_run_folder_clear_end(&r->folder); /* the run continues */
    if (!status.code)
        status = write_files(r);
    if (!status.code)
        status = open_tables(r);
    const bool starts = r->state->step == 0 || (r->branches && r->theta != RT_BRANCH_CARRIED);
    if (!status.code && starts)
        status = rt_metrics_theta(&r->metrics, r->state);
    rt_progress_begin(&r->progress, r->config, r->state->step, r->arguments->quiet,
                      r->arguments->no_color);
    if (!status.code)
        status = loop(r);
    rt_progress_end(&r->progress);
    if (status.code == RT_NONFINITE) {
        rt_results_put(&o.results, r->state->step, RT_RESULT_STEPS);
        end = rt_outcome_record(&o, r, RT_EXIT_NONFINITE);
        rt_outcome_free(&o);
        if (end.code)
            rt_run_say(r, "%s", end.message);
    }
    if (status.code == RT_DATA && r->state->step) {
        end = rt_run_save(r);
        if (end.code)
            rt_run_say(r, "warning: %s", end.message);
        else
            rt_run_say(r, "a checkpoint holds step %d; --resume continues the run", r->state->step);
    }
    return status;
}

static rt_exit print_failure(rt_run *r, rt_status status)
{
    rt_run_say(r, "%s", status.message);
    return rt_exit_of(status.code);
}

static rt_exit print_stop(rt_run *r)
{
    rt_run_say(r, "stopped by a signal after step %d; --resume continues it", r->state->step);
    return RT_EXIT_STOPPED;
}

/* Loads the model of the best evaluation, to which the results of a run with train.patience refer.
 * Keeps the last model, with a warning, if the checkpoint cannot be loaded. */
static void take_best(rt_run *r)
{
    const rt_checkpoint_info now = {.step = r->state->step, .evaluations = r->evaluations};
    const int best = (int)rt_checkpoint_best_step(&now);
    rt_checkpoint_model model = rt_run_checkpoint_model(r);
    RT_CLOSED_BY(rt_checkpoint_close) rt_checkpoint c = {.image = NULL};
    char path[RT_PATH_SIZE];
    if (!r->config->train.patience || !best || best == r->state->step)
        return;
    rt_status status = rt_checkpoint_path(path, r->folder.checkpoints, best);
    model.rule = NULL;
    if (!status.code)
        status = rt_checkpoint_open(&c, path, RT_PARSE_HERE);
    if (!status.code)
        status = rt_checkpoint_load(&c, &model);
    if (status.code) {
        rt_run_say(r, "warning: the results are those of the last step, not of the best: %s",
                   status.message);
        return;
    }
    r->last_step = r->state->step;
    r->state->step = best;
    rt_trainer_share(r->trainer);
}

/* Prints the last lines: the best evaluation if it was better than the last one, the profile, the
 * folder, and an early stop. */
static void print_end(const rt_run *r, const rt_outcome *o)
{
    const rt_evaluations *e = &r->evaluations;
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    if (r->last_step)
        printf("best: step %d, which these results, the report, --predict and other uses take%s\n",
               r->state->step,
               isnan(e->loss)
                   ? ""
                   : RT_PRINTED(64, "; last: loss %.6g at step %d", e->loss, r->last_step));
    else if (e->best_step && e->best_step != r->state->step && !(o->evaluation.loss < e->best_loss))
        printf("best: loss %.6g at step %d\n", e->best_loss, (int)e->best_step);
    if (r->arguments->profile)
        rt_trainer_print_profile(stdout, r->trainer);
    printf("run: %s\n", r->folder.path);
    if (r->stage == RT_STAGE_PATIENCE)
        rt_early_stop_report(&w, r->last_step ? r->last_step : r->state->step, &r->config->train);
    printf("%s", w.bytes ? w.bytes : "");
    fflush(stdout);
}

/* Prints and records the results. If the run had `ended_before` it was opened, its files have some
 * of them, unless the data has changed: then r->session has the cells of the new session. Returns
 * RT_EXIT_CHECK if a requested check failed. */
static rt_exit finish(rt_run *r, bool ended_before)
{
    RT_CLOSED_BY(rt_outcome_free) rt_outcome o = {0};
    const bool evaluates_anew = ended_before && r->session;
    const int last_step = r->state->step;
    printf("steps: %d, %ld tokens\n", r->state->step,
           (long)r->state->sequences * r->config->data.length);
    rt_status status = rt_trainer_observe(r->trainer, r->arguments->trap, false);
    take_best(r);
    if (!status.code)
        status = rt_outcome_print(&o, r, ended_before && !evaluates_anew);
    const bool failed = o.target_missed || o.theta_moved || o.theta_needed;
    const rt_exit code = failed ? RT_EXIT_CHECK : RT_EXIT_DONE;
    if (r->config->train.patience)
        rt_results_put(&o.results, r->stage == RT_STAGE_PATIENCE, RT_RESULT_STOPPED_EARLY);
    if (!status.code && !o.stopped)
        status = rt_outcome_record(&o, r, code);
    if (!status.code && !o.stopped && evaluates_anew)
        status = rt_metrics_add_session(r->folder.path, last_step, r->session);
    if (!status.code && !o.stopped)
        print_end(r, &o);
    if (!status.code && !o.stopped) {
        rt_trainer_dismiss(r->trainer); /* process 0 does the remaining work alone */
        rt_world_leave(r->world);
        status = rt_run_record_usage(r, &o.stopped);
    }
    if (status.code)
        return print_failure(r, status);
    if (o.stopped)
        return print_stop(r);
    if (!rt_reports_are_off()) {
        rt_trainer_return_pages(r->trainer);
        status = rt_report_write(r->folder.path, r->config, r->trainer, false);
        if (status.code)
            rt_run_say(r, "%s; %s --report %s tries again", status.message, rt_program_name(),
                       r->folder.path);
    }
    if (o.target_missed)
        rt_run_say(r, "the accuracy %.4f is below train.target_accuracy = %g",
                   o.evaluation.accuracy, r->config->train.target_accuracy);
    return code;
}

static rt_exit train(rt_run *r)
{
    rt_status status = rt_run_begin(r);
    if (!status.code)
        status = find_earlier_end(r);
    const bool ended_before = has_ended(r);
    if (!status.code && ended_before) {
        RT_OWNED char *data = rt_session_inputs(r->config);
        if (warn_of_data(r, data, r->folder.path))
            r->session = rt_session_cells(data, r->arguments->revision, r->arguments->argc,
                                          r->arguments->argv);
    } else if (!status.code) {
        status = take_steps(r);
    }
    if (status.code)
        return print_failure(r, status);
    if (!r->unsaved)
        return has_ended(r) ? finish(r, ended_before) : print_stop(r);
    rt_run_say(r, "the last checkpoint could not be written");
    return RT_EXIT_UNSAVED;
}

rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments)
{
    RT_CLOSED_BY(rt_run_free) rt_run r = rt_run_new(config, arguments);
    rt_exit code = RT_EXIT_DONE;
    rt_stop_on_signals();
    r.world = arguments->world;
    if (rt_world_rank(r.world))
        rt_run_serve(&r);
    else
        code = train(&r);
    return code;
}
