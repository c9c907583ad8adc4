/* Measurements of pairs and heads of a trained model: the share of queries and keys in each pair
 * (usage.csv), the loss without the slower pairs (cutoffs.csv), attention by distance, and to the
 * tokens that answer (heads.csv). Also
 * theta from other sources: a CSV file, for theta.init_from, and --theta, for an evaluation. */

#include "train/run/state.h"

#include "core/memory.h"
#include "core/path.h"
#include "models/encodings/encoding.h"
#include "train/report/report.h"
#include "train/run/stop.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/number.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* State of reading a table of theta. */
typedef struct reading {
    const char *path;
    const rt_transformer_options *model;
    rt_shape shape;                 /* layers, heads, pairs */
    bool share_layers, share_heads; /* all layers, all heads share one learned theta */
    bool positive;                  /* theta must be positive, because its logarithm is stored */
    double *theta;                  /* result; NaN where no theta was read yet */
} reading;

static rt_status open_table(rt_csv *csv, const char *path)
{
    static const char *const required[] = {"layer", "head", "i", "theta"};
    char folder[RT_PATH_SIZE];
    const char *name = rt_path_split(path, folder);
    const bool open = name && *path && rt_csv_open(csv, folder, name);
    if (!open && (!name || !csv->status.code))
        return rt_error(RT_CONFIG, "%.1000s: there is no table of theta", path);
    for (size_t i = 0; open && i < sizeof required / sizeof *required; i++)
        if (rt_csv_column(csv, required[i]) == csv->columns)
            return rt_error(RT_CONFIG, "%.1000s has no column '%s'", path, required[i]);
    return open ? rt_ok() : csv->status;
}

static rt_status refuse_cell(const reading *r, const rt_csv *csv, const char *name,
                             const char *wish)
{
    char quoted[RT_QUOTE_SIZE];
    return rt_error(RT_CONFIG, "%.1000s: %s must be %s; got %s", r->path, name, wish,
                    rt_quote(quoted, rt_csv_cell(csv, name)));
}

/* Parses a cell as the range *first ... *end - 1: one number below `count`, or all of them. */
static rt_status read_range(const reading *r, const rt_csv *csv, const char *name, int count,
                            bool shared, int *first, int *end)
{
    char wish[64];
    *first = 0;
    *end = count;
    if (!strcmp(rt_csv_cell(csv, name), "all"))
        return rt_ok();
    if (shared)
        return refuse_cell(r, csv, name, "'all', since the model shares theta");
    if (rt_csv_whole(csv, name, first) && *first < count) {
        *end = *first + 1;
        return rt_ok();
    }
    snprintf(wish, sizeof wish, "'all' or from 0 to %d in this model", count - 1);
    return refuse_cell(r, csv, name, wish);
}

static rt_status take_row(const reading *r, const rt_csv *csv)
{
    const rt_transformer_options *o = r->model;
    const int *axis = r->shape.axis;
    const double theta = rt_csv_number(csv, "theta");
    const bool signs = !r->positive || theta > 0;
    int layer, last_layer, head, last_head, i;
    bool taken = false;
    rt_status status = read_range(r, csv, "layer", o->layers, r->share_layers, &layer, &last_layer);
    if (!status.code)
        status = read_range(r, csv, "head", axis[1], r->share_heads, &head, &last_head);
    if (status.code)
        return status;
    if (!isfinite((double)(real)theta) || !signs) {
        const bool beyond =
            isfinite(theta) ? signs : rt_number_is_decimal(rt_csv_cell(csv, "theta"));
        return refuse_cell(r, csv, "theta",
                           beyond        ? "in the range of numbers in " RT_PRECISION
                           : r->positive ? "a number above 0, since theta.form = log"
                                         : "a number");
    }
    if (!rt_csv_whole(csv, "i", &i) || i >= axis[2]) {
        char wish[64];
        snprintf(wish, sizeof wish, "from 0 to %d in this model", axis[2] - 1);
        return refuse_cell(r, csv, "i", wish);
    }
    for (int n = 0; !status.code && n < axis[0]; n++) {
        const int l = rt_transformer_theta_layer(o, n);
        if (l < layer || l >= last_layer)
            continue;
        taken = true;
        for (int h = head; !status.code && h < last_head; h++) {
            double *to = &r->theta[(n * axis[1] + h) * axis[2] + i];
            if (!isnan(*to))
                status = rt_error(RT_CONFIG, "%.1000s has theta of layer %d, head %d, i %d twice",
                                  r->path, l, h, i);
            *to = theta;
        }
    }
    return status.code || taken ? status
                                : refuse_cell(r, csv, "layer", "of a layer that has positions");
}

/* Reads a table into `theta`, (layers, heads, pairs) by `shape`. Returns RT_CONFIG or RT_MEMORY. */
static rt_status read_file(const char *path, const rt_transformer_options *model, rt_shape shape,
                           bool positive, double *theta)
{
    reading r = {.path = path,
                 .model = model,
                 .shape = shape,
                 .share_layers = model->theta.learn && model->theta.scope == RT_THETA_MODEL,
                 .share_heads = model->theta.learn && model->theta.scope != RT_THETA_HEAD,
                 .positive = positive,
                 .theta = theta};
    const int *axis = shape.axis, count = (int)rt_shape_size(shape);
    rt_csv csv = {0};
    rt_status status = open_table(&csv, path), rows = rt_ok();
    const bool has_steps = !status.code && rt_csv_column(&csv, "step") < csv.columns;
    csv.whole = true;
    int step = -1, last_step = -2; /* -1 for all rows without a column step */
    while (!status.code && rt_csv_row(&csv)) {
        if (has_steps && !rt_csv_whole(&csv, "step", &step)) {
            status = refuse_cell(&r, &csv, "step", "a whole number");
        } else if (step > last_step) { /* rows of earlier steps, and their errors, do not count */
            last_step = step;
            rows = rt_ok();
            for (int n = 0; n < count; n++)
                theta[n] = (double)NAN;
        }
        if (!status.code && !rows.code && step == last_step)
            rows = take_row(&r, &csv);
    }
    if (!status.code)
        status = csv.status.code ? csv.status : rows;
    rt_csv_close(&csv);
    if (status.code && status.code != RT_MEMORY)
        status.code = RT_CONFIG;
    for (int n = 0; n < count && !status.code; n++)
        if (last_step == -2 || isnan(theta[n])) /* -2: there was no row */
            status = rt_error(RT_CONFIG,
                              "%.1000s has no theta for layer %d, head %d, i %d of this model (a "
                              "line needs all columns)",
                              path, rt_transformer_theta_layer(model, n / axis[2] / axis[1]),
                              n / axis[2] % axis[1], n % axis[2]);
    return status;
}

rt_status rt_theta_file_read(const char *path, const rt_transformer *model, double *theta)
{
    const rt_transformer_options *o = &model->options;
    if (!o->theta.learn)
        return rt_error(RT_CONFIG, "%.1000s: this model has no learned theta", path);
    return read_file(path, o, rt_transformer_theta_shape(o), o->theta.form == RT_THETA_LOG, theta);
}

/* Returns the number of frequencies of a head: with two axes two pairs have the same. */
static int frequencies_of(const rt_transformer_options *o)
{
    return rt_transformer_pairs(o) / o->position.axes;
}

static void switch_off(double *factors, const rt_transformer_options *o, int K)
{
    const size_t count = rt_shape_size(rt_transformer_rotation_shape(o));
    for (size_t i = 0; i < count; i++)
        factors[i] = i % (size_t)frequencies_of(o) < (size_t)K;
}

/* Returns the turns of pair `i` of row `row` (a head of a layer) of theta over the reach of its
 * attention in sequences of `length`. */
static double turns_of(const rt_transformer_options *o, const double *theta, int row, int i,
                       int length)
{
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int layer = rt_transformer_theta_layer(o, row / shape.axis[1]);
    return rt_theta_turns(rt_theta_length(o, theta + row * shape.axis[2], i),
                          rt_transformer_reach(o, layer, length));
}

/* Parses "12" or "0.5turns": switches off the pairs from that index on, or with fewer turns. */
static rt_status set_off(const char *argument, const rt_transformer *model, int length,
                         double *factors)
{
    static const char unit[] = "turns";
    char quoted[RT_QUOTE_SIZE], number[RT_NUMBER_SIZE];
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = frequencies_of(o);
    const size_t size = strlen(argument), behind = size < strlen(unit) ? 0 : strlen(unit);
    double turns;
    int64_t K;
    snprintf(number, sizeof number, "%.*s", (int)(size - behind), argument);
    if (behind && !strcmp(argument + size - behind, unit) && rt_number_parse(number, &turns) &&
        turns >= 0) {
        double *theta = rt_alloc(rt_shape_size(shape), sizeof *theta);
        if (!theta)
            return rt_out_of_memory("theta");
        rt_transformer_rotation(model, length, theta);
        const int columns = shape.axis[2];
        for (int i = 0; i < (int)rt_shape_size(shape); i++)
            factors[i] = turns_of(o, theta, i / columns, i % columns, length) >= turns;
        rt_free(theta);
        return rt_ok();
    }
    if (!rt_integer_parse(argument, &K) || K < 0)
        return rt_error(RT_CONFIG,
                        "--theta off:K: K must be the number of a pair, or a number of turns as in "
                        "off:0.5turns; got %s",
                        rt_quote(quoted, argument));
    if (K >= pairs)
        return rt_error(RT_CONFIG, "--theta off:%.96s: the model has pairs 0 to %d", argument,
                        pairs - 1);
    switch_off(factors, o, (int)K);
    return rt_ok();
}

/* Resolves a value of --theta to numbers that replace theta, or to factors of theta. */
static rt_status find_other_theta(rt_theta_change *change, double *numbers, const char *what,
                                  const rt_transformer *model, int length)
{
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    char quoted[RT_QUOTE_SIZE];
    double factor;
    *change = (rt_theta_change){.numbers = numbers};
    if (!strcmp(what, "start")) {
        const double *start = rt_transformer_theta_start(model);
        const rt_shape of = rt_transformer_theta_shape(o);
        const int rows = shape.axis[1], pairs = shape.axis[2];
        change->factors = !start; /* of 1, for a fixed theta */
        for (int i = 0; i < (int)rt_shape_size(shape); i++) {
            const int layer = of.axis[0] > 1 ? i / pairs / rows : 0;
            const int row = of.axis[1] > 1 ? i / pairs % rows : 0;
            numbers[i] = start ? start[(layer * of.axis[1] + row) * pairs + i % pairs] : 1;
        }
    } else if (!strcmp(what, "base")) {
        if (rt_transformer_theta_axes(o) > 1)
            return rt_error(RT_CONFIG, "--theta base: with position.mixing = mixed the directions "
                                       "of theta are drawn; --theta start sets them");
        rt_transformer_theta_geometric(o, shape, numbers);
    } else if (!strncmp(what, "off:", 4)) {
        change->factors = true;
        return set_off(what + 4, model, length, numbers);
    } else if (!strncmp(what, "scale:", 6)) {
        what += 6;
        change->factors = true;
        if (!rt_number_parse(what, &factor))
            return rt_error(RT_CONFIG, "--theta scale:X: X must be a number%s; got %s",
                            rt_number_is_decimal(what) ? " in the range of a double" : "",
                            rt_quote(quoted, what));
        for (size_t i = 0; i < rt_shape_size(shape); i++)
            numbers[i] = factor;
    } else {
        return read_file(what, o, shape, false, numbers);
    }
    return rt_ok();
}

/* Prints a line on the effective theta of a model at sequence length `length`: the range of |theta|
 * above 0, and how many pairs of a head rotate. */
static rt_status print_theta(FILE *to, const char *what, const rt_transformer *model, int length)
{
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = rt_transformer_pairs(o), reach = rt_transformer_reach(o, -1, length);
    double low = INFINITY, high = 0;
    int least = pairs, most = 0;
    double *theta = rt_alloc(rt_shape_size(shape), sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    rt_transformer_rotation(model, length, theta);
    for (int h = 0; h < shape.axis[0] * shape.axis[1]; h++) {
        int count = 0;
        for (int i = 0; i < pairs; i++) {
            const double size = rt_theta_length(o, theta + h * shape.axis[2], i);
            if (!(size > 0))
                continue;
            count++;
            low = fmin(low, size);
            high = fmax(high, size);
        }
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    fprintf(to, "theta: %s in the place of the model's own: ", what);
    if (least < most)
        fprintf(to, "%d to ", least);
    fprintf(to, "%d of %d pairs of a head rotate", most, pairs);
    if (most)
        fprintf(to, ", |theta| from %.6g to %.6g, from %.3g to %.3g turns over %d positions", low,
                high, rt_theta_turns(low, reach), rt_theta_turns(high, reach), reach - 1);
    fputc('\n', to);
    rt_free(theta);
    return rt_ok();
}

rt_status rt_run_change_theta(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const char *what = a->theta;
    const rt_transformer *model = r->state->model;
    const rt_transformer_options *o = &model->options;
    const int length = r->config->data.length;
    if (!rt_encoding_of(o)->rotation)
        return rt_error(RT_CONFIG, "--theta %.900s: position.kind = %s has no theta", what,
                        rt_encoding_of(o)->word);
    if (!rt_transformer_pairs(o))
        return rt_error(RT_CONFIG,
                        "--theta %.900s: position.fraction = 0 leaves no pair that rotates", what);
    r->other_theta = rt_alloc(rt_shape_size(rt_transformer_rotation_shape(o)), sizeof(double));
    if (!r->other_theta)
        return rt_out_of_memory("theta");
    const rt_status status = find_other_theta(&r->change, r->other_theta, what, model, length);
    if (status.code)
        return status;
    rt_trainer_change_theta(r->trainer, &r->change);
    return print_theta(a->per_line ? stderr : stdout, what, model, length);
}

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

rt_status rt_run_print_instrument(rt_run *r)
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

/* Writes cutoffs.csv: for every K, the loss without the pairs from K on, and the largest number of
 * turns of pair K in any layer and head. */
static rt_status record_cutoffs(rt_run *r, bool *stopped)
{
    const rt_transformer_options *o = &r->state->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = frequencies_of(o);
    const int length = r->config->data.length;
    const size_t count = rt_shape_size(shape);
    double *theta = rt_alloc(2 * count, sizeof *theta);
    rt_writer w = {0};
    rt_status status = rt_ok();
    if (!theta)
        return rt_out_of_memory("theta");
    double *factors = theta + count;
    const rt_theta_change change = {factors, .factors = true};
    rt_transformer_rotation(r->state->model, length, theta);
    rt_writer_add(&w, "off,turns,eval_loss,eval_accuracy\n");
    for (int K = pairs; K >= 0 && !status.code; K--) {
        rt_evaluation e;
        double turns = 0;
        *stopped = rt_stop_requested();
        if (*stopped)
            break;
        switch_off(factors, o, K);
        status = rt_theta_evaluate(r->trainer, length, r->config->train.eval_batches, NULL,
                                   K < pairs ? &change : NULL, &e);
        if (status.code)
            break;
        for (int h = 0; h < shape.axis[0] * shape.axis[1] && K < pairs; h++)
            for (int i = K; i < rt_transformer_pairs(o); i += pairs)
                turns = fmax(turns, turns_of(o, theta, h, i, length));
        rt_writer_add(&w, "%d", K);
        rt_csv_add_number(&w, K < pairs ? turns : (double)NAN);
        rt_csv_add_number(&w, e.loss);
        rt_csv_add_number(&w, e.labels ? e.accuracy : (double)NAN);
        rt_writer_add(&w, "\n");
    }
    rt_free(theta);
    if (!status.code && !*stopped)
        return rt_durable_write_and_free(r->folder.path, "cutoffs.csv", rt_writer_take(&w));
    rt_writer_free(&w);
    return status;
}

rt_status rt_run_record_instruments(rt_run *r, bool *stopped)
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
    return status.code || !r->config->theta.cutoffs ? status : record_cutoffs(r, stopped);
}
