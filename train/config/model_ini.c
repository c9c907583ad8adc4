#include "train/config/model_ini.h"

#include "core/memory.h"
#include "train/config/keys.h"

#include <string.h>

static bool takes(const rt_key *key, const char *value, rt_config *scratch)
{
    rt_writer problem = {0};
    const bool taken = rt_key_read(key, value, scratch, &problem);
    rt_writer_free(&problem);
    return taken;
}

static void add_section(rt_writer *w, const char *section, const rt_config *config,
                        rt_config *scratch)
{
    char value[RT_VALUE_SIZE];
    const rt_key *key;
    rt_writer_add(w, "%s[%s]\n", w->length ? "\n" : "", section);
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (strcmp(key->section, section) != 0 || !*rt_key_write(key, config, value))
            continue;
        if (strcmp(value, "0") != 0 || takes(key, value, scratch))
            rt_writer_add(w, "%s = %s\n", key->name, value);
    }
}

static void add_model(rt_writer *w, const rt_transformer_options *o)
{
    static const char *const sections[] = {"model", "position", "theta"};
    const rt_config_source empty = {.path = "model.ini", .text = ""};
    char *errors = NULL;
    rt_config *configs = rt_alloc(2, sizeof *configs);
    w->failed |= !configs || rt_config_load(configs, &empty, &errors).code;
    if (!w->failed) {
        configs->model = *o;
        for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
            add_section(w, sections[s], configs, configs + 1);
        rt_writer_add(w, "\n[data]\n");
        if (o->causal)
            rt_writer_add(w, "objective = lm\n");
    }
    rt_free(errors);
    rt_free(configs);
}

char *rt_model_ini(const rt_transformer_options *o)
{
    rt_writer w = {0};
    add_model(&w, o);
    return rt_writer_take(&w);
}

char *rt_model_data_ini(const rt_transformer_options *o, const rt_vocabulary *vocabulary, int length,
                        rt_begin begin)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    const char *task = o->head == RT_HEAD_SEQUENCE ? "classify"
                       : o->head == RT_HEAD_TOKEN  ? "tag"
                       : vocabulary                ? "text"
                                                   : "tokens";
    rt_writer w = {0};
    add_model(&w, o);
    rt_writer_add(&w, "task = %s\n", task);
    if (vocabulary)
        rt_writer_add(&w, "level = %s\n", levels[vocabulary->level]);
    else
        rt_writer_add(&w, "vocab = %d\n", o->vocab);
    if (vocabulary && vocabulary->lowercase)
        rt_writer_add(&w, "lowercase = yes\n");
    if (length)
        rt_writer_add(&w, "length = %d\n", length);
    if (begin == RT_BEGIN_NONE && o->head == RT_HEAD_LM)
        rt_writer_add(&w, "begin = none\n");
    return rt_writer_take(&w);
}
