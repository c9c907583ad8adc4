#include "train/run/theta.h"

#include "core/memory.h"
#include "optim/options.h"
#include "util/csv.h"
#include "util/number.h"

#include <limits.h>

static void add_cell(rt_writer *w, int width, int decimals, double x, bool defined)
{
    rt_writer_add(w, "  %*s", width, defined ? RT_SHOWN(decimals, x) : "-");
}

/* Adds a row. `reach` is the farthest movement possible, 0 without such a bound. Returns whether
 * the columns of a logarithm are missing, because a theta is not positive. */
static bool add_row(rt_writer *w, const rt_config *config, const rt_theta_entry *e,
                    const rt_theta_tolerance *tolerance, double reach)
{
    const rt_theta_measures m = rt_theta_measure(config, e, e->start);
    const bool raw = config->model.theta.form == RT_THETA_RAW;
    const bool crossed = e->theta <= 0 || e->start <= 0;
    rt_writer_add(w, "%5s  %4s  %3d  %12.6g  %12.6g", RT_THETA_PLACE(e->layer),
                  RT_THETA_PLACE(e->head), e->pair, e->start, e->theta);
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
    RT_TRY(rt_theta_judge(&verdict, model, config));
    RT_TRY(rt_theta_list(&list, &count, model));
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
        const rt_theta_measures m = rt_theta_measure(config, e, e->start);
        const double drift = rt_theta_measure(config, e, e->geometric).drift;
        const double numbers[] = {e->theta, e->start, e->geometric, drift, m.drift,
                                  m.grid,   m.phase,  m.turns,      e->use};
        rt_writer_add(&w, "%s,%s,%d", RT_THETA_PLACE(e->layer), RT_THETA_PLACE(e->head), e->pair);
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
