#include "train/config/private.h"

#include "core/memory.h"
#include "util/suggest.h"
#include "util/writer.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void rt_config_add_error(rt_config_errors *errors, int origin, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    if (++errors->count > RT_MOST_CONFIG_ERRORS)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (origin == RT_FROM_COMMAND_LINE)
        rt_writer_add(&errors->lines, "command line: %s\n", message);
    else if (origin == RT_FROM_SWEEP)
        rt_writer_add(&errors->lines, "%s: in the sweep: %s\n", errors->file, message);
    else if (origin == RT_FROM_DEFAULT)
        rt_writer_add(&errors->lines, "%s: %s\n", errors->file, message);
    else
        rt_writer_add(&errors->lines, "%s:%d: %s\n", errors->file, origin, message);
}

const char *rt_config_origin_name(const rt_config *config, int i, char text[RT_PLACE_SIZE])
{
    const int origin = config->origin[i];
    if (origin > 0)
        snprintf(text, RT_PLACE_SIZE, "%s:%d", config->file, origin);
    return origin == RT_FROM_COMMAND_LINE ? "command line"
           : origin == RT_FROM_SWEEP      ? "sweep"
           : origin == RT_FROM_MODEL      ? "train.init_from"
           : origin > 0                   ? text
                                          : config->file;
}

void rt_config_set_key(rt_config *config, int i, const char *value, int origin,
                       rt_config_errors *errors)
{
    const rt_key *key = rt_key_at(i);
    RT_CLOSED_BY(rt_writer_free) rt_writer problem = {0};
    /* the command line can clear a text or a list of the file */
    if (!*value && (origin != RT_FROM_COMMAND_LINE || *key->initial))
        rt_writer_add(&problem, "has no value");
    else if (rt_key_read(key, value, config, &problem)) {
        config->origin[i] = origin;
        return;
    }
    rt_config_add_error(errors, origin, "%s %s", rt_key_name(i),
                        problem.bytes ? problem.bytes : "");
    errors->bad[i] = true;
    errors->lines.failed |= problem.failed;
}

void rt_config_unknown_section(rt_config_errors *errors, int origin, const char *written)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer advice = {0};
    rt_nearest nearest = {.written = written};
    rt_nearest_try(&nearest, "sweep", "sweep");
    for (int i = 0; rt_key_at(i); i++)
        if (rt_key_starts_section(i))
            rt_nearest_try(&nearest, rt_key_at(i)->section, rt_key_at(i)->section);
    if (nearest.name)
        rt_writer_add(&advice, "did you mean '%s'?", nearest.name);
    for (int i = 0; rt_key_at(i) && !nearest.name; i++)
        if (rt_key_starts_section(i))
            rt_writer_add(&advice, "%s%s", i ? ", " : "the sections are ", rt_key_at(i)->section);
    rt_config_add_error(errors, origin, "unknown section %s; %s", RT_QUOTED(written),
                        advice.bytes ? advice.bytes : "");
}

/* Names of keys in other programs. */
static const char *const names_elsewhere[][2] = {
    {"learning_rate", "optimizer.lr"},
    {"max_grad_norm", "optimizer.clip_norm"},
    {"grad_clip", "optimizer.clip_norm"},
    {"gradient_accumulation_steps", "train.shards"},
    {"max_steps", "train.steps"},
    {"max_iters", "train.steps"},
    {"epochs", "train.steps"},
    {"num_train_epochs", "train.steps"},
    {"n_layer", "model.layers"},
    {"num_hidden_layers", "model.layers"},
    {"n_head", "model.heads"},
    {"num_attention_heads", "model.heads"},
    {"num_key_value_heads", "model.kv_heads"},
    {"n_embd", "model.dim"},
    {"d_model", "model.dim"},
    {"hidden_size", "model.dim"},
    {"intermediate_size", "model.ffn_dim"},
    {"sliding_window", "model.window"},
    {"rope_theta", "position.base"},
    {"block_size", "data.length"},
    {"max_seq_len", "data.length"},
    {"max_position_embeddings", "data.length"},
    {"vocab_size", "data.vocab"},
};

const char *rt_config_key_meant(const char *word, bool *elsewhere)
{
    char plain[RT_KEY_NAME_SIZE];
    snprintf(plain, sizeof plain, "%s", word);
    for (char *c = plain; *c; c++)
        *c = *c == '-' ? '_' : *c;
    *elsewhere = true;
    for (size_t i = 0; i < sizeof names_elsewhere / sizeof *names_elsewhere; i++)
        if (!strcmp(names_elsewhere[i][0], plain))
            return names_elsewhere[i][1];
    *elsewhere = false;
    for (int i = 0; rt_key_at(i); i++)
        if (!strcmp(rt_key_at(i)->name, plain) || !strcmp(rt_key_name(i), plain))
            return rt_key_name(i);
    return NULL;
}

void rt_config_help_try(rt_nearest *nearest)
{
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        rt_nearest_try(nearest, rt_key_name(i), rt_key_name(i));
        rt_nearest_try(nearest, key->section, key->section);
        rt_nearest_try(nearest, key->name, rt_key_name(i));
    }
    for (size_t i = 0; i < sizeof names_elsewhere / sizeof *names_elsewhere; i++)
        rt_nearest_try(nearest, names_elsewhere[i][0], names_elsewhere[i][1]);
    for (int i = 0; i < RT_SWEEP_SETTINGS; i++)
        for (int k = 0; k < 5; k += 4)
            rt_nearest_try(nearest, rt_sweep_settings[i][k], rt_sweep_settings[i][k]);
    rt_nearest_try(nearest, "sweep", "sweep");
}

/* Returns the number of the key with the nearest name, in rotor or in another program, inside or
 * outside the section; -1 if none is near. */
static int nearest_key(const char *written, const char *section, bool inside)
{
    rt_nearest nearest = {.written = written};
    const rt_key *key;
    int found = -1;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const char *before = nearest.name;
        if (!strcmp(key->section, section) != inside)
            continue;
        rt_nearest_try(&nearest, key->name, key->name);
        for (size_t k = 0; k < sizeof names_elsewhere / sizeof *names_elsewhere; k++)
            if (!strcmp(names_elsewhere[k][1], rt_key_name(i)))
                rt_nearest_try(&nearest, names_elsewhere[k][0], key->name);
        if (nearest.name != before)
            found = i;
    }
    return found;
}

/* Suggests the same name in another section, else the nearest name in this section, else the
 * nearest name in another section, else lists the keys of this section. */
void rt_config_unknown_key(rt_config_errors *errors, int origin, const char *section,
                           const char *written)
{
    const rt_key *here = rt_key_at(nearest_key(written, section, true));
    const rt_key *elsewhere = rt_key_at(nearest_key(written, section, false));
    RT_CLOSED_BY(rt_writer_free) rt_writer advice = {0};
    if (elsewhere && !strcmp(elsewhere->name, written))
        rt_writer_add(&advice, "it belongs to [%s]", elsewhere->section);
    else if (here)
        rt_writer_add(&advice, "did you mean '%s'?", here->name);
    else if (elsewhere)
        rt_writer_add(&advice, "did you mean '%s' in [%s]?", elsewhere->name, elsewhere->section);
    for (int i = 0; rt_key_at(i) && !here && !elsewhere; i++)
        if (!strcmp(rt_key_at(i)->section, section))
            rt_writer_add(&advice, "%s%s", advice.length ? ", " : "its keys are ",
                          rt_key_at(i)->name);
    rt_config_add_error(errors, origin, "unknown key %s in [%s]; %s", RT_QUOTED(written), section,
                        advice.bytes ? advice.bytes : "");
}

void rt_config_unknown_override(rt_config_errors *errors, int origin, const char *where,
                                const char *written)
{
    const char *dot = strchr(written, '.');
    const char *section =
        RT_PRINTED(RT_KEY_NAME_SIZE, "%.*s", dot ? (int)(dot - written) : 0, written);
    const int meant = dot ? -1 : nearest_key(written, "", false);
    if (dot && rt_section_exists(section))
        rt_config_unknown_key(errors, origin, section, dot + 1);
    else if (dot)
        rt_config_unknown_section(errors, origin, section);
    else
        rt_config_add_error(errors, origin,
                            meant < 0 ? "%sunknown key %s; a key is written section.key"
                                      : "%sunknown key %s; did you mean '%s'?",
                            where, RT_QUOTED(written), rt_key_name(meant));
}
