/* The tasks text and tokens: parses lists of files, opens files of text and of token ids as one
 * long run of tokens, cuts windows from it, and writes tokens to files. */

#include "core/memory.h"
#include "data/task.h"
#include "data/tokenizers/tokens.h"
#include "util/files.h"
#include "util/number.h"

#include <assert.h>
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

bool rt_data_keeps_documents(const rt_data *data)
{
    return rt_documents_are_cut(&data->options) && !data->options.cross;
}

/* Returns the tokens of a sequence without the one that begins it. */
static size_t window_size(const rt_data *data, int length)
{
    return (size_t)length - rt_data_begins(data);
}

/* Returns the tokens of the shortest window. Its first token is predicted from the token before it;
 * without one, a second token is needed. */
static size_t least_window(const rt_data *data)
{
    return rt_data_begins(data) ? 1 : 2;
}

static rt_status add_text(rt_window_texts *texts, size_t first, size_t count, double weight)
{
    if (!rt_grow(&texts->list, &texts->capacity, texts->count + 1, sizeof *texts->list))
        return rt_out_of_memory("the files of data");
    texts->list[texts->count++] = (rt_window_text){first, count, weight};
    return rt_ok();
}

/* Adds the last `count` tokens of the runs as a part of data.file. RT_DATA, with `name` and `many`
 * (the plural of its tokens), if they have no training window or their tail no evaluation window.
 */
static rt_status add_training_part(rt_data *data, const char *name, size_t count, double weight,
                                   const char *many)
{
    const rt_data_options *o = &data->options;
    const size_t first = data->runs.tokens - count, window = window_size(data, o->length);
    const size_t tail = o->eval_file ? 0 : (size_t)(o->eval_fraction * (double)count);
    const size_t kept = o->eval_fraction > 0 ? tail : count;
    rt_status status = rt_ok();
    if (!o->eval_file && data->evaluation_only && kept < least_window(data))
        status = rt_error(RT_DATA,
                          "%.600s: data.eval_fraction %g leaves none of its %zu %s for evaluation; "
                          "set data.eval_fraction=0 to evaluate all of them",
                          name, o->eval_fraction, count, many);
    else if (!o->eval_file && !data->evaluation_only && (count - tail < window || kept < window))
        status =
            rt_error(RT_DATA,
                     "%.600s: data.length %d needs %zu %s for training and as many for "
                     "evaluation; data.file has %zu: %zu for training and %zu for evaluation "
                     "(data.eval_fraction %g)",
                     name, o->length, window, many, count, count - tail, kept, o->eval_fraction);
    else if (o->eval_file && !data->evaluation_only && count < window)
        status =
            rt_error(RT_DATA, "%.600s: data.length %d needs %zu %s for training; data.file has %zu",
                     name, o->length, window, many, count);
    if (!status.code)
        status = add_text(&data->parts, first, count - tail, weight);
    if (!status.code && !o->eval_file)
        status = add_text(&data->texts, first + count - kept, kept, 0);
    data->weight += weight;
    return status;
}

/* Adds the last `count` tokens of the runs as an evaluation text. RT_DATA if they have no window.
 */
static rt_status add_evaluation_text(rt_data *data, const char *path, size_t count,
                                     const char *many)
{
    const int length = data->options.length;
    const size_t first = data->runs.tokens - count,
                 least = data->evaluation_only ? least_window(data) : window_size(data, length);
    if (count < least)
        return rt_error(
            RT_DATA,
            "%.600s: data.eval_file must hold at least %zu %s (data.length %d); it holds %zu", path,
            least, many, length, count);
    return add_text(&data->texts, first, count, 0);
}

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
    /* mostly enough, so that ids are not copied; memory without ids is never touched */
    rt_id_list_reserve(&ids, x->text.bytes + x->text.count);
    const rt_status status = rt_text_encode(&e);
    *unknown = e.unknown;
    data->memory += ids.count * ids.width;
    if (!status.code)
        return rt_token_runs_add_ids(&data->runs, ids);
    rt_id_list_free(&ids);
    return status;
}

/* Opens a file of token ids. Warns if a .bin file without a header seems to hold ids of 4 or 8
 * bytes: the upper halves are small, the lower ones are not. */
static rt_status open_ids(rt_data *data, const group *x)
{
    enum { LEAST = 16, MOST = 4096, SMALL = 16 };
    const rt_data_watch *watch = data->options.watch;
    const size_t first = data->runs.tokens;
    int32_t ids[MOST];
    char line[RT_PATH_SIZE + 256];
    bool upper_small = true, lower_small = true;
    const rt_status status =
        rt_token_runs_add_file(&data->runs, x->key, &x->file, data->vocab, NULL);
    const size_t there = data->runs.tokens - first, count = there < MOST ? there : MOST;
    if (status.code || !watch || *x->file.dataset || !rt_path_ends_in(x->file.path, ".bin") ||
        count < LEAST || !rt_token_runs_read(&data->runs, first, count, ids))
        return status;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= SMALL)
            *(i % 2 ? &upper_small : &lower_small) = false;
    if (!upper_small || lower_small)
        return status;
    snprintf(line, sizeof line,
             "warning: %s: every second id is below 16; a .bin file without a header holds ids of "
             "2 bytes: write ids of 4 bytes into a .npy file (%s)",
             x->file.path, x->key);
    watch->say(watch->context, line);
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
            status = add_evaluation_text(data, name, count, many);
        else if (g->mixture)
            status = add_training_part(data, name, count, x->file.weight, many);
        else if (i + 1 == g->training)
            status = add_training_part(data, data->options.file, data->runs.tokens, 1, many);
    }
    return status;
}

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

rt_status rt_sequence_write(rt_data *data, rt_token_writer *w, const char *path, const char *ids)
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

rt_status rt_sequence_open(rt_data *data)
{
    groups g = {.data = data, .training_text.key = data_file};
    rt_status status = open_groups(&g);
    if (!status.code)
        status = add_tokens(data, &g);
    free_groups(&g);
    return status;
}

/* Returns the windows of a text. Tokens after the last full window are skipped. For evaluation
 * only, a shorter text is one window. */
static size_t rows_of(const rt_data *data, const rt_window_text *text, int length)
{
    const size_t rows = text->count / window_size(data, length);
    return rows || !data->evaluation_only ? rows : 1;
}

long rt_windows_evaluation_rows(const rt_data *data, int length)
{
    size_t rows = 0;
    for (size_t i = 0; i < data->texts.count; i++)
        rows += rows_of(data, data->texts.list + i, length);
    return (long)rows;
}

rt_short_texts rt_data_short_texts(const rt_data *data)
{
    rt_short_texts found = {.least = SIZE_MAX};
    for (size_t i = 0; i < data->texts.count; i++) {
        const size_t count = data->texts.list[i].count;
        if (count >= window_size(data, data->options.length))
            continue;
        found.count++;
        found.least = count < found.least ? count : found.least;
    }
    return found;
}

/* Numbers of the random draws of a training window; those of documents follow. A window that is
 * drawn again adds a multiple of DRAWS to them. */
enum { TRIES = 16, DRAW_START = 0, DRAW_PART, DRAW_DOCUMENT, DRAWS = DRAW_DOCUMENT + 2 * TRIES };

static rt_random randomness(rt_draw draw)
{
    return (rt_random){draw.seed, draw.step, RT_STREAM_WINDOW};
}

/* Returns a uniform number in 0 ... n-1; for n above 32 bits biased to small numbers by less than
 * 2^-16. */
static size_t draw_below(rt_draw draw, int number, size_t n)
{
    uint32_t words[4];
    if (n <= UINT32_MAX)
        return rt_random_below(randomness(draw), rt_draw_index(draw, number), (uint32_t)n);
    rt_random_words(randomness(draw), rt_draw_index(draw, number), words);
    return (size_t)(((uint64_t)words[0] << 32 | words[1]) % n);
}

/* Draws a part with a probability in proportion to its weight. */
static const rt_window_text *draw_part(const rt_data *data, rt_draw draw, int base)
{
    const rt_window_text *part = data->parts.list;
    if (data->parts.count == 1)
        return part;
    const uint64_t index = rt_draw_index(draw, base + DRAW_PART);
    double at = data->weight * rt_random_uniform(randomness(draw), index);
    for (; part + 1 < data->parts.list + data->parts.count && at >= part->weight; part++)
        at -= part->weight;
    return part;
}

/* Moves the longest piece of `count` ids within one document to the front and pads the others.
 * Returns its length. */
static int longest_document(const rt_data *data, int32_t *ids, int count)
{
    int first = 0, longest = 0, start = 0;
    for (int i = 0; i < count; i++) {
        const int size = i + 1 - start;
        if (size > longest) {
            longest = size;
            first = start;
        }
        if (ids[i] == data->special.sep)
            start = i + 1;
    }
    memmove(ids, ids + first, (size_t)longest * sizeof *ids);
    for (int i = longest; i < count; i++)
        ids[i] = data->special.pad;
    return longest;
}

/* Draws a training window within one document: a token, then a window that holds it. A document
 * shorter than a window is one window. If it is too short to predict a token, draws again. */
static rt_window_text training_document(const rt_data *data, rt_draw draw, int length, int base)
{
    const rt_window_text *part = draw_part(data, draw, base);
    const size_t window = window_size(data, length), part_end = part->first + part->count;
    const int32_t border = data->special.sep;
    rt_window_text found = {part->first, window, 0};
    for (int i = 0; i < TRIES; i++) {
        const int number = base + DRAW_DOCUMENT + 2 * i;
        const size_t token = part->first + draw_below(draw, number, part->count);
        const size_t from = token - part->first >= window ? token - window + 1 : part->first;
        const size_t to = part_end - token > window ? token + window : part_end;
        const size_t before = rt_token_runs_find(&data->runs, from, token, border, true);
        const size_t behind = rt_token_runs_find(&data->runs, token, to, border, false);
        const size_t start = before == SIZE_MAX ? from : before + 1;
        const size_t end = behind < to ? behind + 1 : to;
        found.count = end - start < window ? end - start : window;
        const size_t last = end - found.count < token ? end - found.count : token;
        found.first = start + draw_below(draw, number + 1, last - start + 1);
        if (found.count >= least_window(data))
            break;
    }
    return found;
}

/* Returns the window of a sequence, by the draws from `base` on. Evaluation windows follow each
 * other without gaps within a text, text after text. */
static rt_window_text window_of(const rt_data *data, rt_draw draw, int length, int base)
{
    const size_t window = window_size(data, length);
    if (!draw.step) {
        const size_t rows = (size_t)rt_windows_evaluation_rows(data, length);
        const rt_window_text *text = data->texts.list;
        assert(rows > 0);
        size_t row = draw.sequence % rows;
        for (; row >= rows_of(data, text, length); text++)
            row -= rows_of(data, text, length);
        const size_t left = text->count - row * window;
        return (rt_window_text){text->first + row * window, left < window ? left : window, 0};
    }
    if (rt_data_keeps_documents(data))
        return training_document(data, draw, length, base);
    const rt_window_text *part = draw_part(data, draw, base);
    assert(part->count >= window);
    const size_t first = draw_below(draw, base + DRAW_START, part->count - window + 1);
    return (rt_window_text){part->first + first, window, 0};
}

/* Returns whether the objective predicts a token of a window. */
static bool can_predict(const rt_data *data, const int32_t *ids, int count)
{
    bool can = data->options.objective != RT_OBJECTIVE_MLM;
    for (int t = 0; t < count && !can; t++)
        can = rt_data_masks(data, ids[t]);
    return can;
}

/* Draws a row; of training, again if the objective predicts none of its tokens. One that cannot be
 * read stays padding. */
void rt_windows_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int length = row.length, begin = rt_data_begins(data);
    rt_window_text window;
    bool read;
    int i = 0;
    do {
        window = window_of(data, draw, length, i * DRAWS);
        row.length = (int)window.count + begin;
        read = rt_token_runs_read(&data->runs, window.first, window.count, row.ids + begin);
    } while (read && draw.step && !can_predict(data, row.ids + begin, (int)window.count) &&
             ++i < TRIES);
    for (int t = read ? row.length : 0; t < length; t++)
        row.ids[t] = data->special.pad;
    if (!read)
        return;
    if (!draw.step && rt_data_keeps_documents(data))
        row.length = begin + longest_document(data, row.ids + begin, (int)window.count);
    if (begin)
        row.ids[0] = data->special.cls;
    memset(row.mask, 1, (size_t)row.length);
    rt_objective_apply(data, draw, row);
}
