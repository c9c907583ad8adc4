#include "io/checkpoint/options.h"

#include "core/memory.h"
#include "core/rules.h"
#include "text/key_value.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
