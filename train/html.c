#include "train/html.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 };

void rt_html_text(rt_writer *w, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            rt_writer_add(w, "&amp;");
            break;
        case '<':
            rt_writer_add(w, "&lt;");
            break;
        case '>':
            rt_writer_add(w, "&gt;");
            break;
        case '"':
            rt_writer_add(w, "&quot;");
            break;
        default:
            rt_writer_add(w, "%c", *text);
        }
}

char *rt_read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size >= 0 && size <= MOST_BYTES && !fseek(file, 0, SEEK_SET))
        text = rt_alloc((size_t)size + 1, 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        rt_free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}
