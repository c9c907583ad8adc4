#include "train/report/report.h"

#include "data/tokenizers/simple_tokens.h"
#include "text/csv.h"
#include "text/number.h"
#include "train/folder/results.h"
#include "train/report/page.h"
#include "train/report/sections.h"
#include "train/report/theta_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rt_reports_are_off(void)
{
    return getenv("ROTOR_NO_REPORT") != NULL;
}

/* ---- figures ---- */

/* Columns 1, 2, ... of training.csv for the scripts below; only numbers are copied to it. */
static const char *const plotted[] = {"step",  "loss",      "eval_loss", "eval_accuracy",
                                      "lr",    "grad_norm", "accuracy",  "theta_grad_norm",
                                      "tokens"};
enum { PLOTTED = sizeof plotted / sizeof *plotted };

/* Which figures have points: gnuplot fails for an empty figure, and the logarithm of a norm of 0 is
 * no point. */
typedef struct drawable {
    bool rows;
    bool timed;                  /* an evaluation has seconds */
    double tokens;               /* most tokens of an evaluation; 0: none has any */
    rt_figure_range losses;      /* of steps and evaluations */
    rt_figure_range evaluations; /* losses of evaluations */
    rt_figure_range norms;       /* of gradients, above 0 */
    double best, best_step;      /* of the evaluations */
    rt_status status;            /* of the table */
} drawable;

static drawable write_training(rt_figures *f, const char *folder)
{
    drawable there = {.losses = RT_NO_RANGE,
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
            for (int i = 0; i < PLOTTED; i++) {
                const double x = rt_csv_number(&metrics, plotted[i]);
                if (isfinite(x))
                    rt_writer_add(&w, "%.9g", x);
                rt_writer_add(&w, ",");
            }
            const bool known = has_times && rt_csv_whole(&metrics, "step", &step);
            const double seconds = known ? rt_timing_seconds(&timing, step) : (double)NAN;
            rt_writer_add(&w, "\n");
            const bool drawn = isfinite(rt_csv_number(&metrics, "eval_loss"));
            const double tokens = rt_csv_number(&metrics, "tokens");
            if (drawn && isfinite(tokens))
                there.tokens = fmax(there.tokens, tokens);
            there.timed |= drawn && isfinite(seconds);
            const double norm = rt_csv_number(&metrics, "grad_norm");
            const double loss = rt_csv_number(&metrics, "eval_loss");
            if (drawn && isfinite(seconds))
                rt_writer_add(&times, "%.9g,%.9g\n", seconds, loss);
            rt_figure_range_take(&there.losses, rt_csv_number(&metrics, "loss"));
            rt_figure_range_take(&there.losses, loss);
            rt_figure_range_take(&there.evaluations, loss);
            if (loss < there.best) {
                there.best = loss;
                there.best_step = rt_csv_number(&metrics, "step");
            }
            there.rows |= isfinite(rt_csv_number(&metrics, "step")) &&
                          isfinite(rt_csv_number(&metrics, "loss"));
            const double theta_norm = rt_csv_number(&metrics, "theta_grad_norm");
            if (there.rows && norm > 0)
                rt_figure_range_take(&there.norms, norm);
            if (there.rows && norm > 0 && theta_norm > 0)
                rt_figure_range_take(&there.norms, theta_norm);
        }
    there.status = metrics.status;
    rt_csv_close(&metrics);
    rt_timing_close(&timing);
    rt_figures_write(f, "training.csv", &w);
    rt_figures_write(f, "timing.csv", &times);
    return there;
}

/* Labels that a browser shows where the pointer rests on a point. */
#define HYPERTEXT(table, x, y, what)                                                               \
    ", \\\n     '" table "' using " x ":" y ":(sprintf('" what " %.6g: %.4g',$" x ",$" y           \
    ")) with labels hypertext point pointtype 7 pointsize 0.5 linecolor rgb '#e0000000' notitle\n"

enum { LOSS, ACCURACY, LOSS_BY_TOKENS, LOSS_BY_TIME, GRADIENT, GRADIENT_AND_THETA, RATE };

/* The figures of a training; `range` is the offset in a drawable of what the vertical axis shows,
 * which is logarithmic where the values need it, or 0. */
static const struct {
    const char *name, *caption, *axes, *plot;
    size_t range;
} run_figures[] = {
    [LOSS] = {"loss", "Loss of the training steps and of the evaluations",
              "set xlabel 'step'\nset ylabel 'cross entropy (nats)'\nset xrange [0:*]\n",
              "plot 'training.csv' using 1:2 with lines linetype 6 dashtype 2 title 'training', "
              "\\\n     'training.csv' using 1:3 with linespoints linetype 1 pointtype "
              "7 pointsize 0.5 title 'evaluation'" HYPERTEXT("training.csv", "1", "3",
                                                             "evaluation, step"),
              offsetof(drawable, losses)},
    [ACCURACY] = {"accuracy", "Accuracy: the fraction of labels that were predicted correctly",
                  "set xlabel 'step'\nset ylabel 'accuracy'\nset xrange [0:*]\n"
                  "set yrange [0:1.02]\n",
                  "plot 'training.csv' using 1:7 with lines linetype 6 dashtype 2 title "
                  "'training', \\\n     'training.csv' using 1:4 with linespoints linetype 1 "
                  "pointtype 7 pointsize 0.5 title 'evaluation'\n",
                  0},
    [LOSS_BY_TOKENS] = {"loss_by_tokens", "Evaluation loss by tokens of training",
                        "set xlabel 'tokens'\nset format x '%.1s%c'\n"
                        "set ylabel 'cross entropy (nats)'\nset xrange [0:*]\nunset key\n",
                        "plot 'training.csv' using 9:3 with linespoints linetype 1 pointtype 7 "
                        "pointsize 0.5 notitle" HYPERTEXT("training.csv", "9", "3", "tokens"),
                        offsetof(drawable, evaluations)},
    [LOSS_BY_TIME] = {"loss_by_time", "Evaluation loss by seconds of training",
                      "set xlabel 'seconds'\nset ylabel 'cross entropy (nats)'\n"
                      "set xrange [0:*]\nunset key\n",
                      "plot 'timing.csv' using 1:2 with linespoints linetype 1 pointtype 7 "
                      "pointsize 0.5 notitle" HYPERTEXT("timing.csv", "1", "2", "seconds"),
                      offsetof(drawable, evaluations)},
    [GRADIENT] = {"gradient", "Gradient norm before clipping",
                  "set xlabel 'step'\nset ylabel 'gradient norm'\nset xrange [0:*]\n",
                  "plot 'training.csv' using 1:6 with lines linetype 1 title 'all parameters'\n",
                  offsetof(drawable, norms)},
    [GRADIENT_AND_THETA] = {"gradient", "Gradient norm before clipping",
                            "set xlabel 'step'\nset ylabel 'gradient norm'\nset xrange [0:*]\n",
                            "plot 'training.csv' using 1:6 with lines linetype 1 title 'all "
                            "parameters', \\\n     'training.csv' using 1:8 with lines linetype 2 "
                            "dashtype 2 title 'theta'\n",
                            offsetof(drawable, norms)},
    [RATE] = {"rate", "Learning rate",
              "set xlabel 'step'\nset ylabel 'learning rate'\nset xrange [0:*]\n"
              "set yrange [0:*]\nunset key\nset format y '%g'\n",
              "plot 'training.csv' using 1:5 with lines linetype 1\n", 0},
};

static void add_figure(rt_figures *f, const drawable *there, int which)
{
    char caption[RT_CAPTION_SIZE];
    rt_writer w = {0};
    snprintf(caption, sizeof caption, "%s", run_figures[which].caption);
    rt_writer_add(&w, "%s", run_figures[which].axes);
    if (run_figures[which].range)
        rt_figures_scale(&w, 'y',
                         *(const rt_figure_range *)((const char *)there +
                                                    run_figures[which].range));
    if (which == LOSS_BY_TOKENS)
        rt_writer_add(&w, "set xtics %.9g\n", rt_figures_tics(there->tokens));
    if (which == LOSS && isfinite(there->best) && isfinite(there->best_step)) {
        rt_writer_add(
            &w,
            "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 3 linecolor rgb "
            "'#444444'\n",
            there->best_step, there->best_step);
        snprintf(caption, sizeof caption,
                 "Training and evaluation loss; the lowest evaluation loss, %.4g, at step %.9g",
                 there->best, there->best_step);
    }
    rt_writer_add(&w, "%s", run_figures[which].plot);
    rt_figures_add(f, run_figures[which].name, caption, RT_FIGURE_WIDTH, RT_FIGURE_HEIGHT, &w);
}

static rt_status draw(rt_figures *f, const char *folder, const rt_config *config,
                      rt_trainer *trainer)
{
    rt_figures_begin(f, folder);
    const drawable there = write_training(f, folder);
    if (there.rows) {
        add_figure(f, &there, LOSS);
        add_figure(f, &there, ACCURACY);
    }
    if (there.tokens > 0)
        add_figure(f, &there, LOSS_BY_TOKENS);
    if (there.timed)
        add_figure(f, &there, LOSS_BY_TIME);
    if (config->model.theta.learn)
        rt_report_theta(f, folder, config);
    if (config->model.position.kind == RT_POSITION_ROPE)
        rt_report_usage(f, folder);
    if (there.norms.most > 0)
        add_figure(f, &there, config->model.theta.learn ? GRADIENT_AND_THETA : GRADIENT);
    if (there.rows)
        add_figure(f, &there, RATE);
    if (trainer)
        rt_report_attention(f, config, trainer);
    const rt_status drawn = rt_figures_draw(f);
    return drawn.code ? drawn : there.status;
}

/* ---- the verdict ---- */

static bool is_tokens(const rt_config *c)
{
    return !strcmp(rt_data_task_name(c->data.task), "tokens");
}

static bool is_language(const rt_config *c)
{
    return is_tokens(c) || !strcmp(rt_data_task_name(c->data.task), "text");
}

static const char *token_word(const rt_config *c)
{
    return is_tokens(c) ? "token" : rt_words_for_tokens(c->data.level).one;
}

static void add_evaluations(rt_writer *w, const rt_results *r, const rt_config *c)
{
    char accuracy[RT_NUMBER_SIZE], steps[RT_NUMBER_SIZE];
    int first, last;
    rt_writer_add(w, "eval: loss %.6g, accuracy %s after %s steps\n",
                  rt_results_get(r, RT_RESULT_LOSS),
                  rt_number_show(accuracy, 4, rt_results_get(r, RT_RESULT_ACCURACY)),
                  rt_number_show(steps, 0, rt_results_get(r, RT_RESULT_STEPS)));
    if (!isnan(rt_results_get(r, RT_RESULT_MACRO_F1)))
        rt_writer_add(w, "macro F1 %s\n",
                      rt_number_show(accuracy, 4, rt_results_get(r, RT_RESULT_MACRO_F1)));
    if (is_language(c))
        rt_writer_add(w, "perplexity %.4g, %.4g bits per %s",
                      exp(rt_results_get(r, RT_RESULT_LOSS)),
                      rt_results_get(r, RT_RESULT_LOSS) / log(2), token_word(c));
    if (is_language(c) && c->data.level != RT_LEVEL_BYTE &&
        !isnan(rt_results_get(r, RT_RESULT_BITS_PER_BYTE)))
        rt_writer_add(w, ", %.4g bits per byte", rt_results_get(r, RT_RESULT_BITS_PER_BYTE));
    if (is_language(c))
        rt_writer_add(w, "\n");
    if (rt_results_get(r, RT_RESULT_STOPPED_EARLY) == 1 &&
        rt_results_whole(r, RT_RESULT_STEPS, &last))
        rt_early_stop_report(w, last, &c->train);
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        const int length = c->train.eval_lengths.at[i];
        rt_writer_add(w, "eval at length %d: loss %.6g, accuracy %s\n", length,
                      rt_results_get(r, RT_RESULT_LOSS_AT "%d", length),
                      rt_number_show(accuracy, 4,
                                     rt_results_get(r, RT_RESULT_ACCURACY_AT "%d", length)));
    }
    if (!isnan(rt_results_get(r, RT_RESULT_DIVERGED)))
        rt_divergence_report(w, rt_results_get(r, RT_RESULT_LOSS),
                             rt_results_get(r, RT_RESULT_DIVERGED));
    if (rt_results_whole(r, RT_RESULT_FIRST_STEP, &first))
        rt_writer_add(w, "accuracy 0.99 was first reached at step %d\n", first);
}

/* Adds the verdict on theta from the model itself or, without the model of that step, from the
 * results. */
static void add_drift(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
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
}

/* Adds the line on a reset, if the run has recorded it. */
static void add_reset(rt_writer *w, const rt_results *r, const char *place, const char *loss,
                      const char *accuracy)
{
    const rt_theta_reset reset = {rt_results_get(r, RT_RESULT_LOSS),
                                  rt_results_get(r, RT_RESULT_ACCURACY),
                                  rt_results_get(r, "%s", loss), rt_results_get(r, "%s", accuracy)};
    if (!isnan(reset.reset_accuracy))
        rt_theta_report_reset(w, place, &reset);
}

static void add_theta(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
    add_drift(w, r, c, trainer);
    add_reset(w, r, RT_THETA_INIT_PLACE, RT_RESULT_RESET_LOSS, RT_RESULT_RESET_ACCURACY);
    add_reset(w, r, RT_THETA_BASE_PLACE, RT_RESULT_RESET_BASE_LOSS, RT_RESULT_RESET_BASE_ACCURACY);
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

/* Adds the verdict box. A run that has not ended has no results. */
static void add_verdict(rt_writer *w, const rt_config *c, const char *folder, rt_trainer *trainer)
{
    char number[RT_NUMBER_SIZE];
    rt_results r;
    rt_writer lines = {0};
    const bool ended = rt_results_read(&r, folder);
    const bool evaluated = ended && !isnan(rt_results_get(&r, RT_RESULT_LOSS));
    const double accuracy = ended ? rt_results_get(&r, RT_RESULT_ACCURACY) : 0;
    if (!ended)
        rt_writer_add(&lines, "the run has not ended\n");
    else if (!evaluated)
        rt_writer_add(&lines, "failed after %s steps: the loss is not finite\n",
                      rt_number_show(number, 0, rt_results_get(&r, RT_RESULT_STEPS)));
    if (evaluated)
        add_evaluations(&lines, &r, c);
    if (evaluated && accuracy < c->train.target_accuracy)
        rt_writer_add(&lines, "the accuracy %s is below train.target_accuracy = %g\n",
                      rt_number_show(number, 4, accuracy), c->train.target_accuracy);
    if (evaluated && !isnan(rt_results_get(&r, RT_RESULT_NEAR)))
        add_theta(&lines, &r, c, trainer);
    const bool bad = !evaluated || accuracy < c->train.target_accuracy ||
                     !isnan(rt_results_get(&r, RT_RESULT_DIVERGED));
    rt_page_verdict(w, &lines,
                    bad                                       ? RT_VERDICT_BAD
                    : rt_results_get(&r, RT_RESULT_NEAR) == 0 ? RT_VERDICT_MOVED
                                                              : RT_VERDICT_GOOD);
    if (evaluated && !isnan(rt_results_get(&r, RT_RESULT_NEAR)))
        explain_theta(w, c);
    rt_results_free(&r);
}

/* Adds the classes unless the run goes on: then its tables are those of an earlier end. */
static void add_classes(rt_writer *w, const char *folder)
{
    rt_results r;
    if (rt_results_read(&r, folder) && !isnan(rt_results_get(&r, RT_RESULT_MACRO_F1)))
        rt_report_classes(w, folder);
    rt_results_free(&r);
}

/* ---- the page ---- */

rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched)
{
    rt_figures figures;
    rt_writer w = {0};
    rt_status drawn = draw(&figures, folder, config, trainer);
    rt_page_begin(&w, config->run.name, watched);
    add_verdict(&w, config, folder, trainer);
    if (rt_data_task_labelled(config->data.task))
        add_classes(&w, folder);
    if (trainer && rt_data_task_labelled(config->data.task)) {
        const rt_status found = rt_report_mistakes(&w, config, trainer);
        drawn = drawn.code ? drawn : found;
    }
    rt_page_figures(&w, &figures);
    if (config->model.theta.learn)
        rt_report_theta_table(&w, folder);
    if (trainer) {
        rt_status sampled = rt_report_samples(&w, config, trainer);
        drawn = drawn.code ? drawn : sampled;
    }
    rt_report_configuration(&w, config);
    rt_report_machine(&w, folder, trainer);
    rt_status written = rt_page_end(&w, folder, NULL);
    return written.code ? written : drawn;
}

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
