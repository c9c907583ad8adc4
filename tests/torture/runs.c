/* A try of one run: what --check says, a straight training, the same in pieces with other numbers
 * of threads, and every question that can be asked of the result. */

#include "torture/torture.h"

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "train/folder/results.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing ---- */

/* The number of threads is written down, and enters the checksum of the seal; all else is equal. */
static void mask_threads(char *bytes, size_t size)
{
    static const char setting[] = "\nthreads = ";
    const size_t length = sizeof setting - 1;
    memset(bytes + (size < 24 ? size : 24), 0, size < 32 ? 0 : 8);
    for (size_t i = 0; i + length < size; i++)
        if (!memcmp(bytes + i, setting, length))
            for (size_t k = i + length; k < size && isdigit((unsigned char)bytes[k]); k++)
                bytes[k] = 'N';
}

static void compare(trial *t, const char *run, const char *name, const char *other)
{
    char path[TORTURE_PATH_SIZE];
    size_t size = 0, other_size = 0;
    path_in(t, path, "straight/runs/%s/%s", run, name);
    char *bytes = read_text(path, &size);
    path_in(t, path, "trial/runs/%s/%s", run, other);
    char *other_bytes = read_text(path, &other_size);
    if (strstr(name, ".h5") && bytes && other_bytes) {
        mask_threads(bytes, size);
        mask_threads(other_bytes, other_size);
    }
    if (!bytes != !other_bytes)
        find(t, "%s is only in %s", name, bytes ? "straight" : "trial");
    else if (bytes && (size != other_size || memcmp(bytes, other_bytes, size)))
        find(t, "%s differs after stopping and resuming", name);
    free(bytes);
    free(other_bytes);
}

checkpoints find_checkpoints(const trial *t, const char *folder, const char *run)
{
    char path[TORTURE_PATH_SIZE];
    int64_t *steps = NULL;
    int count = 0;
    checkpoints found = {-1, -1};
    path_in(t, path, "%s/runs/%s/checkpoints", folder, run);
    const rt_status status = rt_checkpoint_list(path, &steps, &count);
    if (!status.code && count)
        found = (checkpoints){(long)steps[0], (long)steps[count - 1]};
    rt_free(steps);
    return found;
}

static void compare_all(trial *t, const char *run, int code)
{
    static const char *const tables[] = {"metrics.csv",     "theta.csv",   "lengths.csv",
                                         "theta_final.csv", "classes.csv", "confusion.csv",
                                         "result.csv"};
    char name[64], other[64];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        compare(t, run, tables[i], tables[i]);
    /* A run whose loss is not finite keeps the last good one, and a stop leaves one more. */
    const long straight = find_checkpoints(t, "straight", run).newest;
    const long resumed = find_checkpoints(t, "trial", run).newest;
    if (code == RT_EXIT_NONFINITE && resumed > straight)
        return;
    snprintf(name, sizeof name, "checkpoints/step-%08ld.h5", straight);
    snprintf(other, sizeof other, "checkpoints/step-%08ld.h5", resumed);
    if (strcmp(name, other) != 0)
        find(t, "the last checkpoint is %s, of the straight run %s", other, name);
    else
        compare(t, run, name, name);
}

/* ---- the trainings ---- */

static const char *words_of(int code, char text[16])
{
    snprintf(text, 16, "%d", code);
    return text;
}

/* The training in pieces, each ended at a moment of the time that the whole takes. */
static bool train_in_pieces(trial *t, double seconds, const char *code)
{
    static const int signals[] = {SIGTERM, SIGTERM, SIGINT, SIGKILL};
    const int pieces = 1 + draw(t, 3);
    for (int i = 0; i < pieces; i++) {
        command c = train_command("trial");
        c.signal = draw_of(t, signals);
        c.after = 1.2 * seconds * draw_uniform(t);
        add_word(&c, "../config.ini");
        add_word(&c, "--resume");
        add_word(&c, "--threads");
        add_word(&c, "%d", 1 + draw(t, 3));
        if (run_command(t, &c, code) < 0)
            return false;
    }
    command c = train_command("trial");
    add_word(&c, "../config.ini");
    add_word(&c, "--resume");
    add_word(&c, "--threads");
    add_word(&c, "%d", 1 + draw(t, 3));
    return run_command(t, &c, code) >= 0;
}

/* ---- the questions ---- */

static const char *line_of(const char *text, const char *beginning, char line[256])
{
    const char *at = strstr(text, beginning);
    snprintf(line, 256, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return line;
}

/* The check of the gradients computes the model anew for many of its parameters. */
static bool is_small(const rt_config *c)
{
    return c->model.layers * c->model.dim <= 32 && c->model.ffn_dim <= 32 &&
           c->train.batch_size * c->data.length <= 256;
}

static void ask(trial *t, const drawn_config *d, const char *trained)
{
    char line[256];
    command c = train_command("straight");
    const bool decay = chance(t, 50); /* which not every position has */
    add_word(&c, decay ? "--decay" : "--eval");
    add_word(&c, "../config.ini");
    add_word(&c, "--checkpoint");
    add_word(&c, "nothing.h5");
    run_command(t, &c, decay ? "2 4" : "4");

    c = train_command("straight");
    add_word(&c, "--eval");
    add_word(&c, "../config.ini");
    if (run_command(t, &c, "0 5 7") >= 0 && *trained &&
        strcmp(trained, line_of(t->out, "eval: ", line)) != 0)
        find(t, "training ended with '%s', --eval says '%s'", trained, line);

    c = train_command("straight");
    add_word(&c, "../config.ini");
    add_word(&c, "--predict");
    add_word(&c, "%s", chance(t, 50) ? "the [MASK] fox" : "dog");
    add_word(&c, "--tokens");
    add_word(&c, "%d", 1 + draw(t, 20));
    run_command(t, &c, d->text ? "0 2" : "2");

    c = train_command("straight");
    add_word(&c, "../config.ini");
    add_word(&c, "--decay");
    run_command(t, &c, "0 2");

    if (d->tame && is_small(&d->config)) {
        c = train_command("straight");
        add_word(&c, "../config.ini");
        add_word(&c, "--gradcheck");
        run_command(t, &c, "0");
    }
    if (chance(t, 40)) {
        c = train_command("straight");
        add_word(&c, "--report");
        add_word(&c, "runs/%s", d->config.run.name);
        run_command(t, &c, "0");
    }
}

/* Returns whether the training led to a model. */
static bool train_and_ask(trial *t, const drawn_config *d)
{
    char text[16], trained[256];
    command c = train_command("straight");
    add_word(&c, "--check");
    add_word(&c, "../config.ini");
    const int checked = run_command(t, &c, d->good ? "0 2 3 4" : "2");
    if (checked < 0)
        return false;

    c = train_command("straight");
    c.reports = chance(t, 30);
    add_word(&c, "../config.ini");
    add_word(&c, "--threads");
    add_word(&c, "%d", 1 + draw(t, 3));
    const int code = run_command(t, &c, checked ? words_of(checked, text) : "0 5 7");
    if (code < 0)
        return false;
    if (checked == 2 && is_there(t, "straight/runs"))
        find(t, "a configuration that was refused left a folder");
    if (checked)
        return false;
    line_of(t->out, "eval: ", trained);
    if (!train_in_pieces(t, t->seconds, words_of(code, text)))
        return false;
    compare_all(t, d->config.run.name, code);
    if (code != 5)
        ask(t, d, trained);
    return code != 5;
}

static void make_place(const trial *t)
{
    make_folder(t, "straight");
    make_folder(t, "trial");
}

/* In a folder of its own, from the checkpoint or the export of the run before. */
static void start_another(trial *t, drawn_config *d, int number)
{
    char before[TORTURE_PATH_SIZE], start[TORTURE_PATH_SIZE], theta[TORTURE_PATH_SIZE];
    char path[TORTURE_PATH_SIZE], place[32];
    const char *run = d->config.run.name;
    const long newest = find_checkpoints(t, "straight", run).newest;
    if (is_there(t, "straight/newer") && chance(t, 40))
        path_in(t, start, "straight/newer");
    else
        path_in(t, start, "straight/runs/%s/checkpoints/step-%08ld.h5", run, newest);
    path_in(t, theta, "straight/runs/%s/theta%s.csv", run, chance(t, 50) ? "_final" : "");
    snprintf(place, sizeof place, "another-%d", number);
    make_folder(t, place);
    snprintf(before, sizeof before, "%s", t->folder);
    path_in(t, path, "%s", place);
    snprintf(t->folder, sizeof t->folder, "%s", path);
    make_place(t);
    path_in(t, path, "config.ini");
    draw_another(t, d, path, start, theta);
    if (train_and_ask(t, d))
        use_otherwise(t, d);
    snprintf(t->folder, sizeof t->folder, "%s", before);
}

void try_run(trial *t)
{
    static drawn_config d;
    char path[TORTURE_PATH_SIZE];
    make_place(t);
    path_in(t, path, "config.ini");
    draw_config(t, &d, path, false);
    if (!train_and_ask(t, &d))
        return;
    use_otherwise(t, &d);
    export_over_exports(t, &d);
    const int others = draw(t, 3);
    for (int n = 0; n < others && !t->finds; n++)
        start_another(t, &d, n);
}
