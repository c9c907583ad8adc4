/* Labelled texts of any bytes: as a table with tabs, as one with commas, and as tokens. */

#include "fuzz_data.h"

#include <unistd.h>

static char names[2][80]; /* of the same file */

static void forget_names(void)
{
    remove(names[0]);
    remove(names[1]);
}

static void name_tables(const char *path)
{
    if (*names[0])
        return;
    snprintf(names[0], sizeof names[0], "%s.tsv", path);
    snprintf(names[1], sizeof names[1], "%s.csv", path);
    atexit(forget_names);
    must(!symlink(path, names[0]) && !symlink(path, names[1]));
}

FUZZ(labelled)
{
    const char *path = fuzz_file(bytes, size);
    name_tables(path);
    for (int n = 0; n < 6; n++) {
        rt_data_options o = options_of(n < 4 ? "classify" : "tag");
        o.file = n < 4 ? names[n / 2] : path;
        o.level = n % 2 ? RT_LEVEL_CHAR : RT_LEVEL_BYTE;
        o.batch_size = 2;
        o.eval_fraction = 0;
        open_and_draw(&o);
    }
    return 0;
}
