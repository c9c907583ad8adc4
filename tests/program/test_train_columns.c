/* docs/run-folder.md against the tables that runs write: both have the same columns. */

#include "train_program.h"

#include "text/csv.h"

#include <ctype.h>

static const char path[] = TEST_SOURCES "/../docs/run-folder.md";

enum { MOST = 160, NAME_SIZE = 48 };

/* A column of a file, or a result by its name. */
typedef struct entry {
    char file[NAME_SIZE], name[NAME_SIZE];
    bool written; /* some run has it */
} entry;

static entry entries[MOST];
static int count;

static void add(const char *file, const char *name)
{
    ck_assert_int_lt(count, MOST);
    snprintf(entries[count].file, NAME_SIZE, "%s", file);
    snprintf(entries[count].name, NAME_SIZE, "%s", name);
    entries[count++].written = false;
}

/* Reads the next name between backticks of a cell; false at the end of the cell. */
static bool next_name(const char **cell, char name[NAME_SIZE])
{
    int length;
    if (sscanf(*cell, "`%47[^`]`%n", name, &length) != 1)
        return false;
    *cell += length;
    *cell += strspn(*cell, ", ");
    return true;
}

static void add_all(const char *file, const char *names)
{
    for (char name[NAME_SIZE]; next_name(&names, name);)
        add(file, name);
}

/* Reads rows "| `FILE.csv`, ... | `COLUMN`, ... |" and, of the results, "| `NAME`, ... |". */
static void read_page(void)
{
    char *page = read_file(path), *line = strtok(page, "\n");
    bool results = false;
    for (count = 0; line; line = strtok(NULL, "\n")) {
        const char *files = line + 2, *columns = strstr(line, " | ");
        results |= !strcmp(line, "## The results");
        if (results && !strncmp(line, "| `", 3))
            add_all("results", files);
        for (char file[NAME_SIZE]; !results && columns && !strncmp(line, "| `", 3) &&
                                   next_name(&files, file) && strstr(file, ".csv");)
            add_all(file, columns + 3);
    }
    ck_assert_int_gt(count, 50);
}

/* Capitals stand for what a run or a sweep calls by its own name. */
static bool matches(const char *pattern, const char *name)
{
    if (!isupper((unsigned char)*pattern))
        return *pattern == *name && (!*name || matches(pattern + 1, name + 1));
    while (isupper((unsigned char)*pattern))
        pattern++;
    for (; *name && *name != ','; name++)
        if (matches(pattern, name + 1))
            return true;
    return false;
}

static void expect_entry(const char *file, const char *name)
{
    bool known = false;
    for (int i = 0; i < count; i++)
        if (!strcmp(entries[i].file, file) && matches(entries[i].name, name)) {
            entries[i].written = true;
            known = true;
        }
    ck_assert_msg(known, "docs/run-folder.md does not have %s of %s", name, file);
}

static void expect_columns(const char *folder, const char *file)
{
    rt_csv csv;
    ck_assert_msg(rt_csv_open(&csv, folder, file), "%s/%s is not there", folder, file);
    for (int i = 0; i < csv.columns; i++)
        expect_entry(file, csv.names[i]);
    while (!strcmp(file, "result.csv") && rt_csv_row(&csv))
        if (strcmp(csv.cells[0], "end") != 0)
            expect_entry("results", csv.cells[0]);
    rt_csv_close(&csv);
}

/* Every table in the folder of a run or a sweep, but not in those below. */
static void expect_tables(const char *folder)
{
    run("cd %s && ls *.csv", folder);
    char *list = owned(strdup(w->out), free);
    for (char *file = strtok(list, "\n"); file; file = strtok(NULL, "\n"))
        expect_columns(folder, file);
}

#define SHORT "$TRAIN tiny.ini --quiet train.steps=20 optimizer.schedule_steps=20 "

SUITE(PROGRAM_OPTIONS)

TEST(the_page_has_every_column_that_runs_write)
{
    read_page();
    run(SHORT "run.name=theta theta.init=perturbed theta.tolerances=yes theta.cutoffs=yes "
              "train.eval_lengths=16 train.eval_batches=1 && $TRAIN runs/theta/config.ini --quiet "
              "--resume train.steps=40 optimizer.schedule_steps=40 && yes 'a line' | head -c 4000 "
              ">text.txt; " SHORT
              "run.name=text theta.learn=no data.task=text data.vocab=32 data.file=text.txt "
              "data.objective=lm model.causal=yes train.eval_every=5 train.patience=2");
    run("printf 'text\\tlabel\\na\\tb\\nc\\td\\n' >rows.tsv; " SHORT
        "run.name=rows theta.learn=no data.task=classify data.vocab=32 data.file=rows.tsv "
        "data.eval_fraction=0 && $TRAIN tiny.ini --quiet run.name=diverged optimizer.lr=10 "
        "optimizer.warmup_steps=60 && $TRAIN tiny.ini --quiet run.name=best optimizer.lr=10 "
        "optimizer.warmup_steps=60 train.steps=100 train.patience=3");
    run("printf '[variant a]\\nmodel.layers = 1\\n' >>tiny.ini; " SHORT
        "run.name=sweep sweep.run.seed=1 sweep.model.dim=8,16 && " SHORT
        "run.name=sweep sweep.run.seed=1,2 sweep.model.dim=8,16 --resume");
    static const char *const folders[] = {"runs/theta",    "runs/text", "runs/rows",
                                          "runs/diverged", "runs/best", "runs/sweep"};
    for (int i = 0; i < ROWS(folders); i++)
        expect_tables(folders[i]);
    for (int i = 0; i < count; i++)
        ck_assert_msg(entries[i].written, "no run writes %s of %s, which is in docs/run-folder.md",
                      entries[i].name, entries[i].file);
}
