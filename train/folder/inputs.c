#include "train/folder/inputs.h"

#include "core/memory.h"
#include "data/files.h"
#include "train/config/keys.h"
#include "util/durable_file.h"

#include <dirent.h>
#include <sys/stat.h>

void rt_inputs_free(rt_inputs *inputs)
{
    rt_free(inputs->list);
    *inputs = (rt_inputs){0};
}

static const rt_input_file *find_file(const rt_inputs *inputs, const struct stat *facts)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->list[i].inode == facts->st_ino && inputs->list[i].device == facts->st_dev)
            return &inputs->list[i];
    return NULL;
}

/* Returns whether the path exists, with its facts. */
static bool add_file(rt_inputs *inputs, const char *key, const char *path, const char *named,
                     struct stat *facts)
{
    if (stat(path, facts))
        return false;
    if (find_file(inputs, facts))
        return true;
    const char *copy = rt_intern_text(named);
    inputs->failed |= !copy || !rt_grow(&inputs->list, &inputs->capacity, inputs->count + 1,
                                        sizeof(rt_input_file));
    if (!inputs->failed)
        inputs->list[inputs->count++] = (rt_input_file){key, copy, facts->st_dev, facts->st_ino};
    return true;
}

void rt_inputs_add(rt_inputs *inputs, const char *key, const char *path)
{
    static const char *const parts[] = {".", "checkpoints"};
    char folder[RT_PATH_SIZE], file[RT_PATH_SIZE];
    struct stat facts;
    if (!path || !add_file(inputs, key, path, path, &facts) || !S_ISDIR(facts.st_mode))
        return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        DIR *files = rt_path_join(folder, path, parts[i]).code ? NULL : opendir(folder);
        for (const struct dirent *entry; files && (entry = readdir(files));)
            if (*entry->d_name != '.' && !rt_path_join(file, folder, entry->d_name).code)
                add_file(inputs, key, file, path, &facts);
        if (files)
            closedir(files);
    }
}

void rt_inputs_add_config(rt_inputs *inputs, const rt_config *config)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(&config->data);
    const char *path;
    for (int i = 0; (path = rt_data_files_path(&files, i)); i++)
        rt_inputs_add(inputs, "data.file", path);
    inputs->failed |= files.failed;
    for (int i = 0; rt_key_at(i); i++)
        rt_inputs_add(inputs, rt_key_name(i), rt_key_input(i, config));
}

const rt_input_file *rt_inputs_find(const rt_inputs *inputs, const char *path)
{
    struct stat facts;
    return inputs->count && !stat(path, &facts) ? find_file(inputs, &facts) : NULL;
}

rt_status rt_inputs_spare(const rt_inputs *inputs, const char *path, bool overwrite)
{
    RT_TRY(rt_allocated(!inputs->failed, "a list of files"));
    return rt_inputs_find(inputs, path)
               ? rt_error(RT_CONFIG, "%.900s is read; name another file to write", path)
               : rt_output_check(path, overwrite);
}
