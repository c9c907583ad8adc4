#include "train/folder/step_table.h"

#include "core/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_SIZE = 1024 };

static rt_status failure(const char *path)
{
    return rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

static void copy_rows(FILE *from, FILE *to, rt_row_filter keep, const void *context)
{
    char row[ROW_SIZE];
    if (!fgets(row, sizeof row, from)) /* the header is written anew */
        return;
    while (fgets(row, sizeof row, from))
        if (strchr(row, '\n') && keep(row, atoi(row), context)) /* not a row cut off by a crash */
            fputs(row, to);
}

/* What cannot be read must not be lost: only a file that does not exist has no rows. */
static rt_status copy_kept(const char *path, FILE *to, rt_row_filter keep, const void *context)
{
    FILE *from = fopen(path, "r");
    if (!from)
        return errno == ENOENT ? rt_ok() : failure(path);
    errno = 0;
    copy_rows(from, to, keep, context);
    rt_status status = ferror(from) ? failure(path) : rt_ok();
    fclose(from);
    return status;
}

rt_status rt_step_table_open(rt_step_table *table, const char *folder, const char *name,
                             const char *header, rt_row_filter keep, const void *context)
{
    char path[RT_PATH_SIZE], temporary[RT_PATH_SIZE + 4];
    *table = (rt_step_table){.name = name};
    rt_status status = rt_path_join(path, folder, name);
    if (status.code)
        return status;
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    FILE *new_file = fopen(temporary, "w");
    if (!new_file)
        return failure(temporary);
    fprintf(new_file, "%s\n", header);
    status = keep ? copy_kept(path, new_file, keep, context) : rt_ok();
    if (!status.code && (fflush(new_file) || ferror(new_file) || rename(temporary, path)))
        status = failure(path);
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
