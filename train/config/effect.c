#include "train/config/private.h"

#include "text/list.h"
#include "text/number.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- conditions ---- */

enum { MOST_COMPARISONS = 8, WORDS_SIZE = 128 };

/* One comparison of a key with a value or a list of values. */
typedef struct comparison {
    int key;
    char relation;          /* '=', '!' (none of the values) or '>' */
    unsigned choices;       /* of a choice or a yes-or-no key: bit i stands for its word i */
    double bound;           /* of a number */
    char words[WORDS_SIZE]; /* the values as they are written; "" if the key must be unset */
    char next;              /* '&', '|' or, after the last one, 0 */
} comparison;

/* The needs of all keys, parsed once. A key without needs has no comparison. */
static struct {
    comparison list[MOST_COMPARISONS];
    int count;
} needs[RT_MAX_KEYS];
static pthread_once_t parsed = PTHREAD_ONCE_INIT;

static bool is_number(const rt_key *key)
{
    return key->type == RT_KEY_WHOLE || key->type == RT_KEY_NUMBER;
}

static void parse_values(comparison *c)
{
    const rt_key *key = rt_key_at(c->key);
    const bool good = is_number(key)               ? rt_number_read(c->words, &c->bound)
                      : key->type == RT_KEY_YES_NO ? rt_list_has("no,yes", c->words)
                                                   : key->type == RT_KEY_TEXT || *c->words;
    assert(good && (c->relation == '>') <= is_number(key));
    (void)good;
    if (key->type == RT_KEY_YES_NO)
        c->choices = !strcmp(c->words, "yes") ? 2 : 1;
    else
        for (int i = 0; key->type == RT_KEY_CHOICE && key->word(i); i++)
            c->choices |= rt_list_has(c->words, key->word(i)) ? 1U << i : 0;
}

static void parse_needs(void)
{
    for (int i = 0; rt_key_at(i); i++)
        for (const char *at = rt_key_at(i)->needs; at && *at;) {
            char name[RT_KEY_NAME_SIZE], relation[4];
            int used = 0;
            assert(needs[i].count < MOST_COMPARISONS);
            comparison *c = &needs[i].list[needs[i].count++];
            const int read = sscanf(at, " %63[a-z0-9_.] %3[!=>]%n", name, relation, &used);
            assert(read == 2);
            (void)read;
            at += used + (int)strspn(at + used, " ");
            size_t length = strcspn(at, "&|");
            c->next = at[length];
            const char *rest = at + length + (c->next != '\0');
            while (length && at[length - 1] == ' ')
                length--;
            snprintf(c->words, sizeof c->words, "%.*s", (int)length, at);
            c->relation = *relation;
            c->key = rt_key_find_full(name);
            assert(c->key >= 0);
            parse_values(c);
            at = rest;
        }
}

/* The key in question, and the keys whose needs led to it: two keys that need each other count
 * together. */
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

/* Returns whether the key has one of the values, whether it counts or not. */
static bool has_value(const comparison *c, const rt_config *config)
{
    const rt_key *key = rt_key_at(c->key);
    const void *value = rt_key_member(key, config);
    if (is_number(key)) {
        const double number =
            key->type == RT_KEY_WHOLE ? *(const int *)value : *(const double *)value;
        return c->relation == '>' ? number > c->bound
                                  : (number == c->bound) == (c->relation == '=');
    }
    if (key->type == RT_KEY_TEXT) {
        const char *text = *(const char *const *)value;
        return (*c->words ? text && rt_list_has(c->words, text) : !text) == (c->relation == '=');
    }
    const int choice = key->type == RT_KEY_YES_NO ? *(const bool *)value : *(const int *)value;
    return (c->choices >> choice & 1) == (c->relation == '=');
}

static bool holds(const comparison *c, const question *q, const rt_config *config)
{
    const bool unset = !*c->words;
    return has_value(c, config) &&
           (unset || is_asked(q, c->key) || counts((question){c->key, q}, config));
}

/* Evaluates A & B | C: & binds more strongly. */
static bool counts(question q, const rt_config *config)
{
    pthread_once(&parsed, parse_needs);
    bool all = true;
    for (int i = 0; i < needs[q.key].count; i++) {
        const comparison *c = &needs[q.key].list[i];
        all = all && holds(c, &q, config);
        if (c->next != '&' && all)
            return true;
        all = all || c->next == '|';
    }
    return needs[q.key].count == 0;
}

bool rt_key_counts(int key, const rt_config *config)
{
    return counts((question){key, NULL}, config);
}

/* ---- messages ---- */

/* Writes "a, b or c" for "a, b, c". */
static void write_values(rt_writer *w, const char *values)
{
    const char *last = strrchr(values, ',');
    if (last)
        rt_writer_add(w, "%.*s or%s", (int)(last - values), values, last + 1);
    else
        rt_writer_add(w, "%s", values);
}

static void write_comparison(rt_writer *w, const comparison *c)
{
    char name[RT_KEY_NAME_SIZE];
    rt_key_full_name(rt_key_at(c->key), name);
    if (!*c->words) {
        rt_writer_add(w, "no %s", name);
        return;
    }
    rt_writer_add(w, "%s %s ", name,
                  c->relation == '!'   ? "other than"
                  : c->relation == '>' ? "above"
                                       : "=");
    write_values(w, c->words);
}

static bool is_written(const rt_config *config, int key)
{
    return config->origin[key] != RT_FROM_DEFAULT && config->origin[key] != RT_FROM_MODEL;
}

/* Writes the needs of a key. If a needed value was written for a key that has no effect itself, the
 * needs of that key are written instead. `config` and `written` may be NULL. */
static void report_needs(rt_writer *w, question q, const rt_config *config,
                         const rt_config *written)
{
    pthread_once(&parsed, parse_needs);
    for (int i = 0; i < needs[q.key].count; i++) {
        const comparison *c = &needs[q.key].list[i];
        if (config && is_written(written, c->key) && has_value(c, written) &&
            !rt_key_counts(c->key, config) && !is_asked(&q, c->key))
            report_needs(w, (question){c->key, &q}, config, written);
        else
            write_comparison(w, c);
        rt_writer_add(w, "%s", c->next == '&' ? " and " : c->next ? ", or " : "");
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
    for (int i = 0; rt_key_at(i); i++)
        config->idle[i] = is_written(written, i) && !rt_key_counts(i, config) &&
                          !rt_key_equal(rt_key_at(i), written, defaults);
}
