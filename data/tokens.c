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

static size_t path_length(const char *file, const char *dataset)
{
    return (size_t)(dataset - file) - 1;
}

static void check_name(const char *file, rt_rule_sink to)
{
    const char *const *options = RT_OPTIONS("data.task", "data.file");
    const char *dataset = find_dataset(file);
    if (!dataset)
        rt_rule_broken(to, options,
                       "data.file must name a file and a data set for tokens, as in "
                       "ids.h5:/train; got '%.600s'",
                       file);
    else if (path_length(file, dataset) >= RT_PATH_SIZE)
        rt_rule_broken(to, options, "data.file must name files with less than %d bytes; got %zu",
                       RT_PATH_SIZE, path_length(file, dataset));
}

void rt_tokens_check(const rt_data_options *o, rt_rule_sink to)
{
    check_name(o->file, to);
    rt_windows_check(o, to);
}

static bool token_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    const size_t length = path_length(o->file, find_dataset(o->file));
    memcpy(path, o->file, length);
    path[length] = '\0';
    return n == 0;
}

static rt_status open_tokens(rt_data *data)
{
    const char *dataset = find_dataset(data->options.file);
    char path[RT_PATH_SIZE];
    token_file_at(&data->options, 0, path);
    rt_status status = rt_token_file_open(&data->tokens, path, dataset, data->vocab);
    return status.code ? status : rt_windows_open(data, rt_token_file_count(data->tokens), "ids");
}

static void close_tokens(rt_data *data)
{
    rt_token_file_close(data->tokens);
}

static bool read_tokens(const rt_data *data, size_t first, int count, int32_t *ids)
{
    return rt_token_file_read(data->tokens, first, (size_t)count, ids);
}

static rt_status status_of_tokens(const rt_data *data)
{
    return rt_token_file_status(data->tokens);
}

const rt_source rt_tokens = {.open = open_tokens,
                             .file_at = token_file_at,
                             .close = close_tokens,
                             .evaluation_rows = rt_windows_evaluation_rows,
                             .read = read_tokens,
                             .status = status_of_tokens};
