#include "train/folder/run_folder.h"

#include "core/memory.h"
#include "train/folder/event_file.h"
#include "util/file_lock.h"
#include "util/files.h"
#include "util/process.h"
#include "util/writer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Files that a run writes beside its checkpoints, the first of which is not removed but replaced.
 * The tables of its end begin with the result. Sweeps write the last ones; any other marks a folder
 * as that of a run. */
static const char *const files[] = {"config.ini",      "vocab.txt",   "tokenizer.json",
                                    "schedules.csv",   "metrics.csv", "timing.csv",
                                    "theta.csv",       "result.csv",  "lengths.csv",
                                    "theta_final.csv", "classes.csv", "confusion.csv",
                                    "usage.csv",       "cutoffs.csv", "distances.csv",
                                    "heads.csv",       "gates.csv",   "phases.csv",
                                    "report.html",     "output.log",  "runs.csv",
                                    "sweep.csv",       "paired.csv",  "growth.csv"};
enum {
    ALL_FILES = sizeof files / sizeof *files,
    FILES = ALL_FILES - 5,
    OWN_FILES = FILES - 1,
    END_FILES = 7 /* index of result.csv */
};

/* Limit of the length of paths within the folder. A longer path of a run folder is refused before
 * anything is created. */
enum { LONGEST_NAME = 96 };

static const char lock_name[] = ".lock"; /* file that is locked */

static rt_status failure(const char *path)
{
    return rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

rt_status rt_run_folder_name(rt_run_folder *f, const char *dir, const char *name)
{
    f->lock = -1;
    RT_TRY(rt_path_join(f->path, dir, name));
    RT_TRY(rt_path_join(f->checkpoints, f->path, "checkpoints"));
    if (strlen(f->path) + LONGEST_NAME >= RT_PATH_SIZE)
        return rt_error(RT_CONFIG, "the path of the run folder has %zu bytes, %d are possible: %s",
                        strlen(f->path), RT_PATH_SIZE - LONGEST_NAME - 1, f->path);
    return rt_ok();
}

static bool holds_checkpoints(const char *folder)
{
    RT_OWNED int64_t *steps = NULL;
    int count = 0;
    return !rt_checkpoint_list(folder, &steps, &count).code && count;
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

const char *rt_run_folder_of(char folder[RT_PATH_SIZE], const char *checkpoint)
{
    static const char before[] = "/checkpoints/";
    const char *name = rt_path_name(checkpoint);
    const size_t length = (size_t)(name - checkpoint), own = sizeof before - 1;
    const bool known = length > own && !strncmp(name - own, before, own);
    snprintf(folder, RT_PATH_SIZE, "%.*s", known ? (int)(length - own) : 0, checkpoint);
    return folder;
}

/* Process that has locked a folder, as the file of the lock describes it. */
typedef struct holder {
    char host[65]; /* HOST_NAME_MAX of Linux, and the final zero */
    long process;  /* 0: unknown */
    long parent;   /* process with which it ends, the call of a sweep; 0: none */
} holder;

static holder this_process(void)
{
    holder own = {.process = (long)getpid()};
    int ending = 0;
    if (!prctl(PR_GET_PDEATHSIG, &ending) && ending)
        own.parent = (long)getppid();
    if (gethostname(own.host, sizeof own.host - 1) || !*own.host || strchr(own.host, ' '))
        snprintf(own.host, sizeof own.host, "localhost");
    return own;
}

static holder holder_of(const char *folder)
{
    holder found = {.process = 0};
    RT_OWNED char *text = rt_read_text(RT_PATH_IN(folder, lock_name));
    if (text && sscanf(text, "%64s %ld %ld", found.host, &found.process, &found.parent) != 3)
        found.process = 0;
    return found;
}

/* Returns the error for a folder that another process has locked. */
static rt_status refuse_second(const char *folder)
{
    const holder own = this_process(), other = holder_of(folder);
    const bool here = !strcmp(other.host, own.host);
    if (!other.process)
        return rt_error(RT_CONFIG, "%s: another process is training here: wait for its end",
                        folder);
    return rt_error(RT_CONFIG, "%s: process %ld%s%s is training here: wait for its end%s", folder,
                    other.process, here ? "" : " of the host ", here ? "" : other.host,
                    here ? RT_PRINTED(64, ", or stop it with kill %ld", other.process)
                         : ", or stop it there");
}

/* Waits some seconds for the end of a process that has locked the folder, if its sweep was killed:
 * it takes its last step and saves a checkpoint. */
static void await_orphan(const char *folder)
{
    enum { SECONDS = 10, POLLS = 20 };
    static const struct timespec pause = {.tv_nsec = 1000000000 / POLLS};
    const holder own = this_process(), other = holder_of(folder);
    if (!other.parent || strcmp(other.host, own.host) != 0 || !kill((pid_t)other.parent, 0) ||
        errno != ESRCH)
        return;
    fprintf(stderr,
            "%s: %s: process %ld is saving, since its sweep was killed: waiting up to %d seconds\n",
            rt_program_name(), folder, other.process, SECONDS);
    for (int i = 0; i < SECONDS * POLLS && rt_run_folder_busy(folder); i++)
        nanosleep(&pause, NULL);
}

rt_status rt_run_folder_lock(rt_run_folder *f)
{
    const char *path = RT_PATH_IN(f->path, lock_name);
    const holder own = this_process();
    f->lock = rt_file_lock(path, &f->unlocked);
    if (f->lock < 0 && errno == EWOULDBLOCK) {
        await_orphan(f->path);
        f->lock = rt_file_lock(path, &f->unlocked);
    }
    if (f->lock < 0)
        return errno == EWOULDBLOCK ? refuse_second(f->path)
               : errno == EISDIR || errno == ELOOP
                   ? rt_error(RT_IO, "%s: is no file, and cannot lock the folder: remove it", path)
                   : failure(path);
    if (!ftruncate(f->lock, 0)) /* only messages of other processes need it */
        dprintf(f->lock, "%s %ld %ld\n", own.host, own.process, own.parent);
    return rt_ok();
}

rt_status rt_run_folder_open(rt_run_folder *f, bool with_checkpoints)
{
    RT_TRY(rt_folders_make(with_checkpoints ? f->checkpoints : f->path));
    return f->lock >= 0 ? rt_ok() : rt_run_folder_lock(f);
}

void rt_run_folder_close(rt_run_folder *f)
{
    rt_file_unlock(RT_PATH_IN(f->path, lock_name), f->lock);
    f->lock = -1;
}

bool rt_run_folder_busy(const char *path)
{
    return rt_file_lock_probe(RT_PATH_IN(path, lock_name)) == EWOULDBLOCK;
}

rt_status rt_run_folder_idle(const rt_run_folder *f)
{
    if (rt_run_folder_busy(f->path))
        await_orphan(f->path);
    return rt_run_folder_busy(f->path) ? refuse_second(f->path) : rt_ok();
}

/* Writes the path of the i-th file that a run has: `last` files, then the checkpoints
 * of the steps. Returns false after the last, or for a path that is too long. */
static bool path_at(char path[RT_PATH_SIZE], const rt_run_folder *f, int i, int last,
                    const int64_t *steps, int count)
{
    return i < last ? !rt_path_join(path, f->path, files[i]).code
                    : i - last < count &&
                          !rt_checkpoint_path(path, f->checkpoints, steps[i - last]).code;
}

rt_status rt_run_folder_spare(const rt_run_folder *f, const rt_inputs *inputs)
{
    const rt_input_file *found = NULL;
    char path[RT_PATH_SIZE];
    RT_OWNED int64_t *steps = NULL;
    int count = 0;
    RT_TRY(rt_allocated(!inputs->failed, "a list of files"));
    const rt_status status = rt_checkpoint_list(f->checkpoints, &steps, &count);
    if (status.code)
        count = 0;
    for (int i = 0; !found && path_at(path, f, i, ALL_FILES, steps, count); i++)
        found = rt_inputs_find(inputs, path);
    for (int k = 0; k < 2 && !found; k++) { /* which are cleared */
        static const char *const folders[] = {"figures", RT_EVENTS_FOLDER};
        const char *at = RT_PATH_IN(f->path, folders[k]);
        DIR *folder = opendir(at);
        for (const struct dirent *entry; folder && !found && (entry = readdir(folder));)
            if (*entry->d_name != '.')
                found = rt_inputs_find(inputs, RT_PATH_IN(at, entry->d_name));
        if (folder)
            closedir(folder);
    }
    return !found ? rt_ok()
                  : rt_error(RT_CONFIG,
                             "%s: %.600s is read from %.600s, which this training writes anew: "
                             "choose another run.name, or copy what is read to another folder",
                             found->key, found->path, f->path);
}

rt_status rt_run_folder_clear_end(const rt_run_folder *f)
{
    for (int i = END_FILES; i < OWN_FILES; i++)
        if (remove(RT_PATH_IN(f->path, files[i])) && errno != ENOENT)
            return failure(RT_PATH_IN(f->path, files[i]));
    return rt_ok();
}

rt_status rt_run_folder_clear(const rt_run_folder *f)
{
    char path[RT_PATH_SIZE];
    RT_OWNED int64_t *steps = NULL;
    int count = 0;
    RT_TRY(rt_checkpoint_list(f->checkpoints, &steps, &count));
    for (int i = 1; path_at(path, f, i, FILES, steps, count); i++)
        if (remove(path) && errno != ENOENT)
            return failure(path);
    rt_event_files_clear(RT_PATH_IN(f->path, RT_EVENTS_FOLDER));
    return rt_ok();
}
