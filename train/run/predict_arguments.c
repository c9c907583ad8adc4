#include "train/run/predict_arguments.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_TOKENS = 200 };

static double temperature_of(const rt_arguments *a, const rt_data_options *o)
{
    return a->temperature >= 0 ? a->temperature : o->objective == RT_OBJECTIVE_LM;
}

/* What an option acts on. */
typedef enum effect {
    ON_GROWTH = 1, /* of a text that is continued */
    ON_CHOICE = 2, /* of a token */
    ON_DRAW = 4    /* of a token at a temperature above 0 */
} effect;

static const char *find_given(const rt_arguments *a, unsigned effects)
{
    const struct {
        const char *name;
        effect on;
        bool given;
    } options[] = {{"tokens", ON_GROWTH, a->tokens > 0},
                   {"stop", ON_GROWTH, a->stop != NULL},
                   {"temperature", ON_CHOICE, a->temperature >= 0},
                   {"top-k", ON_DRAW, a->top_k > 0},
                   {"top-p", ON_DRAW, a->top_p > 0},
                   {"seed", ON_DRAW, a->seed >= 0}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && (options[i].on & effects))
            return options[i].name;
    return NULL;
}

rt_status rt_predict_arguments_check(const rt_arguments *a, const rt_data_options *o)
{
    const bool labels = rt_data_task_labelled(o->task);
    const bool lm = !labels && o->objective == RT_OBJECTIVE_LM;
    const char *given = labels ? find_given(a, ON_GROWTH | ON_CHOICE | ON_DRAW) : NULL;
    if (given)
        return rt_error(RT_CONFIG,
                        "--%s has no effect with data.task = %s, whose labels are not sampled",
                        given, rt_data_task_name(o->task));
    if (labels && a->special)
        return rt_error(RT_CONFIG,
                        "--special has no effect with data.task = %s, which always reads special "
                        "tokens as tokens",
                        rt_data_task_name(o->task));
    given = lm ? NULL : find_given(a, ON_GROWTH);
    if (given)
        return rt_error(RT_CONFIG,
                        "--%s has no effect with data.objective = mlm, which fills masks and "
                        "continues no text",
                        given);
    given = temperature_of(a, o) > 0 ? NULL : find_given(a, ON_DRAW);
    if (given)
        return rt_error(RT_CONFIG,
                        "--%s has no effect at temperature 0, where the most likely token is "
                        "chosen: give --temperature above 0",
                        given);
    return rt_ok();
}

static rt_sampling sampling_of(const rt_arguments *a, const rt_config *config)
{
    return (rt_sampling){.temperature = temperature_of(a, &config->data),
                         .top_k = a->top_k,
                         .top_p = a->top_p > 0 ? a->top_p : 1,
                         .seed = a->seed >= 0 ? (uint64_t)a->seed : config->run.seed};
}

rt_predict_options rt_predict_arguments(const rt_arguments *a, const rt_config *config)
{
    return (rt_predict_options){.text = strcmp(a->predict, "-") ? a->predict : NULL,
                                .from = stdin,
                                .sampling = sampling_of(a, config),
                                .stop = a->stop,
                                .count = a->tokens ? a->tokens : DEFAULT_TOKENS,
                                .jsonl = a->jsonl,
                                .special = a->special};
}
