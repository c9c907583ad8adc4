#ifndef ROTOR_DATA_ID_LIST_H
#define ROTOR_DATA_ID_LIST_H

/* Ids in memory, in as few bits as the vocabulary needs: 16 or 32. */

#include "data/token_run.h"

typedef struct rt_id_list {
    void *ids;
    size_t width; /* bytes of an id, see rt_id_width */
    size_t count, room;
    bool failed; /* the heap is exhausted */
} rt_id_list;

size_t rt_id_width(int vocab);

/* Makes room for so many ids in all; see `failed`. */
void rt_id_list_reserve(rt_id_list *list, size_t room);

/* Adds an id to the rt_id_list: an rt_id_taker. */
void rt_id_list_add(void *list, int32_t id);
void rt_id_list_free(rt_id_list *list);

/* Makes a run of a list, which is empty then. RT_MEMORY: the list is as it was. */
rt_status rt_id_list_run(rt_token_run *run, rt_id_list *list) RT_MUST_CHECK;

#endif
