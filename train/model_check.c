#include "train/model_check.h"

#include "core/gradcheck.h"
#include "core/memory.h"
#include "io/model_options.h"
#include "train/run/progress.h"
#include "train/step/trainer.h"
#include "util/process.h"

#include <math.h>

enum { SEQUENCES = 2 };

static const double tolerance = 1e-7;
static const double nothing = 1e-10; /* gradients up to this are zero but for rounding */

typedef struct model_check {
    const rt_config *config;
    rt_data *data;
    rt_transformer *model;
    rt_labelled_batch sequences;
    rt_tensor **inputs;
    rt_gradcheck_result *elements;
    rt_gradcheck_result *direction;
} model_check;

static rt_tensor *loss(rt_graph *g, rt_tensor *const *inputs, void *context)
{
    const model_check *c = context;
    (void)inputs; /* the parameters, which the model has */
    rt_graph_set_random(g, c->config->run.seed, 0, 0);
    rt_graph_set_recomputes(g, c->config->train.recompute == RT_RECOMPUTE_LAYERS);
    return rt_batch_loss(c->model, g, &c->sequences, c->sequences.labels, NULL);
}

static rt_status prepare(model_check *c)
{
    rt_data_options o = c->config->data;
    rt_opening opening;
    rt_opening_begin(&opening, &o, c->config, NULL, false);
    const rt_status status = rt_data_open(&c->data, &o, (rt_data_of_model){.vocabulary = NULL});
    rt_progress_clear(&opening.progress);
    RT_TRY(status);
    RT_TRY(rt_labelled_batch_new(&c->sequences, SEQUENCES, c->config->data.length, c->data->patch,
                                 NULL));
    const int randomized = c->config->model.position.randomized;
    if (randomized)
        RT_TRY(rt_labelled_batch_randomize(&c->sequences, randomized, NULL));
    rt_draw_training(&c->sequences, c->data, c->config->run.seed, 0, 0);
    const rt_transformer_options options = rt_model_options(&c->config->model, c->data);
    RT_TRY(rt_transformer_new(&c->model, &options, c->config->run.seed, NULL));
    const rt_parameters *p = &c->model->parameters;
    c->inputs = rt_alloc((size_t)p->count, sizeof(rt_tensor *));
    c->elements = rt_alloc((size_t)p->count, sizeof *c->elements);
    c->direction = rt_alloc((size_t)p->count, sizeof *c->direction);
    RT_TRY(rt_allocated(c->inputs && c->elements && c->direction, "a gradient check"));
    /* parameters within 0.5 of 0, norm weights of 1; theta in 0.1 to 0.6 */
    for (int n = 0; n < p->count; n++) {
        const rt_parameter *parameter = p->list[n];
        const rt_random random = {1, (uint32_t)n, RT_STREAM_CHECK};
        c->inputs[n] = &p->list[n]->tensor;
        for (size_t i = 0; i < rt_size(c->inputs[n]); i++) {
            const double u = rt_random_uniform(random, i), theta = 0.1 + 0.5 * u;
            double value = parameter->init == RT_INIT_ONE ? u + 0.5 : u - 0.5;
            if (parameter->role == RT_ROLE_THETA)
                value = options.theta.form == RT_THETA_LOG ? log(theta) : theta;
            c->inputs[n]->data[i] = (real)value;
        }
    }
    return rt_ok();
}

/* Adds the result of one parameter, and prints it unless `to` is NULL. A wrong parameter is worse
 * than all right ones. Uses the check with the worse verdict. A direction that could not be judged
 * never replaces the elements. */
static void add_parameter(FILE *to, rt_model_check_result *r, const rt_parameter *p,
                          const rt_gradcheck_result *elements, const rt_gradcheck_result *direction)
{
    static const char *const words[] = {[RT_GRADIENT_UNCHECKED] = "NOT CHECKED",
                                        [RT_GRADIENT_UNJUDGED] = "NOT JUDGED: kinks all around",
                                        [RT_GRADIENT_UNREACHED] = "NOT REACHED by backward",
                                        [RT_GRADIENT_WRONG] = "WRONG"};
    const bool worse =
        direction->verdict != RT_GRADIENT_UNJUDGED && direction->verdict > elements->verdict;
    const rt_gradcheck_result *found = worse ? direction : elements;
    const double error = rt_larger_error(elements->error, direction->error);
    const bool wrong = found->verdict != RT_GRADIENT_RIGHT;
    char place[32] = "along a random direction";
    if ((wrong && !r->wrong) || (wrong == (r->wrong > 0) && !(error <= r->worst_error)) ||
        !r->parameters) {
        snprintf(r->worst, sizeof r->worst, "%s", p->name);
        r->worst_error = error;
    }
    r->parameters++;
    r->wrong += wrong;
    r->error = rt_larger_error(r->error, error);
    if (!to)
        return;
    fprintf(to, "%-62s %9zu  %9.2e  %9.2e  %s\n", p->name, rt_size(&p->tensor), found->largest,
            error,
            wrong                       ? words[found->verdict]
            : found->largest <= nothing ? "ok (zero by symmetry)"
            : found->kinks              ? "ok (at kinks too)"
                                        : "ok");
    if (found == elements)
        snprintf(place, sizeof place, "element %zu", found->index);
    if (found->verdict == RT_GRADIENT_WRONG)
        fprintf(to, "    %s: analytic %.12g, numeric %.12g\n", place, found->analytic,
                found->numeric);
}

static rt_status compare(FILE *to, model_check *c, int samples, rt_model_check_result *r)
{
    const rt_parameters *p = &c->model->parameters;
    rt_gradcheck_options o = {.tolerance = tolerance, .samples = (size_t)samples};
    for (int i = 0; i < 2; i++) {
        rt_gradcheck_result *results = i ? c->direction : c->elements;
        o.mode = i ? RT_GRADCHECK_DIRECTION : RT_GRADCHECK_WEIGHTED;
        const rt_status status = rt_gradcheck(loss, c, c->inputs, p->count, &o, results);
        const bool has_verdicts = !status.code || (status.code == RT_CHECK && results[0].verdict);
        if (!has_verdicts)
            return status;
    }
    if (to)
        fprintf(to, "%-62s %9s  %9s  %9s\n", "parameter", "elements", "gradient", "error");
    for (int i = 0; i < p->count; i++)
        add_parameter(to, r, p->list[i], c->elements + i, c->direction + i);
    if (to)
        fprintf(to, "gradcheck: %d parameters, largest error %.2e (tolerance %.0e): %s\n",
                r->parameters, r->error, tolerance, r->wrong ? "FAILED" : "passed");
    return r->wrong ? rt_error(RT_CHECK, "the gradients of %d parameters are wrong", r->wrong)
                    : rt_ok();
}

rt_status rt_model_check(FILE *to, const rt_config *config, int samples,
                         rt_model_check_result *result)
{
    rt_model_check_result unused;
    if (!result)
        result = &unused;
    *result = (rt_model_check_result){0};
    if (sizeof(real) < sizeof(double))
        return rt_error(RT_CONFIG, "--gradcheck needs double precision: use %s-f64",
                        rt_program_name());
    model_check c = {.config = config};
    rt_status status = prepare(&c);
    if (!status.code)
        status = compare(to, &c, samples, result);
    rt_free(c.inputs);
    rt_free(c.elements);
    rt_free(c.direction);
    rt_transformer_free(c.model);
    rt_labelled_batch_free(&c.sequences);
    rt_data_close(c.data);
    return status;
}
