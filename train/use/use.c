/* Uses of a trained model: --eval, --usage, --distances, --gradient, --predict, --embed and
 * --export. */

#include "train/use/use.h"

#include "core/memory.h"
#include "train/config/keys.h"
#include "train/folder/session.h"
#include "train/run/outcome.h"
#include "train/run/theta.h"
#include "train/use/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Resolves the configuration of a use with a CONFIG.ini: the configuration of the run with the
 * overrides of the command line or, with --checkpoint, the given one. */
static rt_status configure(rt_run *r)
{
    rt_config own;
    const rt_trained_model *found = &r->found;
    const bool named = r->arguments->checkpoint != NULL;
    rt_status status =
        rt_trained_model_configuration(&own, found, named ? NULL : r->arguments, NULL);
    if (named && status.code)
        return status.code == RT_CHECKPOINT && found->checkpoint.image ? rt_ok() : status;
    if (named) { /* the model is used as it was trained */
        rt_config_train_as(r->config, &own);
        return status;
    }
    if (status.code == RT_CHECKPOINT && found->checkpoint.image) {
        rt_run_say(r, "warning: the configuration of the run cannot be used; using that of %s: %s",
                   r->config->file, status.message);
        return rt_ok();
    }
    RT_TRY(status);
    rt_session_take_moved(&own, RT_RUN_FOLDER_OF(found->path), r->config, NULL);
    rt_config given = *r->config;
    given.optimizer = own.optimizer; /* a use does not depend on how the model was trained */
    given.train.steps = own.train.steps;
    given.train.shards = own.train.shards;
    if (rt_on_command_line(&given, "data.length")) /* which a use resolves in its own way */
        given.data.lengths = own.data.lengths;
    RT_OWNED char *differences = rt_config_differences(&own, &given, RT_RESUMED);
    RT_TRY(rt_allocated(differences, "a comparison"));
    if (*differences)
        rt_run_note(r, "using the configuration of the run, which differs from %s:\n%.*s",
                    r->config->file, (int)strlen(differences) - 1, differences);
    *r->config = own;
    return rt_ok();
}

static double temperature_of(const rt_arguments *a, const rt_data_options *o)
{
    return a->temperature >= 0 ? a->temperature : o->objective == RT_OBJECTIVE_LM;
}

/* Returns RT_CONFIG if an option has no effect on predictions of these data: labels are not
 * sampled, a masked text does not grow, and temperature 0 draws no random numbers. */
static rt_status check_prediction(const rt_arguments *a, const rt_data_options *o)
{
    const bool labels = rt_task_has_rows(&rt_tasks[o->task]);
    const bool grows = !labels && o->objective == RT_OBJECTIVE_LM;
    const bool draws = temperature_of(a, o) > 0;
    const struct {
        const char *name;
        bool given;
        bool growth, draw; /* effective only if the text grows, or a token is drawn */
    } options[] = {{"tokens", a->tokens > 0, true, false},
                   {"stop", a->stop != NULL, true, false},
                   {"samples", a->samples > 0, true, true},
                   {"temperature", a->temperature >= 0, false, false},
                   {"top-k", a->top_k > 0, false, true},
                   {"top-p", a->top_p > 0, false, true},
                   {"seed", a->seed >= 0, false, true}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *name = options[i].name;
        if (options[i].given && labels)
            return rt_error(RT_CONFIG,
                            "--%s has no effect with data.task = %s, whose labels are not sampled",
                            name, rt_data_task_name(o->task));
        if (options[i].given && options[i].growth && !grows)
            return rt_error(RT_CONFIG,
                            "--%s has no effect with data.objective = mlm, which fills masks and "
                            "continues no text",
                            name);
        if (options[i].given && options[i].draw && !draws)
            return rt_error(RT_CONFIG,
                            "--%s has no effect at temperature 0, where the most likely token is "
                            "chosen: give --temperature above 0",
                            name);
    }
    return labels && a->special
               ? rt_error(RT_CONFIG,
                          "--special has no effect with data.task = %s, which always reads special "
                          "tokens as text",
                          rt_data_task_name(o->task))
               : rt_ok();
}

/* Checks the options that depend on the data, and applies --special. Labelled data always reads
 * special tokens as text, and token ids have no text. */
static rt_status check_options(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    rt_data_options *o = &r->config->data;
    if (rt_tasks[o->task].kind == RT_DATA_IMAGES &&
        (a->command == RT_COMMAND_PREDICT || a->command == RT_COMMAND_EMBED ||
         a->command == RT_COMMAND_EXPORT))
        return rt_error(
            RT_CONFIG,
            "--%s needs a model of texts or of token ids; data.task = images has --eval, "
            "and --eval --per-line for each image",
            rt_command_name(a->command));
    RT_TRY(a->predict ? check_prediction(a, o) : rt_ok());
    if (rt_arguments_evaluate(a) && o->eval_file && rt_on_command_line(r->config, "data.file") &&
        !rt_on_command_line(r->config, "data.eval_file"))
        return rt_error(RT_CONFIG,
                        "--%s does not read data.file: the run has data.eval_file = %.600s; give "
                        "data.eval_file=FILE to evaluate on another one",
                        rt_command_name(a->command), o->eval_file);
    if (rt_arguments_evaluate(a) && rt_tasks[o->task].kind != RT_DATA_TOY && !o->file &&
        !o->eval_file)
        return rt_error(RT_CONFIG, "--%s needs data: give data.file=FILE",
                        rt_command_name(a->command));
    if (a->special && strcmp(rt_data_task_name(o->task), "text") != 0)
        return rt_error(RT_CONFIG, "--special needs data.task = text; got %s",
                        rt_data_task_name(o->task));
    o->special |= a->special;
    return rt_ok();
}

static rt_status predict(rt_run *r)
{
    enum { DEFAULT_TOKENS = 200 };
    const rt_arguments *a = r->arguments;
    rt_predict_options o = {.text = strcmp(a->predict, "-") ? a->predict : NULL,
                            .from = stdin,
                            .sampling = {.temperature = temperature_of(a, &r->config->data),
                                         .top_k = a->top_k,
                                         .top_p = a->top_p > 0 ? a->top_p : 1,
                                         .seed = a->seed >= 0 ? (uint64_t)a->seed
                                                              : r->config->run.seed},
                            .stop = a->stop,
                            .count = a->tokens ? a->tokens : DEFAULT_TOKENS,
                            .samples = a->samples,
                            .threads = rt_workers_threads(rt_trainer_workers(r->trainer), 0),
                            .positions = rt_transformer_capacity(&r->state->model->options),
                            .jsonl = a->jsonl,
                            .special = a->special};
    rt_predicted predicted;
    const int length = r->config->data.length;
    const int32_t last = rt_run_last_token(r);
    if (last != RT_NO_ID && r->config->data.level != RT_LEVEL_WORDPIECE) /* for masked texts only */
        o.last = &last;
    if (!o.positions && r->found.imported && !r->found.imported->own)
        o.positions = r->found.imported->max_positions;
    rt_trainer_hold_rounded(r->trainer);
    rt_status status = rt_predict(stdout, r->state->model, r->data, r->config, &o, &predicted);
    rt_trainer_release_rounded();
    RT_TRY(status);
    rt_run_report_unknown(r, &predicted.unknown, o.text ? "the text" : "standard input");
    if (predicted.cut && o.text)
        rt_run_say(r, "warning: the text is longer than data.length = %d and is cut at the end",
                   length);
    else if (predicted.cut)
        rt_run_say(
            r, "warning: of %ld texts %ld are longer than data.length = %d and are cut at the end",
            predicted.texts, predicted.cut, length);
    if (predicted.tabs)
        rt_run_say(
            r,
            "warning: a tab is part of the text, in %ld of %ld texts: the model has no token "
            "types and so takes no pairs of texts",
            predicted.tabs, predicted.texts);
    if (predicted.ended)
        rt_run_say(
            r,
            "warning: %ld of %ld texts ended where the model has no more positions, at %d tokens",
            predicted.ended, predicted.texts, o.positions);
    if (predicted.full > predicted.ended)
        rt_run_note(r,
                    "%ld of %ld texts filled the context window, data.length = %d tokens: its "
                    "older half was dropped",
                    predicted.full - predicted.ended, predicted.texts, length);
    return rt_ok();
}

/* Evaluates the model. Returns RT_CHECK if a check that the command line requests failed. */
static rt_status evaluate(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const rt_config *c = r->config;
    RT_CLOSED_BY(rt_outcome_free) rt_outcome o = {0};
    if (a->command == RT_COMMAND_EVAL && !a->per_line)
        printf("checkpoint: %s, step %d\n", r->found.path, r->state->step);
    if (rt_on_command_line(c, "data.file") && !c->data.eval_file && c->data.eval_fraction > 0)
        rt_run_note(r,
                    "evaluating on %s %g of data.file (data.eval_fraction); set "
                    "data.eval_fraction=0 to evaluate on all of it",
                    rt_tasks[c->data.task].objective ? "the last" : "a random",
                    c->data.eval_fraction);
    if (a->theta)
        RT_TRY(rt_run_change_theta(r));
    RT_TRY(a->command != RT_COMMAND_EVAL ? rt_run_print_usage(r)
           : a->per_line                 ? rt_print_line_losses(r)
           : a->theta                    ? rt_outcome_evaluate(&o, r)
                                         : rt_outcome_print(&o, r, false));
    if (o.target_missed && rt_on_command_line(c, "train.target_accuracy"))
        return rt_error(RT_CHECK, "the accuracy %.4f is below train.target_accuracy = %g",
                        o.evaluation.accuracy, c->train.target_accuracy);
    if ((o.theta_moved || o.theta_needed) && rt_on_command_line(c, "theta.check"))
        return rt_error(RT_CHECK, o.theta_moved
                                      ? "theta.check = unmoved: theta has moved"
                                      : "theta.check = unneeded: the model depends on theta");
    return rt_ok();
}

/* Warns if the files that are evaluated are not as the run in `folder` has read them. */
static void warn_of_data(rt_run *r, const char *folder)
{
    const rt_data_options *data = &r->config->data;
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    RT_OWNED char *list = rt_session_data(data);
    rt_session_compare(&w, data, list ? list : "", folder, true);
    if (list && w.length)
        rt_run_say(r, "warning: the data has changed since the run: %s; %s", w.bytes,
                   data->eval_file && *data->eval_file ? "its results are of the former"
                                                       : "what it was trained on may be evaluated");
}

/* Loads the model of a use with the resolved configuration, and does what the command wants. */
static rt_status use_model(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const char *folder = RT_RUN_FOLDER_OF(r->found.path);
    if (a->config)
        RT_TRY(configure(r));
    if (*folder && rt_arguments_evaluate(a))
        rt_run_find_data(r, folder);
    RT_TRY(check_options(r));
    if (*folder && rt_arguments_evaluate(a))
        warn_of_data(r, folder);
    RT_TRY(rt_run_open(r, true));
    RT_TRY(rt_run_load(r));
    /* the run has measured them, and an evaluation is quick */
    if (!rt_on_command_line(r->config, "theta.tolerances"))
        r->config->theta.tolerances = false;
    if (a->command != RT_COMMAND_EVAL || a->per_line)
        rt_run_note(r, "checkpoint: %s, step %d", r->found.path, r->state->step);
    return a->command == RT_COMMAND_PREDICT  ? predict(r)
           : a->command == RT_COMMAND_EMBED  ? rt_embed_lines(r)
           : a->command == RT_COMMAND_EXPORT ? rt_export_model(r)
                                             : evaluate(r);
}

rt_exit rt_use_model(const rt_config *config, rt_trained_model *found,
                     const rt_arguments *arguments)
{
    rt_config own = *config;
    RT_CLOSED_BY(rt_run_free) rt_run r = rt_run_new(&own, arguments);
    r.found = *found;
    *found = (rt_trained_model){0};
    if (r.found.newest && !arguments->best)
        rt_run_note(&r,
                    "using the best evaluation, of step %" PRId64 ", since train.patience is set; "
                    "--last uses the newest, of step %" PRId64,
                    r.found.checkpoint.info.step, r.found.newest);
    const rt_status status = use_model(&r);
    if (status.code)
        rt_run_say(&r, "%s", status.message);
    return status.code == RT_ARGUMENT ? RT_EXIT_CONFIG : rt_exit_of(status.code);
}
