#include "train/config/private.h"

#include "text/quote.h"
#include "text/suggest.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void rt_config_complain(rt_config_errors *errors, int origin, const char *format, ...)
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

void rt_config_unknown_section(rt_config_errors *errors, int origin, const char *written)
{
    char quoted[RT_QUOTE_SIZE];
    rt_writer advice = {0};
    rt_nearest nearest = {.written = written};
    for (int i = 0; rt_key_at(i); i++)
        rt_nearest_try(&nearest, rt_key_at(i)->section);
    if (nearest.name)
        rt_writer_add(&advice, "did you mean '%s'?", nearest.name);
    for (int i = 0; rt_key_at(i) && !nearest.name; i++)
        if (rt_key_starts_section(i))
            rt_writer_add(&advice, "%s%s", i ? ", " : "the sections are ", rt_key_at(i)->section);
    rt_config_complain(errors, origin, "unknown section %s; %s", rt_quote(quoted, written),
                       advice.bytes ? advice.bytes : "");
    rt_writer_free(&advice);
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

bool rt_config_key_meant(const char *word, char *name, size_t size, bool *elsewhere)
{
    char plain[RT_KEY_NAME_SIZE], full[RT_KEY_NAME_SIZE];
    const rt_key *key;
    snprintf(plain, sizeof plain, "%s", word);
    for (char *c = plain; *c; c++)
        *c = *c == '-' ? '_' : *c;
    *elsewhere = true;
    for (size_t i = 0; i < sizeof names_elsewhere / sizeof *names_elsewhere; i++)
        if (!strcmp(names_elsewhere[i][0], plain))
            return snprintf(name, size, "%s", names_elsewhere[i][1]) < (int)size;
    *elsewhere = false;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (!strcmp(key->name, plain) || !strcmp(rt_key_full_name(key, full), plain))
            return snprintf(name, size, "%s", rt_key_full_name(key, full)) < (int)size;
    return false;
}

/* Tries the key's name and its names in other programs. */
static void try_key(rt_nearest *nearest, const rt_key *key)
{
    char name[RT_KEY_NAME_SIZE];
    rt_key_full_name(key, name);
    rt_nearest_try(nearest, key->name);
    for (size_t i = 0; i < sizeof names_elsewhere / sizeof *names_elsewhere; i++)
        if (!strcmp(names_elsewhere[i][1], name))
            rt_nearest_try_as(nearest, names_elsewhere[i][0], key->name);
}

/* Returns the key with the nearest name, inside the section or outside; NULL if none is near. */
static const rt_key *nearest_key(const char *written, const char *section, bool inside)
{
    rt_nearest nearest = {.written = written};
    const rt_key *found = NULL;
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const char *before = nearest.name;
        if (!strcmp(key->section, section) == inside)
            try_key(&nearest, key);
        if (nearest.name != before)
            found = key;
    }
    return found;
}

/* Suggests the same name in another section, else the nearest name in this section, else the
 * nearest in another, else lists the keys of this section. */
static void advise(rt_writer *advice, const char *section, const char *written)
{
    const rt_key *here = nearest_key(written, section, true);
    const rt_key *elsewhere = nearest_key(written, section, false);
    const char *before = "its keys are ";
    if (elsewhere && !strcmp(elsewhere->name, written)) {
        rt_writer_add(advice, "it belongs to [%s]", elsewhere->section);
    } else if (here) {
        rt_writer_add(advice, "did you mean '%s'?", here->name);
    } else if (elsewhere) {
        rt_writer_add(advice, "did you mean '%s' in [%s]?", elsewhere->name, elsewhere->section);
    } else {
        for (int i = 0; (here = rt_key_at(i)); i++) {
            if (strcmp(here->section, section) != 0)
                continue;
            rt_writer_add(advice, "%s%s", before, here->name);
            before = ", ";
        }
    }
}

void rt_config_unknown_key(rt_config_errors *errors, int origin, const char *section,
                           const char *written)
{
    char name[RT_VALUE_SIZE], quoted[RT_QUOTE_SIZE];
    rt_writer advice = {0};
    snprintf(name, sizeof name, "%s.%s", section, written);
    const rt_renamed *renamed = rt_renamed_find(name, NULL);
    if (renamed) {
        rt_config_complain(errors, origin, "%s is now called %s", name, renamed->now);
        return;
    }
    advise(&advice, section, written);
    rt_config_complain(errors, origin, "unknown key %s in [%s]; %s", rt_quote(quoted, written),
                       section, advice.bytes ? advice.bytes : "");
    rt_writer_free(&advice);
}

static void unknown_without_section(rt_config_errors *errors, const char *written)
{
    char quoted[RT_QUOTE_SIZE];
    char name[RT_KEY_NAME_SIZE];
    const rt_key *meant = nearest_key(written, "", false);
    rt_quote(quoted, written);
    if (meant)
        rt_config_complain(errors, RT_FROM_COMMAND_LINE, "unknown key %s; did you mean '%s'?",
                           quoted, rt_key_full_name(meant, name));
    else
        rt_config_complain(errors, RT_FROM_COMMAND_LINE,
                           "unknown key %s; a key is written section.key", quoted);
}

void rt_config_unknown_override(rt_config_errors *errors, const char *written)
{
    char section[RT_KEY_NAME_SIZE];
    const char *dot = strchr(written, '.');
    snprintf(section, sizeof section, "%.*s", dot ? (int)(dot - written) : 0, written);
    if (!dot)
        unknown_without_section(errors, written);
    else if (rt_section_exists(section))
        rt_config_unknown_key(errors, RT_FROM_COMMAND_LINE, section, dot + 1);
    else
        rt_config_unknown_section(errors, RT_FROM_COMMAND_LINE, section);
}
