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

/* ---- schedules ---- */

/* Whether the key is one of those that a run can be given anew for more steps. */
static bool is_of_schedule(const rt_key *key)
{
    return key->change == RT_WHEN_EXTENDED || key->change == RT_HOW_LONG;
}

static int column_of(const rt_sweep_runs *runs, const char *name)
{
    for (int i = 1; i < runs->exit_column; i++)
        if (!strcmp(runs->names[i], name))
            return i;
    return -1;
}

/* The steps of a schedule follow those of the training unless they are set. */
static bool sets_apart(const rt_sweep_runs *runs, const rt_key *key)
{
    char name[RT_KEY_NAME_SIZE];
    return column_of(runs, rt_key_full_name(key, name)) >= 0 ||
           (!strcmp(name, "optimizer.schedule_steps") && column_of(runs, "train.steps") >= 0);
}

void rt_sweep_report_schedules(rt_writer *w, const char *folder, const rt_sweep_runs *runs)
{
    char value[RT_VALUE_SIZE], other_value[RT_VALUE_SIZE], name[RT_KEY_NAME_SIZE];
    bool differs[RT_MAX_KEYS] = {false};
    const int variant = column_of(runs, "variant"); /* which may set anything */
    const char *separator = "warning: the runs differ in keys that the sweep does not set: ";
    rt_config *first = rt_alloc(2, sizeof *first);
    int known = -1;
    if (!first) {
        w->failed = true;
        return;
    }
    rt_config *other = first + 1;
    for (int run = 0; run < runs->count; run++) {
        char *const *cells = runs->list[run].cells;
        if (known >= 0 && variant >= 0 && strcmp(cells[variant], runs->list[known].cells[variant]))
            continue;
        if (!load(known < 0 ? first : other, folder, cells[0]))
            continue;
        for (int i = 0; rt_key_at(i) && known >= 0; i++)
            differs[i] |= is_of_schedule(rt_key_at(i)) &&
                          strcmp(rt_key_write(rt_key_at(i), first, value),
                                 rt_key_write(rt_key_at(i), other, other_value)) != 0;
        known = known < 0 ? run : known;
    }
    for (int i = 0; rt_key_at(i); i++)
        if (differs[i] && !sets_apart(runs, rt_key_at(i))) {
            rt_writer_add(w, "%s%s", separator, rt_key_full_name(rt_key_at(i), name));
            separator = ", ";
        }
    if (*separator == ',')
        rt_writer_add(w, "; their results may not be comparable\n");
    rt_free(first);
}

/* ---- what is common ---- */

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
