#include "data/documents.h"

#include "data/task.h"
#include "text/utf8.h"

#include <string.h>

static bool is_kind(const char *documents, const char *kind)
{
    return !strcmp(documents, kind);
}

bool rt_documents_are_cut(const rt_data_options *o)
{
    return o->documents && !is_kind(o->documents, "none");
}

void rt_documents_check(const rt_data_options *o, rt_rule_sink to)
{
    const bool text = rt_tasks[o->task].vocab == 0;
    if (rt_documents_are_cut(o) && !text)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.documents"),
                       "data.documents needs data.task = text: it says what separates the "
                       "documents of a text");
}

bool rt_data_keeps_documents(const rt_data *data)
{
    return rt_documents_are_cut(&data->options) && !data->options.cross;
}

/* ---- of a text ---- */

/* The end of the line that begins at a place, without its newline. */
static size_t line_end(const unsigned char *text, size_t bytes, size_t at)
{
    const unsigned char *newline = memchr(text + at, '\n', bytes - at);
    return newline ? (size_t)(newline - text) : bytes;
}

static bool is_blank(const unsigned char *text, size_t from, size_t to)
{
    for (; from < to; from++)
        if (text[from] != ' ' && text[from] != '\t' && text[from] != '\r')
            return false;
    return true;
}

static size_t after_line(size_t end, size_t bytes)
{
    return end < bytes ? end + 1 : bytes;
}

/* Returns the end of a line without the return of a Windows line end. */
static size_t line_end_without_return(const unsigned char *text, size_t start, size_t end)
{
    return end > start && text[end - 1] == '\r' ? end - 1 : end;
}

/* Lines up to a blank one. */
static void take_paragraph(const unsigned char *text, size_t bytes, size_t *at,
                           rt_document_span *span)
{
    span->start = span->end = *at;
    while (*at < bytes) {
        const size_t end = line_end(text, bytes, *at);
        const bool blank = is_blank(text, *at, end);
        if (!blank)
            span->end = line_end_without_return(text, *at, end);
        *at = after_line(end, bytes);
        if (blank)
            return;
    }
}

static const unsigned char *find_bytes(const unsigned char *text, size_t bytes, const char *what)
{
    const size_t size = strlen(what);
    for (const unsigned char *at = text, *end = text + bytes; (size_t)(end - at) >= size; at++) {
        at = memchr(at, what[0], (size_t)(end - at) - size + 1);
        if (!at || !memcmp(at, what, size))
            return at;
    }
    return NULL;
}

static void take_document(const char *documents, const unsigned char *text, size_t bytes,
                          size_t *at, rt_document_span *span)
{
    if (is_kind(documents, "blank")) {
        take_paragraph(text, bytes, at, span);
        return;
    }
    const bool line = is_kind(documents, "line");
    const unsigned char *found = find_bytes(text + *at, bytes - *at, line ? "\n" : documents);
    span->start = *at;
    span->end = found ? (size_t)(found - text) : bytes;
    *at = found ? span->end + (line ? 1 : strlen(documents)) : bytes;
    if (line)
        span->end = line_end_without_return(text, span->start, span->end);
}

bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span)
{
    while (*at < bytes) {
        take_document(documents, text, bytes, at, span);
        if (span->end > span->start)
            return true;
    }
    return false;
}

/* The place behind the last blank line; the line before it tells where it begins. */
static size_t cut_at_blank_line(const unsigned char *text, size_t bytes)
{
    for (size_t at = bytes; at > 0; at--) {
        size_t start = at - 1;
        if (text[at - 1] != '\n')
            continue;
        while (start > 0 && text[start - 1] != '\n')
            start--;
        if (is_blank(text, start, at - 1))
            return at;
    }
    return 0;
}

size_t rt_document_cut(const char *documents, const unsigned char *text, size_t bytes)
{
    if (is_kind(documents, "blank"))
        return cut_at_blank_line(text, bytes);
    const char *what = is_kind(documents, "line") ? "\n" : documents;
    const size_t size = strlen(what);
    for (size_t at = bytes; at >= size; at--)
        if (!memcmp(text + at - size, what, size))
            return at;
    return 0;
}

/* ---- of a run of tokens ---- */

rt_document rt_document_around(const rt_data *data, const rt_window_text *part, size_t token,
                               size_t window)
{
    const size_t part_end = part->first + part->count;
    const size_t from = token - part->first >= window ? token - window + 1 : part->first;
    const size_t to = part_end - token > window ? token + window : part_end;
    const int32_t border = data->special.sep;
    const size_t before = rt_token_runs_find_last(&data->runs, from, token, border);
    const size_t behind = rt_token_runs_find(&data->runs, token, to, border);
    const size_t start = before == SIZE_MAX ? from : before + 1;
    const size_t end = behind < to ? behind + 1 : to;
    if (end - start <= window)
        return (rt_document){start, start, end - start};
    const size_t last = end - window;
    return (rt_document){start, last < token ? last : token, window};
}

int rt_document_longest(const rt_data *data, int32_t *ids, int count)
{
    int first = 0, longest = 0, start = 0;
    for (int i = 0; i < count; i++) {
        const int size = i + 1 - start;
        if (size > longest) {
            longest = size;
            first = start;
        }
        if (ids[i] == data->special.sep)
            start = i + 1;
    }
    memmove(ids, ids + first, (size_t)longest * sizeof *ids);
    for (int i = longest; i < count; i++)
        ids[i] = data->special.pad;
    return longest;
}
