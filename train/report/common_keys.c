#include "train/report/common_keys.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/config/keys.h"
#include "train/report/facts.h"

#include <string.h>

static bool load(rt_config *config, const char *folder, const char *run)
{
    char member[RT_PATH_SIZE];
    return !rt_path_join(member, folder, run).code && !rt_config_load_folder(config, member).code;
}

static void drop_differences(bool same[RT_MAX_KEYS], const rt_config *a, const rt_config *b)
{
    char one[RT_VALUE_SIZE], other[RT_VALUE_SIZE];
    for (int i = 0; rt_key_at(i); i++)
        same[i] = same[i] &&
                  !strcmp(rt_key_write(rt_key_at(i), a, one), rt_key_write(rt_key_at(i), b, other));
}

void rt_report_common_keys(rt_writer *w, const char *folder, const rt_sweep_runs *runs)
{
    bool same[RT_MAX_KEYS], any = false;
    rt_config *first = rt_alloc(2, sizeof *first);
    if (!first) {
        w->failed = true;
        return;
    }
    rt_config *other = first + 1;
    for (int i = 0; rt_key_at(i); i++)
        same[i] = rt_key_decides(rt_key_at(i));
    for (int run = 0; run < runs->count; run++)
        if (!any)
            any = load(first, folder, runs->list[run].cells[0]);
        else if (load(other, folder, runs->list[run].cells[0]))
            drop_differences(same, first, other);
    if (any)
        rt_report_keys(w, "Configuration of all", first, same);
    rt_free(first);
}
