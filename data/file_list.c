#include "data/task.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

/* Range of a weight, so that sums of weights neither overflow nor lose a weight to underflow. */
#define LEAST_WEIGHT 1e-100
#define MOST_WEIGHT  1e100

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
    const bool is_set = any_set || rt_path_ends_in(name, ".h5") || rt_path_ends_in(name, ".hdf5");
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

bool rt_data_files_weighted(const char *list, bool any_set)
{
    rt_data_file file = {.weighted = false};
    while (list && !file.weighted)
        list = rt_data_file_take(list, any_set, &file);
    return file.weighted;
}

static bool check_file(const char *key, const rt_data_file *file, bool only_ids, rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", key);
    const bool mixes = !strcmp(key, "data.file");
    if (only_ids && !file->ids)
        rt_rule_broken(to, options,
                       "%s must name a file and a data set for tokens, as in ids.h5:/train, or a "
                       "file that ends in .bin or .npy; got '%.600s'",
                       key, file->path);
    else if (!file->ids &&
             (rt_path_ends_in(file->path, ".h5") || rt_path_ends_in(file->path, ".hdf5")))
        rt_rule_broken(to, options,
                       "%s must name the data set of an HDF5 file behind it, as in ids.h5:/train; "
                       "got '%.600s'",
                       key, file->path);
    else if (!file->size)
        rt_rule_broken(to, options, "%s must name a file; got an empty name", key);
    else if (file->size >= RT_PATH_SIZE)
        rt_rule_broken(to, options, "%s must name files with less than %d bytes; got %zu", key,
                       RT_PATH_SIZE, file->size);
    else if (file->weighted && !mixes)
        rt_rule_broken(to, options, "%s takes no weights; got one for %.600s", key, file->path);
    else if (!(file->weight >= LEAST_WEIGHT && file->weight <= MOST_WEIGHT))
        rt_rule_broken(to, options, "%s: the weight of %.600s must be a number from %g to %g", key,
                       file->path, LEAST_WEIGHT, MOST_WEIGHT);
    else
        return true;
    return false;
}

void rt_data_files_check(const char *key, const char *list, bool only_ids, rt_rule_sink to)
{
    rt_data_file file;
    list = list ? list : "";
    for (bool good = true; list && good;) {
        list = rt_data_file_take(list, only_ids, &file);
        good = check_file(key, &file, only_ids, to);
    }
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
