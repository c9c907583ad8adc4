/* Saving a model: as a checkpoint, or as a folder of Hugging Face. */

#include "io/origin.h"

#include "core/memory.h"
#include "io/huggingface/huggingface.h"
#include "ops/engine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What was measured of the model as it was opened may hold no more. */
static rt_checkpoint_info info_of(const rt_model *m)
{
    rt_checkpoint_info info = m->origin->info;
    info.step = m->step;
    info.eval_loss = info.best_eval_loss = info.patience_loss = INFINITY;
    info.best_eval_step = info.patience_count = 0;
    rt_kernels_describe(info.blas);
    return info;
}

static rt_status check_made(const rt_model *m)
{
    return m->origin && m->transformer
               ? rt_ok()
               : rt_error(RT_ARGUMENT,
                          "the model was made by hand: rt_model_new makes one that can "
                          "be saved");
}

rt_status rt_model_save(const rt_model *m, const char *path)
{
    const rt_status made = check_made(m);
    if (made.code)
        return made;
    const rt_checkpoint_info info = info_of(m);
    if (info.step < m->origin->info.step || info.step > RT_CHECKPOINT_STEPS)
        return rt_error(RT_ARGUMENT,
                        "the step of the model must be from %" PRId64 " to %d; got %" PRId64,
                        m->origin->info.step, RT_CHECKPOINT_STEPS, info.step);
    real *zeros = rt_alloc(m->transformer->parameters.block_size, sizeof *zeros);
    if (!zeros)
        return rt_out_of_memory("a checkpoint");
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    const rt_checkpoint_model model =
        rt_checkpoint_model_of(m->transformer, &m->origin->data_options,
                               rt_update_rule_of(&settings),
                               (real *const[RT_MOST_STATES]){zeros, zeros});
    rt_status status = rt_checkpoint_save(path, &model, &info);
    rt_free(zeros);
    return status;
}

rt_status rt_model_export(const rt_model *m, const char *folder)
{
    const rt_status made = check_made(m);
    if (made.code)
        return made;
    const rt_huggingface_export export = {.vocabulary = m->vocabulary,
                                          .lowercase = m->vocabulary && m->vocabulary->lowercase,
                                          .labels = m->labels
                                                        ? (const char *const *)m->labels->names
                                                        : NULL,
                                          .length = m->length,
                                          .bare = !rt_data_begins(m->origin->data),
                                          .open_ended = !rt_data_ends(m->origin->data)};
    return rt_huggingface_write(folder, m->transformer, &export);
}
