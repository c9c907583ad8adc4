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

/* ---- calls of rank 0 ---- */

static void send_order(rt_trainer *t, order_message m)
{
    rt_world_broadcast(t->world, &m, sizeof m);
}

rt_status rt_trainer_step(rt_trainer *t, rt_step_result *result)
{
    t->rates = rt_learning_rates(&t->config->optimizer, t->state.step + 1);
    send_order(t, (order_message){.order = STEP, .rates = t->rates});
    return rt_trainer_take_step(t, result);
}

rt_status rt_trainer_evaluate(rt_trainer *t, int length, int batches, rt_evaluation *result,
                              int64_t *tally)
{
    send_order(t, (order_message){.order = EVALUATE,
                                  .length = length,
                                  .batches = batches,
                                  .tally = tally != NULL});
    return rt_trainer_take_evaluation(t, length, batches, tally != NULL, result, tally);
}

void rt_trainer_share(rt_trainer *t)
{
    send_order(t, (order_message){.order = SHARE});
    share_state(t);
}

void rt_trainer_collect(rt_trainer *t)
{
    send_order(t, (order_message){.order = COLLECT});
    rt_shares_move(t, true);
}

void rt_trainer_dismiss(rt_trainer *t)
{
    if (t && rt_world_rank(t->world) == 0)
        send_order(t, (order_message){.order = END});
    if (t)
        t->world = NULL;
}

void rt_trainer_free(rt_trainer *t)
{
    rt_trainer_dismiss(t);
    rt_trainer_end(t);
}

/* ---- the other ranks ---- */

/* Failures are ignored: rank 0 receives them and decides. */
void rt_trainer_serve(rt_trainer *t, int (*stop)(void))
{
    order_message m = {.order = STEP};
    t->stop = stop;
    while (m.order != END) {
        rt_status status = rt_ok();
        rt_step_result step;
        rt_evaluation evaluation;
        rt_world_broadcast(t->world, &m, sizeof m);
        int64_t *tally = m.tally ? rt_alloc(rt_trainer_tally_size(t), sizeof *tally) : NULL;
        switch (m.order) {
        case STEP:
            t->rates = m.rates;
            status = rt_trainer_take_step(t, &step);
            break;
        case EVALUATE:
            status =
                rt_trainer_take_evaluation(t, m.length, m.batches, m.tally, &evaluation, tally);
            break;
        case SHARE:
            share_state(t);
            break;
        case COLLECT:
            rt_shares_move(t, true);
            break;
        case END:
            break;
        }
        (void)status;
        rt_free(tally);
    }
}
