#include "train/config/ini_lines.h"

#include "train/text/quote.h"

#include <ini.h>
#include <stdbool.h>
#include <string.h>

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

/* inih takes a line apart into key and value. By itself it would cut a long line, join an
 * indented one to the key before it, say nothing of line numbers, and of errors only the
 * first: so it is handed nothing but lines that should be pairs, one at a time, and a
 * longer line in pieces, as a key and its indented continuation lines. */
#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

enum { LINE_SIZE = RT_INI_LONGEST_LINE + 2, KEY_SIZE = 128 };

typedef struct lines {
    FILE *file;
    const char *text;
    const rt_ini_events *events;
    void *user;
    long bytes;
    int line;
    bool ended;
    char bytes_of_line[LINE_SIZE];
    const char *pair; /* the line that inih is at, NULL if it is at none */
    const char *rest; /* what it has not been given of that */
    bool continues;   /* its last piece was not the line's first */
    size_t unclaimed; /* bytes of continuations that it has been given and not returned */
    bool has_key;     /* it has found a key in the line */
    char key[KEY_SIZE];
    char value[LINE_SIZE];
} lines;

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_blanks(const char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}

static void problem(const lines *l, const char *what, const char *written)
{
    char message[160];
    char quoted[RT_QUOTE_SIZE];
    if (written)
        snprintf(message, sizeof message, "%s %s", what, rt_quote(quoted, written));
    else
        snprintf(message, sizeof message, "%s", what);
    l->events->problem(l->user, l->line, message);
}

static int next_byte(lines *l)
{
    if (l->ended || (!l->file && !*l->text))
        return EOF;
    if (++l->bytes > RT_INI_LARGEST_FILE) {
        problem(l, "the file is larger than 16 MiB", NULL);
        l->ended = true;
        return EOF;
    }
    return l->file ? getc(l->file) : (unsigned char)*l->text++;
}

/* Reads a line without its end. False at the end of the file; a line that cannot be a line
 * of an INI file is reported and comes out empty. */
static bool read_line(lines *l)
{
    size_t length = 0;
    bool has_zero = false;
    int c = next_byte(l);
    if (c == EOF)
        return false;
    l->line++;
    for (; c != EOF && c != '\n'; c = next_byte(l)) {
        has_zero = has_zero || !c;
        if (length <= RT_INI_LONGEST_LINE)
            l->bytes_of_line[length++] = (char)c;
    }
    bool too_long = length > RT_INI_LONGEST_LINE;
    l->bytes_of_line[l->ended || has_zero || too_long ? 0 : length] = '\0';
    if (has_zero && !l->ended)
        problem(l, "the line holds a NUL byte", NULL);
    else if (too_long && !l->ended)
        problem(l, "the line is longer than " STRING(RT_INI_LONGEST_LINE) " bytes", NULL);
    return true;
}

/* Takes the comment and the blanks at both ends off the line. */
static char *trim_line(lines *l)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    char *start = l->bytes_of_line;
    if (l->line == 1 && !strncmp(start, byte_order_mark, 3))
        start += 3;
    while (is_blank(*start))
        start++;
    if (*start == '#')
        *start = '\0';
    char *end = start;
    while (*end && !(*end == ';' && (end == start || is_blank(end[-1]))))
        end++;
    while (end > start && is_blank(end[-1]))
        end--;
    *end = '\0';
    return start;
}

static void take_header(const lines *l, char *header)
{
    char *close = strchr(header, ']');
    if (!close) {
        problem(l, "a section needs a ']' at its end; got", header);
        l->events->section(l->user, l->line, NULL);
        return;
    }
    if (*skip_blanks(close + 1))
        problem(l, "nothing can follow a section's ']'; got", skip_blanks(close + 1));
    while (close > header + 1 && is_blank(close[-1]))
        close--;
    *close = '\0';
    l->events->section(l->user, l->line, skip_blanks(header + 1));
}

/* Reports the pair that inih has been given to the end. */
static void finish_pair(lines *l)
{
    if (l->pair && l->has_key && !l->unclaimed)
        l->events->pair(l->user, l->line, l->key, l->value);
    else if (l->pair)
        problem(l, "a line must be 'key = value'; got", l->pair);
    l->pair = NULL;
}

/* Goes on to the next line that should be a pair. */
static bool find_pair(lines *l)
{
    while (read_line(l)) {
        char *line = trim_line(l);
        if (*line == '[') {
            take_header(l, line);
        } else if (*line) {
            l->pair = l->rest = line;
            l->unclaimed = 0;
            l->has_key = false;
            return true;
        }
    }
    return false;
}

/* How much of the text to give to inih at once. It takes blanks off the ends of a piece, and
 * a piece that starts with ; or # for a comment: so cut between other characters. */
static size_t piece_length(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most)
        return length;
    for (length = most; length > 1; length--)
        if (!strchr(" \t\v\f\r;#", text[length]) && !is_blank(text[length - 1]))
            return length;
    return most;
}

/* Gives inih its next line; the contract is that of fgets. */
static char *next_piece(char *buffer, int size, void *user)
{
    lines *l = user;
    if (!l->pair || !*l->rest) {
        finish_pair(l);
        if (!find_pair(l))
            return NULL;
    }
    l->continues = l->rest != l->pair;
    size_t length = piece_length(l->rest, (size_t)size - 2);
    snprintf(buffer, (size_t)size, "%s%.*s", l->continues ? " " : "", (int)length, l->rest);
    l->rest += length;
    l->unclaimed += l->continues ? length : 0;
    return buffer;
}

/* What inih has made of the piece. */
static int take_piece(void *user, const char *section, const char *key, const char *value)
{
    (void)section;
    lines *l = user;
    if (!l->continues && *key) {
        snprintf(l->key, sizeof l->key, "%s", key);
        snprintf(l->value, sizeof l->value, "%s", value);
        l->has_key = true;
    } else if (l->has_key) {
        strcat(l->value, value);
        l->unclaimed -= strlen(value);
    }
    return 1;
}

void rt_ini_lines(FILE *file, const char *text, const rt_ini_events *events, void *user)
{
    lines l = {.file = file, .text = text, .events = events, .user = user};
    ini_parse_stream(next_piece, &l, take_piece, &l);
    finish_pair(&l);
}
