#include "data/tokenizers/vocabulary.h"

#include "core/memory.h"
#include "data/batch.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/simple_tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The characters that cannot stand in a line, or not for themselves, and what stands for them. */
static const struct {
    int32_t character;
    char letter;
} escapes[] = {{'\n', 'n'}, {'\r', 'r'}, {'\0', '0'}, {'\\', '\\'}};
enum { ESCAPES = sizeof escapes / sizeof *escapes };

/* Bytes for the line of a special token or a character. */
enum { LINE_SIZE = 8 };

static int tokens_of(rt_level level)
{
    return RT_FIRST_SYMBOL + (level == RT_LEVEL_CHAR);
}

/* ---- lines ---- */

typedef struct reading {
    rt_level level;
    const char *name;
    const unsigned char *at, *end; /* what is left of the file */
    int32_t line;                  /* from 1 */
} reading;

/* One line without its end. */
typedef struct span {
    const unsigned char *bytes;
    size_t size;
} span;

static bool has_pieces(rt_level level)
{
    return level == RT_LEVEL_WORDPIECE || level == RT_LEVEL_RESIDUE;
}

static bool is_text(span line, const char *text)
{
    return line.size == strlen(text) && !memcmp(line.bytes, text, line.size);
}

/* Checks the rules of every line. */
static rt_status check_line(const reading *r, span line)
{
    const bool pieces = has_pieces(r->level);
    if (!line.size)
        return rt_error(RT_DATA, "%s:%" PRId32 ": the line is empty", r->name, r->line);
    if (r->line == 1 && line.size >= 3 && !memcmp(line.bytes, "\xef\xbb\xbf", 3))
        return rt_error(RT_DATA, "%s:1: begins with a byte order mark, which is no part of a token",
                        r->name);
    if (memchr(line.bytes, '\0', line.size))
        return rt_error(RT_DATA, "%s:%" PRId32 ": holds a NUL%s", r->name, r->line,
                        pieces ? ", which is not text" : "; the character is written \\0");
    if (line.bytes[line.size - 1] == '\r')
        return rt_error(RT_DATA,
                        "%s:%" PRId32 ": ends with a return; lines end with a newline alone%s",
                        r->name, r->line, pieces ? "" : ", and the character is written \\r");
    const size_t valid =
        r->level == RT_LEVEL_BYTE ? line.size : rt_utf8_valid(line.bytes, line.size);
    if (valid < line.size)
        return rt_error(RT_DATA, "%s:%" PRId32 ": byte 0x%02x is not UTF-8", r->name, r->line,
                        line.bytes[valid]);
    for (size_t i = 0; i < line.size && r->level == RT_LEVEL_RESIDUE; i++)
        if (line.bytes[i] <= ' ') /* blanks end what is unknown */
            return rt_error(RT_DATA, "%s:%" PRId32 ": has a blank; a token of ESM has none",
                            r->name, r->line);
    return rt_ok();
}

/* Takes the next line; there must be one. */
static rt_status take_line(reading *r, span *line)
{
    const unsigned char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    *line = (span){r->at, (size_t)((newline ? newline : r->end) - r->at)};
    r->at = newline ? newline + 1 : r->end;
    r->line++;
    return check_line(r, *line);
}

static rt_status lacks_ordinary(const char *name)
{
    return rt_error(RT_DATA, "%s: has no token beside the special ones", name);
}

/* ---- levels byte and char ---- */

static rt_status read_byte(const reading *r, span line, int32_t *byte)
{
    char expected[LINE_SIZE];
    for (*byte = 0; *byte < rt_token_limit(RT_LEVEL_BYTE); ++*byte) {
        snprintf(expected, sizeof expected, "0x%02" PRIx32, (uint32_t)*byte);
        if (is_text(line, expected))
            return rt_ok();
    }
    return rt_error(RT_DATA, "%s:%" PRId32 ": must be a byte, from 0x00 to 0xff", r->name, r->line);
}

static rt_status read_character(const reading *r, span line, int32_t *character)
{
    const size_t count = rt_utf8_count(line.bytes, line.size);
    for (int i = 0; i < ESCAPES; i++)
        if (is_text(line, (const char[]){'\\', escapes[i].letter, '\0'})) {
            *character = escapes[i].character;
            return rt_ok();
        }
    if (count > 1)
        return rt_error(RT_DATA,
                        "%s:%" PRId32 ": holds %zu characters; at level char a line holds one",
                        r->name, r->line, count);
    if (*line.bytes == '\\')
        return rt_error(RT_DATA, "%s:%" PRId32 ": a backslash is written \\\\", r->name, r->line);
    rt_utf8_read(line.bytes, line.size, character);
    return rt_ok();
}

/* Reads the characters after the special tokens. `lines` has the line of each character; 0: it has
 * not been seen. */
static rt_status read_lines(reading *r, int32_t *characters, int *count, int32_t *lines)
{
    const int special = tokens_of(r->level);
    char word[RT_WORD_NAME_SIZE];
    while (r->at < r->end) {
        int32_t c = 0;
        span line;
        rt_status status = take_line(r, &line);
        if (!status.code && r->line <= special) {
            const char *token = rt_special_token(r->level, r->line - 1);
            if (is_text(line, token))
                continue;
            status = rt_error(RT_DATA, "%s:%" PRId32 ": must be %s", r->name, r->line, token);
        }
        if (!status.code)
            status =
                r->level == RT_LEVEL_CHAR ? read_character(r, line, &c) : read_byte(r, line, &c);
        if (status.code)
            return status;
        if (lines[c])
            return rt_error(RT_DATA, "%s:%" PRId32 ": %s is in line %" PRId32 " already", r->name,
                            r->line, rt_token_name(r->level, c, word), lines[c]);
        if (*count == RT_CHARACTERS_LIMIT)
            return rt_error(RT_DATA, "%s:%" PRId32 ": a vocabulary can have up to %d tokens",
                            r->name, r->line, RT_CHARACTERS_LIMIT);
        lines[c] = r->line;
        characters[(*count)++] = c;
    }
    if (r->line < special)
        return rt_error(RT_DATA, "%s: ends before line %" PRId32 ", which must be %s", r->name,
                        r->line + 1, rt_special_token(r->level, r->line));
    return *count ? rt_ok() : lacks_ordinary(r->name);
}

/* Level byte has one vocabulary alone. */
static rt_status check_bytes(const reading *r, const int32_t *bytes, int count)
{
    for (int i = 0; i < count; i++)
        if (bytes[i] != i)
            return rt_error(RT_DATA, "%s:%d: must be 0x%02x", r->name, RT_FIRST_SYMBOL + i + 1,
                            (unsigned)i);
    if (count < rt_token_limit(RT_LEVEL_BYTE))
        return rt_error(RT_DATA, "%s: ends before the byte 0x%02x", r->name, (unsigned)count);
    return rt_ok();
}

static rt_status read_characters(rt_vocabulary **vocabulary_new, reading *r)
{
    int32_t *characters = rt_alloc(RT_CHARACTERS_LIMIT, sizeof *characters);
    int32_t *lines = rt_alloc((size_t)rt_token_limit(r->level), sizeof *lines);
    int count = 0;
    rt_status status = characters && lines ? read_lines(r, characters, &count, lines)
                                           : rt_out_of_memory("a vocabulary");
    if (!status.code && r->level == RT_LEVEL_BYTE)
        status = check_bytes(r, characters, count);
    if (!status.code)
        status = rt_vocabulary_of_characters(vocabulary_new, r->level, characters, count);
    rt_free(characters);
    rt_free(lines);
    return status;
}

/* ---- levels wordpiece and residue ---- */

static rt_status count_lines(rt_vocabulary *v, const reading *r)
{
    size_t lines = r->end[-1] != '\n';
    for (const unsigned char *at = r->at; at < r->end; at++)
        lines += *at == '\n';
    if (lines > RT_PIECES_LIMIT)
        return rt_error(RT_DATA, "%s:%d: a vocabulary can have up to %d lines", r->name,
                        RT_PIECES_LIMIT + 1, RT_PIECES_LIMIT);
    v->count = (int)lines;
    return rt_ok();
}

/* Lines become strings, and pieces. */
static rt_status split(rt_vocabulary *v, reading *r)
{
    const unsigned char *const bytes = r->at;
    memcpy(v->text, bytes, (size_t)(r->end - bytes));
    v->newline_at_end = r->end[-1] == '\n';
    for (int32_t id = 0; id < v->count; id++) {
        span line;
        rt_status status = take_line(r, &line);
        if (status.code)
            return status;
        v->starts[id] = (uint32_t)(line.bytes - bytes);
        v->starts[id + 1] = v->starts[id] + (uint32_t)line.size + 1;
        v->text[v->starts[id + 1] - 1] = '\0';
        v->pieces->sorted[id] = (rt_piece){v->text + v->starts[id], id};
    }
    return rt_ok();
}

static rt_status check_twice(const char *name, const rt_piece *twice)
{
    char word[RT_WORD_NAME_SIZE];
    if (!twice)
        return rt_ok();
    return rt_error(RT_DATA, "%s:%" PRId32 ": %s is in line %" PRId32 " already", name,
                    twice->id + 1, rt_word_name(twice->text, strlen(twice->text), word),
                    twice[-1].id + 1);
}

static rt_status find_special(rt_vocabulary *v, const char *name)
{
    for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
        const char *token = rt_special_token(v->level, i);
        const size_t size = strlen(token);
        if (rt_pieces_longest(v->pieces, false, (const unsigned char *)token, size,
                              rt_special_id(&v->special, i)) < size)
            return rt_error(RT_DATA, "%s: has no line %s", name, token);
    }
    return v->count > RT_SPECIAL_TOKENS ? rt_ok() : lacks_ordinary(name);
}

static rt_status read_pieces(rt_vocabulary *v, reading *r)
{
    const size_t size = (size_t)(r->end - r->at);
    if (!size || size >= UINT32_MAX)
        return rt_error(RT_DATA, size ? "%s: has more than 4 GB" : "%s: is empty", r->name);
    rt_status status = count_lines(v, r);
    if (status.code)
        return status;
    v->text = rt_alloc(size + 1, 1);
    v->starts = rt_alloc((size_t)v->count + 1, sizeof *v->starts);
    v->pieces = rt_alloc(1, sizeof *v->pieces);
    if (!v->text || !v->starts || !v->pieces || !rt_pieces_allocate(v->pieces, v->count))
        return rt_out_of_memory("a vocabulary");
    status = split(v, r);
    if (!status.code)
        status = check_twice(r->name, rt_pieces_sort(v->pieces));
    return status.code ? status : find_special(v, r->name);
}

/* ---- every level ---- */

rt_vocabulary_kind rt_vocabulary_kind_of(const rt_vocabulary *vocabulary)
{
    return (rt_vocabulary_kind){.level = vocabulary->level,
                                .lowercase = vocabulary->lowercase,
                                .has_known = vocabulary->bpe != NULL,
                                .known = vocabulary->special,
                                .ends = vocabulary->ends};
}

const char *rt_vocabulary_file(const rt_vocabulary *vocabulary)
{
    return vocabulary->bpe ? "tokenizer.json" : "vocab.txt";
}

static rt_status read_file(rt_vocabulary **vocabulary_new, const rt_vocabulary_kind *kind,
                           const char *name, const unsigned char *bytes, size_t size)
{
    reading r = {.level = kind->level, .name = name, .at = bytes, .end = bytes + size};
    if (kind->level == RT_LEVEL_BYTE || kind->level == RT_LEVEL_CHAR)
        return read_characters(vocabulary_new, &r);
    rt_vocabulary *v = *vocabulary_new = rt_alloc(1, sizeof *v);
    if (!v)
        return rt_out_of_memory("a vocabulary");
    v->level = kind->level;
    if (has_pieces(kind->level)) {
        v->lowercase = kind->lowercase;
        return read_pieces(v, &r);
    }
    rt_status status = rt_bpe_read(v, name, bytes, size);
    return status.code || !kind->has_known ? status : rt_bpe_know(v, name, &kind->known);
}

static rt_status set_ends(rt_vocabulary *v, const char *name, const rt_end_ids *ends)
{
    for (int i = 0; i < ends->count; i++)
        if (ends->ids[i] < 0 || ends->ids[i] >= v->count)
            return rt_error(RT_DATA, "%s: has no id %d, which is said to end a text", name,
                            (int)ends->ids[i]);
    v->ends = *ends;
    return rt_ok();
}

rt_status rt_vocabulary_read(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                             const char *name, const unsigned char *bytes, size_t size)
{
    *vocabulary_new = NULL;
    rt_status status = read_file(vocabulary_new, &kind, name, bytes, size);
    if (!status.code)
        status = set_ends(*vocabulary_new, name, &kind.ends);
    if (status.code) {
        rt_vocabulary_free(*vocabulary_new);
        *vocabulary_new = NULL;
    }
    return status;
}

/* ---- writing ---- */

static void write_character(char line[LINE_SIZE], rt_level level, int32_t character)
{
    if (level == RT_LEVEL_BYTE) {
        snprintf(line, LINE_SIZE, "0x%02" PRIx32, (uint32_t)character);
        return;
    }
    for (int i = 0; i < ESCAPES; i++)
        if (character == escapes[i].character) {
            snprintf(line, LINE_SIZE, "\\%c", escapes[i].letter);
            return;
        }
    rt_token_write(level, character, line);
}

static void write_characters(const rt_vocabulary *vocabulary, char *at)
{
    const int special = tokens_of(vocabulary->level);
    for (int id = 0; id < vocabulary->count; id++) {
        char line[LINE_SIZE];
        if (id < special)
            snprintf(line, sizeof line, "%s", rt_special_token(vocabulary->level, id));
        else
            write_character(line, vocabulary->level, vocabulary->characters[id]);
        const size_t size = strlen(line);
        memcpy(at, line, size);
        at[size] = '\n';
        at += size + 1;
    }
}

/* The lines, whose ends have become zeros. */
static void write_pieces(const rt_vocabulary *vocabulary, char *text)
{
    const size_t size = vocabulary->starts[vocabulary->count];
    memcpy(text, vocabulary->text, size);
    for (int id = 0; id < vocabulary->count; id++)
        text[vocabulary->starts[id + 1] - 1] = '\n';
    if (!vocabulary->newline_at_end)
        text[size - 1] = '\0';
}

rt_status rt_vocabulary_write(const rt_vocabulary *vocabulary, char **text_new)
{
    const size_t count = (size_t)vocabulary->count;
    if (vocabulary->bpe) {
        *text_new = rt_copy_text(vocabulary->bpe->file);
        return *text_new ? rt_ok() : rt_out_of_memory("a vocabulary");
    }
    *text_new = vocabulary->pieces ? rt_alloc((size_t)vocabulary->starts[count] + 1, 1)
                                   : rt_alloc(count + 1, LINE_SIZE);
    if (!*text_new)
        return rt_out_of_memory("a vocabulary");
    if (vocabulary->pieces)
        write_pieces(vocabulary, *text_new);
    else
        write_characters(vocabulary, *text_new);
    return rt_ok();
}

rt_status rt_vocabulary_copy(rt_vocabulary **copy_new, const rt_vocabulary *vocabulary)
{
    char *text;
    *copy_new = NULL;
    rt_status status = rt_vocabulary_write(vocabulary, &text);
    if (status.code)
        return status;
    status = rt_vocabulary_read(copy_new, rt_vocabulary_kind_of(vocabulary),
                                rt_vocabulary_file(vocabulary), (const unsigned char *)text,
                                strlen(text));
    rt_free(text);
    return status;
}
