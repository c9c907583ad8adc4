#include "train/report/verdict.h"

#include "core/memory.h"
#include "data/tokenizers/tokens.h"
#include "util/number.h"

#include <math.h>
#include <string.h>

void rt_early_stop_report(rt_writer *w, int step, const rt_train_options *o)
{
    rt_writer_add(w, "stopped early at step %d of %d: the evaluation loss has not improved", step,
                  o->steps);
    if (o->min_delta > 0)
        rt_writer_add(w, " by %g (train.min_delta)", o->min_delta);
    rt_writer_add(w, " in %d evaluation%s (train.patience)\n", o->patience,
                  o->patience > 1 ? "s" : "");
}

double rt_divergence_limit(const rt_transformer_options *model)
{
    const int classes = model->head == RT_HEAD_LM ? model->vocab : model->labels;
    return classes > 1 ? 2 * log(classes) : INFINITY;
}

void rt_divergence_report(rt_writer *w, double loss, double limit)
{
    rt_writer_add(w,
                  "diverged: the loss %.6g is more than twice %.3g, the loss of random guessing; "
                  "try a smaller optimizer.lr or more optimizer.warmup_steps\n",
                  loss, limit / 2);
}

void rt_perplexity_report(rt_writer *w, const rt_results *r, const rt_config *c)
{
    const bool tokens = !strcmp(rt_data_task_name(c->data.task), "tokens");
    const double loss = rt_results_get(r, RT_RESULT_LOSS);
    const double bits = rt_results_get(r, RT_RESULT_BITS_PER_BYTE);
    if (!tokens && strcmp(rt_data_task_name(c->data.task), "text") != 0)
        return;
    const bool units = c->data.level == RT_LEVEL_BYTE || c->data.level == RT_LEVEL_CHAR;
    rt_writer_add(w, "perplexity %.4g", exp(loss));
    if (!isnan(bits))
        rt_writer_add(w, ", %.4g bits per byte", bits);
    /* without bits per byte some tokens end documents, or only masked ones count */
    if (isnan(bits) || c->data.level != RT_LEVEL_BYTE)
        rt_writer_add(w, ", %.4g bits per %s", loss / log(2),
                      tokens || (units && isnan(bits)) ? "token"
                                                       : rt_words_for_tokens(c->data.level).one);
    rt_writer_add(w, "\n");
}

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

rt_theta_measures rt_theta_measure(const rt_config *c, const rt_theta_entry *e, double from)
{
    const int layer = e->layer;
    const double theta = e->theta, base = rt_layer_frequencies(&c->model, layer).base;
    const double step = log(base) * c->model.position.axes / rt_transformer_pairs(&c->model);
    const double log_ratio = theta > 0 && from > 0 ? log(theta / from) : (double)NAN;
    const double drift = e->length > 0 ? (double)NAN : log_ratio;
    const bool logarithm = c->model.theta.form == RT_THETA_LOG;
    const int extent = rt_transformer_extent(&c->model, c->data.length);
    return (rt_theta_measures){.drift = drift,
                               .change = e->length > 0 ? fabs(theta - from) / e->length
                                         : from != 0   ? fabs(theta / from - 1)
                                                       : (double)NAN,
                               .grid = fabs(drift) / step,
                               .phase = rt_transformer_turns_by_position(&c->model)
                                            ? fabs(theta - from) * (extent - 1)
                                            : (double)NAN,
                               .turns = rt_theta_turns(&c->model, layer, c->data.length, theta),
                               .moved = fabs(logarithm ? log_ratio : theta - from)};
}

static void keep_worst(rt_theta_worst *worst, double value, const rt_theta_entry *e, double grid)
{
    if (!(value <= worst->value) && !isnan(worst->value)) /* NaN is the worst value */
        *worst = (rt_theta_worst){value, e->layer, e->head, e->pair, grid, e->theta};
}

rt_status rt_theta_judge(rt_theta_verdict *v, const rt_transformer *model, const rt_config *config)
{
    double product = 0, squares = 0, geometric_squares = 0; /* sums over logarithms */
    RT_OWNED rt_theta_entry *list = NULL;
    int count;
    *v = (rt_theta_verdict){.change.value = -1, .phase.value = -1, .from_start.value = -1};
    RT_TRY(rt_theta_list(&list, &count, model));
    for (int i = 0; i < count; i++) {
        const rt_theta_entry *e = &list[i];
        const double logarithm = log(e->theta), geometric = log(e->geometric);
        const rt_theta_measures m = rt_theta_measure(config, e, e->geometric);
        const rt_theta_measures from_start = rt_theta_measure(config, e, e->start);
        keep_worst(&v->change, m.change, e, m.grid);
        keep_worst(&v->phase, m.phase, e, m.grid);
        if (e->start != 0)
            keep_worst(&v->from_start, from_start.change, e, from_start.grid);
        v->elsewhere |= e->start != e->geometric;
        v->mean_change += m.change;
        product += logarithm * geometric;
        squares += logarithm * logarithm;
        geometric_squares += geometric * geometric;
    }
    v->mean_change /= count;
    v->cosine = product / sqrt(squares * geometric_squares);
    v->near = v->change.value <= config->theta.tolerance;
    return rt_ok();
}

/* Adds "layer 0, head 1, i 2; 0.09 grid steps". */
static void report_place(rt_writer *w, const rt_theta_worst *worst, bool mixed)
{
    rt_writer_add(w, "layer %s, ", RT_THETA_PLACE(worst->layer));
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

bool rt_theta_has_moved(const rt_config *c, double from_start, double from_geometric)
{
    const double rounding = 1e-5;
    const rt_frequency_options *f = &c->model.position.frequencies;
    const bool begins_there = c->model.theta.init == RT_THETA_FREQUENCIES && !c->theta.init_from &&
                              f->family == RT_FREQUENCIES_GEOMETRIC &&
                              f->scaling == RT_SCALING_NONE;
    return from_start >= rounding || (begins_there && from_geometric >= rounding);
}

void rt_theta_report_phase(rt_writer *w, double phase, const rt_config *c)
{
    if (rt_transformer_turns_by_position(&c->model))
        rt_writer_add(w, ", max phase drift %.3g rad over %d positions", phase,
                      rt_transformer_extent(&c->model, c->data.length) - 1);
}

void rt_theta_report_verdict(rt_writer *w, const rt_theta_verdict *v, const rt_config *c)
{
    const double hundredths = 100 * c->theta.tolerance;
    const bool mixed = rt_transformer_theta_axes(&c->model) > 1;
    const bool coarse = fabs(hundredths - round(hundredths)) < 1e-9;
    if (v->elsewhere && !(v->from_start.value < 0)) {
        rt_writer_add(w, "theta started elsewhere: max relative drift from its start %.3g (",
                      v->from_start.value);
        report_place(w, &v->from_start, mixed);
        rt_writer_add(w, ")\n");
    }
    rt_writer_add(w, "theta: max relative drift %.3g (", v->change.value);
    report_place(w, &v->change, mixed);
    rt_writer_add(w, ")");
    rt_theta_report_phase(w, v->phase.value, c);
    rt_writer_add(w, ": %s (tolerance %s)\n", v->near ? "near" : "moved",
                  RT_PRINTED(32, coarse ? "%.2f" : "%g", c->theta.tolerance));
}

const rt_reset_names rt_theta_resets[RT_RESETS] = {
    {"init", "theta_reset_loss", "theta_reset_accuracy"},
    {"base", "theta_reset_base_loss", "theta_reset_base_accuracy"},
};

void rt_theta_report_reset(rt_writer *w, const char *place, const rt_theta_reset *r)
{
    const char *loss = RT_PRINTED(32, isnan(r->reset_loss) ? "nan" : "%.6g", r->reset_loss);
    rt_writer_add(
        w, "theta: reset to %s: eval loss %.6g -> %s, accuracy %s -> %s: the model %s on it\n",
        place, r->loss, loss, RT_SHOWN(4, r->accuracy), RT_SHOWN(4, r->reset_accuracy),
        rt_theta_reset_hurts(r) ? "depends" : "does not depend");
}
