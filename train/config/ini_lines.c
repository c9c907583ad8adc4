#include "train/config/ini_lines.h"

#include "text/quote.h"

#include <stdbool.h>
#include <string.h>

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

enum { LINE_SIZE = RT_INI_LONGEST_LINE + 2 };

typedef struct lines {
    FILE *file;
    const char *text;
    const rt_ini_events *events;
    void *user;
    long bytes;
    int line;
    bool ended;
    char bytes_of_line[LINE_SIZE];
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

/* "key = value", or with a colon; white space around both does not count. */
static void take_pair(const lines *l, char *line)
{
    char *value = strpbrk(line, "=:");
    char *end = value;
    if (!value || value == line) {
        problem(l, "a line must be 'key = value'; got", line);
        return;
    }
    while (is_blank(end[-1]))
        end--;
    value = (char *)skip_blanks(value + 1);
    *end = '\0';
    l->events->pair(l->user, l->line, line, value);
}

void rt_ini_lines(FILE *file, const char *text, const rt_ini_events *events, void *user)
{
    lines l = {.file = file, .text = text, .events = events, .user = user};
    while (read_line(&l)) {
        char *line = trim_line(&l);
        if (*line == '[')
            take_header(&l, line);
        else if (*line)
            take_pair(&l, line);
    }
}
