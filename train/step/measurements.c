#include "train/step/measurements.h"

#include "train/step/private.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static double ratio(int64_t some, int64_t all)
{
    return all ? (double)some / (double)all : 0;
}

bool rt_score_counts(const rt_class_score *score)
{
    return score->count || score->predicted;
}

rt_macro_score rt_scores_find(rt_class_score *scores, const int64_t *confusion, int classes)
{
    rt_macro_score macro = {0, 0};
    for (int c = 0; c < classes; c++)
        scores[c] = (rt_class_score){.count = 0};
    for (int c = 0; c < classes; c++)
        for (int k = 0; k < classes; k++) {
            const int64_t pairs = confusion[(size_t)c * (size_t)classes + (size_t)k];
            scores[c].count += pairs;
            scores[k].predicted += pairs;
        }
    for (int c = 0; c < classes; c++) {
        rt_class_score *s = scores + c;
        const int64_t right = confusion[(size_t)c * (size_t)classes + (size_t)c];
        s->precision = ratio(right, s->predicted);
        s->recall = ratio(right, s->count);
        s->f1 = ratio(2 * right, s->predicted + s->count);
        macro.f1 += s->f1;
        macro.classes += rt_score_counts(s);
    }
    macro.f1 = macro.classes ? macro.f1 / macro.classes : 0;
    return macro;
}

int rt_scores_lowest(int *chosen, const rt_class_score *scores, int classes, int most)
{
    int all = 0, count = 0;
    for (int c = 0; c < classes; c++)
        all += rt_score_counts(scores + c);
    for (int c = 0; c < classes; c++) {
        if (!rt_score_counts(scores + c))
            continue;
        int at = count;
        while (all > most && at > 0 && scores[c].f1 < scores[chosen[at - 1]].f1)
            at--;
        if (at == most)
            continue;
        for (int i = count < most ? count : most - 1; i > at; i--)
            chosen[i] = chosen[i - 1];
        chosen[at] = c;
        count += count < most;
    }
    return count;
}

typedef struct line_scoring {
    const rt_data *data;
    pthread_mutex_t lock; /* guards the scores, which jobs append in any order */
    rt_line_scores *scores;
    size_t capacity;
} line_scoring;

double rt_logits_loss(const real *logits, int columns, int wanted)
{
    double most = (double)logits[0], sum = 0;
    for (int c = 1; c < columns; c++)
        most = fmax(most, (double)logits[c]);
    for (int c = 0; c < columns; c++)
        sum += exp((double)logits[c] - most);
    return most + log(sum) - (double)logits[wanted];
}

/* Scores the labels of a sequence, which are consecutive lines of the file, or in one line. */
static rt_status score_sequence(void *context, int number, const rt_labelled_batch *b,
                                rt_transformer *model, rt_graph *g)
{
    line_scoring *f = context;
    const rt_tensor *logits = b->labels ? rt_batch_logits(model, g, b) : NULL;
    if (!logits || rt_graph_status(g).code)
        return rt_graph_status(g);
    const int classes = rt_columns(logits);
    const int first_line = rt_data_evaluation_line(f->data, (uint32_t)number);
    rt_line_score *scores = rt_graph_memory(g, (size_t)b->labels, sizeof *scores);
    for (int i = 0; scores && i < b->labels; i++) {
        const real *row = logits->data + (size_t)i * (size_t)classes;
        const int predicted = rt_largest(logits, (size_t)i);
        scores[i] = (rt_line_score){.line = first_line + (f->data->sentences ? 0 : i),
                                    .token = i,
                                    .label = b->wanted[i],
                                    .predicted = predicted,
                                    .loss = rt_logits_loss(row, classes, b->wanted[i]),
                                    .probability = exp(-rt_logits_loss(row, classes, predicted))};
    }
    pthread_mutex_lock(&f->lock);
    rt_line_scores *all = f->scores;
    const size_t total = all->count + (size_t)b->labels;
    const bool grown = scores && rt_grow(&all->lines, &f->capacity, total, sizeof *all->lines);
    if (grown) {
        memcpy(all->lines + all->count, scores, (size_t)b->labels * sizeof *scores);
        all->count = total;
    }
    pthread_mutex_unlock(&f->lock);
    return rt_allocated(grown, "the scores of lines");
}

static int compare_lines(const void *a, const void *b)
{
    const rt_line_score *one = a, *other = b;
    return one->line != other->line ? (one->line > other->line) - (one->line < other->line)
                                    : (one->token > other->token) - (one->token < other->token);
}

rt_status rt_line_scores_find(rt_line_scores *scores, rt_trainer *trainer)
{
    line_scoring f = {.data = rt_trainer_data(trainer),
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .scores = scores};
    RT_CLOSED_BY(rt_eval_shards_free) rt_eval_shards shards = {0};
    *scores = (rt_line_scores){0};
    if (!f.data->labels)
        return rt_error(RT_CONFIG, "the data has no labels");
    rt_status status =
        rt_eval_shards_new(&shards, trainer, f.data->options.length, 1, 0, RT_NO_BUFFERS);
    if (!status.code)
        status = rt_eval_shards_run(&shards, 0, shards.count, score_sequence, &f);
    if (scores->count)
        qsort(scores->lines, scores->count, sizeof *scores->lines, compare_lines);
    return status;
}

bool rt_theta_reset_hurts(const rt_theta_reset *r)
{
    const double rounding = 1e-12;
    const double least_accuracy = r->accuracy - 0.01 - rounding;
    const double most_loss = (r->accuracy < 0.9 ? r->loss : 1.5 * r->loss) + 0.01;
    return !(r->reset_accuracy >= least_accuracy && r->reset_loss <= most_loss); /* true for NaN */
}

/* Copies the parameters that hold theta to `kept`, or without `keep` back; with a NULL `kept` only
 * counts. Returns the number of elements. */
static size_t copy_theta(rt_parameters *p, real *kept, bool keep)
{
    size_t count = 0;
    for (int i = 0; i < p->count; i++) {
        const size_t size = rt_size(&p->list[i]->tensor);
        real *theta = p->list[i]->tensor.data;
        if (p->list[i]->role != RT_ROLE_THETA)
            continue;
        if (kept)
            memcpy(keep ? kept + count : theta, keep ? theta : kept + count, size * sizeof *kept);
        count += size;
    }
    return count;
}

rt_status rt_theta_evaluate(rt_trainer *trainer, int length, int batches, const double *theta,
                            const rt_theta_change *change, rt_evaluation *result)
{
    rt_transformer *model = rt_trainer_state(trainer)->model;
    rt_parameters *p = &model->parameters;
    RT_OWNED real *kept = NULL;
    rt_trainer_change_theta(trainer, theta ? NULL : change);
    if (theta) {
        kept = rt_alloc(copy_theta(p, NULL, true), sizeof *kept);
        RT_TRY(rt_allocated(kept, "theta"));
        copy_theta(p, kept, true);
        rt_transformer_set_theta(model, theta);
    }
    rt_status status = rt_trainer_evaluate(trainer, length, batches, result, NULL);
    if (theta)
        copy_theta(p, kept, false);
    else
        rt_trainer_change_theta(trainer, NULL);
    if (status.code != RT_NONFINITE)
        return status;
    *result = (rt_evaluation){.loss = (double)NAN}; /* an error of --trap */
    return rt_ok();
}

/* Steps of ln theta that are tried outwards until one harms the model. */
static const double rungs[] = {0.03, 0.1, 0.3, 1, RT_THETA_FARTHEST};
static const double nearest = 0.003; /* lower end of the range below the first step */
_Static_assert(sizeof rungs / sizeof *rungs <= RT_THETA_EVALUATIONS, "the last rung is reached");

rt_status rt_theta_tolerances(rt_trainer *trainer, int length, rt_theta_tolerance *tolerances,
                              int (*stop)(void), bool *stopped)
{
    const rt_transformer *model = rt_trainer_state(trainer)->model;
    const size_t count = rt_transformer_theta_count(&model->options);
    RT_OWNED double *all = rt_alloc(count, sizeof *all);
    rt_evaluation own;
    bool ends = false;
    RT_TRY(rt_allocated(all, "theta"));
    rt_transformer_theta(model, all);
    rt_status status = rt_theta_evaluate(trainer, length, 1, all, NULL, &own);
    for (size_t k = 0; k < 2 * count && !status.code && !ends; k++) { /* theta k / 2, down or up */
        const double theta = all[k / 2];
        double good = 0, bad = 0; /* largest harmless and smallest harmful step */
        for (int i = 0; i < RT_THETA_EVALUATIONS && !status.code && good < RT_THETA_FARTHEST; i++) {
            const double step = bad > 0 ? sqrt(fmax(good, nearest) * bad) : rungs[i];
            rt_evaluation e = {0};
            if ((ends = stop && stop()))
                break;
            all[k / 2] = theta * exp(k % 2 ? step : -step);
            status = rt_theta_evaluate(trainer, length, 1, all, NULL, &e);
            all[k / 2] = theta;
            const bool hurts =
                rt_theta_reset_hurts(&(rt_theta_reset){own.loss, own.accuracy, e.loss, e.accuracy});
            *(hurts ? &bad : &good) = step;
        }
        *(k % 2 ? &tolerances[k / 2].up : &tolerances[k / 2].down) = good;
    }
    *stopped = stop && stop();
    return status;
}

/* Usages of shards that are computed at the same time, one for each graph. They are added up in the
 * order of the shards, because sums are rounded. */
typedef struct usage_round {
    rt_usage *usages;
    int count;
} usage_round;

static rt_status measure_usage(void *context, int number, const rt_labelled_batch *batch,
                               rt_transformer *model, rt_graph *g)
{
    const usage_round *r = context;
    rt_transformer_input input = rt_batch_input(g, batch);
    input.usage = r->usages + number % r->count;
    rt_usage_clear(input.usage);
    rt_transformer_encode(model, g, &input);
    return rt_ok();
}

rt_status rt_trainer_usage(rt_trainer *t, int length, rt_usage *usage)
{
    RT_CLOSED_BY(rt_eval_shards_free) rt_eval_shards shards = {0};
    usage_round r = {.count = t->graph_count};
    rt_status status =
        rt_eval_shards_new(&shards, t, length, 0, t->config->train.eval_batches, RT_NO_BUFFERS);
    r.usages = rt_alloc((size_t)r.count, sizeof *r.usages);
    *usage = (rt_usage){.tokens = 0};
    if (!status.code && !r.usages)
        status = rt_out_of_memory("an evaluation");
    for (int i = -1; i < r.count && !status.code; i++)
        status = rt_usage_new(i < 0 ? usage : r.usages + i, &t->state.model->options, length);
    for (int i = 0; i < shards.count && !status.code; i += r.count) {
        const int end = shards.count - i < r.count ? shards.count : i + r.count;
        status = rt_eval_shards_run(&shards, i, end, measure_usage, &r);
        for (int k = i; k < end && !status.code; k++)
            rt_usage_add(usage, r.usages + k % r.count);
    }
    for (int i = 0; r.usages && i < r.count; i++)
        rt_usage_free(r.usages + i);
    rt_free(r.usages);
    if (status.code)
        rt_usage_free(usage);
    return status;
}

/* Gradients of sequences that are computed at the same time, one for each graph. */
typedef struct gradient_round {
    double *gradients;
    bool *labelled;
    size_t thetas;
    int count;
} gradient_round;

static rt_status differentiate_theta(void *context, int number, const rt_labelled_batch *batch,
                                     rt_transformer *model, rt_graph *g)
{
    const gradient_round *r = context;
    const int at = number % r->count;
    r->labelled[at] = batch->labels > 0;
    if (!batch->labels)
        return rt_ok();
    for (int k = 0; k < model->parameters.count; k++) {
        const rt_parameter *p = model->parameters.list[k];
        if (p->role == RT_ROLE_THETA)
            memset(p->tensor.grad, 0, rt_size(&p->tensor) * sizeof *p->tensor.grad);
    }
    rt_graph_record(g, true);
    RT_TRY(rt_graph_backward(g, rt_batch_loss(model, g, batch, batch->labels, NULL)));
    rt_transformer_theta_gradient(model, r->gradients + (size_t)at * r->thetas);
    return rt_ok();
}

/* Adds a value to a mean and to the sum of squares around it (Welford 1962). */
static void add_value(double *mean, double *squares, double value, long count)
{
    const double off = value - *mean;
    *mean += off / (double)count;
    *squares += off * (value - *mean);
}

rt_status rt_trainer_theta_gradients(rt_trainer *t, int length, rt_theta_gradients *g)
{
    const rt_transformer_options *o = &t->state.model->options;
    const size_t thetas = rt_transformer_theta_count(o);
    gradient_round r = {.thetas = thetas, .count = t->graph_count};
    RT_CLOSED_BY(rt_eval_shards_free) rt_eval_shards shards = {0};
    *g = (rt_theta_gradients){.sequences = 0};
    if (!o->theta.learn || rt_transformer_theta_axes(o) > 1)
        return rt_error(RT_CONFIG, "needs a learned theta of one axis: theta.learn = yes%s",
                        o->theta.learn ? ", position.mixing = axial" : "");
    rt_status status =
        rt_eval_shards_new(&shards, t, length, 1, t->config->train.eval_batches, RT_NO_BUFFERS);
    r.gradients = rt_alloc((size_t)r.count * thetas, sizeof *r.gradients);
    r.labelled = rt_alloc((size_t)r.count, sizeof *r.labelled);
    g->mean = rt_alloc(2 * thetas, sizeof *g->mean);
    g->deviation = g->mean ? g->mean + thetas : NULL;
    if (!status.code && !(r.gradients && r.labelled && g->mean))
        status = rt_out_of_memory("the gradients of theta");
    rt_trainer_want(t, true);
    for (int i = 0; i < shards.count && !status.code; i += r.count) {
        const int end = shards.count - i < r.count ? shards.count : i + r.count;
        status = rt_eval_shards_run(&shards, i, end, differentiate_theta, &r);
        for (int k = 0; k < end - i && !status.code; k++) {
            const double *gradient = r.gradients + (size_t)((i + k) % r.count) * thetas;
            g->sequences += r.labelled[(i + k) % r.count];
            for (size_t n = 0; n < thetas && r.labelled[(i + k) % r.count]; n++)
                add_value(&g->mean[n], &g->deviation[n], gradient[n], g->sequences);
        }
    }
    rt_trainer_want(t, false);
    for (size_t n = 0; n < thetas && !status.code; n++)
        g->deviation[n] =
            g->sequences > 1 ? sqrt(g->deviation[n] / (double)(g->sequences - 1)) : (double)NAN;
    rt_free(r.gradients);
    rt_free(r.labelled);
    if (status.code) {
        rt_free(g->mean);
        g->mean = NULL;
    }
    return status;
}

/* Sums by distance, and the weights of one sequence at a time, (heads, T, T) for each layer. */
typedef struct attended {
    rt_attention_distances *sum;
    real **weights;
    int64_t labels; /* labels with distances */
} attended;

/* Computes the weights of a sequence and adds them to the sums. */
static rt_status add_attended(void *context, int number, const rt_labelled_batch *batch,
                              rt_transformer *model, rt_graph *g)
{
    attended *a = context;
    const rt_attention_distances *d = a->sum;
    const int T = batch->batch.length, *answers = batch->batch.distances;
    rt_transformer_input input = rt_batch_input(g, batch);
    (void)number;
    input.attentions = a->weights;
    rt_transformer_encode(model, g, &input);
    const rt_status status = rt_engine_graph_status(g);
    for (int n = 0; n < d->layers * d->heads && !status.code; n++) {
        const real *row = a->weights[n / d->heads] + (size_t)(n % d->heads) * (size_t)T * (size_t)T;
        double *sum = d->weights + (size_t)n * (size_t)d->length;
        for (int i = 0; i < T; i++, row += T) {
            for (int j = 0; batch->batch.mask[i] && j < T; j++)
                sum[abs(i - j)] += (double)row[j];
            if (answers && answers[i])
                d->answers[n] += (double)row[i - answers[i]];
        }
    }
    for (int i = 0; answers && i < T; i++)
        a->labels += answers[i] > 0;
    return status;
}

rt_status rt_trainer_attention_distances(rt_trainer *t, int length, rt_attention_distances *d)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    const rt_transformer_options *o = &t->state.model->options;
    *d = (rt_attention_distances){.layers = o->layers, .heads = o->heads, .length = length};
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_error(RT_CONFIG, "model.attention = %s has no weights that sum to 1",
                        attentions[o->attention]);
    const size_t heads = (size_t)o->layers * (size_t)o->heads;
    d->weights = rt_alloc(heads * ((size_t)length + 1), sizeof *d->weights);
    RT_TRY(rt_allocated(d->weights, "the weights of attention"));
    d->answers = d->weights + heads * (size_t)length;
    const size_t size = (size_t)d->heads * (size_t)length * (size_t)length;
    real *each = rt_alloc((size_t)o->layers * size, sizeof *each);
    real *weights[o->layers];
    if (!each) {
        rt_attention_distances_free(d);
        return rt_out_of_memory("the weights of attention");
    }
    for (int l = 0; l < o->layers; l++)
        weights[l] = each + (size_t)l * size;
    RT_CLOSED_BY(rt_eval_shards_free) rt_eval_shards shards = {0};
    attended a = {d, weights, 0};
    rt_status status =
        rt_eval_shards_new(&shards, t, length, 1, t->config->train.eval_batches, RT_DISTANCES);
    for (int i = 0; i < shards.count && !status.code;
         i++) /* one after the other: sums are rounded */
        status = rt_eval_shards_run(&shards, i, i + 1, add_attended, &a);
    rt_free(each);
    if (status.code)
        rt_attention_distances_free(d);
    for (int n = 0; d->weights && n < d->layers * d->heads; n++) { /* shares sum to 1 */
        double sum = 0, *shares = d->weights + (size_t)n * (size_t)length;
        for (int r = 0; r < length; r++)
            sum += shares[r];
        for (int r = 0; r < length; r++)
            shares[r] /= sum;
        d->answers[n] /= (double)a.labels;
    }
    return status;
}

void rt_attention_distances_free(rt_attention_distances *d)
{
    rt_free(d->weights);
    d->weights = d->answers = NULL;
}
