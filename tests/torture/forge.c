/* A try of a forgery: changes files of a finished run, by accident or on purpose, with a right
 * checksum or not. Then the run is resumed, evaluated, drawn and used as a start. No command in a
 * file may run, and no markup may reach a page. */

#define _XOPEN_SOURCE 700

#include "sealing.h"
#include "torture/torture.h"

#include <ftw.h>
#include <hdf5.h>

typedef struct forgery {
    const char *name;       /* of the template */
    const char *checkpoint; /* the newest */
    bool table;             /* it is a table that was changed */
    bool hostile_hdf5;      /* its structure was changed bit by bit, with a right seal */
} forgery;

static const char template_keys[] =
    "[model]\nlayers = 1\ndim = 8\nheads = 2\n"
    "[theta]\nlearn = yes\n"
    "[train]\nsteps = 6\nbatch_size = 2\neval_every = 3\neval_batches = 1\n"
    "checkpoint_every = 2\nkeep = 2\neval_lengths = 12\n";

static bool make_template(trial *t, const char *name, const char *more)
{
    const char *text = text_of("%s%s", template_keys, more);
    write_text(path_in(t, "templates/%s.ini", name), text, strlen(text));
    const command c = {.folder = "templates", .reports = true, .words = {text_of("%s.ini", name)}};
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

/* Flips some bits, or overwrites bytes, or cuts, at random. Returns the size that is left. */
static size_t damaged(trial *t, char *bytes, size_t size)
{
    const int kind = draw(t, 4), count = 1 + draw(t, 12);
    if (kind == 0 || !size)
        return size ? (size_t)draw(t, (int)size) : 0;
    for (int i = 0; i < count; i++) {
        char *at = bytes + draw(t, (int)size);
        *at = (char)(kind == 1 ? *at ^ 1 << draw(t, 8) : kind == 2 ? draw(t, 256) : 0xff);
    }
    return size;
}

/* Writes a checkpoint again, damaged or not, with a right seal or with the one that it had. */
static void write_again(trial *t, const char *path, bool sealed, bool harmed)
{
    size_t size = 0;
    char *bytes = read_text(path, &size);
    const size_t block = sealed ? RT_CHECKSUM_BLOCK_SIZE : 0;
    if (bytes && size > block) {
        size = harmed ? damaged(t, bytes + block, size - block) : size - block;
        if (!sealed)
            write_text(path, bytes, size);
        else if (write_sealed(path, bytes + block, size).code)
            exit(TORTURE_STUCK);
    }
    rt_free(bytes);
}

/* Attributes, numbers, groups and data sets are changed one by one in tests/io, in
 * test_checkpoint.c and test_checkpoint_forged.c. */

/* Replaces the configuration of the run by another one. */
static void forge_config(trial *t, const forgery *f)
{
    static const char *const texts[] = {"",
                                        "[run]\nname = ../../x\n",
                                        "[model]\ndim = 1000000\nlayers = 1000\n",
                                        "[data]\nlength = 1000000\n",
                                        "no ini at all",
                                        "[run]\nname = <torture>\n[model]\n",
                                        "[data]\ntask = text\nfile = /etc/passwd\n"};
    const char *text = draw_of(t, texts);
    const hid_t file = H5Fopen(f->checkpoint, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0)
        exit(TORTURE_STUCK);
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    H5Ldelete(file, "/config", H5P_DEFAULT);
    const hid_t set =
        H5Dcreate2(file, "/config", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
    write_again(t, f->checkpoint, true, false);
}

/* Damages, replaces or renames the newest checkpoint, with a right seal or not. */
static void forge_checkpoint(trial *t, forgery *f)
{
    const int kind = draw(t, 8);
    if (kind < 2) {
        f->hostile_hdf5 = kind;
        write_again(t, f->checkpoint, kind, true);
    } else if (kind == 2) {
        const char *other =
            path_in(t, "runs/%s/checkpoints/step-%08d.h5", f->name, 7 + draw(t, 1000));
        if (!rename(f->checkpoint, other))
            f->checkpoint = other;
    } else {
        forge_config(t, f);
    }
}

/* Short, since cells are cut. Where one of them is run, there is then a file named wren. */
static const char *const payloads[] = {"`>wren`",
                                       "'.\"`>wren`\".'",
                                       "\"`>wren`\"",
                                       "$(>wren)",
                                       "| touch wren",
                                       "'; system(\">wren\"); '",
                                       "\"; system('>wren'); \"",
                                       "<touch wren",
                                       "'<touch wren'",
                                       "\\\"`>wren`",
                                       "}'`>wren`'{",
                                       "all'.\"`>wren`\".'",
                                       "@`>wren`"};
static const char *const markup[] = {"<torture>", "\"><torture>", "</title><torture>",
                                     "&#60;torture&#62;", "{/Symbol <torture>}"};
static const char *const odd[] = {"%s%s%n", "nan",      "-inf",
                                  "1e999",  "-1",       "2147483648",
                                  "",       "'",        "\"",
                                  "\\",     ",,,,",     "\"a\nb\"",
                                  "\n",     "\xff\xfe", "99999999999999999999"};

static const char *draw_payload(trial *t)
{
    static char huge[100000];
    const int kind = draw(t, 4);
    memset(huge, kind ? '7' : 'x', sizeof huge - 1);
    if (chance(t, 8))
        return huge;
    return kind > 1 ? draw_of(t, payloads) : kind ? draw_of(t, markup) : draw_of(t, odd);
}

/* Returns the table with a payload in a cell, or in a column of all rows, so groups stay whole. */
static char *with_payload(trial *t, const char *bytes, size_t *size)
{
    const char *with = draw_payload(t);
    const int column = draw(t, 5), row = draw(t, 8) - 3; /* 0: the heading; below: all rows */
    int at = 0, line = 0;
    rt_writer w = {0};
    for (size_t i = 0; i < *size; i++) {
        const bool chosen = at == column && (row < 0 ? line > 0 : line == row);
        const bool ends = bytes[i] == '\n' || bytes[i] == ',';
        if (chosen && (i == 0 || bytes[i - 1] == ',' || bytes[i - 1] == '\n'))
            rt_writer_add(&w, "%s", with);
        if (!chosen || ends)
            rt_writer_add(&w, "%c", bytes[i]);
        at = bytes[i] == '\n' ? 0 : at + (bytes[i] == ',');
        line += bytes[i] == '\n';
    }
    *size = w.length;
    return rt_writer_take(&w);
}

/* Changes cells, columns or bytes of one of the tables. */
static void forge_table(trial *t, const forgery *f)
{
    static const char *const of_run[] = {"metrics.csv",     "theta.csv",  "theta.csv",
                                         "theta_final.csv", "result.csv", "timing.csv",
                                         "lengths.csv",     "config.ini", "theta_final.csv"};
    static const char *const of_sweep[] = {
        "sweep.csv",         "paired.csv",        "runs.csv", "runs.csv", "seed=1/theta_final.csv",
        "seed=2/result.csv", "seed=1/metrics.csv"};
    size_t size = 0;
    const char *path =
        path_in(t, "runs/%s/%s", f->name,
                !strcmp(f->name, "sweep") ? draw_of(t, of_sweep) : draw_of(t, of_run));
    char *bytes = read_text(path, &size);
    for (int i = draw(t, 4); i >= 0 && bytes; i--)
        if (chance(t, 75)) {
            char *before = bytes;
            bytes = with_payload(t, before, &size);
            rt_free(before);
        } else {
            size = damaged(t, bytes, size);
        }
    if (bytes)
        write_text(path, bytes, size);
    rt_free(bytes);
}

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
    rt_free(text);
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
    if (f->hostile_hdf5) /* one's own folder is not read as an untrusted file */
        return (use)(EVAL_FILE + draw(t, 3));
    return f->table && chance(t, 70) ? REPORT : (use)draw(t, USES);
}

static command use_command(const forgery *f, use how)
{
    const bool sweep = !strcmp(f->name, "sweep");
    const char *config = text_of("%s.ini", sweep ? "rope" : f->name);
    const char *folder = text_of("runs/%s", f->name), *place = sweep ? "run.dir=runs/sweep" : NULL;
    const char *run = sweep ? "run.name=seed=1" : NULL; /* one of its runs, by itself */
    const char *words[USES][5] = {
        [RESUME] = {"--resume", "train.steps=8"},
        [EVAL] = {"--eval"},
        [PREDICT] = {"--predict", "the [MASK] fox"},
        [EVAL_FILE] = {"--eval", "--checkpoint", f->checkpoint},
        [DECAY_FILE] = {"--decay", "--checkpoint", f->checkpoint},
        [START_FROM_FILE] = {"run.name=other", text_of("train.init_from=%s", f->checkpoint)}};
    command c = {.words = {config, place}};
    if (how == REPORT)
        return (command){.reports = true, .words = {"--report", folder}};
    if (run && how != START_FROM_FILE)
        add_word(&c, run);
    for (int i = 0; words[how][i]; i++)
        add_word(&c, words[how][i]);
    return c;
}

void try_forgery(trial *t)
{
    static const char *const names[] = {"rope", "text", "sweep"};
    forgery f = {.name = draw_of(t, names)};
    if (system(text_of("cp -r '%s/templates/.' '%s'", t->base, t->folder)))
        exit(TORTURE_STUCK);
    f.checkpoint = path_in(t, "runs/%s%s/checkpoints/step-%08d.h5", f.name,
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
        /* figures of what is left of a table may be missing; a resume loses no damaged lines */
        const char *of_table = how == REPORT ? ANY_CODE : how == RESUME ? "1 " NO_FAILURE : NULL;
        run_command(t, &c, f.table && of_table ? of_table : NO_FAILURE);
    }
    looking = t;
    nftw(t->folder, look_at, 16, FTW_PHYS);
}
