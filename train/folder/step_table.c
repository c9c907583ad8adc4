#include "train/folder/step_table.h"

#include "core/path.h"
#include "text/text_file.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { COLUMN_NAME_SIZE = 64 };

/* The cells below the names of the header, which need not be that of the file. */
static rt_status copy_row(const rt_csv *row, FILE *to, const char *header)
{
    char name[COLUMN_NAME_SIZE];
    rt_writer w = {0};
    for (const char *next = header; next;) {
        const size_t length = strcspn(next, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, next);
        rt_csv_put(&w, rt_csv_cell(row, name));
        rt_writer_add(&w, "%c", next[length] ? ',' : '\n');
        next = next[length] ? next + length + 1 : NULL;
    }
    if (!w.failed)
        fputs(w.bytes, to);
    const rt_status status = w.failed ? rt_out_of_memory("a table") : rt_ok();
    rt_writer_free(&w);
    return status;
}

/* What cannot be read must not be lost: only a file that does not exist has no rows. */
static rt_status copy_kept(rt_csv *csv, FILE *to, const char *header, rt_row_filter keep,
                           const void *context, int *last)
{
    rt_status status = rt_ok();
    int step;
    while (!status.code && rt_csv_row(csv)) {
        if (!rt_csv_whole(csv, "step", &step))
            continue;
        *last = step > *last ? step : *last;
        if (keep(csv, step, context))
            status = copy_row(csv, to, header);
    }
    return csv->status.code ? csv->status : status;
}

rt_status rt_step_table_open(rt_step_table *table, const char *folder, const char *name,
                             const char *header, rt_row_filter keep, const void *context)
{
    char path[RT_PATH_SIZE], temporary[RT_TEMPORARY_SIZE];
    FILE *new_file;
    *table = (rt_step_table){.name = name, .last = -1};
    rt_status status = rt_open_temporary(&new_file, folder, name, path, temporary);
    if (status.code)
        return status;
    fprintf(new_file, "%s\n", header);
    if (keep) {
        rt_csv csv;
        rt_csv_open(&csv, folder, name);
        status = copy_kept(&csv, new_file, header, keep, context, &table->last);
        rt_csv_close(&csv);
    }
    if (!status.code && (fflush(new_file) || ferror(new_file) || rename(temporary, path)))
        status = rt_error(RT_IO, "%s: %s", path, strerror(errno));
    if (status.code) {
        fclose(new_file);
        remove(temporary);
        return status;
    }
    table->file = new_file;
    return rt_ok();
}

void rt_step_table_add(rt_step_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    table->failed |= vfprintf(table->file, format, arguments) < 0;
    va_end(arguments);
    if (format[strlen(format) - 1] == '\n')
        table->failed |= fflush(table->file) != 0;
}

void rt_step_table_close(rt_step_table *table)
{
    if (table->file && fclose(table->file))
        table->failed = true;
    table->file = NULL;
}
