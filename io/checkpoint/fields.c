#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "core/status.h"
#include "util/key_value.h"
#include "util/number.h"
#include "util/writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version of the file format, and the largest number of sequences per step that the keys allow. */
enum { VERSION = 3, MOST_SEQUENCES = 1000000 };

/* Name of the random number generator (core/random.h). */
static const char generator[] = "philox4x32-10";

#define AT(member) offsetof(rt_checkpoint_info, member)

/* A field comes after the fields that limit it. */
const rt_checkpoint_field rt_checkpoint_fields[] = {
    {"/", "step", RT_FIELD_INTEGER, AT(step), false, RT_CHECKPOINT_STEPS, false},
    {"/", "seed", RT_FIELD_UNSIGNED, AT(seed), false, 0, false},
    {"/", "precision", RT_FIELD_WORD, AT(precision), false, 0, false},
    {"/", "blas", RT_FIELD_WORD, AT(blas), false, 0, false},
    {"/", "eval_loss", RT_FIELD_LOSS, AT(evaluations.loss), true, 0, false},
    {"/", "best_eval_loss", RT_FIELD_LOSS, AT(evaluations.best_loss), false, 0, false},
    {"/", "best_eval_step", RT_FIELD_INTEGER, AT(evaluations.best_step), false, 1, true},
    {"/", "patience_loss", RT_FIELD_LOSS, AT(evaluations.reference), false, 0, false},
    {"/", "patience_count", RT_FIELD_INTEGER, AT(evaluations.stalled), false, 1, true},
    {"/optimizer", "schedule_steps", RT_FIELD_INTEGER, AT(schedule_steps), false,
     RT_CHECKPOINT_STEPS, false},
    {"/data", "position", RT_FIELD_INTEGER, AT(position), false, MOST_SEQUENCES, true},
    {"/", "config", RT_FIELD_TEXT, AT(config), false, 0, false},
    {"/", "past_schedules", RT_FIELD_TEXT, AT(past_schedules), true, 0, false},
    {.name = NULL},
};

static void get_integer(rt_image *image, const rt_checkpoint_field *f,
                        const rt_checkpoint_info *info, int64_t *value)
{
    *value = rt_image_integer(image, f->group, f->name);
    const int64_t most = rt_image_failed(image) ? 0 : f->most * (f->per_step ? info->step : 1);
    if (*value < 0 || *value > most)
        rt_image_fail(image, RT_CHECKPOINT, "%s is %" PRId64 ", 0 to %" PRId64 " expected", f->name,
                      *value, most);
}

static void get_loss(rt_image *image, const rt_checkpoint_field *f, double *loss)
{
    const bool absent = f->optional && !rt_image_has_attribute(image, f->group, f->name);
    *loss = absent ? INFINITY : rt_image_number(image, f->group, f->name);
    if (isnan(*loss) || *loss == -INFINITY)
        rt_image_fail(image, RT_CHECKPOINT, "%s is %g", f->name, *loss);
}

/* Reads a word, which must be printable. */
static void get_word(rt_image *image, const rt_checkpoint_field *f, char *word)
{
    rt_image_word(image, f->group, f->name, word);
    for (; *word; word++)
        if (!isprint((unsigned char)*word))
            rt_image_fail(image, RT_CHECKPOINT, "%s holds a character that cannot be printed",
                          f->name);
}

static void exchange_text(rt_image *image, bool put, const rt_checkpoint_field *f, char **text)
{
    const char *path =
        RT_PRINTED(2 * RT_KEY_NAME_SIZE, "%s%s%s", f->group, f->group[1] ? "/" : "", f->name);
    rt_shape shape;
    if (put && (*text || !f->optional))
        rt_image_put_text(image, path, *text ? *text : "");
    if (!put && (!f->optional || rt_image_shape(image, path, &shape)))
        *text = rt_image_text(image, path);
}

/* Writes the fields of an info to an image (put), or reads them. */
static void exchange_fields(rt_image *image, bool put, rt_checkpoint_info *info)
{
    for (const rt_checkpoint_field *f = rt_checkpoint_fields; f->name; f++) {
        void *at = (char *)info + f->offset;
        switch (f->type) {
        case RT_FIELD_INTEGER:
            if (put)
                rt_image_put_integer(image, f->group, f->name, *(const int64_t *)at);
            else
                get_integer(image, f, info, at);
            break;
        case RT_FIELD_UNSIGNED:
            if (put)
                rt_image_put_unsigned(image, f->group, f->name, *(const uint64_t *)at);
            else
                *(uint64_t *)at = rt_image_unsigned(image, f->group, f->name);
            break;
        case RT_FIELD_LOSS:
            if (!put)
                get_loss(image, f, at);
            else if (!f->optional || isfinite(*(const double *)at))
                rt_image_put_number(image, f->group, f->name, *(const double *)at);
            break;
        case RT_FIELD_WORD:
            if (put)
                rt_image_put_word(image, f->group, f->name, at);
            else
                get_word(image, f, at);
            break;
        case RT_FIELD_TEXT:
            exchange_text(image, put, f, at);
            break;
        }
    }
}

/* The path of the dataset of a list, and the name of the lower end of an interval, in memory of the
 * enclosing block. */
#define LIST_PATH(key)                                                                             \
    RT_PRINTED(2 * RT_KEY_NAME_SIZE, (key)->type == RT_KEY_LAYERS ? "/layers/%s.%s" : "/%s/%s",    \
               (key)->section, (key)->name)
#define LEAST(name) RT_PRINTED(2 * RT_KEY_NAME_SIZE, "%s.least", name)

void rt_image_put_options(rt_image *image, const char *group, const rt_key_table *table,
                          const void *options)
{
    for (const rt_key *key = table->keys; key < table->keys + table->count; key++) {
        const void *at = (const char *)options + key->offset;
        const char *name = rt_key_full_name(key, (char[RT_KEY_NAME_SIZE]){0});
        const char *value = RT_KEY_VALUE(key, options);
        switch (key->type) {
        case RT_KEY_INTEGER:
            rt_image_put_integer(image, group, name, *(const int *)at);
            break;
        case RT_KEY_INTERVAL:
            rt_image_put_integer(image, group, name, ((const rt_interval *)at)->most);
            if (((const rt_interval *)at)->least)
                rt_image_put_integer(image, group, LEAST(name), ((const rt_interval *)at)->least);
            break;
        case RT_KEY_SEED:
            rt_image_put_unsigned(image, group, name, *(const uint64_t *)at);
            break;
        case RT_KEY_NUMBER:
            rt_image_put_number(image, group, name, *(const double *)at);
            break;
        case RT_KEY_YES_NO:
        case RT_KEY_CHOICE:
            rt_image_put_word(image, group, name, value);
            break;
        case RT_KEY_LENGTHS:
        case RT_KEY_FACTORS:
        case RT_KEY_LAYERS:
            if (*value)
                rt_image_put_text(image, LIST_PATH(key), value);
            break;
        case RT_KEY_TEXT:
            break;
        }
    }
}

/* Reads the value of a key as a configuration writes it. */
static void get_value(rt_image *image, const char *group, const rt_key *key, const char *name,
                      char value[RT_VALUE_SIZE])
{
    const char *path = LIST_PATH(key), *least = LEAST(name);
    char *text;
    int length = 0;
    rt_shape shape;
    switch (key->type) {
    case RT_KEY_INTEGER:
    case RT_KEY_INTERVAL: /* an integer has no lower end */
        if (key->type == RT_KEY_INTERVAL && rt_image_has_attribute(image, group, least))
            length = snprintf(value, RT_VALUE_SIZE, "%" PRId64 "..",
                              rt_image_integer(image, group, least));
        snprintf(value + length, (size_t)(RT_VALUE_SIZE - length), "%" PRId64,
                 rt_image_integer(image, group, name));
        break;
    case RT_KEY_SEED:
        snprintf(value, RT_VALUE_SIZE, "%" PRIu64, rt_image_unsigned(image, group, name));
        break;
    case RT_KEY_NUMBER:
        rt_number_write(value, rt_image_number(image, group, name));
        break;
    case RT_KEY_YES_NO:
    case RT_KEY_CHOICE:
        rt_image_word(image, group, name, value);
        break;
    case RT_KEY_LENGTHS:
    case RT_KEY_FACTORS:
    case RT_KEY_LAYERS:
        text = rt_image_shape(image, path, &shape) ? rt_image_text(image, path) : NULL;
        snprintf(value, RT_VALUE_SIZE, "%s", text ? text : "");
        rt_free(text);
        break;
    case RT_KEY_TEXT:
        break;
    }
}

void rt_image_get_options(rt_image *image, const char *group, const rt_key_table *table,
                          void *options)
{
    char value[RT_VALUE_SIZE];
    for (int i = 0; i < table->count && !rt_image_failed(image); i++) {
        const rt_key *key = &table->keys[i];
        rt_writer problem = {0};
        if (key->type == RT_KEY_TEXT)
            continue;
        const char *name = rt_key_full_name(key, (char[RT_KEY_NAME_SIZE]){0});
        if (key->later && !rt_image_has_attribute(image, group, name))
            snprintf(value, sizeof value, "%s", key->initial);
        else
            get_value(image, group, key, name, value);
        if (!rt_image_failed(image) && !rt_key_value_read(key, value, options, &problem))
            rt_image_fail(image, problem.failed ? RT_MEMORY : RT_CHECKPOINT, "%s %s", name,
                          problem.bytes ? problem.bytes : "");
        rt_writer_free(&problem);
    }
}

/* Parameters that joined a training after its first step, one per line: "layers.0.attention.theta
 * 600". */

#define JOINED "/joined"

void rt_checkpoint_put_joined(rt_image *image, const rt_parameters *p)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->since)
            rt_writer_add(&w, "%s %" PRId64 "\n", p->list[i]->name, p->list[i]->since);
    if (w.failed)
        rt_image_fail(image, RT_MEMORY, "out of memory for a checkpoint");
    else if (w.bytes)
        rt_image_put_text(image, JOINED, w.bytes);
}

void rt_checkpoint_get_joined(rt_image *image, int64_t step, const rt_parameters *p, bool may_lack,
                              bool take)
{
    rt_shape shape;
    if (rt_image_failed(image) || !rt_image_shape(image, JOINED, &shape))
        return;
    RT_OWNED char *text = rt_image_text(image, JOINED);
    for (char *line = text, *next; line && *line; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        char *blank = strrchr(line, ' ');
        int64_t since = 0;
        if (blank)
            *blank = '\0';
        rt_parameter *parameter = rt_parameters_find(p, line);
        if ((!parameter && !may_lack) || !blank || !rt_integer_parse(blank + 1, &since) ||
            since < 1 || since > step)
            rt_image_fail(image, RT_CHECKPOINT,
                          "joined must be lines of a parameter and of a step from 1 to %" PRId64
                          "; got '%.100s%s%.20s'",
                          step, line, blank ? " " : "", blank ? blank + 1 : "");
        else if (parameter && take)
            parameter->since = since;
    }
}

static const char *const lowercase[] = {"no", "yes", NULL};

/* Names of the special ids of a tokenizer.json, in the order of rt_special_ids. An id of -1 is
 * unset. */
static const char *const roles[] = {"pad", "cls", "mask", "sep"};
enum { ROLES = sizeof roles / sizeof *roles };

/* Writes `text` as a dataset, or fails the image with `status`. Frees the text in both cases. */
static void put_file(rt_image *image, const char *path, rt_status status, char *text)
{
    if (!status.code)
        rt_image_put_bytes(image, path, text, strlen(text));
    rt_image_fail_as(image, status);
    rt_free(text);
}

static void put_vocabulary(rt_image *image, const rt_vocabulary *vocabulary)
{
    char *text, word[RT_WORD_SIZE] = "";
    const rt_end_ids *ends = &vocabulary->ends;
    rt_special_ids special = vocabulary->special;
    rt_status status = rt_vocabulary_write(vocabulary, &text);
    int size = 0;
    put_file(image, "/vocabulary", status, text);
    rt_image_put_word(image, "/vocabulary", "level", rt_level_words[vocabulary->level]);
    for (int i = 0; i < ROLES && vocabulary->bpe; i++)
        rt_image_put_integer(image, "/vocabulary", roles[i], *rt_special_id(&special, i));
    for (int i = 0; i < ends->count; i++)
        size +=
            snprintf(word + size, sizeof word - (size_t)size, i ? " %d" : "%d", (int)ends->ids[i]);
    if (ends->count)
        rt_image_put_word(image, "/vocabulary", "ends", word);
    if (vocabulary->lowercase) /* absent: cased */
        rt_image_put_word(image, "/vocabulary", "lowercase", lowercase[true]);
}

/* Reads a word and returns its index in a list. Fails the image if it is not listed. */
static int get_choice(rt_image *image, const char *name, const char *const *words)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, "/vocabulary", name, word);
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    rt_image_fail(image, RT_CHECKPOINT, "%s of the vocabulary is '%s', which is not known", name,
                  word);
    return 0;
}

/* Returns the vocabulary, NULL if the data was not text. */
static rt_vocabulary *get_vocabulary(rt_image *image)
{
    static const char path[] = "/vocabulary";
    rt_vocabulary *vocabulary = NULL;
    rt_shape shape;
    size_t size;
    if (!rt_image_shape(image, path, &shape))
        return NULL;
    RT_OWNED unsigned char *bytes = rt_image_bytes(image, path, &size);
    rt_vocabulary_kind kind = {.level = (rt_level)get_choice(image, "level", rt_level_words),
                               .lowercase = rt_image_has_attribute(image, path, "lowercase") &&
                                            get_choice(image, "lowercase", lowercase)};
    kind.has_known = kind.level == RT_LEVEL_BPE;
    kind.known.unknown = RT_NO_ID;
    for (int i = 0; i < ROLES && kind.has_known; i++) {
        const int64_t id = rt_image_integer(image, path, roles[i]);
        /* a number out of range becomes INT32_MAX, which is no id of any vocabulary */
        *rt_special_id(&kind.known, i) = id >= RT_NO_ID && id < INT32_MAX ? (int32_t)id : INT32_MAX;
    }
    char word[RT_WORD_SIZE] = "", *rest = word, *end;
    if (rt_image_has_attribute(image, path, "ends"))
        rt_image_word(image, path, "ends", word);
    for (; *rest && kind.ends.count < RT_MOST_ENDS; rest = end) {
        const long id = strtol(rest, &end, 10);
        if (end == rest || id < 0 || id > INT32_MAX)
            break;
        kind.ends.ids[kind.ends.count++] = (int32_t)id;
    }
    if (*rest)
        rt_image_fail(image, RT_CHECKPOINT, "ends of the vocabulary are '%s', not %d ids at most",
                      word, RT_MOST_ENDS);
    rt_status status = rt_ok();
    if (!rt_image_failed(image))
        status = rt_vocabulary_read(&vocabulary, kind, path, bytes, size);
    rt_image_fail_as(image, status);
    return vocabulary;
}

static const char labels_path[] = "/labels";

void rt_checkpoint_put_info(rt_image *image, const rt_checkpoint_info *info)
{
    rt_checkpoint_info own = *info;
    rt_status status = rt_ok();
    char *text = NULL;
    snprintf(own.precision, sizeof own.precision, "%s", RT_PRECISION);
    rt_image_put_word(image, "/", "format", "rotor");
    rt_image_put_integer(image, "/", "version", VERSION);
    exchange_fields(image, true, &own);
    rt_image_put_word(image, "/random", "generator", generator);
    if (info->vocabulary)
        put_vocabulary(image, info->vocabulary);
    if (info->labels) {
        status = rt_labels_write(info->labels, &text);
        put_file(image, labels_path, status, text);
    }
}

static void expect_word(rt_image *image, const char *group, const char *name, const char *expected)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, group, name, word);
    if (strcmp(word, expected) != 0)
        rt_image_fail(image, RT_CHECKPOINT, "%s is '%s', '%s' expected", name, word, expected);
}

void rt_checkpoint_get_info(rt_image *image, rt_checkpoint_info *info)
{
    rt_shape shape;
    size_t size;
    expect_word(image, "/", "format", "rotor");
    const int64_t version = rt_image_integer(image, "/", "version");
    if (version != VERSION)
        rt_image_fail(image, RT_CHECKPOINT,
                      "version is %" PRId64 "; this program reads version %d%s", version, VERSION,
                      version > 0 && version < VERSION
                          ? ": train again (--report still draws the tables of an older run)"
                          : "");
    exchange_fields(image, false, info);
    expect_word(image, "/random", "generator", generator);
    info->vocabulary = get_vocabulary(image);
    if (!rt_image_shape(image, labels_path, &shape))
        return;
    RT_OWNED unsigned char *bytes = rt_image_bytes(image, labels_path, &size);
    if (!rt_image_failed(image))
        rt_image_fail_as(image,
                         rt_labels_read(&info->labels, labels_path, (const char *)bytes, size));
}
