#include "text/text_file.h"

#include "core/memory.h"
#include "core/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool rt_is_own_folder(const char *path)
{
    struct stat found;
    return !lstat(path, &found) && S_ISDIR(found.st_mode);
}

FILE *rt_open_regular(const char *path)
{
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    FILE *file = NULL;
    if (!fstat(descriptor, &facts) && S_ISREG(facts.st_mode))
        file = fdopen(descriptor, "rb");
    else
        errno = EINVAL;
    if (!file)
        close(descriptor);
    return file;
}

void rt_folder_clear(const char *folder, bool (*is_chosen)(const char *name))
{
    char path[RT_PATH_SIZE];
    const struct dirent *entry;
    DIR *directory = rt_is_own_folder(folder) ? opendir(folder) : NULL;
    if (!directory)
        return;
    while ((entry = readdir(directory)))
        if (is_chosen(entry->d_name) && !rt_path_join(path, folder, entry->d_name).code)
            unlink(path);
    closedir(directory);
    rmdir(folder); /* fails if there are other files */
}

char *rt_read_bytes(const char *path, long most, size_t *count)
{
    FILE *file = rt_open_regular(path);
    *count = 0;
    if (!file)
        return NULL;
    char *text = NULL;
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size > most)
        errno = EFBIG;
    else if (size >= 0 && !fseek(file, 0, SEEK_SET))
        text = rt_alloc((size_t)size + 1, 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        rt_free(text);
        text = NULL;
    }
    fclose(file);
    *count = text ? (size_t)size : 0;
    return text;
}

bool rt_is_lfs_pointer(const char *bytes, size_t size)
{
    static const char begin[] = "version https://git-lfs";
    return size >= sizeof begin - 1 && !memcmp(bytes, begin, sizeof begin - 1);
}

char *rt_read_text(const char *path)
{
    size_t count;
    return rt_read_bytes(path, RT_TEXT_FILE_BYTES, &count);
}

/* ---- lines of a stream ---- */

static bool make_room(rt_lines *l, size_t size)
{
    char *bytes = rt_grow(l->bytes, &l->capacity, size, 1);
    if (bytes)
        l->bytes = bytes;
    else
        l->status = rt_out_of_memory("a line");
    return bytes != NULL;
}

static bool append(rt_lines *l, int c)
{
    const int most = l->most ? l->most : RT_LINE_LIMIT;
    if (l->size == (size_t)most) {
        l->status = rt_error(RT_ARGUMENT, "has more than %d bytes", most);
        return false;
    }
    if ((!l->bytes || l->size == l->capacity) && !make_room(l, l->size + 1))
        return false;
    l->bytes[l->size++] = (char)c;
    return true;
}

/* Removes a byte order mark at the beginning of the text, and a return before the newline. */
static void trim(rt_lines *l)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t length = strlen(mark);
    if (l->ended && l->size && l->bytes[l->size - 1] == '\r')
        l->size--;
    if (l->number == 1 && l->size >= length && !memcmp(l->bytes, mark, length)) {
        l->size -= length;
        l->start += length;
        memmove(l->bytes, l->bytes + length, l->size);
    }
    l->bytes[l->size] = '\0';
}

bool rt_lines_next(rt_lines *l)
{
    int c;
    if (l->status.code)
        return false;
    l->size = 0;
    l->start = l->read;
    l->number++;
    while ((c = getc_unlocked(l->from)) != EOF && c != '\n')
        if (!append(l, c))
            return false;
    l->ended = c != EOF;
    l->read += l->size + l->ended;
    if (c == EOF && ferror(l->from))
        l->status = rt_error(RT_IO, "cannot be read: %s", strerror(errno));
    if (l->status.code || (c == EOF && !l->size) || !make_room(l, l->size + 1))
        return false;
    trim(l);
    return true;
}

void rt_lines_free(rt_lines *l)
{
    rt_free(l->bytes);
    *l = (rt_lines){.from = l->from, .most = l->most};
}
