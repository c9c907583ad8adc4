/* Tables of the pairs and heads of a trained model: the share of queries and keys in each pair
 * (usage.csv), forget gates (gates.csv), sums of phases (phases.csv), attention by distance, and to
 * the tokens that answer (heads.csv). */

#include "train/run/theta.h"

#include "core/memory.h"
#include "models/usage.h"
#include "train/step/measurements.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>

/* Returns the usage of pairs as a new CSV text; NULL if the heap is exhausted. It has a row for
 * each layer in which rope rotates, query head and pair:
 *
 *   theta, turns          rotation per position in sequences of that length; full turns over
 *                         the distance that attention reaches
 *   use                   share of the head's query and key weights, |W_q rows| |W_k rows|
 *   query, key            mean norm of the queries and keys before their rotation, relative to the
 *                         mean of the head's pairs
 *   query_mean, key_mean  norm of their mean over the tokens, relative in the same way
 *
 * Heads that share their keys have the same key and key_mean. */
static char *add_usage(const rt_transformer *model, const rt_usage *usage)
{
    enum { THETA, TURNS, USE, QUERY, KEY, QUERY_MEAN, KEY_MEAN, COLUMNS }; /* after layer,head,i */
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const size_t count = rt_shape_size(shape);
    const int pairs = rt_transformer_pairs(o), length = usage->length;
    const bool mixed = rt_transformer_theta_axes(o) > 1;
    RT_OWNED double *theta = rt_alloc(count + COLUMNS * (size_t)pairs, sizeof *theta);
    double *columns[COLUMNS]; /* values of the pairs of a head */
    rt_writer w = {0};
    if (!theta)
        return NULL;
    for (size_t c = 0; c < COLUMNS; c++)
        columns[c] = theta + count + c * (size_t)pairs;
    rt_transformer_rotation(model, length, theta);
    rt_writer_add(&w, "layer,head,i,theta,turns,use,query,key,query_mean,key_mean\n");
    for (int row = 0; row < shape.axis[0] * o->heads; row++) {
        const int n = row / o->heads, h = row % o->heads; /* of layers that have pairs */
        const int kv = n * o->kv_heads + h / (o->heads / o->kv_heads);
        const int layer = rt_transformer_theta_layer(o, n);
        for (int i = 0; i < pairs; i++) {
            columns[THETA][i] =
                mixed ? rt_theta_length(o, theta + kv * shape.axis[2], i) : theta[kv * pairs + i];
            columns[TURNS][i] = rt_theta_turns(o, layer, length, columns[THETA][i]);
        }
        rt_transformer_head_use(model, layer, h, columns[USE]);
        rt_usage_shares(columns[QUERY], columns[QUERY_MEAN], usage->query + (size_t)(row * pairs),
                        pairs);
        rt_usage_shares(columns[KEY], columns[KEY_MEAN], usage->key + (size_t)(kv * pairs), pairs);
        for (int i = 0; i < pairs; i++) {
            rt_writer_add(&w, "%d,%d,%d", layer, h, i);
            for (int c = 0; c < COLUMNS; c++)
                rt_csv_add_number(&w, columns[c][i]);
            rt_writer_add(&w, "\n");
        }
    }
    return rt_writer_take(&w);
}

/* Returns the mean forget gate of each layer and head as a new CSV text. */
static char *add_gates(const rt_transformer_options *o, const rt_usage *usage)
{
    rt_writer w = {0};
    rt_writer_add(&w, "layer,head,gate\n");
    for (int n = 0; n < o->layers * o->heads; n++) {
        rt_writer_add(&w, "%d,%d", n / o->heads, n % o->heads);
        rt_csv_add_number(&w, usage->gates[n] / usage->tokens);
        rt_writer_add(&w, "\n");
    }
    return rt_writer_take(&w);
}

/* Returns the sums of the phases of each pair up to some positions as a new CSV text: their mean
 * and standard deviation over the texts. */
static char *add_phases(const rt_transformer_options *o, const rt_usage *usage)
{
    const int pairs = rt_transformer_pairs(o), places = usage->places;
    rt_writer w = {0};
    rt_writer_add(&w, "layer,head,i,position,sum,deviation\n");
    for (size_t n = 0; n < usage->queries * (size_t)places; n++) {
        const rt_phase_sum *p = usage->phases + n;
        const double mean = p->sum / p->count, variance = p->square / p->count - mean * mean;
        const int row = (int)(n / (size_t)places), head = row / pairs; /* of all layers */
        if (!(p->count > 0))
            continue;
        rt_writer_add(&w, "%d,%d,%d,%d", rt_transformer_theta_layer(o, head / o->heads),
                      head % o->heads, row % pairs, rt_usage_position(usage, (int)n % places));
        rt_csv_add_number(&w, mean);
        rt_csv_add_number(&w, sqrt(fmax(variance, 0)));
        rt_writer_add(&w, "\n");
    }
    return rt_writer_take(&w);
}

/* Writes a table of the attention of each layer and head, which the caller frees: by distance, or
 * from a label to the token that answers it. Returns RT_CONFIG if the model has no such weights. */
static rt_status write_attention(char **text_new, const rt_run *r, bool by_distance)
{
    RT_CLOSED_BY(rt_attention_distances_free) rt_attention_distances d = {0};
    rt_writer w = {0};
    *text_new = NULL;
    RT_TRY(rt_trainer_attention_distances(r->trainer, r->config->data.length, &d));
    const int columns = by_distance ? d.length : 1;
    rt_writer_add(&w, by_distance ? "layer,head,distance,attention\n" : "layer,head,attention\n");
    for (int n = 0; n < d.layers * d.heads * columns; n++) {
        rt_writer_add(&w, "%d,%d", n / columns / d.heads, n / columns % d.heads);
        if (by_distance)
            rt_writer_add(&w, ",%d", n % columns);
        rt_csv_add_number(&w, by_distance ? d.weights[n] : d.answers[n]);
        rt_writer_add(&w, "\n");
    }
    *text_new = rt_writer_take(&w);
    return rt_allocated(*text_new, "the weights of attention");
}

/* Writes the gradients of theta as a CSV text, which the caller frees. */
static rt_status write_gradients(char **text_new, const rt_run *r)
{
    const rt_transformer *model = r->state->model;
    const int length = r->config->data.length;
    rt_theta_gradients g;
    RT_OWNED rt_theta_entry *list = NULL;
    rt_writer w = {0};
    int count = 0;
    RT_TRY(rt_trainer_theta_gradients(r->trainer, length, &g));
    RT_OWNED double *mean = g.mean;
    RT_TRY(rt_theta_list(&list, &count, model));
    rt_writer_add(&w, "layer,head,i,theta,turns,gradient,deviation,sequences\n");
    for (int n = 0; n < count; n++) {
        const rt_theta_entry *e = &list[n];
        rt_writer_add(&w, "%s,%s,%d", RT_THETA_PLACE(e->layer), RT_THETA_PLACE(e->head), e->pair);
        rt_csv_add_number(&w, e->theta);
        rt_csv_add_number(&w, rt_theta_turns(&model->options, e->layer, length, e->theta));
        rt_csv_add_number(&w, mean[n]);
        rt_csv_add_number(&w, g.deviation[n]);
        rt_writer_add(&w, ",%ld\n", g.sequences);
    }
    *text_new = rt_writer_take(&w);
    return rt_allocated(*text_new, "the gradients of theta");
}

rt_status rt_run_print_usage(rt_run *r)
{
    const rt_command command = r->arguments->command;
    RT_OWNED char *text = NULL;
    rt_status status;
    if (command == RT_COMMAND_USAGE) {
        rt_usage usage = {0};
        status = rt_usage_check(&r->config->model);
        if (!status.code)
            status = rt_trainer_usage(r->trainer, r->config->data.length, &usage);
        if (!status.code && !(text = add_usage(r->state->model, &usage)))
            status = rt_out_of_memory("the usage of pairs");
        rt_usage_free(&usage);
    } else if (command == RT_COMMAND_GRADIENT) {
        status = write_gradients(&text, r);
    } else {
        status = write_attention(&text, r, true);
    }
    if (status.code == RT_CONFIG)
        return rt_error(RT_CONFIG, "--%s: %.1000s", rt_command_name(command), status.message);
    RT_TRY(status);
    fputs(text, stdout);
    return rt_ok();
}

/* Writes the tables of what the encodings do over the evaluation data. */
static rt_status record_encodings(const rt_run *r)
{
    const rt_transformer_options *o = &r->config->model;
    const char *folder = r->folder.path;
    RT_CLOSED_BY(rt_usage_free) rt_usage usage = {0};
    const rt_status status = rt_trainer_usage(r->trainer, r->config->data.length, &usage);
    if (status.code) /* RT_CONFIG: nothing to measure */
        return status.code == RT_CONFIG ? rt_ok() : status;
    if (usage.keys)
        RT_TRY(rt_durable_write_and_free(folder, "usage.csv", add_usage(r->state->model, &usage)));
    if (usage.gates)
        RT_TRY(rt_durable_write_and_free(folder, "gates.csv", add_gates(o, &usage)));
    if (usage.phases)
        RT_TRY(rt_durable_write_and_free(folder, "phases.csv", add_phases(o, &usage)));
    return rt_ok();
}

rt_status rt_run_record_usage(rt_run *r, bool *stopped)
{
    enum { MOST_WEIGHTS = 1 << 22 }; /* weights of a sequence, for which a report has memory */
    const rt_transformer_options *o = &r->config->model;
    const size_t length = (size_t)r->config->data.length;
    char *text;
    *stopped = false;
    RT_TRY(record_encodings(r));
    if (r->data->task->distances && o->attention == RT_ATTENTION_SOFTMAX &&
        (size_t)o->layers * (size_t)o->heads <= MOST_WEIGHTS / length / length) {
        RT_TRY(write_attention(&text, r, false));
        RT_TRY(rt_durable_write_and_free(r->folder.path, "heads.csv", text));
    }
    return r->config->theta.cutoffs ? rt_run_record_cutoffs(r, stopped) : rt_ok();
}
