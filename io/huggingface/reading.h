#ifndef ROTOR_IO_HUGGINGFACE_READING_H
#define ROTOR_IO_HUGGINGFACE_READING_H

/* An object of config.json whose keys are asked for one by one. The first that is wrong is kept in
 * `status`, RT_CHECKPOINT with the key's name; what is asked for afterwards is of no use. A key
 * that is absent and one that is null both mean the default. */

#include "core/key.h"
#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct rt_reading {
    const json_t *json;
    const char *within; /* begins the names of its keys in messages, such as "rope_parameters."; or
                           NULL */
    rt_status status;
} rt_reading;

void rt_reading_refuse(rt_reading *r, const char *format, ...) RT_PRINTF(2, 3);

/* NULL if the key is absent or null. */
json_t *rt_reading_find(const rt_reading *r, const char *key);

int rt_reading_whole(rt_reading *r, const char *key, int initial, int low, int high);

/* A number from `low` to less than `high`, and one above 0. */
double rt_reading_below(rt_reading *r, const char *key, double initial, double low, double high);
double rt_reading_above_0(rt_reading *r, const char *key, double initial);

/* What norms add to a variance: above 0, at most 1, as model.norm_eps. */
double rt_reading_eps(rt_reading *r, const char *key, double initial);

bool rt_reading_flag(rt_reading *r, const char *key, bool initial);

/* "" if the key is absent. */
const char *rt_reading_word(rt_reading *r, const char *key);

/* A whole number from 1 on. Sizes and layers go as far as those of rotor's keys. */
enum { RT_MOST_HF_LAYERS = 1000 };
int rt_reading_size(rt_reading *r, const char *key, int initial);

#endif
