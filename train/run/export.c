#include "train/run/export.h"

#include "core/memory.h"
#include "io/gguf/gguf.h"
#include "train/folder/results.h"
#include "train/report/theta_report.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FACTS = 16 };

/* What result.csv tells of the run that the checkpoint is of, if it is where the run ended. */
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

/* Cuts a text into its lines, where it stands. */
static int cut_lines(char *text, const char *lines[MOST_FACTS])
{
    int count = 0;
    for (char *end; *text && count < MOST_FACTS && (end = strchr(text, '\n')); text = end + 1) {
        *end = '\0';
        lines[count++] = text;
    }
    return count;
}

/* max_position_embeddings of a folder that rotor did not write, unless the user gives data.length;
 * else 0. */
static int positions_of_folder(const rt_run *r)
{
    const rt_huggingface *there = r->imported ? r->imported->there : NULL;
    const bool said = there && !there->own && r->config->data.length == r->imported->data.length;
    return said ? there->max_positions : 0;
}

static rt_status write_model(const rt_run *r, const rt_huggingface_export *export)
{
    const rt_arguments *a = r->arguments;
    const bool halves = a->dtype && !strcmp(a->dtype, "f16");
    return rt_is_gguf(a->export) ? rt_gguf_write(a->export, r->state->model, export,
                                                 halves ? RT_GGUF_F16 : RT_GGUF_F32)
                                 : rt_huggingface_write(a->export, r->state->model, export);
}

/* Reads the chat template of the folder that the model is, or that its run started from. */
static rt_status find_chat_template(const rt_run *r, const char *checkpoint, char **found)
{
    const char *folder = r->imported ? checkpoint : r->config->train.init_from;
    *found = NULL;
    return rt_is_huggingface(folder) ? rt_huggingface_chat_template(found, folder) : rt_ok();
}

rt_status rt_run_export(const rt_run *r, const char *checkpoint)
{
    char *chat_template = NULL;
    const char *lines[MOST_FACTS];
    if (rt_is_run_folder(r->arguments->export))
        return rt_error(RT_CONFIG, "--export %.1000s: the folder holds a run; name another folder",
                        r->arguments->export);
    const rt_labels *labels = rt_data_labels(r->data);
    const rt_vocabulary *vocabulary = rt_data_vocabulary(r->data);
    rt_writer w = {0};
    if (r->state->step)
        rt_writer_add(&w, "training: %d steps with seed %llu\n", r->state->step,
                      (unsigned long long)r->config->run.seed);
    report_results(&w, r, checkpoint);
    rt_status status = report_theta(&w, r);
    char *facts = rt_writer_take(&w);
    if (!status.code)
        status = find_chat_template(r, checkpoint, &chat_template);
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
                                              .overwrite = r->arguments->overwrite};
        status = write_model(r, &export);
    }
    rt_free(facts);
    rt_free(chat_template);
    return status;
}
