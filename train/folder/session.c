#define _XOPEN_SOURCE 700 /* realpath */

#include "train/folder/session.h"

#include "core/memory.h"
#include "data/files.h"
#include "ops/engine.h"
#include "train/config/keys.h"
#include "util/csv.h"
#include "util/files.h"
#include "util/process.h"

#include <dirent.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { BLOCK = 1 << 18 };
static const off_t most_digested = (off_t)1 << 31; /* larger files would delay the first step */

/* Adds the bytes of a file to a digest. */
static bool digest_stream(XXH3_state_t *state, FILE *file)
{
    RT_OWNED unsigned char *block = rt_alloc(BLOCK, 1);
    bool good = block != NULL;
    for (size_t got; good && (got = fread(block, 1, BLOCK, file)) > 0;)
        good = XXH3_128bits_update(state, block, got) == XXH_OK;
    good = good && !ferror(file);
    return good;
}

/* Content of a file or folder: size, and XXH128 unless a file is too large for it. */
typedef struct content {
    XXH3_state_t *state;
    off_t size;
    bool known, small;
} content;

static void add_file(content *c, const char *path)
{
    struct stat facts;
    FILE *file = rt_open_regular(path);
    if (file && !fstat(fileno(file), &facts)) {
        c->known = true;
        c->size += facts.st_size;
        c->small &= facts.st_size <= most_digested && digest_stream(c->state, file);
    }
    if (file)
        fclose(file);
}

/* Adds the first rows of a run's timing.csv. Returns false if the folder is not that of a run. */
static bool add_run(content *c, const char *folder)
{
    enum { ROWS = 2, ROW_SIZE = 1 << 16 };
    const char *const places[] = {"timing.csv", "../timing.csv"}; /* of FOLDER/checkpoints */
    bool found = false;
    for (int i = 0; i < 2 && !found && !rt_folder_has(folder, "config.json"); i++) {
        FILE *rows = rt_open_regular(RT_PATH_IN(folder, places[i]));
        RT_OWNED char *row = rows ? rt_alloc(ROW_SIZE, 1) : NULL;
        for (int n = 0; row && n < ROWS && fgets(row, ROW_SIZE, rows); n++) {
            c->known = found = true;
            c->size += (off_t)strlen(row);
            XXH3_128bits_update(c->state, row, strlen(row));
        }
        if (rows)
            fclose(rows);
    }
    return found;
}

static void add_folder(content *c, const char *folder)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, NULL, alphasort);
    for (int n = 0; n < count; n++) {
        add_file(c, RT_PATH_IN(folder, names[n]->d_name));
        free(names[n]);
    }
    free(names);
}

/* Adds " (N bytes, XXH128 ...)" of a file or a folder to a list. */
static void describe(rt_writer *w, const char *path)
{
    content c = {.state = XXH3_createState(), .small = true};
    if (!c.state || XXH3_128bits_reset(c.state) != XXH_OK)
        w->failed = true;
    else if (!rt_folder_has(path, "."))
        add_file(&c, path);
    else if (!add_run(&c, path))
        add_folder(&c, path);
    if (!c.known)
        rt_writer_add(w, " (cannot be read)");
    else
        rt_writer_add(w, " (%jd bytes%s", (intmax_t)c.size, c.small ? ", XXH128 " : ")");
    if (c.known && c.small) {
        XXH128_canonical_t bytes;
        XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(c.state));
        for (size_t i = 0; i < sizeof bytes.digest; i++)
            rt_writer_add(w, "%02x", bytes.digest[i]);
        rt_writer_add(w, ")");
    }
    XXH3_freeState(c.state);
}

static void add_path(rt_writer *w, const char *path)
{
    rt_writer_add(w, "%s%s", w->length ? "; " : "", path);
    describe(w, path);
}

char *rt_session_data(const rt_data_options *data)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(data);
    rt_writer w = {.failed = files.failed};
    const char *path;
    for (int i = 0; (path = rt_data_files_path(&files, i)); i++)
        add_path(&w, path);
    if (files.count && data->vocab_file && !rt_tasks[data->task].vocab)
        add_path(&w, data->vocab_file);
    return rt_writer_take(&w);
}

char *rt_session_inputs(const rt_config *config)
{
    RT_OWNED char *data = rt_session_data(&config->data);
    rt_writer w = {.failed = !data};
    rt_writer_add(&w, "%s", data ? data : "");
    for (int i = 0; rt_key_at(i); i++)
        if (rt_key_input(i, config) && strcmp(rt_key_at(i)->section, "data") != 0)
            add_path(&w, rt_key_input(i, config));
    return rt_writer_take(&w);
}

/* Returns the description " (N bytes, XXH128 ...)" of a file in a list, with its length; NULL if
 * the list does not have it, or as "(cannot be read)". */
static const char *find_description(const char *list, const char *path, int *length)
{
    const size_t size = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at += size) {
        const char *text = at + size, *end = strchr(text, ')');
        *length = end ? (int)(end + 1 - text) : 0;
        if ((at == list || at[-1] == ' ') && end && (!end[1] || end[1] == ';') &&
            !strncmp(text, " (", 2) && text[2] >= '0' && text[2] <= '9')
            return text;
    }
    return NULL;
}

/* Adds the newest description of a file in the timing.csv of a run, or all that differ. */
static void recall(rt_writer *w, const char *folder, const char *path, bool all)
{
    RT_CLOSED_BY(rt_csv_close) rt_csv timing = {0};
    int length;
    for (rt_csv_open(&timing, folder, "timing.csv"); rt_csv_row(&timing);) {
        const char *text = find_description(rt_csv_cell(&timing, "data"), path, &length);
        if (!text)
            continue;
        const char *said = RT_PRINTED(RT_PATH_SIZE, "%.*s", length, text);
        if (!all)
            rt_writer_free(w);
        if (!w->bytes || !strstr(w->bytes, said))
            rt_writer_add(w, "%s", said);
    }
}

static rt_data_files files_of(const rt_data_options *data, bool evaluated)
{
    rt_data_files files = rt_data_files_of(data);
    if (evaluated && data->eval_file && *data->eval_file)
        rt_data_files_skip(&files, RT_PART_TRAINING);
    return files;
}

void rt_session_compare(rt_writer *w, const rt_data_options *data, const char *list,
                        const char *folder, bool evaluated)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = files_of(data, evaluated);
    const char *path;
    for (int i = 0; !w->length && (path = rt_data_files_path(&files, i)); i++) {
        rt_writer before = {0};
        int length = 0;
        const char *now = find_description(list, path, &length);
        recall(&before, folder, path, false);
        if (before.length &&
            (!now || before.length != (size_t)length || memcmp(before.bytes, now, before.length)))
            rt_writer_add(w, "it was %s%s, it is %s%.*s", path, before.bytes, path, length,
                          now ? now : "");
        rt_writer_free(&before);
    }
}

int rt_session_evaluates_from(const rt_data_options *data, const char *folder)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = files_of(data, true);
    const char *path;
    int from = 0;
    for (int i = 0; (path = rt_data_files_path(&files, i)); i++) {
        RT_CLOSED_BY(rt_csv_close) rt_csv timing = {0};
        RT_CLOSED_BY(rt_writer_free) rt_writer before = {0};
        int length, step = -1, last = -1;
        for (rt_csv_open(&timing, folder, "timing.csv"); rt_csv_row(&timing); last = step) {
            const char *text = find_description(rt_csv_cell(&timing, "data"), path, &length);
            if (!rt_csv_whole(&timing, "step", &step) || !text)
                continue;
            const char *said = RT_PRINTED(RT_PATH_SIZE, "%.*s", length, text);
            const int first = step > last ? step : step + 1; /* or a row of its own after the end */
            if (before.length && strcmp(before.bytes, said) != 0 && first > from)
                from = first;
            rt_writer_free(&before);
            rt_writer_add(&before, "%s", said);
        }
    }
    return from;
}

/* Returns whether two runs are known to have read other contents of a file, in any session. */
static bool read_differently(const char *path, const char *folder, const char *other_folder)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer one = {0}, other = {0};
    recall(&one, folder, path, true);
    recall(&other, other_folder, path, true);
    return one.bytes && other.bytes && strcmp(one.bytes, other.bytes) != 0;
}

const char *rt_session_changed_input(const rt_config *config, const char *folder,
                                     const char *other_folder)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(&config->data);
    const char *path;
    for (int i = 0; (path = rt_data_files_path(&files, i)); i++)
        if (read_differently(path, folder, other_folder))
            return rt_intern_text(path);
    for (int i = 0; rt_key_at(i); i++) {
        path = rt_key_input(i, config);
        if (path && path != config->train.trunk && strcmp(rt_key_at(i)->section, "data") != 0 &&
            read_differently(path, folder, other_folder))
            return path;
    }
    return NULL;
}

/* Describes a file as the run in a folder has read it, or as it is. */
static void describe_read(rt_writer *w, const char *folder, const char *path)
{
    if (folder)
        recall(w, folder, path, false);
    if (!w->length)
        describe(w, path);
}

/* Returns whether two files have the same content, as the runs in two folders have read them; NULL:
 * as the file is. */
static bool is_same(const char *folder, const char *path, const char *other_folder,
                    const char *other_path)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer one = {0}, other = {0};
    if (!strcmp(path, other_path))
        return true;
    describe_read(&one, folder, path);
    describe_read(&other, other_folder, other_path);
    return one.bytes && other.bytes && !one.failed && !other.failed &&
           !strcmp(one.bytes, other.bytes) && !strstr(one.bytes, "cannot");
}

/* Replaces the path of a file by another one in data.file and data.eval_file. */
static void move_file(rt_data_options *data, const char *from, const char *to)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(data);
    const char **values[RT_PARTS] = {&data->file, &data->eval_file};
    for (int part = 0; part < RT_PARTS; part++) {
        rt_writer w = {0};
        const char *rest = *values[part];
        for (size_t i = 0; i < files.count; i++) {
            const rt_data_file *file = &files.list[i];
            if (file->part != part || strcmp(file->path, from) != 0)
                continue;
            rt_writer_add(&w, "%.*s%s", (int)(file->item.start - rest), rest, to);
            rest = file->item.start + strlen(from);
        }
        if (w.length)
            rt_writer_add(&w, "%s", rest);
        const char *moved = w.length && !w.failed ? rt_intern_text(w.bytes) : NULL;
        if (moved)
            *values[part] = moved;
        rt_writer_free(&w);
    }
}

void rt_session_take_moved(rt_config *before, const char *folder, const rt_config *now,
                           const char *now_folder)
{
    const rt_data_options then = before->data;
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(&then);
    RT_CLOSED_BY(rt_data_files_free) rt_data_files now_files = rt_data_files_of(&now->data);
    const char *one, *other;
    for (int i = 0;
         (one = rt_data_files_path(&files, i)) && (other = rt_data_files_path(&now_files, i)); i++)
        if (strcmp(one, other) != 0 && is_same(folder, one, now_folder, other))
            move_file(&before->data, one, other);
    for (int i = 0; rt_key_at(i); i++) {
        const char *was = rt_key_input(i, before), *is = rt_key_input(i, now);
        if (was && is && strcmp(was, is) != 0 && is_same(folder, was, now_folder, is))
            rt_key_value_copy(rt_key_at(i), before, now);
    }
}

/* Finds the file that was `gone`: its end below the folder of the run, or below a folder around it,
 * the longest end first. */
static bool find_moved(char found[RT_PATH_SIZE], const char *folder, const char *gone)
{
    char around[PATH_MAX];
    for (bool more = realpath(folder, around) != NULL; more;) {
        for (const char *end = gone; (end = strchr(end, '/')); end++)
            if (!rt_path_join(found, around, end + 1).code && !access(found, R_OK) &&
                is_same(folder, gone, NULL, found))
                return true;
        char *last = strrchr(around, '/');
        more = last && last > around;
        if (more)
            *last = '\0';
    }
    return false;
}

void rt_session_find_moved(rt_config *config, const char *folder, rt_writer *lines)
{
    char found[RT_PATH_SIZE];
    const rt_data_options data = config->data;
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(&data);
    const char *path;
    for (int i = 0; (path = rt_data_files_path(&files, i)); i++)
        if (access(path, F_OK) && find_moved(found, folder, path)) {
            rt_writer_add(lines, "%s%s is gone; using %s, which has the same content",
                          lines->length ? "\n" : "", path, found);
            move_file(&config->data, path, found);
        }
}

/* Adds a word of the command line, in single quotes if a shell would interpret it. */
static void add_word(rt_writer *w, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*word && !word[strspn(word, plain)]) {
        rt_writer_add(w, " %s", word);
        return;
    }
    rt_writer_add(w, " '");
    for (; *word; word++)
        if (*word == '\'')
            rt_writer_add(w, "'\\''");
        else
            rt_writer_add(w, "%c", *word);
    rt_writer_add(w, "'");
}

char *rt_session_cells(const char *data, const char *revision, int argc, char *const *argv)
{
    char begun[32] = "", host[256] = "", kernels[RT_KERNELS_SIZE];
    unsigned major, minor, patch;
    struct tm parts;
    const time_t now = time(NULL);
    RT_CLOSED_BY(rt_writer_free) rt_writer cells = {0}, program = {0}, command = {0};
    if (!gmtime_r(&now, &parts) || !strftime(begun, sizeof begun, "%Y-%m-%d %H:%M:%S", &parts))
        *begun = '\0';
    if (gethostname(host, sizeof host - 1))
        *host = '\0';
    H5get_libversion(&major, &minor, &patch);
    rt_writer_add(&program, "rotor %s (%s)%s%s, HDF5 %u.%u.%u, %s", ROTOR_VERSION, RT_PRECISION,
                  *revision ? ", revision " : "", revision, major, minor, patch,
                  rt_kernels_describe(kernels));
    rt_writer_add(&command, "%s", rt_program_name());
    for (int i = 1; i < argc; i++)
        add_word(&command, argv[i]);
    const char *const columns[] = {begun, host, program.bytes, command.bytes, data};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (i)
            rt_writer_add(&cells, ",");
        if (columns[i] && *columns[i])
            rt_csv_put(&cells, columns[i]);
    }
    cells.failed |= program.failed || command.failed;
    return rt_writer_take(&cells);
}
