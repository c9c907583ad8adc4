#include "data/id_list.h"

#include "core/memory.h"

#include <string.h>

size_t rt_id_width(int vocab)
{
    return vocab <= UINT16_MAX + 1 ? sizeof(uint16_t) : sizeof(int32_t);
}

void rt_id_list_reserve(rt_id_list *list, size_t room)
{
    if (room <= list->room || list->failed)
        return;
    void *larger = rt_alloc_unset(room, list->width);
    list->failed = !larger;
    if (!larger)
        return;
    if (list->count)
        memcpy(larger, list->ids, list->count * list->width);
    rt_free(list->ids);
    list->ids = larger;
    list->room = room;
}

void rt_id_list_add(void *context, int32_t id)
{
    rt_id_list *list = context;
    if (list->count == list->room)
        rt_id_list_reserve(list, list->room + list->room / 2 + 1);
    if (list->failed)
        return;
    if (list->width == sizeof(uint16_t))
        ((uint16_t *)list->ids)[list->count++] = (uint16_t)id;
    else
        ((int32_t *)list->ids)[list->count++] = id;
}

void rt_id_list_free(rt_id_list *list)
{
    rt_free(list->ids);
    *list = (rt_id_list){.width = list->width};
}

static bool read_ids(void *ids, size_t first, size_t count, int32_t *to)
{
    const rt_id_list *list = ids;
    const uint16_t *narrow = list->ids;
    if (list->width == sizeof(int32_t))
        memcpy(to, (const int32_t *)list->ids + first, count * sizeof *to);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = narrow[first + i];
    return true;
}

static void close_ids(void *ids)
{
    rt_id_list *list = ids;
    rt_free(list->ids);
    rt_free(list);
}

rt_status rt_id_list_run(rt_token_run *run, rt_id_list *list)
{
    static const rt_token_place_kind memory = {.read = read_ids, .close = close_ids};
    rt_id_list *own = rt_alloc(1, sizeof *own);
    if (!own)
        return rt_out_of_memory("the text of a file");
    *own = *list;
    *run = (rt_token_run){&memory, own, own->count};
    *list = (rt_id_list){.width = own->width};
    return rt_ok();
}
