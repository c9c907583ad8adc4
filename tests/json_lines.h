#ifndef ROTOR_TESTS_JSON_LINES_H
#define ROTOR_TESTS_JSON_LINES_H

/* Fixtures with a JSON value a line: strings, which may have a NUL, and lists of ids. */

#include "data/tokenizers/simple_tokens.h"
#include "suite.h"

/* A part of a fixture's bytes. */
typedef struct reading {
    const char *at, *end;
} reading;

static inline bool takes(reading *r, char wanted)
{
    while (r->at < r->end && strchr(" \r\n\t", *r->at))
        r->at++;
    if (r->at == r->end || *r->at != wanted)
        return false;
    r->at++;
    return true;
}

static inline int32_t take_hex(reading *r)
{
    unsigned code = 0;
    ck_assert(r->end - r->at >= 4 && sscanf(r->at, "%4x", &code) == 1);
    r->at += 4;
    return (int32_t)code;
}

/* Reads the character behind a backslash. */
static inline int32_t take_escape(reading *r)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char letter = *r->at++, *known = strchr(letters, letter);
    if (letter != 'u')
        return known ? meant[known - letters] : letter;
    const int32_t code = take_hex(r);
    if (code < 0xd800 || code >= 0xdc00)
        return code;
    ck_assert(r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u');
    r->at += 2;
    return 0x10000 + ((code - 0xd800) << 10) + (take_hex(r) - 0xdc00);
}

/* A JSON string; `text` has as much room as the file. Returns its size. */
static inline size_t take_string(reading *r, char *text)
{
    size_t size = 0;
    ck_assert_msg(takes(r, '"'), "a string is expected");
    while (r->at < r->end && *r->at != '"') {
        const char c = *r->at++;
        if (c == '\\') {
            char character[RT_UTF8_SIZE];
            const size_t more = rt_utf8_write(take_escape(r), character);
            memcpy(text + size, character, more);
            size += more;
        } else {
            text[size++] = c;
        }
    }
    ck_assert(takes(r, '"'));
    text[size] = '\0';
    return size;
}

/* [1, 2, 3]; returns how many. */
static inline int take_ids(reading *r, int32_t *ids)
{
    int count = 0;
    ck_assert(takes(r, '['));
    while (!takes(r, ']')) {
        char *end;
        takes(r, ',');
        ids[count++] = (int32_t)strtol(r->at, &end, 10);
        ck_assert(end > r->at);
        r->at = end;
    }
    return count;
}

#endif
