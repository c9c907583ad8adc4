#include "train/config/effect.h"

#include "text/list.h"
#include "text/number.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- a condition ---- */

enum { VALUES_SIZE = 128 };

/* One comparison: a key, "=", "!=" or ">", and values with commas between. */
typedef struct comparison {
    int key;
    char relation[4];
    char values[VALUES_SIZE];
} comparison;

/* Reads the comparison at the start of a condition; returns what follows it: "& ...", "| ..." or
 * "". */
static const char *read_comparison(const char *text, comparison *c)
{
    char name[RT_KEY_NAME_SIZE];
    int used = 0;
    const int read = sscanf(text, " %63[a-z0-9_.] %3[!=>]%n", name, c->relation, &used);
    assert(read == 2);
    (void)read;
    text += used + (int)strspn(text + used, " ");
    size_t length = strcspn(text, "&|");
    const char *rest = text + length;
    while (length && text[length - 1] == ' ')
        length--;
    snprintf(c->values, sizeof c->values, "%.*s", (int)length, text);
    c->key = rt_key_find_full(name);
    assert(c->key >= 0);
    return rest;
}

static bool is_above(const char *value, const char *bound)
{
    double number, least;
    return rt_number_read(value, &number) && rt_number_read(bound, &least) && number > least;
}

/* The keys that are asked about, each for the sake of the one before: two that need each other
 * count together. */
typedef struct question {
    int key;
    const struct question *before;
} question;

static bool is_asked(const question *q, int key)
{
    for (; q; q = q->before)
        if (q->key == key)
            return true;
    return false;
}

static bool counts(question q, const rt_config *config);

/* Returns whether the key has such a value, whether it counts or not. */
static bool has_value(const comparison *c, const rt_config *config)
{
    char value[RT_VALUE_SIZE];
    rt_key_write(rt_key_at(c->key), config, value);
    return *c->relation == '>' ? is_above(value, c->values)
                               : rt_list_has(c->values, value) == (*c->relation == '=');
}

static bool holds(const comparison *c, const question *q, const rt_config *config)
{
    const bool unset = !*c->values;
    return has_value(c, config) &&
           (unset || is_asked(q, c->key) || counts((question){c->key, q}, config));
}

static bool counts(question q, const rt_config *config)
{
    const char *rest = rt_key_at(q.key)->needs;
    if (!rest)
        return true;
    for (bool all = true;;) {
        comparison c;
        rest = read_comparison(rest, &c);
        all = all && holds(&c, &q, config);
        if (*rest != '&' && all)
            return true;
        if (!*rest)
            return false;
        all = all || *rest == '|';
        rest++;
    }
}

bool rt_key_counts(int key, const rt_config *config)
{
    return counts((question){key, NULL}, config);
}

/* ---- telling ---- */

/* "a, b or c" of "a, b, c". */
static void tell_values(rt_writer *w, const char *values)
{
    const char *last = strrchr(values, ',');
    if (last)
        rt_writer_add(w, "%.*s or%s", (int)(last - values), values, last + 1);
    else
        rt_writer_add(w, "%s", values);
}

static void tell(rt_writer *w, const comparison *c)
{
    char name[RT_KEY_NAME_SIZE];
    rt_key_full_name(rt_key_at(c->key), name);
    if (!*c->values) {
        rt_writer_add(w, "no %s", name);
        return;
    }
    rt_writer_add(w, "%s %s ", name,
                  *c->relation == '!'   ? "other than"
                  : *c->relation == '>' ? "above"
                                        : "=");
    tell_values(w, c->values);
}

static bool is_written(const rt_config *config, int key)
{
    return config->origin[key] != RT_FROM_DEFAULT && config->origin[key] != RT_FROM_MODEL;
}

/* Writes the needs of a key. If the value that is needed is written for a key that does not count
 * in `config`, the needs of that key stand for the value. `config` and `written` may be NULL. */
static void report_needs(rt_writer *w, question q, const rt_config *config,
                         const rt_config *written)
{
    for (const char *rest = rt_key_at(q.key)->needs; rest && *rest;) {
        comparison c;
        rest = read_comparison(rest, &c);
        if (config && is_written(written, c.key) && has_value(&c, written) &&
            !rt_key_counts(c.key, config) && !is_asked(&q, c.key))
            report_needs(w, (question){c.key, &q}, config, written);
        else
            tell(w, &c);
        rt_writer_add(w, "%s", *rest == '&' ? " and " : *rest ? ", or " : "");
        rest += *rest != '\0';
    }
}

void rt_key_report_needs(rt_writer *w, int key)
{
    report_needs(w, (question){key, NULL}, NULL, NULL);
}

void rt_key_report_idle(rt_writer *w, int key, const rt_config *config, const rt_config *written)
{
    char value[RT_VALUE_SIZE];
    enum { SHOWN = 60 };
    char name[RT_KEY_NAME_SIZE];
    rt_writer_add(w, "%s", rt_key_full_name(rt_key_at(key), name));
    rt_key_write(rt_key_at(key), written, value);
    if (rt_key_at(key)->type != RT_KEY_TEXT)
        rt_writer_add(w, " = %.*s%s", SHOWN, value, strlen(value) > SHOWN ? "..." : "");
    rt_writer_add(w, " has no effect: it needs ");
    report_needs(w, (question){key, NULL}, config, written);
}

/* ---- keys without effect ---- */

void rt_config_find_idle(rt_config *config, const rt_config *written, const rt_config *defaults)
{
    char value[RT_VALUE_SIZE], initial[RT_VALUE_SIZE];
    for (int i = 0; rt_key_at(i); i++)
        config->idle[i] = is_written(written, i) && !rt_key_counts(i, config) &&
                          strcmp(rt_key_write(rt_key_at(i), written, value),
                                 rt_key_write(rt_key_at(i), defaults, initial)) != 0;
}
