/* How a run begins: from a checkpoint of its own, which it resumes and may extend to more steps; as
 * a branch, which continues the training of another run, its trunk, with another theta or learning
 * rate; or afresh, with the parameters of train.init_from and the theta of theta.init_from. */

#include "train/run/state.h"

#include "core/memory.h"
#include "core/path.h"
#include "optim/schedule.h"
#include "text/program_name.h"
#include "train/config/config.h"
#include "train/config/keys.h"
#include "train/run/found.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- resuming ---- */

rt_status rt_run_compare(rt_run *r, rt_checkpoint_found *found)
{
    rt_checkpoint_info info = {0};
    char *errors = NULL;
    rt_config *before = r->before = rt_alloc(1, sizeof *before);
    rt_status status = rt_checkpoint_tables(found->image, &r->words, &r->types);
    if (status.code)
        rt_image_close(found->image);
    else
        status = rt_checkpoint_read_info(found->image, &info);
    found->image = NULL;
    r->vocabulary = info.vocabulary;
    info.vocabulary = NULL;
    r->labels = info.labels;
    info.labels = NULL;
    if (!status.code && !before)
        status = rt_out_of_memory("a configuration");
    if (!status.code) {
        const rt_config_source source = {.path = found->path,
                                         .text = info.config,
                                         .purpose = RT_CONFIG_OF_RUN};
        status = rt_config_load(before, &source, &errors);
        if (status.code == RT_CONFIG)
            status.code = RT_CHECKPOINT;
    }
    if (!status.code) {
        rt_config_continue(r->config, before);
        status = rt_config_compare(before, (int)info.step, r->config, r->folder.path);
    }
    if (!status.code && rt_config_extends(before, (int)info.step, r->config))
        r->extended = (int)info.step;
    rt_free(errors);
    rt_checkpoint_info_free(&info);
    return status;
}

/* Adds the former schedule of a run that is extended, and reports the changes. */
static rt_status extend(rt_run *r)
{
    rt_config *c = r->config;
    if (!r->extended)
        return rt_ok();
    if (r->state->step != r->extended)
        return rt_error(RT_CONFIG, "another process has continued %s meanwhile", r->folder.path);
    rt_status status = rt_past_schedules_add(&c->optimizer, &r->before->optimizer, r->extended);
    char *changes = rt_config_extension(r->before, c);
    if (!status.code && !changes)
        status = rt_out_of_memory("a comparison");
    if (!status.code)
        rt_run_say(
            r,
            "extended from step %d on: %s; the learning rate is %.3g, then %.3g, at the end %.3g",
            r->extended + 1, changes, rt_learning_rate(&c->optimizer, r->extended),
            rt_learning_rate(&c->optimizer, r->extended + 1),
            rt_learning_rate(&c->optimizer, c->train.steps));
    rt_free(changes);
    return status;
}

rt_status rt_run_resume(rt_run *r)
{
    rt_checkpoint_found found;
    rt_status status = rt_checkpoint_newest(r->folder.checkpoints, RT_PARSE_HERE, &found);
    if (status.code)
        return status;
    if (*found.warnings)
        rt_run_say(r, "%s", found.warnings);
    if (!found.found) {
        rt_run_say(r, "%s has no checkpoint: starting afresh", r->folder.path);
        return rt_ok();
    }
    r->image = found.image;
    status = rt_run_load(r, found.path);
    if (!status.code)
        rt_run_say(r, "resuming from %s", found.path);
    return status.code ? status : extend(r);
}

/* ---- a branch ---- */

rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch, int64_t step)
{
    const char *path = branch->train.trunk;
    const bool rotates = branch->model.position.kind != RT_POSITION_NONE;
    char *differences = rt_config_differences(trunk, branch, RT_BRANCHED);
    rt_status status = rt_ok();
    if (!differences)
        return rt_out_of_memory("a comparison");
    if (*differences)
        status = rt_error(RT_CONFIG, "a branch of %.600s cannot change these keys:\n%s", path,
                          differences);
    else if (rotates && branch->model.position.kind != trunk->model.position.kind)
        status = rt_error(RT_CONFIG, "train.trunk: a branch keeps position.kind or has none");
    else if (rotates && trunk->model.theta.learn && !branch->model.theta.learn)
        status = rt_error(RT_CONFIG,
                          "train.trunk: theta was learned in %.600s, theta.learn = no would put "
                          "another in its place: train.freeze = theta keeps it",
                          path);
    else if (trunk->model.theta.head_scale && !branch->model.theta.head_scale)
        status = rt_error(RT_CONFIG,
                          "train.trunk: %.600s has learned factors of heads, theta.head_scale = no "
                          "would replace them by 1",
                          path);
    else if (step >= branch->train.steps)
        status =
            rt_error(RT_CONFIG,
                     "train.steps = %d: %.600s has taken %lld steps already; a branch needs more",
                     branch->train.steps, path, (long long)step);
    rt_free(differences);
    return status;
}

/* Returns whether the branch changes a key that decides where theta starts. */
static bool starts_anew(const rt_config *trunk, const rt_config *branch)
{
    static const char *const keys[] = {"theta.init", "theta.init_sigma", "theta.init_from"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!rt_key_equal(rt_key_at(rt_key_find_full(keys[i])), trunk, branch))
            return true;
    return false;
}

/* Finds FOLDER of FOLDER/checkpoints/step-00000600.h5, which has the rows of the steps before. */
static void find_folder(rt_run *r, const char *path)
{
    static const char folder[] = "/checkpoints/";
    const char *name = rt_path_name(path);
    const size_t length = (size_t)(name - path), own = sizeof folder - 1;
    *r->trunk = '\0';
    if (length > own && !strncmp(name - own, folder, own))
        snprintf(r->trunk, sizeof r->trunk, "%.*s", (int)(length - own), path);
}

/* Returns whether the trunk is this run, which a branch must not replace. */
static bool is_own_folder(const rt_run *r)
{
    struct stat own, trunk;
    return *r->trunk && !stat(r->folder.path, &own) && !stat(r->trunk, &trunk) &&
           own.st_dev == trunk.st_dev && own.st_ino == trunk.st_ino;
}

static void report_rest(rt_run *r, const rt_checkpoint_rest *rest, const char *what)
{
    if (rest->count)
        rt_run_note(r, "%s: %d, the first is %s", what, rest->count, rest->first);
}

static void report_branch(rt_run *r, const rt_checkpoint_branched *b)
{
    static const char *const theta[] = {[RT_BRANCH_FRESH] = "",
                                        [RT_BRANCH_CARRIED] = ", theta included",
                                        [RT_BRANCH_CONVERTED] = ", with the values of its theta"};
    rt_run_note(r, "branching from %s at step %d%s", r->config->train.trunk, r->state->step,
                theta[b->theta]);
    report_rest(r, &b->fresh, "parameters that join");
    report_rest(r, &b->left, "parameters of the trunk that are left behind");
}

/* Resets the optimizer states of parameters that the trunk froze and the branch trains: they have
 * seen no gradient. */
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

static rt_status take_trunk(rt_run *r, const rt_config *trunk, const char *path)
{
    const rt_checkpoint_model model = rt_run_checkpoint_model(r);
    rt_checkpoint_info info = {0};
    rt_checkpoint_branched branched;
    rt_status status =
        rt_checkpoint_branch(r->image, &model, starts_anew(trunk, r->config), &branched, &info);
    r->image = NULL;
    if (!status.code)
        status = rt_run_take_history(r, &info, true, path);
    if (!status.code)
        status = rt_past_schedules_add(&r->config->optimizer, &trunk->optimizer, r->state->step);
    rt_checkpoint_info_free(&info);
    if (status.code)
        return status;
    r->theta = branched.theta;
    if (r->theta == RT_BRANCH_CONVERTED)
        rt_transformer_set_theta(r->state->model, rt_transformer_theta_start(r->state->model));
    thaw(r, trunk);
    report_branch(r, &branched);
    return status;
}

/* Checks the configuration of the trunk. */
static rt_status check_trunk(rt_run *r, const rt_found *found, rt_config *trunk)
{
    rt_checkpoint_info info = {0};
    rt_status status = found->imported
                           ? rt_error(RT_CONFIG,
                                      "train.trunk: %s is a folder of Hugging Face, which has no "
                                      "training to continue: train.init_from starts from it",
                                      found->path)
                           : rt_found_configuration(trunk, found, NULL, NULL);
    if (!status.code)
        status = rt_checkpoint_look(found->image, &info);
    if (!status.code)
        status = rt_branch_check(trunk, r->config, info.step);
    rt_checkpoint_info_free(&info);
    return status;
}

/* Opens the trunk. rt_find_checkpoint does not read the states of the optimizer: the file is opened
 * again. */
static rt_status open_trunk(rt_run *r, rt_config *trunk, char path[RT_PATH_SIZE])
{
    rt_found found;
    rt_status status = rt_find_checkpoint(&found, r->config->train.trunk, RT_CHECKPOINT_LAST, NULL);
    if (*found.warnings)
        rt_run_say(r, "%s", found.warnings);
    if (!status.code)
        status = check_trunk(r, &found, trunk);
    snprintf(path, RT_PATH_SIZE, "%s", found.path);
    rt_found_close(&found);
    find_folder(r, path);
    if (!status.code && is_own_folder(r))
        status =
            rt_error(RT_CONFIG,
                     "train.trunk: %.600s is a checkpoint of this run: choose another run.name",
                     path);
    if (status.code)
        return status;
    r->image = rt_image_open(path, RT_PARSE_APART);
    return rt_image_status(r->image);
}

static rt_status branch(rt_run *r)
{
    char path[RT_PATH_SIZE];
    rt_config trunk;
    r->branches = true;
    rt_status status = open_trunk(r, &trunk, path);
    if (!status.code)
        status = rt_run_open(r, path);
    return status.code || !r->trainer ? status : take_trunk(r, &trunk, path);
}

/* ---- a fresh run ---- */

/* Opens the model of train.init_from, before the trainer has threads. */
static rt_status open_start(rt_run *r)
{
    rt_found found;
    if (!r->config->train.init_from)
        return rt_ok();
    rt_status status = rt_find_checkpoint(&found, r->config->train.init_from, RT_CHECKPOINT_LAST, NULL);
    if (*found.warnings)
        rt_run_say(r, "%s", found.warnings);
    r->image = found.image;
    r->imported = found.imported;
    return status;
}

static void report_start(rt_run *r, bool theta)
{
    rt_transformer *model = r->state->model;
    if (theta && model->options.theta.learn)
        rt_transformer_theta(model, rt_transformer_theta_start(model));
    rt_run_note(r, "starting from %s%s", r->config->train.init_from,
                theta                        ? ", theta included"
                : model->options.theta.learn ? ", theta as configured"
                                             : "");
}

/* Returns whether the head of the model has the classes of the data. */
static bool has_same_classes(const rt_run *r)
{
    return rt_labels_equal(rt_data_labels(r->data), r->labels);
}

static rt_status start_from_folder(rt_run *r)
{
    rt_huggingface_taken taken;
    rt_run_warn_of_folder(r);
    rt_status status = rt_imported_load(r->imported, r->state->model, has_same_classes(r), &taken);
    if (status.code)
        return status;
    report_start(r, taken.theta);
    if (!taken.head)
        rt_run_note(r, "the head of the model is newly initialized");
    const char *other = rt_imported_difference(r->imported, &r->state->model->options, taken.theta);
    if (other)
        rt_run_say(r,
                   "warning: %s differs from the folder's model; %s --checkpoint %s --print-config "
                   "shows its values",
                   other, rt_program_name(), r->config->train.init_from);
    return status;
}

/* Takes the parameters of train.init_from. */
static rt_status start_from(rt_run *r)
{
    const char *path = r->config->train.init_from;
    if (!path)
        return rt_ok();
    if (r->imported)
        return start_from_folder(r);
    const rt_checkpoint_model model = rt_run_checkpoint_model(r);
    rt_checkpoint_info info = {0};
    rt_checkpoint_start start;
    rt_status status =
        rt_checkpoint_start_from(r->image, &model, has_same_classes(r), &start, &info);
    r->image = NULL;
    rt_checkpoint_info_free(&info);
    if (status.code)
        return status;
    report_start(r, start.theta);
    report_rest(r, &start.fresh, "newly initialized parameters of the model");
    report_rest(r, &start.left, "unexpected parameters of the checkpoint");
    return rt_ok();
}

/* Takes theta from theta.init_from. */
static rt_status start_theta(rt_run *r)
{
    const char *path = r->config->theta.init_from;
    if (!path)
        return rt_ok();
    rt_transformer *model = r->state->model;
    rt_status status = rt_theta_file_read(path, model, rt_transformer_theta_start(model));
    if (!status.code)
        rt_transformer_set_theta(model, rt_transformer_theta_start(model));
    if (!status.code)
        rt_run_note(r, "theta from %s", path);
    return status;
}

rt_status rt_run_prepare(rt_run *r)
{
    const bool branches = r->config->train.trunk != NULL;
    rt_status status = branches ? branch(r) : open_start(r);
    if (!status.code && !branches)
        status = rt_run_open(r, NULL);
    if (!status.code && !branches)
        status = start_from(r);
    /* a branch may have the theta of its trunk */
    return status.code || r->theta != RT_BRANCH_FRESH ? status : start_theta(r);
}
