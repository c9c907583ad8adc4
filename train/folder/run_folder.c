#include "train/folder/run_folder.h"

#include "core/memory.h"
#include "text/files.h"
#include "train/folder/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that a run writes beside its checkpoints, the first of which is not removed but replaced.
 * Sweeps write the last ones; any other marks a folder as that of a run. */
static const char *const files[] = {"config.ini",      "vocab.txt",   "tokenizer.json",
                                    "schedules.csv",   "metrics.csv", "timing.csv",
                                    "theta.csv",       "lengths.csv", "result.csv",
                                    "theta_final.csv", "classes.csv", "confusion.csv",
                                    "usage.csv",       "cutoffs.csv", "distances.csv",
                                    "heads.csv",       "report.html", "output.log",
                                    "runs.csv",        "sweep.csv",   "paired.csv",
                                    "growth.csv"};
enum { ALL_FILES = sizeof files / sizeof *files, FILES = ALL_FILES - 5, OWN_FILES = FILES - 1 };

/* Limit of the length of paths within the folder. A longer path of a run folder is refused before
 * anything is created. */
enum { LONGEST_NAME = 96 };

static rt_status failure(const char *path)
{
    return rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

rt_status rt_run_folder_name(rt_run_folder *f, const char *dir, const char *name)
{
    f->lock = -1;
    rt_status status = rt_path_join(f->path, dir, name);
    if (!status.code)
        status = rt_path_join(f->checkpoints, f->path, "checkpoints");
    if (!status.code && strlen(f->path) + LONGEST_NAME >= RT_PATH_SIZE)
        status =
            rt_error(RT_CONFIG, "the path of the run folder has %zu bytes, %d are possible: %s",
                     strlen(f->path), RT_PATH_SIZE - LONGEST_NAME - 1, f->path);
    return status;
}

static bool holds_checkpoints(const char *folder)
{
    int64_t *steps = NULL;
    int count = 0;
    const bool listed = !rt_checkpoint_list(folder, &steps, &count).code;
    rt_free(steps);
    return listed && count;
}

bool rt_run_folder_used(const rt_run_folder *f)
{
    bool used = holds_checkpoints(f->checkpoints);
    for (int i = 0; i < OWN_FILES && !used; i++)
        used = rt_folder_has(f->path, files[i]);
    return used;
}

bool rt_is_sweep_folder(const char *path)
{
    return rt_folder_has(path, "runs.csv");
}

bool rt_is_run_folder(const char *path)
{
    return holds_checkpoints(path) || rt_folder_has(path, "checkpoints") ||
           rt_folder_has(path, "config.ini") || rt_is_sweep_folder(path);
}

enum { PROC_PATH_SIZE = 64, FDINFO_LINE_SIZE = 256 };

/* Returns whether /proc has a line "lock: 1: FLOCK ADVISORY WRITE ..." for the descriptor. */
static bool descriptor_has_lock(long process, long descriptor)
{
    char path[PROC_PATH_SIZE], line[FDINFO_LINE_SIZE];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/fdinfo/%ld", process, descriptor);
    FILE *facts = fopen(path, "r");
    while (facts && !found && fgets(line, sizeof line, facts))
        found = !strncmp(line, "lock:", 5) && strstr(line, "FLOCK");
    if (facts)
        fclose(facts);
    return found;
}

/* Returns the error for a folder that another process has locked. Names that process if /proc shows
 * it: a process of another user, container or host is not visible. */
static rt_status refuse_second(const char *folder)
{
    struct stat wanted, opened;
    glob_t open_files;
    long holder = 0;
    if (!stat(folder, &wanted) && !glob("/proc/[1-9]*/fd/*", GLOB_NOSORT, NULL, &open_files)) {
        for (size_t i = 0; i < open_files.gl_pathc && !holder; i++) {
            long process, descriptor;
            if (sscanf(open_files.gl_pathv[i], "/proc/%ld/fd/%ld", &process, &descriptor) == 2 &&
                process != (long)getpid() && !stat(open_files.gl_pathv[i], &opened) &&
                opened.st_dev == wanted.st_dev && opened.st_ino == wanted.st_ino &&
                descriptor_has_lock(process, descriptor))
                holder = process;
        }
        globfree(&open_files);
    }
    if (!holder)
        return rt_error(RT_CONFIG,
                        "%s: another process is training here, but cannot be found: it has just "
                        "ended, or runs as another user or on another host",
                        folder);
    return rt_error(RT_CONFIG,
                    "%s: process %ld is training here: wait for its end, or stop it with kill %ld",
                    folder, holder, holder);
}

rt_status rt_run_folder_lock(rt_run_folder *f)
{
    f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock < 0)
        return failure(f->path);
    if (flock(f->lock, LOCK_EX | LOCK_NB)) {
        rt_run_folder_close(f);
        return refuse_second(f->path);
    }
    return rt_ok();
}

rt_status rt_run_folder_open(rt_run_folder *f, bool with_checkpoints)
{
    const rt_status status = rt_folders_make(with_checkpoints ? f->checkpoints : f->path);
    return status.code || f->lock >= 0 ? status : rt_run_folder_lock(f);
}

void rt_run_folder_close(rt_run_folder *f)
{
    if (f->lock >= 0)
        close(f->lock);
    f->lock = -1;
}

bool rt_run_folder_busy(const char *path)
{
    const int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool busy = lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (lock >= 0)
        close(lock);
    return busy;
}

rt_status rt_run_folder_idle(const rt_run_folder *f)
{
    return rt_run_folder_busy(f->path) ? refuse_second(f->path) : rt_ok();
}

static rt_status remove_file(const char *path)
{
    return remove(path) && errno != ENOENT ? failure(path) : rt_ok();
}

rt_status rt_run_folder_spare(const rt_run_folder *f, const rt_inputs *inputs)
{
    static const char *const folders[] = {"checkpoints", "figures", RT_EVENTS_FOLDER};
    const rt_input_file *found = NULL;
    char path[RT_PATH_SIZE];
    if (inputs->failed)
        return rt_out_of_memory("a list of files");
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !found; i++)
        if (!rt_path_join(path, f->path, folders[i]).code)
            found = rt_inputs_find_in(inputs, path);
    for (int i = 0; i < ALL_FILES && !found; i++)
        if (!rt_path_join(path, f->path, files[i]).code)
            found = rt_inputs_find(inputs, path);
    return !found ? rt_ok()
                  : rt_error(RT_CONFIG,
                             "%s: %.600s is read from %.600s, which this training writes anew: "
                             "choose another run.name, or copy what is read to another folder",
                             found->key, found->path, f->path);
}

rt_status rt_run_folder_clear(const rt_run_folder *f)
{
    char path[RT_PATH_SIZE];
    int64_t *steps = NULL;
    int count = 0;
    rt_status status = rt_checkpoint_list(f->checkpoints, &steps, &count);
    for (int i = 0; i < count && !status.code; i++) {
        status = rt_checkpoint_path(path, f->checkpoints, steps[i]);
        if (!status.code)
            status = remove_file(path);
    }
    rt_free(steps);
    for (int i = 1; i < FILES && !status.code; i++) {
        status = rt_path_join(path, f->path, files[i]);
        if (!status.code)
            status = remove_file(path);
    }
    if (!status.code)
        status = rt_path_join(path, f->path, RT_EVENTS_FOLDER);
    if (!status.code)
        rt_event_files_clear(path);
    return status;
}
