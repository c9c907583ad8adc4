#include "train/step/private.h"

#include "io/model_options.h"

int rt_threads_of(const rt_config *c, const rt_world *world)
{
    if (c->run.threads)
        return c->run.threads;
    const int share = rt_processors(NULL) / rt_world_on_host(world, true);
    return share > 1 ? share : 1;
}

/* Rounds a parameter, also a frozen one, which has no span. */
static void round_parameter(void *context, int job, int worker)
{
    const rt_trainer *t = context;
    const rt_parameters *p = &t->state.model->parameters;
    const size_t offset = p->list[job]->offset;
    (void)worker;
    rt_engine_round(t->rounded + offset, p->values + offset, rt_size(&p->list[job]->tensor));
}

void rt_trainer_hold_rounded(rt_trainer *t)
{
    const rt_parameters *p = &t->state.model->parameters;
    if (!t->rounded)
        return;
    rt_workers_run(t->workers, 0, round_parameter, t, p->count);
    rt_engine_hold(p->values, t->rounded, p->block_size);
}

void rt_trainer_release_rounded(void)
{
    rt_engine_hold(NULL, NULL, 0);
}

rt_status rt_trainer_new_batch(const rt_trainer *t, rt_labelled_batch *b, int rows, int length,
                               rt_account *account)
{
    const int randomized = t->config->model.position.randomized;
    RT_TRY(rt_labelled_batch_new(b, rows, length, t->data->patch, account));
    return randomized ? rt_labelled_batch_randomize(b, randomized, account) : rt_ok();
}

/* Lists the spans of all parameters. There is an entry for each, also in a dry run. */
static rt_status make_spans(rt_trainer *t)
{
    enum { MOST_SPANS = 1 << 24 };
    const rt_parameters *p = &t->state.model->parameters;
    size_t capacity = 0;
    int matrices = 0;
    for (int i = 0; i < p->count; i++) {
        const size_t count = p->list[i]->tensor.wants_grad ? rt_span_count(t->rule, p->list[i]) : 0;
        if (count > (size_t)(MOST_SPANS - t->span_count))
            return rt_error(RT_ARGUMENT, "it has more than %.2g parameters",
                            (double)MOST_SPANS * RT_SPAN);
        if (!rt_grow(&t->spans, &capacity, (size_t)t->span_count + count, sizeof *t->spans))
            return rt_out_of_memory("a trainer");
        for (size_t k = 0; k < count; k++)
            t->spans[t->span_count++] = rt_span_at(t->rule, p, i, k);
        matrices += count && rt_moves_as_matrix(t->rule, p->list[i]);
    }
    if (!t->span_count)
        return rt_error(RT_CONFIG, "train.freeze = %s leaves nothing to train",
                        t->config->train.freeze);
    if (t->rule->matrix && !matrices)
        return rt_error(RT_CONFIG,
                        "optimizer.kind = %s updates the matrices of layers, but train.freeze = %s "
                        "freezes all of them; set optimizer.kind = adamw",
                        t->rule->word, t->config->train.freeze);
    return rt_shares_new(t);
}

void rt_trainer_want(rt_trainer *t, bool theta_alone)
{
    for (int i = 0; i < t->blocks; i++)
        for (int k = 0; k < t->models[i]->parameters.count; k++) {
            rt_parameter *parameter = t->models[i]->parameters.list[k];
            parameter->tensor.wants_grad = theta_alone
                                               ? parameter->role == RT_ROLE_THETA
                                               : !rt_freezes(t->config->train.freeze, parameter);
        }
}

/* Creates the models of all blocks; they share the values of the first. Excludes frozen parameters
 * from gradients and spans, so from updates and from the norm. */
static rt_status make_models(rt_trainer *t, bool blank)
{
    const rt_transformer_options options = rt_model_options(&t->config->model, t->data);
    for (int i = 0; i < t->blocks; i++) {
        const rt_model_start start = {.seed = t->config->run.seed,
                                      .values_of = i ? t->models[0] : NULL,
                                      .blank = blank,
                                      .account = t->account};
        RT_TRY(rt_transformer_new_from(t->models + i, &options, &start));
    }
    rt_trainer_want(t, false);
    return rt_ok();
}

static rt_status make_state(rt_trainer *t, bool blank)
{
    const rt_config *c = t->config;
    t->shard = rt_alloc((size_t)t->shards, sizeof *t->shard);
    t->results = rt_alloc((size_t)t->shards, sizeof *t->results);
    t->sums = rt_alloc((size_t)t->shards, sizeof *t->sums);
    RT_TRY(rt_allocated(t->shard && t->results && t->sums, "a trainer"));
    t->subtrees.shards = t->shards;
    t->blocks =
        rt_subtrees_plan(&t->subtrees, t->first_shard, t->end_shard, t->group, t->shard, t->sums);
    t->models = rt_alloc((size_t)t->blocks, sizeof(rt_transformer *));
    RT_TRY(rt_allocated(t->models, "a trainer"));
    const int most = (c->train.batch_size + t->shards - 1) / t->shards; /* rows */
    for (int i = t->first_shard; i < t->end_shard; i++) {
        rt_shard *s = t->shard + i;
        s->first_row = rt_share_start(c->train.batch_size, t->shards, i);
        RT_TRY(rt_trainer_new_batch(t, &s->sequences, most, c->data.length, t->account));
        s->sequences.batch.rows =
            rt_share_start(c->train.batch_size, t->shards, i + 1) - s->first_row;
    }
    RT_TRY(make_models(t, blank));
    t->state.model = t->models[0];
    const size_t all = t->state.model->parameters.block_size;
    /* With recomputation, which saves memory, each product of a step rounds its weight instead of
     * keeping it in bf16. A blank model is used, not trained. */
    const bool rounds =
        c->run.math == RT_MATH_BF16 && (blank || c->train.recompute == RT_RECOMPUTE_NONE);
    if (rounds &&
        !(t->rounded = rt_account_alloc(t->account, RT_FOR_ROUNDED, all, sizeof *t->rounded)))
        return rt_out_of_memory("parameters in bf16");
    RT_TRY(make_spans(t));
    /* all optimizer states in rank 0, which writes the checkpoints */
    const size_t size = t->shares.rank ? t->shares.length : all;
    for (int i = 0; i < t->rule->state_count; i++)
        if (!(t->state.states[i] = rt_account_alloc(t->account, RT_FOR_STATES, size, sizeof(real))))
            return rt_out_of_memory("the optimizer's states");
    return rt_ok();
}

rt_status rt_trainer_new_alone(rt_trainer **trainer_new, const rt_config *config,
                               const rt_data *data, const rt_trainer_options *o)
{
    rt_trainer *t = *trainer_new = rt_alloc(1, sizeof *t);
    RT_TRY(rt_allocated(t, "a trainer"));
    *t = (rt_trainer){.config = config,
                      .data = data,
                      .world = o->world,
                      .account = o->account,
                      .on_stop = o->on_stop,
                      .rule = rt_update_rule_of(&config->optimizer.settings),
                      .shards = config->train.shards,
                      .threads = rt_threads_of(config, o->world)};
    const int size = rt_world_size(t->world), rank = rt_world_rank(t->world);
    if (size > t->shards)
        return rt_error(
            RT_CONFIG,
            "%d processes are too many: with train.batch_size = %d, train.shards is %d, "
            "the most processes that can share a batch",
            size, config->train.batch_size, t->shards);
    t->first_shard = rt_share_start(t->shards, size, rank);
    t->end_shard = rt_share_start(t->shards, size, rank + 1);
    const int shards = t->end_shard - t->first_shard;
    t->graph_count = t->threads < shards ? t->threads : shards; /* other threads help with parts */
    t->group = rt_summation_group(shards, t->graph_count);
    RT_TRY(make_state(t, o->blank));

    /* the threads, a graph for each worker that takes shards, and scratch memory for each thread */
    const bool fewer = o->threads && o->threads < t->threads;
    const size_t scratch = rt_update_scratch(t->rule, &t->state.model->parameters);
    RT_TRY(rt_workers_new(&t->workers, fewer ? o->threads : t->threads));
    t->graphs = rt_alloc((size_t)t->graph_count, sizeof(rt_graph *));
    t->scratch = rt_alloc((size_t)t->threads, sizeof(real *));
    RT_TRY(rt_allocated(t->graphs && t->scratch, "a trainer"));
    for (int i = 0; i < t->graph_count; i++) {
        if (!(t->graphs[i] = rt_graph_new()))
            return rt_out_of_memory("a graph");
        rt_graph_set_recomputes(t->graphs[i], config->train.recompute == RT_RECOMPUTE_LAYERS);
        if (i < rt_workers_count(t->workers))
            rt_graph_set_threads(t->graphs[i], rt_workers_threads(t->workers, i));
    }
    for (int i = 0; scratch && i < t->threads; i++)
        if (!(t->scratch[i] = rt_account_alloc(t->account, RT_FOR_UPDATES, scratch, sizeof(real))))
            return rt_out_of_memory("the optimizer's room for a matrix");
    return rt_ok();
}

rt_status rt_trainer_new(rt_trainer **trainer_new, const rt_config *config, const rt_data *data,
                         const rt_trainer_options *options)
{
    const rt_trainer_options *o = options ? options : &(rt_trainer_options){.world = NULL};
    rt_status status = rt_world_agree(o->world, rt_trainer_new_alone(trainer_new, config, data, o));
    if (status.code) {
        rt_trainer_end(*trainer_new);
        *trainer_new = NULL;
    }
    return status;
}

void rt_trainer_end(rt_trainer *t)
{
    if (!t)
        return;
    for (int i = 0; t->graphs && i < t->graph_count; i++)
        rt_graph_free(t->graphs[i]);
    for (int i = 0; t->scratch && i < t->threads; i++)
        rt_free(t->scratch[i]);
    rt_workers_free(t->workers);
    for (int i = t->blocks - 1; t->models && i >= 0; i--)
        rt_transformer_free(t->models[i]);
    for (int i = 0; t->shard && i < t->shards; i++)
        rt_labelled_batch_free(&t->shard[i].sequences);
    for (int i = 0; i < RT_MOST_STATES; i++)
        rt_free(t->state.states[i]);
    rt_free(t->scratch);
    rt_shares_free(&t->shares);
    rt_free(t->rounded);
    rt_free(t->spans);
    rt_free(t->results);
    rt_free(t->profiles);
    rt_free(t->shard);
    rt_free(t->models);
    rt_free(t->sums);
    rt_free(t->graphs);
    rt_free(t);
}

void rt_trainer_return_pages(rt_trainer *t)
{
    for (int i = 0; i < t->graph_count; i++)
        rt_graph_return_pages(t->graphs[i]);
    for (int i = 0; i < t->blocks; i++)
        rt_memory_return_pages(t->models[i]->parameters.grads,
                               t->models[i]->parameters.block_size * sizeof(real));
}

rt_training_state *rt_trainer_state(rt_trainer *t)
{
    return &t->state;
}

void rt_trainer_change_theta(rt_trainer *t, const rt_theta_change *change)
{
    for (int i = 0; i < t->blocks; i++)
        rt_transformer_change_theta(t->models[i], change);
}

const rt_data *rt_trainer_data(const rt_trainer *t)
{
    return t->data;
}

rt_workers *rt_trainer_workers(rt_trainer *t)
{
    return t->workers;
}
