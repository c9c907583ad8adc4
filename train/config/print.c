#include "train/config/private.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/config/keys.h"

#include <string.h>

enum { PLACE_WIDTH = 24, NAME_WIDTH = 26, COMMENT_WIDTH = 96, HELP_WIDTH = 80, HELP_COLUMN = 33 };

/* Adds the words of a text, each behind a blank, in lines of at most `width` columns. The first
 * word follows `column` columns; further lines begin with `start`. */
static void add_words(rt_writer *w, size_t column, size_t width, const char *start,
                      const char *text)
{
    const size_t first = strlen(start);
    while (*text) {
        const size_t length = strcspn(text, " ");
        if (column > first && column + 1 + length > width) {
            rt_writer_add(w, "\n%s", start);
            column = first;
        }
        rt_writer_add(w, " %.*s", (int)length, text);
        column += 1 + length;
        text += length + strspn(text + length, " ");
    }
    rt_writer_add(w, "\n");
}

enum { MEANING_SIZE = 1024 };

/* Writes the meaning of a key and, for a choice, its values. */
static const char *meaning_of(const rt_key *key, char text[MEANING_SIZE])
{
    const bool choice = key->type == RT_KEY_CHOICE;
    return rt_printed(text, MEANING_SIZE, choice ? "%s (%s)" : "%s%s", key->help,
                      choice ? rt_key_values(key, (char[RT_VALUES_SIZE]){0}) : "");
}
#define MEANING(key) meaning_of(key, (char[MEANING_SIZE]){0})

/* Comments out a key without a value, which cannot be read back. Always writes run.name, whose
 * default is the name of the file. */
void rt_config_write(rt_writer *w, const rt_config *config, bool shared, bool explained)
{
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const bool written = config->origin[i] != RT_FROM_DEFAULT || i == rt_key_find("run.name");
        const char *value = RT_KEY_VALUE(key, config);
        if (rt_key_starts_section(i))
            rt_writer_add(w, "%s[%s]\n", i ? "\n" : "", key->section);
        if (!shared && !rt_key_has_effect(i, config))
            continue;
        if (explained) {
            rt_writer_add(w, ";");
            add_words(w, 1, COMMENT_WIDTH, ";", MEANING(key));
        }
        rt_writer_add(w, "%s%s =%s%s\n", *value && (written || !shared) ? "" : ";", key->name,
                      *value ? " " : "", value);
    }
}

char *rt_config_ini(const rt_config *config)
{
    rt_writer w = {0};
    rt_config_write(&w, config, false, false);
    return rt_writer_take(&w);
}

char *rt_config_origins(const rt_config *config)
{
    rt_config implied;
    rt_writer w = {0};
    rt_config_implied(&implied, config);
    for (int i = 0; rt_key_at(i); i++)
        if (config->origin[i] != RT_FROM_DEFAULT && rt_key_has_effect(i, config) &&
            !rt_key_value_equal(rt_key_at(i), config, &implied))
            rt_writer_add(&w, "%-*s  %-*s %s\n", PLACE_WIDTH, RT_ORIGIN_NAME(config, i), NAME_WIDTH,
                          rt_key_name(i), RT_KEY_VALUE(rt_key_at(i), config));
    return rt_writer_take(&w);
}

char *rt_config_overrides(const rt_config *config)
{
    rt_writer w = {0};
    for (int i = 0; rt_key_at(i); i++)
        if (config->origin[i] == RT_FROM_COMMAND_LINE)
            rt_writer_add(&w, "%s = %s\n", rt_key_name(i), RT_KEY_VALUE(rt_key_at(i), config));
    return rt_writer_take(&w);
}

/* Returns whether the key may change in such a continuation. */
static bool is_free(const rt_key *key, const rt_config *now, rt_continuation how)
{
    if (key->change == RT_MAY_DIFFER || key->change == RT_HOW_LONG)
        return true;
    if (key->change == RT_WHEN_EXTENDED)
        return how != RT_RESUMED;
    if (how != RT_BRANCHED)
        return false;
    return key->in_branch || !strcmp(key->section, "theta") ||
           (!strcmp(key->section, "position") && now->model.position.kind == RT_POSITION_NONE);
}

/* Returns RUN/checkpoints/FILE, the end of a checkpoint's path. */
static const char *end_of_path(const char *path)
{
    const char *end = path + strlen(path);
    for (int parts = 0; end > path; end--)
        if (*end == '/' && ++parts == 3)
            return end + 1;
    return end;
}

char *rt_config_differences(const rt_config *run, const rt_config *now, rt_continuation how)
{
    rt_writer w = {0};
    rt_config continued = *now, implied_by_run, implied_by_now;
    /* the folder of the same trunk may have been moved */
    const char *one = run->train.trunk, *other = now->train.trunk;
    const bool same_trunk = one && other && !strcmp(end_of_path(one), end_of_path(other));
    rt_config_continue(&continued, run, how == RT_EXTENDED ? run->train.steps : 0);
    rt_config_implied(&implied_by_run, run);
    rt_config_implied(&implied_by_now, &continued);
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        /* If the value follows from other keys in both, those keys are listed instead. */
        const bool follows = key->change != RT_WHEN_EXTENDED && key->follows &&
                             rt_key_value_equal(key, run, &implied_by_run) &&
                             rt_key_value_equal(key, &continued, &implied_by_now);
        const bool counts = rt_key_has_effect(i, run) || rt_key_has_effect(i, &continued);
        if (!counts || follows || is_free(key, now, how) ||
            rt_key_value_equal(key, run, &continued) ||
            (same_trunk && i == rt_key_find("train.trunk")))
            continue;
        const char *before = RT_KEY_VALUE(key, run), *after = RT_KEY_VALUE(key, &continued);
        rt_writer_add(&w, "%s: the run has '%s', now it is '%s'%s\n", rt_key_name(i), before, after,
                      key->path && *before && *after
                          ? ", whose content differs or cannot be compared"
                          : "");
    }
    return rt_writer_take(&w);
}

char *rt_config_extension(const rt_config *run, const rt_config *now)
{
    rt_writer w = {0};
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if ((key->change == RT_WHEN_EXTENDED || key->change == RT_HOW_LONG) &&
            (rt_key_has_effect(i, run) || rt_key_has_effect(i, now)) &&
            !rt_key_value_equal(key, run, now))
            rt_writer_add(&w, "%s%s %s -> %s", w.length ? ", " : "", rt_key_name(i),
                          RT_KEY_VALUE(key, run), RT_KEY_VALUE(key, now));
    return rt_writer_take(&w);
}

rt_status rt_config_compare(const rt_config *run, int step, const rt_config *now,
                            const char *folder)
{
    RT_OWNED char *differences =
        rt_config_differences(run, now,
                              rt_config_extends(run, step, now) ? RT_EXTENDED : RT_RESUMED);
    RT_TRY(rt_allocated(differences, "a comparison"));
    return !*differences ? rt_ok()
                         : rt_error(RT_CONFIG, "the run in %s has another configuration:\n%s",
                                    folder, differences);
}

const char *const rt_sweep_settings[RT_SWEEP_SETTINGS][5] = {
    {"sweep.SECTION.KEY", "", "comma-separated values",
     "train one run for every combination of the values of all such keys", "sweep.KEY"},
    {"sweep.jobs", "1", "from 1 to 1024",
     "number of runs to train at the same time; they share the threads", "jobs"},
    {"sweep.trunk", "", "number of steps, or a checkpoint",
     "train all runs as branches of one training: of a trunk of this many steps, which the sweep "
     "trains for each run.seed, or of a checkpoint (train.trunk)",
     "trunk"},
    {"[variant NAME]", "", "a section of SECTION.KEY = VALUE lines",
     "settings that belong together; a sweep trains every combination with every variant",
     "variant"},
};

/* Adds a setting, "section.key=default", and its meaning from HELP_COLUMN on. */
static void add_setting(rt_writer *w, const char *name, const char *equals, const char *initial,
                        const char *meaning)
{
    const char *setting = RT_PRINTED(2 * RT_KEY_NAME_SIZE, "  %s%s%s", name, equals, initial);
    const size_t length = strlen(setting);
    rt_writer_add(w, "%-*s", HELP_COLUMN, setting);
    add_words(w, length > HELP_COLUMN ? length : HELP_COLUMN, HELP_WIDTH,
              RT_PRINTED(HELP_COLUMN + 1, "%*s", HELP_COLUMN, ""), meaning);
}

/* Adds the values, the default of a decoder and the needs of a key. */
static void add_details(rt_writer *w, int i)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer needs = {0};
    rt_key_report_needs(&needs, i);
    const char *const details[][2] = {{"  values:",
                                       rt_key_values(rt_key_at(i), (char[RT_VALUES_SIZE]){0})},
                                      {"  default of a decoder:", rt_key_at(i)->decoder},
                                      {"  needs:", needs.bytes}};
    for (size_t d = 0; d < sizeof details / sizeof *details; d++)
        if (details[d][1]) {
            rt_writer_add(w, "%s", details[d][0]);
            add_words(w, strlen(details[d][0]), HELP_WIDTH, "   ", details[d][1]);
        }
    w->failed |= needs.failed;
}

char *rt_config_help(const char *part)
{
    static const char axis[] = "sweep.";
    const char *name = part && !strncmp(part, axis, strlen(axis)) ? part + strlen(axis) : part;
    const bool one = part && !rt_section_exists(part);
    bool varied = false;
    rt_writer w = {0};
    for (int i = 0; rt_key_at(i); i++) {
        const rt_key *key = rt_key_at(i);
        const bool full = one && !strcmp(rt_key_name(i), name);
        const bool named = full || (one && !strcmp(key->name, part));
        rt_writer_add(&w, "%s", !part && i && rt_key_starts_section(i) ? "\n" : "");
        if (named || !part || !strcmp(key->section, part))
            add_setting(&w, rt_key_name(i), "=", key->initial, MEANING(key));
        if (named)
            add_details(&w, i);
        varied |= full && name != part;
    }
    rt_writer_add(&w, "%s", part ? "" : "\n");
    for (int i = 0; i < RT_SWEEP_SETTINGS; i++) {
        const char *const *row = rt_sweep_settings[i];
        const bool asked = part && (!strcmp(part, row[0]) || !strcmp(part, row[4]));
        if (asked || !part || !strcmp(part, "sweep") || (varied && !i))
            add_setting(&w, row[0], *row[1] ? "=" : "", row[1], row[3]);
        if (asked)
            rt_writer_add(&w, "  values: %s\n", row[2]);
    }
    return rt_writer_take(&w);
}

char *rt_config_words(void)
{
    static const char *const of_paths[] = {"", "@folder", "@folder", "@file", "@file"};
    rt_writer w = {0};
    const rt_key *key;
    rt_writer_add(&w, "sweep.jobs=\nsweep.trunk=\t@file\n");
    for (int k = 0; k < 2; k++)
        for (int i = 0; (key = rt_key_at(i)); i++) {
            const char *values = rt_key_values(key, (char[RT_VALUES_SIZE]){0});
            const bool words = key->type == RT_KEY_YES_NO || key->type == RT_KEY_CHOICE ||
                               key->type == RT_KEY_LAYERS;
            if (key->type == RT_KEY_LAYERS) /* comma-separated: full, sliding */
                values = strstr(values, ": ") + 1;
            if (k && key->change == RT_MAY_DIFFER)
                continue; /* changes no result */
            rt_writer_add(&w, "%s%s=\t%s\n", k ? "sweep." : "", rt_key_name(i),
                          words ? values : of_paths[key->path]);
        }
    return rt_writer_take(&w);
}

/* Writes the keys of the model that have a value, and the keys of the data that belong to it.
 * data.vocab is written even without effect, because another task may need the number of ids. */
char *rt_model_ini(const rt_transformer_options *model, const rt_data_options *data)
{
    const bool images = rt_tasks[data->task].kind == RT_DATA_IMAGES;
    rt_writer w = {0};
    rt_config config, defaults;
    const rt_key *key;
    rt_config_initial(&defaults);
    config = defaults;
    config.model = *model;
    config.data = *data;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (!strcmp(key->section, "run") || !strcmp(key->section, "optimizer") ||
            !strcmp(key->section, "train"))
            continue;
        if (rt_key_starts_section(i))
            rt_writer_add(&w, "%s[%s]\n", w.length ? "\n" : "", key->section);
        const bool counts = rt_key_has_effect(i, &config) ||
                            (!rt_key_value_equal(key, &config, &defaults) && !images);
        const char *value = RT_KEY_VALUE(key, &config);
        if (strcmp(key->section, "data") != 0 ? *value : counts && key->of_model)
            rt_writer_add(&w, "%s = %s\n", key->name, value);
    }
    return rt_writer_take(&w);
}

/* Keys whose values are the columns of a row. train.steps is its last step. */
static const char *const columns[] = {"train.steps", "optimizer.lr", "optimizer.schedule",
                                      "optimizer.min_lr_ratio", "optimizer.schedule_steps"};
enum { COLUMNS = sizeof columns / sizeof *columns };
static const char heading[] = "until_step,lr,schedule,min_lr_ratio,schedule_steps\n";

rt_status rt_past_schedules_add(rt_optimizer_options *o, const rt_optimizer_options *before,
                                int step)
{
    /* a constant rate has no horizon and no final ratio */
    const bool same_end =
        o->schedule == RT_SCHEDULE_CONSTANT ||
        (o->min_lr_ratio == before->min_lr_ratio && o->schedule_steps == before->schedule_steps);
    if (o->lr == before->lr && o->schedule == before->schedule && same_end)
        return rt_ok();
    if (o->past_count == RT_MOST_PAST_SCHEDULES)
        return rt_error(RT_CONFIG, "a run can be given another schedule %d times",
                        RT_MOST_PAST_SCHEDULES);
    o->past[o->past_count++] = (rt_past_schedule){step, before->lr, before->schedule,
                                                  before->min_lr_ratio, before->schedule_steps};
    return rt_ok();
}

static void put_row(rt_writer *w, const rt_past_schedule *s)
{
    const rt_config c = {.train.steps = s->until,
                         .optimizer = {.lr = s->lr,
                                       .schedule = s->schedule,
                                       .min_lr_ratio = s->min_lr_ratio,
                                       .schedule_steps = s->schedule_steps}};
    for (int i = 0; i < COLUMNS; i++)
        rt_writer_add(w, "%s%s", i ? "," : "",
                      RT_KEY_VALUE(rt_key_at(rt_key_find(columns[i])), &c));
    rt_writer_add(w, "\n");
}

char *rt_past_schedules_write(const rt_optimizer_options *o, int steps)
{
    const rt_past_schedule now = {steps, o->lr, o->schedule, o->min_lr_ratio, o->schedule_steps};
    rt_writer w = {0};
    rt_writer_add(&w, "%s", heading);
    for (int i = 0; i < o->past_count; i++)
        put_row(&w, &o->past[i]);
    if (steps)
        put_row(&w, &now);
    return rt_writer_take(&w);
}

/* Parses a row. Returns the start of the next row, or NULL if the row is malformed. */
static const char *read_row(const char *row, rt_past_schedule *s)
{
    rt_config c = {0};
    RT_CLOSED_BY(rt_writer_free) rt_writer problem = {0};
    bool good = true;
    for (int i = 0; i < COLUMNS && good; i++) {
        const size_t length = strcspn(row, ",\n");
        const char *cell = RT_PRINTED(RT_KEY_NAME_SIZE, "%.*s", (int)length, row);
        good = length < RT_KEY_NAME_SIZE && row[length] == (i + 1 < COLUMNS ? ',' : '\n');
        good = good && rt_key_read(rt_key_at(rt_key_find(columns[i])), cell, &c, &problem);
        row += good ? length + 1 : 0;
    }
    *s = (rt_past_schedule){c.train.steps, c.optimizer.lr, c.optimizer.schedule,
                            c.optimizer.min_lr_ratio, c.optimizer.schedule_steps};
    return good ? row : NULL;
}

rt_status rt_past_schedules_read(rt_optimizer_options *o, const char *table, int64_t step)
{
    const char *row = strncmp(table, heading, strlen(heading)) ? NULL : table + strlen(heading);
    int last = 0;
    o->past_count = 0;
    while (row && *row) {
        rt_past_schedule s;
        row = read_row(row, &s);
        if (!row || s.until <= last || s.until > step || o->past_count == RT_MOST_PAST_SCHEDULES)
            row = NULL;
        else
            o->past[o->past_count++] = s;
        last = s.until;
    }
    if (row)
        return rt_ok();
    o->past_count = 0;
    return rt_error(RT_CONFIG, "the table of its past schedules is damaged");
}
