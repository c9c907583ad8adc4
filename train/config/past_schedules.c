#include "train/config/past_schedules.h"

#include "core/memory.h"
#include "train/config/keys.h"

#include <stdio.h>
#include <string.h>

/* A row of the table is what these keys say; train.steps is the last step. */
static const char *const columns[] = {"train.steps", "optimizer.lr", "optimizer.schedule",
                                      "optimizer.min_lr_ratio", "optimizer.schedule_steps"};
enum { COLUMNS = sizeof columns / sizeof *columns };
static const char heading[] = "until_step,lr,schedule,min_lr_ratio,schedule_steps\n";

/* A constant rate has neither an end nor a share that is left there. */
static bool is_same(const rt_optimizer_options *a, const rt_optimizer_options *b)
{
    const bool constant = a->schedule == RT_SCHEDULE_CONSTANT;
    return a->lr == b->lr && a->schedule == b->schedule &&
           (constant ||
            (a->min_lr_ratio == b->min_lr_ratio && a->schedule_steps == b->schedule_steps));
}

rt_status rt_past_schedules_add(rt_optimizer_options *o, const rt_optimizer_options *before,
                                int step)
{
    if (is_same(o, before))
        return rt_ok();
    if (o->past_count == RT_MOST_PAST_SCHEDULES)
        return rt_error(RT_CONFIG, "a run can be given another schedule %d times",
                        RT_MOST_PAST_SCHEDULES);
    o->past[o->past_count++] = (rt_past_schedule){step, before->lr, before->schedule,
                                                  before->min_lr_ratio, before->schedule_steps};
    return rt_ok();
}

static void put_row(rt_writer *w, const rt_past_schedule *s)
{
    char value[RT_VALUE_SIZE];
    const rt_config c = {.train.steps = s->until,
                         .optimizer = {.lr = s->lr,
                                       .schedule = s->schedule,
                                       .min_lr_ratio = s->min_lr_ratio,
                                       .schedule_steps = s->schedule_steps}};
    for (int i = 0; i < COLUMNS; i++)
        rt_writer_add(w, "%s%s", i ? "," : "",
                      rt_key_write(rt_key_at(rt_key_find_full(columns[i])), &c, value));
    rt_writer_add(w, "\n");
}

char *rt_past_schedules_write(const rt_optimizer_options *o, int steps)
{
    const rt_past_schedule now = {steps, o->lr, o->schedule, o->min_lr_ratio, o->schedule_steps};
    rt_writer w = {0};
    rt_writer_add(&w, "%s", heading);
    for (int i = 0; i < o->past_count; i++)
        put_row(&w, &o->past[i]);
    if (steps)
        put_row(&w, &now);
    return rt_writer_take(&w);
}

/* One row, whose end is the start of the next; NULL if it is none. */
static const char *read_row(const char *row, rt_past_schedule *s)
{
    rt_config c = {0};
    rt_writer problem = {0};
    bool good = true;
    for (int i = 0; i < COLUMNS && good; i++) {
        char cell[RT_KEY_NAME_SIZE];
        const size_t length = strcspn(row, ",\n");
        good = length < sizeof cell && row[length] == (i + 1 < COLUMNS ? ',' : '\n');
        snprintf(cell, sizeof cell, "%.*s", (int)length, row);
        good = good && rt_key_read(rt_key_at(rt_key_find_full(columns[i])), cell, &c, &problem);
        row += good ? length + 1 : 0;
    }
    rt_writer_free(&problem);
    *s = (rt_past_schedule){c.train.steps, c.optimizer.lr, c.optimizer.schedule,
                            c.optimizer.min_lr_ratio, c.optimizer.schedule_steps};
    return good ? row : NULL;
}

rt_status rt_past_schedules_read(rt_optimizer_options *o, const char *table, int64_t step)
{
    const char *row = strncmp(table, heading, strlen(heading)) ? NULL : table + strlen(heading);
    int last = 0;
    o->past_count = 0;
    while (row && *row) {
        rt_past_schedule s;
        row = read_row(row, &s);
        if (!row || s.until <= last || s.until > step || o->past_count == RT_MOST_PAST_SCHEDULES)
            row = NULL;
        else
            o->past[o->past_count++] = s;
        last = s.until;
    }
    if (row)
        return rt_ok();
    o->past_count = 0;
    return rt_error(RT_CONFIG, "the table of its past schedules is damaged");
}
