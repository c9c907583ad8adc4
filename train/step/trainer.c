#include "train/step/trainer.h"

#include "core/memory.h"
#include "train/config/freeze.h"
#include "train/step/batch_loss.h"
#include "train/step/optimizer.h"
#include "train/step/summation.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum {
    MOST_SHARDS = 16,
    FEWEST_TOKENS = 512 /* of an automatic shard */
};

/* A part of one parameter, which is updated in one job. */
typedef struct stretch {
    size_t offset;
    size_t size;
    int parameter;
    double squares; /* of the summed gradient */
} stretch;

/* Whole sequences of a batch, and what came of them. */
typedef struct shard {
    int first_row;
    rt_labelled_batch sequences;
    rt_batch_result result;
    rt_status status;
} shard;

struct rt_trainer {
    const rt_config *config;
    const rt_data *data;
    rt_workers *workers;
    rt_graph **graphs; /* of each worker */
    int shards;
    shard *shard;
    int group;            /* shards that are computed at a time */
    int blocks;           /* of gradients */
    rt_roformer **models; /* of each block; the first has the values, all have gradients */
    rt_summation *sums;
    stretch *stretches;
    int stretch_count;
    rt_profile *profiles; /* of each worker; NULL: nothing is measured */
    rt_training_state state;

    rt_update update; /* of the step under way */
    double divisor;   /* labels of the step under way */
    int first;        /* shard of the group under way */
    int sum_count;    /* sums after it */
};

int rt_shard_count(const rt_config *c)
{
    int shards = 1;
    if (c->train.shards)
        return c->train.shards;
    while (2 * shards <= MOST_SHARDS && 2 * shards <= c->train.batch_size &&
           (long)(c->train.batch_size / (2 * shards)) * c->data.length >= FEWEST_TOKENS)
        shards *= 2;
    return shards;
}

int rt_trainer_workers(const rt_config *c)
{
    const int asked = c->run.threads ? c->run.threads : rt_processors();
    const int shards = rt_shard_count(c);
    return asked < shards ? asked : shards;
}

/* ---- one shard ---- */

static void draw_shard(void *context, int job, int worker)
{
    rt_trainer *t = context;
    shard *s = t->shard + job;
    (void)worker;
    rt_draw_training(&s->sequences, t->data, t->config->run.seed, (uint32_t)t->state.step,
                     (uint32_t)s->first_row);
}

static void differentiate_shard(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const int number = t->first + job;
    shard *s = t->shard + number;
    rt_graph *g = t->graphs[worker];
    rt_roformer *model = t->models[rt_summation_block(t->first, t->group) + job];
    rt_parameters_zero_grads(&model->parameters);
    s->result = (rt_batch_result){0};
    s->status = rt_ok();
    if (!s->sequences.labels)
        return;
    rt_graph_clear(g);
    rt_graph_record(g, true);
    rt_graph_set_random(g, t->config->run.seed, (uint32_t)t->state.step, (uint32_t)number);
    s->status =
        rt_graph_backward(g, rt_batch_loss(model, g, &s->sequences, t->divisor, &s->result));
}

/* ---- one stretch of the parameters ---- */

RT_ROW_KERNEL void add_gradients(real *restrict sum, const real *restrict other, size_t size)
{
    for (size_t k = 0; k < size; k++)
        sum[k] += other[k];
}

static real *gradients_of(const rt_trainer *t, int block, const stretch *part)
{
    return t->models[block]->parameters.grads + part->offset;
}

static void sum_stretch(void *context, int job, int worker)
{
    rt_trainer *t = context;
    stretch *part = t->stretches + job;
    (void)worker;
    for (int i = 0; i < t->sum_count; i++)
        add_gradients(gradients_of(t, t->sums[i].to, part), gradients_of(t, t->sums[i].from, part),
                      part->size);
    if (t->first + t->group >= t->shards)
        part->squares = rt_sum_of_squares(gradients_of(t, 0, part), part->size);
}

static void update_stretch(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const stretch *part = t->stretches + job;
    const rt_parameters *p = &t->state.model->parameters;
    const rt_optimizer_options *o = &t->config->optimizer;
    const rt_update u =
        rt_update_of_role(t->update, p->list[part->parameter]->role, o->theta_lr_scale);
    (void)worker;
    rt_update_apply(&u, p->values + part->offset, t->state.first_moment + part->offset,
                    t->state.second_moment + part->offset, p->grads + part->offset, part->size);
}

/* ---- a step ---- */

static rt_status failure_of(const rt_trainer *t, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        const rt_status *status = &t->shard[i].status;
        if (status->code == RT_NONFINITE) /* of the trap, which does not know the step */
            return rt_error(RT_NONFINITE, "step %d: %.900s", t->state.step + 1, status->message);
        if (status->code)
            return *status;
    }
    return rt_ok();
}

/* The gradient of all shards, in the first block. */
static rt_status differentiate(rt_trainer *t)
{
    for (t->first = 0; t->first < t->shards; t->first += t->group) {
        const int left = t->shards - t->first, count = left < t->group ? left : t->group;
        rt_workers_run(t->workers, differentiate_shard, t, count);
        const rt_status status = failure_of(t, t->first, count);
        if (status.code)
            return status;
        t->sum_count = rt_summation_plan(t->sums, t->shards, t->group, t->first);
        if (t->sum_count || count == left)
            rt_workers_run(t->workers, sum_stretch, t, t->stretch_count);
    }
    return rt_ok();
}

/* The first parameter whose gradient is not finite, for the message. */
static rt_status name_nonfinite(const rt_trainer *t, double loss)
{
    const rt_parameters *p = &t->state.model->parameters;
    const char *name = NULL;
    for (int i = 0; i < p->count && !name; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor) && !name; k++)
            if (p->list[i]->tensor.wants_grad && !isfinite(p->list[i]->tensor.grad[k]))
                name = p->list[i]->name;
    return rt_error(RT_NONFINITE, "step %d: the loss is %g%s%s%s", t->state.step + 1, loss,
                    name ? ", and the gradient of " : "", name ? name : "",
                    name ? " is not finite" : "");
}

static void sum_up(const rt_trainer *t, rt_step_result *result)
{
    const rt_parameters *p = &t->state.model->parameters;
    double loss = 0, squares = 0, theta_squares = 0;
    size_t correct = 0;
    for (int i = 0; i < t->shards; i++) {
        const rt_batch *b = &t->shard[i].sequences.batch;
        loss += t->shard[i].result.loss;
        correct += t->shard[i].result.correct;
        result->tokens += (long)b->rows * b->length;
    }
    for (int i = 0; i < t->stretch_count; i++) {
        const stretch *part = t->stretches + i;
        squares += part->squares;
        if (p->list[part->parameter]->role == RT_ROLE_THETA)
            theta_squares += part->squares;
    }
    result->loss = loss / t->divisor;
    result->accuracy = (double)correct / t->divisor;
    result->grad_norm = sqrt(squares);
    result->theta_grad_norm = sqrt(theta_squares);
}

rt_status rt_trainer_step(rt_trainer *t, rt_step_result *result)
{
    const rt_optimizer_options *o = &t->config->optimizer;
    long labels = 0;
    *result = (rt_step_result){0};
    rt_workers_run(t->workers, draw_shard, t, t->shards);
    rt_status status = rt_data_status(t->data);
    if (status.code)
        return status;
    for (int i = 0; i < t->shards; i++)
        labels += t->shard[i].sequences.labels;
    if (!labels)
        return rt_error(RT_DATA, "step %d: no position has a label", t->state.step + 1);
    t->divisor = (double)labels;
    status = differentiate(t);
    if (status.code)
        return status;

    sum_up(t, result);
    result->lr = rt_learning_rate(o, t->state.step + 1);
    if (!isfinite(result->loss) || !isfinite(result->grad_norm))
        return name_nonfinite(t, result->loss);

    t->update = (rt_update){.rule = o->kind == RT_SGD ? RT_UPDATE_SGD : RT_UPDATE_ADAMW,
                            .lr = result->lr,
                            .beta1 = o->beta1,
                            .beta2 = o->beta2,
                            .eps = o->eps,
                            .momentum = o->momentum,
                            .decay = o->weight_decay,
                            .gradient_scale = rt_clip_factor(result->grad_norm, o->clip_norm),
                            .step = t->state.step + 1};
    rt_workers_run(t->workers, update_stretch, t, t->stretch_count);
    t->state.step++;
    t->state.sequences += t->config->train.batch_size;
    return rt_ok();
}

/* ---- evaluation ---- */

/* As many sequences at a time as the first shard has. */
typedef struct part {
    rt_status status;
    rt_batch_result result;
    long labels;
} part;

typedef struct evaluation {
    rt_trainer *trainer;
    long sequences;
    int rows;                /* of a full part */
    rt_labelled_batch *room; /* of each worker */
    int64_t *confusions;     /* of each worker, (classes, classes); or NULL */
    part *parts;
} evaluation;

static size_t confusion_size(const rt_trainer *t)
{
    const size_t classes = (size_t)rt_data_classes(t->data);
    return classes * classes;
}

static void evaluate_part(void *context, int job, int worker)
{
    const evaluation *e = context;
    const rt_trainer *t = e->trainer;
    rt_labelled_batch *room = e->room + worker;
    rt_graph *g = t->graphs[worker];
    part *p = e->parts + job;
    const long first = (long)job * e->rows;
    room->batch.rows = e->sequences - first < e->rows ? (int)(e->sequences - first) : e->rows;
    rt_draw_evaluation(room, t->data, (uint32_t)first);
    p->labels = room->labels;
    if (!room->labels)
        return;
    rt_graph_clear(g);
    rt_graph_record(g, false);
    rt_batch_loss(t->models[worker], g, room, 1, &p->result);
    p->status = rt_graph_status(g);
}

static rt_status sum_parts(const evaluation *e, int count, rt_evaluation *result)
{
    size_t correct = 0;
    for (int i = 0; i < count; i++) {
        if (e->parts[i].status.code)
            return e->parts[i].status;
        result->loss += e->parts[i].result.loss;
        result->labels += e->parts[i].labels;
        correct += e->parts[i].result.correct;
    }
    if (!result->labels)
        return rt_error(RT_DATA, "no position of the evaluation has a label");
    result->loss /= (double)result->labels;
    result->accuracy = (double)correct / (double)result->labels;
    return rt_ok();
}

/* Whole numbers: in whatever order they are added, the sums are the same. */
static void sum_confusions(const evaluation *e, int workers, int64_t *confusion)
{
    const size_t size = confusion_size(e->trainer);
    memset(confusion, 0, size * sizeof *confusion);
    for (int i = 0; i < workers; i++)
        for (size_t k = 0; k < size; k++)
            confusion[k] += e->confusions[(size_t)i * size + k];
}

static rt_status evaluate(rt_trainer *t, int length, int batches, rt_evaluation *result,
                          int64_t *confusion)
{
    const int workers = rt_workers_count(t->workers);
    const long asked = batches ? (long)batches * t->config->train.batch_size : LONG_MAX;
    const long there = rt_data_evaluation_rows(t->data, length);
    evaluation e = {.trainer = t, .sequences = asked < there ? asked : there};
    e.rows = t->shard[0].sequences.batch.rows;
    const int count = (int)((e.sequences + e.rows - 1) / e.rows);
    *result = (rt_evaluation){.sequences = e.sequences};
    e.parts = rt_alloc((size_t)count, sizeof *e.parts);
    e.room = rt_alloc((size_t)workers, sizeof *e.room);
    if (confusion)
        e.confusions = rt_alloc((size_t)workers * confusion_size(t), sizeof *e.confusions);
    rt_status status = e.parts && e.room && !confusion == !e.confusions
                           ? rt_ok()
                           : rt_out_of_memory("an evaluation");
    for (int i = 0; i < workers && !status.code; i++) {
        status = rt_labelled_batch_new(e.room + i, e.rows, length);
        if (confusion)
            e.room[i].confusion = e.confusions + (size_t)i * confusion_size(t);
    }
    if (!status.code) {
        rt_workers_run(t->workers, evaluate_part, &e, count);
        status = rt_data_status(t->data);
    }
    if (!status.code)
        status = sum_parts(&e, count, result);
    if (!status.code && confusion)
        sum_confusions(&e, workers, confusion);
    for (int i = 0; e.room && i < workers; i++)
        rt_labelled_batch_free(e.room + i);
    rt_free(e.room);
    rt_free(e.parts);
    rt_free(e.confusions);
    return status;
}

rt_status rt_trainer_evaluate(rt_trainer *t, int length, rt_evaluation *result)
{
    return evaluate(t, length, t->config->train.eval_batches, result, NULL);
}

rt_status rt_trainer_evaluate_batches(rt_trainer *t, int length, int batches, rt_evaluation *result)
{
    return evaluate(t, length, batches, result, NULL);
}

rt_status rt_trainer_confusion(rt_trainer *t, int length, rt_evaluation *result, int64_t *confusion)
{
    return evaluate(t, length, t->config->train.eval_batches, result, confusion);
}

/* ---- life ---- */

static rt_status make_shard(rt_trainer *t, int number)
{
    const rt_config *c = t->config;
    shard *s = t->shard + number;
    s->first_row = (int)((long)c->train.batch_size * number / t->shards);
    const int next = (int)((long)c->train.batch_size * (number + 1) / t->shards);
    const int most = (c->train.batch_size + t->shards - 1) / t->shards;
    rt_status status = rt_labelled_batch_new(&s->sequences, most, c->data.length);
    s->sequences.batch.rows = next - s->first_row;
    return status;
}

static bool is_frozen(const rt_trainer *t, const rt_parameter *parameter)
{
    return rt_freezes(t->config->train.freeze, parameter->name);
}

/* What is frozen is in no stretch, so that it is not updated and does not count in the norm; and
 * nothing flows back to it. */
static void freeze(rt_trainer *t)
{
    for (int i = 0; i < t->blocks; i++)
        for (int k = 0; k < t->models[i]->parameters.count; k++) {
            rt_parameter *parameter = t->models[i]->parameters.list[k];
            if (is_frozen(t, parameter))
                parameter->tensor.wants_grad = false;
        }
}

static rt_status make_stretches(rt_trainer *t)
{
    const rt_parameters *p = &t->state.model->parameters;
    int count = 0;
    for (int i = 0; i < p->count; i++)
        if (!is_frozen(t, p->list[i]))
            count += (int)((rt_size(&p->list[i]->tensor) + RT_STRETCH - 1) / RT_STRETCH);
    if (!count)
        return rt_error(RT_CONFIG, "train.freeze = %s leaves nothing to train",
                        t->config->train.freeze);
    t->stretches = rt_alloc((size_t)count, sizeof *t->stretches);
    if (!t->stretches)
        return rt_out_of_memory("a trainer");
    for (int i = 0; i < p->count; i++) {
        const size_t size = is_frozen(t, p->list[i]) ? 0 : rt_size(&p->list[i]->tensor);
        for (size_t start = 0; start < size; start += RT_STRETCH)
            t->stretches[t->stretch_count++] =
                (stretch){p->list[i]->offset + start,
                          size - start < RT_STRETCH ? size - start : RT_STRETCH, i, 0};
    }
    return rt_ok();
}

static rt_status make_state(rt_trainer *t)
{
    rt_status status = rt_ok();
    t->shard = rt_alloc((size_t)t->shards, sizeof *t->shard);
    t->sums = rt_alloc((size_t)t->shards, sizeof *t->sums);
    t->models = rt_alloc((size_t)t->blocks, sizeof(rt_roformer *));
    if (!t->shard || !t->sums || !t->models)
        return rt_out_of_memory("a trainer");
    const rt_roformer_options options = rt_model_options(t->config, t->data);
    for (int i = 0; i < t->shards && !status.code; i++)
        status = make_shard(t, i);
    for (int i = 0; i < t->blocks && !status.code; i++)
        status =
            rt_roformer_new(t->models + i, &options, t->config->run.seed, i ? t->models[0] : NULL);
    if (status.code)
        return status;
    t->state.model = t->models[0];
    const size_t size = t->state.model->parameters.block_size;
    t->state.first_moment = rt_alloc(size, sizeof(real));
    t->state.second_moment = rt_alloc(size, sizeof(real));
    if (!t->state.first_moment || !t->state.second_moment)
        return rt_out_of_memory("the optimiser's moments");
    freeze(t);
    return make_stretches(t);
}

static rt_status make_workers(rt_trainer *t)
{
    const int threads = rt_trainer_workers(t->config);
    rt_status status = rt_workers_new(&t->workers, threads);
    if (status.code)
        return status;
    t->graphs = rt_alloc((size_t)threads, sizeof(rt_graph *));
    for (int i = 0; t->graphs && i < threads; i++)
        if (!(t->graphs[i] = rt_graph_new()))
            return rt_out_of_memory("a graph");
    return t->graphs ? rt_ok() : rt_out_of_memory("graphs");
}

rt_status rt_trainer_new(rt_trainer **trainer_new, const rt_config *config, const rt_data *data)
{
    *trainer_new = NULL;
    rt_trainer *t = rt_alloc(1, sizeof *t);
    if (!t)
        return rt_out_of_memory("a trainer");
    t->config = config;
    t->data = data;
    t->shards = rt_shard_count(config);
    t->group = rt_summation_group(t->shards, rt_trainer_workers(config));
    t->blocks = rt_summation_blocks(t->shards, t->group);
    rt_status status = make_state(t);
    if (!status.code)
        status = make_workers(t);
    if (status.code)
        rt_trainer_free(t);
    else
        *trainer_new = t;
    return status;
}

void rt_trainer_free(rt_trainer *t)
{
    if (!t)
        return;
    for (int i = 0; t->graphs && i < rt_workers_count(t->workers); i++)
        rt_graph_free(t->graphs[i]);
    rt_workers_free(t->workers);
    for (int i = t->blocks - 1; t->models && i >= 0; i--)
        rt_roformer_free(t->models[i]);
    for (int i = 0; t->shard && i < t->shards; i++)
        rt_labelled_batch_free(&t->shard[i].sequences);
    rt_free(t->state.first_moment);
    rt_free(t->state.second_moment);
    rt_free(t->stretches);
    rt_free(t->profiles);
    rt_free(t->shard);
    rt_free(t->models);
    rt_free(t->sums);
    rt_free(t->graphs);
    rt_free(t);
}

rt_training_state *rt_trainer_state(rt_trainer *t)
{
    return &t->state;
}

rt_status rt_trainer_observe(rt_trainer *t, bool trap, bool profile)
{
    const int workers = rt_workers_count(t->workers);
    if (profile && !(t->profiles = rt_alloc((size_t)workers, sizeof *t->profiles)))
        return rt_out_of_memory("a profile");
    for (int i = 0; i < workers; i++)
        rt_graph_observe(t->graphs[i], trap      ? rt_trap
                                       : profile ? rt_profile_observer(t->profiles + i)
                                                 : (rt_observer){0});
    return rt_ok();
}

void rt_trainer_print_profile(FILE *to, const rt_trainer *t)
{
    rt_profile_print(to, t->profiles, rt_workers_count(t->workers), t->state.step);
}

const rt_data *rt_trainer_data(const rt_trainer *t)
{
    return t->data;
}

int rt_trainer_threads(const rt_trainer *t)
{
    return rt_workers_count(t->workers);
}

const atomic_long *rt_trainer_progress(const rt_trainer *t)
{
    return rt_workers_progress(t->workers);
}
