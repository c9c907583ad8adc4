#include "train/report/theta_report.h"

#include "core/memory.h"
#include "train/step/optimizer.h"
#include "train/text/writer.h"

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
    double *use = rt_alloc(rt_shape_size(shape), sizeof *use);
    const bool ready = theta && geometric && use;
    if (ready) {
        rt_roformer_theta(model, theta);
        rt_roformer_theta_use(model, use);
        rt_theta_geometric(geometric, pairs, o->position.frequencies.base);
        for (int n = 0; n < shape.axis[0] * rows * pairs; n++) {
            const rt_theta_entry entry = {
                .layer = o->theta.scope == RT_THETA_MODEL ? -1 : n / pairs / rows,
                .head = o->theta.scope == RT_THETA_HEAD ? n / pairs % rows : -1,
                .pair = n % pairs,
                .theta = theta[n],
                .start = model->theta_start[n],
                .geometric = geometric[n % pairs],
                .use = use[n]};
            visit(context, &entry);
        }
    }
    rt_status status = ready ? rt_ok() : rt_out_of_memory("a report on theta");
    rt_free(theta);
    rt_free(geometric);
    rt_free(use);
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
    fprintf(p->to, "%5s  %4s  %3d  %12.6g  %12.6g  %9.4f  %6.3f  %7.3f  %4.1f%%",
            number_or_all(layer_text, e->layer), number_or_all(head_text, e->head), e->pair,
            e->start, e->theta, m.drift, m.grid, m.phase, 100 * e->use);
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
    fprintf(to,
            "layer  head    i        theta0         theta      drift    grid    phase    use%s\n",
            adam ? "    used" : "");
    status = rt_theta_visit(model, print_row, &p);
    fprintf(to,
            "grid: in steps between neighbouring theta; phase: radians over %d positions; use: "
            "share of the query and key weights that it turns",
            config->data.length - 1);
    if (adam)
        fprintf(to, "; used: of the %.3g that Adam could have moved %s", p.reach,
                config->model.theta.form == RT_THETA_LOG ? "ln theta" : "theta");
    fputc('\n', to);
    print_verdict(to, &verdict, config);
    return status;
}

/* ---- CSV ---- */

typedef struct listing {
    rt_writer text;
    const rt_config *config;
} listing;

static void add_row(void *context, const rt_theta_entry *e)
{
    listing *l = context;
    const measures m = measure(l->config, e->theta, e->start);
    const double drift = fabs(e->theta / e->geometric - 1);
    char layer[16], head[16];
    rt_writer_add(&l->text, "%s,%s,%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n",
                  number_or_all(layer, e->layer), number_or_all(head, e->head), e->pair, e->theta,
                  e->start, e->geometric, drift, m.drift, m.grid, m.phase, e->use);
}

char *rt_theta_csv(const rt_roformer *model, const rt_config *config)
{
    listing l = {.config = config};
    rt_writer_add(&l.text, "layer,head,i,theta,theta_initial,geometric,drift,drift_from_start,"
                           "grid,phase,use\n");
    rt_status status = rt_theta_visit(model, add_row, &l);
    if (status.code) {
        rt_writer_free(&l.text);
        return NULL;
    }
    return rt_writer_take(&l.text);
}
