/* How a run begins that continues the training of another as a branch: the trunk's parameters, the
 * states of its optimizer, its step and its batches, with a theta or a learning rate of its own. */

#include "train/run/branch.h"

#include "train/run/state.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/config/config.h"
#include "train/config/keys.h"
#include "train/run/found.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* RT_CONFIG names the keys that a branch cannot change. */
static rt_status compare(const rt_config *trunk, const rt_config *branch)
{
    char *differences = rt_config_differences(trunk, branch, RT_BRANCHED);
    rt_status status = rt_ok();
    if (!differences)
        return rt_out_of_memory("a comparison");
    if (*differences)
        status = rt_error(RT_CONFIG, "a branch of %.600s cannot change these keys:\n%s",
                          branch->train.trunk, differences);
    else if (branch->model.position.kind != RT_POSITION_NONE &&
             branch->model.position.kind != trunk->model.position.kind)
        status = rt_error(RT_CONFIG, "train.trunk: a branch keeps position.kind or has none");
    else if (trunk->model.theta.learn && !branch->model.theta.learn &&
             branch->model.position.kind != RT_POSITION_NONE)
        status = rt_error(RT_CONFIG,
                          "train.trunk: theta was learned in %.600s, theta.learn = no would put "
                          "another in its place: train.freeze = theta keeps it",
                          branch->train.trunk);
    else if (trunk->model.theta.head_scale && !branch->model.theta.head_scale)
        status = rt_error(RT_CONFIG,
                          "train.trunk: %.600s has learned factors of heads, theta.head_scale = no "
                          "would replace them by 1",
                          branch->train.trunk);
    rt_free(differences);
    return status;
}

static rt_status check_steps(const rt_config *branch, int64_t step)
{
    if (step < branch->train.steps)
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "train.steps = %d: %.600s has taken %lld steps already; a branch needs more",
                    branch->train.steps, branch->train.trunk, (long long)step);
}

rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch, int64_t step)
{
    const rt_status status = compare(trunk, branch);
    return status.code ? status : check_steps(branch, step);
}

/* Keys that decide where theta starts. A branch that has them otherwise starts there. */
static bool starts_anew(const rt_config *trunk, const rt_config *branch)
{
    static const char *const keys[] = {"theta.init", "theta.init_sigma", "theta.init_from"};
    char one[RT_VALUE_SIZE], other[RT_VALUE_SIZE];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const rt_key *key = rt_key_at(rt_key_find_full(keys[i]));
        if (strcmp(rt_key_write(key, trunk, one), rt_key_write(key, branch, other)) != 0)
            return true;
    }
    return false;
}

/* FOLDER of FOLDER/checkpoints/step-00000600.h5: where the rows until there are. */
static void find_folder(rt_run *r, const char *path)
{
    static const char folder[] = "/checkpoints/";
    const char *name = rt_path_name(path);
    const size_t length = (size_t)(name - path), own = sizeof folder - 1;
    *r->trunk = '\0';
    if (length > own && !strncmp(name - own, folder, own))
        snprintf(r->trunk, sizeof r->trunk, "%.*s", (int)(length - own), path);
}

/* A branch must not replace what it comes from. */
static bool is_own_folder(const rt_run *r)
{
    struct stat own, trunk;
    return *r->trunk && !stat(r->folder.path, &own) && !stat(r->trunk, &trunk) &&
           own.st_dev == trunk.st_dev && own.st_ino == trunk.st_ino;
}

static void report(rt_run *r, const rt_checkpoint_branched *b)
{
    static const char *const theta[] = {[RT_BRANCH_FRESH] = "",
                                        [RT_BRANCH_CARRIED] = ", theta included",
                                        [RT_BRANCH_CONVERTED] = ", with the values of its theta"};
    if (r->arguments->quiet)
        return;
    rt_progress_say(&r->progress, "branching from %s at step %d%s", r->config->train.trunk,
                    r->state->step, theta[b->theta]);
    if (b->fresh.count)
        rt_progress_say(&r->progress, "parameters that join: %d, the first is %s", b->fresh.count,
                        b->fresh.first);
    if (b->left.count)
        rt_progress_say(&r->progress,
                        "parameters of the trunk that are left behind: %d, the first "
                        "is %s",
                        b->left.count, b->left.first);
}

/* The learning rate until here was the trunk's. */
static rt_status keep_schedule(rt_run *r, const rt_config *trunk)
{
    return rt_past_schedules_add(&r->config->optimizer, &trunk->optimizer, r->state->step);
}

/* What the trunk froze and the branch trains joins here: its states have seen no gradient. */
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

static rt_status take(rt_run *r, const rt_config *trunk, const char *path)
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
        status = keep_schedule(r, trunk);
    rt_checkpoint_info_free(&info);
    if (status.code)
        return status;
    r->theta = branched.theta;
    if (r->theta == RT_BRANCH_CONVERTED)
        rt_transformer_set_theta(r->state->model, rt_transformer_theta_start(r->state->model));
    thaw(r, trunk);
    report(r, &branched);
    return status;
}

/* What stands in the file, apart from its numbers. */
static rt_status look(rt_run *r, const rt_found *found, rt_config *trunk)
{
    char *errors = NULL;
    rt_checkpoint_info info = {0};
    rt_status status =
        found->imported
            ? rt_error(RT_CONFIG,
                       "train.trunk: %s is a folder of Hugging Face, which has no training to "
                       "continue: train.init_from starts from it",
                       found->path)
            : rt_found_configuration(trunk, found, &(rt_arguments){0}, &errors);
    rt_free(errors);
    if (!status.code)
        status = rt_checkpoint_look(found->image, &info);
    if (!status.code)
        status = rt_branch_check(trunk, r->config, info.step);
    rt_checkpoint_info_free(&info);
    return status;
}

/* Who uses a model has not read the states of its optimizer: the file is opened once more. */
static rt_status open_trunk(rt_run *r, rt_config *trunk, char path[RT_PATH_SIZE])
{
    const rt_arguments named = {.checkpoint = r->config->train.trunk};
    rt_found found;
    rt_status status = rt_find_checkpoint(&found, &named, NULL);
    if (*found.warnings)
        rt_progress_say(&r->progress, "%s", found.warnings);
    if (!status.code)
        status = look(r, &found, trunk);
    snprintf(path, RT_PATH_SIZE, "%s", found.path);
    rt_found_close(&found);
    find_folder(r, path);
    if (!status.code && is_own_folder(r))
        status = rt_error(RT_CONFIG,
                          "train.trunk: %.600s is a checkpoint of this run: choose "
                          "another run.name",
                          path);
    if (status.code)
        return status;
    r->image = rt_image_open(path, RT_PARSE_APART);
    return rt_image_status(r->image);
}

rt_status rt_run_branch(rt_run *r)
{
    char path[RT_PATH_SIZE];
    rt_config trunk;
    r->branches = true;
    rt_status status = open_trunk(r, &trunk, path);
    if (!status.code)
        status = rt_run_open(r, path);
    return status.code || !r->trainer ? status : take(r, &trunk, path);
}
