/* The task tokens: a data set of an HDF5 file as a run of ids. */

#include "data/task.h"

#include <string.h>

/* The data set in "file.h5:/dataset", NULL if there is none. A path may hold a ':' and
 * even a ":/", hence the last one. */
static const char *find_dataset(const char *file)
{
    const char *colon = NULL;
    for (const char *at = file; (at = strstr(at, ":/")); at++)
        colon = at;
    return colon && colon > file ? colon + 1 : NULL;
}

static size_t path_length(const char *file)
{
    return (size_t)(find_dataset(file) - file) - 1;
}

static void write_path(const char *file, char path[RT_PATH_SIZE])
{
    memcpy(path, file, path_length(file));
    path[path_length(file)] = '\0';
}

static void check_name(const char *key, const char *file, rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", key);
    if (!find_dataset(file))
        rt_rule_broken(to, options,
                       "%s must name a file and a data set for tokens, as in ids.h5:/train; got "
                       "'%.600s'",
                       key, file);
    else if (path_length(file) >= RT_PATH_SIZE)
        rt_rule_broken(to, options, "%s must name files with less than %d bytes; got %zu", key,
                       RT_PATH_SIZE, path_length(file));
}

void rt_tokens_check(const rt_data_options *o, rt_rule_sink to)
{
    check_name("data.file", o->file, to);
    if (*o->eval_file)
        check_name("data.eval_file", o->eval_file, to);
    rt_windows_check(o, to);
}

/* Two data sets of one file are one file. */
static bool token_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    char first[RT_PATH_SIZE];
    write_path(o->file, first);
    write_path(n == 1 && *o->eval_file ? o->eval_file : o->file, path);
    return n == 0 || (n == 1 && strcmp(path, first) != 0);
}

static rt_status open_part(rt_data *data, int part, const char *key, const char *file)
{
    char path[RT_PATH_SIZE];
    write_path(file, path);
    return rt_token_file_open(&data->tokens[part], key, path, find_dataset(file), data->vocab);
}

static rt_status open_tokens(rt_data *data)
{
    static const char many[] = "ids";
    const rt_data_options *o = &data->options;
    rt_token_file **files = data->tokens;
    rt_status status = rt_ok();
    size_t count = 0;
    if (rt_data_reads_training(data)) {
        status = open_part(data, RT_PART_TRAINING, "data.file", o->file);
        count = status.code ? 0 : rt_token_file_count(files[RT_PART_TRAINING]);
    }
    if (!status.code)
        status = rt_windows_open(data, count, many);
    if (status.code || !*o->eval_file)
        return status;
    status = open_part(data, RT_PART_EVALUATION, "data.eval_file", o->eval_file);
    return status.code ? status
                       : rt_windows_add(data, o->eval_file,
                                        rt_token_file_count(files[RT_PART_EVALUATION]), many);
}

static void close_tokens(rt_data *data)
{
    for (int part = 0; part < RT_PARTS; part++)
        rt_token_file_close(data->tokens[part]);
    rt_windows_close(data);
}

/* The ids of the file for evaluation, if there is one, follow those for training. */
static bool read_tokens(const rt_data *data, size_t first, int count, int32_t *ids)
{
    rt_token_file *evaluation = data->tokens[RT_PART_EVALUATION];
    const size_t training = data->windows.training;
    if (evaluation && first >= training)
        return rt_token_file_read(evaluation, first - training, (size_t)count, ids);
    return rt_token_file_read(data->tokens[RT_PART_TRAINING], first, (size_t)count, ids);
}

static rt_status status_of_tokens(const rt_data *data)
{
    rt_status status = rt_ok();
    for (int part = 0; part < RT_PARTS && !status.code; part++)
        if (data->tokens[part])
            status = rt_token_file_status(data->tokens[part]);
    return status;
}

const rt_source rt_tokens = {.open = open_tokens,
                             .file_at = token_file_at,
                             .close = close_tokens,
                             .evaluation_rows = rt_windows_evaluation_rows,
                             .read = read_tokens,
                             .status = status_of_tokens};
