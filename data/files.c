/* Lists of files: parsing, rules, and the paths of all files that are read. */

#include "data/files.h"

#include "core/memory.h"
#include "data/json_lines.h"
#include "data/token_formats.h"

#include <stdio.h>
#include <string.h>

/* Range of a weight, so that sums of weights neither overflow nor lose a weight to underflow. */
#define LEAST_WEIGHT 1e-100
#define MOST_WEIGHT  1e100

static bool has_sets(const char *path)
{
    const rt_token_format *format = rt_token_format_of(path);
    return format && format->sets;
}

/* Returns the ':' before the data set in "file.h5:/dataset", NULL if there is none. A path may
 * contain ":/", so it is the last one. With `any_set` any name may have a data set. */
static char *find_dataset(char *name, bool any_set)
{
    char *colon = NULL;
    for (char *at = name; (at = strstr(at, ":/")); at++)
        colon = at;
    if (!colon || colon == name)
        return NULL;
    *colon = '\0';
    const bool is_set = any_set || has_sets(name);
    *colon = ':';
    return is_set ? colon : NULL;
}

/* Ends a name before the '*' of its weight, which is returned; NULL if it has none. A name may
 * contain '*'; a weight has the form of a number, even if it is out of range. */
static const char *cut_weight(char *name)
{
    char *star = strrchr(name, '*');
    const char *text = star ? star + 1 + strspn(star + 1, " ") : "";
    if (!star || star == name || text[strspn(text, "+-.0123456789eE")] ||
        !strpbrk(text, "0123456789"))
        return NULL;
    *star = '\0';
    for (size_t end = strlen(name); end && name[end - 1] == ' '; end--)
        name[end - 1] = '\0';
    return text;
}

/* Splits the name of a file of a list into path, data set and weight. */
static void split_name(rt_data_file *file, char *name, bool any_set)
{
    const char *weight = cut_weight(name);
    file->weighted = weight;
    if (weight && !rt_number_parse(weight, &file->weight))
        file->weight = 0;
    char *colon = find_dataset(name, any_set);
    file->ids = colon ? &rt_hdf5_format : has_sets(name) ? NULL : rt_token_format_of(name);
    if (colon) {
        *colon = '\0';
        file->dataset = rt_intern_text(colon + 1);
    }
    file->path = rt_intern_text(name);
}

/* Adds the files of a key. */
static void add_files(rt_data_files *files, int part, const char *key, const char *value)
{
    const rt_task *task = &rt_tasks[files->options->task];
    char name[RT_FILE_LIST_SIZE];
    while (value && !files->failed) {
        rt_data_file file = {part, key, {value, strlen(value)}, NULL, "", NULL, false, 1};
        if (task->kind == RT_DATA_WINDOWS) {
            value = rt_list_parse(value, &file.item);
            rt_list_item_copy(file.item, name, sizeof name);
            split_name(&file, name, task->token_ids);
        } else {
            file.path = rt_intern_text(value);
            value = NULL;
        }
        files->failed |= !file.path || !file.dataset ||
                         !rt_grow(&files->list, &files->capacity, files->count + 1, sizeof file);
        if (!files->failed)
            files->list[files->count++] = file;
        files->mixture |= file.weighted && part == RT_PART_TRAINING;
    }
}

rt_data_files rt_data_files_of(const rt_data_options *o)
{
    rt_data_files files = {.options = o};
    if (rt_data_task_name(o->task) && rt_tasks[o->task].kind != RT_DATA_TOY) {
        add_files(&files, RT_PART_TRAINING, "data.file", o->file ? o->file : "");
        add_files(&files, RT_PART_EVALUATION, "data.eval_file", o->eval_file);
    }
    return files;
}

void rt_data_files_free(rt_data_files *files)
{
    rt_free(files->list);
    *files = (rt_data_files){.options = files->options};
}

bool rt_data_has_files(const rt_data_options *o, bool json_lines)
{
    const bool list = rt_tasks[o->task].kind == RT_DATA_WINDOWS;
    bool has = false;
    for (int part = 0; part < RT_PARTS; part++)
        for (const char *rest = part ? o->eval_file : o->file; rest && !has;) {
            char name[RT_FILE_LIST_SIZE];
            rt_list_item item = {rest, strlen(rest)};
            rest = list ? rt_list_parse(rest, &item) : NULL;
            rt_list_item_copy(item, name, sizeof name);
            if (list)
                cut_weight(name);
            has = *name && rt_json_is_lines(name) == json_lines;
        }
    return has;
}

bool rt_documents_are_named(const rt_data_options *o)
{
    return o->documents && *o->documents && strcmp(o->documents, "none") != 0;
}

bool rt_documents_are_cut(const rt_data_options *o)
{
    return rt_documents_are_named(o) || rt_data_has_files(o, true);
}

const char *rt_data_field(const rt_data_options *o, bool label)
{
    const char *field = label ? o->label_field : o->field;
    return field ? field : label ? "label" : "text";
}

static bool check_name(const rt_data_file *file, rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", file->key);
    const size_t size = strlen(file->path);
    if (!size)
        rt_rule_broken(to, options, "%s must name a file; got an empty name", file->key);
    else if (size >= RT_PATH_SIZE)
        rt_rule_broken(to, options, "%s must name files with less than %d bytes; got %zu",
                       file->key, RT_PATH_SIZE, size);
    else if (rt_json_is_other_spelling(file->path))
        rt_rule_broken(to, options,
                       "%s: JSON lines are read from FILE.jsonl; %.600s would be a "
                       "plain text: give it another name",
                       file->key, file->path);
    else if (file->weighted && file->part == RT_PART_EVALUATION)
        rt_rule_broken(to, options, "%s takes no weights; got one for %.600s", file->key,
                       file->path);
    else if (!(file->weight >= LEAST_WEIGHT && file->weight <= MOST_WEIGHT))
        rt_rule_broken(to, options, "%s: the weight of %.600s must be a number from %g to %g",
                       file->key, file->path, LEAST_WEIGHT, MOST_WEIGHT);
    else
        return true;
    return false;
}

bool rt_data_files_check(const rt_data_options *o, rt_file_check *check, rt_rule_sink to)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(o);
    int broken = -1; /* part */
    for (size_t i = 0; i < files.count; i++) {
        const rt_data_file *file = &files.list[i];
        if (file->part != broken && !(check(o, file, to) && check_name(file, to)))
            broken = file->part;
    }
    return !files.failed;
}

void rt_data_files_skip(rt_data_files *files, int part)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++)
        if (files->list[i].part != part)
            files->list[kept++] = files->list[i];
    files->count = kept;
}

/* Returns whether an earlier entry is the same HDF5 file: its data sets count as one file. */
static bool is_again(const rt_data_files *files, size_t i)
{
    const rt_data_file *file = &files->list[i];
    for (size_t k = 0; k < i; k++)
        if (*files->list[k].dataset && *file->dataset && files->list[k].path == file->path)
            return true;
    return false;
}

bool rt_image_labels_path(char path[RT_PATH_SIZE], const char *images)
{
    static const char before[] = "images";
    const char *name = strrchr(images, '/'), *found = NULL, *rest;
    for (const char *at = name ? name : images; (at = strstr(at, before)); at++) {
        rest = at + strlen(before);
        if (!strncmp(rest, "-idx3", 5) || !strncmp(rest, "-idx4", 5) ||
            !strncmp(rest, ".idx3", 5) || !strncmp(rest, ".idx4", 5))
            found = at;
    }
    if (!found)
        return false;
    rest = found + strlen(before);
    const int size = snprintf(path, RT_PATH_SIZE, "%.*slabels%cidx1%s", (int)(found - images),
                              images, *rest, rest + strlen("-idx3"));
    return size < RT_PATH_SIZE;
}

const char *rt_data_files_path(const rt_data_files *files, int n)
{
    char labels[RT_PATH_SIZE];
    for (size_t i = 0; i < files->count; i++) {
        const char *path = files->list[i].path;
        if (*path && !is_again(files, i) && n-- == 0)
            return path;
        if (rt_tasks[files->options->task].kind == RT_DATA_IMAGES && n-- == 0)
            return rt_image_labels_path(labels, path) ? rt_intern_text(labels) : NULL;
    }
    return NULL;
}
