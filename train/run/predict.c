#include "train/run/predict.h"

#include "train/run/prediction.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- kinds ---- */

typedef rt_status rt_answer(rt_prediction *p);

static rt_answer *find_answer(const rt_data *data, const rt_config *config)
{
    switch (rt_data_target(data)) {
    case RT_TARGET_SEQUENCE:
        return rt_predict_class;
    case RT_TARGET_TOKENS:
        return rt_predict_tags;
    case RT_TARGET_IDS:
        break;
    }
    return config->data.objective == RT_OBJECTIVE_LM ? rt_predict_continuation : rt_predict_masks;
}

/* Answers a text, which stands that many bytes behind the beginning of its stream. */
static rt_status answer_text(rt_prediction *p, rt_answer *answer, const char *text, size_t size,
                             size_t before, rt_predicted *total)
{
    rt_prediction_next(p, text, size);
    rt_status status = answer(p);
    rt_prediction_count(p, before, total);
    return status;
}

/* ---- lines ---- */

/* Each before the next one is read, for whoever waits for the answer. Ends early where nothing can
 * be printed, which the end of the program tells. */
static rt_status answer_each(rt_prediction *p, rt_answer *answer, rt_lines *lines,
                             rt_predicted *total)
{
    rt_status status = rt_ok();
    while (!status.code && rt_lines_next(lines)) {
        status = rt_prediction_check_line(lines);
        if (!status.code)
            status = answer_text(p, answer, lines->bytes, lines->size, lines->start, total);
        if (!rt_prediction_flush(p->to))
            break;
    }
    return status;
}

/* Nobody waits for the answer to a line of a file before the next one is there. */
static bool is_file(FILE *stream)
{
    struct stat facts;
    return !fstat(fileno(stream), &facts) && S_ISREG(facts.st_mode);
}

static rt_status answer_lines(rt_prediction *p, rt_answer *answer, rt_predicted *total)
{
    rt_lines lines = {.from = p->o->from};
    rt_status status = answer == rt_predict_continuation && is_file(lines.from)
                           ? rt_predict_batch(p, &lines, total)
                           : answer_each(p, answer, &lines, total);
    if (!status.code)
        status = lines.status;
    if (status.code)
        status = rt_error(status.code, "line %ld: %.900s", lines.number, status.message);
    rt_lines_free(&lines);
    return status;
}

rt_status rt_predict(FILE *to, rt_transformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_predicted *predicted)
{
    const char *text = options->text;
    rt_prediction like = {.to = to,
                          .model = model,
                          .data = data,
                          .vocabulary = rt_data_vocabulary(data),
                          .o = options};
    rt_prediction p;
    *predicted = (rt_predicted){0};
    if (!like.vocabulary)
        return rt_error(RT_CONFIG, "--predict needs data.task = text, classify or tag");
    rt_answer *answer = find_answer(data, config);
    rt_status status = rt_data_labels(data) ? rt_ok()
                                            : rt_sampler_new(&like.sampler, &options->sampling,
                                                             like.vocabulary->count);
    if (status.code)
        return status;
    status = rt_prediction_new(&p, &like);
    if (!status.code)
        status = text ? answer_text(&p, answer, text, strlen(text), 0, predicted)
                      : answer_lines(&p, answer, predicted);
    rt_prediction_free(&p);
    rt_sampler_free(like.sampler);
    return status;
}
