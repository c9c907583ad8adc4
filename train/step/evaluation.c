/* Evaluation, and other work without gradients on the threads and models of a trainer.
 *
 * The sequences of an evaluation are cut into shards, which depend on the configuration alone; each
 * rank of a world computes some of them. */

#include "train/step/private.h"

#include "data/tokenizers/vocabulary.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

rt_transformer_input rt_batch_input(rt_graph *g, const rt_labelled_batch *b)
{
    rt_positions *positions = b->positions ? rt_graph_memory(g, 1, sizeof *positions) : NULL;
    if (positions)
        *positions = (rt_positions){.T = b->batch.length,
                                    .B = b->batch.rows,
                                    .at = b->positions,
                                    .per_sequence = true};
    return (rt_transformer_input){.B = b->batch.rows,
                                  .T = b->batch.length,
                                  .ids = b->batch.ids,
                                  .token_types = b->batch.types,
                                  .key_mask = b->batch.mask,
                                  .patches = b->batch.patches,
                                  .positions = positions,
                                  .padding_id = RT_NO_PADDING};
}

rt_tensor *rt_batch_logits(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b)
{
    const rt_transformer_input input = rt_batch_input(g, b);
    rt_tensor *hidden = rt_transformer_encode(model, g, &input);
    if (model->options.head == RT_HEAD_SEQUENCE) {
        assert(b->labels == input.B);
        hidden = rt_pool(g, hidden, model->options.pool, input.key_mask);
    } else {
        hidden =
            rt_embedding(g,
                         rt_reshape(g, hidden, RT_SHAPE_OF(input.B * input.T, model->options.dim)),
                         b->where, RT_SHAPE_OF(b->labels), RT_NO_PADDING);
    }
    return rt_transformer_logits(model, g, hidden);
}

rt_tensor *rt_text_logits(rt_transformer *model, rt_graph *g, const int32_t *ids, int count,
                          const int32_t *position)
{
    const rt_transformer_input in = {.B = 1, .T = count, .ids = ids, .padding_id = RT_NO_PADDING};
    rt_tensor *hidden = rt_transformer_encode(model, g, &in);
    hidden = rt_reshape(g, hidden, RT_SHAPE_OF(count, model->options.dim));
    if (position)
        hidden = rt_embedding(g, hidden, position, RT_SHAPE_OF(1), RT_NO_PADDING);
    return rt_transformer_logits(model, g, hidden);
}

rt_tensor *rt_batch_loss(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b,
                         double divisor, rt_batch_result *result)
{
    rt_tensor *logits = rt_batch_logits(model, g, b);
    rt_tensor *loss = rt_cross_entropy(g, logits, b->wanted, 0, divisor);
    if (!loss || !result)
        return loss;
    result->loss = (double)loss->data[0] * divisor;
    result->correct = rt_count_correct(logits, b->wanted);
    for (size_t r = 0; b->predicted && r < rt_rows(logits); r++)
        b->predicted[r] = rt_largest(logits, r);
    return loss;
}

typedef struct model_jobs {
    const rt_eval_shards *shards;
    rt_model_job *run;
    void *context;
    int first; /* number of the first job */
    pthread_mutex_t lock;
    rt_status failure; /* status of the failed job with the lowest number */
    int failed;        /* number of that job */
} model_jobs;

static void run_model_job(void *context, int job, int worker)
{
    model_jobs *j = context;
    const rt_eval_shards *p = j->shards;
    rt_trainer *t = p->trainer;
    const int number = j->first + job;
    rt_labelled_batch *batch = p->batches ? p->batches + worker : NULL;
    rt_graph *g = t->graphs[worker];
    rt_graph_clear(g);
    rt_graph_record(g, false);
    if (batch) {
        const long first = (long)number * p->rows, left = p->sequences - first;
        batch->batch.rows = left < p->rows ? (int)left : p->rows;
        rt_draw_evaluation(batch, t->data, (uint32_t)first);
    }
    rt_status status = j->run(j->context, number, batch, t->models[worker], g);
    if (!status.code)
        status = rt_graph_status(g);
    pthread_mutex_lock(&j->lock);
    if (status.code && (!j->failure.code || number < j->failed)) {
        j->failure = status;
        j->failed = number;
    }
    pthread_mutex_unlock(&j->lock);
}

rt_status rt_eval_shards_run(const rt_eval_shards *p, int first, int end, rt_model_job *run,
                             void *context)
{
    rt_trainer *t = p->trainer;
    model_jobs j = {.shards = p, .run = run, .context = context, .first = first};
    pthread_mutex_init(&j.lock, NULL);
    rt_workers_run(t->workers, t->graph_count, run_model_job, &j, end - first);
    pthread_mutex_destroy(&j.lock);
    const rt_status status = j.failure.code ? j.failure : rt_engine_status();
    const rt_status data = p->batches ? rt_data_status(t->data) : rt_ok();
    return data.code ? data : status;
}

rt_status rt_trainer_run_jobs(rt_trainer *t, rt_model_job *run, void *context, int count)
{
    rt_trainer_hold_rounded(t);
    const rt_status status =
        rt_eval_shards_run(&(rt_eval_shards){.trainer = t}, 0, count, run, context);
    rt_trainer_release_rounded();
    return status;
}

rt_status rt_eval_shards_new(rt_eval_shards *p, rt_trainer *t, int length, int rows, int batches,
                             rt_buffers buffers)
{
    const bool distances = buffers == RT_DISTANCES && t->data->task->distances;
    const size_t graphs = (size_t)t->graph_count;
    const int batch_size = t->config->train.batch_size;
    rows = rows ? rows : batch_size / t->shards;
    const long most = batches ? (long)batches * batch_size : (long)INT_MAX * rows;
    const long available = rt_data_evaluation_rows(t->data, length);
    *p = (rt_eval_shards){.trainer = t,
                          .rows = rows,
                          .sequences = most < available ? most : available};
    p->count = (int)((p->sequences + rows - 1) / rows);
    p->batches = rt_alloc(graphs, sizeof *p->batches);
    RT_TRY(rt_allocated(p->batches, "an evaluation"));
    for (int i = 0; i < t->graph_count; i++)
        RT_TRY(rt_trainer_new_batch(t, p->batches + i, rows, length, NULL));
    rt_trainer_hold_rounded(t);
    if (!buffers)
        return rt_ok();
    const size_t size = (size_t)rows * (size_t)p->batches[0].length;
    p->buffers = rt_alloc(graphs * (distances ? 2 : 1) * size, sizeof *p->buffers);
    for (size_t i = 0; p->buffers && i < graphs; i++) {
        p->batches[i].predicted = p->buffers + i * size;
        p->batches[i].batch.distances = distances ? p->buffers + (graphs + i) * size : NULL;
    }
    return rt_allocated(p->buffers, "an evaluation");
}

void rt_eval_shards_free(rt_eval_shards *p)
{
    rt_trainer_release_rounded();
    for (int i = 0; p->batches && i < p->trainer->graph_count; i++)
        rt_labelled_batch_free(p->batches + i);
    rt_free(p->batches);
    rt_free(p->buffers);
}

typedef struct shard_score {
    rt_batch_result result;
    long labels;
    long exact; /* sequences with all labels predicted */
    long bytes; /* bytes of text that the labels stand for; below 0: unknown */
} shard_score;

typedef struct evaluation {
    rt_eval_shards shards;
    shard_score *results; /* results of the shards of all ranks */
    int64_t *tally;
    pthread_mutex_t lock; /* guards the tally, to which shards add in any order */
} evaluation;

int rt_distance_bin(int distance)
{
    int octave = 2;
    while (distance >> (octave + 1))
        octave++;
    return distance < 4 ? distance : 4 * (octave - 1) + (distance >> (octave - 2)) % 4;
}

int rt_distance_first(int bin)
{
    return bin < 4 ? bin : (4 + bin % 4) << (bin / 4 - 1);
}

size_t rt_trainer_tally_size(const rt_trainer *t)
{
    const size_t classes = (size_t)t->data->classes;
    return t->data->task->distances ? 2 * RT_DISTANCE_BINS : classes * classes;
}

/* Adds the labels of a shard to the tally. */
static void add_tally(evaluation *e, const rt_labelled_batch *b)
{
    const int classes = e->shards.trainer->data->classes;
    const int32_t *distances = b->batch.distances;
    pthread_mutex_lock(&e->lock);
    for (int i = 0; i < b->labels; i++) {
        const int bin = distances ? rt_distance_bin(distances[b->where[i]]) : 0;
        if (!distances)
            e->tally[(size_t)b->wanted[i] * (size_t)classes + (size_t)b->predicted[i]]++;
        else if (distances[b->where[i]]) {
            e->tally[2 * bin]++;
            e->tally[2 * bin + 1] += b->predicted[i] == b->wanted[i];
        }
    }
    pthread_mutex_unlock(&e->lock);
}

/* Counts the sequences whose labels, which are adjacent in the list, are all predicted. */
static long count_exact(const rt_labelled_batch *b)
{
    long count = 0;
    for (int i = 0, end; i < b->labels; i = end) {
        const int row = b->where[i] / b->batch.length;
        bool right = true;
        for (end = i; end < b->labels && b->where[end] / b->batch.length == row; end++)
            right = right && b->predicted[end] == b->wanted[end];
        count += right;
    }
    return count;
}

/* Counts the bytes of text that the labels stand for; -1 if unknown. */
static long count_bytes(const rt_data *data, const rt_labelled_batch *b)
{
    const rt_vocabulary *v = data->vocabulary;
    long bytes = 0;
    for (int i = 0; i < b->labels; i++) {
        const int more =
            v && data->task->target == RT_TARGET_IDS ? rt_vocabulary_bytes(v, b->wanted[i]) : -1;
        if (more < 0)
            return -1;
        bytes += more;
    }
    return bytes;
}

static rt_status evaluate_shard(void *context, int number, const rt_labelled_batch *batch,
                                rt_transformer *model, rt_graph *g)
{
    evaluation *e = context;
    shard_score *p = e->results + number;
    p->labels = batch->labels;
    p->bytes = count_bytes(e->shards.trainer->data, batch);
    if (batch->labels)
        rt_batch_loss(model, g, batch, 1, &p->result);
    if (rt_graph_failed(g))
        return rt_graph_status(g);
    if (e->shards.trainer->data->options.shortest)
        p->exact = count_exact(batch);
    if (e->tally)
        add_tally(e, batch);
    return rt_ok();
}

static rt_status sum_shards(const evaluation *e, rt_evaluation *result)
{
    size_t correct = 0;
    bool known = true;
    *result = (rt_evaluation){.sequences = e->shards.sequences};
    for (const shard_score *p = e->results; p < e->results + e->shards.count; p++) {
        result->loss += p->result.loss;
        result->labels += p->labels;
        correct += p->result.correct;
        result->exact += p->exact;
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

rt_status rt_trainer_take_evaluation(rt_trainer *t, int length, int batches, bool counts,
                                     rt_evaluation *result, int64_t *tally)
{
    const rt_parameters *p = &t->state.model->parameters;
    const int size = rt_world_size(t->world), rank = rt_world_rank(t->world);
    const size_t cells = rt_trainer_tally_size(t);
    size_t starts[size + 1]; /* first shard of each rank */
    assert(!tally || cells);
    evaluation e = {.tally = tally, .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA)
            rt_world_broadcast(t->world, p->list[i]->tensor.data,
                               rt_size(&p->list[i]->tensor) * sizeof(real));
    const rt_buffers buffers = tally                       ? RT_DISTANCES
                               : t->data->options.shortest ? RT_PREDICTIONS
                                                           : RT_NO_BUFFERS;
    rt_status status = rt_eval_shards_new(&e.shards, t, length, 0, batches, buffers);
    e.results = rt_alloc((size_t)e.shards.count, sizeof *e.results);
    if (!status.code && (!e.results || (counts && !tally)))
        status = rt_out_of_memory("an evaluation");
    if (tally)
        memset(tally, 0, cells * sizeof *tally);
    for (int i = 0; i <= size; i++)
        starts[i] = (size_t)rt_share_start(e.shards.count, size, i);
    status = rt_world_agree(t->world, status);
    if (!status.code) {
        status = rt_eval_shards_run(&e.shards, (int)starts[rank], (int)starts[rank + 1],
                                    evaluate_shard, &e);
        if (rt_world_any(t->world, t->stop && t->stop()) && t->on_stop)
            t->on_stop();
        status = rt_world_agree(t->world, status);
    }
    if (!status.code) {
        rt_world_gather(t->world, e.results, starts, sizeof *e.results);
        status = sum_shards(&e, result);
    }
    if (!status.code && tally)
        rt_world_sum(t->world, tally, cells);
    rt_eval_shards_free(&e.shards);
    rt_free(e.results);
    return status;
}
