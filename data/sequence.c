/* The tasks text and tokens: files of text and of token ids as one long run of tokens. */

#include "data/encode_text.h"

#include "core/memory.h"
#include "data/documents.h"
#include "data/file_list.h"
#include "data/task.h"
#include "data/token_cache.h"
#include "data/token_file.h"
#include "data/token_format.h"
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
    rt_data *data;
    group *list;
    size_t count, room, training; /* those of data.file come first */
    bool mixture;                 /* they have weights */
} groups;

static group *add_group(groups *g, const char *key, const rt_data_file *file)
{
    group *list = rt_grow(g->list, &g->room, g->count + 1, sizeof *list);
    if (!list)
        return NULL;
    g->list = list;
    g->list[g->count] = (group){.key = key, .file = *file, .text.key = key};
    return &g->list[g->count++];
}

/* Texts for training that stand one after the other are one run, unless they have weights. */
static rt_status take_list(groups *g, const char *key, const char *list)
{
    const bool any_set = !has_text(g->data->task), alone = key == eval_file || g->mixture;
    rt_data_file file;
    group *x = NULL;
    rt_status status = rt_ok();
    while (list && !status.code) {
        list = rt_data_file_take(list, any_set, &file);
        if (!x || alone || file.ids || x->file.ids)
            x = add_group(g, key, &file);
        if (!x)
            return rt_out_of_memory("the files of data");
        if (!file.ids)
            status = rt_text_files_add(&x->text, file.path);
    }
    return status;
}

static void free_groups(groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        rt_text_files_close(&g->list[i].text);
    rt_free(g->list);
}

/* Lists the files of data.file and those of data.eval_file, of which no text is read yet. */
static rt_status find_groups(groups *g)
{
    const rt_data_options *o = &g->data->options;
    const bool training = rt_data_reads_training(g->data);
    g->mixture = training && rt_data_files_weighted(o->file, !has_text(g->data->task));
    rt_status status = training ? take_list(g, data_file, o->file) : rt_ok();
    g->training = g->count;
    return status.code || !o->eval_file ? status : take_list(g, eval_file, o->eval_file);
}

/* ---- the vocabulary ---- */

static rt_level level_of(const rt_data *data)
{
    const rt_vocabulary *given = data->meaning.vocabulary;
    return given ? given->level : data->options.level;
}

/* Reads the texts for training that stay in memory: the vocabulary may be theirs. */
static rt_status load_texts(groups *g)
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < g->training && !status.code; i++) {
        group *x = &g->list[i];
        if (!x->file.ids && !rt_token_cache_takes(&g->data->options, x->text.bytes))
            status = rt_text_files_load(&x->text, level_of(g->data));
    }
    return status;
}

static rt_status find_characters(void *context, rt_vocabulary **vocabulary_new)
{
    const groups *g = context;
    bool *seen = rt_characters_new();
    rt_status status = seen ? rt_ok() : rt_out_of_memory("a vocabulary");
    for (size_t i = 0; i < g->training && !status.code; i++) {
        const rt_text_files *text = &g->list[i].text;
        if (text->memory)
            rt_characters_see(seen, text->memory, text->bytes);
        else if (text->count)
            status = rt_text_scan(text, RT_LEVEL_CHAR, rt_characters_see, seen);
    }
    if (!status.code && !memchr(seen, true, (size_t)rt_token_limit(RT_LEVEL_CHAR)))
        status = rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt for data.level = char: "
                                     "data.file has no text whose characters could be one");
    if (!status.code)
        status = rt_vocabulary_of_seen(vocabulary_new, RT_LEVEL_CHAR, g->data->options.file, seen);
    rt_free(seen);
    return status;
}

/* Characters of texts that are in the cache are there as well. */
static rt_status own_vocabulary(void *context, rt_vocabulary **vocabulary_new)
{
    const groups *g = context;
    const rt_data_options *o = &g->data->options;
    bool large = false;
    size_t count = 0;
    const rt_text_files **texts = rt_alloc(g->training + 1, sizeof *texts);
    *vocabulary_new = NULL;
    if (!texts)
        return rt_out_of_memory("a vocabulary");
    for (size_t i = 0; i < g->training; i++) {
        const rt_text_files *text = &g->list[i].text;
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

/* Finds the files and the vocabulary. */
static rt_status open_groups(groups *g)
{
    rt_status status = find_groups(g);
    if (!status.code)
        status = load_texts(g);
    if (!status.code && has_text(g->data->task))
        status = rt_text_find_vocabulary(g->data, own_vocabulary, g);
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
    if (status.code)
        rt_id_list_free(&ids);
    else
        *run = (rt_token_run){.ids = ids.ids, .width = ids.width, .count = ids.count};
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
        !rt_token_run_read(run, 0, count, ids) || !are_halves(ids, count))
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
        rt_token_run_close(&run);
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

/* Writes the ids of a file of ids, as they are. */
static rt_status copy_ids(rt_data *data, group *x, rt_token_writer *w)
{
    enum { BLOCK = 1 << 14 };
    rt_token_run run;
    int32_t block[BLOCK];
    rt_id_list ids = {.width = rt_id_width(data->vocab)};
    rt_status status = open_ids(data, x, &run);
    if (status.code)
        return status;
    for (size_t first = 0, n; first < run.count && !status.code; first += n) {
        n = run.count - first < BLOCK ? run.count - first : BLOCK;
        status = rt_token_run_read(&run, first, n, block) ? rt_ok() : rt_token_run_status(&run);
        ids.count = 0;
        for (size_t i = 0; i < n && !status.code; i++)
            rt_id_list_add(&ids, block[i]);
        if (!status.code)
            status = ids.failed ? rt_out_of_memory("a block of token ids")
                                : rt_token_writer_take(w, &ids);
    }
    rt_id_list_free(&ids);
    rt_token_run_close(&run);
    return status;
}

static rt_status write_group(rt_data *data, group *x, rt_token_writer *w)
{
    char what[1024];
    if (x->file.ids)
        return copy_ids(data, x, w);
    snprintf(what, sizeof what, "tokenizing %.900s", x->file.path);
    rt_text_encoding e = {.text = &x->text,
                          .vocabulary = data->vocabulary,
                          .options = &data->options,
                          .what = what,
                          .take = rt_token_writer_take,
                          .context = w};
    return rt_text_encode(&e);
}

static rt_status write_groups(rt_data *data, rt_token_writer *w, const char *path, const char *ids)
{
    groups g = {.data = data};
    data->options.eval_file = NULL;
    rt_status status = open_groups(&g);
    const size_t width = rt_id_width(data->vocab);
    if (!status.code && g.mixture)
        status = rt_error(RT_CONFIG, "data.file is a mixture with weights: write a file of tokens "
                                     "for each of its files");
    else if (!status.code && rt_path_ends_in(path, ".bin") && width != sizeof(uint16_t))
        status =
            rt_error(RT_CONFIG,
                     "%.800s: a .bin file holds ids of 16 bits, and the vocabulary has %d ids; "
                     "give the file a name that ends in .npy or .h5",
                     path, data->vocab);
    if (!status.code)
        status = rt_token_writer_open(w, ids, rt_path_ends_in(ids, ".npy"), width);
    for (size_t i = 0; i < g.training && !status.code; i++)
        status = write_group(data, &g.list[i], w);
    free_groups(&g);
    return status;
}

rt_status rt_sequence_write(const rt_data_options *o, rt_token_writer *w, const char *path,
                            const char *ids)
{
    rt_data *data;
    rt_status status = rt_data_check(o);
    *w = (rt_token_writer){.file.descriptor = -1};
    if (status.code)
        return status;
    if (rt_tasks[o->task].source != &rt_sequence_source)
        return rt_error(RT_CONFIG, "--encode needs data.task = text or tokens; got %s",
                        rt_data_task_name(o->task));
    status = rt_data_open_without(&data, o, (rt_data_meaning){.vocabulary = NULL});
    if (status.code)
        return status;
    status = write_groups(data, w, path, ids);
    rt_data_close(data);
    return status;
}

/* ---- the source ---- */

static rt_status open_sequence(rt_data *data)
{
    groups g = {.data = data};
    rt_status status = has_text(data->task) ? rt_text_check_given(data) : rt_ok();
    if (!status.code)
        status = open_groups(&g);
    if (!status.code)
        status = add_training(data, &g);
    if (!status.code)
        status = add_evaluation(data, &g);
    free_groups(&g);
    data->options.watch = NULL;
    return status;
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

const rt_source rt_sequence_source = {.open = open_sequence, .file_at = sequence_file_at};
