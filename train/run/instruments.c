#include "train/run/instruments.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/durable_file.h"
#include "text/writer.h"
#include "train/report/theta_report.h"
#include "train/run/other_theta.h"

#include <math.h>

/* ---- usage ---- */

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

/* A model that has no such pairs has no table. */
static rt_status record_usage(const rt_config *c, rt_trainer *trainer, const char *folder)
{
    char *text;
    rt_status status = rt_usage_text(&text, c, trainer);
    if (status.code)
        return status.code == RT_CONFIG ? rt_ok() : status;
    return rt_durable_given(folder, "usage.csv", text);
}

/* ---- distances ---- */

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

/* ---- cut-offs ---- */

typedef struct cutting {
    const rt_config *config;
    rt_trainer *trainer;
    rt_writer text;
    double *theta;   /* of the model */
    double *factors; /* both laid out as rt_transformer_rotation */
} cutting;

/* The most that a pair of that number turns in any layer and head. */
static double most_turns(const cutting *c, int pair)
{
    const rt_transformer_options *o = &rt_trainer_state(c->trainer)->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = shape.axis[2], length = c->config->data.length;
    double most = 0;
    for (int h = 0; h < shape.axis[0] * shape.axis[1]; h++) {
        const int l = rt_transformer_theta_layer(o, h / shape.axis[1]);
        most = fmax(most,
                    rt_theta_turns(c->theta[h * pairs + pair], rt_transformer_reach(o, l, length)));
    }
    return most;
}

/* Without the pairs from K on; behind the last pair there is nothing to switch off. */
static rt_status cut(cutting *c, int K, int pairs)
{
    const rt_theta_change change = {c->factors, .factors = true};
    const rt_transformer_options *o = &rt_trainer_state(c->trainer)->model->options;
    rt_evaluation e;
    rt_theta_switch_off(c->factors, o, K);
    rt_trainer_change_theta(c->trainer, K < pairs ? &change : NULL);
    rt_status status = rt_trainer_evaluate(c->trainer, c->config->data.length, &e);
    rt_trainer_change_theta(c->trainer, NULL);
    if (status.code == RT_NONFINITE) /* --trap has found it */
        e = (rt_evaluation){.loss = (double)NAN, .accuracy = (double)NAN};
    else if (status.code)
        return status;
    rt_writer_add(&c->text, "%d", K);
    rt_csv_add_number(&c->text, K < pairs ? most_turns(c, K) : (double)NAN);
    rt_csv_add_number(&c->text, e.loss);
    rt_csv_add_number(&c->text, e.accuracy);
    rt_writer_add(&c->text, "\n");
    return rt_ok();
}

static rt_status cut_all(cutting *c, const char *folder, int (*stop)(void), bool *stopped)
{
    const rt_transformer *model = rt_trainer_state(c->trainer)->model;
    const int pairs = rt_transformer_pairs(&model->options);
    const size_t count = rt_shape_size(rt_transformer_rotation_shape(&model->options));
    c->theta = rt_alloc(2 * count, sizeof *c->theta);
    if (!c->theta)
        return rt_out_of_memory("theta");
    c->factors = c->theta + count;
    rt_transformer_rotation(model, c->config->data.length, c->theta);
    rt_writer_add(&c->text, "off,turns,eval_loss,eval_accuracy\n");
    rt_status status = rt_ok();
    for (int K = pairs; K >= 0 && !status.code; K--) {
        *stopped = stop();
        if (*stopped)
            break;
        status = cut(c, K, pairs);
    }
    rt_free(c->theta);
    if (status.code || *stopped) {
        rt_writer_free(&c->text);
        return status;
    }
    return rt_durable_given(folder, "cutoffs.csv", rt_writer_take(&c->text));
}

rt_status rt_instruments_record(const rt_config *config, rt_trainer *trainer, const char *folder,
                                int (*stop)(void), bool *stopped)
{
    cutting c = {.config = config, .trainer = trainer};
    *stopped = false;
    rt_status status = record_usage(config, trainer, folder);
    if (status.code || !config->theta.cutoffs)
        return status;
    return cut_all(&c, folder, stop, stopped);
}
