#include "data/tokenizers/tokens.h"
#include "train/folder/results.h"
#include "train/report/private.h"
#include "util/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rt_reports_are_off(void)
{
    return getenv("ROTOR_NO_REPORT") != NULL;
}

/* Columns of training.csv, from 1 as in gnuplot: columns of metrics.csv, and the seconds. */
enum { STEP = 1, LOSS, EVAL_LOSS, EVAL_ACCURACY, LR, NORM, ACCURACY, THETA_NORM, TOKENS, SECONDS };
enum { COLUMNS = SECONDS + 1 };
static const char *const columns[] = {NULL,        "step",          "loss",
                                      "eval_loss", "eval_accuracy", "lr",
                                      "grad_norm", "accuracy",      "theta_grad_norm",
                                      "tokens"};

/* Contents of training.csv that figures show. */
typedef struct training {
    rt_figure_range ranges[COLUMNS]; /* of each column; of norms, which may be 0, only above 0 */
    double best[COLUMNS];            /* row of the best evaluation; an infinite loss: none */
    rt_status status;                /* status of the table */
} training;

static void add_cells(rt_writer *w, const double row[COLUMNS])
{
    for (int i = STEP; i < COLUMNS; i++) {
        if (isfinite(row[i]))
            rt_writer_add(w, "%.9g", row[i]);
        rt_writer_add(w, i + 1 < COLUMNS ? "," : "\n");
    }
}

/* Writes training.csv for the scripts, with numbers only, and timing.csv, the same rows with their
 * seconds, so that only timing.csv differs between equal runs. */
static training write_training(rt_figures *f, const char *folder)
{
    training t = {.best = {[EVAL_LOSS] = INFINITY}};
    rt_writer w = {0}, timed = {0};
    rt_csv metrics;
    rt_timing timing;
    int step;
    const bool has_times = rt_timing_open(&timing, folder);
    for (rt_csv_open(&metrics, folder, "metrics.csv"); rt_csv_row(&metrics);) {
        double row[COLUMNS] = {[SECONDS] = NAN};
        for (int i = STEP; i < SECONDS; i++)
            row[i] = rt_csv_number(&metrics, columns[i]);
        add_cells(&w, row);
        if (has_times && rt_csv_whole(&metrics, "step", &step))
            row[SECONDS] = rt_timing_seconds(&timing, step);
        if (isfinite(row[SECONDS]))
            add_cells(&timed, row);
        for (int i = STEP; i < COLUMNS; i++)
            if ((i != NORM && i != THETA_NORM) || row[i] > 0)
                rt_figure_range_take(&t.ranges[i], row[i]);
        if (row[EVAL_LOSS] < t.best[EVAL_LOSS])
            memcpy(t.best, row, sizeof t.best);
    }
    t.status = metrics.status;
    rt_csv_close(&timing.csv);
    rt_figures_write(f, "training.csv", &w);
    rt_figures_write(f, "timing.csv", &timed);
    return t;
}

#define TRAINING   "lines linetype 6 dashtype 2 title 'training'"
#define EVALUATION "linespoints linetype 1 pointtype 7 pointsize 0.5 title 'evaluation'"

typedef struct run_figure {
    const char *name, *axes, *caption, *choice; /* see rt_figure */
    int x;                                      /* column: STEP, TOKENS or SECONDS */
    int y[2];                                   /* columns of the curves */
    const char *with[2];                        /* their gnuplot options; NULL: no curve */
    bool fits; /* y shows the range of its values, on a logarithmic scale if that is wide */
} run_figure;

/* Figures of a training, in their order. The figures of theta follow the first FIRST_FIGURES. */
enum { FIRST_FIGURES = 4, RUN_FIGURES = 6 };
static const run_figure run_figures[RUN_FIGURES] = {
    {"loss", "steps nats", "Loss of the training steps and of the evaluations", "steps", STEP,
     .y = {LOSS, EVAL_LOSS}, .with = {TRAINING, EVALUATION}, .fits = true},
    {"loss_by_tokens", "tokens nats", "Loss by tokens of training", "tokens", TOKENS,
     .y = {LOSS, EVAL_LOSS}, .with = {TRAINING, EVALUATION}, .fits = true},
    {"loss_by_time", "seconds nats", "Loss by seconds of training", "seconds", SECONDS,
     .y = {LOSS, EVAL_LOSS}, .with = {TRAINING, EVALUATION}, .fits = true},
    {"accuracy", "steps accuracy", "Accuracy: the fraction of labels that were predicted correctly",
     NULL, STEP, .y = {ACCURACY, EVAL_ACCURACY}, .with = {TRAINING, EVALUATION}},
    {"gradient", "steps gradient", "Gradient norm before clipping", NULL, STEP,
     .y = {NORM, THETA_NORM},
     .with = {"lines linetype 1 title 'all parameters'",
              "lines linetype 2 dashtype 2 title 'theta'"},
     .fits = true},
    {"rate", "steps rate", "Learning rate", NULL, STEP, .y = {LR}, .with = {"lines linetype 1"}},
};

static void add_run_figure(rt_figures *f, const training *t, const run_figure *g)
{
    rt_figure_range range = {0};
    const char *table = g->x == SECONDS ? "timing.csv" : "training.csv", *separator = "plot ";
    const bool is_loss = g->y[1] == EVAL_LOSS;
    const bool has_best = is_loss && isfinite(t->best[EVAL_LOSS]);
    char best[96] = "";
    rt_writer w = {0}, plots = {0};
    for (int i = 0; i < 2 && g->with[i]; i++) {
        const rt_figure_range *y = &t->ranges[g->y[i]];
        if (!y->any)
            continue;
        rt_writer_add(&plots, "%s'%s' using %d:%d with %s", separator, table, g->x, g->y[i],
                      g->with[i]);
        separator = ", \\\n     ";
        rt_figure_range_take(&range, y->least);
        rt_figure_range_take(&range, y->most);
    }
    if (plots.length && t->ranges[g->x].any) {
        if (g->x == TOKENS)
            rt_writer_add(&w, "set xtics %.9g\n", rt_figures_tics(t->ranges[TOKENS].most));
        if (g->x != SECONDS && has_best && isfinite(t->best[g->x]))
            rt_writer_add(&w,
                          "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 3 "
                          "linecolor rgb '#444444'\n",
                          t->best[g->x], t->best[g->x]);
        if (g->fits)
            rt_figures_scale(&w, 'y', range);
        rt_writer_add(&w, "%s", plots.bytes);
        if (is_loss)
            rt_writer_add(&w,
                          "%s'%s' using %d:%d:(sprintf('evaluation, step %%d: %%.4g', $%d, $%d)) "
                          "@labelled",
                          separator, table, g->x, EVAL_LOSS, STEP, EVAL_LOSS);
        rt_writer_add(&w, "\n");
        w.failed |= plots.failed;
        if (has_best)
            snprintf(best, sizeof best, "; the lowest evaluation loss, %.4g, at step %.9g",
                     t->best[EVAL_LOSS], t->best[STEP]);
        rt_figures_add(f, &(rt_figure){.name = g->name, .choice = g->choice, .axes = g->axes}, NULL,
                       &w, "%s%s", g->caption, best);
    }
    rt_writer_free(&plots);
}

/* Adds perplexity and bits per token, if the run predicts tokens of a text. */
static void add_perplexity(rt_writer *w, const rt_results *r, const rt_config *c)
{
    const bool tokens = !strcmp(rt_data_task_name(c->data.task), "tokens");
    const double loss = rt_results_get(r, RT_RESULT_LOSS);
    const double bits = rt_results_get(r, RT_RESULT_BITS_PER_BYTE);
    if (!tokens && strcmp(rt_data_task_name(c->data.task), "text") != 0)
        return;
    const bool units = c->data.level == RT_LEVEL_BYTE || c->data.level == RT_LEVEL_CHAR;
    /* without bits per byte some tokens end documents, or only masked ones count */
    rt_writer_add(w, "perplexity %.4g, %.4g bits per %s", exp(loss), loss / log(2),
                  tokens || (units && isnan(bits)) ? "token"
                                                   : rt_words_for_tokens(c->data.level).one);
    if (c->data.level != RT_LEVEL_BYTE && !isnan(bits))
        rt_writer_add(w, ", %.4g bits per byte", bits);
    rt_writer_add(w, "\n");
}

/* Adds the share of exact answers, unless there are no answers of several tokens. */
static void add_exact(rt_writer *w, double exact)
{
    char number[RT_NUMBER_SIZE];
    if (!isnan(exact))
        rt_writer_add(w, ", exact %s", rt_number_show(number, 4, exact));
}

static void add_evaluations(rt_writer *w, const rt_results *r, const rt_config *c,
                            const training *t)
{
    char accuracy[RT_NUMBER_SIZE], number[RT_NUMBER_SIZE];
    int first, last;
    const double steps = rt_results_get(r, RT_RESULT_STEPS);
    const double model_step = rt_results_get(r, RT_RESULT_MODEL_STEP);
    const double loss = rt_results_get(r, RT_RESULT_LOSS);
    const double macro_f1 = rt_results_get(r, RT_RESULT_MACRO_F1);
    const double limit = rt_results_get(r, RT_RESULT_DIVERGED);
    rt_writer_add(w, "eval: loss %.6g, accuracy %s", loss,
                  rt_number_show(accuracy, 4, rt_results_get(r, RT_RESULT_ACCURACY)));
    add_exact(w, rt_results_get(r, RT_RESULT_EXACT));
    rt_writer_add(w, " after %s steps",
                  rt_number_show(number, 0, isnan(model_step) ? steps : model_step));
    if (!isnan(model_step))
        rt_writer_add(w, ", the best evaluation; at the end, after %s steps, loss %.6g",
                      rt_number_show(number, 0, steps), rt_results_get(r, RT_RESULT_LAST_LOSS));
    else if (t->best[EVAL_LOSS] < loss && t->best[STEP] < steps)
        rt_writer_add(w, "; the best evaluation: loss %.6g after %s steps", t->best[EVAL_LOSS],
                      rt_number_show(number, 0, t->best[STEP]));
    else if (isfinite(t->best[EVAL_LOSS]))
        rt_writer_add(w, ", the best evaluation");
    rt_writer_add(w, "\n");
    if (!isnan(macro_f1))
        rt_writer_add(w, "macro F1 %s\n", rt_number_show(accuracy, 4, macro_f1));
    add_perplexity(w, r, c);
    if (rt_results_get(r, RT_RESULT_STOPPED_EARLY) == 1 &&
        rt_results_whole(r, RT_RESULT_STEPS, &last))
        rt_early_stop_report(w, last, &c->train);
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        const int length = c->train.eval_lengths.at[i];
        const double right = rt_results_get(r, RT_RESULT_ACCURACY_AT "%d", length);
        rt_writer_add(w, "eval at length %d: loss %.6g, accuracy %s", length,
                      rt_results_get(r, RT_RESULT_LOSS_AT "%d", length),
                      rt_number_show(accuracy, 4, right));
        add_exact(w, rt_results_get(r, RT_RESULT_EXACT_AT "%d", length));
        rt_writer_add(w, "\n");
    }
    if (!isnan(limit))
        rt_divergence_report(w, loss, limit);
    if (rt_results_whole(r, RT_RESULT_FIRST_STEP, &first))
        rt_writer_add(w, "accuracy 0.99 was first reached at step %d\n", first);
}

/* Adds the verdict on theta from the model or, if there is no model of that step, from the results.
 * Then adds the resets that the run has recorded. */
static void add_theta(rt_writer *w, const rt_results *r, const rt_config *c, rt_trainer *trainer)
{
    static const char *const resets[][3] = {{RT_THETA_INIT_PLACE, RT_RESULT_RESET_LOSS,
                                             RT_RESULT_RESET_ACCURACY},
                                            {RT_THETA_BASE_PLACE, RT_RESULT_RESET_BASE_LOSS,
                                             RT_RESULT_RESET_BASE_ACCURACY}};
    const rt_training_state *state = trainer ? rt_trainer_state(trainer) : NULL;
    rt_theta_verdict verdict;
    int step;
    if (state && rt_results_model_step(r, &step) && state->step == step &&
        !rt_theta_judge(&verdict, state->model, c).code)
        rt_theta_report_verdict(w, &verdict, c);
    else
        rt_writer_add(
            w, "theta: max relative drift %.3g, max phase drift %.3g rad over %d positions: %s\n",
            rt_results_get(r, RT_RESULT_DRIFT), rt_results_get(r, RT_RESULT_PHASE),
            rt_transformer_extent(&c->model, c->data.length) - 1,
            rt_results_get(r, RT_RESULT_NEAR) == 1 ? "near" : "moved");
    for (int i = 0; i < 2; i++) {
        const rt_theta_reset reset = {rt_results_get(r, RT_RESULT_LOSS),
                                      rt_results_get(r, RT_RESULT_ACCURACY),
                                      rt_results_get(r, "%s", resets[i][1]),
                                      rt_results_get(r, "%s", resets[i][2])};
        if (!isnan(reset.reset_accuracy))
            rt_theta_report_reset(w, resets[i][0], &reset);
    }
}

/* Explains the terms of the verdict. */
static void explain_theta(rt_writer *w, const rt_config *c)
{
    rt_writer_add(w,
                  "<dl class=\"words\">\n<dt>drift</dt><dd>the relative drift%s</dd>\n"
                  "<dt>phase</dt><dd>the phase drift: the extra rotation, in radians, that the "
                  "move gives two tokens %d positions apart, the most %s.</dd>\n"
                  "<dt>tolerance</dt><dd>theta.tolerance = %g, a convention: θ is near if its "
                  "largest drift is at most this, else it has moved.</dd>\n"
                  "<dt>usage</dt><dd>use: the share of the layer's (and head's) query and key "
                  "weights that a pair rotates.</dd>\n"
                  "<dt>the model depends on θ</dt><dd>resetting θ lowers the accuracy by more than "
                  "0.01, or the loss exceeds 1.5 × before + 0.01 (for an accuracy below 0.9: "
                  "before + 0.01). θ is reset to init, its initial value, and to base, the "
                  "geometric series, if it started elsewhere.</dd>\n</dl>\n",
                  rt_transformer_theta_axes(&c->model) > 1
                      ? ": how far a θ has moved from its initial value, as a fraction of the "
                        "length of the two initial θ of its pair."
                      : ": how far a θ has moved from its value in the geometric series of "
                        "position.base, as a fraction of it. A grid step is the distance from one "
                        "θ to the next.",
                  rt_transformer_extent(&c->model, c->data.length) - 1,
                  c->model.position.axes > 1 ? "on one axis of an image" : "in a sequence",
                  c->theta.tolerance);
}

/* Adds the verdict box and, for labelled data, the classes. A run that has not ended has no
 * results, and its tables of classes are from an earlier end. */
static void add_results(rt_writer *w, const rt_config *c, const char *folder, rt_trainer *trainer,
                        const training *t)
{
    char number[RT_NUMBER_SIZE];
    rt_results r;
    rt_writer lines = {0};
    const bool ended = rt_results_read(&r, folder);
    const bool evaluated = ended && !isnan(rt_results_get(&r, RT_RESULT_LOSS));
    const double accuracy = ended ? rt_results_get(&r, RT_RESULT_ACCURACY) : 0;
    const double near = rt_results_get(&r, RT_RESULT_NEAR);
    /* a run that reached its target may have a best evaluation with a lower accuracy */
    const bool missed = accuracy < c->train.target_accuracy &&
                        rt_results_get(&r, RT_RESULT_EXIT_CODE) != RT_EXIT_DONE;
    const bool bad = !evaluated || missed || !isnan(rt_results_get(&r, RT_RESULT_DIVERGED));
    if (!ended)
        rt_writer_add(&lines, "the run has not ended\n");
    else if (!evaluated)
        rt_writer_add(&lines, "failed after %s steps: the loss is not finite\n",
                      rt_number_show(number, 0, rt_results_get(&r, RT_RESULT_STEPS)));
    if (evaluated)
        add_evaluations(&lines, &r, c, t);
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
    if (rt_tasks[c->data.task].files == RT_ONE_FILE &&
        !isnan(rt_results_get(&r, RT_RESULT_MACRO_F1)))
        rt_report_classes(w, folder);
    rt_results_free(&r);
}

static rt_status first_failure(rt_status a, rt_status b)
{
    return a.code ? a : b;
}

rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched)
{
    rt_figures figures;
    rt_writer w = {0};
    rt_figures_begin(&figures, folder);
    const training t = write_training(&figures, folder);
    for (int n = 0; n < FIRST_FIGURES; n++)
        add_run_figure(&figures, &t, &run_figures[n]);
    rt_report_distances(&figures, folder);
    rt_report_theta(&figures, folder, config);
    for (int n = FIRST_FIGURES; n < RUN_FIGURES; n++)
        add_run_figure(&figures, &t, &run_figures[n]);
    if (trainer)
        rt_report_attention(&figures, config, trainer);
    rt_status status = first_failure(rt_figures_draw(&figures), t.status);
    rt_page_begin(&w, config->run.name, watched);
    add_results(&w, config, folder, trainer, &t);
    if (trainer && rt_tasks[config->data.task].files == RT_ONE_FILE)
        status = first_failure(status, rt_report_mistakes(&w, config, trainer));
    rt_page_figures(&w, &figures);
    if (config->model.theta.learn)
        rt_report_theta_table(&w, folder, config);
    if (trainer)
        status = first_failure(status, rt_report_samples(&w, config, trainer));
    rt_report_configuration(&w, config);
    rt_report_machine(&w, folder, trainer);
    return first_failure(rt_page_end(&w, folder, NULL), status);
}
