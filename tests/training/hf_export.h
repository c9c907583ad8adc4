#ifndef ROTOR_TESTS_TRAINING_HF_EXPORT_H
#define ROTOR_TESTS_TRAINING_HF_EXPORT_H

/* The folder "out" in the scratch folder, to which a test exports a model. */

#include "training/hf_folder.h"

#include "io/huggingface/json.h"

#include <dirent.h>

static inline rt_transformer *new_model(const rt_transformer_options *o)
{
    rt_transformer *model;
    assert_status(rt_transformer_new(&model, o, 3, NULL), RT_OK, "");
    return model;
}

/* Removes what was written, so that the scratch folder can be removed. */
static inline void remove_out(void)
{
    char path[800];
    DIR *folder = opendir(in_scratch("out"));
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%.200s", in_scratch("out"), entry->d_name);
        remove(path);
    }
    if (folder)
        closedir(folder);
    rmdir(in_scratch("out"));
}

static inline json_t *read_config(void)
{
    json_t *json;
    assert_status(rt_json_read_file(&json, in_scratch("out"), "config.json"), RT_OK, "");
    return json;
}

static inline void change_file(const char *name, const char *from, const char *to)
{
    char text[8192];
    read_into(text, sizeof text, name);
    char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s has no %s", name, from);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    write_bytes(in_scratch(name), text, strlen(text));
}

#endif
