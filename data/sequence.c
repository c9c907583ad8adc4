/* The tasks text and tokens: parses lists of files, opens files of text and of token ids as one
 * long run of tokens, and writes tokens to files. */

#include "core/memory.h"
#include "data/task.h"
#include "data/tokenizers/tokens.h"
#include "text/files.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

static const char data_file[] = "data.file", eval_file[] = "data.eval_file";

/* Range of a weight, so that sums of weights neither overflow nor lose a weight to underflow. */
#define LEAST_WEIGHT 1e-100
#define MOST_WEIGHT  1e100

static bool is_hdf5_name(const char *path)
{
    return rt_path_ends_in(path, ".h5") || rt_path_ends_in(path, ".hdf5");
}

/* Returns the ':' before the data set in "file.h5:/dataset", NULL if there is none. A path may
 * contain ":/", so it is the last one. */
static char *find_dataset(char *name, bool any_set)
{
    char *colon = NULL;
    for (char *at = name; (at = strstr(at, ":/")); at++)
        colon = at;
    if (!colon || colon == name)
        return NULL;
    *colon = '\0';
    const bool is_set = any_set || is_hdf5_name(name);
    *colon = ':';
    return is_set ? colon : NULL;
}

/* Returns the '*' before the weight of a file, NULL if there is none. A name may contain '*'; a
 * weight has the form of a number, even if it is out of range. */
static char *find_weight(char *name)
{
    char *star = strrchr(name, '*');
    const char *text = star ? star + 1 + strspn(star + 1, " ") : "";
    return star && star > name && !text[strspn(text, "+-.0123456789eE")] &&
                   strpbrk(text, "0123456789")
               ? star
               : NULL;
}

const char *rt_data_file_take(const char *list, bool any_set, rt_data_file *file)
{
    char name[RT_FILE_LIST_SIZE];
    rt_list_item item;
    const char *rest = rt_list_parse(list, &item);
    rt_list_item_copy(item, name, sizeof name);
    *file = (rt_data_file){.weight = 1};
    char *star = find_weight(name);
    if (star) {
        *star = '\0';
        file->weighted = true;
        if (!rt_number_parse(star + 1 + strspn(star + 1, " "), &file->weight))
            file->weight = 0;
    }
    for (size_t end = strlen(name); star && end && name[end - 1] == ' '; end--)
        name[end - 1] = '\0';
    char *colon = find_dataset(name, any_set);
    if (colon) {
        *colon = '\0';
        snprintf(file->dataset, sizeof file->dataset, "%.*s", RT_PATH_SIZE - 1, colon + 1);
    }
    file->ids = colon || rt_path_ends_in(name, ".bin") || rt_path_ends_in(name, ".npy");
    file->size = strlen(name);
    snprintf(file->path, sizeof file->path, "%.*s", RT_PATH_SIZE - 1, name);
    return rest;
}

/* Returns whether a file of a list has a weight. */
static bool are_weighted(const char *list, bool any_set)
{
    rt_data_file file = {.weighted = false};
    while (list && !file.weighted)
        list = rt_data_file_take(list, any_set, &file);
    return file.weighted;
}

/* Checks the list of a key up to the first file that breaks a rule. */
static void check_list(const char *key, const char *list, bool only_ids, rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", key);
    rt_data_file file;
    for (bool good = true; list && good;) {
        list = rt_data_file_take(list, only_ids, &file);
        good = false;
        if (only_ids && !file.ids)
            rt_rule_broken(to, options,
                           "%s must name a file and a data set for tokens, as in ids.h5:/train, or "
                           "a file that ends in .bin or .npy; got '%.600s'",
                           key, file.path);
        else if (!file.ids && is_hdf5_name(file.path))
            rt_rule_broken(to, options,
                           "%s must name the data set of an HDF5 file behind it, as in "
                           "ids.h5:/train; got '%.600s'",
                           key, file.path);
        else if (!file.size)
            rt_rule_broken(to, options, "%s must name a file; got an empty name", key);
        else if (file.size >= RT_PATH_SIZE)
            rt_rule_broken(to, options, "%s must name files with less than %d bytes; got %zu", key,
                           RT_PATH_SIZE, file.size);
        else if (file.weighted && key == eval_file)
            rt_rule_broken(to, options, "%s takes no weights; got one for %.600s", key, file.path);
        else if (!(file.weight >= LEAST_WEIGHT && file.weight <= MOST_WEIGHT))
            rt_rule_broken(to, options, "%s: the weight of %.600s must be a number from %g to %g",
                           key, file.path, LEAST_WEIGHT, MOST_WEIGHT);
        else
            good = true;
    }
}

void rt_sequence_check(const rt_data_options *o, rt_rule_sink to)
{
    const bool only_ids = rt_tasks[o->task].token_ids;
    check_list(data_file, o->file ? o->file : "", only_ids, to);
    check_list(eval_file, o->eval_file, only_ids, to);
}

/* Parses the next file of a list. A task with one file uses the whole list. */
static const char *take_next(const rt_task *task, const char *list, rt_data_file *file)
{
    if (task->files == RT_FILE_LIST)
        return rt_data_file_take(list, task->token_ids, file);
    *file = (rt_data_file){.weight = 1};
    snprintf(file->path, sizeof file->path, "%s", list);
    return NULL;
}

/* Returns whether one of the first `before` files of the lists is the same HDF5 file: its data sets
 * count as one file. */
static bool is_there(const rt_task *task, const char *const lists[RT_PARTS],
                     const rt_data_file *file, int before)
{
    rt_data_file other;
    for (int i = 0; i < RT_PARTS; i++)
        for (const char *list = lists[i]; list && before > 0; before--) {
            list = take_next(task, list, &other);
            if (*other.dataset && *file->dataset && !strcmp(other.path, file->path))
                return true;
        }
    return false;
}

bool rt_data_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    const rt_task *task = &rt_tasks[o->task];
    const char *const lists[RT_PARTS] = {o->file, o->eval_file};
    rt_data_file file;
    int before = 0;
    for (int i = 0; i < RT_PARTS && task->files != RT_NO_FILE; i++)
        for (const char *list = lists[i]; list; before++) {
            list = take_next(task, list, &file);
            if (!is_there(task, lists, &file, before) && n-- == 0) {
                memcpy(path, file.path, RT_PATH_SIZE);
                return true;
            }
            if (task->images && n-- == 0)
                return rt_image_labels_path(path, file.path);
        }
    if (n != 0 || !o->vocab_file || task->files == RT_NO_FILE || task->vocab)
        return false;
    snprintf(path, RT_PATH_SIZE, "%s", o->vocab_file);
    return true;
}

/* ---- texts ---- */

/* Files that form one run: consecutive texts, or one file of ids. */
typedef struct group {
    const char *key;
    rt_data_file file; /* the first file */
    rt_text_files text;
} group;

typedef struct groups {
    rt_data *data;
    group *list;
    size_t count, capacity, training; /* training: groups of data.file, which come first */
    bool mixture;                     /* data.file has weights */
    rt_text_files training_text;      /* all texts of data.file, for their characters */
} groups;

/* Adds the files of a list. Consecutive training texts form one group, unless they have weights. */
static rt_status take_list(groups *g, const char *key, const char *list)
{
    const bool any_set = g->data->task->token_ids, alone = key == eval_file || g->mixture;
    const bool by_character = rt_data_takes_characters(g->data);
    const size_t first = g->count;
    rt_data_file file;
    rt_status status = rt_ok();
    while (list && !status.code) {
        list = rt_data_file_take(list, any_set, &file);
        if (g->count == first || alone || file.ids || g->list[g->count - 1].file.ids) {
            if (!rt_grow(&g->list, &g->capacity, g->count + 1, sizeof *g->list))
                return rt_out_of_memory("the files of data");
            g->list[g->count++] = (group){.key = key, .file = file, .text.key = key};
        }
        if (!file.ids)
            status = rt_text_files_add(&g->list[g->count - 1].text, file.path);
        if (!file.ids && key == data_file && by_character && !status.code)
            status = rt_text_files_add(&g->training_text, file.path);
    }
    return status;
}

static void free_groups(groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        rt_text_files_close(&g->list[i].text);
    rt_text_files_close(&g->training_text);
    rt_free(g->list);
}

/* Lists the files of data.file and data.eval_file and finds their vocabulary. Refuses texts whose
 * tokens would need too much memory, before reading them. */
static rt_status open_groups(groups *g)
{
    const rt_data_options *o = &g->data->options;
    const bool training = rt_data_reads_training(g->data);
    g->mixture = training && are_weighted(o->file, g->data->task->token_ids);
    rt_status status = training ? take_list(g, data_file, o->file) : rt_ok();
    g->training = g->count;
    if (!status.code && o->eval_file)
        status = take_list(g, eval_file, o->eval_file);
    bool large = false; /* the tokens of a text of data.file are cached, and so is its vocabulary */
    for (size_t i = 0; i < g->count && !status.code; i++) {
        const rt_text_files *text = &g->list[i].text;
        const bool cached = rt_token_cache_takes(o, text->bytes);
        large |= cached && i < g->training;
        if (text->bytes > RT_FILES_LIMIT && !cached)
            status =
                rt_error(RT_DATA, "%.800s: %s can be read into memory up to %zu bytes; it has %zu",
                         text->list[0].path, text->key, RT_FILES_LIMIT, text->bytes);
    }
    if (status.code || g->data->task->token_ids)
        return status;
    if (rt_data_takes_characters(g->data))
        status = (large ? rt_token_cache_vocabulary : rt_text_characters)(&g->data->own,
                                                                          &g->training_text, o);
    return status.code ? status : rt_text_find_vocabulary(g->data);
}

/* ---- runs ---- */

static rt_status keep_ids(void *list, rt_id_list *ids)
{
    rt_id_list *all = list;
    rt_id_list_reserve(all, all->count + ids->count);
    if (all->failed)
        return rt_out_of_memory("the text of a file");
    memcpy((char *)all->ids + all->count * all->width, ids->ids, ids->count * ids->width);
    all->count += ids->count;
    return rt_ok();
}

static rt_status encode_in_memory(rt_data *data, const group *x, rt_unknown *unknown)
{
    rt_id_list ids = {.width = rt_id_width(data->vocab)};
    rt_text_encoding e = {.text = &x->text,
                          .vocabulary = data->vocabulary,
                          .options = &data->options,
                          .take = keep_ids,
                          .context = &ids};
    const rt_status status = rt_text_encode(&e);
    *unknown = e.unknown;
    if (!status.code)
        return rt_token_runs_add_ids(&data->runs, ids);
    rt_id_list_free(&ids);
    return status;
}

/* Warns if a .bin file without a header seems to hold ids of 4 or 8 bytes: the upper halves are
 * small, the lower ones are not. Its tokens start at `first`. */
static void warn_of_halves(const rt_data *data, const group *x, size_t first)
{
    enum { LEAST = 16, MOST = 4096, SMALL = 16 };
    const rt_data_watch *watch = data->options.watch;
    const size_t there = data->runs.tokens - first, count = there < MOST ? there : MOST;
    int32_t ids[MOST];
    char line[RT_PATH_SIZE + 256];
    bool upper_small = true, lower_small = true;
    if (!watch || *x->file.dataset || !rt_path_ends_in(x->file.path, ".bin") || count < LEAST ||
        !rt_token_runs_read(&data->runs, first, count, ids))
        return;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= SMALL)
            *(i % 2 ? &upper_small : &lower_small) = false;
    if (!upper_small || lower_small)
        return;
    snprintf(line, sizeof line,
             "warning: %s: every second id is below 16; a .bin file without a header holds ids of "
             "2 bytes: write ids of 4 bytes into a .npy file (%s)",
             x->file.path, x->key);
    watch->say(watch->context, line);
}

/* Opens a file of token ids, and warns if they look like halves of longer ids. */
static rt_status open_ids(rt_data *data, const group *x)
{
    const size_t first = data->runs.tokens;
    const rt_status status =
        rt_token_runs_add_file(&data->runs, x->key, &x->file, data->vocab, NULL);
    if (!status.code)
        warn_of_halves(data, x, first);
    return status;
}

/* Adds the tokens of all groups. Each file of a mixture is a training part; without weights all
 * files are one part. Each evaluation file is a separate text. */
static rt_status add_tokens(rt_data *data, groups *g)
{
    char name[2 * RT_PATH_SIZE];
    const char *many = data->vocabulary ? rt_words_for_tokens(data->vocabulary->level).many : "ids";
    rt_status status = rt_ok();
    size_t before[RT_PARTS] = {0}; /* bytes of the texts of each part */
    for (size_t i = 0; i < g->count && !status.code; i++) {
        group *x = &g->list[i];
        const int part = i < g->training ? RT_PART_TRAINING : RT_PART_EVALUATION;
        const size_t first = data->runs.tokens, bytes = x->text.bytes;
        rt_unknown unknown = {0};
        if (x->file.ids)
            status = open_ids(data, x);
        else if (rt_token_cache_takes(&data->options, bytes))
            status = rt_token_cache_open(&data->runs, &x->text, data->vocabulary, &data->options,
                                         &unknown);
        else
            status = encode_in_memory(data, x, &unknown);
        const size_t count = data->runs.tokens - first;
        if (!status.code && part == RT_PART_EVALUATION && unknown.count && unknown.count >= count)
            status = rt_error(RT_DATA, "%.600s: data.eval_file has no token of the vocabulary",
                              x->file.path);
        if (status.code)
            break;
        rt_unknown_add(&data->unknown[part], &unknown, before[part]);
        before[part] += bytes;
        snprintf(name, sizeof name, "%s%s%s", x->file.path, *x->file.dataset ? ":" : "",
                 x->file.dataset);
        if (part == RT_PART_EVALUATION)
            status = rt_windows_add(data, name, count, many);
        else if (g->mixture)
            status = rt_windows_train(data, name, count, x->file.weight, many);
        else if (i + 1 == g->training)
            status = rt_windows_train(data, data->options.file, data->runs.tokens, 1, many);
    }
    return status;
}

/* ---- writing token files ---- */

static rt_status copy_ids(rt_data *data, const group *x, rt_token_writer *w)
{
    enum { BLOCK = 1 << 14 };
    int32_t block[BLOCK];
    rt_id_list ids = {.width = w->width};
    size_t first = data->runs.tokens;
    rt_status status = open_ids(data, x);
    for (size_t n; first < data->runs.tokens && !status.code; first += n) {
        const size_t left = data->runs.tokens - first;
        n = left < BLOCK ? left : BLOCK;
        if (!rt_token_runs_read(&data->runs, first, n, block))
            status = rt_data_status(data);
        ids.count = 0;
        for (size_t i = 0; i < n && !status.code; i++)
            rt_id_list_add(&ids, block[i]);
        if (!status.code)
            status = ids.failed ? rt_out_of_memory("a block of token ids")
                                : rt_token_writer_take(w, &ids);
    }
    rt_token_runs_close(&data->runs); /* only one file is open at a time */
    rt_id_list_free(&ids);
    return status;
}

/* Writes the tokens of data.file to the file `ids`, from which `path` is made. If the writer was
 * opened, the caller closes it. */
static rt_status write_groups(rt_data *data, rt_token_writer *w, const char *path, const char *ids)
{
    groups g = {.data = data, .training_text.key = data_file};
    data->options.eval_file = NULL;
    rt_status status = rt_ok();
    if (are_weighted(data->options.file, data->task->token_ids))
        status = rt_error(RT_CONFIG, "data.file is a mixture with weights: write a file of tokens "
                                     "for each of its files");
    if (!status.code)
        status = open_groups(&g);
    const size_t width = rt_id_width(data->vocab);
    if (!status.code && rt_path_ends_in(path, ".bin") && width != sizeof(uint16_t))
        status =
            rt_error(RT_CONFIG,
                     "%.800s: a .bin file holds ids of 16 bits, and the vocabulary has %d ids; "
                     "give the file a name that ends in .npy or .h5",
                     path, data->vocab);
    if (!status.code)
        status = rt_token_writer_open(w, ids, rt_path_ends_in(ids, ".npy"), width);
    for (size_t i = 0; i < g.training && !status.code; i++) {
        rt_text_encoding e = {.text = &g.list[i].text,
                              .vocabulary = data->vocabulary,
                              .options = &data->options,
                              .watched = true,
                              .take = rt_token_writer_take,
                              .context = w};
        status = g.list[i].file.ids ? copy_ids(data, &g.list[i], w) : rt_text_encode(&e);
    }
    free_groups(&g);
    return status;
}

rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count)
{
    char ids[RT_PATH_SIZE];
    rt_token_writer w = {.file.descriptor = -1};
    rt_data *data;
    const bool hdf5 = is_hdf5_name(path);
    *count = 0;
    if (strlen(path) >= RT_PATH_SIZE - sizeof ".ids" RT_TEMPORARY_SUFFIX)
        return rt_error(RT_CONFIG, "--encode: the path of the file is too long");
    if (!hdf5 && !rt_path_ends_in(path, ".npy") && !rt_path_ends_in(path, ".bin"))
        return rt_error(RT_CONFIG,
                        "--encode writes a file whose name ends in .h5, .npy or .bin; got '%.600s'",
                        path);
    rt_status status = rt_data_check(o);
    if (!status.code && rt_tasks[o->task].files != RT_FILE_LIST)
        status = rt_error(RT_CONFIG, "--encode needs data.task = text or tokens; got %s",
                          rt_data_task_name(o->task));
    if (!status.code)
        status = rt_data_open_encoder(&data, o, (rt_data_of_model){.vocabulary = NULL});
    if (status.code)
        return status;
    snprintf(ids, sizeof ids, "%s%s", path, hdf5 ? ".ids" : "");
    status = write_groups(data, &w, path, ids);
    rt_data_close(data);
    *count = w.count;
    if (!hdf5)
        return rt_token_writer_close(&w, status);
    /* HDF5 needs the number of ids in advance, so they are copied from a file */
    status = rt_durable_sync(&w.file, status);
    if (!status.code) {
        rt_durable_file file;
        status = rt_durable_open(&file, path);
        if (!status.code && !rt_token_dataset_write(file.temporary, &w))
            status = rt_error(RT_IO, "cannot write %.800s", file.temporary);
        status = rt_durable_close(&file, status);
    }
    rt_durable_discard(&w.file);
    return status;
}

rt_status rt_sequence_open(rt_data *data)
{
    groups g = {.data = data, .training_text.key = data_file};
    rt_status status = open_groups(&g);
    if (!status.code)
        status = add_tokens(data, &g);
    free_groups(&g);
    data->options.watch = NULL;
    return status;
}
