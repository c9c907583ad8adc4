#define _XOPEN_SOURCE 700 /* mkdtemp, realpath */

#include "core/memory.h"
#include "core/path.h"
#include "text/text_file.h"
#include "train/config/keys.h"
#include "train/folder/results.h"
#include "train/report/private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A run that is compared. Its name is that of its folder, made unique. */
typedef struct member {
    char path[RT_PATH_SIZE];
    char name[RT_RUN_NAME_SIZE + 16];
    rt_config config;
    bool implied[RT_MAX_KEYS]; /* keys whose value follows from other keys */
    rt_results results;
} member;

/* The runs, and a temporary folder that looks like that of a sweep: a runs.csv, and a link to each
 * run. */
typedef struct comparison {
    int count;
    member *list[RT_MOST_COMPARED];
    enum { HIDDEN, VALUE, FILE_NAME } shown[RT_MAX_KEYS]; /* of each key, in the table */
    char folder[RT_PATH_SIZE];
} comparison;

/* ---- the runs ---- */

/* Returns whether something in the folder has that name already. */
static bool has_name(const comparison *c, const char *name)
{
    bool known = !strcmp(name, "runs.csv") || !strcmp(name, "figures");
    for (int i = 0; i < c->count && !known; i++)
        known = !strcmp(c->list[i]->name, name);
    return known;
}

static rt_status add_run(comparison *c, const char *folder)
{
    char whole[PATH_MAX];
    rt_config implied;
    if (c->count == RT_MOST_COMPARED)
        return rt_error(RT_CONFIG, "more than %d runs to compare", RT_MOST_COMPARED);
    member *m = rt_alloc(1, sizeof *m);
    if (!m)
        return rt_out_of_memory("a comparison");
    rt_status status = rt_config_load_folder(&m->config, folder);
    if (!status.code &&
        (!realpath(folder, whole) || snprintf(m->path, RT_PATH_SIZE, "%s", whole) >= RT_PATH_SIZE))
        status = rt_error(RT_CONFIG, "the path is too long");
    if (status.code) {
        rt_free(m);
        return rt_error(RT_CONFIG, "%s is not the folder of a run: %.800s", folder, status.message);
    }
    const char *name = rt_path_name(whole);
    snprintf(m->name, sizeof m->name, "%.*s", RT_RUN_NAME_SIZE - 1, name);
    for (int n = 2; has_name(c, m->name); n++)
        snprintf(m->name, sizeof m->name, "%.*s (%d)", RT_RUN_NAME_SIZE - 1, name, n);
    rt_config_implied(&implied, &m->config);
    for (int i = 0; rt_key_at(i); i++)
        m->implied[i] = rt_key_equal(rt_key_at(i), &m->config, &implied);
    if (!rt_results_read(&m->results, folder))
        m->results = (rt_results){0};
    c->list[c->count++] = m;
    return rt_ok();
}

/* A sweep stands for those of its runs that have begun. */
static rt_status add_folder(comparison *c, const char *folder)
{
    char path[RT_PATH_SIZE], config[RT_PATH_SIZE];
    rt_sweep_runs runs;
    if (!rt_is_sweep_folder(folder))
        return add_run(c, folder);
    rt_status status = rt_sweep_runs_read(&runs, folder);
    for (int i = 0; i < runs.count && !status.code; i++) {
        status = rt_path_join(path, folder, runs.list[i].cells[0]);
        if (!status.code)
            status = rt_path_join(config, path, "config.ini");
        if (!status.code && !access(config, R_OK))
            status = add_run(c, path);
    }
    rt_sweep_runs_free(&runs);
    return status;
}

/* ---- their table ---- */

/* Returns whether the runs differ in a key that decides results. A key that follows from other keys
 * in every run is left out, unless it is of the data or model.kind. */
static bool differs(const comparison *c, int key)
{
    const rt_key *k = rt_key_at(key);
    bool different = false;
    bool follows = strcmp(k->section, "data") != 0 && rt_key_find("model", "kind") != key;
    for (int i = 0; i < c->count; i++) {
        different |= !rt_key_equal(k, &c->list[0]->config, &c->list[i]->config);
        follows &= c->list[i]->implied[key];
    }
    return rt_key_decides(k) && different && !follows;
}

/* Returns whether different files of a key have different names: then the name is enough. */
static bool names_suffice(const comparison *c, const rt_key *k)
{
    char one[RT_VALUE_SIZE], other[RT_VALUE_SIZE];
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < i; j++) {
            rt_key_write(k, &c->list[i]->config, one);
            rt_key_write(k, &c->list[j]->config, other);
            if (strcmp(one, other) != 0 && !strcmp(rt_path_name(one), rt_path_name(other)))
                return false;
        }
    return true;
}

/* Collects the names of all results, in the order in which runs first have them. */
static void collect_results(rt_results *all, const comparison *c)
{
    for (int i = 0; i < c->count; i++)
        for (int r = 0; r < c->list[i]->results.count; r++) {
            const char *name = c->list[i]->results.list[r].name;
            bool known = !strcmp(name, RT_RESULT_EXIT_CODE);
            for (int k = 0; k < all->count && !known; k++)
                known = !strcmp(all->list[k].name, name);
            if (!known)
                rt_results_put(all, 0, "%s", name);
        }
}

/* Adds a cell for each key that is shown: its name or, of a run, its value. */
static void add_settings(rt_writer *w, const comparison *c, const member *m)
{
    char text[RT_VALUE_SIZE], name[RT_KEY_NAME_SIZE];
    for (int i = 0; rt_key_at(i); i++) {
        if (c->shown[i] == HIDDEN)
            continue;
        if (m)
            rt_key_write(rt_key_at(i), &m->config, text);
        const char *value = m ? text : rt_key_full_name(rt_key_at(i), name);
        rt_writer_add(w, ",");
        rt_csv_put(w, m && c->shown[i] == FILE_NAME ? rt_path_name(text) : value);
    }
}

static rt_status write_table(comparison *c)
{
    const rt_key *key;
    rt_results all = {0};
    rt_writer w = {0};
    collect_results(&all, c);
    w.failed = all.failed;
    for (int i = 0; (key = rt_key_at(i)); i++)
        c->shown[i] = !differs(c, i)                                      ? HIDDEN
                      : key->type == RT_KEY_TEXT && names_suffice(c, key) ? FILE_NAME
                                                                          : VALUE;
    rt_writer_add(&w, "run");
    add_settings(&w, c, NULL);
    rt_writer_add(&w, "," RT_RESULT_EXIT_CODE);
    for (int i = 0; i < all.count; i++)
        rt_writer_add(&w, ",%s", all.list[i].name);
    rt_writer_add(&w, "\n");
    for (int i = 0; i < c->count; i++) {
        const member *m = c->list[i];
        rt_csv_put(&w, m->name);
        add_settings(&w, c, m);
        rt_csv_add_number(&w, rt_results_get(&m->results, RT_RESULT_EXIT_CODE));
        for (int r = 0; r < all.count; r++)
            rt_csv_add_number(&w, rt_results_get(&m->results, "%s", all.list[r].name));
        rt_writer_add(&w, "\n");
    }
    rt_results_free(&all);
    char *table = rt_writer_take(&w);
    rt_status status =
        table ? rt_write_text(c->folder, "runs.csv", table) : rt_out_of_memory("a comparison");
    rt_free(table);
    return status;
}

/* ---- their folder ---- */

static void remove_folder(const comparison *c)
{
    char path[RT_PATH_SIZE];
    if (!*c->folder)
        return;
    for (int i = 0; i < c->count; i++)
        if (!rt_path_join(path, c->folder, c->list[i]->name).code)
            unlink(path);
    if (!rt_path_join(path, c->folder, "runs.csv").code)
        unlink(path);
    rt_figures_clear(c->folder);
    rmdir(c->folder);
}

static rt_status write_page(comparison *c, const char *file)
{
    char title[64], path[RT_PATH_SIZE];
    const char *given = getenv("TMPDIR"), *parent = given && *given ? given : "/tmp";
    rt_status status = rt_path_join(c->folder, parent, "rotor-compare-XXXXXX");
    if (!status.code && !mkdtemp(c->folder)) {
        *c->folder = '\0';
        status = rt_error(RT_IO, "no folder can be made in %s", parent);
    }
    if (status.code)
        return status;
    snprintf(title, sizeof title, "%d runs compared", c->count);
    status = write_table(c);
    for (int i = 0; i < c->count && !status.code; i++) {
        status = rt_path_join(path, c->folder, c->list[i]->name);
        if (!status.code && symlink(c->list[i]->path, path))
            status = rt_error(RT_IO, "%s cannot be made", path);
    }
    if (!status.code)
        status = rt_sweep_report_write(c->folder, title, file);
    return status;
}

rt_status rt_compare_write(const char *const *folders, int count, const char *file)
{
    comparison *c = rt_alloc(1, sizeof *c);
    rt_status status = c ? rt_page_may_replace(file) : rt_out_of_memory("a comparison");
    for (int i = 0; i < count && !status.code; i++)
        status = add_folder(c, folders[i]);
    if (!status.code && !c->count)
        status = rt_error(RT_CONFIG, "none of the runs has begun: there is nothing to compare");
    if (!status.code)
        status = write_page(c, file);
    for (int i = 0; c && i < c->count; i++)
        rt_results_free(&c->list[i]->results);
    if (c)
        remove_folder(c);
    for (int i = 0; c && i < c->count; i++)
        rt_free(c->list[i]);
    rt_free(c);
    return status;
}
