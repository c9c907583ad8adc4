#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "util/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of the checkpoint of a step, in memory of the enclosing block. */
#define FILE_NAME(step, suffix) RT_PRINTED(40, "step-%08" PRId64 ".h5%s", step, suffix)

/* Returns the step in the name of a checkpoint with this suffix, -1 for other names: writing the
 * step again must give the same name. */
static int64_t step_of(const char *name, const char *suffix)
{
    if (strncmp(name, "step-", 5) || name[5] < '0' || name[5] > '9')
        return -1;
    int64_t step = strtoll(name + 5, NULL, 10);
    const char *again = FILE_NAME(step, "");
    size_t length = strlen(again);
    return !strncmp(name, again, length) && !strcmp(name + length, suffix) ? step : -1;
}

rt_status rt_checkpoint_path(char path[RT_PATH_SIZE], const char *folder, int64_t step)
{
    return rt_path_join(path, folder, FILE_NAME(step, ""));
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Lists the steps of the files with a suffix, newest first. The caller frees the list. */
static rt_status list_names(const char *folder, const char *suffix, int64_t **list, int *count)
{
    struct dirent **entries;
    *list = NULL;
    *count = 0;
    const int names = scandir(folder, &entries, NULL, NULL);
    if (names < 0 && errno == ENOENT)
        return rt_ok();
    if (names < 0 && errno == ENOMEM)
        return rt_out_of_memory("a list of checkpoints");
    if (names < 0)
        return rt_error(RT_IO, "cannot open %s: %s", folder, strerror(errno));
    int64_t *steps = *list = rt_alloc((size_t)names, sizeof *steps);
    for (int i = 0; i < names; i++) {
        const int64_t step = step_of(entries[i]->d_name, suffix);
        if (steps && step >= 0)
            steps[(*count)++] = step;
        free(entries[i]);
    }
    free(entries);
    RT_TRY(rt_allocated(steps, "a list of checkpoints"));
    qsort(steps, (size_t)*count, sizeof *steps, newest_first);
    return rt_ok();
}

rt_status rt_checkpoint_list(const char *folder, int64_t **list, int *count)
{
    return list_names(folder, "", list, count);
}

/* Removes files with a suffix whose step is at most `newest`. Keeps the newest `keep` of them and
 * the file of step `best`. A file that cannot be removed stays until the next save. */
static rt_status remove_files(const char *folder, const char *suffix, int64_t newest, int64_t best,
                              int keep)
{
    RT_OWNED int64_t *steps = NULL;
    int count, kept = 0;
    RT_TRY(list_names(folder, suffix, &steps, &count));
    for (int i = 0; i < count; i++)
        if (steps[i] <= newest && kept++ >= keep && steps[i] != best)
            unlink(RT_PATH_IN(folder, FILE_NAME(steps[i], suffix)));
    return rt_ok();
}

rt_status rt_checkpoint_save_in(const char *folder, const rt_checkpoint_model *model,
                                const rt_checkpoint_info *info, int keep)
{
    char path[RT_PATH_SIZE];
    RT_TRY(rt_checkpoint_path(path, folder, info->step));
    RT_TRY(remove_files(folder, RT_TEMPORARY_SUFFIX, INT64_MAX, -1, 0));
    RT_TRY(rt_checkpoint_save(path, model, info));
    if (keep > 0) /* it is saved, also if older ones cannot be listed */
        (void)remove_files(folder, "", info->step, info->evaluations.best_step, keep);
    return rt_ok();
}

/* Appends a line to the warnings: why a checkpoint was skipped and what is tried next. A line that
 * does not fit is dropped. */
static void warn(char warnings[RT_MESSAGE_SIZE], const char *reason, const int64_t *next)
{
    size_t used = strlen(warnings), capacity = RT_MESSAGE_SIZE - used;
    int length = snprintf(warnings + used, capacity, "%s%s%s%s", used ? "\n" : "", reason,
                          next ? "; falling back to " : "", next ? FILE_NAME(*next, "") : "");
    if ((size_t)length >= capacity)
        warnings[used] = '\0';
}

/* A checkpoint must have the step of its name: a copy under a later name must not replace later
 * checkpoints. */
rt_status rt_checkpoint_newest(rt_checkpoint *c, const char *folder, rt_parse parse,
                               char path[RT_PATH_SIZE], char warnings[RT_MESSAGE_SIZE])
{
    RT_OWNED int64_t *steps = NULL;
    int count, i = 0;
    *c = (rt_checkpoint){.image = NULL};
    *path = *warnings = '\0';
    rt_status newest = rt_ok(), status = list_names(folder, "", &steps, &count);
    for (; i < count; i++) {
        status = rt_checkpoint_path(path, folder, steps[i]);
        if (status.code == RT_OK)
            status = rt_checkpoint_open(c, path, parse);
        if (status.code == RT_OK && c->info.step != steps[i]) {
            rt_image_fail(c->image, RT_CHECKPOINT, "it is of step %" PRId64, c->info.step);
            status = rt_image_status(c->image);
        }
        if (status.code == RT_OK)
            break;
        rt_checkpoint_close(c);
        if (status.code == RT_MEMORY || status.code == RT_IO) /* not a fault of the file */
            break;
        if (i == 0)
            newest = status;
        warn(warnings, status.message, i + 1 < count ? &steps[i + 1] : NULL);
    }
    return count && i == count
               ? rt_error(RT_CHECKPOINT, "%s: none of %d checkpoints can be used; the newest: %s",
                          folder, count, newest.message)
               : status;
}
