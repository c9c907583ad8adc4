#include "train/run/theta.h"

#include "core/memory.h"
#include "optim/options.h"
#include "util/csv.h"
#include "util/number.h"

#include <limits.h>

enum { SHOWN = 16 }; /* largest number of rows of the table */

static void add_cell(rt_writer *w, int width, int decimals, double x, const char *unit)
{
    rt_writer_add(w, " %*s%s", width, isnan(x) ? "-" : RT_SHOWN(decimals, x), unit);
}

/* Adds a row. `reach` is the farthest movement possible, 0 without such a bound. */
static void add_row(rt_writer *w, const rt_config *config, const rt_theta_entry *e,
                    const rt_theta_tolerance *tolerance, double reach)
{
    const rt_theta_measures m = rt_theta_measure(config, e, e->start);
    rt_writer_add(w, "%5s %4s %3d %10.4g %10.4g", RT_THETA_PLACE(e->layer), RT_THETA_PLACE(e->head),
                  e->pair, e->start, e->theta);
    add_cell(w, 8, 4, m.drift, "");
    add_cell(w, 8, 3, m.phase, "");
    add_cell(w, 8, 3, m.turns, "");
    add_cell(w, 5, 1, 100 * e->use, "%");
    if (tolerance) {
        add_cell(w, 6, 3, tolerance->down, "");
        add_cell(w, 6, 3, tolerance->up, "");
    }
    if (reach > 0)
        add_cell(w, 5, 1, 100 * m.moved / reach, "%");
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
    rt_writer_add(w, "%s\nphase: extra rotation in radians over %d positions\n",
                  mixed ? "i: from R/2 on, the second coordinate of pair i - R/2\n"
                          "drift: change of theta as a share of the length of theta0 of its pair"
                        : "drift: change of theta as a share of theta0",
                  rt_transformer_extent(&c->model, c->data.length) - 1);
    rt_writer_add(w,
                  "turns: full turns over %s%d positions%s\n"
                  "use: share of the query and key weights that the pair rotates\n",
                  least < most ? RT_PRINTED(32, "%d to ", least) : "", most,
                  least < most ? ", as far as a layer reaches" : "");
    if (tolerances)
        rt_writer_add(w,
                      "down, up: how far ln theta can change before the model gets worse, to %g\n",
                      RT_THETA_FARTHEST);
    if (mover)
        rt_writer_add(w, "used: movement over %.3g, the most that %s could have moved %s\n", reach,
                      mover, c->model.theta.form == RT_THETA_LOG ? "ln theta" : "theta");
}

/* Lists the rows of the table: all, or those that moved most, farthest first. Returns their number.
 */
static int choose_rows(int rows[SHOWN + 1], const rt_theta_entry *list, int count,
                       const rt_config *config)
{
    double far[SHOWN + 1];
    int shown = 0;
    for (int i = 0; i < count; i++) {
        const rt_theta_measures m = rt_theta_measure(config, &list[i], list[i].start);
        const double own = isnan(m.drift) ? INFINITY : m.drift;
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

rt_status rt_theta_table(rt_writer *w, const rt_transformer *model, const rt_config *config,
                         int steps, const rt_theta_tolerance *tolerances)
{
    double reach = 0; /* farthest movement possible with an optimizer like Adam */
    rt_theta_entry *list;
    int rows[SHOWN + 1], count, first = 1; /* first step that moved theta: a branch may add theta */
    for (int i = model->parameters.count - 1; i >= 0; i--)
        if (model->parameters.list[i]->role == RT_ROLE_THETA)
            first = (int)model->parameters.list[i]->since + 1;
    for (int step = first; step <= steps; step++)
        reach +=
            rt_learning_rate(&config->optimizer, step) * config->optimizer.settings.theta_lr_scale;
    /* a trunk may have had another rate of theta */
    const bool known = reach > 0 && (!config->train.trunk || first > 1) && !tolerances;
    const char *mover = known ? rt_update_rule_of(&config->optimizer.settings)->bounded_by : NULL;
    RT_TRY(rt_theta_list(&list, &count, model));
    rt_writer_add(w, "layer head   i     theta0      theta    drift    phase    turns    use%s\n",
                  tolerances ? "   down     up"
                  : mover    ? "   used"
                             : "");
    const int shown = choose_rows(rows, list, count, config);
    for (int i = 0; i < shown; i++)
        add_row(w, config, &list[rows[i]], tolerances ? &tolerances[rows[i]] : NULL,
                mover ? reach : 0);
    rt_free(list);
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
    rt_theta_entry *list;
    int count;
    if (rt_theta_list(&list, &count, model).code)
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
