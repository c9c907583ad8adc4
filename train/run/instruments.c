#include "train/run/instruments.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/durable_file.h"
#include "text/writer.h"
#include "train/report/theta_report.h"
#include "train/run/other_theta.h"

#include <math.h>

rt_status rt_usage_text(char **text_new, const rt_config *c, rt_trainer *trainer)
{
    rt_usage usage;
    *text_new = NULL;
    rt_status status = rt_trainer_usage(trainer, c->data.length, &usage);
    if (status.code)
        return status;
    *text_new = rt_usage_csv(rt_trainer_state(trainer)->model, &usage, c->data.length);
    rt_usage_free(&usage);
    return *text_new ? rt_ok() : rt_out_of_memory("the usage of pairs");
}

rt_status rt_distances_text(char **text_new, const rt_config *c, rt_trainer *trainer)
{
    rt_attention_distances d;
    rt_writer w = {0};
    *text_new = NULL;
    rt_status status = rt_trainer_attention_distances(trainer, c->data.length, &d);
    if (status.code)
        return status;
    rt_writer_add(&w, "layer,head,distance,attention\n");
    for (int n = 0; n < d.layers * d.heads * d.length; n++) {
        rt_writer_add(&w, "%d,%d,%d", n / d.length / d.heads, n / d.length % d.heads, n % d.length);
        rt_csv_add_number(&w, d.weights[n]);
        rt_writer_add(&w, "\n");
    }
    rt_attention_distances_free(&d);
    *text_new = rt_writer_take(&w);
    return *text_new ? rt_ok() : rt_out_of_memory("the weights of attention");
}

/* Returns the most turns of a pair in any layer and head. */
static double most_turns(const rt_transformer_options *o, const double *theta, int pair, int length)
{
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = shape.axis[2];
    double most = 0;
    for (int h = 0; h < shape.axis[0] * shape.axis[1]; h++) {
        const int l = rt_transformer_theta_layer(o, h / shape.axis[1]);
        most =
            fmax(most, rt_theta_turns(theta[h * pairs + pair], rt_transformer_reach(o, l, length)));
    }
    return most;
}

/* Writes cutoffs.csv: the loss without the pairs from K on, for every K. */
static rt_status record_cutoffs(const rt_config *config, rt_trainer *trainer, const char *folder,
                                int (*stop)(void), bool *stopped)
{
    const rt_transformer *model = rt_trainer_state(trainer)->model;
    const rt_transformer_options *o = &model->options;
    const int pairs = rt_transformer_pairs(o), length = config->data.length;
    const size_t count = rt_shape_size(rt_transformer_rotation_shape(o));
    double *theta = rt_alloc(2 * count, sizeof *theta);
    rt_writer w = {0};
    rt_status status = rt_ok();
    if (!theta)
        return rt_out_of_memory("theta");
    double *factors = theta + count;
    const rt_theta_change change = {factors, .factors = true};
    rt_transformer_rotation(model, length, theta);
    rt_writer_add(&w, "off,turns,eval_loss,eval_accuracy\n");
    for (int K = pairs; K >= 0 && !status.code; K--) {
        rt_evaluation e;
        *stopped = stop();
        if (*stopped)
            break;
        rt_theta_switch_off(factors, o, K);
        rt_trainer_change_theta(trainer, K < pairs ? &change : NULL);
        status = rt_trainer_evaluate(trainer, length, &e);
        rt_trainer_change_theta(trainer, NULL);
        if (status.code == RT_NONFINITE) { /* --trap has found it */
            e = (rt_evaluation){.loss = (double)NAN, .accuracy = (double)NAN};
            status = rt_ok();
        }
        rt_writer_add(&w, "%d", K);
        rt_csv_add_number(&w, K < pairs ? most_turns(o, theta, K, length) : (double)NAN);
        rt_csv_add_number(&w, e.loss);
        rt_csv_add_number(&w, e.accuracy);
        rt_writer_add(&w, "\n");
    }
    rt_free(theta);
    if (!status.code && !*stopped)
        return rt_durable_given(folder, "cutoffs.csv", rt_writer_take(&w));
    rt_writer_free(&w);
    return status;
}

rt_status rt_instruments_record(const rt_config *config, rt_trainer *trainer, const char *folder,
                                int (*stop)(void), bool *stopped)
{
    char *text;
    *stopped = false;
    rt_status status = rt_usage_text(&text, config, trainer);
    if (!status.code)
        status = rt_durable_given(folder, "usage.csv", text);
    else if (status.code == RT_CONFIG) /* the model has no pairs */
        status = rt_ok();
    return status.code || !config->theta.cutoffs
               ? status
               : record_cutoffs(config, trainer, folder, stop, stopped);
}
