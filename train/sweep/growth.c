#include "train/sweep/growth.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/text/csv.h"
#include "train/text/text_file.h"

#include <string.h>
#include <unistd.h>

static const char file_name[] = "growth.csv";

/* Whether runs.csv has the run; *any tells whether it has one at all. */
static bool was_there(const char *folder, const char *name, bool *any)
{
    rt_csv csv;
    bool found = false;
    *any = false;
    if (rt_csv_open(&csv, folder, "runs.csv"))
        while (!found && rt_csv_row(&csv)) {
            *any = true;
            found = !strcmp(rt_csv_cell(&csv, "run"), name);
        }
    rt_csv_close(&csv);
    return found;
}

static void forget(const char *folder)
{
    char path[RT_PATH_SIZE];
    const rt_status status = rt_path_join(path, folder, file_name);
    if (!status.code)
        unlink(path);
}

rt_status rt_sweep_note_growth(const char *folder, const rt_sweep *sweep, bool from_start,
                               int *fresh)
{
    rt_writer w = {0};
    bool any = false;
    *fresh = 0;
    if (from_start) {
        forget(folder);
        return rt_ok();
    }
    rt_writer_add(&w, "run,run_is\n");
    for (int run = 0; run < rt_sweep_count(sweep); run++) {
        char name[RT_RUN_NAME_SIZE];
        rt_sweep_name(sweep, run, name);
        const bool old = was_there(folder, name, &any);
        *fresh += !old;
        rt_csv_put(&w, name);
        rt_writer_add(&w, old ? ",before\n" : ",new\n");
    }
    if (!any)
        *fresh = 0;
    char *table = rt_writer_take(&w);
    rt_status status = table ? rt_ok() : rt_out_of_memory("a table");
    if (!status.code && *fresh)
        status = rt_write_text(folder, file_name, table);
    rt_free(table);
    return status;
}
