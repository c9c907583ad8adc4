/* --predict with data.objective = lm: a text is continued. */

#include "train/run/prediction.h"

/* The model sees as many tokens as it was trained on: [CLS] and the newest units. */
static rt_status go_on(rt_prediction *p)
{
    const int most = rt_data_length(p->data);
    rt_status status = rt_ok();
    fputs(p->text, p->to);
    for (int n = 0; n < p->o->count && !status.code; n++) {
        const int length = p->s.count < most ? p->s.count : most;
        int32_t *window = p->s.ids + p->s.count - length;
        const int32_t hidden = window[0];
        window[0] = p->vocabulary->special.cls;
        status = rt_prediction_logits(p, window, length, length - 1);
        window[0] = hidden;
        if (status.code)
            break;
        const int32_t id = rt_prediction_choose(p, n);
        rt_prediction_print(p, id, p->s.count > 1);
        status = rt_prediction_append(&p->s, &id, 1);
    }
    fputc('\n', p->to);
    return status;
}

rt_status rt_predict_continuation(rt_prediction *p)
{
    int masks;
    rt_status status = rt_prediction_read(p, &masks);
    if (!status.code && masks)
        status = rt_error(RT_ARGUMENT, "a text to continue has no [MASK]");
    return status.code ? status : go_on(p);
}
