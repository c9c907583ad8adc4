#include "train/run/text_rows.h"

#include "core/memory.h"
#include "data/labelled_batch.h"
#include "data/tokenizers/vocabulary.h"
#include "text/lines.h"

#include <errno.h>
#include <string.h>

/* What reading lines needs. */
typedef struct reader {
    const rt_data *data;
    rt_text_source source;
    rt_lines lines;
    rt_labelled_batch room; /* labelled data */
} reader;

/* ---- a line ---- */

static rt_status copy_ids(int32_t **copy, const int32_t *ids, int count)
{
    *copy = rt_alloc((size_t)count, sizeof **copy);
    if (!*copy)
        return rt_out_of_memory("the ids of a text");
    memcpy(*copy, ids, (size_t)count * sizeof *ids);
    return rt_ok();
}

static rt_status read_labelled(reader *r, rt_text_rows *all, rt_text_row *row)
{
    rt_example_text text;
    rt_status status = rt_draw_text(&r->room, r->data, r->lines.bytes, r->lines.size, &text);
    const rt_batch *b = &r->room.batch;
    if (!status.code) {
        row->count = b->length;
        all->cut += text.cut;
        rt_unknown_add(&all->unknown, &text.unknown, r->lines.start);
        status = copy_ids(&row->ids, b->ids, b->length);
    }
    if (!status.code && b->types)
        status = copy_ids(&row->types, b->types, b->length);
    rt_example_text_free(&text);
    return status;
}

/* Puts ids between the tokens that begin and end a text, as many as there is room for. */
static rt_status frame(const reader *r, rt_text_rows *all, rt_text_row *row, const int32_t *ids,
                       int count)
{
    const bool begins = rt_data_begins(r->data), ends = r->source.last != RT_NO_ID;
    const int room = rt_data_length(r->data) - begins - ends;
    const int taken = count < room ? count : room;
    all->cut += count > room;
    row->ids = rt_alloc((size_t)(taken + 2), sizeof *row->ids);
    if (!row->ids)
        return rt_out_of_memory("the ids of a text");
    if (begins)
        row->ids[row->count++] = rt_data_vocabulary(r->data)->special.cls;
    memcpy(row->ids + row->count, ids, (size_t)taken * sizeof *ids);
    row->count += taken;
    if (ends)
        row->ids[row->count++] = r->source.last;
    return rt_ok();
}

static rt_status read_running(reader *r, rt_text_rows *all, rt_text_row *row)
{
    int32_t *ids;
    int count;
    rt_unknown unknown;
    const char *zero = memchr(r->lines.bytes, '\0', r->lines.size);
    if (zero)
        return rt_error(RT_ARGUMENT, "byte 0x00 at byte %zu is not text",
                        (size_t)(zero - r->lines.bytes));
    rt_status status = rt_data_encode(r->data, r->lines.bytes, &ids, &count, &unknown);
    if (status.code)
        return status;
    if (count)
        status = frame(r, all, row, ids, count);
    else if (!r->source.may_be_empty)
        status = rt_error(RT_ARGUMENT, "the line has no token");
    rt_unknown_add(&all->unknown, &unknown, r->lines.start);
    rt_free(ids);
    return status;
}

/* ---- all of them ---- */

static rt_status make_room(rt_text_rows *all)
{
    const size_t room = all->room ? 2 * all->room : 256;
    if (all->count < all->room)
        return rt_ok();
    rt_text_row *larger = rt_alloc(room, sizeof *larger);
    if (!larger)
        return rt_out_of_memory("the rows of a text");
    if (all->count)
        memcpy(larger, all->rows, all->count * sizeof *larger);
    rt_free(all->rows);
    all->rows = larger;
    all->room = room;
    return rt_ok();
}

static rt_status read_line(reader *r, rt_text_rows *all)
{
    rt_status status = make_room(all);
    if (status.code)
        return status;
    rt_text_row *row = all->rows + all->count++;
    *row = (rt_text_row){0};
    if (!r->lines.size && r->source.may_be_empty)
        return rt_ok();
    if (!r->lines.size)
        return rt_error(RT_ARGUMENT, "the line has no token: it is empty");
    return rt_data_labels(r->data) ? read_labelled(r, all, row) : read_running(r, all, row);
}

static rt_status read_lines(reader *r, rt_text_rows *all)
{
    rt_status status = rt_ok();
    while (!status.code && rt_lines_next(&r->lines))
        status = read_line(r, all);
    if (!status.code)
        status = r->lines.status;
    const rt_code code = status.code == RT_ARGUMENT ? RT_DATA : status.code;
    if (status.code)
        return rt_error(code, "%.600s:%ld: %.800s", r->source.name, r->lines.number,
                        status.message);
    return all->count ? rt_ok() : rt_error(RT_DATA, "%.900s has no line", r->source.name);
}

rt_status rt_text_rows_read(rt_text_rows *all, const rt_data *data, rt_text_source source)
{
    reader r = {.data = data, .source = source, .lines = {.from = source.from}};
    rt_status status = rt_ok();
    *all = (rt_text_rows){0};
    if (!rt_data_vocabulary(data))
        return rt_error(RT_CONFIG, "the model reads no texts: it needs data.task = text, classify "
                                   "or tag, and a vocabulary");
    if (rt_data_labels(data))
        status = rt_labelled_batch_new(&r.room, 1, rt_data_length(data));
    if (!status.code)
        status = read_lines(&r, all);
    rt_lines_free(&r.lines);
    rt_labelled_batch_free(&r.room);
    return status;
}

void rt_text_rows_free(rt_text_rows *all)
{
    for (size_t i = 0; i < all->count; i++) {
        rt_free(all->rows[i].ids);
        rt_free(all->rows[i].types);
    }
    rt_free(all->rows);
    *all = (rt_text_rows){0};
}

rt_status rt_text_source_open(rt_text_source *source, const char *path)
{
    const bool standard = !strcmp(path, "-");
    source->name = standard ? "standard input" : path;
    source->from = standard ? stdin : fopen(path, "r");
    return source->from ? rt_ok()
                        : rt_error(RT_DATA, "%.900s: cannot be read: %s", path, strerror(errno));
}

void rt_text_source_close(rt_text_source *source)
{
    if (source->from && source->from != stdin)
        fclose(source->from);
    source->from = NULL;
}
