#include "train/config/mistaken.h"

#include "core/memory.h"
#include "text/program_name.h"
#include "text/text_file.h"
#include "train/config/ini_lines.h"

#include <string.h>
#include <sys/stat.h>

enum { LOOKED_AT = 1 << 16 }; /* bytes of a file, from its beginning */

/* ---- folders ---- */

static bool holds(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    struct stat found;
    return !rt_path_join(path, folder, name).code && !stat(path, &found);
}

static void complain_of_folder(rt_config_errors *errors, const char *path)
{
    if (holds(path, "runs.csv"))
        rt_config_complain(errors, RT_FROM_DEFAULT,
                           "is a sweep: --report %s draws its report; the folders in it are runs",
                           path);
    else if (holds(path, "config.ini"))
        rt_config_complain(errors, RT_FROM_DEFAULT,
                           "is a run: --checkpoint %s uses its model; its configuration is "
                           "%s/config.ini",
                           path, path);
    else if (holds(path, "config.json"))
        rt_config_complain(errors, RT_FROM_DEFAULT,
                           "is a folder of Hugging Face: --checkpoint %s uses its model; "
                           "train.init_from=%s beside a CONFIG.ini trains it further",
                           path, path);
    else
        rt_config_complain(errors, RT_FROM_DEFAULT, "is a folder; a CONFIG.ini is expected");
}

/* ---- files ---- */

/* What the lines of a file are. */
typedef struct counts {
    bool section; /* there is one of a configuration */
    long pairs, problems;
} counts;

static void count_section(void *user, int line, const char *name)
{
    static const char variant[] = "variant ";
    counts *c = user;
    (void)line;
    c->section |= name && (rt_section_exists(name) || !strcmp(name, "sweep") ||
                           !strncmp(name, variant, strlen(variant)));
}

static void count_pair(void *user, int line, const char *key, const char *value)
{
    (void)line, (void)key, (void)value;
    ((counts *)user)->pairs++;
}

static void count_problem(void *user, int line, const char *message)
{
    (void)line, (void)message;
    ((counts *)user)->problems++;
}

static bool is_ini(const char *text)
{
    static const rt_ini_events events = {count_section, count_pair, count_problem};
    counts c = {0};
    rt_ini_lines(NULL, text, &events, &c);
    return c.section || c.problems <= c.pairs;
}

/* Whether the heading of a table names a column of labels. */
static bool is_labelled(const char *text)
{
    static const char label[] = "label", between[] = "\t,\r\n";
    const char *end = text + strcspn(text, "\r\n");
    for (const char *at = text; (at = strstr(at, label)) && at < end; at++)
        if (at > text && strchr(between, at[-1]) && strchr(between, at[strlen(label)]))
            return true;
    return false;
}

static bool begins(const char *bytes, size_t size, const char *with)
{
    return size >= strlen(with) && !memcmp(bytes, with, strlen(with));
}

static void complain_of_text(rt_config_errors *errors, const char *path, bool labelled)
{
    rt_config_complain(errors, RT_FROM_DEFAULT,
                       "is %s, not a configuration. To train on it, write a file such as "
                       "mine.ini:\n\n[data]\ntask = %s\nfile = %s\n\nand type: %s mine.ini",
                       labelled ? "a table of labelled texts" : "text",
                       labelled ? "classify" : "text", path, rt_program_name());
}

/* `bytes` end with a zero. */
static bool complain_of_file(rt_config_errors *errors, const char *path, const char *bytes,
                             size_t size)
{
    const int place = RT_FROM_DEFAULT;
    if (begins(bytes, size, "\x89rotor"))
        rt_config_complain(errors, place, "is a checkpoint: --checkpoint %s uses its model", path);
    else if (begins(bytes, size, "\x89HDF"))
        rt_config_complain(errors, place,
                           "is an HDF5 file; to train on the token ids of a data set in it, set "
                           "data.task = tokens and data.file = %s:/DATASET in a CONFIG.ini",
                           path);
    else if (memchr(bytes, '\0', size))
        rt_config_complain(errors, place,
                           "is a binary file; a CONFIG.ini is expected, and --checkpoint names "
                           "weights");
    else if (bytes[strspn(bytes, " \t\r\n")] == '{')
        rt_config_complain(errors, place,
                           "is JSON; a CONFIG.ini is expected. --checkpoint takes the folder of a "
                           "config.json, data.vocab_file a tokenizer.json");
    else if (!is_ini(bytes))
        complain_of_text(errors, path, is_labelled(bytes));
    else
        return false;
    return true;
}

bool rt_config_mistaken(rt_config_errors *errors, const char *path)
{
    struct stat found;
    if (!stat(path, &found) && S_ISDIR(found.st_mode)) {
        complain_of_folder(errors, path);
        return true;
    }
    FILE *file = rt_open_regular(path);
    char *bytes = file ? rt_alloc_unset(LOOKED_AT + 1, 1) : NULL;
    const size_t size = bytes ? fread(bytes, 1, LOOKED_AT, file) : 0;
    bool mistaken = false;
    if (bytes) {
        bytes[size] = '\0';
        mistaken = complain_of_file(errors, path, bytes, size);
    }
    rt_free(bytes);
    if (file)
        fclose(file);
    return mistaken;
}
