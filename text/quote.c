#include "text/quote.h"

#include <stdio.h>

enum { LONGEST = RT_QUOTE_SIZE - 6 }; /* two quotes, "..." and the zero */

/* A byte that continues a character in UTF-8. */
static int continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

const char *rt_quote(char quoted[RT_QUOTE_SIZE], const char *text)
{
    int length = 0;
    quoted[0] = '\'';
    while (text[length] && length < LONGEST) {
        unsigned char c = (unsigned char)text[length];
        quoted[++length] = (char)(c < ' ' || c == 0x7f ? '?' : c);
    }
    const char *more = text[length] ? "..." : "";
    while (*more && length && continues(text[length]))
        length--;
    snprintf(quoted + 1 + length, (size_t)(RT_QUOTE_SIZE - 1 - length), "%s'", more);
    return quoted;
}
