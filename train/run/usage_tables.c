/* Tables of the pairs and heads of a trained model: the share of queries and keys in each pair
 * (usage.csv), attention by distance, and to the tokens that answer (heads.csv). */

#include "train/run/usage_tables.h"

#include "core/memory.h"
#include "models/usage.h"
#include "train/report/report.h"
#include "train/run/other_theta.h"
#include "train/step/measurements.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>

/* Writes a table of the use of pairs over the evaluation data, which the caller frees. Returns
 * RT_CONFIG, with the reason, if the model has no such pairs. */
static rt_status write_usage(char **text_new, const rt_run *r)
{
    const int length = r->config->data.length;
    rt_usage usage;
    *text_new = NULL;
    rt_status status = rt_trainer_usage(r->trainer, length, &usage);
    if (status.code)
        return status;
    *text_new = rt_usage_csv(r->state->model, &usage, length);
    rt_usage_free(&usage);
    return *text_new ? rt_ok() : rt_out_of_memory("the usage of pairs");
}

/* Writes a table of the attention of each layer and head, which the caller frees: by distance, or
 * from a label to the token that answers it. Returns RT_CONFIG if the model has no such weights. */
static rt_status write_attention(char **text_new, const rt_run *r, bool by_distance)
{
    rt_attention_distances d;
    rt_writer w = {0};
    *text_new = NULL;
    rt_status status = rt_trainer_attention_distances(r->trainer, r->config->data.length, &d);
    if (status.code)
        return status;
    const int columns = by_distance ? d.length : 1;
    rt_writer_add(&w, by_distance ? "layer,head,distance,attention\n" : "layer,head,attention\n");
    for (int n = 0; n < d.layers * d.heads * columns; n++) {
        rt_writer_add(&w, "%d,%d", n / columns / d.heads, n / columns % d.heads);
        if (by_distance)
            rt_writer_add(&w, ",%d", n % columns);
        rt_csv_add_number(&w, by_distance ? d.weights[n] : d.answers[n]);
        rt_writer_add(&w, "\n");
    }
    rt_attention_distances_free(&d);
    *text_new = rt_writer_take(&w);
    return *text_new ? rt_ok() : rt_out_of_memory("the weights of attention");
}

rt_status rt_run_print_usage(rt_run *r)
{
    const rt_command command = r->arguments->command;
    char *text;
    rt_status status =
        command == RT_COMMAND_USAGE ? write_usage(&text, r) : write_attention(&text, r, true);
    if (status.code == RT_CONFIG)
        return rt_error(RT_CONFIG, "--%s: %.1000s", rt_command_name(command), status.message);
    if (!status.code)
        fputs(text, stdout);
    rt_free(text);
    return status;
}

rt_status rt_run_record_usage(rt_run *r, bool *stopped)
{
    enum { MOST_WEIGHTS = 1 << 22 }; /* weights of a sequence, for which a report has memory */
    const rt_transformer_options *o = &r->config->model;
    const size_t length = (size_t)r->config->data.length;
    char *text;
    *stopped = false;
    rt_status status = write_usage(&text, r);
    if (!status.code)
        status = rt_durable_write_and_free(r->folder.path, "usage.csv", text);
    else if (status.code == RT_CONFIG) /* the model has no pairs */
        status = rt_ok();
    if (!status.code && r->data->task->distances && o->attention == RT_ATTENTION_SOFTMAX &&
        (size_t)o->layers * (size_t)o->heads <= MOST_WEIGHTS / length / length) {
        status = write_attention(&text, r, false);
        if (!status.code)
            status = rt_durable_write_and_free(r->folder.path, "heads.csv", text);
    }
    return status.code || !r->config->theta.cutoffs ? status : rt_run_record_cutoffs(r, stopped);
}
