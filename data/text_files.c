#include "data/text_files.h"

#include "core/memory.h"
#include "util/writer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Bytes of text in a byte of gzip, as an estimate; the size from which the memory of a line is
 * given back; and bytes that are read at a time into a whole text. */
enum { INFLATED = 10, LONG_LINE = 1 << 20, BLOCK = 1 << 20 };

rt_status rt_text_files_add(rt_text_files *t, const char *path)
{
    rt_text_file file = {.path = path, .json = t->field && rt_json_is_lines(path)};
    off_t size;
    RT_TRY(rt_file_measure(t->key, path, &size));
    if (!size)
        return rt_error(RT_DATA, "%.800s: %s must hold text; the file is empty", path, t->key);
    if (!rt_file_state_find(&file.state, -1, path))
        return rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), t->key);
    RT_TRY(rt_allocated(rt_grow(&t->list, &t->capacity, t->count + 1, sizeof *t->list), t->key));
    file.size = (size_t)file.state.size;
    t->packed += file.size;
    t->bytes += file.size * (rt_name_is_packed(path) ? INFLATED : 1);
    t->list[t->count++] = file;
    return rt_ok();
}

void rt_text_files_close(rt_text_files *t)
{
    rt_free(t->list);
    *t = (rt_text_files){.key = t->key, .field = t->field};
}

const rt_text_file *rt_text_piece(const rt_text_files *t, size_t at, size_t size, size_t *from,
                                  size_t *n)
{
    size_t i = t->reached - 1;
    while (i && t->list[i].start > at)
        i--;
    const size_t left = i + 1 < t->reached ? t->list[i + 1].start - at : size;
    *from = at - t->list[i].start;
    *n = left < size ? left : size;
    return &t->list[i];
}

static rt_status changed(const rt_text_stream *s, const char *how)
{
    return rt_error(RT_DATA, "%.800s: %s changed while it was read%s", s->in.path, s->text->key,
                    how);
}

/* Returns RT_DATA if the open file has changed since it was added. */
static rt_status check_state(const rt_text_stream *s)
{
    const rt_text_file *file = &s->text->list[s->text->reached - 1];
    return rt_file_change(&file->state, s->in.descriptor, true) ? changed(s, "") : rt_ok();
}

static rt_status open_next(rt_text_stream *s)
{
    rt_text_files *t = s->text;
    rt_text_file *file = &t->list[t->reached];
    RT_TRY(rt_unpacked_open(&s->in, t->key, file->path));
    file->start = s->at;
    t->reached++;
    s->lines = (rt_lines){.from = s->in.file, .most = INT_MAX};
    return check_state(s);
}

static rt_status end_file(rt_text_stream *s)
{
    const rt_text_file *file = &s->text->list[s->text->reached - 1];
    const size_t got = s->at - file->start;
    RT_TRY(check_state(s));
    if (!file->json && !s->in.packed && got < file->size)
        return changed(s, RT_PRINTED(64, ": %zu bytes of %zu", got, file->size));
    if (!got)
        return rt_error(RT_DATA, "%.800s: %s must hold text; the %s%.60s%s is empty", file->path,
                        s->text->key, file->json ? "field '" : "file",
                        file->json ? s->text->field : "", file->json ? "' of every line" : "");
    rt_unpacked_close(&s->in);
    rt_lines_free(&s->lines);
    s->before += file->size;
    return rt_ok();
}

/* Finds the document of the next line; s->rest stays empty at the end of the file. */
static rt_status next_document(rt_text_stream *s)
{
    rt_lines *l = &s->lines;
    const json_t *value;
    while (!s->rest.size && rt_lines_next(l)) {
        if (rt_json_line_is_blank(l->bytes, l->size))
            continue;
        json_decref(s->line.object);
        s->line = (rt_json_line){s->in.path, (int)l->number, NULL};
        RT_TRY(rt_json_line_parse(&s->line, l->bytes, l->size));
        RT_TRY(rt_json_line_field(&s->line, s->text->field, &value));
        RT_TRY(rt_json_line_text(&s->line, s->text->field, value, &s->rest));
    }
    if (l->capacity > LONG_LINE) {
        rt_free(l->bytes);
        l->bytes = NULL;
        l->capacity = 0;
    }
    if (!s->rest.size)
        s->rest.bytes = NULL;
    RT_TRY(rt_unpacked_status(&s->in));
    if (l->status.code)
        return rt_error(l->status.code == RT_MEMORY ? RT_MEMORY : RT_DATA, "%.700s:%ld: %s",
                        s->in.path, l->number, l->status.message);
    return rt_ok();
}

/* Reads documents, each with the byte that follows it. */
static rt_status read_documents(rt_text_stream *s, unsigned char *to, size_t wanted, size_t *got)
{
    *got = 0;
    if (!s->rest.bytes)
        RT_TRY(next_document(s));
    if (!s->rest.bytes)
        return rt_ok();
    const size_t n = s->rest.size < wanted ? s->rest.size : wanted;
    memcpy(to, s->rest.bytes, n);
    s->rest.bytes += n;
    s->rest.size -= n;
    *got = n;
    if (n == wanted)
        return rt_ok();
    to[(*got)++] = (unsigned char)*RT_JSON_DOCUMENT;
    s->rest.bytes = NULL;
    json_decref(s->line.object);
    s->line.object = NULL;
    return rt_ok();
}

static rt_status read_some(rt_text_stream *s, unsigned char *to, size_t wanted, size_t *got)
{
    if (s->text->list[s->text->reached - 1].json)
        return read_documents(s, to, wanted, got);
    *got = fread(to, 1, wanted, s->in.file);
    return rt_unpacked_status(&s->in);
}

rt_status rt_text_read(rt_text_stream *s, unsigned char *to, size_t wanted, size_t *got)
{
    rt_text_files *t = s->text;
    *got = 0;
    if (!s->at && !s->in.file)
        t->reached = 0;
    while (*got < wanted && (s->in.file || t->reached < t->count)) {
        size_t n = 0;
        if (!s->in.file)
            RT_TRY(open_next(s));
        const rt_status status = read_some(s, to + *got, wanted - *got, &n);
        if (status.code) { /* a file that is cut seems damaged */
            RT_TRY(check_state(s));
            return status;
        }
        *got += n;
        s->at += n;
        if (!n)
            RT_TRY(end_file(s));
    }
    return s->in.file ? check_state(s) : rt_ok();
}

double rt_text_share(const rt_text_stream *s)
{
    const off_t here = s->in.file ? lseek(s->in.descriptor, 0, SEEK_CUR) : 0;
    return ((double)s->before + (here > 0 ? (double)here : 0)) / (double)s->text->packed;
}

void rt_text_close(rt_text_stream *s)
{
    rt_unpacked_close(&s->in);
    rt_lines_free(&s->lines);
    json_decref(s->line.object);
    s->line.object = NULL;
}

rt_status rt_text_read_whole(const char *key, const char *field, const char *path,
                             unsigned char **bytes_new, size_t *count)
{
    rt_text_files text = {.key = key, .field = field};
    rt_text_stream stream = {.text = &text};
    size_t capacity = 0, got = 1;
    if (!rt_name_is_packed(path) && !(field && rt_json_is_lines(path)))
        return rt_file_read(key, path, bytes_new, count);
    *bytes_new = NULL;
    *count = 0;
    rt_status status = rt_text_files_add(&text, path);
    for (size_t size = text.packed + 1; got && !status.code; size = BLOCK) {
        if (text.packed > RT_FILES_LIMIT || *count > RT_FILES_LIMIT)
            status =
                rt_error(RT_DATA, "%.800s: %s can be read into memory up to %zu bytes; it has more",
                         path, key, RT_FILES_LIMIT);
        else if (!rt_grow(bytes_new, &capacity, *count + size, 1))
            status = rt_out_of_memory(key);
        else
            status = rt_text_read(&stream, *bytes_new + *count, size, &got);
        *count += status.code ? 0 : got;
    }
    for (size_t i = 0; i < *count && text.list->json; i++)
        if ((*bytes_new)[i] == (unsigned char)*RT_JSON_DOCUMENT)
            (*bytes_new)[i] = '\n';
    rt_text_close(&stream);
    rt_text_files_close(&text);
    if (status.code) {
        rt_free(*bytes_new);
        *bytes_new = NULL;
    }
    return status;
}
