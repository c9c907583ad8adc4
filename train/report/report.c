#include "train/report/report.h"
#include "train/folder/results.h"
#include "train/report/sections.h"
#include "train/report/verdict.h"
#include "util/number.h"

#include <math.h>
#include <stdlib.h>

bool rt_reports_are_off(void)
{
    return getenv("ROTOR_NO_REPORT") != NULL;
}

/* Adds the loss, the accuracy and, if there are answers of several tokens, the share of exact ones;
 * length 0: at the trained length. */
static void add_evaluation(rt_writer *w, const rt_results *r, int length)
{
    const double exact = rt_results_get(r, RT_RESULT_OF(RT_RESULT_EXACT, length));
    rt_writer_add(w, ": loss %.6g, accuracy %s",
                  rt_results_get(r, RT_RESULT_OF(RT_RESULT_LOSS, length)),
                  RT_SHOWN(4, rt_results_get(r, RT_RESULT_OF(RT_RESULT_ACCURACY, length))));
    if (!isnan(exact))
        rt_writer_add(w, ", exact %s", RT_SHOWN(4, exact));
}

static void add_evaluations(rt_writer *w, const rt_run_page *p)
{
    const rt_results *r = &p->results;
    const rt_config *c = p->config;
    int first, last;
    const double steps = rt_results_get(r, RT_RESULT_STEPS);
    const double model_step = rt_results_get(r, RT_RESULT_MODEL_STEP);
    const double loss = rt_results_get(r, RT_RESULT_LOSS);
    const double last_loss = rt_results_get(r, RT_RESULT_LAST_LOSS);
    const double macro_f1 = rt_results_get(r, RT_RESULT_MACRO_F1);
    const double limit = rt_results_get(r, RT_RESULT_DIVERGED);
    rt_writer_add(w, "eval");
    add_evaluation(w, r, 0);
    rt_writer_add(w, " after %s steps", RT_SHOWN(0, isnan(model_step) ? steps : model_step));
    if (!isnan(model_step))
        rt_writer_add(w, ", the best evaluation");
    if (!isnan(last_loss))
        rt_writer_add(w, "; at the end, after %s steps, loss %.6g", RT_SHOWN(0, steps), last_loss);
    if (isnan(model_step) && p->best_loss < loss && p->best_step < steps)
        rt_writer_add(w, "; the best evaluation: loss %.6g after %s steps", p->best_loss,
                      RT_SHOWN(0, p->best_step));
    else if (isnan(model_step) && isfinite(p->best_loss))
        rt_writer_add(w, ", the best evaluation");
    rt_writer_add(w, "\n");
    if (!isnan(macro_f1))
        rt_writer_add(w, "macro F1 %s\n", RT_SHOWN(4, macro_f1));
    rt_perplexity_report(w, r, c);
    if (rt_results_get(r, RT_RESULT_STOPPED_EARLY) == 1 &&
        rt_results_whole(r, RT_RESULT_STEPS, &last))
        rt_early_stop_report(w, last, &c->train);
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        const int length = rt_config_extent(c, i);
        rt_writer_add(w, "eval at %s %d", rt_config_extent_word(c), length);
        add_evaluation(w, r, length);
        rt_writer_add(w, "\n");
    }
    if (!isnan(limit))
        rt_divergence_report(w, loss, limit);
    if (rt_results_whole(r, RT_RESULT_FIRST_STEP, &first))
        rt_writer_add(w, "accuracy 0.99 was first reached at step %d\n", first);
}

/* Adds the verdict on theta from the model or, if there is no model of that step, from the results.
 * Then adds the resets that the run has recorded. */
static void add_theta(rt_writer *w, const rt_run_page *p)
{
    const rt_results *r = &p->results;
    const rt_config *c = p->config;
    const rt_training_state *state = p->trainer ? rt_trainer_state(p->trainer) : NULL;
    rt_theta_verdict verdict;
    int step;
    if (state && rt_results_model_step(r, &step) && state->step == step &&
        !rt_theta_judge(&verdict, state->model, c).code) {
        rt_theta_report_verdict(w, &verdict, c);
    } else {
        rt_writer_add(w, "theta: max relative drift %.3g", rt_results_get(r, RT_RESULT_CHANGE));
        rt_theta_report_phase(w, rt_results_get(r, RT_RESULT_PHASE), c);
        rt_writer_add(w, ": %s\n", rt_results_get(r, RT_RESULT_NEAR) == 1 ? "near" : "moved");
    }
    for (const rt_reset_names *n = rt_theta_resets; n < rt_theta_resets + RT_RESETS; n++) {
        const rt_theta_reset reset = {rt_results_get(r, RT_RESULT_LOSS),
                                      rt_results_get(r, RT_RESULT_ACCURACY),
                                      rt_results_get(r, n->loss), rt_results_get(r, n->accuracy)};
        if (!isnan(reset.reset_accuracy))
            rt_theta_report_reset(w, n->place, &reset);
    }
}

/* Adds the verdict box and, for labelled data, the classes. Tables of classes without results are
 * from an earlier end of the run. */
static rt_status add_results(rt_run_page *p)
{
    const rt_results *r = &p->results;
    const rt_config *c = p->config;
    rt_writer lines = {0};
    const bool evaluated = p->ended && !isnan(rt_results_get(r, RT_RESULT_LOSS));
    const double accuracy = p->ended ? rt_results_get(r, RT_RESULT_ACCURACY) : 0;
    const double near = rt_results_get(r, RT_RESULT_NEAR);
    /* a run that reached its target may have a best evaluation with a lower accuracy */
    const bool missed = accuracy < c->train.target_accuracy &&
                        rt_results_get(r, RT_RESULT_EXIT_CODE) != RT_EXIT_DONE;
    const bool bad = !evaluated || missed || !isnan(rt_results_get(r, RT_RESULT_DIVERGED));
    if (!p->ended)
        rt_writer_add(&lines, "the run has not ended\n");
    else if (!evaluated)
        rt_writer_add(&lines, "failed after %s steps: the loss is not finite\n",
                      RT_SHOWN(0, rt_results_get(r, RT_RESULT_STEPS)));
    if (evaluated)
        add_evaluations(&lines, p);
    if (evaluated && missed)
        rt_writer_add(&lines, "the accuracy %s is below train.target_accuracy = %g\n",
                      RT_SHOWN(4, accuracy), c->train.target_accuracy);
    if (evaluated && !isnan(near))
        add_theta(&lines, p);
    rt_page_verdict(&p->w, &lines,
                    bad         ? RT_VERDICT_BAD
                    : near == 0 ? RT_VERDICT_MOVED
                                : RT_VERDICT_GOOD);
    return rt_task_has_rows(&rt_tasks[c->data.task]) &&
                   !isnan(rt_results_get(r, RT_RESULT_MACRO_F1))
               ? rt_report_classes(p)
               : rt_ok();
}

static rt_status add_figures(rt_run_page *p)
{
    rt_page_figures(&p->w, &p->figures);
    return rt_ok();
}

/* All sections of the page of a run, in their order. One that has nothing to show adds nothing. */
static rt_status (*const sections[])(rt_run_page *page) = {
    add_results,       rt_report_mistakes,      add_figures,      rt_report_theta_table,
    rt_report_samples, rt_report_configuration, rt_report_machine};

static rt_status first_failure(rt_status a, rt_status b)
{
    return a.code ? a : b;
}

rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched)
{
    rt_run_page p = {.folder = folder, .config = config, .trainer = trainer};
    p.ended = rt_results_read(&p.results, folder);
    rt_figures_begin(&p.figures, folder);
    const rt_status read = rt_report_figures(&p);
    rt_status status = first_failure(rt_figures_draw(&p.figures), read);
    rt_page_begin(&p.w, config->run.name, watched);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        status = first_failure(status, sections[i](&p));
    rt_results_free(&p.results);
    return first_failure(rt_page_end(&p.w, folder, NULL), status);
}
