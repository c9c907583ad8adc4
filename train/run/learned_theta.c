#include "train/run/theta.h"

#include "core/memory.h"
#include "optim/options.h"
#include "util/csv.h"
#include "util/number.h"

#include <limits.h>

enum { SHOWN = 16 }; /* largest number of rows of the table */

/* Adds a row. `reach` is the farthest movement possible: 0 without such a column, NaN in a row that
 * it does not bound. */
static void add_row(rt_writer *w, const rt_config *config, const rt_theta_entry *e,
                    const rt_theta_tolerance *tolerance, double reach)
{
    const rt_theta_measures m = rt_theta_measure(config, e, e->start);
    const double moved = e->length > 0 ? m.change : m.drift;
    const char *format = isnan(moved) ? "-" : fabs(moved) < 100 ? "%+.4f" : "%+.4g";
    rt_writer_add(w, "%5s %4s %3d %10.4g %10.4g %8s", RT_THETA_PLACE(e->layer),
                  RT_THETA_PLACE(e->head), e->pair, e->start, e->theta,
                  RT_PRINTED(RT_NUMBER_SIZE, format, fabs(moved) < 5e-5 ? 0 : moved));
    if (rt_transformer_turns_by_position(&config->model))
        rt_writer_add(w, " %8s %8s", RT_SHOWN(3, m.phase), RT_SHOWN(3, m.turns));
    rt_writer_add(w, " %5s%%", RT_SHOWN(1, 100 * e->use));
    if (tolerance)
        rt_writer_add(w, " %6s %6s", RT_SHOWN(3, tolerance->down), RT_SHOWN(3, tolerance->up));
    const double used = 100 * m.moved / reach;
    if (reach != 0)
        rt_writer_add(w, " %6s", isnan(used) ? "-" : RT_PRINTED(32, "%s%%", RT_SHOWN(1, used)));
    rt_writer_add(w, "\n");
}

/* Explains the columns, one in a line. Turns are over the distance of attention, which may differ
 * by layer. */
static void add_notes(rt_writer *w, const rt_config *c, bool tolerances, double reach,
                      const char *mover)
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
    rt_writer_add(w, mixed ? "i: from R/2 on, the second coordinate of pair i - R/2\n"
                             "change: change of theta over the length of theta0 of its pair\n"
                           : "drift: ln(theta/theta0)\n");
    if (rt_transformer_turns_by_position(&c->model))
        rt_writer_add(w,
                      "phase: extra rotation in radians over %d positions\n"
                      "turns: full turns over %s%d positions%s\n",
                      rt_transformer_extent(&c->model, c->data.length) - 1,
                      least < most ? RT_PRINTED(32, "%d to ", least) : "", most,
                      least < most ? ", as far as a layer reaches" : "");
    rt_writer_add(w, "use: share of the query and key weights that the pair rotates\n");
    if (tolerances)
        rt_writer_add(w,
                      "down, up: how far ln theta can change before the model gets worse, to %g\n",
                      RT_THETA_FARTHEST);
    if (mover)
        rt_writer_add(w, "used: movement over %.3g, the most that %s could have moved %s\n", reach,
                      mover, c->model.theta.form == RT_THETA_LOG ? "ln theta" : "theta");
}

/* Lists all rows, or those that moved most, farthest first. Returns their number. */
static int choose_rows(int rows[SHOWN + 1], const rt_theta_entry *list, int count,
                       const rt_config *config)
{
    double far[SHOWN + 1];
    int shown = 0;
    for (int i = 0; i < count; i++) {
        const rt_theta_measures m = rt_theta_measure(config, &list[i], list[i].start);
        const double own = isnan(m.change) ? INFINITY : m.change;
        int at = shown;
        for (; count > SHOWN && at && own > far[at - 1]; at--) {
            far[at] = far[at - 1];
            rows[at] = rows[at - 1];
        }
        far[at] = own;
        rows[at] = i;
        shown += shown < SHOWN;
    }
    return shown;
}

/* Returns the step after which the theta of a layer is trained; `steps` if it is frozen. */
static int64_t since_of(const rt_transformer *model, const rt_config *config, int steps, int layer)
{
    const rt_parameter *p = rt_parameters_find(&model->parameters, RT_THETA_NAME(layer));
    return rt_freezes(config->train.freeze, p) ? steps : p->since;
}

rt_status rt_theta_table(rt_writer *w, const rt_transformer *model, const rt_config *config,
                         int steps, const rt_theta_tolerance *tolerances)
{
    double reach = 0; /* farthest movement possible with an optimizer like Adam */
    RT_OWNED rt_theta_entry *list = NULL;
    int rows[SHOWN + 1], count;
    int64_t since = steps; /* of the theta that is trained the longest: a branch may add theta */
    RT_TRY(rt_theta_list(&list, &count, model));
    for (int i = 0; i < count; i++) {
        const int64_t own = since_of(model, config, steps, list[i].layer);
        since = own < since ? own : since;
    }
    for (int64_t step = since + 1; step <= steps; step++)
        reach += rt_learning_rate(&config->optimizer, (int)step) *
                 config->optimizer.settings.theta_lr_scale;
    /* a trunk may have had another rate of theta */
    const bool known = reach > 0 && (!config->train.trunk || since) && !tolerances;
    const char *mover = known ? rt_update_rule_of(&config->optimizer.settings)->bounded_by : NULL;
    rt_writer_add(w, "layer head   i     theta0      theta   %s%s    use%s\n",
                  rt_transformer_theta_axes(&config->model) > 1 ? "change" : " drift",
                  rt_transformer_turns_by_position(&config->model) ? "    phase    turns" : "",
                  tolerances ? "   down     up"
                  : mover    ? "   used"
                             : "");
    const int shown = choose_rows(rows, list, count, config);
    for (int i = 0; i < shown; i++) {
        const rt_theta_entry *e = &list[rows[i]];
        const bool bounded = since_of(model, config, steps, e->layer) == since;
        add_row(w, config, e, tolerances ? &tolerances[rows[i]] : NULL,
                !mover    ? 0
                : bounded ? reach
                          : (double)NAN);
    }
    rt_writer_add(w,
                  shown < count ? "the %d of %d rows of theta_final.csv that moved most, farthest "
                                  "first\n"
                                : "all %d rows of theta_final.csv\n",
                  shown, count);
    add_notes(w, config, tolerances != NULL, reach, mover);
    return rt_ok();
}

char *rt_theta_csv(const rt_transformer *model, const rt_config *config,
                   const rt_theta_tolerance *tolerances)
{
    rt_writer w = {0};
    RT_OWNED rt_theta_entry *list = NULL;
    int count;
    if (rt_theta_list(&list, &count, model).code)
        return NULL;
    rt_writer_add(&w,
                  "layer,head,i,theta,theta_initial,geometric,change,drift,grid,phase,"
                  "turns,use%s\n",
                  tolerances ? "," RT_TOLERANCE_DOWN "," RT_TOLERANCE_UP : "");
    for (int i = 0; i < count; i++) {
        const rt_theta_entry *e = &list[i];
        const rt_theta_measures m = rt_theta_measure(config, e, e->start);
        const double change = rt_theta_measure(config, e, e->geometric).change;
        const rt_theta_tolerance t = tolerances ? tolerances[i] : (rt_theta_tolerance){0};
        const double numbers[] = {e->theta, e->start, e->geometric, change, m.drift, m.grid,
                                  m.phase,  m.turns,  e->use,       t.down, t.up};
        rt_writer_add(&w, "%s,%s,%d", RT_THETA_PLACE(e->layer), RT_THETA_PLACE(e->head), e->pair);
        for (int n = 0; n < (tolerances ? 11 : 9); n++)
            rt_csv_add_number(&w, numbers[n]);
        rt_writer_add(&w, "\n");
    }
    return rt_writer_take(&w);
}
