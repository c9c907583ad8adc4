/* Evaluations of a trained model with another theta: that of --theta, and without its slower pairs
 * (cutoffs.csv). */

#include "train/run/theta.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "train/run/stop.h"
#include "train/step/measurements.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/number.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Returns rt_theta_turns of pair `i` of row `row` (a head of a layer) of theta in sequences of
 * `length`. */
static double turns_of(const rt_transformer_options *o, const double *theta, int row, int i,
                       int length)
{
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int layer = rt_transformer_theta_layer(o, row / shape.axis[1]);
    return rt_theta_turns(o, layer, length, rt_theta_length(o, theta + row * shape.axis[2], i));
}

/* Parses "12" or "0.5turns": switches off the pairs from that index on, or with fewer turns. */
static rt_status set_off(const char *argument, const rt_transformer *model, int length,
                         double *factors)
{
    static const char unit[] = "turns";
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = frequencies_of(o);
    const size_t size = strlen(argument), behind = size < strlen(unit) ? 0 : strlen(unit);
    double turns;
    int64_t K;
    const char *number = RT_PRINTED(RT_NUMBER_SIZE, "%.*s", (int)(size - behind), argument);
    if (behind && !strcmp(argument + size - behind, unit) && rt_number_parse(number, &turns) &&
        turns >= 0) {
        if (!rt_transformer_turns_by_position(o))
            return rt_error(
                RT_CONFIG,
                "--theta off:%.96s: the angles of position.kind = %s are not a position "
                "times theta, so that pairs have no turns; name a pair, as in off:4",
                argument, rt_encoding_of(o)->word);
        RT_OWNED double *theta = rt_alloc(rt_shape_size(shape), sizeof *theta);
        RT_TRY(rt_allocated(theta, "theta"));
        rt_transformer_rotation(model, length, theta);
        const int columns = shape.axis[2];
        for (int i = 0; i < (int)rt_shape_size(shape); i++)
            factors[i] = turns_of(o, theta, i / columns, i % columns, length) >= turns;
        return rt_ok();
    }
    if (!rt_integer_parse(argument, &K) || K < 0)
        return rt_error(RT_CONFIG,
                        "--theta off:K: K must be the number of a pair, or a number of turns as in "
                        "off:0.5turns; got %s",
                        RT_QUOTED(argument));
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
                            RT_QUOTED(what));
        for (size_t i = 0; i < rt_shape_size(shape); i++)
            numbers[i] = factor;
    } else {
        return rt_theta_table_read(what, o, shape, false, numbers);
    }
    return rt_ok();
}

/* Prints a line on the effective theta of a model at sequence length `length`: the range of |theta|
 * above 0, and how many pairs of a head rotate. */
static rt_status print_theta(FILE *to, const char *what, const rt_transformer *model, int length)
{
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = rt_transformer_pairs(o);
    double low = INFINITY, high = 0;
    int least = pairs, most = 0;
    RT_OWNED double *theta = rt_alloc(rt_shape_size(shape), sizeof *theta);
    RT_TRY(rt_allocated(theta, "theta"));
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
        fprintf(to, ", |theta| from %.6g to %.6g", low, high);
    if (most && rt_transformer_turns_by_position(o))
        fprintf(to, ", from %.3g to %.3g turns over %d positions",
                rt_theta_turns(o, -1, length, low), rt_theta_turns(o, -1, length, high),
                rt_transformer_reach(o, -1, length) - 1);
    fputc('\n', to);
    return rt_ok();
}

rt_status rt_run_change_theta(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const char *what = a->theta;
    const rt_transformer *model = r->state->model;
    const rt_transformer_options *o = &model->options;
    const int length = r->config->data.length;
    if (!rt_encoding_of(o)->pairs)
        return rt_error(RT_CONFIG, "--theta %.900s: position.kind = %s has no theta", what,
                        rt_encoding_of(o)->word);
    if (!rt_transformer_pairs(o))
        return rt_error(RT_CONFIG,
                        "--theta %.900s: position.fraction = 0 leaves no pair that rotates", what);
    r->other_theta = rt_alloc(rt_shape_size(rt_transformer_rotation_shape(o)), sizeof(double));
    RT_TRY(rt_allocated(r->other_theta, "theta"));
    RT_TRY(find_other_theta(&r->change, r->other_theta, what, model, length));
    rt_trainer_change_theta(r->trainer, &r->change);
    return print_theta(a->per_line ? stderr : stdout, what, model, length);
}

rt_status rt_run_record_cutoffs(rt_run *r, bool *stopped)
{
    const rt_transformer_options *o = &r->state->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = frequencies_of(o);
    const int length = r->config->data.length;
    const size_t count = rt_shape_size(shape);
    RT_OWNED double *theta = rt_alloc(2 * count, sizeof *theta);
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    RT_TRY(rt_allocated(theta, "theta"));
    double *factors = theta + count;
    const rt_theta_change change = {factors, .factors = true};
    rt_transformer_rotation(r->state->model, length, theta);
    rt_writer_add(&w, "off,turns,eval_loss,eval_accuracy\n");
    for (int K = pairs; K >= 0; K--) {
        rt_evaluation e;
        double turns = (double)NAN; /* of no pair */
        *stopped = rt_stop_requested();
        if (*stopped)
            return rt_ok();
        switch_off(factors, o, K);
        RT_TRY(rt_theta_evaluate(r->trainer, length, r->config->train.eval_batches, NULL,
                                 K < pairs ? &change : NULL, &e));
        for (int h = 0; h < shape.axis[0] * shape.axis[1] && K < pairs; h++)
            for (int i = K; i < rt_transformer_pairs(o); i += pairs)
                turns = fmax(turns, turns_of(o, theta, h, i, length));
        rt_writer_add(&w, "%d", K);
        rt_csv_add_number(&w, turns);
        rt_csv_add_number(&w, e.loss);
        rt_csv_add_number(&w, e.labels ? e.accuracy : (double)NAN);
        rt_writer_add(&w, "\n");
    }
    return rt_durable_write_and_free(r->folder.path, "cutoffs.csv", rt_writer_take(&w));
}
