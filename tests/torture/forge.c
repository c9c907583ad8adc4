/* A try of a forgery: a finished run whose files were changed behind the program's back, by
 * accident or on purpose, with a right checksum or not; and then it is resumed, evaluated, drawn
 * and started from. No command that stands in a file may run, and no markup may reach a page. */

#define _XOPEN_SOURCE 700

#include "torture/forge.h"

#include "io/checkpoint/sealed.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the runs that are forged ---- */

static const char template_keys[] =
    "[model]\nlayers = 1\ndim = 8\nheads = 2\n"
    "[theta]\nlearn = yes\n"
    "[train]\nsteps = 6\nbatch_size = 2\neval_every = 3\neval_batches = 1\n"
    "checkpoint_every = 2\nkeep = 2\neval_lengths = 12\n";

static bool make_template(trial *t, const char *name, const char *more)
{
    char path[TORTURE_PATH_SIZE], text[2048];
    const int length = snprintf(text, sizeof text, "%s%s", template_keys, more);
    path_in(t, path, "templates/%s.ini", name);
    write_text(path, text, (size_t)length);
    command c = train_command("templates");
    c.reports = true;
    add_word(&c, "%s.ini", name);
    return run_command(t, &c, "0") == 0;
}

bool make_templates(trial *t)
{
    make_folder(t, "templates");
    return make_template(t, "rope", "[data]\nlength = 8\nvocab = 8\n") &&
           make_template(t, "text",
                         "[data]\ntask = text\nlength = 8\nfile = ../samples/text.txt\n") &&
           make_template(t, "sweep", "[data]\nlength = 8\nvocab = 8\n[sweep]\nrun.seed = 1,2\n");
}

/* ---- bytes ---- */

static void put_number(char *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (char)(number >> 8 * i);
}

/* Makes length and checksum those of the bytes; see io/checkpoint/sealed.h. */
static void seal(char *bytes, size_t size)
{
    if (size < RT_SEAL_SIZE)
        return;
    put_number(bytes + 16, size);
    put_number(bytes + 24, XXH3_64bits(bytes + RT_SEAL_SIZE, size - RT_SEAL_SIZE));
}

void seal_file(const char *path)
{
    size_t size = 0;
    char *bytes = read_text(path, &size);
    if (bytes) {
        seal(bytes, size);
        write_text(path, bytes, size);
    }
    free(bytes);
}

void damage_bytes(trial *t, char *bytes, size_t *size, size_t from)
{
    if (*size <= from)
        return;
    const int kind = draw(t, 4), count = 1 + draw(t, 12);
    if (kind == 0)
        *size = from + (size_t)draw(t, (int)(*size - from));
    for (int i = 0; i < count && kind && *size > from; i++) {
        char *at = bytes + from + draw(t, (int)(*size - from));
        *at = (char)(kind == 1 ? *at ^ 1 << draw(t, 8) : kind == 2 ? draw(t, 256) : 0xff);
    }
}

void damage(trial *t, const char *path, bool sealed)
{
    size_t size = 0;
    char *bytes = read_text(path, &size);
    if (!bytes)
        return;
    damage_bytes(t, bytes, &size, sealed ? RT_SEAL_SIZE : 0);
    if (sealed)
        seal(bytes, size);
    write_text(path, bytes, size);
    free(bytes);
}

/* ---- using what was forged ---- */

static trial *looking; /* nftw passes nothing on */

static int look_at(const char *path, const struct stat *status, int type, struct FTW *place)
{
    const char *name = path + place->base, *ending = strrchr(name, '.');
    size_t size = 0;
    (void)status;
    if (!strcmp(name, "wren"))
        find(looking, "a command that stood in a file was run: %s", path);
    if (type != FTW_F || !ending || (strcmp(ending, ".html") != 0 && strcmp(ending, ".svg") != 0))
        return 0;
    char *text = read_text(path, &size);
    if (text && strstr(text, "<torture"))
        find(looking, "%s has markup that stood in a file", path);
    free(text);
    return 0;
}

typedef enum use {
    RESUME,
    EVAL,
    PREDICT,
    EVAL_FILE, /* these three name the checkpoint */
    DECAY_FILE,
    START_FROM_FILE,
    REPORT,
    USES
} use;

static use draw_use(trial *t, const forgery *f)
{
    if (f->hostile_hdf5) /* one's own folder is not read as a stranger's file is */
        return (use)(EVAL_FILE + draw(t, 3));
    return f->table && chance(t, 70) ? REPORT : (use)draw(t, USES);
}

static const char *codes_of(const forgery *f, use how)
{
    if (how == REPORT && f->table) /* figures of what is left of it may be missing */
        return ANY_CODE;
    const bool is_of_file = how == EVAL_FILE || how == START_FROM_FILE;
    return is_of_file ? f->codes : NO_FAILURE; /* a run has an older one, decay reads theta alone */
}

static command use_command(const forgery *f, use how)
{
    command c = train_command(NULL);
    const bool sweep = !strcmp(f->name, "sweep");
    c.reports = how == REPORT;
    if (how == REPORT) {
        add_word(&c, "--report");
        add_word(&c, "runs/%s", f->name);
        return c;
    }
    add_word(&c, "%s.ini", sweep ? "rope" : f->name);
    if (sweep) /* one of its runs, by itself */
        add_word(&c, "run.dir=runs/sweep");
    if (how == START_FROM_FILE) {
        add_word(&c, "run.name=other");
        add_word(&c, "train.init_from=%s", f->checkpoint);
        return c;
    }
    if (sweep)
        add_word(&c, "run.name=seed=1");
    if (how == RESUME) {
        add_word(&c, "--resume");
        add_word(&c, "train.steps=8");
    } else if (how == PREDICT) {
        add_word(&c, "--predict");
        add_word(&c, "the [MASK] fox");
    } else {
        add_word(&c, how == DECAY_FILE ? "--decay" : "--eval");
    }
    if (how == EVAL_FILE || how == DECAY_FILE) {
        add_word(&c, "--checkpoint");
        add_word(&c, "%s", f->checkpoint);
    }
    return c;
}

void try_forgery(trial *t)
{
    static const char *const names[] = {"rope", "text", "sweep"};
    forgery f = {.name = draw_of(t, names), .codes = NO_FAILURE};
    char line[2 * TORTURE_PATH_SIZE];
    snprintf(line, sizeof line, "cp -r '%s/templates/.' '%s'", t->base, t->folder);
    if (system(line))
        exit(TORTURE_STUCK);
    path_in(t, f.checkpoint, "runs/%s%s/checkpoints/step-%08d.h5", f.name,
            !strcmp(f.name, "sweep") ? "/seed=1" : "", 6);
    f.table = chance(t, 60);
    if (f.table)
        forge_table(t, &f);
    else
        forge_checkpoint(t, &f);
    const int uses = 1 + draw(t, 2);
    for (int i = 0; i < uses && !t->finds; i++) {
        const use how = draw_use(t, &f);
        const command c = use_command(&f, how);
        run_command(t, &c, codes_of(&f, how));
    }
    looking = t;
    nftw(t->folder, look_at, 16, FTW_PHYS);
}
