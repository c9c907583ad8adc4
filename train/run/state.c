#include "train/run/state.h"

#include "core/memory.h"
#include "data/tokenizers/tokens.h"
#include "train/config/config.h"
#include "train/folder/session.h"
#include "train/run/broadcast.h"
#include "train/run/kernels.h"
#include "train/run/progress.h"
#include "train/run/stop.h"
#include "util/files.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss)
{
    e->loss = loss;
    if (step % o->eval_every)
        return false;
    const bool improved = loss < e->reference && loss <= e->reference - o->min_delta;
    e->stalled = improved ? 0 : e->stalled + 1;
    if (improved)
        e->reference = loss;
    const bool best = loss < e->best_loss;
    if (best) {
        e->best_loss = loss;
        e->best_step = step;
    }
    return best;
}

bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o)
{
    return o->patience && e->stalled >= o->patience;
}

rt_run rt_run_new(rt_config *config, const rt_arguments *arguments)
{
    rt_run r = {.config = config, .arguments = arguments, .evaluations = RT_NO_EVALUATIONS};
    r.folder.lock = -1;
    return r;
}

void rt_run_free(rt_run *r)
{
    rt_metrics_close(&r->metrics);
    rt_trainer_free(r->trainer);
    rt_data_close(r->data);
    rt_trained_model_close(&r->found);
    rt_run_folder_close(&r->folder);
    rt_free(r->other_theta);
    rt_free(r->config_text);
    rt_free(r->session);
    rt_free(r->trunk_config);
    rt_free(r->before);
}

void rt_run_find_data(rt_run *r, const char *folder)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer lines = {0};
    rt_session_find_moved(r->config, folder, &lines);
    if (lines.length)
        rt_run_say(r, "%s", lines.bytes);
}

/* Checks that the model and the data have the same tokens; with `own`, for a model that is resumed
 * or used, also the same classes. Returns RT_CHECKPOINT, naming the model by `path`, if not. */
static rt_status check_meaning(const rt_run *r, const char *path, bool own)
{
    const rt_vocabulary *tokens = r->data->vocabulary;
    const rt_labels *labels = r->data->labels;
    const rt_data_of_model *of = &r->meaning;
    const rt_huggingface *imported = r->found.imported;
    const char *how = NULL;
    if (!rt_vocabularies_equal(tokens, of->vocabulary)) {
        if (tokens && !of->vocabulary && imported && imported->refused)
            return rt_huggingface_no_vocabulary(imported, path);
        how = !of->vocabulary ? "without a vocabulary of text"
              : tokens        ? "with another vocabulary"
                              : "on text";
    } else if (own && !rt_labels_equal(labels, of->labels)) {
        how = !of->labels ? "without labels" : labels ? "with other labels" : "on labelled data";
    }
    return how ? rt_error(RT_CHECKPOINT, "%s: the model was trained %s, data.task = %s", path, how,
                          rt_data_task_name(r->config->data.task))
               : rt_ok();
}

void rt_run_report_unknown(rt_run *r, const rt_unknown *unknown, const char *text)
{
    const rt_vocabulary *v = r->data->vocabulary;
    if (unknown->count)
        rt_run_say(r,
                   "warning: %s of %s that are not in the vocabulary and are %s: %zu, the first is "
                   "%s%s",
                   rt_words_for_tokens(r->config->data.level).unknown, text,
                   v && v->bpe && v->special.unknown == RT_NO_ID ? "left out" : "read as [UNK]",
                   unknown->count, unknown->name,
                   unknown->at == RT_NO_PLACE ? "" : RT_PRINTED(64, " at byte %zu", unknown->at));
}

/* Reports unknown, truncated or short texts, and token ids whose meaning differs in the file. */
static void report_data(rt_run *r)
{
    const int length = r->config->data.length;
    const rt_special_use use = rt_data_special_use(r->data);
    rt_run_report_unknown(r, &r->data->unknown[RT_PART_TRAINING], "data.file");
    rt_run_report_unknown(r, &r->data->unknown[RT_PART_EVALUATION], "data.eval_file");
    if (use.count && r->config->data.special_tokens == RT_SPECIAL_TOKENS_NO)
        rt_run_say(r,
                   "warning: data.mask_id = %d hides tokens, and %zu of the first %zu tokens of "
                   "data.file have this id; set data.mask_id to an id that they do not use",
                   r->data->special.mask, use.count, use.of);
    else if (use.count)
        rt_run_say(r,
                   "warning: data.task = tokens takes the ids 0 to 3 for [PAD], [CLS], [MASK] and "
                   "[SEP], and %zu of the first %zu tokens of data.file have one of the first "
                   "three; set data.special_tokens=no if they are ordinary tokens",
                   use.count, use.of);
    if (r->data->cut.count)
        rt_run_say(r,
                   "warning: of %zu labelled texts %zu are longer than data.length = %d and are "
                   "cut at the end",
                   r->data->cut.of, r->data->cut.count, length);
}

/* Reports the evaluation texts that are shorter than data.length or a length of train.eval_lengths.
 * RT_DATA if only shorter ones would tell a training the loss at a length. */
static rt_status report_short_texts(rt_run *r, const char *key, int length)
{
    const rt_data_options *o = &r->config->data;
    const rt_short_texts found = rt_data_short_texts(r->data, length);
    const bool many = found.count > 1;
    if (found.count && found.count == found.of && !r->data->evaluation_only)
        return rt_error(RT_DATA, "%.600s: %s shorter than the %d tokens of %s",
                        o->eval_file ? o->eval_file : o->file,
                        o->eval_file ? "the text for evaluation is" : "the part for evaluation is",
                        length, key);
    if (found.count && !r->arguments->per_line)
        rt_run_note(r,
                    "%zu text%s for evaluation shorter than %s = %d (the shortest has %zu tokens): "
                    "evaluated as one shorter sequence%s",
                    found.count, many ? "s" : "", key, length, found.least, many ? " each" : "");
    return rt_ok();
}

/* Warns if data.vocab_file is no longer the vocabulary of the run. A missing file is ignored. */
static void compare_vocabulary_file(rt_run *r, const rt_data_options *o)
{
    RT_OWNED unsigned char *bytes = NULL;
    size_t size;
    rt_vocabulary *there = NULL;
    const rt_vocabulary *own = r->meaning.vocabulary;
    if (!o->vocab_file || !own || access(o->vocab_file, F_OK))
        return;
    rt_status status = rt_file_read("data.vocab_file", o->vocab_file, &bytes, &size);
    if (!status.code)
        status = rt_vocabulary_read(&there, rt_vocabulary_kind_of(own), o->vocab_file, bytes, size);
    if (status.code || !rt_vocabularies_equal(there, own))
        rt_run_say(r,
                   "warning: data.vocab_file = %.600s has changed since the run began; the run "
                   "goes on with the vocabulary of its checkpoint",
                   o->vocab_file);
    rt_vocabulary_free(there);
}

/* Returns whether the command reads data of the configuration. */
static bool reads_data(const rt_run *r)
{
    return rt_arguments_evaluate(r->arguments) || !rt_arguments_use_model(r->arguments);
}

/* Returns whether --predict continues token ids: those of the command line, or of lines. */
static bool continues_ids(const rt_run *r)
{
    const char *text = r->arguments->predict;
    return text && r->config->data.objective == RT_OBJECTIVE_LM &&
           (!strcmp(text, "-") || !text[strspn(text, "0123456789 \t\r\n")]);
}

static rt_status open_data(rt_run *r, bool own)
{
    const rt_arguments *a = r->arguments;
    const bool reads_texts =
        (a->command == RT_COMMAND_PREDICT && !continues_ids(r)) || a->command == RT_COMMAND_EMBED;
    rt_data_options o = r->config->data;
    const char *path = own ? r->found.path : r->config->train.init_from;
    rt_opening opening;
    const rt_huggingface *m = r->found.imported;
    const rt_checkpoint *c = &r->found.checkpoint;
    r->meaning =
        (rt_data_of_model){c->info.vocabulary, c->info.labels, c->words, c->types, c->patch, own};
    if (m)
        r->meaning = (rt_data_of_model){
            m->vocabulary, m->sorted_labels, m->options.vocab, m->options.token_types, 0, true};
    if (reads_texts && m && !m->vocabulary)
        return rt_huggingface_no_vocabulary(m, a->checkpoint);
    rt_opening_begin(&opening, &o, r->config, r->world, a->quiet);
    if (own && a->resume)
        compare_vocabulary_file(r, &o);
    if (own) /* the checkpoint's vocabulary is used, even if the file has changed */
        o.vocab_file = NULL;
    rt_data_of_model known = r->meaning;
    if (!own) /* a fresh run uses the labels of its own file */
        known.labels = NULL;
    rt_status status = !reads_data(r) ? rt_data_open_encoder(&r->data, &r->config->data, known)
                       : rt_arguments_evaluate(a) ? rt_data_open_evaluation(&r->data, &o, known)
                                                  : rt_data_open(&r->data, &o, known);
    rt_progress_clear(&opening.progress);
    if (!status.code && path)
        status = check_meaning(r, path, own);
    if (!status.code && reads_data(r))
        report_data(r);
    return status;
}

rt_status rt_run_open(rt_run *r, bool own)
{
    const rt_arguments *a = r->arguments;
    const rt_lengths *lengths = &r->config->train.eval_lengths;
    const bool evaluates = rt_arguments_evaluate(a) || a->command == RT_COMMAND_REPORT;
    const rt_memory_use use = a->command == RT_COMMAND_DISTANCES ? RT_USE_DISTANCES
                              : evaluates                        ? RT_USE_EVALUATE
                              : rt_arguments_use_model(a)        ? RT_USE_MODEL
                              : a->resume                        ? RT_USE_RESUME
                                                                 : RT_USE_TRAIN;
    RT_TRY(open_data(r, own));
    if (reads_data(r))
        RT_TRY(report_short_texts(r, "data.length", r->config->data.length));
    for (int i = 0; i < lengths->count && reads_data(r); i++)
        RT_TRY(report_short_texts(r, "train.eval_lengths", lengths->at[i]));
    rt_status status =
        rt_kernels_use(r->config, a, own || r->branches ? r->found.checkpoint.info.blas : "");
    if (!status.code)
        status = rt_memory_check(&r->memory, r->config, r->data, r->world, use,
                                 (double)rt_image_size(r->found.checkpoint.image));
    if (r->world)
        status = rt_run_broadcast(r, status);
    if (status.code || (r->checks && !*r->found.path && !r->config->theta.init_from))
        return status;
    /* The parameters of a blank trainer are going to be loaded. A branch has parameters that its
     * trunk lacks, and a resumed run is trained. */
    const bool blank = own && !r->branches && !a->resume && !r->world;
    RT_TRY(rt_trainer_new(
        &r->trainer, r->config, r->data,
        &(rt_trainer_options){.world = r->world, .blank = blank, .on_stop = rt_stop_request}));
    r->state = rt_trainer_state(r->trainer);
    return rt_ok();
}

int32_t rt_run_last_token(const rt_run *r)
{
    const rt_vocabulary *v = r->data->vocabulary;
    const rt_huggingface *imported = r->found.imported;
    if (!imported || imported->own || imported->open_ended || !v || v->level == RT_LEVEL_BYTE ||
        v->level == RT_LEVEL_CHAR)
        return RT_NO_ID;
    return rt_vocabulary_frame(v).last;
}

rt_checkpoint_model rt_run_checkpoint_model(const rt_run *r)
{
    return rt_checkpoint_model_of(r->state->model, &r->config->data,
                                  rt_update_rule_of(&r->config->optimizer.settings),
                                  r->state->states);
}

rt_status rt_run_save(rt_run *r)
{
    const rt_checkpoint_model model = rt_run_checkpoint_model(r);
    rt_checkpoint_info info = {.step = r->state->step,
                               .seed = r->config->run.seed,
                               .position = r->state->sequences,
                               .schedule_steps = r->config->optimizer.schedule_steps,
                               .evaluations = r->evaluations,
                               .config = r->config_text,
                               .vocabulary = (rt_vocabulary *)r->data->vocabulary,
                               .labels = (rt_labels *)r->data->labels};
    rt_status status = rt_ok();
    rt_trainer_collect(r->trainer);
    rt_trainer_return_pages(r->trainer);
    rt_kernels_describe(info.blas);
    if (r->config->optimizer.past_count) {
        info.past_schedules = rt_past_schedules_write(&r->config->optimizer, 0);
        if (!info.past_schedules)
            status = rt_out_of_memory("a checkpoint");
    }
    if (!status.code)
        status = rt_checkpoint_save_in(r->folder.checkpoints, &model, &info, r->config->train.keep);
    rt_free(info.past_schedules);
    r->unsaved = status.code != RT_OK;
    return status;
}

void rt_run_warn_of_folder(rt_run *r)
{
    const char *line = r->found.imported->warnings;
    for (int length; *line; line += length + (line[length] == '\n')) {
        length = (int)strcspn(line, "\n");
        rt_run_say(r, "warning: %.*s", length, line);
    }
}

void rt_run_warn_of_theta(rt_run *r)
{
    const rt_huggingface *imported = r->found.imported;
    const rt_transformer_options *there =
        imported ? &imported->options : &r->found.checkpoint.model;
    if (there->theta.learn && there->position.kind == r->config->model.position.kind)
        rt_run_say(r,
                   "warning: the theta that %s has learned is left behind: theta is as configured; "
                   "leave out position.* and theta.learn, scope and init to keep it",
                   r->found.path);
}

rt_status rt_run_take_history(rt_run *r, bool continues)
{
    const rt_checkpoint_info *info = &r->found.checkpoint.info;
    const char *path = r->found.path;
    rt_optimizer_options *o = &r->config->optimizer;
    const int64_t drawn = info->step * r->config->train.batch_size;
    char here[RT_KERNELS_SIZE];
    if (continues && info->seed != r->config->run.seed)
        return rt_error(RT_CHECKPOINT, "%s: seed is %" PRIu64 ", %" PRIu64 " expected", path,
                        info->seed, r->config->run.seed);
    if (continues && info->position != drawn)
        return rt_error(RT_CHECKPOINT, "%s: position is %" PRId64 ", %" PRId64 " expected", path,
                        info->position, drawn);
    o->past_count = 0;
    if (info->past_schedules) {
        const rt_status status = rt_past_schedules_read(o, info->past_schedules, info->step);
        if (status.code)
            return rt_error(RT_CHECKPOINT, "%s: %s", path, status.message);
    }
    if (continues && strcmp(info->precision, RT_PRECISION) != 0)
        rt_run_say(r,
                   "warning: %s was computed in %s, this program computes in %s: the continuation "
                   "will not be bitwise identical",
                   path, info->precision, RT_PRECISION);
    if (strcmp(info->blas, rt_kernels_describe(here)) != 0)
        rt_run_say(r, "warning: %s was computed with %s, this process computes with %s: %s", path,
                   info->blas, here,
                   continues ? "the continuation will not be bitwise identical"
                             : "the last digits will differ");
    r->state->step = (int)info->step;
    r->state->sequences = info->position;
    return rt_ok();
}

rt_status rt_run_load(rt_run *r)
{
    if (r->found.imported) {
        rt_huggingface_taken taken;
        rt_transformer *model = r->state->model;
        rt_run_warn_of_folder(r);
        RT_TRY(rt_huggingface_load(r->found.imported, model, true, &taken));
        if (!taken.head)
            rt_run_say(r, "warning: the folder has no head for this model: the head is newly "
                          "initialized, and its predictions are random");
        if (model->options.theta.learn)
            rt_transformer_theta(model, rt_transformer_theta_start(model));
        if (!taken.theta)
            rt_run_warn_of_theta(r);
        return rt_ok();
    }
    rt_checkpoint_model model = rt_run_checkpoint_model(r);
    if (!r->arguments->resume) /* optimizer states are only read for training */
        model.rule = NULL;
    RT_TRY(rt_checkpoint_load(&r->found.checkpoint, &model));
    RT_TRY(rt_run_take_history(r, r->arguments->resume));
    r->evaluations = r->found.checkpoint.info.evaluations;
    return rt_ok();
}
