#include "train/config/model_ini.h"

#include "core/memory.h"
#include "train/config/effect.h"
#include "train/config/resolve.h"

#include <string.h>

/* An empty list is no line. */
static void add_section(rt_writer *w, const char *section, const rt_config *config)
{
    char value[RT_VALUE_SIZE];
    const rt_key *key;
    rt_writer_add(w, "%s[%s]\n", w->length ? "\n" : "", section);
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (!strcmp(key->section, section) && *rt_key_write(key, config, value))
            rt_writer_add(w, "%s = %s\n", key->name, value);
}

/* Of the data what belongs to the model: without a vocabulary also the number of ids, which another
 * task may need. */
static void add_data(rt_writer *w, const rt_config *config, const rt_config *defaults)
{
    static const char *const names[] = {"data.task",  "data.length",    "data.vocab",
                                        "data.level", "data.lowercase", "data.begin",
                                        "data.end",   "data.mask_id",   "data.objective",
                                        NULL};
    char value[RT_VALUE_SIZE];
    const rt_key *key;
    rt_writer_add(w, "\n[data]\n");
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (!rt_key_is_one_of(key, names))
            continue;
        rt_key_write(key, config, value);
        if (rt_key_counts(i, config) || !rt_key_equal(key, config, defaults))
            rt_writer_add(w, "%s = %s\n", key->name, value);
    }
}

char *rt_model_ini(const rt_transformer_options *model, const rt_data_options *data)
{
    static const char *const sections[] = {"model", "position", "theta"};
    rt_writer w = {0};
    rt_written_config *written = rt_alloc(2, sizeof *written);
    w.failed |= !written;
    if (!w.failed) {
        rt_config *config = &written[0].keys;
        rt_written_defaults(&written[0]);
        rt_written_defaults(&written[1]);
        config->model = *model;
        config->data = *data;
        for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
            add_section(&w, sections[s], config);
        add_data(&w, config, &written[1].keys);
    }
    rt_free(written);
    return rt_writer_take(&w);
}
