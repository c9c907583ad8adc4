/* Orders, with which rank 0 of a world controls the other ranks. Without a world an order does
 * nothing. */

#include "train/step/private.h"

typedef enum order { STEP, EVALUATE, SHARE, COLLECT, END } order;

typedef struct order_message {
    order order;
    rt_rates rates;      /* rates of a step: rank 0 knows the earlier schedules of the run */
    int length, batches; /* of an evaluation */
    bool tally;          /* the evaluation fills a tally */
} order_message;

static void share_state(rt_trainer *t)
{
    const rt_parameters *p = &t->state.model->parameters;
    int64_t counts[] = {t->state.step, t->state.sequences};
    rt_world_broadcast(t->world, counts, sizeof counts);
    t->state.step = (int)counts[0];
    t->state.sequences = counts[1];
    rt_world_broadcast(t->world, p->values, p->block_size * sizeof(real));
    for (int i = 0; i < p->count; i++)
        rt_world_broadcast(t->world, &p->list[i]->since, sizeof p->list[i]->since);
    rt_shares_move(t, false);
}

/* Follows an order; called in every rank. `result` is an rt_step_result or an rt_evaluation. */
static rt_status follow(rt_trainer *t, const order_message *m, void *result, int64_t *tally)
{
    switch (m->order) {
    case STEP:
        t->rates = m->rates;
        return rt_trainer_take_step(t, result);
    case EVALUATE:
        return rt_trainer_take_evaluation(t, m->length, m->batches, m->tally, result, tally);
    case SHARE:
        share_state(t);
        break;
    case COLLECT:
        rt_shares_move(t, true);
        break;
    case END:
        break;
    }
    return rt_ok();
}

static rt_status give(rt_trainer *t, order_message m, void *result, int64_t *tally)
{
    rt_world_broadcast(t->world, &m, sizeof m);
    return follow(t, &m, result, tally);
}

rt_status rt_trainer_step(rt_trainer *t, rt_step_result *result)
{
    const rt_rates rates = rt_learning_rates(&t->config->optimizer, t->state.step + 1);
    return give(t, (order_message){.order = STEP, .rates = rates}, result, NULL);
}

rt_status rt_trainer_evaluate(rt_trainer *t, int length, int batches, rt_evaluation *result,
                              int64_t *tally)
{
    const order_message m = {.order = EVALUATE,
                             .length = length,
                             .batches = batches,
                             .tally = tally != NULL};
    return give(t, m, result, tally);
}

void rt_trainer_share(rt_trainer *t)
{
    (void)give(t, (order_message){.order = SHARE}, NULL, NULL);
}

void rt_trainer_collect(rt_trainer *t)
{
    (void)give(t, (order_message){.order = COLLECT}, NULL, NULL);
}

void rt_trainer_dismiss(rt_trainer *t)
{
    if (t && rt_world_rank(t->world) == 0)
        (void)give(t, (order_message){.order = END}, NULL, NULL);
    if (t)
        t->world = NULL;
}

void rt_trainer_free(rt_trainer *t)
{
    rt_trainer_dismiss(t);
    rt_trainer_end(t);
}

/* Failures are ignored: rank 0 receives them and decides. */
void rt_trainer_serve(rt_trainer *t, int (*stop)(void))
{
    order_message m = {.order = STEP};
    union {
        rt_step_result step;
        rt_evaluation evaluation;
    } result;
    t->stop = stop;
    while (m.order != END) {
        rt_world_broadcast(t->world, &m, sizeof m);
        RT_OWNED int64_t *tally =
            m.tally ? rt_alloc(rt_trainer_tally_size(t), sizeof *tally) : NULL;
        (void)follow(t, &m, &result, tally);
    }
}
