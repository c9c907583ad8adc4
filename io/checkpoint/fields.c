#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "core/rules.h"
#include "text/key_value.h"
#include "text/number.h"
#include "text/writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The most sequences of a step that the keys allow. */
enum { MOST_SEQUENCES = 1000000 };

static int64_t most_steps(const rt_checkpoint_info *info)
{
    (void)info;
    return RT_CHECKPOINT_STEPS;
}

static int64_t its_step(const rt_checkpoint_info *info)
{
    return info->step;
}

static int64_t most_drawn(const rt_checkpoint_info *info)
{
    return info->step * MOST_SEQUENCES;
}

#define AT(member) offsetof(rt_checkpoint_info, member)

/* What others are measured by comes first. */
static const rt_checkpoint_field fields[] = {
    {"/", "step", RT_FIELD_INTEGER, AT(step), most_steps, false},
    {"/", "seed", RT_FIELD_UNSIGNED, AT(seed), NULL, false},
    {"/", "precision", RT_FIELD_WORD, AT(precision), NULL, false},
    {"/", "blas", RT_FIELD_WORD, AT(blas), NULL, false},
    {"/", "eval_loss", RT_FIELD_LOSS, AT(eval_loss), NULL, true},
    {"/", "best_eval_loss", RT_FIELD_LOSS, AT(best_eval_loss), NULL, false},
    {"/", "best_eval_step", RT_FIELD_INTEGER, AT(best_eval_step), its_step, false},
    {"/", "patience_loss", RT_FIELD_LOSS, AT(patience_loss), NULL, false},
    {"/", "patience_count", RT_FIELD_INTEGER, AT(patience_count), its_step, false},
    {"/optimizer", "schedule_steps", RT_FIELD_INTEGER, AT(schedule_steps), most_steps, false},
    {"/data", "position", RT_FIELD_INTEGER, AT(position), most_drawn, false},
    {"/", "config", RT_FIELD_TEXT, AT(config), NULL, false},
    {"/", "past_schedules", RT_FIELD_TEXT, AT(past_schedules), NULL, true},
};
enum { FIELDS = sizeof fields / sizeof *fields };

const rt_checkpoint_field *rt_checkpoint_field_at(int i)
{
    return i < FIELDS ? &fields[i] : NULL;
}

static void dataset_of(char path[RT_PATH_SIZE], const rt_checkpoint_field *f)
{
    snprintf(path, RT_PATH_SIZE, "%s%s%s", f->group, f->group[1] ? "/" : "", f->name);
}

/* ---- writing ---- */

static void put_text(rt_image *image, const rt_checkpoint_field *f, const char *text)
{
    char path[RT_PATH_SIZE];
    dataset_of(path, f);
    if (text || !f->optional)
        rt_image_put_text(image, path, text ? text : "");
}

void rt_checkpoint_put_fields(rt_image *image, const rt_checkpoint_info *info)
{
    for (const rt_checkpoint_field *f = fields; f < fields + FIELDS; f++) {
        const void *at = (const char *)info + f->offset;
        switch (f->type) {
        case RT_FIELD_INTEGER:
            rt_image_put_integer(image, f->group, f->name, *(const int64_t *)at);
            break;
        case RT_FIELD_UNSIGNED:
            rt_image_put_unsigned(image, f->group, f->name, *(const uint64_t *)at);
            break;
        case RT_FIELD_LOSS:
            if (!f->optional || isfinite(*(const double *)at))
                rt_image_put_number(image, f->group, f->name, *(const double *)at);
            break;
        case RT_FIELD_WORD:
            rt_image_put_word(image, f->group, f->name, at);
            break;
        case RT_FIELD_TEXT:
            put_text(image, f, *(char *const *)at);
            break;
        }
    }
}

/* ---- reading ---- */

static void get_integer(rt_image *image, const rt_checkpoint_field *f,
                        const rt_checkpoint_info *info, int64_t *value)
{
    *value = rt_image_integer(image, f->group, f->name);
    const int64_t most = rt_image_failed(image) ? 0 : f->most(info);
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

/* It is printed. */
static void get_word(rt_image *image, const rt_checkpoint_field *f, char *word)
{
    rt_image_word(image, f->group, f->name, word);
    for (; *word; word++)
        if (!isprint((unsigned char)*word))
            rt_image_fail(image, RT_CHECKPOINT, "%s holds a character that cannot be printed",
                          f->name);
}

static void get_text(rt_image *image, const rt_checkpoint_field *f, char **text)
{
    char path[RT_PATH_SIZE];
    rt_shape shape;
    dataset_of(path, f);
    if (!f->optional || rt_image_shape(image, path, &shape))
        *text = rt_image_text(image, path);
}

void rt_checkpoint_get_fields(rt_image *image, rt_checkpoint_info *info)
{
    for (const rt_checkpoint_field *f = fields; f < fields + FIELDS; f++) {
        void *at = (char *)info + f->offset;
        switch (f->type) {
        case RT_FIELD_INTEGER:
            get_integer(image, f, info, at);
            break;
        case RT_FIELD_UNSIGNED:
            *(uint64_t *)at = rt_image_unsigned(image, f->group, f->name);
            break;
        case RT_FIELD_LOSS:
            get_loss(image, f, at);
            break;
        case RT_FIELD_WORD:
            get_word(image, f, at);
            break;
        case RT_FIELD_TEXT:
            get_text(image, f, at);
            break;
        }
    }
}

/* ---- options of the model ---- */

static void name_list(char path[2 * RT_KEY_NAME_SIZE], const rt_key *key)
{
    snprintf(path, 2 * RT_KEY_NAME_SIZE, key->type == RT_KEY_LAYERS ? "/layers/%s.%s" : "/%s/%s",
             key->section, key->name);
}

static void put_option(rt_image *image, const char *group, const rt_key *key, const void *options)
{
    char name[RT_KEY_NAME_SIZE], path[2 * RT_KEY_NAME_SIZE], value[RT_VALUE_SIZE];
    const void *at = (const char *)options + key->offset;
    rt_key_full_name(key, name);
    switch (key->type) {
    case RT_KEY_WHOLE:
        rt_image_put_integer(image, group, name, *(const int *)at);
        break;
    case RT_KEY_SEED:
        rt_image_put_unsigned(image, group, name, *(const uint64_t *)at);
        break;
    case RT_KEY_NUMBER:
        rt_image_put_number(image, group, name, *(const double *)at);
        break;
    case RT_KEY_YES_NO:
    case RT_KEY_CHOICE:
        rt_image_put_word(image, group, name, rt_key_value_write(key, options, value));
        break;
    case RT_KEY_LENGTHS:
    case RT_KEY_FACTORS:
    case RT_KEY_LAYERS:
        name_list(path, key);
        if (*rt_key_value_write(key, options, value))
            rt_image_put_text(image, path, value);
        break;
    case RT_KEY_TEXT:
        break;
    }
}

void rt_image_put_options(rt_image *image, const char *group, const rt_key_table *table,
                          const void *options)
{
    for (int i = 0; i < table->count; i++)
        put_option(image, group, &table->keys[i], options);
}

/* The value as a key reads it. */
static void get_value(rt_image *image, const char *group, const rt_key *key,
                      char value[RT_VALUE_SIZE])
{
    char name[RT_KEY_NAME_SIZE], path[2 * RT_KEY_NAME_SIZE], *text;
    rt_shape shape;
    rt_key_full_name(key, name);
    *value = '\0';
    switch (key->type) {
    case RT_KEY_WHOLE:
        snprintf(value, RT_VALUE_SIZE, "%" PRId64, rt_image_integer(image, group, name));
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
        name_list(path, key);
        text = rt_image_shape(image, path, &shape) ? rt_image_text(image, path) : NULL;
        snprintf(value, RT_VALUE_SIZE, "%s", text ? text : "");
        rt_free(text);
        break;
    case RT_KEY_TEXT:
        break;
    }
}

bool rt_option_may_be_absent(const rt_key *key)
{
    return rt_key_is_one_of(key, RT_OPTIONS("data.end", "data.mask_id", "data.special_tokens"));
}

void rt_image_get_options(rt_image *image, const char *group, const rt_key_table *table,
                          void *options)
{
    char name[RT_KEY_NAME_SIZE], value[RT_VALUE_SIZE];
    for (int i = 0; i < table->count && !rt_image_failed(image); i++) {
        const rt_key *key = &table->keys[i];
        rt_writer problem = {0};
        if (key->type == RT_KEY_TEXT)
            continue;
        rt_key_full_name(key, name);
        if (rt_option_may_be_absent(key) && !rt_image_has_attribute(image, group, name))
            snprintf(value, sizeof value, "%s", key->initial);
        else
            get_value(image, group, key, value);
        if (!rt_image_failed(image) && !rt_key_value_read(key, value, options, &problem))
            rt_image_fail(image, problem.failed ? RT_MEMORY : RT_CHECKPOINT, "%s %s", name,
                          problem.bytes ? problem.bytes : "");
        rt_writer_free(&problem);
    }
}

/* ---- joined parameters ---- */

/* The parameters that joined a training after its first step, as a text in a checkpoint: a line
 * each, "layers.0.attention.theta 600". */

#define JOINED "/joined"

void rt_checkpoint_put_joined(rt_image *image, const rt_parameters *p)
{
    rt_writer w = {0};
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->since)
            rt_writer_add(&w, "%s %" PRId64 "\n", p->list[i]->name, p->list[i]->since);
    if (w.failed)
        rt_image_fail(image, RT_MEMORY, "out of memory for a checkpoint");
    else if (w.bytes)
        rt_image_put_text(image, JOINED, w.bytes);
    rt_writer_free(&w);
}

/* One line, which is taken apart. */
static void get_line(rt_image *image, char *line, int64_t most, const rt_parameters *p,
                     rt_joined_use use)
{
    char *blank = strrchr(line, ' ');
    int64_t since = 0;
    if (blank)
        *blank = '\0';
    rt_parameter *parameter = rt_parameters_find(p, line);
    const bool known = parameter || use == RT_JOINED_TAKE_KNOWN;
    if (!known || !blank || !rt_whole_read(blank + 1, &since) || since < 1 || since > most)
        rt_image_fail(image, RT_CHECKPOINT,
                      "joined must be lines of a parameter and of a step from 1 to %" PRId64
                      "; got '%.100s%s%.20s'",
                      most, line, blank ? " " : "", blank ? blank + 1 : "");
    else if (parameter && use != RT_JOINED_EXPECT)
        parameter->since = since;
}

void rt_checkpoint_get_joined(rt_image *image, int64_t step, const rt_parameters *p,
                              rt_joined_use use)
{
    rt_shape shape;
    if (rt_image_failed(image) || !rt_image_shape(image, JOINED, &shape))
        return;
    char *text = rt_image_text(image, JOINED);
    for (char *line = text, *next; line && *line; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        get_line(image, line, step, p, use);
    }
    rt_free(text);
}
