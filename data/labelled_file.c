#include "data/labelled_file.h"

#include "core/memory.h"
#include "data/files.h"
#include "data/gzip.h"
#include "data/json_lines.h"
#include "data/text_files.h"
#include "util/csv.h"
#include "util/files.h"
#include "util/utf8.h"

#include <string.h>

#define PLACE "%.800s:%d: "

enum { TEXT = RT_LABELLED_TEXT, TEXT_B, LABEL, COLUMNS };
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

/* Adds a text with its label, which must not be empty. */
static rt_status add_text(rt_labelled_file *f, rt_labelled_text text)
{
    const char *problem = rt_label_problem(text.label);
    const bool second = text.text.size && f->pairs && !text.second.size;
    if (!text.text.size || second)
        return rt_error(RT_DATA, PLACE "%s is empty", f->path, text.line,
                        f->names[second ? TEXT_B : TEXT]);
    if (problem)
        return rt_error(RT_DATA, PLACE "%s %s", f->path, text.line, f->names[LABEL], problem);
    if (!rt_grow(&f->texts, &f->capacity, f->count + 1, sizeof *f->texts))
        return rt_out_of_memory("the rows of a file");
    f->texts[f->count++] = text;
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
    return add_text(f, (rt_labelled_text){.text = r->cells[r->place[TEXT]],
                                          .second = f->pairs ? r->cells[r->place[TEXT_B]]
                                                             : (rt_text_span){0},
                                          .label = r->cells[r->place[LABEL]],
                                          .line = line,
                                          .begins = begins});
}

static rt_status read_table(rt_labelled_file *file)
{
    size_t at;
    const char *problem = rt_text_problem(file->bytes, file->size, &at);
    if (problem) {
        int line = 1;
        for (size_t i = 0; i < at; i++)
            line += file->bytes[i] == '\n';
        return rt_error(RT_DATA, PLACE "byte 0x%02x at offset %zu of the file %s", file->path, line,
                        (unsigned)(unsigned char)file->bytes[at], at, problem);
    }
    reading r = {.file = file,
                 .at = file->bytes + rt_byte_order_mark(file->bytes, file->size),
                 .end = file->bytes + file->size,
                 .line = 1,
                 .separator = !file->tokens && rt_name_ends(file->path, ".csv") ? RT_COMMA : RT_TAB,
                 .place = {-1, -1, -1}};
    rt_status status = rt_ok();
    if (file->tokens) {
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
            status = read_row(&r, begins || !file->tokens);
        begins = between;
    }
    rt_free(r.cells);
    return status;
}

/* Reading of JSON lines. The texts take the place of the lines before `at`. */
typedef struct json_reading {
    rt_labelled_file *file;
    const char *fields[COLUMNS];
    rt_json_line line;
    char *to, *at; /* behind the texts; of the next line */
} json_reading;

/* Copies bytes behind the texts. */
static rt_status keep(json_reading *r, rt_text_span from, rt_text_span *kept)
{
    if (from.size > (size_t)(r->at - r->to))
        return rt_error(RT_DATA, PLACE "%s has numbers that are longer in full; write strings",
                        r->line.path, r->line.number, r->file->names[LABEL]);
    *kept = (rt_text_span){memcpy(r->to, from.bytes, from.size), from.size};
    r->to += from.size;
    return rt_ok();
}

/* Adds a text, or a token, with its label. */
static rt_status add_values(json_reading *r, const json_t *const values[COLUMNS], bool begins)
{
    rt_labelled_text text = {.line = r->line.number, .begins = begins};
    rt_text_span *const spans[COLUMNS] = {&text.text, &text.second, &text.label};
    rt_json_label_text label;
    size_t at;
    for (int c = TEXT; c < LABEL && values[c]; c++) {
        rt_text_span got;
        RT_TRY(rt_json_line_text(&r->line, r->fields[c], values[c], &got));
        if (rt_text_problem(got.bytes, got.size, &at))
            return rt_error(RT_DATA, PLACE "%s has a zero byte", r->line.path, r->line.number,
                            r->file->names[c]);
        RT_TRY(keep(r, got, spans[c]));
    }
    RT_TRY(rt_json_line_label(&r->line, r->fields[LABEL], values[LABEL], label, &at));
    RT_TRY(keep(r, (rt_text_span){label, at}, spans[LABEL]));
    return add_text(r->file, text);
}

static rt_status add_sentence(json_reading *r, const json_t *tokens, const json_t *labels)
{
    if (!json_is_array(tokens) || !json_is_array(labels))
        return rt_error(RT_DATA, PLACE "fields '%.60s' and '%.60s' must be arrays", r->line.path,
                        r->line.number, r->fields[TEXT], r->fields[LABEL]);
    if (json_array_size(tokens) != json_array_size(labels))
        return rt_error(RT_DATA, PLACE "field '%.60s' has %zu values and field '%.60s' has %zu",
                        r->line.path, r->line.number, r->fields[TEXT], json_array_size(tokens),
                        r->fields[LABEL], json_array_size(labels));
    for (size_t i = 0; i < json_array_size(tokens); i++)
        RT_TRY(add_values(r,
                          (const json_t *[]){json_array_get(tokens, i), NULL,
                                             json_array_get(labels, i)},
                          i == 0));
    return rt_ok();
}

static rt_status read_line(json_reading *r, char *bytes, size_t size)
{
    const json_t *values[COLUMNS] = {NULL};
    RT_TRY(rt_json_line_parse(&r->line, bytes, size));
    for (int c = 0; c < COLUMNS; c++)
        if (r->fields[c])
            RT_TRY(rt_json_line_field(&r->line, r->fields[c], &values[c]));
    return r->file->tokens ? add_sentence(r, values[TEXT], values[LABEL])
                           : add_values(r, values, true);
}

static rt_status read_json(rt_labelled_file *file, const char *const fields[COLUMNS])
{
    char *const end = file->bytes + file->size;
    char *at = file->bytes + rt_byte_order_mark(file->bytes, file->size);
    json_reading r = {
        file, {fields[TEXT], fields[TEXT_B], fields[LABEL]}, {.path = file->path}, file->bytes, at};
    rt_status status = rt_ok();
    for (int line = 1; at < end && !status.code; line++, at = r.at) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((newline ? newline : end) - at);
        r.at = newline ? newline + 1 : end;
        r.line.number = line;
        if (!rt_json_line_is_blank(at, size))
            status = read_line(&r, at, size);
        json_decref(r.line.object);
        r.line.object = NULL;
    }
    return status;
}

/* Names the parts of a row: columns or, in JSON lines, fields. */
static rt_status name_parts(rt_labelled_file *file, const rt_data_options *o,
                            const char *fields[COLUMNS])
{
    char name[RT_FIELD_SIZE];
    rt_list_item item;
    const char *rest = file->json ? rt_data_field(o, false) : NULL;
    file->pairs = rest && strchr(rest, ',');
    for (int c = 0; c < COLUMNS; c++) {
        snprintf(name, sizeof name, "%s",
                 file->json                  ? rt_data_field(o, true)
                 : file->tokens && c == TEXT ? "token"
                                             : columns[c]);
        if (c < LABEL && rest) {
            rest = rt_list_parse(rest, &item);
            rt_list_item_copy(item, name, sizeof name);
        }
        const bool used = file->json && (c != TEXT_B || file->pairs);
        fields[c] = used ? rt_intern_text(name) : NULL;
        file->names[c] =
            rt_intern_text(RT_PRINTED(128, "%s %.100s", file->json ? "field" : "column", name));
        RT_TRY(rt_allocated(file->names[c] && (!used || fields[c]), "the rows of a file"));
    }
    return rt_ok();
}

rt_status rt_labelled_file_read(rt_labelled_file *file, const char *key, const char *path,
                                const rt_data_options *o)
{
    const char *fields[COLUMNS];
    unsigned char *bytes;
    *file = (rt_labelled_file){.path = path,
                               .tokens = rt_tasks[o->task].target == RT_TARGET_TOKENS,
                               .json = rt_json_is_lines(path)};
    RT_TRY(name_parts(file, o, fields));
    RT_TRY(rt_text_read_whole(key, NULL, path, &bytes, &file->size));
    file->bytes = (char *)bytes;
    RT_TRY(file->json ? read_json(file, fields) : read_table(file));
    return file->count ? rt_ok()
                       : rt_error(RT_DATA, "%.800s: has %s", path,
                                  file->tokens ? "no token"
                                  : file->json ? "no line with a text"
                                               : "a heading and no row below it");
}

void rt_labelled_file_free(rt_labelled_file *file)
{
    rt_free(file->bytes);
    rt_free(file->texts);
    *file = (rt_labelled_file){.size = 0};
}
