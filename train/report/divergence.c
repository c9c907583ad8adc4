#include "train/report/divergence.h"

#include <math.h>

double rt_divergence_limit(const rt_transformer_options *model)
{
    const int classes = model->head == RT_HEAD_LM ? model->vocab : model->labels;
    return classes > 1 ? 2 * log(classes) : INFINITY;
}

void rt_divergence_report(rt_writer *w, double loss, double limit)
{
    rt_writer_add(w,
                  "diverged: the loss %.6g is more than twice %.3g, the loss of random guessing; "
                  "try a smaller optimizer.lr or more optimizer.warmup_steps\n",
                  loss, limit / 2);
}
