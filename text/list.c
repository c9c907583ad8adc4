#include "text/list.h"

#include <stdio.h>
#include <string.h>

const char *rt_list_take(const char *list, rt_list_item *item)
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
        list = rt_list_take(list, &item);
        if (rt_list_item_is(item, text))
            return true;
    }
    return false;
}
