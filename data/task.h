#ifndef ROTOR_DATA_TASK_H
#define ROTOR_DATA_TASK_H

/* What the files of data/ share, and nobody else: a task is one row of rt_tasks. */

#include "data/data.h"
#include "data/text.h"

/* Which sequence is wanted. Every number that it is made of comes from
 * rt_random {seed, step, stream} at rt_draw_index. */
typedef struct rt_draw {
    uint64_t seed;
    uint32_t step; /* 0 for evaluation, 1 + the step for training: so they never meet */
    uint32_t sequence;
} rt_draw;

static inline uint64_t rt_draw_index(rt_draw draw, int position)
{
    return (uint64_t)draw.sequence << 32 | (uint32_t)position;
}

/* The row to fill. It arrives as padding without labels. */
typedef struct rt_sequence {
    int length; /* T, at least the task's `shortest` */
    int32_t *ids;
    int32_t *labels;
    uint8_t *mask;
} rt_sequence;

typedef struct rt_task {
    const char *name;
    int shortest; /* the length below which no label remains */
    void (*draw)(const rt_data *data, rt_draw draw, rt_sequence row);
    rt_status (*check)(const rt_data_options *o); /* of the task's own keys; or NULL */
    rt_status (*open)(rt_data *data);             /* NULL for a toy task: no file */
} rt_task;

/* All tasks; the row after the last has no name. */
extern const rt_task rt_tasks[];

struct rt_data {
    rt_data_options options;
    const rt_task *task;
    rt_text text; /* empty for a toy task */
};

#endif
