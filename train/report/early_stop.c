#include "train/report/early_stop.h"

void rt_early_stop_report(rt_writer *w, int step, const rt_train_options *o)
{
    rt_writer_add(w, "stopped early at step %d of %d: the evaluation loss has not improved", step,
                  o->steps);
    if (o->min_delta > 0)
        rt_writer_add(w, " by %g (train.min_delta)", o->min_delta);
    rt_writer_add(w, " in %d evaluation%s (train.patience)\n", o->patience,
                  o->patience > 1 ? "s" : "");
}
