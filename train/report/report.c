#include "train/report/report.h"

#include "train/folder/results.h"
#include "train/report/divergence.h"
#include "train/report/facts.h"
#include "train/report/page.h"
#include "train/report/theta_figures.h"
#include "train/report/theta_report.h"
#include "train/report/theta_table.h"
#include "train/text/csv.h"
#include "train/text/number.h"

#include <math.h>
#include <stdlib.h>

bool rt_reports_are_off(void)
{
    return getenv("ROTOR_NO_REPORT") != NULL;
}

/* ---- figures ---- */

/* What the scripts below call 1, 2, ...; a figure takes nothing but numbers from a table. */
static const char *const plotted[] = {"step", "loss",      "eval_loss", "eval_accuracy",
                                      "lr",   "grad_norm", "accuracy",  "theta_grad_norm"};
enum { PLOTTED = sizeof plotted / sizeof *plotted };

/* What there is to draw: gnuplot fails for a figure that would be empty, and the logarithm of a
 * norm of 0 is no point. */
typedef struct drawable {
    bool rows;
    bool norms;
    rt_status status; /* of the table */
} drawable;

static drawable write_training(rt_figures *f, const char *folder)
{
    drawable there = {.status = rt_ok()};
    rt_writer w = {0};
    rt_csv metrics;
    if (rt_csv_open(&metrics, folder, "metrics.csv"))
        while (rt_csv_row(&metrics)) {
            for (int i = 0; i < PLOTTED; i++) {
                const double x = rt_csv_number(&metrics, plotted[i]);
                if (isfinite(x))
                    rt_writer_add(&w, "%.9g", x);
                rt_writer_add(&w, i + 1 < PLOTTED ? "," : "\n");
            }
            const double norm = rt_csv_number(&metrics, "grad_norm");
            there.rows |= isfinite(rt_csv_number(&metrics, "step")) &&
                          isfinite(rt_csv_number(&metrics, "loss"));
            there.norms |= there.rows && norm > 0 && isfinite(norm);
        }
    there.status = metrics.status;
    rt_csv_close(&metrics);
    rt_figures_write(f, "training.csv", &w);
    return there;
}

static void add_loss(rt_figures *f)
{
    rt_figures_add(f, "loss", "Loss of the training steps and of the evaluations",
                   "set xlabel 'step'\nset ylabel 'cross entropy (nats)'\nset xrange [0:*]\n"
                   "set yrange [0:*]\n"
                   "plot 'training.csv' using 1:2 with lines linetype 6 title 'training', "
                   "\\\n     'training.csv' using 1:3 with linespoints linetype 1 pointtype "
                   "7 pointsize 0.5 title 'evaluation'\n");
    rt_figures_add(f, "accuracy", "Share of the labels that were predicted",
                   "set xlabel 'step'\nset ylabel 'accuracy'\nset xrange [0:*]\n"
                   "set yrange [0:1.02]\n"
                   "plot 'training.csv' using 1:7 with lines linetype 6 title 'training', "
                   "\\\n     'training.csv' using 1:4 with linespoints linetype 1 pointtype "
                   "7 pointsize 0.5 title 'evaluation'\n");
}

static void add_norm(rt_figures *f, bool theta)
{
    static const char all[] =
        "set xlabel 'step'\nset ylabel 'gradient norm'\nset xrange [0:*]\nset logscale y\n"
        "set format y '10^{%L}'\n"
        "plot 'training.csv' using 1:6 with lines linetype 1 title 'all parameters'\n";
    static const char all_and_theta[] =
        "set xlabel 'step'\nset ylabel 'gradient norm'\nset xrange [0:*]\nset logscale y\n"
        "set format y '10^{%L}'\n"
        "plot 'training.csv' using 1:6 with lines linetype 1 title 'all parameters', "
        "\\\n     'training.csv' using 1:8 with lines linetype 2 title 'theta'\n";
    rt_figures_add(f, "gradient", "Norm of the gradient, before clipping",
                   theta ? all_and_theta : all);
}

static void add_rate(rt_figures *f)
{
    rt_figures_add(f, "rate", "Learning rate",
                   "set xlabel 'step'\nset ylabel 'learning rate'\nset xrange [0:*]\n"
                   "set yrange [0:*]\nunset key\nset format y '%g'\n"
                   "plot 'training.csv' using 1:5 with lines linetype 1\n");
}

static rt_status draw(rt_figures *f, const char *folder, const rt_config *config,
                      rt_trainer *trainer)
{
    rt_figures_begin(f, folder);
    const drawable there = write_training(f, folder);
    if (there.rows)
        add_loss(f);
    if (config->model.theta.learn)
        rt_report_theta(f, folder, config);
    if (there.norms)
        add_norm(f, config->model.theta.learn);
    if (there.rows)
        add_rate(f);
    if (trainer)
        rt_report_attention(f, config, trainer);
    const rt_status drawn = rt_figures_draw(f);
    return drawn.code ? drawn : there.status;
}

/* ---- the verdict ---- */

static void add_evaluations(rt_writer *w, const rt_results *r, const rt_config *c)
{
    char accuracy[RT_NUMBER_SIZE], steps[RT_NUMBER_SIZE];
    int first;
    rt_writer_add(w, "eval: loss %.6g, accuracy %s after %s steps\n",
                  rt_results_get(r, RT_RESULT_LOSS),
                  rt_number_show(accuracy, 4, rt_results_get(r, RT_RESULT_ACCURACY)),
                  rt_number_show(steps, 0, rt_results_get(r, RT_RESULT_STEPS)));
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        const int length = c->train.eval_lengths.at[i];
        rt_writer_add(w, "eval at length %d: loss %.6g, accuracy %s\n", length,
                      rt_results_get(r, RT_RESULT_LOSS_AT "%d", length),
                      rt_number_show(accuracy, 4,
                                     rt_results_get(r, RT_RESULT_ACCURACY_AT "%d", length)));
    }
    if (!isnan(rt_results_get(r, RT_RESULT_DIVERGED)))
        rt_divergence_tell(w, rt_results_get(r, RT_RESULT_LOSS),
                           rt_results_get(r, RT_RESULT_DIVERGED));
    if (rt_results_whole(r, RT_RESULT_FIRST_STEP, &first))
        rt_writer_add(w, "accuracy 0.99 was first reached at step %d\n", first);
}

/* What train prints of the learned theta below the table of its pairs, from the model itself; of
 * a run whose model is gone, what its results tell. */
static void add_drift(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
    const rt_training_state *state = trainer ? rt_trainer_state(trainer) : NULL;
    rt_theta_verdict verdict;
    int steps;
    if (state && rt_results_whole(r, RT_RESULT_STEPS, &steps) && state->step == steps &&
        !rt_theta_judge(&verdict, state->model, c).code)
        rt_theta_tell(w, &verdict, c);
    else
        rt_writer_add(
            w, "theta: max relative drift %.3g, max phase drift %.3g rad over %d positions: %s\n",
            rt_results_get(r, RT_RESULT_DRIFT), rt_results_get(r, RT_RESULT_PHASE),
            c->data.length - 1, rt_results_get(r, RT_RESULT_NEAR) == 1 ? "near" : "moved");
}

/* A swap that a run has recorded. */
static void add_swap(rt_writer *w, const rt_results *r, const char *place, const char *loss,
                     const char *accuracy)
{
    const rt_theta_swap swap = {rt_results_get(r, RT_RESULT_LOSS),
                                rt_results_get(r, RT_RESULT_ACCURACY),
                                rt_results_get(r, "%s", loss), rt_results_get(r, "%s", accuracy)};
    if (!isnan(swap.other_accuracy))
        rt_theta_tell_swap(w, place, &swap);
}

static void add_theta(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
    add_drift(w, r, c, trainer);
    add_swap(w, r, RT_THETA_START_PLACE, RT_RESULT_SWAP_LOSS, RT_RESULT_SWAP_ACCURACY);
    add_swap(w, r, RT_THETA_BASE_PLACE, RT_RESULT_BASE_LOSS, RT_RESULT_BASE_ACCURACY);
}

/* A run that has not come to an end has no results. */
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
        rt_writer_add(&lines, "the run came to nothing after %s steps: the loss is not finite\n",
                      rt_number_show(number, 0, rt_results_get(&r, RT_RESULT_STEPS)));
    if (evaluated)
        add_evaluations(&lines, &r, c);
    if (evaluated && accuracy < c->train.target_accuracy)
        rt_writer_add(&lines, "the accuracy %s is below train.target_accuracy = %g\n",
                      rt_number_show(number, 4, accuracy), c->train.target_accuracy);
    if (evaluated && !isnan(rt_results_get(&r, RT_RESULT_NEAR)))
        add_theta(&lines, &r, c, trainer);
    const bool bad = !evaluated || accuracy < c->train.target_accuracy ||
                     rt_results_get(&r, RT_RESULT_NEAR) == 0;
    rt_page_verdict(w, &lines, bad);
    rt_results_free(&r);
}

/* ---- the page ---- */

rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer)
{
    rt_figures figures;
    rt_writer w = {0};
    rt_status drawn = draw(&figures, folder, config, trainer);
    rt_page_begin(&w, config->run.name);
    add_verdict(&w, config, folder, trainer);
    rt_page_figures(&w, &figures);
    if (config->model.theta.learn)
        rt_report_theta_table(&w, folder);
    rt_report_configuration(&w, config);
    rt_report_machine(&w, folder);
    rt_status written = rt_page_end(&w, folder);
    return written.code ? written : drawn;
}
