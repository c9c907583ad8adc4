#include "data/labelled_file.h"

#include "core/memory.h"
#include "util/csv.h"
#include "util/files.h"
#include "util/utf8.h"

#include <string.h>

#define PLACE "%.800s:%d: "

enum { TEXT, TEXT_B, LABEL, COLUMNS };
static const char *const columns[COLUMNS] = {"text", "text_b", "label"};

/* State of the parser. */
typedef struct reading {
    rt_labelled_file *file;
    char *at, *end;
    int line; /* line of `at`, from 1 */
    rt_separator separator;
    int place[COLUMNS];  /* index of each column; -1: missing */
    int count;           /* columns per row */
    rt_text_span *cells; /* of the row */
    int cell_count;
    size_t capacity;
} reading;

const char *rt_text_problem(const char *text, size_t size, size_t *at)
{
    const char *zero = memchr(text, '\0', size);
    const size_t end = zero ? (size_t)(zero - text) : size;
    *at = rt_utf8_valid((const unsigned char *)text, end);
    return *at < end ? "is not UTF-8" : zero ? "is not text" : NULL;
}

static void end_row(reading *r)
{
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end)
        r->at++;
    r->line++;
}

static rt_status take_cells(reading *r)
{
    int newlines = 0;
    r->cell_count = 0;
    for (bool more = true; more; r->cell_count++) {
        rt_cell cell;
        if (!rt_grow(&r->cells, &r->capacity, (size_t)r->cell_count + 1, sizeof *r->cells))
            return rt_out_of_memory("the rows of a file");
        char *stop = rt_cell_parse(r->at, r->end, r->separator, &cell);
        if (!stop)
            return rt_error(RT_DATA,
                            PLACE "the quote that column %d begins with is not closed at the end "
                                  "of the cell",
                            r->file->path, r->line, r->cell_count + 1);
        r->cells[r->cell_count] = (rt_text_span){cell.bytes, cell.size};
        newlines += cell.newlines;
        r->at = stop;
        more = !rt_csv_ends_row(r->at, r->end);
        r->at += more;
    }
    r->line += newlines;
    end_row(r);
    return rt_ok();
}

static rt_status read_heading(reading *r)
{
    const char *path = r->file->path;
    const int line = r->line;
    RT_TRY(take_cells(r));
    r->count = r->cell_count;
    for (int c = 0; c < COLUMNS; c++) {
        for (int i = 0; i < r->count; i++) {
            const rt_text_span cell = r->cells[i];
            if (cell.size != strlen(columns[c]) || memcmp(cell.bytes, columns[c], cell.size) != 0)
                continue;
            if (r->place[c] >= 0)
                return rt_error(RT_DATA, PLACE "has two columns '%s'", path, line, columns[c]);
            r->place[c] = i;
        }
        if (c != TEXT_B && r->place[c] < 0)
            return rt_error(RT_DATA,
                            PLACE "has no column '%s'; the heading must name text, label and, for "
                                  "pairs, text_b, separated by %s",
                            path, line, columns[c], r->separator == RT_TAB ? "tabs" : "commas");
    }
    r->file->pairs = r->place[TEXT_B] >= 0;
    return rt_ok();
}

static rt_status read_row(reading *r, bool begins)
{
    rt_labelled_file *f = r->file;
    const int line = r->line;
    RT_TRY(take_cells(r));
    const int count = r->cell_count;
    if (count != r->count && f->tokens)
        return rt_error(RT_DATA, PLACE "must be TOKEN<TAB>LABEL; got %s", f->path, line,
                        count > r->count ? "more columns" : "one column");
    if (count != r->count)
        return rt_error(RT_DATA, PLACE "has %d column%s; the heading has %d", f->path, line, count,
                        count == 1 ? "" : "s", r->count);
    if (!rt_grow(&f->texts, &f->capacity, f->count + 1, sizeof *f->texts))
        return rt_out_of_memory("the rows of a file");
    rt_labelled_text *t = &f->texts[f->count++];
    *t = (rt_labelled_text){.text = r->cells[r->place[TEXT]],
                            .second = f->pairs ? r->cells[r->place[TEXT_B]] : (rt_text_span){0},
                            .label = r->cells[r->place[LABEL]],
                            .line = line,
                            .begins = begins};
    const char *problem = rt_label_problem(t->label);
    const bool second = t->text.size && f->pairs && !t->second.size;
    if (!t->text.size || second)
        return rt_error(RT_DATA, PLACE "column %s is empty", f->path, line,
                        rt_labelled_column(f, second));
    return problem ? rt_error(RT_DATA, PLACE "column label %s", f->path, line, problem) : rt_ok();
}

rt_status rt_labelled_file_read(rt_labelled_file *file, const char *key, const char *path,
                                bool tokens)
{
    unsigned char *bytes;
    size_t at;
    *file = (rt_labelled_file){.path = path, .tokens = tokens};
    RT_TRY(rt_file_read(key, path, &bytes, &file->size));
    file->bytes = (char *)bytes;
    const char *problem = rt_text_problem(file->bytes, file->size, &at);
    if (problem) {
        int line = 1;
        for (size_t i = 0; i < at; i++)
            line += bytes[i] == '\n';
        return rt_error(RT_DATA, PLACE "byte 0x%02x at offset %zu of the file %s", path, line,
                        (unsigned)bytes[at], at, problem);
    }
    const bool has_mark = file->size >= 3 && !memcmp(file->bytes, "\xef\xbb\xbf", 3);
    reading r = {.file = file,
                 .at = file->bytes + (has_mark ? 3 : 0),
                 .end = file->bytes + file->size,
                 .line = 1,
                 .separator = !tokens && path[strlen(path) - 3] == 'c' ? RT_COMMA : RT_TAB,
                 .place = {-1, -1, -1}};
    rt_status status = rt_ok();
    if (tokens) {
        r.place[TEXT] = 0;
        r.place[LABEL] = 1;
        r.count = 2;
    } else {
        status = read_heading(&r);
    }
    /* empty lines are skipped; in a file of tokens they separate sentences */
    for (bool begins = true; !status.code && r.at < r.end;) {
        const bool between = rt_csv_ends_row(r.at, r.end);
        if (between)
            end_row(&r);
        else
            status = read_row(&r, begins || !tokens);
        begins = between;
    }
    if (!status.code && !file->count)
        status = rt_error(RT_DATA, "%.800s: has %s", path,
                          tokens ? "no token" : "a heading and no row below it");
    rt_free(r.cells);
    return status;
}

void rt_labelled_file_free(rt_labelled_file *file)
{
    rt_free(file->bytes);
    rt_free(file->texts);
    *file = (rt_labelled_file){.size = 0};
}

const char *rt_labelled_column(const rt_labelled_file *file, bool second)
{
    return file->tokens ? "token" : columns[second ? TEXT_B : TEXT];
}
