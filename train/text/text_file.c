#include "train/text/text_file.h"

#include "core/memory.h"

#include <stdio.h>

enum { MOST_BYTES = 16 << 20 };

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
