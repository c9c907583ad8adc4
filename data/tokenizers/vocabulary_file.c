/* Reads vocabularies, and creates those of characters. */

#include "data/tokenizers/vocabulary.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/tokens.h"
#include "util/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool has_pieces(rt_level level)
{
    return level == RT_LEVEL_WORDPIECE || level == RT_LEVEL_RESIDUE;
}

/* Returns one more than the largest byte or character. */
static int32_t token_limit(rt_level level)
{
    return level == RT_LEVEL_CHAR ? RT_CODE_POINTS : UINT8_MAX + 1;
}

/* Returns the number of special tokens before the characters. */
static int specials_of(rt_level level)
{
    return RT_FIRST_SYMBOL + (level == RT_LEVEL_CHAR);
}

/* Frees a vocabulary, which may be incomplete. */
static void release(rt_vocabulary *v)
{
    if (v->pieces)
        rt_free(v->pieces->sorted);
    rt_free(v->pieces);
    rt_bpe_free(v->bpe);
    rt_free(v->text);
    rt_free(v->starts);
    rt_free(v->kinds);
    rt_free(v->ordinary);
    rt_free(v->ids);
    rt_free(v->file);
    rt_free(v);
}

void rt_vocabulary_free(rt_vocabulary *vocabulary)
{
    if (vocabulary && vocabulary->count)
        release(vocabulary);
}

/* Allocates a vocabulary of `count` tokens with `bytes` of text. */
static rt_status reserve(rt_vocabulary *v, size_t count, size_t bytes)
{
    v->text = rt_alloc(bytes + count, 1);
    v->starts = rt_alloc(count + 1, sizeof *v->starts);
    v->kinds = rt_alloc(count, sizeof *v->kinds);
    v->ordinary = rt_alloc(count, sizeof *v->ordinary);
    bool made = v->text && v->starts && v->kinds && v->ordinary;
    if (has_pieces(v->level)) {
        v->pieces = rt_alloc(1, sizeof *v->pieces);
        if (v->pieces) {
            v->pieces->count = (int32_t)count;
            v->pieces->sorted = rt_alloc(count, sizeof *v->pieces->sorted);
        }
        made = made && v->pieces && v->pieces->sorted;
    } else {
        v->special = rt_default_special_ids;
        if (v->level == RT_LEVEL_CHAR)
            v->special.unknown = RT_FIRST_SYMBOL;
        v->ids = rt_alloc((size_t)token_limit(v->level), sizeof *v->ids);
        for (int32_t c = 0; v->ids && c < token_limit(v->level); c++)
            v->ids[c] = v->special.unknown;
        made = made && v->ids;
    }
    return rt_allocated(made, "a vocabulary");
}

/* Appends the text of the next id. */
static void add_token(rt_vocabulary *v, const void *bytes, size_t size)
{
    char *to = v->text + v->starts[v->count];
    memcpy(to, bytes, size);
    to[size] = '\0';
    v->starts[v->count + 1] = v->starts[v->count] + (uint32_t)size + 1;
    v->count++;
}

/* Characters that a line cannot hold as they are, and the letters of their escapes. */
static const struct {
    int32_t character;
    char letter;
} escapes[] = {{'\n', 'n'}, {'\r', 'r'}, {'\0', '0'}, {'\\', '\\'}};
enum { ESCAPES = sizeof escapes / sizeof *escapes };

typedef struct reading {
    rt_vocabulary *v; /* to be filled */
    const char *name;
    const unsigned char *at, *end; /* remaining bytes of the file */
    int line;                      /* from 1 */
} reading;

/* Line without its newline. */
typedef struct span {
    const unsigned char *bytes;
    size_t size;
} span;

static bool is_text(span line, const char *text)
{
    return line.size == strlen(text) && !memcmp(line.bytes, text, line.size);
}

/* Validates a line. */
static rt_status check_line(const reading *r, span line)
{
    const bool pieces = has_pieces(r->v->level);
    if (!line.size)
        return rt_error(RT_DATA, "%s:%d: the line is empty", r->name, r->line);
    if (r->line == 1 && rt_byte_order_mark(line.bytes, line.size))
        return rt_error(RT_DATA, "%s:1: begins with a byte order mark, which is no part of a token",
                        r->name);
    if (memchr(line.bytes, '\0', line.size))
        return rt_error(RT_DATA, "%s:%d: holds a NUL%s", r->name, r->line,
                        pieces ? ", which is not text" : "; the character is written \\0");
    if (line.bytes[line.size - 1] == '\r')
        return rt_error(RT_DATA, "%s:%d: ends with a return; lines end with a newline alone%s",
                        r->name, r->line, pieces ? "" : ", and the character is written \\r");
    const size_t valid =
        r->v->level == RT_LEVEL_BYTE ? line.size : rt_utf8_valid(line.bytes, line.size);
    if (valid < line.size)
        return rt_error(RT_DATA, "%s:%d: byte 0x%02x is not UTF-8", r->name, r->line,
                        line.bytes[valid]);
    for (size_t i = 0; i < line.size && r->v->level == RT_LEVEL_RESIDUE; i++)
        if (line.bytes[i] <= ' ') /* blanks end an unknown word */
            return rt_error(RT_DATA, "%s:%d: has a blank; a token of ESM has none", r->name,
                            r->line);
    return rt_ok();
}

static rt_status already(const reading *r, const char *word, int line)
{
    return rt_error(RT_DATA, "%s:%d: %s is in line %d already", r->name, r->line, word, line);
}

static rt_status read_byte(const reading *r, span line, int32_t *byte)
{
    const char *text =
        RT_PRINTED(8, "%.*s", line.size < 8 ? (int)line.size : 0, (const char *)line.bytes);
    *byte = (int32_t)strtol(text, NULL, 16);
    if (!strcmp(text, RT_PRINTED(8, "0x%02x", (unsigned)*byte & UINT8_MAX)))
        return rt_ok();
    return rt_error(RT_DATA, "%s:%d: must be a byte, from 0x00 to 0xff", r->name, r->line);
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
        return rt_error(RT_DATA, "%s:%d: holds %zu characters; at level char a line holds one",
                        r->name, r->line, count);
    if (*line.bytes == '\\')
        return rt_error(RT_DATA, "%s:%d: a backslash is written \\\\", r->name, r->line);
    rt_utf8_read(line.bytes, line.size, character);
    return rt_ok();
}

/* Adds the special token or character of a line. Level byte has a fixed order. */
static rt_status read_simple(reading *r, span line)
{
    rt_vocabulary *v = r->v;
    int32_t c = 0;
    if (r->line <= specials_of(v->level)) {
        const char *token = rt_special_token(v->level, r->line - 1);
        if (!is_text(line, token))
            return rt_error(RT_DATA, "%s:%d: must be %s", r->name, r->line, token);
        add_token(v, line.bytes, line.size);
        return rt_ok();
    }
    RT_TRY(v->level == RT_LEVEL_CHAR ? read_character(r, line, &c) : read_byte(r, line, &c));
    if (v->ids[c] != v->special.unknown)
        return already(r, rt_token_name(v->level, c, (char[RT_WORD_NAME_SIZE]){0}), v->ids[c] + 1);
    const int32_t rank = r->line - 1 - RT_FIRST_SYMBOL;
    if (v->level == RT_LEVEL_BYTE && c != rank)
        return rt_error(RT_DATA, "%s:%d: must be 0x%02x", r->name, r->line, (unsigned)rank);
    char bytes[RT_UTF8_SIZE] = {(char)(unsigned char)c};
    v->ids[c] = v->count;
    add_token(v, bytes, v->level == RT_LEVEL_CHAR ? rt_utf8_write(c, bytes) : 1);
    return rt_ok();
}

/* Sorts the pieces, refuses duplicates, and finds the special tokens. */
static rt_status finish_pieces(reading *r)
{
    rt_vocabulary *v = r->v;
    for (int32_t id = 0; id < v->count; id++)
        v->pieces->sorted[id] = (rt_piece){v->text + v->starts[id], id};
    const rt_piece *twice = rt_pieces_sort(v->pieces);
    if (twice) {
        r->line = twice->id + 1;
        return already(r, RT_WORD_NAMED(twice->text), twice[-1].id + 1);
    }
    for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
        const char *token = rt_special_token(v->level, i);
        const size_t size = strlen(token);
        if (rt_pieces_longest(v->pieces, false, (const unsigned char *)token, size,
                              rt_special_id(&v->special, i)) < size)
            return rt_error(RT_DATA, "%s: has no line %s", r->name, token);
    }
    return rt_ok();
}

/* Counts the lines and checks the limits. */
static rt_status count_lines(const reading *r, size_t *lines)
{
    const size_t size = (size_t)(r->end - r->at);
    const bool pieces = has_pieces(r->v->level);
    const int most = pieces ? RT_PIECES_LIMIT : RT_CHARACTERS_LIMIT + specials_of(r->v->level);
    if (pieces && !size)
        return rt_error(RT_DATA, "%s: is empty", r->name);
    if (size >= UINT32_MAX)
        return rt_error(RT_DATA, "%s: has more than 4 GB", r->name);
    *lines = size && r->end[-1] != '\n';
    for (const unsigned char *at = r->at; at < r->end; at++)
        *lines += *at == '\n';
    if (*lines > (size_t)most)
        return rt_error(RT_DATA, "%s:%d: a vocabulary can have up to %d %s", r->name, most + 1,
                        pieces ? RT_PIECES_LIMIT : RT_CHARACTERS_LIMIT,
                        pieces ? "lines" : "tokens");
    return rt_ok();
}

static rt_status read_lines(reading *r)
{
    rt_vocabulary *v = r->v;
    const bool pieces = has_pieces(v->level);
    size_t lines = 0;
    RT_TRY(count_lines(r, &lines));
    RT_TRY(reserve(v, lines, (size_t)(r->end - r->at)));
    while (r->at < r->end) {
        const unsigned char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
        const span line = {r->at, (size_t)((newline ? newline : r->end) - r->at)};
        r->at = newline ? newline + 1 : r->end;
        r->line++;
        RT_TRY(check_line(r, line));
        if (pieces)
            add_token(v, line.bytes, line.size);
        else
            RT_TRY(read_simple(r, line));
    }
    if (pieces)
        RT_TRY(finish_pieces(r));
    const int32_t bytes = r->line - RT_FIRST_SYMBOL;
    if (!pieces && r->line < specials_of(v->level))
        return rt_error(RT_DATA, "%s: ends before line %d, which must be %s", r->name, r->line + 1,
                        rt_special_token(v->level, r->line));
    if (v->level == RT_LEVEL_BYTE && bytes && bytes < token_limit(v->level))
        return rt_error(RT_DATA, "%s: ends before the byte 0x%02x", r->name, (unsigned)bytes);
    memset(v->kinds, RT_TOKEN_ORDINARY, (size_t)v->count);
    for (int i = 0; i < RT_SPECIAL_TOKENS; i++)
        if (*rt_special_id(&v->special, i) != RT_NO_ID)
            v->kinds[*rt_special_id(&v->special, i)] = RT_TOKEN_SPECIAL;
    return rt_vocabulary_list_ordinary(v)
               ? rt_ok()
               : rt_error(RT_DATA, "%s: has no token beside the special ones", r->name);
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

rt_status rt_vocabulary_read(rt_vocabulary **vocabulary_new, rt_vocabulary_kind kind,
                             const char *name, const unsigned char *bytes, size_t size)
{
    *vocabulary_new = NULL;
    if (kind.level == RT_LEVEL_BPE && size > RT_BPE_BYTES)
        return rt_error(RT_DATA, "%s: a tokenizer.json can have up to %d bytes; it has %zu", name,
                        RT_BPE_BYTES, size);
    rt_vocabulary *v = rt_alloc(1, sizeof *v);
    reading r = {.v = v, .name = name, .at = bytes, .end = bytes + size};
    RT_TRY(rt_allocated(v, "a vocabulary"));
    v->level = kind.level;
    v->lowercase = has_pieces(kind.level) && kind.lowercase;
    v->file = rt_alloc(size + 1, 1);
    rt_status status = rt_allocated(v->file, "a vocabulary");
    if (!status.code) {
        memcpy(v->file, bytes, size);
        status = kind.level == RT_LEVEL_BPE ? rt_bpe_read(v, name, size) : read_lines(&r);
    }
    if (!status.code && v->bpe && kind.has_known)
        status = rt_bpe_know(v, name, &kind.known);
    v->ends = kind.ends;
    for (int i = 0; i < v->ends.count && !status.code; i++)
        if (v->ends.ids[i] < 0 || v->ends.ids[i] >= v->count)
            status = rt_error(RT_DATA, "%s: has no id %d, which is said to end a text", name,
                              (int)v->ends.ids[i]);
    if (status.code)
        release(v);
    else
        *vocabulary_new = v;
    return status;
}

rt_status rt_vocabulary_write(const rt_vocabulary *vocabulary, char **text_new)
{
    *text_new = rt_copy_text(vocabulary->file ? vocabulary->file : "");
    return rt_allocated(*text_new, "a vocabulary");
}

rt_status rt_vocabulary_copy(rt_vocabulary **copy_new, const rt_vocabulary *vocabulary)
{
    const char *file = vocabulary->file ? vocabulary->file : "";
    return rt_vocabulary_read(copy_new, rt_vocabulary_kind_of(vocabulary),
                              rt_vocabulary_file(vocabulary), (const unsigned char *)file,
                              strlen(file));
}

rt_status rt_vocabulary_of_seen(rt_vocabulary **vocabulary_new, rt_level level, const char *name,
                                const bool *seen)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer lines = {0};
    int count = 0;
    *vocabulary_new = NULL;
    for (int id = 0; id < specials_of(level); id++)
        rt_writer_add(&lines, "%s\n", rt_special_token(level, id));
    for (int32_t c = 0; c < token_limit(level); c++) {
        char bytes[RT_UTF8_SIZE];
        int escape = 0;
        if (!seen[c] || ++count > RT_CHARACTERS_LIMIT)
            continue;
        while (escape < ESCAPES && escapes[escape].character != c)
            escape++;
        if (level == RT_LEVEL_BYTE)
            rt_writer_add(&lines, "0x%02x\n", (unsigned)c);
        else if (escape < ESCAPES)
            rt_writer_add(&lines, "\\%c\n", escapes[escape].letter);
        else
            rt_writer_add(&lines, "%.*s\n", (int)rt_utf8_write(c, bytes), bytes);
    }
    if (count > RT_CHARACTERS_LIMIT)
        return rt_error(RT_DATA, "%s: a text can have up to %d different characters; it has %d",
                        name, RT_CHARACTERS_LIMIT, count);
    RT_TRY(rt_allocated(!lines.failed, "a vocabulary"));
    return rt_vocabulary_read(vocabulary_new, (rt_vocabulary_kind){.level = level}, name,
                              (const unsigned char *)lines.bytes, lines.length);
}

rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new)
{
    bool all[UINT8_MAX + 1];
    memset(all, true, sizeof all);
    return rt_vocabulary_of_seen(vocabulary_new, RT_LEVEL_BYTE, "", all);
}

void rt_characters_see(void *seen, const unsigned char *text, size_t bytes)
{
    int32_t character = 0;
    for (size_t at = 0, size; at < bytes; at += size) {
        size = rt_utf8_read(text + at, bytes - at, &character);
        assert(size);
        ((bool *)seen)[character] = true;
    }
}

rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes)
{
    *vocabulary_new = NULL;
    const size_t valid = rt_utf8_valid(text, bytes);
    if (valid < bytes)
        return rt_level_error(RT_LEVEL_CHAR, name, text[valid], valid);
    RT_OWNED bool *seen = rt_alloc(RT_CODE_POINTS, sizeof *seen);
    RT_TRY(rt_allocated(seen, "a vocabulary"));
    rt_characters_see(seen, text, bytes);
    return rt_vocabulary_of_seen(vocabulary_new, RT_LEVEL_CHAR, name, seen);
}
