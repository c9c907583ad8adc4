#include "util/suggest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    LONGEST = 40, /* longer names are not compared */
    COST_OF_EDIT = 2,
    COST_OF_INITIALS = 3,
    COST_OF_PART = 5,
    FAR = 1000
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Copies a name in lower case, with hyphens and blanks as underscores, the most frequent mistakes.
 * Returns false if it is too long. */
static bool copy_plain(char copy[LONGEST + 1], const char *name)
{
    size_t length = strlen(name);
    if (length > LONGEST)
        return false;
    for (size_t i = 0; i <= length; i++) {
        const char c = name[i];
        copy[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '-' || c == ' ' ? '_' : c;
    }
    return true;
}

/* Returns the number of letters to change, insert, delete or swap with their neighbour (optimal
 * string alignment). row[i % 3][j] is the distance between the first i and j letters. */
static int edits(const char *a, const char *b)
{
    int row[3][LONGEST + 1];
    int m = (int)strlen(a);
    int n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        row[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *now = row[i % 3];
        const int *above = row[(i - 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            now[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], row[(i - 2) % 3][j - 2] + 1);
        }
    }
    return row[m % 3][n];
}

static bool is_initials(const char *initials, const char *words)
{
    size_t count = 0;
    for (const char *c = words; *c; c++)
        if (*c != '_' && (c == words || c[-1] == '_') && initials[count++] != *c)
            return false;
    return count > 1 && !initials[count];
}

/* Returns whether `part` is one or more whole words of `words`. */
static bool is_part(const char *part, const char *words)
{
    size_t length = strlen(part);
    if (length < 3)
        return false;
    for (const char *at = strstr(words, part); at; at = strstr(at + 1, part))
        if ((at == words || at[-1] == '_') && (!at[length] || at[length] == '_'))
            return true;
    return false;
}

/* Initials count only in the written name, because those of a known name match very many words,
 * such as lr and lora_rank. */
void rt_nearest_try(rt_nearest *nearest, const char *spelled, const char *name)
{
    char written[LONGEST + 1];
    char known[LONGEST + 1];
    if (!copy_plain(written, nearest->written) || !copy_plain(known, spelled))
        return;
    const int a = (int)strlen(written), b = (int)strlen(known);
    const int longer = a > b ? a : b, shorter = least(a, b);
    const int count = edits(written, known);
    int cost = count <= longer / 3 ? count * COST_OF_EDIT : FAR;
    if (is_initials(written, known))
        cost = least(cost, COST_OF_INITIALS);
    if (2 * shorter >= longer && (is_part(written, known) || is_part(known, written)))
        cost = least(cost, COST_OF_PART);
    if (cost < (nearest->name ? nearest->cost : FAR)) {
        nearest->name = name;
        nearest->cost = cost;
    }
}
