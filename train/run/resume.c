#include "train/run/resume.h"

#include "core/memory.h"
#include "optim/schedule.h"
#include "train/config/config.h"

rt_status rt_run_compare(rt_run *r, rt_checkpoint_found *found)
{
    rt_checkpoint_info info = {0};
    rt_config before;
    char *errors = NULL;
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
    if (!status.code) {
        const rt_config_source source = {.path = found->path, .text = info.config, .trained = true};
        status = rt_config_load(&before, &source, &errors);
        if (status.code == RT_CONFIG)
            status.code = RT_CHECKPOINT;
    }
    if (!status.code) {
        r->steps_before = before.train.steps;
        r->log_every = before.run.log_every;
        r->eval_every = before.train.eval_every;
        r->theta_log = before.theta.log;
        rt_config_continue(r->config, &before);
        status = rt_config_compare(&before, (int)info.step, r->config, r->folder.path);
    }
    if (!status.code && rt_config_extends(&before, (int)info.step, r->config)) {
        r->extended = (int)info.step;
        r->before = rt_alloc(1, sizeof *r->before);
        if (r->before)
            *r->before = before;
        else
            status = rt_out_of_memory("a configuration");
    }
    rt_free(errors);
    rt_checkpoint_info_free(&info);
    return status;
}

/* More steps than the run was to take: its schedule has been until here. */
static rt_status extend(rt_run *r)
{
    rt_config *c = r->config;
    if (!r->before)
        return rt_ok();
    if (r->state->step != r->extended)
        return rt_error(RT_CONFIG, "another process has continued %s meanwhile", r->folder.path);
    rt_status status = rt_past_schedules_add(&c->optimizer, &r->before->optimizer, r->extended);
    char *changes = rt_config_extension(r->before, c);
    if (!status.code && !changes)
        status = rt_out_of_memory("a comparison");
    if (!status.code)
        rt_progress_say(&r->progress,
                        "extended from step %d on: %s; the learning rate is %.3g, "
                        "then %.3g, at the end %.3g",
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
        rt_progress_say(&r->progress, "%s", found.warnings);
    if (!found.found) {
        rt_progress_say(&r->progress, "%s has no checkpoint: starting afresh", r->folder.path);
        return rt_ok();
    }
    r->image = found.image;
    status = rt_run_load(r, found.path);
    if (!status.code)
        rt_progress_say(&r->progress, "resuming from %s", found.path);
    return status.code ? status : extend(r);
}
