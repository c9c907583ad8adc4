#include "train/run/opening.h"

#include "text/number.h"
#include "train/run/stop.h"
#include "train/step/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(void *context, const char *line)
{
    static const char warning[] = "warning: ";
    rt_opening *opening = context;
    const bool warns = opening->first && !strncmp(line, warning, strlen(warning));
    if (warns || !opening->progress.quiet)
        rt_progress_say(&opening->progress, "%s", line);
}

static void show(void *context, const char *what, double share)
{
    rt_opening *opening = context;
    rt_progress_share(&opening->progress, what, share);
}

static bool stop(void *context)
{
    (void)context;
    return rt_stop_requested();
}

/* Without a folder that can be named, or where its path is too long, texts stay in memory. */
static void find_cache(char path[RT_PATH_SIZE])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache == '/')
        length = snprintf(path, RT_PATH_SIZE, "%s/rotor", cache);
    else if (home && *home == '/')
        length = snprintf(path, RT_PATH_SIZE, "%s/.cache/rotor", home);
    if (length < 0 || length >= RT_PATH_SIZE)
        *path = '\0';
}

void rt_opening_begin(rt_opening *opening, rt_data_options *o, const rt_config *config,
                      const rt_world *world, bool quiet)
{
    const char *from = getenv("ROTOR_CACHE_FROM");
    int64_t bytes = 0;
    rt_progress_begin(&opening->progress, config, 0, quiet, false);
    opening->watch = (rt_data_watch){opening, say, show, stop};
    opening->first = rt_world_rank(world) == 0;
    o->watch = &opening->watch;
    o->threads = rt_threads_of(config, world);
    if (!*o->cache)
        find_cache(o->cache);
    if (from && rt_whole_read(from, &bytes) && bytes > 0)
        o->cache_from = (size_t)bytes;
}

void rt_opening_end(rt_opening *opening)
{
    rt_progress_clear(&opening->progress);
}
