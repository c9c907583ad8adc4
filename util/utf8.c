#include "util/utf8.h"

#include "util/writer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

size_t rt_utf8_read_long(const unsigned char *text, size_t bytes, int32_t *character)
{
    const utf8proc_ssize_t size = utf8proc_iterate(text, (utf8proc_ssize_t)bytes, character);
    return size > 0 ? (size_t)size : 0;
}

size_t rt_utf8_write(int32_t character, char to[RT_UTF8_SIZE])
{
    const size_t size = (size_t)utf8proc_encode_char(character, (unsigned char *)to);
    to[size] = '\0';
    return size;
}

size_t rt_utf8_count(const unsigned char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t at = 0; at < bytes; at++)
        count += (text[at] & 0xc0) != 0x80; /* all but continuation bytes */
    return count;
}

size_t rt_utf8_valid(const unsigned char *text, size_t bytes)
{
    int32_t character;
    size_t at = 0;
    for (size_t size; at < bytes; at += size) {
        size = rt_utf8_read(text + at, bytes - at, &character);
        if (!size)
            break;
    }
    return at;
}

rt_status rt_utf8_error(const char *key, const char *path, unsigned char byte, size_t offset)
{
    return rt_error(RT_DATA, "%.800s: %s needs UTF-8; byte 0x%02x at offset %zu is not", path, key,
                    byte, offset);
}

bool rt_character_is_visible(int32_t character)
{
    const utf8proc_category_t category = utf8proc_category(character);
    const bool combines = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    return character == ' ' ||
           (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_SO && !combines);
}

const char *rt_character_name(int32_t character, char name[RT_WORD_NAME_SIZE])
{
    char bytes[RT_UTF8_SIZE];
    rt_utf8_write(character, bytes);
    if (!rt_character_is_visible(character))
        return rt_printed(name, RT_WORD_NAME_SIZE, "U+%04X", (unsigned)character);
    return rt_printed(name, RT_WORD_NAME_SIZE, character > '~' ? "'%s' (U+%04X)" : "'%s'", bytes,
                      (unsigned)character);
}

const char *rt_byte_name(int32_t byte, char name[RT_WORD_NAME_SIZE])
{
    return byte >= ' ' && byte <= '~'
               ? rt_character_name(byte, name)
               : rt_printed(name, RT_WORD_NAME_SIZE, "byte 0x%02x", (unsigned)byte);
}

size_t rt_byte_order_mark(const void *bytes, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t length = sizeof mark - 1;
    return size >= length && !memcmp(bytes, mark, length) ? length : 0;
}

const char *rt_word_name(const char *word, size_t size, char name[RT_WORD_NAME_SIZE])
{
    static const char more[] = "...'";
    const unsigned char *bytes = (const unsigned char *)word;
    char *at = name;
    int32_t c = 0;
    const size_t first = size ? rt_utf8_read(bytes, size, &c) : 0;
    if (first && first == size)
        return rt_character_name(c, name);
    *at++ = '\'';
    for (size_t i = 0, step; i < size && (step = rt_utf8_read(bytes + i, size - i, &c));
         i += step) {
        char shown[16];
        if (rt_character_is_visible(c))
            rt_utf8_write(c, shown);
        else
            snprintf(shown, sizeof shown, "<U+%04X>", (unsigned)c);
        const size_t length = strlen(shown);
        if ((size_t)(at - name) + length + sizeof more > RT_WORD_NAME_SIZE) {
            memcpy(at, more, sizeof more);
            return name;
        }
        memcpy(at, shown, length);
        at += length;
    }
    memcpy(at, "'", 2);
    return name;
}

/* Returns whether the held bytes are a character or the beginning of one. The bytes that may follow
 * a beginning are one range, which contains 0x80 or 0xbf. */
static bool is_beginning(const rt_utf8_stream *s)
{
    static const int ends[] = {0x80, 0xbf};
    for (int i = 0; i < 2; i++) {
        unsigned char whole[sizeof s->held];
        int32_t character;
        memset(whole, ends[i], sizeof whole);
        memcpy(whole, s->held, (size_t)s->count);
        if (rt_utf8_read(whole, sizeof whole, &character) >= (size_t)s->count)
            return true;
    }
    return false;
}

void rt_utf8_stream_put(rt_utf8_stream *s, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int32_t character;
        s->held[s->count++] = (unsigned char)bytes[i];
        if (!is_beginning(s)) { /* the earlier bytes are invalid; the byte may begin a character */
            s->count--;
            rt_utf8_stream_end(s);
            s->held[s->count++] = (unsigned char)bytes[i];
            if (!is_beginning(s))
                rt_utf8_stream_end(s);
        }
        if (s->count && rt_utf8_read(s->held, (size_t)s->count, &character)) {
            fwrite(s->held, 1, (size_t)s->count, s->to);
            s->count = 0;
        }
    }
}

void rt_utf8_stream_end(rt_utf8_stream *s)
{
    if (s->count)
        fputs("\xef\xbf\xbd", s->to);
    s->count = 0;
}
