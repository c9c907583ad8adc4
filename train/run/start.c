/* Where a run starts that is not resumed: the parameters of train.init_from, the theta of
 * theta.init_from. */

#include "train/run/state.h"

#include "text/program_name.h"
#include "train/run/found.h"
#include "train/run/other_theta.h"

/* Opens the model of another run, if one is named: before the trainer has threads. */
static rt_status open_start(rt_run *r)
{
    const rt_arguments named = {.checkpoint = r->config->train.init_from};
    rt_found found;
    if (!*named.checkpoint)
        return rt_ok();
    rt_status status = rt_find_checkpoint(&found, &named, NULL);
    if (*found.warnings)
        rt_progress_say(&r->progress, "%s", found.warnings);
    r->image = found.image;
    r->imported = found.imported;
    return status;
}

static void report_rest(rt_run *r, const rt_checkpoint_rest *rest, const char *what)
{
    if (rest->count && !r->arguments->quiet)
        rt_progress_say(&r->progress, "%s: %d, the first is %s", what, rest->count, rest->first);
}

static void report_start(rt_run *r, bool theta)
{
    rt_transformer *model = r->state->model;
    if (theta && model->options.theta.learn)
        rt_transformer_theta(model, rt_transformer_theta_start(model));
    if (!r->arguments->quiet)
        rt_progress_say(&r->progress, "starting from %s%s", r->config->train.init_from,
                        theta                        ? ", theta included"
                        : model->options.theta.learn ? ", theta as configured"
                                                     : "");
}

/* Whether the classes that the head tells apart are those of the data. */
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
    if (!taken.head && !r->arguments->quiet)
        rt_progress_say(&r->progress, "the head of the model is newly initialized");
    const char *other = rt_imported_difference(r->imported, &r->state->model->options, taken.theta);
    if (other)
        rt_progress_say(&r->progress,
                        "warning: %s differs from the folder's model; %s --checkpoint %s "
                        "--print-config shows its values",
                        other, rt_program_name(), r->config->train.init_from);
    return status;
}

/* Takes the parameters of train.init_from. */
static rt_status start_from(rt_run *r)
{
    const char *path = r->config->train.init_from;
    if (!*path)
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
    if (!*path)
        return rt_ok();
    rt_transformer *model = r->state->model;
    rt_status status = rt_theta_file_read(path, model, rt_transformer_theta_start(model));
    if (!status.code)
        rt_transformer_set_theta(model, rt_transformer_theta_start(model));
    if (!status.code && !r->arguments->quiet)
        rt_progress_say(&r->progress, "theta from %s", path);
    return status;
}

/* A branch takes theta from a file unless it has that of its trunk. */
static rt_status branch(rt_run *r)
{
    const rt_status status = rt_run_branch(r);
    return status.code || r->theta != RT_BRANCH_FRESH ? status : start_theta(r);
}

rt_status rt_run_prepare(rt_run *r)
{
    if (*r->config->train.trunk)
        return branch(r);
    rt_status status = open_start(r);
    if (!status.code)
        status = rt_run_open(r, NULL);
    if (!status.code)
        status = start_from(r);
    return status.code ? status : start_theta(r);
}
