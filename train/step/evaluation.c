/* Evaluation, and other work without gradients on the threads and models of a trainer.
 *
 * The sequences of an evaluation are cut into parts, which depend on the configuration alone; each
 * process of a world computes some of the parts. */

#include "train/step/trainer_private.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- jobs ---- */

typedef struct job_failure {
    rt_status status;
    int job;
} job_failure;

typedef struct model_jobs {
    rt_trainer *trainer;
    const rt_parts *parts; /* of an evaluation; NULL: the jobs have no sequences */
    rt_model_job *run;
    void *context;
    int first;             /* number of the first job */
    job_failure *failures; /* of each place: its failed job with the lowest number */
} model_jobs;

/* Draws the sequences of a part into a batch that has room for a full one. */
static void draw_part(const rt_parts *p, int number, rt_labelled_batch *batch)
{
    const long first = (long)number * p->rows, left = p->sequences - first;
    batch->batch.rows = left < p->rows ? (int)left : p->rows;
    rt_draw_evaluation(batch, p->trainer->data, (uint32_t)first);
}

static void run_model_job(void *context, int job, int worker)
{
    const model_jobs *j = context;
    rt_trainer *t = j->trainer;
    const int place = rt_trainer_enter(t, worker), number = j->first + job;
    rt_labelled_batch *batch = j->parts ? j->parts->batches + place : NULL;
    rt_graph *g = t->places[place].graph;
    job_failure *f = j->failures + place;
    rt_graph_clear(g);
    rt_graph_record(g, false);
    if (batch)
        draw_part(j->parts, number, batch);
    rt_status status = j->run(j->context, number, batch, t->models[place], g);
    if (!status.code)
        status = rt_graph_status(g);
    if (status.code && (!f->status.code || number < f->job))
        *f = (job_failure){status, number};
    rt_trainer_leave(t, place);
}

/* Runs `count` jobs. Returns the status of the failed job with the lowest number. */
static rt_status run_jobs(model_jobs j, int count)
{
    rt_trainer *t = j.trainer;
    job_failure first = {rt_ok(), INT_MAX};
    j.failures = rt_alloc((size_t)t->place_count, sizeof *j.failures);
    if (!j.failures)
        return rt_out_of_memory("jobs");
    rt_workers_run_few(t->workers, t->place_count, run_model_job, &j, count);
    for (int i = 0; i < t->place_count; i++)
        if (j.failures[i].status.code && j.failures[i].job < first.job)
            first = j.failures[i];
    rt_free(j.failures);
    return first.status.code ? first.status : rt_engine_status();
}

rt_status rt_trainer_run_jobs(rt_trainer *t, rt_model_job *run, void *context, int count)
{
    rt_trainer_hold(t);
    const rt_status status =
        run_jobs((model_jobs){.trainer = t, .run = run, .context = context}, count);
    rt_trainer_let_go();
    return status;
}

/* ---- the parts of an evaluation ---- */

rt_status rt_parts_new(rt_parts *p, rt_trainer *t, int length, int rows, long most)
{
    const long available = rt_data_evaluation_rows(t->data, length);
    rt_status status = rt_ok();
    *p = (rt_parts){.trainer = t, .rows = rows, .sequences = most < available ? most : available};
    p->count = (int)((p->sequences + rows - 1) / rows);
    p->batches = rt_alloc((size_t)t->place_count, sizeof *p->batches);
    if (!p->batches)
        return rt_out_of_memory("an evaluation");
    for (int i = 0; i < t->place_count && !status.code; i++)
        status = rt_labelled_batch_new(p->batches + i, rows, length, NULL);
    return status;
}

void rt_parts_free(rt_parts *p)
{
    for (int i = 0; p->batches && i < p->trainer->place_count; i++)
        rt_labelled_batch_free(p->batches + i);
    rt_free(p->batches);
}

rt_status rt_parts_run(const rt_parts *p, int first, int end, rt_model_job *run, void *context)
{
    const rt_status status =
        run_jobs((model_jobs){p->trainer, p, run, context, first, NULL}, end - first);
    const rt_status data = rt_data_status(p->trainer->data);
    return data.code ? data : status;
}

/* Returns the most sequences of an evaluation on some batches, or on all (0). */
static long most_sequences(const rt_trainer *t, int batches)
{
    return batches ? (long)batches * t->config->train.batch_size : LONG_MAX;
}

/* Returns the number of sequences of a part, as many as the first shard has. */
static int shard_rows(const rt_trainer *t)
{
    return t->config->train.batch_size / t->shards;
}

/* ---- evaluation ---- */

typedef struct part {
    rt_batch_result result;
    long labels;
    long bytes; /* of text, that the labels stand for; below 0: unknown */
} part;

typedef struct evaluation {
    rt_parts parts;
    part *results;       /* of the parts of all processes */
    int64_t *confusions; /* of each place, (classes, classes); or NULL */
    size_t *starts;      /* (processes + 1): first part of each */
} evaluation;

/* Counts the bytes of text that the labels stand for; -1 if unknown. */
static long count_bytes(const rt_data *data, const rt_labelled_batch *b)
{
    const rt_vocabulary *v = rt_data_vocabulary(data);
    long bytes = 0;
    for (int i = 0; i < b->labels; i++) {
        const int more =
            v && rt_data_target(data) == RT_TARGET_IDS ? rt_vocabulary_bytes(v, b->wanted[i]) : -1;
        if (more < 0)
            return -1;
        bytes += more;
    }
    return bytes;
}

static rt_status evaluate_part(void *context, int number, const rt_labelled_batch *batch,
                               rt_transformer *model, rt_graph *g)
{
    const evaluation *e = context;
    part *p = e->results + number;
    p->labels = batch->labels;
    p->bytes = count_bytes(e->parts.trainer->data, batch);
    if (batch->labels)
        rt_batch_loss(model, g, batch, 1, &p->result);
    return rt_ok();
}

/* Evaluates the parts of this process. */
static rt_status evaluate_parts(evaluation *e)
{
    rt_trainer *t = e->parts.trainer;
    const size_t *own = e->starts + rt_world_rank(t->world);
    rt_trainer_hold(t);
    const rt_status status = rt_parts_run(&e->parts, (int)own[0], (int)own[1], evaluate_part, e);
    rt_trainer_let_go();
    if (rt_world_any(t->world, t->stop && t->stop()) && t->on_stop)
        t->on_stop();
    return rt_world_agree(t->world, status);
}

static rt_status sum_parts(const evaluation *e, rt_evaluation *result)
{
    size_t correct = 0;
    bool known = true;
    rt_world_gather(e->parts.trainer->world, e->results, e->starts, sizeof *e->results);
    for (int i = 0; i < e->parts.count; i++) {
        const part *p = e->results + i;
        result->loss += p->result.loss;
        result->labels += p->labels;
        correct += p->result.correct;
        result->bytes += p->bytes;
        known = known && p->bytes >= 0;
    }
    result->bytes = known ? result->bytes : 0;
    if (!result->labels)
        return rt_error(RT_DATA, "no position of the evaluation has a label");
    result->loss /= (double)result->labels;
    result->accuracy = (double)correct / (double)result->labels;
    return rt_ok();
}

/* Sums whole numbers, so the order does not matter. */
static void sum_confusions(const evaluation *e, size_t size, int64_t *confusion)
{
    const rt_trainer *t = e->parts.trainer;
    memset(confusion, 0, size * sizeof *confusion);
    for (int i = 0; i < t->place_count; i++)
        for (size_t k = 0; k < size; k++)
            confusion[k] += e->confusions[(size_t)i * size + k];
    rt_world_sum(t->world, confusion, size);
}

/* `confusions` is the size of a matrix of confusions, or 0. */
static rt_status make_evaluation(evaluation *e, rt_trainer *t, int length, int batches,
                                 size_t confusions)
{
    const int size = rt_world_size(t->world);
    rt_status status =
        rt_parts_new(&e->parts, t, length, shard_rows(t), most_sequences(t, batches));
    e->results = rt_alloc((size_t)e->parts.count, sizeof *e->results);
    e->starts = rt_alloc((size_t)size + 1, sizeof *e->starts);
    if (confusions)
        e->confusions = rt_alloc((size_t)t->place_count * confusions, sizeof *e->confusions);
    if (!status.code && (!e->results || !e->starts || (confusions && !e->confusions)))
        status = rt_out_of_memory("an evaluation");
    for (int i = 0; i < t->place_count && !status.code && confusions; i++)
        e->parts.batches[i].confusion = e->confusions + (size_t)i * confusions;
    for (int i = 0; i <= size && !status.code; i++)
        e->starts[i] = (size_t)rt_share_start(e->parts.count, size, i);
    return rt_world_agree(t->world, status);
}

rt_status rt_trainer_take_evaluation(rt_trainer *t, int length, int batches, rt_evaluation *result,
                                     int64_t *confusion)
{
    const size_t classes = (size_t)rt_data_classes(t->data);
    evaluation e = {.results = NULL};
    rt_status status = make_evaluation(&e, t, length, batches, confusion ? classes * classes : 0);
    *result = (rt_evaluation){.sequences = e.parts.sequences};
    if (!status.code)
        status = evaluate_parts(&e);
    if (!status.code)
        status = sum_parts(&e, result);
    if (!status.code && confusion)
        sum_confusions(&e, classes * classes, confusion);
    rt_parts_free(&e.parts);
    rt_free(e.results);
    rt_free(e.confusions);
    rt_free(e.starts);
    return status;
}

/* ---- usage of pairs ---- */

/* Usages of parts that are computed at the same time, one for each place. Their sums are added in
 * the order of the parts. */
typedef struct usage_round {
    rt_usage *usages;
    int places;
} usage_round;

static rt_status measure_usage(void *context, int number, const rt_labelled_batch *batch,
                               rt_transformer *model, rt_graph *g)
{
    const usage_round *r = context;
    rt_transformer_input input = rt_batch_input(batch);
    input.usage = r->usages + number % r->places;
    rt_usage_clear(input.usage);
    rt_transformer_encode(model, g, &input);
    return rt_ok();
}

static rt_status sum_usage(const rt_parts *p, usage_round *r, rt_usage *sum)
{
    rt_status status = rt_ok();
    for (int first = 0; first < p->count && !status.code; first += r->places) {
        const int end = p->count - first < r->places ? p->count : first + r->places;
        status = rt_parts_run(p, first, end, measure_usage, r);
        for (int i = first; i < end && !status.code; i++)
            rt_usage_add(sum, r->usages + i % r->places);
    }
    return status;
}

rt_status rt_trainer_usage(rt_trainer *t, int length, rt_usage *usage)
{
    rt_parts parts;
    usage_round r = {.places = t->place_count};
    rt_status status = rt_usage_new(usage, &t->state.model->options);
    if (status.code)
        return status;
    status = rt_parts_new(&parts, t, length, shard_rows(t),
                          most_sequences(t, t->config->train.eval_batches));
    r.usages = rt_alloc((size_t)r.places, sizeof *r.usages);
    if (!status.code && !r.usages)
        status = rt_out_of_memory("an evaluation");
    for (int i = 0; i < r.places && !status.code; i++)
        status = rt_usage_new(r.usages + i, &t->state.model->options);
    rt_trainer_hold(t);
    if (!status.code)
        status = sum_usage(&parts, &r, usage);
    rt_trainer_let_go();
    rt_parts_free(&parts);
    for (int i = 0; r.usages && i < r.places; i++)
        rt_usage_free(r.usages + i);
    rt_free(r.usages);
    if (status.code)
        rt_usage_free(usage);
    return status;
}

/* ---- distances of attention ---- */

/* Distances with the weights of one sequence at a time, (heads, T, T) of each layer. */
typedef struct attended {
    rt_attention_distances *sum;
    real **weights;
} attended;

static void add_head(double *sum, const real *weights, const uint8_t *mask, int T)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; mask[i] && j < T; j++)
            sum[abs(i - j)] += (double)weights[i * T + j];
}

/* Computes the weights of a sequence, and adds them. */
static rt_status add_attended(void *context, int number, const rt_labelled_batch *batch,
                              rt_transformer *model, rt_graph *g)
{
    const attended *a = context;
    const rt_attention_distances *d = a->sum;
    const size_t T = (size_t)batch->batch.length;
    rt_transformer_input input = rt_batch_input(batch);
    (void)number;
    input.attentions = a->weights;
    rt_transformer_encode(model, g, &input);
    const rt_status status = rt_engine_graph_status(g);
    for (int n = 0; n < d->layers * d->heads && !status.code; n++)
        add_head(d->weights + (size_t)n * (size_t)d->length,
                 a->weights[n / d->heads] + (size_t)(n % d->heads) * T * T, batch->batch.mask,
                 (int)T);
    return status;
}

static rt_status sum_attended(rt_trainer *t, attended *a)
{
    const rt_attention_distances *d = a->sum;
    const size_t size = (size_t)d->heads * (size_t)d->length * (size_t)d->length;
    rt_parts parts;
    rt_status status =
        rt_parts_new(&parts, t, d->length, 1, most_sequences(t, t->config->train.eval_batches));
    a->weights = rt_alloc((size_t)d->layers, sizeof *a->weights);
    bool short_of_memory = !a->weights;
    for (int l = 0; l < d->layers && !short_of_memory; l++)
        short_of_memory = !(a->weights[l] = rt_alloc(size, sizeof(real)));
    if (!status.code && short_of_memory)
        status = rt_out_of_memory("the weights of attention");
    rt_trainer_hold(t);
    for (int i = 0; i < parts.count && !status.code; i++) /* in order: the sums are rounded */
        status = rt_parts_run(&parts, i, i + 1, add_attended, a);
    rt_trainer_let_go();
    for (int l = 0; a->weights && l < d->layers; l++)
        rt_free(a->weights[l]);
    rt_free(a->weights);
    rt_parts_free(&parts);
    return status;
}

/* Scales the weights of each head to sum 1. */
static void divide_by_sums(rt_attention_distances *d)
{
    for (int n = 0; n < d->layers * d->heads; n++) {
        double sum = 0, *weights = d->weights + (size_t)n * (size_t)d->length;
        for (int r = 0; r < d->length; r++)
            sum += weights[r];
        for (int r = 0; r < d->length; r++)
            weights[r] /= sum;
    }
}

rt_status rt_trainer_attention_distances(rt_trainer *t, int length, rt_attention_distances *d)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    const rt_transformer_options *o = &t->state.model->options;
    attended a = {.sum = d};
    *d = (rt_attention_distances){.layers = o->layers, .heads = o->heads, .length = length};
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_error(RT_CONFIG, "model.attention = %s has no weights that sum to 1",
                        attentions[o->attention]);
    d->weights =
        rt_alloc((size_t)o->layers * (size_t)o->heads * (size_t)length, sizeof *d->weights);
    if (!d->weights)
        return rt_out_of_memory("the weights of attention");
    const rt_status status = sum_attended(t, &a);
    if (status.code)
        rt_attention_distances_free(d);
    else
        divide_by_sums(d);
    return status;
}

void rt_attention_distances_free(rt_attention_distances *d)
{
    rt_free(d->weights);
    d->weights = NULL;
}
