/* A try of one run: --check, a straight training, the same in pieces, and every use of it. */

#include "torture/torture.h"

#include "io/checkpoint/checkpoint.h"
#include "train/config/keys.h"
#include "train/folder/results.h"

static void compare(trial *t, const char *run, const char *name)
{
    const comparison c = compare_files(t, text_of("straight/runs/%s/%s", run, name),
                                       text_of("trial/runs/%s/%s", run, name));
    if (c.one != c.other)
        find(t, "%s is only in %s", name, c.one ? "straight" : "trial");
    else if (c.one && !c.same)
        find(t, "%s differs after stopping and resuming", name);
}

long newest_checkpoint(const trial *t, const char *folder, const char *run)
{
    int64_t *steps = NULL;
    int count = 0;
    const rt_status status =
        rt_checkpoint_list(path_in(t, "%s/runs/%s/checkpoints", folder, run), &steps, &count);
    const long newest = !status.code && count ? (long)steps[0] : -1;
    rt_free(steps);
    return newest;
}

static void compare_all(trial *t, const char *run, int code)
{
    static const char *const tables[] = {"metrics.csv",     "theta.csv",   "lengths.csv",
                                         "theta_final.csv", "classes.csv", "confusion.csv",
                                         "result.csv"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        compare(t, run, tables[i]);
    /* A run whose loss is not finite keeps the last good one, and a stop leaves one more. */
    const long straight = newest_checkpoint(t, "straight", run);
    const long resumed = newest_checkpoint(t, "trial", run);
    if (code == RT_EXIT_NONFINITE && resumed > straight)
        return;
    const char *name = text_of("checkpoints/step-%08ld.h5", straight);
    if (straight != resumed)
        find(t, "the last checkpoint is of step %ld, of the straight run %s", resumed, name);
    else
        compare(t, run, name);
}

static const char *draw_threads(trial *t)
{
    return text_of("%d", 1 + draw(t, 3));
}

/* The training in pieces, all but the last ended at a moment of the time that the whole takes. */
static bool train_in_pieces(trial *t, double seconds, const char *code)
{
    static const int signals[] = {SIGTERM, SIGTERM, SIGINT, SIGKILL};
    for (int left = 1 + draw(t, 3); left >= 0; left--) {
        command c = {.folder = "trial", .words = {"../config.ini", "--resume", "--threads"}};
        if (left) {
            c.signal = draw_of(t, signals);
            c.after = 1.2 * seconds * draw_uniform(t);
        }
        add_word(&c, draw_threads(t));
        if (run_command(t, &c, code) < 0)
            return false;
    }
    return true;
}

static const char *line_of(const char *text, const char *beginning, char line[256])
{
    const char *at = strstr(text, beginning);
    snprintf(line, 256, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return line;
}

static void ask(trial *t, const drawn_config *d, const char *trained)
{
    char line[256];
    const bool decay = chance(t, 50); /* which not every position has */
    TRAIN(t, decay ? "2 4" : "4", "straight", decay ? "--decay" : "--eval", "../config.ini",
          "--checkpoint", "nothing.h5");
    if (TRAIN(t, "0 5 7", "straight", "--eval", "../config.ini") >= 0 && *trained &&
        strcmp(trained, line_of(t->out, "eval: ", line)) != 0)
        find(t, "training ended with '%s', --eval says '%s'", trained, line);
    const char *text = chance(t, 50) ? "the [MASK] fox" : "dog";
    TRAIN(t, d->text ? "0 2" : "2", "straight", "../config.ini", "--predict", text, "--tokens",
          text_of("%d", 1 + draw(t, 20)));
    TRAIN(t, "0 2", "straight", "../config.ini", "--decay");
    const rt_config *c =
        &d->config; /* of a small model, since all is computed for each parameter */
    if (d->tame && c->model.layers * c->model.dim <= 32 && c->model.ffn_dim <= 32 &&
        c->train.batch_size * c->data.length <= 256)
        TRAIN(t, "0", "straight", "../config.ini", "--gradcheck");
    if (chance(t, 40))
        TRAIN(t, "0", "straight", "--report", text_of("runs/%s", d->config.run.name));
}

/* Returns whether the training led to a model. */
static bool train_and_ask(trial *t, const drawn_config *d)
{
    char trained[256];
    /* train.init_from is opened first: its model decides which other keys have an effect */
    const char *bad = strstr(d->ini, "nothing.h5") ? "2 4" : "2";
    const int checked = TRAIN(t, d->good ? "0 2 3 4" : bad, "straight", "--check", "../config.ini");
    if (checked < 0)
        return false;
    command c = {.folder = "straight",
                 .reports = chance(t, 30),
                 .words = {"../config.ini", "--threads", draw_threads(t)}};
    const int code = run_command(t, &c, checked ? text_of("%d", checked) : "0 5 7");
    if (code < 0)
        return false;
    if (checked == 2 && is_there(t, "straight/runs"))
        find(t, "a configuration that was refused left a folder");
    if (checked)
        return false;
    line_of(t->out, "eval: ", trained);
    if (!train_in_pieces(t, t->seconds, text_of("%d", code)))
        return false;
    compare_all(t, d->config.run.name, code);
    if (code != 5)
        ask(t, d, trained);
    return code != 5;
}

/* Uses of the run in "straight", with other keys, and exported to "newer". */

static void use_otherwise(trial *t, const drawn_config *d)
{
    static const char *const uses[] = {"--eval", "--eval", "--decay", "--print-config"};
    char value[RT_FILE_LIST_SIZE], name[RT_KEY_NAME_SIZE];
    for (int i = 0; i < 2; i++) {
        command c = {.folder = "straight", .words = {draw_of(t, uses)}};
        if (chance(t, 50)) {
            add_word(&c, "--checkpoint");
            add_word(&c, text_of("runs/%s", d->config.run.name));
        } else {
            add_word(&c, "../config.ini");
        }
        for (int n = 1 + draw(t, 3); n > 0; n--) {
            const int key = draw_key(t);
            if (draw_value(t, key, true, value))
                add_word(&c, text_of("%s=%.200s", rt_key_full_name(rt_key_at(key), name), value));
        }
        run_command(t, &c, "0 2 3 4 5 7");
    }
}

/* Exports the newest checkpoint, and the export onto itself. Kills of exports are in
 * tests/faults/test_output_faults.c. */
static void export_run(trial *t, const drawn_config *d)
{
    const char *run = d->config.run.name;
    const long newest = newest_checkpoint(t, "straight", run);
    if (newest >= 0 &&
        TRAIN(t, "0 2 5", "straight", "--checkpoint",
              text_of("runs/%s/checkpoints/step-%08ld.h5", run, newest), "--export", "newer") == 0)
        TRAIN(t, "0", "straight", "--checkpoint", "newer", "--export", "newer", "--overwrite");
}

static const char *make_place(const trial *t)
{
    make_folder(t, "straight");
    make_folder(t, "trial");
    return path_in(t, "config.ini");
}

/* Starts another training in its own folder from the checkpoint or export of the run before. */
static void start_another(trial *t, drawn_config *d, int number)
{
    const char *before = text_of("%s", t->folder), *place = text_of("another-%d", number);
    const char *run = d->config.run.name;
    const long newest = newest_checkpoint(t, "straight", run);
    const char *start = is_there(t, "straight/newer") && chance(t, 40)
                            ? path_in(t, "straight/newer")
                            : path_in(t, "straight/runs/%s/checkpoints/step-%08ld.h5", run, newest);
    const char *theta =
        path_in(t, "straight/runs/%s/theta%s.csv", run, chance(t, 50) ? "_final" : "");
    make_folder(t, place);
    snprintf(t->folder, sizeof t->folder, "%s/%s", before, place);
    draw_another(t, d, make_place(t), start, theta);
    if (train_and_ask(t, d))
        use_otherwise(t, d);
    snprintf(t->folder, sizeof t->folder, "%s", before);
}

void try_run(trial *t)
{
    static drawn_config d;
    draw_config(t, &d, make_place(t), false);
    if (!train_and_ask(t, &d))
        return;
    use_otherwise(t, &d);
    export_run(t, &d);
    const int others = draw(t, 3);
    for (int n = 0; n < others && !t->finds; n++)
        start_another(t, &d, n);
}
