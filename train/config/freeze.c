#include "train/config/freeze.h"

#include "text/number.h"
#include "text/quote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PART_SIZE = 32 };

/* The first part of a list, without the blanks around it; returns what follows it, NULL behind the
 * last. What is too long is no part. */
static const char *take_part(const char *list, char part[PART_SIZE])
{
    list += strspn(list, " ");
    size_t length = strcspn(list, ",");
    const char *rest = list[length] ? list + length + 1 : NULL;
    while (length && list[length - 1] == ' ')
        length--;
    snprintf(part, PART_SIZE, "%.*s", (int)length, list);
    return rest;
}

static const char layer_word[] = "layer.";

static bool begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* The N of "layer.N"; false if the part is something else. */
static bool read_layer(const char *part, int64_t *layer)
{
    const char *number = part + strlen(layer_word);
    return begins(part, layer_word) && number[strspn(number, "0123456789")] == '\0' &&
           rt_whole_read(number, layer);
}

rt_status rt_freeze_check(const char *parts, int layers)
{
    char part[PART_SIZE], quoted[RT_QUOTE_SIZE];
    for (const char *rest = *parts ? parts : NULL; rest;) {
        int64_t layer;
        rest = take_part(rest, part);
        if (!strcmp(part, "embeddings") || !strcmp(part, "head") || !strcmp(part, "theta"))
            continue;
        if (!read_layer(part, &layer))
            return rt_error(RT_CONFIG,
                            "train.freeze must be parts of the model with commas between: "
                            "embeddings, layer.0 to layer.%d, head, theta; got %s",
                            layers - 1, rt_quote(quoted, part));
        if (layer >= layers)
            return rt_error(RT_CONFIG, "train.freeze: there is no layer.%jd; model.layers = %d",
                            (intmax_t)layer, layers);
    }
    return rt_ok();
}

static bool is_of(const char *part, const char *parameter)
{
    static const char encoder[] = "roformer.encoder.layer.";
    int64_t layer;
    if (!strcmp(part, "theta")) {
        const char *last = strrchr(parameter, '.');
        return last && !strcmp(last, ".theta");
    }
    if (!strcmp(part, "head"))
        return !begins(parameter, "roformer.");
    if (!strcmp(part, "embeddings"))
        return begins(parameter, "roformer.embeddings");
    if (!read_layer(part, &layer) || !begins(parameter, encoder))
        return false;
    char number[PART_SIZE];
    snprintf(number, sizeof number, "%jd.", (intmax_t)layer);
    return begins(parameter + strlen(encoder), number);
}

bool rt_freezes(const char *parts, const char *parameter)
{
    char part[PART_SIZE];
    bool frozen = false;
    for (const char *rest = *parts ? parts : NULL; rest && !frozen;) {
        rest = take_part(rest, part);
        frozen = is_of(part, parameter);
    }
    return frozen;
}
