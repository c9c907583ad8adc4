/* The task text: files of text as a run of units. */

#include "core/memory.h"
#include "data/files.h"
#include "data/task.h"
#include "data/units.h"

/* Units are kept as ids of 16 bits. */
enum { UNITS_LIMIT = 65000 };

rt_status rt_text_check(const rt_data_options *o)
{
    rt_status status = rt_windows_check(o);
    return status.code ? status : rt_files_check(o->file);
}

static const char *word_for_units(rt_level level)
{
    return level == RT_LEVEL_CHAR ? "characters" : "bytes";
}

/* Keeps of a text the ids of its units. */
static rt_status keep(rt_data *data, const unsigned char *text, size_t bytes)
{
    rt_level level = data->options.level;
    size_t count = rt_unit_count(level, text, bytes);
    rt_status status = rt_alphabet_new(&data->alphabet, level, text, bytes);
    if (status.code)
        return status;
    if (data->alphabet->count > UNITS_LIMIT)
        return rt_error(RT_DATA, "%.600s: data.file can have up to %d different %s; it has %d",
                        data->options.file, UNITS_LIMIT, word_for_units(level),
                        data->alphabet->count);
    data->vocab = RT_FIRST_SYMBOL + data->alphabet->count;
    data->text = rt_alloc(count, sizeof *data->text);
    if (!data->text)
        return rt_out_of_memory("the text of data.file");
    int32_t unit = 0;
    for (size_t i = 0; i < count; i++) {
        size_t step = rt_unit_read(level, text, bytes, &unit);
        text += step;
        bytes -= step;
        data->text[i] = (uint16_t)data->alphabet->ids[unit];
    }
    return rt_windows_open(data, count, word_for_units(level));
}

static rt_status open_text(rt_data *data)
{
    unsigned char *bytes;
    size_t count;
    rt_file_check *check = data->options.level == RT_LEVEL_CHAR ? rt_utf8_check : NULL;
    rt_status status = rt_files_read(data->options.file, check, &bytes, &count);
    if (status.code)
        return status;
    status = keep(data, bytes, count);
    rt_free(bytes);
    return status;
}

static void close_text(rt_data *data)
{
    rt_alphabet_free(data->alphabet);
    rt_free(data->text);
}

static bool read_text(const rt_data *data, size_t first, int count, int32_t *ids)
{
    const uint16_t *from = data->text + first;
    for (int i = 0; i < count; i++)
        ids[i] = from[i];
    return true;
}

const rt_source rt_text = {.open = open_text, .close = close_text, .read = read_text};
