#ifndef ROTOR_TESTS_MARKUP_H
#define ROTOR_TESTS_MARKUP_H

/* Reports (HTML) and figures (SVG) as libxml2 parses them, so that a test of numbers does not
 * depend on the layout of a page. Every function expects an argument that is well-formed: a page, a
 * figure or a part of a page in which each element is closed. */

#include "suite.h"

#include "util/writer.h"

#include <ctype.h>

#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>

/* Parses as XML, since the parser of HTML closes what a page leaves open. <meta> and <input>, which
 * have no end tag in HTML, are closed here. The caller frees the document. */
static inline xmlDoc *parse_markup(const char *markup)
{
    rt_writer w = {0};
    if (!strncmp(markup, "<!", 2) || !strncmp(markup, "<?", 2))
        markup += strcspn(markup, "\n"); /* a declaration */
    rt_writer_add(&w, "<document>");
    for (size_t length; *markup; markup += length) {
        length = 1 + strcspn(markup + 1, "<>");
        const bool is_empty = !strncmp(markup, "<meta ", 6) || !strncmp(markup, "<input ", 7);
        const bool is_checked =
            is_empty && length > 8 && !strncmp(markup + length - 8, " checked", 8);
        rt_writer_add(&w, "%.*s%s%s", (int)length, markup, is_checked ? "=''" : "",
                      is_empty ? "/" : "");
    }
    rt_writer_add(&w, "</document>");
    xmlDoc *document = xmlReadMemory(w.bytes, (int)w.length, NULL, "UTF-8", XML_PARSE_NONET);
    ck_assert_msg(document != NULL, "not well-formed; stderr has the errors");
    rt_writer_free(&w);
    return document;
}

/* Returns the value of an XPath expression as a text: that of an attribute, say, or a number.
 * Elements of figures have the prefix svg. */
static inline const char *value_in(const char *markup, const char *xpath)
{
    xmlDoc *document = parse_markup(markup);
    xmlXPathContext *context = xmlXPathNewContext(document);
    xmlXPathRegisterNs(context, BAD_CAST "svg", BAD_CAST "http://www.w3.org/2000/svg");
    xmlXPathRegisterNs(context, BAD_CAST "xlink", BAD_CAST "http://www.w3.org/1999/xlink");
    xmlXPathObject *result = xmlXPathEval(BAD_CAST xpath, context);
    ck_assert_msg(result != NULL, "not an XPath expression: %s", xpath);
    xmlChar *value = xmlXPathCastToString(result);
    xmlXPathFreeObject(result);
    xmlXPathFreeContext(context);
    xmlFreeDoc(document);
    return owned(value, xmlFree);
}

/* Returns the number of nodes that an XPath expression selects. */
static inline int count_in(const char *markup, const char *xpath)
{
    return atoi(value_in(markup, lasting("count(%s)", xpath)));
}

/* Adds a text. One that begins with a space removes blanks before it, and loses that space at the
 * start of a line. */
static inline void add_separator(rt_writer *w, const char *text)
{
    if (isspace((unsigned char)*text)) {
        while (w->length && w->bytes[w->length - 1] == ' ')
            w->bytes[--w->length] = '\0';
        text += !w->length || w->bytes[w->length - 1] == '\n';
    }
    rt_writer_add(w, "%s", text);
}

static inline void add_nodes(rt_writer *w, const xmlNode *node)
{
    static const char *const inside[][3] = {{"a", "", ""},
                                            {"b", "<b>", "</b>"},
                                            {"code", "", ""},
                                            {"del", "<del>", "</del>"},
                                            {"ins", "<ins>", "</ins>"},
                                            {"small", " ", ""},
                                            {"span", "", ""},
                                            {"td", " | ", ""},
                                            {"th", " | ", ""},
                                            {"tspan", "", ""},
                                            {NULL, "\n", "\n"}};
    for (; node; node = node->next) {
        const char *name = (const char *)node->name;
        int i = 0;
        if (node->type == XML_TEXT_NODE)
            for (const xmlChar *at = node->content; *at; at++)
                *at == '\n' ? add_separator(w, "\n") : rt_writer_add(w, "%c", *at);
        if (node->type != XML_ELEMENT_NODE || !strcmp(name, "style"))
            continue;
        while (inside[i][0] && strcmp(name, inside[i][0]))
            i++;
        add_separator(w, inside[i][1]);
        add_nodes(w, node->children);
        add_separator(w, inside[i][2]);
    }
}

/* Returns the text of a page or figure, without styles. Each heading, paragraph, caption, row of a
 * table and text of a figure is a line; each cell begins with "| ". Only the tags <b>, <ins> and
 * <del> are kept. */
static inline const char *text_of(const char *markup)
{
    rt_writer w = {0};
    xmlDoc *document = parse_markup(markup);
    add_nodes(&w, document->children);
    xmlFreeDoc(document);
    return owned(rt_writer_take(&w), rt_free);
}

#endif
