#ifndef ROTOR_TESTS_MARKUP_H
#define ROTOR_TESTS_MARKUP_H

/* Parses reports (HTML) and figures (SVG) into elements, attributes and text, so that a test of
 * numbers does not depend on the layout of a page. */

#include "suite.h"

#include "util/writer.h"

#include <ctype.h>

static inline bool is_named(const char *tag_name, const char *name)
{
    return !strncmp(tag_name, name, strlen(name)) &&
           !isalnum((unsigned char)tag_name[strlen(name)]);
}

static inline bool is_one_of(const char *tag_name, const char *const *names, int count)
{
    while (count && !is_named(tag_name, names[count - 1]))
        count--;
    return count > 0;
}

/* Returns the first start tag of this element from `at` on; NULL if there is none. */
static inline const char *next_element(const char *at, const char *name)
{
    while ((at = strchr(at, '<')) && !is_named(at + 1, name))
        at++;
    return at;
}

static inline int count_elements(const char *page, const char *name)
{
    int count = 0;
    for (const char *at = page; (at = next_element(at, name)); at++)
        count++;
    return count;
}

/* Returns the value of an attribute of a start tag; NULL if the tag does not have it. */
static inline const char *attribute_of(const char *tag, const char *name)
{
    const char *at = tag + strcspn(tag, " \n/>");
    while (*(at += strspn(at, " \n/")) != '>') {
        const size_t length = strcspn(at, "= \n/>");
        const bool has_value = at[length] == '=';
        const char *value = at + length + 2 * has_value;
        const char *end = has_value ? strchr(value, value[-1]) : value;
        ck_assert_msg(length && end, "a tag is not closed: %.99s", tag);
        if (is_named(at, name) && length == strlen(name))
            return end > value ? lasting("%.*s", (int)(end - value), value) : "";
        at = end + has_value;
    }
    return NULL;
}

/* Expects every element to be closed, in the reverse order of the start tags. */
static inline void expect_closed(const char *page)
{
    static const char *const empty[] = {"meta", "input"};
    const char *open[64] = {NULL};
    int depth = 0;
    for (const char *at = page; (at = strchr(at, '<')); at++) {
        const bool closes = at[1] == '/';
        const char *name = at + 1 + closes, *end = strchr(at, '>');
        const int length = (int)strcspn(name, " \n/>");
        ck_assert_msg(end != NULL, "a tag is not closed: %.99s", at);
        if (!isalpha((unsigned char)*name) || end[-1] == '/' || is_one_of(name, empty, ROWS(empty)))
            continue;
        ck_assert_int_lt(depth, ROWS(open));
        if (!closes)
            open[depth++] = name;
        else
            ck_assert_msg(depth && is_named(open[--depth], lasting("%.*s", length, name)),
                          "%.99s closes another element", at);
    }
    ck_assert_msg(!depth, "not closed: %.99s", depth ? open[depth - 1] : "");
}

static inline void trim_end(rt_writer *w)
{
    while (w->length && w->bytes[w->length - 1] == ' ')
        w->bytes[--w->length] = '\0';
}

static inline bool is_at_line_start(const rt_writer *w)
{
    return !w->length || w->bytes[w->length - 1] == '\n';
}

static inline void end_line(rt_writer *w)
{
    trim_end(w);
    if (!is_at_line_start(w))
        rt_writer_add(w, "\n");
}

static inline void add_tag_as_text(rt_writer *w, const char *name, bool closes)
{
    static const char *const lines[] = {"title", "h1",         "h2",   "p",  "div",
                                        "tr",    "table",      "dt",   "dd", "summary",
                                        "label", "figcaption", "text", "g"},
                             *const cells[] = {"td", "th"}, *const marks[] = {"b", "ins", "del"};
    if (is_one_of(name, lines, ROWS(lines)))
        end_line(w);
    if (is_one_of(name, cells, ROWS(cells)) && !closes) {
        trim_end(w);
        rt_writer_add(w, is_at_line_start(w) ? "| " : " | ");
    }
    if (is_one_of(name, marks, ROWS(marks)))
        rt_writer_add(w, "<%s%.*s>", closes ? "/" : "", (int)strcspn(name, " >"), name);
    if (is_named(name, "small"))
        rt_writer_add(w, " ");
}

/* Returns the text of a page, or of a part of it, with decoded entities and without styles. Each
 * heading, paragraph, caption, row of a table and text of a figure is a line; each cell begins with
 * "| ". Only the tags <b>, <ins> and <del> are kept. */
static inline const char *text_of(const char *page)
{
    static const char *const entities[][2] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
    rt_writer w = {0};
    for (const char *at = page; *at;) {
        const char *end = *at == '<' ? strchr(at, '>') : NULL;
        if (end) {
            const bool closes = at[1] == '/';
            add_tag_as_text(&w, at + 1 + closes, closes);
            at = is_named(at + 1, "style") ? strstr(at, "</style") : end + 1;
            continue;
        }
        int e = 0;
        while (e < ROWS(entities) && strncmp(at, entities[e][0], strlen(entities[e][0])))
            e++;
        if (e < ROWS(entities))
            rt_writer_add(&w, "%s", entities[e][1]);
        else if (*at == '\n')
            end_line(&w);
        else
            rt_writer_add(&w, "%c", *at);
        at += e < ROWS(entities) ? strlen(entities[e][0]) : 1;
    }
    end_line(&w);
    return w.bytes ? owned(rt_writer_take(&w), rt_free) : "";
}

/* Returns the text of an element that contains no other of its name. */
static inline const char *element_text(const char *tag)
{
    const int length = (int)strcspn(tag + 1, " \n>");
    const char *end = strstr(tag, lasting("</%.*s>", length, tag + 1));
    ck_assert_msg(end != NULL, "not closed: %.99s", tag);
    return text_of(lasting("%.*s", (int)(end - tag), tag));
}

#endif
