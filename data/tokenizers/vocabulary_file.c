#include "data/tokenizers/vocabulary.h"

#include "core/memory.h"
#include "data/batch.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/simple_tokens.h"
#include "data/tokenizers/wordpiece.h"

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

/* ---- reading ---- */

typedef struct reading {
    rt_level level;
    const char *name;
    int line; /* from 1 */
    int32_t *characters;
    int count;
    int32_t *lines; /* of each character; 0: it has not been seen */
} reading;

/* One line without its end. */
typedef struct span {
    const unsigned char *bytes;
    size_t size;
} span;

static bool is_text(span line, const char *text)
{
    return line.size == strlen(text) && !memcmp(line.bytes, text, line.size);
}

/* Checks the rules of every line. */
static rt_status check_line(const reading *r, span line)
{
    if (!line.size)
        return rt_error(RT_DATA, "%s:%d: the line is empty", r->name, r->line);
    if (r->line == 1 && line.size >= 3 && !memcmp(line.bytes, "\xef\xbb\xbf", 3))
        return rt_error(RT_DATA, "%s:1: begins with a byte order mark, which is no part of a token",
                        r->name);
    if (memchr(line.bytes, '\0', line.size))
        return rt_error(RT_DATA, "%s:%d: holds a NUL; the character is written \\0", r->name,
                        r->line);
    if (line.bytes[line.size - 1] == '\r')
        return rt_error(RT_DATA,
                        "%s:%d: ends with a return; lines end with a newline alone, and the "
                        "character is written \\r",
                        r->name, r->line);
    return rt_ok();
}

static rt_status read_byte(const reading *r, span line, int32_t *byte)
{
    char expected[LINE_SIZE];
    for (*byte = 0; *byte < rt_token_limit(RT_LEVEL_BYTE); ++*byte) {
        snprintf(expected, sizeof expected, "0x%02" PRIx32, (uint32_t)*byte);
        if (is_text(line, expected))
            return rt_ok();
    }
    return rt_error(RT_DATA, "%s:%d: must be a byte, from 0x00 to 0xff", r->name, r->line);
}

/* "\n" and its like. */
static bool read_escape(span line, int32_t *character)
{
    for (int i = 0; i < ESCAPES; i++)
        if (line.size == 2 && line.bytes[0] == '\\' &&
            line.bytes[1] == (unsigned char)escapes[i].letter) {
            *character = escapes[i].character;
            return true;
        }
    return false;
}

static rt_status read_character(const reading *r, span line, int32_t *character)
{
    if (read_escape(line, character))
        return rt_ok();
    for (size_t at = 0, size; at < line.size; at += size) {
        size = rt_utf8_read(line.bytes + at, line.size - at, character);
        if (!size)
            return rt_error(RT_DATA, "%s:%d: byte 0x%02x is not UTF-8", r->name, r->line,
                            line.bytes[at]);
    }
    if (rt_utf8_count(line.bytes, line.size) > 1)
        return rt_error(RT_DATA, "%s:%d: holds %zu characters; at level char a line holds one",
                        r->name, r->line, rt_utf8_count(line.bytes, line.size));
    if (*character == '\\')
        return rt_error(RT_DATA, "%s:%d: a backslash is written \\\\", r->name, r->line);
    return rt_ok();
}

static rt_status read_line(reading *r, span line)
{
    int32_t character = 0;
    char word[RT_WORD_NAME_SIZE];
    rt_status status = r->level == RT_LEVEL_CHAR ? read_character(r, line, &character)
                                                 : read_byte(r, line, &character);
    if (status.code)
        return status;
    if (r->lines[character])
        return rt_error(RT_DATA, "%s:%d: %s is in line %" PRId32 " already", r->name, r->line,
                        rt_token_name(r->level, character, word), r->lines[character]);
    if (r->count == RT_CHARACTERS_LIMIT)
        return rt_error(RT_DATA, "%s:%d: a vocabulary can have up to %d tokens", r->name, r->line,
                        RT_CHARACTERS_LIMIT);
    r->lines[character] = r->line;
    r->characters[r->count++] = character;
    return rt_ok();
}

static rt_status read_lines(reading *r, int special, const unsigned char *bytes, size_t size)
{
    const unsigned char *const end = bytes + size;
    while (bytes < end) {
        const unsigned char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const span line = {bytes, (size_t)((newline ? newline : end) - bytes)};
        r->line++;
        rt_status status = check_line(r, line);
        if (!status.code && r->line > special)
            status = read_line(r, line);
        else if (!status.code && !is_text(line, rt_special_token(r->level, r->line - 1)))
            status = rt_error(RT_DATA, "%s:%d: must be %s", r->name, r->line,
                              rt_special_token(r->level, r->line - 1));
        if (status.code)
            return status;
        bytes = newline ? newline + 1 : end;
    }
    if (r->line < special)
        return rt_error(RT_DATA, "%s: ends before line %d, which must be %s", r->name, r->line + 1,
                        rt_special_token(r->level, r->line));
    if (!r->count)
        return rt_error(RT_DATA, "%s: has no token beside the special ones", r->name);
    return rt_ok();
}

/* Level byte has one vocabulary alone. */
static rt_status check_bytes(const reading *r)
{
    for (int i = 0; i < r->count; i++)
        if (r->characters[i] != i)
            return rt_error(RT_DATA, "%s:%d: must be 0x%02x", r->name, RT_FIRST_SYMBOL + i + 1,
                            (unsigned)i);
    if (r->count < rt_token_limit(RT_LEVEL_BYTE))
        return rt_error(RT_DATA, "%s: ends before the byte 0x%02x", r->name, (unsigned)r->count);
    return rt_ok();
}

static rt_status read_characters(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                                 const char *name, const unsigned char *bytes, size_t size)
{
    reading r = {.level = kind.level, .name = name};
    r.characters = rt_alloc(RT_CHARACTERS_LIMIT, sizeof *r.characters);
    r.lines = rt_alloc((size_t)rt_token_limit(kind.level), sizeof *r.lines);
    rt_status status = r.characters && r.lines ? read_lines(&r, tokens_of(kind.level), bytes, size)
                                               : rt_out_of_memory("a vocabulary");
    if (!status.code && kind.level == RT_LEVEL_BYTE)
        status = check_bytes(&r);
    if (!status.code)
        status = rt_vocabulary_of_characters(vocabulary_new, kind.level, r.characters, r.count);
    rt_free(r.characters);
    rt_free(r.lines);
    return status;
}

static rt_status read_pieces(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                             const char *name, const unsigned char *bytes, size_t size)
{
    rt_vocabulary *v = rt_alloc(1, sizeof *v);
    if (!v)
        return rt_out_of_memory("a vocabulary");
    v->level = kind.level;
    v->lowercase = kind.lowercase;
    rt_status status = rt_pieces_read(v, name, bytes, size);
    if (status.code)
        rt_vocabulary_free(v);
    else
        *vocabulary_new = v;
    return status;
}

static rt_status read_bpe(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind, const char *name,
                          const unsigned char *bytes, size_t size)
{
    rt_vocabulary *v = rt_alloc(1, sizeof *v);
    if (!v)
        return rt_out_of_memory("a vocabulary");
    v->level = kind.level;
    rt_status status = rt_bpe_read(v, name, bytes, size);
    if (!status.code && kind.has_known)
        status = rt_bpe_know(v, name, &kind.known);
    if (status.code)
        rt_vocabulary_free(v);
    else
        *vocabulary_new = v;
    return status;
}

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

static rt_status read_file(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                           const char *name, const unsigned char *bytes, size_t size)
{
    if (kind.level == RT_LEVEL_BPE)
        return read_bpe(vocabulary_new, kind, name, bytes, size);
    return kind.level == RT_LEVEL_WORDPIECE || kind.level == RT_LEVEL_RESIDUE
               ? read_pieces(vocabulary_new, kind, name, bytes, size)
               : read_characters(vocabulary_new, kind, name, bytes, size);
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
    rt_status status = read_file(vocabulary_new, kind, name, bytes, size);
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
