#include "util/number.h"

#include "util/writer.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Switches the calling thread to the locale "C" for conversions by the C library. If memory is
 * exhausted (which "C" does not need in practice), uselocale(0) leaves the locale unchanged. */
typedef struct c_locale {
    locale_t c;
    locale_t before;
} c_locale;

static c_locale enter_c_locale(void)
{
    c_locale l;
    l.c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    l.before = uselocale(l.c);
    return l;
}

static void leave_c_locale(c_locale l)
{
    uselocale(l.before);
    if (l.c)
        freelocale(l.c);
}

/* Converts a text. Returns whether all of it is a decimal number; errno is that of strtod. */
static bool convert(const char *text, double *value)
{
    char *end;
    const c_locale l = enter_c_locale();
    errno = 0;
    *value = strtod(text, &end);
    const int number = errno;
    leave_c_locale(l);
    errno = number;
    return end > text && !*end && !text[strspn(text, "+-.0123456789eE")]; /* no nan, no 0x1 */
}

bool rt_number_is_decimal(const char *text)
{
    double value;
    return convert(text, &value);
}

bool rt_number_parse(const char *text, double *value)
{
    double found;
    if (!convert(text, &found))
        return false;
    *value = found;
    return isfinite(found) && !(errno == ERANGE && found == 0);
}

bool rt_integer_parse(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '+' || *text == '-');
    const size_t count = strspn(digits, "0123456789");
    if (!count || digits[count])
        return false;
    errno = 0;
    *value = (int64_t)strtoll(text, NULL, 10);
    return errno != ERANGE;
}

const char *rt_number_write(char text[RT_NUMBER_SIZE], double value)
{
    c_locale l = enter_c_locale();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, RT_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    leave_c_locale(l);
    return text;
}

void rt_put_little_endian(unsigned char *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

uint64_t rt_little_endian(const unsigned char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

const char *rt_number_show(char text[RT_NUMBER_SIZE], int decimals, double value)
{
    return isnan(value)        ? rt_printed(text, RT_NUMBER_SIZE, "nan")
           : fabs(value) < 1e7 ? rt_printed(text, RT_NUMBER_SIZE, "%.*f", decimals, value)
                               : rt_printed(text, RT_NUMBER_SIZE, "%.4g", value);
}

const char *rt_list_parse(const char *list, rt_list_item *item)
{
    const size_t end = strcspn(list, ",");
    const size_t blanks = strspn(list, " ");
    *item = (rt_list_item){.start = list + blanks, .length = end - blanks};
    while (item->length && item->start[item->length - 1] == ' ')
        item->length--;
    return list[end] ? list + end + 1 : NULL;
}

bool rt_list_item_is(rt_list_item item, const char *text)
{
    return strlen(text) == item.length && !strncmp(item.start, text, item.length);
}

bool rt_list_item_copy(rt_list_item item, char *text, size_t size)
{
    snprintf(text, size, "%.*s", (int)item.length, item.start);
    return item.length < size;
}

bool rt_list_has(const char *list, const char *text)
{
    rt_list_item item;
    while (list) {
        list = rt_list_parse(list, &item);
        if (rt_list_item_is(item, text))
            return true;
    }
    return false;
}
