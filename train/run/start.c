/* Starts a run: from its own checkpoint, perhaps extended to more steps; as a branch, which
 * continues the training of another run, its trunk, with another theta or learning rate; or afresh,
 * with the parameters of train.init_from and the theta of theta.init_from. */

#include "train/run/run.h"

#include "core/memory.h"
#include "optim/options.h"
#include "train/config/keys.h"
#include "train/folder/session.h"
#include "train/report/figures.h"
#include "train/run/broadcast.h"
#include "train/run/kernels.h"
#include "train/run/theta.h"
#include "util/process.h"

#include <inttypes.h>
#include <string.h>

/* Opens the newest checkpoint of a run to resume; without one, r->before stays NULL. A folder with
 * files of a run is locked first, so that no other process can write a newer checkpoint. Returns
 * RT_CONFIG with a list of the keys that differ and must not. */
static rt_status find_own(rt_run *r)
{
    rt_trained_model *found = &r->found;
    const rt_checkpoint_info *info = &found->checkpoint.info;
    if (!r->checks && rt_run_folder_used(&r->folder))
        RT_TRY(rt_run_folder_lock(&r->folder));
    RT_TRY(rt_checkpoint_newest(&found->checkpoint, r->folder.checkpoints, RT_PARSE_HERE,
                                found->path, found->warnings));
    if (!found->checkpoint.image)
        return rt_ok();
    if (*found->warnings)
        rt_run_say(r, "%s", found->warnings);
    const int step = (int)info->step;
    rt_config *before = r->before = rt_alloc(1, sizeof *before);
    RT_TRY(rt_allocated(before, "a configuration"));
    rt_status status = rt_config_load_run(before, found->path, info->config, NULL);
    if (status.code == RT_CONFIG)
        status.code = RT_CHECKPOINT;
    RT_TRY(status);
    rt_run_find_data(r, r->folder.path);
    rt_session_take_moved(before, r->folder.path, r->config, NULL);
    rt_config_continue(r->config, before, step);
    RT_TRY(rt_config_compare(before, step, r->config, r->folder.path));
    if (rt_config_extends(before, step, r->config))
        r->extended = step;
    return rt_ok();
}

/* Loads the checkpoint that the run continues from. Records the former schedule of a run that is
 * extended, and reports the changes. */
static rt_status load_own(rt_run *r)
{
    rt_config *c = r->config;
    RT_TRY(rt_run_load(r));
    rt_run_say(r, "resuming from %s", r->found.path);
    if (!r->extended)
        return rt_ok();
    RT_TRY(rt_past_schedules_add(&c->optimizer, &r->before->optimizer, r->extended));
    RT_OWNED char *changes = rt_config_extension(r->before, c);
    RT_TRY(rt_allocated(changes, "a comparison"));
    rt_run_say(r,
               "extended from step %d on: %s; the learning rate is %.3g, then %.3g, at the end "
               "%.3g",
               r->extended + 1, changes, rt_learning_rate(&c->optimizer, r->extended),
               rt_learning_rate(&c->optimizer, r->extended + 1),
               rt_learning_rate(&c->optimizer, c->train.steps));
    return rt_ok();
}

/* Starts a run to resume afresh, because it has no checkpoint. Returns RT_CONFIG if another process
 * wrote one between the search and the lock. */
static rt_status resume_afresh(rt_run *r)
{
    RT_OWNED int64_t *steps = NULL;
    int count = 0;
    RT_TRY(rt_checkpoint_list(r->folder.checkpoints, &steps, &count));
    if (count)
        return rt_error(RT_CONFIG,
                        "%s has got a checkpoint from another process meanwhile: give --resume "
                        "again to continue it",
                        r->folder.path);
    rt_run_say(r, "%s has no checkpoint: starting afresh", r->folder.path);
    return rt_ok();
}

rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch, int64_t step)
{
    const char *path = branch->train.trunk;
    const bool rotates = branch->model.position.kind != RT_POSITION_NONE;
    RT_OWNED char *differences = rt_config_differences(trunk, branch, RT_BRANCHED);
    RT_TRY(rt_allocated(differences, "a comparison"));
    if (*differences)
        return rt_error(RT_CONFIG, "a branch of %.600s cannot change these keys:\n%s", path,
                        differences);
    if (rotates && branch->model.position.kind != trunk->model.position.kind)
        return rt_error(RT_CONFIG, "train.trunk: a branch keeps position.kind or has none");
    if (rotates && trunk->model.theta.learn && !branch->model.theta.learn)
        return rt_error(RT_CONFIG,
                        "train.trunk: theta was learned in %.600s, theta.learn = no would put "
                        "another in its place: train.freeze = theta keeps it",
                        path);
    if (trunk->model.theta.head_scale && !branch->model.theta.head_scale)
        return rt_error(RT_CONFIG,
                        "train.trunk: %.600s has learned factors of heads, theta.head_scale = no "
                        "would replace them by 1",
                        path);
    if (step >= branch->train.steps)
        return rt_error(
            RT_CONFIG, "train.steps = %d: %.600s has taken %lld steps already; a branch needs more",
            branch->train.steps, path, (long long)step);
    return rt_ok();
}

static void report_rest(rt_run *r, const rt_parameter_difference *rest, const char *what)
{
    if (rest->count)
        rt_run_note(r, "%s: %d, the first is %s", what, rest->count, rest->first);
}

/* Resets the optimizer states of parameters that the trunk froze and the branch trains, because
 * they have received no gradient. */
static void thaw(rt_run *r, const rt_config *trunk)
{
    const rt_parameters *p = &r->state->model->parameters;
    const rt_update_rule *rule = rt_update_rule_of(&r->config->optimizer.settings);
    for (int i = 0; i < p->count; i++) {
        rt_parameter *parameter = p->list[i];
        if (!rt_freezes(trunk->train.freeze, parameter) ||
            rt_freezes(r->config->train.freeze, parameter))
            continue;
        parameter->since = r->state->step;
        for (int k = 0; k < rule->state_count; k++)
            memset(r->state->states[k] + parameter->offset, 0,
                   rt_size(&parameter->tensor) * sizeof(real));
    }
}

static rt_status take_trunk(rt_run *r, const rt_config *trunk)
{
    /* a branch that changes one of these keys starts with another theta */
    static const char *const starts[] = {"theta.init", "theta.init_sigma", "theta.init_from"};
    static const char *const origins[] = {[RT_BRANCH_FRESH] = "",
                                          [RT_BRANCH_CARRIED] = ", theta included",
                                          [RT_BRANCH_CONVERTED] = ", with the values of its theta"};
    const rt_checkpoint_model model = rt_run_checkpoint_model(r);
    rt_checkpoint_taken taken;
    bool anew = false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        anew |= !rt_key_value_equal(rt_key_at(rt_key_find(starts[i])), trunk, r->config);
    RT_TRY(rt_checkpoint_branch(&r->found.checkpoint, &model, anew, &taken));
    RT_TRY(rt_run_take_history(r, true));
    RT_TRY(rt_past_schedules_add(&r->config->optimizer, &trunk->optimizer, r->state->step));
    r->theta = taken.theta;
    if (r->theta == RT_BRANCH_CONVERTED)
        rt_transformer_set_theta(r->state->model, rt_transformer_theta_start(r->state->model));
    thaw(r, trunk);
    if (*r->trunk)
        RT_TRY(rt_metrics_check_trunk(r->trunk, r->config->model.theta.learn &&
                                                    r->theta == RT_BRANCH_CARRIED));
    rt_run_note(r, "branching from %s at step %d%s", r->found.path, r->state->step,
                origins[r->theta]);
    report_rest(r, &taken.fresh, "parameters that join");
    report_rest(r, &taken.left, "parameters of the trunk that are left behind");
    return rt_ok();
}

/* Opens the checkpoint or Hugging Face folder that the run starts from. */
static rt_status find_model(rt_run *r, const char *path, rt_which_checkpoint which)
{
    rt_status status = rt_trained_model_find(&r->found, path, which, NULL);
    if (*r->found.warnings)
        rt_run_say(r, "%s", r->found.warnings);
    return status;
}

/* Opens the trunk, checks its configuration, and continues its training. */
static rt_status branch(rt_run *r)
{
    rt_config *trunk = r->trunk_config = rt_alloc(1, sizeof *trunk);
    RT_TRY(rt_allocated(trunk, "a configuration"));
    r->branches = true;
    RT_TRY(find_model(r, r->config->train.trunk, RT_CHECKPOINT_TRUNK));
    if (r->found.imported)
        return rt_error(RT_CONFIG,
                        "train.trunk: %s is a model of another program, which has no training to "
                        "continue: train.init_from starts from it",
                        r->found.path);
    RT_TRY(rt_trained_model_configuration(trunk, &r->found, NULL, NULL));
    rt_run_folder_of(r->trunk, r->found.path); /* which has the rows of earlier steps */
    rt_session_take_moved(trunk, r->trunk, r->config, NULL);
    RT_TRY(rt_branch_check(trunk, r->config, r->found.checkpoint.info.step));
    RT_TRY(rt_run_open(r, true));
    return r->trainer ? take_trunk(r, trunk) : rt_ok();
}

/* Copies the parameters of train.init_from, if it is set. */
static rt_status start_from(rt_run *r)
{
    if (!r->config->train.init_from)
        return rt_ok();
    /* The head is copied if its classes are those of the data. */
    const bool has_head = rt_labels_equal(r->data->labels, r->meaning.labels);
    rt_transformer *model = r->state->model;
    rt_huggingface *imported = r->found.imported;
    rt_huggingface_taken taken;
    rt_checkpoint_taken parts;
    if (imported) {
        rt_run_warn_of_folder(r);
        RT_TRY(rt_huggingface_load(imported, model, has_head, &taken));
    } else {
        const rt_checkpoint_model own = rt_run_checkpoint_model(r);
        RT_TRY(rt_checkpoint_start_from(&r->found.checkpoint, &own, has_head, &parts));
    }
    const bool theta = imported ? taken.theta : parts.theta == RT_BRANCH_CARRIED;
    if (theta && model->options.theta.learn)
        rt_transformer_theta(model, rt_transformer_theta_start(model));
    const char *how = r->config->theta.init_from   ? "" /* which prepare reports */
                      : theta                      ? ", theta included"
                      : model->options.theta.learn ? ", theta as configured"
                                                   : "";
    if (imported)
        rt_run_note(r, "starting from %s%s", r->found.path, how);
    else if (r->found.newest)
        rt_run_note(r,
                    "starting from %s, the best evaluation, of step %" PRId64
                    ", since the run had train.patience (its newest is of step %" PRId64 ")%s",
                    r->found.path, r->found.checkpoint.info.step, r->found.newest, how);
    else
        rt_run_note(r, "starting from %s, step %" PRId64 "%s", r->found.path,
                    r->found.checkpoint.info.step, how);
    if (!theta && !r->config->theta.init_from)
        rt_run_warn_of_theta(r);
    if (!imported) {
        report_rest(r, &parts.fresh, "newly initialized parameters of the model");
        report_rest(r, &parts.left, "unexpected parameters of the checkpoint");
        return rt_ok();
    }
    if (!taken.head)
        rt_run_note(r, "the head of the model is newly initialized");
    const bool told = theta || imported->options.theta.learn;
    const char *other = rt_huggingface_difference(imported, &model->options, told);
    if (other)
        rt_run_say(r,
                   "warning: %s differs from the folder's model; %s --checkpoint %s --print-config "
                   "shows its values",
                   other, rt_program_name(), r->config->train.init_from);
    return rt_ok();
}

/* Reads the table of theta.init_from. */
static rt_status read_theta(const rt_config *config, double *theta)
{
    const rt_transformer_options *o = &config->model;
    const char *path = config->theta.init_from;
    return o->theta.learn ? rt_theta_table_read(path, o, rt_transformer_theta_shape(o),
                                                o->theta.form == RT_THETA_LOG, theta)
                          : rt_error(RT_CONFIG, "%.1000s: this model has no learned theta", path);
}

/* Opens a run that starts afresh or as a branch, with the parameters of train.init_from and the
 * theta of theta.init_from, if they are set. */
static rt_status prepare(rt_run *r)
{
    const char *origin = r->config->train.init_from, *path = r->config->theta.init_from;
    if (r->config->train.trunk) {
        RT_TRY(branch(r));
    } else {
        if (origin) /* before the trainer starts threads */
            RT_TRY(find_model(r, origin, RT_CHECKPOINT_OF_RUN));
        RT_TRY(rt_run_open(r, false));
        RT_TRY(start_from(r));
    }
    /* a branch may keep the theta of its trunk */
    if (r->theta != RT_BRANCH_FRESH || !path)
        return rt_ok();
    rt_transformer *model = r->state->model;
    double *theta = rt_transformer_theta_start(model);
    RT_TRY(read_theta(r->config, theta));
    rt_transformer_set_theta(model, theta);
    rt_run_note(r, "theta from %s", path);
    return rt_ok();
}

static rt_status refuse_used_folder(const rt_run *r)
{
    const rt_arguments *a = r->arguments;
    if (a->command != RT_COMMAND_TRAIN)
        return rt_ok();
    if (rt_is_sweep_folder(r->folder.path))
        return rt_error(RT_CONFIG, "%s holds a sweep: choose another run.name", r->folder.path);
    if (rt_is_huggingface(r->folder.path) && !(a->resume && rt_is_run_folder(r->folder.path)))
        return rt_error(RT_CONFIG, "%s holds an exported model: choose another run.name",
                        r->folder.path);
    if (a->resume || a->overwrite || !rt_run_folder_used(&r->folder))
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "%s already holds a run: give --resume to continue it, --overwrite to replace "
                    "it, or another run.name",
                    r->folder.path);
}

/* Opens what a run needs, before anything is created. Returns every error of a configuration that
 * cannot be trained, except errors of creating the run folder. */
static rt_status open_run(rt_run *r)
{
    RT_CLOSED_BY(rt_inputs_free) rt_inputs inputs = {0};
    RT_TRY(rt_run_folder_name(&r->folder, r->config->run.dir, r->config->run.name));
    RT_TRY(refuse_used_folder(r));
    if (r->arguments->resume)
        RT_TRY(find_own(r));
    if (!r->before) { /* from its start it must not remove or replace a file that it reads */
        rt_inputs_add_config(&inputs, r->config);
        RT_TRY(rt_run_folder_spare(&r->folder, &inputs));
    }
    return r->before ? rt_run_open(r, true) : prepare(r);
}

/* Names the engine in use where run.engine = auto would choose `other` for a new run, so that
 * config.ini trains with the same. */
static void name_engine(rt_run_options *o, rt_engine other)
{
    const rt_engine here = rt_engine_in_use();
    if (o->engine == RT_LIBRARY_AUTO && here != other)
        o->engine = here == RT_ENGINE_ONEDNN ? RT_LIBRARY_ONEDNN : RT_LIBRARY_OPENBLAS;
}

rt_status rt_run_begin(rt_run *r)
{
    rt_status status = open_run(r);
    if (r->world && !r->broadcast_done)
        status = rt_run_broadcast(r, status);
    RT_TRY(status);
    RT_TRY(rt_trainer_observe(r->trainer, r->arguments->trap, r->arguments->profile));
    RT_TRY(rt_run_folder_open(&r->folder, true));
    if (r->folder.unlocked)
        rt_run_say(r, RT_UNLOCKED_WARNING, r->folder.path, strerror(r->folder.unlocked));
    RT_TRY(refuse_used_folder(r)); /* another process may have trained here until it was locked */
    if (r->arguments->resume)
        RT_TRY(r->before ? load_own(r) : resume_afresh(r));
    if (r->arguments->overwrite) {
        rt_figures_clear(r->folder.path);
        RT_TRY(rt_run_folder_clear(&r->folder));
    }
    rt_trainer_share(r->trainer);
    name_engine(&r->config->run, rt_kernels_engine(r->config, ""));
    r->config_text = rt_config_ini(r->config);
    return rt_allocated(r->config_text, "a configuration");
}

rt_status rt_run_initial_theta(double **theta_new, const rt_config *config,
                               const rt_arguments *arguments)
{
    const rt_transformer_options *o = &config->model;
    const size_t count = rt_transformer_theta_count(o), scratch = (size_t)rt_transformer_pairs(o);
    rt_config own = *config;
    rt_arguments silent = *arguments;
    silent.quiet = true;
    RT_CLOSED_BY(rt_run_free) rt_run r = rt_run_new(&own, &silent);
    double *theta = *theta_new = rt_alloc(count + scratch, sizeof *theta);
    RT_TRY(rt_allocated(theta, "theta"));
    rt_transformer_theta_initial(o, config->run.seed, theta);
    if (!o->theta.learn || (!config->train.trunk && !config->train.init_from))
        return config->theta.init_from ? read_theta(config, theta) : rt_ok();
    RT_TRY(open_run(&r));
    memcpy(theta, rt_transformer_theta_start(r.state->model), count * sizeof *theta);
    return rt_ok();
}

rt_status rt_run_check(const rt_config *config, const rt_arguments *arguments, rt_memory_need *need)
{
    rt_config own = *config;
    rt_arguments silent = *arguments;
    silent.quiet = true;
    RT_CLOSED_BY(rt_run_free) rt_run r = rt_run_new(&own, &silent);
    r.checks = true;
    rt_status status = open_run(&r);
    if (need)
        *need = r.memory;
    return status;
}
