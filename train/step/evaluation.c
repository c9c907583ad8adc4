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

/* Does a job in the graph and with the model of a place. */
typedef rt_status place_job(void *context, int job, int place);

typedef struct job_failure {
    rt_status status;
    int job;
} job_failure;

typedef struct place_jobs {
    rt_trainer *trainer;
    place_job *run;
    void *context;
    job_failure *failures; /* of each place: its failed job with the lowest number */
} place_jobs;

static void run_place_job(void *context, int job, int worker)
{
    const place_jobs *j = context;
    const int place = rt_trainer_enter(j->trainer, worker);
    rt_graph *g = j->trainer->places[place].graph;
    job_failure *f = j->failures + place;
    rt_graph_clear(g);
    rt_graph_record(g, false);
    rt_status status = j->run(j->context, job, place);
    if (!status.code)
        status = rt_graph_status(g);
    if (status.code && (!f->status.code || job < f->job))
        *f = (job_failure){status, job};
    rt_trainer_leave(j->trainer, place);
}

/* Runs job 0 ... count - 1. Returns the status of the failed job with the lowest number. */
static rt_status run_on_places(rt_trainer *t, place_job *run, void *context, int count)
{
    job_failure first = {rt_ok(), INT_MAX};
    place_jobs j = {t, run, context, rt_alloc((size_t)t->place_count, sizeof *j.failures)};
    if (!j.failures)
        return rt_out_of_memory("jobs");
    rt_workers_run_few(t->workers, t->place_count, run_place_job, &j, count);
    for (int i = 0; i < t->place_count; i++)
        if (j.failures[i].status.code && j.failures[i].job < first.job)
            first = j.failures[i];
    rt_free(j.failures);
    return first.status.code ? first.status : rt_engine_status();
}

typedef struct model_jobs {
    rt_trainer *trainer;
    rt_model_job *run;
    void *context;
} model_jobs;

static rt_status run_model_job(void *context, int job, int place)
{
    const model_jobs *j = context;
    return j->run(j->context, job, j->trainer->models[place], j->trainer->places[place].graph);
}

rt_status rt_trainer_run_jobs(rt_trainer *t, rt_model_job *run, void *context, int count)
{
    model_jobs jobs = {t, run, context};
    rt_trainer_hold(t);
    const rt_status status = run_on_places(t, run_model_job, &jobs, count);
    rt_trainer_let_go();
    return status;
}

/* ---- sequences of an evaluation ---- */

/* Sequences of an evaluation, cut into parts of as many rows as the first shard has. */
typedef struct extent {
    long sequences;
    int rows; /* of a full part */
    int parts;
} extent;

/* Returns the extent of a number of batches, or of all sequences (0). */
static extent find_extent(const rt_trainer *t, int length, int batches)
{
    const int size = t->config->train.batch_size, rows = size / t->shards;
    const long wanted = batches ? (long)batches * size : LONG_MAX;
    const long available = rt_data_evaluation_rows(t->data, length);
    const long sequences = wanted < available ? wanted : available;
    return (extent){sequences, rows, (int)((sequences + rows - 1) / rows)};
}

/* Draws the sequences of a part into a batch that has room for a full one. */
static void draw_part(const rt_trainer *t, const extent *e, size_t number, rt_labelled_batch *batch)
{
    const long first = (long)number * e->rows, left = e->sequences - first;
    batch->batch.rows = left < e->rows ? (int)left : e->rows;
    rt_draw_evaluation(batch, t->data, (uint32_t)first);
}

static rt_status make_batches(rt_labelled_batch **batches, const rt_trainer *t, const extent *e,
                              int length)
{
    rt_status status = rt_ok();
    *batches = rt_alloc((size_t)t->place_count, sizeof **batches);
    if (!*batches)
        return rt_out_of_memory("an evaluation");
    for (int i = 0; i < t->place_count && !status.code; i++)
        status = rt_labelled_batch_new(*batches + i, e->rows, length);
    return status;
}

static void free_batches(rt_labelled_batch *batches, int count)
{
    for (int i = 0; batches && i < count; i++)
        rt_labelled_batch_free(batches + i);
    rt_free(batches);
}

/* ---- evaluation ---- */

typedef struct part {
    rt_batch_result result;
    long labels;
    long bytes; /* of text, that the labels stand for; below 0: unknown */
} part;

typedef struct evaluation {
    rt_trainer *trainer;
    extent extent;
    rt_labelled_batch *batches; /* of each place */
    int64_t *confusions;        /* of each place, (classes, classes); or NULL */
    part *parts;                /* of all processes */
    size_t *starts;             /* (processes + 1): first part of each */
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

static rt_status evaluate_part(void *context, int job, int place)
{
    const evaluation *e = context;
    const rt_trainer *t = e->trainer;
    rt_labelled_batch *batch = e->batches + place;
    const size_t number = e->starts[rt_world_rank(t->world)] + (size_t)job;
    part *p = e->parts + number;
    draw_part(t, &e->extent, number, batch);
    p->labels = batch->labels;
    p->bytes = count_bytes(t->data, batch);
    if (batch->labels)
        rt_batch_loss(t->models[place], t->places[place].graph, batch, 1, &p->result);
    return rt_ok();
}

/* Evaluates the parts of this process. */
static rt_status evaluate_parts(evaluation *e)
{
    rt_trainer *t = e->trainer;
    const int rank = rt_world_rank(t->world);
    rt_trainer_hold(t);
    rt_status status =
        run_on_places(t, evaluate_part, e, (int)(e->starts[rank + 1] - e->starts[rank]));
    rt_trainer_let_go();
    if (rt_world_any(t->world, t->stop && t->stop()) && t->on_stop)
        t->on_stop();
    const rt_status data = rt_data_status(t->data);
    return rt_world_agree(t->world, data.code ? data : status);
}

static rt_status sum_parts(const evaluation *e, rt_evaluation *result)
{
    size_t correct = 0;
    bool known = true;
    rt_world_gather(e->trainer->world, e->parts, e->starts, sizeof *e->parts);
    for (int i = 0; i < e->extent.parts; i++) {
        result->loss += e->parts[i].result.loss;
        result->labels += e->parts[i].labels;
        correct += e->parts[i].result.correct;
        result->bytes += e->parts[i].bytes;
        known = known && e->parts[i].bytes >= 0;
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
    memset(confusion, 0, size * sizeof *confusion);
    for (int i = 0; i < e->trainer->place_count; i++)
        for (size_t k = 0; k < size; k++)
            confusion[k] += e->confusions[(size_t)i * size + k];
    rt_world_sum(e->trainer->world, confusion, size);
}

/* `confusions` is the size of a matrix of confusions, or 0. */
static rt_status make_evaluation(evaluation *e, int length, size_t confusions)
{
    const rt_trainer *t = e->trainer;
    const int size = rt_world_size(t->world);
    rt_status status = make_batches(&e->batches, t, &e->extent, length);
    e->parts = rt_alloc((size_t)e->extent.parts, sizeof *e->parts);
    e->starts = rt_alloc((size_t)size + 1, sizeof *e->starts);
    if (confusions)
        e->confusions = rt_alloc((size_t)t->place_count * confusions, sizeof *e->confusions);
    if (!status.code && (!e->parts || !e->starts || (confusions && !e->confusions)))
        status = rt_out_of_memory("an evaluation");
    for (int i = 0; i < t->place_count && !status.code && confusions; i++)
        e->batches[i].confusion = e->confusions + (size_t)i * confusions;
    for (int i = 0; i <= size && !status.code; i++)
        e->starts[i] = (size_t)rt_share_start(e->extent.parts, size, i);
    return rt_world_agree(t->world, status);
}

rt_status rt_trainer_take_evaluation(rt_trainer *t, int length, int batches, rt_evaluation *result,
                                     int64_t *confusion)
{
    const size_t classes = (size_t)rt_data_classes(t->data);
    evaluation e = {.trainer = t, .extent = find_extent(t, length, batches)};
    *result = (rt_evaluation){.sequences = e.extent.sequences};
    rt_status status = make_evaluation(&e, length, confusion ? classes * classes : 0);
    if (!status.code)
        status = evaluate_parts(&e);
    if (!status.code)
        status = sum_parts(&e, result);
    if (!status.code && confusion)
        sum_confusions(&e, classes * classes, confusion);
    free_batches(e.batches, t->place_count);
    rt_free(e.parts);
    rt_free(e.confusions);
    rt_free(e.starts);
    return status;
}

/* ---- usage of pairs ---- */

/* Parts that are computed at the same time, one per place; their sums are added in the order of the
 * parts. */
typedef struct usage_round {
    rt_trainer *trainer;
    extent extent;
    int first;                  /* part of the round */
    rt_labelled_batch *batches; /* of each place */
    rt_usage *usages;           /* of each part of the round */
} usage_round;

static rt_status measure_part(void *context, int job, int place)
{
    const usage_round *r = context;
    rt_labelled_batch *batch = r->batches + place;
    draw_part(r->trainer, &r->extent, (size_t)(r->first + job), batch);
    rt_transformer_input input = rt_batch_input(batch);
    input.usage = r->usages + job;
    rt_usage_clear(input.usage);
    rt_transformer_encode(r->trainer->models[place], r->trainer->places[place].graph, &input);
    return rt_ok();
}

static rt_status measure_parts(usage_round *r, rt_usage *sum)
{
    const int places = r->trainer->place_count, parts = r->extent.parts;
    rt_status status = rt_ok();
    for (r->first = 0; r->first < parts && !status.code; r->first += places) {
        const int count = parts - r->first < places ? parts - r->first : places;
        status = run_on_places(r->trainer, measure_part, r, count);
        const rt_status data = rt_data_status(r->trainer->data);
        if (data.code)
            status = data;
        for (int i = 0; i < count && !status.code; i++)
            rt_usage_add(sum, r->usages + i);
    }
    return status;
}

rt_status rt_trainer_usage(rt_trainer *t, int length, rt_usage *usage)
{
    usage_round r = {.trainer = t, .extent = find_extent(t, length, t->config->train.eval_batches)};
    rt_status status = rt_usage_new(usage, &t->state.model->options);
    if (status.code)
        return status;
    status = make_batches(&r.batches, t, &r.extent, length);
    r.usages = rt_alloc((size_t)t->place_count, sizeof *r.usages);
    if (!status.code && !r.usages)
        status = rt_out_of_memory("an evaluation");
    for (int i = 0; i < t->place_count && !status.code; i++)
        status = rt_usage_new(r.usages + i, &t->state.model->options);
    rt_trainer_hold(t);
    if (!status.code)
        status = measure_parts(&r, usage);
    rt_trainer_let_go();
    free_batches(r.batches, t->place_count);
    for (int i = 0; r.usages && i < t->place_count; i++)
        rt_usage_free(r.usages + i);
    rt_free(r.usages);
    if (status.code)
        rt_usage_free(usage);
    return status;
}

/* ---- distances of attention ---- */

/* Buffers for one sequence; `weights` are (heads, T, T) of each layer. */
typedef struct attended {
    rt_labelled_batch batch;
    rt_graph *graph;
    real **weights;
} attended;

static rt_status make_attended(attended *s, const rt_transformer_options *o, int length)
{
    *s = (attended){.graph = rt_graph_new()};
    rt_status status = rt_labelled_batch_new(&s->batch, 1, length);
    const size_t size = (size_t)o->heads * (size_t)length * (size_t)length;
    s->weights = rt_alloc((size_t)o->layers, sizeof *s->weights);
    bool short_of_memory = !s->graph || !s->weights;
    for (int l = 0; s->weights && l < o->layers; l++) {
        s->weights[l] = rt_alloc(size, sizeof(real));
        short_of_memory |= !s->weights[l];
    }
    return !status.code && short_of_memory ? rt_out_of_memory("the weights of attention") : status;
}

static void free_attended(attended *s, int layers)
{
    for (int l = 0; s->weights && l < layers; l++)
        rt_free(s->weights[l]);
    rt_free(s->weights);
    rt_labelled_batch_free(&s->batch);
    rt_graph_free(s->graph);
}

static void add_head(double *sum, const real *weights, const uint8_t *mask, int T)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; mask[i] && j < T; j++)
            sum[abs(i - j)] += (double)weights[i * T + j];
}

/* Computes the weights of the next sequence, and adds them. */
static rt_status add_attended(rt_attention_distances *d, attended *s, rt_transformer *model)
{
    const int T = s->batch.batch.length;
    rt_transformer_input input = rt_batch_input(&s->batch);
    input.attentions = s->weights;
    rt_graph_clear(s->graph);
    rt_graph_record(s->graph, false);
    rt_transformer_encode(model, s->graph, &input);
    const rt_status status = rt_engine_graph_status(s->graph);
    for (int n = 0; n < d->layers * d->heads && !status.code; n++)
        add_head(d->weights + (size_t)n * (size_t)d->length,
                 s->weights[n / d->heads] + (size_t)(n % d->heads) * (size_t)T * (size_t)T,
                 s->batch.batch.mask, T);
    return status;
}

static rt_status add_all_attended(rt_attention_distances *d, rt_trainer *t, attended *s)
{
    const extent e = find_extent(t, d->length, t->config->train.eval_batches);
    rt_status status = rt_ok();
    for (long row = 0; row < e.sequences && !status.code; row++) {
        rt_draw_evaluation(&s->batch, t->data, (uint32_t)row);
        status = rt_data_status(t->data);
        if (!status.code)
            status = add_attended(d, s, t->state.model);
    }
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
    attended s;
    *d = (rt_attention_distances){.layers = o->layers, .heads = o->heads, .length = length};
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_error(RT_CONFIG, "model.attention = %s has no weights that sum to 1",
                        attentions[o->attention]);
    d->weights =
        rt_alloc((size_t)o->layers * (size_t)o->heads * (size_t)length, sizeof *d->weights);
    if (!d->weights)
        return rt_out_of_memory("the weights of attention");
    rt_status status = make_attended(&s, o, length);
    rt_trainer_hold(t);
    if (!status.code)
        status = add_all_attended(d, t, &s);
    rt_trainer_let_go();
    free_attended(&s, o->layers);
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
