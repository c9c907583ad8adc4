#include "io/huggingface/json.h"

#include "core/key.h"
#include "core/memory.h"
#include "core/path.h"
#include "util/files.h"
#include "util/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most)
{
    char path[RT_PATH_SIZE];
    *bytes_new = NULL;
    RT_TRY(rt_path_join(path, folder, name));
    char *bytes = rt_read_bytes(path, most, size);
    if (!bytes)
        return errno == ENOMEM
                   ? rt_out_of_memory(name)
                   : rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", path, strerror(errno));
    if (rt_is_lfs_pointer(bytes, *size)) {
        rt_free(bytes);
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, name);
    }
    *bytes_new = bytes;
    return rt_ok();
}

/* Largest number of values in one text. */
enum { VALUES = 1 << 20 };

rt_status rt_json_read(json_t **object_new, const char *name, char *bytes, size_t size)
{
    rt_status status = rt_json_parse(object_new, (rt_json_source){name, .values = VALUES,
                                                                  .bytes = bytes, .size = size});
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    return status;
}

rt_status rt_json_read_file(json_t **object_new, const char *folder, const char *name)
{
    RT_OWNED char *text = NULL;
    size_t size;
    *object_new = NULL;
    RT_TRY(rt_folder_read(&text, &size, folder, name, RT_TEXT_FILE_BYTES));
    return rt_json_read(object_new, name, text, size);
}

rt_status rt_json_read_optional(json_t **object_new, const char *folder, const char *name)
{
    *object_new = NULL;
    return rt_folder_has(folder, name) ? rt_json_read_file(object_new, folder, name) : rt_ok();
}

int rt_word_index(const char *const *words, const char *word)
{
    for (int i = 0; words && word && words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

void rt_json_put(json_t **to, const char *key, json_t *value)
{
    if (json_object_set_new(*to, key, value)) {
        json_decref(*to);
        *to = NULL;
    }
}

void rt_json_append(json_t **to, json_t *value)
{
    if (json_array_append_new(*to, value)) {
        json_decref(*to);
        *to = NULL;
    }
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
    int64_t whole;
    const char *text = rt_number_write((char[RT_NUMBER_SIZE]){0}, value);
    return rt_integer_parse(text, &whole) && strcmp(text, "-0") ? json_integer(whole)
                                                                : json_real(value);
}

json_t *rt_json_numbers(const double *values, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        rt_json_append(&list, rt_json_number(values[i]));
    return list;
}

static void begin_line(FILE *to, const char *comma, int indent)
{
    fputs(comma, to);
    fputc('\n', to);
    while (indent--)
        fputc(' ', to);
}

/* Writes a value of rotor's own, which is not deep. Items of a list or an object have lines of
 * their own unless the list is a row: of numbers, or of lists of numbers. Returns false if the heap
 * is exhausted. */
static bool write_value(FILE *to, json_t *value, int indent)
{
    enum { INDENT = 2 };
    const json_t *first = json_array_get(value, 0);
    const bool row = json_is_number(first) || json_is_number(json_array_get(first, 0));
    const char *comma = "";
    const char *key;
    json_t *item;
    size_t i;
    bool good = true;
    if (json_is_real(value)) {
        const char *text = rt_number_write((char[RT_NUMBER_SIZE]){0}, json_real_value(value));
        fputs(text, to);
        fputs(strpbrk(text, ".e") ? "" : ".0", to);
        return true;
    }
    if (!json_is_object(value) && !json_is_array(value))
        return !json_dumpf(value, to, JSON_ENCODE_ANY);
    fputc(json_is_object(value) ? '{' : '[', to);
    json_object_foreach(value, key, item)
    {
        json_auto_t *string = json_string(key);
        begin_line(to, comma, indent + INDENT);
        good &= !json_dumpf(string, to, JSON_ENCODE_ANY);
        fputs(": ", to);
        good &= write_value(to, item, indent + INDENT);
        comma = ",";
    }
    json_array_foreach(value, i, item)
    {
        if (row)
            fputs(comma, to);
        else
            begin_line(to, comma, indent + INDENT);
        good &= write_value(to, item, indent + INDENT);
        comma = row ? ", " : ",";
    }
    if (*comma && !row)
        begin_line(to, "", indent);
    fputc(json_is_object(value) ? '}' : ']', to);
    return good;
}

char *rt_json_text(json_t *object)
{
    RT_CLOSED_BY(rt_capture_free) rt_capture c = {0};
    const bool written = object && rt_capture_begin(&c) && write_value(c.file, object, 0) &&
                         fputc('\n', c.file) != EOF && !ferror(c.file);
    return written && rt_capture_end(&c) ? rt_copy_text(c.bytes) : NULL;
}

char *rt_json_dump(const json_t *value, size_t flags, const char *end)
{
    char *text = json_dumps(value, flags);
    rt_writer w = {0};
    if (text)
        rt_writer_add(&w, "%s%s", text, end);
    free(text); /* allocated by Jansson */
    return text ? rt_writer_take(&w) : NULL;
}

void rt_reading_refuse_as(rt_reading *r, const char *message)
{
    if (!r->status.code)
        r->status = rt_error(RT_CHECKPOINT, "%s: %s%s", r->file ? r->file : RT_HF_CONFIG,
                             r->within ? r->within : "", message);
}

json_t *rt_reading_find(const rt_reading *r, const char *key)
{
    json_t *value = json_object_get(r->json, key);
    return json_is_null(value) ? NULL : value;
}

int rt_reading_whole(rt_reading *r, const char *key, int initial, int low, int high)
{
    const json_t *value = rt_reading_find(r, key);
    if (!value)
        return initial;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= low && number <= high)
        return (int)number;
    rt_reading_refuse(r, "%s must be a whole number from %d to %d", key, low, high);
    return initial;
}

int rt_reading_size(rt_reading *r, const char *key, int initial)
{
    return rt_reading_whole(r, key, initial, 1, RT_MOST_SIZE);
}

double rt_reading_above_0(rt_reading *r, const char *key, double initial)
{
    const json_t *value = rt_reading_find(r, key);
    const double number = json_number_value(value);
    if (!value)
        return initial;
    if (json_is_number(value) && number > 0 && isfinite(number))
        return number;
    rt_reading_refuse(r, "%s must be a number above 0", key);
    return initial;
}

bool rt_reading_flag(rt_reading *r, const char *key, bool initial)
{
    const json_t *value = rt_reading_find(r, key);
    if (value && !json_is_boolean(value))
        rt_reading_refuse(r, "%s must be true or false", key);
    return value ? json_is_true(value) : initial;
}

const char *rt_reading_word(rt_reading *r, const char *key)
{
    const json_t *value = rt_reading_find(r, key);
    if (value && !json_is_string(value))
        rt_reading_refuse(r, "%s must be a string", key);
    return json_is_string(value) ? json_string_value(value) : "";
}

void rt_reading_refuse_word(rt_reading *r, const char *key, const char *const *words, int count,
                            const char *reason, const char *got)
{
    char list[RT_MESSAGE_SIZE] = "";
    for (int i = 0; i < count; i++) {
        const char *separator = i + 1 < count ? ", " : " or ";
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? separator : "",
                 words[i]);
    }
    rt_reading_refuse(r, "%s must be %s: %s; got %s", key, list, reason, RT_QUOTED(got));
}
