/* A program outside the tree that embeds rotor: it opens a model, classifies a line, trains the
 * model on that line for three steps, saves it and opens it again.
 *
 *     io CHECKPOINT SAVED */

#include <rotor/rotor-io.h>

#include <stdio.h>
#include <string.h>

enum { STEPS = 3, LABEL = 1, MOST_CLASSES = 16 };

static const char line[] = "a line of text";

static rt_status step(rt_model *model, rt_optimizer *o, rt_graph *g, const rt_row *row, real *loss)
{
    const int32_t label = LABEL;
    rt_graph_clear(g);
    rt_parameters_zero_grads(&model->transformer->parameters);
    rt_tensor *l = rt_cross_entropy(g, rt_model_logits(model, g, row, 1), &label, 0, 1);
    rt_status status = rt_graph_backward(g, l);
    if (status.code)
        return status;
    *loss = l->data[0];
    model->step++;
    return rt_optimizer_step(o, 1e-3, NULL);
}

static rt_status train(rt_model *model)
{
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    rt_optimizer *o = NULL;
    rt_row row;
    real losses[STEPS] = {0};
    rt_graph *g = rt_graph_new();
    rt_status status = rt_model_encode(model, line, NULL, &row);
    if (!status.code)
        status = rt_optimizer_new(&o, &model->transformer->parameters, &settings);
    for (int i = 0; i < STEPS && !status.code; i++)
        status = step(model, o, g, &row, losses + i);
    if (!status.code && !(losses[STEPS - 1] < losses[0]))
        status = rt_error(RT_CHECK, "the loss went from %g to %g", (double)losses[0],
                          (double)losses[STEPS - 1]);
    rt_optimizer_free(o);
    rt_row_free(&row);
    rt_graph_free(g);
    return status;
}

/* The file holds the model to the bit. */
static rt_status compare(rt_model *model, const char *path)
{
    double p[MOST_CLASSES], q[MOST_CLASSES];
    rt_model *saved;
    rt_status status = rt_model_open(&saved, path);
    if (!status.code)
        status = rt_model_classify(saved, line, NULL, q);
    if (!status.code)
        status = rt_model_classify(model, line, NULL, p);
    if (!status.code && memcmp(p, q, sizeof *p * (size_t)model->labels->count) != 0)
        status = rt_error(RT_CHECK, "%s is not what was saved", path);
    rt_model_close(saved);
    return status;
}

int main(int argc, char **argv)
{
    double p[MOST_CLASSES];
    rt_model *model;
    if (argc != 3)
        return 2;
    rt_status status = rt_model_open(&model, argv[1]);
    if (!status.code && (!model->labels || model->labels->count > MOST_CLASSES))
        status = rt_error(RT_CHECK, "another model was expected");
    if (!status.code)
        status = rt_model_classify(model, line, NULL, p);
    if (!status.code)
        status = train(model);
    if (!status.code)
        status = rt_model_save(model, argv[2]);
    if (!status.code)
        status = compare(model, argv[2]);
    printf("%s, %s\n", RT_PRECISION, status.code ? status.message : "all is well");
    rt_model_close(model);
    return status.code != RT_OK;
}
