#include "io/huggingface/reading.h"

#include "io/huggingface/private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void rt_reading_refuse(rt_reading *r, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    if (r->status.code)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    r->status = rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": %s%s", r->within ? r->within : "", message);
}

json_t *rt_reading_find(const rt_reading *r, const char *key)
{
    json_t *value = json_object_get(r->json, key);
    return json_is_null(value) ? NULL : value;
}

int rt_reading_whole(rt_reading *r, const char *key, int initial, int low, int high)
{
    const json_t *value = rt_reading_find(r, key);
    if (!value)
        return initial;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= low && number <= high)
        return (int)number;
    rt_reading_refuse(r, "%s must be a whole number from %d to %d", key, low, high);
    return initial;
}

int rt_reading_size(rt_reading *r, const char *key, int initial)
{
    return rt_reading_whole(r, key, initial, 1, RT_MOST_SIZE);
}

double rt_reading_below(rt_reading *r, const char *key, double initial, double low, double high)
{
    const json_t *value = rt_reading_find(r, key);
    const double number = json_number_value(value);
    if (!value)
        return initial;
    if (json_is_number(value) && number >= low && number < high)
        return number;
    rt_reading_refuse(r, "%s must be a number from %g to less than %g", key, low, high);
    return initial;
}

double rt_reading_above_0(rt_reading *r, const char *key, double initial)
{
    const json_t *value = rt_reading_find(r, key);
    const double number = json_number_value(value);
    if (!value)
        return initial;
    if (json_is_number(value) && number > 0 && isfinite(number))
        return number;
    rt_reading_refuse(r, "%s must be a number above 0", key);
    return initial;
}

double rt_reading_eps(rt_reading *r, const char *key, double initial)
{
    const double eps = rt_reading_above_0(r, key, initial);
    if (eps > 1)
        rt_reading_refuse(r, "%s must be at most 1", key);
    return eps;
}

bool rt_reading_flag(rt_reading *r, const char *key, bool initial)
{
    const json_t *value = rt_reading_find(r, key);
    if (value && !json_is_boolean(value))
        rt_reading_refuse(r, "%s must be true or false", key);
    return value ? json_is_true(value) : initial;
}

const char *rt_reading_word(rt_reading *r, const char *key)
{
    const json_t *value = rt_reading_find(r, key);
    if (value && !json_is_string(value))
        rt_reading_refuse(r, "%s must be a string", key);
    return json_is_string(value) ? json_string_value(value) : "";
}
