#define _GNU_SOURCE /* memmem */

#include "data/encode_text.h"

#include "data/tokenizers/bpe.h"
#include "text/utf8.h"

#include <string.h>

bool rt_documents_are_cut(const rt_data_options *o)
{
    return o->documents && *o->documents && strcmp(o->documents, "none") != 0;
}

/* ---- documents ---- */

static const char *separator_of(const char *documents)
{
    return strcmp(documents, "line") ? documents : "\n";
}

static bool is_blank(const unsigned char *text, size_t from, size_t to)
{
    for (; from < to; from++)
        if (text[from] != ' ' && text[from] != '\t' && text[from] != '\r')
            return false;
    return true;
}

/* Finds the end of the lines before a blank one. */
static void take_paragraph(const unsigned char *text, size_t bytes, size_t *at,
                           rt_document_span *span)
{
    for (bool blank = false; *at < bytes && !blank;) {
        const unsigned char *newline = memchr(text + *at, '\n', bytes - *at);
        const size_t end = newline ? (size_t)(newline - text) : bytes;
        blank = is_blank(text, *at, end);
        if (!blank)
            span->end = end;
        *at = newline ? end + 1 : bytes;
    }
}

bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span)
{
    const char *what = separator_of(documents);
    const bool blank = !strcmp(what, "blank"), lines = blank || !strcmp(what, "\n");
    while (*at < bytes) {
        span->start = span->end = *at;
        if (blank) {
            take_paragraph(text, bytes, at, span);
        } else {
            const unsigned char *found = memmem(text + *at, bytes - *at, what, strlen(what));
            span->end = found ? (size_t)(found - text) : bytes;
            *at = found ? span->end + strlen(what) : bytes;
        }
        if (lines && span->end > span->start && text[span->end - 1] == '\r')
            span->end--;
        if (span->end > span->start)
            return true;
    }
    return false;
}

/* Returns the place after the last blank line, 0 if there is none. */
static size_t cut_at_blank_line(const unsigned char *text, size_t bytes)
{
    for (size_t at = bytes; at > 0; at--) {
        size_t start = at - 1;
        if (text[at - 1] != '\n')
            continue;
        while (start > 0 && text[start - 1] != '\n')
            start--;
        if (is_blank(text, start, at - 1))
            return at;
    }
    return 0;
}

static size_t document_cut(const char *documents, const unsigned char *text, size_t bytes)
{
    const char *what = separator_of(documents);
    const size_t size = strlen(what);
    size_t cut = 0;
    if (!strcmp(what, "blank"))
        return cut_at_blank_line(text, bytes);
    /* from the start, as in rt_document_next, since a separator may overlap itself */
    for (const unsigned char *found; (found = memmem(text + cut, bytes - cut, what, size));)
        cut = (size_t)(found - text) + size;
    return cut;
}

/* ---- cutting a text ---- */

size_t rt_whole_characters(const unsigned char *bytes, size_t size)
{
    size_t end = size;
    for (int back = 0; back < 3 && end > 0 && (bytes[end - 1] & 0xc0) == 0x80; back++)
        end--;
    return end > 0 && bytes[end - 1] >= 0xc0 ? end - 1 : size;
}

/* Returns whether characters with this first byte are not spaces and never join the text before
 * them: ASCII digits and letters, Latin-1, Greek, Cyrillic, ideographs. */
static bool is_plain(unsigned char byte)
{
    const unsigned char lower = byte | 0x20;
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == 0xc3 ||
           (byte >= 0xce && byte <= 0xd1) || (byte >= 0xe4 && byte <= 0xe9);
}

/* Returns whether the last character before `at` is not a blank. */
static bool ends_word(const unsigned char *bytes, size_t at)
{
    size_t start = at;
    int32_t c;
    while (start > 0 && at - start < 4 && (bytes[start - 1] & 0xc0) == 0x80)
        start--;
    start -= start > 0;
    return at > 0 && rt_utf8_read(bytes + start, at - start, &c) == at - start && !rt_is_blank(c);
}

/* Rules by which BPE splits a text, and blanks with a newline between two words. */
typedef struct cut_rules {
    bool possible; /* words end at newlines, no space is put before a text, and no part of a text
                      matches an added token that the whole text does not */
    bool longer;   /* runs of more than one blank can be cut */
    bool lines;    /* blanks up to the last newline are one word (LLaMA 3: \s*[\r\n]+); else all but
                      the last blank are one word (GPT-2: \s+(?!\S)|\s+) */
    bool digits;   /* numbers are split off first, so that all blanks before one are one word */
    bool any_letter; /* no added token takes the blanks before it */
} cut_rules;

static cut_rules cut_rules_of(const rt_bpe *bpe)
{
    const rt_added_tokens *lists[] = {&bpe->as_is, &bpe->composed};
    cut_rules r = {.possible = bpe->space_before < 0, .any_letter = true};
    int words = 0;
    for (int i = 0; i < bpe->cut_count; i++) {
        words += bpe->cuts[i] >= RT_PRETOKENIZER_GPT2;
        r.lines |= bpe->cuts[i] > RT_PRETOKENIZER_GPT2;
        r.digits |= bpe->cuts[i] < RT_PRETOKENIZER_GPT2;
    }
    r.possible &= words > 0;
    r.longer = words == 1;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < lists[l]->count; i++) {
            const rt_added_token *token = &lists[l]->list[i];
            r.longer &= !token->takes_right;
            r.any_letter &= !token->takes_left;
            r.possible &= !memchr(token->text, '\n', token->size) &&
                          !(token->takes_left && is_plain((unsigned char)token->text[0]));
        }
    return r;
}

bool rt_text_can_be_cut(const rt_data_options *o, const rt_vocabulary *v)
{
    return !v->bpe || rt_documents_are_cut(o) || cut_rules_of(v->bpe).possible;
}

/* Returns a place in a run of blanks that does not change the words on either side. It is beside a
 * newline, which no added token contains; 0 if there is none. */
static size_t cut_in_blanks(cut_rules r, const unsigned char *bytes, size_t start, size_t end)
{
    const bool letter = is_plain(bytes[end]) && !(bytes[end] >= '0' && bytes[end] <= '9');
    if (end - start == 1 && bytes[start] == '\n')
        return end;
    if (!r.longer)
        return 0;
    if (!r.lines)
        return end - start > 1 && bytes[end - 1] == '\n' && (letter || !r.digits) ? end - 1 : 0;
    for (size_t at = end; at > start && bytes[at - 1] != '\r'; at--)
        if (bytes[at - 1] == '\n')
            return at;
    return 0;
}

/* Returns the last place beside a newline where BPE gives the same ids for the text and for its two
 * parts; 0 if there is none. */
static size_t newline_cut(cut_rules r, const unsigned char *bytes, size_t size)
{
    for (size_t end = size, start; end > 1; end = start - 1) {
        int32_t c;
        for (start = end; start > 0 && bytes[start - 1] < 0x80 && rt_is_blank(bytes[start - 1]);
             start--)
            ;
        /* a word may begin at `end` whatever precedes it */
        if (end < size && start < end && ends_word(bytes, start) &&
            (is_plain(bytes[end]) ||
             (r.any_letter && rt_utf8_read(bytes + end, size - end, &c) && !rt_is_blank(c)))) {
            const size_t cut = cut_in_blanks(r, bytes, start, end);
            if (cut)
                return cut;
        }
        if (start == 0)
            break;
    }
    return 0;
}

/* Cuts before a possible start of a special token such as [MASK], which has up to six bytes. */
static size_t cut_before_token(const unsigned char *bytes, size_t size)
{
    for (size_t at = size; at > 0 && size - at < 5; at--)
        if (bytes[at - 1] == '[')
            return at - 1;
    return size;
}

size_t rt_text_cut(const rt_data_options *o, const rt_vocabulary *v, const unsigned char *bytes,
                   size_t size)
{
    if (rt_documents_are_cut(o))
        return document_cut(o->documents, bytes, size);
    switch (v->level) {
    case RT_LEVEL_BYTE:
        return o->special ? cut_before_token(bytes, size) : size;
    case RT_LEVEL_CHAR:
        size = rt_whole_characters(bytes, size);
        return o->special ? cut_before_token(bytes, size) : size;
    case RT_LEVEL_WORDPIECE:
    case RT_LEVEL_RESIDUE:
        while (size > 0 && bytes[size - 1] != ' ' && bytes[size - 1] != '\n')
            size--;
        return size;
    case RT_LEVEL_BPE:
        break;
    }
    return newline_cut(cut_rules_of(v->bpe), bytes, size);
}
