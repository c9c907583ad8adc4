#include "train/report/report.h"

#include "core/memory.h"
#include "train/folder/results.h"
#include "train/report/facts.h"
#include "train/report/page.h"
#include "train/report/theta_figures.h"
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

static void add_loss(rt_figures *f)
{
    rt_figures_add(
        f, "loss", "Loss of the training steps and of the evaluations",
        "set xlabel 'step'\nset ylabel 'cross entropy (nats)'\nset xrange [0:*]\n"
        "set yrange [0:*]\n"
        "plot '../metrics.csv' using 1:3 skip 1 with lines linetype 6 title 'training', "
        "\\\n     '../metrics.csv' using 1:4 skip 1 with linespoints linetype 1 pointtype "
        "7 pointsize 0.5 title 'evaluation'\n");
    rt_figures_add(
        f, "accuracy", "Share of the labels that were predicted",
        "set xlabel 'step'\nset ylabel 'accuracy'\nset xrange [0:*]\nset yrange [0:1.02]\n"
        "plot '../metrics.csv' using 1:8 skip 1 with lines linetype 6 title 'training', "
        "\\\n     '../metrics.csv' using 1:5 skip 1 with linespoints linetype 1 pointtype "
        "7 pointsize 0.5 title 'evaluation'\n");
}

static void add_optimiser(rt_figures *f, bool theta)
{
    static const char beginning[] =
        "set xlabel 'step'\nset ylabel 'gradient norm'\nset xrange [0:*]\nset logscale y\n"
        "set format y '10^{%L}'\n"
        "plot '../metrics.csv' using 1:7 skip 1 with lines linetype 1 title 'all parameters'";
    static const char of_theta[] =
        ", \\\n     '../metrics.csv' using 1:9 skip 1 with lines linetype 2 title 'theta'";
    char commands[640];
    snprintf(commands, sizeof commands, "%s%s\n", beginning, theta ? of_theta : "");
    rt_figures_add(f, "gradient", "Norm of the gradient, before clipping", commands);
    rt_figures_add(f, "rate", "Learning rate",
                   "set xlabel 'step'\nset ylabel 'learning rate'\nset xrange [0:*]\n"
                   "set yrange [0:*]\nunset key\nset format y '%g'\n"
                   "plot '../metrics.csv' using 1:6 skip 1 with lines linetype 1\n");
}

static rt_status draw(rt_figures *f, const char *folder, const rt_config *config,
                      rt_trainer *trainer)
{
    rt_figures_begin(f, folder);
    add_loss(f);
    if (config->model.theta.learn)
        rt_report_theta(f, folder, config);
    add_optimiser(f, config->model.theta.learn);
    if (trainer)
        rt_report_attention(f, config, trainer);
    return rt_figures_draw(f);
}

/* ---- the verdict ---- */

static void add_evaluations(rt_writer *w, const rt_results *r, const rt_config *c)
{
    const double first = rt_results_get(r, "first_step_with_accuracy_0.99");
    rt_writer_add(w, "eval: loss %.6g, accuracy %.4f after %.0f steps\n",
                  rt_results_get(r, "eval_loss"), rt_results_get(r, "eval_accuracy"),
                  rt_results_get(r, "steps"));
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        char loss[RT_RESULT_NAME_SIZE], accuracy[RT_RESULT_NAME_SIZE];
        const int length = c->train.eval_lengths.at[i];
        snprintf(loss, sizeof loss, "eval_loss_at_%d", length);
        snprintf(accuracy, sizeof accuracy, "eval_accuracy_at_%d", length);
        rt_writer_add(w, "eval at length %d: loss %.6g, accuracy %.4f\n", length,
                      rt_results_get(r, loss), rt_results_get(r, accuracy));
    }
    if (!isnan(first))
        rt_writer_add(w, "accuracy 0.99 was first reached at step %.0f\n", first);
}

/* What train prints of the learned theta below the table of its pairs, from the model itself; of
 * a run whose model is gone, what its results tell. */
static void add_theta(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
    const rt_training_state *state = trainer ? rt_trainer_state(trainer) : NULL;
    const double near = rt_results_get(r, "theta_near");
    char line[512];
    FILE *text = state && state->step == (int)rt_results_get(r, "steps") ? tmpfile() : NULL;
    bool told = false;
    if (text && !rt_theta_print(text, state->model, c, state->step).code) {
        rewind(text);
        while (fgets(line, sizeof line, text))
            if (!strncmp(line, "theta", 5)) {
                rt_writer_add(w, "%s", line);
                told = true;
            }
    }
    if (text)
        fclose(text);
    if (!told)
        rt_writer_add(
            w, "theta: max relative drift %.3g, max phase drift %.3g rad over %d positions: %s\n",
            rt_results_get(r, "theta_max_drift"), rt_results_get(r, "theta_max_phase"),
            c->data.length - 1, near != 0 ? "near" : "moved");
}

/* A run that has not come to an end has no results. */
static void add_verdict(rt_writer *w, const rt_config *c, const char *folder, rt_trainer *trainer)
{
    rt_results r;
    rt_writer lines = {0};
    const bool ended = rt_results_read(&r, folder);
    const bool evaluated = ended && !isnan(rt_results_get(&r, "eval_loss"));
    const double accuracy = ended ? rt_results_get(&r, "eval_accuracy") : 0;
    if (!ended)
        rt_writer_add(&lines, "the run has not ended\n");
    else if (!evaluated)
        rt_writer_add(&lines, "the run came to nothing after %.0f steps: the loss is not finite\n",
                      rt_results_get(&r, "steps"));
    if (evaluated)
        add_evaluations(&lines, &r, c);
    if (evaluated && accuracy < c->train.target_accuracy)
        rt_writer_add(&lines, "the accuracy %.4f is below train.target_accuracy = %g\n", accuracy,
                      c->train.target_accuracy);
    if (evaluated && !isnan(rt_results_get(&r, "theta_near")))
        add_theta(&lines, &r, c, trainer);
    const bool bad =
        !evaluated || accuracy < c->train.target_accuracy || rt_results_get(&r, "theta_near") == 0;
    char *text = rt_writer_take(&lines);
    if (text)
        rt_page_verdict(w, text, bad);
    rt_free(text);
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
    rt_report_configuration(&w, config);
    rt_report_machine(&w, folder);
    rt_status written = rt_page_end(&w, folder);
    return written.code ? written : drawn;
}
