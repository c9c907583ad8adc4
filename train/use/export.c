/* --export: a trained model as a folder of Hugging Face or a file of llama.cpp. */

#include "train/use/use.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/files.h"
#include "io/gguf/gguf.h"
#include "io/import.h"
#include "train/report/verdict.h"
#include "util/writer.h"

#include <stdio.h>
#include <string.h>

/* Adds the task and the names of the files of data.file, without their folders. */
static void add_data(rt_writer *w, const rt_data_options *data)
{
    enum { MOST = 4 };
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(data);
    size_t count = 0;
    rt_writer_add(w, "data: %s", rt_data_task_name(data->task));
    for (size_t i = 0; i < files.count; i++)
        if (files.list[i].part == RT_PART_TRAINING && *files.list[i].path && count++ < MOST)
            rt_writer_add(w, "%s%s", count == 1 ? " of " : ", ", rt_path_name(files.list[i].path));
    if (count > MOST)
        rt_writer_add(w, " and %zu more", count - MOST);
    rt_writer_add(w, "\n");
    w->failed |= files.failed;
}

/* Adds the facts of a model card: the data and the length of the training, the results in
 * result.csv if the run ended at this checkpoint, and the changes of theta. */
static rt_status add_facts(rt_writer *w, const rt_run *r)
{
    RT_CLOSED_BY(rt_results_free) rt_results results = {0};
    rt_theta_verdict verdict;
    const char *folder = RT_RUN_FOLDER_OF(r->found.path);
    int steps;
    if (r->state->step)
        add_data(w, &r->config->data);
    if (r->state->step)
        rt_writer_add(w, "training: %d steps with seed %llu\n", r->state->step,
                      (unsigned long long)r->config->run.seed);
    if (*folder && rt_results_read(&results, folder) && rt_results_model_step(&results, &steps) &&
        steps == r->state->step)
        rt_writer_add(w, "evaluation: loss %.6g, accuracy %.4f\n",
                      rt_results_get(&results, RT_RESULT_LOSS),
                      rt_results_get(&results, RT_RESULT_ACCURACY));
    if (!r->config->model.theta.learn) {
        rt_writer_add(w, "theta: fixed\n");
        return rt_ok();
    }
    RT_TRY(rt_theta_judge(&verdict, r->state->model, r->config));
    rt_theta_report_verdict(w, &verdict, r->config);
    return rt_ok();
}

/* Adds the layers whose learned theta was trained neither by the run nor by the trunk: but for
 * rounding, it has its initial values. Sets *all if there are no others. */
static rt_status add_kept_layers(rt_writer *layers, const rt_run *r, bool *all)
{
    RT_OWNED rt_theta_entry *list = NULL;
    const rt_config *c = r->config;
    const rt_transformer *model = r->state->model;
    int count;
    bool moved = false;
    RT_TRY(rt_theta_list(&list, &count, model));
    *all = count && r->state->step;
    for (int i = 0; i < count; i++) {
        const rt_theta_entry *e = &list[i];
        const rt_parameter *theta = rt_parameters_find(&model->parameters, RT_THETA_NAME(e->layer));
        moved |= rt_theta_has_moved(c, rt_theta_measure(c, e, e->start).change,
                                    rt_theta_measure(c, e, e->geometric).change);
        if (i + 1 < count && e[1].layer == e->layer)
            continue;
        const bool kept =
            !moved && (!rt_config_trains_theta(c) || rt_freezes(c->train.freeze, theta));
        if (kept && r->state->step)
            rt_writer_add(layers, layers->length ? ", %d" : "%d", e->layer);
        *all &= kept;
        moved = false;
    }
    return rt_ok();
}

rt_status rt_export_model(const rt_run *r)
{
    enum { MOST_FACTS = 16 };
    const rt_arguments *a = r->arguments;
    const rt_data_options *data = &r->config->data;
    const rt_huggingface *there = r->found.imported;
    const char *origin = there ? r->found.path : r->config->train.init_from;
    const rt_labels *labels = r->data->labels;
    const rt_vocabulary *vocabulary = r->data->vocabulary;
    const char *facts[MOST_FACTS];
    RT_OWNED char *chat_template = NULL;
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    if (rt_is_run_folder(a->export))
        return rt_error(RT_CONFIG, "--export %.1000s: the folder holds a run; name another folder",
                        a->export);
    const bool file = rt_path_ends_in(a->export, ".gguf");
    if (file)
        RT_TRY(rt_arguments_spare_inputs(a, r->config, r->found.path, a->export));
    RT_CLOSED_BY(rt_writer_free) rt_writer kept_layers = {0};
    bool theta_kept;
    RT_TRY(add_facts(&w, r));
    RT_TRY(add_kept_layers(&kept_layers, r, &theta_kept));
    w.failed |= kept_layers.failed;
    RT_OWNED char *text = rt_writer_take(&w);
    if (origin && rt_is_import(origin))
        RT_TRY(rt_import_chat_template(&chat_template, origin));
    RT_TRY(rt_allocated(text, "a model card"));
    /* max_position_embeddings of another program stays unless data.length is given */
    const bool kept = there && !there->own && data->length == there->data.length;
    const int positions = kept ? there->max_positions : 0;
    const int extent = rt_transformer_extent(&r->state->model->options, data->length);
    rt_huggingface_export export = {.vocabulary = vocabulary,
                                    .lowercase = vocabulary && vocabulary->lowercase,
                                    .labels = labels ? (const char *const *)labels->names : NULL,
                                    .length = positions ? 0 : data->length,
                                    .positions = positions ? positions : extent,
                                    .table_rows = positions,
                                    .bare = !rt_data_begins(r->data),
                                    .open_ended = r->data->options.end == RT_BEGIN_NONE,
                                    .theta_kept = theta_kept,
                                    .theta_kept_layers = kept_layers.bytes,
                                    .title = r->config->run.name,
                                    .facts = facts,
                                    .chat_template = chat_template,
                                    .overwrite = a->overwrite};
    char *rest = text;
    for (char *line; export.fact_count < MOST_FACTS && (line = strtok_r(rest, "\n", &rest));)
        facts[export.fact_count++] = line;
    RT_TRY(file ? rt_gguf_write(a->export, r->state->model, &export,
                                a->dtype == RT_GGUF_F16 ? RT_GGUF_F16 : RT_GGUF_F32)
                : rt_huggingface_write(a->export, r->state->model, &export));
    printf("export: %s\n", a->export);
    return rt_ok();
}
