#include "data/tokenizers/simple_tokens.h"
#include "text/number.h"
#include "train/folder/results.h"
#include "train/report/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rt_reports_are_off(void)
{
    return getenv("ROTOR_NO_REPORT") != NULL;
}

/* ---- figures ---- */

/* Columns of training.csv for gnuplot, which counts from 1. */
static const char *const columns[] = {NULL,        "step",          "loss",
                                      "eval_loss", "eval_accuracy", "lr",
                                      "grad_norm", "accuracy",      "theta_grad_norm",
                                      "tokens"};
enum {
    STEP = 1,
    LOSS,
    EVAL_LOSS,
    EVAL_ACCURACY,
    RATE,
    NORM,
    ACCURACY,
    THETA_NORM,
    TOKENS,
    COLUMNS
};

/* Points of the figures: gnuplot fails for an empty figure, and the logarithm of a norm of 0 is no
 * point. */
typedef struct drawable {
    bool rows;
    bool has_tokens, has_times, has_norms;
    double tokens;               /* most tokens of an evaluation */
    rt_figure_range losses;      /* of steps and evaluations */
    rt_figure_range evaluations; /* losses of evaluations */
    rt_figure_range norms;       /* of gradients, above 0 */
    double best, best_step;      /* of the evaluations */
    rt_status status;            /* of the table */
} drawable;

/* Notes what a row of training.csv adds to the figures; `seconds` may be NaN. */
static void note_points(drawable *d, const double row[COLUMNS], double seconds)
{
    const bool evaluated = isfinite(row[EVAL_LOSS]);
    d->has_times |= evaluated && isfinite(seconds);
    if (evaluated && isfinite(row[TOKENS]))
        d->tokens = fmax(d->tokens, row[TOKENS]);
    d->has_tokens = d->tokens > 0;
    rt_figure_range_take(&d->losses, row[LOSS]);
    rt_figure_range_take(&d->losses, row[EVAL_LOSS]);
    rt_figure_range_take(&d->evaluations, row[EVAL_LOSS]);
    if (row[EVAL_LOSS] < d->best) {
        d->best = row[EVAL_LOSS];
        d->best_step = row[STEP];
    }
    d->rows |= isfinite(row[STEP]) && isfinite(row[LOSS]);
    if (d->rows && row[NORM] > 0)
        rt_figure_range_take(&d->norms, row[NORM]);
    if (d->rows && row[NORM] > 0 && row[THETA_NORM] > 0)
        rt_figure_range_take(&d->norms, row[THETA_NORM]);
    d->has_norms = d->norms.most > 0;
}

/* Writes training.csv and timing.csv for the scripts below, with numbers alone. */
static drawable write_training(rt_figures *f, const char *folder)
{
    drawable d = {.losses = RT_NO_RANGE,
                  .evaluations = RT_NO_RANGE,
                  .norms = RT_NO_RANGE,
                  .best = INFINITY,
                  .status = rt_ok()};
    rt_writer w = {0}, times = {0};
    rt_csv metrics;
    rt_timing timing;
    int step = 0;
    const bool has_times = rt_timing_open(&timing, folder);
    if (rt_csv_open(&metrics, folder, "metrics.csv"))
        while (rt_csv_row(&metrics)) {
            double row[COLUMNS] = {0};
            for (int i = STEP; i < COLUMNS; i++) {
                row[i] = rt_csv_number(&metrics, columns[i]);
                if (isfinite(row[i]))
                    rt_writer_add(&w, "%.9g", row[i]);
                rt_writer_add(&w, i + 1 < COLUMNS ? "," : ",\n");
            }
            const bool known = has_times && rt_csv_whole(&metrics, "step", &step);
            const double seconds = known ? rt_timing_seconds(&timing, step) : (double)NAN;
            if (isfinite(row[EVAL_LOSS]) && isfinite(seconds))
                rt_writer_add(&times, "%.9g,%.9g\n", seconds, row[EVAL_LOSS]);
            note_points(&d, row, seconds);
        }
    d.status = metrics.status;
    rt_csv_close(&metrics);
    rt_csv_close(&timing.csv);
    rt_figures_write(f, "training.csv", &w);
    rt_figures_write(f, "timing.csv", &times);
    return d;
}

#define BY_STEP(axis) "set xlabel 'step'\nset ylabel '" axis "'\nset xrange [0:*]\n"
#define TRAINING      "lines linetype 6 dashtype 2 title 'training'"
#define EVALUATION    "linespoints linetype 1 pointtype 7 pointsize 0.5"

typedef struct run_figure {
    const char *name, *caption, *axes;
    struct {
        const char *table;
        int x, y;
        const char *with; /* gnuplot options; NULL: no curve */
    } curves[2];
    const char *hover; /* of labels where the pointer rests on a point of the last curve, or NULL */
    size_t shown;      /* offset of a bool in a drawable */
    size_t range;      /* offset in a drawable of what y shows, logarithmic where needed; or 0 */
} run_figure;

/* The figures of a training, in their order; those of theta follow the first FIRST_FIGURES. */
enum { FIRST_FIGURES = 4, RUN_FIGURES = 6 };
static const run_figure run_figures[RUN_FIGURES] = {
    {"loss",
     "Loss of the training steps and of the evaluations",
     BY_STEP("cross entropy (nats)"),
     {{"training.csv", STEP, LOSS, TRAINING},
      {"training.csv", STEP, EVAL_LOSS, EVALUATION " title 'evaluation'"}},
     "evaluation, step",
     offsetof(drawable, rows),
     offsetof(drawable, losses)},
    {"accuracy",
     "Accuracy: the fraction of labels that were predicted correctly",
     BY_STEP("accuracy") "set yrange [0:1.02]\n",
     {{"training.csv", STEP, ACCURACY, TRAINING},
      {"training.csv", STEP, EVAL_ACCURACY, EVALUATION " title 'evaluation'"}},
     NULL,
     offsetof(drawable, rows),
     0},
    {"loss_by_tokens",
     "Evaluation loss by tokens of training",
     "set xlabel 'tokens'\nset format x '%.1s%c'\n"
     "set ylabel 'cross entropy (nats)'\nset xrange [0:*]\nunset key\n",
     {{"training.csv", TOKENS, EVAL_LOSS, EVALUATION " notitle"}},
     "tokens",
     offsetof(drawable, has_tokens),
     offsetof(drawable, evaluations)},
    {"loss_by_time",
     "Evaluation loss by seconds of training",
     "set xlabel 'seconds'\nset ylabel 'cross entropy (nats)'\nset xrange [0:*]\nunset key\n",
     {{"timing.csv", 1, 2, EVALUATION " notitle"}},
     "seconds",
     offsetof(drawable, has_times),
     offsetof(drawable, evaluations)},
    {"gradient",
     "Gradient norm before clipping",
     BY_STEP("gradient norm"),
     {{"training.csv", STEP, NORM, "lines linetype 1 title 'all parameters'"},
      {"training.csv", STEP, THETA_NORM, "lines linetype 2 dashtype 2 title 'theta'"}},
     NULL,
     offsetof(drawable, has_norms),
     offsetof(drawable, norms)},
    {"rate",
     "Learning rate",
     BY_STEP("learning rate") "set yrange [0:*]\nunset key\nset format y '%g'\n",
     {{"training.csv", STEP, RATE, "lines linetype 1"}},
     NULL,
     offsetof(drawable, rows),
     0},
};

static void add_run_figure(rt_figures *f, const drawable *d, const run_figure *g, bool learns_theta)
{
    char caption[RT_CAPTION_SIZE];
    int last = 0;
    rt_writer w = {0};
    if (!*(const bool *)((const char *)d + g->shown))
        return;
    snprintf(caption, sizeof caption, "%s", g->caption);
    rt_writer_add(&w, "%s", g->axes);
    if (g->range)
        rt_figures_scale(&w, 'y', *(const rt_figure_range *)((const char *)d + g->range));
    if (g->curves[0].x == TOKENS)
        rt_writer_add(&w, "set xtics %.9g\n", rt_figures_tics(d->tokens));
    if (g->curves[1].y == EVAL_LOSS && isfinite(d->best) && isfinite(d->best_step)) {
        rt_writer_add(&w,
                      "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 3 linecolor "
                      "rgb '#444444'\n",
                      d->best_step, d->best_step);
        snprintf(caption, sizeof caption,
                 "Training and evaluation loss; the lowest evaluation loss, %.4g, at step %.9g",
                 d->best, d->best_step);
    }
    for (int i = 0; i < 2 && g->curves[i].with; i++)
        if (g->curves[i].y != THETA_NORM || learns_theta) {
            rt_writer_add(&w, "%s'%s' using %d:%d with %s", i ? ", \\\n     " : "plot ",
                          g->curves[i].table, g->curves[i].x, g->curves[i].y, g->curves[i].with);
            last = i;
        }
    const int x = g->curves[last].x, y = g->curves[last].y;
    if (g->hover)
        rt_writer_add(
            &w,
            ", \\\n     '%s' using %d:%d:(sprintf('%s %%.6g: %%.4g',$%d,$%d)) " RT_HYPERTEXT_POINTS(
                "0.5"),
            g->curves[last].table, x, y, g->hover, x, y);
    rt_writer_add(&w, "\n");
    rt_figures_add(f, g->name, caption, RT_FIGURE_WIDTH, RT_FIGURE_HEIGHT, &w);
}

static rt_status draw_figures(rt_figures *f, const char *folder, const rt_config *config,
                              rt_trainer *trainer)
{
    const bool learns_theta = config->model.theta.learn;
    rt_figures_begin(f, folder);
    const drawable d = write_training(f, folder);
    for (int n = 0; n < FIRST_FIGURES; n++)
        add_run_figure(f, &d, &run_figures[n], learns_theta);
    if (learns_theta)
        rt_report_theta(f, folder, config);
    if (config->model.position.kind == RT_POSITION_ROPE)
        rt_report_usage(f, folder);
    for (int n = FIRST_FIGURES; n < RUN_FIGURES; n++)
        add_run_figure(f, &d, &run_figures[n], learns_theta);
    if (trainer)
        rt_report_attention(f, config, trainer);
    const rt_status drawn = rt_figures_draw(f);
    return drawn.code ? drawn : d.status;
}

/* ---- the verdict ---- */

/* Adds perplexity and bits per token, if the run predicts tokens of a text. */
static void add_perplexity(rt_writer *w, const rt_results *r, const rt_config *c)
{
    const bool tokens = !strcmp(rt_data_task_name(c->data.task), "tokens");
    const double loss = rt_results_get(r, RT_RESULT_LOSS);
    const double bits = rt_results_get(r, RT_RESULT_BITS_PER_BYTE);
    if (!tokens && strcmp(rt_data_task_name(c->data.task), "text") != 0)
        return;
    rt_writer_add(w, "perplexity %.4g, %.4g bits per %s", exp(loss), loss / log(2),
                  tokens ? "token" : rt_words_for_tokens(c->data.level).one);
    if (c->data.level != RT_LEVEL_BYTE && !isnan(bits))
        rt_writer_add(w, ", %.4g bits per byte", bits);
    rt_writer_add(w, "\n");
}

static void add_evaluations(rt_writer *w, const rt_results *r, const rt_config *c)
{
    char accuracy[RT_NUMBER_SIZE], steps[RT_NUMBER_SIZE];
    int first, last;
    const double loss = rt_results_get(r, RT_RESULT_LOSS);
    const double macro_f1 = rt_results_get(r, RT_RESULT_MACRO_F1);
    const double limit = rt_results_get(r, RT_RESULT_DIVERGED);
    rt_writer_add(w, "eval: loss %.6g, accuracy %s after %s steps\n", loss,
                  rt_number_show(accuracy, 4, rt_results_get(r, RT_RESULT_ACCURACY)),
                  rt_number_show(steps, 0, rt_results_get(r, RT_RESULT_STEPS)));
    if (!isnan(macro_f1))
        rt_writer_add(w, "macro F1 %s\n", rt_number_show(accuracy, 4, macro_f1));
    add_perplexity(w, r, c);
    if (rt_results_get(r, RT_RESULT_STOPPED_EARLY) == 1 &&
        rt_results_whole(r, RT_RESULT_STEPS, &last))
        rt_early_stop_report(w, last, &c->train);
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        const int length = c->train.eval_lengths.at[i];
        const double right = rt_results_get(r, RT_RESULT_ACCURACY_AT "%d", length);
        rt_writer_add(w, "eval at length %d: loss %.6g, accuracy %s\n", length,
                      rt_results_get(r, RT_RESULT_LOSS_AT "%d", length),
                      rt_number_show(accuracy, 4, right));
    }
    if (!isnan(limit))
        rt_divergence_report(w, loss, limit);
    if (rt_results_whole(r, RT_RESULT_FIRST_STEP, &first))
        rt_writer_add(w, "accuracy 0.99 was first reached at step %d\n", first);
}

/* Adds the verdict on theta from the model itself or, without the model of that step, from the
 * results; then the resets that the run has recorded. */
static void add_theta(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
    static const char *const resets[][3] = {{RT_THETA_INIT_PLACE, RT_RESULT_RESET_LOSS,
                                             RT_RESULT_RESET_ACCURACY},
                                            {RT_THETA_BASE_PLACE, RT_RESULT_RESET_BASE_LOSS,
                                             RT_RESULT_RESET_BASE_ACCURACY}};
    const rt_training_state *state = trainer ? rt_trainer_state(trainer) : NULL;
    rt_theta_verdict verdict;
    int steps;
    if (state && rt_results_whole(r, RT_RESULT_STEPS, &steps) && state->step == steps &&
        !rt_theta_judge(&verdict, state->model, c).code)
        rt_theta_report_verdict(w, &verdict, c);
    else
        rt_writer_add(
            w, "theta: max relative drift %.3g, max phase drift %.3g rad over %d positions: %s\n",
            rt_results_get(r, RT_RESULT_DRIFT), rt_results_get(r, RT_RESULT_PHASE),
            c->data.length - 1, rt_results_get(r, RT_RESULT_NEAR) == 1 ? "near" : "moved");
    for (int i = 0; i < 2; i++) {
        const rt_theta_reset reset = {rt_results_get(r, RT_RESULT_LOSS),
                                      rt_results_get(r, RT_RESULT_ACCURACY),
                                      rt_results_get(r, "%s", resets[i][1]),
                                      rt_results_get(r, "%s", resets[i][2])};
        if (!isnan(reset.reset_accuracy))
            rt_theta_report_reset(w, resets[i][0], &reset);
    }
}

/* Explains the words of the verdict. */
static void explain_theta(rt_writer *w, const rt_config *c)
{
    rt_writer_add(w,
                  "<dl class=\"words\">\n"
                  "<dt>drift</dt><dd>the relative drift |θᵢ / base^(-2i/R) - 1|: how far a θ has "
                  "moved from base^(-2i/R), as a fraction of it. A grid step is the distance from "
                  "one θ to the next.</dd>\n"
                  "<dt>phase</dt><dd>the phase drift: the extra rotation, in radians, that the "
                  "move gives two tokens %d positions apart, the most in a sequence.</dd>\n"
                  "<dt>tolerance</dt><dd>theta.tolerance = %g, a convention: θ is near if its "
                  "largest drift is at most this, else it has moved.</dd>\n"
                  "<dt>usage</dt><dd>use: the share of the layer's (and head's) query and key "
                  "weights that a pair rotates.</dd>\n"
                  "<dt>the model depends on θ</dt><dd>resetting θ lowers the accuracy by more than "
                  "0.01, or the loss exceeds 1.5 × before + 0.01 (for an accuracy below 0.9: "
                  "before + 0.01). θ is reset to init, its initial value, and to base, "
                  "base^(-2i/R), if it started elsewhere.</dd>\n</dl>\n",
                  c->data.length - 1, c->theta.tolerance);
}

/* Adds the verdict box and, of labelled data, the classes. A run that has not ended has no results,
 * and its tables of classes are those of an earlier end. */
static void add_results(rt_writer *w, const rt_config *c, const char *folder, rt_trainer *trainer)
{
    char number[RT_NUMBER_SIZE];
    rt_results r;
    rt_writer lines = {0};
    const bool ended = rt_results_read(&r, folder);
    const bool evaluated = ended && !isnan(rt_results_get(&r, RT_RESULT_LOSS));
    const double accuracy = ended ? rt_results_get(&r, RT_RESULT_ACCURACY) : 0;
    const double near = rt_results_get(&r, RT_RESULT_NEAR);
    const bool missed = accuracy < c->train.target_accuracy;
    const bool bad = !evaluated || missed || !isnan(rt_results_get(&r, RT_RESULT_DIVERGED));
    if (!ended)
        rt_writer_add(&lines, "the run has not ended\n");
    else if (!evaluated)
        rt_writer_add(&lines, "failed after %s steps: the loss is not finite\n",
                      rt_number_show(number, 0, rt_results_get(&r, RT_RESULT_STEPS)));
    if (evaluated)
        add_evaluations(&lines, &r, c);
    if (evaluated && missed)
        rt_writer_add(&lines, "the accuracy %s is below train.target_accuracy = %g\n",
                      rt_number_show(number, 4, accuracy), c->train.target_accuracy);
    if (evaluated && !isnan(near))
        add_theta(&lines, &r, c, trainer);
    rt_page_verdict(w, &lines,
                    bad         ? RT_VERDICT_BAD
                    : near == 0 ? RT_VERDICT_MOVED
                                : RT_VERDICT_GOOD);
    if (evaluated && !isnan(near))
        explain_theta(w, c);
    if (rt_data_task_labelled(c->data.task) && !isnan(rt_results_get(&r, RT_RESULT_MACRO_F1)))
        rt_report_classes(w, folder);
    rt_results_free(&r);
}

/* ---- the page ---- */

static rt_status first_failure(rt_status a, rt_status b)
{
    return a.code ? a : b;
}

rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched)
{
    rt_figures figures;
    rt_writer w = {0};
    rt_status status = draw_figures(&figures, folder, config, trainer);
    rt_page_begin(&w, config->run.name, watched);
    add_results(&w, config, folder, trainer);
    if (trainer && rt_data_task_labelled(config->data.task))
        status = first_failure(status, rt_report_mistakes(&w, config, trainer));
    rt_page_figures(&w, &figures);
    if (config->model.theta.learn)
        rt_report_theta_table(&w, folder);
    if (trainer)
        status = first_failure(status, rt_report_samples(&w, config, trainer));
    rt_report_configuration(&w, config);
    rt_report_machine(&w, folder, trainer);
    return first_failure(rt_page_end(&w, folder, NULL), status);
}

/* ---- lines that train prints as well ---- */

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
