#include "train/step/theta_reset.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

bool rt_theta_reset_hurts(const rt_theta_reset *r)
{
    const double rounding = 1e-12;
    const double least_accuracy = r->accuracy - 0.01 - rounding;
    const double most_loss = (r->accuracy < 0.9 ? r->loss : 1.5 * r->loss) + 0.01;
    return !(r->reset_accuracy >= least_accuracy && r->reset_loss <= most_loss); /* also for NaN */
}

/* ---- another theta ---- */

/* Copies the parameters that hold theta to `kept`, or back from it; NULL: only counts. Returns how
 * many numbers they are. */
static size_t copy_theta(rt_parameters *p, real *kept, bool keep)
{
    size_t count = 0;
    for (int i = 0; i < p->count; i++) {
        const size_t size = rt_size(&p->list[i]->tensor);
        real *theta = p->list[i]->tensor.data;
        if (p->list[i]->role != RT_ROLE_THETA)
            continue;
        if (kept)
            memcpy(keep ? kept + count : theta, keep ? theta : kept + count, size * sizeof *kept);
        count += size;
    }
    return count;
}

rt_status rt_theta_evaluate(rt_trainer *trainer, int length, int batches, const double *theta,
                            const rt_theta_change *change, rt_evaluation *result)
{
    rt_transformer *model = rt_trainer_state(trainer)->model;
    rt_parameters *p = &model->parameters;
    real *kept = NULL;
    if (theta) {
        kept = rt_alloc(copy_theta(p, NULL, true), sizeof *kept);
        if (!kept)
            return rt_out_of_memory("theta");
        copy_theta(p, kept, true);
        rt_transformer_set_theta(model, theta);
    } else {
        rt_trainer_change_theta(trainer, change);
    }
    rt_status status = rt_trainer_evaluate_batches(trainer, length, batches, result);
    if (theta)
        copy_theta(p, kept, false);
    else
        rt_trainer_change_theta(trainer, NULL);
    rt_free(kept);
    if (status.code != RT_NONFINITE)
        return status;
    *result = (rt_evaluation){.loss = (double)NAN}; /* --trap has found it */
    return rt_ok();
}

/* ---- tolerances ---- */

typedef struct search {
    rt_trainer *trainer;
    int length;
    double *theta; /* of the model; one of them changes for an evaluation */
    rt_evaluation own;
    int (*stop)(void); /* or NULL */
} search;

/* Steps of ln theta that are tried outwards, until one hurts. */
static const double rungs[] = {0.03, 0.1, 0.3, 1, RT_THETA_FARTHEST};
static const double nearest = 0.003; /* lower end of the range below the first rung */
_Static_assert(sizeof rungs / sizeof *rungs <= RT_THETA_EVALUATIONS, "the last rung is reached");

/* Finds the largest step of the n-th theta, in the direction `sign`, that does not hurt the model.
 */
static rt_status find_tolerance(const search *s, size_t n, int sign, double *tolerance)
{
    const double theta = s->theta[n];
    double good = 0, bad = 0;
    rt_status status = rt_ok();
    for (int i = 0; i < RT_THETA_EVALUATIONS && !status.code && good < RT_THETA_FARTHEST; i++) {
        const double step = bad > 0 ? sqrt(fmax(good, nearest) * bad) : rungs[i];
        rt_evaluation e = {0};
        if (s->stop && s->stop())
            return rt_ok();
        s->theta[n] = theta * exp(sign * step);
        status = rt_theta_evaluate(s->trainer, s->length, 1, s->theta, NULL, &e);
        s->theta[n] = theta;
        const bool hurts = rt_theta_reset_hurts(
            &(rt_theta_reset){s->own.loss, s->own.accuracy, e.loss, e.accuracy});
        *(hurts ? &bad : &good) = step;
    }
    *tolerance = good;
    return status;
}

rt_status rt_theta_tolerances(rt_trainer *trainer, int length, rt_theta_tolerance *tolerances,
                              int (*stop)(void), bool *stopped)
{
    const rt_transformer *model = rt_trainer_state(trainer)->model;
    const size_t count = rt_transformer_theta_count(&model->options);
    search s = {.trainer = trainer, .length = length, .stop = stop};
    s.theta = rt_alloc(count, sizeof *s.theta);
    if (!s.theta)
        return rt_out_of_memory("theta");
    rt_transformer_theta(model, s.theta);
    rt_status status = rt_theta_evaluate(trainer, length, 1, s.theta, NULL, &s.own);
    for (size_t n = 0; n < count && !status.code; n++) {
        status = find_tolerance(&s, n, -1, &tolerances[n].down);
        if (!status.code)
            status = find_tolerance(&s, n, 1, &tolerances[n].up);
    }
    rt_free(s.theta);
    *stopped = stop && stop();
    return status;
}
