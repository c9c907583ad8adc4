/* gpt.c: a decoder learns a poem byte by byte, with rotation frequencies theta that it learns as
 * well, in a training loop of its own; then it continues the first words. It needs librotor alone:
 * to save a model, see save_model.c.
 *
 *     cc -std=c11 gpt.c -o gpt $(pkg-config --cflags --libs rotor) -lm && ./gpt */

#include <rotor/rotor.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 256, LENGTH = 64, BATCH = 4, STEPS = 300, WARMUP = 20 };

static const char poem[] = "Tyger Tyger, burning bright,\nIn the forests of the night;\n"
                           "What immortal hand or eye,\nCould frame thy fearful symmetry?\n"
                           "In what distant deeps or skies,\nBurnt the fire of thine eyes?\n"
                           "On what wings dare he aspire?\nWhat the hand, dare sieze the fire?\n";

/* A decoder like LLaMA. A 0 that is no choice, such as kv_heads, follows from the others. */
static const rt_transformer_options options = {
    .kind = RT_KIND_DECODER,
    .causal = true,
    .vocab = BYTES,
    .layers = 2,
    .dim = 32,
    .heads = 2,
    .ffn = RT_FFN_SWIGLU,
    .ffn_dim = 96,
    .norm = RT_NORM_PRE,
    .norm_kind = RT_NORM_RMS,
    .norm_eps = 1e-5,
    .bias = RT_BIAS_NONE,
    .position = {.fraction = 1, .frequencies = {RT_FREQUENCY_DEFAULTS}}, /* rope, base 10000 */
    .theta = {.learn = true, .scope = RT_THETA_LAYER},
};

/* Draws windows of the poem. The label of each byte is the next one. */
static void draw_batch(uint32_t step, int32_t *ids, int32_t *labels)
{
    const rt_random random = {.seed = 2, .step = step};
    for (uint64_t b = 0; b < BATCH; b++) {
        const uint32_t first = rt_random_below(random, b, sizeof poem - 1 - LENGTH);
        for (uint32_t t = 0; t < LENGTH; t++) {
            *ids++ = (unsigned char)poem[first + t];
            *labels++ = (unsigned char)poem[first + t + 1];
        }
    }
}

static double learning_rate(int step)
{
    const double peak = 6e-3, left = (double)(STEPS - step) / STEPS;
    return step < WARMUP ? peak * step / WARMUP : peak * left;
}

static rt_status train(rt_transformer *model, rt_optimizer *o, rt_graph *g)
{
    int32_t ids[BATCH * LENGTH], labels[BATCH * LENGTH];
    const rt_transformer_input input = {.B = BATCH,
                                        .T = LENGTH,
                                        .ids = ids,
                                        .padding_id = RT_NO_PADDING};
    for (int step = 1; step <= STEPS; step++) {
        draw_batch((uint32_t)step, ids, labels);
        rt_graph_clear(g);
        rt_parameters_zero_grads(&model->parameters);
        rt_tensor *logits = rt_transformer_forward(model, g, &input);
        rt_tensor *loss = rt_cross_entropy(g, logits, labels, 0, BATCH * LENGTH);
        RT_TRY(rt_graph_backward(g, loss));
        RT_TRY(rt_optimizer_step(o, learning_rate(step), NULL));
        if (step == 1)
            printf("step 1: loss %.1f nats a byte\n", (double)loss->data[0]);
        if (step == STEPS)
            printf("step %d: loss %s 0.2\n", step, loss->data[0] < 0.2 ? "below" : "above");
    }
    return rt_ok();
}

/* Prints whether a learned theta has left base^(-2i/R), its initial value. */
static rt_status print_theta(const rt_transformer *model)
{
    const size_t count = rt_transformer_theta_count(&model->options);
    const double *start = rt_transformer_theta_start(model);
    double *theta = malloc(count * sizeof *theta), largest = 0;
    if (!theta)
        return rt_out_of_memory("theta");
    rt_transformer_theta(model, theta);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(log(theta[i] / start[i])));
    printf("%zu theta: the largest change is %s 1 %%\n", count, largest > 0.01 ? "above" : "below");
    free(theta);
    return rt_ok();
}

/* Continues the first words of the poem with the most likely bytes. */
static rt_status generate(rt_session *session, rt_sampler *sampler)
{
    enum { PROMPT = 12 };
    int32_t ids[LENGTH];
    real logits[BYTES];
    for (int t = 0; t < PROMPT; t++)
        ids[t] = (unsigned char)poem[t];
    RT_TRY(rt_session_feed(session, ids, PROMPT, 1, logits));
    printf("%.*s", PROMPT, poem);
    for (int t = PROMPT; t < LENGTH; t++) {
        RT_TRY(rt_sampler_draw(sampler, logits, (uint64_t)t, &ids[t]));
        putchar(ids[t]);
        RT_TRY(rt_session_feed(session, &ids[t], 1, 1, logits));
    }
    putchar('\n');
    return rt_ok();
}

int main(void)
{
    const rt_optimizer_settings adamw = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    const rt_sampling most_likely = {.temperature = 0, .top_p = 1};
    rt_transformer *model = NULL;
    rt_optimizer *o = NULL;
    rt_session *session = NULL;
    rt_sampler *sampler = NULL;
    rt_graph *g = rt_graph_new();
    rt_status status = g ? rt_ok() : rt_out_of_memory("a graph");
    if (!status.code)
        status = rt_transformer_new(&model, &options, 1, NULL);
    if (!status.code)
        status = rt_optimizer_new(&o, &model->parameters, &adamw);
    if (!status.code)
        status = train(model, o, g);
    if (!status.code)
        status = print_theta(model);
    if (!status.code)
        status = rt_session_new(&session, model, LENGTH);
    if (!status.code)
        status = rt_sampler_new(&sampler, &most_likely, BYTES);
    if (!status.code)
        status = generate(session, sampler);
    if (status.code)
        fprintf(stderr, "%s\n", status.message);
    rt_sampler_free(sampler);
    rt_session_free(session);
    rt_optimizer_free(o);
    rt_transformer_free(model);
    rt_graph_free(g);
    return status.code != RT_OK;
}

/* It prints:
 *
 *     step 1: loss 5.6 nats a byte
 *     step 300: loss below 0.2
 *     16 theta: the largest change is above 1 %
 *     Tyger Tyger, burning bright,
 *     In the forests of the night;
 *     What i
 */
