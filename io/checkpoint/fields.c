#include "io/checkpoint/fields.h"

#include "core/path.h"

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
