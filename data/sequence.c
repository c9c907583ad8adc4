/* The tasks text and tokens: files of text and of token ids as one long run of tokens. */

#include "data/encode_text.h"

#include "core/memory.h"
#include "data/documents.h"
#include "data/file_list.h"
#include "data/task.h"
#include "data/token_cache.h"
#include "data/token_file.h"
#include "data/token_format.h"
#include "data/tokenizers/characters_seen.h"
#include "data/tokenizers/simple_tokens.h"
#include "text/files.h"

#include <stdio.h>
#include <string.h>

static const char data_file[] = "data.file", eval_file[] = "data.eval_file";

/* The task tokens has ids alone, and any name with a data set is an HDF5 file to it. */
static bool has_text(const rt_task *task)
{
    return task->vocab == 0;
}

/* ---- the rules ---- */

void rt_text_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_windows_check(o, to);
    rt_text_check_vocabulary(o, to);
    rt_data_files_check(data_file, o->file, false, to);
    if (o->eval_file)
        rt_data_files_check(eval_file, o->eval_file, false, to);
    rt_documents_check(o, to);
}

void rt_tokens_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_data_files_check(data_file, o->file, true, to);
    if (o->eval_file)
        rt_data_files_check(eval_file, o->eval_file, true, to);
    rt_windows_check(o, to);
    rt_documents_check(o, to);
}

/* ---- the files ---- */

/* Files that are one run: texts that follow each other, or a file of ids. */
typedef struct group {
    const char *key;
    rt_data_file file; /* the first */
    rt_text_files text;
} group;

typedef struct groups {
    group *list;
    size_t count, training; /* those of data.file come first */
    bool mixture;           /* they have weights */
    char *names;            /* of texts that follow each other */
} groups;

static size_t most_files(const char *list)
{
    size_t count = 1;
    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

static void add_name(char *names, const char *path)
{
    if (*names)
        strcat(names, ",");
    strcat(names, path);
}

/* Takes the files from the list on that make one run; returns the list behind them. */
static const char *take_group(groups *g, const char *list, bool any_set, bool alone)
{
    rt_data_file next;
    group *x = &g->list[g->count++];
    const char *rest = rt_data_file_take(list, any_set, &x->file);
    strcpy(g->names, x->file.path);
    while (rest && !alone && !x->file.ids) {
        const char *behind = rt_data_file_take(rest, any_set, &next);
        if (next.ids)
            break;
        add_name(g->names, next.path);
        rest = behind;
    }
    return rest;
}

static rt_status take_list(groups *g, const rt_data *data, const char *key, const char *list)
{
    const bool any_set = !has_text(data->task), evaluates = key == eval_file;
    rt_status status = rt_ok();
    while (list && !status.code) {
        group *x = &g->list[g->count];
        list = take_group(g, list, any_set, evaluates || g->mixture);
        x->key = key;
        if (!x->file.ids)
            status = rt_text_files_open(&x->text, key, g->names);
    }
    return status;
}

static void free_groups(groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        rt_text_files_close(&g->list[i].text);
    rt_free(g->list);
    rt_free(g->names);
}

/* The files of data.file and those of data.eval_file, of which no text is read yet. */
static rt_status find_groups(groups *g, const rt_data *data)
{
    const rt_data_options *o = &data->options;
    const bool training = rt_data_reads_training(data);
    *g = (groups){.list = rt_alloc(most_files(o->file) + most_files(o->eval_file), sizeof *g->list),
                  .names = rt_alloc(RT_FILE_LIST_SIZE, 1)};
    if (!g->list || !g->names)
        return rt_out_of_memory("the files of data");
    g->mixture = training && rt_data_files_weighted(o->file, !has_text(data->task));
    rt_status status = training ? take_list(g, data, data_file, o->file) : rt_ok();
    g->training = g->count;
    return status.code || !o->eval_file ? status : take_list(g, data, eval_file, o->eval_file);
}

/* ---- the vocabulary ---- */

static rt_level level_of(const rt_data *data)
{
    const rt_vocabulary *given = data->meaning.vocabulary;
    return given ? given->level : data->options.level;
}

/* Reads the texts for training that stay in memory: the vocabulary may be theirs. */
static rt_status load_texts(groups *g, const rt_data *data)
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < g->training && !status.code; i++) {
        group *x = &g->list[i];
        if (!x->file.ids && !rt_token_cache_takes(&data->options, x->text.bytes))
            status = rt_text_files_load(&x->text, level_of(data));
    }
    return status;
}

typedef struct finding {
    const groups *g;
    const rt_data *data;
} finding;

static rt_status find_characters(void *context, rt_vocabulary **vocabulary_new)
{
    const finding *f = context;
    rt_characters_seen seen;
    rt_status status = rt_characters_seen_open(&seen) ? rt_ok() : rt_out_of_memory("a vocabulary");
    for (size_t i = 0; i < f->g->training && !status.code; i++) {
        const rt_text_files *text = &f->g->list[i].text;
        if (text->memory)
            rt_characters_seen_add(&seen, text->memory, text->bytes);
        else if (text->count)
            status = rt_text_scan(text, RT_LEVEL_CHAR, rt_characters_seen_add, &seen);
    }
    if (!status.code && !seen.count)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt for data.level = char: "
                                     "data.file has no text whose characters could be one");
    if (!status.code)
        status = rt_characters_seen_vocabulary(vocabulary_new, f->data->options.file, &seen);
    rt_characters_seen_close(&seen);
    return status;
}

/* Characters of texts that are in the cache are there as well. */
static rt_status own_vocabulary(void *context, rt_vocabulary **vocabulary_new)
{
    const finding *f = context;
    const rt_data_options *o = &f->data->options;
    bool large = false;
    size_t count = 0;
    const rt_text_files **texts = rt_alloc(f->g->training + 1, sizeof *texts);
    *vocabulary_new = NULL;
    if (!texts)
        return rt_out_of_memory("a vocabulary");
    for (size_t i = 0; i < f->g->training; i++) {
        const rt_text_files *text = &f->g->list[i].text;
        large |= rt_token_cache_takes(o, text->bytes);
        if (text->count)
            texts[count++] = text;
    }
    rt_status status =
        large ? rt_token_cache_vocabulary(vocabulary_new, texts, count, o, find_characters, context)
              : find_characters(context, vocabulary_new);
    rt_free(texts);
    return status;
}

/* ---- the runs ---- */

static rt_status take_ids(void *list, rt_id_list *ids)
{
    rt_id_list *all = list;
    *all = *ids;
    *ids = (rt_id_list){.width = all->width};
    return rt_ok();
}

/* Tokenizes a text in memory, which is freed. */
static rt_status encode_in_memory(rt_data *data, group *x, rt_token_run *run, rt_unknown *unknown)
{
    rt_id_list ids = {.width = rt_id_width(data->vocab)};
    rt_text_encoding e = {.text = &x->text,
                          .vocabulary = data->vocabulary,
                          .options = &data->options,
                          .what = "tokenizing",
                          .take = take_ids,
                          .context = &ids};
    rt_status status = rt_text_files_load(&x->text, level_of(data));
    if (!status.code)
        status = rt_text_encode(&e);
    rt_text_files_close(&x->text);
    *unknown = e.unknown;
    if (!status.code)
        status = rt_id_list_run(run, &ids);
    rt_id_list_free(&ids);
    return status;
}

/* Returns whether ids of 2 bytes seem to be the halves of ids of 4 or 8 bytes: the upper ones are
 * small, the lower ones are not. */
static bool are_halves(const int32_t *ids, size_t count)
{
    enum { SMALL = 16 };
    bool upper_small = true, lower_small = true;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= SMALL)
            *(i % 2 ? &upper_small : &lower_small) = false;
    return upper_small && !lower_small;
}

/* Warns of a .bin file without a header that seems to hold ids of more than 2 bytes. */
static void warn_of_halves(const rt_data *data, const group *x, const rt_token_run *run)
{
    enum { LEAST = 16, MOST = 4096 };
    const rt_data_watch *watch = data->options.watch;
    const rt_token_format *format = *x->file.dataset ? NULL : rt_token_format_of(x->file.path);
    const size_t count = run->count < MOST ? run->count : MOST;
    int32_t ids[MOST];
    char line[RT_PATH_SIZE + 256];
    if (!watch || !format || strcmp(format->ending, ".bin") != 0 || count < LEAST ||
        !run->kind->read(run->ids, 0, count, ids) || !are_halves(ids, count))
        return;
    snprintf(line, sizeof line,
             "warning: %s: every second id is below 16; a .bin file without a header holds ids of "
             "2 bytes: write ids of 4 bytes into a .npy file (%s)",
             x->file.path, x->key);
    watch->say(watch->context, line);
}

/* Opens a file of token ids. */
static rt_status open_ids(const rt_data *data, const group *x, rt_token_run *run)
{
    const rt_status status = rt_token_file_open(run, x->key, &x->file, data->vocab, NULL);
    if (!status.code)
        warn_of_halves(data, x, run);
    return status;
}

static rt_status open_run(rt_data *data, group *x, rt_token_run *run, rt_unknown *unknown)
{
    *unknown = (rt_unknown){0};
    if (x->file.ids)
        return open_ids(data, x, run);
    return rt_token_cache_takes(&data->options, x->text.bytes)
               ? rt_token_cache_open(run, &x->text, data->vocabulary, &data->options, unknown)
               : encode_in_memory(data, x, run, unknown);
}

/* Opens the run of a group; `before` are the bytes of the texts before it. */
static rt_status add_run(rt_data *data, group *x, int part, size_t *before)
{
    const size_t bytes = x->text.bytes;
    rt_token_run run;
    rt_unknown unknown;
    rt_status status = open_run(data, x, &run, &unknown);
    if (status.code)
        return status;
    if (part == RT_PART_EVALUATION && unknown.count && unknown.count >= run.count) {
        run.kind->close(run.ids);
        return rt_error(RT_DATA, "%.600s: data.eval_file has no token of the vocabulary",
                        x->file.path);
    }
    rt_unknown_add(&data->unknown[part], &unknown, *before);
    *before += bytes;
    return rt_token_runs_add(&data->runs, run);
}

static const char *name_of_tokens(const rt_data *data)
{
    return data->vocabulary ? rt_words_for_tokens(data->vocabulary->level).many : "ids";
}

/* A file as it is named. */
static const char *name_of(const rt_data_file *file, char name[2 * RT_PATH_SIZE])
{
    strcpy(name, file->path);
    if (*file->dataset)
        strcat(strcat(name, ":"), file->dataset);
    return name;
}

/* Each file of a mixture is a part that is trained on; else all of them are one. */
static rt_status add_training(rt_data *data, groups *g)
{
    char name[2 * RT_PATH_SIZE];
    const char *many = name_of_tokens(data);
    rt_status status = rt_ok();
    size_t before = 0;
    for (size_t i = 0; i < g->training && !status.code; i++) {
        group *x = &g->list[i];
        const size_t tokens = data->runs.tokens;
        status = add_run(data, x, RT_PART_TRAINING, &before);
        if (!status.code && g->mixture)
            status = rt_windows_train(data, name_of(&x->file, name), data->runs.tokens - tokens,
                                      x->file.weight, many);
    }
    if (!status.code && g->training && !g->mixture)
        status = rt_windows_train(data, data->options.file, data->runs.tokens, 1, many);
    return status;
}

static rt_status add_evaluation(rt_data *data, groups *g)
{
    char name[2 * RT_PATH_SIZE];
    rt_status status = rt_ok();
    size_t before = 0;
    for (size_t i = g->training; i < g->count && !status.code; i++) {
        const size_t tokens = data->runs.tokens;
        status = add_run(data, &g->list[i], RT_PART_EVALUATION, &before);
        if (!status.code)
            status = rt_windows_add(data, name_of(&g->list[i].file, name),
                                    data->runs.tokens - tokens, name_of_tokens(data));
    }
    return status;
}

/* ---- the tokens alone ---- */

/* Ids that are copied at a time. */
enum { BLOCK = 1 << 16 };

typedef rt_status taker(void *context, rt_id_list *ids);

/* The ids of a file of ids, as they are. */
static rt_status copy_ids(rt_data *data, group *x, taker *take, void *context)
{
    rt_token_run run;
    int32_t block[256];
    rt_id_list ids = {.width = rt_id_width(data->vocab)};
    rt_status status = open_ids(data, x, &run);
    if (status.code)
        return status;
    for (size_t first = 0, n; first < run.count && !status.code; first += n) {
        n = run.count - first < sizeof block / sizeof *block ? run.count - first
                                                             : sizeof block / sizeof *block;
        if (!run.kind->read(run.ids, first, n, block))
            status = run.kind->status(run.ids);
        for (size_t i = 0; i < n && !status.code; i++)
            rt_id_list_add(&ids, block[i]);
        if (!status.code && ids.failed)
            status = rt_out_of_memory("a block of token ids");
        if (!status.code && (ids.count >= BLOCK || first + n == run.count)) {
            status = take(context, &ids);
            ids.count = 0;
        }
    }
    rt_id_list_free(&ids);
    run.kind->close(run.ids);
    return status;
}

static rt_status encode_group(rt_data *data, group *x, taker *take, void *context)
{
    char what[1024];
    if (x->file.ids)
        return copy_ids(data, x, take, context);
    snprintf(what, sizeof what, "tokenizing %.900s", x->file.path);
    rt_text_encoding e = {.text = &x->text,
                          .vocabulary = data->vocabulary,
                          .options = &data->options,
                          .what = what,
                          .take = take,
                          .context = context};
    return rt_text_encode(&e);
}

static rt_status encode_groups(rt_data *data, rt_status (*begin)(void *context, int vocab),
                               taker *take, void *context)
{
    groups g;
    data->options.eval_file = NULL;
    rt_status status = find_groups(&g, data);
    if (!status.code && g.mixture)
        status = rt_error(RT_CONFIG, "data.file is a mixture with weights: write a file of tokens "
                                     "for each of its files");
    if (!status.code)
        status = load_texts(&g, data);
    if (!status.code && has_text(data->task))
        status = rt_text_find_vocabulary(data, own_vocabulary, &(finding){&g, data});
    if (!status.code)
        status = begin(context, data->vocab);
    for (size_t i = 0; i < g.training && !status.code; i++)
        status = encode_group(data, &g.list[i], take, context);
    free_groups(&g);
    return status;
}

rt_status rt_sequence_encode(const rt_data_options *o, rt_status (*begin)(void *context, int vocab),
                             taker *take, void *context)
{
    rt_data *data;
    rt_status status = rt_data_check(o);
    if (status.code)
        return status;
    if (rt_tasks[o->task].source != &rt_sequence_source)
        return rt_error(RT_CONFIG, "--encode needs data.task = text or tokens; got %s",
                        rt_data_task_name(o->task));
    status = rt_data_open_without(&data, o, (rt_data_meaning){.vocabulary = NULL});
    if (status.code)
        return status;
    status = encode_groups(data, begin, take, context);
    rt_data_close(data);
    return status;
}

/* ---- the source ---- */

static rt_status open_sequence(rt_data *data)
{
    groups g;
    rt_status status = has_text(data->task) ? rt_text_check_given(data) : rt_ok();
    if (status.code)
        return status;
    status = find_groups(&g, data);
    if (!status.code)
        status = load_texts(&g, data);
    if (!status.code && has_text(data->task))
        status = rt_text_find_vocabulary(data, own_vocabulary, &(finding){&g, data});
    if (!status.code)
        status = add_training(data, &g);
    if (!status.code)
        status = add_evaluation(data, &g);
    free_groups(&g);
    data->options.watch = NULL;
    return status;
}

static void close_sequence(rt_data *data)
{
    rt_vocabulary_free(data->own);
    rt_token_runs_close(&data->runs);
    rt_windows_close(data);
}

static rt_status status_of_sequence(const rt_data *data)
{
    return rt_token_runs_status(&data->runs);
}

/* Returns whether an earlier file of the lists is the same HDF5 file: two datasets of one file
 * count as one file. */
static bool is_there(const char *const *lists, bool any_set, const rt_data_file *file, int before)
{
    rt_data_file other;
    for (int i = 0; i < RT_PARTS; i++)
        for (const char *list = lists[i]; list && before > 0; before--) {
            list = rt_data_file_take(list, any_set, &other);
            if (*other.dataset && *file->dataset && !strcmp(other.path, file->path))
                return true;
        }
    return false;
}

/* The files for training, those for evaluation, and then the vocabulary. */
static bool sequence_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    const char *const lists[RT_PARTS] = {o->file, o->eval_file};
    const bool any_set = !has_text(&rt_tasks[o->task]);
    rt_data_file file;
    int before = 0;
    for (int i = 0; i < RT_PARTS; i++)
        for (const char *list = lists[i]; list; before++) {
            list = rt_data_file_take(list, any_set, &file);
            memcpy(path, file.path, RT_PATH_SIZE);
            if (!is_there(lists, any_set, &file, before) && n-- == 0)
                return true;
        }
    if (n != 0 || !o->vocab_file || any_set)
        return false;
    snprintf(path, RT_PATH_SIZE, "%s", o->vocab_file);
    return true;
}

const rt_source rt_sequence_source = {.open = open_sequence,
                                      .close = close_sequence,
                                      .evaluation_rows = rt_windows_evaluation_rows,
                                      .status = status_of_sequence,
                                      .file_at = sequence_file_at,
                                      .short_texts = rt_windows_short_texts};
