#include "text/utf8_stream.h"

#include <stdbool.h>

static bool is_between(unsigned char byte, int first, int last)
{
    return byte >= first && byte <= last;
}

/* Bytes of the character that begins with this one; 0 if none does. */
static int length_of(unsigned char lead)
{
    return lead < 0x80                    ? 1
           : is_between(lead, 0xc2, 0xdf) ? 2
           : is_between(lead, 0xe0, 0xef) ? 3
           : is_between(lead, 0xf0, 0xf4) ? 4
                                          : 0;
}

/* Whether a byte may follow on those that are held. After some leads the second has a narrower
 * range: other values would be longer than they must, surrogates, or above U+10FFFF. */
static bool follows(const rt_utf8_stream *s, unsigned char byte)
{
    const unsigned char lead = s->held[0];
    if (s->count > 1)
        return is_between(byte, 0x80, 0xbf);
    return is_between(byte,
                      lead == 0xe0   ? 0xa0
                      : lead == 0xf0 ? 0x90
                                     : 0x80,
                      lead == 0xed   ? 0x9f
                      : lead == 0xf4 ? 0x8f
                                     : 0xbf);
}

static void put_byte(rt_utf8_stream *s, unsigned char byte)
{
    if (s->count && !follows(s, byte))
        rt_utf8_stream_end(s);
    s->held[s->count++] = byte;
    const int length = length_of(s->held[0]);
    if (!length)
        rt_utf8_stream_end(s);
    if (s->count < length || !s->count)
        return;
    fwrite(s->held, 1, (size_t)s->count, s->to);
    s->count = 0;
}

void rt_utf8_stream_put(rt_utf8_stream *s, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put_byte(s, (unsigned char)bytes[i]);
}

void rt_utf8_stream_end(rt_utf8_stream *s)
{
    if (s->count)
        fputs("\xef\xbf\xbd", s->to);
    s->count = 0;
}
