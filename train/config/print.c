#include "train/config/private.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/config/keys.h"

#include <string.h>

enum { PLACE_WIDTH = 24, NAME_WIDTH = 26, SETTING_WIDTH = 32 };

/* Adds the meaning of a key and, for a choice, its values. */
static void add_meaning(rt_writer *w, const rt_key *key)
{
    rt_writer_add(w, "%s", key->help);
    if (key->type == RT_KEY_CHOICE)
        rt_writer_add(w, " (%s)", rt_key_values(key, (char[RT_VALUES_SIZE]){0}));
}

/* Adds the meaning of a key as comments of at most COMMENT_WIDTH columns. */
static void add_comment(rt_writer *w, const rt_key *key)
{
    enum { COMMENT_WIDTH = 96 };
    size_t column = 0;
    rt_writer meaning = {0};
    add_meaning(&meaning, key);
    for (const char *text = meaning.bytes; text && *text;) {
        const size_t length = strcspn(text, " ");
        const bool fits = column && column + 1 + length <= COMMENT_WIDTH;
        if (!fits)
            rt_writer_add(w, "%s;", column ? "\n" : "");
        rt_writer_add(w, " %.*s", (int)length, text);
        column = (fits ? column : 1) + 1 + length;
        text += length + strspn(text + length, " ");
    }
    rt_writer_add(w, "\n");
    w->failed |= meaning.failed;
    rt_writer_free(&meaning);
}

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
        if (explained)
            add_comment(w, key);
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

bool rt_config_extends(const rt_config *run, int step, const rt_config *now)
{
    return step >= run->train.steps && now->train.steps > run->train.steps;
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
    rt_config_continue(&continued, run);
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
    char *differences =
        rt_config_differences(run, now,
                              rt_config_extends(run, step, now) ? RT_EXTENDED : RT_RESUMED);
    rt_status status = rt_ok();
    if (!differences)
        status = rt_out_of_memory("a comparison");
    else if (*differences)
        status = rt_error(RT_CONFIG, "the run in %s has another configuration:\n%s", folder,
                          differences);
    rt_free(differences);
    return status;
}

const char *const rt_sweep_settings[RT_SWEEP_SETTINGS][4] = {
    {"sweep.SECTION.KEY", "", "comma-separated values",
     "train one run for every combination of the values of all such keys"},
    {"sweep.jobs", "1", "from 1 to 1024",
     "number of runs to train at the same time; they share the threads"},
    {"sweep.trunk", "", "number of steps, or a checkpoint",
     "train all runs as branches of one training: of a trunk of this many steps, which the sweep "
     "trains for each run.seed, or of a checkpoint (train.trunk)"},
    {"[variant NAME]", "", "a section of SECTION.KEY = VALUE lines",
     "settings that belong together; a sweep trains every combination with every variant"},
};

/* Adds "section.key=default  meaning (values of a choice)". */
static void add_key_help(rt_writer *w, int i)
{
    rt_writer_add(w, "  %-*s  ", SETTING_WIDTH,
                  RT_PRINTED(2 * RT_KEY_NAME_SIZE, "%s=%s", rt_key_name(i), rt_key_at(i)->initial));
    add_meaning(w, rt_key_at(i));
    rt_writer_add(w, "\n");
}

char *rt_config_help(const char *part)
{
    rt_writer w = {0};
    const int number = part ? rt_key_find(part) : -1;
    const rt_key *key = rt_key_at(number);
    for (int i = 0; !key && rt_key_at(i); i++) {
        rt_writer_add(&w, "%s", !part && i && rt_key_starts_section(i) ? "\n" : "");
        if (!part || !strcmp(rt_key_at(i)->section, part))
            add_key_help(&w, i);
    }
    rt_writer_add(&w, "%s", part ? "" : "\n");
    for (int i = 0; i < RT_SWEEP_SETTINGS && (!part || !strcmp(part, "sweep")); i++) {
        const char *const *row = rt_sweep_settings[i];
        const char *setting =
            RT_PRINTED(2 * RT_KEY_NAME_SIZE, "%s%s%s", row[0], *row[1] ? "=" : "", row[1]);
        rt_writer_add(&w, "  %-*s  %s\n", SETTING_WIDTH, setting, row[3]);
    }
    if (!key)
        return rt_writer_take(&w);
    add_key_help(&w, number);
    rt_writer_add(&w, "  values: %s\n", rt_key_values(key, (char[RT_VALUES_SIZE]){0}));
    if (key->decoder)
        rt_writer_add(&w, "  default of a decoder: %s\n", key->decoder);
    if (key->needs) {
        rt_writer_add(&w, "  needs: ");
        rt_key_report_needs(&w, number);
        rt_writer_add(&w, "\n");
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
    rt_writer problem = {0};
    bool good = true;
    for (int i = 0; i < COLUMNS && good; i++) {
        const size_t length = strcspn(row, ",\n");
        const char *cell = RT_PRINTED(RT_KEY_NAME_SIZE, "%.*s", (int)length, row);
        good = length < RT_KEY_NAME_SIZE && row[length] == (i + 1 < COLUMNS ? ',' : '\n');
        good = good && rt_key_read(rt_key_at(rt_key_find(columns[i])), cell, &c, &problem);
        row += good ? length + 1 : 0;
    }
    rt_writer_free(&problem);
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
