/* --export: writes a trained model as a folder of Hugging Face, with a model card, or as a file of
 * llama.cpp. */

#include "train/run/state.h"

#include "core/memory.h"
#include "io/gguf/gguf.h"
#include "train/folder/results.h"
#include "train/report/theta_report.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FACTS = 16 };

/* Adds the results in result.csv of the run, if the run ended at this checkpoint. */
static void report_results(rt_writer *w, const rt_run *r, const char *checkpoint)
{
    char folder[RT_PATH_SIZE];
    rt_results results;
    int steps;
    snprintf(folder, sizeof folder, "%s", checkpoint);
    char *slash = strstr(folder, "/checkpoints/");
    if (!slash)
        return;
    *slash = '\0';
    if (!rt_results_read(&results, folder))
        return;
    if (rt_results_whole(&results, RT_RESULT_STEPS, &steps) && steps == r->state->step)
        rt_writer_add(w, "evaluation: loss %.6g, accuracy %.4f\n",
                      rt_results_get(&results, RT_RESULT_LOSS),
                      rt_results_get(&results, RT_RESULT_ACCURACY));
    rt_results_free(&results);
}

static rt_status report_theta(rt_writer *w, const rt_run *r)
{
    rt_theta_verdict verdict;
    if (!r->config->model.theta.learn) {
        rt_writer_add(w, "theta: fixed\n");
        return rt_ok();
    }
    rt_status status = rt_theta_judge(&verdict, r->state->model, r->config);
    if (!status.code)
        rt_theta_report_verdict(w, &verdict, r->config);
    return status;
}

/* Cuts a text into its lines, in place. */
static int cut_lines(char *text, const char *lines[MOST_FACTS])
{
    int count = 0;
    for (char *end; *text && count < MOST_FACTS && (end = strchr(text, '\n')); text = end + 1) {
        *end = '\0';
        lines[count++] = text;
    }
    return count;
}

/* Returns max_position_embeddings of a folder that rotor did not write; 0 for other models, and if
 * the user gives data.length. */
static int positions_of_folder(const rt_run *r)
{
    const rt_huggingface *there = r->imported ? r->imported->there : NULL;
    const bool said = there && !there->own && r->config->data.length == r->imported->data.length;
    return said ? there->max_positions : 0;
}

rt_status rt_run_export(const rt_run *r, const char *checkpoint)
{
    const rt_arguments *a = r->arguments;
    const char *folder = r->imported ? checkpoint : r->config->train.init_from; /* of the model */
    const char *lines[MOST_FACTS];
    char *chat_template = NULL;
    if (rt_is_run_folder(a->export))
        return rt_error(RT_CONFIG, "--export %.1000s: the folder holds a run; name another folder",
                        a->export);
    const rt_labels *labels = rt_data_labels(r->data);
    const rt_vocabulary *vocabulary = rt_data_vocabulary(r->data);
    rt_writer w = {0};
    if (r->state->step)
        rt_writer_add(&w, "training: %d steps with seed %llu\n", r->state->step,
                      (unsigned long long)r->config->run.seed);
    report_results(&w, r, checkpoint);
    rt_status status = report_theta(&w, r);
    char *facts = rt_writer_take(&w);
    if (!status.code && folder && rt_is_huggingface(folder))
        status = rt_huggingface_chat_template(&chat_template, folder);
    if (!status.code && !facts)
        status = rt_out_of_memory("a model card");
    if (!status.code) {
        const int positions = positions_of_folder(r);
        const rt_huggingface_export export = {.vocabulary = vocabulary,
                                              .lowercase = vocabulary && vocabulary->lowercase,
                                              .labels = labels ? (const char *const *)labels->names
                                                               : NULL,
                                              .length =
                                                  positions ? positions : r->config->data.length,
                                              .table_rows = positions,
                                              .bare = !rt_data_begins(r->data),
                                              .open_ended = !rt_data_ends(r->data),
                                              .title = r->config->run.name,
                                              .facts = lines,
                                              .fact_count = cut_lines(facts, lines),
                                              .chat_template = chat_template,
                                              .overwrite = a->overwrite};
        const rt_gguf_dtype dtype =
            a->dtype && !strcmp(a->dtype, "f16") ? RT_GGUF_F16 : RT_GGUF_F32;
        status = rt_is_gguf(a->export) ? rt_gguf_write(a->export, r->state->model, &export, dtype)
                                       : rt_huggingface_write(a->export, r->state->model, &export);
    }
    rt_free(facts);
    rt_free(chat_template);
    if (!status.code)
        printf("export: %s\n", a->export);
    return status;
}
