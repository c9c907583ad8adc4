/* Uses of the run in "straight": with other keys, and exports over a folder with kills. */

#include "torture/torture.h"

#include "train/config/keys.h"

enum { MOST_KILLS = 4 };

/* ---- other keys ---- */

static void add_override(trial *t, command *c)
{
    char value[RT_FILE_LIST_SIZE], name[RT_KEY_NAME_SIZE];
    const int key = draw_key(t);
    if (draw_value(t, key, true, value))
        add_word(c, text_of("%s=%.200s", rt_key_full_name(rt_key_at(key), name), value));
}

void use_otherwise(trial *t, const drawn_config *d)
{
    static const char *const uses[] = {"--eval", "--eval", "--decay", "--print-config"};
    for (int i = 0; i < 2; i++) {
        command c = {.folder = "straight", .words = {draw_of(t, uses)}};
        if (chance(t, 50)) {
            add_word(&c, "--checkpoint");
            add_word(&c, text_of("runs/%s", d->config.run.name));
        } else {
            add_word(&c, "../config.ini");
        }
        for (int n = 1 + draw(t, 3); n > 0; n--)
            add_override(t, &c);
        run_command(t, &c, "0 2 3 4 5 7");
    }
}

/* ---- exports ---- */

#define EXPORT(from, to)                                                                           \
    .folder = "straight", .words = {"--checkpoint", from, "--export", to, "--overwrite"}

static int export(trial *t, const char *from, const char *to, const char *codes)
{
    return run_command(t, &(const command){EXPORT(from, to)}, codes);
}

static bool is_whole(const trial *t, const char *one, const char *other)
{
    static const char *const names[] = {"config.json", "model.safetensors"};
    bool same = true;
    for (int i = 0; i < 2; i++)
        same = same && compare_files(t, text_of("straight/%s/%s", one, names[i]),
                                     text_of("straight/%s/%s", other, names[i]))
                           .same;
    return same;
}

/* A killed export is one model or the other, and readable; beside other files it may be partial. */
static void look_at_export(trial *t, bool alone)
{
    if (alone && !is_whole(t, "out", "older") && !is_whole(t, "out", "newer"))
        find(t, "after a kill the folder of an export holds neither the older nor the newer model");
    if (is_there(t, "straight/out/config.json"))
        TRAIN(t, "0", "straight", "--checkpoint", "out", "--print-config");
}

static void kill_exports(trial *t, const char *newer, double seconds)
{
    const bool alone = chance(t, 70);
    if (!alone)
        make_folder(t, "straight/out/notes");
    for (int kills = 1 + draw(t, MOST_KILLS); kills > 0 && !t->finds; kills--) {
        const bool itself = chance(t, 30) && is_there(t, "straight/out/config.json");
        const command c = {EXPORT(itself ? "out" : newer, "out"),
                           .signal = chance(t, 80) ? SIGKILL : SIGTERM,
                           .after = 1.2 * seconds * draw_uniform(t)};
        const int code = run_command(t, &c, "0");
        if (itself) /* as it is read, it may be written otherwise */
            return;
        if (code >= 0)
            look_at_export(t, alone);
    }
    if (!t->finds && export(t, newer, "out", "0") == 0 && !is_whole(t, "out", "newer"))
        find(t, "an export after kills is another one than one without");
    if (is_there(t, "straight/out/.rotor-export") || is_there(t, "straight/.out.rotor-export"))
        find(t, "an export after kills leaves a staging folder");
}

/* The exit code of the export of the newer one. */
static int export_two(trial *t, const char *older, const char *newer)
{
    const int code = export(t, newer, "newer", "0 2 5");
    const double seconds = t->seconds;
    if (code || export(t, older, "older", "0 5") != 0)
        return code;
    if (export(t, older, "out", "0") == 0)
        kill_exports(t, newer, seconds);
    if (!t->finds)
        export(t, "newer", "newer", "0"); /* over what it is read from */
    return code;
}

/* Of the run itself, if it can be exported; else, in some, of a finished run that can. */
void export_over_exports(trial *t, const drawn_config *d)
{
    static const char own[] = "runs/%s/checkpoints/step-%08ld.h5";
    static const char finished[] = "%s/templates/runs/rope/checkpoints/step-%08d.h5";
    const char *run = d->config.run.name;
    const checkpoints found = find_checkpoints(t, "straight", run);
    if (found.newest >= 0 &&
        export_two(t, text_of(own, run, found.oldest), text_of(own, run, found.newest)) != 2)
        return;
    if (chance(t, 40))
        export_two(t, text_of(finished, t->base, 4), text_of(finished, t->base, 6));
}
