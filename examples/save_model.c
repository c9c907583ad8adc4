/* save_model.c: a new decoder learns a text that is an array of bytes. It is saved as a checkpoint,
 * shells.h5, and exported as a folder for Hugging Face's transformers, shells; use_model.c, the
 * program rotor, and transformers continue texts with them. Fails if the folder is there.
 *
 *     cc -std=c11 save_model.c -o save_model $(pkg-config --cflags --libs rotor-io) && ./save_model
 */

#include <rotor/rotor-io.h>
#include <rotor/rotor.h>

#include <stdio.h>

enum { LENGTH = 48, BATCH = 4, STEPS = 200 };

static const char text[] = "she sells sea shells by the sea shore, the shells she sells are sea "
                           "shells, she is sure; so if she sells sea shells by the sea shore, then "
                           "she is sure that the shells are sea shore shells.\n";
static int32_t windows[BATCH][LENGTH], next[BATCH * LENGTH];

/* Draws windows of the text, each after the token that begins every text; the label of each token
 * is the next one. Every other window has the beginning of the text. */
static void draw(const rt_vocabulary *v, uint32_t step)
{
    const rt_random random = {.seed = 2, .step = step};
    for (int b = 0; b < BATCH; b++) {
        const uint32_t first =
            b % 2 ? 0 : rt_random_below(random, (uint64_t)b, sizeof text - 1 - LENGTH);
        windows[b][0] = v->special.cls;
        for (int t = 0; t < LENGTH; t++) {
            const int32_t id = v->ids[(unsigned char)text[first + (uint32_t)t]];
            next[b * LENGTH + t] = id;
            if (t + 1 < LENGTH)
                windows[b][t + 1] = id;
        }
    }
}

static rt_status take_step(rt_model *model, rt_optimizer *o, rt_graph *g)
{
    rt_row rows[BATCH];
    draw(model->vocabulary, (uint32_t)model->step);
    for (int b = 0; b < BATCH; b++)
        rows[b] = (rt_row){.length = LENGTH, .ids = windows[b]};
    rt_graph_clear(g);
    rt_parameters_zero_grads(&model->transformer->parameters);
    rt_tensor *logits = rt_model_logits(model, g, rows, BATCH);
    rt_tensor *loss = rt_cross_entropy(g, logits, next, 0, BATCH * LENGTH);
    RT_TRY(rt_graph_backward(g, loss));
    if (++model->step == STEPS)
        printf("step %d: loss %s 0.3\n", STEPS, loss->data[0] < 0.3 ? "below" : "above");
    return rt_optimizer_step(o, 5e-3, NULL);
}

int main(void)
{
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    rt_transformer_options options = rt_model_defaults(RT_KIND_DECODER);
    rt_vocabulary *vocabulary = NULL;
    rt_model *model = NULL;
    rt_optimizer *o = NULL;
    rt_graph *g = rt_graph_new();
    options.dim = 32; /* the default is 64 */
    rt_status status = g ? rt_vocabulary_of_bytes(&vocabulary) : rt_out_of_memory("a graph");
    if (!status.code)
        status = rt_model_new(&model, &options, vocabulary, NULL, LENGTH, 1);
    if (!status.code)
        status = rt_optimizer_new(&o, &model->transformer->parameters, &settings);
    for (int i = 0; i < STEPS && !status.code; i++)
        status = take_step(model, o, g);
    if (!status.code)
        status = rt_model_save(model, "shells.h5");
    if (!status.code)
        status = rt_model_export(model, "shells");
    if (status.code)
        fprintf(stderr, "%s\n", status.message);
    rt_optimizer_free(o);
    rt_model_close(model);
    rt_vocabulary_free(vocabulary);
    rt_graph_free(g);
    return status.code != RT_OK;
}

/* It prints:
 *
 *     step 200: loss below 0.3
 */
