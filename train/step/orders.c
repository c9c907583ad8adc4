/* How process 0 of a world tells the others what to do: an order before each thing that all do
 * together. To a process alone an order is nothing. */

#include "train/step/trainer_private.h"

#include "core/memory.h"

typedef struct message {
    rt_order order;
    rt_rates rates; /* of a step: process 0 knows the schedules that a run has had */
    rt_order_of_evaluation what;
} message;

/* What may be changed between two orders: process 0 evaluates with other thetas, too. */
static void share_theta(rt_trainer *t)
{
    const rt_parameters *p = &t->state.model->parameters;
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_THETA)
            rt_world_broadcast(t->world, p->list[i]->tensor.data,
                               rt_size(&p->list[i]->tensor) * sizeof(real));
}

static void move_states(rt_trainer *t, bool to_first)
{
    if (!t->world)
        return;
    for (int i = 0; i < t->rule->state_count; i++)
        rt_shares_move(&t->shares, t->state.states[i], to_first);
}

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
    move_states(t, false);
}

static void give(rt_trainer *t, rt_order order, rt_order_of_evaluation what)
{
    message m = {order, t->rates, what};
    rt_world_broadcast(t->world, &m, sizeof m);
}

/* ---- process 0 ---- */

static const rt_order_of_evaluation no_evaluation = {0};

rt_status rt_trainer_step(rt_trainer *t, rt_step_result *result)
{
    t->rates = rt_learning_rates(&t->config->optimizer, t->state.step + 1);
    give(t, RT_ORDER_STEP, no_evaluation);
    return rt_trainer_take_step(t, result);
}

static rt_status evaluate(rt_trainer *t, int length, int batches, rt_evaluation *result,
                          int64_t *confusion)
{
    const rt_order_of_evaluation what = {length, batches, confusion != NULL};
    give(t, RT_ORDER_EVALUATE, what);
    share_theta(t);
    rt_status status =
        rt_world_agree(t->world, rt_ok()); /* the others have the room that it takes */
    return status.code ? status : rt_trainer_take_evaluation(t, what, result, confusion);
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

void rt_trainer_share(rt_trainer *t)
{
    give(t, RT_ORDER_SHARE, no_evaluation);
    share_state(t);
}

void rt_trainer_collect(rt_trainer *t)
{
    give(t, RT_ORDER_COLLECT, no_evaluation);
    move_states(t, true);
}

void rt_trainer_dismiss(rt_trainer *t)
{
    if (!t)
        return;
    if (t->world && rt_world_rank(t->world) == 0)
        give(t, RT_ORDER_END, no_evaluation);
    t->world = NULL;
}

void rt_trainer_free(rt_trainer *t)
{
    rt_trainer_dismiss(t);
    rt_trainer_end(t);
}

/* ---- the others ---- */

static rt_status evaluate_as_told(rt_trainer *t, rt_order_of_evaluation what)
{
    rt_evaluation result;
    int64_t *confusion = NULL;
    const size_t classes = (size_t)rt_data_classes(t->data);
    share_theta(t);
    if (what.confusion)
        confusion = rt_alloc(classes * classes, sizeof *confusion);
    rt_status status =
        rt_world_agree(t->world,
                       what.confusion && !confusion ? rt_out_of_memory("an evaluation") : rt_ok());
    if (!status.code)
        status = rt_trainer_take_evaluation(t, what, &result, confusion);
    rt_free(confusion);
    return status;
}

/* What fails here, process 0 knows, and decides what comes of it. */
void rt_trainer_serve(rt_trainer *t, int (*stop)(void))
{
    message m = {RT_ORDER_STEP, {0}, no_evaluation};
    t->stop = stop;
    while (m.order != RT_ORDER_END) {
        rt_step_result result;
        rt_status status = rt_ok();
        rt_world_broadcast(t->world, &m, sizeof m);
        switch (m.order) {
        case RT_ORDER_STEP:
            t->rates = m.rates;
            status = rt_trainer_take_step(t, &result);
            break;
        case RT_ORDER_EVALUATE:
            status = evaluate_as_told(t, m.what);
            break;
        case RT_ORDER_SHARE:
            share_state(t);
            break;
        case RT_ORDER_COLLECT:
            move_states(t, true);
            break;
        case RT_ORDER_END:
            break;
        }
        (void)status;
    }
}
