#include "io/huggingface/json.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/number.h"
#include "text/text_file.h"
#include "text/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a file ---- */

bool rt_folder_has(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    struct stat facts;
    return !rt_path_join(path, folder, name).code && !stat(path, &facts);
}

rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most)
{
    char path[RT_PATH_SIZE];
    rt_status status = rt_path_join(path, folder, name);
    *bytes_new = NULL;
    if (status.code)
        return status;
    errno = ENOMEM; /* what rt_alloc does not say */
    *bytes_new = rt_read_bytes(path, most, size);
    if (*bytes_new && rt_is_lfs_pointer(*bytes_new, *size)) {
        rt_free(*bytes_new);
        *bytes_new = NULL;
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, name);
    }
    if (*bytes_new)
        return rt_ok();
    return errno == ENOMEM
               ? rt_out_of_memory(name)
               : rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", path, strerror(errno));
}

/* ---- reading JSON ---- */

rt_status rt_json_read(json_t **object_new, const char *name, char *bytes, size_t size)
{
    rt_status status = rt_json_parse(object_new, RT_JSON_VALUES, name, bytes, size);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    return status;
}

rt_status rt_json_read_file(json_t **object_new, const char *folder, const char *name)
{
    char *text;
    size_t size;
    *object_new = NULL;
    rt_status status = rt_folder_read(&text, &size, folder, name, RT_TEXT_FILE_BYTES);
    if (status.code)
        return status;
    status = rt_json_read(object_new, name, text, size);
    rt_free(text);
    return status;
}

/* ---- values ---- */

rt_json_object rt_json_object_new(void)
{
    json_t *json = json_object();
    return (rt_json_object){json, !json};
}

void rt_json_object_free(rt_json_object *to)
{
    json_decref(to->json);
    *to = (rt_json_object){0};
}

void rt_json_put(rt_json_object *to, const char *key, json_t *value)
{
    to->failed |= json_object_set_new(to->json, key, value) != 0;
}

void rt_json_put_object(rt_json_object *to, const char *key, rt_json_object *made)
{
    to->failed |= made->failed;
    rt_json_put(to, key, made->json);
    *made = (rt_json_object){0};
}

/* Replacement of bytes that are not UTF-8: U+FFFD. */
static const char replacement[] = "\xef\xbf\xbd";

size_t rt_next_character(const char *text, char character[RT_UTF8_SIZE], int32_t *code)
{
    const size_t size = rt_utf8_read((const unsigned char *)text, strlen(text), code);
    if (!size)
        *code = 0xfffd;
    snprintf(character, RT_UTF8_SIZE, "%.*s", size ? (int)size : (int)sizeof replacement,
             size ? text : replacement);
    return size ? size : 1;
}

json_t *rt_json_string(const char *text)
{
    char character[RT_UTF8_SIZE];
    int32_t code;
    rt_writer w = {0};
    while (*text) {
        text += rt_next_character(text, character, &code);
        rt_writer_add(&w, "%s", character);
    }
    char *clean = rt_writer_take(&w);
    json_t *made = clean ? json_string(clean) : NULL;
    rt_free(clean);
    return made;
}

json_t *rt_json_number(double value)
{
    char text[RT_NUMBER_SIZE];
    int64_t whole;
    rt_number_write(text, value);
    return rt_whole_read(text, &whole) && strcmp(text, "-0") ? json_integer(whole)
                                                             : json_real(value);
}

json_t *rt_json_numbers(const double *values, int count)
{
    json_t *list = json_array();
    bool failed = !list;
    for (int i = 0; i < count && !failed; i++)
        failed = json_array_append_new(list, rt_json_number(values[i])) != 0;
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

/* ---- the text ---- */

enum { INDENT = 2 };

static void add_quoted(rt_writer *w, const json_t *string)
{
    char *text = json_dumps(string, JSON_ENCODE_ANY);
    rt_writer_add(w, "%s", text ? text : "");
    w->failed |= !text;
    free(text); /* Jansson's */
}

static void add_key(rt_writer *w, const char *key)
{
    json_t *string = json_string(key);
    add_quoted(w, string);
    json_decref(string);
    rt_writer_add(w, ": ");
}

static void add_real(rt_writer *w, double value)
{
    char text[RT_NUMBER_SIZE];
    rt_number_write(text, value);
    rt_writer_add(w, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* A list of numbers, or of such lists. */
static bool is_row(const json_t *list, int depth)
{
    const json_t *first = json_array_get(list, 0);
    return json_is_number(first) || (depth > 0 && is_row(first, depth - 1));
}

static void add_value(rt_writer *w, const json_t *value, int indent);

static void add_array(rt_writer *w, const json_t *list, int indent)
{
    const bool row = is_row(list, 1);
    const json_t *item;
    size_t i;
    rt_writer_add(w, "[");
    json_array_foreach(list, i, item)
    {
        if (row)
            rt_writer_add(w, "%s", i ? ", " : "");
        else
            rt_writer_add(w, "%s\n%*s", i ? "," : "", indent + INDENT, "");
        add_value(w, item, indent + INDENT);
    }
    if (i && !row)
        rt_writer_add(w, "\n%*s", indent, "");
    rt_writer_add(w, "]");
}

static void add_object(rt_writer *w, const json_t *object, int indent)
{
    const char *key, *before = "";
    json_t *value;
    rt_writer_add(w, "{");
    json_object_foreach((json_t *)object, key, value)
    {
        rt_writer_add(w, "%s\n%*s", before, indent + INDENT, "");
        add_key(w, key);
        add_value(w, value, indent + INDENT);
        before = ",";
    }
    if (*before)
        rt_writer_add(w, "\n%*s", indent, "");
    rt_writer_add(w, "}");
}

/* Brackets are as deep as those who made the value put them. */
static void add_value(rt_writer *w, const json_t *value, int indent)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        add_object(w, value, indent);
        break;
    case JSON_ARRAY:
        add_array(w, value, indent);
        break;
    case JSON_REAL:
        add_real(w, json_real_value(value));
        break;
    default:
        add_quoted(w, value);
        break;
    }
}

rt_status rt_json_text(char **text_new, const rt_json_object *object, const char *what)
{
    rt_writer w = {0};
    *text_new = NULL;
    if (!object->failed) {
        add_value(&w, object->json, 0);
        rt_writer_add(&w, "\n");
        *text_new = rt_writer_take(&w);
    }
    return *text_new ? rt_ok() : rt_out_of_memory(what);
}

char *rt_json_dumped(const json_t *value, size_t flags, const char *end)
{
    char *text = json_dumps(value, flags);
    rt_writer w = {0};
    if (text)
        rt_writer_add(&w, "%s%s", text, end);
    free(text); /* Jansson's */
    return text ? rt_writer_take(&w) : NULL;
}
