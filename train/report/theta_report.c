#include "train/report/report.h"

#include "core/memory.h"
#include "optim/options.h"
#include "util/csv.h"
#include "util/number.h"

#include <limits.h>
#include <math.h>

rt_status rt_theta_list(rt_theta_entry **list_new, int *count, const rt_transformer *model)
{
    const rt_transformer_options *o = &model->options;
    *list_new = NULL;
    *count = 0;
    if (!o->theta.learn)
        return rt_ok();
    const rt_shape shape = rt_transformer_theta_shape(o);
    const int rows = shape.axis[1], pairs = shape.axis[2], all = (int)rt_shape_size(shape);
    double *theta = rt_alloc((size_t)all, 3 * sizeof *theta);
    rt_theta_entry *list = rt_alloc((size_t)all, sizeof *list);
    if (!theta || !list) {
        rt_free(theta);
        rt_free(list);
        return rt_out_of_memory("a report on theta");
    }
    const bool mixed = rt_transformer_theta_axes(o) > 1;
    const double *start = rt_transformer_theta_start(model);
    double *geometric = theta + all, *use = theta + 2 * all;
    rt_transformer_theta(model, theta);
    rt_transformer_theta_use(model, use);
    rt_transformer_theta_geometric(o, shape, geometric);
    for (int n = 0; n < all; n++)
        list[n] = (rt_theta_entry){.layer = o->theta.scope == RT_THETA_MODEL
                                                ? -1
                                                : rt_transformer_theta_layer(o, n / pairs / rows),
                                   .head = o->theta.scope == RT_THETA_HEAD ? n / pairs % rows : -1,
                                   .pair = n % pairs,
                                   .theta = theta[n],
                                   .start = start[n],
                                   .geometric = mixed ? start[n] : geometric[n],
                                   .length = mixed ? rt_theta_length(o, start + n / pairs * pairs,
                                                                     n % pairs)
                                                   : 0,
                                   .use = use[n]};
    rt_free(theta);
    *list_new = list;
    *count = all;
    return rt_ok();
}

typedef struct measures {
    double drift, grid, phase, turns;
    double moved; /* change of the parameter itself, theta or ln theta */
} measures;

/* Compares a theta with theta0 or its geometric value. */
static measures measure(const rt_config *c, const rt_theta_entry *e, double from)
{
    const int layer = e->layer;
    const double theta = e->theta, base = rt_layer_frequencies(&c->model, layer).base;
    const double step = log(base) * c->model.position.axes / rt_transformer_pairs(&c->model);
    const double log_ratio = theta > 0 && from > 0 ? fabs(log(theta / from)) : (double)NAN;
    const bool logarithm = c->model.theta.form == RT_THETA_LOG;
    const int extent = rt_transformer_extent(&c->model, c->data.length);
    return (measures){.drift = e->length > 0 ? fabs(theta - from) / e->length
                               : from != 0   ? fabs(theta / from - 1)
                                             : (double)NAN,
                      .grid = e->length > 0 ? (double)NAN : log_ratio / step,
                      .phase = fabs(theta - from) * (extent - 1),
                      .turns = rt_theta_turns(theta, rt_transformer_reach(&c->model, layer,
                                                                          c->data.length)),
                      .moved = logarithm ? log_ratio : fabs(theta - from)};
}

static void keep_worst(rt_theta_worst *worst, double value, const rt_theta_entry *e, double grid)
{
    if (!(value <= worst->value) && !isnan(worst->value)) /* NaN is the worst value */
        *worst = (rt_theta_worst){value, e->layer, e->head, e->pair, grid, e->theta};
}

rt_status rt_theta_judge(rt_theta_verdict *v, const rt_transformer *model, const rt_config *config)
{
    double product = 0, squares = 0, geometric_squares = 0; /* sums over logarithms */
    rt_theta_entry *list;
    int count;
    rt_status status = rt_theta_list(&list, &count, model);
    *v = (rt_theta_verdict){.drift.value = -1, .phase.value = -1, .from_start.value = -1};
    for (int i = 0; i < count; i++) {
        const rt_theta_entry *e = &list[i];
        const double logarithm = log(e->theta), geometric = log(e->geometric);
        const measures m = measure(config, e, e->geometric);
        const measures from_start = measure(config, e, e->start);
        keep_worst(&v->drift, m.drift, e, m.grid);
        keep_worst(&v->phase, m.phase, e, m.grid);
        if (e->start != 0)
            keep_worst(&v->from_start, from_start.drift, e, from_start.grid);
        v->elsewhere |= e->start != e->geometric;
        v->mean_drift += m.drift;
        product += logarithm * geometric;
        squares += logarithm * logarithm;
        geometric_squares += geometric * geometric;
    }
    rt_free(list);
    v->mean_drift /= count;
    v->cosine = product / sqrt(squares * geometric_squares);
    v->near = v->drift.value <= config->theta.tolerance;
    return status;
}

const char *rt_theta_place(char text[RT_THETA_PLACE_SIZE], int number)
{
    snprintf(text, RT_THETA_PLACE_SIZE, number < 0 ? "all" : "%d", number);
    return text;
}

/* Adds "layer 0, head 1, i 2; 0.09 grid steps". */
static void report_place(rt_writer *w, const rt_theta_worst *worst, bool mixed)
{
    char layer[RT_THETA_PLACE_SIZE];
    rt_writer_add(w, "layer %s, ", rt_theta_place(layer, worst->layer));
    if (worst->head >= 0)
        rt_writer_add(w, "head %d, ", worst->head);
    rt_writer_add(w, "i %d; ", worst->pair);
    if (mixed)
        rt_writer_add(w, "theta %.3g", worst->theta);
    else if (worst->theta <= 0)
        rt_writer_add(w, "theta <= 0");
    else if (isnan(worst->grid) && !isnan(worst->theta))
        rt_writer_add(w, "from below 0");
    else
        rt_writer_add(w, "%.2g grid steps", worst->grid);
}

void rt_theta_report_verdict(rt_writer *w, const rt_theta_verdict *v, const rt_config *c)
{
    char tolerance[32];
    const double hundredths = 100 * c->theta.tolerance;
    const bool mixed = rt_transformer_theta_axes(&c->model) > 1;
    const bool coarse = fabs(hundredths - round(hundredths)) < 1e-9;
    snprintf(tolerance, sizeof tolerance, coarse ? "%.2f" : "%g", c->theta.tolerance);
    if (v->elsewhere && !(v->from_start.value < 0)) {
        rt_writer_add(w, "theta started elsewhere: max relative drift from its start %.3g (",
                      v->from_start.value);
        report_place(w, &v->from_start, mixed);
        rt_writer_add(w, ")\n");
    }
    rt_writer_add(w, "theta: max relative drift %.3g (", v->drift.value);
    report_place(w, &v->drift, mixed);
    rt_writer_add(w, "), max phase drift %.3g rad over %d positions: %s (tolerance %s)\n",
                  v->phase.value, rt_transformer_extent(&c->model, c->data.length) - 1,
                  v->near ? "near" : "moved", tolerance);
}

void rt_theta_report_reset(rt_writer *w, const char *place, const rt_theta_reset *r)
{
    char loss[RT_NUMBER_SIZE], accuracy[RT_NUMBER_SIZE], reset_accuracy[RT_NUMBER_SIZE];
    snprintf(loss, sizeof loss, isnan(r->reset_loss) ? "nan" : "%.6g", r->reset_loss);
    rt_writer_add(
        w, "theta: reset to %s: eval loss %.6g -> %s, accuracy %s -> %s: the model %s on it\n",
        place, r->loss, loss, rt_number_show(accuracy, 4, r->accuracy),
        rt_number_show(reset_accuracy, 4, r->reset_accuracy),
        rt_theta_reset_hurts(r) ? "depends" : "does not depend");
}

static void add_cell(rt_writer *w, int width, int decimals, double x, bool defined)
{
    char text[RT_NUMBER_SIZE];
    rt_writer_add(w, "  %*s", width, defined ? rt_number_show(text, decimals, x) : "-");
}

/* Adds a row. `reach` is the farthest movement possible, 0 without such a bound. Returns whether
 * the columns of a logarithm are missing, because a theta is not positive. */
static bool add_row(rt_writer *w, const rt_config *config, const rt_theta_entry *e,
                    const rt_theta_tolerance *tolerance, double reach)
{
    const measures m = measure(config, e, e->start);
    const bool raw = config->model.theta.form == RT_THETA_RAW;
    const bool crossed = e->theta <= 0 || e->start <= 0;
    char layer_text[RT_THETA_PLACE_SIZE], head_text[RT_THETA_PLACE_SIZE];
    rt_writer_add(w, "%5s  %4s  %3d  %12.6g  %12.6g", rt_theta_place(layer_text, e->layer),
                  rt_theta_place(head_text, e->head), e->pair, e->start, e->theta);
    add_cell(w, 9, 4, m.drift, e->start != 0);
    add_cell(w, 6, 3, m.grid, !crossed && !(e->length > 0));
    add_cell(w, 7, 3, m.phase, true);
    add_cell(w, 6, 3, m.turns, true);
    add_cell(w, 4, 1, 100 * e->use, true);
    rt_writer_add(w, "%%");
    if (tolerance) {
        add_cell(w, 6, 3, tolerance->down, true);
        add_cell(w, 6, 3, tolerance->up, true);
    }
    if (reach > 0) {
        add_cell(w, 5, 1, 100 * m.moved / reach, raw || !crossed);
        rt_writer_add(w, "%%");
    }
    rt_writer_add(w, "\n");
    return crossed && !(e->length > 0);
}

/* Explains the columns. Turns are over the distance of attention, which may differ by layer. */
static void add_notes(rt_writer *w, const rt_config *c, bool tolerances, double reach,
                      const char *mover, bool crossed)
{
    const bool mixed = rt_transformer_theta_axes(&c->model) > 1;
    int least = INT_MAX, most = 0;
    for (int l = 0; l < c->model.layers; l++) {
        const int positions = rt_transformer_reach(&c->model, l, c->data.length) - 1;
        if (!rt_layer_row_of(&c->model, l).has_positions)
            continue;
        least = positions < least ? positions : least;
        most = positions > most ? positions : most;
    }
    rt_writer_add(w,
                  "drift: change of theta as a share of %s; phase: extra rotation in radians over "
                  "%d positions; ",
                  mixed ? "the length of theta0 of its pair, whose second coordinate has i from "
                          "R/2 on"
                        : "theta0; grid: the same in steps between neighbouring theta",
                  rt_transformer_extent(&c->model, c->data.length) - 1);
    rt_writer_add(w,
                  least < most ? "turns: full turns over %d to %d positions, as far as a layer "
                                 "reaches"
                               : "turns: full turns over %d positions",
                  least, most);
    rt_writer_add(w, "; use: share of the query and key weights that the pair rotates");
    if (tolerances)
        rt_writer_add(
            w, "; down, up: how far ln theta can change before the model gets worse, at most %g",
            RT_THETA_FARTHEST);
    if (mover)
        rt_writer_add(w, "; used: movement as a share of %.3g, the most %s could have moved %s",
                      reach, mover, c->model.theta.form == RT_THETA_LOG ? "ln theta" : "theta");
    if (crossed)
        rt_writer_add(w, "; -: theta <= 0 has no logarithm");
    rt_writer_add(w, "\n");
}

rt_status rt_theta_print(FILE *to, const rt_transformer *model, const rt_config *config, int steps,
                         const rt_theta_tolerance *tolerances)
{
    rt_writer w = {0};
    double reach = 0; /* farthest movement possible with an optimizer like Adam */
    bool crossed = false;
    rt_theta_verdict verdict;
    rt_theta_entry *list;
    int count, first = 1; /* first step that moved theta: a branch may have added theta late */
    for (int i = model->parameters.count - 1; i >= 0; i--)
        if (model->parameters.list[i]->role == RT_ROLE_THETA)
            first = (int)model->parameters.list[i]->since + 1;
    for (int step = first; step <= steps; step++)
        reach +=
            rt_learning_rate(&config->optimizer, step) * config->optimizer.settings.theta_lr_scale;
    /* a trunk may have had another rate of theta */
    const bool known = reach > 0 && (!config->train.trunk || first > 1);
    const char *mover = known ? rt_update_rule_of(&config->optimizer.settings)->bounded_by : NULL;
    rt_status status = rt_theta_judge(&verdict, model, config);
    if (!status.code)
        status = rt_theta_list(&list, &count, model);
    if (status.code)
        return status;
    rt_writer_add(&w,
                  "layer  head    i        theta0         theta      drift    grid    phase   "
                  "turns    use%s%s\n",
                  tolerances ? "     down      up" : "", mover ? "    used" : "");
    for (int i = 0; i < count; i++)
        crossed |=
            add_row(&w, config, &list[i], tolerances ? &tolerances[i] : NULL, mover ? reach : 0);
    rt_free(list);
    add_notes(&w, config, tolerances != NULL, reach, mover, crossed);
    rt_theta_report_verdict(&w, &verdict, config);
    return rt_writer_print(&w, to);
}

char *rt_theta_csv(const rt_transformer *model, const rt_config *config,
                   const rt_theta_tolerance *tolerances)
{
    rt_writer w = {0};
    rt_theta_entry *list;
    int count;
    rt_status status = rt_theta_list(&list, &count, model);
    if (status.code)
        return NULL;
    rt_writer_add(&w,
                  "layer,head,i,theta,theta_initial,geometric,drift,drift_from_start,grid,phase,"
                  "turns,use%s\n",
                  tolerances ? "," RT_TOLERANCE_DOWN "," RT_TOLERANCE_UP : "");
    for (int i = 0; i < count; i++) {
        const rt_theta_entry *e = &list[i];
        const measures m = measure(config, e, e->start);
        const double drift = measure(config, e, e->geometric).drift;
        const double numbers[] = {e->theta, e->start, e->geometric, drift, m.drift,
                                  m.grid,   m.phase,  m.turns,      e->use};
        char layer[RT_THETA_PLACE_SIZE], head[RT_THETA_PLACE_SIZE];
        rt_writer_add(&w, "%s,%s,%d", rt_theta_place(layer, e->layer),
                      rt_theta_place(head, e->head), e->pair);
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
            rt_csv_add_number(&w, numbers[n]);
        if (tolerances) {
            rt_csv_add_number(&w, tolerances[i].down);
            rt_csv_add_number(&w, tolerances[i].up);
        }
        rt_writer_add(&w, "\n");
    }
    rt_free(list);
    return rt_writer_take(&w);
}

char *rt_usage_csv(const rt_transformer *model, const rt_usage *usage, int length)
{
    enum { THETA, TURNS, USE, QUERY, KEY, QUERY_MEAN, KEY_MEAN, COLUMNS }; /* after layer,head,i */
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const size_t count = rt_shape_size(shape);
    const int pairs = rt_transformer_pairs(o);
    const bool mixed = rt_transformer_theta_axes(o) > 1;
    double *theta = rt_alloc(count + COLUMNS * (size_t)pairs, sizeof *theta);
    double *columns[COLUMNS]; /* values of the pairs of a head */
    rt_writer w = {0};
    if (!theta)
        return NULL;
    for (size_t c = 0; c < COLUMNS; c++)
        columns[c] = theta + count + c * (size_t)pairs;
    rt_transformer_rotation(model, length, theta);
    rt_writer_add(&w, "layer,head,i,theta,turns,use,query,key,query_mean,key_mean\n");
    for (int row = 0; row < shape.axis[0] * o->heads; row++) {
        const int n = row / o->heads, h = row % o->heads; /* of layers that have pairs */
        const int kv = n * o->kv_heads + h / (o->heads / o->kv_heads);
        const int layer = rt_transformer_theta_layer(o, n);
        const int reach = rt_transformer_reach(o, layer, length);
        for (int i = 0; i < pairs; i++) {
            columns[THETA][i] =
                mixed ? rt_theta_length(o, theta + kv * shape.axis[2], i) : theta[kv * pairs + i];
            columns[TURNS][i] = rt_theta_turns(columns[THETA][i], reach);
        }
        rt_transformer_head_use(model, layer, h, columns[USE]);
        rt_usage_shares(columns[QUERY], columns[QUERY_MEAN], usage->query + (size_t)(row * pairs),
                        pairs);
        rt_usage_shares(columns[KEY], columns[KEY_MEAN], usage->key + (size_t)(kv * pairs), pairs);
        for (int i = 0; i < pairs; i++) {
            rt_writer_add(&w, "%d,%d,%d", layer, h, i);
            for (int c = 0; c < COLUMNS; c++)
                rt_csv_add_number(&w, columns[c][i]);
            rt_writer_add(&w, "\n");
        }
    }
    rt_free(theta);
    return rt_writer_take(&w);
}
