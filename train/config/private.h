#ifndef ROTOR_TRAIN_CONFIG_PRIVATE_H
#define ROTOR_TRAIN_CONFIG_PRIVATE_H

/* Parts of loading a configuration, in their order:
 *
 *   config.c   parses the file; sets the written values: file, command line, sweep, folder of the
 *              run
 *   errors.c   collects all errors; suggests names
 *   resolve.c  paths; inherited values, defaults, zeros that stand for a value of another key
 *   check.c    contradictions between keys; keys without effect */

#include "train/config/keys.h"

enum { RT_MOST_CONFIG_ERRORS = 100 }; /* limit of printed errors; all are counted */

/* All errors of a configuration, one per line. */
struct rt_config_errors {
    const char *file;
    rt_writer lines;
    int count;
    bool bad[RT_MAX_KEYS]; /* keys whose value was refused */
    const int *origin;     /* origin of each key, while keys are checked together */
};

/* Adds "file:line: text", "command line: text" or, with RT_FROM_DEFAULT, "file: text". */
void rt_config_add_error(rt_config_errors *errors, int origin, const char *format, ...)
    RT_PRINTF(3, 4);

/* Returns the origin of a value other than a default: "command line", "sweep", "theta.ini:3". */
enum { RT_PLACE_SIZE = RT_PATH_SIZE + 16 };
const char *rt_config_origin_name(const rt_config *config, int i, char text[RT_PLACE_SIZE]);
#define RT_ORIGIN_NAME(config, i) rt_config_origin_name(config, i, (char[RT_PLACE_SIZE]){0})

/* Sets the key and its origin. Adds an error and marks the key as bad if it refuses the value. */
void rt_config_set_key(rt_config *config, int i, const char *value, int origin,
                       rt_config_errors *errors);

/* Adds an error about an unknown name, and suggests a similar one. An override is written
 * "section.key"; `where` begins the message, "[sweep]: ". */
void rt_config_unknown_section(rt_config_errors *errors, int origin, const char *written);
void rt_config_unknown_key(rt_config_errors *errors, int origin, const char *section,
                           const char *written);
void rt_config_unknown_override(rt_config_errors *errors, int origin, const char *where,
                                const char *written);

/* A former name of a value of a key. docs/using.md lists them all. */
typedef struct rt_renamed {
    const char *key;
    const char *value; /* former name */
    const char *now;   /* present name */
    bool is_read;      /* the former value is accepted, because config.ini of older runs has it */
} rt_renamed;

/* Table of renamed values; the last row has no key. */
extern const rt_renamed rt_renamed_values[];

/* Makes the paths of all keys absolute. They are relative to the folder of the configuration or, if
 * the command line sets them, to the working directory. `task` is the data.task in effect, whose
 * files may be a list. */
void rt_config_find_files(rt_config *config, int task, rt_config_errors *errors);

/* Sets every key to the default of its row. */
void rt_config_initial(rt_config *config);

/* Computes the effective configuration from the written and inherited values, in one pass: defaults
 * that follow from other keys, keys without effect, zeros that stand for values of other keys. The
 * options of the model are resolved once: a model used at another data.length keeps its theta and
 * tables. Keys without effect are marked as idle and, unless something was trained with the
 * configuration, reset. In the configuration that the runs of a sweep share, written zeros stay:
 * each run resolves its own. */
void rt_config_resolve(rt_config *config, const rt_config *written, bool trained, bool shared);

/* Applies `late`, the overrides of the command line in the use of a trained model, to the effective
 * and the written configuration, and resolves what depends on them. Adds an error for a key that
 * must not differ from the trained model (rt_key_at_use). */
void rt_config_resolve_use(rt_config *config, rt_config *written, const rt_config *late,
                           rt_config_errors *errors);

/* Returns whether the key may change in the use of a trained model: it changes neither the model's
 * theta nor its tables. */
bool rt_key_at_use(int key);

/* Copies keys that are not set from the model of train.init_from: its architecture (model.*,
 * position.*, theta.learn, scope and form), vocabulary (data.level, lowercase and vocab) and
 * objective. Their origin becomes RT_FROM_MODEL. A written value may differ if the parameters of
 * one model fit the other. Returns false, with one error that lists all keys that do not fit. */
bool rt_config_inherit(rt_config *config, const rt_init_model *ancestor, rt_config_errors *errors);

/* Returns whether any key could still inherit its value from the model of train.init_from. */
bool rt_config_is_open(const rt_config *config);

/* Writes the keys that have an effect as an INI file. In the configuration that the runs of a sweep
 * share, writes all keys; those that are not set are comments. With `explained`, a comment above
 * each key gives its meaning. */
void rt_config_write(rt_writer *w, const rt_config *config, bool shared, bool explained);

/* Adds an error for every contradiction between keys, at the line of the later one. Skips keys with
 * bad values and, with `without_data`, a missing data.file. Values that a run was trained with are
 * accepted.
 *
 * If there are no other errors, adds an error for each key of `written` without effect; for a
 * trained run only for keys of the command line. `written` may be NULL: all are accepted. */
void rt_config_check(const rt_config *config, const rt_config *written, bool without_data,
                     bool trained, rt_config_errors *errors);

#endif
