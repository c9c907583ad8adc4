#include "data/token_run.h"

#include "core/memory.h"

#include <string.h>

/* Ids that are looked through at a time. */
enum { BLOCK = 256 };

rt_status rt_token_runs_add(rt_token_runs *runs, rt_token_run run)
{
    if (runs->count == runs->room) {
        const size_t room = 2 * runs->room + 4;
        rt_token_run *list = rt_alloc(room, sizeof *list);
        if (!list) {
            run.kind->close(run.ids);
            return rt_out_of_memory("the files of data");
        }
        if (runs->count)
            memcpy(list, runs->list, runs->count * sizeof *list);
        rt_free(runs->list);
        runs->list = list;
        runs->room = room;
    }
    runs->list[runs->count++] = run;
    runs->tokens += run.count;
    return rt_ok();
}

void rt_token_runs_close(rt_token_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        runs->list[i].kind->close(runs->list[i].ids);
    rt_free(runs->list);
    *runs = (rt_token_runs){.count = 0};
}

bool rt_token_runs_read(const rt_token_runs *runs, size_t first, size_t count, int32_t *ids)
{
    const rt_token_run *run = runs->list;
    for (; first >= run->count; run++)
        first -= run->count;
    for (size_t done = 0; done < count; run++, first = 0) {
        const size_t there = run->count - first, left = count - done,
                     n = there < left ? there : left;
        if (!run->kind->read(run->ids, first, n, ids + done))
            return false;
        done += n;
    }
    return true;
}

rt_status rt_token_runs_status(const rt_token_runs *runs)
{
    rt_status status = rt_ok();
    for (size_t i = 0; i < runs->count && !status.code; i++)
        if (runs->list[i].kind->status)
            status = runs->list[i].kind->status(runs->list[i].ids);
    return status;
}

size_t rt_token_runs_find(const rt_token_runs *runs, size_t first, size_t end, int32_t id)
{
    int32_t ids[BLOCK];
    for (size_t n; first < end; first += n) {
        n = end - first < BLOCK ? end - first : BLOCK;
        const bool read = rt_token_runs_read(runs, first, n, ids);
        for (size_t i = 0; read && i < n; i++)
            if (ids[i] == id)
                return first + i;
    }
    return end;
}

size_t rt_token_runs_find_last(const rt_token_runs *runs, size_t first, size_t end, int32_t id)
{
    int32_t ids[BLOCK];
    for (size_t n; first < end; end -= n) {
        n = end - first < BLOCK ? end - first : BLOCK;
        const bool read = rt_token_runs_read(runs, end - n, n, ids);
        for (size_t i = n; read && i > 0; i--)
            if (ids[i - 1] == id)
                return end - n + i - 1;
    }
    return SIZE_MAX;
}
