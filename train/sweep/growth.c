#include "train/sweep/growth.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/csv.h"
#include "text/durable_file.h"

#include <unistd.h>

static const char file_name[] = "growth.csv";

/* How many runs the earlier call had. */
static int count_before(const char *folder)
{
    rt_csv csv;
    int count = 0;
    if (rt_csv_open(&csv, folder, "runs.csv"))
        while (rt_csv_row(&csv))
            count++;
    rt_csv_close(&csv);
    return count;
}

static void forget(const char *folder)
{
    char path[RT_PATH_SIZE];
    const rt_status status = rt_path_join(path, folder, file_name);
    if (!status.code)
        unlink(path);
}

rt_status rt_sweep_note_growth(const char *folder, const rt_sweep *sweep, const bool *taken,
                               bool from_start, int *fresh)
{
    const int before = count_before(folder), count = rt_sweep_count(sweep);
    rt_writer w = {0};
    *fresh = 0;
    if (from_start)
        forget(folder);
    if (from_start || !before || count <= before)
        return rt_ok();
    rt_writer_add(&w, "run,run_is\n");
    for (int run = 0; run < count; run++) {
        char name[RT_RUN_NAME_SIZE];
        rt_sweep_name(sweep, run, name);
        *fresh += !taken[run];
        rt_csv_put(&w, name);
        rt_writer_add(&w, taken[run] ? ",before\n" : ",new\n");
    }
    char *table = rt_writer_take(&w);
    rt_status status = table ? rt_ok() : rt_out_of_memory("a table");
    if (!status.code && *fresh)
        status = rt_durable_text(folder, file_name, table);
    rt_free(table);
    return status;
}
