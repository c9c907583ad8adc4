#include "train/config/freeze.h"

#include "text/list.h"
#include "text/number.h"
#include "text/quote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PART_SIZE = 32 };

/* The first part of a list; returns what follows it. What is too long is no part. */
static const char *take_part(const char *list, char part[PART_SIZE])
{
    rt_list_item item;
    list = rt_list_take(list, &item);
    rt_list_item_copy(item, part, PART_SIZE);
    return list;
}

/* The N of "layers.N", `word` being what stands before it; false if the part is something else. */
static bool read_layer(const char *part, const char *word, int64_t *layer)
{
    const size_t length = strlen(word);
    return !strncmp(part, word, length) &&
           part[length + strspn(part + length, "0123456789")] == '\0' &&
           rt_whole_read(part + length, layer);
}

static rt_status check_part(const char *part, int layers)
{
    char quoted[RT_QUOTE_SIZE];
    int64_t layer;
    if (!strcmp(part, "embeddings") || !strcmp(part, "head") || !strcmp(part, "theta"))
        return rt_ok();
    if (read_layer(part, "layer.", &layer))
        return rt_error(RT_CONFIG, "train.freeze = %s is now called layers.%jd", part,
                        (intmax_t)layer);
    if (!read_layer(part, "layers.", &layer))
        return rt_error(RT_CONFIG,
                        "train.freeze must be a comma-separated list of embeddings, layers.0 to "
                        "layers.%d, head, theta; got %s",
                        layers - 1, rt_quote(quoted, part));
    if (layer >= layers)
        return rt_error(RT_CONFIG, "train.freeze: there is no layers.%jd; model.layers = %d",
                        (intmax_t)layer, layers);
    return rt_ok();
}

rt_status rt_freeze_check(const char *parts, int layers)
{
    char part[PART_SIZE];
    rt_status status = rt_ok();
    for (const char *rest = *parts ? parts : NULL; rest && !status.code;) {
        rest = take_part(rest, part);
        status = check_part(part, layers);
    }
    return status;
}

static bool is_of(const char *part, const rt_parameter *parameter)
{
    int64_t layer;
    if (!strcmp(part, "theta"))
        return parameter->role == RT_ROLE_THETA;
    if (!strcmp(part, "head"))
        return parameter->part == RT_PART_HEAD;
    if (!strcmp(part, "embeddings"))
        return parameter->part == RT_PART_EMBEDDINGS;
    return read_layer(part, "layers.", &layer) && parameter->layer == layer;
}

bool rt_freezes(const char *parts, const rt_parameter *parameter)
{
    char part[PART_SIZE];
    bool frozen = false;
    for (const char *rest = *parts ? parts : NULL; rest && !frozen;) {
        rest = take_part(rest, part);
        frozen = is_of(part, parameter);
    }
    return frozen;
}
