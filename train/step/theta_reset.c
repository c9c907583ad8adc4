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

/* Copies the parameters that hold theta between the model and `kept`, which has room for all of
 * its parameters; returns how many numbers they are. */
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
                            rt_evaluation *result)
{
    rt_transformer *model = rt_trainer_state(trainer)->model;
    rt_parameters *p = &model->parameters;
    real *kept = rt_alloc(copy_theta(p, NULL, true), sizeof *kept);
    if (!kept)
        return rt_out_of_memory("theta");
    copy_theta(p, kept, true);
    rt_transformer_set_theta(model, theta);
    rt_status status = rt_trainer_evaluate_batches(trainer, length, batches, result);
    copy_theta(p, kept, false);
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

/* Whether e^step times the n-th theta hurts the model. */
static rt_status try_step(const search *s, size_t n, double step, bool *hurts)
{
    const double theta = s->theta[n];
    rt_evaluation other = {0};
    s->theta[n] = theta * exp(step);
    rt_status status = rt_theta_evaluate(s->trainer, s->length, 1, s->theta, &other);
    s->theta[n] = theta;
    *hurts = rt_theta_reset_hurts(
        &(rt_theta_reset){s->own.loss, s->own.accuracy, other.loss, other.accuracy});
    return status;
}

/* The bounds of the range that holds the limit: steps of nearest ... RT_THETA_FARTHEST. */
static const double rungs[] = {0.03, 0.1, 0.3, 1, RT_THETA_FARTHEST};
static const double nearest = 0.003;
_Static_assert(sizeof rungs / sizeof *rungs <= RT_THETA_EVALUATIONS, "the last rung is reached");

static rt_status find_tolerance(const search *s, size_t n, int sign, double *tolerance)
{
    double good = 0, bad = 0;
    rt_status status = rt_ok();
    for (int i = 0; i < RT_THETA_EVALUATIONS && !status.code && good < RT_THETA_FARTHEST; i++) {
        const double step = bad > 0 ? sqrt(fmax(good, nearest) * bad) : rungs[i];
        bool hurts;
        if (s->stop && s->stop())
            return rt_ok();
        status = try_step(s, n, sign * step, &hurts);
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
    rt_status status = rt_theta_evaluate(trainer, length, 1, s.theta, &s.own);
    for (size_t n = 0; n < count && !status.code; n++) {
        status = find_tolerance(&s, n, -1, &tolerances[n].down);
        if (!status.code)
            status = find_tolerance(&s, n, 1, &tolerances[n].up);
    }
    rt_free(s.theta);
    *stopped = stop && stop();
    return status;
}
