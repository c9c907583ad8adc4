#include "data/labels.h"

#include "core/memory.h"
#include "data/tokenizers/tokens.h"
#include "util/writer.h"

#include <stdlib.h>
#include <string.h>

const char *rt_label_problem(rt_text_span name)
{
    const unsigned char *bytes = (const unsigned char *)name.bytes;
    int32_t character;
    if (!name.size)
        return "is empty";
    if (name.size > RT_LABEL_LIMIT)
        return "is longer than 255 bytes";
    for (size_t at = 0, size; at < name.size; at += size) {
        size = rt_utf8_read(bytes + at, name.size - at, &character);
        if (!size)
            return "is not UTF-8";
        if (character < ' ' || (character >= 0x7f && character < 0xa0))
            return "holds a control character";
    }
    return NULL;
}

/* Compares spans in the order of strcmp. */
static int compare(rt_text_span a, rt_text_span b)
{
    const int order = memcmp(a.bytes, b.bytes, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int ascending(const void *a, const void *b)
{
    return compare(*(const rt_text_span *)a, *(const rt_text_span *)b);
}

/* Copies ascending distinct names. */
static rt_status keep(rt_labels **labels_new, const rt_text_span *names, size_t count)
{
    size_t bytes = sizeof(rt_labels) + count * sizeof(char *);
    for (size_t i = 0; i < count; i++)
        bytes += names[i].size + 1;
    rt_labels *labels = *labels_new = rt_alloc(bytes, 1);
    RT_TRY(rt_allocated(labels, "the labels"));
    labels->count = (int)count;
    labels->names = (char **)(labels + 1);
    char *at = (char *)(labels->names + count);
    for (size_t i = 0; i < count; i++) {
        labels->names[i] = memcpy(at, names[i].bytes, names[i].size);
        at += names[i].size + 1;
    }
    return rt_ok();
}

rt_status rt_labels_of(rt_labels **labels_new, const char *file, rt_text_span *names, size_t count)
{
    size_t different = 0;
    *labels_new = NULL;
    qsort(names, count, sizeof *names, ascending);
    for (size_t i = 0; i < count; i++)
        if (!different || compare(names[different - 1], names[i]))
            names[different++] = names[i];
    if (different > RT_LABELS_LIMIT)
        return rt_error(RT_DATA, "%.800s: there can be up to %d different labels; it has %zu", file,
                        RT_LABELS_LIMIT, different);
    if (different == 1)
        return rt_error(RT_DATA, "%.600s: every label is '%.*s'; a task needs at least two", file,
                        (int)names[0].size, names[0].bytes);
    return keep(labels_new, names, different);
}

void rt_labels_free(rt_labels *labels)
{
    if (labels && labels->names)
        rt_free(labels);
}

rt_status rt_labels_read(rt_labels **labels_new, const char *file, const char *bytes, size_t size)
{
    const char *const end = bytes + size;
    size_t count = 0;
    bool valid = true;
    *labels_new = NULL;
    RT_OWNED rt_text_span *names = rt_alloc(RT_LABELS_LIMIT, sizeof *names);
    RT_TRY(rt_allocated(names, "the labels"));
    while (bytes < end && valid) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const rt_text_span name = {bytes, (size_t)((newline ? newline : end) - bytes)};
        valid = count < RT_LABELS_LIMIT && !rt_label_problem(name) &&
                (!count || compare(names[count - 1], name) < 0);
        if (valid)
            names[count++] = name;
        bytes = newline ? newline + 1 : end;
    }
    if (!valid)
        return rt_error(RT_DATA, "%.800s:%zu: must be a label, after the one before it", file,
                        count + 1);
    return count < 2 ? rt_error(RT_DATA, "%.800s: must hold at least two labels", file)
                     : keep(labels_new, names, count);
}

rt_status rt_labels_write(const rt_labels *labels, char **text_new)
{
    rt_writer w = {0};
    for (int i = 0; i < labels->count; i++)
        rt_writer_add(&w, "%s\n", labels->names[i]);
    *text_new = rt_writer_take(&w);
    return rt_allocated(*text_new, "the labels");
}

static int by_name(const void *key, const void *name)
{
    const char *const there = *(char *const *)name;
    return compare(*(const rt_text_span *)key, (rt_text_span){there, strlen(there)});
}

int rt_labels_find(const rt_labels *labels, rt_text_span name)
{
    if (!labels->count)
        return -1;
    char *const *found =
        bsearch(&name, labels->names, (size_t)labels->count, sizeof *labels->names, by_name);
    return found ? (int)(found - labels->names) : -1;
}

bool rt_labels_equal(const rt_labels *a, const rt_labels *b)
{
    if (!a || !b)
        return a == b;
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = !strcmp(a->names[i], b->names[i]);
    return same;
}
