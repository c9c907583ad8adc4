#include "train/report.h"

#include "core/memory.h"
#include "train/config_keys.h"
#include "train/figures.h"
#include "train/html.h"
#include "train/report_theta.h"
#include "train/results.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = RT_PATH_SIZE + 64 };

bool rt_reports_are_off(void)
{
    return getenv("ROTOR_NO_REPORT") != NULL;
}

/* ---- figures ---- */

static void add_loss(rt_figures *f)
{
    rt_figures_add(
        f, "loss", "Loss: of the training steps, and of the evaluations",
        "set xlabel 'step'\nset ylabel 'cross entropy (nats)'\nset yrange [0:*]\n"
        "set key top right\n"
        "plot '../metrics.csv' using 1:3 skip 1 with lines linetype 6 title 'training', "
        "\\\n     '../metrics.csv' using 1:4 skip 1 with linespoints linetype 1 pointtype "
        "7 pointsize 0.5 title 'evaluation'\n");
    rt_figures_add(
        f, "accuracy", "Share of the labels that were predicted",
        "set xlabel 'step'\nset ylabel 'accuracy'\nset yrange [0:1.02]\n"
        "set key bottom right\n"
        "plot '../metrics.csv' using 1:8 skip 1 with lines linetype 6 title 'training', "
        "\\\n     '../metrics.csv' using 1:5 skip 1 with linespoints linetype 1 pointtype "
        "7 pointsize 0.5 title 'evaluation'\n");
}

static void add_optimiser(rt_figures *f, bool theta)
{
    rt_writer w = {0};
    rt_writer_add(&w,
                  "set xlabel 'step'\nset ylabel 'gradient norm'\nset logscale y\n"
                  "set format y '10^{%%L}'\nset key top right\n"
                  "plot '../metrics.csv' using 1:7 skip 1 with lines linetype 1 title 'all "
                  "parameters'%s\n",
                  theta ? ", \\\n     '../metrics.csv' using 1:9 skip 1 with lines linetype 2 "
                          "title 'theta'"
                        : "");
    char *commands = rt_writer_take(&w);
    if (commands)
        rt_figures_add(f, "gradient", "Norm of the gradient, before clipping", commands);
    rt_free(commands);
    rt_figures_add(f, "rate", "Learning rate",
                   "set xlabel 'step'\nset ylabel 'learning rate'\nset yrange [0:*]\nunset key\n"
                   "set format y '%.1e'\n"
                   "plot '../metrics.csv' using 1:6 skip 1 with lines linetype 1\n");
}

static rt_status draw(rt_figures *f, const char *folder, const rt_config *config,
                      rt_trainer *trainer)
{
    rt_figures_begin(f, folder);
    add_loss(f);
    if (config->model.theta.learn)
        rt_report_theta(f, folder);
    add_optimiser(f, config->model.theta.learn);
    if (trainer)
        rt_report_attention(f, config, trainer);
    return rt_figures_draw(f);
}

/* ---- the page ---- */

static void add_verdict(rt_writer *w, const rt_results *r, const rt_config *c)
{
    const double near = rt_results_get(r, "theta_near");
    const double first = rt_results_get(r, "first_step_with_accuracy_0.99");
    rt_writer_add(w, "<div class=\"verdict%s\">\n", near == 0 ? " moved" : "");
    rt_writer_add(w, "<p>Evaluation after %.0f steps: loss %.4g, accuracy %.4f.</p>\n",
                  rt_results_get(r, "steps"), rt_results_get(r, "eval_loss"),
                  rt_results_get(r, "eval_accuracy"));
    if (!isnan(first))
        rt_writer_add(w, "<p>Accuracy 0.99 was first reached at step %.0f.</p>\n", first);
    for (int i = 0; i < c->train.eval_lengths.count; i++) {
        char name[RT_RESULT_NAME_SIZE];
        snprintf(name, sizeof name, "eval_accuracy_at_%d", c->train.eval_lengths.at[i]);
        rt_writer_add(w, "<p>At length %d: accuracy %.4f.</p>\n", c->train.eval_lengths.at[i],
                      rt_results_get(r, name));
    }
    if (!isnan(near))
        rt_writer_add(w,
                      "<p>θ: largest relative drift %.3g, mean %.3g, largest phase drift %.3g rad "
                      "over %d positions: <strong>%s</strong> (tolerance %g).</p>\n",
                      rt_results_get(r, "theta_max_drift"), rt_results_get(r, "theta_mean_drift"),
                      rt_results_get(r, "theta_max_phase"), c->data.length - 1,
                      near != 0 ? "near" : "moved", c->theta.tolerance);
    rt_writer_add(w, "</div>\n");
}

/* The model name of the processor; "" if it cannot be found. */
static void find_processor(char name[128])
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    name[0] = '\0';
    while (file && !*name && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10) && strchr(line, ':'))
            snprintf(name, 128, "%.*s", (int)strcspn(strchr(line, ':') + 2, "\n"),
                     strchr(line, ':') + 2);
    if (file)
        fclose(file);
}

static void add_row(rt_writer *w, const char *what, const char *value)
{
    rt_writer_add(w, "<tr><th>%s</th><td>", what);
    rt_html_text(w, value);
    rt_writer_add(w, "</td></tr>\n");
}

/* The last row of timing.csv: step, seconds, tokens per second. */
static void add_timing(rt_writer *w, const char *folder)
{
    char path[PATH_SIZE], line[128], text[96];
    double step = 0, seconds = 0, rate = 0;
    snprintf(path, sizeof path, "%s/timing.csv", folder);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "%lf,%lf,%lf", &step, &seconds, &rate);
    if (file)
        fclose(file);
    snprintf(text, sizeof text, "%.1f s for %.0f steps, %.0f tokens a second", seconds, step, rate);
    if (step > 0)
        add_row(w, "time", text);
}

static void add_machine(rt_writer *w, const char *folder)
{
    char text[256], processor[128];
    unsigned major, minor, patch;
    find_processor(processor);
    H5get_libversion(&major, &minor, &patch);
    rt_writer_add(w, "<h2>Machine</h2>\n<div class=\"scroll\"><table>\n");
    add_timing(w, folder);
    snprintf(text, sizeof text, "rotor %s (%s), HDF5 %u.%u.%u, OpenBLAS kernels %s", ROTOR_VERSION,
             RT_PRECISION, major, minor, patch, rt_blas_kernels());
    add_row(w, "versions", text);
    snprintf(text, sizeof text, "%s, %d processors", processor, rt_processors());
    add_row(w, "report made on", text);
    rt_writer_add(w, "</table></div>\n");
}

static void add_figures(rt_writer *w, const rt_figures *f)
{
    rt_writer_add(w, "<div class=\"figures\">\n");
    for (int i = 0; i < f->count; i++) {
        char path[PATH_SIZE + 128];
        snprintf(path, sizeof path, "%s/%s.svg", f->folder, f->list[i].name);
        rt_html_figure(w, path, f->list[i].caption, f->list[i].wide);
    }
    rt_writer_add(w, "</div>\n");
}

/* The keys that are not at their defaults. */
static void add_changes(rt_writer *w, const rt_config *config)
{
    char name[RT_KEY_NAME_SIZE], value[RT_VALUE_SIZE], initial[RT_VALUE_SIZE];
    rt_config defaults = *config;
    rt_writer problem = {0};
    const rt_key *key;
    rt_writer_add(w, "<h2>Configuration</h2>\n<div class=\"scroll\"><table>\n");
    for (int i = 0; (key = rt_key_at(i)); i++) {
        rt_key_read(key, key->initial, &defaults, &problem);
        rt_key_write(key, &defaults, initial);
        rt_key_write(key, config, value);
        if (strcmp(initial, value) != 0)
            add_row(w, rt_key_full_name(key, name), value);
    }
    rt_writer_add(w, "</table></div>\n");
    rt_writer_free(&problem);
}

static rt_status write_page(const char *folder, const rt_config *config, const rt_figures *f)
{
    rt_writer w = {0};
    rt_results results;
    rt_run_folder run;
    char *ini = rt_config_ini(config);
    rt_html_begin(&w, config->run.name);
    if (rt_results_read(&results, folder))
        add_verdict(&w, &results, config);
    else
        rt_writer_add(&w, "<div class=\"verdict\"><p>The run has not ended.</p></div>\n");
    add_figures(&w, f);
    add_changes(&w, config);
    rt_html_details(&w, "every key", ini ? ini : "");
    add_machine(&w, folder);
    rt_html_end(&w);
    rt_free(ini);
    char *page = rt_writer_take(&w);
    rt_status status = page ? rt_ok() : rt_out_of_memory("a report");
    snprintf(run.path, sizeof run.path, "%s", folder);
    if (!status.code)
        status = rt_run_folder_write(&run, "report.html", page);
    rt_free(page);
    return status;
}

rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer)
{
    rt_figures figures;
    rt_status drawn = draw(&figures, folder, config, trainer);
    rt_status written = write_page(folder, config, &figures);
    return written.code ? written : drawn;
}
