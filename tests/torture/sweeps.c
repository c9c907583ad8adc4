/* A try of a sweep: random axes and variants, stopped or not, continued, grown and drawn again. */

#include "torture/torture.h"

#include "train/config/sweep.h"

enum { SEVERAL_AXES = 3, MOST_VALUES = 3, MOST_VARIANTS = 2, MOST_RUNS = 6 };

typedef struct drawn_sweep {
    int axes, variants;
    int keys[RT_MOST_AXES];
    char values[RT_MOST_AXES][MOST_VALUES + 1][64]; /* the last is added later */
    int counts[RT_MOST_AXES];
    char settings[MOST_VARIANTS][2][128];
    int jobs;
} drawn_sweep;

static bool is_axis(int key)
{
    char name[RT_KEY_NAME_SIZE];
    const rt_key *k = rt_key_at(key);
    rt_key_full_name(k, name);
    return k->type != RT_KEY_TEXT && k->type != RT_KEY_LENGTHS && strcmp(name, "run.threads") != 0;
}

static int draw_key_of_sweep(trial *t)
{
    int key = rt_key_find("run.seed");
    if (!chance(t, 40))
        do
            key = draw_key(t);
        while (!is_axis(key));
    return key;
}

static void draw_axis(trial *t, drawn_sweep *s, bool tame, int most_values)
{
    char value[RT_FILE_LIST_SIZE];
    const int axis = s->axes++;
    s->keys[axis] = draw_key_of_sweep(t);
    s->counts[axis] = 1 + draw(t, most_values);
    for (int i = 0; i < MOST_VALUES + 1; i++) {
        draw_value(t, s->keys[axis], tame, value);
        snprintf(s->values[axis][i], sizeof s->values[axis][i], "%.60s", value);
    }
}

static int runs_of(const drawn_sweep *s)
{
    int runs = s->variants ? s->variants : 1;
    for (int i = 0; i < s->axes; i++)
        runs *= s->counts[i];
    return runs;
}

static void draw_variant(trial *t, drawn_sweep *s, bool tame)
{
    char name[RT_KEY_NAME_SIZE], value[RT_FILE_LIST_SIZE];
    const int variant = s->variants++;
    for (int i = 0; i < 2; i++) {
        const int key = draw_key_of_sweep(t);
        draw_value(t, key, tame, value);
        snprintf(s->settings[variant][i], sizeof s->settings[variant][i], "%s = %.60s\n",
                 rt_key_full_name(rt_key_at(key), name), value);
    }
}

static const char *text_of_sweep(const drawn_sweep *s, const char *ini)
{
    char name[RT_KEY_NAME_SIZE];
    rt_writer w = {0};
    rt_writer_add(&w, "%s[sweep]\njobs = %d\n", ini, s->jobs);
    for (int i = 0; i < s->axes; i++)
        for (int k = 0; k < s->counts[i]; k++)
            rt_writer_add(&w, "%s%s%s%s", k ? "," : rt_key_full_name(rt_key_at(s->keys[i]), name),
                          k ? "" : " = ", s->values[i][k], k + 1 < s->counts[i] ? "" : "\n");
    for (int i = 0; i < s->variants; i++)
        rt_writer_add(&w, "[variant %s]\n%s%s", i ? "it's <b>" : "first", s->settings[i][0],
                      s->settings[i][1]);
    const char *text = rt_intern_text(w.bytes);
    rt_writer_free(&w);
    return text;
}

/* Returns whether each run is a valid configuration, as the library says for a single one. */
static bool is_good(const char *path, const char *text)
{
    rt_config config;
    rt_sweep sweep = {0};
    char *errors = NULL;
    rt_config_source source = {.path = path, .text = text, .sweep = &sweep};
    bool good = !rt_config_load(&config, &source, &errors).code;
    rt_free(errors);
    const int count = good && rt_sweep_requested(&sweep) ? rt_sweep_count(&sweep) : 0;
    source.sweep = NULL;
    for (int run = 0; run < count && good; run++) {
        char *settings = rt_sweep_overrides(&sweep, run);
        source.settings = settings;
        good = !rt_config_load(&config, &source, &errors).code;
        rt_free(errors);
        rt_free(settings);
    }
    return good && count;
}

/* Draws a few axes of a few values, or many of one; returns the configuration, or NULL. */
static const char *draw_sweep(trial *t, drawn_sweep *s, const drawn_config *d, const char *path)
{
    const bool many = chance(t, 25);
    for (int tries = 0; tries < 300; tries++) {
        *s = (drawn_sweep){.jobs = 1 + draw(t, 2)};
        const int axes = 1 + draw(t, many ? RT_MOST_AXES : SEVERAL_AXES);
        const int variants = draw(t, MOST_VARIANTS + 1);
        for (int i = 0; i < axes; i++)
            draw_axis(t, s, d->tame, many ? 1 : MOST_VALUES);
        for (int i = 0; i < variants; i++)
            draw_variant(t, s, d->tame);
        const char *text = text_of_sweep(s, d->ini);
        if (runs_of(s) <= MOST_RUNS && is_good(path, text))
            return text;
    }
    return NULL;
}

static int train_sweep(trial *t, bool reports, int signal, double after, const char *codes)
{
    const command c = {.reports = reports,
                       .signal = signal,
                       .after = after,
                       .words = {"config.ini"}};
    return run_command(t, &c, codes);
}

static void resume_sweep(trial *t, const drawn_config *d, drawn_sweep *s, const char *path,
                         int code, bool reports)
{
    if (train_sweep(t, reports, 0, 0, text_of("%d", code)) < 0)
        return;
    s->counts[0]++;
    const char *text = text_of_sweep(s, d->ini);
    if (is_good(path, text)) {
        write_text(path, text, strlen(text));
        /* 2: the only value of the key was its default, and the new one has no effect in any run */
        const int checked = TRAIN(t, "0 2", NULL, "--check", "config.ini");
        if (checked < 0 || train_sweep(t, reports, 0, 0, checked ? "2" : "0 5 7") < 0)
            return;
    }
    TRAIN(t, "0", NULL, "--report", text_of("runs/%s", d->config.run.name));
}

void try_sweep(trial *t)
{
    static drawn_config d;
    static drawn_sweep s;
    const char *path = path_in(t, "config.ini");
    draw_config(t, &d, path, true);
    const char *text = draw_sweep(t, &s, &d, path);
    if (!text)
        return;
    write_text(path, text, strlen(text));
    const bool reports = chance(t, 60);
    const int checked = TRAIN(t, "0 2 3 4", NULL, "--check", "config.ini");
    if (checked < 0)
        return;
    if (checked) {
        train_sweep(t, reports, 0, 0, text_of("%d", checked));
        if (is_there(t, "runs"))
            find(t, "a sweep that was refused left a folder");
        return;
    }
    if (chance(t, 40) &&
        train_sweep(t, reports, chance(t, 50) ? SIGTERM : SIGINT, 4 * draw_uniform(t), "0 5 7") < 0)
        return;
    const int code = train_sweep(t, reports, 0, 0, "0 5 7");
    if (code >= 0)
        resume_sweep(t, &d, &s, path, code, reports);
}
