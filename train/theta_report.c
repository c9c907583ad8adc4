#include "train/theta_report.h"

#include "core/memory.h"
#include "train/optimizer.h"

#include <math.h>

rt_status rt_theta_visit(const rt_roformer *model, rt_theta_visitor visit, void *context)
{
    const rt_roformer_options *o = &model->options;
    if (!o->theta.learn)
        return rt_ok();
    const rt_shape shape = rt_roformer_theta_shape(o);
    const int rows = shape.axis[1], pairs = shape.axis[2];
    double *theta = rt_alloc(rt_shape_size(shape), sizeof *theta);
    double *geometric = rt_alloc((size_t)pairs, sizeof *geometric);
    if (theta && geometric) {
        rt_roformer_theta(model, theta);
        rt_theta_geometric(geometric, pairs, o->position.frequencies.base);
        for (int n = 0; n < shape.axis[0] * rows * pairs; n++) {
            const rt_theta_entry entry = {
                .layer = o->theta.scope == RT_THETA_MODEL ? -1 : n / pairs / rows,
                .head = o->theta.scope == RT_THETA_HEAD ? n / pairs % rows : -1,
                .pair = n % pairs,
                .theta = theta[n],
                .start = model->theta_start[n],
                .geometric = geometric[n % pairs]};
            visit(context, &entry);
        }
    }
    rt_status status = theta && geometric ? rt_ok() : rt_out_of_memory("a report on theta");
    rt_free(theta);
    rt_free(geometric);
    return status;
}

/* ---- measures ---- */

typedef struct measures {
    double drift, grid, phase, moved; /* moved: of the parameter itself, theta or ln theta */
} measures;

static measures measure(const rt_config *c, double theta, double from)
{
    const double step = log(c->model.position.frequencies.base) / rt_roformer_pairs(&c->model);
    const double log_ratio = theta > 0 && from > 0 ? fabs(log(theta / from)) : INFINITY;
    const bool logarithm = c->model.theta.form == RT_THETA_LOG;
    return (measures){.drift = fabs(theta / from - 1),
                      .grid = log_ratio / step,
                      .phase = fabs(theta - from) * (c->data.length - 1),
                      .moved = logarithm ? log_ratio : fabs(theta - from)};
}

typedef struct judging {
    const rt_config *config;
    rt_theta_verdict *verdict;
    int count;
    double product, squares, geometric_squares; /* of logarithms */
} judging;

static void keep_worst(rt_theta_worst *worst, double value, const rt_theta_entry *e, double grid)
{
    if (!(value <= worst->value) && !isnan(worst->value)) /* nothing is worse than a NaN */
        *worst = (rt_theta_worst){value, e->layer, e->head, e->pair, grid};
}

static void judge_one(void *context, const rt_theta_entry *e)
{
    judging *j = context;
    const double logarithm = log(e->theta), geometric = log(e->geometric);
    const measures m = measure(j->config, e->theta, e->geometric);
    const measures from_start = measure(j->config, e->theta, e->start);
    keep_worst(&j->verdict->drift, m.drift, e, m.grid);
    keep_worst(&j->verdict->phase, m.phase, e, m.grid);
    keep_worst(&j->verdict->from_start, from_start.drift, e, from_start.grid);
    j->verdict->elsewhere |= e->start != e->geometric;
    j->verdict->mean_drift += m.drift;
    j->count++;
    j->product += logarithm * geometric;
    j->squares += logarithm * logarithm;
    j->geometric_squares += geometric * geometric;
}

rt_status rt_theta_judge(rt_theta_verdict *verdict, const rt_roformer *model,
                         const rt_config *config)
{
    judging j = {.config = config, .verdict = verdict};
    *verdict = (rt_theta_verdict){.drift.value = -1, .phase.value = -1, .from_start.value = -1};
    rt_status status = rt_theta_visit(model, judge_one, &j);
    verdict->mean_drift /= j.count;
    verdict->cosine = j.product / sqrt(j.squares * j.geometric_squares);
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

static void print_row(void *context, const rt_theta_entry *e)
{
    const printing *p = context;
    const measures m = measure(p->config, e->theta, e->start);
    char layer_text[16], head_text[16];
    fprintf(p->to, "%5s  %4s  %3d  %12.6g  %12.6g  %9.4f  %6.3f  %7.3f",
            number_or_all(layer_text, e->layer), number_or_all(head_text, e->head), e->pair,
            e->start, e->theta, m.drift, m.grid, m.phase);
    if (p->config->optimizer.kind == RT_ADAMW && p->reach > 0)
        fprintf(p->to, "  %5.1f%%", 100 * m.moved / p->reach);
    fputc('\n', p->to);
}

/* "layer 0, head 1, i 2; 0.09 grid steps" */
static void print_place(FILE *to, const rt_theta_worst *w)
{
    char layer[16];
    fprintf(to, "layer %s, ", number_or_all(layer, w->layer));
    if (w->head >= 0)
        fprintf(to, "head %d, ", w->head);
    fprintf(to, "i %d; %.2g grid steps", w->pair, w->grid);
}

static void print_verdict(FILE *to, const rt_theta_verdict *v, const rt_config *c)
{
    char tolerance[32];
    const double hundredths = 100 * c->theta.tolerance;
    const bool coarse = fabs(hundredths - round(hundredths)) < 1e-9;
    snprintf(tolerance, sizeof tolerance, coarse ? "%.2f" : "%g", c->theta.tolerance);
    if (v->elsewhere) {
        fprintf(to, "theta started elsewhere: max relative drift from its start %.3g (",
                v->from_start.value);
        print_place(to, &v->from_start);
        fprintf(to, ")\n");
    }
    fprintf(to, "theta: max relative drift %.3g (", v->drift.value);
    print_place(to, &v->drift);
    fprintf(to, "), max phase drift %.3g rad over %d positions: %s (tolerance %s)\n",
            v->phase.value, c->data.length - 1, v->near ? "near" : "moved", tolerance);
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
