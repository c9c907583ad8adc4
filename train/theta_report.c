#include "train/theta_report.h"

#include "core/memory.h"
#include "train/optimizer.h"

#include <math.h>

rt_status rt_theta_visit(const rt_roformer *model, rt_theta_visitor visit, void *context)
{
    const rt_roformer_options *o = &model->options;
    const int pairs = rt_roformer_pairs(o);
    const int layers = o->theta.scope == RT_THETA_MODEL ? 1 : o->layers;
    if (!o->theta.learn)
        return rt_ok();
    double *initial = rt_alloc((size_t)pairs, sizeof *initial);
    double *theta = rt_alloc((size_t)pairs * (size_t)o->heads, sizeof *theta);
    if (initial && theta)
        rt_roformer_initial_theta(o, initial);
    for (int l = 0; initial && theta && l < layers; l++) {
        const int rows = rt_roformer_theta(model, l, theta);
        for (int h = 0; h < rows; h++)
            for (int i = 0; i < pairs; i++)
                visit(context, o->theta.scope == RT_THETA_MODEL ? -1 : l,
                      o->theta.scope == RT_THETA_HEAD ? h : -1, i, theta[h * pairs + i],
                      initial[i]);
    }
    rt_status status = initial && theta ? rt_ok() : rt_out_of_memory("a report on theta");
    rt_free(initial);
    rt_free(theta);
    return status;
}

/* ---- measures ---- */

typedef struct measures {
    double drift, grid, phase, moved; /* moved: of the parameter itself, theta or ln theta */
} measures;

static measures measure(const rt_config *c, double theta, double initial)
{
    const double step = log(c->model.position.base) / rt_roformer_pairs(&c->model);
    const double log_ratio = theta > 0 ? fabs(log(theta / initial)) : INFINITY;
    const bool logarithm = c->model.theta.form == RT_THETA_LOG;
    return (measures){.drift = fabs(theta / initial - 1),
                      .grid = log_ratio / step,
                      .phase = fabs(theta - initial) * (c->data.length - 1),
                      .moved = logarithm ? log_ratio : fabs(theta - initial)};
}

typedef struct judging {
    const rt_config *config;
    rt_theta_verdict *verdict;
} judging;

static void keep_worst(rt_theta_worst *worst, double value, int layer, int head, int pair,
                       double grid)
{
    if (!(value <= worst->value) && !isnan(worst->value)) /* nothing is worse than a NaN */
        *worst = (rt_theta_worst){value, layer, head, pair, grid};
}

static void judge_one(void *context, int layer, int head, int pair, double theta, double initial)
{
    const judging *j = context;
    const measures m = measure(j->config, theta, initial);
    keep_worst(&j->verdict->drift, m.drift, layer, head, pair, m.grid);
    keep_worst(&j->verdict->phase, m.phase, layer, head, pair, m.grid);
}

rt_status rt_theta_judge(rt_theta_verdict *verdict, const rt_roformer *model,
                         const rt_config *config)
{
    judging j = {config, verdict};
    *verdict = (rt_theta_verdict){.drift.value = -1, .phase.value = -1};
    rt_status status = rt_theta_visit(model, judge_one, &j);
    verdict->near = verdict->drift.value <= config->theta.tolerance;
    return status;
}

/* ---- print ---- */

/* "0", or "all" where layers or heads share. */
static const char *number_or_all(char text[16], int number)
{
    snprintf(text, 16, number < 0 ? "all" : "%d", number);
    return text;
}

typedef struct printing {
    FILE *to;
    const rt_config *config;
    double reach; /* how far Adam could have gone */
} printing;

static void print_row(void *context, int layer, int head, int pair, double theta, double initial)
{
    const printing *p = context;
    const measures m = measure(p->config, theta, initial);
    char layer_text[16], head_text[16];
    fprintf(p->to, "%5s  %4s  %3d  %12.6g  %12.6g  %9.4f  %6.3f  %7.3f",
            number_or_all(layer_text, layer), number_or_all(head_text, head), pair, initial, theta,
            m.drift, m.grid, m.phase);
    if (p->config->optimizer.kind == RT_ADAMW && p->reach > 0)
        fprintf(p->to, "  %5.1f%%", 100 * m.moved / p->reach);
    fputc('\n', p->to);
}

static void print_verdict(FILE *to, const rt_theta_verdict *v, const rt_config *c)
{
    char layer[16], tolerance[32];
    const double hundredths = 100 * c->theta.tolerance;
    const bool coarse = fabs(hundredths - round(hundredths)) < 1e-9;
    snprintf(tolerance, sizeof tolerance, coarse ? "%.2f" : "%g", c->theta.tolerance);
    fprintf(to, "theta: max relative drift %.3g (layer %s, ", v->drift.value,
            number_or_all(layer, v->drift.layer));
    if (v->drift.head >= 0)
        fprintf(to, "head %d, ", v->drift.head);
    fprintf(to,
            "i %d; %.2g grid steps), max phase drift %.3g rad over %d positions: ", v->drift.pair,
            v->drift.grid, v->phase.value, c->data.length - 1);
    fprintf(to, "%s (tolerance %s)\n", v->near ? "near" : "moved", tolerance);
}

rt_status rt_theta_print(FILE *to, const rt_roformer *model, const rt_config *config, int steps)
{
    printing p = {.to = to, .config = config};
    rt_theta_verdict verdict;
    for (int step = 1; step <= steps; step++)
        p.reach += rt_learning_rate(&config->optimizer, step) * config->optimizer.theta_lr_scale;
    rt_status status = rt_theta_judge(&verdict, model, config);
    if (status.code)
        return status;
    const bool adam = config->optimizer.kind == RT_ADAMW && p.reach > 0;
    fprintf(to, "layer  head    i        theta0         theta      drift    grid    phase%s\n",
            adam ? "    used" : "");
    status = rt_theta_visit(model, print_row, &p);
    if (adam)
        fprintf(to,
                "grid: in steps between neighbouring theta; phase: radians over %d positions; "
                "used: of the %.3g that Adam could have moved %s\n",
                config->data.length - 1, p.reach,
                config->model.theta.form == RT_THETA_LOG ? "ln theta" : "theta");
    print_verdict(to, &verdict, config);
    return status;
}
