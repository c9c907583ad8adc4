/* The uses of a trained model: --eval, --usage, --distances, --predict, --embed and --export. */

#include "train/run/state.h"

#include "core/memory.h"
#include "io/gguf/gguf.h"
#include "text/durable_file.h"
#include "train/config/keys.h"
#include "train/report/report.h"
#include "train/run/found.h"
#include "train/run/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the model ---- */

/* Reports how the given file differs from the configuration of the run, which is used. */
static rt_status report_differences(rt_run *r, const rt_config *run)
{
    rt_config given = *r->config;
    given.optimizer = run->optimizer; /* a use does not depend on how the model was trained */
    given.train.steps = run->train.steps;
    char *differences = rt_config_differences(run, &given, RT_RESUMED);
    if (!differences)
        return rt_out_of_memory("a comparison");
    if (*differences)
        rt_run_note(r, "using the configuration of the run, which differs from %s:\n%.*s",
                    r->config->file, (int)strlen(differences) - 1, differences);
    rt_free(differences);
    return rt_ok();
}

/* Chooses the configuration: that of the run; with --checkpoint beside a CONFIG.ini, the given one.
 */
static rt_status configure(rt_run *r, const rt_found *found)
{
    rt_config own;
    if (r->arguments->checkpoint) {
        rt_status known = rt_found_training(r->config, found);
        return known.code == RT_CHECKPOINT && found->image ? rt_image_status(found->image) : known;
    }
    rt_status status = rt_found_configuration(&own, found, r->arguments, NULL);
    if (status.code == RT_CHECKPOINT && !rt_image_status(found->image).code) {
        rt_run_say(r, "warning: the configuration of the run cannot be used; using that of %s: %s",
                   r->config->file, status.message);
        return rt_ok();
    }
    if (!status.code)
        status = report_differences(r, &own);
    if (!status.code)
        *r->config = own;
    return status;
}

/* Applies --special. Labelled data always reads special tokens as tokens, and ids have no text. */
static rt_status take_special(rt_run *r)
{
    rt_data_options *o = &r->config->data;
    if (!r->arguments->special)
        return rt_ok();
    if (strcmp(rt_data_task_name(o->task), "text") != 0)
        return rt_error(RT_CONFIG, "--special needs data.task = text; got %s",
                        rt_data_task_name(o->task));
    o->special = true;
    return rt_ok();
}

static bool on_command_line(const rt_config *c, const char *key)
{
    return c->origin[rt_key_find("data", key)] == RT_FROM_COMMAND_LINE;
}

/* Returns RT_CONFIG if data.file is given for an evaluation that reads data.eval_file of the run.
 */
static rt_status check_evaluated(const rt_run *r)
{
    const rt_config *c = r->config;
    if (!rt_arguments_evaluate(r->arguments) || !c->data.eval_file || !on_command_line(c, "file") ||
        on_command_line(c, "eval_file"))
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "--%s does not read data.file: the run has data.eval_file = %.600s; give "
                    "data.eval_file=FILE to evaluate on another one",
                    rt_command_name(r->arguments->command), c->data.eval_file);
}

/* Opens the model of --checkpoint, or of the newest or best checkpoint of the run. */
static rt_status open_checkpoint(rt_run *r, rt_found *found)
{
    rt_status status =
        rt_find_checkpoint(found, r->arguments->checkpoint, rt_which_of(r->arguments), r->config);
    if (*found->warnings)
        rt_run_say(r, "%s", found->warnings);
    if (!status.code && found->newest && !r->arguments->best)
        rt_run_note(r,
                    "using the best evaluation, of step %" PRId64 ", since train.patience is set; "
                    "--last uses the newest, of step %" PRId64,
                    found->step, found->newest);
    r->image = found->image;
    r->imported = found->imported;
    if (!status.code)
        status = configure(r, found);
    if (!status.code && r->arguments->predict)
        status = rt_predict_arguments_check(r->arguments, &r->config->data);
    if (!status.code)
        status = check_evaluated(r);
    if (!status.code)
        status = take_special(r);
    if (!status.code)
        status = rt_arguments_evaluate(r->arguments) ? rt_run_open(r, found->path)
                                                     : rt_run_open_model(r);
    return status.code ? status : rt_run_load(r, found->path);
}

/* ---- --predict ---- */

/* Returns the most tokens that the model has positions for; 0: no limit. */
static int positions_of(const rt_run *r)
{
    const int most = rt_transformer_capacity(&r->state->model->options);
    if (most)
        return most;
    return r->imported && !r->imported->there->own ? r->imported->there->max_positions : 0;
}

static void report_predicted(rt_run *r, const rt_predicted *p)
{
    const bool one = strcmp(r->arguments->predict, "-") != 0;
    const int length = r->config->data.length;
    const long went_on = p->full - p->ended;
    rt_run_report_unknown(r, &p->unknown, one ? "the text" : "standard input");
    if (p->cut && one)
        rt_run_say(r, "warning: the text is longer than data.length = %d and is cut at the end",
                   length);
    else if (p->cut)
        rt_run_say(
            r, "warning: of %ld texts %ld are longer than data.length = %d and are cut at the end",
            p->texts, p->cut, length);
    if (p->ended)
        rt_run_say(
            r,
            "warning: %ld of %ld texts ended where the model has no more positions, at %d tokens",
            p->ended, p->texts, positions_of(r));
    if (went_on)
        rt_run_note(r,
                    "%ld of %ld texts filled the context window, data.length = %d tokens: its "
                    "older half was dropped",
                    went_on, p->texts, length);
}

int32_t rt_run_last_token(const rt_run *r)
{
    const rt_vocabulary *v = rt_data_vocabulary(r->data);
    if (!r->imported || r->imported->there->own || r->imported->open_ended || !v ||
        v->level == RT_LEVEL_BYTE || v->level == RT_LEVEL_CHAR)
        return RT_NO_ID;
    return rt_vocabulary_frame(v).last;
}

static rt_status predict(rt_run *r)
{
    rt_predict_options o = rt_predict_arguments(r->arguments, r->config);
    const int32_t last = rt_run_last_token(r);
    if (last != RT_NO_ID && r->config->data.level != RT_LEVEL_WORDPIECE) /* masks alone */
        o.last = &last;
    o.crew = rt_trainer_crew(r->trainer);
    o.positions = positions_of(r);
    rt_predicted predicted;
    rt_trainer_hold(r->trainer);
    rt_status status = rt_predict(stdout, r->state->model, r->data, r->config, &o, &predicted);
    rt_trainer_let_go();
    if (!status.code)
        report_predicted(r, &predicted);
    return status;
}

/* ---- evaluations ---- */

/* Reports that a given text is evaluated in part, as the text of the training was. */
static void report_part(rt_run *r)
{
    const rt_config *c = r->config;
    if (on_command_line(c, "file") && rt_data_task_has_objective(c->data.task) &&
        !c->data.eval_file && c->data.eval_fraction > 0)
        rt_run_note(r,
                    "evaluating on the last %g of data.file (data.eval_fraction); set "
                    "data.eval_fraction=0 to evaluate on all of it",
                    c->data.eval_fraction);
}

static rt_status evaluate(rt_run *r, const rt_found *found)
{
    const rt_arguments *a = r->arguments;
    rt_outcome outcome = {0};
    if (!a->per_line)
        printf("checkpoint: %s, step %d\n", found->path, r->state->step);
    report_part(r);
    rt_status status = a->theta ? rt_run_change_theta(r) : rt_ok();
    if (!status.code)
        status = a->per_line ? rt_run_per_line(r)
                 : a->theta  ? rt_outcome_evaluate(&outcome, r)
                             : rt_outcome_print(&outcome, r);
    rt_outcome_free(&outcome);
    return status;
}

/* ---- --export ---- */

enum { MOST_FACTS = 16 };

/* Adds the results in result.csv of the run, if the run ended at this checkpoint. */
static void add_results(rt_writer *w, const rt_run *r, const char *checkpoint)
{
    char folder[RT_PATH_SIZE];
    rt_results results;
    int steps;
    snprintf(folder, sizeof folder, "%s", checkpoint);
    char *slash = strstr(folder, "/checkpoints/");
    if (!slash)
        return;
    *slash = '\0';
    if (!rt_results_read(&results, folder))
        return;
    if (rt_results_whole(&results, RT_RESULT_STEPS, &steps) && steps == r->state->step)
        rt_writer_add(w, "evaluation: loss %.6g, accuracy %.4f\n",
                      rt_results_get(&results, RT_RESULT_LOSS),
                      rt_results_get(&results, RT_RESULT_ACCURACY));
    rt_results_free(&results);
}

static rt_status add_theta(rt_writer *w, const rt_run *r)
{
    rt_theta_verdict verdict;
    if (!r->config->model.theta.learn) {
        rt_writer_add(w, "theta: fixed\n");
        return rt_ok();
    }
    rt_status status = rt_theta_judge(&verdict, r->state->model, r->config);
    if (!status.code)
        rt_theta_report_verdict(w, &verdict, r->config);
    return status;
}

/* Cuts a text into its lines, in place. */
static int cut_lines(char *text, const char *lines[MOST_FACTS])
{
    int count = 0;
    for (char *end; *text && count < MOST_FACTS && (end = strchr(text, '\n')); text = end + 1) {
        *end = '\0';
        lines[count++] = text;
    }
    return count;
}

/* Returns max_position_embeddings of a folder that rotor did not write; 0 for other models, and if
 * the user gives data.length. */
static int positions_of_folder(const rt_run *r)
{
    const rt_huggingface *there = r->imported ? r->imported->there : NULL;
    const bool said = there && !there->own && r->config->data.length == r->imported->data.length;
    return said ? there->max_positions : 0;
}

static rt_status export_model(const rt_run *r, const char *checkpoint)
{
    const rt_arguments *a = r->arguments;
    const char *folder = r->imported ? checkpoint : r->config->train.init_from; /* of the model */
    const char *lines[MOST_FACTS];
    char *chat_template = NULL;
    if (rt_is_run_folder(a->export))
        return rt_error(RT_CONFIG, "--export %.1000s: the folder holds a run; name another folder",
                        a->export);
    const rt_labels *labels = rt_data_labels(r->data);
    const rt_vocabulary *vocabulary = rt_data_vocabulary(r->data);
    rt_writer w = {0};
    if (r->state->step)
        rt_writer_add(&w, "training: %d steps with seed %llu\n", r->state->step,
                      (unsigned long long)r->config->run.seed);
    add_results(&w, r, checkpoint);
    rt_status status = add_theta(&w, r);
    char *facts = rt_writer_take(&w);
    if (!status.code && folder && rt_is_huggingface(folder))
        status = rt_huggingface_chat_template(&chat_template, folder);
    if (!status.code && !facts)
        status = rt_out_of_memory("a model card");
    if (!status.code) {
        const int positions = positions_of_folder(r);
        const rt_huggingface_export export = {.vocabulary = vocabulary,
                                              .lowercase = vocabulary && vocabulary->lowercase,
                                              .labels = labels ? (const char *const *)labels->names
                                                               : NULL,
                                              .length =
                                                  positions ? positions : r->config->data.length,
                                              .table_rows = positions,
                                              .bare = !rt_data_begins(r->data),
                                              .open_ended = !rt_data_ends(r->data),
                                              .title = r->config->run.name,
                                              .facts = lines,
                                              .fact_count = cut_lines(facts, lines),
                                              .chat_template = chat_template,
                                              .overwrite = a->overwrite};
        const rt_gguf_dtype dtype =
            a->dtype && !strcmp(a->dtype, "f16") ? RT_GGUF_F16 : RT_GGUF_F32;
        status = rt_is_gguf(a->export) ? rt_gguf_write(a->export, r->state->model, &export, dtype)
                                       : rt_huggingface_write(a->export, r->state->model, &export);
    }
    rt_free(facts);
    rt_free(chat_template);
    if (!status.code)
        printf("export: %s\n", a->export);
    return status;
}

/* ---- the command ---- */

static rt_status use_model(rt_run *r, const rt_found *found)
{
    const rt_arguments *a = r->arguments;
    if (a->command != RT_COMMAND_EVAL || a->per_line)
        rt_run_note(r, "checkpoint: %s, step %d", found->path, r->state->step);
    switch (a->command) {
    case RT_COMMAND_PREDICT:
        return predict(r);
    case RT_COMMAND_EMBED:
        return rt_run_embed(r, found->path);
    case RT_COMMAND_EXPORT:
        return export_model(r, found->path);
    case RT_COMMAND_USAGE:
    case RT_COMMAND_DISTANCES:
        report_part(r);
        return rt_run_print_instrument(r);
    default:
        return evaluate(r, found);
    }
}

rt_exit rt_run_use(const rt_config *config, const rt_arguments *arguments)
{
    rt_config own = *config;
    rt_found found = {0};
    rt_run r = rt_run_new(&own, arguments);
    rt_status status = open_checkpoint(&r, &found);
    if (own.origin[rt_key_find("theta", "tolerances")] != RT_FROM_COMMAND_LINE)
        own.theta.tolerances = false; /* the run has measured them; an evaluation is quick */
    if (!status.code)
        status = use_model(&r, &found);
    if (status.code)
        rt_run_say(&r, "%s", status.message);
    rt_run_free(&r);
    return status.code == RT_ARGUMENT ? RT_EXIT_CONFIG : rt_exit_of(status.code);
}
